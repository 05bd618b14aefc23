"""Print that no card read explains: it is that of a card of which no marker was read.

A card shows its print in known places. What shows anywhere else on its face, or beside all cards where the board itself
has no bold print, lies on another card, or is another card's. A fan says which card is the upper one, so that a place
under another card explains nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from companion.core.kit import Board, Deck, Seat
from vision.cards.fans import UNREAD, Lying, print_boxes
from vision.pose.pose import Maps, Points, rectangle_corners_mm

Mask = NDArray[np.bool_]

_SPECK_MM2 = 1.0
"""Less in one place is no print."""
_LONG_MM, _NARROW_MM, _THIN_MM = 20.0, 4.0, 1.2
"""What is longer and narrower is a line, and so is what is thinner."""
_SLIVER_MM = 0.6
"""On a card that is so narrow, between the middles of its pixels, it is the edge of something beside it."""
_AT_LINE_MM, _OFF_LINE_MM = 3.0, 1.0
"""And what lies so close to the lines at the ends of zones, or reaches so little beyond those of the board."""
_EDGE_MM = 0.8
"""So far on either side of a card's edge its line, its shadow, and blur may look like print; ..."""
_EDGE_BESIDE_MM = 1.2
"""... and on the board, where an edge may lie beside a line."""
_UNREAD_MM = 3.0
"""A card that was not read has its print so far round what was seen of it, ..."""
_REACH_MM = 16.0
"""... and the rest of it may lie so far from a marker of which only a part was seen."""
_RIM_MM = 5.0
"""The paper of the board reaches farther beyond its zones at the sides, and nearly as far as the strips at the ends."""
_LINE_MM = 1.8
"""Half the width of a line, with blur."""
_NEAR_EDGE_MM = 2.5
"""So near its edge a card may show a line of the board that lies just beside it."""
_LABEL_MM = 8.0
"""Half the width of the number of a lane, which stands beyond its end, ..."""
_SEAT_MM = 18.0
"""... and of the name of a seat in the middle."""
_ARROW_MM = 10.0
"""Half the width of the arrow in the middle of a zone."""


def unexplained(
    ink: tuple[Mask, Mask], maps: Maps, kit: tuple[Board, Deck], cards: Sequence[Lying], upper: Mapping[str, set[str]]
) -> Iterator[Points]:
    """(N, 2) mm: each piece of print that belongs to none of the `cards`.

    `ink` are two masks of the view of `maps`: all dark print, which counts on cards, and the bold one alone, which
    counts on the board. `upper` names the cards that lie above each one, as far as that is known.
    """
    board, deck = kit
    fine, bold = ink
    faces, explained = (np.zeros(fine.shape, np.uint8) for _ in range(2))
    edges = np.zeros(fine.shape, np.uint8)
    outlines = {card.name: card.outline for card in cards if card.name != UNREAD}
    for card in cards:
        if card.name == UNREAD:
            cv2.fillConvexPoly(explained, _px(maps, _grown(card.outline, _UNREAD_MM)), 255)
            continue
        cv2.fillConvexPoly(faces, _px(maps, card.outline), 255)
        cv2.polylines(edges, [_px(maps, card.outline)], True, 255, round(2 * _EDGE_BESIDE_MM * maps.scale))
        hiding = [outlines[name] for name in upper.get(card.name, ()) if name in outlines]
        _explain(explained, maps, print_boxes(deck, card), hiding)
    for card in cards:
        if card.name != UNREAD:
            cv2.polylines(explained, [_px(maps, card.outline)], True, 255, round(2 * _EDGE_MM * maps.scale))
    on_card = faces > 0
    near = np.zeros(fine.shape, np.uint8)
    for outline in outlines.values():
        cv2.polylines(near, [_px(maps, outline)], True, 255, round(2 * _NEAR_EDGE_MM * maps.scale))
    lines = _lines(maps, fine.shape, board, deck)
    explained |= near & lines
    beside = ~on_card & (edges == 0) & (_own_print(maps, fine.shape, board) == 0)
    strange = (explained == 0) & _paper(maps, fine.shape, board)
    for places in _blobs(strange & fine & on_card, maps):
        if _narrow_mm(places) >= _SLIVER_MM:
            yield places
    for places in _blobs(strange & bold & beside, maps):
        if not _is_line(places, board):
            yield places


def _blobs(mask: Mask, maps: Maps) -> Iterator[Points]:
    """(N, 2) mm: the pixels of each blob of the view that is no speck."""
    count, labels, stats, _ = cv2.connectedComponentsWithStats(mask.astype(np.uint8))
    for label in range(1, count):
        x, y, width, height, area = stats[label]
        if area / maps.scale**2 >= _SPECK_MM2:
            places = np.argwhere(labels[y : y + height, x : x + width] == label)[:, ::-1] + (x, y)
            yield maps.to_board(places.astype(np.float64))


def _narrow_mm(places: Points) -> float:
    return float(min(cv2.minAreaRect(places.astype(np.float32))[1]))


