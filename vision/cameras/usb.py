"""USB cameras, and all others that speak V4L2, through OpenCV. This module lists them, takes their
pictures and sets their controls.
"""

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
from vision.cameras.source import Device, Locks, Taken, shape_of
from vision.detection.markers import Luma
from vision.oddities import oddity_of

SYSFS = Path("/sys/class/video4linux")
_SILENCE_S = 3
"""Timeout in seconds for one picture, given to OpenCV."""
_DAMAGED = 5
"""Number of damaged pictures in a row that are reported as a bad cable."""
_AUTO, _MANUAL = 3, 1
"""V4L2_EXPOSURE_APERTURE_PRIORITY, V4L2_EXPOSURE_MANUAL."""
_UNITS_PER_S = 10_000
"""Exposure units in a second: V4L2_CID_EXPOSURE_ABSOLUTE counts 100 µs."""


@dataclass(frozen=True)
class UsbDevice:
    """A connected camera, /dev/videoN with N = `number`.

    `identity` stays the same when the number changes.
    """

    number: int
    name: str
    identity: str


def usb_devices() -> tuple[UsbDevice, ...]:
    """Return the cameras that the kernel lists, sorted by number.

    No camera is opened. Decoders and the Pi's own sensors are left out.
    """
    devices = []
    for entry in sorted(SYSFS.glob("video*"), key=lambda path: (len(path.name), path.name)):
        number, place = entry.name.removeprefix("video"), str(entry.resolve())
        # A camera has more nodes, for metadata. The first one gives the pictures.
        if not number.isdecimal() or _line(entry / "index") not in ("", "0"):
            continue
        if "/usb" in place:
            unit = (entry / "device").resolve().parent
            parts = [_line(unit / part) for part in ("idVendor", "idProduct", "serial")]
            identity = "usb " + ":".join(part for part in parts if part)
        elif "/virtual/" in place:
            identity = f"v4l2 {_line(entry / 'name')}"
        else:
            continue
        devices.append(UsbDevice(int(number), _line(entry / "name") or entry.name, identity))
    return tuple(devices)


def usb_number(words: str, devices: tuple[UsbDevice, ...]) -> int:
    """Return the number of the camera that `usb:WORDS` in the settings names: a number, or a part
    of the camera's name.

    Raises `CameraError` when no such camera is connected.
    """
    if words.isdecimal():
        return int(words)
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


