"""Test `calibrate`, which measures a lens by views of a printed page.

The tests cover the page itself, the measurement, and the command with a fake webcam. The page is
rendered through lenses that are known, so that the results can be compared with them.
"""

from __future__ import annotations

import json
import math
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from camera_tools import UsbBus, Webcam

from companion.cli.main import main
from vision.cameras.calibration import Calibration
from vision.cameras.lens_pattern import COLUMNS, ROWS, SQUARE_MM, charuco_board
from vision.pose.optics import LENSES, Lens

SIZE_PX = (1280, 720)
LENS = Lens(0.82, -0.06)
# Views of the page that complete a measurement, as arguments of `render_page` after the lens: tilt
# and turn in degrees, the distance, and the shift to the right and downwards. The first is
# straight, the next four are tilted to each side, and the last four are in the corners.
VIEWS = (
    (0, 0, 1.0, (0.0, 0.0)),
    (30, 0, 1.1, (0.0, 0.0)),
    (30, 180, 1.1, (0.0, 0.0)),
    (30, 90, 1.1, (0.0, 0.0)),
    (30, 270, 1.1, (0.0, 0.0)),
    (25, 10, 1.0, (-0.3, -0.12)),
    (25, 100, 1.0, (0.3, -0.12)),
    (25, 100, 1.1, (-0.3, 0.12)),
    (25, 200, 1.0, (0.3, 0.12)),
)


@cache
def page() -> Any:
    """Return the printed pattern at 4 px per mm, slightly blurred."""
    return cv2.GaussianBlur(
        charuco_board().generateImage((COLUMNS * 100, ROWS * 100), marginSize=0), (0, 0), 1.2
    )


@cache
def render_page(
    lens: Lens, tilt_deg: float, turn_deg: float, distance: float, shift: tuple[float, float]
) -> Any:
    """Return a picture of the page as a camera with this lens sees it.

    `turn_deg` is the side of the page that is tilted towards the camera: 0 for the right edge, 90
    for the lower one. At a `distance` of 1 the page about fills the height of the picture. `shift`
    is its displacement from the middle to the right and downwards, as a share of the picture's
    width.

    The ray of every eighth pixel in a row and column is followed to the page. The pixels in between
    are interpolated.
    """
    # where the page is, in axes of the camera
    tilt = math.radians(tilt_deg)
    turn = math.radians(turn_deg)
    rotation = np.asarray(cv2.Rodrigues(np.array([-math.sin(turn), math.cos(turn), 0]) * tilt)[0])
    distance_mm = distance * 720 * lens.focal_ratio
    middle_mm = np.array([COLUMNS * SQUARE_MM / 2, ROWS * SQUARE_MM / 2, 0.0])
    direction = np.array([*shift, lens.focal_ratio]) / lens.focal_ratio
    translation_mm = direction * distance_mm - rotation @ middle_mm

    # where the rays of every eighth pixel meet the page
    rows, columns = np.mgrid[3.5 : SIZE_PX[1] : 8, 3.5 : SIZE_PX[0] : 8]
    pixels = np.stack([columns.ravel(), rows.ravel()], axis=1)[:, None]
    rays = cv2.undistortPoints(pixels, lens.matrix(SIZE_PX), lens.distortion)[:, 0]
    to_page = np.linalg.inv(np.column_stack([rotation[:, 0], rotation[:, 1], translation_mm]))
    points = np.column_stack([rays, np.ones(len(rays))]) @ to_page.T

    # which pixel of the drawn page each pixel of the picture shows, at 4 px of the page per mm
    coarse = (points[:, :2] / points[:, 2:] * 4 - 0.5).astype(np.float32).reshape(*rows.shape, 2)
    maps = cv2.resize(coarse, SIZE_PX, interpolation=cv2.INTER_LINEAR)
    picture = cv2.remap(page(), maps, None, cv2.INTER_LINEAR, borderValue=200)  # type: ignore[call-overload]  # stubs deny None
    return np.asarray(picture, np.uint8)


def render_views(lens: Lens) -> Iterator[Any]:
    return (render_page(lens, *view) for view in VIEWS)


# ---- the page ------------------------------------------------------------------------------------


