"""The board of cards as seen from straight above, with evened paper, and the bold print on it.

1. Cut the board out of the picture, as seen from straight above.
2. Measure how bright the paper is around each pixel, and divide by it. In this *even* view, shadows
   and the light of lamps disappear.
3. Mark the *bold print*: dark parts that are thicker than a thin stroke. Cards have markers, values
   and suits in bold print, the board only its art.
4. Mark glare, which hides what is printed.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.detection.markers import Luma
from vision.pose.pose import TopView

# Mask of a view, (h, w) bool.
Mask = NDArray[np.bool_]

# Maximum resolution of the view in px per mm: five px for a module of a card's marker. More costs
# time and shows nothing new.
MAX_SCALE = 2.7

# Brightness of paper in an even view, of 255. It leaves room for what is brighter than paper.
PAPER = 200

# Minimum brightness of glare, of 255.
_MIN_GLARE = 252

# Maximum brightness of paper in which glare counts, of 255. Brighter paper burns out by itself.
_MAX_GLARE_PAPER = 242

# Maximum tone of the bold print of cards: its brightness relative to the paper beside it. Black
# print out of focus is grey.
_MAX_INK_TONE = 0.55

# Size in mm of the largest print of cards: markers, values and suits.
_PRINT_MM = 15.0

# Width in mm of a thin stroke of cards. The board's own print outside its art is thinner.
_STROKE_MM = 1.5

# Factor by which the view is reduced to measure the paper's brightness, which changes slowly.
_REDUCTION = 8

# Minimum brightness that is assumed for paper, of 255.
_MIN_PAPER = 20


@dataclass(frozen=True, eq=False)
class CardView:
    """The board in one picture from straight above."""

    top_view: TopView
    """Where the view's pixels are in the picture."""
    in_picture: Mask
    """(h, w): which pixels are inside the picture."""
    even_luma: Luma
    """(h, w): the view, normalised so that its paper has the brightness `PAPER` everywhere."""
    bold_print: Luma
    """(h, w): 255 where print is so bold that only cards and the board's art have it, otherwise 0.
    """
    glare: Mask
    """(h, w): which pixels glare hides."""


def card_view(luma: Luma, top_view: TopView, in_picture: Mask, reach_mm: float) -> CardView:
    """Return the view of a (height, width) picture.

    Paper has to be visible within `reach_mm` of each pixel, as its brightness is measured there.
    """
    view = top_view.rectify(luma)
    # Normalise the brightness of the paper.
    paper = _paper_brightness(view, reach_mm * top_view.scale)
    even = np.asarray(cv2.divide(view, paper, scale=PAPER), np.uint8)
    # Glare is burnt out although the paper around it is not.
    glare = np.asarray((view >= _MIN_GLARE) & (paper < _MAX_GLARE_PAPER), np.bool_)
    return CardView(
        top_view=top_view,
        in_picture=in_picture,
        even_luma=even,
        bold_print=_bold_print(even, top_view.scale),
        glare=glare,
    )


def _paper_brightness(view: Luma, reach_px: float) -> Luma:
    """Return (h, w): the brightness of paper, as the maximum of a view within `reach_px`."""
    scale = 1 / _REDUCTION
    small = cv2.resize(view, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    # The side of the window, an odd number of px.
    size = 2 * round(reach_px * scale / 2) + 1
    brightest = cv2.dilate(small, np.ones((size, size), np.uint8))
    # Smooth the steps that the window leaves.
    white = np.maximum(cv2.GaussianBlur(brightest, (0, 0), size / 4), _MIN_PAPER)
    whole = cv2.resize(white, view.shape[::-1], interpolation=cv2.INTER_LINEAR)
    return np.asarray(whole, np.uint8)


def _bold_print(even: Luma, scale: float) -> Luma:
    """Return (h, w): 255 where a view with even paper, `scale` px per mm, shows bold print."""
    # Compare each pixel with the paper beside it: 255 where it is pale, 0 where it is dark.
    beside = close_dark_details(even, _PRINT_MM * scale)
    pale = cv2.compare(even, cv2.convertScaleAbs(beside, alpha=_MAX_INK_TONE), cv2.CMP_GE)
    # Remove thin dark strokes, so that only bold ones stay 0, and then invert.
    return 255 - close_dark_details(np.asarray(pale, np.uint8), _STROKE_MM * scale)


def close_dark_details(view: Luma, size_px: float) -> Luma:
    """Return a view (h, w) without dark parts that are narrower than `size_px`.

    They become as bright as what is beside them. This is a morphological closing.
    """
    kernel = np.ones((round(size_px),) * 2, np.uint8)
    # A kernel of an even size has its anchor beside its middle. It is mirrored for the second step,
    # or everything would be shifted.
    anchor = (len(kernel) - 1) // 2
    eroded = cv2.erode(cv2.dilate(view, kernel), kernel, anchor=(anchor, anchor))
    return np.asarray(eroded, np.uint8)
