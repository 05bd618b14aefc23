"""Measuring a lens: the printed page, views of it through known lenses, and the command."""

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

SIZE = (1280, 720)
LENS = Lens(0.82, -0.06)
# Tilt, the side towards which it is turned (0: the right edge comes nearer, 90: the lower one),
# distance by that at which the page fills the picture's height, and the displacement from the
# middle by the picture's width.
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
    """Return the pattern at 4 px per mm, a little soft."""
    return cv2.GaussianBlur(
        charuco_board().generateImage((COLUMNS * 100, ROWS * 100), marginSize=0), (0, 0), 1.2
    )


@cache
def page_through(
    lens: Lens, tilt: float, turn: float, far: float, shift: tuple[float, float]
) -> Any:
    """Return the page through a lens: for each pixel, undistorted, where its ray meets the page.

    Every eighth ray of a row and column is followed: what lies between is even.
    """
    a, b = math.radians(tilt), math.radians(turn)
    rotation = np.asarray(cv2.Rodrigues(np.array([-math.sin(b), math.cos(b), 0]) * a)[0])
    distance = far * 720 * lens.focal_ratio
    middle = np.array([COLUMNS * SQUARE_MM / 2, ROWS * SQUARE_MM / 2, 0.0])
    place = (
        np.array([shift[0], shift[1], lens.focal_ratio]) * distance / lens.focal_ratio
        - rotation @ middle
    )
    rows, columns = np.mgrid[3.5 : SIZE[1] : 8, 3.5 : SIZE[0] : 8]
    pixels = np.stack([columns.ravel(), rows.ravel()], axis=1)[:, None]
    rays = cv2.undistortPoints(pixels, lens.matrix(SIZE), lens.distortion)[:, 0]
    to_page = np.linalg.inv(np.column_stack([rotation[:, 0], rotation[:, 1], place]))
    points = np.column_stack([rays, np.ones(len(rays))]) @ to_page.T
    coarse = (points[:, :2] / points[:, 2:] * 4 - 0.5).astype(np.float32).reshape(*rows.shape, 2)
    maps = cv2.resize(coarse, SIZE, interpolation=cv2.INTER_LINEAR)
    picture = cv2.remap(page(), maps, None, cv2.INTER_LINEAR, borderValue=200)  # type: ignore[call-overload]  # stubs deny None
    return np.asarray(picture, np.uint8)


def views(lens: Lens) -> Iterator[Any]:
    return (page_through(lens, *view) for view in VIEWS)


# ---- the page ------------------------------------------------------------------------------------


def test_the_printed_pattern_is_true_to_the_millimetre(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if not shutil.which("pdftoppm"):
        pytest.skip("poppler-utils is not installed")
    assert main(["calibrate", "--print", str(tmp_path / "page.pdf"), "--paper", "letter"]) == 0
    assert "print it at 100 %, on matt paper, and glue it flat" in capsys.readouterr().out
    assert main(["calibrate", "--print", str(tmp_path / "no" / "page.pdf")]) == 1
    assert "cannot be written: No such file or directory" in capsys.readouterr().err
    subprocess.run(
        ["pdftoppm", "-r", "150", "-gray", "-png", "page.pdf", "page"], cwd=tmp_path, check=True
    )
    (picture,) = tmp_path.glob("*.png")
    luma = cv2.imread(str(picture), cv2.IMREAD_GRAYSCALE)
    assert luma is not None
    corners, ids, *_ = cv2.aruco.CharucoDetector(charuco_board()).detectBoard(luma)
    assert len(ids) == (COLUMNS - 1) * (ROWS - 1)
    mm = charuco_board().getChessboardCorners()[ids.ravel()][:, :2]
    px = corners.reshape(-1, 2)
    slope = np.linalg.lstsq(mm - mm.mean(axis=0), px - px.mean(axis=0), rcond=None)[0]
    assert slope * 25.4 / 150 == pytest.approx(np.eye(2), abs=0.003)


# ---- the measurement -----------------------------------------------------------------------------


def test_a_known_lens_is_found_again() -> None:
    lens = Lens(0.42, -0.04)
    work, asked = Calibration(LENSES["camera-module-3-wide"]), []
    for luma in views(lens):
        asked.append(work.missing_views()[0])
        assert work.add(luma).startswith("Hold the page still")
        assert work.add(luma) == ""
    assert work.missing_views() == ()
    assert asked[1] == "Tilt the page so that its left edge comes nearer to the camera"
    assert asked[3] == "Tilt the page so that its upper edge comes nearer to the camera"
    assert asked[5] == "Hold the page further into the upper left of the picture"
    assert asked[8] == "Hold the page further into the lower right of the picture"
    measured = work.solve()
    assert measured.lens.focal_ratio == pytest.approx(lens.focal_ratio, rel=0.01)
    assert measured.lens.k1 == pytest.approx(lens.k1, abs=0.01)
    assert measured.rms_px < 0.2
    assert 0 < measured.focal_sigma < 0.005


def test_pictures_that_do_not_count_say_why() -> None:
    work = Calibration(LENSES["webcam"])
    assert work.add(np.full((720, 1280), 128, np.uint8)).startswith(
        "The page is not seen well: show more of it"
    )
    flat = page_through(LENS, *VIEWS[0])
    assert work.add(flat) == "Hold the page still for a moment"
    assert work.add(flat) == ""
    assert work.add(flat) == "This view is like one before: move or tilt the page"
    assert work.add(np.ascontiguousarray(flat[:700])).startswith(
        "This picture is 1280 x 700, the others are not"
    )


# ---- the command ---------------------------------------------------------------------------------


def settings(folder: Path) -> list[str]:
    file = folder / "settings.toml"
    file.write_text(
        f'state_dir = "{folder}/state"\n[camera]\nsource = "usb:0"\nsize = "1280x720"\n'
    )
    return ["calibrate", "--settings", str(file)]


def test_a_live_measurement_stores_the_lens(
    bus: UsbBus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    webcam = bus.plug(0, Webcam("YUYV", SIZE))
    webcam.noise = False
    blank = np.zeros(SIZE[::-1], np.uint8)
    pictures = iter([blank, *(luma for luma in views(LENS) for _ in range(2))])
    webcam.scene = lambda: next(pictures)
    assert main(settings(tmp_path)) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[0] == "usb:0: hold the page in front of it; Ctrl-C stops without changing anything."
    assert told[-3:-1] == ["View 9 is taken.", "Working out the lens: this takes some seconds."]
    assert told[-1].startswith("9 views: 62.")
    (kept,) = json.loads((tmp_path / "state/lenses.json").read_text()).values()
    assert kept["exact"] is True
    assert kept["focal_ratio"] == pytest.approx(LENS.focal_ratio, rel=0.01)
    assert webcam.opened[-1].released == 1
