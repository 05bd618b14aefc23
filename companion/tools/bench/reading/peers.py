"""What the reader is measured against: detectors that find markers and know no board, no heights and no lens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray

from companion.core.grid import Square
from companion.core.kit import DICTIONARY, Kit
from companion.tools.bench.reading.april import AprilTags
from vision.detection.markers import Sighting, dictionary_of
from vision.pieces.tags import covered, nearest_first
from vision.pose.pose import Points, square_corners_mm
from vision.simulation.ground_truth import Print

APRILTAG = "AprilTag"
APRIL_DICTIONARY = "DICT_APRILTAG_36h11"
Luma = NDArray[np.uint8]


@dataclass(frozen=True)
class Peer:
    """A detector, and the dictionary whose markers it reads."""

    name: str
    dictionary: str
    find: Callable[[Luma], Sequence[Sighting]]


def peers(dictionary: str = DICTIONARY) -> tuple[Peer, ...]:
    """`ArucoDetector` with its defaults, the same tuned, and the AprilTag library where it is installed.

    In pictures with markers of another `dictionary` the AprilTag library has nothing to read unless these are its own.
    """
    tuned = cv2.aruco.DetectorParameters()
    tuned.perspectiveRemovePixelPerCell = 8
    tuned.perspectiveRemoveIgnoredMarginPerCell = 0.3
    tuned.cornerRefinementMethod = cv2.aruco.CORNER_REFINE_SUBPIX
    tuned.minMarkerPerimeterRate = 0.01
    tuned.adaptiveThreshWinSizeMin, tuned.adaptiveThreshWinSizeMax, tuned.adaptiveThreshWinSizeStep = 3, 43, 8
    found = [
        Peer("ArUco", dictionary, _aruco(cv2.aruco.DetectorParameters(), dictionary)),
        Peer("ArUco tuned", dictionary, _aruco(tuned, dictionary)),
    ]
    april = april_detector() if dictionary in (DICTIONARY, APRIL_DICTIONARY) else None
    return (*found, Peer(APRILTAG, APRIL_DICTIONARY, april)) if april else tuple(found)


def _aruco(parameters: cv2.aruco.DetectorParameters, dictionary: str) -> Callable[[Luma], list[Sighting]]:
    detector = cv2.aruco.ArucoDetector(dictionary_of(dictionary), parameters)

    def find(luma: Luma) -> list[Sighting]:
        corners, ids, _ = detector.detectMarkers(luma)
        numbers = np.empty(0, int) if ids is None else np.asarray(ids).ravel()
        quads = (np.asarray(quad, np.float64).reshape(4, 2) for quad in corners)
        return [Sighting(int(number), quad) for number, quad in zip(numbers, quads, strict=True)]

    return find


@lru_cache(maxsize=1)  # one process serves all
def april_detector() -> Callable[[Luma], list[Sighting]] | None:
    """The AprilTag library at full resolution in one thread; None where it is not installed."""
    if not AprilTags.is_installed():
        return None
    library = AprilTags()

    def find(luma: Luma) -> list[Sighting]:
        # Its corners run counter-clockwise from the lower left one of a print that OpenCV draws upside down.
        return [Sighting(number, corners[[1, 0, 3, 2]]) for number, corners in library.find(luma)]

    return find


def squares_found(kit: Kit, sightings: Sequence[Sighting], prints: Sequence[Print]) -> dict[int, tuple[Square, ...]]:
    """On which squares a detector would put the pieces, by marker; () is beside the board.

    By the homography of the corner markers it found, two at least, at the height of the board: it knows no heights.
    How a piece of several squares is turned it is told.
    """
    board = kit.board
    corners = {s.marker: s.corners_px for s in sightings if s.marker in board.corners}
    if len(corners) < 2:
        return {}
    target = [square_corners_mm(*board.corner_centres_mm[marker], board.corner_mm) for marker in corners]
    to_board = cv2.findHomography(np.vstack(list(corners.values())), np.vstack(target))[0]
    if to_board is None:
        return {}
    sizes = {print_.marker: _extent(print_.squares) for print_ in prints if print_.squares}
    found: dict[int, tuple[Square, ...]] = {}
    for sighting in sightings:
        if kit.face_of_marker(sighting.marker) is None:
            continue
        x, y = _through(np.asarray(to_board), sighting.centre_px)
        size = sizes.get(sighting.marker, (1, 1))
        if size == (1, 1):
            square = board.square_at(x, y)
            found[sighting.marker] = (square,) if square else ()
        else:
            found[sighting.marker] = covered(nearest_first(board, size, x, y)[0], size)
    return found


def _through(homography: Points, point: Points) -> tuple[float, float]:
    x, y, w = homography @ np.array([*point, 1.0])
    return float(x / w), float(y / w)


def _extent(squares: Sequence[Square]) -> tuple[int, int]:
    files, ranks = ({square[axis] for square in squares} for axis in (0, 1))
    return len(files), len(ranks)