class UsbCamera(Device):
    """The USB camera /dev/videoN. Its exposure is automatic until it is locked."""

    def __init__(self, number: int, settings: CameraSettings, clock: Clock) -> None:
        super().__init__(clock)
        self.name = f"usb:{number}"
        known = {device.number: device for device in usb_devices()}
        self.identity = known[number].identity if number in known else self.name
        self.oddity = oddity_of(self.identity, known[number].name if number in known else "")
        self._fps, self._mains_hz = settings.fps, settings.mains_hz
        self._first, self._size = True, settings.size_px
        # Without this OpenCV waits ten seconds for a camera that was unplugged. It is read once,
        # before the first picture.
        os.environ.setdefault("OPENCV_VIDEOIO_V4L_SELECT_TIMEOUT", str(_SILENCE_S))
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
        # Most USB cameras send uncompressed pictures of this size only a few times a second.
        self._device.set(cv2.CAP_PROP_FOURCC, cv2.VideoWriter.fourcc(*"MJPG"))
        self._device.set(cv2.CAP_PROP_FRAME_WIDTH, self._size[0])
        self._device.set(cv2.CAP_PROP_FRAME_HEIGHT, self._size[1])
        self._device.set(cv2.CAP_PROP_BUFFERSIZE, 1)
        # Raw data: colours are converted only when somebody needs them, and damaged JPEGs can be
        # detected.
        self._device.set(cv2.CAP_PROP_CONVERT_RGB, 0)
        self._fourcc = _letters(self._device.get(cv2.CAP_PROP_FOURCC))
        sentence = (
            int(self._device.get(cv2.CAP_PROP_FRAME_WIDTH)),
            int(self._device.get(cv2.CAP_PROP_FRAME_HEIGHT)),
        )
        self._size = sentence if min(sentence) > 0 else self._size

    # ---- pictures ----

    def _take(self) -> Taken:
        for _ in range(_DAMAGED):
            sent = self._read()
            luma = self._plane(sent)
            if luma is not None:
                return Taken(luma, partial(self._colours_of, sent), self._age_s())
        raise CameraError(
            say(
                "USB camera {name} sends only damaged pictures: use a shorter cable, another "
                "socket, and no hub",
                name=self.name,
            )
        )

    def _read(self) -> Any:
        try:
            good, picture = self._device.read()
        except cv2.error as error:
            # OpenCV asserts when a buffer is smaller than the picture should be
            raise CameraError(
                say(
                    "USB camera {name} sends unreadable data: {error}: plug it in again",
                    name=self.name,
                    error=" ".join(str(error.err).split()),  # OpenCV writes some in several lines
                )
            ) from None
        if good and picture is not None:
            self._first = False
            return picture
        if self._first:
            raise CameraError(
                say(
                    "USB camera {name} gives no picture: close other programs that use it, or plug "
                    "it in again",
                    name=self.name,
                )
            )
        raise CameraError(
            say(
                "USB camera {name} has stopped sending pictures: check its plug and cable",
                name=self.name,
            )
        )

    def _plane(self, sent: Any) -> Luma | None:
        """Return the brightness of a raw picture of any format. None if it is damaged.

        Raises `CameraError` for a format that is not supported.
        """
        if not isinstance(sent, np.ndarray) or sent.dtype != np.uint8:
            raise self._unreadable(sent)
        width, height = self._size
        # BGR: this camera is converted whatever is asked for
        if sent.ndim == 3 and sent.shape[2] == 3:
            return np.asarray(cv2.cvtColor(sent, cv2.COLOR_BGR2GRAY), np.uint8)
        # YUYV: brightness and a colour by turns; UYVY the other way round
        if sent.ndim == 3 and sent.shape[2] == 2:
            return np.ascontiguousarray(sent[:, :, 1 if self._fourcc == "UYVY" else 0])
        if sent.ndim == 3 and sent.shape[2] == 1:
            sent = sent[:, :, 0]
        if sent.ndim == 1 or 1 in sent.shape:
            return self._decoded(sent.ravel())
        # NV12, YU12: colour below
        if sent.ndim == 2 and sent.shape[1] == width and sent.shape[0] == height * 3 // 2:
            return np.ascontiguousarray(sent[:height])
        if sent.ndim == 2 and min(sent.shape) >= 64:
            return np.asarray(sent, np.uint8)
        raise self._unreadable(sent)

    def _colours_of(self, sent: Any) -> Colours | None:
        width, height = self._size
        if sent.ndim == 3 and sent.shape[2] == 3:
            return colours.of_bgr(sent)
        if sent.ndim == 3 and sent.shape[2] == 2:
            return colours.of_pairs(sent, 0 if self._fourcc == "UYVY" else 1)
        if sent.ndim == 2 and sent.shape == (height * 3 // 2, width):
            rest = sent[height:].ravel()
            if self._fourcc == "NV12":
                pairs = rest.reshape(height // 2, width // 2, 2)
                return colours.of_planes(pairs[:, :, 0], pairs[:, :, 1])
            u, v = rest.reshape(2, height // 2, width // 2)
            return colours.of_planes(u, v)
        data = sent.ravel().tobytes()
        return colours.of_jpeg(data.rstrip(b"\0")) if data.startswith(b"\xff\xd8") else None

    def _decoded(self, data: Any) -> Luma | None:
        """Return the brightness of a JPEG. None if it is cut off, because a decoder would fill the
        rest with grey.
        """
        sent = data.tobytes().rstrip(b"\0")  # buffers are longer than the pictures in them
        if not sent.startswith(b"\xff\xd8"):
            if self._fourcc in ("MJPG", "JPEG"):
                return None
            raise self._unreadable(data)
        if not sent.endswith(b"\xff\xd9"):
            return None
        try:
            picture = cv2.imdecode(np.frombuffer(sent, np.uint8), cv2.IMREAD_GRAYSCALE)
        except cv2.error:
            return None
        return None if picture is None else np.asarray(picture, np.uint8)

    def _unreadable(self, sent: Any) -> CameraError:
        return CameraError(
            say(
                "USB camera {name} sends {what} in the format {format}, "
                "which is not read here: choose a camera that sends MJPG or YUYV",
                name=self.name,
                what=shape_of(sent),
                format=self._fourcc or say("unnamed"),
            )
        )

    def _age_s(self) -> float:
        """Return how long ago the last picture was taken, in seconds. V4L2 stamps pictures by the
        monotonic clock.
        """
        if self.oddity and not self.oddity.has_stamps:
            return 0.0
        stamp_ms = float(self._device.get(cv2.CAP_PROP_POS_MSEC))
        return time.monotonic() - stamp_ms / 1000 if stamp_ms > 0 else 0.0

    def _release(self) -> None:
        self._device.release()

    # ---- controls ----

    @property
    def locks(self) -> Locks | None:
        """Whether focus and exposure are locked."""
        focus, exposure = (
            self._device.get(cv2.CAP_PROP_AUTOFOCUS),
            self._device.get(cv2.CAP_PROP_AUTO_EXPOSURE),
        )
        locks = Locks(
            None if focus < 0 else focus == 0, None if exposure < 0 else exposure == _MANUAL
        )
        return None if locks == (None, None) else locks

    def lock(self, focus: bool | None, exposure: bool | None) -> None:
        """Lock focus or exposure at their present values, or make them automatic again. None leaves
        one as it is.
        """
        here = self.locks or Locks(None, None)
        if focus is not None and here.focus is not None:
            place = self._device.get(cv2.CAP_PROP_FOCUS)
            self._device.set(cv2.CAP_PROP_AUTOFOCUS, 0 if focus else 1)
            if focus and place >= 0:
                self._device.set(cv2.CAP_PROP_FOCUS, place)
        if exposure is not None and here.exposure is not None:
            if exposure:
                self._expose(self._device.get(cv2.CAP_PROP_EXPOSURE) / _UNITS_PER_S)
            else:
                self._device.set(cv2.CAP_PROP_AUTO_EXPOSURE, _AUTO)

    def meter(self, slow: bool) -> bool:
        """Make the exposure automatic again, or fix it at a whole frame if `slow`. Return False if
        the camera has no such control.
        """
        here = self.locks
        if here is None or here.exposure is None:
            return False
        if slow:
            self._expose(1 / self._fps)
        else:
            self._device.set(cv2.CAP_PROP_AUTO_EXPOSURE, _AUTO)
        return True

    def _expose(self, seconds: float) -> None:
        """Fix the exposure. Times of at least half a flicker period become whole periods, so that
        lamps do not flicker.
        """
        if seconds <= 0:
            return
        period_s = 0.5 / self._mains_hz
        if seconds >= period_s / 2:
            seconds = max(1, int(seconds / period_s + 1e-6)) * period_s
        self._device.set(cv2.CAP_PROP_AUTO_EXPOSURE, _MANUAL)
        self._device.set(cv2.CAP_PROP_EXPOSURE, max(1, round(seconds * _UNITS_PER_S)))


def _line(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _letters(fourcc: float) -> str:
    code = int(fourcc)
    text = "".join(chr(code >> shift & 255) for shift in (0, 8, 16, 24)) if code > 0 else ""
    return text if text.isprintable() else ""
