"""A second search for markers, in views of the board from straight above.

It is used on squares that the first search does not explain (`find_missed_pieces`), and for corner
markers that the first search has missed (`find_missed_corners`). As the pose of the board is known
at least roughly, a view can show the board at the height of the pieces' markers. There each marker
is a square of known size. In each view:

1. Search for markers that decode, in the view as it is, sharpened, and without shadows.
2. Compare quadrangles of a marker's size that do not decode with the prints of the wanted markers.
3. For a corner marker, also match its print as a template, in case its outline is spoilt.
4. Convert the corners back to the picture.
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
    CLOSE_UP,
    FinderResult,
    Luma,
    MarkerFinder,
    Sighting,
    best_guess,
    marker_modules,
    refine_corners,
    remove_shadows,
    sharpen,
)
from vision.pose.pose import Points, Pose, TopView, at_height

# Finds markers at the size that they have in a view.
_FINDER = MarkerFinder(windows=CLOSE_UP)

# Minimum side of a square in the view. Measured on rendered tables: 48 px suffice, and cost a
# quarter of a full picture.
_SQUARE_PX = 48

# Minimum side of a marker in the view. The larger scale of the two is used.
_MARKER_PX = 44

# Half the width of the area in which a corner marker is searched, in sides of the marker, if the
# three other corner markers predict its position.
_CORNER_SEARCH_SIDES = 1.7

# The same if only one or two other corner markers predict its position, which they do poorly.
_WIDE_CORNER_SEARCH_SIDES = 3.0

# Minimum side of what is searched for markers in a view, as a share of a marker's side there.
_MIN_SIDE_SHARE = 0.5

# Minimum and maximum side of a quadrangle that may be a marker, as a share of a marker's side.
_SIDE_RATIOS = 0.8, 1.2

# Margin of a view around its squares, in sides of a marker, as pieces lie askew.
_EXTENT_MARGIN_SIDES = 0.75

# Minimum score of a corner marker. It is stricter than for a piece, because a corner marker
# determines the pose of the whole board. The score of a marker that does not decode is its
# correlation with the print. So a guess is not even tried if the template correlates less with the
# view than this.
_MIN_CORNER_SCORE = 0.75

# Minimum correlation of a corner marker's print with some place in the view, if three others
# predict its position. With less, the marker counts as hidden. Measured: 0.71 and more where a
# marker was found, in blur, glare and shadows. Covered markers mostly stay below 0.6.
_MIN_CORRELATION = 0.65

# Side of a marker with its quiet zone, relative to the marker. Five modules and a black rim of one
# module make seven, and the white zone around it adds one module on each side.
_WITH_QUIET_ZONE = 9 / 7

# Returns a view (h, w) with clearer markers, of the same size, before it is searched.
Preprocessor = Callable[[Luma], Luma]


def _leave_unchanged(view: Luma) -> Luma:
    return view


def _remove_shadows(view: Luma) -> Luma:
    return remove_shadows(view, _MARKER_PX // 2)


# For views in which most markers decode.
PLAIN: Sequence[Preprocessor] = (_leave_unchanged,)

# For markers that are out of focus or under shadows with edges.
ENHANCED: Sequence[Preprocessor] = (sharpen, _remove_shadows)


@dataclass(frozen=True, eq=False)
class _View:
    """A part of the board from straight above."""

    # Where each pixel of the view is in the picture.
    top_view: TopView
    # The view itself, (h, w).
    luma: Luma
    # Side of a marker in the view.
    side_px: float


@dataclass(frozen=True, eq=False)
class _SquaresView(_View):
    """The squares of an area from straight above, at the height of some pieces' markers."""

    kit: Kit
    # The squares of the view on which markers are searched.
    area: set[Square]

    @cached_property
    def markers(self) -> set[int]:
        """Ids of all markers at this height."""
        ids = set[int]()
        for face in self.kit.faces:
            if face.height_mm == self.top_view.z_mm:
                ids.update(face.markers)
        return ids

    def is_in_area(self, quad: Points) -> bool:
        """Return whether the middle of a quadrangle (4, 2) px is on a square of the area."""
        x, y = self.top_view.to_board(quad.mean(axis=0)[None])[0]
        return self.kit.board.square_at(x, y) in self.area


