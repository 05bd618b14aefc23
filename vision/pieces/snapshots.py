"""What a picture shows on and around each square of a board, whether pieces lie there or not.

A snapshot holds the brightness relative to paper, the visible pixels, and the outlines.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

from companion.core.grid import Square
from companion.core.kit import Board
from vision.detection.markers import Luma
from vision.pieces.square_cells import THIRDS, Mask, Places, SquareCells, cells_of
from vision.pose.pose import Maps, Points, Pose

_Kind = TypeVar("_Kind", bound=np.generic)
Tone = NDArray[np.float32]
"""Brightness relative to the paper next to it: 1 is white paper."""
LINE = 0.05
"""Minimum depth of an outline: how much darker it is than its surroundings."""
_MIN_LINES = 0.1
"""Minimum share of the visible parts of outlines that have to show a line."""
_MIN_SHOWN = 0.6
"""Minimum visible share of a part of an outline. Parts with less are not judged."""
_GLINT, _MAX_GLINT_SHARE = 1.35, 0.25
"""Brightness of a reflection, relative to a cell's paper, and its maximum share of a cell. A larger
one is light, or hides too much.
"""
_BURNT, _WHITE = 252, 242
"""Minimum brightness of glare, of 255, and maximum brightness of paper in which it counts."""
_DARKEST_PAPER = 20.0
"""Minimum brightness that is assumed for paper, of 255."""
_AROUND = np.ones((3, 3), np.uint8)
"""A pixel and its neighbours."""
_UNIT_MM = 100.0
"""Unit of length in mm for the slope of the paper's brightness."""


@dataclass(frozen=True, eq=False)
class Snapshot:
    """What one picture shows of (N,) squares, by their cells, see `SquareCells`."""

    row: Mapping[Square, int]
    """The row of each square in the arrays."""
    tones: Tone
    """(N, side, side): brightness relative to paper."""
    visible: Mask
    """(N, side, side): False where a piece stands in front, outside the picture, or where glare
    hides the print.
    """
    glare: NDArray[np.float64]
    """(N,): the share of a cell that is burnt out."""
    lines: Tone
    """(N, 12): the depths of the outlines' parts. NaN where one is not visible."""
    shade: Tone
    """(N, 12): the brightness along these parts. NaN where one is not visible."""
    line_depth: Tone
    """(12,): the expected depth of each part of an outline in this picture. 0 if no outline can be
    made out.
    """
    line_share: Tone
    """(12,): the same, relative to the brightness of the paper next to each part."""


