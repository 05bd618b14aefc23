"""An old phone as the camera: its browser sends one JPEG after the other, and the newest one is read.

Nothing queues up. A phone sends the next picture when the last one is answered, and only the newest is kept.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import NamedTuple

from companion.core.clock import Clock
from companion.core.errors import CameraError
from companion.core.i18n import say
from vision.cameras.colours import Colours
from vision.cameras.files import decode_picture
from vision.cameras.source import Device
from vision.detection.markers import Luma

PHONE = "phone"
"""The word for it in `CameraOpener.open`."""
MAX_AGE_S = 0.3
"""A picture that was taken longer ago is never read as new."""
SILENCE_S = 3.0
"""Timeout in seconds for a picture that can be read."""
STILL_S, MOVING_S = 0.25, 0.1
"""Seconds from one picture to the next: four a second while all is still, ten while something moves."""
MAX_JPEG_BYTES = 2_000_000
"""Maximum size of a picture. One of 1280 x 960 pixels has some 300 kB."""


class _Sent(NamedTuple):
    """A picture as it came in. `at_s`: the earliest time at which it can have been taken."""

    jpeg: bytes
    at_s: float


class PhoneLine:
    """Holds the newest picture of the phone. The pages put pictures in, the watcher's thread takes them out.

    `when_back` is called when pictures come again after the watcher has waited for them in vain.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._newest: _Sent | None = None
        self._change = threading.Condition()
        self._is_missed = False
        self._late = 0
        self.phone = ""
        """What tells this phone from others; its lens is known by it."""
        self.is_moving = True
        """Does something move, so that pictures are wanted often?"""
        self.when_back: Callable[[], None] = lambda: None

    @property
    def period_s(self) -> float:
        """Return the seconds from one picture to the next that the reader wants now."""
        return MOVING_S if self.is_moving else STILL_S

    @property
    def is_late(self) -> bool:
        """Return whether pictures come in and all of them are too old."""
        return self._late > 0

    def put(self, jpeg: bytes, at_s: float) -> None:
        """Keep a picture in the place of the last one, unless it is too old to be read as new."""
        age_s = self._clock.monotonic_s() - at_s
        with self._change:
            if not 0 <= age_s <= MAX_AGE_S:
                self._late += 1
                return
            self._late = 0
            self._newest = _Sent(jpeg, at_s)
            is_back, self._is_missed = self._is_missed, False
            self._change.notify_all()
        if is_back:
            self.when_back()

    def take(self, timeout_s: float) -> _Sent | None:
        """Wait for a picture that nobody has taken yet. Return None if there is none in time."""
        with self._change:
            self._change.wait_for(self._has_new, timeout_s)
            sent, self._newest = self._newest, None
            self._is_missed = sent is None
            return sent

    def _has_new(self) -> bool:
        """Return whether there is a picture to read. One that has waited too long is thrown away."""
        if self._newest and self._clock.monotonic_s() - self._newest.at_s > MAX_AGE_S:
            self._newest = None
        return self._newest is not None


class PhoneCamera(Device):
    """The phone at the other end of a line. It locks focus and exposure by itself where its browser can."""

    name = PHONE

    def __init__(self, line: PhoneLine, clock: Clock) -> None:
        super().__init__(clock)
        self.identity = f"phone {line.phone}"
        self._line = line
        self._at_s = 0.0
        self._tint: Callable[[], Colours | None] | None = None
        line.is_moving = True

    def pace(self, is_moving: bool) -> None:
        """Ask for pictures often, or seldom."""
        self._line.is_moving = is_moving

    def _luma(self) -> Luma:
        sent = self._line.take(SILENCE_S)
        if sent is None:
            raise CameraError(self._why_silent())
        self._at_s = sent.at_s
        try:
            luma, self._tint = decode_picture(sent.jpeg)
        except CameraError:
            raise CameraError(say("The phone sends no pictures that can be read: open its page again")) from None
        return luma

    def _why_silent(self) -> str:
        if self._line.is_late:
            return say("The phone’s pictures come too late: bring it closer to the Wi-Fi")
        return say("The phone sends no pictures: unlock it and open its camera page")

    def _age_s(self) -> float:
        return self._clock.monotonic_s() - self._at_s

    def _colours(self) -> Callable[[], Colours | None] | None:
        return self._tint
