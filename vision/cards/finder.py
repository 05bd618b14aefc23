"""Open cards by their markers: whole ones, soft ones, and what is left of hidden ones.

Only whole markers of the deck without a wrong module count, or such as are too soft to decode and
clearly like that of one card only. A card that is there and not read is an `X`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import cv2
import numpy as np
from numpy.typing import NDArray

from companion.core.kit import CARD_DICTIONARY, Kit
from vision.cards.card_view import SCALE, CardView
from vision.cards.fans import (
    UNREAD,
    Lying,
    cards_of_marks,
    index_places,
    marker_places,
    on_cards,
    printed_places,
    unread_card,
)
from vision.cards.marker_fit import fitted_squares
from vision.cards.marker_prints import MarkerPrints
from vision.detection.markers import (
    Box,
    Luma,
    MarkerFinder,
    Sighting,
    best_guess,
    boxes_of,
    resembles_marker,
    sharpened,
)
from vision.detection.stillness import BLOCK_PX
from vision.pose.pose import Maps, Points

_SIDE = 0.12
"""A marker's sides may differ from its size by so much: less than a row of modules."""
_MARGIN_MM = 3.0
"""The middle of a card must lie this far inside its zone."""
_LIKELY = 0.78, 0.18
"""Correlation of a soft print with that of one card, and how much more than with any other.
Measured over 100 tables: the right card has .83 and .16 at least."""
_LIKE_A_MARKER = 0.4, 1.6
"""By the side of a marker: what is so large may be one, or a part of one."""
_NUMBER_MM = 7.0
"""Half of the room that the number of a lane takes in the strip beyond it."""
_AROUND_MM = 12.0
"""So much is looked at on either side of bold print, as it may be a part of a marker."""
_GAP_MM = 2.0
"""A white module of a marker is not wider than this, the white between two markers is."""
_OVER_MM = 2.5
_SAME_MM, _APART_MM = 3.0, 6.0
"""Two sights of one marker lie no farther apart than this; no other marker lies nearer to one than
that."""
_Marks = defaultdict[str, list[Points]]
"""(4, 2) mm: the markers of each card, by its name."""


@dataclass(frozen=True, eq=False)
class _Blobs:
    """Print that hangs together: the smallest rectangles round it, `quads` (N, 4, 2) mm, and how
    far they are `off` the size of a marker, (N,), at most, as a share."""

    quads: Points
    off: Points