def _is_line(places: Points, board: Board) -> bool:
    """Is it no more than lines of the board, or a line and the edge of a card, that run together?"""
    short, long = sorted(cv2.minAreaRect(places.astype(np.float32))[1])
    if short < (_NARROW_MM if long > _LONG_MM else _THIN_MM):
        return True
    # At the ends of the board there are lines at the edge of zones and within, in the middle on both sides.
    middles = (board.depth_mm + board.gap_mm) * np.arange(1, board.ranks) - board.gap_mm / 2
    low, high = places[:, 1].min(), places[:, 1].max()
    is_between = (np.abs(middles - low) < _AT_LINE_MM) & (np.abs(middles - high) < _AT_LINE_MM)
    is_at_south = low > -_OFF_LINE_MM and high < _AT_LINE_MM
    is_at_north = high < board.height_mm + _OFF_LINE_MM and low > board.height_mm - _AT_LINE_MM
    return bool(is_at_south or is_at_north or is_between.any())


def _lines(maps: Maps, shape: tuple[int, ...], board: Board, deck: Deck) -> NDArray[np.uint8]:
    """The outlines of zones, and those of the first card of each."""
    mask = np.zeros(shape, np.uint8)
    thick = round(2 * _LINE_MM * maps.scale)
    for square in board.squares:
        x, y = board.centre_mm(square)
        away = -1.0 if deck.zones.get(Seat.NORTH) == square.rank else 1.0
        first = y - away * (board.depth_mm - deck.height_mm) / 2
        for place in ((x, y, board.square_mm, board.depth_mm), (x, first, deck.width_mm, deck.height_mm)):
            cv2.polylines(mask, [_px(maps, rectangle_corners_mm(*place, 0.0))], True, 255, thick)
    return mask


def _paper(maps: Maps, shape: tuple[int, ...], board: Board) -> Mask:
    """Where the board's own paper lies, its edges left out."""
    low, high = -_RIM_MM, board.width_mm + _RIM_MM
    below, above = _RIM_MM - board.strip_mm, board.height_mm + board.strip_mm - _RIM_MM
    (left, top), (right, bottom) = maps.to_view(np.array([[low, above], [high, below]])).round().astype(int).clip(0)
    mask = np.zeros(shape, np.bool_)
    mask[top:bottom, left:right] = True
    return mask


def _explain(explained: NDArray[np.uint8], maps: Maps, boxes: Sequence[Points], hiding: Sequence[Points]) -> None:
    """Mark the places of a card's print but where the cards above hide them."""
    quads = [_px(maps, box) for box in boxes]
    x, y, width, height = cv2.boundingRect(np.vstack(quads))
    left, top = max(0, x), max(0, y)
    rows, columns = slice(top, max(top, y + height)), slice(left, max(left, x + width))
    part = np.zeros(explained[rows, columns].shape, np.uint8)
    if not part.size:
        return
    for quad in quads:
        cv2.fillConvexPoly(part, quad - (left, top), 255)
    for outline in hiding:
        cv2.fillConvexPoly(part, _px(maps, _grown(outline, -_EDGE_MM)) - (left, top), 0)
    explained[rows, columns] |= part


def _own_print(maps: Maps, shape: tuple[int, ...], board: Board) -> NDArray[np.uint8]:
    """Where the board itself has bold print: sides of zones, arrows, numbers, corner markers."""
    mask = np.zeros(shape, np.uint8)
    for square in board.squares:
        x, y = board.centre_mm(square)
        for side in (-1, 1):
            edge = x + side * (board.square_mm + board.gap_mm) / 2
            line = rectangle_corners_mm(edge, y, 2 * _LINE_MM + board.gap_mm, board.depth_mm + board.gap_mm, 0.0)
            cv2.fillConvexPoly(mask, _px(maps, line), 255)
        arrow = rectangle_corners_mm(x, y, 2 * _ARROW_MM, board.depth_mm, 0.0)
        cv2.fillConvexPoly(mask, _px(maps, arrow), 255)
        for beyond in (-board.strip_mm / 2, board.height_mm + board.strip_mm / 2):
            label = rectangle_corners_mm(x, beyond, 2 * _LABEL_MM, board.strip_mm, 0.0)
            cv2.fillConvexPoly(mask, _px(maps, label), 255)
    for beyond in (-board.strip_mm / 2, board.height_mm + board.strip_mm / 2):
        name = rectangle_corners_mm(board.width_mm / 2, beyond, 2 * _SEAT_MM, board.strip_mm / 2, 0.0)
        cv2.fillConvexPoly(mask, _px(maps, name), 255)
    for marker in board.corners:
        wide = board.corner_mm + 2 * _UNREAD_MM
        corner = rectangle_corners_mm(*board.corner_centres_mm[marker], wide, wide, 0.0)
        cv2.fillConvexPoly(mask, _px(maps, corner), 255)
    return mask


def _grown(outline: Points, by_mm: float) -> Points:
    """An outline with its corners moved outwards along the diagonals, so that its sides move by so much."""
    middle = outline.mean(axis=0)
    out = outline - middle
    return np.asarray(
        middle + out + np.sign(by_mm) * out / np.linalg.norm(out, axis=1, keepdims=True) * 1.4 * abs(by_mm)
    )


def _px(maps: Maps, points_mm: Points) -> NDArray[np.int32]:
    return np.asarray(maps.to_view(points_mm).round(), np.int32)
