"""The clocks of a game as values: the time of one decision, and each seat's time for the whole
game.

Times are monotonic seconds; they come with the records of the journal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from companion.core.kit import SEATS, Seat
from companion.games.screen import ChessClock


@dataclass(frozen=True)
class Countdown:
    """The time of the decision that is due: `left_s` seconds at `since_s`, a monotonic time; None:
    it stands still.
    """

    limit_s: float
    left_s: float
    since_s: float | None = None

    @property
    def due_s(self) -> float | None:
        """Return when it runs out. None while it stands still."""
        return None if self.since_s is None else self.since_s + self.left_s

    @property
    def has_run_out(self) -> bool:
        """Return whether there is no time left, and nobody has acted yet."""
        return self.since_s is None and self.left_s <= 0

    def stop(self, now_s: float) -> Countdown:
        """Return the same, standing still from a time on."""
        if self.since_s is None:
            return self
        # never more than is left, and nothing for a stamp from before the start
        spent_s = min(self.left_s, max(0.0, now_s - self.since_s))
        return Countdown(self.limit_s, self.left_s - spent_s)

    def start(self, now_s: float) -> Countdown:
        """Return the same clock, running from a time on. One that has run out stays as it is."""
        return self if self.left_s <= 0 else Countdown(self.limit_s, self.left_s, now_s)


@dataclass(frozen=True)
class Bank:
    """What each seat has left on its chess clock, in seconds, as a decision began; `seat` has the
    turn.
    """

    left_s: Mapping[Seat, float]
    seat: Seat

    def left_by_seat(self, countdown: Countdown | None) -> Mapping[Seat, float]:
        """Return what each seat has left, with the time of the decision that is due taken off."""
        return self.left_s if countdown is None else {**self.left_s, self.seat: countdown.left_s}


def next_bank(
    bank: Bank | None, countdown: Countdown | None, clock: ChessClock, seat: Seat
) -> Bank:
    """Return the clocks as the next decision begins.

    A seat that ends its turn gets the increment back.
    """
    if bank is None:
        return Bank(dict.fromkeys(SEATS, clock.seconds), seat)
    left_s = dict(bank.left_by_seat(countdown))
    if bank.seat is not seat:
        left_s[bank.seat] += clock.increment_s
    return Bank(left_s, seat)
