"""Raspberry Pi cameras through Picamera2, which exists only on a Raspberry Pi. Only this module and
`ribbon` use it.

Names and values of controls are those of libcamera, which Picamera2 is based on. Exposure times are
in µs there, and lens positions in dioptres (1 / metres).
"""

from __future__ import annotations

import contextlib
import logging
import time
from typing import Any

import numpy as np

from companion.core.clock import Clock
from companion.core.config import CameraSettings
from companion.core.errors import CameraError
from companion.core.i18n import say
from vision.cameras import colours
from vision.cameras.colours import Colours
from vision.cameras.ribbon import (
    PiDevice,
    choose_device,
    close_device,
    failure_reason,
    import_picamera2,
    is_out_of_memory,
    open_device,
)
from vision.cameras.sensors import SensorMode, modes_for
from vision.cameras.source import Capture, Locks, PhysicalCamera, flicker_free_exposure_s
from vision.detection.markers import Luma
from vision.oddities import find_oddity

log = logging.getLogger(__name__)

# Values of AfMode.
_FOCUS_MANUAL = 0
_FOCUS_CONTINUOUS = 2
# Value of AfState when the picture is sharp.
_AF_STATE_FOCUSED = 2
# Values of AeExposureMode. The long mode allows longer exposures.
_EXPOSURE_NORMAL = 0
_EXPOSURE_LONG = 2
# Value of AeFlickerMode that takes the period from AeFlickerPeriod.
_FLICKER_MANUAL = 1

# Timeout in seconds for one picture.
_FRAME_TIMEOUT_S = 3.0
# Seconds in which focus and exposure settle before they are locked. Automatic exposure needs about
# twenty frames.
_SETTLE_S = 4.0
# Minimum number of pictures in which they settle, however few are read in a second.
_MIN_SETTLE_FRAMES = 5
# Lens position where focusing fails: half a metre, about the height of a camera over a board.
_DEFAULT_FOCUS_DIOPTRES = 2.0
# Shortest time between two frames, 30 a second.
_FRAME_DURATION_US = 33_333
# Width and height of the picture when memory is short. A board can still be read in it.
_SMALL_SIZE_PX = (1280, 720)


