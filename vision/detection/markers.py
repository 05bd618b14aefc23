"""Finds and identifies markers in pictures, and guesses those that do not decode at once.

A picture at half size costs a quarter of the time. Markers that are too small for that are searched
at full size, or where the board is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray

from companion.core.errors import Malformed
from companion.core.kit import DICTIONARY
from vision.detection.stillness import BLOCK_PX, Blocks
from vision.pose.pose import Points

Luma = NDArray[np.uint8]
Box = tuple[slice, slice]
"""Rows and columns of a part of a picture."""
_LARGE_WIDTH_PX = 1600
"""Pictures wider than this are searched at half size first, ..."""
_SMALL_WIDTH_PX = 960
"""... and others at this width."""
_REFINE_PX = 3
_MAX_SHIFT_PX = 2.0
"""Maximum shift of a refined corner. A corner that moves farther follows another edge."""
_MIN_WHITE = 20
"""Minimum brightness of white, of 255."""
_AVERAGE = np.kron(np.eye(7), [0, 0.25, 0.25, 0.25, 0.25, 0])
"""Matrix (7, 42) that averages the four inner pixels of the six of each module."""
_ENDS = np.array([[0, 0], [42, 0], [42, 42], [0, 42]], np.float32) - np.float32(0.5)


@dataclass(frozen=True, eq=False)
class Sighting:
    """One detected marker. `corners_px` is (4, 2), upper left of the print first, clockwise."""

    marker: int
    corners_px: Points
    score: float = 1.0
    """Confidence: 1 if the marker decodes, else the correlation with the marker's print."""

    @cached_property
    def centre_px(self) -> Points:
        """Intersection (2,) of the diagonals, which is the true centre in perspective too."""
        a, b, c, d = self.corners_px
        across, along = c - a, d - b
        # Solve a + reach * across = b + ... * along for `reach`, by cross products.
        cross = across[0] * along[1] - across[1] * along[0]
        if abs(cross) < 1e-9:
            return np.asarray(self.corners_px.mean(axis=0))
        reach = ((b - a)[0] * along[1] - (b - a)[1] * along[0]) / cross
        return np.asarray(a + reach * across)

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
class Found:
    """All markers of a picture, and the rejected quadrangles (N, 4, 2), which only look like
    markers.
    """

    sightings: tuple[Sighting, ...]
    rejected: Points


@lru_cache(maxsize=8)
def dictionary_of(name: str) -> cv2.aruco.Dictionary:
    """Return OpenCV's dictionary of that name, such as `DICT_6X6_250`. Raises `Malformed`."""
    # OpenCV's constants have the names of its dictionaries.
    number = getattr(cv2.aruco, name, None)
    if not name.startswith("DICT_") or not isinstance(number, int):
        raise Malformed(
            f"“{name}” is not a marker dictionary: expected one like DICT_6X6_250 or "
            "DICT_APRILTAG_36h11"
        )
    return cv2.aruco.getPredefinedDictionary(number)


