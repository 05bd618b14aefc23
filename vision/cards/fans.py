"""Orders open cards into fans: from where cards lie to their order, from the bottom to the top.

A *zone* is a place on the board where a seat lays its cards. A *fan* is the open cards in one zone,
each on a part of the one before. All of this is pure geometry in mm of the board.

Each card has its marker twice: in its upper right corner and, upside down, in its lower left one.

    +------+
    |    ##|
    |      |
    |##    |
    +------+

1. Compute where each card lies, from its visible markers (`group_markers`).
2. A marker that is visible where another card lies proves that its own card is the upper one.
3. Without such a proof, assume that cards lie as fans are laid: each card is farther from its seat
   than the one beneath it.
4. Sort the cards by this. Where the order is a guess, `X` stands for a card (`order_fan`).
5. Several pictures of a still table have to agree on a fan (`merge_fans`).

Distances follow from the printed cards and from how people lay them. They were chosen by trial on
rendered fans, see `tests/bench/reading/fans.py`.
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

# The name of a visible card that could not be read.
UNREAD = "X"

# Maximum difference in mm between the distance of two markers and the distance of both markers on a
# printed card. If it is larger, the two markers belong to two cards.
_MAX_DISTANCE_ERROR_MM = 6.0

# Maximum difference between the direction of the line through two markers and the one that follows
# from their print. If it is larger, the two markers belong to two cards.
_MAX_ANGLE_ERROR_DEG = 12.0

# Minimum distance in mm by which a marker reaches into the outline of a card beneath it. Less may
# be an error of the pose.
_MIN_ON_TOP_MM = 5.0

# Maximum distance between two neighbouring cards of a fan, in steps. If it is larger, a hidden card
# may lie between them.
_MAX_STEPS = 1.9

# Minimum distance in mm along the fan to order two cards without a proof. For cards that lie across
# each other it is twice as much.
_MIN_STEP_MM = 8.0


@dataclass(frozen=True, eq=False)
class OpenCard:
    """An open card on the board, derived from its visible markers."""

    name: str
    """Name of the card, or `UNREAD`."""
    x_mm: float
    """Its middle on the board, x."""
    y_mm: float
    """Its middle on the board, y."""
    turn_rad: float
    """Its direction in radians, counter-clockwise. A half turn changes nothing."""
    quads_mm: tuple[Points, ...]
    """Its visible markers on the board, (4, 2) mm each, the upper left corner first."""
    outline: Points
    """(4, 2) mm: the corners of the card, or of its marker if the card was not read."""

    @property
    def middle(self) -> Points:
        """(2,): the middle of its outline."""
        return np.array([self.x_mm, self.y_mm])


def unread_card(quad_mm: Points) -> OpenCard:
    """Return a card of which only a marker (4, 2) mm that does not decode is visible."""
    x, y = quad_mm.mean(axis=0).tolist()
    return OpenCard(UNREAD, x, y, turn_rad=0.0, quads_mm=(quad_mm,), outline=quad_mm)


def zones_of(board: Board, deck: Deck) -> tuple[Square, ...]:
    """Return the zones in which fans lie."""
    return tuple(square for square in board.squares if square.rank in deck.zones.values())


# ---- cards and their markers ---------------------------------------------------------------------


def move_to_cards(cards: Sequence[OpenCard], quads_mm: Points) -> Points:
    """Return (N, K, 4, 2) mm: K quadrangles on each of N cards, in board axes.

    `quads_mm` (K, 4, 2) are those on a straight card with its middle at the origin.
    """
    # Rotate by the axes of each card, then move to its middle.
    turns = np.array([card.turn_rad for card in cards])
    middles = np.array([card.middle for card in cards]).reshape(-1, 1, 1, 2)
    right = np.column_stack([np.cos(turns), np.sin(turns)])
    up = np.column_stack([-np.sin(turns), np.cos(turns)])
    axes = np.stack([right, up], axis=1)
    return np.asarray(quads_mm @ axes[:, None] + middles)


def marker_quads_mm(deck: Deck) -> Points:
    """Return (2, 4, 2) mm: both markers of a straight card with its middle at the origin.

    The upper right one comes first, then the lower left one. The first corner of each is the upper
    left one of its print.
    """
    x, y = _marker_offset(deck).tolist()
    # The other marker is rotated by half a turn about the middle of the card.
    upper = rectangle_corners_mm(x, y, deck.marker_mm, deck.marker_mm, 0.0)
    return np.stack([upper, -upper])


def _marker_offset(deck: Deck) -> Points:
    """Return (2,) mm: the vector from a card's middle to the middle of its upper right marker."""
    from_edge = deck.marker_mm / 2 + deck.inset_mm
    return np.array([deck.width_mm / 2 - from_edge, deck.height_mm / 2 - from_edge])


