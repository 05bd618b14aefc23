"""Open cards in the zones of a board: which they are, how they lie on each other, and which zones cannot be told.

The board is looked at from straight above at the height of cards; only whole markers of the deck without a wrong module
count, or such as are too soft to decode and clearly like that of one card only. A card that is there and not read is an
`X`; a zone with anything else in it is unknown.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from companion.core.grid import Square
from companion.core.kit import CARD_DICTIONARY, Kit, Layout, Seat
from vision.cards.card_occlusion import PAPER, CardOcclusion, dark_print, evened, paper_of
from vision.cards.fans import (
    UNREAD,
    Lying,
    card_of_ink,
    card_of_marks,
    fan_order,
    index_places,
    marker_places,
    printed_places,
    unread_card,
)
from vision.cards.unexplained_print import unexplained
from vision.detection.markers import (
    Luma,
    MarkerFinder,
    Sighting,
    best_guess,
    marker_modules,
    modules_in,
    sharpened,
)
from vision.pose.pose import Maps, Points, Pose, flat, rectangle_corners_mm

CARD_Z_MM = 0.3
_SCALE = 2.7
"""px per mm of the view from above: five a module of a marker."""
_ROOM_MM = 40.0
"""Cards may stick out of the board so far."""
_SIDE = 0.12
"""A marker's sides may differ from its size by so much: less than a row of modules."""
_MARGIN_MM = 3.0
"""The middle of a card must lie this far inside its zone."""
_LIKELY = 0.78, 0.18
"""Correlation of a soft print with that of one card, and how much more than with any other. Measured over 100 tables:
the right card has .83 and .16 at least."""
_DARK = 0.6
"""A marker as a whole is darker than this, by paper."""
_RIM_MM = 1.5
"""Less than a marker's black rim."""
_FULL = 0.55
"""It fills so much of the rectangle round it, when its white modules are closed."""
_CUT, _EXACT = 0.4, 0.05
"""The same of one of which a corner is hidden; its sides are then as long as a marker's by so much, and no print is."""
_GAP_MM = 2.0
"""A white module of a marker is not wider than this, the white between two markers is."""
_SOLID_MM = 6.0
"""All strokes of cards' other print are thinner."""
_ASIDE_MM = 8.0
_OUT_MM = 14.0
"""What shows of a card's marker may lie so far beyond the outer end of its zone."""
_OVER_MM = 2.5
_PRINT_MM2 = 4.0
"""Less of it in a zone is no print."""
_OVER_SIDE_MM = 5.0
"""Print so far beyond the side of a zone may be that of its cards."""
_WIDEST_STEP = 1.9
"""Between cards that lie farther apart than this, in steps of a fan, another may lie out of sight."""
_LIKENESS = 0.5
"""Correlation of a marker's print with what should show it."""


