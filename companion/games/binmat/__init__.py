"""BINMAT: attacker against defender in six lanes, with hidden hands and power-of-two sums."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from random import Random
from typing import Any

from companion.core.i18n import say
from companion.core.kit import Kit, Layout, Seat
from companion.games.base import Drawn, Game, Preset, Step, View
from companion.games.binmat import counter
from companion.games.binmat.combat import BinmatEvent
from companion.games.binmat.counter import Counter
from companion.games.binmat.lesson import HELP, LESSON
from companion.games.binmat.orders import PASS, check_order, legal, parse_order
from companion.games.binmat.screen import KIT, SIDES, card_ui
from companion.games.binmat.state import (
    BinmatOptions,
    State,
    check_options,
    deal,
    lead,
    masked,
    plain,
)
from companion.games.binmat.tools import tools_of_binmat
from companion.games.binmat.turn import is_reversible, play
from companion.games.binmat.words import OPTION_ROWS, RULES, extras_of
from companion.games.pads import PadGrammar
from companion.games.screen import CardUi

Position = State | Counter
"""A position of the full game, or of one with real cards."""


class Binmat(Game[Any, str]):
    """The full game, and the turn counter for a game with real cards.

    A game with real cards has its own state type, `Counter`. An action is its notation, a `str`.
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
    sides = SIDES
    options_type = BinmatOptions
    option_rows = OPTION_ROWS
    rules = RULES
    events = BinmatEvent
    turn_rule = "turns"
    end_rule = "winning"
    lesson = LESSON
    help_words = HELP
    chosen_options = frozenset({"deck", "hands"})
    extras = staticmethod(extras_of)
    tools = staticmethod(tools_of_binmat)
    presets = (
        Preset(say("Full game"), {"way": "full"}),
        Preset(say("Real cards"), {"way": "referee"}),
    )

    def kit(self, options: BinmatOptions) -> Kit:
        """Return the kit of 78 cards and six lanes."""
        return KIT

    def options(self, raw: Mapping[str, Any]) -> Any:
        """Convert the options. Raises `Malformed` unless the deal is a complete deck.

        Older games stored the way `clock`. It is read as `referee`.
        """
        if raw.get("way") == "clock":
            raw = {**raw, "way": "referee"}
        return super().options(raw)

    def setup(self, options: BinmatOptions, rng: Random) -> Position:
        """Return the first state: six shuffled lane decks, or a counter with all turns left.

        Without the option `hands`, every lane deck has thirteen cards and both hands are empty.
        """
        check_options(options)
        if options.way == "full":
            return deal(options, rng)
        return Counter(options, options.turns)

    def drawn(self, options: BinmatOptions) -> Drawn:
        """Return `SETUP` for the full game, and `NEVER` for real cards.

        With a chosen deal it is still `SETUP`, because later reshuffles are random.
        """
        if options.way == "full":
            return Drawn.SETUP
        return Drawn.NEVER

    def chosen(self, options: BinmatOptions) -> str | None:
        """Return a sentence on a chosen deal or chosen hands, which only the full game has."""
        return super().chosen(options) if self.hides(options) else None

    def hides(self, options: BinmatOptions) -> bool:
        """Return whether the program holds the cards, which then stay hidden to the end."""
        return options.way == "full"

    def is_dealt_by_hand(self, options: BinmatOptions) -> bool:
        """Return whether people deal themselves, which they do with real cards."""
        return options.way != "full"

    def hidden_options(self, options: BinmatOptions) -> frozenset[str]:
        """Return the names of the options for the deal and the first hands."""
        return self.chosen_options

    def to_act(self, state: Position) -> frozenset[Seat]:
        """Return the side that must act.

        With real cards the attacker acts after a combat that gives him cards to draw.
        """
        if state.outcome:
            return frozenset()
        return frozenset({state.seat})

    def legal_actions(self, state: Position, seat: Seat) -> Iterable[str]:
        """Return all legal actions of a seat. For real cards, open cards are left out."""
        if seat not in self.to_act(state):
            return []
        if isinstance(state, Counter):
            return counter.legal_actions(state)
        return legal(state, seat)

    def check(self, state: Position, seat: Seat, action: str) -> None:
        """Raise `Illegal` unless the action is legal. The message reveals no hidden card."""
        if isinstance(state, Counter):
            counter.check(state, action)
        else:
            check_order(state, seat, action)

    def apply(self, state: Position, actions: Mapping[Seat, str], rng: Random) -> Step[Any]:
        """Carry out the action of the seat on turn. A combat is split into stages."""
        ((seat, action),) = actions.items()
        if isinstance(state, Counter):
            return counter.play(state, seat, action)
        return play(state, action, rng)

    def view(self, state: Position, seat: Seat | None) -> View:
        """Return what a seat may know. Hidden cards are `X`."""
        if isinstance(state, Counter):
            return counter.view(state)
        return plain(masked(state, seat))

    def dump(self, state: Position) -> View:
        """Return the whole state, hidden cards included."""
        if isinstance(state, Counter):
            return counter.view(state)
        return plain(state)

    def parse(self, text: str) -> str:
        """Return the action of a notation, for both ways to play. Raises `Malformed`."""
        if counter.is_counted(text):
            return counter.parse_counter(text)
        return parse_order(text)

    def lead(self, state: Position) -> float | None:
        """Return South's lead by turns and cards, or None with real cards."""
        if isinstance(state, Counter):
            return None
        return lead(state)

    def time_limit(self, state: Position) -> float | None:
        """Return the seconds of a turn. None if casual, or in a combat with real cards."""
        if isinstance(state, Counter) and (state.called or state.due):
            return None
        return state.options.seconds or None

    def on_timeout(self, state: Position, seat: Seat) -> str | None:
        """Return a pass, or None if only the alarm sounds."""
        if state.options.timeout == "pass":
            return PASS
        return None

    def is_reversible(self, state: Position, seat: Seat, action: str) -> bool:
        """Return whether the seat may take this action back.

        With real cards a combat cannot be taken back, because people have moved the cards after it.
        """
        if isinstance(state, Counter):
            return "/" not in action
        return is_reversible(state, action)

    def card_ui(self, state: Position, seat: Seat | None) -> CardUi:
        """Return what a viewer sees and what he can tap."""
        if isinstance(state, Counter):
            return counter.card_ui(state, seat)
        return card_ui(state, seat)

    def laid_open(self, state: Position, fans: Layout, before: Layout) -> str | None:
        """Return the action for cards that are laid open, which only real cards have."""
        if isinstance(state, Counter):
            return counter.laid_open(state, fans, before)
        return None

    def pad(self, state: Position, seat: Seat) -> PadGrammar | None:
        """Return the keys for real cards. The full game is tapped on a phone."""
        if isinstance(state, Counter):
            return counter.pad(state)
        return None
