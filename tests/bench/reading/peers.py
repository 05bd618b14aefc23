"""What the reader is measured against: OpenCV's detector, which knows no board, no heights and no lens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from bench.reading.ground_truth import Print
from companion.core.grid import Square
from companion.core.kit import DICTIONARY, Kit
from vision.detection.markers import Sighting, dictionary_of
from vision.pose.pose import Points, square_corners_mm

Luma = NDArray[np.uint8]


@dataclass(frozen=True)
class Peer:
    """A detector by its name."""

    name: str
    find: Callable[[Luma], Sequence[Sighting]]


def aruco(dictionary: str = DICTIONARY) -> Peer:
    """Return OpenCV's `ArucoDetector` with its defaults."""
    return Peer("ArUco", _aruco(cv2.aruco.DetectorParameters(), dictionary))


def _aruco(
    parameters: cv2.aruco.DetectorParameters, dictionary: str
) -> Callable[[Luma], list[Sighting]]:
    detector = cv2.aruco.ArucoDetector(dictionary_of(dictionary), parameters)

    def find(luma: Luma) -> list[Sighting]:
        corners, ids, _ = detector.detectMarkers(luma)
        numbers = np.empty(0, int) if ids is None else np.asarray(ids).ravel()
        quads = (np.asarray(quad, np.float64).reshape(4, 2) for quad in corners)
        return [Sighting(int(number), quad) for number, quad in zip(numbers, quads, strict=True)]

    return find


def squares_found(
    kit: Kit, sightings: Sequence[Sighting], prints: Sequence[Print]
) -> dict[int, tuple[Square, ...]]:
    """On which squares a detector would put the pieces, by marker; () is beside the board.

    By the homography of the corner markers it found, two at least, at the height of the board: it knows no heights.
    How a piece of several squares is turned it is told.
    """
    board = kit.board
    corners = {s.marker: s.corners_px for s in sightings if s.marker in board.corners}
    if len(corners) < 2:
        return {}
    target = [
        square_corners_mm(*board.corner_centres_mm[marker], board.corner_mm) for marker in corners
    ]
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
            found[sighting.marker] = board.nearest_first(size, x, y)[0].area(size)
    return found


def _through(homography: Points, point: Points) -> tuple[float, float]:
    x, y, w = homography @ np.array([*point, 1.0])
    return float(x / w), float(y / w)


def _extent(squares: Sequence[Square]) -> tuple[int, int]:
    files, ranks = ({square[axis] for square in squares} for axis in (0, 1))
    return len(files), len(ranks)
