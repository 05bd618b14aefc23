"""Time enters the program as data: all code that waits or needs a timestamp uses a `Clock`."""

from __future__ import annotations

import threading
import time
from typing import Protocol

EARLIEST_S = 1_700_000_000.0
"""Earliest plausible Unix time, at the end of 2023. A clock before it was never set."""


class Clock(Protocol):
    """A clock with two times: `monotonic_s` for measuring, `wall_s` (Unix time) for people and the
    journal.
    """

    def monotonic_s(self) -> float:
        """Return monotonic seconds, which never jump."""

    def wall_s(self) -> float:
        """Return the Unix time in seconds, which may jump."""


class RealClock:
    """The machine's clocks."""

    def monotonic_s(self) -> float:
        return time.monotonic()

    def wall_s(self) -> float:
        return time.time()


class FakeClock:
    """A clock that moves only by `advance`, for tests and fast simulation.

    >>> clock = FakeClock(); clock.advance(2.5); clock.monotonic_s()
    2.5
    """

    def __init__(self, start_s: float = 0.0, wall_s: float = 1_700_000_000.0) -> None:
        self._now_s = start_s
        self._wall_offset_s = wall_s - start_s
        self._lock = threading.Lock()

    def monotonic_s(self) -> float:
        """Return the monotonic time."""
        return self._now_s

    def wall_s(self) -> float:
        """Return the Unix time, which moves with the monotonic one."""
        return self._now_s + self._wall_offset_s

    def advance(self, seconds: float) -> None:
        """Advance the time. Raises ValueError for a negative number."""
        if seconds < 0:
            raise ValueError("time does not run backwards")
        with self._lock:
            self._now_s += seconds

    def set_wall(self, wall_s: float) -> None:
        """Set the wall clock, forward or back. The monotonic clock does not change."""
        with self._lock:
            self._wall_offset_s = wall_s - self._now_s
