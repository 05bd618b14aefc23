"""What a picture shows on and round each square of a board, whatever lies there: brightness by that of paper, what is
in sight, and outlines."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

from companion.core.grid import Square
from companion.core.kit import Board
from vision.detection.markers import Luma
from vision.order_statistics import median, quantiles
from vision.pieces.square_cells import THIRDS, Mask, SquareCells
from vision.pose.pose import Maps, Points, Pose

_Kind = TypeVar("_Kind", bound=np.generic)
Tone = NDArray[np.float32]
"""Brightness by that of the paper next to it: 1 is white paper."""
_INFINITE = np.float32(np.inf)
LINE = 0.05
"""An outline this much darker than its surroundings is one."""
_MIN_LINES = 0.1
"""Of the parts of outlines in sight, at least this share has to show a line."""
_GLINT, _MOST_GLINT = 1.35, 0.25
"""Times as bright as a cell's paper is a reflection; over more of a cell than this it is light, or hides too much."""
_BURNT, _WHITE = 252, 242
"""Glare is brighter than this, of 255, where paper is darker than that."""


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Squares (N,) of one picture: `tones` and `visible` (N, side, side) of their cells, see `SquareCells`; `lines`
    (N, 12) the depth of their outlines' parts.

    `visible` is False where a piece stands in front, outside the picture, or where glare hides the print.
    `glare` (N,) is the share of a cell that is burnt out.
    `shade` (N, 12) is the brightness along the outlines' parts; NaN in both where a part is not visible.
    """

    squares: tuple[Square, ...]
    tones: Tone
    visible: Mask
    glare: NDArray[np.float64]
    lines: Tone
    shade: Tone
    line_depth: Tone
    """(12,): what the parts of an outline can be expected to have in this picture; 0 when none can be made out."""
    line_share: Tone
    """(12,): the same by the brightness of the paper next to each part."""

    @cached_property
    def row(self) -> dict[Square, int]:
        """Which of the rows are a square's."""
        return {square: number for number, square in enumerate(self.squares)}

    def rows(self, squares: Iterable[Square]) -> NDArray[np.int_]:
        """(M,): those of several squares."""
        return np.array([self.row[square] for square in squares], int)


