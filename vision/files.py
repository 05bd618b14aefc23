"""Pictures, folders of pictures and films that stand in for a camera."""

from __future__ import annotations

import logging
import struct
import warnings
from collections.abc import Iterable
from pathlib import Path

import cv2
import numpy as np
from PIL import Image

from companion.clock import Clock
from companion.errors import CameraError
from companion.languages import say
from vision.markers import Luma
from vision.source import Source

log = logging.getLogger(__name__)

PICTURES = frozenset({".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".webp", ".pgm"})
MOST_PIXELS = 100_000_000
"""Of one picture: the largest camera has 64 million. What packs well has a thousand pixels in each byte of its file."""
FILMS = frozenset({".mp4", ".avi", ".mkv", ".mov", ".webm", ".m4v"})


def load_luma(path: Path) -> Luma:
    """The brightness of a picture file, (height, width); raises `CameraError`."""
    try:
        data = np.frombuffer(path.read_bytes(), dtype=np.uint8)
    except OSError as error:
        raise CameraError(
            say("{file}: cannot be read: {error}. Check the path", file=str(path), error=error.strerror)
        ) from error
    if _is_huge(path):
        raise CameraError(
            say(
                "{file}: is larger than {number} million pixels: make it smaller",
                file=str(path),
                number=MOST_PIXELS // 1_000_000,
            )
        )
    try:
        picture = cv2.imdecode(data, cv2.IMREAD_GRAYSCALE) if data.size else None
    except cv2.error:  # damaged files and pictures of absurd size
        picture = None
    if picture is None:
        raise CameraError(
            say("{file}: is not a picture that can be read: use PNG or JPEG, or take it again", file=str(path))
        )
    return np.asarray(picture, dtype=np.uint8)


def _is_huge(path: Path) -> bool:
    """Does a picture say that it has too many pixels? Its head alone is read."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of Pillow's own limit, which is another one
            with Image.open(path) as picture:
                return picture.width * picture.height > MOST_PIXELS
    except Image.DecompressionBombError:
        return True
    except (OSError, SyntaxError, ValueError, struct.error):
        return False  # OpenCV says what it is


class PictureCamera(Source):
    """One picture, again and again."""

    def __init__(self, path: Path, clock: Clock) -> None:
        super().__init__(clock)
        self.name = str(path)
        self._picture = load_luma(path)

    def _luma(self) -> Luma:
        return self._picture


class FolderCamera(Source):
    """The pictures of a folder by name, once; then the last one for ever. One that cannot be read is left out."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        super().__init__(clock)
        self.name = str(folder)
        self._paths = pictures_in(folder)
        if not self._paths:
            raise CameraError(say("{folder}: holds no pictures: put PNG or JPEG files into it", folder=str(folder)))
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
            raise CameraError(say("{folder}: none of its pictures can be read: replace them", folder=self.name))
        return self._picture


def pictures_in(folder: Path) -> list[Path]:
    """The picture files of a folder, sorted by name; raises `CameraError` when it cannot be read."""
    try:
        return sorted(p for p in folder.iterdir() if p.suffix.lower() in PICTURES and p.is_file())
    except OSError as error:
        raise CameraError(
            say("{file}: cannot be read: {error}. Check the path", file=str(folder), error=error.strerror)
        ) from error


class FilmCamera(Source):
    """A film to its end; then its last picture for ever."""

    def __init__(self, path: Path, clock: Clock) -> None:
        super().__init__(clock)
        self.name = str(path)
        if not path.is_file():
            raise CameraError(say("{file}: there is no such film: check the path", file=str(path)))
        self._film = cv2.VideoCapture(str(path))
        self._picture = self._next_picture()
        if self._picture is None:
            self._film.release()
            raise CameraError(
                say("{file}: is not a film that can be read: use MP4 or AVI, or convert it", file=str(path))
            )
        self._shown = False

    def _next_picture(self) -> Luma | None:
        good, picture = self._film.read() if self._film.isOpened() else (False, None)
        return (
            np.asarray(cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY), dtype=np.uint8)
            if good and picture is not None
            else None
        )

    def _luma(self) -> Luma:
        if self._shown:
            following = self._next_picture()
            self._picture = self._picture if following is None else following
        self._shown = True
        assert self._picture is not None
        return self._picture

    def _release(self) -> None:
        self._film.release()


def picture_paths(paths: Iterable[Path]) -> list[Path]:
    """Files as they are, folders as the pictures in them; raises `CameraError` for an empty folder."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = pictures_in(path)
            if not inside:
                raise CameraError(say("{folder}: holds no pictures: put PNG or JPEG files into it", folder=str(path)))
            found += inside
        else:
            found.append(path)
    return found
