"""The board of cards as seen from straight above, with evened paper, and the bold print on it."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.detection.markers import Luma
from vision.pose.pose import Maps

Mask = NDArray[np.bool_]

MAX_SCALE = 2.7
"""Maximum resolution of the view in px per mm: five px for a module of a card's marker."""
PAPER = 200
"""Brightness of paper in an even view, of 255."""
_GLARE, _LIT = 252, 242
"""Minimum brightness of glare, of 255, and of paper that is so well lit that glare hides
nothing.
"""
_MAX_INK = 0.55
"""Maximum brightness of the bold print of cards, relative to the paper beside it."""
_PRINT_MM = 15.0
"""Size in mm of the largest print of cards: markers and signs."""
_STROKE_MM = 1.5
"""Width in mm of a thin stroke of cards. The board's own print outside its art is thinner."""
_REDUCTION = 8
"""Factor by which the view is reduced to measure the paper's brightness."""
_DARKEST = 20
"""Minimum brightness that is assumed for paper, of 255."""


@dataclass(frozen=True, eq=False)
class CardView:
    """A view of a picture, and masks for it, all (h, w)."""

    maps: Maps
    shown: Mask
    """Which pixels are inside the picture."""
    even: Luma
    """The view, normalised so that its paper has the brightness `PAPER` everywhere."""
    bold: Luma
    """255 where print is so bold that only cards have it."""
    glare: Mask
    """Which pixels glare hides."""


def card_view(luma: Luma, maps: Maps, shown: Mask, reach_mm: float) -> CardView:
    """Return the view of a (height, width) picture in which paper is visible within `reach_mm` of
    each place.
    """
    view = maps.rectify(luma)
    # Normalise the brightness of the paper.
    paper = _paper_of(view, reach_mm * maps.scale)
    even = np.asarray(cv2.divide(view, paper, scale=PAPER), np.uint8)
    # Burnt out, and brighter than the paper around it.
    glare = np.asarray((view >= _GLARE) & (paper < _LIT), np.bool_)
    return CardView(maps, shown, even, _bold_print(even, maps.scale), glare)


def _paper_of(view: Luma, reach_px: float) -> Luma:
    """Return (h, w): the brightness of paper, as the maximum of a view within `reach_px`."""
    # A small copy is enough, as light changes slowly.
    share = 1 / _REDUCTION
    small = cv2.resize(view, None, fx=share, fy=share, interpolation=cv2.INTER_AREA)
    # An odd number of px.
    size = 2 * round(reach_px * share / 2) + 1
    brightest = cv2.dilate(small, np.ones((size, size), np.uint8))
    # Smooth the steps that the window leaves.
    white = np.maximum(cv2.GaussianBlur(brightest, (0, 0), size / 4), _DARKEST)
    whole = cv2.resize(white, view.shape[::-1], interpolation=cv2.INTER_LINEAR)
    return np.asarray(whole, np.uint8)


def _bold_print(even: Luma, scale: float) -> Luma:
    """Return (h, w): 255 where a view with even paper, `scale` px per mm, shows bold print."""
    # Compare with the paper beside each print.
    beside = closed(even, _PRINT_MM * scale)
    pale = cv2.compare(even, cv2.convertScaleAbs(beside, alpha=_MAX_INK), cv2.CMP_GE)
    return 255 - closed(np.asarray(pale, np.uint8), _STROKE_MM * scale)


def closed(view: Luma, size_px: float) -> Luma:
    """Return a view in which what is dark and narrower than this is as bright as what is beside it.

    A kernel of an even size has its anchor beside its middle. It is mirrored for the second step,
    or everything would be shifted.
    """
    kernel = np.ones((round(size_px),) * 2, np.uint8)
    mirrored = (len(kernel) - 1) // 2
    eroded = cv2.erode(cv2.dilate(view, kernel), kernel, anchor=(mirrored, mirrored))
    return np.asarray(eroded, np.uint8)
