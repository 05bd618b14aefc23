"""What only some games need: cards on lanes, a time for each decision, a chess clock. A game inherits what it needs.

The functions ask any game, and answer None for one that has no such thing.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Any, TypeVar

from companion.core.kit import Layout, Seat
from companion.games.base import Game, Step
from companion.games.screen import CardUi, ChessClock

S = TypeVar("S")
A = TypeVar("A")


class CardGame(Game[S, A]):
    """A game of cards and counters: its screens show lanes, hands and piles instead of a board."""

    @abstractmethod
    def tableau(self, state: S, seat: Seat | None) -> CardUi:
        """What a viewer (None: everybody) sees."""

    def laid_open(self, state: S, fans: Layout, before: Layout) -> A | None:  # noqa: ARG002
        """The action that cards laid open mean, by the zones in which they lie; None while they mean none.

        `before` are the cards that lay open when this decision became due.
        """
        return None


class TimedGame(Game[S, A]):
    """A game with a time for each decision."""

    @abstractmethod
    def time_limit(self, state: S) -> float | None:
        """How many seconds the decision that is due may take, from its beginning; None: as long as it likes."""

    def on_timeout(self, state: S, seat: Seat) -> A | None:  # noqa: ARG002
        """What happens for a seat whose time is over; None: only the alarm sounds."""
        return None


class ChessClockGame(Game[S, A]):
    """A game in which each seat has its time for the whole game."""

    @abstractmethod
    def chess_clock(self, state: S) -> ChessClock | None:
        """The time while the clock of the seat on turn runs (who has none left, loses); None: no clock runs."""


class DealtGame(Game[S, A]):
    """A game with hidden cards that can be played at two tables: a dealer keeps the cards and tells each its own.

    A state holds backs then for the cards that a seat does not know. What may not be read from such a state: the order
    of a stack, a hand, a card face down.
    """

    @abstractmethod
    def undealt(self, options: Any) -> S:
        """The first state as long as nobody knows a card."""

    @abstractmethod
    def seen_by(self, state: S, seat: Seat) -> S:
        """A state as a seat knows it, with backs for the rest."""

    @abstractmethod
    def seen_after(self, state: S, seat: Seat, action: A, after: S) -> S:
        """The same of the state before an action, with what the seat has learned by it."""

    @abstractmethod
    def told(self, action: A) -> A:
        """What the other seat may know of an action: a back for a card that is played face down."""

    @abstractmethod
    def packed(self, state: S) -> Mapping[str, Any]:
        """A state without its options and its end, in plain JSON."""

    @abstractmethod
    def unpacked(self, options: Any, packed: Any) -> S:
        """The state of it; raises `Malformed` for what is none."""

    @abstractmethod
    def ended(self, state: S, like: S) -> S:
        """A state that has ended as another one has."""

    def told_text(self, text: str) -> str:
        """The same of an action in notation."""
        return self.format(self.told(self.parse(text)))

    def told_step(self, before: S, actions: Mapping[Seat, A], after: S) -> Step[S]:
        """What comes of a turn of which a seat knows the state before, as far as the turn shows it, and after."""
        step = self.apply(before, actions, Random(0))
        return replace(step, state=self.ended(after, step.state))


def dealt_game(game: Game[Any, Any] | None, options: Any) -> DealtGame[Any, Any] | None:
    """The game, where a dealer keeps its cards in a game at two tables; None: there is nothing to be dealt."""
    return game if isinstance(game, DealtGame) and game.hides(options) else None


def tableau_of(game: Game[Any, Any] | None, state: Any, seat: Seat | None) -> CardUi | None:
    """What a viewer (None: everybody) sees of a game of cards; None: the board says it all."""
    return game.tableau(state, seat) if isinstance(game, CardGame) else None


def time_limit_of(game: Game[Any, Any], state: Any) -> float | None:
    """How many seconds the decision that is due may take; None: as long as it likes."""
    return game.time_limit(state) if isinstance(game, TimedGame) else None


def chess_clock_of(game: Game[Any, Any], state: Any) -> ChessClock | None:
    """The chess clock that runs now; None: there is none."""
    return game.chess_clock(state) if isinstance(game, ChessClockGame) else None
