"""Open cards by their markers: whole ones, soft ones, and what is left of hidden ones.

Only whole markers of the deck without a wrong module count, or such as are too soft to decode and clearly like that of
one card only. A card that is there and not read is an `X`.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from companion.core.grid import Square
from companion.core.kit import CARD_DICTIONARY, Kit
from vision.cards.card_view import PAPER, SCALE, CardView
from vision.cards.fans import (
    UNREAD,
    Lying,
    Spread,
    card_of_marks,
    index_places,
    marker_places,
    printed_places,
    unread_card,
)
from vision.cards.marker_fit import fitted_squares
from vision.detection.markers import Luma, MarkerFinder, Sighting, best_guess, modules_in, sharpened
from vision.pose.pose import Maps, Points

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
_NUMBER_MM = 7.0
"""Half of the room that the number of a lane takes in the strip beyond it."""
_AROUND_MM = 12.0
"""So much is looked at on either side of bold print, as it may be a part of a marker."""
_GAP_MM = 2.0
"""A white module of a marker is not wider than this, the white between two markers is."""
_SOLID_MM = 6.0
"""All strokes of cards' other print are thinner."""
_ASIDE_MM = 8.0
_OUT_MM = 14.0
"""What shows of a card's marker may lie so far beyond the outer end of its zone."""
_LINE_MM = 1.1
"""A marker's rim beside a line at the end of zones, where nothing else tells it, between the middles of its pixels."""
_ON_LINE_MM, _LINE = 2.0, 0.7
"""That line lies so near to its place, and is darker than this, by paper, ..."""
_GOES_ON_MM = np.array([1.0, 1.75, 2.5])
"""... also so far beyond a piece of it."""
_OVER_MM = 2.5


@dataclass(frozen=True, eq=False)
class _Blob:
    """Print that hangs together: the smallest rectangle round it, (4, 2) mm, how much of that it fills, its longer and
    shorter side, and how far off the size of a marker they are, at most, as a share of that."""

    quad: Points
    area_mm2: float
    long_mm: float
    short_mm: float
    off: float


