"""Orders open cards into fans: from the places of the cards to their order in a fan.

Pure geometry in board millimetres. A marker that is visible where another card lies proves that its
own card is the upper one. Without such a proof, cards are assumed to lie as fans are laid, away
from the edge of their seat. Where the order is a guess, `X` stands for a card.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import cv2
import numpy as np
from numpy.typing import NDArray

from companion.core.grid import Square
from companion.core.kit import Board, Deck, Layout
from vision.pose.pose import Points, rectangle_corners_mm

UNREAD = "X"
"""Stands for a card that is there and was not read."""
_MAX_APART_MM, _MAX_APART_DEG = 6.0, 12.0
"""Maximum deviation of both markers of a card from their distance and from its direction."""
_MIN_ON_TOP_MM = 5.0
"""Minimum distance in mm by which a marker reaches into the outline of a card beneath it."""
_MAX_STEPS = 1.9
"""Maximum distance between two cards of a fan, in steps. Beyond it, a hidden card may lie between
them.
"""
_MIN_STEP_MM = 8.0
"""Minimum distance in mm along the fan to order two cards without a proof. Twice as much for cards
that lie across each other.
"""


@dataclass(frozen=True, eq=False)
class OpenCard:
    """An open card on the board, derived from its visible markers."""

    name: str
    """Name of the card, or `UNREAD`."""
    x_mm: float
    y_mm: float
    """Its middle on the board."""
    turn: float
    """Its direction in radians, counter-clockwise. A half turn changes nothing."""
    marks: tuple[Points, ...]
    """Its visible markers, (4, 2) each, the upper left corner first."""
    outline: Points
    """(4, 2). For a card that was not read, the outline of its marker."""

    @property
    def middle(self) -> Points:
        """(2,): the middle of its outline."""
        return np.array([self.x_mm, self.y_mm])


def unread_card(mark: Points) -> OpenCard:
    """Return a card of which only a marker (4, 2) that does not decode is visible."""
    x, y = mark.mean(axis=0).tolist()
    return OpenCard(UNREAD, x, y, 0.0, (mark,), mark)


def zones_of(board: Board, deck: Deck) -> tuple[Square, ...]:
    """Return the zones in which fans lie."""
    return tuple(square for square in board.squares if square.rank in deck.zones.values())


# ---- places on cards -----------------------------------------------------------------------------


def on_cards(cards: Sequence[OpenCard], places: Points) -> Points:
    """Return (N, K, 4, 2): places (K, 4, 2) of a straight card at the origin, transformed to each
    card.
    """
    # Rotate by the axes of each card, then move to its middle.
    turns = np.array([card.turn for card in cards])
    middles = np.array([card.middle for card in cards]).reshape(-1, 1, 1, 2)
    right = np.column_stack([np.cos(turns), np.sin(turns)])
    up = np.column_stack([-np.sin(turns), np.cos(turns)])
    axes = np.stack([right, up], axis=1)
    return np.asarray(places @ axes[:, None] + middles)


def marker_places(deck: Deck) -> Points:
    """Return (2, 4, 2): both markers of a straight card at the origin, upper right and lower left.

    The upper left corner of each print comes first.
    """
    x, y = _corner(deck).tolist()
    # The other marker is rotated by half a turn about the middle of the card.
    place = rectangle_corners_mm(x, y, deck.marker_mm, deck.marker_mm, 0.0)
    return np.stack([place, -place])


def _corner(deck: Deck) -> Points:
    """Return (2,): the vector from a card's middle to its upper right marker."""
    reach = deck.marker_mm / 2 + deck.inset_mm
    return np.array([deck.width_mm / 2 - reach, deck.height_mm / 2 - reach])


def cards_of_marks(deck: Deck, marks: Mapping[str, Sequence[Points]]) -> dict[str, OpenCard | None]:
    """Return, by name, the one card that all these markers, (4, 2) mm each, belong to.

    None if they belong to more than one card.
    """
    cards: dict[str, OpenCard | None] = {}
    for name, quads in marks.items():
        # All markers have to agree on one place.
        place = _card_place(deck, quads)
        cards[name] = None
        if place is not None:
            x, y, turn = place
            outline = rectangle_corners_mm(x, y, deck.width_mm, deck.height_mm, turn)
            cards[name] = OpenCard(name, x, y, turn, tuple(quads), outline)
    return cards


_Place = tuple[float, float, float]
"""Position of a card: its middle in mm, and its direction in radians."""


def _card_place(deck: Deck, quads: Sequence[Points]) -> _Place | None:
    """Return the position of the card that all these markers belong to. None if there is more than
    one.
    """
    if len(quads) > 2:
        return None
    corner = _corner(deck)
    place = _place_by_marker(corner, quads[0])
    if len(quads) == 1:
        return place
    # The line between both markers gives the direction more precisely than either of them.
    one, other = quads[0].mean(axis=0), quads[1].mean(axis=0)
    across, along = (one - other).tolist()
    turn = math.atan2(along, across) - math.atan2(corner[1], corner[0])
    off_mm = math.hypot(across, along) - 2 * math.hypot(*corner)
    bend = math.remainder(place[2] - turn, 2 * math.pi)
    if abs(off_mm) > _MAX_APART_MM or abs(bend) > math.radians(_MAX_APART_DEG):
        return None
    return *((one + other) / 2).tolist(), turn


