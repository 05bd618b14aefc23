"""Fans that lie plainly, read at a glance: all that is dark is a card's print in its place, or the board's own.

Nothing is told of a board on which anything else is dark, not even a little, or lies as if more could lie below it:
that is for a close look. So whatever that would take for print of another card is looked for here, and more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from companion.core.kit import CARD_DICTIONARY, Kit
from vision.cards.card_view import PAPER, without_shade
from vision.cards.fans import Lying, cards_of_marks, on_cards, print_boxes, signs_of
from vision.cards.glance import Glance, board_print, paper_box, without_specks
from vision.cards.marker_fit import fitted_squares
from vision.cards.marker_prints import MarkerPrints
from vision.cards.unexplained_print import grown
from vision.detection.marker_scan import Box
from vision.detection.markers import Luma
from vision.pose.pose import Maps, Points, Pose, flat

_SIDE = 0.2
"""A marker's sides may differ from its size by so much before its rim is looked for."""
_FROM = [np.roll(np.arange(4), turns) for turns in range(4)]
"""A marker's corners, the first one first, by how often its print is turned."""
_EDGE_MM, _EDGE_DARK = 0.8, 0.35
"""So far on either side of a card's edge its line, its shadow, and blur are dark, but not as dark as this, by paper."""
_BESIDE_MM = 2.5
"""So near its edge a card may show a line of the board that lies just beside it; print may show so near beside one."""
_LINE_MM, _LINE_DARK, _ART_DARK = 2.2, 0.46, 0.5
"""Over so much no line of the board is as dark as this, by paper, nor other print of it beside a card, ... Measured: of
lines of the board two pixels in a row at most are as dark as 0.53, a strip of a marker beside one is as dark as 0.44 in
all its length."""
_CROSSING_MM = 3.0
"""... but where lines cross, and that is less than so long."""
_ROUND_PX = 8
"""More than a kernel reaches."""


