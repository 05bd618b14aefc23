"""How open cards lie on each other: from where they were seen to the order of a fan, or to `X`
where that is a guess.

Pure geometry in board millimetres. A marker that is seen where another card lies proves that its
own card is the upper one; cards that prove nothing about each other lie as a fan is laid, away from
the edge of its seat.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
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
"""Both markers of a card give its middle and direction to within this."""
_ON_TOP_MM = 5.0
"""A marker that reaches so far into another card's outline lies on it."""
_APART_MM = 8.0
"""Cards that prove nothing about each other must be so far apart along the fan to be told apart."""
_GAP_MM = 15.0
"""A fan may have a gap of this; what lies further off may be another stack."""
_ASIDE_MM = 35.0


@dataclass(frozen=True, eq=False)
class Lying:
    """An open card on the board: its middle, its direction (radians, counter-clockwise; a half turn
    changes nothing).

    `marks` are the markers seen of it, (4, 2) each, the upper left corner first. A card that was
    not read is named `UNREAD`, its outline is that of the marker.
    """

    name: str
    x_mm: float
    y_mm: float
    turn: float
    marks: tuple[Points, ...]
    outline: Points

    @cached_property
    def middle(self) -> Points:
        """(2,): the middle of its outline."""
        return np.array([self.x_mm, self.y_mm])

    @cached_property
    def within_mm(self) -> float:
        """All that is nearer to its middle than this lies within its outline; 0 of a card that was
        not read."""
        first, second, third, _ = self.outline.tolist()
        return (
            0.0
            if self.name == UNREAD
            else min(math.dist(first, second), math.dist(second, third)) / 2
        )


def proofs_of(cards: Sequence[Lying]) -> NDArray[np.bool_]:
    """Return (N, N): of which of the cards, by row, it is proved that they lie on which, by column.

    A marker that is seen within another card's outline proves that its own card is the upper one.
    """
    proved = np.zeros((len(cards),) * 2, np.bool_)
    owners = np.repeat(np.arange(len(cards)), [len(card.marks) for card in cards])
    marks = np.array([mark for card in cards for mark in card.marks]).reshape(-1, 2)
    inwards, at = _sides_of(np.array([card.outline for card in cards]).reshape(-1, 4, 2))
    depths = (
        (marks @ inwards.swapaxes(1, 2) - at[:, None])
        .min(axis=2)
        .reshape(len(cards), len(owners), 4)
    )
    lower, mark = np.nonzero(depths.max(axis=2) >= _ON_TOP_MM)
    proved[owners[mark], lower] = True
    for place, card in enumerate(cards):
        if card.name == UNREAD:
            proved[:, place] = False
    np.fill_diagonal(proved, False)
    return proved


def _sides_of(outlines: Points) -> tuple[Points, Points]:
    """(N, 4, 2) unit vectors inwards from the sides of (N, 4, 2) outlines, and (N, 4) how far along
    them each lies."""
    along = np.roll(outlines, -1, axis=1) - outlines
    lengths = np.sqrt((along**2).sum(axis=2, keepdims=True)).clip(1e-9)
    inwards = np.stack([along[..., 1], -along[..., 0]], axis=2) / lengths
    inwards *= np.sign(
        ((outlines.mean(axis=1, keepdims=True) - outlines) * inwards).sum(axis=(1, 2))
    )[:, None, None]
    return inwards, (inwards * outlines).sum(axis=2)


def zones_of(board: Board, deck: Deck) -> tuple[Square, ...]:
    """Where fans lie."""
    return tuple(square for square in board.squares if square.rank in deck.zones.values())


def on_cards(cards: Sequence[Lying], places: Points) -> Points:
    """(N, K, 4, 2): where places (K, 4, 2) of a card that lies straight at the origin are on each
    of these."""
    return _laid([(card.x_mm, card.y_mm, card.turn) for card in cards], places)


def _laid(cards: Sequence[tuple[float, float, float]], places: Points) -> Points:
    """The same of cards by their middles and turns."""
    x, y, turns = np.array(cards, np.float64).reshape(-1, 3).T
    sine, cosine = np.sin(turns), np.cos(turns)
    axes = np.stack([np.column_stack([cosine, sine]), np.column_stack([-sine, cosine])], axis=1)
    return np.asarray(places @ axes[:, None] + np.column_stack([x, y])[:, None, None])


@lru_cache(maxsize=64)
def _both(x: float, y: float, width: float, depth: float) -> Points:
    """(2, 4, 2): a rectangle at (x, y) of a card that lies straight at the origin, and the one
    opposite."""
    place = rectangle_corners_mm(x, y, width, depth, 0.0)
    return np.stack([place, -place])


