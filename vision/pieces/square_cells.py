"""Where the parts of a board's squares are in a view from straight above: paper, outlines, marks
and neighbours.

In the view every square has a *cell* of the same size, which includes the neighbours' edges. So all
cells can be processed at once.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray

from companion.core.grid import Square
from companion.core.kit import Board
from vision.pieces.shaded_squares import Paper

Mask = NDArray[np.bool_]
Places = NDArray[np.int_]

THIRDS = 3
"""Number of parts into which each side of an outline is divided."""
_MIN_SQUARE_MM = 30.0
"""Minimum size in mm of a square for the resolution. Cells of smaller squares are enlarged to the
same number of px.
"""
_PX_PER_MM = 1.6
"""Resolution of the view in px per mm."""
_SEARCH_MM = 3.0
"""Search range in mm for a line that a slightly wrong pose has shifted, on a board without gaps.
`_SEARCH_IN_GAPS_MM` is the range on a board with gaps.
"""
_SEARCH_IN_GAPS_MM = 2.0
GENTLE_MM = 2.0
"""Distance in mm within which the paper's brightness is compared, to tell a soft shadow from
print.
"""
_NEXT_TONE, _SAME_TONE = 0.15, 0.03
"""Maximum difference (a logarithm) between the paper of neighbouring squares, on a board of two
tones and on one of a single tone.
"""
_AROUND = ((0, 1), (1, 0), (0, -1), (-1, 0))


class SquareCells:
    """The cells of one board. Pixels within a cell are numbered row by row, (side * side,)."""

    def __init__(self, board: Board) -> None:
        self.board = board
        self.pitch = round(_PX_PER_MM * max(_MIN_SQUARE_MM, board.pitch_mm))
        """Distance between cells in px."""
        self.scale = self.pitch / board.pitch_mm
        """Resolution in px per mm."""
        self.edge = max(2, round((_SEARCH_IN_GAPS_MM if board.gap_mm else _SEARCH_MM) * self.scale))
        """Overlap of a cell with its neighbours in px."""
        self.side = self.pitch + 2 * self.edge
        """Width and height of a cell in px."""
        self.rim = max(1, round(1.0 * self.scale))
        """Margin in px that is added to what hides the board."""
        self.strip = max(self.edge, round(board.strip_mm * self.scale))
        """Width in px of the strip of the view around all squares."""
        self.number = {square: number for number, square in enumerate(board.squares)}
        self.marked = frozenset(mark.square for mark in board.marks)
        self.paper, self.middle = self._paper(), self._middle()
        """Pixels of plain paper, without outline and label, and of the disc in the middle."""
        self.far_inside = self._far_inside()
        """Pixels of plain paper with nothing but paper within `GENTLE_MM`."""
        self.outline = self._outline()
        """(12, depth, length): pixels of the parts of the outline, each from outside to inside:
        top, right, bottom, left.
        """
        self.surroundings = {
            False: self._surroundings(self.paper, 6),
            True: self._surroundings(self.middle, 2),
        }
        """Where paper is in and around cells, by whether they have a printed mark."""

        # There is no line between a square and a wall, unless a gap separates them.
        walls = frozenset() if board.gap_mm else board.holes
        self.walled: Mask = np.repeat(self._is_next(walls), THIRDS, axis=1)
        """(N, 12): the parts of outlines that have no line."""

        # With gaps there is paper on all sides. Without them a mark on the next square reaches too
        # near.
        free = set(board.squares) - board.holes - self.marked
        self.next_to_paper: Mask = self._is_next(free) | bool(board.gap_mm)
        """(N, 4): the sides beyond which there is plain paper."""
        files, ranks = np.array(board.squares).T
        rows = self.strip + (board.ranks - 1 - ranks) * self.pitch - self.edge
        self.corners: Places = np.column_stack([rows, self.strip + files * self.pitch - self.edge])
        """(N, 2): row and column of the upper left pixel of each cell in the view."""

    def _axis(self) -> NDArray[np.float64]:
        """Return (side,): offsets in mm of pixels from the middle of a cell."""
        return np.asarray((np.arange(self.side) + 0.5 - self.side / 2) / self.scale, np.float64)

    def _paper(self) -> Places:
        axis = self._axis() / self.board.square_mm
        # In shares of a square.
        across, down = axis[None, :], axis[:, None]
        margin = 0.5 - 1.8 / self.board.square_mm
        plain = (np.abs(across) < margin) & (np.abs(down) < margin)
        if self.board.labels_in_squares:
            # Exclude the label in the upper left corner.
            plain &= ~((across < -0.12) & (down < -0.22))
        return np.flatnonzero(plain)

    def _middle(self) -> Places:
        axis = self._axis() / self.board.square_mm
        return np.flatnonzero(axis[None, :] ** 2 + axis[:, None] ** 2 < 0.25**2)

    def _far_inside(self) -> Places:
        plain = np.zeros(self.side * self.side, np.uint8)
        plain[self.paper] = 1
        near = np.ones((round(2 * GENTLE_MM * self.scale),) * 2, np.uint8)
        return np.flatnonzero(cv2.erode(plain.reshape(self.side, self.side), near))

    def _outline(self) -> Places:
        board, side = self.board, self.side
        # Depth of the search across the outline, and where its parts start along it.
        depth = 2 * self.edge + round((board.gap_mm / 2 + 1.0) * self.scale)
        start = self.edge + round((board.gap_mm / 2 + 2.0) * self.scale)
        length = (side - 2 * start) // THIRDS
        places = np.arange(side * side).reshape(side, side)
        # Rotate the cell so that each side becomes the upper one.
        sides = []
        for turn in range(4):
            sides.append(np.rot90(places, turn)[:depth, start : start + THIRDS * length])
        parts = np.stack(sides).reshape(4, depth, THIRDS, length)
        return parts.transpose(0, 2, 1, 3).reshape(-1, depth, length)

    def _surroundings(self, inside: Places, gentle: int) -> Paper:
        board, axis = self.board, self._axis()
        across, up = np.meshgrid(axis, -axis)
        half = board.square_mm / 2
        # Start beyond the blur of the outline, where there is room for that.
        low, high = (0.8, board.gap_mm - 0.8) if board.gap_mm else (1.2, self.edge / self.scale)
        beyond = []
        for away, aside in ((up, across), (across, up), (-up, across), (-across, up)):
            is_near = (away > half + low) & (away < half + high)
            beyond.append(np.flatnonzero(is_near & (np.abs(aside) < half - 1.5)))
        places = np.column_stack([across.ravel(), -up.ravel()]).astype(np.float32)
        step = _NEXT_TONE if board.tones > 1 else _SAME_TONE
        return Paper(inside, tuple(beyond), places, step, gentle)

    def _is_next(self, squares: Collection[Square]) -> Mask:
        """Return (N, 4): whether the neighbour above, right, below and left of each square is one
        of these.
        """
        board = self.board
        # A margin around the board avoids bounds checks.
        chosen = np.zeros((board.files + 2, board.ranks + 2), bool)
        for square in squares:
            chosen[square.file + 1, square.rank + 1] = True
        places = np.array(board.squares)[:, None] + np.array(_AROUND) + 1
        return np.asarray(chosen[places[..., 0], places[..., 1]])


@lru_cache(maxsize=32)
def cells_of(board: Board) -> SquareCells:
    """Return a board's cells, which are cached."""
    return SquareCells(board)
