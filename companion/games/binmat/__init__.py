"""BINMAT: an attacker against a defender in six lanes of cards.

Each lane has a deck of its own, and each side builds a stack of cards there. A combat compares the
sums of the two stacks of a lane: 2, 4, 8 and so on are strong, and all other sums are weak. Damage
costs the defender first the stack and then cards of the lane deck. The attacker wins when a lane
deck cannot give the cards that it owes. The defender wins when all turns are over.

There are two ways to play. In the full game the program deals, and phones hold the hands. With real
cards the cards stay on the table, and the program counts turns and resolves combats.

A card is written as its value and its suit, such as `8&` or `>+`. An action of the full game begins
with the letter of its kind: `d3` draws from lane 3, `p8&3` plays 8& face down there, `u8&3` plays
it face up, `x8&3` discards it, `c3` declares combat in lane 3, and `--` passes. `actions` explains
the rest of this notation, and `real_cards` the notation of the other way to play.

The files of both ways to play: `cards`, `events` (with the roles of the seats), `combat`, `screen`
(kit and screens), `words` (texts for people) and `tools` (a command). Those of the full game:
`state` (also all options), `actions` (notation and refusals), `turn` (what actions do) and
`lesson`. The file for real cards is `real_cards`. A “ruling” in comments is the project's decision
on what the rulebook leaves open. `words` says it in the rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from random import Random
from typing import Any

from companion.core.i18n import say
from companion.core.kit import Kit, Layout, Seat
from companion.games.base import Drawn, Game, Preset, Step, View
from companion.games.binmat import actions as full_game
from companion.games.binmat import real_cards, screen, turn
from companion.games.binmat.events import BinmatEvent
from companion.games.binmat.lesson import HELP, LESSON
from companion.games.binmat.real_cards import RealCardsState
from companion.games.binmat.state import (
    BinmatOptions,
    State,
    check_options,
    deal,
    defender_lead,
    mask_state,
    plain_state,
)
from companion.games.binmat.tools import binmat_commands
from companion.games.binmat.words import OPTION_ROWS, RULES, build_extras
from companion.games.pads import PadGrammar
from companion.games.screen import CardUi

# A state of either way to play: the full game, or a game with real cards.
BinmatState = State | RealCardsState


class Binmat(Game[Any, str]):
    """The game BINMAT, in its two ways to play: the full game, and with real cards.

    Each way has its own type of state. An action is its notation, a `str`.
    """

    name = "binmat"
    title = say("BINMAT")
    summary = say("Break in, or hold out. Five-second turns.")
    minutes = 15
    how_to_win = (
        say("Stack cards in six lanes"),
        say("Sums of 2, 4, 8 or 16 are strong"),
        say("Break one lane, or hold all six"),
    )
    sides = screen.SIDES
    options_type = BinmatOptions
    option_rows = OPTION_ROWS
    rules = RULES
    events = BinmatEvent
    turn_rule = "turns"
    end_rule = "winning"
    lesson = LESSON
    help_words = HELP
    chosen_options = frozenset({"deck", "hands"})
    extras = staticmethod(build_extras)
    tools = staticmethod(binmat_commands)
    presets = (
        Preset(say("Full game"), {"way": "full"}),
        Preset(say("Real cards"), {"way": "referee"}),
    )

    def kit(self, options: BinmatOptions) -> Kit:
        return screen.KIT

    def options(self, raw: Mapping[str, Any]) -> Any:
        """Return the options, parsed from plain JSON. Raises `Malformed`.

        Older versions called the way to play `referee` `clock`, and have stored games by that name.
        """
        if raw.get("way") == "clock":
            raw = {**raw, "way": "referee"}
        return super().options(raw)

    def setup(self, options: BinmatOptions, rng: Random) -> BinmatState:
        """Return the first state: with the dealt lane decks, or only a number of turns."""
        check_options(options)
        if options.is_full_game:
            return deal(options, rng)
        return RealCardsState(options, options.turns)

    def drawn(self, options: BinmatOptions) -> Drawn:
        """Return `SETUP` for the full game, and `NEVER` for real cards.

        With a chosen deal it is still `SETUP`, because later reshuffles of empty decks are random.
        """
        return Drawn.SETUP if options.is_full_game else Drawn.NEVER

    def chosen(self, options: BinmatOptions) -> str | None:
        """Return a sentence on a chosen deal or chosen hands, which only the full game has."""
        return super().chosen(options) if options.is_full_game else None

    def hides(self, options: BinmatOptions) -> bool:
        """Return whether the program holds the cards, which then stay hidden to the end."""
        return options.is_full_game

    def is_dealt_by_hand(self, options: BinmatOptions) -> bool:
        return not self.hides(options)

    def hidden_options(self, options: BinmatOptions) -> frozenset[str]:
        return self.chosen_options

    def to_act(self, state: BinmatState) -> frozenset[Seat]:
        """Return the seat that must act: the one on turn, or nobody once the game is over.

        With real cards the attacker acts after a combat that gives him cards to draw, even in a
        turn of the defender.
        """
        return frozenset() if state.outcome else frozenset({state.seat})

    def legal_actions(self, state: BinmatState, seat: Seat) -> Iterable[str]:
        """Return all legal actions of a seat.

        With real cards, the actions that name the open cards of a combat are left out, because
        there are too many.
        """
        if seat not in self.to_act(state):
            return []
        if isinstance(state, RealCardsState):
            return real_cards.legal_actions(state)
        return full_game.legal_actions(state, seat)

    def check(self, state: BinmatState, seat: Seat, action: str) -> None:
        """Raise `Illegal` unless the action is legal. The message reveals no hidden card."""
        if isinstance(state, RealCardsState):
            real_cards.check(state, action)
        else:
            full_game.check_action(state, seat, action)

    def apply(self, state: BinmatState, actions: Mapping[Seat, str], rng: Random) -> Step[Any]:
        """Carry out the action of the seat on turn. A combat is split into stages."""
        ((seat, action),) = actions.items()
        if isinstance(state, RealCardsState):
            return real_cards.carry_out(state, seat, action)
        return turn.carry_out(state, action, rng)

    def view(self, state: BinmatState, seat: Seat | None) -> View:
        """Return what a seat may know. Hidden cards are `X`."""
        if isinstance(state, RealCardsState):
            return real_cards.view(state)
        return plain_state(mask_state(state, seat))

    def dump(self, state: BinmatState) -> View:
        if isinstance(state, RealCardsState):
            return real_cards.view(state)
        return plain_state(state)

    def parse(self, text: str) -> str:
        """Return the action of a notation, for both ways to play. Raises `Malformed`."""
        if real_cards.is_real_cards_notation(text):
            return real_cards.parse_action(text)
        return full_game.parse_action(text)

    def lead(self, state: BinmatState) -> float | None:
        """Return South's lead by turns and cards, or None with real cards."""
        return None if isinstance(state, RealCardsState) else defender_lead(state)

    def time_limit(self, state: BinmatState) -> float | None:
        """Return the seconds of a turn. None in a casual game, or in a combat with real cards."""
        if isinstance(state, RealCardsState) and state.is_in_combat:
            return None
        # 0 stands for a casual game.
        return state.options.seconds or None

    def on_timeout(self, state: BinmatState, seat: Seat) -> str | None:
        """Return a pass. None if the option `timeout` only sounds the alarm."""
        return full_game.PASS if state.options.timeout == "pass" else None

    def is_reversible(self, state: BinmatState, seat: Seat, action: str) -> bool:
        """Return whether the seat may take this action back.

        With real cards a combat cannot be taken back, because people have moved the cards after it.
        """
        if isinstance(state, RealCardsState):
            return not real_cards.is_open_cards(action)
        return turn.is_reversible(state, action)

    def card_ui(self, state: BinmatState, seat: Seat | None) -> CardUi:
        if isinstance(state, RealCardsState):
            return real_cards.card_ui(state, seat)
        return screen.card_ui(state, seat)

    def laid_open(self, state: BinmatState, fans: Layout, before: Layout) -> str | None:
        """Return the action that face-up cards show. None in the full game, which has no cards."""
        if isinstance(state, RealCardsState):
            return real_cards.read_open_cards(state, fans, before)
        return None

    def pad(self, state: BinmatState, seat: Seat) -> PadGrammar | None:
        """Return the keys for real cards. The full game is tapped on a phone."""
        return real_cards.pad(state) if isinstance(state, RealCardsState) else None
