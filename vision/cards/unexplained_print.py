"""Print that no card read explains: it is that of a card of which no marker was read.

A card shows its print in known places. What shows anywhere else on its face, or beside all cards where the board itself
has no bold print, lies on another card, or is another card's. A fan says which card is the upper one, so that a place
under another card explains nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from companion.core.kit import Board, Deck, Seat
from vision.cards.card_view import PAPER, CardView, without_shade
from vision.cards.fans import UNREAD, Lying, on_cards, print_boxes, signs_of
from vision.detection.markers import Luma
from vision.pose.pose import Maps, Points

Mask = NDArray[np.uint8]
"""255 where something is."""

_SPECK_MM2 = 1.0
"""Less in one place is no print."""
_LONG_MM, _NARROW_MM, _THIN_MM = 20.0, 4.0, 1.2
"""What is longer and narrower is a line, and so is what is thinner."""
_SLIVER_MM = 0.6
"""On a card that is so narrow, between the middles of its pixels, it is the edge of something beside it."""
_STROKE_MM = 1.5
"""Beside cards what is thinner is a line of the board that lies elsewhere, for lack of corners, or an edge."""
_BLACK_LINE_MM, _BLACK_STROKE_MM = 1.1, 1.4
"""These outlines may be as black as print in places, so near to where they are, but not as wide as this."""
_AT_LINE_MM, _OFF_LINE_MM = 3.0, 1.5
"""And what lies so close to the lines at the ends of zones, or reaches so little beyond those of the board."""
_EDGE_MM = 0.8
"""So far on either side of a card's edge its line, its shadow, and blur may look like print; ..."""
_EDGE_BESIDE_MM = 1.2
"""... and on the board, where an edge may lie beside a line."""
_CLOSE_MM, _BLACK_MM = 0.5, 0.35
"""Nothing but print is so black so far from an edge, and wider than a single pixel."""
_INK, _INK_SHARE = 0.2, 0.25
"""So dark is this share of print of which no more than a sliver is seen; edges and their shadows are not."""
_STRIP_MM, _SOFT_MM, _SOFT, _SOFT_INK = 1.5, 1.85, 0.6, 0.515
"""A strip of a marker reaches so far from the edge that hides the rest; over so much it is darker than this, and a
quarter of it than that; ..."""
_STRIP_LONG_MM, _STRIP_WIDE_MM, _STRIP_MM2, _STRIP_FULL = (7.0, 15.5), 1.4, 12.0, 0.72
"""... it is not longer than a marker, as wide and large, and a rectangle. Edges are paler and longer."""
_ON_LINE_MM, _ON_LINE, _ON_LINE_LONG_MM = 2.2, 0.3, 6.0
"""Over so much no line of the board, and no edge of a card beside one, is as dark as this, over such a length."""
_BESIDE_MM = 2.5
"""So near to a card of another fan the value and the suit of a card explain no strip."""
_CORNER_MM = 0.6
"""A corner marker of the board may reach so far beyond its place."""
_UNREAD_MM = 3.0
"""A card that was not read has its print so far round what was seen of it."""
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
_TICK_MM = 6.0
"""Length of the lines that show the steps of a fan; its number stands beside."""
_ARROW_MM = 10.0
"""Half the width of the arrow in the middle of a zone."""


@dataclass(frozen=True)
class Above:
    """The names of the cards that lie above one, as far as is known: those of its `own` fan and of `other` ones; and of
    those that may: all of the fans that lie on any card of its fan."""

    own: frozenset[str] = frozenset()
    other: frozenset[str] = frozenset()
    maybe: frozenset[str] = frozenset()


