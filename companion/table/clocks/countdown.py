"""The clocks of a game as values: the time of one decision, and each seat's time for the whole
game.

Times are monotonic seconds, from the records of the journal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from companion.core.kit import SEATS, Seat
from companion.games.screen import ChessClock


@dataclass(frozen=True)
class Countdown:
    """The clock of the decision that is due: `left_s` seconds at the monotonic time `since_s`, None
    while it is stopped.
    """

    limit_s: float
    left_s: float
    since_s: float | None = None

    @property
    def due_s(self) -> float | None:
        """Return when it runs out. None while it is stopped."""
        return None if self.since_s is None else self.since_s + self.left_s

    @property
    def has_run_out(self) -> bool:
        """Return whether it is stopped and has no time left."""
        return self.since_s is None and self.left_s <= 0

    def stop(self, now_s: float) -> Countdown:
        """Return the clock as stopped at a time."""
        if self.since_s is None:
            return self
        # Subtract at most the time left, and nothing if the stamp is older than the start.
        spent_s = min(self.left_s, max(0.0, now_s - self.since_s))
        return Countdown(self.limit_s, self.left_s - spent_s)

    def start(self, now_s: float) -> Countdown:
        """Return the clock as started at a time. An expired clock does not start."""
        return self if self.left_s <= 0 else Countdown(self.limit_s, self.left_s, now_s)


@dataclass(frozen=True)
class Bank:
    """Time in seconds on each seat's chess clock at the beginning of a decision. `seat` is on
    turn.
    """

    left_s: Mapping[Seat, float]
    seat: Seat

    def left_by_seat(self, countdown: Countdown | None) -> Mapping[Seat, float]:
        """Return the time left for each seat. `countdown` must be stopped."""
        return self.left_s if countdown is None else {**self.left_s, self.seat: countdown.left_s}


def next_bank(
    bank: Bank | None, countdown: Countdown | None, clock: ChessClock, seat: Seat
) -> Bank:
    """Return the chess clocks at the beginning of the next decision. A seat that ends its turn gets
    the increment.
    """
    if bank is None:
        return Bank(dict.fromkeys(SEATS, clock.seconds), seat)
    left_s = dict(bank.left_by_seat(countdown))
    if bank.seat is not seat:
        left_s[bank.seat] += clock.increment_s
    return Bank(left_s, seat)