def find_missed_pieces(
    kit: Kit,
    pose: Pose,
    luma: Luma,
    *,
    known_ids: Collection[int],
    squares: Collection[Square],
    preprocessors: Sequence[Preprocessor],
) -> tuple[Sighting, ...]:
    """Return the pieces' markers, other than the `known_ids`, on and around these squares.

    The squares are searched in views from straight above of the (height, width) picture `luma`.
    Each view is searched once after each of the `preprocessors`, which are `PLAIN` or `ENHANCED`.
    """
    sightings: dict[int, Sighting] = {}
    for area in _connected_areas(squares):
        # Markers of one height are in one plane. The highest come first.
        for height_mm in sorted({face.height_mm for face in kit.faces}, reverse=True):
            view = _rectify_squares(kit, pose, luma, area, height_mm)
            wanted_ids = view.markers - set(known_ids) - set(sightings)
            for sighting in _search_view(view, wanted_ids, view.is_in_area, preprocessors):
                # From the view to the board, and from there to the picture.
                corners_mm = at_height(view.top_view.to_board(sighting.corners_px), height_mm)
                corners_px = pose.to_px(corners_mm)
                sightings[sighting.marker] = Sighting(sighting.marker, corners_px, sighting.score)
    return tuple(sightings.values())


def find_missed_corners(
    board: Board, pose: Pose, luma: Luma, seen_corner_ids: Collection[int]
) -> tuple[Sighting, ...]:
    """Return corner markers of the board that are not among `seen_corner_ids`.

    They are searched in a (height, width) picture where a rough pose predicts them.
    """
    # Three corners predict the fourth well.
    is_well_predicted = len(seen_corner_ids) > 2
    missed_ids = set(board.corners) - set(seen_corner_ids)
    corners = [_find_corner(board, pose, luma, marker, is_well_predicted) for marker in missed_ids]
    return tuple(filter(None, corners))


def _find_corner(
    board: Board, pose: Pose, luma: Luma, marker: int, is_well_predicted: bool
) -> Sighting | None:
    """Return a corner marker near its predicted position, or None if it is not visible."""
    x, y = board.corner_centres_mm[marker]
    sides = _CORNER_SEARCH_SIDES if is_well_predicted else _WIDE_CORNER_SEARCH_SIDES
    reach = sides * board.corner_mm

    # A view around the predicted position.
    top_view = pose.top_view(
        (x - reach, y - reach), (x + reach, y + reach), 0.0, _MARKER_PX / board.corner_mm
    )
    view = _View(top_view, top_view.rectify(luma), _MARKER_PX)

    # Match the print as a template, before the search for outlines.
    correlation, quad = _match_template(view.luma, marker)
    # If nothing like the marker is where it has to be, it is hidden, and a search would be in vain.
    if is_well_predicted and correlation < _MIN_CORRELATION:
        return None

    # Search for all corner markers, so that another one is not mistaken for this one.
    sightings = _search_view(view, set(board.corners), lambda _: True, (*PLAIN, *ENHANCED))
    best = next((sighting for sighting in sightings if sighting.marker == marker), None)
    if best is None and correlation >= _MIN_CORNER_SCORE:
        # If an object touches the marker, its outline is not a quadrangle any more, and the search
        # for outlines misses it. The print is still visible where the template matches.
        best = best_guess(view.luma, quad, board.corners)
    if best is None or best.marker != marker or best.score < _MIN_CORNER_SCORE:
        return None

    # The marker affects the pose of the whole board, so refine its corners in the picture itself.
    corners_px = pose.to_px(at_height(top_view.to_board(best.corners_px)))
    return Sighting(marker, refine_corners(luma, [corners_px])[0], best.score)


def _search_view(
    view: _View,
    wanted_ids: set[int],
    may_guess: Callable[[Points], bool],
    preprocessors: Sequence[Preprocessor],
) -> Iterator[Sighting]:
    """Yield each marker with a wanted id once, in pixels of the view.

    The view is searched after each of the `preprocessors`, until all are found. Markers that do not
    decode are guessed where `may_guess` holds for their corners (4, 2) px.
    """
    for prepare in preprocessors:
        picture = prepare(view.luma)
        result = _FINDER.find(picture, _MIN_SIDE_SHARE * view.side_px)
        guesses = _guess_markers(picture, result, view.side_px, wanted_ids, may_guess)
        for sighting in (*result.sightings, *guesses):
            if sighting.marker in wanted_ids:
                wanted_ids = wanted_ids - {sighting.marker}
                yield sighting
        if not wanted_ids:
            return