def unexplained(
    view: CardView, kit: tuple[Board, Deck], cards: Sequence[Lying], upper: Mapping[str, Above]
) -> Iterator[Points]:
    """(N, 2) mm: each piece of print that belongs to none of the `cards`.

    All of the dark print of the `view` counts on cards and off the lines of the board, bold one on lines, black one
    also beside the edges of cards, and what is a strip of a marker wherever else. `upper` says what lies above each
    card.
    """
    board, deck = kit
    ink, maps = view.ink, view.maps
    shape, scale = ink.fine.shape, maps.scale
    read, faces = [card for card in cards if card.name != UNREAD], np.zeros(shape, np.uint8)
    explained, surely = _print_of(maps, shape, deck, cards, upper)
    corners = list(_px(maps, np.array([card.outline for card in read]).reshape(-1, 2)).reshape(-1, 4, 2))
    for outline in corners:
        cv2.fillConvexPoly(faces, outline, 255)

    def along_edges(reach_mm: float) -> Mask:
        return np.asarray(cv2.polylines(np.zeros(shape, np.uint8), corners, True, 255, round(2 * reach_mm * scale)))

    beyond, sides = ~paper_place(maps, shape, board), sides_of_zones(maps, shape, board)
    outside = beyond | own_print(maps, shape, board, deck)
    lit = without_shade(view.even, scale)
    black = ink.black & ~(explained | faces | outside | along_edges(_CLOSE_MM))
    at_outline = lines_of(maps, shape, kit, _BLACK_LINE_MM)
    yield from _wide(black & ~at_outline, maps, _BLACK_MM)
    yield from _wide(black & at_outline, maps, _BLACK_STROKE_MM)
    at_sides = (at_outline | sides) & ~(explained | faces | outside | corner_places(maps, shape, board, _ON_LINE_MM))
    yield from _on_lines(lit, maps, at_sides)
    covered = explained | along_edges(_EDGE_MM) | beyond
    off = covered | faces | outside
    lines = lines_of(maps, shape, kit, _LINE_MM)
    at_line = along_edges(_NEAR_EDGE_MM) & lines
    yield from _wide(ink.fine & faces & ~(covered | at_line), maps, _SLIVER_MM)
    off_faces = (outside | lines | sides) & ~faces
    edges = along_edges(_EDGE_BESIDE_MM)
    slivers = _wide(ink.inked & edges & ~(explained | at_line | off_faces), maps, _BLACK_MM)
    yield from (places for places in slivers if _is_dark(lit, maps, places, _INK))
    reach = 2 * round(_NEAR_EDGE_MM * scale) + 1
    inside = cv2.erode(faces, cv2.getStructuringElement(cv2.MORPH_RECT, (reach, reach)), borderValue=255)
    at_rim = at_line & ~np.asarray(inside, np.uint8)  # with cards all round, the lines of the board lie under them
    yield from _strips(lit, maps, along_edges(_STRIP_MM) & ~(surely | at_rim | off_faces))
    off |= at_line | edges | sides
    yield from _wide(ink.fine & ~(off | lines), maps, _STROKE_MM)
    yield from (places for places in _blobs(ink.bold & ~off, maps) if not _is_line(places, board))


def _print_of(
    maps: Maps, shape: tuple[int, ...], deck: Deck, cards: Sequence[Lying], upper: Mapping[str, Above]
) -> tuple[Mask, Mask]:
    """Where the cards have print that shows, and where that is sure: what may lie under another card is not."""
    read = [card for card in cards if card.name != UNREAD]
    outlines, signs, explained = {card.name: card.outline for card in read}, signs_of(deck), np.zeros(shape, np.uint8)
    for card in cards:
        if card.name == UNREAD:
            cv2.fillConvexPoly(explained, _px(maps, grown(card.outline, _UNREAD_MM)), 255)
    surely, shrunk = explained.copy(), {name: grown(outline, -_EDGE_MM) for name, outline in outlines.items()}
    for card in read:
        above, boxes = upper.get(card.name, Above()), on_cards([card], print_boxes(deck, signs[card.name]))[0]
        hidden = [shrunk[name] for name in (*above.own, *above.other) if name in shrunk]
        if above.maybe:
            unsure = [grown(outlines[name], _BESIDE_MM) for name in above.maybe]
            _explain((explained,), maps, boxes, hidden)
            _explain((surely,), maps, boxes[:2], hidden)
            _explain((surely,), maps, boxes[2:], [*hidden, *unsure])
        else:
            _explain((explained, surely), maps, boxes, hidden)
    return explained, surely


def _strips(lit: Luma, maps: Maps, where: Mask) -> Iterator[Points]:
    """(N, 2) mm: what has the shape and the blackness of a marker's side, be it blurred and partly hidden."""
    soft = np.asarray(cv2.blur(lit, (round(_SOFT_MM * maps.scale),) * 2), np.uint8)
    dark = _darker(soft, _SOFT)
    for places in _blobs(dark & where, maps):
        short, long = sorted(cv2.minAreaRect(places.astype(np.float32))[1])
        area = len(places) / maps.scale**2
        is_strip = short >= _STRIP_WIDE_MM and area >= max(_STRIP_MM2, _STRIP_FULL * short * long)
        if is_strip and _STRIP_LONG_MM[0] <= long <= _STRIP_LONG_MM[1] and _is_dark(soft, maps, places, _SOFT_INK):
            yield places


