"""Finds the *covered* zones of a board of cards, which hold something other than paper and the
cards that were read.

1. Find edges and bold print in the view of the board (`card_view`), outside the board's own art and
   the cards that were read. A hand, an object or a card without a readable marker has some.
2. A zone with more of them than a limit is covered.
3. A zone without open cards also has to show its *emblem*: the drawing and words that are printed
   where its first card belongs.
4. If all edges of a zone without open cards belong to cards that lie face down, the zone is not
   covered after all, because such cards hide nothing that counts.
5. A zone with glare, or one that is not wholly in the picture, is covered in any case.

Everything is measured in a *small view*, half the size of the view of `card_view`. Brightness is
relative to paper, and areas are in mm². The limits were chosen by trial on rendered tables with
hands, cards, objects and glare: `tests/bench/reading/fans.py` counts zones that are wrong or
needlessly unknown.
"""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from companion.core.grid import Square
from companion.core.kit import Board, Deck, Seat
from vision.cards.card_view import PAPER, CardView, Mask
from vision.cards.fans import OpenCard, zones_of
from vision.detection.markers import Box, Luma
from vision.pose.pose import Points, TopView, boxes_mm

# Factor by which views are reduced. It costs a quarter of the time, and edges stay visible.
_REDUCTION = 2

# Maximum width in mm of the board's print that is removed before the search for edges.
_LINE_MM = 8.0

# Minimum change of brightness at an edge, relative to paper. At soft shadows it changes less.
_MIN_EDGE = 0.22

# Distance in mm within which that change occurs.
_EDGE_MM = 2.0

# Maximum area in mm² of edges in a zone that is not covered.
_MAX_EDGES_MM2 = 25.0

# Maximum area in mm² of bold print in such a zone.
_MAX_PRINT_MM2 = 5.0

# Margin in mm around cards in which blur, shadow and a bent corner count as parts of the card.
_TOUCH_MM = 3.0

# Width in mm of the strip beyond a zone's outer edge that is judged too, to notice an arm that
# reaches in.
_BEYOND_MM = 7.0

# Half the width in mm of the emblem, the arrow and other art in the middle of a zone.
_ART_HALF_MM = 13.0

# Distance in mm of this art from both ends of the zone.
_ART_END_MM = 2.0

# Maximum brightness of a card's back, relative to paper.
_MAX_BACK_TONE = 0.45

# Minimum area in mm² of a card's back.
_MIN_BACK_MM2 = 150.0

# Maximum distance in mm by which a card that lies face down may stick out of its zone.
_MAX_OUT_MM = 12.0

# Half the width in mm of the area of a zone's emblem.
_EMBLEM_HALF_MM = 14.0

# Maximum brightness of an emblem's print, relative to paper.
_MAX_EMBLEM_TONE = 0.7

# Minimum area in mm² of an emblem's print.
_MIN_EMBLEM_MM2 = 3.0

# Half the width in mm of a zone's printed outline, with blur.
_OUTLINE_HALF_MM = 5.0

# Blur in mm that removes noise before edges are searched.
_NOISE_MM = 0.5


