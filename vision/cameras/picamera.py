"""Raspberry Pi cameras through Picamera2, which exists only on a Raspberry Pi. Only this module and
`ribbon` use it.

Control names and numbers are libcamera's: AfMode 0 is manual, 2 continuous. AfState 2 is focused.
AeExposureMode 2 is long, AeFlickerMode 1 manual. The lens position is in dioptres.
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
    is_short_of_memory,
    open_device,
    picamera2,
    reason_of,
)
from vision.cameras.sensors import Mode, modes_for
from vision.cameras.source import Capture, Device, Locks, steady_exposure_s
from vision.detection.markers import Luma
from vision.oddities import oddity_of

_log = logging.getLogger(__name__)

# Timeout in seconds for one picture.
_FRAME_TIMEOUT_S = 3.0
# Seconds in which focus and exposure settle before they are locked. Automatic exposure needs about
# twenty frames.
_SETTLE_S = 4.0
# Lens position where focusing fails: half a metre, about the height of a camera over a board.
_DEFAULT_FOCUS_DIOPTRES = 2.0
# Shortest time between two frames, 30 a second.
_FRAME_DURATION_US = 33_333
# Size of the picture when memory is short. A board can still be read in it.
_SMALL_SIZE_PX = (1280, 720)


def _colours_of(plane: Luma, width: int, height: int) -> Colours:
    """Return the colours in a YUV420 buffer (height * 3 / 2, stride) of a picture of this size.

    They follow the brightness. One row of the buffer holds two rows of U or V.
    """
    rows = plane[height : height * 3 // 2]
    half_stride = plane.shape[1] // 2
    u, v = rows.reshape(2, height // 2, half_stride)[:, :, : width // 2]
    return colours.of_planes(u, v)


class PiCamera(Device):
    """A Raspberry Pi camera, read as the luma plane of a YUV420 stream.

    Focus and exposure are locked after some seconds, so that they do not react to hands. `listed`
    is one of `vision.cameras.ribbon.pi_devices`, or None for the first one.
    """

    name = "picamera"

    def __init__(
        self, settings: CameraSettings, clock: Clock, listed: PiDevice | None = None
    ) -> None:
        super().__init__(clock)
        self._module = picamera2()
        self._listed = listed or choose_device("")
        self.identity, self.lens_name = self._listed.identity, self._listed.lens_name
        self.oddity = oddity_of(self._listed.sensor)
        self._settings = settings
        # Zoom of the pictures. 0 before the first one.
        self._zoom = 0.0
        # Time of the last picture, in ns since the machine started. 0 if it is unknown.
        self._stamp_ns = 0
        self._settle_frames = max(5, round(_SETTLE_S * settings.fps))
        # What is locked once `_frames_until_lock` is 0.
        self._kinds_to_lock = set[str]()
        self._frames_until_lock = self._settle_frames
        # Whether a frame may take as long as the settings allow, in the dark.
        self._is_slow = False
        self._locks = Locks(None, None)
        self.device = open_device(self._listed)
        """Picamera2's own object."""
        try:
            self._start()
        except Exception as error:
            with contextlib.suppress(CameraError):
                self.close()
            raise CameraError(
                say("The Raspberry Pi camera does not start: {reason}", reason=reason_of(error))
            ) from error

    def _start(self) -> None:
        """Start the camera, and let focus and exposure settle if it can control them."""
        self._start_in_memory()
        controls = self.device.camera_controls
        if "LensPosition" in controls:
            self._kinds_to_lock.add("focus")
            self._locks = self._locks._replace(focus=False)
        if "AeEnable" in controls:
            self._kinds_to_lock.add("exposure")
            self._locks = self._locks._replace(exposure=False)
        self._set(AfMode=2, **self._exposure_limits())

    def _start_in_memory(self) -> None:
        """Start the camera in the best sensor mode that fits into the contiguous memory.

        The last resort is a mode of libcamera's choice.
        """
        wanted_px = self._settings.size_px
        attempts = [
            (size_px, mode)
            for size_px in dict.fromkeys((wanted_px, _SMALL_SIZE_PX))
            for mode in modes_for(self._listed.sensor, size_px)
        ]
        for size_px, mode in attempts:
            try:
                self._start_with(size_px, mode)
            except Exception as error:
                if not is_short_of_memory(error):
                    raise
                _log.warning(
                    "No contiguous memory for %s x %s from %s: less is tried", *size_px, mode
                )
            else:
                return
        self._start_with(_SMALL_SIZE_PX if attempts else wanted_px, None)

    def _start_with(self, size_px: tuple[int, int], mode: Mode | None) -> None:
        """Start the camera with pictures of this size, read in this mode of the sensor."""
        # One stream whose first plane is the brightness, so that no colours have to be converted.
        streams: dict[str, Any] = {"main": {"size": size_px, "format": "YUV420"}}
        if mode is not None:
            streams["sensor"] = {"output_size": mode.size_px, "bit_depth": mode.bit_depth}
        self.device.configure(self.device.create_video_configuration(**streams, buffer_count=3))
        self.device.start()

    # ---- pictures ----

    def _take(self) -> Capture:
        try:
            request = self.device.capture_request(wait=False).get_result(timeout=_FRAME_TIMEOUT_S)
            try:
                luma, planes = self._copy(request)
                self._read_metadata(request)
            finally:
                request.release()
        except CameraError:
            raise
        except Exception as error:
            # TimeoutError, and whatever libcamera raises when the cable comes off.
            words = say(
                "The Raspberry Pi camera has stopped sending pictures ({error}): use a shorter "
                "ribbon cable",
                error=str(error) or type(error).__name__,
            )
            raise CameraError(words) from error
        return Capture(luma, lambda: planes, self._age_s())

    def _copy(self, request: Any) -> tuple[Luma, Colours]:
        """Copy brightness and colours, without the padding at the end of their rows.

        The colours are reduced to a quarter of the size.
        """
        width, height = self.device.camera_configuration()["main"]["size"]
        with self._module.MappedArray(request, "main", write=False) as mapped:
            plane = np.asarray(mapped.array)
            return np.array(plane[:height, :width]), _colours_of(plane, width, height)

    def _age_s(self) -> float:
        """Return how long ago the first row was exposed, in seconds. 0 if that is unknown."""
        if not self._stamp_ns:
            return 0.0
        return time.clock_gettime(time.CLOCK_BOOTTIME) - self._stamp_ns / 1e9

    def _release(self) -> None:
        close_device(self.device)

    # ---- controls ----

    @property
    def zoom(self) -> float:
        """Width of the sensor divided by the width that the picture shows.

        Known after the first picture.
        """
        return self._zoom or 1.0

    @property
    def locks(self) -> Locks | None:
        """Whether focus and exposure are locked. A fixed lens has no focus to lock."""
        return None if self._locks == (None, None) else self._locks

    def lock(self, focus: bool | None, exposure: bool | None) -> None:
        """Lock focus or exposure with the next picture, or make them automatic.

        None leaves one as it is.
        """
        current = self._locks
        if focus is not None and current.focus is not None:
            self._request_lock("focus", focus, {"AfMode": 2})
            self._locks = self._locks._replace(focus=focus)
        if exposure is not None and current.exposure is not None:
            automatic = {"AeEnable": True, **self._exposure_limits()}
            self._request_lock("exposure", exposure, automatic)
            self._locks = self._locks._replace(exposure=exposure)
        # What is still settling is locked when it has settled.
        self._frames_until_lock = self._frames_until_lock or 1

    def _request_lock(self, kind: str, is_locked: bool, automatic: dict[str, Any]) -> None:
        """Lock one kind later, or make it automatic at once by these controls."""
        if is_locked:
            self._kinds_to_lock.add(kind)
        else:
            self._kinds_to_lock.discard(kind)
            self._set(**automatic)

    def meter(self, slow: bool) -> bool:
        """Let the exposure adapt for some frames, then lock it again.

        Return False if the camera has no such control.
        """
        if self._locks.exposure is None:
            return False
        self._is_slow = slow
        self._set(AeEnable=True, **self._exposure_limits())
        self._locks = self._locks._replace(exposure=False)
        self._kinds_to_lock.add("exposure")
        self._frames_until_lock = self._settle_frames
        return True

    def _exposure_limits(self) -> dict[str, Any]:
        """Return the controls that limit automatic exposure."""
        longest_us = _FRAME_DURATION_US
        if self._is_slow:
            longest_us = max(longest_us, round(1_000_000 / self._settings.fps))
        return {
            "AeExposureMode": 2 if self._is_slow else 0,
            "FrameDurationLimits": (_FRAME_DURATION_US, longest_us),
            "AeFlickerMode": 1,
            "AeFlickerPeriod": 500_000 // self._settings.mains_hz,
        }

    def _read_metadata(self, request: Any) -> None:
        """Read a picture's time and crop.

        When focus and exposure have settled, lock them at the values of this picture.
        """
        metadata = request.get_metadata()
        self._stamp_ns = metadata.get("SensorTimestamp", 0)
        if not self._zoom:
            whole = self.device.camera_properties.get("PixelArraySize")
            crop = metadata.get("ScalerCrop")
            # `whole` is (width, height), `crop` (x, y, width, height) in the same pixels.
            self._zoom = max(1.0, whole[0] / crop[2]) if whole and crop and crop[2] else 1.0
        if self._frames_until_lock:
            self._frames_until_lock -= 1
        if self._frames_until_lock:
            return
        if "focus" in self._kinds_to_lock:
            position = _DEFAULT_FOCUS_DIOPTRES
            is_sharp = metadata.get("AfState") == 2
            if is_sharp:
                position = metadata.get("LensPosition", position)
            self._set(AfMode=0, LensPosition=position)
            self._locks = self._locks._replace(focus=True)
        if "exposure" in self._kinds_to_lock and "ExposureTime" in metadata:
            self._lock_exposure(metadata["ExposureTime"], metadata.get("AnalogueGain", 1.0))
            self._locks = self._locks._replace(exposure=True)
        self._kinds_to_lock.clear()

    def _lock_exposure(self, exposure_us: int, gain: float) -> None:
        """Lock the exposure at whole periods of the lamps' flicker, see `steady_exposure_s`.

        The gain makes up for the difference.
        """
        steady_us = round(1e6 * steady_exposure_s(exposure_us / 1e6, self._settings.mains_hz))
        gain = max(1.0, gain * exposure_us / steady_us) if exposure_us else gain
        self._set(AeEnable=False, ExposureTime=steady_us, AnalogueGain=gain)

    def _set(self, **controls: Any) -> None:
        """Set those controls that this camera has. Raises `CameraError` when libcamera refuses."""
        supported = self.device.camera_controls
        if accepted := {name: value for name, value in controls.items() if name in supported}:
            try:
                self.device.set_controls(accepted)
            except Exception as error:
                # A RuntimeError of libcamera, also when the camera has just gone.
                words = ", ".join(accepted)
                raise CameraError(
                    say(
                        "The Raspberry Pi camera does not take {words}: {error}: update Picamera2",
                        words=words,
                        error=str(error),
                    )
                ) from error
