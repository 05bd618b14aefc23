"""What does not belong into a zone of cards: a hand, a thing, glare; judged by the paper that must be seen there.

The board's own print is thin where it is judged; cards that are read are known. Whatever else has an edge is litter;
bold print that lies on no known card is that of a card which is not read. Cards that lie face down are no litter as
long as nothing lies open in the zone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from companion.core.grid import Square
from companion.core.kit import Board, Deck
from vision.cards.card_view import PAPER, CardView
from vision.cards.fans import UNREAD, Lying, clear_places, on_cards, printed_places, zones_of
from vision.detection.markers import Luma
from vision.pose.pose import Maps, Points, boxes_mm

_SHRINK = 2
_LINE_MM = 8.0
"""Print that is thinner than this is not seen."""
_EDGE = 0.22
"""A change of brightness, by that of paper, within `_EDGE_MM`, that is an edge. Soft shadows change less."""
_EDGE_MM = 2.0
_AREA_MM2 = 25.0
_TOUCH_MM = 3.0
"""So far beyond their outlines cards are let be: blur, shadow, a bent corner."""
_BEYOND_MM = 7.0
"""Of the strip before a zone's outer edge so much is looked at: who reaches in from there is seen."""
_ART_MM = 13.0
"""Half the width of the arrow and other art in the middle of a zone, which is not judged."""
_BACK = 0.45
"""The backs of cards are darker than this, by paper."""
_BACK_MM2 = 150.0
_OUT_MM = 12.0
_INK_MM2 = 5.0
_OUTLINE_MM = 5.0
"""Half the width of what is printed as the outline of a zone, with blur."""
_OFF_MM = 2.5
"""So far beyond outlines it is not looked for: an edge and its shadow may lie beside a line of the board."""


@dataclass(frozen=True, eq=False)
class Occlusion:
    """`littered` zones hold anything but paper and cards; `ink` is (N, 2) mm of print of cards that were not read."""

    littered: set[Square]
    ink: dict[Square, Points]


