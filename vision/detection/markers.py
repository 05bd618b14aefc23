"""Finds and identifies markers in pictures, and guesses those that do not decode.

The markers are ArUco markers: a square of black and white modules with a black rim. A *dictionary*
is OpenCV's list of prints, and a marker's id is the index of its print in that list.

There are three ways to search, from the fastest to the most thorough:

- `scan_quickly` searches a large picture at half size, which costs a quarter of the time, and
  refines the corners in the picture itself. It misses small markers.
- `scan_parts` searches boxes of a picture, and `MarkerFinder.find` a whole picture, at full size.
- `best_guess` compares a quadrangle that does not decode with the prints that it may be.

In a picture, the centre of the first pixel is (0, 0). When a picture is scaled, coordinates are
therefore not only scaled but also shifted by a part of a pixel.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from companion.core.errors import Malformed
from companion.core.kit import DICTIONARY
from vision.detection.stillness import BLOCK_PX, BlockMask
from vision.pose.pose import Points

# The brightness of a picture, (height, width): 0 is black, 255 white.
Luma = NDArray[np.uint8]

# Rows and columns of a part of a picture or view.
Box = tuple[slice, slice]

# Pictures wider than this, such as 1080p, are searched at half size first.
_LARGE_WIDTH_PX = 1600

# Smaller pictures are first reduced to this width, half of 1080p. Pictures that are not wider than
# this are searched as they are.
_SMALL_WIDTH_PX = 960

# Half the window in which a corner is refined, in px. A larger window would contain other edges of
# small markers.
_REFINE_PX = 3

# Maximum shift of a refined corner. A corner that moves farther follows another edge.
_MAX_SHIFT_PX = 2.0

# Minimum brightness that is assumed for white, of 255, so that noise in black areas is not
# amplified.
_MIN_WHITE = 20

# Blur of the unsharp mask in px. Chosen by trial on rendered markers out of focus.
_SHARPEN_SIGMA_PX = 1.6

# Weight of what the blur removes, which is added to the picture. Chosen by the same trial. Larger:
# noise is amplified.
_SHARPEN_GAIN = 1.8

# (7, 42): matrix that averages the four inner ones of the six pixels of each module.
_AVERAGE = np.kron(np.eye(7), [0, 0.25, 0.25, 0.25, 0.25, 0])

# (4, 2) px: the corners of a marker that is rectified to six pixels per module.
_RECTIFIED_CORNERS = np.array([[0, 0], [42, 0], [42, 42], [0, 42]], np.float32) - np.float32(0.5)

# Minimum contrast of a print that is guessed: the length of the vector of its 49 modules without
# their mean. 42 is a standard deviation of 6 levels, which noise alone may reach.
_MIN_CONTRAST = 42.0


class MatchThreshold(NamedTuple):
    """Minimum values at which a quadrangle counts as the print of one marker and of no other."""

    correlation: float
    """Minimum correlation with that print, at most 1."""
    margin: float
    """Minimum lead of that correlation over the one with any other print."""


# Threshold for a print that is guessed. It is strict, because a wrong marker is worse than none.
# Measured: prints of other ids reach a correlation of .57 in sharp pictures and less in soft ones.
# The right one falls to .76 where decoding fails.
_MATCH_THRESHOLD = MatchThreshold(correlation=0.68, margin=0.25)


@dataclass(frozen=True, eq=False)
class Sighting:
    """One detected marker in one picture."""

    marker: int
    """Its id in the dictionary."""
    corners_px: Points
    """Its corners (4, 2), upper left of the print first, clockwise."""
    score: float = 1.0
    """Confidence: 1 if the marker decodes, else the correlation with the marker's print."""

    @cached_property
    def centre_px(self) -> Points:
        """Intersection (2,) of the diagonals, which is the true centre in perspective too."""
        a, b, c, d = self.corners_px
        first = c - a
        second = d - b
        # Solve a + share * first = b + second_share * second for `share`, by cross products.
        cross = first[0] * second[1] - first[1] * second[0]
        if abs(cross) < 1e-9:
            # The diagonals are parallel, so this is not a quadrangle.
            return np.asarray(self.corners_px.mean(axis=0))
        share = ((b - a)[0] * second[1] - (b - a)[1] * second[0]) / cross
        return np.asarray(a + share * first)

    @cached_property
    def side_px(self) -> float:
        """Square root of the marker's area."""
        return float(np.sqrt(cv2.contourArea(self.corners_px.astype(np.float32))))

    def is_same(self, other: Sighting) -> bool:
        """Return whether another sighting shows the same marker in the same place."""
        if self.marker != other.marker:
            return False
        return bool(np.abs(self.centre_px - other.centre_px).max() < other.side_px / 2)