class CoverDetector:
    """Detects which zones of one board of cards are covered. The `CardReader` uses it."""

    def __init__(self, board: Board, deck: Deck) -> None:
        self._board = board
        self._deck = deck
        self._zones = zones_of(board, deck)
        middles = np.array([board.centre_mm(zone) for zone in self._zones])
        corners = np.array(list(board.corner_centres_mm.values()))
        side = board.corner_mm + 2 * _TOUCH_MM
        # The art that the board prints in its zones, and its corner markers.
        art = boxes_mm(middles, 2 * _ART_HALF_MM, board.depth_mm - 2 * _ART_END_MM)
        self._art = np.vstack([art, boxes_mm(corners, side, side)])

    def covered_zones(self, view: CardView, cards: Sequence[OpenCard]) -> set[Square]:
        """Return the zones that are covered, if these are the cards that were read in `view`."""
        scale = view.top_view.scale / _REDUCTION

        # Areas in px of the small view.
        max_edges_px = _MAX_EDGES_MM2 * scale**2
        max_print_px = _MAX_PRINT_MM2 * scale**2
        small = _half_size(view.even_luma)
        glare = view.glare[::_REDUCTION, ::_REDUCTION]
        in_picture = view.in_picture[::_REDUCTION, ::_REDUCTION]

        # Edges and bold print where neither the board nor a card that was read has any.
        known = self._known_mask(small.shape, view.top_view, cards)
        beyond = _outside_mask(view.in_picture, small.shape, scale)
        edges = _edge_mask(small, known | beyond, scale)
        bold = _threshold(_half_size(view.bold_print), 127) & ~known
        zones_with_cards = {self._board.square_at(card.x_mm, card.y_mm) for card in cards}

        covered = set()
        for zone in self._zones:
            window = self._judged_window(zone, view.top_view)
            is_covered = cv2.countNonZero(edges[window]) > max_edges_px
            if zone not in zones_with_cards:
                # Bold print within the zone's outline.
                inner = _window(view.top_view, *self._box_mm(zone, -_OUTLINE_HALF_MM))
                bold_inside = np.zeros_like(bold)
                bold_inside[inner] = bold[inner]
                is_printed = cv2.countNonZero(bold_inside) > max_print_px
                is_covered |= is_printed or not self._shows_emblem(zone, small, view.top_view)
                # Cards that lie face down hide nothing that counts.
                if is_covered and _is_face_down(window, scale, edges | bold_inside, small):
                    is_covered = False

            # Nothing is known about what is cut off or under glare.
            is_covered |= not in_picture[_window(view.top_view, *self._box_mm(zone, 0.0))].all()
            if is_covered or np.count_nonzero(glare[window]) > max_edges_px:
                covered.add(zone)
        return covered

    def _judged_window(self, zone: Square, top_view: TopView) -> Box:
        """Return the window that is judged for a zone.

        The window includes half the gaps around the zone. It also includes some of the strip beyond
        the outer edge, because an arm reaches in from there.
        """
        board = self._board
        low, high = self._box_mm(zone, board.gap_mm / 2)
        if zone.rank == 0:
            low[1] -= _BEYOND_MM
        if zone.rank == board.ranks - 1:
            high[1] += _BEYOND_MM
        return _window(top_view, low, high)

    def _box_mm(self, zone: Square, margin_mm: float) -> tuple[Points, Points]:
        """Return the lower left and the upper right corner (2,) of a zone with a margin."""
        middle = np.array(self._board.centre_mm(zone))
        half = np.array([self._board.square_mm, self._board.depth_mm]) / 2 + margin_mm
        return middle - half, middle + half

    def _shows_emblem(self, zone: Square, small: Luma, top_view: TopView) -> bool:
        """Return whether something as dark as an emblem is visible where the zone has its own."""
        # The emblem is where the first card of a fan would lie, next to the seat.
        up = 1.0 if self._deck.zones[Seat.SOUTH] == zone.rank else -1.0
        x, y = self._board.centre_mm(zone)
        first = np.array([x, y - up * (self._board.depth_mm - self._deck.height_mm) / 2])
        window = _window(top_view, first - _EMBLEM_HALF_MM, first + _EMBLEM_HALF_MM)
        dark = np.count_nonzero(small[window] < _MAX_EMBLEM_TONE * PAPER)
        return bool(dark >= _MIN_EMBLEM_MM2 * (top_view.scale / _REDUCTION) ** 2)

    def _known_mask(
        self, shape: tuple[int, ...], top_view: TopView, cards: Sequence[OpenCard]
    ) -> Luma:
        """Return a mask that is 255 at the board's art, and at the cards with a margin.

        `shape` is (h, w) of the small view.
        """
        known = np.zeros(shape, np.uint8)
        outlines = np.array([card.outline for card in cards]).reshape(-1, 4, 2)
        # Enlarge cards by the margin, by moving their corners away from the middle. A corner has to
        # move farther than a side, by the square root of 2 or a little more.
        outwards = outlines - outlines.mean(axis=1, keepdims=True)
        outwards *= 1.5 * _TOUCH_MM / np.linalg.norm(outwards, axis=2, keepdims=True)
        for quad in np.vstack([self._art, outlines + outwards]):
            corners = (top_view.to_view(quad) / _REDUCTION).round().astype(np.int32)
            cv2.fillConvexPoly(known, corners, 255)
        return known