@dataclass(frozen=True)
class Open:
    """The open cards of one picture, see `companion.core.ports.Reading`."""

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
        self._litter = CardOcclusion(kit.board, deck)
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
        fine, ink = dark_print(even, _SCALE)
        marks, quads = self._marks(even, ink)
        cards, twins = self._cards(marks)
        cards += self._unread(even, cards, quads)
        cards += self._slices(ink, cards)
        by_zone, doubtful, beside = self._in_zones(cards, pose)
        found = self._litter.judge(even, ink, (view >= 252) & (paper < 242), self._view(pose), cards)
        unknown = doubtful | self._moving(pose, moving_px) | self._cut_off(pose) | found.littered
        for zone, places in (found.ink | self._unexplained(fine, ink, cards, by_zone)).items():
            if all(card.name != UNREAD for card in by_zone[zone]):
                by_zone[zone].append(card_of_ink(places))
        fans = {}
        for zone in self.zones:
            lying = by_zone.get(zone, [])
            if zone in unknown or not lying:
                continue
            if self._all_explained(even, lying, cards) and not self._is_cut_off(pose, zone, lying):
                fans[zone] = self._order(zone, lying)
            else:
                unknown.add(zone)
        return Open(fans, frozenset(unknown), tuple(sorted(beside)), tuple(sorted(twins)))

    # ---- markers ----

    def _view(self, pose: Pose) -> Maps:
        """The board and some room around it from straight above."""
        if self._maps is None or self._maps[0] is not pose:
            board = self.kit.board
            high = (board.width_mm + _ROOM_MM, board.height_mm + _ROOM_MM)
            self._maps = (
                pose,
                pose.plane_maps((-_ROOM_MM, -_ROOM_MM), high, CARD_Z_MM, _SCALE),
            )
        return self._maps[1]

    def _to_mm(self, points: Points) -> Points:
        assert self._maps is not None
        return self._maps[1].to_board(points)

    def _marks(self, view: Luma, ink: Luma) -> tuple[dict[str, list[Points]], list[Points]]:
        """Markers of cards by name, (4, 2) mm each, and quadrangles that are none, in plain and sharpened view.

        `ink` is the (h, w) bold print of the view.
        """
        assert self._maps is not None
        marks: dict[str, list[Points]] = defaultdict(list)
        quads: list[Points] = []

        def note(sighting: Sighting) -> None:
            mark, name = self._to_mm(sighting.corners_px), self._names[sighting.marker]
            known = any(np.abs(mark.mean(axis=0) - other.mean(axis=0)).max() < 3 for other in marks[name])
            if not known and self._is_whole(mark):
                marks[name].append(mark)

        pictures = (view, sharpened(view))
        for picture in pictures:
            found = self._finder.find(picture)
            for sighting in found.sightings:
                note(sighting)
            quads += [self._to_mm(quad) for quad in found.rejected]
        # What is too soft to decode, or even to be a quadrangle, is told by its likeness in the sharpened view.
        boxes = _boxes(_joined(ink), (1 - _SIDE) * self._deck.marker_mm, 1.6 * self._deck.marker_mm)
        blobs = [self._to_mm(np.asarray(cv2.boxPoints(box), np.float64)) for box, _ in boxes]
        known = [mark.mean(axis=0) for places in marks.values() for mark in places]
        for quad in quads + blobs:
            if not self._is_whole(quad) or any(np.abs(quad.mean(axis=0) - other).max() < 6 for other in known):
                continue
            corners = self._maps[1].to_view(quad)
            guess = best_guess(pictures[1], corners, self._names, CARD_DICTIONARY, _LIKELY)
            if guess is not None:
                note(guess)
        return {name: places for name, places in marks.items() if places}, quads

    def _is_whole(self, mark: Points, within: float = _SIDE) -> bool:
        """Has it the size of a marker, nothing of it hidden?"""
        sides = np.linalg.norm(mark - np.roll(mark, -1, axis=0), axis=1)
        return bool(np.abs(sides / self._deck.marker_mm - 1).max() <= within)

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
        """Cards of which a whole marker is seen that does not decode."""
        assert self._maps is not None
        seen = [mark.mean(axis=0) for card in cards for mark in card.marks]
        read = [card for card in cards if card.name != UNREAD]
        seen += [place.mean(axis=0) for card in read for place in marker_places(self._deck, card)]
        found: list[Lying] = []
        for quad in quads:
            middle = quad.mean(axis=0)
            if any(np.abs(middle - other).max() < self._deck.marker_mm * 0.6 for other in seen):
                continue
            if not self._is_whole(quad) or modules_in(view, self._maps[1].to_view(quad)).mean() > _DARK * PAPER:
                continue
            seen.append(middle)
            found.append(unread_card(quad))
        return found

    def _slices(self, ink: Luma, cards: list[Lying]) -> list[Lying]:
        """Cards of which a marker shows that is no quadrangle, because something lies on it or for lack of light.

        `ink` is the (h, w) bold print of the view. Two things are taken for the rest of a marker: what is as long as a
        marker is wide and ends at the edge of a card; what is more solid than the other print of a card. Both only in
        the columns of cards' markers.
        """
        assert self._maps is not None
        side = self._deck.marker_mm
        blobs = _joined(ink)
        solid = cv2.morphologyEx(blobs, cv2.MORPH_OPEN, _square(_SOLID_MM))
        read = [card for card in cards if card.name != UNREAD]
        seen = [mark for card in cards for mark in card.marks]
        places = [place for card in read for place in marker_places(self._deck, card)]
        places += [printed_places(self._deck, card)[0] for card in read]
        smaller = [place for card in read for place in index_places(self._deck, card)]
        found: list[Lying] = []
        for is_solid, picture in ((False, blobs), (True, solid)):
            for box, area in _boxes(np.asarray(picture, np.uint8), 0.4 * side, 1.6 * side):
                quad = self._maps[1].to_board(np.asarray(cv2.boxPoints(box), np.float64))
                near = any(np.abs(quad.mean(axis=0) - mark.mean(axis=0)).max() < side * 0.6 for mark in seen)
                is_exact = self._is_whole(quad, _EXACT)
                known = places if is_exact else places + smaller
                is_in = self._is_in_zone(quad)
                if near or not (is_in or self._is_at_end(quad)) or any(_is_within(quad, place) for place in known):
                    continue
                long, short = max(box[1]) / _SCALE, min(box[1]) / _SCALE
                is_full = area >= _FULL * long * short
                is_cut = is_exact and not is_solid and area >= _CUT * long * short
                if is_in and (is_solid or is_cut or (is_full and self._is_whole(quad))):
                    covers = []
                    on = [card for card in read if card.depth_inside(quad).max() > 0]
                    upper = sorted(on, key=lambda card: _nearest_mm(card, quad))
                    # What has just the size of a marker may lie aside of the card above it, as askew cards do.
                    columns = (self._is_in_column(card, quad, half=True) for card in upper[: None if is_cut else 1])
                    is_marker = any(columns)
                else:
                    covers = [c.name for c in read if self._is_in_column(c, quad) and _is_at_edge(c, quad)]
                    is_marker = bool(covers) and abs(long / side - 1) <= _SIDE and short >= _RIM_MM
                    is_marker = is_marker and is_full
                if is_marker:
                    seen.append(quad)
                    found.append(unread_card(quad, covers))
        return found

    def _is_in_zone(self, quad: Points) -> bool:
        """Is the middle of a quadrangle within a zone, off its outline and the markers of the board?"""
        board, (x, y) = self.kit.board, quad.mean(axis=0)
        zone = board.square_at(x, y)
        if zone not in self.zones:
            return False
        middle_x, middle_y = board.centre_mm(zone)
        side, depth = board.square_mm / 2 - _MARGIN_MM, board.depth_mm / 2 - _MARGIN_MM
        return bool(abs(x - middle_x) < side and abs(y - middle_y) < depth)

    def _is_at_end(self, quad: Points) -> bool:
        """Does the middle of a quadrangle lie where cards reach out of a zone's outer end, off the board's markers?"""
        board, (x, y) = self.kit.board, quad.mean(axis=0)
        zone = board.square_at(x, float(y.clip(0, board.height_mm - 1)))
        if zone not in self.zones or not -_MARGIN_MM < max(-y, y - board.height_mm) < _OUT_MM:
            return False
        off = board.corner_mm / 2 + _MARGIN_MM
        corners = np.array(list(board.corner_centres_mm.values()))
        is_corner = (np.abs(corners - (x, y)).max(axis=1) < off).any()
        return bool(abs(x - board.centre_mm(zone)[0]) < board.square_mm / 2 - _MARGIN_MM and not is_corner)

    def _is_in_column(self, card: Lying, quad: Points, *, half: bool = False) -> bool:
        """Would a card that lies like this one, but farther up or down, have a marker here?

        With `half` only above the card's marker that is below, and below the other.
        """
        (x, y), turn = (float(v) for v in quad.mean(axis=0) - card.middle), card.turn
        across, along = (
            math.cos(turn) * x + math.sin(turn) * y,
            math.cos(turn) * y - math.sin(turn) * x,
        )
        column = (self._deck.width_mm - self._deck.marker_mm) / 2 - self._deck.inset_mm
        return abs(abs(across) - column) < _ASIDE_MM and (across * along > 0 or not half)

    # ---- zones ----

    def _in_zones(self, cards: Iterable[Lying], pose: Pose) -> tuple[dict[Square, list[Lying]], set[Square], list[str]]:
        """The cards of each zone; the zones between which one lies; the names of those beside."""
        board = self.kit.board
        by_zone: dict[Square, list[Lying]] = defaultdict(list)
        doubtful: set[Square] = set()
        beside = []
        every = list(cards)
        zones = {card.name: board.square_at(card.x_mm, card.y_mm) for card in every}
        for card in (self._brought_in(card, zones) for card in every):
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

    def _brought_in(self, card: Lying, zones: Mapping[str, Square | None]) -> Lying:
        """An unread card that is seen beside those that cover it, or beyond them, lies in the zone in which they do."""
        above = {zones[name] for name in card.covers if name in zones}
        zone = above.pop() if len(above) == 1 else None
        if card.name != UNREAD or zone not in self.zones:
            return card
        board, (x, y) = self.kit.board, self.kit.board.centre_mm(zone)
        side, depth = (size / 2 - 2 * _MARGIN_MM for size in (board.square_mm, board.depth_mm))
        return replace(
            card,
            x_mm=float(np.clip(card.x_mm, x - side, x + side)),
            y_mm=float(np.clip(card.y_mm, y - depth, y + depth)),
        )

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

    def _order(self, zone: Square, lying: Sequence[Lying]) -> tuple[str, ...]:
        """The names of a zone's open cards from the bottom to the top."""
        return fan_order(lying, self._up[zone.rank], _WIDEST_STEP * self._deck.step_mm)

    def _unexplained(
        self,
        fine: Luma,
        ink: Luma,
        cards: Sequence[Lying],
        by_zone: Mapping[Square, Sequence[Lying]],
    ) -> dict[Square, Points]:
        """(N, 2) mm of print that no card explains, by the zone whose cards all are read and to which it belongs."""
        read = {zone: lying for zone, lying in by_zone.items() if all(card.name != UNREAD for card in lying)}
        upper: dict[str, set[str]] = {}
        for zone, lying in read.items():
            order = self._order(zone, lying)
            if UNREAD not in order:
                upper |= {name: set(order[place + 1 :]) for place, name in enumerate(order)}
        if not read:
            return {}
        assert self._maps is not None
        maps = self._maps[1]
        found: dict[Square, list[Points]] = defaultdict(list)
        for places in unexplained((fine > 0, ink > 0), maps, (self.kit.board, self._deck), cards, upper):
            for zone in self._zones_near(places.mean(axis=0)) & read.keys():
                found[zone].append(places)
        by = {zone: np.vstack(parts) for zone, parts in found.items()}
        return {zone: places for zone, places in by.items() if len(places) / _SCALE**2 >= _PRINT_MM2}

    def _zones_near(self, place: Points) -> set[Square]:
        """The zones in which a place lies, beyond whose end it does, or out of which a card that lies askew reaches."""
        board, (x, y) = self.kit.board, place
        inside = float(y.clip(0, board.height_mm - 1))
        columns = (float((x + aside).clip(0, board.width_mm - 1)) for aside in (-_OVER_SIDE_MM, 0.0, _OVER_SIDE_MM))
        return {zone for column in columns if (zone := board.square_at(column, inside)) in self.zones and zone}

    def _is_cut_off(self, pose: Pose, zone: Square, lying: Sequence[Lying]) -> bool:
        """Could a card of this zone lie below the first one that is seen, its print out of the picture?"""
        up = np.array([0.0, self._up[zone.rank]])
        first = min(lying, key=lambda card: float(card.middle @ up))
        before = first.middle - _MARGIN_MM * up
        if self.kit.board.square_at(float(before[0]), float(before[1])) != zone:
            return False
        seen = pose.to_px(flat(first.outline - self._deck.step_mm * up, CARD_Z_MM))
        return bool((seen < 0).any() or (seen > np.array(pose.size) - 1).any())

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