class CardOcclusion:
    """Judges the zones of one board."""

    def __init__(self, board: Board, deck: Deck) -> None:
        self._board, self._deck = board, deck
        self._zones = zones_of(board, deck)
        self._rectangles, self._insides = (
            np.array([of(zone) for zone in self._zones]) for of in (self._rectangle, self._inside)
        )
        middles = np.array([board.centre_mm(zone) for zone in self._zones])
        corners = np.array([board.corner_centres_mm[marker] for marker in board.corners])
        side = board.corner_mm + 2 * _TOUCH_MM
        self._art = np.vstack([boxes_mm(middles, 2 * _ART_MM, board.depth_mm - 4), boxes_mm(corners, side, side)])

    def judge(self, view: CardView, cards: Sequence[Lying]) -> Occlusion:
        """What the zones hold but paper and known cards."""
        even, bold = (_halved(layer) for layer in (view.even, view.ink.bold))
        return self.judge_half(replace(view, even=even, ink=replace(view.ink, bold=bold)), cards)

    def judge_half(self, view: CardView, cards: Sequence[Lying]) -> Occlusion:
        """The same of a view whose paper and bold print are given at half the scale of its maps."""
        maps, small = view.maps, view.even
        dazzled = view.glare[::_SHRINK, ::_SHRINK] if view.glare.shape != small.shape else view.glare
        scale = maps.scale / _SHRINK
        tone = _without_lines(small, scale)
        art = np.zeros(tone.shape, np.uint8)
        _fill(art, maps, self._art)
        known = _with_cards(art, maps, cards, _TOUCH_MM)
        edges = _edges(tone, known | _beyond(view.shown, tone.shape, scale), scale)
        explained = self._explained(art, maps, cards) if cards else known
        bold = self._print(view.ink.bold, maps) & ~explained
        littered, unread, is_dazzled = set(), {}, bool(dazzled.any())
        with_cards = {self._board.square_at(card.x_mm, card.y_mm) for card in cards}
        for zone, here in zip(self._zones, self._places(self._rectangles, maps), strict=True):
            is_littered = cv2.countNonZero(edges[here]) / scale**2 > _AREA_MM2
            is_printed = cv2.countNonZero(bold[here]) / scale**2 > _INK_MM2
            if zone not in with_cards:
                is_littered = (is_littered or is_printed) and not self._is_face_down(here, maps, edges | bold, tone)
            elif is_printed:
                places = np.argwhere(bold[here])[:, ::-1] + (here[1].start, here[0].start)
                unread[zone] = maps.to_board((places + 0.5) * _SHRINK - 0.5)
            if is_littered or (is_dazzled and np.count_nonzero(dazzled[here]) / scale**2 > _AREA_MM2):
                littered.add(zone)
        return Occlusion(littered, unread)

    # ---- parts ----

    def _print(self, ink: Luma, maps: Maps) -> Luma:
        """255 where in the small view there is bold print within the outlines of zones."""
        bold = np.zeros_like(ink)
        for here in self._places(self._insides, maps):
            bold[here] = ink[here]
        return _above(bold, 127)

    def _explained(self, art: Luma, maps: Maps, cards: Sequence[Lying]) -> Luma:
        """255 where bold print is known: on `art` and close to cards, but on these only where they have print, or an
        edge."""
        mask = _with_cards(art, maps, cards, _OFF_MM)
        read = [card for card in cards if card.name != UNREAD]
        _fill(mask, maps, on_cards(read, clear_places(self._deck)), 0)
        if read:
            mask |= _with_cards(art, maps, [card for card in cards if card.name == UNREAD], _OFF_MM)
        _fill(mask, maps, on_cards(read, printed_places(self._deck)))
        edges = _px(maps, np.array([card.outline for card in read]))
        for edge in edges:  # drawn at once they would not be as wide where they cross
            cv2.polylines(mask, [edge], True, 255, round(2 * _OFF_MM * maps.scale / _SHRINK))
        return mask

    def _rectangle(self, zone: Square) -> Points:
        """(2, 2): the upper left and lower right of what is judged for a zone: half the gaps, and some of the strip
        beyond."""
        board = self._board
        x, y = board.centre_mm(zone)
        side, depth = (board.square_mm + board.gap_mm) / 2, (board.depth_mm + board.gap_mm) / 2
        low = y - depth - (_BEYOND_MM if zone.rank == 0 else 0)
        high = y + depth + (_BEYOND_MM if zone.rank == board.ranks - 1 else 0)
        return np.array([[x - side, high], [x + side, low]])

    def _inside(self, zone: Square) -> Points:
        """The same of a zone within its own outline."""
        x, y = self._board.centre_mm(zone)
        side, depth = self._board.square_mm / 2 - _OUTLINE_MM, self._board.depth_mm / 2 - _OUTLINE_MM
        return np.array([[x - side, y + depth], [x + side, y - depth]])

    @staticmethod
    def _places(rectangles: Points, maps: Maps) -> list[tuple[slice, slice]]:
        """Rows and columns of rectangles (N, 2, 2) in the small view."""
        ends = (maps.to_view(rectangles) / _SHRINK).round().astype(int).clip(0).reshape(-1, 4).tolist()
        return [(slice(row, row_end), slice(column, column_end)) for column, row, column_end, row_end in ends]

    def _is_face_down(self, here: tuple[slice, slice], maps: Maps, edges: Luma, tone: Luma) -> bool:
        """Do all edges of a zone belong to dark cards that lie within it?"""
        row, column = (max(0, part.start - self._out(maps)) for part in here)
        window = (slice(row, here[0].stop + self._out(maps)), slice(column, here[1].stop + self._out(maps)))
        own, dark = np.zeros(edges.shape, np.bool_), tone[window] < _BACK * PAPER
        own[here] = edges[here] > 0
        _, labels, stats, _ = cv2.connectedComponentsWithStats(dark.astype(np.uint8))
        scale, (rows, columns) = maps.scale / _SHRINK, labels.shape
        backs = [
            label
            for label, (x, y, width, height, area) in enumerate(stats)
            if label and min(x, y) > 0 and x + width < columns and y + height < rows and area > _BACK_MM2 * scale**2
        ]
        size = 2 * round((_EDGE_MM + 1) * scale) + 1
        near = cv2.dilate(np.isin(labels, backs).astype(np.uint8), np.ones((size, size), np.uint8))
        return bool((own[window] & (near == 0)).sum() / scale**2 <= _AREA_MM2)

    @staticmethod
    def _out(maps: Maps) -> int:
        """Cards that lie face down may stick out of the zone so far."""
        return round(_OUT_MM * maps.scale / _SHRINK)


