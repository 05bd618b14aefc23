"""The newest picture from the network. Nothing queues up, and an old picture is never taken for a
new one.
"""

from __future__ import annotations

import threading
from typing import Generic, NamedTuple, TypeVar

from companion.core.clock import Clock
from companion.core.errors import CameraError

MAX_AGE_S = 0.3
"""Maximum age of a picture in seconds when it is read."""
SILENCE_S = 3.0
"""Timeout in seconds for a picture that can be read."""
T = TypeVar("T")


class Stamped(NamedTuple, Generic[T]):
    """A picture as it arrived. `at_s` is the earliest time at which it can have been taken."""

    what: T
    at_s: float


class Newest(Generic[T]):
    """A box for one picture. One thread puts pictures in, another takes them out."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._held: Stamped[T] | None = None
        self._error: CameraError | None = None
        self._change = threading.Condition()
        self.is_missed = False
        """Whether somebody has waited in vain since the last picture."""

    def put(self, what: T, at_s: float) -> bool:
        """Replace the last picture. Return False if this one is too old to be read as new."""
        with self._change:
            if not 0 <= self._clock.monotonic_s() - at_s <= MAX_AGE_S:
                return False
            self.is_missed = False
            self._held = Stamped(what, at_s)
            self._change.notify_all()
            return True

    def fail(self, error: CameraError) -> None:
        """Give the reason why there will be no more pictures to whoever waits for one."""
        with self._change:
            self._error = error
            self._change.notify_all()

    def take(self, timeout_s: float) -> Stamped[T] | None:
        """Wait for a picture that nobody has taken yet. Return None after a time-out.

        Raises the error given to `fail`.
        """
        with self._change:
            self._change.wait_for(lambda: self._is_fresh() or self._error is not None, timeout_s)
            held, self._held = self._held, None
            if held is None and self._error:
                raise self._error
            self.is_missed = held is None
            return held

    def _is_fresh(self) -> bool:
        """Return whether there is a picture to read. One that has waited too long is thrown
        away.
        """
        if self._held and self._clock.monotonic_s() - self._held.at_s > MAX_AGE_S:
            self._held = None
        return self._held is not None
