"""Test the decoding of picture files, which anybody may have sent.

Only Pillow decodes them, as faults of OpenCV's decoders could be used for an attack. Photographs
are turned upright.
"""

from __future__ import annotations

import io
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image

from companion.core.errors import CameraError
from vision.cameras import files
from vision.cameras.files import load_luma, load_picture

# The entry of a picture's Exif data that says how the camera was held, and one of its values.
ORIENTATION_TAG = 0x0112
TURNED_BY_90_DEG = 6

ROOT = Path(__file__).parents[2]
# Modules that decode pictures with OpenCV, and where these pictures come from.
OPENCV_DECODERS = {
    "vision/cameras/colours.py": "a webcam that is plugged in",
    "vision/cameras/usb.py": "a webcam that is plugged in",
    "vision/simulation/render.py": "encoded by the program itself",
    "vision/simulation/printed.py": "encoded by the program itself",
}


def draw_picture() -> np.ndarray:
    """Return a picture of 96 x 64 px, red on the left and black on the right, darker at the top."""
    picture = np.zeros((64, 96, 3), np.uint8)
    picture[:, :48] = (200, 60, 30)
    picture[:32] //= 2
    return picture


def test_opencv_decodes_no_picture_of_strangers() -> None:
    decoders = {
        str(path.relative_to(ROOT))
        for folder in ("companion", "hardware", "vision", "web")
        for path in (ROOT / folder).rglob("*.py")
        if any(
            word in path.read_text(encoding="utf-8")
            for word in ("cv2.imdecode", "cv2.imread", "imreadmulti")
        )
    }
    assert decoders == OPENCV_DECODERS.keys()


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_each_format_keeps_brightness_and_colours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Pillow recognises the format by the content of a file, whatever its name is."""

    def decode(*_: object) -> None:
        raise AssertionError("OpenCV decodes the picture")

    # the file is called a PNG, whatever its format is
    path = tmp_path / "picture.png"
    Image.fromarray(draw_picture()).save(path, kind, quality=95)
    expected = cv2.cvtColor(draw_picture(), cv2.COLOR_RGB2GRAY)
    monkeypatch.setattr(cv2, "imdecode", decode)
    picture = load_picture(path)

    # the brightness, compared in the upper half of the red part, away from its edges
    luma = picture.luma
    assert luma.shape == expected.shape
    assert np.abs(luma.astype(int) - expected)[8:24, 8:40].max() <= 3

    # the colours, of which there is one for four by four pixels, compared in the lower half
    assert picture.colours
    colours = picture.colours()
    assert colours is not None
    assert colours.shape == (16, 24, 2)
    red, blue = cv2.cvtColor(draw_picture(), cv2.COLOR_RGB2YCrCb)[50, 10, 1:].astype(int)
    assert np.abs(colours[12, 3].astype(int) - (red, blue)).max() <= 4


def test_a_photograph_is_turned_upright(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[ORIENTATION_TAG] = TURNED_BY_90_DEG
    Image.fromarray(draw_picture()).save(tmp_path / "a.jpg", exif=exif)
    picture = load_picture(tmp_path / "a.jpg")
    assert picture.luma.shape == (96, 64)
    assert picture.colours
    colours = picture.colours()
    assert colours is not None
    assert colours.shape == (24, 16, 2)


@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
@pytest.mark.parametrize("width", [80, 320])
def test_colours_of_a_turned_strip_are_small(tmp_path: Path, kind: str, width: int) -> None:
    exif = Image.Exif()
    exif[ORIENTATION_TAG] = TURNED_BY_90_DEG
    height = 400 - width
    Image.new("RGB", (width, height)).save(tmp_path / "a", kind, exif=exif)
    picture = load_picture(tmp_path / "a")
    assert picture.luma.shape == (width, height)
    assert picture.colours
    colours = picture.colours()
    assert colours is not None
    assert colours.shape == (width // 4, height // 4, 2)


def test_incomplete_and_foreign_files_are_refused(tmp_path: Path) -> None:
    # a JPEG without its end, and a program in PostScript that Pillow would have to run
    jpeg = io.BytesIO()
    Image.fromarray(draw_picture()).save(jpeg, "JPEG")
    (tmp_path / "cut.jpg").write_bytes(jpeg.getvalue()[:-300])
    Image.fromarray(draw_picture()).save(tmp_path / "eps.png", "EPS")
    for name in ("cut.jpg", "eps.png"):
        with pytest.raises(CameraError, match="is not a picture that can be read"):
            load_luma(tmp_path / name)
    assert "EPS" not in files.PILLOW_FORMATS
