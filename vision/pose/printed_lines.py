"""The printed lines of a board in a picture: how far from where a pose puts them they are.

Every side of a square is looked for in two halves, across its direction in the picture. With gaps
between squares two lines run side by side; they are looked for together, so that one is never taken
for the other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from companion.core.grid import Square
from companion.core.kit import FRAME_MM, LINE_MM, Board
from vision.detection.markers import Luma
from vision.pose.pose import Points, Pose, flat

_STEP_PX = 0.5
_WIDEST_PX = 40.0
"""The farthest that a line is looked for."""
_LINE_MM = 0.6
_SAMPLES = 4
"""Places along half a side."""
_ALONG = (np.arange(_SAMPLES) + 0.5) / _SAMPLES * 0.38 + 0.04
"""From the middle of a side, by its length."""
_LEAST_DEPTH, _LEAST_OF_PAIR, _LEAST_GREY = 0.05, 0.03, 3.5
"""A line is darker than both of its sides by this share of the brightness there, or both of two by
the second one, and by so many grey levels.

Thin pairs under JPEG are paler than .05. Measured: .03 finds 97 % of their lines instead of 94 %,
hardly any more in wrong places. Of single lines it finds no more.
"""
_RIVAL = 0.75
"""Where another line is so distinct, nobody can tell which one it is."""
_RIVAL_PX = 3.0
_OF_PERIOD = 0.45
"""A line is never looked for farther off than this share of the way to the next one."""


def profiles(
    luma: NDArray[np.uint8],
    places: NDArray[np.floating],
    ways: NDArray[np.floating],
    steps: NDArray[np.floating],
) -> NDArray[np.uint8]:
    """Return (N, K): how bright a (height, width) picture is along short lines, between its pixels.

    They run through (N, 2) `places` px, and each is looked at so many `steps` (K,) of its (N, 2) px
    `ways` from there. Both coordinates of all places are worked out step by step: numpy takes seven
    times as long for the two of each.
    """
    # (K, N) each.
    x = (places[:, 0] + steps[:, None] * ways[:, 0]).astype(np.float32, copy=False)
    y = (places[:, 1] + steps[:, None] * ways[:, 1]).astype(np.float32, copy=False)
    tones = cv2.remap(luma, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    return np.ascontiguousarray(tones.T, np.uint8)


@dataclass(frozen=True, eq=False)
class Lines:
    """Half sides (N,) of squares as they are in a picture."""

    is_in: NDArray[np.bool_]
    """(N,): do they lie in the picture?"""
    is_found: NDArray[np.bool_]
    """(N,)."""
    off_px: Points
    """(N,): how far they are along `normals` from where the pose puts their middles."""
    points_px: Points
    """(N, 2): where the pose puts them."""
    normals: Points
    """(N, 2)."""

    @property
    def there_px(self) -> Points:
        """(N, 2): where they are."""
        return self.points_px + self.off_px[:, None] * self.normals


class _Side(NamedTuple):
    """One side of a square, which may be that of the next one, too."""

    middle_mm: Points
    """(2,): its middle, in the gap between both squares if there is one."""
    axis: int
    """0: it runs from South to North, 1: from West to East."""
    half_gap_mm: float
    """Half the distance of two lines that run side by side; 0: it is a single one."""
    squares: list[int]
    """Numbers of the squares that it borders."""


def _sides_of(board: Board, squares: tuple[Square, ...]) -> list[_Side]:
    """Return all sides of these squares on which a line is printed."""
    sides: dict[tuple[int, int, int], _Side] = {}
    pitch = np.array([board.pitch_mm, board.rank_pitch_mm])

    # The outermost lines lie inside of the squares.
    outer_mm = board.gap_mm + (LINE_MM if board.gap_mm else FRAME_MM)
    # Half the way between the middles of two lines that run side by side.
    inner_gap = (board.gap_mm + LINE_MM) / 2 if board.gap_mm else 0.0
    for number, square in enumerate(squares):
        for axis, sign in ((0, -1), (0, 1), (1, -1), (1, 1)):
            # In half squares along its axis, so that both neighbours make the same key of a side.
            key = (axis, 2 * square[axis] + sign, square[1 - axis])
            way = sign * np.eye(2, dtype=int)[axis]
            beyond = square.shifted(*way.tolist())
            if key in sides:
                sides[key].squares.append(number)
            elif beyond not in board.holes or board.gap_mm:
                # Between a square and a wall there is no line.
                is_inner = beyond in squares
                edge = (pitch if is_inner else pitch - outer_mm) / 2
                middle = np.array(board.centre_mm(square)) + way * edge
                sides[key] = _Side(middle, axis, inner_gap if is_inner else 0.0, [number])
    return list(sides.values())


class PrintedLines:
    """All half sides of a board's squares, (N,)."""

    def __init__(self, board: Board) -> None:
        self.squares = tuple(square for square in board.squares if square not in board.holes)
        sides = _sides_of(board, self.squares)
        pitch = np.array([board.pitch_mm, board.rank_pitch_mm])
        axes = np.repeat([side.axis for side in sides], 2)
        samples = []

        # Which half sides border which squares.
        self._borders = np.zeros((len(self.squares), len(axes)), np.float32)
        for number, side in enumerate(sides):
            length = np.eye(2)[1 - side.axis] * pitch
            for half, sign in enumerate((-1, 1)):
                samples.append(flat(side.middle_mm + sign * _ALONG[:, None] * length))
                self._borders[side.squares, 2 * number + half] = 1

        self._samples_mm = np.array(samples)
        self.middles_mm = self._samples_mm.mean(axis=1)
        """(N, 3)."""
        self._across = flat(np.eye(2)[axes])
        self._along = self._across[:, [1, 0, 2]]

        self._half_gap = np.repeat([side.half_gap_mm for side in sides], 2)
        self.period_mm = pitch[axes]
        """(N,): how far away the next line of the same direction is."""
        self.is_between_files = axes == 0
        """(N,): does it run from South to North?"""

        files, ranks = np.array(self.squares).T
        self._cells = ranks, files
        self.is_square = np.zeros((board.ranks, board.files), bool)
        """(ranks, files): False where the board has a hole."""
        self.is_square[self._cells] = True

    def around(self, chosen: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Return (ranks, files, K): how many of the `chosen` lines (K, N) border each square and
        those next to it."""
        # By square, and then added up over three by three.
        numbers = np.zeros((*self.is_square.shape, len(chosen)), np.float32)
        numbers[self._cells] = self._borders @ chosen.T.astype(np.float32)
        return np.asarray(
            cv2.boxFilter(numbers, -1, (3, 3), normalize=False, borderType=cv2.BORDER_CONSTANT)
        )

    def geometry(self, pose: Pose) -> tuple[Points, Points, Points]:
        """Return (N, 2) middles in the picture, (N, 2) normals there, (N,) px per mm along
        these.
        """
        here = self.middles_mm
        ends = np.stack([here, here + self._across, here + self._along])
        middles, across, along = pose.to_px(ends).reshape(3, -1, 2)
        # How a mm across the line, and one along it, look in the picture.
        across = across - middles
        along = along - middles
        length = np.linalg.norm(along, axis=1, keepdims=True)
        normals = along[:, ::-1] * (1, -1) / np.maximum(length, 1e-9)
        scale = (normals * across).sum(axis=1)
        # Normals point the way in which the board's coordinates grow.
        normals *= np.where(scale < 0, -1.0, 1.0)[:, None]
        return middles, normals, np.abs(scale)

    def look(self, luma: Luma, pose: Pose, reach_px: Points) -> Lines:
        """Find all lines, each at most `reach_px` (N,) from where the pose puts it.

        NaN: it is not looked for.
        """
        middles, normals, scale = self.geometry(pose)
        places = pose.to_px(self._samples_mm).reshape(-1, _SAMPLES, 2)
        last = np.array(pose.size) - 2
        is_in = ((places >= 1) & (places <= last)).all(axis=(1, 2)) & (scale > 0.3)

        # Never so far that the next line of the same direction could be meant.
        farthest = np.minimum(_OF_PERIOD * self.period_mm * scale, _WIDEST_PX)
        reach = np.minimum(reach_px, farthest)
        wanted = np.flatnonzero(is_in & np.isfinite(reach))
        off = np.zeros(len(middles))
        is_clear = np.zeros(len(middles), bool)
        if len(wanted):
            flank = np.maximum(1.5, 0.5 * _LINE_MM * scale + 1.0)
            sizes = np.stack([reach, flank, self._half_gap * scale])
            off[wanted], is_clear[wanted] = _offsets(
                luma, places[wanted], normals[wanted], sizes[:, wanted]
            )
        return Lines(is_in, is_clear, off, middles, normals)


def _offsets(
    luma: Luma, places: Points, normals: Points, sizes: Points
) -> tuple[Points, NDArray[np.bool_]]:
    """Return where each line is along its normal, px, and whether one is there that can be told.

    `sizes` (3, N) px: how far off it is looked for, how far from it its sides are compared with it,
    and half the distance of two lines that run side by side.
    """
    reach, flank, half_gap = sizes

    # So far to both sides the brightness is needed, in steps.
    room = float(sizes.max(axis=1).sum()) + 1
    steps = int(np.ceil(room / _STEP_PX))
    offsets = np.arange(-steps, steps + 1) * _STEP_PX

    # The mean of some profiles along each half side.
    ways = normals.repeat(_SAMPLES, axis=0)
    tones = profiles(luma, places.reshape(-1, 2), ways, offsets)
    by_line = tones.reshape(len(places), _SAMPLES, -1)
    profile = np.add.reduce(by_line, axis=1, dtype=np.uint16) / _SAMPLES

    # A line is darker than both of its sides.
    beside = np.minimum(_shift(profile, flank), _shift(profile, -flank))
    depth = beside - profile
    if half_gap.any():
        # Two lines side by side count as one in their middle.
        depth = (_shift(depth, half_gap) + _shift(depth, -half_gap)) / 2
    depth = np.where(np.abs(offsets) <= reach[:, None], depth, -1.0)
    top, finer, is_alone = _peaks(depth)
    rows = np.arange(len(depth))
    peak = depth[rows, top]
    least = np.where(half_gap > 0, _LEAST_OF_PAIR, _LEAST_DEPTH) * beside[rows, top]
    is_deep = peak >= np.maximum(least, _LEAST_GREY)

    # What is deepest at the end of the reach goes on beyond it.
    is_within = np.abs(offsets[top]) < reach - 0.25
    return offsets[top] + finer * _STEP_PX, is_alone & is_deep & is_within


def _shift(values: Points, by_px: Points) -> Points:
    """Return (N, K) rows of values, each so far (N,) along itself."""
    # To the nearest step, and at the ends what is there.
    columns = np.arange(values.shape[1])
    there = columns + np.rint(by_px / _STEP_PX).astype(int)[:, None]
    return np.take_along_axis(values, there.clip(0, columns[-1]), axis=1)


def _peaks(depth: Points) -> tuple[NDArray[np.int_], Points, NDArray[np.bool_]]:
    """Return the deepest place of each row (N, K), how far beyond it the peak is, and whether it
    has no rival."""
    rows = np.arange(len(depth))
    columns = np.arange(depth.shape[1])
    top = depth.argmax(axis=1)
    peak = depth[rows, top]
    # The deepest place that is not part of the same line.
    far = np.abs(columns - top[:, None]) * _STEP_PX > _RIVAL_PX
    rival = np.where(far, depth, -1.0).max(axis=1)
    # sub-pixel peak by a parabola
    inner = top.clip(1, len(columns) - 2)
    before = depth[rows, inner - 1]
    after = depth[rows, inner + 1]
    bend = np.minimum(before - 2 * peak + after, -1e-9)
    finer = 0.5 * (before - after) / bend
    return top, finer.clip(-0.5, 0.5), rival <= _RIVAL * peak


@lru_cache(maxsize=16)
def lines_of(board: Board) -> PrintedLines:
    """Return a board's lines, worked out once."""
    return PrintedLines(board)


def confirmed(
    board: Board, lines: Lines, within_px: float, corners: Iterable[Square], least: float
) -> set[Square]:
    """Return the squares round which most of the visible lines are where the pose puts them, in one
    piece with the corners.

    A pose that is right near its corners and off by a whole square farther away is off by half a
    square in between, where no line fits: what lies beyond is not confirmed. From one square to the
    next it cannot change so much: the neighbours of confirmed squares, of which pieces may hide the
    lines, are confirmed with them.
    """
    printed = lines_of(board)
    good = lines.is_found & (np.abs(lines.off_px) <= within_px)

    # A pose that is wrong along lines of one direction alone still fits those.
    ways = np.stack([printed.is_between_files, ~printed.is_between_files])
    whole = printed.around(ways & lines.is_in)
    there = printed.around(ways & good)
    is_good = ((whole > 0) & (there >= least * whole)).all(axis=2) & printed.is_square

    # What hangs together with a corner, and its neighbours.
    labels = cv2.connectedComponents(is_good.astype(np.uint8))[1]
    starts = {int(labels[corner.rank, corner.file]) for corner in corners} - {0}
    mask = np.isin(labels, list(starts)).astype(np.uint8)
    is_told = (cv2.dilate(mask, np.ones((3, 3), np.uint8)) > 0) & printed.is_square
    return {Square(file, rank) for rank, file in np.argwhere(is_told).tolist()}
