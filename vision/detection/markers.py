"""Markers in pictures: where they are, which they are, and a second look at those that do not decode at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from companion.core.errors import Malformed
from companion.core.kit import DICTIONARY
from vision.pose.pose import Points

Luma = NDArray[np.uint8]

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
    """How surely it is this one: 1 when it decodes, else its correlation with the marker's print."""

    @cached_property
    def centre_px(self) -> Points:
        """(2,): where its diagonals cross, the true middle also in perspective."""
        a, b, c, d = self.corners_px
        across, along = c - a, d - b
        cross = across[0] * along[1] - across[1] * along[0]
        if abs(cross) < 1e-9:
            return np.asarray(self.corners_px.mean(axis=0))
        reach = ((b - a)[0] * along[1] - (b - a)[1] * along[0]) / cross
        return np.asarray(a + reach * across)

    @cached_property
    def bounds_px(self) -> tuple[float, ...]:
        """Left, top, right and bottom."""
        return (*self.corners_px.min(axis=0).tolist(), *self.corners_px.max(axis=0).tolist())

    @cached_property
    def side_px(self) -> float:
        """Square root of its area."""
        return float(np.sqrt(cv2.contourArea(self.corners_px.astype(np.float32))))


@dataclass(frozen=True, eq=False)
class Found:
    """All markers of a picture, and the quadrangles (N, 4, 2) that looked like markers and are none."""

    sightings: tuple[Sighting, ...]
    rejected: Points


def dictionary_of(name: str) -> cv2.aruco.Dictionary:
    """OpenCV's dictionary of that name, such as `DICT_6X6_250`; raises `Malformed`."""
    number = getattr(cv2.aruco, name, None)
    if not name.startswith("DICT_") or not isinstance(number, int):
        raise Malformed(f"“{name}” is not a marker dictionary: expected one like DICT_6X6_250 or DICT_APRILTAG_36h11")
    return cv2.aruco.getPredefinedDictionary(number)


class MarkerFinder:
    """OpenCV's detector with parameters that keep markers its defaults throw away.

    `thorough` looks through more threshold windows, for single pictures; `close` is for views in which markers are
    large, `quick` looks through one window alone; `rough` puts corners where lines along a marker's outline meet: less
    exactly, for those that are refined in a larger picture, but on no other edge; `only` takes nothing but these ids,
    and those without a single wrong module.
    """

    def __init__(
        self,
        dictionary: str = DICTIONARY,
        *,
        thorough: bool = False,
        close: bool = False,
        quick: bool = False,
        rough: bool = False,
        only: Sequence[int] | None = None,
    ) -> None:
        book = dictionary_of(dictionary)
        self._only = np.array(only) if only is not None else None
        if self._only is not None:
            book = cv2.aruco.Dictionary(book.bytesList[self._only], book.markerSize, 0)
        parameters = cv2.aruco.DetectorParameters()
        # Finer sampling with a wider cell margin: slight defocus reads .81 -> 1.0 at 1.6 times the cost. A picture that
        # was made smaller is as sharp as a coarser grid tells.
        parameters.perspectiveRemovePixelPerCell = 6 if rough else 8
        parameters.perspectiveRemoveIgnoredMarginPerCell = 0.3
        refine = cv2.aruco.CORNER_REFINE_CONTOUR if rough else cv2.aruco.CORNER_REFINE_SUBPIX
        parameters.cornerRefinementMethod = refine
        parameters.minMarkerPerimeterRate = 0.02
        if close:
            parameters.adaptiveThreshWinSizeMin, parameters.adaptiveThreshWinSizeMax = 9, 33
            parameters.adaptiveThreshWinSizeStep = 12
            parameters.minMarkerPerimeterRate = 0.05
        elif thorough:
            parameters.adaptiveThreshWinSizeMin, parameters.adaptiveThreshWinSizeMax = 3, 43
            parameters.adaptiveThreshWinSizeStep = 4
            parameters.minMarkerPerimeterRate = 0.01
        elif quick:
            parameters.adaptiveThreshWinSizeMin = parameters.adaptiveThreshWinSizeMax = 13
        else:
            parameters.adaptiveThreshWinSizeMin, parameters.adaptiveThreshWinSizeMax = 7, 27
            parameters.adaptiveThreshWinSizeStep = 20
        if self._only is not None:
            parameters.adaptiveThreshWinSizeMin, parameters.adaptiveThreshWinSizeStep = 13, 20
            # Edges of cards next to a marker are paler than its print and must not run into it.
            parameters.adaptiveThreshConstant = 25
        self._parameters = parameters
        self._detector = cv2.aruco.ArucoDetector(book, parameters)

    def find(self, luma: Luma, least_px: float | None = None) -> Found:
        """Find all markers of a (height, width) uint8 picture whose sides are `least_px` or more."""
        if least_px is not None:
            # OpenCV counts in the longer side of the picture, which says nothing about a part of one.
            self._parameters.minMarkerPerimeterRate = min(4.0, 4 * least_px / max(luma.shape))
            self._detector.setDetectorParameters(self._parameters)
        corners, ids, rejected = self._detector.detectMarkers(luma)
        # OpenCV 4 gives ids as (N, 1) or None, OpenCV 5 as (N,).
        numbers = np.empty(0, int) if ids is None else np.asarray(ids).ravel()
        if self._only is not None:
            numbers = self._only[numbers]
        return Found(
            tuple(Sighting(int(n), quad) for n, quad in zip(numbers, _quads(corners), strict=True)),
            _quads(rejected),
        )