def _is_face_down(window: Box, scale: float, edges: Luma, tone: Luma) -> bool:
    """Return whether all edges of a zone belong to dark cards that lie within it.

    `window` is the zone's window in the small view, `scale` its px per mm, `edges` (h, w) is 255 at
    edges and print, and `tone` (h, w) is the small view itself.
    """
    # A card may stick out of its zone.
    out = round(_MAX_OUT_MM * scale)
    rows, columns = (slice(max(0, part.start - out), part.stop + out) for part in window)
    dark = (tone[rows, columns] < _MAX_BACK_TONE * PAPER).astype(np.uint8)
    _, labels, stats, _ = cv2.connectedComponentsWithStats(dark)
    down, across = labels.shape
    # A card's back is a large dark patch that ends within this window. Label 0 is what is not dark.
    backs = []
    for label, (x, y, width, height, area) in enumerate(stats):
        is_within = min(x, y) > 0 and x + width < across and y + height < down
        if label and is_within and area > _MIN_BACK_MM2 * scale**2:
            backs.append(label)
    is_back = np.isin(labels, backs).astype(np.uint8)
    known = np.zeros(edges.shape, np.uint8)
    known[rows, columns] = 255 * cv2.dilate(is_back, _kernel((_EDGE_MM + 1) * scale))
    unexplained = np.count_nonzero(edges[window] & ~known[window])
    return bool(unexplained <= _MAX_EDGES_MM2 * scale**2)


def _window(top_view: TopView, low: Points, high: Points) -> Box:
    """Return the window in the small view of a rectangle, given by two corners (2,) mm."""
    # The view's rows go from North to South.
    ends = top_view.to_view(np.array([low, high])) / _REDUCTION
    (left, bottom), (right, top) = ends.round().astype(int).clip(0)
    return slice(top, bottom), slice(left, right)


def _half_size(layer: Luma) -> Luma:
    scale = 1 / _REDUCTION
    small = cv2.resize(layer, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    return np.asarray(small, np.uint8)


def _outside_mask(in_picture: Mask, shape: tuple[int, ...], scale: float) -> Luma:
    """Return a mask that is 255 where the small view is outside the picture or at its edge."""
    # Objects at the edge of the picture are only half visible.
    hidden = np.where(in_picture, np.uint8(0), np.uint8(255))
    small = cv2.resize(hidden, shape[::-1], interpolation=cv2.INTER_NEAREST)
    return np.asarray(cv2.dilate(small, _kernel(_TOUCH_MM * scale)), np.uint8)


def _edge_mask(small: Luma, known: Luma, scale: float) -> NDArray[np.uint8]:
    """Return a mask that is 255 where brightness changes abruptly, outside the `known` areas.

    `small` is the small view, `known` a mask of 255, and `scale` is in px per mm.
    """
    # Remove noise and all thin dark print first.
    soft = cv2.GaussianBlur(small, (0, 0), _NOISE_MM * scale)
    closed = cv2.morphologyEx(soft, cv2.MORPH_CLOSE, _kernel(_LINE_MM / 2 * scale))
    tone = np.asarray(closed, np.uint8)
    # The maximum and the minimum nearby, without the known areas.
    kernel = _kernel(_EDGE_MM / 2 * scale)
    high = cv2.dilate(tone & ~known, kernel)
    low = cv2.erode(tone | known, kernel)
    change = np.asarray(cv2.subtract(high, low), np.uint8)
    return _threshold(change, _MIN_EDGE * PAPER) & ~known


def _kernel(reach_px: float) -> Luma:
    """Return a square kernel that reaches this many pixels from its middle."""
    return np.ones((2 * round(reach_px) + 1,) * 2, np.uint8)


def _threshold(grey: Luma, threshold: float) -> Luma:
    return np.asarray(cv2.threshold(grey, threshold, 255, cv2.THRESH_BINARY)[1], np.uint8)
