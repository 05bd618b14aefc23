"""The full game: the program keeps decks, hands, stacks and discard piles. No cards are needed."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from companion.core.kit import Kit, Seat
from companion.games.base import Game, Outcome, Step, View
from companion.games.binmat.orders import PASS, check_order, legal, parse_order
from companion.games.binmat.screen import KIT, tableau
from companion.games.binmat.state import BinmatOptions, State, deal, plain, plain_all
from companion.games.binmat.turn import is_reversible, play
from companion.games.screen import CardUi


class FullGame(Game[State, str]):
    """The way `full` of the game. An action is its notation."""

    name = "binmat"
    options_type = BinmatOptions

    def kit(self, options: BinmatOptions) -> Kit:
        """Return cards and lanes, for who wants them on the table."""
        return KIT

    def setup(self, options: BinmatOptions, rng: Random) -> State:
        """Return six lane decks of thirteen. Nobody holds a card."""
        return deal(options, rng)

    def to_act(self, state: State) -> frozenset[Seat]:
        """Return who has the turn. The defender begins."""
        return frozenset() if state.outcome else frozenset({state.seat})

    def legal_actions(self, state: State, seat: Seat) -> list[str]:
        """Return all of them."""
        return legal(state, seat) if seat in self.to_act(state) else []

    def check(self, state: State, seat: Seat, action: str) -> None:
        """Raise `Illegal` unless the action is legal. Its words betray no card."""
        check_order(state, seat, action)

    def apply(self, state: State, actions: Mapping[Seat, str], rng: Random) -> Step[State]:
        """Carry out the action. A combat comes in stages."""
        return play(state, actions[state.seat], rng)

    def outcome(self, state: State) -> Outcome | None:
        """Return how it ended."""
        return state.outcome

    def view(self, state: State, seat: Seat | None) -> View:
        """Return the form of `dump` with hidden cards as `X`."""
        return plain(state, seat)

    def dump(self, state: State) -> View:
        """Return every deck, hand, stack and pile. Turns left, whose turn, outcome."""
        return plain_all(state)

    def parse(self, text: str) -> str:
        """Read `d3`, `da`, `p8&3`, `u>+2`, `c3`, `--`, and in the hackmud edition `x8&3`, `x8&a`."""
        return parse_order(text)

    def time_limit(self, state: State) -> float | None:
        """Return the seconds of a turn. Casual play has none."""
        return state.options.seconds or None

    def on_timeout(self, state: State, seat: Seat) -> str | None:
        """Return a pass, or only the alarm."""
        return PASS if state.options.timeout == "pass" else None

    def is_reversible(self, state: State, seat: Seat, action: str) -> bool:
        """Return a pass or a card played without anything turned up, unless that ended the game or
        cost a hand."""
        return is_reversible(state, action)

    def tableau(self, state: State, seat: Seat | None) -> CardUi:
        """Return lanes, piles, hands, and what can be tapped."""
        return tableau(state, seat)