@dataclass(frozen=True, eq=False)
class FinderResult:
    """What a search has found in a picture."""

    sightings: tuple[Sighting, ...]
    """All markers that decode."""
    rejected: Points
    """(N, 4, 2) px: quadrangles that look like markers but do not decode."""


@lru_cache(maxsize=8)
def get_dictionary(name: str) -> cv2.aruco.Dictionary:
    """Return OpenCV's dictionary of that name, such as `DICT_6X6_250`.

    Raises `Malformed` if there is none.
    """
    # OpenCV's constants have the names of its dictionaries.
    number = getattr(cv2.aruco, name, None)
    if not name.startswith("DICT_") or not isinstance(number, int):
        raise Malformed(
            f"“{name}” is not a marker dictionary: expected one like DICT_6X6_250 or "
            "DICT_APRILTAG_36h11"
        )
    return cv2.aruco.getPredefinedDictionary(number)


class ThresholdWindows(NamedTuple):
    """Parameters of OpenCV's adaptive threshold, with which it binarises a picture.

    A pixel is black if it is darker than the mean of the window around it. Markers are searched
    with windows of several sizes: more windows find more markers and take more time.
    """

    smallest_px: int
    largest_px: int
    step_px: int
    """Difference between one window's size and the next one's."""
    min_perimeter: float
    """Minimum perimeter of a marker, relative to the longer side of the picture."""
    min_depth: int = 7
    """By how many levels of 255 a black pixel is darker than that mean. 7 is OpenCV's own value."""


# The following windows were chosen by trial on rendered tables.

# The default: a fine and a coarse window.
NORMAL = ThresholdWindows(smallest_px=7, largest_px=27, step_px=20, min_perimeter=0.02)
# A single window, which is fastest.
QUICK = ThresholdWindows(smallest_px=13, largest_px=13, step_px=20, min_perimeter=0.02)
# Many windows, for single pictures.
THOROUGH = ThresholdWindows(smallest_px=3, largest_px=43, step_px=4, min_perimeter=0.01)
# For large markers, as in a view of a few squares.
CLOSE_UP = ThresholdWindows(smallest_px=9, largest_px=33, step_px=12, min_perimeter=0.05)
# The same for markers of cards. Edges of cards next to a marker are paler than its print and must
# not merge with it.
CLOSE_UP_OF_CARDS = ThresholdWindows(
    smallest_px=13, largest_px=33, step_px=20, min_perimeter=0.05, min_depth=25
)


