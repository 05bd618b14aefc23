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
    chosen,
    close_device,
    is_short_of_memory,
    open_device,
    picamera2,
    reason_of,
)
from vision.cameras.sensors import Mode, choices
from vision.cameras.source import Device, Locks, Taken, steady_exposure_s
from vision.detection.markers import Luma
from vision.oddities import oddity_of

_log = logging.getLogger(__name__)
_FRAME_TIMEOUT_S = 3.0
# Seconds in which focus and exposure settle before they are locked. Automatic exposure needs about
# twenty frames.
_SETTLE_S = 4.0
_HALF_A_METRE = 2.0
_FRAME_US = 33_333
# Size of the picture when memory is short. A board can still be read in it.
_SMALL_PX = (1280, 720)


def _tint_of(plane: Luma, width: int, height: int) -> Colours:
    """Return the colours that follow the brightness in a YUV420 buffer.

    One row of the buffer holds two rows of U or V.
    """
    rest = plane[height : height * 3 // 2]
    u, v = rest.reshape(2, height // 2, plane.shape[1] // 2)[:, :, : width // 2]
    return colours.of_planes(u, v)


class PiCamera(Device):
    """A Raspberry Pi camera, read as the luma plane of a YUV420 stream.

    Focus and exposure are locked after some seconds, so that they do not react to hands. `device`
    is one of `vision.cameras.ribbon.pi_devices`, or None for the first one.
    """

    name = "picamera"

    def __init__(
        self, settings: CameraSettings, clock: Clock, device: PiDevice | None = None
    ) -> None:
        super().__init__(clock)
        self._module = picamera2()
        self.which = device or chosen("")
        self.identity, self.model = self.which.identity, self.which.model
        self.oddity = oddity_of(self.which.sensor)
        self._settings, self._zoom = settings, 0.0
        self._stamp_ns = 0
        self._settle_frames = max(5, round(_SETTLE_S * settings.fps))
        self._due, self._until_held, self._slow = {"focus", "exposure"}, self._settle_frames, False
        self._locks = Locks(None, None)
        self.device = open_device(self.which)
        try:
            self._start()
        except Exception as error:
            with contextlib.suppress(CameraError):
                self.close()
            raise CameraError(
                say("The Raspberry Pi camera does not start: {reason}", reason=reason_of(error))
            ) from error

    def _start(self) -> None:
        self._start_in_memory()
        known = self.device.camera_controls
        self._due &= {
            kind
            for kind, control in (("focus", "LensPosition"), ("exposure", "AeEnable"))
            if control in known
        }
        self._locks = Locks(
            *(False if kind in self._due else None for kind in ("focus", "exposure"))
        )
        self._set(AfMode=2, **self._rhythm())

    def _start_in_memory(self) -> None:
        """Start the camera in the best sensor mode that fits into the contiguous memory, at last in
        one of libcamera's choice.
        """
        size = self._settings.size_px
        tries = [
            (px, mode)
            for px in dict.fromkeys((size, _SMALL_PX))
            for mode in choices(self.which.sensor, px)
        ]
        for px, mode in tries:
            try:
                self._start_with(px, mode)
            except Exception as error:
                if not is_short_of_memory(error):
                    raise
                _log.warning("No contiguous memory for %s x %s from %s: less is tried", *px, mode)
            else:
                return
        self._start_with(_SMALL_PX if tries else size, None)

    def _start_with(self, size: tuple[int, int], mode: Mode | None) -> None:
        # One stream whose first plane is the brightness, so that no colours have to be converted.
        streams: dict[str, Any] = {"main": {"size": size, "format": "YUV420"}}
        if mode is not None:
            streams["sensor"] = {"output_size": mode.size, "bit_depth": mode.bit_depth}
        self.device.configure(self.device.create_video_configuration(**streams, buffer_count=3))
        self.device.start()

    # ---- pictures ----

    def _take(self) -> Taken:
        try:
            request = self.device.capture_request(wait=False).get_result(timeout=_FRAME_TIMEOUT_S)
            try:
                luma, tint = self._copy(request)
                self._settle(request)
            finally:
                request.release()
        except CameraError:
            raise
        except Exception as error:
            # TimeoutError, and whatever libcamera raises when the cable comes off
            words = say(
                "The Raspberry Pi camera has stopped sending pictures ({error}): use a shorter "
                "ribbon cable",
                error=str(error) or type(error).__name__,
            )
            raise CameraError(words) from error
        return Taken(luma, lambda: tint, self._age_s())

    def _copy(self, request: Any) -> tuple[Luma, Colours]:
        """Copy brightness and colours without the padding at the end of their rows.

        Of the colours one pixel in sixteen is copied.
        """
        width, height = self.device.camera_configuration()["main"]["size"]
        with self._module.MappedArray(request, "main", write=False) as mapped:
            plane = np.asarray(mapped.array)
            return np.array(plane[:height, :width]), _tint_of(plane, width, height)

    def _age_s(self) -> float:
        """Return how long ago the first row was exposed, in seconds.

        libcamera stamps it in nanoseconds since the machine started.
        """
        return (
            time.clock_gettime(time.CLOCK_BOOTTIME) - self._stamp_ns / 1e9
            if self._stamp_ns
            else 0.0
        )

    def _release(self) -> None:
        close_device(self.device)

    # ---- controls ----

    @property
    def zoom(self) -> float:
        """Width of the sensor divided by the width that the picture shows. Known after the first
        picture.
        """
        return self._zoom or 1.0

    @property
    def locks(self) -> Locks | None:
        """Whether focus and exposure are locked. A fixed lens has no focus to lock."""
        return None if self._locks == (None, None) else self._locks

    def lock(self, focus: bool | None, exposure: bool | None) -> None:
        """Lock focus or exposure with the next picture, or make them automatic. None leaves one as
        it is.
        """
        wanted = {
            "focus": (focus, self._locks.focus, {"AfMode": 2}),
            "exposure": (exposure, self._locks.exposure, {"AeEnable": True, **self._rhythm()}),
        }
        for kind, (lock, before, free) in wanted.items():
            if lock is None or before is None:
                continue
            if lock:
                self._due.add(kind)
            else:
                self._due.discard(kind)
                self._set(**free)
        self._locks = Locks(
            *(before if None in (lock, before) else lock for lock, before, _ in wanted.values())
        )
        self._until_held = self._until_held or 1  # what is still settling is held when it has

    def meter(self, slow: bool) -> bool:
        """Let the exposure adapt for some frames, then lock it again. Return False if there is no
        such control.
        """
        if self._locks.exposure is None:
            return False
        self._slow = slow
        self._set(AeEnable=True, **self._rhythm())
        self._locks = self._locks._replace(exposure=False)
        self._due.add("exposure")
        self._until_held = self._settle_frames
        return True

    def _rhythm(self) -> dict[str, Any]:
        """Return the controls that limit automatic exposure."""
        longest = max(_FRAME_US, round(1_000_000 / self._settings.fps)) if self._slow else _FRAME_US
        flicker = {"AeFlickerMode": 1, "AeFlickerPeriod": 500_000 // self._settings.mains_hz}
        return {
            "AeExposureMode": 2 if self._slow else 0,
            "FrameDurationLimits": (_FRAME_US, longest),
            **flicker,
        }

    def _settle(self, request: Any) -> None:
        """Read the metadata of a picture: its time, its crop, and the values at which focus and
        exposure are locked.
        """
        measured = request.get_metadata()
        self._stamp_ns = measured.get("SensorTimestamp", 0)
        self._until_held -= 1 if self._until_held else 0
        due = self._due if not self._until_held else set[str]()
        if not self._zoom:
            whole, crop = (
                self.device.camera_properties.get("PixelArraySize"),
                measured.get("ScalerCrop"),
            )
            self._zoom = max(1.0, whole[0] / crop[2]) if whole and crop and crop[2] else 1.0
        if "focus" in due:
            sharp = measured.get("AfState") == 2
            self._set(
                AfMode=0,
                LensPosition=measured.get("LensPosition", _HALF_A_METRE)
                if sharp
                else _HALF_A_METRE,
            )
            self._locks = self._locks._replace(focus=True)
        if "exposure" in due and "ExposureTime" in measured:
            self._hold_exposure(measured["ExposureTime"], measured.get("AnalogueGain", 1.0))
            self._locks = self._locks._replace(exposure=True)
        due.clear()

    def _hold_exposure(self, exposure_us: int, gain: float) -> None:
        """Lock the exposure at whole periods of the lamps' flicker unless it is much shorter. The
        gain makes up for the difference.
        """
        held_us = round(1e6 * steady_exposure_s(exposure_us / 1e6, self._settings.mains_hz))
        gain = max(1.0, gain * exposure_us / held_us) if exposure_us else gain
        self._set(AeEnable=False, ExposureTime=held_us, AnalogueGain=gain)

    def _set(self, **controls: Any) -> None:
        """Set those controls that this camera has. Raises `CameraError` when libcamera refuses."""
        known = self.device.camera_controls
        if mine := {name: value for name, value in controls.items() if name in known}:
            try:
                self.device.set_controls(mine)
            except Exception as error:
                # libcamera's RuntimeError, also when the camera has just gone
                words = ", ".join(mine)
                raise CameraError(
                    say(
                        "The Raspberry Pi camera does not take {words}: {error}: update Picamera2",
                        words=words,
                        error=str(error),
                    )
                ) from error
