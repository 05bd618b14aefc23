"""Markers in pictures: where they are, which they are, and a second look at those that do not
decode at once.

Half the size of a picture costs a quarter. What is too small for that is read in full, or where the
board is known.
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
"""Rows and columns of a picture."""
_LARGE_PX = 1600
"""Pictures wider than this are looked at in half their size first, ..."""
_FEW_PX = 960
"""... others in this width."""
_REFINE_PX = 3
_NOT_FAR_PX = 2.0
"""A corner that would go farther when it is refined follows another edge."""
_BLACK = 20
"""No white is darker than this, of 255."""
_INNER = np.kron(np.eye(7), [0, 0.25, 0.25, 0.25, 0.25, 0])
"""(7, 42): what makes of six pixels a module the mean of the inner ones."""
_ENDS = np.array([[0, 0], [42, 0], [42, 42], [0, 42]], np.float32) - np.float32(0.5)
_NEXT = [1, 2, 3, 0]


@dataclass(frozen=True, eq=False)
class Sighting:
    """One marker: `corners_px` is (4, 2), upper left of the print first, clockwise."""

    marker: int
    corners_px: Points
    score: float = 1.0
    """How surely it is this one: 1 when it decodes, else its correlation with the marker's print.
    """

    @cached_property
    def centre_px(self) -> Points:
        """(2,): where its diagonals cross, the true middle also in perspective."""
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
        """Square root of its area."""
        return float(np.sqrt(cv2.contourArea(self.corners_px.astype(np.float32))))

    def is_same(self, other: Sighting) -> bool:
        """Tell whether another one shows the same marker in the same place."""
        if self.marker != other.marker:
            return False
        return bool(np.abs(self.centre_px - other.centre_px).max() < other.side_px / 2)


@dataclass(frozen=True, eq=False)
class Found:
    """All markers of a picture, and the quadrangles (N, 4, 2) that looked like markers and are
    none."""

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
    """OpenCV's detector with parameters that keep markers its defaults throw away."""

    dictionary: str = DICTIONARY
    thorough: bool = False
    """It looks through more threshold windows, for single pictures."""
    close: bool = False
    """It is for views in which markers are large."""
    quick: bool = False
    """It looks through one threshold window alone."""
    rough: bool = False
    """It puts corners where lines along a marker's outline meet.

    That is less exact, for those that are refined in a larger picture, but on no other edge.
    """
    only: tuple[int, ...] = ()
    """Ids to take without a single wrong module, and no others; empty: all."""

    def find(self, luma: Luma, least_px: float | None = None) -> Found:
        """Find all markers of a (height, width) uint8 picture whose sides are `least_px` or
        more."""
        parameters = self._parameters()
        if least_px is not None:
            # OpenCV counts in the longer side of the picture, which says nothing about a part of
            # one.
            parameters.minMarkerPerimeterRate = min(4.0, 4 * least_px / max(luma.shape))

        # A dictionary of a few prints is searched faster, and takes no wrong module.
        book = dictionary_of(self.dictionary)
        if self.only:
            book = cv2.aruco.Dictionary(book.bytesList[list(self.only)], book.markerSize, 0)
        corners, ids, rejected = cv2.aruco.ArucoDetector(book, parameters).detectMarkers(luma)
        sightings = []

        # OpenCV 4 gives ids as (N, 1) or None, OpenCV 5 as (N,).
        numbers = np.empty(0, int) if ids is None else np.ravel(ids)
        for number, quad in zip(map(int, numbers), corners, strict=True):
            marker = self.only[number] if self.only else number
            sightings.append(Sighting(marker, np.asarray(quad, np.float64).reshape(4, 2)))

        # What has four corners and no print of the dictionary.
        quads = np.concatenate(rejected) if len(rejected) else np.empty((0, 4, 2))
        return Found(tuple(sightings), np.asarray(quads, np.float64).reshape(-1, 4, 2))

    def _parameters(self) -> cv2.aruco.DetectorParameters:
        parameters = cv2.aruco.DetectorParameters()

        # Finer sampling with a wider cell margin: slight defocus reads .81 -> 1.0 at 1.6 times the
        # cost. A picture that was made smaller is as sharp as a coarser grid tells.
        parameters.perspectiveRemovePixelPerCell = 6 if self.rough else 8
        parameters.perspectiveRemoveIgnoredMarginPerCell = 0.3
        refine = cv2.aruco.CORNER_REFINE_CONTOUR if self.rough else cv2.aruco.CORNER_REFINE_SUBPIX
        parameters.cornerRefinementMethod = refine
        parameters.minMarkerPerimeterRate = 0.02

        # Windows of the adaptive threshold, px: one fine, one coarse.
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
            # Edges of cards next to a marker are paler than its print and must not run into it.
            parameters.adaptiveThreshConstant = 25
        parameters.adaptiveThreshWinSizeMin = smallest
        parameters.adaptiveThreshWinSizeMax = largest
        parameters.adaptiveThreshWinSizeStep = step
        return parameters


