"""A second search on squares that are not explained yet.

It uses top views at the height of the pieces' markers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import cv2
import numpy as np

from companion.core.grid import Square
from companion.core.kit import Board, Kit
from vision.detection.markers import (
    Found,
    Luma,
    MarkerFinder,
    Sighting,
    best_guess,
    marker_modules,
    refined,
    sharpened,
    without_shadows,
)
from vision.pose.pose import Maps, Points, Pose, flat

_FINDER = MarkerFinder(close=True)
_SQUARE_PX, _MARKER_PX = 48, 44
"""Minimum sizes of a square and of a marker in the view. The larger scale of the two is used."""


_MIN_CORNER_SCORE = 0.75
"""Minimum score of a corner marker. It is stricter than for a piece, because a corner marker
determines the pose of the whole board.
"""
_MIN_CORRELATION = 0.65
"""Minimum correlation, anywhere in the view, of a corner marker whose place three others predict.
Measured: 0.71 and more where it was found, in blur, glare and shadows. Covered ones mostly stay
below 0.6.
"""
_WITH_QUIET_ZONE = 9 / 7
"""Size of a marker with its quiet zone, relative to the marker. A marker of five modules has a
black rim of one module, and a white one of one module around it.
"""


@dataclass(frozen=True, eq=False)
class _View:
    """A top view (h, w) of a part of the board, in which markers are `side` px wide."""

    maps: Maps
    luma: Luma
    side: float


@dataclass(frozen=True, eq=False)
class _SquaresView(_View):
    """A top view of the squares of an `area`, at the height of some pieces' markers."""

    kit: Kit
    area: set[Square]

    @cached_property
    def markers(self) -> set[int]:
        """Ids of all markers at this height."""
        return {
            m for face in self.kit.faces if face.height_mm == self.maps.z_mm for m in face.markers
        }

    def is_open(self, quad: Points) -> bool:
        """Return whether a quadrangle is on a square of the area."""
        x, y = self.maps.to_board(quad.mean(axis=0)[None])[0]
        return self.kit.board.square_at(x, y) in self.area


def read_closer(
    kit: Kit,
    pose: Pose,
    luma: Luma,
    *,
    known: Collection[int],
    squares: Collection[Square],
    ways: Sequence[Way],
) -> tuple[Sighting, ...]:
    """Return markers other than the `known` ids on and around these squares of a picture.

    Each top view is searched after each preparation in `ways`, `PLAIN` or `BETTER`.
    """
    more: dict[int, Sighting] = {}
    for area in _areas(squares):
        for height in _heights(kit):
            # Markers of one height are in one plane.
            view = _view_of(kit, pose, luma, area, height)
            wanted = view.markers - set(known) - set(more)
            for sighting in _sightings_in(view, wanted, view.is_open, ways):
                # from the view to the board, and from there to the picture
                corners = flat(view.maps.to_board(sighting.corners_px), height)
                more[sighting.marker] = Sighting(
                    sighting.marker, pose.to_px(corners), sighting.score
                )
    return tuple(more.values())


def lost_corners(
    board: Board, pose: Pose, luma: Luma, seen: Collection[int]
) -> tuple[Sighting, ...]:
    """Return corner markers of the board that were missed. They are searched where a rough pose
    predicts them.
    """
    recovered = []
    for marker in set(board.corners) - set(seen):
        x, y = board.corner_centres_mm[marker]
        # Two corners predict the others poorly, so search a larger area.
        room = (1.7 if len(seen) > 2 else 3.0) * board.corner_mm
        # a top view around the predicted place
        maps = pose.plane_maps(
            (x - room, y - room), (x + room, y + room), 0.0, _MARKER_PX / board.corner_mm
        )
        view = _View(maps, maps.rectify(luma), _MARKER_PX)
        # Match the print as a template, before the search for outlines.
        likeness, place = _best_match(view.luma, marker)
        # Three corners predict the fourth well, so without a likely match it is not visible.
        if len(seen) > 2 and likeness < _MIN_CORRELATION:
            continue
        # Search for all corner markers, so that another one is not mistaken for this one.
        shown = list(_sightings_in(view, set(board.corners), lambda _: True, (*PLAIN, *BETTER)))
        if likeness >= _MIN_CORNER_SCORE and all(sighting.marker != marker for sighting in shown):
            # An object that touches a marker merges with its outline, which then is no quadrangle.
            guess = best_guess(view.luma, place, board.corners)
            shown += [guess] if guess is not None else []
        for sighting in shown:
            if sighting.marker == marker and sighting.score >= _MIN_CORNER_SCORE:
                # It affects the pose of the whole board, so refine it in the picture itself.
                corners = pose.to_px(flat(maps.to_board(sighting.corners_px)))
                recovered.append(Sighting(marker, refined(luma, [corners])[0], sighting.score))
                break
    return tuple(recovered)