def _place_by_marker(corner: Points, quad: Points) -> _Place:
    """Return the position of a card from the marker in its upper right corner."""
    # The directions of the print, each summed over two opposite edges.
    up = quad[0] - quad[3] + quad[1] - quad[2]
    right = quad[1] - quad[0] + quad[2] - quad[3]
    # `right`, rotated by a quarter turn, is a second measurement of `up`.
    turn = math.atan2(right[1] - up[0], up[1] + right[0])
    # From the marker back to the middle of the card.
    sine, cosine = math.sin(turn), math.cos(turn)
    x, y = quad.mean(axis=0)
    return (
        float(x - cosine * corner[0] + sine * corner[1]),
        float(y - sine * corner[0] - cosine * corner[1]),
        turn,
    )


# ---- the order of a fan --------------------------------------------------------------------------


def fan_order(cards: Sequence[OpenCard], seat_up: float, deck: Deck) -> tuple[str, ...]:
    """Return the names of a zone's open cards from the bottom to the top.

    `UNREAD` stands for every card whose place is a guess. If all were read, it also stands between
    overlapping cards that are so far apart that a hidden card may lie there. `seat_up` is 1 if fans
    grow towards +y, -1 towards -y.
    """
    guess = (UNREAD,) * len(cards)
    if len(cards) < 2:
        return tuple(card.name for card in cards)

    # Which card lies above which, as far as that is proved.
    above = _closure(_proofs(cards))
    if above.diagonal().any():
        return guess

    # The rest is ordered as a fan is laid.
    along = _distances(cards, seat_up, deck)
    names = [card.name for card in cards]
    is_read = UNREAD not in names
    # Whether the card of the row lies lower than that of the column.
    before = above.T.copy()
    for i, j in combinations(range(len(cards)), 2):
        if above[i, j] or above[j, i]:
            continue
        before[i, j] = along[i] < along[j]
        before[j, i] = not before[i, j]
        # Too near to each other, or across each other: either may be the upper one.
        bend = abs(math.sin(cards[i].turn - cards[j].turn))
        if abs(along[i] - along[j]) < _MIN_STEP_MM * (1 + bend):
            names[i] = names[j] = UNREAD

    # The position of a card is the number of cards below it.
    order = sorted(range(len(cards)), key=lambda i: int(before[:, i].sum()))
    if any(not before[lower, upper] for lower, upper in combinations(order, 2)):
        return guess

    # From the bottom to the top, with a place for cards that may be hidden.
    fan = [names[order[0]]]
    for lower, upper in pairwise(order):
        is_wide = abs(along[upper] - along[lower]) > _MAX_STEPS * deck.step_mm
        if is_read and is_wide and _touch(cards[lower], cards[upper]):
            fan.append(UNREAD)
        fan.append(names[upper])
    return tuple(fan)


def _proofs(cards: Sequence[OpenCard]) -> NDArray[np.bool_]:
    """Return (N, N): whether the card of the row is proved to lie on the card of the column."""
    proofs = np.zeros((len(cards),) * 2, np.bool_)
    for i, upper in enumerate(cards):
        for j, lower in enumerate(cards):
            if i != j and lower.name != UNREAD:
                proofs[i, j] = any(_reaches_into(mark, lower.outline) for mark in upper.marks)
    return proofs


def _reaches_into(mark: Points, outline: Points) -> bool:
    """Return whether a corner of a marker lies well within an outline."""
    polygon = outline.astype(np.float32)
    return any(
        cv2.pointPolygonTest(polygon, corner, True) >= _MIN_ON_TOP_MM for corner in mark.tolist()
    )


def _closure(proofs: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the transitive closure of the proofs."""
    above = proofs.copy()
    for middle in range(len(above)):
        # Warshall: a card above `middle` is above all that `middle` is above.
        above |= np.outer(above[:, middle], above[middle])
    return above


def _distances(cards: Sequence[OpenCard], seat_up: float, deck: Deck) -> list[float]:
    """Return the distance of the middle of each card from its seat."""
    # Of a card that was not read, the marker next to its seat is in sight.
    reach = float(_corner(deck)[1])
    return [card.y_mm * seat_up + (reach if card.name == UNREAD else 0) for card in cards]


def _touch(one: OpenCard, other: OpenCard) -> bool:
    outlines = one.outline.astype(np.float32), other.outline.astype(np.float32)
    return cv2.intersectConvexConvex(*outlines)[0] > 0


# ---- several pictures ----------------------------------------------------------------------------


def agreed_fans(
    pictures: Sequence[Layout], unknown: Collection[Square]
) -> tuple[dict[Square, tuple[str, ...]], set[Square]]:
    """Return the fans on which several pictures of a still table agree, and the zones in which they
    differ.

    A card that was read in one picture replaces `X` in the others.
    """
    fans: dict[Square, tuple[str, ...]] = {}
    torn = set()
    for zone in set().union(*pictures) - set(unknown):
        fan = _agreed_fan([picture.get(zone, ()) for picture in pictures])
        if fan is None:
            torn.add(zone)
        else:
            fans[zone] = fan
    return fans, torn


def _agreed_fan(readings: Sequence[Sequence[str]]) -> tuple[str, ...] | None:
    """Return the fan on which all readings of a zone agree. None if they differ."""
    if len({len(reading) for reading in readings}) > 1:
        return None
    fan, named = [], list[str]()
    for names in zip(*readings, strict=True):
        # The names that were read in this place.
        read = set(names) - {UNREAD}
        if len(read) > 1:
            return None
        named += read
        fan.append(next(iter(read), UNREAD))
    return tuple(fan) if len(set(named)) == len(named) else None
