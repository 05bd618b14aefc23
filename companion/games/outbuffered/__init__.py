"""Outbuffered: each of two robots tries to capture the other side's flag.

In each turn both players secretly give three orders to their robot. Then the orders are carried out
pair by pair: both robots move at once, then both shoot. The robot that brings the other side's flag
to its own base wins.

An action is a buffer of three letters, such as `UUS`. `U D L R` are steps up, down, left and right
as seen from the seat, `I` waits (idle), and `S` shoots.

The files of the game: `board` (maps, terrain, kit, orders, events), `turn` (positions, and what
orders do), `words` (texts for people) and `lesson`. A “ruling” in comments is the project's
decision on what the rulebook leaves open. `words` says it in the rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from random import Random

from companion.core.errors import Malformed
from companion.core.i18n import say
from companion.core.kit import SEATS, Kit, Layout, Seat
from companion.games.aids import Extras
from companion.games.base import Game, Step, View
from companion.games.outbuffered.board import (
    BUFFERS,
    MOVES,
    ORDER_LETTERS,
    ORDERS,
    SIDE_NAMES,
    SIDES,
    OutbufferedEvent,
    build_kit,
    parse_terrain,
)
from companion.games.outbuffered.lesson import HELP, LESSON
from companion.games.outbuffered.turn import (
    OutbufferedOptions,
    State,
    carry_out,
    layout_of,
    lead,
    plan,
)
from companion.games.outbuffered.words import EXTRAS, OPTION_ROWS, RULES
from companion.games.pads import PadGrammar
from companion.games.screen import Possible

_PAD = PadGrammar(tuple(ORDERS.values()), length=3)


class Outbuffered(Game[State, str]):
    """The game Outbuffered. An action is a buffer: exactly three letters of `U D L R I S`.

    Each letter is an order: up, down, left, right, idle, shoot.
    """

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
        """Return four pieces and a board of separate tiles, and order tiles if they are chosen."""
        return build_kit(options.board, options.tiles)

    def extras(self, options: OutbufferedOptions) -> Extras:
        return EXTRAS

    def setup(self, options: OutbufferedOptions, rng: Random) -> State:
        """Return the state with robots on their start tiles and flags on their bases."""
        terrain = parse_terrain(options.board)
        return State(options, terrain, terrain.starts, terrain.bases)

    def to_act(self, state: State) -> frozenset[Seat]:
        """Return both seats, which act sealed, until the game is over."""
        return frozenset() if state.outcome else frozenset(SEATS)

    def legal_actions(self, state: State, seat: Seat) -> Iterator[str]:
        """Yield all 216 buffers, or none once the game is over."""
        if seat in self.to_act(state):
            yield from BUFFERS

    def random_action(self, state: State, seat: Seat, rng: Random) -> str:
        return "".join(rng.choices(ORDER_LETTERS, k=3))

    def check(self, state: State, seat: Seat, action: str) -> None:
        """Accept every buffer. A move that is not possible bounces."""

    def parse(self, text: str) -> str:
        """Return the buffer if it is three letters of `U D L R I S`. Raises `Malformed`."""
        if text not in BUFFERS:
            raise Malformed(say("A buffer is exactly three of U D L R I S, such as UUS"))
        return text

    def commands(self, action: str) -> list[str]:
        return [ORDERS[letter].label for letter in action]

    def apply(self, state: State, actions: Mapping[Seat, str], rng: Random) -> Step[State]:
        return carry_out(state, (actions[Seat.SOUTH], actions[Seat.NORTH]))

    def view(self, state: State, seat: Seat | None) -> View:
        """Return robots, flags, the turn and the outcome. The view is the same for everybody.

        A flag is `{"on": "b1"}` or `{"carried_by": "north"}`. `quiet` is the number of consecutive
        turns without a flag taken or a robot hit. Sealed buffers are never part of a state.
        """
        flags = {
            seat: {"on": str(flag)} if flag else {"carried_by": seat.other}
            for seat, flag in zip(SEATS, state.flags, strict=True)
        }
        return {
            **self.common_view(state),
            "turn": state.turn,
            "quiet": state.quiet_turns,
            "robots": {seat: str(square) for seat, square in zip(SEATS, state.robots, strict=True)},
            "flags": flags,
        }

    def expected(self, state: State) -> Layout | None:
        """Return the layout, with flags under the robots that are on them or carry them.

        None if the game has ended because a robot could not return to its start tile.
        """
        if state.is_shut_out:
            return None
        return layout_of(state.robots, state.flags)

    def pad(self, state: State, seat: Seat) -> PadGrammar:
        """Return the pad's grammar: each order is one key, and three keys make an action."""
        return _PAD

    def possible(self, state: State, seat: Seat, entered: str) -> Iterator[Possible]:
        """Yield each order with the effect that it would have after the orders of the draft.

        The effect is computed as if the other robot did nothing.
        """
        index = seat.number
        # Square after the orders of the draft, or the robot's present one if the draft is empty.
        before = (state.robots[index], *plan(state, seat, entered))[-1]
        for key in _PAD.keys:
            after = plan(state, seat, entered + key.letter)[-1]
            text = say("to {square}", square=after)
            if key.letter == "S":
                text = HELP["shoot"]
            elif key.letter == "I":
                text = say("you stay on {square}", square=before)
            elif after == before:
                text = say("you bounce and stay")
            elif after == state.robots[1 - index]:
                text = say("you bounce if {side} stays", side=SIDE_NAMES[1 - index])
            elif after == state.flags[1 - index]:
                text = say("to {square}: you take their flag", square=after)
            elif after == state.terrain.bases[index]:
                text = say("to {square}: home", square=after)
            # A move that does not change the square bounces.
            is_barred = key.letter in MOVES and after == before
            squares = () if after == before else (after,)
            yield Possible(key.drawing, key.label, text, squares, is_barred)