def _with_cards(mask: Luma, maps: Maps, cards: Sequence[Lying], touch_mm: float) -> Luma:
    """A small view's mask with cards, and what is that close to them."""
    outlines = np.array([card.outline for card in cards]).reshape(-1, 4, 2)
    middles = outlines.mean(axis=1, keepdims=True)
    out, mask = outlines - middles, mask.copy()
    _fill(mask, maps, middles + out * (1 + 1.5 * touch_mm / np.linalg.norm(out, axis=2, keepdims=True)))
    return mask


def _halved(layer: Luma) -> Luma:
    return np.asarray(cv2.resize(layer, None, fx=1 / _SHRINK, fy=1 / _SHRINK, interpolation=cv2.INTER_AREA), np.uint8)


def _without_lines(small: Luma, scale: float) -> Luma:
    """Noise and all thin dark print taken away."""
    soft = cv2.GaussianBlur(small, (0, 0), 0.5 * scale)
    size = 2 * round(_LINE_MM * scale / 2) + 1
    return np.asarray(cv2.morphologyEx(soft, cv2.MORPH_CLOSE, np.ones((size, size), np.uint8)), np.uint8)


def _beyond(shown: Luma, shape: tuple[int, ...], scale: float) -> Luma:
    """255 where the small view is no part of the picture, or at its edge."""
    if cv2.countNonZero(shown) == shown.size:
        return np.zeros(shape, np.uint8)
    size = 2 * round(_TOUCH_MM * scale) + 1
    small = cv2.resize(shown, shape[::-1], interpolation=cv2.INTER_NEAREST)
    inside = cv2.erode(small, np.ones((size, size), np.uint8), borderValue=255)
    return np.asarray(cv2.bitwise_not(inside), np.uint8)


def _edges(tone: Luma, known: Luma, scale: float) -> Luma:
    """255 where brightness changes at once among what is not known."""
    size = 2 * round(_EDGE_MM * scale / 2) + 1
    kernel = np.ones((size, size), np.uint8)
    high, low = cv2.dilate(tone & ~known, kernel), cv2.erode(tone | known, kernel)
    return _above(np.asarray(cv2.subtract(high, low), np.uint8), _EDGE * PAPER) & ~known


def _above(grey: Luma, least: float) -> Luma:
    """255 where a picture is brighter than this."""
    return np.asarray(cv2.threshold(grey, least, 255, cv2.THRESH_BINARY)[1], np.uint8)


def _fill(mask: NDArray[np.uint8], maps: Maps, places_mm: Points, value: int = 255) -> None:
    """Fill the quadrangles (..., 4, 2) in a small view."""
    for quad in _px(maps, places_mm):
        cv2.fillConvexPoly(mask, quad, value)


def _px(maps: Maps, places_mm: Points) -> NDArray[np.int32]:
    """(N, 4, 2): the pixels of quadrangles in a small view."""
    return np.asarray((maps.to_view(places_mm) / _SHRINK).round(), np.int32).reshape(-1, 4, 2)
