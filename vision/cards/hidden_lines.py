"""Print of a board of cards that must be seen and is not: what lies on it was not read.

All print of a card may be hidden and still not that it is there: the lines round the zones end below it, and so do the
board's corner markers. How dark a line is in this light and this focus, the lines themselves tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import cv2
import numpy as np
from numpy.typing import NDArray

from companion.core.kit import Board
from vision.cards.card_view import PAPER, CardView
from vision.cards.fans import Lying
from vision.detection.markers import Luma, marker_modules
from vision.order_statistics import quantiles
from vision.pose.pose import Maps, Points, square_corners_mm

_OFF_MM, _PAPER_MM = 1.6, 4.0
"""A line lies so near to where the pose puts it, at most, and its paper is seen within that."""
_STEP_MM = 0.4
_ACROSS = np.arange(-_PAPER_MM, _PAPER_MM + _STEP_MM / 2, _STEP_MM).astype(np.float32)
_IS_LINE = np.abs(_ACROSS) <= _OFF_MM
_NEED = np.flatnonzero(np.abs(_ACROSS) < _OFF_MM + 2 * _STEP_MM)[[0, -1]]
"""So much of that the picture must show."""
_SMOOTH = 5
"""Over so many millimetres along a line its brightness is averaged: noise and gaps of worn print go."""
_LEAST_MM = 7
"""So much of a line must be gone."""
_GONE = 0.3
"""What is paler than this share of what lines are like in this picture is none."""
_USUAL = 0.7
_LEAST_DEPTH = 14.0
"""Lines that are paler than this, of 200 grey levels, tell nothing."""
_BESIDE_MM = 1.5
"""So far round cards that are known lines are not asked for, ..."""
_CROSSING_MM = 4.0
"""... nor so near to where they cross."""
_BLUR_MM = 0.8
"""So near to where a corner marker changes from black to white nothing is asked."""
_BRIGHT, _DARK = 0.6, 0.45
"""Its black is never brighter, its white never darker, by paper: ..."""
_OFF_MM2 = 2.0
"""... so much of it that is lies under something."""


@dataclass(frozen=True, eq=False)
class _Outlines:
    """The sides of all zones in a view: `places` (N, 2) mm, one a millimetre, and the number of each one's side (N,);
    `across` (K, N, 2) px of the view across them; `ends` (2N, 2) px of what the picture must show of that; `cells`
    (N, 2): the places in whole millimetres of the view."""

    places: Points
    sides: NDArray[np.int64]
    across: NDArray[np.float32]
    ends: NDArray[np.int_]
    cells: NDArray[np.int_]


@lru_cache(maxsize=4)
def _outlines(board: Board, low_mm: tuple[float, float], high_mm: tuple[float, float], scale: float) -> _Outlines:
    places, ways, sides = list[Points](), list[Points](), list[NDArray[np.int64]]()
    half = np.array([board.square_mm, board.depth_mm]) / 2
    for square in board.squares:
        for axis, sign in ((0, -1), (0, 1), (1, -1), (1, 1)):
            way, along = np.eye(2)[axis], np.eye(2)[1 - axis]
            length = 2 * half[1 - axis] - 2 * _CROSSING_MM
            steps = np.arange(round(length)) - length / 2
            places.append(board.centre_mm(square) + sign * half * way + steps[:, None] * along)
            ways.append(np.tile(way, (len(steps), 1)))
            sides.append(np.full(len(steps), len(sides)))
    every = np.vstack(places)
    at = Maps(np.empty((0, 0, 2), np.float32), low_mm, high_mm, 0.0, scale).to_view(every)
    across = (at + _ACROSS[:, None, None] * (np.vstack(ways) * scale * (1.0, -1.0))).astype(np.float32)
    ends = across[_NEED].swapaxes(0, 1).reshape(-1, 2).round().astype(int)
    return _Outlines(every, np.concatenate(sides), across, ends, _cells(every, low_mm))


@dataclass(frozen=True, eq=False)
class SeenLines:
    """What of the board's own print must be seen: (N, 2) mm each, the parts that are `hidden`, by what is not read, and
    (M, 2) mm of the zones' outlines that are `seen`, one place a millimetre."""

    hidden: tuple[Points, ...]
    seen: Points


