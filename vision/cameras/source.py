"""What every source of frames has in common, and what a real camera can do beyond a file."""

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
from vision.detection.markers import Luma
from vision.oddities import Oddity

_OLDEST_S = 2.0
"""A picture that claims to be older than this comes from a driver with another clock."""


class Locks(NamedTuple):
    """Whether focus and exposure stand still. None: this camera cannot be told to."""

    focus: bool | None
    exposure: bool | None


class Taken(NamedTuple):
    """One picture of a source. `luma` is (height, width) uint8 unless the driver is at fault."""

    luma: Any
    colours: Callable[[], Colours | None] | None = None
    """What works out its colours. None: it has none."""
    age_s: float = 0.0
    """How long ago it was exposed. 0: that is not known."""


class Source(Closeable):
    """Numbers and stamps frames, refuses them after `close`.

    Must be overridden: `_take`. May be overridden: `_release`.
    """

    name = "camera"

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._numbers = count(1)
        self._closed = False

    def frame(self) -> Frame:
        """Wait for the next picture. Raises `CameraError` when the device is gone or closed."""
        if self._closed:
            raise CameraError(say("The camera {name} is closed: open it again", name=self.name))
        frame = self._take()
        luma = self._checked(frame.luma)
        at_s = self._clock.monotonic_s()
        if 0 < frame.age_s < _OLDEST_S:
            at_s -= frame.age_s
        return Frame(luma, at_s, next(self._numbers), frame.colours)

    def close(self) -> None:
        """Give the device back. A second time does nothing."""
        if not self._closed:
            self._closed = True
            self._release()

    def _take(self) -> Taken:
        """Wait for the next picture. Raises `CameraError`."""
        raise NotImplementedError

    def _release(self) -> None:
        """Give back what is held. Here it is nothing."""

    def _checked(self, luma: Any) -> Luma:
        """Return the picture, if it is one: (height, width) uint8 with something in it."""
        if (
            not isinstance(luma, np.ndarray)
            or luma.dtype != np.uint8
            or luma.ndim != 2
            or min(luma.shape) < 2
        ):
            raise CameraError(
                say(
                    "The camera {name} sends {what}, which is no picture: choose another one",
                    name=self.name,
                    what=shape_of(luma),
                )
            )
        return luma


class Device(Source):
    """A real camera: it has a lens that is worth knowing again, noise in every picture, and perhaps
    controls.

    `identity` names this very camera for as long as it stays in its socket; `model` is a name among
    `LENSES`. May be overridden: `locks`, `lock`, `meter`, `pace`, `zoom`; they are called in the
    thread that takes the frames.
    """

    identity = ""
    model = "webcam"
    oddity: Oddity | None = None
    """What is known to be odd about this kind of camera."""

    @property
    def locks(self) -> Locks | None:
        """What stands still. None when nothing of it can be told."""
        return None

    @property
    def zoom(self) -> float:
        """How much narrower the picture is than what the whole sensor sees, 1 or more."""
        return 1.0

    def lock(self, focus: bool | None, exposure: bool | None) -> None:
        """Hold focus or exposure as they are (True), or let them follow (False). None: as it is."""

    def meter(self, slow: bool) -> bool:  # noqa: ARG002 - for those who can
        """Measure the light anew and hold the exposure then.

        Returns whether this camera can.

        `slow`: it may expose as long as one frame of the reader lasts.
        """
        return False

    def pace(self, is_moving: bool) -> None:
        """Hear whether something moves: a camera that sends when it is asked may rest while all is
        still."""


def shape_of(picture: Any) -> str:
    """Return what a camera sent, as words."""
    if not isinstance(picture, np.ndarray):
        return say("nothing") if picture is None else say("a {type}", type=type(picture).__name__)
    return say(
        "{size} values of {type}", size=" x ".join(map(str, picture.shape)), type=str(picture.dtype)
    )