def _on_lines(lit: Luma, maps: Maps, where: Mask) -> Iterator[Points]:
    """(N, 2) mm: what of a marker lies on lines of the board, be it as narrow as its rim."""
    soft = np.asarray(cv2.blur(lit, (round(_ON_LINE_MM * maps.scale),) * 2), np.uint8)
    for places in _blobs(_darker(soft, _ON_LINE) & where, maps):
        if max(cv2.minAreaRect(places.astype(np.float32))[1]) >= _ON_LINE_LONG_MM:
            yield places


def _wide(mask: Mask, maps: Maps, least_mm: float) -> Iterator[Points]:
    """(N, 2) mm: the blobs of the view that are not narrower than this, between the middles of their pixels."""
    return (places for places in _blobs(mask, maps) if _narrow_mm(places) >= least_mm)


def _blobs(mask: Mask, maps: Maps) -> Iterator[Points]:
    """(N, 2) mm: the pixels of each blob of the view that is no speck."""
    least = _SPECK_MM2 * maps.scale**2
    contours, tree = cv2.findContours(mask, cv2.RETR_CCOMP, cv2.CHAIN_APPROX_SIMPLE)
    for number, contour in enumerate(contours):
        x, y, width, height = cv2.boundingRect(contour)
        if tree[0][number][3] >= 0 or width * height < least:  # a hole, or a speck
            continue
        filled = np.zeros((height, width), np.uint8)
        cv2.drawContours(filled, [contour], 0, 255, cv2.FILLED, offset=(-x, -y))
        places = np.argwhere(filled & mask[y : y + height, x : x + width])[:, ::-1] + (x, y)
        if len(places) >= least:
            yield maps.to_board(places.astype(np.float64))


def _is_dark(tone: Luma, maps: Maps, places: Points, limit: float) -> bool:
    """Is enough of these places as dark as this, by paper?"""
    x, y = maps.to_view(places).round().astype(int).T
    return float(np.quantile(tone[y, x], _INK_SHARE)) <= limit * PAPER


def _darker(tone: Luma, share: float) -> Mask:
    """Where it is darker than so much of paper."""
    return np.asarray((tone < share * PAPER) * np.uint8(255), np.uint8)


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


def lines_of(maps: Maps, shape: tuple[int, ...], kit: tuple[Board, Deck], reach_mm: float) -> Mask:
    """The outlines of zones, and those of the first card of each, so far on either side."""
    board, deck = kit
    boxes = []
    for square in board.squares:
        x, y = board.centre_mm(square)
        away = -1.0 if deck.zones.get(Seat.NORTH) == square.rank else 1.0
        first = y - away * (board.depth_mm - deck.height_mm) / 2
        for up, wide, deep in ((y, board.square_mm, board.depth_mm), (first, deck.width_mm, deck.height_mm)):
            thick = 2 * reach_mm
            boxes += [(x + side * wide / 2, up, thick, deep + thick) for side in (-1, 1)]
            boxes += [(x, up + side * deep / 2, wide + thick, thick) for side in (-1, 1)]
    return _filled(maps, shape, boxes)


def paper_mm(board: Board) -> Points:
    """(2, 2) mm: the corners, low and high, of the board's own paper, its edges left out: print is judged on that."""
    beyond = np.array([_RIM_MM, board.strip_mm - _RIM_MM])
    return np.stack([-beyond, beyond + np.array([board.width_mm, board.height_mm])])


def paper_place(maps: Maps, shape: tuple[int, ...], board: Board) -> Mask:
    """Where that lies in a view."""
    (left, bottom), (right, top) = maps.to_view(paper_mm(board)).round().astype(int).clip(0)
    mask = np.zeros(shape, np.uint8)
    mask[top:bottom, left:right] = 255
    return mask


