"""Converts blocks of a picture to squares and back, and finds the squares for which a pose is too
uncertain. A block is a square of `BLOCK_PX` pixels, by which pictures are compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

import cv2
import numpy as np

from companion.core.grid import Square
from companion.core.kit import Board, Kit
from vision.detection.markers import Sighting
from vision.detection.stillness import BLOCK_PX, BlockMask, block_centres_px
from vision.pose.pose import Points, Pose, at_height, rectangle_corners_mm, square_outline_mm

# Maximum height in mm of a piece above its marker: a rim, or a tag that does not lie flat.
MAX_ABOVE_MARKER_MM = 3.0

# Number of heights between paper and the tallest piece at which a block's ray is followed. From
# usual angles, two neighbouring points of the ray are less than a square apart.
_LEVELS = 3

# Maximum standard deviation of a square's position, as a share of the square, to call it empty. At
# three standard deviations it is wrong by a quarter of a square. Larger: the area that is examined
# may miss a piece.
_MAX_SIGMA_SHARE = 0.08

# The middle part of a square, as a share of its side. If any of it is outside the picture, a piece
# may be hidden there.
_INNER_SHARE = 0.4

# ---- blocks --------------------------------------------------------------------------------------


def extend_by_markers(
    blocks: BlockMask, sightings: Iterable[Sighting]
) -> tuple[BlockMask, list[Sighting]]:
    """Return the blocks (rows, columns), extended by all blocks of markers that touch them.

    Each marker that touches a block adds all blocks of its bounding box. The second result is the
    list of these markers.
    """
    rows, columns = blocks.shape
    extended = blocks.copy()
    touching = []
    for sighting in sightings:
        # The bounding box of its corners, in blocks.
        corners = (sighting.corners_px / BLOCK_PX).astype(int).clip(0)
        left, top = corners.min(axis=0).tolist()
        right, bottom = corners.max(axis=0).tolist()
        part = slice(top, min(bottom + 1, rows)), slice(left, min(right + 1, columns))
        if blocks[part].any():
            extended[part] = True
            touching.append(sighting)
    return extended, touching


def squares_under(kit: Kit, pose: Pose, blocks: BlockMask) -> tuple[set[Square], set[Square]]:
    """Return the squares whose paper these blocks show, and those whose pieces may reach into them.

    The second set contains the first. It also has squares nearer to the camera, because a tall
    piece on these squares would appear in the blocks. `blocks` are (rows, columns).
    """
    board = kit.board

    # The ray of each block's centre meets the plane of the tallest piece's top at `head`, and the
    # board at `foot`. A piece on any square between them reaches into the block.
    #
    #     camera
    #         \
    #     - - head - - -    tallest piece
    #             \
    #     ------- foot --   board
    centres_px = block_centres_px(blocks)
    foot = pose.to_plane(centres_px)
    head = pose.to_plane(centres_px, kit.tallest_mm + MAX_ABOVE_MARKER_MM)
    pitch = np.array([board.pitch_mm, board.rank_pitch_mm])
    shown = set[Square]()
    reaching = set[Square]()
    for share in np.linspace(0, 1, _LEVELS):
        between = foot + (head - foot) * share
        cells = np.floor((between + board.gap_mm / 2) / pitch)
        # NaN compares as outside.
        is_on_board = ((cells >= 0) & (cells < (board.files, board.ranks))).all(axis=1)
        # `board.squares` goes file by file.
        indices = np.unique(cells[is_on_board] @ (board.ranks, 1)).astype(int)
        reaching.update(map(board.squares.__getitem__, indices))
        if share == 0:
            shown = set(reaching)
    return shown, reaching


def blocks_over(
    kit: Kit, pose: Pose, squares: Iterable[Square], shape: tuple[int, ...]
) -> BlockMask:
    """Return the blocks (rows, columns) that contain these squares and what may stand on them.

    `shape` is (rows, columns) of the picture's blocks.
    """
    board = kit.board
    mask = np.zeros(shape, np.uint8)
    top_mm = kit.tallest_mm + MAX_ABOVE_MARKER_MM
    for square in squares:
        cell = rectangle_corners_mm(
            *board.centre_mm(square), board.pitch_mm, board.rank_pitch_mm, 0.0
        )
        # From the paper to the top of the tallest piece.
        corners = np.vstack([at_height(cell), at_height(cell, top_mm)])
        hull = cv2.convexHull((pose.to_px(corners) / BLOCK_PX).round().astype(np.int32))
        cv2.fillConvexPoly(mask, hull, 1)
    return np.asarray(mask, bool)


# ---- uncertainty of a pose -----------------------------------------------------------------------


def find_vague_squares(board: Board, pose: Pose) -> frozenset[Square]:
    """Return the squares for which the pose is too uncertain to call them empty.

    There a piece could lie beside the area that is examined, and go unnoticed.
    """
    squares, corners = _corners_of(board)
    # The worst of a square's four corners counts.
    sigma_mm = pose.sigma_mm(corners.reshape(-1, 3)).reshape(-1, 4).max(axis=1)
    centres = corners.mean(axis=1, keepdims=True)
    inner = centres + _INNER_SHARE * (corners - centres)
    is_inside = pose.is_in_picture(pose.to_px(inner)).reshape(-1, 4).all(axis=1)
    is_vague = (sigma_mm > _MAX_SIGMA_SHARE * board.pitch_mm) | ~is_inside
    return frozenset(squares[index] for index in np.flatnonzero(is_vague).tolist())


@lru_cache(maxsize=16)
def _corners_of(board: Board) -> tuple[Sequence[Square], Points]:
    """Return the (N,) squares on which pieces can be, and their corners (N, 4, 3) mm."""
    squares = [square for square in board.squares if square not in board.holes]
    return squares, np.array([square_outline_mm(board, square) for square in squares])
