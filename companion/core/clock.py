"""Time enters the program as data: everything that waits or stamps asks a `Clock`."""

from __future__ import annotations

import threading
import time
from typing import Protocol

EARLIEST_S = 1_700_000_000.0
"""No game of this program was played before the end of 2023: a clock that says so was never set."""


class Clock(Protocol):
    """Two times: `monotonic_s` for measuring, `wall_s` (Unix time) for people and the journal."""

    def monotonic_s(self) -> float:
        """Return seconds that never jump."""

    def wall_s(self) -> float:
        """Return the Unix time in seconds, which may jump."""


class RealClock:
    """The machine's clocks."""

    def monotonic_s(self) -> float:
        """Return the seconds since some moment."""
        return time.monotonic()

    def wall_s(self) -> float:
        """Return the Unix time in seconds."""
        return time.time()


class FakeClock:
    """A clock that only moves when it is told to; for tests and fast simulation.

    >>> clock = FakeClock(); clock.advance(2.5); clock.monotonic_s()
    2.5
    """

    def __init__(self, start_s: float = 0.0, wall_s: float = 1_700_000_000.0) -> None:
        self._now_s = start_s
        self._wall_offset_s = wall_s - start_s
        self._lock = threading.Lock()

    def monotonic_s(self) -> float:
        """Return the time that was last set."""
        return self._now_s

    def wall_s(self) -> float:
        """Return the Unix time, which moves with the monotonic one."""
        return self._now_s + self._wall_offset_s

    def advance(self, seconds: float) -> None:
        """Let time pass, never backwards."""
        if seconds < 0:
            raise ValueError("time does not run backwards")
        with self._lock:
            self._now_s += seconds

    def set_wall(self, wall_s: float) -> None:
        """Set the wall clock, back or forth. The monotonic one does not notice."""
        with self._lock:
            self._wall_offset_s = wall_s - self._now_s