def _extract_colours(plane: Luma, width: int, height: int) -> Colours:
    """Return the colours in a YUV420 buffer (height * 3 / 2, stride) of a picture of this size.

    The buffer begins with the brightness, one row in each of its rows. After that come the planes U
    and V, which have half the width and height. One row of the buffer holds two rows of a plane.
    """
    rows = plane[height : height * 3 // 2]
    half_stride = plane.shape[1] // 2
    u, v = rows.reshape(2, height // 2, half_stride)[:, :, : width // 2]
    return colours.from_planes(u, v)


class PiCamera(PhysicalCamera):
    """A Raspberry Pi camera, read as the luma plane of a YUV420 stream.

    `pi_device` is one of `vision.cameras.ribbon.pi_devices`, or None for the first one. The
    constructor raises `CameraError`.

    Focus and exposure are locked after some seconds, so that they do not react to hands. Each of
    them is in one of three states:

    - *settling*: automatic, until `_frames_until_lock` has counted down to 0. Both start like this,
      and `meter` returns the exposure to it.
    - *locked* at the values of the picture with which the countdown ended.
    - *automatic*, until somebody locks it again. `lock` with False leads here from any state.

    `lock` with True starts the countdown at 1, so that the values of the next picture are locked.
    If a countdown is running already, focus and exposure are both locked at its end.
    """

    name = "picamera"

    def __init__(
        self, settings: CameraSettings, clock: Clock, pi_device: PiDevice | None = None
    ) -> None:
        super().__init__(clock)
        self._module = import_picamera2()
        self._pi_device = pi_device or choose_device("")
        self.identity = self._pi_device.identity
        self.lens_name = self._pi_device.lens_name
        self.oddity = find_oddity(self._pi_device.sensor)
        self._settings = settings
        # Zoom of the pictures. 0 before the first one.
        self._zoom = 0.0
        # Time of the last picture in ns since the machine started, by CLOCK_BOOTTIME. 0 if unknown.
        self._timestamp_ns = 0
        # Where the countdown starts.
        self._settle_frames = max(_MIN_SETTLE_FRAMES, round(_SETTLE_S * settings.fps))
        # Number of pictures until `_pending_locks` are locked. 0 without a countdown.
        self._frames_until_lock = self._settle_frames
        # What is locked at the end of the countdown: "focus", "exposure", or both.
        self._pending_locks = set[str]()
        # What is locked, or was asked to be. None for what this camera cannot lock.
        self._locks = Locks(None, None)
        # Whether a frame may take as long as the settings allow, in the dark.
        self._is_slow = False
        self.device = open_device(self._pi_device)
        """Picamera2's own object."""
        try:
            self._start()
        except Exception as error:
            with contextlib.suppress(CameraError):
                self.close()
            raise CameraError(
                say(
                    "The Raspberry Pi camera does not start: {reason}", reason=failure_reason(error)
                )
            ) from error

    def _start(self) -> None:
        """Start the camera, and let focus and exposure settle if it can control them."""
        self._start_within_memory()
        controls = self.device.camera_controls
        if "LensPosition" in controls:
            self._pending_locks.add("focus")
            self._locks = self._locks._replace(focus=False)
        if "AeEnable" in controls:
            self._pending_locks.add("exposure")
            self._locks = self._locks._replace(exposure=False)
        self._set_controls(AfMode=_FOCUS_CONTINUOUS, **self._exposure_limits())

    def _start_within_memory(self) -> None:
        """Start the camera in the best sensor mode that fits into the contiguous memory.

        The attempts are the wanted size and then a smaller one, each in several modes. If none of
        them fits, libcamera chooses the mode.
        """
        wanted_px = self._settings.size_px
        attempts = [
            (size_px, mode)
            for size_px in dict.fromkeys((wanted_px, _SMALL_SIZE_PX))
            for mode in modes_for(self._pi_device.sensor, size_px)
        ]
        for size_px, mode in attempts:
            try:
                self._start_in_mode(size_px, mode)
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
                log.warning(
                    "No contiguous memory for %s x %s from %s: less is tried", *size_px, mode
                )
            else:
                return
        self._start_in_mode(_SMALL_SIZE_PX if attempts else wanted_px, None)

    def _start_in_mode(self, size_px: tuple[int, int], mode: SensorMode | None) -> None:
        """Start the camera with pictures of this size, read in this mode of the sensor."""
        # One stream whose first plane is the brightness, so that no colours have to be converted.
        streams: dict[str, Any] = {"main": {"size": size_px, "format": "YUV420"}}
        if mode is not None:
            streams["sensor"] = {"output_size": mode.size_px, "bit_depth": mode.bit_depth}
        # Three buffers, because Picamera2's usual six need twice the contiguous memory.
        self.device.configure(self.device.create_video_configuration(**streams, buffer_count=3))
        self.device.start()

    # ---- pictures ----

    def _capture(self) -> Capture:
        try:
            request = self.device.capture_request(wait=False).get_result(timeout=_FRAME_TIMEOUT_S)
            try:
                luma, planes = self._copy(request)
                metadata = request.get_metadata()
                self._read_metadata(metadata)
                self._count_down(metadata)
            finally:
                request.release()
        except CameraError:
            raise
        except Exception as error:
            # TimeoutError, and whatever libcamera raises when the cable comes off.
            sentence = say(
                "The Raspberry Pi camera has stopped sending pictures ({error}): use a shorter "
                "ribbon cable",
                error=str(error) or type(error).__name__,
            )
            raise CameraError(sentence) from error
        return Capture(luma, lambda: planes, self._age_s())

    def _copy(self, request: Any) -> tuple[Luma, Colours]:
        """Copy brightness and colours, without the padding at the end of their rows.

        The colours are reduced to a quarter of the size.
        """
        width, height = self.device.camera_configuration()["main"]["size"]
        with self._module.MappedArray(request, "main", write=False) as mapped:
            plane = np.asarray(mapped.array)
            return np.array(plane[:height, :width]), _extract_colours(plane, width, height)

    def _age_s(self) -> float:
        """Return how long ago the first row was exposed, in seconds, or 0 if that is unknown."""
        if not self._timestamp_ns:
            return 0.0
        return time.clock_gettime(time.CLOCK_BOOTTIME) - self._timestamp_ns / 1e9

    def _release(self) -> None:
        close_device(self.device)

    # ---- controls ----

    @property
    def zoom(self) -> float:
        """Width of the sensor divided by the width that the picture shows.

        It is known after the first picture. Before that it is 1.
        """
        return self._zoom or 1.0

    @property
    def locks(self) -> Locks | None:
        """Whether focus and exposure are locked, or will be with the end of the countdown.

        A value is None if the camera cannot lock it, such as a fixed focus. If it can lock neither,
        the result itself is None.
        """
        return None if self._locks == (None, None) else self._locks

    def lock(self, focus: bool | None, exposure: bool | None) -> None:
        """Lock focus or exposure with the next picture, or make them automatic.

        None leaves one as it is.
        """
        current = self._locks
        if focus is not None and current.focus is not None:
            self._request_lock("focus", focus, {"AfMode": _FOCUS_CONTINUOUS})
            self._locks = self._locks._replace(focus=focus)
        if exposure is not None and current.exposure is not None:
            automatic = {"AeEnable": True, **self._exposure_limits()}
            self._request_lock("exposure", exposure, automatic)
            self._locks = self._locks._replace(exposure=exposure)
        # A countdown that is running goes on.
        self._frames_until_lock = self._frames_until_lock or 1

    def _request_lock(self, kind: str, is_locked: bool, automatic: dict[str, Any]) -> None:
        """Lock one kind later, or make it automatic at once by these controls."""
        if is_locked:
            self._pending_locks.add(kind)
        else:
            self._pending_locks.discard(kind)
            self._set_controls(**automatic)

    def meter(self, slow: bool) -> bool:
        """Let the exposure settle again, then lock it.

        `slow` allows exposures as long as the frame period of the settings. Return False if the
        camera has no such control.
        """
        if self._locks.exposure is None:
            return False
        self._is_slow = slow
        self._set_controls(AeEnable=True, **self._exposure_limits())
        self._locks = self._locks._replace(exposure=False)
        self._pending_locks.add("exposure")
        self._frames_until_lock = self._settle_frames
        return True

    def _exposure_limits(self) -> dict[str, Any]:
        """Return the controls that limit automatic exposure."""
        longest_us = _FRAME_DURATION_US
        if self._is_slow:
            longest_us = max(longest_us, round(1_000_000 / self._settings.fps))
        return {
            "AeExposureMode": _EXPOSURE_LONG if self._is_slow else _EXPOSURE_NORMAL,
            "FrameDurationLimits": (_FRAME_DURATION_US, longest_us),
            "AeFlickerMode": _FLICKER_MANUAL,
            # In µs. Lamps flicker twice in a period of the mains.
            "AeFlickerPeriod": 500_000 // self._settings.mains_hz,
        }

    def _read_metadata(self, metadata: dict[str, Any]) -> None:
        """Read the time of each picture, and the zoom from the first one."""
        self._timestamp_ns = metadata.get("SensorTimestamp", 0)
        if not self._zoom:
            sensor_size = self.device.camera_properties.get("PixelArraySize")
            crop = metadata.get("ScalerCrop")
            # `sensor_size` is (width, height), `crop` (x, y, width, height) in the same pixels.
            self._zoom = (
                max(1.0, sensor_size[0] / crop[2]) if sensor_size and crop and crop[2] else 1.0
            )

    def _count_down(self, metadata: dict[str, Any]) -> None:
        """Count a picture. At the end of the countdown, apply the pending locks with its values.

        The exposure stays automatic if the picture does not tell its own.
        """
        self._frames_until_lock = max(0, self._frames_until_lock - 1)
        if self._frames_until_lock:
            return
        if "focus" in self._pending_locks:
            position = _DEFAULT_FOCUS_DIOPTRES
            if metadata.get("AfState") == _AF_STATE_FOCUSED:
                position = metadata.get("LensPosition", position)
            self._set_controls(AfMode=_FOCUS_MANUAL, LensPosition=position)
            self._locks = self._locks._replace(focus=True)
        if "exposure" in self._pending_locks and "ExposureTime" in metadata:
            self._lock_exposure(metadata["ExposureTime"], metadata.get("AnalogueGain", 1.0))
            self._locks = self._locks._replace(exposure=True)
        self._pending_locks.clear()

    def _lock_exposure(self, exposure_us: int, gain: float) -> None:
        """Lock the exposure near this time, at whole periods of the lamps' flicker.

        The gain, a factor of at least 1, makes up for the difference.
        """
        steady_us = round(1e6 * flicker_free_exposure_s(exposure_us / 1e6, self._settings.mains_hz))
        gain = max(1.0, gain * exposure_us / steady_us) if exposure_us else gain
        self._set_controls(AeEnable=False, ExposureTime=steady_us, AnalogueGain=gain)

    def _set_controls(self, **controls: Any) -> None:
        """Set those controls that this camera has. Raises `CameraError` when libcamera refuses."""
        supported = self.device.camera_controls
        if accepted := {name: value for name, value in controls.items() if name in supported}:
            try:
                self.device.set_controls(accepted)
            except Exception as error:
                # A RuntimeError of libcamera, also when the camera has just gone.
                names = ", ".join(accepted)
                raise CameraError(
                    say(
                        "The Raspberry Pi camera does not take {words}: {error}: update Picamera2",
                        words=names,
                        error=str(error),
                    )
                ) from error
