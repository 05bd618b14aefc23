"""BINMAT: attacker and defender, six lanes, hidden hands and sums that are powers of two."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from random import Random
from typing import Any

from companion.core.i18n import say
from companion.core.kit import Kit, Layout, Seat
from companion.games.base import Drawn, Game, Preset, Step, View
from companion.games.binmat import counter
from companion.games.binmat.counter import Counter
from companion.games.binmat.events import BinmatEvent
from companion.games.binmat.lesson import HELP, LESSON
from companion.games.binmat.orders import PASS, check_order, legal, parse_order
from companion.games.binmat.screen import KIT, SIDES, card_ui, command_word
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


class Binmat(Game[Any, str]):
    """The full game, and the counter of one with real cards, which has states of its own
    (`Counter`).

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
        """Convert the options. Refuse a deal that is no deck.

        In older games the clock was a way of its own.
        """
        if raw.get("way") == "clock":
            raw = {**raw, "way": "referee"}
        return super().options(raw)

    def setup(self, options: BinmatOptions, rng: Random) -> State | Counter:
        """Return six lane decks of thirteen, and nobody holds a card. With real cards all turns are
        left.
        """
        check_options(options)
        if options.way == "full":
            return deal(options, rng)
        return Counter(options, options.turns)

    def drawn(self, options: BinmatOptions) -> Drawn:
        """Return that the full game draws before it begins. What people deal themselves is not
        drawn.

        A deal that is chosen still leaves shuffles to come.
        """
        if options.way == "full":
            return Drawn.SETUP
        return Drawn.NEVER

    def chosen(self, options: BinmatOptions) -> str:
        """Return the deal."""
        if self.hides(options) and any(options.hands):
            return say("The start of this game was chosen.")
        if self.hides(options) and options.deck:
            return say("The deal of this game was chosen by the owner.")
        return ""

    def hides(self, options: BinmatOptions) -> bool:
        """Return whether the program keeps the cards, which then lie face down to the end."""
        return options.way == "full"

    def is_dealt_by_hand(self, options: BinmatOptions) -> bool:
        """Return whether people deal: they play with real cards."""
        return options.way != "full"

    def hidden_options(self, options: BinmatOptions) -> frozenset[str]:
        """Return the deal, and what the hands began with."""
        return frozenset({"deck", "hands"})

    def to_act(self, state: State | Counter) -> frozenset[Seat]:
        """Return who must act: the side on turn, but the attacker draws what a combat brought
        him.
        """
        if state.outcome:
            return frozenset()
        return frozenset({state.acting if isinstance(state, Counter) else state.seat})

    def legal_actions(self, state: State | Counter, seat: Seat) -> Iterable[str]:
        """Return all legal actions of a seat. Of a game with real cards all but open cards."""
        if seat not in self.to_act(state):
            return []
        if isinstance(state, Counter):
            return counter.legal_actions(state)
        return legal(state, seat)

    def check(self, state: State | Counter, seat: Seat, action: str) -> None:
        """Raise `Illegal` unless the action is legal. Its words betray no card."""
        if isinstance(state, Counter):
            counter.check(state, action)
        else:
            check_order(state, seat, action)

    def apply(self, state: State | Counter, actions: Mapping[Seat, str], rng: Random) -> Step[Any]:
        """Carry out the action of the seat that has the turn. A combat comes in stages."""
        ((seat, action),) = actions.items()
        if isinstance(state, Counter):
            return counter.play(state, seat, action)
        return play(state, action, rng)

    def how_it_ended(self, state: State | Counter) -> str:
        """Return whether the turns or the cards have run out."""
        outcome = self.outcome(state)
        if outcome and Seat.SOUTH in outcome.winners:
            all_over = say("All turns are over.")
            if state.turns_left == 0:
                return all_over
            # turns are left, so the attacker has run out of cards
            return super().how_it_ended(state)
        return say("A lane deck has run dry.")

    def view(self, state: State | Counter, seat: Seat | None) -> View:
        """Return what that seat may know. Hidden cards are `X`."""
        if isinstance(state, Counter):
            return counter.view(state)
        return plain(masked(state, seat))

    def dump(self, state: State | Counter) -> View:
        """Return everything."""
        if isinstance(state, Counter):
            return counter.view(state)
        return plain(state)

    def parse(self, text: str) -> str:
        """Return the action of a notation, whatever the way."""
        if counter.is_counted(text):
            return counter.parse_counter(text)
        return parse_order(text)

    def lead(self, state: State | Counter) -> float | None:
        """Return the lead by turns and cards. The referee of real cards knows none of them."""
        if isinstance(state, Counter):
            return None
        return lead(state)

    def commands(self, action: str) -> tuple[str, ...]:
        """Return what was done, without cards and lanes.

        Nothing with real cards, of which the ends alone are known.
        """
        if counter.is_counted(action):
            return ()
        return (command_word(action),)

    def time_limit(self, state: State | Counter) -> float | None:
        """Return the seconds of a turn. A combat with real cards takes as long as it likes."""
        if isinstance(state, Counter) and (state.called or state.due):
            return None
        return state.options.seconds or None

    def on_timeout(self, state: State | Counter, seat: Seat) -> str | None:
        """Return a pass, or only the alarm."""
        if state.options.timeout == "pass":
            return PASS
        return None

    def is_reversible(self, state: State | Counter, seat: Seat, action: str) -> bool:
        """Return whether the seat may take this back.

        Of a game with real cards presses alone: after a combat hands have moved the cards.
        """
        if isinstance(state, Counter):
            return "/" not in action
        return is_reversible(state, action)

    def card_ui(self, state: State | Counter, seat: Seat | None) -> CardUi:
        """Return what a viewer sees, and what can be tapped."""
        if isinstance(state, Counter):
            return counter.card_ui(state, seat)
        return card_ui(state, seat)

    def laid_open(self, state: State | Counter, fans: Layout, before: Layout) -> str | None:
        """Return the action that cards laid open mean."""
        if isinstance(state, Counter):
            return counter.laid_open(state, fans, before)
        return None

    def pad(self, state: State | Counter, seat: Seat) -> PadGrammar | None:
        """Return the keys of a game with real cards. The full game is tapped."""
        if isinstance(state, Counter):
            return counter.pad(state)
        return None