@dataclass(frozen=True)
class MarkerFinder:
    """OpenCV's detector, with parameters that keep markers which its defaults discard."""

    dictionary: str = DICTIONARY
    thorough: bool = False
    """Whether to use more threshold windows, for single pictures."""
    close: bool = False
    """Whether the view shows markers at a large size."""
    quick: bool = False
    """Whether to use a single threshold window."""
    rough: bool = False
    """Whether to fit corners from the lines of a marker's outline.

    That is less precise, but never follows another edge. Such corners are refined in a larger
    picture.
    """
    only: tuple[int, ...] = ()
    """The only ids to detect, without any bit error. Empty means all ids."""

    def find(self, luma: Luma, least_px: float | None = None) -> Found:
        """Find all markers with sides of at least `least_px` in a (height, width) uint8 picture."""
        parameters = self._parameters()
        if least_px is not None:
            # OpenCV's limit is relative to the longer side of the picture, so convert it for a part
            # of one.
            parameters.minMarkerPerimeterRate = min(4.0, 4 * least_px / max(luma.shape))

        # A dictionary of a few prints is faster to search, and here allows no bit errors.
        book = dictionary_of(self.dictionary)
        if self.only:
            book = cv2.aruco.Dictionary(book.bytesList[list(self.only)], book.markerSize, 0)
        corners, ids, rejected = cv2.aruco.ArucoDetector(book, parameters).detectMarkers(luma)
        sightings = []

        # OpenCV 4 returns ids as (N, 1) or None, OpenCV 5 as (N,).
        numbers = np.empty(0, int) if ids is None else np.ravel(ids)
        for number, quad in zip(map(int, numbers), corners, strict=True):
            marker = self.only[number] if self.only else number
            sightings.append(Sighting(marker, np.asarray(quad, np.float64).reshape(4, 2)))

        # quadrangles that match no print of the dictionary
        quads = np.concatenate(rejected) if len(rejected) else np.empty((0, 4, 2))
        return Found(tuple(sightings), np.asarray(quads, np.float64).reshape(-1, 4, 2))

    def _parameters(self) -> cv2.aruco.DetectorParameters:
        parameters = cv2.aruco.DetectorParameters()

        # Finer sampling with a wider cell margin: for slight defocus, detection rises from .81 to
        # 1.0 at 1.6 times the cost. A reduced picture needs only a coarser grid.
        parameters.perspectiveRemovePixelPerCell = 6 if self.rough else 8
        parameters.perspectiveRemoveIgnoredMarginPerCell = 0.3
        refine = cv2.aruco.CORNER_REFINE_CONTOUR if self.rough else cv2.aruco.CORNER_REFINE_SUBPIX
        parameters.cornerRefinementMethod = refine
        parameters.minMarkerPerimeterRate = 0.02

        # Windows of the adaptive threshold in px: by default one fine, one coarse.
        smallest, largest, step = 7, 27, 20
        if self.close:
            smallest, largest, step = 9, 33, 12
            parameters.minMarkerPerimeterRate = 0.05
        elif self.thorough:
            smallest, largest, step = 3, 43, 4
            parameters.minMarkerPerimeterRate = 0.01
        elif self.quick:
            smallest = largest = 13
        if self.only:
            smallest, step = 13, 20
            # Edges of cards next to a marker are paler than its print and must not merge with it.
            parameters.adaptiveThreshConstant = 25
        parameters.adaptiveThreshWinSizeMin = smallest
        parameters.adaptiveThreshWinSizeMax = largest
        parameters.adaptiveThreshWinSizeStep = step
        return parameters


# ---- pictures and parts of them ------------------------------------------------------------------


def scan_quickly(luma: Luma) -> tuple[Sighting, ...] | None:
    """Return most markers of a picture, searched at a reduced size.

    Returns None if the picture is so small that it should be searched as it is.
    """
    width = luma.shape[1]
    if width <= _SMALL_WIDTH_PX:
        return None
    if is_large(luma):
        # At half size, each pixel is the mean of four.
        share, how = 0.5, cv2.INTER_AREA
    else:
        share, how = _SMALL_WIDTH_PX / width, cv2.INTER_LINEAR
    # Corners found in the reduced picture are refined in the full one below.
    small = np.asarray(cv2.resize(luma, None, fx=share, fy=share, interpolation=how), np.uint8)
    sightings = MarkerFinder(quick=True, rough=True).find(small).sightings
    # The centre of the first pixel is (0, 0) in both sizes.
    off = (1 / share - 1) / 2
    corners = refined(luma, [sighting.corners_px / share + off for sighting in sightings])
    return tuple(Sighting(s.marker, px) for s, px in zip(sightings, corners, strict=True))


def scan_parts(luma: Luma, boxes: Iterable[Box], least_px: float) -> list[Sighting]:
    """Return the markers in boxes of a picture, with sides of at least `least_px`."""
    # Parts are small, so one threshold window is enough.
    finder, sightings = MarkerFinder(quick=True), []
    for rows, columns in boxes:
        # OpenCV needs contiguous memory, not a view of a larger picture.
        part = np.ascontiguousarray(luma[rows, columns])
        corner = columns.start, rows.start
        for sighting in finder.find(part, least_px).sightings:
            sightings.append(Sighting(sighting.marker, sighting.corners_px + corner))
    return sightings


def is_large(luma: Luma) -> bool:
    """Return whether a picture is large enough to be searched at half size."""
    return bool(luma.shape[1] > _LARGE_WIDTH_PX)


