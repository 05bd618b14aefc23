"""How open cards lie on each other: from where they were seen to the order of a fan.

Pure geometry in board millimetres. A marker that is seen where another card lies proves that its
own card is the upper one. Cards that prove nothing about each other lie as a fan is laid, away from
the edge of its seat. Where the order is a guess, `X` stands for a card.
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
_SAME_MM, _SAME_DEG = 6.0, 12.0
"""How far both markers of a card may disagree about its middle and direction."""
_ON_TOP_MM = 5.0
"""How far a marker reaches into the outline of a card on which it lies, at least."""
_APART_MM = 8.0
"""Distance along the fan from which on two cards that prove nothing can be told apart."""


@dataclass(frozen=True, eq=False)
class OpenCard:
    """An open card on the board, by the markers of it that are seen."""

    name: str
    """`UNREAD` for one that was not read."""
    x_mm: float
    y_mm: float
    """Its middle on the board."""
    turn: float
    """Its direction in radians, counter-clockwise. A half turn changes nothing."""
    marks: tuple[Points, ...]
    """(4, 2) each, the upper left corner first."""
    outline: Points
    """(4, 2). Of a card that was not read it is that of the marker."""

    @property
    def middle(self) -> Points:
        """(2,): the middle of its outline."""
        return np.array([self.x_mm, self.y_mm])


def unread_card(mark: Points) -> OpenCard:
    """Return a card of which only a marker (4, 2) that does not decode is seen."""
    x, y = mark.mean(axis=0).tolist()
    return OpenCard(UNREAD, x, y, 0.0, (mark,), mark)


def zones_of(board: Board, deck: Deck) -> tuple[Square, ...]:
    """Return the zones in which fans lie."""
    return tuple(square for square in board.squares if square.rank in deck.zones.values())


# ---- places on cards -----------------------------------------------------------------------------


def on_cards(cards: Sequence[OpenCard], places: Points) -> Points:
    """Return (N, K, 4, 2): where places (K, 4, 2) of a straight card at the origin lie on each."""
    # The axes of each card on the board, and places in these.
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
    # The other marker is the same, turned by half a turn.
    place = rectangle_corners_mm(x, y, deck.marker_mm, deck.marker_mm, 0.0)
    return np.stack([place, -place])


def _corner(deck: Deck) -> Points:
    """Return (2,): the way from a card's middle to that of the marker in its upper right."""
    reach = deck.marker_mm / 2 + deck.inset_mm
    return np.array([deck.width_mm / 2 - reach, deck.height_mm / 2 - reach])


def cards_of_marks(deck: Deck, marks: Mapping[str, Sequence[Points]]) -> dict[str, OpenCard | None]:
    """Return by name the one card that all these markers, (4, 2) mm each, belong to.

    None when they are those of more than one.
    """
    cards: dict[str, OpenCard | None] = {}
    for name, quads in marks.items():
        # A card that lies in one place.
        place = _card_place(deck, quads)
        cards[name] = None
        if place is not None:
            x, y, turn = place
            outline = rectangle_corners_mm(x, y, deck.width_mm, deck.height_mm, turn)
            cards[name] = OpenCard(name, x, y, turn, tuple(quads), outline)
    return cards


_Place = tuple[float, float, float]
"""Where a card lies: its middle, mm, and its direction, radians."""


def _card_place(deck: Deck, quads: Sequence[Points]) -> _Place | None:
    """Return where the card lies to which all these markers belong. None when there are more."""
    if len(quads) > 2:
        return None
    corner = _corner(deck)
    places = [_place_by_marker(corner, quad) for quad in quads]
    if len(places) == 1:
        return places[0]
    # Two markers of one card are half a turn apart.
    (x_1, y_1, turn_1), (x_2, y_2, turn_2) = places
    bend = math.remainder(turn_2 - turn_1 - math.pi, 2 * math.pi)
    if math.hypot(x_1 - x_2, y_1 - y_2) > _SAME_MM or abs(bend) > math.radians(_SAME_DEG):
        return None
    # The line between both markers tells the direction better than either of them.
    across, along = (quads[0].mean(axis=0) - quads[1].mean(axis=0)).tolist()
    turn = math.atan2(along, across) - math.atan2(corner[1], corner[0])
    return (x_1 + x_2) / 2, (y_1 + y_2) / 2, turn