def _quads(corners: Sequence[Any]) -> Points:
    every = np.concatenate(corners) if len(corners) else np.empty((0, 4, 2))
    return np.asarray(every, dtype=np.float64).reshape(-1, 4, 2)


@lru_cache(maxsize=512)
def marker_modules(marker: int, dictionary: str = DICTIONARY) -> NDArray[np.uint8]:
    """(n + 2, n + 2) uint8: the print in modules, 0 black, 255 white, the black rim included."""
    book = dictionary_of(dictionary)
    return np.asarray(book.generateImageMarker(marker, book.markerSize + 2), dtype=np.uint8)


@lru_cache(maxsize=512)
def _prints(marker: int, dictionary: str) -> NDArray[np.float64]:
    """(4, (n + 2)²): the print in each turn, without its mean, of length 1."""
    print_ = marker_modules(marker, dictionary).astype(np.float64)
    print_ -= print_.mean()
    print_ /= np.linalg.norm(print_)
    return np.stack([np.rot90(print_, turns).ravel() for turns in range(4)])


def sharpened(luma: Luma, sigma: float = 1.6, amount: float = 1.8) -> Luma:
    """An unsharp-masked copy: defocused modules separate again."""
    soft = cv2.GaussianBlur(luma, (0, 0), sigma)
    return np.asarray(cv2.addWeighted(luma, 1 + amount, soft, -amount, 0), dtype=np.uint8)


def without_shadows(luma: Luma, window_px: int) -> Luma:
    """A copy in which white is equally bright everywhere, also on both sides of a shadow's hard edge.

    `window_px` is wider than what is dark together within a marker, three or four modules, and less than a marker.
    """
    white = cv2.morphologyEx(luma, cv2.MORPH_CLOSE, np.ones((window_px, window_px), np.uint8))
    return np.asarray(cv2.divide(luma, np.maximum(white, _BLACK), scale=255), dtype=np.uint8)


def modules_in(luma: Luma, quad: Points) -> NDArray[np.float64]:
    """(7, 7) mean brightness of the modules of a marker whose corners are `quad`, the black rim included."""
    side = _INNER.shape[1]
    warp = cv2.getPerspectiveTransform(quad.astype(np.float32), _ENDS)
    return np.asarray(_INNER @ cv2.warpPerspective(luma, warp, (side, side)) @ _INNER.T)


def resembles_marker(luma: Luma, quad: Points) -> bool:
    """Has a quadrangle a dark rim and both tones inside, as a marker that is damaged or half hidden has?"""
    if ((quad - quad[_NEXT]) ** 2).sum(axis=1).min() < 12**2:
        return False
    means = modules_in(luma, quad)
    low, high = float(means.min()), float(means.max())
    dark = means < (low + high) / 2
    inside = int(np.count_nonzero(dark[1:-1, 1:-1]))
    rim = np.count_nonzero(dark) - inside
    return bool(high - low > 60 and rim >= 0.9 * 24 and 0.1 * 25 <= inside <= 0.9 * 25)


def likeness(luma: Luma, quad: Points, marker: int, dictionary: str = DICTIONARY) -> float:
    """The correlation of what a quadrangle shows with a marker's print."""
    means = modules_in(luma, quad)
    means -= means.mean()
    return float(_prints(marker, dictionary)[0] @ means.ravel()) / max(float(np.linalg.norm(means)), 1e-9)


def best_guess(
    luma: Luma,
    quad: Points,
    candidates: Iterable[int],
    dictionary: str = DICTIONARY,
    least: tuple[float, float] = (0.68, 0.25),
) -> Sighting | None:
    """The candidate whose print correlates with the content of a quadrangle, if one clearly does.

    A wrong entry is worse than none: `least` is the correlation it needs, and how much more than the next candidate.
    Measured: prints of other ids reach .57 in sharp pictures and less in soft ones; the right one falls to .76 where
    decoding ends.
    """
    means = modules_in(luma, quad)
    means -= means.mean()
    norm = float(np.linalg.norm(means))
    if norm < 42:  # less contrast than noise
        return None
    ids = list(candidates)
    if not ids:
        return None
    fits = np.stack([_prints(marker, dictionary) for marker in ids]) @ (means.ravel() / norm)
    turned = fits.argmax(axis=1)
    scores = [(float(fits[n, turns]), ids[n], int(turns)) for n, turns in enumerate(turned)]
    scores.sort(reverse=True)
    if scores[0][0] < least[0] or (len(scores) > 1 and scores[0][0] - scores[1][0] < least[1]):
        return None
    # rot90 turns counter-clockwise: the print's upper left corner has gone to that many corners before the first.
    return Sighting(scores[0][1], np.roll(quad, scores[0][2], axis=0), scores[0][0])