class CardFinder:
    """Finds the cards of one kit in views from straight above."""

    def __init__(self, kit: Kit, zones: Sequence[Square]) -> None:
        assert kit.deck is not None
        self.kit, self.zones, self._deck = kit, zones, kit.deck
        self._names = {card.marker: card.name for card in kit.deck.cards}
        self._markers = {card.name: card.marker for card in kit.deck.cards}
        self._finder = MarkerFinder(CARD_DICTIONARY, close=True, only=tuple(self._names))
        self._maps: Maps | None = None

    def find(self, view: CardView) -> tuple[list[Lying], set[int]]:
        """The cards in a view, and the ids that are there twice."""
        self._maps, even = view.maps, view.even
        joined = _joined(view.ink.bold)
        blobs = self._blobs(joined, 0.4, 1.6)
        marks, quads = self._marks(even, blobs)
        cards, twins = self._cards(marks)
        cards += self._unread(even, cards, quads)
        cards += self._slices(even, blobs, self._blobs(_solid(joined), 0.4, 1.6), cards)
        return cards, twins

    def _to_mm(self, points: Points) -> Points:
        assert self._maps is not None
        return self._maps.to_board(points)

    def _blobs(self, picture: Luma, least: float, most: float) -> list[_Blob]:
        """The blobs of a (h, w) mask of the view whose size is between these shares of a marker's side."""
        side = self._deck.marker_mm * SCALE
        boxes = list(_boxes_round(picture, least * side, most * side))
        if not boxes:
            return []
        quads = self._to_mm(np.vstack([quad for quad, _ in boxes])).reshape(-1, 4, 2)
        sides = np.linalg.norm(quads - np.roll(quads, -1, axis=1), axis=2)
        off = np.abs(sides / self._deck.marker_mm - 1).max(axis=1)
        measures = zip(quads, boxes, sides.max(axis=1).tolist(), sides.min(axis=1).tolist(), off.tolist(), strict=True)
        return [_Blob(quad, area, *rest) for quad, (_, area), *rest in measures]

    def _marks(self, view: Luma, blobs: Sequence[_Blob]) -> tuple[dict[str, list[Points]], list[Points]]:
        """Markers of cards by name, (4, 2) mm each, and quadrangles that are none, in plain and sharpened view.

        `blobs` are those of bold print.
        """
        assert self._maps is not None
        marks: dict[str, list[Points]] = defaultdict(list)
        quads: list[Points] = []

        def note(sighting: Sighting) -> None:
            mark, name = self._to_mm(sighting.corners_px), self._names[sighting.marker]
            known = any(np.abs(mark.mean(axis=0) - other.mean(axis=0)).max() < 3 for other in marks[name])
            if not known and self._is_whole(mark):
                marks[name].append(mark)

        def look(picture: Luma, columns: slice) -> None:
            found = self._finder.find(np.ascontiguousarray(picture[:, columns]))
            aside = np.array([columns.start, 0])
            for sighting in found.sightings:
                note(replace(sighting, corners_px=sighting.corners_px + aside))
            quads.extend(self._to_mm(quad + aside) for quad in found.rejected)

        for columns in self._bands(self._free([blob.quad for blob in blobs]), view.shape[1]):
            look(view, columns)
        rest = self._unknown_among(blobs, marks)
        soft = sharpened(view) if rest else view
        for columns in self._bands(rest, view.shape[1]):
            look(soft, columns)
        # What is too soft to decode, or even to be a quadrangle, is told by its likeness in the sharpened view.
        known = middles_of([mark for places in marks.values() for mark in places])
        for quad in self._whole_among([*quads, *(blob.quad for blob in blobs)]):
            if (np.abs(known - quad.mean(axis=0)).max(axis=1) < 6).any():
                continue
            corners = self._maps.to_view(quad)
            guess = best_guess(soft, corners, self._names, CARD_DICTIONARY, _LIKELY)
            if guess is not None:
                note(guess)
        return self._fitted(view, marks), quads

    def _fitted(self, view: Luma, marks: Mapping[str, list[Points]]) -> dict[str, list[Points]]:
        """The same markers, where all of their rims say that they lie."""
        assert self._maps is not None
        names = [name for name, places in marks.items() for _ in places]
        rough = [self._maps.to_view(mark) for places in marks.values() for mark in places]
        fitted: dict[str, list[Points]] = defaultdict(list)
        for name, square in zip(names, fitted_squares(view, rough, self._deck.marker_mm * SCALE), strict=True):
            fitted[name].append(self._to_mm(square))
        return fitted

    def _is_whole(self, mark: Points, within: float = _SIDE) -> bool:
        """Has it the size of a marker, nothing of it hidden?"""
        return bool(self._whole_among([mark], within))

    def _bands(self, quads: Sequence[Points], width: int) -> list[slice]:
        """The columns of the view in which these places, (4, 2) mm each, lie, with room beside them."""
        assert self._maps is not None
        holds = np.zeros(width + 2, np.int8)
        if quads:
            columns = self._maps.to_view(np.vstack(quads))[:, 0].reshape(-1, 4)
            around = (
                np.column_stack([columns.min(axis=1), columns.max(axis=1)]) + np.array([-1, 1]) * _AROUND_MM * SCALE
            )
            for start, end in around.astype(int).clip(0, width).tolist():
                holds[1 + start : 1 + end] = 1
        return [slice(*ends) for ends in np.flatnonzero(np.diff(holds)).reshape(-1, 2).tolist()]

    def _unknown_among(self, blobs: Sequence[_Blob], marks: Mapping[str, list[Points]]) -> list[Points]:
        """The blobs that may be markers, or belong to some, and are none of the `marks`, nor where a card that one of
        these belongs to has print."""
        cards = self._cards({name: places for name, places in marks.items() if places})[0]
        read = [card for card in cards if card.name != UNREAD]
        known = _Places([place for card in read for place in (*marker_places(self._deck, card), *self._texts(card))])
        quads = [blob.quad for blob in blobs]
        return self._free([quad for quad, held in zip(quads, known.hold(quads), strict=True) if not held])

    def _texts(self, card: Lying) -> tuple[Points, ...]:
        """(4, 2) each: where a card has its value, its suit and its figures."""
        return printed_places(self._deck, card)[0], *index_places(self._deck, card)

    def _free(self, quads: Sequence[Points]) -> list[Points]:
        """Those that are none of the board's own corner markers, nor a lane's number."""
        board, (x, y) = self.kit.board, middles_of(quads).T
        off = board.corner_mm / 2 + _MARGIN_MM
        corners = np.array(list(board.corner_centres_mm.values()))
        beyond, aside = (
            np.maximum(-y, y - board.height_mm),
            (x + board.gap_mm / 2) % board.pitch_mm - board.pitch_mm / 2,
        )
        is_number = (np.abs(beyond - board.strip_mm / 2) < _NUMBER_MM) & (np.abs(aside) < _NUMBER_MM)
        is_corner = (np.abs(np.column_stack([x, y])[:, None] - corners).max(axis=2) < off).any(axis=1)
        return [quads[number] for number in np.flatnonzero(~(is_number | is_corner)).tolist()]

    def _whole_among(self, quads: Sequence[Points], within: float = _SIDE) -> list[Points]:
        """Those of the size of a marker."""
        if not quads:
            return []
        every = np.stack(quads)
        sides = np.linalg.norm(every - np.roll(every, -1, axis=1), axis=2)
        return list(every[np.abs(sides / self._deck.marker_mm - 1).max(axis=1) <= within])

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
        places = [mark for card in cards for mark in card.marks]
        places += [place for card in cards if card.name != UNREAD for place in marker_places(self._deck, card)]
        seen = middles_of(places)
        found: list[Lying] = []
        for quad in self._whole_among(quads):
            middle = quad.mean(axis=0)
            if (np.abs(seen - middle).max(axis=1) < self._deck.marker_mm * 0.6).any():
                continue
            if modules_in(view, self._maps.to_view(quad)).mean() > _DARK * PAPER:
                continue
            seen = np.vstack([seen, middle])
            found.append(unread_card(quad))
        return found

    def _slices(self, even: Luma, blobs: Sequence[_Blob], solid: Sequence[_Blob], cards: list[Lying]) -> list[Lying]:
        """Cards of which a marker shows that is no quadrangle, because something lies on it or for lack of light.

        Two things are taken for the rest of a marker: what of the `blobs` of bold print is as long as a marker is wide
        and ends at the edge of a card; what is more `solid` than the other print of a card. Both only in the columns of
        cards' markers.
        """
        side = self._deck.marker_mm
        read = [card for card in cards if card.name != UNREAD]
        spread, seen = Spread(read), middles_of([mark for card in cards for mark in card.marks])
        explained = _Places([place for card in read for place in self._explaining(card)])
        smaller = _Places([place for card in read for place in index_places(self._deck, card)])
        found: list[Lying] = []
        every = [*((False, blob) for blob in blobs), *((True, blob) for blob in solid)]
        quads = [blob.quad for _, blob in every]
        known = explained.hold(quads) | (smaller.hold(quads) & np.array([blob.off > _EXACT for _, blob in every], bool))
        for is_solid, blob in (every[number] for number in np.flatnonzero(~known)):
            quad = blob.quad
            is_in = self._is_in_zone(quad)
            if not (is_in or self._is_at_end(quad)):
                continue
            is_exact = blob.off <= _EXACT
            if (np.abs(seen - quad.mean(axis=0)).max(axis=1) < side * 0.6).any():
                continue
            is_full = blob.area_mm2 >= _FULL * blob.long_mm * blob.short_mm
            is_cut = is_exact and not is_solid and blob.area_mm2 >= _CUT * blob.long_mm * blob.short_mm
            if is_in and (is_solid or is_cut or (is_full and blob.off <= _SIDE)):
                covers = []
                on = [card for card in spread.near(quad, 0.0) if card.depth_inside(quad).max() > 0]
                upper = sorted(on, key=lambda card: _nearest_mm(card, quad))
                # What has just the size of a marker may lie aside of the card above it, as askew cards do.
                columns = (self._is_in_column(card, quad, half=True) for card in upper[: None if is_cut else 1])
                is_marker = any(columns)
            else:
                near, end = spread.near(quad, 2.0), self._end_line(quad)
                covers = [c.name for c in near if _is_at_edge(c, quad) and self._is_in_column(c, quad)]
                is_long = abs(blob.long_mm / side - 1) <= _SIDE and is_full
                is_marker = bool(covers) and is_long and blob.short_mm >= (_RIM_MM if end is None else _LINE_MM)
                is_marker = is_marker and (end is None or not self._goes_on(even, quad, end))
            if is_marker:
                seen = np.vstack([seen, quad.mean(axis=0)])
                found.append(unread_card(quad, covers))
        return found

    def _explaining(self, card: Lying) -> tuple[Points, ...]:
        """(4, 2) each: both markers of a card and the figures in its middle."""
        return *marker_places(self._deck, card), printed_places(self._deck, card)[0]

    def _is_in_zone(self, quad: Points) -> bool:
        """Is the middle of a quadrangle within a zone, off its outline and the markers of the board?"""
        board, (x, y) = self.kit.board, quad.mean(axis=0)
        zone = board.square_at(x, y)
        if zone is None or zone not in self.zones:
            return False
        middle_x, middle_y = board.centre_mm(zone)
        side, depth = board.square_mm / 2 - _MARGIN_MM, board.depth_mm / 2 - _MARGIN_MM
        return bool(abs(x - middle_x) < side and abs(y - middle_y) < depth)

    def _is_at_end(self, quad: Points) -> bool:
        """Does the middle of a quadrangle lie where cards reach out of a zone's outer end, off the board's markers?"""
        board, (x, y) = self.kit.board, quad.mean(axis=0)
        zone = board.square_at(x, float(y.clip(0, board.height_mm - 1)))
        if zone is None or zone not in self.zones or not -_MARGIN_MM < max(-y, y - board.height_mm) < _OUT_MM:
            return False
        off = board.corner_mm / 2 + _MARGIN_MM
        corners = np.array(list(board.corner_centres_mm.values()))
        is_corner = (np.abs(corners - (x, y)).max(axis=1) < off).any()
        return bool(abs(x - board.centre_mm(zone)[0]) < board.square_mm / 2 - _MARGIN_MM and not is_corner)

    def _end_line(self, quad: Points) -> float | None:
        """Where the line at the outer end of the zones is on which a quadrangle lies; None when it lies elsewhere."""
        ends = (0.0, self.kit.board.height_mm)
        return next((end for end in ends if np.abs(quad[:, 1] - end).max() <= _ON_LINE_MM), None)

    def _goes_on(self, even: Luma, quad: Points, end_mm: float) -> bool:
        """Is the line at an end seen on both sides of a quadrangle, so that this is a part of it?"""
        assert self._maps is not None
        beside = np.concatenate([quad[:, 0].min() - _GOES_ON_MM, quad[:, 0].max() + _GOES_ON_MM])
        across = np.arange(-_ON_LINE_MM, _ON_LINE_MM, 1 / SCALE)
        places = np.stack(np.meshgrid(beside, end_mm + across), axis=-1)
        at = self._maps.to_view(places).astype(np.float32).reshape(places.shape)
        grey = cv2.remap(even, at, None, cv2.INTER_LINEAR, borderValue=255)  # type: ignore[call-overload]  # stubs deny None
        return bool((grey.min(axis=0) < _LINE * PAPER).all())

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


