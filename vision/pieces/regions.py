"""Which squares a part of the picture can tell something about, and which parts of the picture tell about squares."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from companion.core.grid import Square
from companion.core.kit import Kit
from vision.detection.markers import Sighting
from vision.detection.motion import BLOCK_PX, Blocks
from vision.pose.pose import Pose, flat, rectangle_corners_mm

_ABOVE_MM = 3.0
"""Pieces may stand a little higher than their markers."""
_STEPS = 3
_NO_SQUARE = -1
_BEYOND = 0.0, 0.0, 1.0, 1.0


def grown(blocks: Blocks) -> Blocks:
    """These blocks and their neighbours: what changed a little next to them counts too."""
    return np.asarray(cv2.dilate(blocks.astype(np.uint8), np.ones((3, 3), np.uint8)), bool)


def touched_by(blocks: Blocks, sightings: Sequence[Sighting]) -> list[Sighting]:
    """The markers that show in one of these blocks."""
    left, top, right, bottom = _boxes(sightings, blocks.shape).T
    sums = cv2.integral(blocks.astype(np.uint8))
    counts = sums[bottom, right] - sums[top, right] - sums[bottom, left] + sums[top, left]
    return [sightings[number] for number in np.flatnonzero(counts).tolist()]


def with_markers(blocks: Blocks, sightings: Sequence[Sighting]) -> Blocks:
    """These blocks and all in which one of the markers shows."""
    mask = blocks.copy()
    for left, top, right, bottom in _boxes(sightings, blocks.shape):
        mask[top:bottom, left:right] = True
    return mask


def _boxes(sightings: Sequence[Sighting], shape: tuple[int, ...]) -> NDArray[np.int_]:
    """(N, 4): the blocks, of (rows, columns), in which each marker shows: left, top, and the first ones beyond it."""
    if not sightings:
        return np.empty((0, 4), int)
    rows, columns = shape
    bounds = np.array([sighting.bounds_px for sighting in sightings]) / BLOCK_PX + _BEYOND
    return np.asarray(bounds.clip(0, (columns, rows, columns, rows)).astype(int))


class SquaresUnder:
    """Which squares show in the blocks of a picture, for one pose; worked out for all blocks at the first question."""

    def __init__(self, kit: Kit, pose: Pose) -> None:
        self.pose = pose
        self._kit = kit
        self._numbers: NDArray[np.int16] | None = None

    def at(self, blocks: Blocks) -> tuple[set[Square], set[Square]]:
        """The squares whose paper shows in these blocks, and those on which something stands that may show there."""
        if self._numbers is None or self._numbers.shape[1:] != blocks.shape:
            self._numbers = self._all(blocks.shape)
        layers = self._numbers.reshape(len(self._numbers), -1)[:, np.flatnonzero(blocks)]
        return self._squares(layers[0]), self._squares(layers)

    def _squares(self, numbers: NDArray[np.int16]) -> set[Square]:
        found = set(numbers.ravel().tolist()) - {_NO_SQUARE}
        return {Square(*divmod(number, self._kit.board.ranks)) for number in found}

    def _all(self, shape: tuple[int, ...]) -> NDArray[np.int16]:
        """(layers, rows, columns): the square in the middle of each block, on the paper and above it."""
        board = self._kit.board
        rows, columns = np.indices(shape)
        places = np.column_stack([columns.ravel(), rows.ravel()]) * float(BLOCK_PX) + (BLOCK_PX - 1) / 2
        foot, head = (self.pose.to_plane(places, height) for height in (0.0, _tallest_mm(self._kit)))
        layers = []
        for way in np.linspace(0, 1, _STEPS):
            cells = np.floor((foot + (head - foot) * way + board.gap_mm / 2) / (board.pitch_mm, board.rank_pitch_mm))
            inside = ((cells >= 0) & (cells < (board.files, board.ranks))).all(axis=1)  # NaN is nowhere
            layers.append(np.where(inside, cells[:, 0] * board.ranks + cells[:, 1], _NO_SQUARE))
        return np.array(layers).reshape(-1, *shape).astype(np.int16)


def blocks_over(kit: Kit, pose: Pose, squares: Iterable[Square], shape: tuple[int, ...]) -> Blocks:
    """The blocks, of (rows, columns), that show squares and what may stand on them."""
    board, mask = kit.board, np.zeros(shape, np.uint8)
    size = board.pitch_mm, board.rank_pitch_mm
    for square in squares:
        cell = rectangle_corners_mm(*board.centre_mm(square), *size, 0.0)
        corners = np.vstack([flat(cell), flat(cell, _tallest_mm(kit))])
        hull = cv2.convexHull((pose.to_px(corners) / BLOCK_PX).round().astype(np.int32))
        cv2.fillConvexPoly(mask, hull, 1)
    return np.asarray(mask, bool)


def _tallest_mm(kit: Kit) -> float:
    return max((face.height_mm for face in kit.faces), default=0.0) + _ABOVE_MM