# ---- pictures and parts of them ------------------------------------------------------------------


def scan_quickly(luma: Luma) -> tuple[Sighting, ...] | None:
    """Return most markers of a picture, made smaller.

    None: it is so small that it is to be looked at as it is.
    """
    width = luma.shape[1]
    if width <= _FEW_PX:
        return None
    if is_large(luma):
        # By half, each pixel is the mean of four.
        share, how = 0.5, cv2.INTER_AREA
    else:
        share, how = _FEW_PX / width, cv2.INTER_LINEAR
    # What is found there is put right in the picture itself.
    small = np.asarray(cv2.resize(luma, None, fx=share, fy=share, interpolation=how), np.uint8)
    sightings = MarkerFinder(quick=True, rough=True).find(small).sightings
    # The middle of the first pixel is (0, 0) in both sizes.
    off = (1 / share - 1) / 2
    corners = refined(luma, [sighting.corners_px / share + off for sighting in sightings])
    return tuple(Sighting(s.marker, px) for s, px in zip(sightings, corners, strict=True))


def scan_parts(luma: Luma, boxes: Iterable[Box], least_px: float) -> list[Sighting]:
    """Return the markers within boxes of a picture whose sides are `least_px` or more."""
    # Parts are small: one window is enough.
    finder, sightings = MarkerFinder(quick=True), []
    for rows, columns in boxes:
        # OpenCV takes no views of a larger picture.
        part = np.ascontiguousarray(luma[rows, columns])
        corner = columns.start, rows.start
        for sighting in finder.find(part, least_px).sightings:
            sightings.append(Sighting(sighting.marker, sighting.corners_px + corner))
    return sightings


def is_large(luma: Luma) -> bool:
    """Tell whether a picture shows in half its size what there is to see."""
    return bool(luma.shape[1] > _LARGE_PX)


def refined(luma: Luma, quads: Sequence[Points]) -> list[Points]:
    """Move corners (4, 2) px each to where edges meet in the picture.

    Those that would go far stay.
    """
    if not quads:
        return []
    # All corners at once, those outside of the picture left out.
    rough = np.vstack(quads).astype(np.float32)
    height, width = luma.shape
    is_inside = ((rough >= 0) & (rough <= (width - 1, height - 1))).all(axis=1)
    fine = rough.copy()
    if is_inside.any():
        window = (_REFINE_PX, _REFINE_PX)
        ends = (cv2.TERM_CRITERIA_COUNT + cv2.TERM_CRITERIA_EPS, 10, 0.05)
        start = np.ascontiguousarray(rough[is_inside]).reshape(-1, 1, 2)
        fine[is_inside] = cv2.cornerSubPix(luma, start, window, (-1, -1), ends).reshape(-1, 2)
    # What goes far has met the edge of something else.
    is_near = np.abs(fine - rough).max(axis=1, keepdims=True) <= _NOT_FAR_PX
    return list(np.where(is_near, fine, rough).astype(np.float64).reshape(-1, 4, 2))


def boxes_of(blocks: Blocks, margin_px: float, luma: Luma) -> list[Box]:
    """Return boxes of the picture that hold all these blocks and a margin.

    Boxes that would touch are one.
    """
    # The margin in blocks.
    reach = int(np.ceil(margin_px / BLOCK_PX))
    # Wider by the margin, those that touch are one.
    wide = cv2.dilate(blocks.astype(np.uint8), np.ones((2 * reach + 1,) * 2, np.uint8))
    # The first component is what is not due.
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
    """Return (n + 2, n + 2) uint8: the print in modules, 0 black, 255 white, the black rim
    included."""
    book = dictionary_of(dictionary)
    return np.asarray(book.generateImageMarker(marker, book.markerSize + 2), np.uint8)