def _is_at_edge(card: Lying, quad: Points) -> bool:
    return bool(-2.0 <= card.depth_inside(quad).max() <= 2.0)


class _Places:
    """Convex places of cards, (4, 2) mm each."""

    def __init__(self, places: Sequence[Points]) -> None:
        corners = np.stack(places) if places else np.empty((0, 4, 2))
        along = np.roll(corners, -1, axis=1) - corners
        self._middles = corners.mean(axis=1)
        self._reach = np.abs(corners - self._middles[:, None]).max(axis=(1, 2)) + _OVER_MM
        self._inwards = np.stack([along[..., 1], -along[..., 0]], axis=2)
        self._inwards /= np.linalg.norm(along, axis=2, keepdims=True).clip(1e-9)
        self._at = (self._inwards * corners).sum(axis=2)

    def hold(self, quads: Sequence[Points]) -> NDArray[np.bool_]:
        """(N,): is each quadrangle, (4, 2) mm, one of them, or a part of one?"""
        every = np.stack(quads) if len(quads) else np.empty((0, 4, 2))
        apart = np.abs(every.mean(axis=1)[:, None] - self._middles).max(axis=2)
        which, place = np.nonzero(apart <= self._reach)
        depths = every[which] @ self._inwards[place].swapaxes(1, 2) - self._at[place][:, None]
        held = np.zeros(len(every), np.bool_)
        held[which[depths.min(axis=(1, 2)) > -_OVER_MM]] = True
        return held


