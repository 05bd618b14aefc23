"""The connection to the one camera that is watched. It opens the camera, reopens it after a fault,
and switches to another one.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from companion.core.clock import Clock
from companion.core.errors import CameraError
from companion.core.i18n import say
from companion.core.ports import Camera, Frame
from vision.cameras.exposure import ExposureControl
from vision.cameras.lenses import LensStore
from vision.cameras.source import Locks, PhysicalCamera
from vision.detection.markers import Luma

if TYPE_CHECKING:
    from vision.reading.board_reader import BoardReader

# Maximum time in seconds until a camera has answered its last request.
CLOSE_TIMEOUT_S = 6.0
# Seconds after which a camera that repeats a picture has stopped. Every real picture has noise.
FROZEN_S = 5.0

# Pauses in seconds before a camera is reopened after a first, second … fault in a row. They grow,
# so that a camera that is gone for long costs little. The last one is repeated.
_RETRY_PAUSES_S = (0.5, 1.0, 2.0, 5.0, 10.0)


@dataclass(frozen=True)
class Cameras:
    """How to open cameras, and where to save their lenses."""

    open: Callable[[str], Camera]
    """Opens a camera by its source. An empty text stands for the source of the settings."""
    expects_camera: Callable[[], bool] = lambda: True
    """Returns whether it is a fault if no camera was ever in use. Called only then."""
    lenses: LensStore | None = None
    """Saves what is learned about lenses. None if nothing is saved."""


class CameraLink:
    """The link to the camera that is open, if any. It belongs to a `Watcher`, which closes it.

    Here, to lock a camera means to hold its focus or exposure at the present value.

    `camera_name`, `oddity`, `source`, `choose`, `lock` and `locks` may be used from any thread,
    everything else only from the watcher's thread.
    """

    def __init__(self, cameras: Cameras, clock: Clock, reader: BoardReader) -> None:
        self._cameras = cameras
        self._clock = clock
        self._reader = reader
        # Identity and zoom of the camera whose lens the reader uses.
        self._lens_key: tuple[str, float] | None = None
        self._camera: Camera | None = None
        # Number of faults in a row, since the last picture.
        self._faults = 0
        # The last picture of a real camera. It is kept when the camera is reopened, as a camera
        # that has stopped may go on repeating it.
        self._last_luma: Luma | None = None
        # When a picture last differed from the one before.
        self._changed_at_s = 0.0
        # Checks the light of the open camera. None before its first picture, and for files.
        self._light: ExposureControl | None = None
        # Whether focus and exposure of the open camera are locked. None if it can lock neither.
        self._locks: Locks | None = None
        # Guards the next three fields, by which other threads tell the watcher's thread what they
        # want.
        self._request_mutex = threading.Lock()
        self._source = ""
        self._is_source_new = False
        self._requested_locks: Locks | None = None
        self.wake = threading.Event()
        """Set when there is work before the next picture is due."""

    # ---- what the camera page asks for, from any thread ----

    @property
    def camera_name(self) -> str:
        """Name of the open camera. Empty when none is open."""
        camera = self._camera
        return camera.name if camera else ""

    @property
    def oddity(self) -> str:
        """Known oddity of the open camera, as a sentence. Empty when there is none."""
        odd = self._camera.oddity if isinstance(self._camera, PhysicalCamera) else None
        return odd.sentence if odd else ""

    @property
    def source(self) -> str:
        """Source that was chosen last. An empty text stands for the source of the settings."""
        return self._source

    def choose(self, source: str) -> None:
        """Use another camera from the next picture on, until the service restarts.

        `source` is written as in `[camera] source`. An empty text stands for the source of the
        settings.
        """
        with self._request_mutex:
            self._source = source
            self._is_source_new = True
            self._requested_locks = None
        self.wake.set()

    def lock(self, focus: bool | None = None, exposure: bool | None = None) -> None:
        """Lock focus or exposure (True) or make them automatic (False), from the next picture on.

        None leaves one as it is. If an earlier request for it was not applied yet, that request
        remains. A request for what the camera cannot lock (see `locks`) is ignored.
        """
        with self._request_mutex:
            pending = self._requested_locks or Locks(None, None)
            self._requested_locks = Locks(
                pending.focus if focus is None else focus,
                pending.exposure if exposure is None else exposure,
            )

    @property
    def locks(self) -> Locks | None:
        """Whether focus and exposure are locked.

        A value is None if the camera cannot lock it. If it can lock neither, the result itself is
        None.
        """
        return self._locks

    # ---- one frame ----

    @property
    def is_open(self) -> bool:
        """Whether a camera is open."""
        return self._camera is not None

    @property
    def light_problem(self) -> str:
        """What is wrong with the light, as a sentence. Empty when nothing is."""
        return self._light.sentence if self._light else ""

    def close_if_switched(self) -> bool:
        """Close the camera if another one was chosen, and return whether one was."""
        with self._request_mutex:
            is_new = self._is_source_new
            self._is_source_new = False
        if is_new:
            self._close_camera()
            self._faults = 0
            self._last_luma = None
        return is_new

    def grab(self) -> Frame:
        """Return the next frame. Opens the camera if necessary.

        On the way, requested locks are applied, the light is checked, and the reader gets the lens
        of a camera that is new. Raises `CameraError` if the camera fails or is frozen.
        """
        # Take a frame.
        self._apply_locks()
        if self._camera is None:
            self._camera = self._cameras.open(self._source)
        camera = self._camera
        frame = camera.frame()

        # Check a real camera and its light.
        now_s = self._clock.monotonic_s()
        if isinstance(camera, PhysicalCamera):
            self._raise_if_frozen(frame.luma, now_s)
            self._light = self._light or ExposureControl(camera, now_s)
            self._light.check(frame.luma, now_s)
            self._locks = camera.locks
        self._faults = 0

        # Give the reader the stored lens, but only of a camera that is new, or zoomed differently.
        # If the same camera was reopened, the reader keeps what it has learned of the lens.
        key = (
            (camera.identity, camera.zoom)
            if isinstance(camera, PhysicalCamera)
            else (camera.name, 1.0)
        )
        if self._cameras.lenses and key != self._lens_key:
            self._reader.use_lens(*self._cameras.lenses.lens_of(camera))
        self._lens_key = key
        return frame

    def _raise_if_frozen(self, luma: Luma, now_s: float) -> None:
        """Raise `CameraError` when a real camera has repeated a picture for `FROZEN_S`.

        A picture of a single tone does not count.
        """
        before = self._last_luma
        self._last_luma = luma
        is_repeated = (
            before is not None
            # Compare one row in 64 first: if they differ, as usual, this is faster.
            and np.array_equal(before[::64], luma[::64])
            and np.array_equal(before, luma)
            # A picture of one tone, burnt out, may well repeat itself.
            and luma.min() != luma.max()
        )
        if not is_repeated:
            self._changed_at_s = now_s
        elif now_s - self._changed_at_s >= FROZEN_S:
            raise CameraError(
                say(
                    "The camera {name} sends the same picture again and again: unplug it and plug "
                    "it in again",
                    name=self.camera_name,
                )
            )

    def follow_up(self, now_s: float, is_moving: bool) -> None:
        """Do what is due after a picture: save the lens, and tell the camera of movement."""
        lenses = self._cameras.lenses
        reader = self._reader
        if self._camera and lenses:
            lenses.save_periodically(self._camera, reader.lens_estimate, reader.pose, now_s)
        if isinstance(self._camera, PhysicalCamera):
            self._camera.adapt_rate(is_moving)

    def handle_fault(self) -> float:
        """Close the camera after a fault. Return the pause in seconds before it is reopened."""
        self._close_camera()
        pause_s = _RETRY_PAUSES_S[min(self._faults, len(_RETRY_PAUSES_S) - 1)]
        self._faults += 1
        return pause_s

    def _close_camera(self) -> None:
        """Close the camera, and store in memory what was learned about its lens.

        After that, the link can open the same camera again, or another one. Does nothing if no
        camera is open.
        """
        camera = self._camera
        self._camera = None
        self._light = None
        self._locks = None
        if camera is not None:
            if self._cameras.lenses:
                self._cameras.lenses.update(camera, self._reader.lens_estimate, self._reader.pose)
            # A disconnected device cannot be closed properly. The fault itself was reported before.
            with contextlib.suppress(CameraError):
                camera.close()

    def close(self) -> None:
        """Close the camera for good, and write the file of lenses."""
        self._close_camera()
        if self._cameras.lenses:
            self._cameras.lenses.save()

    def _apply_locks(self) -> None:
        """Apply the locks that other threads asked for.

        Without a real camera they are kept until one is open.
        """
        device = self._camera
        if not isinstance(device, PhysicalCamera):
            return
        with self._request_mutex:
            locks = self._requested_locks
            self._requested_locks = None
        if locks is not None:
            device.lock(locks.focus, locks.exposure)
            if self._light and locks.exposure is not None:
                self._light.is_locked = locks.exposure