class Snapshots:
    """Takes snapshots of one board; remembers how bright its paper is and how dark its outlines are."""

    def __init__(self, cells: SquareCells) -> None:
        self._cells = cells
        self._paper = _PaperLight(cells.board, cells.scale)
        self._maps: tuple[Pose, Maps, Mask] | None = None
        self._line_depth: Tone = np.zeros(4 * THIRDS, dtype=np.float32)
        self._line_share: Tone = np.zeros(4 * THIRDS, dtype=np.float32)
        self.has_measured = False
        """Was a look taken at all squares?"""

    def forget(self) -> None:
        """Learn anew how bright paper is."""
        self._paper.forget()

    def take(
        self,
        luma: Luma,
        pose: Pose,
        corners: Iterable[int],
        bodies: Iterable[Points],
        squares: Collection[Square] | None = None,
    ) -> Snapshot:
        """Look at all squares, or at these alone. `corners`: corner markers read in this picture; `bodies`: (N, 2)
        outlines in board mm of what pieces hide, as seen on the board's plane.

        Only a look at all squares measures how bright the paper is and how dark the outlines are.
        """
        cells, (maps, inside) = self._cells, self._view(pose)
        chosen = cells.board.squares if squares is None else tuple(squares)
        places = cells.corners(None if squares is None else chosen)
        if squares is not None and chosen:
            low, high = places.min(axis=0), places.max(axis=0) + cells.side
            part = slice(int(low[0]), int(high[0])), slice(int(low[1]), int(high[1]))
            maps, inside, places = maps.part(*part), inside[part], places - low
        view = maps.rectify(luma)
        if squares is None:
            self._paper.learn(view, corners, maps)
        white = self._paper.over(maps)
        visible = inside & ~self._hidden(maps, hiding) if (hiding := list(bodies)) else inside
        tones = self._cut(np.asarray(cv2.divide(view, white, dtype=cv2.CV_32F), np.float32), places)
        seen = self._cut(visible, places)
        glints = self._glints(tones)
        seen &= ~glints
        glare = np.zeros(len(chosen))
        if view.size and view.max() >= _BURNT:
            burnt = (view >= _BURNT) & (white < _WHITE)
            glare = (self._cut(burnt, places) & ~glints).mean(axis=(1, 2))
        lines, shades = self.outlines(tones, seen)
        walled = cells.walled[[cells.number[square] for square in chosen]]
        lines[walled], shades[walled] = np.nan, np.nan
        if squares is None:
            self.has_measured = True
            free = [square not in cells.board.holes for square in chosen]
            self._line_depth = _typical(lines[free])
            self._line_share = _typical(np.asarray(lines[free] / np.maximum(shades[free], 0.05), np.float32))
        return Snapshot(chosen, tones, seen, glare, lines, shades, self._line_depth, self._line_share)

    def _view(self, pose: Pose) -> tuple[Maps, Mask]:
        """The view from straight above for this pose, all cells and a strip around them, and what of it lies in the
        picture."""
        if self._maps is None or self._maps[0] is not pose:
            cells, board = self._cells, self._cells.board
            room = cells.strip / cells.scale + board.gap_mm / 2
            low, high = (-room, -room), (board.width_mm + room, board.height_mm + room)
            maps = pose.plane_maps(low, high, 0.0, cells.scale)
            self._maps = pose, maps, _inside(maps.pixels, pose.size)
        return self._maps[1], self._maps[2]

    def _hidden(self, maps: Maps, bodies: Iterable[Points]) -> Mask:
        """(h, w): what pieces hide of a view, and a rim of it."""
        hidden = np.zeros(maps.pixels.shape[:2], np.uint8)
        for body in bodies:
            hull = cv2.convexHull(maps.to_view(body).round().astype(np.int32))
            cv2.fillConvexPoly(hidden, hull, 1)
        return np.asarray(cv2.dilate(hidden, np.ones((3, 3), np.uint8), iterations=self._cells.rim).view(np.bool_))

    def _cut(self, layer: NDArray[_Kind], places: NDArray[np.int_]) -> NDArray[_Kind]:
        """(N, side, side): the cells of a view whose upper left pixels are at `places` (N, 2)."""
        side = self._cells.side
        windows = np.lib.stride_tricks.sliding_window_view(layer, (side, side))
        return windows[places[:, 0], places[:, 1]]

    def _glints(self, tones: Tone) -> Mask:
        """(N, side, side): which pixels of cells show reflections of a lamp: much brighter than the cell's paper, and
        few.

        Nothing that lies on a square is so bright, and of a piece's marker they leave most in sight.
        """
        found = np.zeros(tones.shape, bool)
        for number in np.flatnonzero(tones.reshape(len(tones), -1).max(axis=1, initial=0) > _GLINT):
            tone = tones[number]
            bright = (tone > _GLINT * max(1.0, median(tone))).astype(np.uint8)
            wide = cv2.dilate(bright, np.ones((3, 3), np.uint8), iterations=self._cells.rim) > 0
            if bright.any() and wide.mean() <= _MOST_GLINT:
                found[number] = wide
        return found

    def outlines(self, tones: Tone, visible: Mask) -> tuple[Tone, Tone]:
        """Depth of the outlines of cells (N, side, side) and brightness along them, (N, 12): top, right, bottom, left,
        three parts each."""
        places = self._cells.outline
        bands, seen = tones.reshape(len(tones), -1).take(places, axis=1), visible.reshape(len(tones), -1)
        each, shape = (-1, *places.shape[1:]), (-1, 4 * THIRDS)
        lines, shades = _line(bands.reshape(each), seen.take(places, axis=1).reshape(each))
        return lines.reshape(shape).astype(np.float32), shades.reshape(shape).astype(np.float32)


class _PaperLight:
    """How bright paper is over a board, from the paper round its corner markers."""

    def __init__(self, board: Board, scale: float) -> None:
        self._board, self._scale = board, scale
        self._whites: dict[int, float] = {}
        self._middle = np.array([board.width_mm / 2, board.height_mm / 2])
        self._plane, self._range = np.zeros(3), (20.0, 255.0)

    def forget(self) -> None:
        """Learn anew."""
        self._whites.clear()

    def learn(self, view: Luma, corners: Iterable[int], maps: Maps) -> None:
        """Take a view into account; where a corner marker is hidden, paper is as bright as it was."""
        board = self._board
        for marker in corners:
            centre = maps.to_view(np.array([board.corner_centres_mm[marker]]))[0]
            half = (board.corner_mm / 2 + 1.5) * self._scale
            low, high = (centre - half).round().astype(int).clip(0), (centre + half).round().astype(int)
            patch = view[low[1] : high[1], low[0] : high[0]]
            if patch.size:
                self._whites[marker] = max(20.0, quantiles(patch, 0.92)[0])
        levels = np.array(list(self._whites.values()), dtype=np.float64)
        if len(levels) < 3:
            level = float(levels.mean()) if levels.size else quantiles(view, 0.9)[0]
            self._plane = np.array([max(level, 20.0), 0.0, 0.0])
            self._range = max(level, 20.0), max(level, 20.0)
            return
        places = np.array([board.corner_centres_mm[marker] for marker in self._whites])
        offsets = (places - self._middle) / 100
        self._plane = np.linalg.lstsq(np.column_stack([np.ones(len(levels)), offsets]), levels, rcond=None)[0]
        self._range = 0.5 * float(levels.min()), 1.3 * float(levels.max())

    def over(self, maps: Maps) -> Tone:
        """(h, w): how bright paper is, over a view."""
        height, width = maps.pixels.shape[:2]
        x = (maps.low_mm[0] + (np.arange(width) + 0.5) / maps.scale - self._middle[0]) / 100
        y = (maps.high_mm[1] - (np.arange(height) + 0.5) / maps.scale - self._middle[1]) / 100
        along = (self._plane[0] + self._plane[1] * x).astype(np.float32)
        across = (self._plane[2] * y).astype(np.float32)
        white, (low, high) = along[None, :] + across[:, None], self._range
        if along.min() + across.min() < low or along.max() + across.max() > high:
            white = white.clip(low, high)
        return np.asarray(white, np.float32)


