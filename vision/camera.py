"""Cameras: Picamera2, USB and other V4L2 cameras, and pictures, folders and films that stand in for one.

All of them give frames of brightness and raise `CameraError` with what is wrong, where, and what to do. Only this
module knows Picamera2, and only when it is asked for: it exists on a Raspberry Pi alone.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
from collections.abc import Iterable
from itertools import count
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from companion.clock import Clock
from companion.config import CameraSettings
from companion.errors import CameraError
from companion.ports import Camera, Frame
from vision.markers import Luma

log = logging.getLogger(__name__)

PICTURES = frozenset({".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".webp", ".pgm"})
FILMS = frozenset({".mp4", ".avi", ".mkv", ".mov", ".webm", ".m4v"})
SIZE = (1280, 720)
_FRAME_TIMEOUT_S = 3.0
_SETTLE_FRAMES = 40
"""So many frames go by before exposure is locked: automatic exposure needs some twenty."""


def open_camera(settings: CameraSettings, clock: Clock) -> Camera:
    """The camera that the settings name; raises `CameraError` when there is none."""
    source = settings.source.strip()
    if source == "none":
        raise CameraError("The camera is switched off: set [camera] source to auto, picamera, usb:0 or a path")
    if source == "auto":
        return _first_camera(clock)
    if source == "picamera":
        return PiCamera(clock)
    if source.startswith("usb:"):
        number = source.removeprefix("usb:")
        if not number.isdecimal():
            raise CameraError(f"[camera] source “{source}” is not a USB camera: write usb:0, usb:1 …")
        return UsbCamera(int(number), clock)
    path = Path(source).expanduser()
    if path.is_dir():
        return FolderCamera(path, clock)
    if path.suffix.lower() in FILMS:
        return FilmCamera(path, clock)
    return PictureCamera(path, clock)


def _first_camera(clock: Clock) -> Camera:
    """A Raspberry Pi camera if there is one, else the first USB camera."""
    try:
        return PiCamera(clock)
    except CameraError as pi_error:
        try:
            return UsbCamera(0, clock)
        except CameraError as usb_error:
            raise CameraError(
                f"No camera found: connect one, or set [camera] source. {pi_error.message}. {usb_error.message}"
            ) from usb_error


def load_luma(path: Path) -> Luma:
    """The brightness of a picture file, (height, width); raises `CameraError`."""
    try:
        data = np.frombuffer(path.read_bytes(), dtype=np.uint8)
    except OSError as error:
        raise CameraError(f"{path}: cannot be read: {error.strerror}. Check the path") from error
    try:
        picture = cv2.imdecode(data, cv2.IMREAD_GRAYSCALE) if data.size else None
    except cv2.error:  # damaged files and pictures of absurd size
        picture = None
    if picture is None:
        raise CameraError(f"{path}: is not a picture that can be read: use PNG or JPEG, or take it again")
    return np.asarray(picture, dtype=np.uint8)


class _Source:
    """Numbers and stamps frames, refuses them after `close`. Must be overridden: `_luma`; may be: `_release`."""

    name = "camera"

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._numbers = count(1)
        self._closed = False

    def frame(self) -> Frame:
        """The next picture, waiting for it. Raises `CameraError` when the device is gone or closed."""
        if self._closed:
            raise CameraError(f"The camera {self.name} is closed: open it again")
        luma = self._luma()
        return Frame(luma, self._clock.monotonic_s(), next(self._numbers))

    def close(self) -> None:
        """Give the device back; a second time does nothing."""
        if not self._closed:
            self._closed = True
            self._release()

    def __enter__(self) -> Camera:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _luma(self) -> Luma:
        raise CameraError(f"The camera {self.name} gives no pictures: choose another source")

    def _release(self) -> None:
        """Nothing is held."""


class PictureCamera(_Source):
    """One picture, again and again."""

    def __init__(self, path: Path, clock: Clock) -> None:
        super().__init__(clock)
        self.name = str(path)
        self._picture = load_luma(path)

    def _luma(self) -> Luma:
        return self._picture


class FolderCamera(_Source):
    """The pictures of a folder by name, once; then the last one for ever. One that cannot be read is left out."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        super().__init__(clock)
        self.name = str(folder)
        self._paths = pictures_in(folder)
        if not self._paths:
            raise CameraError(f"{folder}: holds no pictures: put PNG or JPEG files into it")
        self._next = 0
        self._picture: Luma | None = None

    def _luma(self) -> Luma:
        while self._next < len(self._paths):
            self._next += 1
            try:
                self._picture = load_luma(self._paths[self._next - 1])
                break
            except CameraError as error:
                log.warning("%s; it is left out", error.message)
        if self._picture is None:
            raise CameraError(f"{self.name}: none of its pictures can be read: replace them")
        return self._picture


def pictures_in(folder: Path) -> list[Path]:
    """The picture files of a folder, sorted by name; raises `CameraError` when it cannot be read."""
    try:
        return sorted(p for p in folder.iterdir() if p.suffix.lower() in PICTURES and p.is_file())
    except OSError as error:
        raise CameraError(f"{folder}: cannot be read: {error.strerror}. Check the path") from error


class FilmCamera(_Source):
    """A film to its end; then its last picture for ever."""

    def __init__(self, path: Path, clock: Clock) -> None:
        super().__init__(clock)
        self.name = str(path)
        if not path.is_file():
            raise CameraError(f"{path}: there is no such film: check the path")
        self._film = cv2.VideoCapture(str(path))
        self._picture = self._next_picture()
        if self._picture is None:
            self._film.release()
            raise CameraError(f"{path}: is not a film that can be read: use MP4 or AVI, or convert it")
        self._shown = False

    def _next_picture(self) -> Luma | None:
        good, picture = self._film.read() if self._film.isOpened() else (False, None)
        return _grey(picture) if good and picture is not None else None

    def _luma(self) -> Luma:
        if self._shown:
            following = self._next_picture()
            self._picture = self._picture if following is None else following
        self._shown = True
        assert self._picture is not None
        return self._picture

    def _release(self) -> None:
        self._film.release()


