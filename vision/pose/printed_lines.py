"""Measures how far the printed lines of a board are from where a pose predicts them.

Each side of a square is measured in two halves, so that the line can still be found in one of them
if the other is hidden. Arrays have one entry for each of the (N,) half sides of a board. For each
half side:

1. Project its sample points into the picture with the pose (`PrintedLines.measure`).
2. Sample the brightness across the line at each point, and take the mean profile over all points.
3. A line is darker than the paper on both sides of it, its *flanks*. Compute this contrast at every
   position of the profile.
4. The highest contrast is the line, unless there is a rival that is nearly as high, the contrast is
   too low, or the highest one is at the end of the search range (`_measure_offsets`).

         square                   : : : :        : : : :
      ==============  the side:  =o=o=o=o========o=o=o=o=     o  sample points of both halves
         square                   : : : :        : : : :      :  profiles across the line

If there are gaps between squares, two lines run side by side. They are searched as a pair, because
one line alone could be mistaken for the other.

`confirm_squares` then tells at which squares the lines confirm the pose.

The limits were chosen by trial on rendered views with hidden corners, see
`tests/bench/reading/corners.py`.
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
from vision.pose.pose import Floats, Points, Pose, at_height

# Sampling interval across a line. A parabola finds the peak between the samples.
_STEP_PX = 0.5

# Maximum search range of a line to either side, which bounds the time.
_MAX_REACH_PX = 40.0

# Assumed width in mm of a printed line, a little more than `LINE_MM`.
_LINE_WIDTH_MM = 0.6

# Blur of a line to either side.
_BLUR_PX = 1.0

# Minimum distance of a flank from the middle of its line.
_MIN_FLANK_PX = 1.5

# Minimum scale of the picture. Below it a line is much thinner than a pixel.
_MIN_PX_PER_MM = 0.3

# Number of sample points along half a side.
_SAMPLES = 4

# Offsets of the sample points from the middle of a side, as shares of its length: between 4 and
# 42 %, so that crossing lines at both ends are left out.
_SAMPLE_OFFSETS = (np.arange(_SAMPLES) + 0.5) / _SAMPLES * 0.38 + 0.04

# Minimum contrast of a single line, as a share of the brightness of its darker flank.
_MIN_CONTRAST = 0.05

# The same for a pair of lines. JPEG compression leaves thin pairs less contrast than .05. Measured:
# .03 finds 97 % of the pairs instead of 94 %, with hardly any more in wrong positions. Single lines
# keep .05, as .03 finds no more of them.
_MIN_PAIR_CONTRAST = 0.03

# Minimum contrast of any line, in levels of 255.
_MIN_CONTRAST_LEVELS = 3.5

# A line is ambiguous if a rival, which is another line in its search range, has more than this
# share of its contrast.
_MAX_RIVAL = 0.75

# Minimum distance of a rival. Contrast nearer than this belongs to the same line.
_MIN_RIVAL_PX = 3.0

# Maximum search range, as a share of the distance to the same line of the next square. At half of
# it, either line may be meant.
_MAX_REACH_SHARE = 0.45

# Minimum distance of a line from the end of its search range, as it may continue beyond.
_END_MARGIN_PX = 0.25


def _sample_profiles(
    luma: Luma, middles_px: Points, directions: Points, offsets_px: NDArray[np.floating]
) -> Luma:
    """Return (N, K): interpolated brightness of a (height, width) picture along short profiles.

    Each profile runs through one of the `middles_px` (N, 2) in its direction (N, 2), a unit vector.
    It is sampled at K `offsets_px` from there.
    """
    # (K, N) each, x and y by themselves: numpy takes seven times as long for both at once.
    x = (middles_px[:, 0] + offsets_px[:, None] * directions[:, 0]).astype(np.float32, copy=False)
    y = (middles_px[:, 1] + offsets_px[:, None] * directions[:, 1]).astype(np.float32, copy=False)
    tones = cv2.remap(luma, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    return np.ascontiguousarray(tones.T, np.uint8)


@dataclass(frozen=True, eq=False)
class LineMeasurements:
    """Measurements of (N,) half sides of squares in one picture."""

    is_inside: NDArray[np.bool_]
    """(N,): whether each half side is inside the picture, and large enough there to be seen."""
    is_found: NDArray[np.bool_]
    """(N,): whether each line was found unambiguously."""
    offsets_px: Floats
    """(N,): offset of each line from the predicted middle, along `normals`. Only valid if found."""
    predicted_px: Points
    """(N, 2): the predicted middles."""
    normals: Points
    """(N, 2): unit vectors across the lines, towards growing board coordinates."""

    @property
    def measured_px(self) -> Points:
        """(N, 2): the measured middles."""
        return self.predicted_px + self.offsets_px[:, None] * self.normals


class _Side(NamedTuple):
    """One side of a square, possibly shared with the next square."""

    # (2,): middle of the side. If there is a gap between two squares, it is in the gap.
    middle_mm: Points
    # The board axis across the side: 0 (x) if the side runs from South to North, 1 (y) if it runs
    # from West to East.
    across_axis: int
    # Half the distance between the two lines of a pair, or 0 for a single line.
    half_pair_mm: float
    # Indices of the squares on both sides of it, or of the only one.
    squares: list[int]


def _printed_sides(board: Board, squares: tuple[Square, ...]) -> list[_Side]:
    """Return all sides of these squares on which a line is printed, each of them once."""
    sides: dict[tuple[int, int, int], _Side] = {}
    pitch = np.array([board.pitch_mm, board.rank_pitch_mm])

    # The *cell* of a square reaches to the middle of the gaps around it. An outermost line has this
    # distance from the edge of its cell.
    inset_mm = (board.gap_mm + (LINE_MM if board.gap_mm else FRAME_MM)) / 2
    # Between two squares with a gap, each has its own line, at this distance from the edge between
    # their cells. Squares without a gap share one line, which is on that edge.
    half_pair_mm = inset_mm if board.gap_mm else 0.0
    for index, square in enumerate(squares):
        # Left, right, lower and upper side: the axis across it, and the direction from the centre.
        for axis, sign in ((0, -1), (0, 1), (1, -1), (1, 1)):
            # Count in half squares along the axis, so that both neighbours give a side the same
            # key.
            key = (axis, 2 * square[axis] + sign, square[1 - axis])
            outwards = sign * np.eye(2, dtype=int)[axis]
            beyond = square.shifted(*outwards.tolist())
            if key in sides:
                sides[key].squares.append(index)
            elif beyond not in board.holes or board.gap_mm:
                # A board without gaps prints no line between a square and a hole, which is a wall.
                # With gaps, each square has its own frame, also beside a hole.
                is_inner = beyond in squares
                edge = pitch / 2 - (0.0 if is_inner else inset_mm)
                middle = np.array(board.centre_mm(square)) + outwards * edge
                sides[key] = _Side(middle, axis, half_pair_mm if is_inner else 0.0, [index])
    return list(sides.values())


class PrintedLines:
    """Where lines are printed on a board: all (N,) half sides of its squares that have one.

    The two halves of a side have indices 2 i and 2 i + 1. `printed_lines_of` makes one for each
    board.
    """

    def __init__(self, board: Board) -> None:
        self.squares = tuple(square for square in board.squares if square not in board.holes)
        """All squares on which pieces can be."""
        sides = _printed_sides(board, self.squares)
        pitch = np.array([board.pitch_mm, board.rank_pitch_mm])
        axes = np.repeat([side.across_axis for side in sides], 2)
        samples_mm = []

        # Incidence matrix (squares, half sides): 1 where a half side borders a square.
        self._borders = np.zeros((len(self.squares), len(axes)), np.float32)
        for index, side in enumerate(sides):
            # The vector from one end of the side to the other.
            along_mm = np.eye(2)[1 - side.across_axis] * pitch
            for half, sign in enumerate((-1, 1)):
                offsets_mm = sign * _SAMPLE_OFFSETS[:, None] * along_mm
                samples_mm.append(at_height(side.middle_mm + offsets_mm))
                self._borders[side.squares, 2 * index + half] = 1

        # (N, samples, 3): the sample points of each half side.
        self._samples_mm = np.array(samples_mm)
        self.middles_mm = self._samples_mm.mean(axis=1)
        """(N, 3): middles of the half sides."""
        # (N, 3) each: vectors of one mm across and along the half sides.
        self._across_mm = at_height(np.eye(2)[axes])
        self._along_mm = self._across_mm[:, [1, 0, 2]]

        # (N,): as in `_Side`.
        self._half_pair_mm = np.repeat([side.half_pair_mm for side in sides], 2)
        self.period_mm = pitch[axes]
        """(N,): distance to the same line of the next square, for which it may be mistaken."""
        self.runs_north = axes == 0
        """(N,): whether each half side runs from South to North, otherwise from West to East."""

        files, ranks = np.array(self.squares).T
        # Rank and file of each square, as indices of arrays by ranks and files.
        self._cells = ranks, files
        self.is_square = np.zeros((board.ranks, board.files), bool)
        """(ranks, files): False where the board has a hole."""
        self.is_square[self._cells] = True

    def counts_around(self, chosen: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Return (ranks, files, K): how many chosen lines there are around each square.

        Those are the lines that border the square or one of its eight neighbours. A line that
        borders two of these squares counts twice. Each of the K rows of `chosen` (K, N) is one
        choice among all half sides, which is counted separately.
        """
        # Count by square, and then sum over three by three squares.
        counts = np.zeros((*self.is_square.shape, len(chosen)), np.float32)
        counts[self._cells] = self._borders @ chosen.T.astype(np.float32)
        return np.asarray(
            cv2.boxFilter(counts, -1, (3, 3), normalize=False, borderType=cv2.BORDER_CONSTANT)
        )

    def geometry(self, pose: Pose) -> tuple[Points, Points, Floats]:
        """Return where a pose puts the half sides in the picture.

        These are their middles (N, 2) px, their unit normals (N, 2), and the scale (N,) along the
        normals in px per mm.
        """
        start_mm = self.middles_mm
        points_mm = np.stack([start_mm, start_mm + self._across_mm, start_mm + self._along_mm])
        middles_px, across_end_px, along_end_px = pose.to_px(points_mm).reshape(3, -1, 2)
        # One mm across the line, and one along it, in the picture.
        across_px = across_end_px - middles_px
        along_px = along_end_px - middles_px
        # A normal is the vector along the line, turned by a right angle, at unit length.
        lengths_px = np.linalg.norm(along_px, axis=1, keepdims=True)
        normals = along_px[:, ::-1] * (1, -1) / np.maximum(lengths_px, 1e-9)
        scale = (normals * across_px).sum(axis=1)
        # Normals point in the direction of growing board coordinates.
        normals *= np.where(scale < 0, -1.0, 1.0)[:, None]
        return middles_px, normals, np.abs(scale)

    def measure(self, luma: Luma, pose: Pose, reach_px: Floats) -> LineMeasurements:
        """Measure all lines in a picture, each at most `reach_px` (N,) from where it is predicted.

        A line with a reach of NaN is not searched, and counts as not found.
        """
        middles_px, normals, scale = self.geometry(pose)
        samples_px = pose.to_px(self._samples_mm).reshape(-1, _SAMPLES, 2)
        last = np.array(pose.size) - 2
        is_inside = ((samples_px >= 1) & (samples_px <= last)).all(axis=(1, 2))
        is_inside &= scale > _MIN_PX_PER_MM

        # Limit the range, so that it excludes the same line of the next square.
        farthest_px = np.minimum(_MAX_REACH_SHARE * self.period_mm * scale, _MAX_REACH_PX)
        limited_px = np.minimum(reach_px, farthest_px)
        wanted = np.flatnonzero(is_inside & np.isfinite(limited_px))
        offsets_px = np.zeros(len(middles_px))
        is_found = np.zeros(len(middles_px), bool)
        if len(wanted):
            offsets_px[wanted], is_found[wanted] = _measure_offsets(
                luma,
                samples_px[wanted],
                normals[wanted],
                reach_px=limited_px[wanted],
                scale=scale[wanted],
                half_pair_mm=self._half_pair_mm[wanted],
            )
        return LineMeasurements(
            is_inside=is_inside,
            is_found=is_found,
            offsets_px=offsets_px,
            predicted_px=middles_px,
            normals=normals,
        )


