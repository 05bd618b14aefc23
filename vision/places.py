"""Which squares a part of the picture can tell something about, and which parts of the picture tell about squares."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import cv2
import numpy as np

from companion.grid import Square
from companion.kit import Kit
from vision.markers import Sighting
from vision.motion import BLOCK_PX, Blocks
from vision.pose import Points, Pose, flat, rectangle_corners_mm

_ABOVE_MM = 3.0
"""Pieces may stand a little higher than their markers."""
_STEPS = 3


def grown(blocks: Blocks) -> Blocks:
    """These blocks and their neighbours: what changed a little next to them counts too."""
    return np.asarray(cv2.dilate(blocks.astype(np.uint8), np.ones((3, 3), np.uint8)), bool)


def touched_by(blocks: Blocks, sightings: Sequence[Sighting]) -> list[Sighting]:
    """The markers that show in one of these blocks."""
    boxes = _boxes(sightings)
    return [
        s
        for s, (left, top, right, bottom) in zip(sightings, boxes, strict=True)
        if blocks[top:bottom, left:right].any()
    ]


def with_markers(blocks: Blocks, sightings: Sequence[Sighting]) -> Blocks:
    """These blocks and all in which one of the markers shows."""
    mask = blocks.copy()
    for left, top, right, bottom in _boxes(sightings):
        mask[top:bottom, left:right] = True
    return mask


def _boxes(sightings: Sequence[Sighting]) -> list[list[int]]:
    """Of each marker the blocks in which it shows: left, top, and the first ones beyond it."""
    if not sightings:
        return []
    corners = np.array([sighting.corners_px for sighting in sightings]) / BLOCK_PX
    low, high = corners.min(axis=1), corners.max(axis=1) + 1
    return [list(map(int, box)) for box in np.hstack([low, high]).clip(0)]


def squares_under(kit: Kit, pose: Pose, blocks: Blocks) -> tuple[set[Square], set[Square]]:
    """The squares whose paper shows in these blocks, and those on which something stands that may show there."""
    places: Points = np.argwhere(blocks)[:, ::-1].astype(np.float64) * BLOCK_PX + (BLOCK_PX - 1) / 2
    if not len(places):
        return set(), set()
    heights = np.repeat([0.0, _tallest_mm(kit)], len(places))
    foot, head = np.split(pose.to_plane(np.vstack([places, places]), heights), 2)
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