class CardFinder:
    """Finds the cards of one kit in views from straight above."""

    def __init__(self, kit: Kit) -> None:
        assert kit.deck is not None
        self.kit, self._deck = kit, kit.deck
        self._names = {card.marker: card.name for card in kit.deck.cards}
        self._markers = {card.name: card.marker for card in kit.deck.cards}
        self._prints = MarkerPrints(CARD_DICTIONARY, tuple(self._names))
        self._maps: Maps | None = None

    @cached_property
    def _finder(self) -> MarkerFinder:
        return MarkerFinder(CARD_DICTIONARY, close=True, only=tuple(self._names))

    def find(self, view: CardView) -> tuple[list[Lying], set[int]]:
        """The cards in a view, and the ids that are there twice."""
        self._maps, even = view.maps, view.even
        cards, twins, quads = self._marked(even, self._blobs(_joined(view.bold)))
        cards += self._unread(even, cards, quads)
        return cards, twins

    def _to_mm(self, points: Points) -> Points:
        assert self._maps is not None
        return self._maps.to_board(points).reshape(points.shape)

    def _to_view(self, points_mm: Points) -> Points:
        assert self._maps is not None
        return self._maps.to_view(points_mm).reshape(points_mm.shape)

    def _blobs(self, picture: Luma) -> _Blobs:
        """Find the blobs of a (h, w) mask of the view that are about as large as a marker."""
        side = self._deck.marker_mm * SCALE
        boxes = list(_boxes_round(picture, _LIKE_A_MARKER[0] * side, _LIKE_A_MARKER[1] * side))
        quads = self._to_mm(np.array(boxes, np.float64).reshape(-1, 4, 2))
        sides = np.linalg.norm(quads - np.roll(quads, -1, axis=1), axis=2)
        return _Blobs(quads, np.abs(sides / self._deck.marker_mm - 1).max(axis=1))

    def _marked(self, view: Luma, blobs: _Blobs) -> tuple[list[Lying], set[int], list[Points]]:
        """Return the cards of which markers are seen, the ids that are there twice, and (4, 2) mm
        that are none.

        `blobs` are those of bold print. What decodes there at once need not be searched for, nor
        need the other print of cards that are known by then. Round the rest it is done in plain and
        sharpened view.
        """
        marks: _Marks = defaultdict(list)
        side, whole = self._deck.marker_mm * SCALE, blobs.quads[blobs.off <= _SIDE]
        for sighting in self._prints.decoded(
            view, fitted_squares(view, list(self._to_view(whole)), side)
        ):
            self._note(sighting, marks, marks)
        more: _Marks = defaultdict(list)
        soft, quads = self._search(view, blobs, marks, more)
        # What is too soft to decode, or even to be a quadrangle, is told by its likeness in the
        # sharpened view.
        known = middles_of(
            [mark for places in (*marks.values(), *more.values()) for mark in places]
        )
        for quad in self._whole_among([*quads, *whole]):
            if (np.abs(known - quad.mean(axis=0)).max(axis=1) < _APART_MM).any():
                continue
            guess = best_guess(soft, self._to_view(quad), self._names, CARD_DICTIONARY, _LIKELY)
            if guess is not None:
                self._note(guess, marks, more)
        for name, places in self._fitted(view, more).items():
            marks[name] += places
        return *self._cards(marks), quads

    def _search(
        self, view: Luma, blobs: _Blobs, marks: _Marks, more: _Marks
    ) -> tuple[Luma, list[Points]]:
        """Find markers round the blobs that are none of the `marks`, and note them as `more`.

        Returns the view as it was sharpened there, and the (4, 2) mm quadrangles that are no
        markers.
        """
        soft, quads, side = view, list[Points](), self._deck.marker_mm * SCALE
        boxes = self._boxes(self._unknown_among(blobs, marks, more), view)
        for prepare in (_as_it_is, sharpened):
            if more:
                boxes = self._boxes(self._unknown_among(blobs, marks, more), view)
            soft = view.copy() if boxes else view
            for rows, columns in boxes:
                soft[rows, columns] = prepare(view[rows, columns])
                found = self._finder.find(np.ascontiguousarray(soft[rows, columns]), 0.5 * side)
                aside = np.array([columns.start, rows.start])
                for sighting in found.sightings:
                    self._note(
                        replace(sighting, corners_px=sighting.corners_px + aside), marks, more
                    )
                quads.extend(self._to_mm(quad + aside) for quad in found.rejected)
        return soft, quads

    def _note(self, sighting: Sighting, marks: _Marks, into: _Marks) -> None:
        """Note a whole marker that is in neither of both yet."""
        mark, name = self._to_mm(sighting.corners_px), self._names[sighting.marker]
        places = (*marks[name], *into[name])
        is_known = any(
            np.abs(mark.mean(axis=0) - other.mean(axis=0)).max() < _SAME_MM for other in places
        )
        if not is_known and self._whole_among([mark]):
            into[name].append(mark)

    def _fitted(self, view: Luma, marks: Mapping[str, list[Points]]) -> dict[str, list[Points]]:
        """The same markers, where all of their rims say that they lie."""
        rough = [self._to_view(mark) for places in marks.values() for mark in places]
        fitted = iter(fitted_squares(view, rough, self._deck.marker_mm * SCALE))
        return {name: [self._to_mm(next(fitted)) for _ in places] for name, places in marks.items()}

    def _boxes(self, quads: Points, view: Luma) -> list[Box]:
        """Where in the view these places, (N, 4, 2) mm, lie, with room around them."""
        blocks = np.zeros([-(-length // BLOCK_PX) for length in view.shape], np.bool_)
        corners = self._to_view(quads) / BLOCK_PX
        for (left, top), (right, bottom) in zip(
            corners.min(axis=1).astype(int).clip(0), corners.max(axis=1).astype(int), strict=True
        ):
            blocks[top : bottom + 1, left : right + 1] = True
        return boxes_of(blocks, _AROUND_MM * SCALE, view) if len(quads) else []

    def _unknown_among(
        self, blobs: _Blobs, marks: Mapping[str, list[Points]], more: Mapping[str, list[Points]]
    ) -> Points:
        """(N, 4, 2) mm: the blobs that may be markers, or belong to some, and are none of the
        `marks` and `more`, nor where a card that one of these belongs to has print, nor the board's
        corner markers, nor a lane's number."""
        found = {name: [*marks.get(name, ()), *more.get(name, ())] for name in {*marks, *more}}
        read = [card for card in self._cards(found)[0] if card.name != UNREAD]
        seen = np.array([mark for places in found.values() for mark in places]).reshape(-1, 4, 2)
        print_ = np.concatenate(
            [marker_places(self._deck), printed_places(self._deck)[:1], index_places(self._deck)]
        )
        known = _Places(np.concatenate([seen, on_cards(read, print_).reshape(-1, 4, 2)]))
        return blobs.quads[~(known.hold(blobs.quads) | self._is_own(blobs.quads))]

    def _is_own(self, quads: Points) -> NDArray[np.bool_]:
        """(N,): which are the board's own corner markers, or a lane's number?"""
        board, (x, y) = self.kit.board, quads.mean(axis=1).T
        off = board.corner_mm / 2 + _MARGIN_MM
        corners = np.array(list(board.corner_centres_mm.values()))
        beyond, aside = (
            np.maximum(-y, y - board.height_mm),
            (x + board.gap_mm / 2) % board.pitch_mm - board.pitch_mm / 2,
        )
        is_number = (np.abs(beyond - board.strip_mm / 2) < _NUMBER_MM) & (
            np.abs(aside) < _NUMBER_MM
        )
        is_corner = (np.abs(np.column_stack([x, y])[:, None] - corners).max(axis=2) < off).any(
            axis=1
        )
        return np.asarray(is_number | is_corner)

    def _whole_among(self, quads: Sequence[Points], within: float = _SIDE) -> list[Points]:
        """Those of the size of a marker."""
        if not quads:
            return []
        every = np.stack(quads)
        sides = np.linalg.norm(every - np.roll(every, -1, axis=1), axis=2)
        return list(every[np.abs(sides / self._deck.marker_mm - 1).max(axis=1) <= within])

    def _cards(self, marks: Mapping[str, list[Points]]) -> tuple[list[Lying], set[int]]:
        """The cards that the markers belong to; ids that are there twice are strangers, their cards
        unread."""
        cards, twins = [], set()
        seen = {name: places for name, places in marks.items() if places}
        for name, card in cards_of_marks(self._deck, seen).items():
            if card is not None:
                cards.append(card)
            else:
                twins.add(self._markers[name])
                cards += [unread_card(mark) for mark in seen[name]]
        return cards, twins

    def _unread(self, view: Luma, cards: list[Lying], quads: list[Points]) -> list[Lying]:
        """Cards of which a whole marker is seen that does not decode."""
        read = [card for card in cards if card.name != UNREAD]
        hidden = on_cards(read, marker_places(self._deck)).reshape(-1, 4, 2)
        seen = np.vstack(
            [middles_of([mark for card in cards for mark in card.marks]), hidden.mean(axis=1)]
        )
        found: list[Lying] = []
        for quad in self._whole_among(quads):
            middle = quad.mean(axis=0)
            if (np.abs(seen - middle).max(axis=1) < self._deck.marker_mm * 0.6).any():
                continue
            if not resembles_marker(view, self._to_view(quad)):
                continue
            seen = np.vstack([seen, middle])
            found.append(unread_card(quad))
        return found


class _Places:
    """Convex places of cards, (N, 4, 2) mm."""

    def __init__(self, corners: Points) -> None:
        along = np.roll(corners, -1, axis=1) - corners
        self._middles = corners.mean(axis=1)
        self._reach = np.abs(corners - self._middles[:, None]).max(axis=(1, 2)) + _OVER_MM
        self._inwards = np.stack([along[..., 1], -along[..., 0]], axis=2)
        self._inwards /= np.linalg.norm(along, axis=2, keepdims=True).clip(1e-9)
        self._at = (self._inwards * corners).sum(axis=2)

    def hold(self, every: Points) -> NDArray[np.bool_]:
        """(N,): is each quadrangle, (N, 4, 2) mm, one of them, or a part of one?"""
        middles = every.mean(axis=1)
        apart = (
            np.abs(middles[:, number, None] - self._middles[:, number]) <= self._reach
            for number in (0, 1)
        )
        which, place = np.nonzero(np.logical_and(*apart))
        depths = every[which] @ self._inwards[place].swapaxes(1, 2) - self._at[place][:, None]
        held = np.zeros(len(every), np.bool_)
        held[which[depths.min(axis=(1, 2)) > -_OVER_MM]] = True
        return held


def middles_of(quads: Sequence[Points]) -> Points:
    """(N, 2): the middles of (4, 2) quadrangles."""
    return np.stack(quads).mean(axis=1) if len(quads) else np.empty((0, 2))


def _as_it_is(view: Luma) -> Luma:
    return view


def _square(size_mm: float) -> NDArray[np.uint8]:
    return np.ones((round(size_mm * SCALE),) * 2, np.uint8)


def _joined(ink: Luma) -> Luma:
    """Print with the white inside of markers closed."""
    return np.asarray(cv2.morphologyEx(ink, cv2.MORPH_CLOSE, _square(_GAP_MM)), np.uint8)


def _boxes_round(picture: Luma, least_px: float, most_px: float) -> Iterator[Points]:
    """Yield the smallest rectangle (4, 2) px round each blob of a mask whose width or height is
    between these."""
    for contour in cv2.findContours(picture, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)[0]:
        _, _, width, height = cv2.boundingRect(contour)
        if least_px < max(width, height) < most_px:
            yield np.asarray(cv2.boxPoints(cv2.minAreaRect(contour)), np.float64)