def refined(luma: Luma, quads: Sequence[Points]) -> list[Points]:
    """Return corners (4, 2) px of each quadrangle, moved to where edges meet in the picture.

    Corners that would move too far are left unchanged.
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
        ends = (cv2.TERM_CRITERIA_COUNT + cv2.TERM_CRITERIA_EPS, 10, 0.05)
        start = np.ascontiguousarray(rough[is_inside]).reshape(-1, 1, 2)
        fine[is_inside] = cv2.cornerSubPix(luma, start, window, (-1, -1), ends).reshape(-1, 2)
    # A corner that moves far has met the edge of something else.
    is_near = np.abs(fine - rough).max(axis=1, keepdims=True) <= _MAX_SHIFT_PX
    return list(np.where(is_near, fine, rough).astype(np.float64).reshape(-1, 4, 2))


def boxes_of(blocks: Blocks, margin_px: float, luma: Luma) -> list[Box]:
    """Return boxes of the picture that contain all these blocks and a margin.

    Boxes that would touch are merged.
    """
    # the margin in blocks
    reach = int(np.ceil(margin_px / BLOCK_PX))
    # Dilate by the margin, which merges areas that touch.
    wide = cv2.dilate(blocks.astype(np.uint8), np.ones((2 * reach + 1,) * 2, np.uint8))
    # The first component is the background.
    count, _, stats, _ = cv2.connectedComponentsWithStats(wide)
    height, width = luma.shape
    boxes = []
    for left, top, across, down in (BLOCK_PX * stats[1:count, :4]).tolist():
        rows = slice(top, min(top + down, height))
        columns = slice(left, min(left + across, width))
        boxes.append((rows, columns))
    return boxes


# ---- prints --------------------------------------------------------------------------------------


@lru_cache(maxsize=512)
def marker_modules(marker: int, dictionary: str = DICTIONARY) -> NDArray[np.uint8]:
    """Return a marker's print as (n + 2, n + 2) uint8 modules, 0 black, 255 white, with the black
    rim.
    """
    book = dictionary_of(dictionary)
    return np.asarray(book.generateImageMarker(marker, book.markerSize + 2), np.uint8)


@lru_cache(maxsize=512)
def _prints(marker: int, dictionary: str) -> NDArray[np.float64]:
    """Return (4, (n + 2)²): the print in four rotations, with zero mean and unit length."""
    print_ = marker_modules(marker, dictionary).astype(np.float64)
    # The product of two such vectors is their correlation.
    print_ -= print_.mean()
    print_ /= np.linalg.norm(print_)
    return np.stack([np.rot90(print_, turns).ravel() for turns in range(4)])


def sharpened(luma: Luma) -> Luma:
    """Return an unsharp-masked copy, which separates defocused modules again."""
    # Add 1.8 times the difference between the picture and its blur.
    soft = cv2.GaussianBlur(luma, (0, 0), 1.6)
    return np.asarray(cv2.addWeighted(luma, 2.8, soft, -1.8, 0), np.uint8)


def without_shadows(luma: Luma, window_px: int) -> Luma:
    """Return a copy with even illumination, also across the hard edge of a shadow.

    `window_px` is wider than the dark areas within a marker (three or four modules), and narrower
    than a marker.
    """
    # The brightest tone within the window is paper.
    white = cv2.morphologyEx(luma, cv2.MORPH_CLOSE, np.ones((window_px, window_px), np.uint8))
    return np.asarray(cv2.divide(luma, np.maximum(white, _MIN_WHITE), scale=255), np.uint8)


def modules_in(luma: Luma, quad: Points) -> NDArray[np.float64]:
    """Return (7, 7): the mean brightness of the modules of a marker with corners (4, 2) and its
    rim.
    """
    # Rectify to six pixels per module, of which `_AVERAGE` averages the inner four.
    side = _AVERAGE.shape[1]
    warp = cv2.getPerspectiveTransform(quad.astype(np.float32), _ENDS)
    return _AVERAGE @ cv2.warpPerspective(luma, warp, (side, side)) @ _AVERAGE.T


def best_guess(
    luma: Luma,
    quad: Points,
    candidates: Iterable[int],
    dictionary: str = DICTIONARY,
    least: tuple[float, float] = (0.68, 0.25),
) -> Sighting | None:
    """Return the candidate whose print matches the content of a quadrangle, or None if it is not
    clear.

    `least` is the minimum correlation, and the minimum lead over the next candidate. They are
    strict, because a wrong entry is worse than none. Measured: prints of other ids reach .57 in
    sharp pictures and less in soft ones. The right one falls to .76 where decoding fails.
    """
    means = modules_in(luma, quad)
    means -= means.mean()
    norm = float(np.linalg.norm(means))
    if norm < 42:  # less contrast than noise
        return None
    ids = list(candidates)
    if not ids:
        return None

    # correlation with each candidate in four rotations
    fits = np.stack([_prints(marker, dictionary) for marker in ids]) @ (means.ravel() / norm)
    # the best rotation of each candidate, sorted by correlation
    turned = fits.argmax(axis=1)
    scores = [(float(fits[n, turns]), ids[n], int(turns)) for n, turns in enumerate(turned)]
    scores.sort(reverse=True)

    # The best has to be likely, and clearly ahead of the next one.
    if scores[0][0] < least[0] or (len(scores) > 1 and scores[0][0] - scores[1][0] < least[1]):
        return None
    # rot90 rotates counter-clockwise, so the print's upper left corner is that many corners further
    # back.
    return Sighting(scores[0][1], np.roll(quad, scores[0][2], axis=0), scores[0][0])
