"""Bare squares are told from pieces under shadows with hard edges, whatever lies there."""

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray
from reading_tools import tally_of

from vision.pieces.shaded_squares import PaperPixels, reflectance

SIDE = 60
PLACES = (
    np.stack(np.meshgrid(*(np.arange(SIDE) * 0.6 - 17.7,) * 2), axis=-1)
    .reshape(-1, 2)
    .astype(np.float32)
)
FAR = np.abs(PLACES).max(axis=1)
PAPER = PaperPixels(
    np.flatnonzero(FAR < 14),
    tuple(
        np.flatnonzero((FAR > 15.5) & (way > 15.5))
        for way in (-PLACES[:, 1], PLACES[:, 0], *-PLACES.T[::-1])
    ),
    PLACES,
    0.03,
)
ALL, SEEN = (True, True, True, True), np.ones((SIDE, SIDE), bool)


def test_bare_squares_under_hard_shadows_are_told() -> None:
    tally = tally_of("shadow-3-3")
    assert tally.wrong == []
    assert tally.unsure <= 0.25 * tally.bare


def test_a_blind_across_corners_hides_no_board() -> None:
    tally = tally_of("shadow-4-1")
    assert tally.wrong == []
    assert (tally.found, tally.right) == (1, tally.pieces)


@pytest.mark.parametrize(
    ("name", "grey"),
    [("shadow-2-3", 60), ("shadow-3-1", 110), ("shadow-4-2", 165)],
)
def test_a_grey_back_leaves_no_empty_square(
    monkeypatch: pytest.MonkeyPatch, name: str, grey: int
) -> None:
    back = np.full((120, 120, 3), grey, np.uint8)
    monkeypatch.setattr("vision.simulation.pieces.decode_png", lambda *_, **__: back)
    tally = tally_of(name)
    assert tally.wrong == []
    assert tally.bare, "the board is found"


def lit_paper(angle_deg: float, dark: float, at_mm: float = 0.0) -> NDArray[np.float32]:
    """Return a cell of white paper with the edge of a shadow across it, a little blurred."""
    angle = np.radians(angle_deg)
    across = PLACES @ np.array([np.cos(angle), np.sin(angle)], np.float32)
    tone = np.where(across.reshape(SIDE, SIDE) > at_mm, 1.0, dark).astype(np.float32)
    return np.asarray(cv2.GaussianBlur(tone, (0, 0), 0.7), np.float32)


@pytest.mark.parametrize("angle_deg", [0, 33, 90, 171])
@pytest.mark.parametrize("dark", [0.2, 0.8])
def test_a_shadows_edge_is_light_and_not_print(angle_deg: float, dark: float) -> None:
    found = reflectance(lit_paper(angle_deg, dark, 4.0), SEEN, PAPER, ALL)
    assert found is not None
    share = (np.abs(np.log(found.ravel()[PAPER.inside])) < 0.2).mean()
    assert share > 0.92


@pytest.mark.parametrize("dark", [0.1, 0.7])
@pytest.mark.parametrize("half_mm", [6.0, 14.9])
def test_a_patch_within_the_square_is_no_shadow(dark: float, half_mm: float) -> None:
    tone = lit_paper(30, 0.5)
    tone[FAR.reshape(SIDE, SIDE) < half_mm] *= dark
    assert reflectance(tone, SEEN, PAPER, ALL) is None


def paper_under_two_shadows(angle_deg: float, rim_deg: float) -> NDArray[np.float32]:
    """Return white paper crossed by the hard edge of one shadow and the soft rim of another."""
    angle = np.radians(rim_deg)
    across = (PLACES @ np.array([np.cos(angle), np.sin(angle)], np.float32)).reshape(SIDE, SIDE)
    return np.asarray(
        lit_paper(angle_deg, 0.6, 2.0) * (0.8 + 0.2 * np.tanh(across / 9.0)), np.float32
    )


@pytest.mark.parametrize(("angle_deg", "rim_deg"), [(40, 120), (90, 30), (135, 50)])
def test_two_shadows_that_cross_are_light(angle_deg: float, rim_deg: float) -> None:
    found = reflectance(paper_under_two_shadows(angle_deg, rim_deg), SEEN, PAPER, ALL)
    assert found is not None
    assert (np.abs(np.log(found.ravel()[PAPER.inside])) < 0.2).mean() > 0.92
