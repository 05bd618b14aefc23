"""Raspberry Pi cameras through Picamera2, which exists on a Raspberry Pi alone: only this module knows it.

Control names and numbers are libcamera's: AfMode 0 manual, 2 continuous; AfState 2 focused; AeExposureMode 2 long;
AeFlickerMode 1 manual; the lens position counts dioptres.
"""

from __future__ import annotations

import contextlib
import importlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from companion.core.clock import Clock
from companion.core.config import CameraSettings
from companion.core.errors import CameraError
from companion.core.i18n import say
from vision.cameras import colours
from vision.cameras.colours import Colours
from vision.cameras.source import Device, Locks, shape_of
from vision.detection.markers import Luma

SENSORS = {
    "ov5647": "camera-module-1",
    "imx219": "camera-module-2",
    "imx708": "camera-module-3",
    "imx708_wide": "camera-module-3-wide",
    "imx477": "hq-6mm",
}
"""Lens by the sensor that Picamera2 names; the HQ camera has none of its own, 6 mm is the usual one."""
_FRAME_TIMEOUT_S = 3.0
_SETTLE_S = 4.0
"""So long focus and exposure settle before they are held; automatic exposure needs some twenty frames."""
_HALF_A_METRE = 2.0
_FRAME_US = 33_333


@dataclass(frozen=True)
class PiDevice:
    """A camera on the ribbon cable: `number` as Picamera2 counts; `identity` names sensor and socket."""

    number: int
    sensor: str
    identity: str

    @property
    def model(self) -> str:
        """Its name among `vision.pose.pose.LENSES`."""
        return SENSORS.get(self.sensor.removesuffix("_noir").replace("_wide_noir", "_wide"), "webcam")


def pi_devices() -> tuple[PiDevice, ...]:
    """The cameras on ribbon cables; none is opened. Raises `CameraError` where Picamera2 is missing or fails."""
    module = _picamera2()
    try:
        told = module.Picamera2.global_camera_info()
    except Exception as error:  # libcamera raises RuntimeError, IndexError and its own kinds
        raise CameraError(
            say("The Raspberry Pi's cameras cannot be listed: {error}: restart the Pi", error=str(error))
        ) from error
    found = []
    for place, each in enumerate(told):
        identity = str(each.get("Id", ""))
        if "/usb" in identity or "-usb" in identity.lower():  # libcamera lists USB cameras as well
            continue
        sensor = str(each.get("Model", ""))
        found.append(PiDevice(int(each.get("Num", place)), sensor, f"{sensor} {identity}".strip()))
    return tuple(found)


