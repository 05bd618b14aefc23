"""A closer look at squares that are not accounted for: from straight above, at the height of the
pieces' markers."""

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
"""Scale of the view: so large a square, or so large a marker, whichever is more."""


_CORNER_LIKENESS = 0.75
"""A corner marker tells where the whole board lies: it has to be more like its print than a piece's
marker."""
_LEAST_LIKENESS = 0.65
"""Where three other corners say that one is, nothing that is less like it shows it: correlation
anywhere in the view. Measured: 0.71 and more where it was found, in blur, glare and shadows;
covered ones mostly stay below 0.6."""
_WITH_QUIET_ZONE = 9 / 7
"""A marker of five modules a side has a black rim of one, and a white one of one around it."""


@dataclass(frozen=True, eq=False)
class _View:
    """A part of the board from straight above, (h, w), in which markers are `side` px wide."""

    maps: Maps
    luma: Luma
    side: float


@dataclass(frozen=True, eq=False)
class _SquaresView(_View):
    """The squares of an `area` at the height of some pieces' markers."""

    kit: Kit
    area: set[Square]

    @cached_property
    def markers(self) -> set[int]:
        """The ids of all that lie at this height."""
        return {
            m for face in self.kit.faces if face.height_mm == self.maps.z_mm for m in face.markers
        }

    def is_open(self, quad: Points) -> bool:
        """Tell whether a quadrangle lies on a square of the area."""
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
    """Read markers other than the `known` ids on and round these squares of a (height, width)
    picture.

    Each view from straight above is looked at in each of the `ways`, `PLAIN` or `BETTER`.
    """
    more: dict[int, Sighting] = {}
    for area in _areas(squares):
        for height in _heights(kit):
            # Markers of one height lie in one plane.
            view = _view_of(kit, pose, luma, area, height)
            wanted = view.markers - set(known) - set(more)
            for sighting in _at(view, wanted, view.is_open, ways):
                # From the view to the board, and from there to the picture.
                corners = flat(view.maps.to_board(sighting.corners_px), height)
                more[sighting.marker] = Sighting(
                    sighting.marker, pose.to_px(corners), sighting.score
                )
    return tuple(more.values())


def lost_corners(
    board: Board, pose: Pose, luma: Luma, seen: Collection[int]
) -> tuple[Sighting, ...]:
    """Return corner markers of the board that were overlooked.

    They are searched for where a rough pose puts them.
    """
    recovered = []
    for marker in set(board.corners) - set(seen):
        x, y = board.corner_centres_mm[marker]
        # Two corners say little about where the others are.
        room = (1.7 if len(seen) > 2 else 3.0) * board.corner_mm
        # A view round the place where the pose puts it.
        maps = pose.plane_maps(
            (x - room, y - room), (x + room, y + room), 0.0, _MARKER_PX / board.corner_mm
        )
        view = _View(maps, maps.rectify(luma), _MARKER_PX)
        # A look for the print as it is, before outlines are searched.
        likeness, place = _most_like(view.luma, marker)
        # Three corners say well where the fourth is: nothing like it is there.
        if len(seen) > 2 and likeness < _LEAST_LIKENESS:
            continue
        # Any corner marker: what is another one must not be taken for this one.
        shown = list(_at(view, set(board.corners), lambda _: True, (*PLAIN, *BETTER)))
        if likeness >= _CORNER_LIKENESS and all(sighting.marker != marker for sighting in shown):
            # What touches a marker joins its outline, which is no quadrangle then.
            guess = best_guess(view.luma, place, board.corners)
            shown += [guess] if guess is not None else []
        for sighting in shown:
            if sighting.marker == marker and sighting.score >= _CORNER_LIKENESS:
                # It tells where all of the board lies: as exactly as the picture shows.
                corners = pose.to_px(flat(maps.to_board(sighting.corners_px)))
                recovered.append(Sighting(marker, refined(luma, [corners])[0], sighting.score))
                break
    return tuple(recovered)


