"""Markers that are read where they must lie: all that decode, and nothing else."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from companion.core.kit import CARD_DICTIONARY
from vision.cards.marker_prints import MarkerPrints
from vision.detection.markers import Luma, marker_modules

KNOWN = (17, 101, 160)
SIDE = 35
QUAD = np.array([[40.0, 30.0], [75.0, 30.0], [75.0, 65.0], [40.0, 65.0]]) - 0.5


def view_of(marker: int, quad: np.ndarray = QUAD, black: int = 30, white: int = 200) -> Luma:
    """White paper, with a marker whose corners are this quadrangle."""
    print_ = cv2.resize(
        marker_modules(marker, CARD_DICTIONARY), (SIDE * 7,) * 2, interpolation=cv2.INTER_NEAREST
    )
    start = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], np.float32) * SIDE * 7 - 0.5
    warp = cv2.getPerspectiveTransform(start, quad.astype(np.float32))
    sheet = cv2.warpPerspective(print_, warp, (120, 100), borderValue=255)
    return np.asarray(black + sheet.astype(np.float64) / 255 * (white - black), np.uint8)


@pytest.mark.parametrize("marker", KNOWN)
@pytest.mark.parametrize("turns", range(4))
def test_each_marker_is_read_however_its_corners_are_given(marker: int, turns: int) -> None:
    (found,) = MarkerPrints(CARD_DICTIONARY, KNOWN).decoded(
        view_of(marker), [np.roll(QUAD, turns, axis=0)]
    )
    assert found.marker == marker
    assert found.corners_px == pytest.approx(QUAD), "the upper left corner of the print first"


def test_it_may_lie_at_a_slant_and_in_dim_light() -> None:
    slanted = np.array([[40.0, 36.0], [72.0, 28.0], [80.0, 60.0], [47.0, 69.0]])
    (found,) = MarkerPrints(CARD_DICTIONARY, KNOWN).decoded(
        view_of(101, slanted, 60, 140), [slanted]
    )
    assert found.marker == 101


def test_others_damaged_ones_and_flat_paper_are_none() -> None:
    prints, damaged = MarkerPrints(CARD_DICTIONARY, KNOWN), view_of(17)
    cv2.rectangle(damaged, (50, 40), (54, 44), int(255 - damaged[42, 52]), cv2.FILLED)  # one module
    assert not list(prints.decoded(damaged, [QUAD]))
    assert not list(prints.decoded(view_of(18), [QUAD])), "not in this deck"
    assert not list(prints.decoded(view_of(17, black=150), [QUAD])), "hardly any contrast"
    doubtful = view_of(17)
    doubtful[40:45, 50:55] = 115  # as near to black as to white
    assert not list(prints.decoded(doubtful, [QUAD]))
    assert not list(prints.decoded(np.full((100, 120), 200, np.uint8), [QUAD]))
    assert not list(prints.decoded(damaged, []))


def test_of_several_places_those_that_show_one_are_told() -> None:
    beside = QUAD + np.array([3.0, -20.0])
    found = list(MarkerPrints(CARD_DICTIONARY, KNOWN).decoded(view_of(160), [beside, QUAD, beside]))
    assert [sighting.marker for sighting in found] == [160]
