"""Time as a parameter: all code that waits or needs a time stamp is given a `Clock`.

The program runs on `RealClock`. Tests and self-play run on `FakeClock`, so that they never wait.
"""

from __future__ import annotations

import threading
import time
from typing import Protocol

# Earliest plausible Unix time, in November 2023. A machine without a battery for its clock may
# start with an older time, until a network sets it.
EARLIEST_UNIX_S = 1_700_000_000.0


class Clock(Protocol):
    """A clock with two times. `monotonic_s` is for measuring, `wall_s` for people and the journal.

    Any thread may ask for either.
    """

    def monotonic_s(self) -> float:
        """Return seconds since an arbitrary moment. They never jump and never run backwards."""

    def wall_s(self) -> float:
        """Return the Unix time in seconds. It may jump, as when the machine learns the time."""


class RealClock:
    """The clocks of the machine."""

    def monotonic_s(self) -> float:
        return time.monotonic()

    def wall_s(self) -> float:
        return time.time()


class FakeClock:
    """A clock that moves only by `advance`, for tests and fast simulation.

    >>> clock = FakeClock()
    >>> clock.advance(2.5)
    >>> clock.monotonic_s()
    2.5
    """

    def __init__(self, start_s: float = 0.0, wall_s: float = EARLIEST_UNIX_S) -> None:
        self._now_s = start_s
        self._wall_offset_s = wall_s - start_s
        self._lock = threading.Lock()

    def monotonic_s(self) -> float:
        """Return the seconds to which the clock was advanced."""
        return self._now_s

    def wall_s(self) -> float:
        """Return the Unix time in seconds, which moves with the monotonic one."""
        return self._now_s + self._wall_offset_s

    def advance(self, seconds: float) -> None:
        """Advance both times. Raises ValueError for a negative number."""
        if seconds < 0:
            raise ValueError("time does not run backwards")
        with self._lock:
            self._now_s += seconds

    def set_wall(self, wall_s: float) -> None:
        """Set the Unix time, forwards or backwards. The monotonic time does not change."""
        with self._lock:
            self._wall_offset_s = wall_s - self._now_s