def seen_lines(view: CardView, board: Board, cards: Sequence[Lying]) -> SeenLines:
    """Which of the zones' outlines and of the board's corner markers are seen where no known card lies."""
    maps = view.maps
    lines, taken = _outlines(board, maps.low_mm, maps.high_mm, maps.scale), _taken(view, cards)
    grey = cv2.remap(view.even, lines.across, None, cv2.INTER_LINEAR, borderValue=0)  # type: ignore[call-overload]  # stubs deny None
    grey = cv2.boxFilter(grey, cv2.CV_32F, (_SMOOTH, 1))
    depth = grey.max(axis=0) - grey[_IS_LINE].min(axis=0)
    asked = _is_free(lines.cells, taken) & _is_shown(lines.ends, view).reshape(-1, 2).all(axis=1)
    hidden = tuple(_hidden_corners(view, board, taken))
    usual = quantiles(depth[asked], _USUAL)[0] if asked.any() else 0.0
    if usual < _LEAST_DEPTH:
        return SeenLines(hidden, np.empty((0, 2)))
    gone = asked & (depth < _GONE * usual)
    stretches = np.flatnonzero(np.diff(np.where(gone, lines.sides, -1), prepend=-1, append=-1))
    parts = (slice(*ends) for ends in pairwise(stretches) if gone[ends[0]] and ends[1] - ends[0] >= _LEAST_MM)
    return SeenLines((*(lines.places[part] for part in parts), *hidden), lines.places[asked & ~gone])


def _hidden_corners(view: CardView, board: Board, taken: Luma) -> Iterator[Points]:
    """(4, 2) mm: each corner marker of the board on which something lies although no known card does."""
    for marker in board.corners:
        mark = square_corners_mm(*board.corner_centres_mm[marker], board.corner_mm)
        corners = view.maps.to_view(mark).round().astype(int)
        if not _is_shown(corners, view).all():
            continue
        (left, top), (right, bottom) = corners[[0, 2]]
        seen = view.even[top:bottom, left:right]
        print_ = cv2.resize(marker_modules(marker), seen.shape[::-1], interpolation=cv2.INTER_NEAREST)
        kernel = np.ones((2 * round(_BLUR_MM * view.maps.scale) + 1,) * 2, np.uint8)
        near_white = cv2.dilate(print_, kernel, borderType=cv2.BORDER_CONSTANT, borderValue=255)
        is_bright = (near_white == 0) & (seen > _BRIGHT * PAPER)
        is_dark = (cv2.erode(print_, kernel) > 0) & (seen < _DARK * PAPER)
        off, most = is_bright | is_dark, _OFF_MM2 * view.maps.scale**2
        if np.count_nonzero(off) <= most:
            continue
        rows, columns = np.nonzero(off)
        places = view.maps.to_board(np.column_stack([columns + left, rows + top]))
        if np.count_nonzero(_is_free(_cells(places, view.maps.low_mm), taken)) > most:
            yield mark


def _is_shown(places_px: NDArray[np.int_], view: CardView) -> NDArray[np.bool_]:
    """(N,): does the picture show these places of the view, (N, 2) px?"""
    x, y = places_px.T
    height, width = view.shown.shape
    is_in = (x >= 0) & (y >= 0) & (x < width) & (y < height)
    return np.asarray(is_in & (view.shown[y.clip(0, height - 1), x.clip(0, width - 1)] > 0))


def _taken(view: CardView, cards: Sequence[Lying]) -> Luma:
    """(h, w), one a square millimetre of the view: where a known card is, or so near that its edge or its shadow may be
    taken for a line."""
    low, high = np.array(view.maps.low_mm), np.array(view.maps.high_mm)
    width, height = np.ceil(high - low).astype(int)
    taken = np.zeros((height, width), np.uint8)
    for card in cards:
        outline = (card.outline - low).round().astype(np.int32)
        cv2.fillConvexPoly(taken, outline, 255)
        cv2.polylines(taken, [outline], True, 255, round(2 * _BESIDE_MM))
    return taken


def _cells(places: Points, low_mm: tuple[float, float]) -> NDArray[np.int_]:
    """(N, 2): places, (N, 2) mm, in whole millimetres of a view."""
    return np.asarray((places - np.array(low_mm)).round(), int)


def _is_free(cells: NDArray[np.int_], taken: Luma) -> NDArray[np.bool_]:
    """(N,): are these places, (N, 2), none of those that are `taken`?"""
    x, y = cells.T
    return np.asarray(taken[y, x] == 0)
