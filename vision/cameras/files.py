"""Picture files and folders of pictures that take the place of a camera, and the decoding of
pictures that anybody may have sent.
"""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Iterable
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from companion.core.clock import Clock
from companion.core.errors import CameraError
from companion.core.files import read_file
from companion.core.i18n import say
from vision import MAX_PIXELS
from vision.cameras import colours
from vision.cameras.colours import Colours
from vision.cameras.source import Capture, FrameSource
from vision.detection.markers import Luma

log = logging.getLogger(__name__)

# Endings of the names of picture files, in lower case.
PICTURE_SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".webp", ".pgm"})
# Names of the formats that Pillow may try, whatever the suffix of the file says.
PILLOW_FORMATS = ("PNG", "JPEG", "BMP", "TIFF", "WEBP", "PPM")
# Maximum size of a picture file in bytes.
MAX_FILE_BYTES = 64_000_000
# Maximum number of pixels of a picture from the network, a little more than the 8.3 million of 4K.
# A reader needs two million, which is 1080p.
MAX_STREAM_PIXELS = 9_000_000
# Maximum number of files in a folder of pictures.
MAX_ENTRIES = 20_000


def load_luma(path: Path) -> Luma:
    """Return the brightness of a picture file, (height, width). Raises `CameraError`."""
    return np.asarray(load_picture(path).luma, np.uint8)


def load_picture(path: Path) -> Capture:
    """Read a picture file. Raises `CameraError`."""
    try:
        content = read_file(path, MAX_FILE_BYTES)
    except OSError as error:
        raise unreadable_error(str(path), error) from error
    with warnings.catch_warnings():
        # Pillow warns of large pictures, which `max_pixels` refuses, and of small faults in files,
        # which do not matter here.
        warnings.simplefilter("ignore")
        return decode_picture(content, str(path))


def decode_picture(
    content: bytes,
    name: str,
    formats: tuple[str, ...] = PILLOW_FORMATS,
    max_pixels: int = MAX_PIXELS,
) -> Capture:
    """Decode a picture that anybody may have sent. `name` stands for it in errors.

    Pillow decodes it, because OpenCV 4.11 writes beyond its memory (CVE-2025-53644). Raises
    `CameraError`.
    """
    luma = None
    try:
        with Image.open(io.BytesIO(content), formats=formats) as picture:
            if picture.width * picture.height <= max_pixels:
                luma = _decode_luma(picture)
    except Exception as error:  # damaged files make decoders raise nearly anything
        raise CameraError(
            say(
                "{file}: is not a picture that can be read: use PNG or JPEG, or take it again",
                file=name,
            )
        ) from error
    if luma is None:
        raise CameraError(
            say(
                "{file}: is larger than {number} million pixels: make it smaller",
                file=name,
                number=max_pixels // 1_000_000,
            )
        )
    return Capture(luma, partial(_decode_colours, content))


def unreadable_error(name: str, error: OSError) -> CameraError:
    """Return the error of a file or folder that cannot be read."""
    return CameraError(
        say("{file}: cannot be read: {error}. Check the path", file=name, error=error.strerror)
    )


def _decode_luma(picture: Image.Image) -> Luma:
    """Return the brightness of a picture that is not decoded yet, (height, width).

    Raises whatever Pillow raises, and `ValueError` for a picture with sixteen bits a pixel.
    """
    # A JPEG stores brightness as a channel of its own, so only that is decoded.
    picture.draft("L", picture.size)
    picture = ImageOps.exif_transpose(picture)
    if picture.mode.startswith("I"):
        raise ValueError("pictures of sixteen bits are not read")
    return np.array(picture.convert("L"), np.uint8)


def _decode_colours(content: bytes) -> Colours:
    """Return the colours of a picture at a quarter of its size.

    A JPEG is decoded at about that size, which is faster.
    """
    with Image.open(io.BytesIO(content), formats=PILLOW_FORMATS) as picture:
        reduction = colours.COLOUR_REDUCTION
        size_px = max(1, picture.width // reduction), max(1, picture.height // reduction)
        picture.draft("YCbCr", size_px)
        small = ImageOps.exif_transpose(picture)
        # Only a JPEG is decoded at the reduced size, or up to twice as large.
        if picture.width > 2 * size_px[0]:
            small = small.convert("RGB").reduce(reduction)
        # Cr, Cb: the order of `Colours`.
        cr_and_cb = np.asarray(small.convert("YCbCr"))[:, :, 2:0:-1]
    return np.ascontiguousarray(cr_and_cb)


class PictureCamera(FrameSource):
    """A picture, or the pictures of a folder in the order of their names, in place of a camera.

    The last one is repeated forever. A picture of a folder that cannot be read is skipped. The
    constructor raises `CameraError` if a single picture cannot be read, or if a folder has none.
    """

    def __init__(self, path: Path, clock: Clock) -> None:
        super().__init__(clock)
        self.name = str(path)
        # Files that were not read yet.
        self._unread_paths = iter(expand_folders([path]))
        # The last picture that could be read. None before the first one of a folder.
        self._last = None if path.is_dir() else load_picture(next(self._unread_paths))

    def _capture(self) -> Capture:
        for path in self._unread_paths:
            try:
                self._last = load_picture(path)
                break
            except CameraError as error:
                log.warning("%s; it is skipped", error.message)
        if self._last is None:
            raise CameraError(
                say("{folder}: none of its pictures can be read: replace them", folder=self.name)
            )
        return self._last


def list_pictures(folder: Path) -> list[Path]:
    """Return the picture files of a folder, sorted by name.

    Raises `CameraError` if it cannot be read or holds too many files.
    """
    try:
        inside = list(islice(folder.iterdir(), MAX_ENTRIES + 1))
        pictures = sorted(
            path for path in inside if path.suffix.lower() in PICTURE_SUFFIXES and path.is_file()
        )
    except OSError as error:
        raise unreadable_error(str(folder), error) from error
    if len(inside) > MAX_ENTRIES:
        raise CameraError(
            say(
                "{folder}: holds more than {number} files: take a smaller folder",
                folder=str(folder),
                number=MAX_ENTRIES,
            )
        )
    return pictures


def expand_folders(paths: Iterable[Path]) -> list[Path]:
    """Return these paths with each folder replaced by the pictures in it.

    Raises `CameraError` for a folder without pictures, and as `list_pictures` does.
    """
    pictures: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = list_pictures(path)
            if not inside:
                raise CameraError(
                    say(
                        "{folder}: holds no pictures: put PNG or JPEG files into it",
                        folder=str(path),
                    )
                )
            pictures += inside
        else:
            pictures.append(path)
    return pictures