def middles_of(quads: Sequence[Points]) -> Points:
    """(N, 2): the middles of (4, 2) quadrangles."""
    return np.stack(quads).mean(axis=1) if len(quads) else np.empty((0, 2))


def _nearest_mm(card: Lying, quad: Points) -> float:
    """How far the nearest marker that is seen of a card is: what lies uppermost is what shows its marker next to it."""
    return min(float(np.abs(mark.mean(axis=0) - quad.mean(axis=0)).max()) for mark in card.marks)


def _square(size_mm: float) -> NDArray[np.uint8]:
    return np.ones((round(size_mm * SCALE),) * 2, np.uint8)


def _joined(ink: Luma) -> Luma:
    """Print with the white inside of markers closed."""
    return np.asarray(cv2.morphologyEx(ink, cv2.MORPH_CLOSE, _square(_GAP_MM)), np.uint8)


def _solid(joined: Luma) -> Luma:
    """What of it is more solid than text."""
    return np.asarray(cv2.morphologyEx(joined, cv2.MORPH_OPEN, _square(_SOLID_MM)), np.uint8)


def _boxes_round(picture: Luma, least_px: float, most_px: float) -> Iterator[tuple[Points, float]]:
    """The smallest rectangle (4, 2) px round each blob of a mask whose width or height is between these; the blob's
    area in mm²."""
    contours, tree = cv2.findContours(picture, cv2.RETR_CCOMP, cv2.CHAIN_APPROX_SIMPLE)
    for number, contour in enumerate(contours):
        if tree[0][number][3] >= 0:  # a hole
            continue
        x, y, width, height = cv2.boundingRect(contour)
        if least_px < max(width, height) < most_px:
            mask = np.zeros((height, width), np.uint8)
            cv2.drawContours(mask, [contour], 0, 255, cv2.FILLED, offset=(-x, -y))
            area = cv2.countNonZero(cv2.bitwise_and(mask, picture[y : y + height, x : x + width]))
            yield np.asarray(cv2.boxPoints(cv2.minAreaRect(contour)), np.float64), area / SCALE**2