def _explain(masks: Sequence[Mask], maps: Maps, boxes: Sequence[Points], hiding: Sequence[Points]) -> None:
    """Mark the places of a card's print but where others hide them."""
    corners = _px(maps, np.vstack(boxes))
    x, y, width, height = cv2.boundingRect(corners)
    left, top = max(0, x), max(0, y)
    rows, columns = slice(top, max(top, y + height)), slice(left, max(left, x + width))
    part = np.zeros(masks[0][rows, columns].shape, np.uint8)
    if not part.size:
        return
    for quad in corners.reshape(-1, 4, 2) - (left, top):
        cv2.fillConvexPoly(part, quad, 255)
    for outline in _px(maps, np.vstack(hiding)).reshape(-1, 4, 2) - (left, top) if hiding else ():
        cv2.fillConvexPoly(part, outline, 0)
    for mask in masks:
        mask[rows, columns] |= part


def sides_of_zones(maps: Maps, shape: tuple[int, ...], board: Board) -> Mask:
    """Where lines run side by side, along the sides of zones."""
    wide, deep = 2 * _LINE_MM + board.gap_mm, board.depth_mm + board.gap_mm
    aside = (board.square_mm + board.gap_mm) / 2
    middles = [board.centre_mm(square) for square in board.squares]
    return _filled(maps, shape, [(x + side * aside, y, wide, deep) for x, y in middles for side in (-1, 1)])


def own_print(maps: Maps, shape: tuple[int, ...], board: Board, deck: Deck) -> Mask:
    """Where the board itself has print beside its lines: sign and words on the place of the first card, the arrow
    beyond it, each step of a fan with its number; numbers and names in the strips, corner markers."""
    card, middle, long = deck.width_mm / 2, deck.height_mm / 2, board.depth_mm - deck.height_mm
    parts = [(0.0, middle - 10.0, 2 * card, 14.0), (0.0, middle + 7.0, 2 * _ARROW_MM, 20.0)]
    parts.append((0.0, deck.height_mm + long / 2, 2 * _ARROW_MM, long))
    parts.append((0.0, -board.strip_mm / 2, 2 * _LABEL_MM, board.strip_mm))
    for top in np.arange(deck.height_mm + deck.step_mm, board.depth_mm, deck.step_mm):
        parts += [(side * (card - _TICK_MM / 2), top, _TICK_MM + 2, 2.0) for side in (-1, 1)]
        parts.append((_TICK_MM + 4 - card, top - deck.step_mm / 2, 8.0, 7.0))
    boxes = []
    for square in board.squares:
        x, y = board.centre_mm(square)
        away = -1.0 if deck.zones.get(Seat.NORTH) == square.rank else 1.0
        edge = y - away * board.depth_mm / 2
        boxes += [(x + away * across, edge + away * up, wide, deep) for across, up, wide, deep in parts]
    for beyond in (-board.strip_mm / 2, board.height_mm + board.strip_mm / 2):
        boxes.append((board.width_mm / 2, beyond, 2 * _SEAT_MM, board.strip_mm / 2))
    return _filled(maps, shape, boxes) | corner_places(maps, shape, board, _CORNER_MM)


def corner_places(maps: Maps, shape: tuple[int, ...], board: Board, beyond_mm: float) -> Mask:
    """Where the board's corner markers are, and so far beyond their edges."""
    wide = board.corner_mm + 2 * beyond_mm
    return _filled(maps, shape, [(*board.corner_centres_mm[marker], wide, wide) for marker in board.corners])


def _filled(maps: Maps, shape: tuple[int, ...], boxes: Sequence[tuple[float, float, float, float]]) -> Mask:
    """Rectangles, each by its middle, width and depth in mm."""
    mask = np.zeros(shape, np.uint8)
    x, y, width, depth = np.array(boxes).T
    ends = np.stack([np.column_stack([x - width / 2, y + depth / 2]), np.column_stack([x + width / 2, y - depth / 2])])
    for start, end in zip(*_px(maps, ends.reshape(-1, 2)).reshape(2, -1, 2).tolist(), strict=True):
        cv2.rectangle(mask, start, end, 255, cv2.FILLED)
    return mask


def grown(outline: Points, by_mm: float) -> Points:
    """Outlines (..., 4, 2), their corners moved outwards along the diagonals, so that the sides move by so much."""
    middle = outline.mean(axis=-2, keepdims=True)
    out = outline - middle
    return np.asarray(
        middle + out + np.sign(by_mm) * out / np.linalg.norm(out, axis=-1, keepdims=True) * 1.4 * abs(by_mm)
    )


def _px(maps: Maps, points_mm: Points) -> NDArray[np.int32]:
    return np.asarray(maps.to_view(points_mm).round(), np.int32)
