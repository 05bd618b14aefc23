"""Open cards in the zones of a board: which they are, how they lie on each other, and which zones cannot be told.

The board is looked at from straight above at the height of cards; only whole markers of the deck without a wrong module
count, or such as are too soft to decode and clearly like that of one card only. A card that is there and not read is an
`X`; a zone with anything else in it is unknown. What lies plainly is told at a glance, all else by a close look.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from companion.core.grid import Square
from companion.core.kit import CARD_DICTIONARY, Kit, Layout, Seat
from vision.cards.bare_board import is_bare, places_beside
from vision.cards.card_occlusion import CardOcclusion
from vision.cards.card_view import PAPER, SCALE, CardView, card_view, shown_by
from vision.cards.fans import (
    UNREAD,
    Lying,
    Spread,
    card_of_ink,
    fan_order,
    marker_places,
    on_cards,
    zones_of,
)
from vision.cards.finder import CardFinder
from vision.cards.glance import Glance, glance_at
from vision.cards.hidden_lines import seen_lines
from vision.cards.plain_fans import PlainFans
from vision.cards.unexplained_print import paper_mm
from vision.cards.unread import UnreadCards
from vision.detection.markers import Luma, likeness
from vision.pose.pose import Maps, Points, Pose, boxes_mm, flat

CARD_Z_MM = 0.3
_ROOM_MM = 40.0
"""Cards may stick out of the board so far."""
_MARGIN_MM = 3.0
"""The middle of a card must lie this far inside its zone."""
_LINE_SHARE = 0.8
"""Where so much of a line is seen below a fan, no card lies on it."""
_WIDEST_STEP = 1.9
"""Between cards that lie farther apart than this, in steps of a fan, another may lie out of sight."""
_OUT_MM = 5.0
"""So far beyond what is judged of the board's paper there is none of it, ..."""
_BESIDE_MM, _BRIGHT, _BRIGHT_MM = 1.5, 0.7, 3
"""... and what is as bright, by paper, over so much of the edge of a card, so far beside it, may be a card below it."""
_SEEN_MM = 6.0
"""A marker that is seen so near to a place lies there."""
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
    """Reads the cards of one kit. What lies plainly is told at a glance; else the `finder` tells which are seen,
    `occlusion` which zones hold anything else, and `unread` where a card lies that was not read."""

    def __init__(self, kit: Kit, finder: CardFinder, occlusion: CardOcclusion, unread: UnreadCards) -> None:
        assert kit.deck is not None
        self.kit, self._deck = kit, kit.deck
        deck = kit.deck
        self.zones = zones_of(kit.board, deck)
        self._names = {card.marker: card.name for card in deck.cards}
        self._markers = {card.name: card.marker for card in deck.cards}
        self._up = {rank: 1.0 if seat is Seat.SOUTH else -1.0 for seat, rank in deck.zones.items()}
        self._finder, self._occlusion, self._unread = finder, occlusion, unread
        self._plain = PlainFans(kit)
        board = np.array([kit.board.width_mm, kit.board.height_mm])
        self._room = np.full(2, -_ROOM_MM), board + _ROOM_MM
        self._maps: tuple[Pose, Maps, Luma] | None = None

    @property
    def markers(self) -> frozenset[int]:
        """The ids of all cards' markers."""
        return frozenset(self._names)

    def read(self, luma: Luma, pose: Pose, moving_px: Points, small: Luma | None = None) -> Open:
        """The cards of a (height, width) picture, which is there made `small` already; (N, 2) `moving_px` are places
        where something moves."""
        if (plain := self._at_a_glance(luma, small, pose, moving_px)) is not None:
            return plain
        view = card_view(luma, *self._above(pose), self.kit.board.square_mm)
        cards, twins = self._finder.find(view)
        by_zone, doubtful, beside = self._in_zones(cards, pose)
        found = self._occlusion.judge(view, cards)
        unknown = doubtful | self._moving(pose, moving_px) | self._cut_off(pose) | found.littered
        orders = {zone: self._order(zone, lying) for zone, lying in by_zone.items()}
        if not any(by_zone.values()):
            return Open({}, frozenset(unknown), tuple(sorted(beside)), tuple(sorted(twins)))
        lines = seen_lines(view, self.kit.board, cards)
        partly = {zone for zone, lying in by_zone.items() if any(card.name == UNREAD for card in lying)}
        whole = {zone: (lying, orders[zone]) for zone, lying in by_zone.items()}
        unread = self._unread.find(view, lines, cards, whole, unknown | partly | set(found.ink))
        for zone, places in (unread | found.ink).items():
            if by_zone.get(zone) and all(card.name != UNREAD for card in by_zone[zone]):
                by_zone[zone].append(card_of_ink(places))
                orders[zone] = self._order(zone, by_zone[zone])
        fans, spread, cut = {}, Spread(cards), self._cut_below(pose, by_zone, lines.seen)
        for zone in self.zones:
            lying = by_zone.get(zone, [])
            if zone in unknown or not lying:
                continue
            is_cut = zone in cut or self._may_hide_beyond(view, lying, spread)
            if self._all_explained(view, lying, spread) and not is_cut:
                fans[zone] = orders[zone]
            else:
                unknown.add(zone)
        return Open(fans, frozenset(unknown), tuple(sorted(beside)), tuple(sorted(twins)))

    def _at_a_glance(self, luma: Luma, small: Luma | None, pose: Pose, moving_px: Points) -> Open | None:
        """The same of a board that is bare, or on which cards lie plainly; None when it has to be read closely."""
        glance = glance_at(luma, pose, self.kit, self._room, CARD_Z_MM, small=small)
        fans = dict[Square, tuple[str, ...]]()
        cards, aside = list[Lying](), list[str]()
        if not is_bare(glance, self.kit):
            seen = self._plain.cards(glance, luma, pose)
            if not seen:
                return None
            cards = seen
            by_zone, doubtful, aside = self._in_zones(cards, pose)
            fans = {zone: self._order(zone, lying) for zone, lying in by_zone.items()}
            if doubtful or not by_zone or not self._is_plain(glance, pose, by_zone, fans):
                return None
        beside, strangers = set(aside), set[int]()
        for low, high in places_beside(glance, self.kit, cards):
            maps = pose.plane_maps(tuple(low.tolist()), tuple(high.tolist()), CARD_Z_MM, SCALE)
            part = card_view(luma, maps, shown_by(maps, pose.size), self.kit.board.square_mm)
            near, twins = self._finder.find(part)
            by_zone, doubtful, names = self._in_zones(near, pose)
            if by_zone or doubtful:
                return None
            beside |= set(names)
            strangers |= twins
        found = self._occlusion.judge_half(glance.for_occlusion(), cards)
        if cards and (found.littered or found.ink):
            return None
        unknown = self._moving(pose, moving_px) | self._cut_off(pose) | found.littered
        known = {zone: names for zone, names in fans.items() if zone not in unknown}
        return Open(known, frozenset(unknown), tuple(sorted(beside)), tuple(sorted(strangers)))

    def _is_plain(
        self,
        glance: Glance,
        pose: Pose,
        by_zone: Mapping[Square, list[Lying]],
        orders: Mapping[Square, tuple[str, ...]],
    ) -> bool:
        """Is it plain how all cards lie, and that there are no more?"""
        if any(UNREAD in names for names in orders.values()):
            return False
        fans = [sorted(lying, key=lambda card: orders[zone].index(card.name)) for zone, lying in by_zone.items()]
        if not self._plain.is_all(glance, fans):
            return False
        cards = [card for fan in fans for card in fan]
        lines, spread = seen_lines(glance.view, self.kit.board, cards), Spread(cards)
        if lines.hidden or not self._all_explained(glance.view, cards, spread):
            return False
        is_out = self._may_hide_beyond(glance.view, cards, spread)
        if is_out and any(self._may_hide_beyond(glance.view, lying, spread) for lying in by_zone.values()):
            return False
        return not self._cut_below(pose, by_zone, lines.seen)

    def _above(self, pose: Pose) -> tuple[Maps, Luma]:
        """The board and some room around it from straight above, and what of that the picture shows."""
        if self._maps is None or self._maps[0] is not pose:
            low, high = self._room
            maps = pose.plane_maps(tuple(low.tolist()), tuple(high.tolist()), CARD_Z_MM, SCALE)
            self._maps = pose, maps, shown_by(maps, pose.size)
        return self._maps[1:]

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
        board, high = self.kit.board, np.array(pose.size) - 1
        middles = np.array([board.centre_mm(zone) for zone in self.zones])
        corners = boxes_mm(middles, board.square_mm, board.depth_mm)
        seen = pose.to_px(flat(corners)).reshape(-1, 4, 2)
        is_cut = ((seen < 0) | (seen > high)).any(axis=(1, 2))
        return {self.zones[number] for number in np.flatnonzero(is_cut)}

    def _order(self, zone: Square, lying: Sequence[Lying]) -> tuple[str, ...]:
        """The names of a zone's open cards from the bottom to the top."""
        return fan_order(lying, self._up[zone.rank], _WIDEST_STEP * self._deck.step_mm)

    def _may_hide_beyond(self, view: CardView, lying: Sequence[Lying], spread: Spread) -> bool:
        """Does a card of a zone reach so far out of the board's paper that print of one below it is not judged, and is
        there anything as bright as a card beside it?"""
        low, high = paper_mm(self.kit.board) + np.array([[-_OUT_MM], [_OUT_MM]])
        outlines = np.array([card.outline for card in lying if card.name != UNREAD]).reshape(-1, 4, 2)
        if not ((outlines < low) | (outlines > high)).any():
            return False
        places = np.vstack([_around(outline, _BESIDE_MM) for outline in outlines])
        places = places[((places < low) | (places > high)).any(axis=1)]
        covered = np.array([card.depth_inside(places) for card in spread.cards]).max(axis=0, initial=-np.inf)
        columns, rows = view.maps.to_view(places[covered < -_BESIDE_MM / 2]).round().astype(int).T
        height, width = view.even.shape
        is_in = (columns >= 0) & (rows >= 0) & (columns < width) & (rows < height)
        return bool((view.even[rows[is_in], columns[is_in]] > _BRIGHT * PAPER).sum() >= _BRIGHT_MM)

    def _cut_below(self, pose: Pose, by_zone: Mapping[Square, Sequence[Lying]], seen: Points) -> set[Square]:
        """The zones in which a card may lie below the first one that is seen, its print out of the picture.

        It would hide the outer line of the zone, of which (N, 2) mm are `seen`.
        """
        zones = [zone for zone, lying in by_zone.items() if lying]
        firsts = [min(by_zone[zone], key=lambda card: card.y_mm * self._up[zone.rank]) for zone in zones]
        steps = self._deck.step_mm * np.array([(0.0, self._up[zone.rank]) for zone in zones]).reshape(-1, 1, 2)
        ends = np.array([first.outline for first in firsts]).reshape(-1, 4, 2) - steps
        beyond = pose.to_px(flat(ends, CARD_Z_MM)).reshape(-1, 4, 2)
        is_out = ((beyond < 0) | (beyond > np.array(pose.size) - 1)).any(axis=(1, 2))
        asked = (
            number for number in np.flatnonzero(is_out) if self._may_lie_below(zones[number], firsts[number], seen)
        )
        return {zones[number] for number in asked}

    def _may_lie_below(self, zone: Square, first: Lying, seen: Points) -> bool:
        """Is there room for a card below the first one of a zone, and its outer line not seen there?"""
        up = np.array([0.0, self._up[zone.rank]])
        before = first.middle - _MARGIN_MM * up
        if self.kit.board.square_at(float(before[0]), float(before[1])) != zone:
            return False
        end = self.kit.board.centre_mm(zone)[1] - up[1] * self.kit.board.depth_mm / 2
        low, high = first.outline[:, 0].min(), first.outline[:, 0].max()
        there = (np.abs(seen[:, 1] - end) < 0.5) & (seen[:, 0] > low) & (seen[:, 0] < high)
        return bool(there.sum() < _LINE_SHARE * (high - low))

    def _all_explained(self, view: CardView, lying: Sequence[Lying], spread: Spread) -> bool:
        """Is every marker of these cards, all of them among those that are `spread`, seen, or under another card?"""
        read = [card for card in lying if card.name != UNREAD]
        if not read:
            return True
        places = on_cards(read, marker_places(self._deck))
        seen = np.array([(card.marks[0], card.marks[-1]) for card in read]).mean(axis=2)
        away = np.abs(seen[:, :, None] - places.mean(axis=2)[:, None]).max(axis=3).min(axis=1)
        owners, which = np.nonzero(away >= _SEEN_MM)
        holding, number = spread.holding(places[owners, which], -1.0), {id(c): n for n, c in enumerate(spread.cards)}
        holding[np.arange(len(owners)), [number[id(read[owner])] for owner in owners]] = False
        is_open = ~np.asarray(holding.any(axis=1))
        return all(
            likeness(view.even, view.maps.to_view(places[owner, one]), self._markers[read[owner].name], CARD_DICTIONARY)
            >= _LIKENESS
            for owner, one in zip(owners[is_open], which[is_open], strict=True)
        )


def _around(outline: Points, beside_mm: float) -> Points:
    """(N, 2): a place each millimetre round an outline, so far outside of it."""
    ends, out = np.roll(outline, -1, axis=0), outline.mean(axis=0)
    sides = []
    for start, end in zip(outline, ends, strict=True):
        length = float(np.linalg.norm(end - start))
        way = (start + end) / 2 - out
        along = start + np.arange(0.5, length)[:, None] * (end - start) / length
        sides.append(along + beside_mm * way / np.linalg.norm(way))
    return np.vstack(sides)


def card_reader(kit: Kit) -> CardReader:
    """The reader of a kit with cards; raises ValueError for any other."""
    if kit.deck is None:
        raise ValueError(f"the kit of {kit.game} has no cards")
    zones = zones_of(kit.board, kit.deck)
    return CardReader(kit, CardFinder(kit, zones), CardOcclusion(kit.board, kit.deck), UnreadCards(kit, zones))
