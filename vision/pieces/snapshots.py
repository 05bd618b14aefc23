"""Measures what a picture shows on and around each square of a board, with or without pieces.

1. View the board from straight above. In this view each square has a cell (see `square_cells`).
2. Measure how bright white paper is near the corner markers, and interpolate between them.
3. Divide the view by this brightness, and cut out the cells: their *tones*.
4. Mask what pieces hide, reflections of lamps, and what is burnt out.
5. Measure how much darker the outlines are than the paper on both sides.

The result is a `Snapshot`. A `PaperMemory` holds what is known of the board's paper from earlier
pictures. The limits were chosen by trial on rendered tables with lamps, glare and noise.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import NamedTuple, TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

from companion.core.grid import Square
from companion.core.kit import Board
from vision.detection.markers import Luma
from vision.pieces.square_cells import PARTS_PER_SIDE, Mask, SquareCells, cells_of
from vision.pose.pose import Floats, Points, Pose, TopView

_Kind = TypeVar("_Kind", bound=np.generic)

# Brightness relative to white paper, which is 1, or a difference of it.
Tone = NDArray[np.float32]

# Minimum depth of a line: how much darker than its surroundings it is, relative to white paper.
# Noise alone is less deep.
MIN_LINE_DEPTH = 0.05

# Minimum share of the visible parts of outlines that have to show a line. It is low, because half
# of a board may lie in glare, which hides lines.
_MIN_PARTS_WITH_LINE = 0.1

# Minimum visible share of a part of an outline. Parts with less are not judged.
_MIN_VISIBLE = 0.6

# Minimum brightness of a reflection, relative to a cell's paper.
_MIN_GLINT = 1.35

# Maximum share of a cell that is a reflection. A larger one is the light of the room, or hides too
# much to be ignored.
_MAX_GLINT_SHARE = 0.25

# Minimum brightness of glare, of 255.
_MIN_BURNT = 252

# Maximum brightness of paper in which glare counts, of 255. Brighter paper burns out by itself.
_MAX_GLARE_PAPER = 242

# Minimum brightness that is assumed for paper, of 255.
_MIN_PAPER = 20.0

# A pixel and its neighbours.
_AROUND = np.ones((3, 3), np.uint8)

# Unit of length in mm for the slope of the paper's brightness.
_UNIT_MM = 100.0

# Width in mm of the white around a corner marker that is measured with it.
_QUIET_ZONE_MM = 1.5

# Quantile of brightness that counts as paper around a corner marker.
_WHITE_QUANTILE = 0.92

# The same over a whole view.
_BOARD_WHITE_QUANTILE = 0.9

# Limits of the paper's brightness, relative to the darkest and the brightest corner. Far from the
# corners, the plane through their brightness may reach impossible values.
_WHITE_LIMITS = 0.5, 1.3

# Lower bound of a tone used as divisor.
_MIN_TONE = 0.05

# Quantile of a part's profile that is the paper beside its line.
_BESIDE_LINE_QUANTILE = 0.8


@dataclass(frozen=True, eq=False)
class Snapshot:
    """What one picture shows of (N,) squares, by their cells, see `SquareCells`."""

    row_of: Mapping[Square, int]
    """The row of each square, which is its index in the arrays."""
    tones: Tone
    """(N, side, side): brightness relative to white paper."""
    visible: Mask
    """(N, side, side): False where a piece stands in front, outside the picture, or where glare
    hides the print.
    """
    burnt_share: NDArray[np.float64]
    """(N,): the share of a cell that is burnt out."""
    line_depths: Tone
    """(N, 12): how much darker the outlines' parts are than the paper on both sides, relative to
    white paper. NaN where one is not visible.
    """
    line_tones: Tone
    """(N, 12): the brightness of the paper along these parts. NaN where one is not visible."""
    expected_depths: Tone
    """(12,): the expected depth of each part of an outline, measured in the last picture of the
    whole board. 0 if no outline could be made out.
    """
    expected_shares: Tone
    """(12,): the same, relative to the brightness of the paper next to each part."""

    @property
    def has_outlines(self) -> bool:
        """Whether outlines could be made out in the last picture of the whole board."""
        return bool(self.expected_depths.any())


class PaperView(NamedTuple):
    """A view of a board with the strip around it from straight above. It is kept for its pose."""

    pose: Pose
    """The pose for which it was computed."""
    top_view: TopView
    """Where the view's pixels are in the picture."""
    is_in_picture: Mask
    """(h, w): which pixels of the view are inside the picture."""


def _no_depths() -> Tone:
    return np.zeros(4 * PARTS_PER_SIDE, np.float32)


