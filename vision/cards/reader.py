"""Open cards in the zones of a board: which they are, how they lie on each other, and which zones
cannot be told.

The board is looked at from straight above at the height of cards. A card counts by a whole marker
without a wrong module, or by one that is too soft to decode and clearly like that of one card only.
A card whose marker is seen and not read is an `X`; a zone with anything else in it is unknown. How
many cards lie in a stack is for people to confirm.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from companion.core.grid import Square
from companion.core.kit import Kit, Layout, Seat
from vision.cards.card_view import SCALE, card_view, shown_by
from vision.cards.covered_zones import ZoneCover
from vision.cards.fans import UNREAD, OpenCard, fan_order, zones_of
from vision.cards.finder import CardFinder
from vision.detection.markers import Luma
from vision.pose.pose import Maps, Points, Pose, boxes_mm, flat

CARD_Z_MM = 0.3
_ROOM_MM = 40.0
"""Cards may stick out of the board so far."""
_MARGIN_MM = 3.0
"""The middle of a card must lie this far inside its zone."""
_WIDEST_STEP = 1.9
"""Between cards that lie farther apart than this, in steps of a fan, another may lie out of sight.
"""


@dataclass(frozen=True)
class Open:
    """The open cards of one picture, see `companion.core.ports.Reading`."""

    fans: Layout
    unknown: frozenset[Square]
    beside: tuple[str, ...]
    strangers: tuple[int, ...]


class CardReader:
    """Reads the cards of one kit: the `finder` tells which are seen, `cover` which zones hold
    anything else."""

    def __init__(self, kit: Kit, finder: CardFinder, cover: ZoneCover) -> None:
        assert kit.deck is not None
        self.kit, self._deck = kit, kit.deck
        self.zones = zones_of(kit.board, kit.deck)
        self._names = {card.marker: card.name for card in kit.deck.cards}
        self._up = {
            rank: 1.0 if seat is Seat.SOUTH else -1.0 for seat, rank in kit.deck.zones.items()
        }
        self._finder, self._cover = finder, cover
        board = np.array([kit.board.width_mm, kit.board.height_mm])
        self._room = np.full(2, -_ROOM_MM), board + _ROOM_MM
        self._maps: tuple[Pose, Maps, Luma] | None = None

    @property
    def markers(self) -> frozenset[int]:
        """Ids of all cards' markers."""
        return frozenset(self._names)

    def read(self, luma: Luma, pose: Pose, moving_px: Points | None) -> Open:
        """Read the cards of a (height, width) picture; (N, 2) `moving_px` are places where
        something moves."""
        view = card_view(luma, *self._above(pose), self.kit.board.square_mm)
        cards, twins = self._finder.find(view)
        by_zone, doubtful, beside = self._in_zones(cards, pose)
        unknown = (
            doubtful
            | self._moving(pose, moving_px)
            | self._cut_off(pose)
            | self._cover.covered(view, cards)
        )
        fans = {
            zone: self._order(zone, lying) for zone, lying in by_zone.items() if zone not in unknown
        }
        return Open(fans, frozenset(unknown), tuple(sorted(beside)), tuple(sorted(twins)))

    def _above(self, pose: Pose) -> tuple[Maps, Luma]:
        """The board and some room around it from straight above, and what of that the picture
        shows."""
        if self._maps is None or self._maps[0] is not pose:
            low, high = self._room
            maps = pose.plane_maps(tuple(low.tolist()), tuple(high.tolist()), CARD_Z_MM, SCALE)
            self._maps = pose, maps, shown_by(maps, pose.size)
        return self._maps[1:]

    # ---- zones ----

    def _in_zones(
        self, cards: Iterable[OpenCard], pose: Pose
    ) -> tuple[dict[Square, list[OpenCard]], set[Square], list[str]]:
        """The cards of each zone; the zones between which one lies; the names of those beside."""
        board = self.kit.board
        by_zone: dict[Square, list[OpenCard]] = defaultdict(list)
        doubtful: set[Square] = set()
        beside = []
        every = list(cards)
        middles = flat(np.array([card.middle for card in every]).reshape(-1, 2), CARD_Z_MM)
        for card, spread in zip(every, pose.spread_mm(middles) if every else (), strict=True):
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

    def _moving(self, pose: Pose, moving_px: Points | None) -> set[Square]:
        """Zones in which something moves."""
        if moving_px is None:
            return set()
        places = pose.to_plane(moving_px)
        squares = {
            self.kit.board.square_at(x, y) for x, y in places[np.isfinite(places).all(axis=1)]
        }
        return {square for square in squares if square in self.zones}

    def _cut_off(self, pose: Pose) -> set[Square]:
        """Zones that are not wholly in the picture."""
        board, high = self.kit.board, np.array(pose.size) - 1
        middles = np.array([board.centre_mm(zone) for zone in self.zones])
        corners = boxes_mm(middles, board.square_mm, board.depth_mm)
        seen = pose.to_px(flat(corners)).reshape(-1, 4, 2)
        is_cut = ((seen < 0) | (seen > high)).any(axis=(1, 2))
        return {self.zones[number] for number in np.flatnonzero(is_cut)}

    def _order(self, zone: Square, lying: Sequence[OpenCard]) -> tuple[str, ...]:
        """The names of a zone's open cards from the bottom to the top."""
        return fan_order(lying, self._up[zone.rank], _WIDEST_STEP * self._deck.step_mm)


def card_reader(kit: Kit) -> CardReader:
    """The reader of a kit with cards; raises ValueError for any other."""
    if kit.deck is None:
        raise ValueError(f"the kit of {kit.game} has no cards")
    return CardReader(kit, CardFinder(kit.deck), ZoneCover(kit.board, kit.deck))
