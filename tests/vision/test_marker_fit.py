"""Where a card's marker lies: from rough corners to a hundredth of its side, in any direction, blur and noise."""

from __future__ import annotations

import math

import cv2
import numpy as np
import pytest

from companion.core.kit import CARD_DICTIONARY
from vision.cards.marker_fit import fitted_squares
from vision.detection.markers import Luma, marker_modules
from vision.pose.pose import Points

SIDE = 34.0
MIDDLE = np.array([60.3, 58.8])


def square(turn_deg: float, middle: Points = MIDDLE) -> Points:
    """(4, 2) px, the upper left corner of the print first."""
    cosine, sine = math.cos(math.radians(turn_deg)), math.sin(math.radians(turn_deg))
    corners = SIDE * np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])
    return np.asarray(middle + corners @ np.array([[cosine, sine], [-sine, cosine]]))


def picture(turn_deg: float, blur_px: float = 1.0, noise: float = 2.0) -> Luma:
    """A marker on white paper, (120, 120)."""
    print_ = cv2.resize(
        marker_modules(7, CARD_DICTIONARY), None, fx=40, fy=40, interpolation=cv2.INTER_NEAREST
    )
    ends = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], np.float32) * len(print_) - 0.5
    warp = cv2.getPerspectiveTransform(
        ends, (8 * (square(turn_deg) + 0.5) - 0.5).astype(np.float32)
    )
    large = cv2.warpPerspective(print_, warp, (960, 960), borderValue=255)
    seen = cv2.resize(large, (120, 120), interpolation=cv2.INTER_AREA).astype(np.float64)
    seen = cv2.GaussianBlur(40 + 0.6 * seen, (0, 0), blur_px)
    return np.asarray(
        (seen + np.random.default_rng(3).normal(0, noise, seen.shape)).clip(0, 255), np.uint8
    )


def error(found: Points, turn_deg: float) -> tuple[float, float]:
    """Pixels and degrees."""
    right = found[1] - found[0] + found[2] - found[3]
    bend = math.remainder(math.degrees(math.atan2(right[1], right[0])) - turn_deg, 360)
    return float(np.linalg.norm(found.mean(axis=0) - MIDDLE)), abs(bend)


@pytest.mark.parametrize("turn", [-170.0, -93.0, -14.0, 0.0, 3.0, 45.0, 101.0, 180.0])
@pytest.mark.parametrize(("blur", "noise"), [(0.6, 1.0), (1.2, 4.0), (2.0, 2.0)])
def test_a_marker_lies_where_its_rim_does(turn: float, blur: float, noise: float) -> None:
    view = picture(turn, blur, noise)
    for bend, aside in ((0.0, 0.0), (4.0, 1.2), (-5.0, -1.0)):
        rough = square(turn + bend, MIDDLE + aside) + np.array(
            [[0.9, -0.7], [-0.8, 0.6], [0.5, 1.0], [-0.9, -0.4]]
        )
        (found,) = fitted_squares(view, [rough], SIDE)
        off_px, off_deg = error(found, turn)
        assert off_px < 0.25
        assert off_deg < 0.5


def test_a_thing_that_lies_at_one_side_does_not_pull_it() -> None:
    view = picture(10.0)
    cv2.line(view, (72, 20), (110, 70), 60, 9)
    (found,) = fitted_squares(view, [square(13.0)], SIDE)
    assert error(found, 10.0)[1] < 1.0


def test_where_no_rim_is_seen_the_corners_stay() -> None:
    blank = np.full((120, 120), 200, np.uint8)
    (found,) = fitted_squares(blank, [square(20.0)], SIDE)
    assert found == pytest.approx(square(20.0))
    assert fitted_squares(blank, [], SIDE) == []