@dataclass(frozen=True, eq=False)
class PaperMemory:
    """What earlier pictures say about a board: brightness of its paper, depth of its outlines.

    Each board has its own.
    """

    board: Board
    """The board of these squares."""
    corner_whites: Mapping[int, float] = field(default_factory=dict)
    """Brightness of the paper around each corner marker, of 255, by its id."""
    white_plane: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Brightness of paper in the middle of the board, and its slopes to the right and up for each
    `_UNIT_MM`.
    """
    white_limits: tuple[float, float] = (_MIN_PAPER, 255.0)
    """Minimum and maximum brightness of paper, to which the plane is clipped."""
    expected_depths: Tone = field(default_factory=_no_depths)
    """(12,): as in `Snapshot`."""
    expected_shares: Tone = field(default_factory=_no_depths)
    """(12,): as in `Snapshot`."""
    view: PaperView | None = None
    """The view of the board for the last pose. None before the first snapshot."""


def take_snapshot(
    paper: PaperMemory,
    luma: Luma,
    pose: Pose,
    corners: Iterable[int],
    hulls_mm: Points,
    *,
    squares: Collection[Square] | None,
) -> tuple[Snapshot, PaperMemory]:
    """Return a snapshot of these squares of a (height, width) picture, and the updated memory.

    If `squares` is None, the snapshot is of all squares. Only then are the brightness of the paper
    and the expected depth of the outlines measured anew. `corners` are ids of the corner markers
    that were read in this picture. `hulls_mm` (N, K, 2) mm are K points on the board for each
    piece, whose convex hull that piece hides.
    """
    # The cells of the requested squares.
    cells = cells_of(paper.board)
    chosen = cells.board.squares if squares is None else tuple(squares)
    indices = list(map(cells.index_of.__getitem__, chosen))
    paper = _with_view(paper, cells, pose)
    assert paper.view is not None
    _, top_view, visible = paper.view
    # Rows and columns of their upper left pixels in the view.
    origins = cells.origins[indices]
    if squares is not None:
        # For a few squares a part of the view is enough.
        top_view, visible, origins = _crop_around(cells, top_view, visible, origins)
    view = top_view.rectify(luma)
    if squares is None:
        paper = _with_paper_brightness(paper, cells, view, corners, top_view)
    white = _paper_brightness_over(paper, top_view)
    visible = visible & ~_occlusion_mask(cells, top_view, hulls_mm)

    # Brightness relative to paper, and the pixels that say something.
    relative = np.asarray(cv2.divide(view, white, dtype=cv2.CV_32F), np.float32)
    tones = _cut_cells(cells, relative, origins)
    glints = _find_glints(cells, tones)
    visible_in_cells = _cut_cells(cells, visible, origins) & ~glints
    is_burnt = (view >= _MIN_BURNT) & (white < _MAX_GLARE_PAPER)
    burnt = _cut_cells(cells, is_burnt, origins) & ~glints

    # The outlines.
    is_lineless = cells.lineless_parts[indices]
    line_depths, line_tones = measure_outlines(cells, tones, visible_in_cells, is_lineless)
    if squares is None:
        paper = _with_outlines(paper, line_depths, line_tones)
    snapshot = Snapshot(
        row_of=dict(zip(chosen, count())),
        tones=tones,
        visible=visible_in_cells,
        burnt_share=burnt.mean(axis=(1, 2)),
        line_depths=line_depths,
        line_tones=line_tones,
        expected_depths=paper.expected_depths,
        expected_shares=paper.expected_shares,
    )
    return snapshot, paper


def _with_view(paper: PaperMemory, cells: SquareCells, pose: Pose) -> PaperMemory:
    """Return the memory with its view for this pose, which is computed once."""
    if paper.view is not None and paper.view.pose is pose:
        return paper
    board = cells.board
    # The strips are part of the view, as corner markers are there.
    margin_mm = cells.strip_px / cells.scale + board.gap_mm / 2
    top_right_mm = board.width_mm + margin_mm, board.height_mm + margin_mm
    top_view = pose.top_view((-margin_mm, -margin_mm), top_right_mm, 0.0, cells.scale)
    return replace(paper, view=PaperView(pose, top_view, top_view.pixels_in_picture(pose.size)))


def _crop_around(
    cells: SquareCells, top_view: TopView, visible: Mask, origins: NDArray[np.int_]
) -> tuple[TopView, Mask, NDArray[np.int_]]:
    """Return the part of a view that contains some cells, its visible pixels, and its origins.

    `origins` (N, 2) are row and column of the upper left pixel of each cell, in the view and in the
    returned part of it.
    """
    # Row and column of the first pixel, and of the one after the last.
    top, left = origins.min(axis=0).tolist()
    bottom, right = (origins.max(axis=0) + cells.side_px).tolist()
    part = slice(top, bottom), slice(left, right)
    return top_view.crop(*part), visible[part], origins - (top, left)


def _occlusion_mask(cells: SquareCells, top_view: TopView, hulls_mm: Points) -> Mask:
    """Return (h, w): which pixels of a view pieces hide, with a margin.

    `hulls_mm` (N, K, 2) mm are points on the board. Pieces hide their convex hulls.
    """
    hidden = np.zeros(top_view.source_px.shape[:2], np.uint8)
    for points_mm in hulls_mm:
        hull = cv2.convexHull(top_view.to_view(points_mm).round().astype(np.int32))
        cv2.fillConvexPoly(hidden, hull, 1)
    return cv2.dilate(hidden, _AROUND, iterations=cells.occlusion_margin_px).view(np.bool_)


def _cut_cells(
    cells: SquareCells, layer: NDArray[_Kind], origins: NDArray[np.int_]
) -> NDArray[_Kind]:
    """Return (N, side, side): the cells of a view (h, w) with these `origins` (N, 2)."""
    windows = np.lib.stride_tricks.sliding_window_view(layer, (cells.side_px, cells.side_px))
    return windows[origins[:, 0], origins[:, 1]]


def _find_glints(cells: SquareCells, tones: Tone) -> Mask:
    """Return (N, side, side): which pixels show reflections of a lamp.

    Such pixels are few and much brighter than the cell's paper. Nothing that lies on a square is so
    bright. As reflections are small, most of a piece's marker would remain visible beside them.
    """
    glints = np.zeros(tones.shape, bool)
    for index in np.flatnonzero(tones.max(axis=(1, 2), initial=0) > _MIN_GLINT):
        # Much brighter than the median of the cell.
        tone = tones[index]
        bright = (tone > _MIN_GLINT * max(1.0, np.median(tone))).view(np.uint8)
        glint = cv2.dilate(bright, _AROUND, iterations=cells.occlusion_margin_px).view(np.bool_)
        if glint.mean() <= _MAX_GLINT_SHARE:
            glints[index] = glint
    return glints


# ---- brightness of paper -------------------------------------------------------------------------


def _with_paper_brightness(
    paper: PaperMemory, cells: SquareCells, view: Luma, corners: Iterable[int], top_view: TopView
) -> PaperMemory:
    """Return the memory with the brightness of paper from a view (h, w).

    `corners` are ids of the visible corner markers. A hidden marker keeps the brightness that was
    last measured there.
    """
    board = paper.board
    whites = dict(paper.corner_whites)

    # A corner marker and the white around it.
    half = (board.corner_mm / 2 + _QUIET_ZONE_MM) * cells.scale
    for marker in corners:
        centre = top_view.to_view(np.array([board.corner_centres_mm[marker]]))[0]
        left, top = (centre - half).round().astype(int).clip(0)
        right, bottom = (centre + half).round().astype(int)
        patch = view[top:bottom, left:right]
        if patch.size:
            whites[marker] = max(_MIN_PAPER, float(np.quantile(patch, _WHITE_QUANTILE)))
    levels = np.array(list(whites.values()))
    if len(levels) < 3:
        # Too few for a plane: assume the same brightness everywhere.
        level = (
            float(levels.mean()) if levels.size else float(np.quantile(view, _BOARD_WHITE_QUANTILE))
        )
        level = max(level, _MIN_PAPER)
        return replace(
            paper, corner_whites=whites, white_plane=(level, 0.0, 0.0), white_limits=(level, level)
        )
    centres_mm = np.array([board.corner_centres_mm[marker] for marker in whites])
    offsets = (centres_mm - (board.width_mm / 2, board.height_mm / 2)) / _UNIT_MM

    # Fit a plane to the levels at the corners, by least squares.
    model = np.column_stack([np.ones(len(levels)), offsets])
    plane = tuple(np.linalg.lstsq(model, levels, rcond=None)[0].tolist())
    low, high = _WHITE_LIMITS
    limits = low * float(levels.min()), high * float(levels.max())
    return replace(paper, corner_whites=whites, white_plane=plane, white_limits=limits)


def _paper_brightness_over(paper: PaperMemory, top_view: TopView) -> Tone:
    """Return (h, w): the brightness of white paper over a view, of 255."""
    height, width = top_view.source_px.shape[:2]
    # Evaluate the plane over the view, clipped to the limits for paper.
    level, right_slope, up_slope = paper.white_plane
    # Offsets in mm from the middle of the board.
    x = top_view.low_mm[0] + (np.arange(width) + 0.5) / top_view.scale - paper.board.width_mm / 2
    y = top_view.high_mm[1] - (np.arange(height) + 0.5) / top_view.scale - paper.board.height_mm / 2
    by_column = (level + right_slope * x / _UNIT_MM).astype(np.float32)
    by_row = (up_slope * y / _UNIT_MM).astype(np.float32)
    return (by_column[None, :] + by_row[:, None]).clip(*paper.white_limits)


# ---- outlines ------------------------------------------------------------------------------------


def _with_outlines(paper: PaperMemory, line_depths: Tone, line_tones: Tone) -> PaperMemory:
    """Return the memory with the typical depth of the outlines (N, 12) of all squares."""
    holes = paper.board.holes
    # Holes have no outline.
    indices = np.flatnonzero([square not in holes for square in paper.board.squares])
    depths = line_depths[indices]
    tones = line_tones[indices]
    shares = _typical_depths(depths / np.maximum(tones, np.float32(_MIN_TONE)))
    return replace(paper, expected_depths=_typical_depths(depths), expected_shares=shares)


def _typical_depths(depths: Tone | Floats) -> Tone:
    """Return (12,): the median depth of the lines for each part of an outline.

    For the parts above and below, this is the median of all horizontal lines. For the parts on the
    left and right, it is that of all vertical lines. `depths` (N, 12) that are too small for a line
    are left out. If hardly any part has a line, the result is 0.
    """
    # Horizontal and vertical lines differ in a picture with motion blur.
    sides = depths.reshape(-1, 4, PARTS_PER_SIDE)
    medians = []
    for parts in (sides[:, ::2], sides[:, 1::2]):
        visible = parts[~np.isnan(parts)]
        lines = visible[visible >= MIN_LINE_DEPTH]
        has_lines = lines.size > _MIN_PARTS_WITH_LINE * visible.size
        medians.append(float(np.median(lines)) if has_lines else 0.0)
    # The order of the sides is top, right, bottom, left.
    return np.repeat(np.array(medians * 2, np.float32), PARTS_PER_SIDE)


def measure_outlines(
    cells: SquareCells, tones: Tone, visible: Mask, is_lineless: Mask
) -> tuple[Tone, Tone]:
    """Return the depths of the outlines of cells, and the brightness of the paper along them.

    Both are (N, 12), for the three parts above, right, below and left. They are NaN for parts that
    are `is_lineless` (N, 12), or of which too little is visible. `tones` and `visible` are (N,
    side, side). A line is darker than what is outside and inside of it.
    """
    # (12, depth, length): indices into a flattened cell, so `bands` are (N, 12, depth, length).
    pixels = cells.outline_pixels
    bands = tones.reshape(len(tones), -1)[:, pixels]
    in_sight = visible.reshape(len(tones), -1)[:, pixels]

    # Mean brightness of each part across the outline, (N, 12, depth), from outside to inside.
    counts = in_sight.sum(axis=3)
    profile = (bands * in_sight).sum(axis=3) / np.maximum(counts, 1)
    is_seen = counts > 0

    # A line is a dip in the profile: the lower of the brightest points on each side, minus the
    # profile.
    brightest = np.where(is_seen, profile, -np.inf)
    outside = np.maximum.accumulate(brightest, axis=2)
    inside = np.maximum.accumulate(brightest[:, :, ::-1], axis=2)[:, :, ::-1]
    drop = np.minimum(outside, inside) - profile
    depths = np.where(is_seen, drop, -np.inf).max(axis=2)
    is_hidden = is_lineless | (counts.sum(axis=2) < _MIN_VISIBLE * pixels[0].size)
    depths[is_hidden] = np.nan
    paper_tones = visible_quantile(profile, is_seen, _BESIDE_LINE_QUANTILE)
    paper_tones[is_hidden] = np.nan
    return depths.astype(np.float32), paper_tones.astype(np.float32)


def visible_quantile(values: Tone, is_visible: Mask, quantile: float) -> Tone:
    """Return a quantile of the visible values (…, K) along the last axis, (…).

    Where nothing is visible, the result is not finite.
    """
    # Visible values sort before the infinite ones.
    ordered = np.sort(np.where(is_visible, values, np.inf), axis=-1)
    # Interpolate linearly between two neighbours.
    position = quantile * np.maximum(is_visible.sum(axis=-1, keepdims=True) - 1, 0)
    lower = np.floor(position).astype(int)
    low = np.take_along_axis(ordered, lower, axis=-1)
    high = np.take_along_axis(ordered, np.ceil(position).astype(int), axis=-1)
    with np.errstate(invalid="ignore"):
        return np.asarray((low + (position - lower) * (high - low))[..., 0])
