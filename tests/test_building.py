"""The printed parts of docs/building.md: their pictures, their sizes, and that they can be printed without support."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from hardware_pictures import DOCS, MOST_BYTES, PARTS, PICTURES, SHOTS, openscad, wiring_svg

PAGE = DOCS / "building.md"
STEEP = -np.cos(np.radians(44.0))
"""A face whose normal points down more steeply hangs over by more than 45 degrees, with a little room for rounding."""
MOST_HANGING_MM2 = 260.0
"""Roofs of holes and nuts, and the bottom of what is engraved."""
BED_MM = 200.0
needs_openscad = pytest.mark.skipif(not shutil.which("openscad"), reason="needs OpenSCAD")


def solid(file: Path) -> tuple[tuple[int, ...], int, float]:
    """Size in mm, volume in cm3, and mm2 that hang over, of an STL file in words."""
    corners = np.array(re.findall(r"vertex (\S+) (\S+) (\S+)", file.read_text()), float).reshape(
        -1, 3, 3
    )
    points = corners.reshape(-1, 3)
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    doubled = np.linalg.norm(normals, axis=1)
    volume = np.einsum("ij,ij->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6000
    hangs = (normals[:, 2] < STEEP * doubled) & (
        corners[:, :, 2].min(axis=1) > points[:, 2].min() + 0.05
    )
    size = tuple(round(float(side)) for side in np.ptp(points, axis=0))
    return size, round(float(volume)), float(doubled[hangs].sum() / 2)


@needs_openscad
@pytest.mark.slow
@pytest.mark.parametrize(("source", "part", "settings"), PARTS)
def test_a_part_is_as_large_as_the_page_says_and_needs_no_support(
    source: str, part: str, settings: str, tmp_path: Path
) -> None:
    openscad(source, part, settings, tmp_path / "part.stl")
    size, volume, hanging_mm2 = solid(tmp_path / "part.stl")
    expected = f"| {part} | {' x '.join(map(str, size))} mm | {volume} cm³ |"
    assert expected in PAGE.read_text(encoding="utf-8"), expected
    assert hanging_mm2 < MOST_HANGING_MM2
    assert max(size[:2]) <= BED_MM


def test_the_wiring_is_drawn_as_on_the_check_page() -> None:
    assert (PICTURES / "wiring.svg").read_text(encoding="utf-8") == wiring_svg(), (
        "make docs-pictures ARGS=wiring"
    )


def test_every_picture_is_there_small_and_shown() -> None:
    shown = PAGE.read_text(encoding="utf-8") + (DOCS / "hardware.md").read_text(encoding="utf-8")
    names = {*(f"{shot.name}.png" for shot in SHOTS), "wiring.svg"}
    assert {path.name for path in PICTURES.iterdir()} == names
    for name in names:
        assert (PICTURES / name).stat().st_size <= MOST_BYTES, name
        assert f'src="pictures/{name}"' in shown, name