@dataclass(frozen=True)
class MarkerFinder:
    """OpenCV's ArUco detector, with parameters that find markers which its defaults miss."""

    dictionary: str = DICTIONARY
    """Name of the dictionary of the markers."""
    windows: ThresholdWindows = NORMAL
    is_rough: bool = False
    """Whether to find corners as the intersections of lines along a marker's outline.

    That is less precise than a search for each corner, but never follows another edge. The caller
    has to refine such corners in a larger picture.
    """
    only_ids: tuple[int, ...] = ()
    """The only ids to detect. A module that is wrong is not tolerated then.

    If it is empty, all ids are detected, and a few modules may be wrong.
    """

    def find(self, luma: Luma, min_side_px: float | None = None) -> FinderResult:
        """Find all markers of a (height, width) picture with sides of at least `min_side_px`.

        If that is None, the minimum of the `windows` holds.
        """
        parameters = self._parameters()
        if min_side_px is not None:
            # OpenCV's limit is relative to the longer side of the picture.
            parameters.minMarkerPerimeterRate = min(4.0, 4 * min_side_px / max(luma.shape))

        # A dictionary of a few prints is faster to search. The 0 allows no wrong module.
        dictionary = get_dictionary(self.dictionary)
        if self.only_ids:
            dictionary = cv2.aruco.Dictionary(
                dictionary.bytesList[list(self.only_ids)], dictionary.markerSize, 0
            )
        corners, ids, rejected = cv2.aruco.ArucoDetector(dictionary, parameters).detectMarkers(luma)
        sightings = []

        # OpenCV 4 returns ids as (N, 1) or None, OpenCV 5 as (N,).
        indices = np.empty(0, int) if ids is None else np.ravel(ids)
        for index, quad in zip(map(int, indices), corners, strict=True):
            # OpenCV's id is the index in its dictionary, which may have only some of the prints.
            marker = self.only_ids[index] if self.only_ids else index
            sightings.append(Sighting(marker, np.asarray(quad, np.float64).reshape(4, 2)))

        # Quadrangles that match no print of the dictionary.
        quads = np.array(rejected, np.float64).reshape(-1, 4, 2)
        return FinderResult(tuple(sightings), quads)

    def _parameters(self) -> cv2.aruco.DetectorParameters:
        """Return OpenCV's parameters for these options."""
        parameters = cv2.aruco.DetectorParameters()

        # Finer sampling of modules, with a wider margin around each. Measured: under slight defocus
        # the share of markers that decode rises from .81 to 1.0, at 1.6 times the cost. A reduced
        # picture needs only a coarser grid.
        parameters.perspectiveRemovePixelPerCell = 6 if self.is_rough else 8
        parameters.perspectiveRemoveIgnoredMarginPerCell = 0.3
        refine = (
            cv2.aruco.CORNER_REFINE_CONTOUR if self.is_rough else cv2.aruco.CORNER_REFINE_SUBPIX
        )
        parameters.cornerRefinementMethod = refine

        windows = self.windows
        parameters.minMarkerPerimeterRate = windows.min_perimeter
        parameters.adaptiveThreshConstant = windows.min_depth
        parameters.adaptiveThreshWinSizeMin = windows.smallest_px
        parameters.adaptiveThreshWinSizeMax = windows.largest_px
        parameters.adaptiveThreshWinSizeStep = windows.step_px
        return parameters


# ---- pictures and parts of them ------------------------------------------------------------------


def scan_quickly(luma: Luma) -> tuple[Sighting, ...] | None:
    """Return the markers of a picture that are found at a reduced size.

    Their corners are refined in the picture itself. Returns None if the picture is so small that it
    should be searched as it is.
    """
    width = luma.shape[1]
    if width <= _SMALL_WIDTH_PX:
        return None
    if is_large(luma):
        # At half size, each pixel is the mean of four.
        scale = 0.5
        interpolation = cv2.INTER_AREA
    else:
        scale = _SMALL_WIDTH_PX / width
        interpolation = cv2.INTER_LINEAR
    resized = cv2.resize(luma, None, fx=scale, fy=scale, interpolation=interpolation)
    small = np.asarray(resized, np.uint8)
    sightings = MarkerFinder(windows=QUICK, is_rough=True).find(small).sightings
    # The centre of the first pixel is (0, 0) in both sizes.
    off_px = (1 / scale - 1) / 2
    quads = [sighting.corners_px / scale + off_px for sighting in sightings]
    corners = refine_corners(luma, quads)
    pairs = zip(sightings, corners, strict=True)
    return tuple(Sighting(sighting.marker, quad_px) for sighting, quad_px in pairs)