def _match_template(view: Luma, marker: int) -> tuple[float, Points]:
    """Return the highest correlation of a view with a marker's upright print, and where it is.

    That is a quadrangle, (4, 2) px of the view, upper left first, clockwise.
    """
    # Half the size is enough to find it, and has a quarter of the pixels.
    half = cv2.resize(view, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)
    correlations = cv2.matchTemplate(half, _small_print(marker), cv2.TM_CCOEFF_NORMED)
    _, highest, _, corner = cv2.minMaxLoc(correlations)
    # Convert from pixels of the half view to pixels of the view. In both, the centre of the first
    # pixel is (0, 0).
    upper_left = 2 * np.array(corner) - 0.5
    square = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
    return float(highest), upper_left + _MARKER_PX * square


@lru_cache(maxsize=64)
def _small_print(marker: int) -> Luma:
    """Return a marker's print as it appears in a view at half size.

    The array is cached: do not write to it.
    """
    half = _MARKER_PX // 2
    # As soft as in most pictures.
    small_print = cv2.resize(marker_modules(marker), (half, half), interpolation=cv2.INTER_AREA)
    return np.asarray(cv2.GaussianBlur(small_print, (0, 0), 1.0), np.uint8)


def _connected_areas(squares: Collection[Square]) -> list[set[Square]]:
    """Return the squares in connected groups, so that each group needs only one view."""
    remaining = set(squares)
    areas = []
    while remaining:
        # Flood fill over the eight neighbours of each square.
        area = set[Square]()
        pending = [remaining.pop()]
        while pending:
            square = pending.pop()
            area.add(square)
            near = {square.shifted(x, y) for x in (-1, 0, 1) for y in (-1, 0, 1)} & remaining
            remaining -= near
            pending += near
        areas.append(area)
    return areas


def _rectify_squares(
    kit: Kit, pose: Pose, luma: Luma, area: set[Square], height_mm: float
) -> _SquaresView:
    """Return the top view of these squares at the height of a piece's marker."""
    # In px per mm.
    scale = max(_SQUARE_PX / kit.board.pitch_mm, _MARKER_PX / kit.tag_mm)
    top_view = pose.top_view(*_squares_extent(kit, area), height_mm, scale)
    return _SquaresView(top_view, top_view.rectify(luma), kit.tag_mm * scale, kit, area)


def _squares_extent(
    kit: Kit, area: Collection[Square]
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the lower left and upper right corner, (x, y) mm, of these squares with a margin."""
    board = kit.board
    centres = np.array([board.centre_mm(square) for square in area])
    half = np.array([board.pitch_mm, board.rank_pitch_mm]) / 2 + _EXTENT_MARGIN_SIDES * kit.tag_mm
    low = centres.min(axis=0) - half
    high = centres.max(axis=0) + half
    return (float(low[0]), float(low[1])), (float(high[0]), float(high[1]))


def _guess_markers(
    picture: Luma,
    result: FinderResult,
    side_px: float,
    wanted_ids: Collection[int],
    may_guess: Callable[[Points], bool],
) -> Iterator[Sighting]:
    """Yield the likely markers among the rejected quadrangles that have the size of a marker.

    If a scratch breaks the outline of a marker, the outline of the white area around it may be
    whole. So quadrangles of that size are tried as well, with the marker inside them.
    """
    low, high = _SIDE_RATIOS
    for quad in result.rejected:
        if not may_guess(quad):
            continue
        # The size has to match a marker, or one with its quiet zone.
        ratios = np.linalg.norm(quad - np.roll(quad, -1, axis=0), axis=1) / side_px
        for zoom in (1.0, _WITH_QUIET_ZONE):
            if ratios.min() >= low * zoom and ratios.max() <= high * zoom:
                # Shrink a quiet zone to the marker inside it.
                middle = quad.mean(axis=0)
                guess = best_guess(picture, middle + (quad - middle) / zoom, wanted_ids)
                if guess is not None:
                    yield guess
                    break
