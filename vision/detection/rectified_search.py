"""A closer look at squares that are not accounted for: from straight above, at the height of the pieces' markers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

import numpy as np

from companion.core.grid import Square
from companion.core.kit import Board, Kit
from vision.detection.markers import (
    Found,
    Luma,
    MarkerFinder,
    Sighting,
    best_guess,
    resembles_marker,
    sharpened,
    without_shadows,
)
from vision.pose.pose import Maps, Points, Pose, flat

_SQUARE_PX, _MARKER_PX = 48, 44
"""Scale of the view: so large a square, or so large a marker, whichever is more."""


_CORNER_LIKENESS = 0.75
"""A corner marker tells where the whole board lies: it has to be more like its print than a piece's marker."""
_WITH_QUIET_ZONE = 9 / 7
"""A marker of five modules a side has a black rim of one, and a white one of one around it."""


class RectifiedSearch:
    """Reads markers that the whole picture did not show: plain, sharpened, without shadows, by their likeness."""

    def __init__(self) -> None:
        self._finder = MarkerFinder(close=True)

    def look(
        self,
        kit: Kit,
        pose: Pose,
        luma: Luma,
        known: Collection[int],
        open_squares: Collection[Square],
        *,
        plainly: bool,
    ) -> tuple[Sighting, ...]:
        """Markers other than the `known` ids on and round these squares of a (height, width) picture: those that show
        `plainly`, or else those that do in a sharpened copy or in one without shadows."""
        ways = _PLAIN if plainly else _BETTER
        more: dict[int, Sighting] = {}
        for area in _areas(open_squares):
            for height in sorted({face.height_mm for face in kit.faces}, reverse=True):
                of_height = {m for face in kit.faces if face.height_mm == height for m in face.markers}
                maps, told = _view_of(kit, pose, height, area), set[Square | None]()

                def is_open(quad: Points, maps: Maps = maps, area: set[Square] = area) -> bool:
                    return _square_of(kit, maps, quad) in area

                for sighting in self._at(maps, luma, kit.tag_mm, of_height - set(known) - set(more), is_open, ways):
                    corners = flat(maps.to_board(sighting.corners_px), height)
                    more[sighting.marker] = Sighting(sighting.marker, pose.to_px(corners), sighting.score)
                    told.add(_square_of(kit, maps, sighting.corners_px))
                if told.issuperset(area):
                    break
        return tuple(more.values())

    def marked(self, kit: Kit, pose: Pose, luma: Luma, squares: Collection[Square]) -> set[Square]:
        """On which of these squares is something that resembles a marker, read or not?"""
        found = set()
        for square in squares:
            for height in {face.height_mm for face in kit.faces}:
                maps = _view_of(kit, pose, height, [square])
                view = maps.rectify(luma)
                hits = self._finder.find(view, 0.5 * kit.tag_mm * maps.scale)
                quads = [s.corners_px for s in hits.sightings] + [q for q in hits.rejected if resembles_marker(view, q)]
                if any(_square_of(kit, maps, quad) == square for quad in quads):
                    found.add(square)
        return found

    def corners(self, board: Board, pose: Pose, luma: Luma, seen: Collection[int]) -> tuple[Sighting, ...]:
        """Corner markers of the board that were overlooked, searched for where a rough pose puts them."""
        found = []
        for marker in set(board.corners) - set(seen):
            x, y = board.corner_centres_mm[marker]
            # Two corners say little about where the others are.
            room = (1.7 if len(seen) > 2 else 3.0) * board.corner_mm
            maps = pose.plane_maps((x - room, y - room), (x + room, y + room), 0.0, _MARKER_PX / board.corner_mm)
            ways = (*_PLAIN, *_BETTER)
            for sighting in self._at(maps, luma, board.corner_mm, set(board.corners), lambda _: True, ways):
                if sighting.marker == marker and sighting.score >= _CORNER_LIKENESS:
                    corners = pose.to_px(flat(maps.to_board(sighting.corners_px)))
                    found.append(Sighting(marker, corners, sighting.score))
        return tuple(found)

    def _at(  # noqa: PLR0917 - one view
        self,
        maps: Maps,
        luma: Luma,
        side_mm: float,
        wanted: set[int],
        is_open: Callable[[Points], bool],
        ways: Sequence[Callable[[Luma], Luma]],
    ) -> Iterator[Sighting]:
        """What is found of the wanted ids in one view, prepared in these ways, each once, in pixels of the view."""
        view, side = maps.rectify(luma), side_mm * maps.scale
        for prepare in ways:
            picture = prepare(view)
            hits = self._finder.find(picture, 0.5 * side)
            for sighting in (*hits.sightings, *_guesses(picture, hits, side, wanted, is_open)):
                if sighting.marker in wanted:
                    wanted = wanted - {sighting.marker}
                    yield sighting
            if not wanted:
                return


def _as_it_is(view: Luma) -> Luma:
    return view


def _evened(view: Luma) -> Luma:
    return without_shadows(view, _MARKER_PX // 2)


_PLAIN, _BETTER = (_as_it_is,), (sharpened, _evened)


def _areas(squares: Collection[Square]) -> list[set[Square]]:
    """The squares in groups that hang together."""
    rest, areas = set(squares), []
    while rest:
        area, edge = set[Square](), [rest.pop()]
        while edge:
            square = edge.pop()
            area.add(square)
            near = {square.shifted(x, y) for x in (-1, 0, 1) for y in (-1, 0, 1)} & rest
            rest -= near
            edge += near
        areas.append(area)
    return areas


def _view_of(kit: Kit, pose: Pose, height_mm: float, area: Collection[Square]) -> Maps:
    """These squares from straight above at the height of a piece's marker, with room for pieces that lie askew."""
    board = kit.board
    scale = max(_SQUARE_PX / board.pitch_mm, _MARKER_PX / kit.tag_mm)
    room = 0.75 * kit.tag_mm
    centres = np.array([board.centre_mm(square) for square in area])
    half = np.array([board.pitch_mm, board.rank_pitch_mm]) / 2 + room
    low, high = centres.min(axis=0) - half, centres.max(axis=0) + half
    return pose.plane_maps((float(low[0]), float(low[1])), (float(high[0]), float(high[1])), height_mm, scale)


def _square_of(kit: Kit, maps: Maps, quad: Points) -> Square | None:
    x, y = maps.to_board(quad.mean(axis=0)[None])[0]
    return kit.board.square_at(x, y)


def _guesses(
    picture: Luma, hits: Found, side: float, wanted: Collection[int], is_open: Callable[[Points], bool]
) -> Iterator[Sighting]:
    """Quadrangles of a marker's size, px, on places that are open, and what they most likely are.

    A scratch may break a marker's outline, but not that of the white around it as well.
    """
    for quad in hits.rejected:
        if not is_open(quad):
            continue
        sides = np.linalg.norm(quad - np.roll(quad, -1, axis=0), axis=1)
        for larger in (1.0, _WITH_QUIET_ZONE):
            if sides.min() >= 0.8 * larger * side and sides.max() <= 1.2 * larger * side:
                middle = quad.mean(axis=0)
                guess = best_guess(picture, middle + (quad - middle) / larger, wanted)
                if guess is not None:
                    yield guess
                    break