class PlainFans:
    """Reads the cards of one kit."""

    def __init__(self, kit: Kit) -> None:
        assert kit.deck is not None
        self._kit, self._deck = kit, kit.deck
        self._names = {card.marker: card.name for card in kit.deck.cards}
        self._prints = MarkerPrints(CARD_DICTIONARY, tuple(self._names))
        signs = signs_of(kit.deck)
        boxes = {number: print_boxes(kit.deck, number) for number in set(signs.values())}
        self._places = {name: boxes[number] for name, number in signs.items()}

    def cards(self, glance: Glance, luma: Luma, pose: Pose) -> list[Lying] | None:
        """The cards of which a (height, width) picture shows whole markers; None when a marker is there too often."""
        maps, side = glance.view.maps, self._deck.marker_mm * glance.view.maps.scale
        sides = np.linalg.norm(glance.quads - np.roll(glance.quads, -1, axis=1), axis=2)
        likely = glance.quads[np.abs(sides / side - 1).max(axis=1) <= _SIDE]
        fitted = np.array(fitted_squares(glance.view.even, list(likely), side)).reshape(-1, 4, 2)
        places = maps.to_board(fitted).reshape(-1, 4, 2)
        in_picture = pose.to_px(flat(places, maps.z_mm)).reshape(-1, 4, 2)
        marks: dict[str, list[Points]] = defaultdict(list)
        for number, marker, turns in self._prints.told(luma, list(in_picture), 0.0):
            marks[self._names[marker]].append(places[number][_FROM[turns]])
        cards = cards_of_marks(self._deck, marks)
        found = [card for card in cards.values() if card is not None]
        return found if len(found) == len(cards) else None

    def is_all(self, glance: Glance, fans: Collection[Sequence[Lying]]) -> bool:
        """Is all that the board shows explained by these fans, their cards from the bottom to the top?"""
        if not _are_apart(fans):
            return False
        (rows, columns), paper = _round(paper_box(glance.view.maps, self._kit))
        maps, even = glance.view.maps.part(rows, columns), glance.view.even[rows, columns]
        faces, explained = np.zeros_like(even), np.zeros_like(even)
        cards = [card for fan in fans for card in fan]
        self._explain(explained, maps, cards)
        outlines = list(_px(maps, np.array([card.outline for card in cards])))
        for outline in outlines:
            cv2.fillConvexPoly(faces, outline, 255)
        edges, near = (
            np.asarray(cv2.polylines(np.zeros_like(even), outlines, True, 255, round(2 * mm * maps.scale)), np.uint8)
            for mm in (_EDGE_MM, _BESIDE_MM)
        )
        within = np.asarray(cv2.erode(faces, _square(2 * _BESIDE_MM, maps.scale), borderValue=255), np.uint8)
        board = board_print(glance.view.maps, self._kit)
        board_lines, other, corners = (layer[rows, columns] for layer in (board.lines, board.other, board.corners))
        known = explained | (other & ~faces)
        # With cards all round, the lines of the board lie under them.
        lines = board_lines & ~within
        off_edges = ~(known | edges)
        dark, on_cards = glance.dark[rows, columns] & off_edges, faces | near
        lit = without_shade(even, maps.scale)
        soft = np.asarray(cv2.blur(lit, (round(_LINE_MM * maps.scale),) * 2), np.uint8)
        wide = (_darker(soft, _LINE_DARK) & lines) | (_darker(soft, _ART_DARK) & other & near & ~(faces | lines))
        return not (
            (dark & on_cards & ~lines)[paper].any()
            or (_darker(lit, _EDGE_DARK) & edges & ~(known | lines))[paper].any()
            or without_specks(np.asarray(dark & ~(on_cards | lines), np.uint8), maps.scale)[paper].any()
            or _is_long((wide & ~(explained | (corners & ~faces)))[paper], _CROSSING_MM * maps.scale)
        )

    def _explain(self, explained: Luma, maps: Maps, cards: Sequence[Lying]) -> None:
        """Mark where cards have print: each hides that of those before it."""
        faces = _px(maps, grown(np.array([card.outline for card in cards]), -_EDGE_MM))
        places = on_cards(cards, np.array([self._places[card.name] for card in cards]))
        for face, boxes in zip(faces, _px(maps, places), strict=True):
            cv2.fillConvexPoly(explained, face, 0)
            for box in boxes:
                cv2.fillConvexPoly(explained, box, 255)


def _are_apart(fans: Collection[Sequence[Lying]]) -> bool:
    """Does no card lie on one of another fan, or so near that nobody can tell whose print is whose?"""
    corners = [np.array([card.outline for card in fan]).reshape(-1, 2) for fan in fans]
    low = np.array([places.min(axis=0) for places in corners])
    high = np.array([places.max(axis=0) for places in corners])
    overlap = (low[:, None] < high + _BESIDE_MM).all(axis=2) & (low < high[:, None] + _BESIDE_MM).all(axis=2)
    return bool(overlap.sum() == len(corners))


def _round(box: Box) -> tuple[Box, Box]:
    """Rows and columns of a part of a view with as much round it as what is asked of it depends on, and its own in
    that."""
    rows, columns = (slice(max(0, part.start - _ROUND_PX), part.stop + _ROUND_PX) for part in box)
    own = (slice(p.start - o.start, p.stop - o.start) for p, o in zip(box, (rows, columns), strict=True))
    return (rows, columns), (next(own), next(own))


def _is_long(mask: Luma, least_px: float) -> bool:
    """Is anything in a mask as long as this, across or down?"""
    lengths = ((round(least_px), 1), (1, round(least_px)))
    return any(cv2.erode(mask, np.ones(length, np.uint8), borderValue=0).any() for length in lengths)


def _px(maps: Maps, places: Points) -> NDArray[np.int32]:
    return np.asarray(maps.to_view(places).round(), np.int32).reshape(places.shape)


def _square(size_mm: float, scale: float) -> Luma:
    return np.ones((round(size_mm * scale),) * 2, np.uint8)


def _darker(even: Luma, share: float) -> Luma:
    """Where a view is darker than so much of paper."""
    return np.asarray(cv2.threshold(even, round(share * PAPER - 1), 255, cv2.THRESH_BINARY_INV)[1], np.uint8)
