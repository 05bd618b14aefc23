"""Open cards in the zones of a board: which they are, how they lie on each other, and which zones cannot be told.

The board is looked at from straight above at the height of cards; only whole markers of the deck without a wrong module
count, or such as are too soft to decode and clearly like that of one card only. A card that is there and not read is an
`X`; a zone with anything else in it is unknown.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from companion.core.grid import Square
from companion.core.kit import CARD_DICTIONARY, Kit, Layout, Seat
from vision.cards.card_occlusion import CardOcclusion, DarkPrint, dark_print, evened, paper_of
from vision.cards.fans import (
    UNREAD,
    Lying,
    card_of_ink,
    fan_order,
    lying_on,
    marker_places,
)
from vision.cards.finder import SCALE, CardFinder, middles_of
from vision.cards.hidden_lines import hidden_corners, hidden_lines
from vision.cards.unexplained_print import unexplained
from vision.detection.markers import (
    Luma,
    marker_modules,
    modules_in,
)
from vision.pose.pose import Maps, Points, Pose, flat, rectangle_corners_mm

CARD_Z_MM = 0.3
_ROOM_MM = 40.0
"""Cards may stick out of the board so far."""
_MARGIN_MM = 3.0
"""The middle of a card must lie this far inside its zone."""
_PRINT_MM2 = 2.0
"""Less of it in a zone is no print."""
_OVER_SIDE_MM = 5.0
"""Print so far beyond the side of a zone may be that of its cards."""
_TOUCH_MM = 2.0
"""Print so close to a card may be that of one below it, wherever it lies."""
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
        self._up = {rank: 1.0 if seat is Seat.SOUTH else -1.0 for seat, rank in deck.zones.items()}
        self._finder = CardFinder(kit, self.zones)
        self._litter = CardOcclusion(kit.board, deck)
        self._maps: tuple[Pose, Maps] | None = None

    @property
    def markers(self) -> frozenset[int]:
        """The ids of all cards' markers."""
        return frozenset(self._names)

    @cached_property
    def zones(self) -> tuple[Square, ...]:
        """Where fans lie."""
        return tuple(square for square in self.kit.board.squares if square.rank in self._up)

    def read(self, luma: Luma, pose: Pose, moving_px: Points) -> Open:
        """The cards of a (height, width) picture; (N, 2) `moving_px` are places where something moves."""
        view = self._view(pose).rectify(luma)
        paper = paper_of(view, SCALE, self.kit.board.square_mm)
        even = evened(view, paper)
        ink = dark_print(even, SCALE)
        cards, twins = self._finder.find(even, ink, self._view(pose))
        by_zone, doubtful, beside = self._in_zones(cards, pose)
        found = self._litter.judge(even, ink.bold, (view >= 252) & (paper < 242), self._view(pose), cards)
        unknown = doubtful | self._moving(pose, moving_px) | self._cut_off(pose) | found.littered
        orders = {zone: self._order(zone, lying) for zone, lying in by_zone.items()}
        # A zone that is not told whole accounts for what lies beside it as well.
        accounted = unknown | {z for z, lying in by_zone.items() if any(card.name == UNREAD for card in lying)}
        hidden = self._hidden(even, pose, cards, accounted)
        for zone, places in (found.ink | self._unexplained(ink, cards, by_zone, orders) | hidden).items():
            if by_zone.get(zone) and all(card.name != UNREAD for card in by_zone[zone]):
                by_zone[zone].append(card_of_ink(places))
                orders[zone] = self._order(zone, by_zone[zone])
        fans = {}
        for zone in self.zones:
            lying = by_zone.get(zone, [])
            if zone in unknown or not lying:
                continue
            if self._all_explained(even, lying, cards) and not self._is_cut_off(pose, zone, lying):
                fans[zone] = orders[zone]
            else:
                unknown.add(zone)
        return Open(fans, frozenset(unknown), tuple(sorted(beside)), tuple(sorted(twins)))

    def _view(self, pose: Pose) -> Maps:
        """The board and some room around it from straight above."""
        if self._maps is None or self._maps[0] is not pose:
            board = self.kit.board
            high = (board.width_mm + _ROOM_MM, board.height_mm + _ROOM_MM)
            self._maps = (
                pose,
                pose.plane_maps((-_ROOM_MM, -_ROOM_MM), high, CARD_Z_MM, SCALE),
            )
        return self._maps[1]

    # ---- zones ----

    def _in_zones(self, cards: Iterable[Lying], pose: Pose) -> tuple[dict[Square, list[Lying]], set[Square], list[str]]:
        """The cards of each zone; the zones between which one lies; the names of those beside."""
        board = self.kit.board
        by_zone: dict[Square, list[Lying]] = defaultdict(list)
        doubtful: set[Square] = set()
        beside = []
        every = list(cards)
        zones = {card.name: board.square_at(card.x_mm, card.y_mm) for card in every}
        brought = [self._brought_in(card, zones) for card in every]
        middles = flat(np.array([card.middle for card in brought]).reshape(-1, 2), CARD_Z_MM)
        for card, spread in zip(brought, pose.spread_mm(middles) if brought else (), strict=True):
            margin = _MARGIN_MM + 2 * float(spread)
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
        ink: DarkPrint,
        cards: Sequence[Lying],
        by_zone: Mapping[Square, Sequence[Lying]],
        orders: Layout,
    ) -> dict[Square, Points]:
        """(N, 2) mm of print that no card explains, by the zone whose cards all are read and to which it belongs."""
        read = {zone: lying for zone, lying in by_zone.items() if all(card.name != UNREAD for card in lying)}
        if not read:
            return {}
        assert self._maps is not None
        maps = self._maps[1]
        found: dict[Square, list[Points]] = defaultdict(list)
        upper = _upper_cards((lying, orders[zone]) for zone, lying in by_zone.items())
        for places in unexplained(ink, maps, (self.kit.board, self._deck), cards, upper):
            x, y = places.mean(axis=0)
            home = self.kit.board.square_at(float(x), float(y.clip(0, self.kit.board.height_mm - 1)))
            for zone, lying in read.items():
                near = (card for card in lying if card.may_touch(places, _TOUCH_MM))
                if zone == home or any(card.depth_inside(places).max() > -_TOUCH_MM for card in near):
                    found[zone].append(places)
        by = {zone: np.vstack(parts) for zone, parts in found.items()}
        return {zone: places for zone, places in by.items() if len(places) / SCALE**2 >= _PRINT_MM2}

    def _hidden(
        self, even: Luma, pose: Pose, cards: Sequence[Lying], accounted: Collection[Square]
    ) -> dict[Square, Points]:
        """(N, 2) mm of the board's print that is hidden by what is not read, by the zones beside it."""
        maps, board = self._view(pose), self.kit.board
        places = [*hidden_lines(even, maps, board, cards), *hidden_corners(even, maps, board, cards)]
        return {zone: part for part in places for zone in self._zones_near(part.mean(axis=0), accounted)}

    def _zones_near(self, place: Points, accounted: Collection[Square]) -> set[Square]:
        """The zones in which a place lies, beyond whose end it does, or out of which a card that lies askew reaches.

        Zones that are unknown, or hold an unread card already, are `accounted` for and for what lies beside them.
        """
        board, (x, y) = self.kit.board, place
        inside = float(y.clip(0, board.height_mm - 1))
        columns = (float((x + aside).clip(0, board.width_mm - 1)) for aside in (-_OVER_SIDE_MM, 0.0, _OVER_SIDE_MM))
        low, here, high = (board.square_at(column, inside) for column in columns)
        zones = {zone for zone in (low, here, high) if zone in self.zones and zone}
        return zones if zones.isdisjoint(accounted) else {zone for zone in zones if zone == here} - set(accounted)

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
            marks = middles_of(card.marks)
            for place in marker_places(self._deck, card):
                if (np.abs(marks - place.mean(axis=0)).max(axis=1) < 6).any():
                    continue
                near = (other for other in cards if other is not card and other.may_touch(place))
                if any(other.depth_inside(place).max() > -1 for other in near):
                    continue
                if not _is_like(view, self._maps[1].to_view(place), self._markers[card.name]):
                    return False
        return True


def _upper_cards(fans: Iterable[tuple[Sequence[Lying], Sequence[str]]]) -> dict[str, set[str]]:
    """By name which cards lie above each one, of fans and their orders: in a fan without an unread card by its order,
    and by what shows a marker on a card of another fan."""
    upper, read = dict[str, set[str]](), list[Lying]()
    for lying, order in fans:
        own = [card for card in lying if card.name != UNREAD]
        read += own
        above = order if UNREAD not in order else ()
        upper |= {card.name: set(above[above.index(card.name) + 1 :]) if above else set() for card in own}
    for lower in read:
        on_it = {read[index].name for index in np.flatnonzero(lying_on(lower, read))}
        upper[lower.name] = upper[lower.name].union(on_it, *(upper[name] for name in on_it)) - {lower.name}
    return upper


def _is_like(view: Luma, quad: Points, marker: int) -> bool:
    """Does a quadrangle show roughly this marker?"""
    means = modules_in(view, quad)
    print_ = marker_modules(marker, CARD_DICTIONARY).astype(np.float64)
    return float(np.corrcoef(means.ravel(), print_.ravel())[0, 1]) >= _LIKENESS