def test_the_printed_pattern_has_the_right_size(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A page that is printed too large or too small would give every camera a wrong lens."""
    if not shutil.which("pdftoppm"):
        pytest.skip("poppler-utils is not installed")

    # the page is written, unless its folder is missing
    assert main(["calibrate", "--print", str(tmp_path / "page.pdf"), "--paper", "letter"]) == 0
    assert "print it at 100 %, on matt paper, and glue it flat" in capsys.readouterr().out
    assert main(["calibrate", "--print", str(tmp_path / "no" / "page.pdf")]) == 1
    assert "cannot be written: No such file or directory" in capsys.readouterr().err

    # draw it at 150 px per inch, and find the inner corners of its squares
    subprocess.run(
        ["pdftoppm", "-r", "150", "-gray", "-png", "page.pdf", "page"], cwd=tmp_path, check=True
    )
    (picture,) = tmp_path.glob("*.png")
    luma = cv2.imread(str(picture), cv2.IMREAD_GRAYSCALE)
    assert luma is not None
    corners, ids, *_ = cv2.aruco.CharucoDetector(charuco_board()).detectBoard(luma)
    assert len(ids) == (COLUMNS - 1) * (ROWS - 1)

    # the best linear map from their places in mm to those in the picture is the scale alone
    mm = charuco_board().getChessboardCorners()[ids.ravel()][:, :2]
    px = corners.reshape(-1, 2)
    px_per_mm = np.linalg.lstsq(mm - mm.mean(axis=0), px - px.mean(axis=0), rcond=None)[0]
    assert px_per_mm * 25.4 / 150 == pytest.approx(np.eye(2), abs=0.003)


# ---- the measurement -----------------------------------------------------------------------------


def test_a_known_lens_is_measured() -> None:
    """Show the page in each of the nine views, and compare the measured lens with the real one."""
    lens = Lens(0.42, -0.04)
    calibration, requests = Calibration(LENSES["camera-module-3-wide"]), []
    for luma in render_views(lens):
        requests.append(calibration.missing_views()[0])
        # a view counts when the page is seen in the same place twice
        assert calibration.add(luma).startswith("Hold the page still")
        assert calibration.add(luma) == ""
    assert calibration.missing_views() == ()

    # what was asked for before some of the views
    assert requests[1] == "Tilt the page so that its left edge comes nearer to the camera"
    assert requests[3] == "Tilt the page so that its upper edge comes nearer to the camera"
    assert requests[5] == "Hold the page further into the upper left of the picture"
    assert requests[8] == "Hold the page further into the lower right of the picture"

    # the lens is known to half a per cent
    measured = calibration.solve()
    assert measured.lens.focal_ratio == pytest.approx(lens.focal_ratio, rel=0.01)
    assert measured.lens.k1 == pytest.approx(lens.k1, abs=0.01)
    assert measured.rms_px < 0.2
    assert 0 < measured.focal_sigma < 0.005


def test_a_picture_that_does_not_count_is_explained() -> None:
    calibration = Calibration(LENSES["webcam"])
    assert calibration.add(np.full((720, 1280), 128, np.uint8)).startswith(
        "The page is not seen well: show more of it"
    )
    luma = render_page(LENS, *VIEWS[0])
    assert calibration.add(luma) == "Hold the page still for a moment"
    assert calibration.add(luma) == ""
    assert calibration.add(luma) == "This view is like one before: move or tilt the page"
    assert calibration.add(np.ascontiguousarray(luma[:700])).startswith(
        "This picture is 1280 x 700, the others are not"
    )


# ---- the command ---------------------------------------------------------------------------------


def calibrate_command(folder: Path) -> list[str]:
    """Return the arguments of the command, with settings for a USB camera in this folder."""
    file = folder / "settings.toml"
    file.write_text(
        f'state_dir = "{folder}/state"\n[camera]\nsource = "usb:0"\nsize = "1280x720"\n'
    )
    return ["calibrate", "--settings", str(file)]


def test_a_live_measurement_stores_the_lens(
    bus: UsbBus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command needs no keys: whoever holds the page follows its instructions on the screen."""
    # the webcam sends a black picture, and then each view twice
    webcam = bus.plug(0, Webcam("YUYV", SIZE_PX))
    webcam.noise = False
    blank = np.zeros(SIZE_PX[::-1], np.uint8)
    pictures = iter([blank, *(luma for luma in render_views(LENS) for _ in range(2))])
    webcam.scene = lambda: next(pictures)
    assert main(calibrate_command(tmp_path)) == 0

    # what the command prints, from the first instruction to the result
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == (
        "usb:0: hold the page in front of it; Ctrl-C stops without changing anything."
    )
    assert lines[-3:-1] == ["View 9 is taken.", "Working out the lens: this takes some seconds."]
    # 62.7 degrees is the field of view of LENS
    assert lines[-1].startswith("9 views: 62.")

    # the lens is stored as a measured one, which no estimate replaces
    (stored,) = json.loads((tmp_path / "state/lenses.json").read_text()).values()
    assert stored["exact"] is True
    assert stored["focal_ratio"] == pytest.approx(LENS.focal_ratio, rel=0.01)
    assert webcam.opened[-1].released == 1
