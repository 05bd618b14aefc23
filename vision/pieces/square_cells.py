"""Locates the parts of a board's squares in a view from straight above: paper, outlines, marks and
neighbours.

In the view every square has a *cell* of the same size, which includes the neighbours' edges. As all
cells have the same size, they can be processed at once, as an array (N, side, side). This module
only computes which pixels of a cell belong to what. `snapshots` cuts the cells out of pictures.

The view from its left edge: a strip, half a gap, then the squares of a rank. Some boards have no
gaps, so that neighbouring squares share a line.

    |   strip   |  |  square  | gap |  square  | gap | ...
                |     pitch      |     pitch      |
             |        cell 0        |    a pitch, with an overlap at both ends
                              |        cell 1        |

One cell:

    +---------------------+   beyond: paper outside the outline, in the gap or on the neighbour
    | beyond              |
    |   +--0---1---2--+   |   the printed outline in twelve parts: three on each side, clockwise
    |   |L            |   |   from the upper left
    |   11   paper    3   |   L: the label of the square
    |   10    ( )     4   |   ( ): the disc in the middle, the only plain paper if the square has a
    |   9             5   |   printed mark
    |   +--8---7---6--+   |
    |                     |
    +---------------------+

Lengths in mm follow from the printed boards, whose lines are 0.5 to 0.8 mm wide, plus room for
blur and for a slightly wrong pose. They were chosen by trial on rendered tables.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property, lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray

from companion.core.grid import Square
from companion.core.kit import Board
from vision.pieces.shaded_squares import PaperPixels

# Mask of pixels, squares or parts of outlines. Its shape is said where it is used.
Mask = NDArray[np.bool_]

# Indices of pixels in a cell, counted row by row.
PixelIndices = NDArray[np.int_]

# Number of parts into which each side of an outline is divided.
PARTS_PER_SIDE = 3

# Squares that are smaller than this are enlarged, so that their cells have as many px as those of a
# square of this size.
_MIN_SQUARE_MM = 30.0

# Resolution of the view in px per mm: a line is about one pixel wide. Larger: more time for each
# picture. Smaller: thin lines vanish.
_PX_PER_MM = 1.6

# Search range in mm for a line that a slightly wrong pose has shifted, on a board without gaps.
_SEARCH_MM = 3.0

# The same on a board with gaps, where the next line is nearer.
_SEARCH_IN_GAPS_MM = 2.0

# Margin in mm around pieces and glints that hide the board, for an error of the pose.
_OCCLUSION_MARGIN_MM = 1.0

# Room in mm across the outline for a line and its blur.
_LINE_MARGIN_MM = 1.0

# Room in mm at both ends of a side, where other lines cross.
_CORNER_MARGIN_MM = 2.0

# Width in mm of the edge of a square that is not plain paper: its line, blur and error of the pose.
_PAPER_MARGIN_MM = 1.8

# Right and lower edge of the label in the upper left corner of a square: offsets from the square's
# middle, x right and y down, in shares of its side.
_LABEL_RIGHT = -0.12
_LABEL_BOTTOM = -0.22

# Radius of the disc in the middle of a square, in shares of the square. Printed marks leave it
# free.
_MIDDLE_RADIUS = 0.25

# Distance in mm from the square at which paper begins beyond an outline, in a gap.
_BEYOND_IN_GAP_MM = 0.8

# The same on a board without gaps.
_BEYOND_MM = 1.2

# Distance in mm of that paper from both ends of the side.
_BEYOND_END_MM = 1.5

# Distance in mm within which the paper's brightness is compared, to tell a soft shadow from print.
GENTLE_MM = 2.0

# Maximum difference (a logarithm) between the paper of neighbouring squares on a board of two
# tones, such as a chess board.
_MAX_DIFFERENCE_TWO_TONES = 0.15

# The same on a board of a single tone.
_MAX_DIFFERENCE_ONE_TONE = 0.03

# Number of terms of the polynomial (see `shaded_squares`) that describes gentle changes of the
# light on a whole square.
_LIGHT_TERMS = 6

# The same on its middle alone, which is too small for more.
_LIGHT_TERMS_IN_MIDDLE = 2

# Offsets (files, ranks) to the neighbours above, right, below and left.
_AROUND = ((0, 1), (1, 0), (0, -1), (-1, 0))


class SquareCells:
    """The cells of one board. Made once for each board by `cells_of`, and never changed.

    The index of a pixel within a cell counts row by row, from 0 to side * side - 1.
    """

    def __init__(self, board: Board) -> None:
        self.board = board
        self.pitch_px = round(_PX_PER_MM * max(_MIN_SQUARE_MM, board.pitch_mm))
        """Distance between the middles of neighbouring cells in px."""
        self.scale = self.pitch_px / board.pitch_mm
        """Resolution in px per mm."""
        search_mm = _SEARCH_IN_GAPS_MM if board.gap_mm else _SEARCH_MM
        self.overlap_px = max(2, round(search_mm * self.scale))
        """Width in px by which a cell reaches beyond its pitch on each side."""
        self.side_px = self.pitch_px + 2 * self.overlap_px
        """Width and height of a cell in px."""
        self.occlusion_margin_px = max(1, round(_OCCLUSION_MARGIN_MM * self.scale))
        """Margin in px around pieces and glints that hide the board."""
        self.strip_px = max(self.overlap_px, round(board.strip_mm * self.scale))
        """Width in px of the strip of the view around all squares."""
        self.index_of = {square: index for index, square in enumerate(board.squares)}
        """The index of each square in arrays (N, …) of all squares."""
        self.marked_squares = frozenset(mark.square for mark in board.marks)
        """Squares with a printed mark, of which only the middle is plain paper."""
        # (side,): offsets in mm of a row's or a column's pixels from the middle of a cell.
        offsets_px = np.arange(self.side_px) + 0.5 - self.side_px / 2
        self._axis_mm = np.asarray(offsets_px / self.scale, np.float64)

    # ---- pixels of one cell ----

    @cached_property
    def paper_pixels(self) -> PixelIndices:
        """Pixels of plain paper, without outline and label."""
        # Offsets from the middle, in shares of a square.
        axis = self._axis_mm / self.board.square_mm
        right = axis[None, :]
        down = axis[:, None]
        half = 0.5 - _PAPER_MARGIN_MM / self.board.square_mm
        plain = (np.abs(right) < half) & (np.abs(down) < half)
        if self.board.labels_in_squares:
            plain &= ~((right < _LABEL_RIGHT) & (down < _LABEL_BOTTOM))
        return np.flatnonzero(plain)

    @cached_property
    def middle_pixels(self) -> PixelIndices:
        """Pixels of the disc in the middle."""
        axis = self._axis_mm / self.board.square_mm
        return np.flatnonzero(axis[None, :] ** 2 + axis[:, None] ** 2 < _MIDDLE_RADIUS**2)

    @cached_property
    def inner_pixels(self) -> PixelIndices:
        """Pixels of plain paper with nothing but paper within `GENTLE_MM`."""
        plain = np.zeros(self.side_px * self.side_px, np.uint8)
        plain[self.paper_pixels] = 1
        near = np.ones((round(2 * GENTLE_MM * self.scale),) * 2, np.uint8)
        return np.flatnonzero(cv2.erode(plain.reshape(self.side_px, self.side_px), near))

    @cached_property
    def outline_pixels(self) -> PixelIndices:
        """(12, depth, length): pixels of the parts of the outline.

        Depth counts from outside to inside, length along the part.
        """
        board = self.board
        side = self.side_px
        # Depth of the search across the outline, and where its parts start along it.
        depth = 2 * self.overlap_px + round((board.gap_mm / 2 + _LINE_MARGIN_MM) * self.scale)
        start = self.overlap_px + round((board.gap_mm / 2 + _CORNER_MARGIN_MM) * self.scale)
        length = (side - 2 * start) // PARTS_PER_SIDE
        indices = np.arange(side * side).reshape(side, side)
        # Rotate the cell so that each side becomes the upper one.
        sides = []
        for turn in range(4):
            sides.append(np.rot90(indices, turn)[:depth, start : start + PARTS_PER_SIDE * length])
        parts = np.stack(sides).reshape(4, depth, PARTS_PER_SIDE, length)
        return parts.transpose(0, 2, 1, 3).reshape(-1, depth, length)

    @cached_property
    def paper(self) -> PaperPixels:
        """Pixels by which the light on a square without a printed mark is estimated."""
        return self._light_samples(self.paper_pixels, _LIGHT_TERMS)

    @cached_property
    def paper_of_marked(self) -> PaperPixels:
        """The same for a square with a printed mark."""
        return self._light_samples(self.middle_pixels, _LIGHT_TERMS_IN_MIDDLE)

    def _light_samples(self, inside: PixelIndices, gentle_terms: int) -> PaperPixels:
        """Return the pixels of paper by which `shaded_squares` estimates the light on a square.

        These are the pixels `inside` the outline, and those of plain paper beyond each side of it.
        """
        board = self.board
        # Offsets in mm from the middle, (side, side).
        right, up = np.meshgrid(self._axis_mm, -self._axis_mm)
        half = board.square_mm / 2

        # The paper beyond a side reaches from the blur of the outline to that of the next line, or
        # to the end of the cell.
        low = _BEYOND_MM
        high = self.overlap_px / self.scale
        if board.gap_mm:
            low = _BEYOND_IN_GAP_MM
            high = board.gap_mm - _BEYOND_IN_GAP_MM
        beyond = []
        # Beyond the top, right, bottom and left side.
        for outwards, sideways in ((up, right), (right, up), (-up, right), (-right, up)):
            is_near = (outwards > half + low) & (outwards < half + high)
            beyond.append(np.flatnonzero(is_near & (np.abs(sideways) < half - _BEYOND_END_MM)))
        offsets_mm = np.column_stack([right.ravel(), -up.ravel()]).astype(np.float32)
        has_two_tones = board.tones > 1
        return PaperPixels(
            inside=inside,
            beyond=tuple(beyond),
            offsets_mm=offsets_mm,
            max_difference=_MAX_DIFFERENCE_TWO_TONES if has_two_tones else _MAX_DIFFERENCE_ONE_TONE,
            gentle_terms=gentle_terms,
        )

    # ---- all (N,) squares of the board ----

    @cached_property
    def lineless_parts(self) -> Mask:
        """(N, 12): whether each part of an outline has no line."""
        # There is no line between a square and a wall, unless a gap separates them.
        walls = frozenset() if self.board.gap_mm else self.board.holes
        return np.repeat(self._is_next(walls), PARTS_PER_SIDE, axis=1)

    @cached_property
    def next_to_paper(self) -> Mask:
        """(N, 4): whether there is plain paper beyond each side: top, right, bottom, left."""
        # With gaps there is paper on all sides. Without gaps, a printed mark on the next square
        # would be too near.
        free = set(self.board.squares) - self.board.holes - self.marked_squares
        return self._is_next(free) | bool(self.board.gap_mm)

    @cached_property
    def origins(self) -> NDArray[np.int_]:
        """(N, 2): row and column of the upper left pixel of each cell in the view."""
        files, ranks = np.array(self.board.squares).T
        first = self.strip_px - self.overlap_px
        # Rank 0 is at the bottom of the view.
        rows = first + (self.board.ranks - 1 - ranks) * self.pitch_px
        return np.column_stack([rows, first + files * self.pitch_px])

    def _is_next(self, squares: Collection[Square]) -> Mask:
        """Return (N, 4): whether each square's neighbour on either side is one of these squares.

        The order is above, right, below, left.
        """
        board = self.board
        # A margin of one square around the board, so that every square has four neighbours.
        chosen = np.zeros((board.files + 2, board.ranks + 2), bool)
        for square in squares:
            chosen[square.file + 1, square.rank + 1] = True
        neighbours = np.array(board.squares)[:, None] + np.array(_AROUND) + 1
        return np.asarray(chosen[neighbours[..., 0], neighbours[..., 1]])


@lru_cache(maxsize=32)
def cells_of(board: Board) -> SquareCells:
    """Return the cells of a board. They are computed once, and then cached."""
    return SquareCells(board)
