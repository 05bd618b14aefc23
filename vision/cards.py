"""Open cards in the zones of a board: which they are, how they lie on each other, and which zones cannot be told.

The board is looked at from straight above at the height of cards; only whole markers of the deck without a wrong module
count. A card that is there and not read is an `X`; a zone with anything else in it is unknown.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from companion.grid import Square
from companion.kit import CARD_DICTIONARY, Kit, Layout, Seat
from vision.fans import UNREAD, Lying, card_of_marks, fan_order, marker_places, unread_card
from vision.litter import Litter, evened, paper_of
from vision.markers import Luma, MarkerFinder, marker_modules, modules_in, resembles_marker, sharpened
from vision.pose import Maps, Points, Pose, flat, rectangle_corners_mm

CARD_Z_MM = 0.3
_SCALE = 2.7
"""px per mm of the view from above: five a module of a marker."""
_ROOM_MM = 24.0
"""Cards may stick out of the board so far."""
_SIDE = 0.12
"""A marker's sides may differ from its size by so much: less than a row of modules."""
_MARGIN_MM = 3.0
"""The middle of a card must lie this far inside its zone."""
_LIKENESS = 0.5
"""Correlation of a marker's print with what should show it."""


@dataclass(frozen=True)
class Open:
    """The open cards of one picture, see `companion.ports.Reading`."""

    fans: Layout
    unknown: frozenset[Square]
    beside: tuple[str, ...]
    strangers: tuple[int, ...]