@dataclass(frozen=True, eq=False)
class Sheet:
    """Brightness of one board's paper and depth of its outlines, as learned from its pictures so
    far.
    """

    board: Board
    """The board of these squares."""
    whites: Mapping[int, float] = field(default_factory=dict)
    """Brightness of the paper around each corner marker."""
    plane: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Brightness of paper in the middle of the board, and its slopes to the right and up."""
    levels: tuple[float, float] = (_DARKEST_PAPER, 255.0)
    """Minimum and maximum brightness of paper."""
    line_depth: Tone = field(default_factory=lambda: np.zeros(4 * THIRDS, np.float32))
    line_share: Tone = field(default_factory=lambda: np.zeros(4 * THIRDS, np.float32))
    """Both as in `Snapshot`."""
    view: tuple[Pose, Maps, Mask] | None = None
    """All cells and a strip around them from straight above for a pose, and which pixels of that
    are inside the picture.
    """


def take_snapshot(
    sheet: Sheet,
    luma: Luma,
    pose: Pose,
    corners: Iterable[int],
    bodies: Points,
    *,
    squares: Collection[Square] | None,
) -> tuple[Snapshot, Sheet]:
    """Take a snapshot of these squares of a (height, width) picture. None means all squares.

    `corners` are the corner markers read in this picture. `bodies` (N, K, 2) mm are outlines of
    what pieces hide of the board. The brightness of the paper and the depth of the outlines are
    measured only in a snapshot of all squares.
    """
    # The cells of the requested squares.
    cells = cells_of(sheet.board)
    chosen = cells.board.squares if squares is None else tuple(squares)
    numbers = list(map(cells.number.__getitem__, chosen))
    sheet = _with_view(sheet, cells, pose)
    assert sheet.view is not None
    _, maps, visible = sheet.view
    places = cells.corners[numbers]
    if squares is not None and chosen:
        # For a few squares a part of the view is enough.
        maps, visible, places = _part_around(cells, maps, visible, places)
    view = maps.rectify(luma)
    if squares is None:
        sheet = _with_paper(sheet, cells, view, corners, maps)
    white = _paper_over(sheet, maps)
    visible = visible & ~_occlusion(cells, maps, bodies)

    # Brightness relative to paper.
    bright = np.asarray(cv2.divide(view, white, dtype=cv2.CV_32F), np.float32)
    tones = _cells_in(cells, bright, places)
    glints = _glints(cells, tones)
    seen = _cells_in(cells, visible, places) & ~glints
    is_burnt = (view >= _BURNT) & (white < _WHITE)
    burnt = _cells_in(cells, is_burnt, places) & ~glints
    lines, shades = outlines(cells, tones, seen, cells.walled[numbers])
    if squares is None:
        sheet = _with_lines(sheet, lines, shades)
    row = dict(zip(chosen, count()))
    shown = tones, seen, burnt.mean(axis=(1, 2)), lines, shades
    return Snapshot(row, *shown, sheet.line_depth, sheet.line_share), sheet


def _with_view(sheet: Sheet, cells: SquareCells, pose: Pose) -> Sheet:
    """Return the sheet with its view for this pose, which is computed once."""
    if sheet.view is not None and sheet.view[0] is pose:
        return sheet
    board = cells.board
    # The strips are part of the view, as corner markers are there.
    room = cells.strip / cells.scale + board.gap_mm / 2
    high = board.width_mm + room, board.height_mm + room
    maps = pose.plane_maps((-room, -room), high, 0.0, cells.scale)
    return replace(sheet, view=(pose, maps, maps.shown(pose.size)))


def _part_around(
    cells: SquareCells, maps: Maps, visible: Mask, places: Places
) -> tuple[Maps, Mask, Places]:
    """Return the part of a view that contains the cells at these `places` (N, 2), and their places
    in it.
    """
    # Row and column of the first pixel, and of the one after the last.
    top, left = places.min(axis=0).tolist()
    bottom, right = (places.max(axis=0) + cells.side).tolist()
    part = slice(top, bottom), slice(left, right)
    return maps.part(*part), visible[part], places - (top, left)


def _occlusion(cells: SquareCells, maps: Maps, bodies: Points) -> Mask:
    """Return (h, w): which pixels of a view pieces hide, with a margin."""
    hidden = np.zeros(maps.pixels.shape[:2], np.uint8)
    for body in bodies:
        # The convex hull of the foot and of what lies behind the top.
        hull = cv2.convexHull(maps.to_view(body).round().astype(np.int32))
        cv2.fillConvexPoly(hidden, hull, 1)
    return cv2.dilate(hidden, _AROUND, iterations=cells.rim).view(np.bool_)


def _cells_in(
    cells: SquareCells, layer: NDArray[_Kind], places: NDArray[np.int_]
) -> NDArray[_Kind]:
    """Return (N, side, side): the cells of a view whose upper left pixels are at `places` (N,
    2).
    """
    windows = np.lib.stride_tricks.sliding_window_view(layer, (cells.side, cells.side))
    return windows[places[:, 0], places[:, 1]]


def _glints(cells: SquareCells, tones: Tone) -> Mask:
    """Return (N, side, side): which pixels show reflections of a lamp, which are few and much
    brighter than the cell's paper.

    Nothing that lies on a square is so bright. Reflections leave most of a piece's marker visible.
    """
    glints = np.zeros(tones.shape, bool)
    for number in np.flatnonzero(tones.max(axis=(1, 2), initial=0) > _GLINT):
        # Much brighter than the median of the cell.
        tone = tones[number]
        bright = (tone > _GLINT * max(1.0, np.median(tone))).view(np.uint8)
        wide = cv2.dilate(bright, _AROUND, iterations=cells.rim).view(np.bool_)
        if wide.mean() <= _MAX_GLINT_SHARE:
            glints[number] = wide
    return glints


# ---- how bright paper is -------------------------------------------------------------------------


def _with_paper(
    sheet: Sheet, cells: SquareCells, view: Luma, corners: Iterable[int], maps: Maps
) -> Sheet:
    """Update the brightness of paper from a view. Corners that are hidden keep their last value."""
    board, whites = sheet.board, dict(sheet.whites)

    # A corner marker and the white around it.
    half = (board.corner_mm / 2 + 1.5) * cells.scale
    for marker in corners:
        centre = maps.to_view(np.array([board.corner_centres_mm[marker]]))[0]
        left, top = (centre - half).round().astype(int).clip(0)
        right, bottom = (centre + half).round().astype(int)
        patch = view[top:bottom, left:right]
        if patch.size:
            whites[marker] = max(_DARKEST_PAPER, float(np.quantile(patch, 0.92)))
    levels = np.array(list(whites.values()))
    if len(levels) < 3:
        # Too few for a plane: assume the same brightness everywhere.
        level = float(levels.mean()) if levels.size else float(np.quantile(view, 0.9))
        level = max(level, _DARKEST_PAPER)
        return replace(sheet, whites=whites, plane=(level, 0.0, 0.0), levels=(level, level))
    places = np.array([board.corner_centres_mm[marker] for marker in whites])
    offsets = (places - (board.width_mm / 2, board.height_mm / 2)) / _UNIT_MM

    # Fit a plane through the levels at the corners by least squares.
    model = np.column_stack([np.ones(len(levels)), offsets])
    plane = tuple(np.linalg.lstsq(model, levels, rcond=None)[0].tolist())
    bounds = 0.5 * float(levels.min()), 1.3 * float(levels.max())
    return replace(sheet, whites=whites, plane=plane, levels=bounds)


def _paper_over(sheet: Sheet, maps: Maps) -> Tone:
    """Return (h, w): the brightness of paper over a view."""
    height, width = maps.pixels.shape[:2]
    # Evaluate the plane over the view, clipped to the limits for paper.
    level, right, up = sheet.plane
    # Offsets in mm from the middle of the board.
    x = maps.low_mm[0] + (np.arange(width) + 0.5) / maps.scale - sheet.board.width_mm / 2
    y = maps.high_mm[1] - (np.arange(height) + 0.5) / maps.scale - sheet.board.height_mm / 2
    along = (level + right * x / _UNIT_MM).astype(np.float32)
    across = (up * y / _UNIT_MM).astype(np.float32)
    return (along[None, :] + across[:, None]).clip(*sheet.levels)


# ---- outlines ------------------------------------------------------------------------------------


def _with_lines(sheet: Sheet, lines: Tone, shades: Tone) -> Sheet:
    """Store the typical depth of the outlines in a picture of all squares."""
    holes = sheet.board.holes
    # Holes have no outline.
    is_free = np.flatnonzero([square not in holes for square in sheet.board.squares])
    lines, shades = lines[is_free], shades[is_free]
    share = _typical(lines / np.maximum(shades, np.float32(0.05)))
    return replace(sheet, line_depth=_typical(lines), line_share=share)


def _typical(depths: Tone | Points) -> Tone:
    """Return (12,): the median depth of horizontal lines for the parts above and below, and of
    vertical lines for left and right.

    Parts without a line are left out. If hardly any part has a line, the depth is 0. Half of a
    board may lie in glare.
    """
    # Horizontal and vertical lines differ in a picture with motion blur.
    sides = depths.reshape(-1, 4, THIRDS)
    both = []
    for part in (sides[:, ::2], sides[:, 1::2]):
        known = part[~np.isnan(part)]
        lines = known[known >= LINE]
        both.append(float(np.median(lines)) if lines.size > _MIN_LINES * known.size else 0.0)
    if max(both) < LINE:
        both = [0.0, 0.0]
    return np.repeat(np.array(both * 2, np.float32), THIRDS)


def outlines(cells: SquareCells, tones: Tone, visible: Mask, walled: Mask) -> tuple[Tone, Tone]:
    """Return (N, 12) twice: depths of the outlines of cells (N, side, side), and brightness along
    them.

    The parts are those above, right, below and left, three each. NaN where one is `walled` (N, 12)
    or too little of it is visible. A line is darker than what is before and behind it.
    """
    places = cells.outline
    bands = tones.reshape(len(tones), -1)[:, places]
    seen = visible.reshape(len(tones), -1)[:, places]

    # Mean brightness of each part, (N, 12, depth), from outside to inside.
    number = seen.sum(axis=3)
    profile = (bands * seen).sum(axis=3) / np.maximum(number, 1)
    is_seen = number > 0

    # The maximum on either side of each depth.
    brightest = np.where(is_seen, profile, -np.inf)
    before = np.maximum.accumulate(brightest, axis=2)
    after = np.maximum.accumulate(brightest[:, :, ::-1], axis=2)[:, :, ::-1]
    below = np.minimum(before, after) - profile
    depths = np.where(is_seen, below, -np.inf).max(axis=2)
    is_hidden = walled | (number.sum(axis=2) < _MIN_SHOWN * places[0].size)
    depths[is_hidden] = np.nan
    shade = high_values(profile, is_seen, 0.8)
    shade[is_hidden] = np.nan
    return depths.astype(np.float32), shade.astype(np.float32)


def high_values(values: Tone, is_seen: Mask, share: float) -> Tone:
    """Return the quantile `share` of the visible values along the last axis."""
    # Visible values sort before the infinite ones.
    ordered = np.sort(np.where(is_seen, values, np.inf), axis=-1)
    # Interpolate linearly between two neighbours.
    place = share * np.maximum(is_seen.sum(axis=-1, keepdims=True) - 1, 0)
    below = np.floor(place).astype(int)
    low = np.take_along_axis(ordered, below, axis=-1)
    high = np.take_along_axis(ordered, np.ceil(place).astype(int), axis=-1)
    with np.errstate(invalid="ignore"):  # infinite where nothing is visible
        return np.asarray((low + (place - below) * (high - low))[..., 0])
