"""When something happened, whatever the machine's clock said meanwhile.

Inputs are ordered by their number and measured by the monotonic clock; the wall clock only gives them a date. Of every
start of the service (a run) the journal keeps how far the wall clock was ahead of the monotonic one, as known last: a
clock that is set while the service runs mends the dates of all that was played since it began. A date that is known to
be wrong is told as unknown.
"""

from __future__ import annotations

from dataclasses import dataclass

EARLIEST_S = 1_700_000_000.0
"""No game of this program was played before the end of 2023: a clock that says so was never set."""
JUMP_S = 2.0
"""A wall clock that runs off the monotonic one by more than that was set."""


@dataclass(frozen=True)
class ServiceRun:
    """A start of the service: the wall clock less the monotonic one (s), and whether the date may be right."""

    number: int
    ahead_s: float
    is_right: bool


@dataclass(frozen=True)
class Stamp:
    """The two times of an input: the monotonic one, and what the wall clock said."""

    now_s: float
    wall_s: float

    @property
    def ahead_s(self) -> float:
        """Seconds by which the wall clock is ahead."""
        return self.wall_s - self.now_s


def first_run(number: int, stamp: Stamp, last: ServiceRun | None, last_wall_s: float) -> ServiceRun:
    """Return a start of the service at its first input.

    `last` is the run before and `last_wall_s` what the clock said at its end. A clock that says less was not set; one
    that has gone on by itself since is as right as it was.
    """
    is_right = stamp.wall_s >= max(EARLIEST_S, last_wall_s)
    if last is not None and stamp.wall_s >= EARLIEST_S and abs(stamp.ahead_s - last.ahead_s) <= JUMP_S:
        is_right = last.is_right
    return ServiceRun(number, stamp.ahead_s, is_right)


def next_run(run: ServiceRun, stamp: Stamp) -> ServiceRun:
    """Return the same run at a later input, with the clock as it was set meanwhile."""
    if abs(stamp.ahead_s - run.ahead_s) <= JUMP_S:
        return run
    return ServiceRun(run.number, stamp.ahead_s, stamp.wall_s >= EARLIEST_S)
