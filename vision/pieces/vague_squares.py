"""Squares of which a pose is too unsure: where a piece could lie beside the place that is looked at, none is empty."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from companion.core.grid import Square
from companion.core.kit import Board
from vision.pose.pose import Points, Pose, flat, square_mm

_BLURRED = 0.08
"""Where the pose may be wrong by more than this share of a square (one standard deviation), none is called empty."""
_CLEARLY = 0.5
"""A pose that is sure within this share of that all along the board's edge is sure of all squares."""
_LEAST_INSIDE = 0.7
"""A square of which less lies in the picture may bear a piece outside of it."""


def vague_squares(board: Board, pose: Pose) -> frozenset[Square]:
    """The squares of which the pose is not sure enough to say that nothing lies there."""
    if _is_sure(board, pose):
        return frozenset()
    squares, corners = _corners_of(board)
    spread = pose.spread_mm(corners.reshape(-1, 3)).reshape(-1, 4).max(axis=1)
    is_vague = (spread > _BLURRED * board.pitch_mm) | (_share_inside(pose, corners) < _LEAST_INSIDE)
    return frozenset(square for square, vague in zip(squares, is_vague, strict=True) if vague)


def _is_sure(board: Board, pose: Pose) -> bool:
    """Lies the whole board in the picture, and is the pose sure of its edge, where it is least sure?"""
    edge = _edge_of(board)
    seen = pose.to_px(edge)
    is_inside = bool(((seen >= 0) & (seen <= np.array(pose.size) - 1)).all())
    return is_inside and bool(pose.spread_mm(edge).max() <= _CLEARLY * _BLURRED * board.pitch_mm)


@lru_cache(maxsize=16)
def _edge_of(board: Board) -> Points:
    """(8, 3) mm: the corners of the board, and the middles between them, where a lens bends its sides most."""
    shares = np.array([(0, 0), (0.5, 0), (1, 0), (1, 0.5), (1, 1), (0.5, 1), (0, 1), (0, 0.5)])
    return flat(shares * (board.width_mm, board.height_mm))


@lru_cache(maxsize=16)
def _corners_of(board: Board) -> tuple[tuple[Square, ...], Points]:
    """The squares that are no hole, and their corners (N, 4, 3) mm."""
    squares = tuple(square for square in board.squares if square not in board.holes)
    return squares, np.array([square_mm(board, square) for square in squares])


def _share_inside(pose: Pose, corners_mm: Points) -> Points:
    """(N,): the share of each square (N, 4, 3) that lies in the picture."""
    shares = np.linspace(0.1, 0.9, 5)
    across, along = np.meshgrid(shares, shares)
    a, b, d = (corners_mm[:, index, None] for index in (0, 1, 3))
    points = a + across.reshape(-1, 1) * (b - a) + along.reshape(-1, 1) * (d - a)
    seen = pose.to_px(points.reshape(-1, 3))
    inside = ((seen >= 0) & (seen <= np.array(pose.size) - 1)).all(axis=1)
    return np.asarray(inside.reshape(len(corners_mm), -1).mean(axis=1))