def group_markers(
    deck: Deck, quads_mm: Mapping[str, Sequence[Points]]
) -> dict[str, OpenCard | None]:
    """Return the card that all markers of one name belong to, for each name.

    `quads_mm` are the corners (4, 2) of the markers, by name. A card is None if its markers cannot
    belong to a single card.
    """
    cards: dict[str, OpenCard | None] = {}
    for name, quads in quads_mm.items():
        cards[name] = None
        pose = _pose_from_markers(deck, quads)
        if pose is not None:
            x, y, turn = pose
            outline = rectangle_corners_mm(x, y, deck.width_mm, deck.height_mm, turn)
            cards[name] = OpenCard(name, x, y, turn, tuple(quads), outline)
    return cards


# Where a card lies: its middle (x, y) in mm, and its direction in radians.
_CardPose = tuple[float, float, float]


def _pose_from_markers(deck: Deck, quads: Sequence[Points]) -> _CardPose | None:
    """Return where the card lies to which all these markers (4, 2) mm belong.

    Returns None if they cannot belong to a single card.
    """
    if len(quads) > 2:
        return None
    offset = _marker_offset(deck)
    pose = _pose_from_marker(offset, quads[0])
    if len(quads) == 1:
        return pose
    # The line between both markers gives the direction more precisely than either of them.
    first = quads[0].mean(axis=0)
    second = quads[1].mean(axis=0)
    right, up = (first - second).tolist()
    turn = math.atan2(up, right) - math.atan2(offset[1], offset[0])
    distance_error_mm = math.hypot(right, up) - 2 * math.hypot(*offset)
    _, _, printed_turn = pose
    angle_error = math.remainder(printed_turn - turn, 2 * math.pi)
    if abs(distance_error_mm) > _MAX_DISTANCE_ERROR_MM or abs(angle_error) > math.radians(
        _MAX_ANGLE_ERROR_DEG
    ):
        return None
    return *((first + second) / 2).tolist(), turn


def _pose_from_marker(offset: Points, quad: Points) -> _CardPose:
    """Return where a card lies by its upper right marker (4, 2) mm, which is at `offset` on it."""
    # The directions of the print, each summed over two opposite edges.
    up = quad[0] - quad[3] + quad[1] - quad[2]
    right = quad[1] - quad[0] + quad[2] - quad[3]
    # `right`, rotated by a quarter turn, is a second measurement of `up`.
    turn = math.atan2(right[1] - up[0], up[1] + right[0])
    # From the marker back to the middle of the card.
    sine = math.sin(turn)
    cosine = math.cos(turn)
    x, y = quad.mean(axis=0)
    return (
        float(x - cosine * offset[0] + sine * offset[1]),
        float(y - sine * offset[0] - cosine * offset[1]),
        turn,
    )


# ---- the order of a fan --------------------------------------------------------------------------