def scan_parts(luma: Luma, boxes: Iterable[Box], min_side_px: float) -> list[Sighting]:
    """Return the markers in boxes of a picture, with sides of at least `min_side_px`."""
    # Parts are small, so one threshold window is enough.
    finder = MarkerFinder(windows=QUICK)
    sightings = []
    for rows, columns in boxes:
        # OpenCV needs contiguous memory, not a view of a larger picture.
        part = np.ascontiguousarray(luma[rows, columns])
        # Convert from x and y within the part to x and y in the picture.
        corner = columns.start, rows.start
        for sighting in finder.find(part, min_side_px).sightings:
            sightings.append(Sighting(sighting.marker, sighting.corners_px + corner))
    return sightings


def is_large(luma: Luma) -> bool:
    """Return whether a picture is large enough to be searched at half size."""
    return bool(luma.shape[1] > _LARGE_WIDTH_PX)


def refine_corners(luma: Luma, quads: Sequence[Points]) -> list[Points]:
    """Return quadrangles (4, 2) px whose corners are moved to where edges meet in the picture.

    Corners that would move too far, or are outside the picture, are left unchanged.
    """
    if not quads:
        return []
    # Refine all corners inside the picture at once.
    rough = np.vstack(quads).astype(np.float32)
    height, width = luma.shape
    is_inside = ((rough >= 0) & (rough <= (width - 1, height - 1))).all(axis=1)
    fine = rough.copy()
    if is_inside.any():
        window = (_REFINE_PX, _REFINE_PX)
        # At most ten steps, or until a corner moves by less than 0.05 px.
        criteria = (cv2.TERM_CRITERIA_COUNT + cv2.TERM_CRITERIA_EPS, 10, 0.05)
        start = np.ascontiguousarray(rough[is_inside]).reshape(-1, 1, 2)
        fine[is_inside] = cv2.cornerSubPix(luma, start, window, (-1, -1), criteria).reshape(-1, 2)
    # A corner that moves far has met the edge of something else.
    is_near = np.abs(fine - rough).max(axis=1, keepdims=True) <= _MAX_SHIFT_PX
    return list(np.where(is_near, fine, rough).astype(np.float64).reshape(-1, 4, 2))


def boxes_around(blocks: BlockMask, margin_px: float, luma: Luma) -> list[Box]:
    """Return boxes of the picture that contain all these blocks and a margin.

    Areas of blocks that touch once they have their margin share a box. Boxes may still overlap.
    """
    # The margin in blocks.
    reach = int(np.ceil(margin_px / BLOCK_PX))
    # Dilate by the margin, which merges areas that touch.
    enlarged = cv2.dilate(blocks.astype(np.uint8), np.ones((2 * reach + 1,) * 2, np.uint8))
    # The first component is the background.
    _, _, stats, _ = cv2.connectedComponentsWithStats(enlarged)
    height, width = luma.shape
    boxes = []
    for left, top, box_width, box_height in (BLOCK_PX * stats[1:, :4]).tolist():
        rows = slice(top, min(top + box_height, height))
        columns = slice(left, min(left + box_width, width))
        boxes.append((rows, columns))
    return boxes


# ---- prints --------------------------------------------------------------------------------------


@lru_cache(maxsize=512)
def marker_modules(marker: int, dictionary: str = DICTIONARY) -> NDArray[np.uint8]:
    """Return a marker's print with its black rim: (n + 2, n + 2) uint8 modules, 0 black, 255 white.

    The array is cached, so it must not be changed.
    """
    prints = get_dictionary(dictionary)
    return np.asarray(prints.generateImageMarker(marker, prints.markerSize + 2), np.uint8)