def _sightings_in(
    view: _View,
    wanted: set[int],
    is_open: Callable[[Points], bool],
    ways: Sequence[Way],
) -> Iterator[Sighting]:
    """Yield each wanted marker found in a view once, in pixels of the view.

    The view is prepared in each of the `ways`.
    """
    for prepare in ways:
        picture = prepare(view.luma)
        hits = _FINDER.find(picture, 0.5 * view.side)
        for sighting in (*hits.sightings, *_guesses(picture, hits, view.side, wanted, is_open)):
            if sighting.marker in wanted:
                wanted = wanted - {sighting.marker}
                yield sighting
        if not wanted:
            return


def _best_match(view: Luma, marker: int) -> tuple[float, Points]:
    """Return the highest correlation of a view with a marker's print, and where, (4, 2) px of the
    view.

    The view is searched at half size.
    """
    # A quarter of the pixels is enough to find the place.
    half = cv2.resize(view, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)
    fits = cv2.matchTemplate(half, _small_print(marker), cv2.TM_CCOEFF_NORMED)
    _, likeness, _, corner = cv2.minMaxLoc(fits)
    first = 2 * np.array(corner) - 0.5
    square = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
    return float(likeness), first + _MARKER_PX * square


@lru_cache(maxsize=64)
def _small_print(marker: int) -> Luma:
    """Return a marker's print as it appears in a view at half size. The array is cached: do not
    write to it.
    """
    half = _MARKER_PX // 2
    print_ = cv2.resize(marker_modules(marker), (half, half), interpolation=cv2.INTER_AREA)
    return np.asarray(cv2.GaussianBlur(print_, (0, 0), 1.0), np.uint8)


def _unchanged(view: Luma) -> Luma:
    return view


def _without_shadows(view: Luma) -> Luma:
    return without_shadows(view, _MARKER_PX // 2)


Way = Callable[[Luma], Luma]
"""A preparation of a view before the search for markers."""
PLAIN: Sequence[Way] = (_unchanged,)
BETTER: Sequence[Way] = (sharpened, _without_shadows)


def _areas(squares: Collection[Square]) -> list[set[Square]]:
    """Return the squares in connected groups."""
    rest, areas = set(squares), []
    while rest:
        area, edge = set[Square](), [rest.pop()]
        while edge:
            square = edge.pop()
            area.add(square)
            # the eight neighbours
            near = {square.shifted(x, y) for x in (-1, 0, 1) for y in (-1, 0, 1)} & rest
            rest -= near
            edge += near
        areas.append(area)
    return areas


def _heights(kit: Kit) -> list[float]:
    """Return the heights of the markers in mm, highest first."""
    return sorted({face.height_mm for face in kit.faces}, reverse=True)


def _view_of(kit: Kit, pose: Pose, luma: Luma, area: set[Square], height_mm: float) -> _SquaresView:
    """Return the top view of these squares at the height of a piece's marker."""
    # px per mm
    scale = max(_SQUARE_PX / kit.board.pitch_mm, _MARKER_PX / kit.tag_mm)
    maps = pose.plane_maps(*_extent_of(kit, area), height_mm, scale)
    return _SquaresView(maps, maps.rectify(luma), kit.tag_mm * scale, kit, area)


def _extent_of(
    kit: Kit, area: Collection[Square]
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the lower left and upper right corner, mm, of these squares with a margin for askew
    pieces.
    """
    board = kit.board
    centres = np.array([board.centre_mm(square) for square in area])
    # half a square, and three quarters of a marker beyond
    half = np.array([board.pitch_mm, board.rank_pitch_mm]) / 2 + 0.75 * kit.tag_mm
    low, high = centres.min(axis=0) - half, centres.max(axis=0) + half
    return (float(low[0]), float(low[1])), (float(high[0]), float(high[1]))


def _guesses(
    picture: Luma,
    hits: Found,
    side: float,
    wanted: Collection[int],
    is_open: Callable[[Points], bool],
) -> Iterator[Sighting]:
    """Yield the likely markers among rejected quadrangles of a marker's size, px, on open places.

    A scratch may break the outline of a marker, but not that of the white area around it as well.
    """
    for quad in hits.rejected:
        if not is_open(quad):
            continue
        # The size has to match a marker, or one with its quiet zone.
        sides = np.linalg.norm(quad - np.roll(quad, -1, axis=0), axis=1)
        for larger in (1.0, _WITH_QUIET_ZONE):
            if sides.min() >= 0.8 * larger * side and sides.max() <= 1.2 * larger * side:
                # Shrink a quiet zone to the marker inside it.
                middle = quad.mean(axis=0)
                guess = best_guess(picture, middle + (quad - middle) / larger, wanted)
                if guess is not None:
                    yield guess
                    break