class CardReader:
    """Reads the cards of one kit."""

    def __init__(self, kit: Kit) -> None:
        if kit.deck is None:
            raise ValueError(f"the kit of {kit.game} has no cards")
        self.kit, self._deck = kit, kit.deck
        deck = kit.deck
        self._names = {card.marker: card.name for card in deck.cards}
        self._markers = {card.name: card.marker for card in deck.cards}
        self._finder = MarkerFinder(CARD_DICTIONARY, close=True, only=tuple(self._names))
        self._litter = Litter(kit.board, deck)
        self._up = {rank: 1.0 if seat is Seat.SOUTH else -1.0 for seat, rank in deck.zones.items()}
        self._maps: tuple[Pose, Maps] | None = None

    @property
    def markers(self) -> frozenset[int]:
        """The ids of all cards' markers."""
        return frozenset(self._names)

    @property
    def zones(self) -> tuple[Square, ...]:
        """Where fans lie."""
        return tuple(square for square in self.kit.board.squares if square.rank in self._up)

    def read(self, luma: Luma, pose: Pose, moving_px: Points) -> Open:
        """The cards of a (height, width) picture; (N, 2) `moving_px` are places where something moves."""
        view = self._view(pose).rectify(luma)
        paper = paper_of(view, _SCALE, self.kit.board.square_mm)
        even = evened(view, paper)
        marks, quads = self._marks(even)
        cards, twins = self._cards(marks)
        cards += self._unread(even, cards, quads)
        by_zone, doubtful, beside = self._in_zones(cards, pose)
        unknown = doubtful | self._moving(pose, moving_px) | self._cut_off(pose)
        unknown |= self._litter.zones(even, (view >= 252) & (paper < 242), self._view(pose), cards)
        fans = {}
        for zone in self.zones:
            lying = by_zone.get(zone, [])
            if zone in unknown or not lying:
                continue
            if self._all_explained(even, lying, cards):
                fans[zone] = fan_order(lying, self._up[zone.rank])
            else:
                unknown.add(zone)
        return Open(fans, frozenset(unknown), tuple(sorted(beside)), tuple(sorted(twins)))

    # ---- markers ----

    def _view(self, pose: Pose) -> Maps:
        """The board and some room around it from straight above."""
        if self._maps is None or self._maps[0] is not pose:
            board = self.kit.board
            high = (board.width_mm + _ROOM_MM, board.height_mm + _ROOM_MM)
            self._maps = pose, pose.plane_maps((-_ROOM_MM, -_ROOM_MM), high, CARD_Z_MM, _SCALE)
        return self._maps[1]

    def _to_mm(self, points: Points) -> Points:
        assert self._maps is not None
        return self._maps[1].to_board(points)

    def _marks(self, view: Luma) -> tuple[dict[str, list[Points]], list[Points]]:
        """Markers of cards by name, (4, 2) mm each, and quadrangles that are none, in plain and sharpened view."""
        marks: dict[str, list[Points]] = defaultdict(list)
        quads: list[Points] = []
        for picture in (view, sharpened(view)):
            found = self._finder.find(picture)
            for sighting in found.sightings:
                mark, name = self._to_mm(sighting.corners_px), self._names[sighting.marker]
                known = any(np.abs(mark.mean(axis=0) - other.mean(axis=0)).max() < 3 for other in marks[name])
                if not known and self._is_whole(mark):
                    marks[name].append(mark)
            quads += [self._to_mm(quad) for quad in found.rejected]
        return {name: places for name, places in marks.items() if places}, quads

    def _is_whole(self, mark: Points) -> bool:
        """Has it the size of a marker, nothing of it hidden?"""
        sides = np.linalg.norm(mark - np.roll(mark, -1, axis=0), axis=1)
        return bool(np.abs(sides / self._deck.marker_mm - 1).max() <= _SIDE)

    def _cards(self, marks: Mapping[str, list[Points]]) -> tuple[list[Lying], set[int]]:
        """The cards that the markers belong to; ids that are there twice are strangers, their cards unread."""
        cards, twins = [], set()
        for name, places in marks.items():
            card = card_of_marks(self._deck, name, places)
            if card is not None:
                cards.append(card)
            else:
                twins.add(self._markers[name])
                cards += [unread_card(mark) for mark in places]
        return cards, twins

    def _unread(self, view: Luma, cards: list[Lying], quads: list[Points]) -> list[Lying]:
        """Cards of which a marker is seen, whole or in part, that does not decode."""
        assert self._maps is not None
        seen = [mark.mean(axis=0) for card in cards for mark in card.marks]
        found: list[Lying] = []
        for quad in quads:
            middle = quad.mean(axis=0)
            if any(np.abs(middle - other).max() < self._deck.marker_mm * 0.6 for other in seen):
                continue
            if self._is_whole(quad):
                if not resembles_marker(view, self._maps[1].to_view(quad)):
                    continue
                covers: list[str] = []
            else:
                covers = self._covers(quad, cards)
                if not covers:
                    continue
            seen.append(middle)
            found.append(unread_card(quad, covers))
        return found

    def _covers(self, quad: Points, cards: Iterable[Lying]) -> list[str]:
        """The cards that hide the rest of a marker, when a quadrangle is what they leave of it; else none."""
        side = self._deck.marker_mm
        sides = np.linalg.norm(quad - np.roll(quad, -1, axis=0), axis=1)
        area = cv2.contourArea(quad.astype(np.float32))
        if (
            np.abs(sides / side - 1).min() > _SIDE
            or sides.max() > 1.15 * side
            or not 1.8 * side < area < 0.95 * side**2
        ):
            return []
        names = []
        for card in cards:
            depths = card.depth_inside(quad)
            if -2.0 <= depths.max() <= 1.5:
                names.append(card.name)
        return names

    # ---- zones ----

    def _in_zones(self, cards: Iterable[Lying], pose: Pose) -> tuple[dict[Square, list[Lying]], set[Square], list[str]]:
        """The cards of each zone; the zones between which one lies; the names of those beside."""
        board = self.kit.board
        by_zone: dict[Square, list[Lying]] = defaultdict(list)
        doubtful: set[Square] = set()
        beside = []
        for card in cards:
            spread = float(pose.spread_mm(np.array([[card.x_mm, card.y_mm, CARD_Z_MM]]))[0])
            margin = _MARGIN_MM + 2 * spread
            steps = ((margin, 0.0), (-margin, 0.0), (0.0, margin), (0.0, -margin))
            places = {board.square_at(card.x_mm + dx, card.y_mm + dy) for dx, dy in steps}
            here = places.pop() if len(places) == 1 else None
            if here in self.zones:
                by_zone[here].append(card)
            elif places:
                doubtful |= {place for place in places if place in self.zones}
            elif card.name != UNREAD:
                beside.append(card.name)
        return by_zone, doubtful, beside

    def _moving(self, pose: Pose, moving_px: Points) -> set[Square]:
        """Zones in which something moves."""
        if not len(moving_px):
            return set()
        places = pose.to_plane(moving_px)
        squares = {self.kit.board.square_at(x, y) for x, y in places[np.isfinite(places).all(axis=1)]}
        return {square for square in squares if square in self.zones}

    def _cut_off(self, pose: Pose) -> set[Square]:
        """Zones that are not wholly in the picture."""
        board, low, high = self.kit.board, np.zeros(2), np.array(pose.size) - 1
        size = board.square_mm, board.depth_mm
        corners = {zone: rectangle_corners_mm(*board.centre_mm(zone), *size, 0.0) for zone in self.zones}
        seen = {zone: pose.to_px(flat(places)) for zone, places in corners.items()}
        return {zone for zone, pixels in seen.items() if (pixels < low).any() or (pixels > high).any()}

    def _all_explained(self, view: Luma, lying: list[Lying], cards: list[Lying]) -> bool:
        """Is every marker of these cards seen, or under another card?"""
        assert self._maps is not None
        for card in lying:
            if card.name == UNREAD:
                continue
            for place in marker_places(self._deck, card):
                if any(np.abs(place.mean(axis=0) - mark.mean(axis=0)).max() < 6 for mark in card.marks):
                    continue
                if any(other is not card and other.depth_inside(place).max() > -1 for other in cards):
                    continue
                if not _is_like(view, self._maps[1].to_view(place), self._markers[card.name]):
                    return False
        return True


def _is_like(view: Luma, quad: Points, marker: int) -> bool:
    """Does a quadrangle show roughly this marker?"""
    means = modules_in(view, quad)
    print_ = marker_modules(marker, CARD_DICTIONARY).astype(np.float64)
    return float(np.corrcoef(means.ravel(), print_.ravel())[0, 1]) >= _LIKENESS


def agreed_fans(
    pictures: Sequence[Layout], unknown: Collection[Square]
) -> tuple[dict[Square, tuple[str, ...]], set[Square]]:
    """What several pictures of a still table say of the zones that are known, and the zones in which they differ.

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
