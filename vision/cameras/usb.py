"""USB cameras and all others that speak V4L2, by OpenCV: their list, pictures and controls."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from companion.core.clock import Clock
from companion.core.config import CameraSettings
from companion.core.errors import CameraError
from companion.core.files import is_video_device
from companion.core.i18n import say
from vision.cameras import colours
from vision.cameras.colours import Colours
from vision.cameras.source import Capture, Locks, PhysicalCamera, flicker_free_exposure_s
from vision.detection.markers import Luma
from vision.oddities import find_oddity

# Where the kernel lists its video devices. Tests replace it.
SYSFS = Path("/sys/class/video4linux")
# Timeout in seconds for one picture, given to OpenCV.
_PICTURE_TIMEOUT_S = 3
# Number of damaged pictures in a row that are reported as a bad cable.
_MAX_DAMAGED = 5
# Values of V4L2_CID_EXPOSURE_AUTO: V4L2_EXPOSURE_MANUAL, and V4L2_EXPOSURE_APERTURE_PRIORITY, with
# which the camera chooses the time.
_EXPOSURE_MANUAL = 1
_EXPOSURE_AUTOMATIC = 3
# Code of the format in which each picture is a JPEG.
MJPG = cv2.VideoWriter.fourcc(*"MJPG")
# Exposure units in a second: V4L2_CID_EXPOSURE_ABSOLUTE counts 100 µs.
_UNITS_PER_S = 10_000


@dataclass(frozen=True)
class UsbDevice:
    """A connected camera."""

    number: int
    """N of its device file /dev/videoN."""
    name: str
    identity: str
    """A name that stays the same when the number changes."""


def usb_devices() -> tuple[UsbDevice, ...]:
    """Return the cameras that the kernel lists, sorted by number.

    No camera is opened. Decoders and the Pi's own sensors are left out.
    """
    devices = []
    for entry in sorted(SYSFS.glob("video*"), key=lambda path: (len(path.name), path.name)):
        number = entry.name.removeprefix("video")
        path = str(entry.resolve())
        # A camera has several device files. The first one gives the pictures, others metadata.
        if not number.isdecimal() or _read_line(entry / "index") not in ("", "0"):
            continue
        if "/usb" in path:
            # The folder of the USB device to which this interface belongs.
            device = (entry / "device").resolve().parent
            parts = [_read_line(device / part) for part in ("idVendor", "idProduct", "serial")]
            identity = "usb " + ":".join(part for part in parts if part)
        elif "/virtual/" in path:
            identity = f"v4l2 {_read_line(entry / 'name')}"
        else:
            continue
        devices.append(UsbDevice(int(number), _read_line(entry / "name") or entry.name, identity))
    return tuple(devices)


def find_usb_number(words: str, devices: tuple[UsbDevice, ...]) -> int:
    """Return the number of the camera that `usb:WORDS` in the settings names.

    The words are a number or a part of the camera's name. If nothing has that number and only one
    camera is connected, it is that one. Any other number is returned as it is. Raises `CameraError`
    when no connected camera has that name.
    """
    if words.isdecimal():
        number = int(words)
        # A camera that was plugged in again may have another number.
        if len(devices) == 1 and not is_video_device(f"/dev/video{number}"):
            return devices[0].number
        return number
    matching = [device for device in devices if words and words.lower() in device.name.lower()]
    if not matching:
        raise CameraError(
            say(
                "[camera] source “usb:{words}”: no USB camera of this name is plugged in ({here}). "
                "Plug it in, or write usb:0, usb:1 …",
                words=words,
                here=", ".join(device.name for device in devices) or say("none"),
            )
        )
    return matching[0].number


class UsbCamera(PhysicalCamera):
    """The USB camera /dev/videoN, opened with the picture's size of the settings.

    Opening it changes neither focus nor exposure. The constructor raises `CameraError`.
    """

    def __init__(self, number: int, settings: CameraSettings, clock: Clock) -> None:
        super().__init__(clock)
        self.name = f"usb:{number}"
        # If the kernel does not list the camera, only its number is known.
        unlisted = UsbDevice(number, "", self.name)
        device = {device.number: device for device in usb_devices()}.get(number, unlisted)
        self.identity = device.identity
        self.oddity = find_oddity(device.identity, device.name)
        self._fps = settings.fps
        self._mains_hz = settings.mains_hz
        # Without this variable OpenCV waits ten seconds for a camera that was unplugged. OpenCV
        # reads it once, before the first picture.
        os.environ.setdefault("OPENCV_VIDEOIO_V4L_SELECT_TIMEOUT", str(_PICTURE_TIMEOUT_S))

        # Open it.
        path = f"/dev/video{number}"
        if not is_video_device(path):
            raise CameraError(
                say(
                    "USB camera {number} is missing ({path}): plug it in, or try another number",
                    number=number,
                    path=path,
                )
            )
        self._device: Any = cv2.VideoCapture(number, cv2.CAP_V4L2)
        if not self._device.isOpened():
            self._device.release()
            raise CameraError(
                say(
                    "USB camera {number} cannot be opened ({path}): close other programs that use "
                    "it, and add the user to the group “video”",
                    number=number,
                    path=path,
                )
            )

        # Ask for JPEGs, because most USB cameras send uncompressed pictures of this size only a few
        # times a second.
        self._device.set(cv2.CAP_PROP_FOURCC, MJPG)
        self._device.set(cv2.CAP_PROP_FRAME_WIDTH, settings.size_px[0])
        self._device.set(cv2.CAP_PROP_FRAME_HEIGHT, settings.size_px[1])
        self._device.set(cv2.CAP_PROP_BUFFERSIZE, 1)
        # Get JPEGs as they are, so that damaged ones can be detected, and colours are decoded only
        # when somebody needs them. OpenCV converts everything else into BGR.
        is_jpeg = int(self._device.get(cv2.CAP_PROP_FOURCC)) == MJPG
        self._device.set(cv2.CAP_PROP_CONVERT_RGB, 0 if is_jpeg else 1)

    # ---- pictures ----

    def _capture(self) -> Capture:
        for _ in range(_MAX_DAMAGED):
            raw = self._read_picture()
            luma = self._to_luma(raw)
            if luma is not None:
                return Capture(luma, partial(_to_colours, raw), self._age_s())
        raise CameraError(
            say(
                "USB camera {name} sends only damaged pictures: use a shorter cable, another "
                "socket, and no hub",
                name=self.name,
            )
        )

    def _read_picture(self) -> Any:
        try:
            is_good, picture = self._device.read()
        except cv2.error as error:
            # OpenCV asserts when a buffer is smaller than the picture should be.
            raise CameraError(
                say(
                    "USB camera {name} sends unreadable data: {error}: plug it in again",
                    name=self.name,
                    error=" ".join(str(error.err).split()),  # OpenCV writes some in several lines
                )
            ) from None
        if not is_good or picture is None:
            raise CameraError(
                say(
                    "USB camera {name} sends no pictures: check its plug and cable, and close "
                    "other programs that use it",
                    name=self.name,
                )
            )
        return picture

    def _to_luma(self, raw: Any) -> Luma | None:
        """Return the brightness of what OpenCV has read, which is a BGR picture or a JPEG.

        Returns None for a damaged JPEG. Raises `CameraError` for anything else.
        """
        if isinstance(raw, np.ndarray) and raw.dtype == np.uint8:
            if raw.ndim == 3 and raw.shape[2] == 3:
                return np.asarray(cv2.cvtColor(raw, cv2.COLOR_BGR2GRAY), np.uint8)
            # OpenCV returns a JPEG as one row or one column of bytes.
            if raw.ndim == 1 or 1 in raw.shape:
                return _decode_luma(_without_padding(raw))
        raise CameraError(
            say(
                "USB camera {name} sends what is not read here: choose a camera that sends MJPG or "
                "YUYV",
                name=self.name,
            )
        )

    def _age_s(self) -> float:
        """Return how long ago the last picture was taken, in seconds, or 0 if that is unknown."""
        if self.oddity and not self.oddity.uses_machine_clock:
            return 0.0
        # V4L2 stamps pictures by the monotonic clock.
        stamp_ms = float(self._device.get(cv2.CAP_PROP_POS_MSEC))
        return time.monotonic() - stamp_ms / 1000 if stamp_ms > 0 else 0.0

    def _release(self) -> None:
        self._device.release()

    # ---- controls ----

    @property
    def locks(self) -> Locks | None:
        """Whether focus and exposure are locked. None as in `PhysicalCamera`."""
        focus = self._device.get(cv2.CAP_PROP_AUTOFOCUS)
        exposure = self._device.get(cv2.CAP_PROP_AUTO_EXPOSURE)
        # OpenCV returns -1 for a control that the camera does not have.
        locks = Locks(
            focus=None if focus < 0 else focus == 0,
            exposure=None if exposure < 0 else exposure == _EXPOSURE_MANUAL,
        )
        return None if locks == (None, None) else locks

    def lock(self, focus: bool | None, exposure: bool | None) -> None:
        """Lock focus at its present value or exposure near it, or make them automatic again.

        None leaves one as it is.
        """
        current = self.locks or Locks(None, None)
        if focus is not None and current.focus is not None:
            # In the camera's own unit. Negative if it has no such control.
            position = self._device.get(cv2.CAP_PROP_FOCUS)
            self._device.set(cv2.CAP_PROP_AUTOFOCUS, 0 if focus else 1)
            if focus and position >= 0:
                self._device.set(cv2.CAP_PROP_FOCUS, position)
        if exposure is not None and current.exposure is not None:
            if exposure:
                self._expose(self._device.get(cv2.CAP_PROP_EXPOSURE) / _UNITS_PER_S)
            else:
                self._device.set(cv2.CAP_PROP_AUTO_EXPOSURE, _EXPOSURE_AUTOMATIC)

    def meter(self, slow: bool) -> bool:
        """Make the exposure automatic again, or fix it at a whole frame if `slow`.

        Return False if the camera has no such control.
        """
        current = self.locks
        if current is None or current.exposure is None:
            return False
        if slow:
            self._expose(1 / self._fps)
        else:
            self._device.set(cv2.CAP_PROP_AUTO_EXPOSURE, _EXPOSURE_AUTOMATIC)
        return True

    def _expose(self, seconds: float) -> None:
        """Fix the exposure near this time, at whole periods of the lamps' flicker.

        Does nothing if the time is not positive, as for a camera that does not tell its own.
        """
        if seconds > 0:
            steady_s = flicker_free_exposure_s(seconds, self._mains_hz)
            self._device.set(cv2.CAP_PROP_AUTO_EXPOSURE, _EXPOSURE_MANUAL)
            self._device.set(cv2.CAP_PROP_EXPOSURE, max(1, round(steady_s * _UNITS_PER_S)))


def _read_line(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _without_padding(raw: Any) -> bytes:
    """Return the bytes of a JPEG without the zeros that fill the camera's buffer."""
    return bytes(raw.ravel().tobytes().rstrip(b"\0"))


def _decode_luma(jpeg: bytes) -> Luma | None:
    """Return the brightness of a JPEG, or None if it is damaged or cut off."""
    # A decoder would accept a JPEG that is cut off, and fill the rest of the picture with grey.
    if not jpeg.startswith(b"\xff\xd8") or not jpeg.endswith(b"\xff\xd9"):
        return None
    try:
        picture = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_GRAYSCALE)
    except cv2.error:
        return None
    return None if picture is None else np.asarray(picture, np.uint8)


def _to_colours(raw: Any) -> Colours | None:
    return colours.from_bgr(raw) if raw.ndim == 3 else colours.from_jpeg(_without_padding(raw))
