"""Test that docs/hardware.md has the distances at which each camera can read each board.

Between the nearest and the farthest distance, all of the board is in the picture, and its markers
are as large as `vision.readability` requires. The tests compute them anew with rendered views.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from companion.core.kit import Kit
from companion.games import GAMES, game_named
from vision.pose.optics import LENSES
from vision.pose.pose import Pose
from vision.readability import MODULES_PER_MARKER, needed_module_px
from vision.simulation.render import camera_pose
from vision.simulation.view import CameraView

PAGE = Path(__file__).parents[2] / "docs/hardware.md"
HEADINGS = {
    "camera-module-1": "Module 1",
    "camera-module-2": "Module 2",
    "camera-module-3": "Module 3",
    "camera-module-3-wide": "Module 3 Wide",
    "hq-6mm": "HQ, 6 mm",
    "webcam": "webcam, 67°",
}
SIZE_PX = (1920, 1080)
# Share of the picture that the board fills at the nearest distance, with the room for pieces.
MAX_FILL = 0.98
# The same at the farthest distance that is tried.
MIN_FILL = 0.02
# Number of steps between both.
STEPS = 512


def default_kits_by_title() -> dict[str, Kit]:
    games = [game_named(name) for name in GAMES]
    kits = [game.kit(game.options({})) for game in games]
    return {kit.title: kit for kit in kits}


def pose_of(kit: Kit, lens: str, tilt_deg: float, fill: float) -> Pose:
    view = CameraView(
        *SIZE_PX, focal_ratio=LENSES[lens].focal_ratio, k1=LENSES[lens].k1, tilt_deg=tilt_deg
    )
    return camera_pose(kit, replace(view, fill=fill))


def distance_mm(kit: Kit, pose: Pose) -> float:
    """Return the distance from the lens to the middle of the board."""
    middle = np.array([kit.board.width_mm / 2, kit.board.height_mm / 2, 0.0])
    return float(np.linalg.norm(pose.eye_mm - middle))


def smallest_module_px(kit: Kit, pose: Pose) -> float:
    """Return the size of a module in px, of the marker that appears smallest on any square."""
    module_mm = (kit.deck.marker_mm if kit.deck else kit.tag_mm) / MODULES_PER_MARKER
    squares = [square for square in kit.board.squares if square not in kit.board.holes]
    centres = np.array([(*kit.board.centre_mm(square), 0.0) for square in squares])
    return module_mm * float(pose.px_per_mm(centres).min())


def find_limits(kit: Kit, lens: str, tilt_deg: float) -> tuple[Pose, Pose] | None:
    """Return the nearest and the farthest pose from which the board can be read.

    Returns None if the markers are too small even from the nearest one.
    """
    # `STEPS` is the step of the nearest pose. Smaller steps are farther away.
    needed_px = needed_module_px(kit)
    poses = dict[int, Pose]()

    def fill(step: int) -> float:
        return MIN_FILL + step * (MAX_FILL - MIN_FILL) / STEPS

    def module_px(step: int) -> float:
        if step not in poses:
            poses[step] = pose_of(kit, lens, tilt_deg, fill(step))
        return smallest_module_px(kit, poses[step])

    if module_px(STEPS) < needed_px:
        return None
    # Guess the step first: 1 / size grows almost linearly with 1 / fill, as the distance does.
    half = STEPS // 2
    slope = (1 / module_px(half) - 1 / module_px(STEPS)) / (1 / fill(half) - 1 / MAX_FILL)
    wanted_fill = 1 / (1 / MAX_FILL + (1 / needed_px - 1 / module_px(STEPS)) / slope)
    step = max(1, round((wanted_fill - MIN_FILL) * STEPS / (MAX_FILL - MIN_FILL)))
    # then find the smallest step with markers that are large enough
    while module_px(step) < needed_px:
        step += 1
    while step > 1 and module_px(step - 1) >= needed_px:
        step -= 1
    return poses[STEPS], poses[step]


# The nearest and the farthest distance in cm. None if a board cannot be read from anywhere.
Range = tuple[int, int] | None


def find_range_cm(kit: Kit, lens: str, tilt_deg: float) -> Range:
    limits = find_limits(kit, lens, tilt_deg)
    if limits is None:
        return None
    nearest_mm, farthest_mm = (distance_mm(kit, pose) for pose in limits)
    return math.ceil(nearest_mm / 10), math.floor(farthest_mm / 10)


def format_rows(tilt_deg: float) -> list[str]:
    """Return one row of the table for each game, and a last one for all games together."""
    rows, ranges_cm = [], dict[str, list[Range]]()
    for title, kit in default_kits_by_title().items():
        cells = []
        for lens in HEADINGS:
            range_cm = find_range_cm(kit, lens, tilt_deg)
            ranges_cm.setdefault(lens, []).append(range_cm)
            cells.append(format_cell(range_cm))
        rows.append(format_row(title, cells))
    all_five = [format_cell(intersect(ranges_cm[lens])) for lens in HEADINGS]
    return [*rows, format_row("all five", all_five)]


def intersect(ranges_cm: Sequence[Range]) -> Range:
    """Return the distances that are in every range."""
    known = [range_cm for range_cm in ranges_cm if range_cm]
    if len(known) < len(ranges_cm):
        return None
    return max(low for low, _ in known), min(high for _, high in known)


def format_cell(range_cm: Range) -> str:
    return f"{range_cm[0]}–{range_cm[1]}" if range_cm and range_cm[0] <= range_cm[1] else "–"


def format_row(title: str, cells: Sequence[str]) -> str:
    return f"| {title} | {' | '.join(cells)} |"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tilt_deg", "words"), [(0, "straight above"), (30, "tilted by 30 degrees")]
)
def test_the_page_has_the_computed_distances(tilt_deg: float, words: str) -> None:
    heading = format_row(f"cm, {words}", list(HEADINGS.values()))
    expected = "\n".join([heading, f"|{'---|' * 7}", *format_rows(tilt_deg)])
    assert expected in PAGE.read_text(encoding="utf-8"), f"docs/hardware.md should have\n{expected}"
