"""The clocks of a game as values.

A countdown limits one decision, and chess clocks limit each seat's time for the whole game. They
are part of the session, which is computed from the records of the journal. All times are the
monotonic seconds of these records, so the same journal always gives the same clocks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from companion.core.kit import SEATS, Seat
from companion.games.screen import ChessClock


@dataclass(frozen=True)
class Countdown:
    """The clock of the decision that is due. It runs or is stopped."""

    limit_s: float
    """Time in seconds for the whole decision, or for the whole game of a chess clock."""
    left_s: float
    """Time left in seconds when the clock was started, or now if it is stopped."""
    started_at_s: float | None = None
    """Monotonic time at which it was started. None while it is stopped."""

    @property
    def due_s(self) -> float | None:
        """The monotonic time at which the clock runs out. None while it is stopped."""
        return None if self.started_at_s is None else self.started_at_s + self.left_s

    @property
    def has_run_out(self) -> bool:
        """Whether the clock is stopped and has no time left."""
        return self.started_at_s is None and self.left_s <= 0

    def stop(self, now_s: float) -> Countdown:
        """Return this clock, stopped at the monotonic time `now_s`."""
        if self.started_at_s is None:
            return self
        # Subtract at most the time left, and nothing if the clock was started later than `now_s`.
        spent_s = min(self.left_s, max(0.0, now_s - self.started_at_s))
        return Countdown(self.limit_s, self.left_s - spent_s)

    def start(self, now_s: float) -> Countdown:
        """Return this clock, started at the monotonic time `now_s`.

        A clock that has run out stays stopped.
        """
        return self if self.left_s <= 0 else Countdown(self.limit_s, self.left_s, now_s)


@dataclass(frozen=True)
class ChessClocks:
    """The chess clocks of both seats at the beginning of a decision."""

    left_s: Mapping[Seat, float]
    """Time left in seconds, by seat."""
    seat_on_turn: Seat
    """Its clock is the `Countdown` of the decision."""

    def left_by_seat(self, countdown: Countdown | None) -> Mapping[Seat, float]:
        """Return the time left for each seat, in seconds.

        `countdown` is the clock of the seat on turn. If it is running, the time since its last
        start is not subtracted yet. Without a countdown, the times are those at the beginning of
        the decision.
        """
        return (
            self.left_s
            if countdown is None
            else {**self.left_s, self.seat_on_turn: countdown.left_s}
        )


def next_chess_clocks(
    clocks: ChessClocks | None, countdown: Countdown | None, rule: ChessClock, seat: Seat
) -> ChessClocks:
    """Return the chess clocks at the beginning of the next decision, which is that of `seat`.

    `clocks` and `countdown` are those of the previous decision, None in a new game. `rule` has the
    game's time and increment. A seat that has just ended its turn gets the increment.
    """
    if clocks is None:
        return ChessClocks(dict.fromkeys(SEATS, rule.seconds), seat)
    left_s = dict(clocks.left_by_seat(countdown))
    if clocks.seat_on_turn is not seat:
        left_s[clocks.seat_on_turn] += rule.increment_s
    return ChessClocks(left_s, seat)
