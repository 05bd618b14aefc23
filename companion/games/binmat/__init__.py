"""BINMAT: attacker and defender, six lanes, hidden hands and sums that are powers of two."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from random import Random
from typing import Any

from companion.core.i18n import say
from companion.core.kit import Kit, Layout, Seat
from companion.games.aids import Extras
from companion.games.base import Drawn, Outcome, Preset, Step, View
from companion.games.binmat.counter import CounterGame, is_counted, parse_counter
from companion.games.binmat.events import BinmatEvent
from companion.games.binmat.full import FullGame
from companion.games.binmat.lesson import HELP, LESSON
from companion.games.binmat.screen import KIT, SIDES, command_word
from companion.games.binmat.state import (
    BinmatOptions,
    check_options,
    lead,
)
from companion.games.binmat.tools import tools_of_binmat
from companion.games.binmat.words import OPTION_ROWS, RULES, extras_of
from companion.games.pads import PadGrammar
from companion.games.screen import CardUi
from companion.games.tools import GameTools, GameWithTools

WAYS: Mapping[str, FullGame | CounterGame] = {"full": FullGame(), "referee": CounterGame()}
"""The rules of each way to play. A state knows its way by its options."""


class Binmat(GameWithTools[Any, str]):
    """One game in several ways: every question on a state is answered by the rules of its way.

    An action is its notation.
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
    presets = (
        Preset(say("Full game"), {"way": "full"}),
        Preset(say("Real cards"), {"way": "referee"}),
    )

    def kit(self, options: BinmatOptions) -> Kit:
        """Return the kit of 78 cards and six lanes."""
        return KIT

    def extras(self, options: BinmatOptions) -> Extras:
        """Return a player aid for each role."""
        return extras_of(options)

    def options(self, raw: Mapping[str, Any]) -> BinmatOptions:
        """Convert the options. Refuse a deal that is no deck.

        In older games the clock was a way of its own.
        """
        if raw.get("way") == "clock":
            raw = {**raw, "way": "referee"}
        options: BinmatOptions = super().options(raw)
        check_options(options)
        return options

    def setup(self, options: BinmatOptions, rng: Random) -> Any:
        """Return the first state of the chosen way."""
        return WAYS[options.way].setup(options, rng)

    def drawn(self, options: BinmatOptions) -> Drawn:
        """Return what people deal themselves is not drawn.

        A deal that is chosen still leaves shuffles to come.
        """
        return Drawn.SETUP if options.way == "full" else Drawn.NEVER

    def chosen(self, options: BinmatOptions) -> str:
        """Return the deal."""
        if self.hides(options) and any(options.hands):
            return say("The start of this game was chosen.")
        return (
            say("The deal of this game was chosen by the owner.")
            if self.hides(options) and options.deck
            else ""
        )

    def hides(self, options: BinmatOptions) -> bool:
        """Return whether the program keeps the cards, which then lie face down to the end."""
        return options.way == "full"

    def is_dealt_by_hand(self, options: BinmatOptions) -> bool:
        """Return whether people deal: they play with real cards."""
        return options.way != "full"

    def hidden_options(self, options: BinmatOptions) -> frozenset[str]:
        """Return the deal, and what the hands began with."""
        return frozenset({"deck", "hands"})

    def to_act(self, state: Any) -> frozenset[Seat]:
        """Return who must act."""
        return WAYS[state.options.way].to_act(state)

    def legal_actions(self, state: Any, seat: Seat) -> Iterable[str]:
        """Return all legal actions of a seat."""
        return WAYS[state.options.way].legal_actions(state, seat)

    def check(self, state: Any, seat: Seat, action: str) -> None:
        """Raise `Illegal` unless the action is legal."""
        WAYS[state.options.way].check(state, seat, action)

    def apply(self, state: Any, actions: Mapping[Seat, str], rng: Random) -> Step[Any]:
        """Carry out the action of the seat that has the turn."""
        return WAYS[state.options.way].apply(state, actions, rng)

    def outcome(self, state: Any) -> Outcome | None:
        """Return how it ended."""
        return WAYS[state.options.way].outcome(state)

    def how_it_ended(self, state: Any) -> str:
        """Return whether the turns or the cards have run out."""
        outcome = self.outcome(state)
        if outcome and Seat.SOUTH in outcome.winners:
            return (
                say("All turns are over.") if state.turns_left == 0 else super().how_it_ended(state)
            )
        return say("A lane deck has run dry.")

    def view(self, state: Any, seat: Seat | None) -> View:
        """Return what that seat may know."""
        return WAYS[state.options.way].view(state, seat)

    def dump(self, state: Any) -> View:
        """Return everything."""
        return WAYS[state.options.way].dump(state)

    def parse(self, text: str) -> str:
        """Return the action of a notation, whatever the way."""
        return parse_counter(text) if is_counted(text) else WAYS["full"].parse(text)

    def lead(self, state: Any) -> float | None:
        """Return the lead by turns and cards. The referee of real cards knows none of them."""
        return lead(state) if state.options.way == "full" else None

    def commands(self, action: str) -> tuple[str, ...]:
        """Return what was done, without cards and lanes.

        Nothing with real cards, of which the ends alone are known.
        """
        return () if is_counted(action) else (command_word(action),)

    def time_limit(self, state: Any) -> float | None:
        """Return seconds a turn."""
        return WAYS[state.options.way].time_limit(state)

    def on_timeout(self, state: Any, seat: Seat) -> str | None:
        """Return a pass, or only the alarm."""
        return WAYS[state.options.way].on_timeout(state, seat)

    def is_reversible(self, state: Any, seat: Seat, action: str) -> bool:
        """Return whether the seat may take this back."""
        return WAYS[state.options.way].is_reversible(state, seat, action)

    def tableau(self, state: Any, seat: Seat | None) -> CardUi:
        """Return what a viewer sees."""
        return WAYS[state.options.way].tableau(state, seat)

    def laid_open(self, state: Any, fans: Layout, before: Layout) -> str | None:
        """Return the action that cards laid open mean."""
        return WAYS[state.options.way].laid_open(state, fans, before)

    def pad(self, state: Any, seat: Seat) -> PadGrammar | None:
        """Return how a seat spells its action with keys."""
        return WAYS[state.options.way].pad(state, seat)

    def tools(self) -> GameTools:
        """Return combats explained, logs of hackmud read and written, and how self-play plays."""
        return tools_of_binmat()