def _at(
    view: _View,
    wanted: set[int],
    is_open: Callable[[Points], bool],
    ways: Sequence[Way],
) -> Iterator[Sighting]:
    """Yield what is found of the wanted ids in one view, each once, in pixels of the view.

    The view is prepared in each of these ways.
    """
    for prepare in ways:
        picture = prepare(view.luma)
        hits = _FINDER.find(picture, 0.5 * view.side)
        for sighting in (*hits.sightings, *_guesses(picture, hits, view.side, wanted, is_open)):
            if sighting.marker in wanted:
                wanted = wanted - {sighting.marker}
                yield sighting
        # Nothing more is looked for.
        if not wanted:
            return


def _most_like(view: Luma, marker: int) -> tuple[float, Points]:
    """Return the correlation of a view with a marker's print where it is most like it.

    The view is looked at in half its size. Also returns where that is, (4, 2) px of the view.
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
    """Return a marker's print as it looks in a view at half its size. Not to be written to."""
    half = _MARKER_PX // 2
    print_ = cv2.resize(marker_modules(marker), (half, half), interpolation=cv2.INTER_AREA)
    return np.asarray(cv2.GaussianBlur(print_, (0, 0), 1.0), np.uint8)


def _as_it_is(view: Luma) -> Luma:
    return view


def _even_light(view: Luma) -> Luma:
    return without_shadows(view, _MARKER_PX // 2)


Way = Callable[[Luma], Luma]
"""How a view is prepared before markers are looked for in it."""
PLAIN: Sequence[Way] = (_as_it_is,)
BETTER: Sequence[Way] = (sharpened, _even_light)


def _areas(squares: Collection[Square]) -> list[set[Square]]:
    """Return the squares in groups that hang together."""
    rest, areas = set(squares), []
    while rest:
        area, edge = set[Square](), [rest.pop()]
        while edge:
            square = edge.pop()
            area.add(square)
            # The eight around it.
            near = {square.shifted(x, y) for x in (-1, 0, 1) for y in (-1, 0, 1)} & rest
            rest -= near
            edge += near
        areas.append(area)
    return areas


def _heights(kit: Kit) -> list[float]:
    """Return how high markers lie, mm, the highest first."""
    return sorted({face.height_mm for face in kit.faces}, reverse=True)


def _view_of(kit: Kit, pose: Pose, luma: Luma, area: set[Square], height_mm: float) -> _SquaresView:
    """Return these squares from straight above at the height of a piece's marker."""
    # px per mm.
    scale = max(_SQUARE_PX / kit.board.pitch_mm, _MARKER_PX / kit.tag_mm)
    maps = pose.plane_maps(*_room_of(kit, area), height_mm, scale)
    return _SquaresView(maps, maps.rectify(luma), kit.tag_mm * scale, kit, area)


def _room_of(kit: Kit, area: Collection[Square]) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the lowest and the highest corner, mm, of these squares with room for pieces that lie
    askew."""
    board = kit.board
    centres = np.array([board.centre_mm(square) for square in area])
    # Half a square, and three quarters of a marker beyond.
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
    """Yield what quadrangles of a marker's size, px, on open places most likely are.

    A scratch may break a marker's outline, but not that of the white around it as well.
    """
    for quad in hits.rejected:
        if not is_open(quad):
            continue
        # It has to be as large as a marker, or as one with its quiet zone.
        sides = np.linalg.norm(quad - np.roll(quad, -1, axis=0), axis=1)
        for larger in (1.0, _WITH_QUIET_ZONE):
            if sides.min() >= 0.8 * larger * side and sides.max() <= 1.2 * larger * side:
                # Of a quiet zone the marker is the inner part.
                middle = quad.mean(axis=0)
                guess = best_guess(picture, middle + (quad - middle) / larger, wanted)
                if guess is not None:
                    yield guess
                    break
