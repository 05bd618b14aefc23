"""Picture files, which anybody may have sent: decoded by Pillow alone, and as upright as a
photograph was taken.
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

ROOT = Path(__file__).parents[2]
# Files that decode pictures with OpenCV, and whose pictures those are.
OWN_PICTURES = {
    "vision/cameras/colours.py": "a webcam that is plugged in",
    "vision/cameras/usb.py": "a webcam that is plugged in",
    "vision/simulation/render.py": "packed by itself",
    "vision/simulation/printed.py": "packed by itself",
}


def scene() -> np.ndarray:
    """Return a picture with another colour on each side."""
    picture = np.zeros((64, 96, 3), np.uint8)
    picture[:, :48] = (200, 60, 30)
    picture[:32] //= 2
    return picture


def test_opencv_decodes_only_what_no_stranger_has_sent() -> None:
    found = {
        str(path.relative_to(ROOT))
        for folder in ("companion", "hardware", "vision", "web")
        for path in (ROOT / folder).rglob("*.py")
        if any(
            word in path.read_text(encoding="utf-8")
            for word in ("cv2.imdecode", "cv2.imread", "imreadmulti")
        )
    }
    assert found == OWN_PICTURES.keys()


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_every_kind_is_as_bright_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    def decode(*_: object) -> None:
        raise AssertionError("OpenCV is asked")

    path = tmp_path / "picture.png"  # its name may say anything
    Image.fromarray(scene()).save(path, kind, quality=95)
    expected = cv2.cvtColor(scene(), cv2.COLOR_RGB2GRAY)
    monkeypatch.setattr(cv2, "imdecode", decode)
    taken = load_picture(path)
    luma = taken.luma
    assert luma.shape == expected.shape
    assert np.abs(luma.astype(int) - expected)[8:24, 8:40].max() <= 3
    assert taken.colours
    colours = taken.colours()
    assert colours is not None
    assert colours.shape == (16, 24, 2)
    red, blue = cv2.cvtColor(scene(), cv2.COLOR_RGB2YCrCb)[50, 10, 1:].astype(int)
    assert np.abs(colours[12, 3].astype(int) - (red, blue)).max() <= 4


def test_a_photograph_stands_as_it_was_taken(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by 90 degrees
    Image.fromarray(scene()).save(tmp_path / "a.jpg", exif=exif)
    taken = load_picture(tmp_path / "a.jpg")
    assert taken.luma.shape == (96, 64)
    assert taken.colours
    colours = taken.colours()
    assert colours is not None
    assert colours.shape == (24, 16, 2)


@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
@pytest.mark.parametrize("width", [80, 320])
def test_colours_of_a_turned_strip_are_small(tmp_path: Path, kind: str, width: int) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by 90 degrees
    height = 400 - width
    Image.new("RGB", (width, height)).save(tmp_path / "a", kind, exif=exif)
    taken = load_picture(tmp_path / "a")
    assert taken.luma.shape == (width, height)
    assert taken.colours
    colours = taken.colours()
    assert colours is not None
    assert colours.shape == (width // 4, height // 4, 2)


def test_cut_or_strange_files_are_refused(tmp_path: Path) -> None:
    whole = io.BytesIO()
    Image.fromarray(scene()).save(whole, "JPEG")
    (tmp_path / "cut.jpg").write_bytes(whole.getvalue()[:-300])
    Image.fromarray(scene()).save(tmp_path / "eps.png", "EPS")
    for name in ("cut.jpg", "eps.png"):
        with pytest.raises(CameraError, match="is not a picture that can be read"):
            load_luma(tmp_path / name)
    assert "EPS" not in files.PILLOW_FORMATS
