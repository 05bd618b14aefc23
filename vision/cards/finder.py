"""Finds open cards by their markers: readable ones, soft ones, and those that cannot be read.

A card counts if it has a complete marker of the deck without a wrong module. It also counts if a
marker is too soft (blurred) to decode but clearly resembles that of only one card. A visible card
that is not read is an `X`.

`CardFinder.find` goes from the cheap and certain to the slow and vague:

1. Search the view for markers that decode.
2. Look for bold print of a marker's size at which no marker was found. If there is none, go to 6.
3. Search the sharpened view for further markers that decode.
4. Compare what still does not decode with the markers of all cards. If it clearly resembles one of
   them, it is that one.
5. Bold print that resembles some marker, but none of them clearly, is an unread card.
6. Group the markers into cards. Each card has its marker twice, see `vision.cards.fans`.

Quadrangles (4, 2) are in px of the view, upper left first, clockwise.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from operator import attrgetter

import cv2
import numpy as np

from companion.core.kit import CARD_DICTIONARY, Deck
from vision.cards.card_view import CardView, close_dark_details
from vision.cards.fans import (
    UNREAD,
    OpenCard,
    group_markers,
    marker_quads_mm,
    move_to_cards,
    unread_card,
)
from vision.detection.markers import (
    CLOSE_UP_OF_CARDS,
    Luma,
    MarkerFinder,
    MatchThreshold,
    Sighting,
    best_guess,
    sharpen,
)
from vision.pose.pose import Points

# Maximum relative difference between a marker's sides and its size: less than a row of modules,
# which is a seventh.
_MAX_SIDE_ERROR = 0.12

# Threshold from which a soft marker is taken for the marker of one card. Measured over 300
# tables: a wrong card reaches a correlation of .68 and a margin of .12 at most.
_ONE_CARD_THRESHOLD = MatchThreshold(correlation=0.78, margin=0.18)

# Threshold from which bold print is taken for a marker, of whichever card. Measured over the same
# tables: other bold print of its size reaches a correlation of .44 at most, and 99 % of the markers
# that do not decode reach .59 at least.
_ANY_CARD_THRESHOLD = MatchThreshold(correlation=0.55, margin=0.0)

# (4, 2) px: shifts of a quadrangle that are tried, as corners of outlines are whole pixels.
_SHIFTS_PX = np.array([[-0.5, -0.5], [-0.5, 0.5], [0.5, -0.5], [0.5, 0.5]])

# The next three are distances between the middles of markers, as shares of a marker's side.

# Maximum distance between two sightings of the same marker.
_MAX_SAME_DISTANCE = 0.25

# Minimum distance between two different markers. Nearer ones would overlap by half.
_MIN_APART_DISTANCE = 0.5

# Maximum distance of unclear bold print from where a known card has a marker, if the print may be
# that marker. Larger: markers of other cards are missed. Smaller: bent cards count twice.
_MAX_UNCLEAR_DISTANCE = 0.6

# Maximum width in mm of the white modules of a marker. The white between two markers is wider.
_MAX_WHITE_MM = 2.0

# Minimum side of the quadrangles that are examined, as a share of a marker's side. Smaller ones
# cost time and cannot be markers.
_MIN_SIDE_SHARE = 0.5

# The markers of each card that were found, by its name: quadrangles (4, 2) px of the view.
_QuadsByName = dict[str, list[Points]]


class CardFinder:
    """Finds the cards of one deck in views from straight above. `CardReader` uses it."""

    def __init__(self, deck: Deck) -> None:
        self._deck = deck
        self._names = {card.marker: card.name for card in deck.cards}
        self._finder = MarkerFinder(
            CARD_DICTIONARY, windows=CLOSE_UP_OF_CARDS, only_ids=tuple(self._names)
        )

    def find(self, view: CardView) -> tuple[list[OpenCard], set[int]]:
        """Return the cards in a view, and the ids of duplicate markers."""
        side_px = self._deck.marker_mm * view.top_view.scale
        apart_px = _MIN_APART_DISTANCE * side_px
        # 1. Markers that decode.
        quads_by_name: _QuadsByName = defaultdict(list)
        undecoded = self._search(view.even_luma, side_px, quads_by_name)

        # 2. If an object touches a marker, the marker finder sees one shape. The thick black parts
        # of the marker stay separate from the object, so look for those, too.
        blobs = _bold_squares(view, side_px)
        unclear_quads = []
        if _apart_from(blobs, quads_by_name, apart_px):
            # 3. Further markers that decode in the sharpened view.
            sharp = sharpen(view.even_luma)
            undecoded += self._search(sharp, side_px, quads_by_name)

            # 4. Markers that are too soft to decode are identified by resemblance.
            for quad in _apart_from([*undecoded, *blobs], quads_by_name, apart_px):
                guess = self._best_guess(sharp, quad, _ONE_CARD_THRESHOLD)
                if guess is not None:
                    _add_quad(quads_by_name, self._names[guess.marker], guess.corners_px, side_px)

            # 5. Bold print that is the marker of a card, but it is not clear of which one.
            for blob in _apart_from(blobs, quads_by_name, apart_px):
                if self._best_guess(sharp, blob, _ANY_CARD_THRESHOLD) is not None:
                    unclear_quads.append(blob)

        # 6. Group markers into cards, and add the cards that cannot be read.
        cards, duplicates = self._group_by_card(view, quads_by_name)
        return [*cards, *self._unread_cards(view, cards, unclear_quads)], duplicates

    def _best_guess(
        self, picture: Luma, quad: Points, threshold: MatchThreshold
    ) -> Sighting | None:
        """Return which marker of the deck a quadrangle resembles most.

        Returns None if it resembles none of them as clearly as `threshold` demands.
        """
        guesses = []
        for shift_px in _SHIFTS_PX:
            shifted = quad + shift_px
            guess = best_guess(picture, shifted, self._names, CARD_DICTIONARY, threshold)
            if guess is not None:
                guesses.append(guess)
        return max(guesses, key=attrgetter("score"), default=None)

    def _search(self, picture: Luma, side_px: float, quads_by_name: _QuadsByName) -> list[Points]:
        """Add the markers that decode in a picture to `quads_by_name`.

        Returns the quadrangles of a marker's size that do not decode.
        """
        result = self._finder.find(picture, _MIN_SIDE_SHARE * side_px)
        for sighting in result.sightings:
            # What has another size does not lie on the board, or is not a marker at all.
            quad = sighting.corners_px
            if _marker_sized(quad[None], side_px):
                _add_quad(quads_by_name, self._names[sighting.marker], quad, side_px)
        return _marker_sized(result.rejected, side_px)

    def _group_by_card(
        self, view: CardView, quads_by_name: _QuadsByName
    ) -> tuple[list[OpenCard], set[int]]:
        """Return the cards that the markers belong to, and the ids of duplicate markers.

        Duplicates belong to several cards, which count as unread.
        """
        quads_mm = {}
        for name, quads in quads_by_name.items():
            quads_mm[name] = [view.top_view.to_board(quad) for quad in quads]
        cards = []
        duplicates = set()
        for name, card in group_markers(self._deck, quads_mm).items():
            if card is not None:
                cards.append(card)
            else:
                duplicates.add(name)
                cards += [unread_card(quad_mm) for quad_mm in quads_mm[name]]
        return cards, {marker for marker, name in self._names.items() if name in duplicates}

    def _unread_cards(
        self, view: CardView, cards: Sequence[OpenCard], quads: Iterable[Points]
    ) -> list[OpenCard]:
        """Return one unread card for each of the `quads`, which are markers of unclear cards.

        Quadrangles that may be markers of the `cards` are left out, so that no card counts twice.
        """
        # Both markers of each card that was read, whether visible or not.
        read = [card for card in cards if card.name != UNREAD]
        known_quads = [*move_to_cards(read, marker_quads_mm(self._deck)).reshape(-1, 4, 2)]
        for card in cards:
            known_quads += card.quads_mm
        known = _middles(known_quads)
        upper, lower = marker_quads_mm(self._deck).mean(axis=1)
        unread_cards = []
        for quad in quads:
            quad_mm = view.top_view.to_board(quad)
            if not _is_near(quad_mm, known, _MAX_UNCLEAR_DISTANCE * self._deck.marker_mm):
                unread_cards.append(unread_card(quad_mm))
                # Its other marker must not count as a further card. If the card is upright, that
                # marker is here if this one is its upper one or its lower one.
                middle = quad_mm.mean(axis=0)
                known = np.vstack([known, middle, middle + upper - lower, middle + lower - upper])
        return unread_cards


def _bold_squares(view: CardView, side_px: float) -> list[Points]:
    """Return the smallest rectangles around bold print that have the size of a marker."""
    # Fill the white modules, so that each marker is one connected blob.
    whole = close_dark_details(view.bold_print, _MAX_WHITE_MM * view.top_view.scale)
    outlines = cv2.findContours(whole, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)[0]
    squares = [cv2.boxPoints(cv2.minAreaRect(outline)) for outline in outlines]
    return _marker_sized(np.array(squares, np.float64).reshape(-1, 4, 2), side_px)


def _marker_sized(quads: Points, side_px: float) -> list[Points]:
    """Return the quadrangles among (N, 4, 2) that have the size of a marker."""
    # All four sides, relative to a marker's side.
    sides = np.linalg.norm(quads - np.roll(quads, -1, axis=1), axis=2)
    return list(quads[(np.abs(sides / side_px - 1) <= _MAX_SIDE_ERROR).all(axis=1)])


def _middles(quads: Sequence[Points]) -> Points:
    """Return (N, 2): the middles of quadrangles (4, 2)."""
    return np.asarray(np.array(quads).reshape(-1, 4, 2).mean(axis=1), np.float64)


def _is_near(quad: Points, middles: Points, distance: float) -> bool:
    """Return whether a quadrangle's middle is this near to one of the `middles` (N, 2).

    The distance is that along x or along y, whichever is larger.
    """
    return bool((np.abs(middles - quad.mean(axis=0)).max(axis=1) < distance).any())


def _add_quad(quads_by_name: _QuadsByName, name: str, quad: Points, side_px: float) -> None:
    """Add a marker of a card, unless it is already known there."""
    if not _is_near(quad, _middles(quads_by_name[name]), _MAX_SAME_DISTANCE * side_px):
        quads_by_name[name].append(quad)


def _apart_from(
    quads: Iterable[Points], quads_by_name: _QuadsByName, distance_px: float
) -> list[Points]:
    """Return the quadrangles that are at least this far from all markers that were found."""
    known = _middles([quad for own in quads_by_name.values() for quad in own])
    return [quad for quad in quads if not _is_near(quad, known, distance_px)]
