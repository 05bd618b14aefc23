"""A board of cards at a glance: seen from straight above at half the scale of a reading, by half the picture's size.

That is enough to tell what is plain, a quarter of the work of a close look. Whatever is doubtful is read closely.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import cv2
import numpy as np

from companion.core.kit import Board, Deck, Kit
from vision.cards.card_view import INK, PRINT_MM, SCALE, CardView, DarkPrint, evened, is_glare, paper_of, shown_by
from vision.cards.unexplained_print import corner_places, lines_of, own_print, paper_mm, sides_of_zones
from vision.detection.marker_scan import FEW_PX, Box
from vision.detection.markers import Luma
from vision.pose.pose import Maps, Points, Pose

_DARK = 0.65
"""Print is darker than this, by the paper just beside it: all that is print at a closer look, and more."""
_STROKE_MM, _GAP_MM = 1.5, 2.0
"""All print of cards is as wide as this; a white module of a marker is not wider than that."""
_LIKE_A_MARKER, _SIDES = (0.8, 1.5), (0.65, 1.35)
"""By the side of a marker: what is as large as one in any turn, and as long on each of its own sides."""
_NEAR_LINE_MM = 2.5
"""Half the width of a line of the board that lies a little elsewhere, blurred."""

_NEAR_CORNER_MM = 2.0
"""So far beyond a corner marker blur of it makes a line darker that lies beside it."""


@dataclass(frozen=True, eq=False)
class Glance:
    """`view`: all that is looked at, at half the scale; (h, w) each: 255 where it is `dark`, even a little; `quads`
    (N, 4, 2) px: the smallest rectangles round bold print that is as large as a marker."""

    view: CardView
    dark: Luma
    quads: Points

    def for_occlusion(self) -> CardView:
        """The view as `CardOcclusion.judge_half` takes it."""
        return replace(self.view, maps=replace(self.view.maps, scale=SCALE))


def glance_at(
    luma: Luma, pose: Pose, kit: Kit, room: tuple[Points, Points], z_mm: float, *, small: Luma | None = None
) -> Glance:
    """A (height, width) picture of a board of cards from `room`'s low to its high corner, mm; `small` is the same in
    `FEW_PX`, where it was made already."""
    assert kit.deck is not None
    low, high = tuple(room[0].tolist()), tuple(room[1].tolist())
    shrunk = min(1.0, FEW_PX / luma.shape[1])
    maps = pose.plane_maps(low, high, z_mm, SCALE / 2, shrunk=shrunk)
    picture = small if small is not None else luma if shrunk == 1.0 else _resized(luma, shrunk)
    view, size = maps.rectify(picture), (picture.shape[1], picture.shape[0])
    paper = paper_of(view, maps.scale, kit.board.square_mm)
    even = evened(view, paper)
    beside = cv2.morphologyEx(even, cv2.MORPH_CLOSE, _square(PRINT_MM, maps.scale))
    dark, ink = (
        np.asarray(cv2.compare(even, cv2.convertScaleAbs(beside, alpha=share), cv2.CMP_LT), np.uint8)
        for share in (_DARK, INK)
    )
    bold, none = without_specks(ink, maps.scale), np.zeros_like(even)
    joined = cv2.morphologyEx(bold, cv2.MORPH_CLOSE, _square(_GAP_MM, maps.scale))
    side = kit.deck.marker_mm * maps.scale
    least, most = (share * side for share in _LIKE_A_MARKER)
    quads = []
    for contour in cv2.findContours(joined, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)[0]:
        _, _, width, height = cv2.boundingRect(contour)
        if width >= least <= height and width <= most >= height:
            rectangle = cv2.minAreaRect(contour)
            if all(_SIDES[0] * side <= length <= _SIDES[1] * side for length in rectangle[1]):
                quads.append(cv2.boxPoints(rectangle))
    layers = DarkPrint(none, bold, none, none)
    shown = shown_by(maps, size)
    places = np.array(quads, np.float64).reshape(-1, 4, 2)
    return Glance(CardView(maps, shown, even, layers, is_glare(view, paper)), dark, places)


def _resized(luma: Luma, share: float) -> Luma:
    # Down to half the size, where each pixel is the mean of four, the quick way leaves nothing out.
    way = cv2.INTER_LINEAR if share >= 0.5 else cv2.INTER_AREA
    return np.asarray(cv2.resize(luma, None, fx=share, fy=share, interpolation=way), np.uint8)


def paper_box(maps: Maps, kit: Kit) -> Box:
    """Rows and columns of the board's paper in a view."""
    (left, bottom), (right, top) = maps.to_view(paper_mm(kit.board)).round().astype(int).clip(0)
    return slice(top, bottom), slice(left, right)


@dataclass(frozen=True, eq=False)
class BoardPrint:
    """(h, w) each: 255 on the `lines` of a board's zones and close to them, where the board has `other` print, and on
    its `corners` among that and close to them."""

    lines: Luma
    other: Luma
    corners: Luma


def board_print(maps: Maps, kit: Kit) -> BoardPrint:
    """What is printed on the board itself, in a view."""
    assert kit.deck is not None
    return _board_print(maps.low_mm, maps.high_mm, maps.scale, kit.board, kit.deck)


@lru_cache(maxsize=2)
def _board_print(
    low_mm: tuple[float, float], high_mm: tuple[float, float], scale: float, board: Board, deck: Deck
) -> BoardPrint:
    width, height = (max(1, round((high - low) * scale)) for low, high in zip(low_mm, high_mm, strict=True))
    maps, shape = Maps(np.empty((0, 0, 2), np.float32), low_mm, high_mm, 0.0, scale), (height, width)
    lines = lines_of(maps, shape, (board, deck), _NEAR_LINE_MM) | sides_of_zones(maps, shape, board)
    corners = corner_places(maps, shape, board, _NEAR_CORNER_MM)
    return BoardPrint(lines, own_print(maps, shape, board, deck), corners)


def strokes(dark: Luma, scale: float) -> Luma:
    """Where what hangs together in a mask is as wide as the strokes of print."""
    return np.asarray(cv2.erode(dark, _square(_STROKE_MM, scale)), np.uint8)


def without_specks(dark: Luma, scale: float) -> Luma:
    """What of a mask is as wide as the strokes of print."""
    # OpenCV's own opening shifts what is left by a pixel when the kernel has an even size.
    return np.asarray(cv2.dilate(strokes(dark, scale), _square(_STROKE_MM, scale), anchor=(0, 0)), np.uint8)


def _square(size_mm: float, scale: float) -> Luma:
    return np.ones((round(size_mm * scale),) * 2, np.uint8)
