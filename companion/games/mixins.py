"""What only some games need: cards on lanes, a time for each decision, a chess clock. A game inherits what it needs.

Any game may be asked, and answers None for what it does not have.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TypeVar

from companion.core.kit import Layout, Seat
from companion.games.base import Game
from companion.games.screen import CardUi, ChessClock

S = TypeVar("S")
A = TypeVar("A")


class CardGame(Game[S, A]):
    """A game of cards and counters: its screens show lanes, hands and piles instead of a board."""

    @abstractmethod
    def tableau(self, state: S, seat: Seat | None) -> CardUi:
        """Return what a viewer (None: everybody) sees."""

    def laid_open(self, state: S, fans: Layout, before: Layout) -> A | None:  # noqa: ARG002
        """Return the action that cards laid open mean, by the zones in which they lie.

        None while they mean none.

        `before` are the cards that lay open when this decision became due.
        """
        return None


class TimedGame(Game[S, A]):
    """A game with a time for each decision."""

    @abstractmethod
    def time_limit(self, state: S) -> float | None:
        """Return how many seconds the decision that is due may take, from its beginning.

        None: as long as it likes.
        """

    def on_timeout(self, state: S, seat: Seat) -> A | None:  # noqa: ARG002
        """Return what happens for a seat whose time is over. None: only the alarm sounds."""
        return None


class ChessClockGame(Game[S, A]):
    """A game in which each seat has its time for the whole game."""

    @abstractmethod
    def chess_clock(self, state: S) -> ChessClock | None:
        """Return the time while the clock of the seat on turn runs (who has none left, loses).

        None: no clock runs.
        """
