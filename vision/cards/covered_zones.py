"""Which zones of a board of cards hold something that is neither paper nor a card that was read.

A hand, a thing, glare or a card without a readable marker: it has edges, or bold print, where the
board has none. A zone is empty only where its own sign is seen. Cards that lie face down are no
reason to doubt a zone without open cards.
"""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from companion.core.grid import Square
from companion.core.kit import Board, Deck, Seat
from vision.cards.card_view import PAPER, CardView
from vision.cards.fans import OpenCard, zones_of
from vision.detection.markers import Luma
from vision.pose.pose import Maps, Points, boxes_mm

_SHRINK = 2
"""Views are looked at in this part of their size."""
_LINE_MM = 8.0
"""Print that is thinner than this is not seen."""
_EDGE, _EDGE_MM = 0.22, 2.0
"""A change of brightness, by that of paper, within so many mm, that is an edge. Soft shadows change
less."""
_MAX_EDGES_MM2, _MAX_PRINT_MM2 = 25.0, 5.0
"""More of it in a zone belongs to something that lies there."""
_TOUCH_MM = 3.0
"""So far beyond their outlines cards are let be: blur, shadow, a bent corner."""
_BEYOND_MM = 7.0
"""Of the strip before a zone's outer edge so much is looked at: who reaches in from there is seen.
"""
_ART_MM = 13.0
"""Half the width of the sign, the arrow and other art in the middle of a zone, which is not judged.
"""
_BACK, _BACK_MM2, _OUT_MM = 0.45, 150.0, 12.0
"""Backs are darker than this, by paper, in one piece larger than this, and may stick out of the
zone so far."""
_SIGN_MM, _PRINTED, _LEAST_SIGN_MM2 = 14.0, 0.7, 3.0
"""So far round the middle of the first card's place a bare zone shows so much that is darker than
this, by paper."""
_OUTLINE_MM = 5.0
"""Half the width of what is printed as the outline of a zone, with blur."""


class ZoneCover:
    """Judges the zones of one board."""

    def __init__(self, board: Board, deck: Deck) -> None:
        self._board, self._deck = board, deck
        self._up = {rank: 1.0 if seat is Seat.SOUTH else -1.0 for seat, rank in deck.zones.items()}
        self._zones = zones_of(board, deck)
        middles = np.array([board.centre_mm(zone) for zone in self._zones])
        corners = np.array([board.corner_centres_mm[marker] for marker in board.corners])
        side = board.corner_mm + 2 * _TOUCH_MM
        self._art = np.vstack(
            [boxes_mm(middles, 2 * _ART_MM, board.depth_mm - 4), boxes_mm(corners, side, side)]
        )

    def covered(self, view: CardView, cards: Sequence[OpenCard]) -> set[Square]:
        """Return the zones that hold anything but paper and these cards."""
        small, bold = _halved(view.even), _above(_halved(view.bold), 127)
        glare = view.glare[::_SHRINK, ::_SHRINK]
        scale = view.maps.scale / _SHRINK
        known = self._known(small.shape, view.maps, cards)
        edges = _edges(
            _without_lines(small, scale), known | _outside(view.shown, small.shape, scale), scale
        )
        bold = self._inside_outlines(bold, view.maps) & ~known
        with_cards = {self._board.square_at(card.x_mm, card.y_mm) for card in cards}
        covered = set()
        for zone in self._zones:
            here = _rows_and_columns(view.maps, *self._rectangle(zone))
            is_covered = cv2.countNonZero(edges[here]) > _MAX_EDGES_MM2 * scale**2
            if zone not in with_cards:
                is_covered |= not self._shows_sign(zone, small, view.maps)
                is_covered |= cv2.countNonZero(bold[here]) > _MAX_PRINT_MM2 * scale**2
                is_covered = is_covered and not self._is_face_down(here, scale, edges | bold, small)
            if is_covered or np.count_nonzero(glare[here]) > _MAX_EDGES_MM2 * scale**2:
                covered.add(zone)
        return covered

    def _shows_sign(self, zone: Square, small: Luma, maps: Maps) -> bool:
        """Tell whether something dark is seen where the sign and the words of a bare zone are
        printed."""
        x, y = self._board.centre_mm(zone)
        first = y - self._up[zone.rank] * (self._board.depth_mm - self._deck.height_mm) / 2
        half = np.array([_SIGN_MM, _SIGN_MM])
        here = _rows_and_columns(maps, np.array([x, first]) - half, np.array([x, first]) + half)
        dark = np.count_nonzero(small[here] < _PRINTED * PAPER)
        return bool(dark >= _LEAST_SIGN_MM2 * (maps.scale / _SHRINK) ** 2)

    def _known(self, shape: tuple[int, ...], maps: Maps, cards: Sequence[OpenCard]) -> Luma:
        """Mark with 255 where the board has art, and cards with what is close to them."""
        known = np.zeros(shape, np.uint8)
        outlines = np.array([card.outline for card in cards]).reshape(-1, 4, 2)
        middles = outlines.mean(axis=1, keepdims=True)
        out = outlines - middles
        # A corner is farther from the middle than a side is.
        grown = outlines + 1.5 * _TOUCH_MM * out / np.linalg.norm(out, axis=2, keepdims=True)
        for quad in np.vstack([self._art, grown]):
            corners = (maps.to_view(quad) / _SHRINK).round().astype(np.int32)
            cv2.fillConvexPoly(known, corners, 255)
        return known

    def _inside_outlines(self, bold: Luma, maps: Maps) -> Luma:
        """Keep bold print within the outlines of zones."""
        inside = np.zeros_like(bold)
        half = np.array([self._board.square_mm, self._board.depth_mm]) / 2 - _OUTLINE_MM
        for zone in self._zones:
            middle = np.array(self._board.centre_mm(zone))
            here = _rows_and_columns(maps, middle - half, middle + half)
            inside[here] = bold[here]
        return inside

    def _rectangle(self, zone: Square) -> tuple[Points, Points]:
        """Return the low and the high corner of what is judged for a zone: half the gaps, and some
        of the strip."""
        board = self._board
        middle = np.array(board.centre_mm(zone))
        half = np.array([board.square_mm + board.gap_mm, board.depth_mm + board.gap_mm]) / 2
        below = np.array([0.0, _BEYOND_MM if zone.rank == 0 else 0.0])
        above = np.array([0.0, _BEYOND_MM if zone.rank == board.ranks - 1 else 0.0])
        return middle - half - below, middle + half + above

    @staticmethod
    def _is_face_down(here: tuple[slice, slice], scale: float, edges: Luma, tone: Luma) -> bool:
        """Tell whether all edges of a zone belong to dark cards that lie within it."""
        out = round(_OUT_MM * scale)
        top, left = (max(0, part.start - out) for part in here)
        window = (slice(top, here[0].stop + out), slice(left, here[1].stop + out))
        own = np.zeros(edges.shape, np.bool_)
        own[here] = edges[here] > 0
        dark = (tone[window] < _BACK * PAPER).astype(np.uint8)
        _, labels, stats, _ = cv2.connectedComponentsWithStats(dark)
        rows, columns = labels.shape
        backs = []
        for label, (x, y, width, height, area) in enumerate(stats):
            is_within = min(x, y) > 0 and x + width < columns and y + height < rows
            if label and is_within and area > _BACK_MM2 * scale**2:
                backs.append(label)
        size = 2 * round((_EDGE_MM + 1) * scale) + 1
        near = cv2.dilate(np.isin(labels, backs).astype(np.uint8), np.ones((size, size), np.uint8))
        return bool(np.count_nonzero(own[window] & (near == 0)) <= _MAX_EDGES_MM2 * scale**2)