def marker_places(deck: Deck) -> Points:
    """(2, 4, 2): where both markers of a card lie, the upper left corner first: its upper right,
    its lower left."""
    x, y = _corner(deck).tolist()
    return _both(x, y, deck.marker_mm, deck.marker_mm)


_Place = tuple[float, float, float]
"""Where a card lies: its middle, mm, and its direction, radians."""


def cards_of_marks(deck: Deck, marks: Mapping[str, Sequence[Points]]) -> dict[str, Lying | None]:
    """Return by name the one card that all these markers, (4, 2) mm each, belong to.

    None when they are those of more than one.
    """
    places: dict[str, _Place] = {}
    for name, quads in marks.items():
        place = _place_of(deck, quads)
        if place is not None:
            places[name] = place
    outline = _both(0.0, 0.0, deck.width_mm, deck.height_mm)[:1]
    outlines = _laid(list(places.values()), outline)[:, 0]
    cards: dict[str, Lying | None] = dict.fromkeys(marks)
    for (name, place), corners in zip(places.items(), outlines, strict=True):
        cards[name] = Lying(name, *place, tuple(marks[name]), corners)
    return cards


def _place_of(deck: Deck, quads: Sequence[Points]) -> _Place | None:
    """Return where the card lies to which all these markers belong; None when there are more."""
    corner, found, middles = _corner(deck), [], []
    if len(quads) > 2:
        return None
    for quad in quads:
        up = quad[0] - quad[3] + quad[1] - quad[2]
        right = quad[1] - quad[0] + quad[2] - quad[3]
        # `right`, a quarter further, is another sight of `up`.
        way_x, way_y = up[0] - right[1], up[1] + right[0]
        turn = math.atan2(-way_x, way_y)
        sine, cosine = math.sin(turn), math.cos(turn)
        middle = quad.mean(axis=0)
        x = float(middle[0] - cosine * corner[0] + sine * corner[1])
        y = float(middle[1] - sine * corner[0] - cosine * corner[1])
        found.append((x, y, turn))
        middles.append(middle)
    return found[0] if len(found) == 1 else _joined(corner, found, middles)


def _joined(corner: Points, found: Sequence[_Place], middles: Sequence[Points]) -> _Place | None:
    """Return where a card lies of which both markers are seen; None where these are those of two
    cards."""
    (x_1, y_1, turn_1), (x_2, y_2, turn_2) = found
    bend = math.remainder(turn_2 - turn_1 - math.pi, 2 * math.pi)
    if math.hypot(x_1 - x_2, y_1 - y_2) > _SAME_MM or abs(bend) > math.radians(_SAME_DEG):
        return None
    # The line between both markers tells the direction better than either of them.
    across, along = (middles[0] - middles[1]).tolist()
    better = math.atan2(along, across) - math.atan2(corner[1], corner[0])
    return (x_1 + x_2) / 2, (y_1 + y_2) / 2, better


def _corner(deck: Deck) -> Points:
    """(2,): from a card's middle to that of the marker in its upper right."""
    reach = deck.marker_mm / 2 + deck.inset_mm
    return np.array([deck.width_mm / 2 - reach, deck.height_mm / 2 - reach])


def unread_card(mark: Points) -> Lying:
    """Return a card of which only a marker that does not decode is seen."""
    x, y = mark.mean(axis=0)
    return Lying(UNREAD, float(x), float(y), 0.0, (mark,), mark)


def fan_order(cards: Sequence[Lying], seat_up: float, widest_mm: float) -> tuple[str, ...]:
    """The names of a zone's open cards from the bottom to the top; `UNREAD` for every card whose
    place is a guess, and between cards that lie on each other with a step wider than `widest_mm`:
    there another one may lie out of sight.

    `seat_up` is 1 when fans grow towards +y, -1 towards -y.
    """
    if len(cards) < 2:
        return tuple(card.name for card in cards)
    proofs = proofs_of(cards)
    above = _closure(proofs)
    if above.diagonal().any():
        return (UNREAD,) * len(cards)
    direction = _direction(cards, proofs, seat_up)
    if direction is None or not _is_one_fan(cards, direction, seat_up):
        return (UNREAD,) * len(cards)
    along = _along(cards, direction)
    names = [card.name for card in cards]
    before = above.T.copy()
    for i, j in combinations(range(len(cards)), 2):
        if above[i, j] or above[j, i]:
            continue
        before[i, j], before[j, i] = along[i] < along[j], along[i] >= along[j]
        if abs(along[i] - along[j]) < _APART_MM:
            names[i] = names[j] = UNREAD
    order = sorted(range(len(cards)), key=lambda i: int(before[:, i].sum()))
    if any(not before[lower, upper] for lower, upper in combinations(order, 2)):
        return (UNREAD,) * len(cards)
    fan = [names[order[0]]]
    for lower, upper in pairwise(order):
        is_wide = (
            _touch(cards[lower], cards[upper]) and abs(along[upper] - along[lower]) > widest_mm
        )
        fan += [UNREAD, names[upper]] if is_wide else [names[upper]]
    return tuple(fan)


