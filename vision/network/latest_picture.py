"""The latest picture from the network. Pictures do not queue up, and an old one is never read as a
new one.
"""

from __future__ import annotations

import threading
from typing import Generic, NamedTuple, TypeVar

from companion.core.clock import Clock
from companion.core.errors import CameraError

# Maximum age of a picture in seconds when it is read. It was chosen by judgement. Larger: pieces
# are read where they were some time ago. Smaller: pictures over a slow Wi-Fi are all discarded.
MAX_AGE_S = 0.3
# Type of a picture: JPEG bytes, or an array.
T = TypeVar("T")


class StampedPicture(NamedTuple, Generic[T]):
    """A picture as it arrived."""

    picture: T
    at_s: float
    """Earliest monotonic time at which it can have been taken, as far as that is known."""


class LatestPicture(Generic[T]):
    """Holds one picture: receiving threads `put` pictures, and the watcher's thread takes them."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        # The picture that nobody has taken yet.
        self._latest: StampedPicture[T] | None = None
        # Why there are no more pictures. None while there may be.
        self._error: CameraError | None = None
        # Guards the fields of this object. It is notified of every picture and of the error.
        self._change = threading.Condition()
        self.is_overdue = False
        """Whether `take` has timed out since the last picture."""

    def put(self, picture: T, at_s: float) -> bool:
        """Replace the last picture. Return False if this one is unusable, and then change nothing.

        It is unusable if it is too old to be read as new, or if its time lies in the future.
        """
        with self._change:
            if not 0 <= self._clock.monotonic_s() - at_s <= MAX_AGE_S:
                return False
            self.is_overdue = False
            self._latest = StampedPicture(picture, at_s)
            self._change.notify_all()
            return True

    def fail(self, error: CameraError) -> None:
        """Report why there will be no more pictures.

        A picture that is still fresh can be taken. After that every `take` raises this error.
        """
        with self._change:
            self._error = error
            self._change.notify_all()

    def take(self, timeout_s: float) -> StampedPicture[T] | None:
        """Wait for a picture that nobody has taken yet. Return None after a time-out.

        Raises the error given to `fail` if there is no picture.
        """
        with self._change:
            self._change.wait_for(
                lambda: self._discard_if_stale() or self._error is not None, timeout_s
            )
            latest = self._latest
            self._latest = None
            if latest is None and self._error:
                raise self._error
            self.is_overdue = latest is None
            return latest

    def _discard_if_stale(self) -> bool:
        """Discard the picture if it has become too old. Return whether there is one to read."""
        if self._latest and self._clock.monotonic_s() - self._latest.at_s > MAX_AGE_S:
            self._latest = None
        return self._latest is not None