class UsbCamera(_Source):
    """A USB camera, or any other that speaks V4L2, as number `number`."""

    def __init__(self, number: int, clock: Clock) -> None:
        super().__init__(clock)
        self.name = f"usb:{number}"
        # OpenCV waits ten seconds for a camera that was unplugged unless it is told otherwise before the first read.
        os.environ.setdefault("OPENCV_VIDEOIO_V4L_SELECT_TIMEOUT", str(int(_FRAME_TIMEOUT_S)))
        if not Path(f"/dev/video{number}").exists():
            raise CameraError(f"USB camera {number} is missing (/dev/video{number}): plug it in, or try another number")
        self._device = cv2.VideoCapture(number, cv2.CAP_V4L2)
        if not self._device.isOpened():
            self._device.release()
            raise CameraError(
                f"USB camera {number} cannot be opened (/dev/video{number}): close other programs that use it, "
                "and add the user to the group “video”"
            )
        # Uncompressed, most USB cameras manage this size only a few times a second.
        self._device.set(cv2.CAP_PROP_FOURCC, cv2.VideoWriter.fourcc(*"MJPG"))
        self._device.set(cv2.CAP_PROP_FRAME_WIDTH, SIZE[0])
        self._device.set(cv2.CAP_PROP_FRAME_HEIGHT, SIZE[1])
        self._device.set(cv2.CAP_PROP_BUFFERSIZE, 1)

    def _luma(self) -> Luma:
        good, picture = self._device.read()
        if not good or picture is None:
            raise CameraError(f"USB camera {self.name} sends no pictures any more: check its plug and cable")
        return _grey(picture)

    def _release(self) -> None:
        self._device.release()


class PiCamera(_Source):
    """A Raspberry Pi camera through Picamera2: the luma plane of the low resolution stream.

    Focus is fixed at once (lenses that can move: at half a metre), exposure and gain once they have settled, so that
    brightness does not follow hands.
    """

    name = "picamera"

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self._module = _picamera2()
        try:
            if not self._module.Picamera2.global_camera_info():
                raise CameraError("No Raspberry Pi camera is connected: check the ribbon cable, contacts and direction")
            self._device = self._module.Picamera2()
        except CameraError:
            raise
        except Exception as error:  # libcamera raises RuntimeError, IndexError and its own kinds
            raise CameraError(f"The Raspberry Pi camera cannot be opened: {error}: check the ribbon cable") from error
        try:
            self._start()
        except Exception as error:
            with contextlib.suppress(CameraError):
                self.close()
            raise CameraError(f"The Raspberry Pi camera does not start: {error}: close other programs") from error
        self._until_lock = _SETTLE_FRAMES

    def _start(self) -> None:
        configuration = self._device.create_video_configuration(
            main={"size": SIZE}, lores={"size": SIZE, "format": "YUV420"}, buffer_count=3
        )
        self._device.configure(configuration)
        self._device.start()
        if "LensPosition" in self._device.camera_controls:
            # AfMode 0 is manual; the lens position counts dioptres: 2 is half a metre.
            self._device.set_controls({"AfMode": 0, "LensPosition": 2.0})

    def _luma(self) -> Luma:
        try:
            request = self._device.capture_request(wait=False).get_result(timeout=_FRAME_TIMEOUT_S)
            try:
                luma = self._copy(request)
                self._lock_exposure(request)
            finally:
                request.release()
        except Exception as error:
            what = "no pictures any more" if isinstance(error, TimeoutError) else f"an error: {error}"
            raise CameraError(f"The Raspberry Pi camera sends {what}: check the ribbon cable") from error
        return luma

    def _copy(self, request: Any) -> Luma:
        """The luma plane, without the padding at the end of its rows and the colour planes below."""
        width, height = self._device.camera_configuration()["lores"]["size"]
        with self._module.MappedArray(request, "lores") as mapped:
            return np.array(mapped.array[:height, :width], dtype=np.uint8)

    def _lock_exposure(self, request: Any) -> None:
        if self._until_lock == 0:
            return
        self._until_lock -= 1
        if self._until_lock == 0:
            measured = request.get_metadata()
            self._device.set_controls(
                {
                    "AeEnable": False,
                    "ExposureTime": measured["ExposureTime"],
                    "AnalogueGain": measured["AnalogueGain"],
                }
            )

    def _release(self) -> None:
        for step in (self._device.stop, self._device.close):
            try:
                step()
            except Exception as error:
                raise CameraError(f"The Raspberry Pi camera cannot be closed: {error}: restart the program") from error


def _picamera2() -> Any:
    """The module, or `CameraError` saying how to get it."""
    try:
        return importlib.import_module("picamera2")
    except Exception as error:  # it exists but does not import where libcamera is missing
        raise CameraError(
            "Picamera2 is not here: on a Raspberry Pi install python3-picamera2 and make the environment "
            "with --system-site-packages"
        ) from error


def _grey(picture: Any) -> Luma:
    grey = picture if picture.ndim == 2 else cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY)
    return np.asarray(grey, dtype=np.uint8)


def picture_paths(paths: Iterable[Path]) -> list[Path]:
    """Files as they are, folders as the pictures in them; raises `CameraError` for an empty folder."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = pictures_in(path)
            if not inside:
                raise CameraError(f"{path}: holds no pictures: put PNG or JPEG files into it")
            found += inside
        else:
            found.append(path)
    return found
