"""The tables of distances in docs/hardware.md are what the program's own judgement of readability
says.
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
SIZE = (1920, 1080)
# Share of the picture that the board and the room beside it take at the nearest.
WHOLE = 0.98
# Shares at which the farthest camera is looked for: this many steps below `WHOLE`, down to 0.02.
STEPS = 512


def kits() -> dict[str, Kit]:
    """Return the usual board of every game, by its title."""
    found = [game_named(name) for name in GAMES]
    made = [game.kit(game.options({})) for game in found]
    return {kit.title: kit for kit in made}


def pose_of(kit: Kit, lens: str, tilt_deg: float, fill: float) -> Pose:
    view = CameraView(
        *SIZE, focal_ratio=LENSES[lens].focal_ratio, k1=LENSES[lens].k1, tilt_deg=tilt_deg
    )
    return camera_pose(kit, replace(view, fill=fill))


def distance_mm(kit: Kit, pose: Pose) -> float:
    """Return the distance from the lens to the middle of the board."""
    middle = np.array([kit.board.width_mm / 2, kit.board.height_mm / 2, 0.0])
    return float(np.linalg.norm(pose.eye_mm - middle))


def smallest_px(kit: Kit, pose: Pose) -> float:
    """Return the module of the marker that appears smallest."""
    module_mm = (kit.deck.marker_mm if kit.deck else kit.tag_mm) / MODULES_PER_MARKER
    squares = [square for square in kit.board.squares if square not in kit.board.holes]
    centres = np.array([(*kit.board.centre_mm(square), 0.0) for square in squares])
    return module_mm * float(pose.px_per_mm(centres).min())


def limits(kit: Kit, lens: str, tilt_deg: float) -> tuple[Pose, Pose] | None:
    """Return the nearest pose that has all in the picture, and the farthest with large markers, or
    None.
    """
    needed_px, poses = needed_module_px(kit), dict[int, Pose]()

    def fill(step: int) -> float:
        return 0.02 + step * (WHOLE - 0.02) / STEPS

    def size_px(step: int) -> float:
        if step not in poses:
            poses[step] = pose_of(kit, lens, tilt_deg, fill(step))
        return smallest_px(kit, poses[step])

    if size_px(STEPS) < needed_px:
        return None
    # 1 / size grows almost evenly with 1 / fill, as the distance does: the first guess is near
    half = STEPS // 2
    slope = (1 / size_px(half) - 1 / size_px(STEPS)) / (1 / fill(half) - 1 / WHOLE)
    wanted_fill = 1 / (1 / WHOLE + (1 / needed_px - 1 / size_px(STEPS)) / slope)
    step = max(1, round((wanted_fill - 0.02) * STEPS / (WHOLE - 0.02)))
    while size_px(step) < needed_px:
        step += 1
    while step > 1 and size_px(step - 1) >= needed_px:
        step -= 1
    return poses[STEPS], poses[step]


def table(tilt_deg: float) -> list[str]:
    """Return the rows of a table, and the distances at which all five boards are read."""
    rows, spans = [], dict[str, list[tuple[int, int] | None]]()
    for title, kit in kits().items():
        cells = []
        for lens in HEADINGS:
            found = limits(kit, lens, tilt_deg)
            ends = (
                (
                    math.ceil(distance_mm(kit, found[0]) / 10),
                    math.floor(distance_mm(kit, found[1]) / 10),
                )
                if found
                else None
            )
            spans.setdefault(lens, []).append(ends)
            cells.append(cell(ends))
        rows.append(row(title, cells))
    return [*rows, row("all five", [cell(shared(spans[lens])) for lens in HEADINGS])]


def shared(spans: Sequence[tuple[int, int] | None]) -> tuple[int, int] | None:
    """Return the distances that are in all of them."""
    known = [span for span in spans if span]
    if len(known) < len(spans):
        return None
    return max(low for low, _ in known), min(high for _, high in known)


def cell(ends: tuple[int, int] | None) -> str:
    return f"{ends[0]}–{ends[1]}" if ends and ends[0] <= ends[1] else "–"


def row(title: str, cells: Sequence[str]) -> str:
    return f"| {title} | {' | '.join(cells)} |"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tilt_deg", "words"), [(0, "straight above"), (30, "tilted by 30 degrees")]
)
def test_the_page_has_the_computed_distances(tilt_deg: float, words: str) -> None:
    expected = "\n".join(
        [row(f"cm, {words}", list(HEADINGS.values())), f"|{'---|' * 7}", *table(tilt_deg)]
    )
    assert expected in PAGE.read_text(encoding="utf-8"), f"docs/hardware.md should have\n{expected}"
