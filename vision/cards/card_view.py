"""The picture of a board of cards as seen from straight above, its paper evened, and the print that
it shows."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.detection.markers import Luma
from vision.pose.pose import Maps

Mask = NDArray[np.bool_]

SCALE = 2.7
"""px per mm: five a module of a card's marker."""
PAPER = 200
"""How bright paper is in an even view."""
_GLARE, _LIT = 252, 242
"""What is so bright on paper that is less bright than that hides what lies there."""
INK = 0.55
"""The bold print of cards is darker than this, by the paper just beside it."""
PRINT_MM = 15.0
"""Markers and signs are not larger than this."""
_STROKE_MM = 1.5
"""Its strokes and the rims of markers are wider than this, those of the board's own print outside
the art are not."""
_THIN_MM = 0.8
"""All strokes of cards' print are wider."""
_BLACK, _BLACK_MM = 0.42, 1.5
"""What is darker than this and as wide is no line, not even a blurred one, nor the edge of a card
with its shadow."""

_SHADE, _SHADE_MM = 0.6, 4.0
"""Shadows of cards that lie on each other leave so much of paper's brightness; no line or sliver is
as wide as this."""


def paper_of(view: Luma, scale: float, reach_mm: float) -> Luma:
    """(h, w): how bright paper is, by the brightest of the (h, w) view, `scale` px a mm, within
    reach."""
    small = cv2.resize(view, None, fx=1 / 8, fy=1 / 8, interpolation=cv2.INTER_AREA)
    size = 2 * round(reach_mm * scale / 16) + 1
    white = cv2.GaussianBlur(cv2.dilate(small, np.ones((size, size), np.uint8)), (0, 0), size / 4)
    return np.asarray(
        cv2.resize(np.maximum(white, 20), view.shape[::-1], interpolation=cv2.INTER_LINEAR),
        np.uint8,
    )


def evened(view: Luma, paper: Luma) -> Luma:
    """The view as if its paper were `PAPER` bright everywhere."""
    return np.asarray(cv2.divide(view, paper, scale=PAPER), np.uint8)


def without_shade(even: Luma, scale: float) -> Luma:
    """An even view as if its paper were as bright in the shadows of cards, `scale` px a mm."""
    beside = cv2.morphologyEx(even, cv2.MORPH_CLOSE, _kernel(_SHADE_MM, scale))
    return np.asarray(
        cv2.divide(even, np.maximum(beside, round(_SHADE * PAPER)), scale=PAPER), np.uint8
    )


@dataclass(frozen=True, eq=False)
class DarkPrint:
    """(h, w) each: 255 where a view shows print; where it is as `bold` as only that of cards is;
    where it is as `black` as no line is; where it is `inked`, as fine as it may be, and darker than
    the edge of a card with its shadow."""

    fine: Luma
    bold: Luma
    black: Luma
    inked: Luma


@dataclass(frozen=True, eq=False)
class CardView:
    """(h, w) each: the view of `maps` with `even` paper, its `ink`, 255 where it is `shown` in the
    picture, and where `glare` hides what lies there."""

    maps: Maps
    shown: Luma
    even: Luma
    ink: DarkPrint
    glare: Mask


def card_view(luma: Luma, maps: Maps, shown: Luma, reach_mm: float) -> CardView:
    """The view of a (height, width) picture; within `reach_mm` some of its paper is seen
    everywhere."""
    view = maps.rectify(luma)
    paper = paper_of(view, maps.scale, reach_mm)
    even = evened(view, paper)
    return CardView(maps, shown, even, dark_print(even, maps.scale), is_glare(view, paper))


def is_glare(view: Luma, paper: Luma) -> Mask:
    """(h, w): where a view hides what lies there, although its paper is not so bright."""
    if view.max(initial=0) < _GLARE:
        return np.zeros(view.shape, np.bool_)
    return np.asarray((view >= _GLARE) & (paper < _LIT), np.bool_)


def shown_by(maps: Maps, size: tuple[int, int]) -> Luma:
    """(h, w): 255 where a view lies in a picture of this width and height."""
    last = np.array(size) - 1.0
    rim = np.concatenate(
        [maps.pixels[[0, -1]].reshape(-1, 2), maps.pixels[:, [0, -1]].reshape(-1, 2)]
    )
    if (rim >= 0).all() and (rim <= last).all():
        return np.full(maps.pixels.shape[:2], 255, np.uint8)
    return np.asarray(cv2.inRange(maps.pixels, (0.0, 0.0), tuple(last.tolist())), np.uint8)


def dark_print(even: Luma, scale: float) -> DarkPrint:
    """The print in a view with even paper, `scale` px a mm."""
    beside = cv2.morphologyEx(even, cv2.MORPH_CLOSE, _kernel(PRINT_MM, scale))
    ink = cv2.compare(even, cv2.convertScaleAbs(beside, alpha=INK), cv2.CMP_LT)
    black = cv2.compare(even, cv2.convertScaleAbs(beside, alpha=_BLACK), cv2.CMP_LT)
    black = cv2.bitwise_and(black, cv2.inRange(without_shade(even, scale), 0, _BLACK * PAPER - 1))
    pairs = (ink, _THIN_MM), (ink, _STROKE_MM), (black, _BLACK_MM)
    fine, bold, broad = (
        np.asarray(cv2.morphologyEx(mask, cv2.MORPH_OPEN, _kernel(size, scale)), np.uint8)
        for mask, size in pairs
    )
    return DarkPrint(fine, bold, broad, np.asarray(cv2.bitwise_and(fine, black), np.uint8))


def _kernel(size_mm: float, scale: float) -> Luma:
    return np.ones((round(size_mm * scale),) * 2, np.uint8)