@lru_cache(maxsize=512)
def _prints(marker: int, dictionary: str) -> NDArray[np.float64]:
    """Return (4, (n + 2)²): the print in each turn, without its mean, of length 1."""
    print_ = marker_modules(marker, dictionary).astype(np.float64)
    # Two of these have their correlation for a product.
    print_ -= print_.mean()
    print_ /= np.linalg.norm(print_)
    return np.stack([np.rot90(print_, turns).ravel() for turns in range(4)])


def sharpened(luma: Luma) -> Luma:
    """Return an unsharp-masked copy, in which defocused modules separate again."""
    # The picture, and 1.8 times what blur takes away from it.
    soft = cv2.GaussianBlur(luma, (0, 0), 1.6)
    return np.asarray(cv2.addWeighted(luma, 2.8, soft, -1.8, 0), np.uint8)


def without_shadows(luma: Luma, window_px: int) -> Luma:
    """Return a copy in which white is equally bright everywhere, also on both sides of a shadow's
    hard edge.

    `window_px` is wider than what is dark together within a marker, three or four modules, and less
    than a marker.
    """
    # The brightest within the window is paper.
    white = cv2.morphologyEx(luma, cv2.MORPH_CLOSE, np.ones((window_px, window_px), np.uint8))
    return np.asarray(cv2.divide(luma, np.maximum(white, _BLACK), scale=255), np.uint8)


def modules_in(luma: Luma, quad: Points) -> NDArray[np.float64]:
    """Return (7, 7): the mean brightness of the modules of a marker with these corners (4, 2).

    The black rim is included.
    """
    # Six pixels a module from straight above, of which the rim is left out.
    side = _INNER.shape[1]
    warp = cv2.getPerspectiveTransform(quad.astype(np.float32), _ENDS)
    return _INNER @ cv2.warpPerspective(luma, warp, (side, side)) @ _INNER.T


def resembles_marker(luma: Luma, quad: Points) -> bool:
    """Tell whether a quadrangle has a dark rim and both tones inside.

    So has a marker that is damaged or half hidden.
    """
    if ((quad - quad[_NEXT]) ** 2).sum(axis=1).min() < 12**2:
        return False
    means = modules_in(luma, quad)
    rim, inside = dark_shares(means)
    return bool(np.ptp(means) > 60 and rim >= 0.9 and 0.1 <= inside <= 0.9)


def dark_shares(means: NDArray[np.float64]) -> tuple[float, float]:
    """Return the shares of dark modules in the rim and inside of a marker, see `modules_in`."""
    # Dark is what is below the middle of both tones.
    is_dark = means < (means.min() + means.max()) / 2
    inside = np.count_nonzero(is_dark[1:-1, 1:-1])
    rim = np.count_nonzero(is_dark) - inside
    return rim / 24, inside / 25


def best_guess(
    luma: Luma,
    quad: Points,
    candidates: Iterable[int],
    dictionary: str = DICTIONARY,
    least: tuple[float, float] = (0.68, 0.25),
) -> Sighting | None:
    """Return the candidate whose print correlates with the content of a quadrangle, if one clearly
    does.

    A wrong entry is worse than none: `least` is the correlation it needs, and how much more than
    the next candidate. Measured: prints of other ids reach .57 in sharp pictures and less in soft
    ones; the right one falls to .76 where decoding ends.
    """
    means = modules_in(luma, quad)
    means -= means.mean()
    norm = float(np.linalg.norm(means))
    if norm < 42:  # less contrast than noise
        return None
    ids = list(candidates)
    if not ids:
        return None

    # The correlation with each candidate in each of four turns.
    fits = np.stack([_prints(marker, dictionary) for marker in ids]) @ (means.ravel() / norm)
    # The best turn of each candidate, and the best two of all.
    turned = fits.argmax(axis=1)
    scores = [(float(fits[n, turns]), ids[n], int(turns)) for n, turns in enumerate(turned)]
    scores.sort(reverse=True)

    # It has to be likely, and clearly more so than the next one.
    if scores[0][0] < least[0] or (len(scores) > 1 and scores[0][0] - scores[1][0] < least[1]):
        return None
    # rot90 turns counter-clockwise: the print's upper left corner has gone to that many corners
    # before the first.
    return Sighting(scores[0][1], np.roll(quad, scores[0][2], axis=0), scores[0][0])