@lru_cache(maxsize=512)
def _rotated_prints(marker: int, dictionary: str) -> NDArray[np.float64]:
    """Return (4, (n + 2)²): a print in four rotations, counter-clockwise by 0 to 3 quarter turns.

    Each has zero mean and unit length.
    """
    # The product of two vectors that are normalised like this is their correlation.
    modules = marker_modules(marker, dictionary).astype(np.float64)
    modules -= modules.mean()
    modules /= np.linalg.norm(modules)
    return np.stack([np.rot90(modules, turns).ravel() for turns in range(4)])


def sharpen(luma: Luma) -> Luma:
    """Return a sharpened copy, in which blurred modules are told apart again (unsharp masking)."""
    # Add the difference between the picture and its blur, times the gain.
    soft = cv2.GaussianBlur(luma, (0, 0), _SHARPEN_SIGMA_PX)
    sharp = cv2.addWeighted(luma, 1 + _SHARPEN_GAIN, soft, -_SHARPEN_GAIN, 0)
    return np.asarray(sharp, np.uint8)


def remove_shadows(luma: Luma, window_px: int) -> Luma:
    """Return a copy with even illumination, also across the hard edge of a shadow.

    `window_px` is wider than the dark areas within a marker (three or four modules), and narrower
    than a marker.
    """
    # Closing replaces dark areas that are smaller than the window by the paper around them.
    white = cv2.morphologyEx(luma, cv2.MORPH_CLOSE, np.ones((window_px, window_px), np.uint8))
    return np.asarray(cv2.divide(luma, np.maximum(white, _MIN_WHITE), scale=255), np.uint8)


def module_means(luma: Luma, quad: Points) -> NDArray[np.float64]:
    """Return (7, 7): the mean brightness of each module of a marker with its rim, upper left first.

    `quad` are the marker's corners (4, 2) px, clockwise. Only for markers of five by five modules.
    """
    # Rectify to six pixels per module, of which `_AVERAGE` averages the inner four.
    side = _AVERAGE.shape[1]
    warp = cv2.getPerspectiveTransform(quad.astype(np.float32), _RECTIFIED_CORNERS)
    return _AVERAGE @ cv2.warpPerspective(luma, warp, (side, side)) @ _AVERAGE.T


def best_guess(
    luma: Luma,
    quad: Points,
    candidates: Iterable[int],
    dictionary: str = DICTIONARY,
    threshold: MatchThreshold = _MATCH_THRESHOLD,
) -> Sighting | None:
    """Return a sighting of the candidate whose print fits a quadrangle (4, 2) px best.

    Its score is the correlation with that print. Returns None if there are no candidates, if the
    contrast is too low, or if the best one does not reach `threshold`. Only for markers of five by
    five modules.
    """
    means = module_means(luma, quad)
    means -= means.mean()
    norm = float(np.linalg.norm(means))
    if norm < _MIN_CONTRAST:
        return None
    ids = list(candidates)
    if not ids:
        return None

    # The correlation with each candidate in four rotations, (N, 4).
    prints = np.stack([_rotated_prints(marker, dictionary) for marker in ids])
    correlations = prints @ (means.ravel() / norm)
    # The best rotation of each candidate, sorted by correlation.
    ranked = []
    for marker, by_rotation in zip(ids, correlations, strict=True):
        turns = int(by_rotation.argmax())
        ranked.append((float(by_rotation[turns]), marker, turns))
    ranked.sort(reverse=True)

    # The best has to be likely, and clearly ahead of the next one.
    (score, marker, turns), *others = ranked
    if score < threshold.correlation:
        return None
    if others and score - others[0][0] < threshold.margin:
        return None
    # The print lies here rotated by `turns` quarter turns counter-clockwise. So its own upper left
    # corner is that many corners before the first corner of the quadrangle. `roll` puts it first.
    return Sighting(marker, np.roll(quad, turns, axis=0), score)
