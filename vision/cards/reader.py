"""Reads open cards in the zones of a board: their names, their order, and what stays unknown.

1. View the board from straight above, at the height of cards (`card_view`).
2. Find the cards by their markers (`finder`). A card whose marker is visible but not readable is an
   `X`.
3. Sort the cards into zones.
4. Zones with anything else in them are unknown (`covered_zones`), and so are those in which
   something moves.
5. Order the cards of every other zone (`fans`).

How many cards lie in a stack cannot be seen, so people confirm it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from companion.core.grid import Square
from companion.core.kit import Deck, Kit, Layout, Seat
from vision.cards.card_view import MAX_SCALE, Mask, card_view
from vision.cards.covered_zones import CoverDetector
from vision.cards.fans import UNREAD, OpenCard, order_fan, zones_of
from vision.cards.finder import CardFinder
from vision.detection.markers import Luma
from vision.pose.pose import Points, Pose, TopView, at_height, middle_mm

# Height of a card's face above the board: the thickness of a playing card.
CARD_Z_MM = 0.3

# Maximum distance in mm by which cards stick out of the board. Larger: each view takes more time.
_MAX_OUTSIDE_MM = 40.0

# Resolution of the view from above, relative to the picture's own in the middle of the board. It
# is larger than 1, so that the nearer half keeps its resolution. Larger: each picture takes more
# time. Smaller: less is read.
_MAGNIFICATION = 1.3

# Minimum distance in mm from the middle of a card to the edge of its zone. A card nearer to it may
# be meant for either zone.
_MIN_INSIDE_MM = 3.0


@dataclass(frozen=True)
class OpenCards:
    """The open cards of one picture. They become part of a `companion.core.ports.Reading`."""

    fans: Layout
    """Names of cards by zone, from the bottom to the top."""
    unknown: frozenset[Square]
    """Zones whose cards are unknown."""
    beside: tuple[str, ...]
    """Names of cards that lie in no zone."""
    duplicates: tuple[int, ...]
    """Ids of markers that belong to more than one card."""


class CardReader:
    """Reads the cards of one kit that has a deck.

    The board reader's memory keeps a card reader while its board is in view. From one picture to
    the next, a card reader keeps only the geometry of the view for the last pose.
    """

    def __init__(self, kit: Kit, deck: Deck) -> None:
        self._board = kit.board
        self._deck = deck
        self.zones = zones_of(kit.board, deck)
        """The zones in which fans lie."""
        self.markers = frozenset(card.marker for card in deck.cards)
        """Ids of all cards' markers."""
        self._finder = CardFinder(deck)
        self._cover_detector = CoverDetector(kit.board, deck)
        # The view for the last pose, and which of its pixels are inside the picture.
        self._top_view: tuple[Pose, TopView, Mask] | None = None

    def read(self, luma: Luma, pose: Pose, moving_px: Points | None) -> OpenCards:
        """Return the open cards of a (height, width) picture.

        `moving_px` (N, 2) are points at which something moves. Their zones are unknown.
        """
        # View the board from straight above, with even paper, and find the cards.
        top_view, in_picture = self._view_from_above(pose)
        view = card_view(luma, top_view, in_picture, self._board.square_mm)
        cards, duplicates = self._finder.find(view)

        # Sort the cards into zones, and find the zones that stay unknown.
        by_zone, unknown, beside = self._sort_into_zones(cards, pose)
        unknown |= self._cover_detector.covered_zones(view, cards)
        if moving_px is not None:
            unknown |= self._moving_zones(pose, moving_px)

        # Order the cards of the other zones.
        fans = {}
        for zone, zone_cards in by_zone.items():
            if zone not in unknown:
                # Fans grow away from their seat.
                direction = 1.0 if self._deck.zones[Seat.SOUTH] == zone.rank else -1.0
                fans[zone] = order_fan(zone_cards, direction, self._deck)
        return OpenCards(
            fans=fans,
            unknown=frozenset(unknown),
            beside=tuple(sorted(beside)),
            duplicates=tuple(sorted(duplicates)),
        )

    def _view_from_above(self, pose: Pose) -> tuple[TopView, Mask]:
        """Return the view of the board with a margin, and the mask of its pixels in the picture.

        Both are computed once for each pose.
        """
        if self._top_view is None or self._top_view[0] is not pose:
            low = (-_MAX_OUTSIDE_MM, -_MAX_OUTSIDE_MM)
            high = (self._board.width_mm + _MAX_OUTSIDE_MM, self._board.height_mm + _MAX_OUTSIDE_MM)
            # Not much finer than the picture itself, so that a small picture costs less.
            picture_scale = float(pose.px_per_mm(middle_mm(self._board))[0])
            scale = min(MAX_SCALE, _MAGNIFICATION * picture_scale)
            top_view = pose.top_view(low, high, CARD_Z_MM, scale)
            self._top_view = pose, top_view, top_view.pixels_in_picture(pose.size)
        return self._top_view[1:]

    def _sort_into_zones(
        self, cards: Iterable[OpenCard], pose: Pose
    ) -> tuple[dict[Square, list[OpenCard]], set[Square], list[str]]:
        """Return the cards of each zone, the doubtful zones, and the names of cards beside them.

        A zone is doubtful if a card lies between it and another one, or at its edge.
        """
        by_zone: dict[Square, list[OpenCard]] = defaultdict(list)
        doubtful = set[Square]()
        beside = []
        for card in cards:
            # Which zones may its middle be in, given the uncertainty of the pose?
            sigma_mm = float(pose.sigma_mm(at_height(card.middle, CARD_Z_MM))[0])
            margin = _MIN_INSIDE_MM + 2 * sigma_mm
            squares = set()
            for right, up in ((margin, 0.0), (-margin, 0.0), (0.0, margin), (0.0, -margin)):
                squares.add(self._board.square_at(card.x_mm + right, card.y_mm + up))
            # It is in one zone, perhaps in one of several, or beside all of them.
            zones = self._zones_among(squares)
            if zones and len(squares) == 1:
                by_zone[zones.pop()].append(card)
            elif zones:
                doubtful |= zones
            elif card.name != UNREAD:
                beside.append(card.name)
        return by_zone, doubtful, beside

    def _moving_zones(self, pose: Pose, moving_px: Points) -> set[Square]:
        """Return the zones in which something moves."""
        points_mm = pose.to_plane(moving_px)
        on_board = points_mm[np.isfinite(points_mm).all(axis=1)]
        return self._zones_among(self._board.square_at(x, y) for x, y in on_board)

    def _zones_among(self, squares: Iterable[Square | None]) -> set[Square]:
        # None stands for a point beside all squares.
        return {square for square in squares if square is not None and square in self.zones}