def _closure(proofs: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Who lies above whom, also by way of others."""
    above = proofs.copy()
    for middle in range(len(above)):
        above |= np.outer(above[:, middle], above[middle])
    return above


def _direction(cards: Sequence[Lying], proofs: NDArray[np.bool_], seat_up: float) -> Points | None:
    """(2,): the way the fan grows, by what is proved, else as its seat lays it; None when the
    proofs disagree."""
    is_read = np.array([card.name != UNREAD for card in cards])
    middles, (upper, lower) = (
        np.array([card.middle for card in cards]),
        np.nonzero(proofs & is_read & is_read[:, None]),
    )
    steps = middles[upper] - middles[lower]
    lengths = np.hypot(*steps.T)
    is_far = lengths > 4
    if not is_far.any():
        return np.array([0.0, seat_up])
    mean = (steps[is_far] / lengths[is_far, None]).mean(axis=0)
    length = math.hypot(*mean)
    return np.asarray(mean / length) if length > 0.5 else None


def _along(cards: Sequence[Lying], direction: Points) -> Points:
    """(N,): how far along the fan each lies, by its middle; by its first marker where some show no
    more."""
    if all(card.name != UNREAD for card in cards):
        return np.array([float(card.middle @ direction) for card in cards])
    return np.array(
        [min(float(mark.mean(axis=0) @ direction) for mark in card.marks) for card in cards]
    )


def _is_one_fan(cards: Sequence[Lying], direction: Points, seat_up: float) -> bool:
    """Do the cards hang together? Where they do not overlap, gaps must be small and the fan lie as
    its seat lays it."""
    groups: list[list[Lying]] = []
    for card in cards:
        touching = [group for group in groups if any(_touch(card, other) for other in group)]
        groups = [group for group in groups if group not in touching]
        groups.append([card, *(other for group in touching for other in group)])
    if len(groups) == 1:
        return True
    if direction[1] * seat_up < 0.5:
        return False
    aside = np.array([-direction[1], direction[0]])
    places = sorted(
        (np.vstack([card.outline for card in group]) for group in groups),
        key=lambda p: float((p @ direction).mean()),
    )
    for low, high in pairwise(places):
        gap = float((high @ direction).min() - (low @ direction).max())
        if (
            not -_APART_MM <= gap <= _GAP_MM
            or abs(float((high @ aside).mean() - (low @ aside).mean())) > _ASIDE_MM
        ):
            return False
    return True


def _touch(one: Lying, other: Lying) -> bool:
    if math.dist((one.x_mm, one.y_mm), (other.x_mm, other.y_mm)) < min(
        one.within_mm, other.within_mm
    ):
        return True
    return (
        cv2.intersectConvexConvex(one.outline.astype(np.float32), other.outline.astype(np.float32))[
            0
        ]
        > 0
    )


def agreed_fans(
    pictures: Sequence[Layout], unknown: Collection[Square]
) -> tuple[dict[Square, tuple[str, ...]], set[Square]]:
    """What several pictures of a still table say of the zones that are known, and the zones in
    which they differ.

    A card that was read once is no longer an `X`.
    """
    fans: dict[Square, tuple[str, ...]] = {}
    torn = set()
    for zone in {zone for fans_seen in pictures for zone in fans_seen if zone not in unknown}:
        readings = [fans_seen.get(zone, ()) for fans_seen in pictures]
        if len({len(reading) for reading in readings}) > 1:
            torn.add(zone)
            continue
        places = [set(names) - {UNREAD} for names in zip(*readings, strict=True)]
        named = [name for names in places for name in names]
        if any(len(names) > 1 for names in places) or len(set(named)) < len(named):
            torn.add(zone)
        else:
            fans[zone] = tuple(next(iter(names), UNREAD) for names in places)
    return fans, torn
