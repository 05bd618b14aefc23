"""Measure how boards are read through wide and unusual lenses, which the renderer lacks.

A larger picture is rendered without distortion. Then each pixel of the camera's picture is taken
from where this lens would see it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import Random

import cv2
import numpy as np
from table_pictures import rendered_table

from bench.reading.pictures import Tally
from bench.reading.scenes import default_kits, piece_kits, random_layout
from companion.core.grid import Square
from companion.core.kit import Kit, Layout
from vision.detection.markers import Luma
from vision.pose.optics import Points
from vision.reading.board_reader import make_board_reader
from vision.simulation.view import CameraView

# Number of views of every board through every lens.
VIEWS = 2
# Least share of the pieces that are right.
MIN_RIGHT = 0.97


@dataclass(frozen=True)
class WideLens:
    """A lens, described by one of OpenCV's camera models."""

    focal_ratio: float
    """Focal length divided by the picture's width."""
    coefficients: tuple[float, ...]
    """OpenCV's distortion coefficients."""
    is_fisheye: bool = False
    """Whether the coefficients belong to OpenCV's fisheye model."""

    def undistort(self, distorted: Points) -> Points:
        """Return where points would be without distortion.

        Both are coordinates (N, 2) from the middle of the picture, divided by the focal length.
        """
        points, coefficients = distorted.reshape(-1, 1, 2), np.array(self.coefficients)
        if self.is_fisheye:
            normalised = cv2.fisheye.undistortPoints(points, np.eye(3), coefficients)
        else:
            accuracy = cv2.TERM_CRITERIA_COUNT + cv2.TERM_CRITERIA_EPS, 40, 1e-9
            normalised = cv2.undistortImagePoints(points, np.eye(3), coefficients, None, accuracy)
        return np.asarray(normalised, np.float64).reshape(-1, 2)


def _equidistant(degrees: float, k1: float = 0.0, k2: float = 0.0) -> WideLens:
    """Return an equidistant fisheye lens that shows `degrees` from the left to the right edge.

    The coefficients `k1` and `k2` bend it a little.
    """
    return WideLens(0.5 / math.radians(degrees / 2), (k1, k2, 0.0, 0.0), is_fisheye=True)


# Lenses by name. The reader does not know them.
LENSES: Mapping[str, WideLens] = {
    "fisheye of 120 degrees": _equidistant(120),
    "fisheye of 100 degrees, its own bend": _equidistant(100, -0.02, 0.004),
    "wide, two terms": WideLens(0.46, (-0.26, 0.07, 0.0, 0.0)),
    "webcam, decentred": WideLens(0.72, (-0.09, 0.05, 0.002, -0.003)),
    "webcam, rational": WideLens(0.65, (-0.20, 0.10, 0.0006, -0.0005, -0.02, 0.04, 0.02, 0.0)),
    "webcam, pincushion": WideLens(0.80, (0.07, -0.04, -0.001, 0.001)),
}


def render_through(lens: WideLens, kit: Kit, layout: Layout, view: CameraView) -> Luma:
    """Return the picture of a table through a lens, (view.height, view.width)."""
    width, height = view.width, view.height
    focal = lens.focal_ratio * width
    rows, columns = np.mgrid[0:height, 0:width].astype(np.float64)
    distorted = np.column_stack(
        [(columns.ravel() - (width - 1) / 2) / focal, (rows.ravel() - (height - 1) / 2) / focal]
    )
    normalised = lens.undistort(distorted).clip(-2.2, 2.2)
    # size of the straight picture, which has to contain everything that the lens sees
    straight_width = 2 * math.ceil(float(np.abs(normalised[:, 0]).max()) * focal) + 3
    straight_height = 2 * math.ceil(float(np.abs(normalised[:, 1]).max()) * focal) + 3
    # The board fills as much of it that it fills the share `view.fill` of the distorted picture.
    board_edge = lens.undistort(np.array([[0.0, view.fill * 0.5 * height / focal]]))[0, 1]
    straight_view = replace(
        view,
        width=straight_width,
        height=straight_height,
        focal_ratio=focal / straight_width,
        k1=0.0,
        fill=board_edge * 2 * focal / straight_height,
    )
    table = rendered_table(kit, straight_view)
    table.set_up(layout)
    straight = table.render_luma()
    source_px = (
        (normalised * focal + ((straight_width - 1) / 2, (straight_height - 1) / 2))
        .astype(np.float32)
        .reshape(height, width, 2)
    )
    distorted_luma = cv2.remap(straight, source_px, None, cv2.INTER_AREA)  # type: ignore[call-overload]  # stubs deny None
    return np.asarray(distorted_luma, dtype=np.uint8)


def bench_wide(quick: bool) -> bool:
    """Read views of every board through every lens. Return whether every bar is kept."""
    good = True
    for name, lens in LENSES.items():
        tally = Tally(name)
        for index in range(1 if quick else VIEWS):
            for kit_index, kit in enumerate(piece_kits()):
                rng = Random(f"{name} {index} {kit_index}")
                layout = random_layout(kit, rng, 0.8, 1.0)
                judge_view(kit, layout, render_through(lens, kit, layout, wide_view(rng)), tally)
        good &= tally.judge(MIN_RIGHT)
    return good


def wide_view(rng: Random) -> CameraView:
    """Make a random view of a camera above a table, at 720p."""
    return CameraView(
        tilt_deg=rng.uniform(5, 40),
        turn_deg=rng.choice((0.0, 180.0)) + rng.uniform(-10, 10),
        fill=rng.uniform(0.8, 1.0),
        seed=rng.randrange(1000),
    )


def top_faces(kit: Kit, layout: Layout) -> dict[Square, str]:
    """Return the top face on every square on which a piece lies."""
    tops = {}
    for square, faces in kit.anchor_layout(layout).items():
        face = kit.face(faces[-1])
        tops.update(dict.fromkeys(square.area(face.size), face.name))
    return tops


def judge_view(kit: Kit, layout: Layout, luma: Luma, tally: Tally) -> None:
    """Read one picture, and count in `tally` how it compares with the layout.

    A piece on several squares counts once for each of them.
    """
    reading = make_board_reader({**default_kits(), kit.game: kit}).read_picture(luma)
    truth = top_faces(kit, layout)
    tally.pictures += 1
    tally.found += reading.game is not None
    tally.pieces += len(truth)
    for square in kit.board.squares:
        actual, reported = truth.get(square), reading.seen.get(square)
        is_read = reported is not None or (
            reading.game is not None and square not in reading.unknown
        )
        tally.right += actual is not None and reported == actual
        if is_read and reported != actual:
            tally.wrong.append(f"{square}: {reported} instead of {actual}")