def _inside(pixels: NDArray[np.float32], size: tuple[int, int]) -> Mask:
    """(h, w): which of the picture's pixels (h, w, 2) are in it; when all on the edge of a view are, all are."""
    last = np.array(size) - 1
    edge = np.concatenate([pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]])
    if ((edge >= 0) & (edge <= last)).all():
        return np.ones(pixels.shape[:2], dtype=bool)
    return np.asarray(((pixels >= 0) & (pixels <= last)).all(axis=2))


def _typical(outlines: Tone) -> Tone:
    """Return (12,): the median depth of lines across for the parts above and below, of those along for left and right.

    Parts without a line count only where hardly any has one: half of a board may lie in glare.
    """
    depths = outlines.reshape(-1, 4, THIRDS)
    both = []
    for part in (depths[:, ::2], depths[:, 1::2]):
        known = part[~np.isnan(part)]
        lines = known[known >= LINE]
        both.append(median(lines) if lines.size > _MIN_LINES * known.size else 0.0)
    across, along = both
    if max(across, along) < LINE:
        return np.zeros(4 * THIRDS, dtype=np.float32)
    return np.repeat(np.array([across, along, across, along], dtype=np.float32), THIRDS)


def _line(band: Tone, seen: Mask) -> tuple[Points, Points]:
    """(N,) each: how much darker than before and behind it is somewhere in a band (N, depth, length), and how bright.

    NaN where too little is seen.
    """
    length = seen.shape[2]
    counts = _sums(seen.view(np.uint8))
    there = counts > 0
    shown = band if counts.min(initial=length) == length else np.asarray(band * seen, np.float32)
    profile = _sums(shown) / np.maximum(counts, 1)
    lowest = np.where(there, profile, -_INFINITE)
    before, after = _largest_yet(lowest), _largest_yet(lowest[:, ::-1])[:, ::-1]
    depths = np.where(there, np.minimum(before, after) - profile, -_INFINITE).max(axis=1)
    # The 80th percentile of each row's seen values, which come first when sorted.
    ordered = np.sort(np.where(there, profile, _INFINITE), axis=1)
    last = np.maximum(there.sum(axis=1) - 1, 0)
    place = 0.8 * last
    low = np.floor(place).astype(int)
    rows = np.arange(len(ordered))
    lower, upper = ordered[rows, low], ordered[rows, np.minimum(low + 1, last)]
    hidden = counts.sum(axis=1) < 0.6 * counts.shape[1] * length
    with np.errstate(invalid="ignore"):
        shade = lower + (place - low) * (upper - lower)
    return np.where(hidden, np.nan, depths), np.where(hidden, np.nan, shade)


def _largest_yet(rows: Tone) -> Tone:
    """(N, M): the largest of (N, M) numbers up to each along the last axis; numpy takes five times as long for such
    short ones."""
    columns = np.ascontiguousarray(rows.T)
    for before, column in pairwise(columns):
        np.maximum(before, column, out=column)
    return columns.T


def _sums(rows: Tone | NDArray[np.uint8]) -> Tone:
    """(N, M): the sums of (N, M, length) along the last axis; numpy takes three times as long for such short ones."""
    number, depth, length = rows.shape
    if not rows.size:
        return np.zeros((number, depth), np.float32)
    sums = cv2.reduce(np.asarray(rows.reshape(-1, length)), 1, cv2.REDUCE_SUM, dtype=cv2.CV_32F)
    return np.asarray(sums, np.float32).reshape(number, depth)
