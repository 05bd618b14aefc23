"""Which squares a part of the picture can tell something about, and which parts of the picture tell about squares."""

from __future__ import annotations

from collections.abc import Iterable

import cv2
import numpy as np

from companion.grid import Square
from companion.kit import Kit
from vision.markers import Sighting
from vision.motion import BLOCK_PX, Blocks
from vision.pose import Points, Pose, flat, rectangle_corners_mm

_ABOVE_MM = 3.0
"""Pieces may stand a little higher than their markers."""
_STEPS = 4


def grown(blocks: Blocks) -> Blocks:
    """These blocks and their neighbours: what changed a little next to them counts too."""
    return np.asarray(cv2.dilate(blocks.astype(np.uint8), np.ones((3, 3), np.uint8)), bool)


def is_touched(blocks: Blocks, places_px: Points) -> bool:
    """Is one of these blocks within the box round pixels (N, 2)?"""
    low = (places_px.min(axis=0) / BLOCK_PX).astype(int).clip(0)
    high = (places_px.max(axis=0) / BLOCK_PX).astype(int).clip(0) + 1
    return bool(blocks[low[1] : high[1], low[0] : high[0]].any())


def with_markers(blocks: Blocks, sightings: Iterable[Sighting]) -> Blocks:
    """These blocks and all in which one of the markers shows."""
    mask = blocks.copy()
    for sighting in sightings:
        low = (sighting.corners_px.min(axis=0) / BLOCK_PX).astype(int).clip(0)
        high = (sighting.corners_px.max(axis=0) / BLOCK_PX).astype(int).clip(0) + 1
        mask[low[1] : high[1], low[0] : high[0]] = True
    return mask


def squares_under(kit: Kit, pose: Pose, blocks: Blocks) -> tuple[set[Square], set[Square]]:
    """The squares whose paper shows in these blocks, and those on which something stands that may show there."""
    # Every second block each way is enough: squares are larger, and the blocks have been `grown`.
    places: Points = np.argwhere(blocks[::2, ::2])[:, ::-1].astype(np.float64) * (2 * BLOCK_PX) + (BLOCK_PX - 1) / 2
    if not len(places):
        return set(), set()
    foot, head = (pose.to_plane(places, height) for height in (0.0, _tallest_mm(kit)))
    between = [foot + (head - foot) * way for way in np.linspace(0, 1, _STEPS)[1:]]
    flat_squares = _squares_at(kit, foot)
    return flat_squares, flat_squares | _squares_at(kit, np.vstack(between))


def _squares_at(kit: Kit, points_mm: Points) -> set[Square]:
    """The squares that hold some of (N, 2) points of the board."""
    board = kit.board
    points = points_mm[np.isfinite(points_mm).all(axis=1)]
    cells = np.floor((points + board.gap_mm / 2) / (board.pitch_mm, board.rank_pitch_mm)).astype(int)
    inside = ((cells >= 0) & (cells < (board.files, board.ranks))).all(axis=1)
    numbers = np.unique(cells[inside, 0] * board.ranks + cells[inside, 1])
    return {Square(int(number) // board.ranks, int(number) % board.ranks) for number in numbers}


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
