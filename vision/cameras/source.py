"""Base classes of all sources of frames, and of real cameras, which can do more than a file."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from companion.core.clock import Clock
from companion.core.errors import CameraError
from companion.core.i18n import say
from companion.core.ports import Closeable, Frame
from vision.cameras.colours import Colours
from vision.oddities import Oddity

# Maximum age of a picture in seconds. If it seems older, the driver uses another clock, and the age
# is ignored.
_MAX_AGE_S = 2.0


class Locks(NamedTuple):
    """Whether focus and exposure are locked. None for what the camera cannot lock."""

    focus: bool | None
    exposure: bool | None


class Capture(NamedTuple):
    """A picture as a source takes it, before it is checked, numbered and stamped as a `Frame`."""

    luma: Any
    """Brightness (height, width) uint8, unless the driver is at fault."""
    colours: Callable[[], Colours | None] | None = None
    """Function that returns its colours. None if it has none."""
    age_s: float = 0.0
    """Seconds since it was exposed. 0 if that is unknown."""


class FrameSource(Closeable):
    """Base class of everything that provides frames: cameras, files, and the simulated table.

    It implements `companion.core.ports.Camera`, and is a context manager (see `Closeable`).
    Subclasses must override `_capture`, and may override `_release`.
    """

    name = "camera"
    """Name in sentences for people."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._numbers = count(1)
        self._closed = False

    def frame(self) -> Frame:
        """Wait for the next picture, (height, width) uint8.

        Raises `CameraError` when the device is gone, closed or sends something else.
        """
        if self._closed:
            raise CameraError(say("The camera {name} is closed: open it again", name=self.name))
        capture = self._capture()
        luma: Any = capture.luma
        if (
            not isinstance(luma, np.ndarray)
            or luma.dtype != np.uint8
            or luma.ndim != 2
            or min(luma.shape) < 2
        ):
            raise CameraError(
                say(
                    "The camera {name} sends what is no picture: choose another one",
                    name=self.name,
                )
            )
        at_s = self._clock.monotonic_s()
        if 0 < capture.age_s < _MAX_AGE_S:
            at_s -= capture.age_s
        return Frame(luma, at_s, next(self._numbers), capture.colours)

    def close(self) -> None:
        """Close the device. A second call does nothing."""
        if not self._closed:
            self._closed = True
            self._release()

    def _capture(self) -> Capture:
        """Wait for the next picture. Raises `CameraError`."""
        raise NotImplementedError

    def _release(self) -> None:
        """Release the device. It is called once. The base class has nothing to release."""


class PhysicalCamera(FrameSource):
    """Base class of real cameras, whose lens is worth storing and which may have controls.

    Its pictures have noise, so two in a row are never equal while the camera works.

    Subclasses may override `locks`, `lock`, `meter`, `adapt_rate` and `zoom`. They are called in
    the thread that takes the frames.
    """

    identity = ""
    """Key under which its lens is stored, the same as long as the camera stays in its socket."""
    lens_name = "webcam"
    """Name of its lens in `vision.pose.optics.LENSES`."""
    oddity: Oddity | None = None
    """Known quirk of this kind of camera. None if there is none."""

    @property
    def locks(self) -> Locks | None:
        """Whether focus and exposure are locked. None if the camera can lock neither."""
        return None

    @property
    def zoom(self) -> float:
        """Width of the sensor divided by the width that the picture shows, at least 1."""
        return 1.0

    def lock(self, focus: bool | None, exposure: bool | None) -> None:
        """Lock focus or exposure (True) or make them automatic (False).

        None leaves one as it is.
        """

    def meter(self, slow: bool) -> bool:  # noqa: ARG002 - for those who can
        """Measure the light again. Return False if this camera cannot.

        With `slow` the camera may expose each picture for the whole time until the next one, at the
        rate of the settings.
        """
        return False

    def adapt_rate(self, is_moving: bool) -> None:
        """Adapt the rate of pictures to whether something moves, if they are sent on request."""


def flicker_free_exposure_s(seconds: float, mains_hz: int) -> float:
    """Return an exposure near `seconds` that shows no flicker of lamps.

    That is the largest number of whole periods of flicker within `seconds`, at least one. An
    exposure of less than half a period stays as it is and may flicker, because the picture would be
    too bright with a whole period.
    """
    # Lamps flicker twice in a period of the mains.
    period_s = 0.5 / mains_hz
    if seconds < period_s / 2:
        return seconds
    # The small number keeps a rounding error from making one period fewer.
    return max(1, int(seconds / period_s + 1e-6)) * period_s