def _tint_of(plane: Luma, width: int, height: int) -> Colours | None:
    """The colours below the brightness of a YUV420 buffer, a row of which holds two of U or V; None: there are none."""
    rest = plane[height : height * 3 // 2]
    if rest.shape[0] < height // 2 or height % 2 or plane.shape[1] % 2:
        return None
    u, v = rest.reshape(2, height // 2, plane.shape[1] // 2)[:, :, : width // 2]
    return colours.of_planes(u, v)


class PiCamera(Device):
    """A Raspberry Pi camera: the luma plane of a YUV420 stream.

    Focus and exposure settle for some seconds and are then held, so that they do not follow hands. `number` is that of
    `pi_devices`; None: the first one.
    """

    name = "picamera"

    def __init__(self, settings: CameraSettings, clock: Clock, number: int | None = None) -> None:
        super().__init__(clock)
        self._module = _picamera2()
        here = pi_devices()
        found = here[:1] if number is None else [device for device in here if device.number == number]
        if not found:
            if number is None:
                raise CameraError(
                    say("No Raspberry Pi camera is connected: check the ribbon cable, contacts and direction")
                )
            raise CameraError(
                say(
                    "No Raspberry Pi camera {number} is connected: check the ribbon cable, contacts and direction",
                    number=number,
                )
            )
        self.identity, self.model = found[0].identity, found[0].model
        self._settings, self._zoom = settings, 0.0
        self._mains_hz: int = settings.mains_hz
        self._stamp_ns = 0
        self._tint: Colours | None = None
        self._settle_frames = max(5, round(_SETTLE_S * settings.fps))
        self._due, self._until_held, self._slow = {"focus", "exposure"}, self._settle_frames, False
        self._locks = Locks(None, None)
        try:
            self._device = self._module.Picamera2(found[0].number)
        except Exception as error:
            raise CameraError(
                say(
                    "The Raspberry Pi camera cannot be opened: {error}: close other programs, check the ribbon cable",
                    error=str(error),
                )
            ) from error
        try:
            self._start()
        except Exception as error:
            with contextlib.suppress(CameraError):
                self.close()
            raise CameraError(
                say("The Raspberry Pi camera does not start: {error}: close other programs", error=str(error))
            ) from error

    def _start(self) -> None:
        size = self._settings.size_px
        # One stream, whose first plane is the brightness: what is read from needs no colours worked out of it.
        streams: dict[str, Any] = {"main": {"size": size, "format": "YUV420"}}
        if mode := self._widest_mode():
            streams["sensor"] = {"output_size": mode["size"], "bit_depth": mode["bit_depth"]}
        self._device.configure(self._device.create_video_configuration(**streams, buffer_count=3))
        self._device.start()
        known = self._device.camera_controls
        self._due &= {
            kind for kind, control in (("focus", "LensPosition"), ("exposure", "AeEnable")) if control in known
        }
        self._locks = Locks(*(False if kind in self._due else None for kind in ("focus", "exposure")))
        self._set(AfMode=2, **self._rhythm())

    def _widest_mode(self) -> Any:
        """The sensor's mode that sees most and is large enough; libcamera by itself takes one that cuts the view."""
        size = self._settings.size_px
        modes = [m for m in self._device.sensor_modes if m.get("fps", 99) >= min(30, self._settings.fps)]
        enough = [m for m in modes if m["size"][0] >= size[0] and m["size"][1] >= size[1]] or modes
        return min(enough, key=lambda m: (-m["crop_limits"][2], -m["crop_limits"][3], m["size"]), default=None)

    # ---- pictures ----

    def _luma(self) -> Luma:
        try:
            request = self._device.capture_request(wait=False).get_result(timeout=_FRAME_TIMEOUT_S)
            try:
                luma = self._copy(request)
                self._settle(request)
            finally:
                request.release()
        except CameraError:
            raise
        except Exception as error:  # TimeoutError, and whatever libcamera raises when the cable comes off
            if isinstance(error, TimeoutError):
                words = say("The Raspberry Pi camera sends no pictures any more: check the ribbon cable")
            else:
                words = say("The Raspberry Pi camera sends an error: {error}: check the ribbon cable", error=str(error))
            raise CameraError(words) from error
        return luma

    def _copy(self, request: Any) -> Luma:
        """The luma plane, without the padding at the end of its rows and the colour planes below."""
        width, height = self._device.camera_configuration()["main"]["size"]
        with self._module.MappedArray(request, "main") as mapped:
            plane = np.asarray(mapped.array)
            if plane.ndim != 2 or plane.dtype != np.uint8 or plane.shape[0] < height or plane.shape[1] < width:
                raise CameraError(
                    say(
                        "The Raspberry Pi camera sends {what} where a plane of {width} x {height} was "
                        "asked for: update Picamera2",
                        what=shape_of(plane),
                        width=width,
                        height=height,
                    )
                )
            self._tint = _tint_of(plane, width, height)
            return np.array(plane[:height, :width])

    def _colours(self) -> Callable[[], Colours | None] | None:
        """One pixel of sixteen of the colour planes: what is copied along with the brightness is an eighth of it."""
        tint = self._tint
        return None if tint is None else lambda: tint

    def _age_s(self) -> float:
        """libcamera stamps the first row's exposure in nanoseconds since the start of the machine."""
        return time.clock_gettime(time.CLOCK_BOOTTIME) - self._stamp_ns / 1e9 if self._stamp_ns else 0.0

    def _release(self) -> None:
        # A request that was not answered stands before `stop` in Picamera2's queue and would hold it up for ever.
        failed: Exception | None = None
        for step in ("cancel_all_and_flush", "stop", "close"):
            try:
                getattr(self._device, step)()
            except Exception as error:
                failed = failed or error
        if failed:
            raise CameraError(
                say("The Raspberry Pi camera cannot be closed: {error}: restart the program", error=str(failed))
            ) from failed

    # ---- controls ----

    @property
    def zoom(self) -> float:
        """How much of the sensor's width the picture leaves out; known from the first picture on."""
        return self._zoom or 1.0

    @property
    def locks(self) -> Locks | None:
        """Whether focus and exposure stand still; fixed lenses have no focus to lock."""
        return None if self._locks == (None, None) else self._locks

    def lock(self, focus: bool | None, exposure: bool | None) -> None:
        """Hold them as they are in the next picture, or let them follow from now on."""
        if focus is not None and self._locks.focus is not None:
            self._locks = self._locks._replace(focus=focus)
            self._due.add("focus") if focus else self._due.discard("focus")
            if not focus:
                self._set(AfMode=2)
        if exposure is not None and self._locks.exposure is not None:
            self._locks = self._locks._replace(exposure=exposure)
            self._due.add("exposure") if exposure else self._due.discard("exposure")
            if not exposure:
                self._set(AeEnable=True, **self._rhythm())
        self._until_held = self._until_held or 1  # what is still settling is held when it has

    def meter(self, slow: bool, steady_hz: int | None) -> bool:
        """Let the exposure follow the light for some frames, then hold it again."""
        if self._locks.exposure is None:
            return False
        self._slow, self._mains_hz = slow, steady_hz or self._settings.mains_hz
        self._set(AeEnable=True, **self._rhythm())
        self._locks = self._locks._replace(exposure=False)
        self._due.add("exposure")
        self._until_held = self._settle_frames
        return True

    def _rhythm(self) -> dict[str, Any]:
        """How long automatic exposure may expose."""
        longest = max(_FRAME_US, round(1_000_000 / self._settings.fps)) if self._slow else _FRAME_US
        flicker = {"AeFlickerMode": 1, "AeFlickerPeriod": 500_000 // self._mains_hz}
        return {"AeExposureMode": 2 if self._slow else 0, "FrameDurationLimits": (_FRAME_US, longest), **flicker}

    def _settle(self, request: Any) -> None:
        """Look at a picture's own data: when it was taken, how much of the sensor it shows, what is to be held."""
        measured = request.get_metadata()
        self._stamp_ns = measured.get("SensorTimestamp", 0)
        self._until_held -= 1 if self._until_held else 0
        due = self._due if not self._until_held else set[str]()
        if not self._zoom:
            whole, crop = self._device.camera_properties.get("PixelArraySize"), measured.get("ScalerCrop")
            self._zoom = max(1.0, whole[0] / crop[2]) if whole and crop and crop[2] else 1.0
        if "focus" in due:
            sharp = measured.get("AfState") == 2
            self._set(AfMode=0, LensPosition=measured.get("LensPosition", _HALF_A_METRE) if sharp else _HALF_A_METRE)
            self._locks = self._locks._replace(focus=True)
        if "exposure" in due and "ExposureTime" in measured:
            self._hold_exposure(measured["ExposureTime"], measured.get("AnalogueGain", 1.0))
            self._locks = self._locks._replace(exposure=True)
        due.clear()

    def _hold_exposure(self, exposure_us: int, gain: float) -> None:
        """In whole periods of the lamps' flicker unless it is much shorter, the gain making up for the rest."""
        period_us = 500_000 / self._mains_hz
        periods = max(1, int(exposure_us / period_us))
        held_us = round(periods * period_us) if exposure_us >= period_us / 2 else exposure_us
        gain = max(1.0, gain * exposure_us / held_us) if exposure_us else gain
        self._set(AeEnable=False, ExposureTime=held_us, AnalogueGain=gain)

    def _set(self, **controls: Any) -> None:
        """Those controls that this camera has."""
        known = self._device.camera_controls
        if mine := {name: value for name, value in controls.items() if name in known}:
            try:
                self._device.set_controls(mine)
            except Exception as error:  # libcamera's RuntimeError, also when the camera has just gone
                words = ", ".join(mine)
                raise CameraError(
                    say(
                        "The Raspberry Pi camera does not take {words}: {error}: update Picamera2",
                        words=words,
                        error=str(error),
                    )
                ) from error


def _picamera2() -> Any:
    """The module, or `CameraError` saying how to get it."""
    try:
        return importlib.import_module("picamera2")
    except Exception as error:  # it exists but does not import where libcamera is missing
        raise CameraError(
            say(
                "Picamera2 is not here: on a Raspberry Pi install python3-picamera2 and make the environment "
                "with --system-site-packages"
            )
        ) from error