def _measure_offsets(
    luma: Luma,
    samples_px: Points,
    normals: Points,
    *,
    reach_px: Floats,
    scale: Floats,
    half_pair_mm: Floats,
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the offset (N,) of each line along its normal in px, and whether (N,) it was found.

    A line is found if it is unambiguous. `samples_px` (N, samples, 2) are the predicted sample
    points, `normals` (N, 2) the unit vectors across the lines, and `reach_px` (N,) the search range
    to either side. `scale` (N,) is that of the picture across the lines, in px per mm, and
    `half_pair_mm` (N,) half the distance between the lines of a pair, or 0 for a single line.
    """
    # A line is compared with the paper at this distance on both sides of it.
    flank_px = np.maximum(_MIN_FLANK_PX, 0.5 * _LINE_WIDTH_MM * scale + _BLUR_PX)
    half_pair_px = half_pair_mm * scale

    # The profile must reach past the search range by a flank and by half a pair.
    half_length_px = float(reach_px.max() + flank_px.max() + half_pair_px.max()) + 1
    steps = int(np.ceil(half_length_px / _STEP_PX))
    offsets_px = np.arange(-steps, steps + 1) * _STEP_PX

    # The mean profile over the sample points of each half side.
    directions = normals.repeat(_SAMPLES, axis=0)
    tones = _sample_profiles(luma, samples_px.reshape(-1, 2), directions, offsets_px)
    by_line = tones.reshape(len(samples_px), _SAMPLES, -1)
    profile = np.add.reduce(by_line, axis=1, dtype=np.uint16) / _SAMPLES

    # A line is darker than both of its flanks. Its contrast is that with the darker one.
    beside = np.minimum(_shift(profile, flank_px), _shift(profile, -flank_px))
    contrast = beside - profile
    if half_pair_px.any():
        # A pair of lines is measured at its middle.
        contrast = (_shift(contrast, half_pair_px) + _shift(contrast, -half_pair_px)) / 2
    contrast = np.where(np.abs(offsets_px) <= reach_px[:, None], contrast, -1.0)
    columns, sub_steps, is_alone = _find_peaks(contrast)
    rows = np.arange(len(contrast))
    min_share = np.where(half_pair_px > 0, _MIN_PAIR_CONTRAST, _MIN_CONTRAST)
    min_contrast = np.maximum(min_share * beside[rows, columns], _MIN_CONTRAST_LEVELS)
    is_clear = contrast[rows, columns] >= min_contrast

    # A maximum at the end of the range may continue beyond it.
    is_within = np.abs(offsets_px[columns]) < reach_px - _END_MARGIN_PX
    return offsets_px[columns] + sub_steps * _STEP_PX, is_alone & is_clear & is_within


def _shift(values: Floats, by_px: Floats) -> Floats:
    """Return (N, K): each value replaced by the one that is `by_px` (N,) farther along its row."""
    # The distance is rounded to a whole step. Beyond the ends of a row, its end value is repeated.
    columns = np.arange(values.shape[1])
    sources = columns + np.rint(by_px / _STEP_PX).astype(int)[:, None]
    return np.take_along_axis(values, sources.clip(0, columns[-1]), axis=1)


def _find_peaks(contrast: Floats) -> tuple[NDArray[np.int_], Floats, NDArray[np.bool_]]:
    """Return the maximum of each row of `contrast` (N, K).

    These are its column (N,), its sub-pixel offset from that in columns (N,), and whether it has no
    rival (N,).
    """
    rows = np.arange(len(contrast))
    columns = np.arange(contrast.shape[1])
    top = contrast.argmax(axis=1)
    peak = contrast[rows, top]
    # The maximum contrast that is not part of the same line.
    is_far = np.abs(columns - top[:, None]) * _STEP_PX > _MIN_RIVAL_PX
    rival = np.where(is_far, contrast, -1.0).max(axis=1)
    # The sub-pixel peak, by a parabola through three columns.
    inner = top.clip(1, len(columns) - 2)
    before = contrast[rows, inner - 1]
    after = contrast[rows, inner + 1]
    curvature = np.minimum(before - 2 * peak + after, -1e-9)
    offset = 0.5 * (before - after) / curvature
    return top, offset.clip(-0.5, 0.5), rival <= _MAX_RIVAL * peak


@lru_cache(maxsize=16)
def printed_lines_of(board: Board) -> PrintedLines:
    """Return the printed lines of a board. They are computed once, and then cached."""
    return PrintedLines(board)


def confirm_squares(
    board: Board,
    lines: LineMeasurements,
    max_offset_px: float,
    corners: Iterable[Square],
    min_share: float,
) -> set[Square]:
    """Return the squares at which the printed lines confirm the pose.

    A line confirms the pose if it is found within `max_offset_px` of where it is predicted. A
    square is good if, in both directions, at least `min_share` of the visible lines around it
    confirm the pose. Good squares that a chain of good squares connects with one of the `corners`
    are confirmed, and so are their neighbours.

    The chain is needed because a pose may be right at its corners and off by a whole square farther
    away, where lines seem to fit again. In between it is off by half a square, and no line fits.
    The neighbours are included because pieces may hide the lines around them. The error of a pose
    changes little from one square to the next, so the pose is right there, too.
    """
    printed = printed_lines_of(board)
    is_near = lines.is_found & (np.abs(lines.offsets_px) <= max_offset_px)

    # A pose that is wrong in one direction still fits the lines along it, so both directions have
    # to match.
    by_direction = np.stack([printed.runs_north, ~printed.runs_north])
    visible = printed.counts_around(by_direction & lines.is_inside)
    confirming = printed.counts_around(by_direction & is_near)
    is_good = ((visible > 0) & (confirming >= min_share * visible)).all(axis=2) & printed.is_square

    # Good squares connected with a corner, and their neighbours. All squares that are not good
    # have the label 0.
    labels = cv2.connectedComponents(is_good.astype(np.uint8))[1]
    starts = {int(labels[corner.rank, corner.file]) for corner in corners} - {0}
    mask = np.isin(labels, list(starts)).astype(np.uint8)
    is_confirmed = (cv2.dilate(mask, np.ones((3, 3), np.uint8)) > 0) & printed.is_square
    return {Square(file, rank) for rank, file in np.argwhere(is_confirmed).tolist()}
