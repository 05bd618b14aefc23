"""Test that empty squares are told from pieces under shadows with hard edges.

The first tests read whole boards. The others compute the `reflectance` of a single square, which is
given as a *cell*: a picture of `SIDE` x `SIDE` px around it, as seen from straight above.
"""

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray
from reading_tools import read_bench_scenes

from vision.pieces.shaded_squares import PaperPixels, reflectance

SIDE = 60
# (SIDE * SIDE, 2): the place of each pixel of a cell in mm from its centre.
PLACES_MM = (
    np.stack(np.meshgrid(*(np.arange(SIDE) * 0.6 - 17.7,) * 2), axis=-1)
    .reshape(-1, 2)
    .astype(np.float32)
)
# (SIDE * SIDE,): distance of each pixel from the centre along x or y, whichever is larger.
DISTANCES_MM = np.abs(PLACES_MM).max(axis=1)
X_MM, Y_MM = PLACES_MM.T
# Which pixels of a cell are paper: those inside the square, and those beyond its lines on each of
# the four sides.
PAPER = PaperPixels(
    inside=np.flatnonzero(DISTANCES_MM < 14),
    beyond=tuple(
        np.flatnonzero((DISTANCES_MM > 15.5) & (outwards_mm > 15.5))
        for outwards_mm in (-Y_MM, X_MM, Y_MM, -X_MM)
    ),
    offsets_mm=PLACES_MM,
    max_difference=0.03,
)
# There is plain paper beyond all four sides, and nothing hides a pixel.
ALL_SIDES = (True, True, True, True)
ALL_PIXELS = np.ones((SIDE, SIDE), bool)


def test_empty_squares_under_hard_shadows_are_recognised() -> None:
    tally = read_bench_scenes("shadow-3-3")
    assert tally.wrong == []
    assert tally.unsure <= 0.25 * tally.bare


def test_a_blinds_shadows_hide_no_board() -> None:
    tally = read_bench_scenes("shadow-4-1")
    assert tally.wrong == []
    assert (tally.found, tally.right) == (1, tally.pieces)


@pytest.mark.parametrize(
    ("name", "grey"),
    [("shadow-2-3", 60), ("shadow-3-1", 110), ("shadow-4-2", 165)],
)
def test_a_grey_back_leaves_no_empty_square(
    monkeypatch: pytest.MonkeyPatch, name: str, grey: int
) -> None:
    # all pieces have a plain grey back, which looks like paper in a shadow
    back = np.full((120, 120, 3), grey, np.uint8)
    monkeypatch.setattr("vision.simulation.pieces.decode_png", lambda *_, **__: back)
    tally = read_bench_scenes(name)
    assert tally.wrong == []
    assert tally.bare, "no board is found"


def distances_along(angle_deg: float) -> NDArray[np.float32]:
    """Return the distance in mm of each pixel from the centre, along a direction."""
    angle = np.radians(angle_deg)
    direction = np.array([np.cos(angle), np.sin(angle)], np.float32)
    return np.asarray((PLACES_MM @ direction).reshape(SIDE, SIDE), np.float32)


def shaded_paper(angle_deg: float, dark: float, edge_mm: float = 0.0) -> NDArray[np.float32]:
    """Return a cell of white paper with the slightly blurred edge of a shadow across it.

    `dark` is the brightness in the shadow, and `edge_mm` the distance of its edge from the centre.
    """
    is_lit = distances_along(angle_deg) > edge_mm
    tone = np.where(is_lit, 1.0, dark).astype(np.float32)
    return np.asarray(cv2.GaussianBlur(tone, (0, 0), 0.7), np.float32)


def white_share(tone: NDArray[np.float32]) -> float:
    """Return how much of the square is white paper: its reflectance is within 20 % of 1."""
    reflected = reflectance(tone, ALL_PIXELS, PAPER, ALL_SIDES)
    assert reflected is not None, "no light explains the paper"
    return float((np.abs(np.log(reflected.ravel()[PAPER.inside])) < 0.2).mean())


@pytest.mark.parametrize("angle_deg", [0, 33, 90, 171])
@pytest.mark.parametrize("dark", [0.2, 0.8])
def test_the_edge_of_a_shadow_is_not_print(angle_deg: float, dark: float) -> None:
    assert white_share(shaded_paper(angle_deg, dark, 4.0)) > 0.92


@pytest.mark.parametrize("dark", [0.1, 0.7])
@pytest.mark.parametrize("half_mm", [6.0, 14.9])
def test_a_patch_within_the_square_is_not_a_shadow(dark: float, half_mm: float) -> None:
    tone = shaded_paper(30, 0.5)
    tone[DISTANCES_MM.reshape(SIDE, SIDE) < half_mm] *= dark
    assert reflectance(tone, ALL_PIXELS, PAPER, ALL_SIDES) is None


def paper_under_two_shadows(angle_deg: float, rim_deg: float) -> NDArray[np.float32]:
    """Return white paper crossed by the hard edge of one shadow and the soft rim of another."""
    soft = 0.8 + 0.2 * np.tanh(distances_along(rim_deg) / 9.0)
    return np.asarray(shaded_paper(angle_deg, 0.6, 2.0) * soft, np.float32)


@pytest.mark.parametrize(("angle_deg", "rim_deg"), [(40, 120), (90, 30), (135, 50)])
def test_two_crossing_shadows_are_not_print(angle_deg: float, rim_deg: float) -> None:
    assert white_share(paper_under_two_shadows(angle_deg, rim_deg)) > 0.92