def _rows_and_columns(maps: Maps, low: Points, high: Points) -> tuple[slice, slice]:
    """Return where a rectangle lies in the small view."""
    (left, bottom), (right, top) = (
        (maps.to_view(np.array([low, high])) / _SHRINK).round().astype(int).clip(0)
    )
    return slice(top, bottom), slice(left, right)


def _halved(layer: Luma) -> Luma:
    share = 1 / _SHRINK
    return np.asarray(
        cv2.resize(layer, None, fx=share, fy=share, interpolation=cv2.INTER_AREA), np.uint8
    )


def _without_lines(small: Luma, scale: float) -> Luma:
    """Take noise and all thin dark print away."""
    soft = cv2.GaussianBlur(small, (0, 0), 0.5 * scale)
    size = 2 * round(_LINE_MM * scale / 2) + 1
    return np.asarray(
        cv2.morphologyEx(soft, cv2.MORPH_CLOSE, np.ones((size, size), np.uint8)), np.uint8
    )


def _outside(shown: Luma, shape: tuple[int, ...], scale: float) -> Luma:
    """Mark with 255 where the small view is no part of the picture, or at its edge."""
    size = 2 * round(_TOUCH_MM * scale) + 1
    small = cv2.resize(shown, shape[::-1], interpolation=cv2.INTER_NEAREST)
    inside = cv2.erode(small, np.ones((size, size), np.uint8), borderValue=255)
    return np.asarray(cv2.bitwise_not(inside), np.uint8)


def _edges(tone: Luma, known: Luma, scale: float) -> NDArray[np.uint8]:
    """Mark with 255 where brightness changes at once among what is not known."""
    size = 2 * round(_EDGE_MM * scale / 2) + 1
    kernel = np.ones((size, size), np.uint8)
    high, low = cv2.dilate(tone & ~known, kernel), cv2.erode(tone | known, kernel)
    return _above(np.asarray(cv2.subtract(high, low), np.uint8), _EDGE * PAPER) & ~known


def _above(grey: Luma, least: float) -> Luma:
    return np.asarray(cv2.threshold(grey, least, 255, cv2.THRESH_BINARY)[1], np.uint8)
