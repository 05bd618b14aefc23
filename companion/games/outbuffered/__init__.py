"""Outbuffered: two robots, three secret orders each, capture the flag."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from random import Random

from companion.core.errors import Malformed
from companion.core.i18n import say
from companion.core.kit import SEATS, Kit, Layout, Seat
from companion.games.aids import Extras
from companion.games.base import Game, Step, View
from companion.games.outbuffered.board import (
    INITIALS,
    NAMES,
    SIDES,
    STEPS,
    kit_of,
    terrain_of,
)
from companion.games.outbuffered.events import OutbufferedEvent
from companion.games.outbuffered.lesson import HELP, LESSON
from companion.games.outbuffered.turn import OutbufferedOptions, State, layout_of, lead, plan, play
from companion.games.outbuffered.words import EXTRAS, OPTION_ROWS, RULES
from companion.games.pads import Key, PadGrammar
from companion.games.screen import Possible

_BUFFER = re.compile("[UDLRIS]{3}")
_PAD = PadGrammar(
    (
        Key("S", say("shoot"), "order-shoot", "a", INITIALS["S"]),
        Key("U", say("up"), "order-up", "up", INITIALS["U"]),
        Key("I", say("wait"), "order-idle", "b", INITIALS["I"]),
        Key("L", say("left"), "order-left", "left", INITIALS["L"]),
        Key("D", say("down"), "order-down", "down", INITIALS["D"]),
        Key("R", say("right"), "order-right", "right", INITIALS["R"]),
    ),
    length=3,
)


class Outbuffered(Game[State, str]):
    """An action is a buffer: a text of exactly three of `U D L R I S`."""

    name = "outbuffered"
    title = say("Outbuffered")
    summary = say("Three secret steps each. Steal the flag.")
    minutes = 5
    how_to_win = (say("Plan three steps"), say("Take the other flag"), say("Bring it home"))
    replays_ties = True
    sides = SIDES
    options_type = OutbufferedOptions
    option_rows = OPTION_ROWS
    rules = RULES
    events = OutbufferedEvent
    turn_rule = "commands"
    end_rule = "winning"
    lesson = LESSON
    help_words = HELP

    lead = staticmethod(lead)
    plan = staticmethod(plan)

    def kit(self, options: OutbufferedOptions) -> Kit:
        """Return four pieces, a board of separate tiles, and perhaps orders as tiles that the
        camera reads."""
        return kit_of(options.board, options.tiles)

    def extras(self, options: OutbufferedOptions) -> Extras:
        """Return a player aid for each side, orders as tiles."""
        return EXTRAS

    def setup(self, options: OutbufferedOptions, rng: Random) -> State:
        """Return robots on their start tiles, flags on their bases."""
        terrain = terrain_of(options.board)
        return State(options, terrain, terrain.starts, terrain.bases)

    def to_act(self, state: State) -> frozenset[Seat]:
        """Return both, sealed, until the game is over."""
        if state.outcome:
            return frozenset()
        return frozenset(SEATS)

    def legal_actions(self, state: State, seat: Seat) -> Iterator[str]:
        """Yield all 216 buffers."""
        if seat in self.to_act(state):
            yield from map("".join, itertools.product("UDLRIS", repeat=3))

    def random_action(self, state: State, seat: Seat, rng: Random) -> str:
        """Return any three orders."""
        return "".join(rng.choices("UDLRIS", k=3))

    def examples(self, state: State, seat: Seat) -> tuple[str, ...]:
        """Return buffers towards their flag, with or without a shot."""
        if state.turn == 1:
            return ("UUR", "URU", "UUS", "URS")
        return ()

    def check(self, state: State, seat: Seat, action: str) -> None:
        """Accept every buffer: what cannot be done bounces."""

    def parse(self, text: str) -> str:
        """Return exactly three of `U D L R I S`."""
        if not _BUFFER.fullmatch(text):
            raise Malformed(say("A buffer is exactly three of U D L R I S, such as UUS"))
        return text

    def commands(self, action: str) -> list[str]:
        """Return each order."""
        return [key.label for letter in action for key in _PAD.keys if key.letter == letter]

    def apply(self, state: State, actions: Mapping[Seat, str], rng: Random) -> Step[State]:
        """Carry out both buffers, pair by pair."""
        return play(state, (actions[Seat.SOUTH], actions[Seat.NORTH]))

    def how_it_ended(self, state: State) -> str:
        """Return that a flag is home, that a robot that was hit cannot start again, or which limit
        ended it.
        """
        winner = next(iter(state.outcome.winners), None) if state.outcome else None
        options = state.options
        if winner and state.off_board:
            return say("{side!c} is shut out.", side=self.sides[winner.other].name)
        if winner:
            return say("Home with {other}’s flag.", other=self.sides[winner.other].name)
        if state.off_board:
            return say("Neither can start again.")
        # both carry a flag and both stand on their bases
        if state.robots == state.terrain.bases and state.flags == (None, None):
            return say("Both flags came home.")
        # the number of the turn was counted on when the turn had ended
        if state.turn - 1 == options.turn_limit:
            return say("Turn {number} was the last.", number=options.turn_limit)
        return say("{number} quiet turns.", number=state.quiet)

    def view(self, state: State, seat: Seat | None) -> View:
        """Return robots, flags (`{"on": "b1"}` or `{"carried_by": "north"}`), turn, outcome.

        Everything on the board is public. Sealed buffers never reach a state.
        `quiet` turns in a row have brought neither a flag taken nor a robot hit.
        """
        flags = {
            seat: {"on": str(flag)} if flag else {"carried_by": seat.other}
            for seat, flag in zip(SEATS, state.flags, strict=True)
        }
        return {
            **self.common_view(state),
            "turn": state.turn,
            "quiet": state.quiet,
            "robots": {seat: str(square) for seat, square in zip(SEATS, state.robots, strict=True)},
            "flags": flags,
        }

    def expected(self, state: State) -> Layout | None:
        """Return the layout, flags under the robots that stand on them or carry them."""
        if state.off_board:
            return None
        return layout_of(state.robots, state.flags)

    def pad(self, state: State, seat: Seat) -> PadGrammar:
        """Return three keys, each an order."""
        return _PAD

    def possible(self, state: State, seat: Seat, entered: str) -> Iterator[Possible]:
        """Yield where each order leads after those that are planned, if the other robot does
        nothing."""
        index = seat.number
        # where the plan has led so far: without one, where the robot stands
        before = (state.robots[index], *plan(state, seat, entered))[-1]
        for key in _PAD.keys:
            there = plan(state, seat, entered + key.letter)[-1]
            text = say("to {square}", square=there)
            if key.letter == "S":
                text = HELP["shoot"]
            elif key.letter == "I":
                text = say("you stay on {square}", square=before)
            elif there == before:
                text = say("you bounce and stay")
            elif there == state.robots[1 - index]:
                text = say("you bounce if {side} stays", side=NAMES[1 - index])
            elif there == state.flags[1 - index]:
                text = say("to {square}: you take their flag", square=there)
            elif there == state.terrain.bases[index]:
                text = say("to {square}: home", square=there)
            # a move that leads nowhere bounces
            is_barred = key.letter in STEPS and there == before
            squares = () if there == before else (there,)
            yield Possible(key.drawing, key.label, text, squares, is_barred)