def _place_by_marker(corner: Points, quad: Points) -> _Place:
    """Return where a card lies by the marker in its upper right corner."""
    # Both sides of the print, and both of its other edges.
    up = quad[0] - quad[3] + quad[1] - quad[2]
    right = quad[1] - quad[0] + quad[2] - quad[3]
    # `right`, a quarter further, is another sight of `up`.
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


def fan_order(cards: Sequence[OpenCard], seat_up: float, widest_mm: float) -> tuple[str, ...]:
    """Return the names of a zone's open cards from the bottom to the top.

    `UNREAD` stands for every card whose place is a guess, and between cards that lie on each other
    with a step wider than `widest_mm`, as another one may lie there out of sight. `seat_up` is 1
    when fans grow towards +y, -1 towards -y.
    """
    guess = (UNREAD,) * len(cards)
    if len(cards) < 2:
        return tuple(card.name for card in cards)

    # Who lies above whom, as far as that is proved.
    above = _closure(_proofs(cards))
    if above.diagonal().any():
        return guess

    # The rest lies as a fan is laid.
    along = _along(cards, seat_up)
    names = [card.name for card in cards]
    # Which card, by row, lies lower than which, by column.
    before = above.T.copy()
    for i, j in combinations(range(len(cards)), 2):
        if above[i, j] or above[j, i]:
            continue
        before[i, j] = along[i] < along[j]
        before[j, i] = not before[i, j]
        # Too near to each other: either may be the upper one.
        if abs(along[i] - along[j]) < _APART_MM:
            names[i] = names[j] = UNREAD

    # A card has as many below it as its place in the fan.
    order = sorted(range(len(cards)), key=lambda i: int(before[:, i].sum()))
    if any(not before[lower, upper] for lower, upper in combinations(order, 2)):
        return guess

    # From the bottom to the top, with a place for what may be hidden.
    fan = [names[order[0]]]
    for lower, upper in pairwise(order):
        if abs(along[upper] - along[lower]) > widest_mm and _touch(cards[lower], cards[upper]):
            fan.append(UNREAD)
        fan.append(names[upper])
    return tuple(fan)


def _proofs(cards: Sequence[OpenCard]) -> NDArray[np.bool_]:
    """Return (N, N): of which cards, by row, it is proved that they lie on which, by column."""
    proofs = np.zeros((len(cards),) * 2, np.bool_)
    for i, upper in enumerate(cards):
        for j, lower in enumerate(cards):
            if i != j and lower.name != UNREAD:
                proofs[i, j] = any(_reaches_into(mark, lower.outline) for mark in upper.marks)
    return proofs


def _reaches_into(mark: Points, outline: Points) -> bool:
    """Tell whether a corner of a marker lies well within an outline."""
    polygon = outline.astype(np.float32)
    return any(
        cv2.pointPolygonTest(polygon, corner, True) >= _ON_TOP_MM for corner in mark.tolist()
    )


def _closure(proofs: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return who lies above whom, also by way of others."""
    above = proofs.copy()
    for middle in range(len(above)):
        # Warshall: whoever is above `middle` is above all that it is above.
        above |= np.outer(above[:, middle], above[middle])
    return above


def _along(cards: Sequence[OpenCard], seat_up: float) -> list[float]:
    """Return how far away from its seat each card lies, by its middle.

    Where some show no more, it is by the first marker of each.
    """
    if all(card.name != UNREAD for card in cards):
        return [card.y_mm * seat_up for card in cards]
    along = []
    for card in cards:
        along.append(min(float(mark[:, 1].mean()) * seat_up for mark in card.marks))
    return along


def _touch(one: OpenCard, other: OpenCard) -> bool:
    outlines = one.outline.astype(np.float32), other.outline.astype(np.float32)
    return cv2.intersectConvexConvex(*outlines)[0] > 0


# ---- several pictures ----------------------------------------------------------------------------


def agreed_fans(
    pictures: Sequence[Layout], unknown: Collection[Square]
) -> tuple[dict[Square, tuple[str, ...]], set[Square]]:
    """Return what several pictures of a still table say, and the zones in which they differ.

    A card that was read once is no longer an `X`.
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
    """Return the fan that all readings of a zone tell. None when they differ."""
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
