"""Measure how well boards are read if the camera sees only two of the four corner markers.

Two corners are enough to locate a board, but with less certainty. A view has a number, and is the
same in every run. In views with even numbers two corner markers are outside the picture, in the
others they are covered by a sheet of paper. Light, blur, noise and JPEG displace the corners of the
other two. The reader does not know the lens, only what the lenses of webcams are like.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

import cv2
import numpy as np

from bench.reading.ground_truth import Print, prints_of
from bench.reading.pictures import Tally, print_verdict
from bench.reading.scenes import (
    Scene,
    default_kits,
    ordinary_view,
    piece_kits,
    random_layout,
    random_nudge,
)
from companion.core.kit import Kit
from vision.detection.markers import Luma
from vision.pose.pose import Pose, at_height, rectangle_corners_mm
from vision.reading.board_reader import make_board_reader
from vision.simulation.render import camera_pose

VIEWS = 60
QUICK_VIEWS = 10
# Number of random views that are tried for one that shows exactly two corner markers.
_MAX_TRIES = 200
# Least share of the boards that are found.
MIN_FOUND = 0.95
# Least share of the readable pieces on them that are right.
MIN_RIGHT = 0.97
# Width of the sheet that covers a corner marker, divided by the side of the marker.
_COVER_SIDES = 1.5
# A picture with two corner markers, and its ground truth.
CornerView = tuple[Kit, Luma, tuple[Print, ...]]


def corner_view(number: int) -> CornerView:
    """Make the view with this number. Raises ValueError if no random view shows two corners."""
    rng = Random(f"two corners {number}")
    for _ in range(_MAX_TRIES):
        view = _make_view(number, rng)
        if view is not None:
            return view
    raise ValueError(f"view {number} shows two corners in none of {_MAX_TRIES} tries")


def _make_view(number: int, rng: Random) -> CornerView | None:
    """Make a random view, or return None if it does not show exactly two corner markers."""
    all_kits = piece_kits()
    kit = all_kits[number % len(all_kits)]
    layout = random_layout(kit, rng, 0.1, 1.0)
    is_small = rng.random() < 0.7
    view = replace(
        ordinary_view(rng),
        width=1280 if is_small else 1920,
        height=720 if is_small else 1080,
        focal_ratio=rng.uniform(0.5, 1.1),
        k1=rng.uniform(-0.12, 0.03),
        tilt_deg=rng.uniform(5, 48),
        turn_deg=rng.choice((0.0, 90.0, 180.0, 270.0)) + rng.uniform(-20, 20),
        defocus_px=rng.choice((0.0, 0.8, 1.5)),
        noise=rng.uniform(1.0, 4.0),
        jpeg_quality=rng.choice((None, 70, 40)),
    )
    is_cut_off = number % 2 == 0
    if is_cut_off:
        reach = 0.35 * max(kit.board.width_mm, kit.board.height_mm)
        shift = (rng.uniform(-reach, reach), rng.uniform(-reach, reach))
        view = replace(view, fill=rng.uniform(1.0, 1.5), shift_mm=shift)
    nudges = {face: random_nudge(kit, face, rng) for faces in layout.values() for face in faces}
    pose = camera_pose(kit, view)
    covered = () if is_cut_off else tuple(rng.sample(kit.board.corners, 2))
    centres_px = {
        marker: pose.to_px(at_height(np.array([kit.board.corner_centres_mm[marker]])))[0]
        for marker in kit.board.corners
    }
    # Before rendering, which takes long: are two centres in the picture and not covered?
    inside = [
        marker
        for marker, (x, y) in centres_px.items()
        if 0 <= x < view.width and 0 <= y < view.height and marker not in covered
    ]
    if len(inside) != 2:
        return None
    table = Scene(f"two corners {number}", kit, layout, view, nudges).table()
    prints = prints_of(table)
    # The prints do not know of the sheets, which are drawn into the picture below.
    whole = {p.marker for p in prints if p.face is None and p.visible_share == 1}
    if len(whole - set(covered)) != 2:
        return None
    luma = table.render_luma()
    for marker in covered:
        cover_corner(luma, pose, kit, marker, rng)
    return kit, luma, prints


def cover_corner(luma: Luma, pose: Pose, kit: Kit, marker: int, rng: Random) -> None:
    """Draw a sheet over a corner marker in the picture. It does not reach the squares."""
    x_mm, y_mm = kit.board.corner_centres_mm[marker]
    width_mm = _COVER_SIDES * kit.board.corner_mm
    corners_mm = rectangle_corners_mm(x_mm, y_mm, width_mm, kit.board.strip_mm - 1, 0.0)
    corners_px = pose.to_px(at_height(corners_mm)).round().astype(np.int32)
    cv2.fillConvexPoly(luma, corners_px, (rng.randrange(40, 220),), cv2.LINE_AA)


def judge_view(view: CornerView, tally: Tally) -> None:
    """Read one view, and count in `tally` how it compares with the ground truth."""
    kit, luma, prints = view
    reader = make_board_reader({**default_kits(), kit.game: kit})
    tally.add(reader.read_picture(luma), prints, kit)


def bench_corners(quick: bool) -> bool:
    """Read all views, and return whether the bars are kept."""
    tally = Tally("two corners hidden")
    for number in range(QUICK_VIEWS if quick else VIEWS):
        judge_view(corner_view(number), tally)
    figures = f"{tally.found} of {tally.pictures} (at least {MIN_FOUND:.0%})"
    good = tally.found >= MIN_FOUND * tally.pictures
    print_verdict("boards with two corners found", good, figures)
    good &= tally.judge(MIN_RIGHT)
    return good