def order_fan(cards: Sequence[OpenCard], direction: float, deck: Deck) -> tuple[str, ...]:
    """Return the names of a zone's open cards from the bottom to the top.

    `UNREAD` stands for every card whose position in the fan is a guess. If all cards were read, it
    also stands between two overlapping cards that are so far apart that a card may be hidden there.

    Fans grow away from their seat. `direction` is 1 if that is towards +y, and -1 if it is towards
    -y.
    """
    guess = (UNREAD,) * len(cards)
    if len(cards) < 2:
        return tuple(card.name for card in cards)

    # Which card lies above which, as far as that is proved.
    above = _transitive_closure(_proofs(cards))
    if above.diagonal().any():
        return guess

    # Order the other pairs as a fan is laid.
    along_mm = _distances_mm(cards, direction, deck)
    names = [card.name for card in cards]
    is_read = UNREAD not in names
    # Whether the card of the row lies lower than the card of the column.
    is_below = above.T.copy()
    for i, j in combinations(range(len(cards)), 2):
        if above[i, j] or above[j, i]:
            continue
        is_below[i, j] = along_mm[i] < along_mm[j]
        is_below[j, i] = not is_below[i, j]
        # If they are too near to each other, more so if one lies across the other, either card may
        # be the upper one.
        askew = abs(math.sin(cards[i].turn_rad - cards[j].turn_rad))
        if abs(along_mm[i] - along_mm[j]) < _MIN_STEP_MM * (1 + askew):
            names[i] = names[j] = UNREAD

    # The position of a card is the number of cards below it. If the pairs form a cycle, there is no
    # such order.
    order = sorted(range(len(cards)), key=lambda i: int(is_below[:, i].sum()))
    if any(not is_below[lower, upper] for lower, upper in combinations(order, 2)):
        return guess

    # From the bottom to the top, with `X` where a card may be hidden.
    fan = [names[order[0]]]
    for lower, upper in pairwise(order):
        is_wide = abs(along_mm[upper] - along_mm[lower]) > _MAX_STEPS * deck.step_mm
        if is_read and is_wide and _overlap(cards[lower], cards[upper]):
            fan.append(UNREAD)
        fan.append(names[upper])
    return tuple(fan)


def _proofs(cards: Sequence[OpenCard]) -> NDArray[np.bool_]:
    """Return (N, N): whether the card of the row is proved to lie on the card of the column."""
    proofs = np.zeros((len(cards),) * 2, np.bool_)
    for i, upper in enumerate(cards):
        for j, lower in enumerate(cards):
            if i != j and lower.name != UNREAD:
                proofs[i, j] = any(_reaches_into(quad, lower.outline) for quad in upper.quads_mm)
    return proofs


def _reaches_into(quad: Points, outline: Points) -> bool:
    """Return whether a corner of a marker lies well within an outline."""
    polygon = outline.astype(np.float32)
    return any(
        cv2.pointPolygonTest(polygon, corner, True) >= _MIN_ON_TOP_MM for corner in quad.tolist()
    )


def _transitive_closure(proofs: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the transitive closure (N, N) of the proofs."""
    above = proofs.copy()
    for middle in range(len(above)):
        # Warshall: a card above `middle` is above all that `middle` is above.
        above |= np.outer(above[:, middle], above[middle])
    return above


def _distances_mm(cards: Sequence[OpenCard], direction: float, deck: Deck) -> list[float]:
    """Return how far the middle of each card is from its seat, up to a constant.

    `direction` is as in `order_fan`.
    """
    # An unread card has the position of its visible marker, which is the one next to the seat.
    # The middle of the card is farther away.
    marker_to_middle = float(_marker_offset(deck)[1])
    distances = []
    for card in cards:
        shift = marker_to_middle if card.name == UNREAD else 0
        distances.append(card.y_mm * direction + shift)
    return distances


def _overlap(lower: OpenCard, upper: OpenCard) -> bool:
    outlines = lower.outline.astype(np.float32), upper.outline.astype(np.float32)
    return cv2.intersectConvexConvex(*outlines)[0] > 0


# ---- several pictures ----------------------------------------------------------------------------


def merge_fans(
    pictures: Sequence[Layout], unknown: Collection[Square]
) -> tuple[dict[Square, tuple[str, ...]], set[Square]]:
    """Return the fans on which several pictures of a still table agree, and the differing zones.

    Zones that are `unknown` are left out. If a card is `X` in some pictures and was read in others,
    it counts as read.
    """
    fans: dict[Square, tuple[str, ...]] = {}
    differing = set()
    for zone in set().union(*pictures) - set(unknown):
        fan = _join_readings([picture.get(zone, ()) for picture in pictures])
        if fan is None:
            differing.add(zone)
        else:
            fans[zone] = fan
    return fans, differing


def _join_readings(readings: Sequence[Sequence[str]]) -> tuple[str, ...] | None:
    """Return the fan on which all readings of a zone agree, or None if they differ."""
    if len({len(reading) for reading in readings}) > 1:
        return None
    fan = []
    named = list[str]()
    for names in zip(*readings, strict=True):
        # The names that were read at this position.
        read_names = set(names) - {UNREAD}
        if len(read_names) > 1:
            return None
        named += read_names
        fan.append(next(iter(read_names), UNREAD))
    # No card is in a fan twice.
    return tuple(fan) if len(set(named)) == len(named) else None