def _is_at_edge(card: Lying, quad: Points) -> bool:
    return bool(-2.0 <= card.depth_inside(quad).max() <= 2.0)


def _is_within(quad: Points, mark: Points) -> bool:
    """Is a quadrangle a marker of which the place is known, or a part of it?"""
    outline = mark.astype(np.float32)
    return all(cv2.pointPolygonTest(outline, (float(x), float(y)), True) > -_OVER_MM for x, y in quad)


def _nearest_mm(card: Lying, quad: Points) -> float:
    """How far the nearest marker that is seen of a card is: what lies uppermost is what shows its marker next to it."""
    return min(float(np.abs(mark.mean(axis=0) - quad.mean(axis=0)).max()) for mark in card.marks)


def _square(size_mm: float) -> NDArray[np.uint8]:
    return np.ones((round(size_mm * _SCALE),) * 2, np.uint8)


def _joined(ink: Luma) -> Luma:
    """Print with the white inside of markers closed."""
    return np.asarray(cv2.morphologyEx(ink, cv2.MORPH_CLOSE, _square(_GAP_MM)), np.uint8)


def _boxes(picture: Luma, least_mm: float, most_mm: float) -> Iterator[tuple[Any, float]]:
    """The smallest rectangle, as OpenCV has it, round each blob of such a size in the view; the blob's area in mm²."""
    _, labels, stats, _ = cv2.connectedComponentsWithStats(picture)
    for label, (x, y, width, height, area) in enumerate(stats):
        if label and least_mm < max(width, height) / _SCALE < most_mm:
            points = np.argwhere(labels[y : y + height, x : x + width] == label)[:, ::-1] + (x, y)
            yield cv2.minAreaRect(points.astype(np.float32)), area / _SCALE**2


def _is_like(view: Luma, quad: Points, marker: int) -> bool:
    """Does a quadrangle show roughly this marker?"""
    means = modules_in(view, quad)
    print_ = marker_modules(marker, CARD_DICTIONARY).astype(np.float64)
    return float(np.corrcoef(means.ravel(), print_.ravel())[0, 1]) >= _LIKENESS
