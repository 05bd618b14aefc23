"""Is a square empty? Judged by what is printed there: paper, outline and marks must be seen, else it is not empty.

A square counts as empty only when its paper is in sight and its outline is where it should be. The first judgement
knows nothing but "white paper, dark outline"; afterwards each square is compared with how it looked when it was empty.
Shadows darken paper but leave the outline, hands and things hide it: that tells them apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from companion.grid import Square
from companion.kit import Board
from vision.markers import Luma
from vision.pose import Maps, Points, Pose

Tone = NDArray[np.float32]
"""Brightness by that of the paper next to it: 1 is white paper."""
Mask = NDArray[np.bool_]

_DARK, _DIM, _BRIGHT = 0.50, 0.86, 1.20
_LINE = 0.05
"""An outline this much darker than its surroundings is one."""
_THIRDS = 3


@dataclass(frozen=True, eq=False)
class _Known:
    """How an empty square looks: its tones, their range among neighbouring pixels, and its outline's depth."""

    tone: Tone
    low: Tone
    high: Tone
    lines: Tone


@dataclass(frozen=True, eq=False)
class Snapshot:
    """All squares of one picture: `tones` and `visible` by square, `lines` (12,) the depth of its outline's parts.

    `visible` is False where a piece stands in front, outside the picture, or where glare hides the print.
    `shade` (12,) is the brightness along the parts; NaN in both where a part is not visible.
    """

    tones: Mapping[Square, Tone]
    visible: Mapping[Square, Mask]
    glare: Mapping[Square, float]
    lines: Mapping[Square, Tone]
    shade: Mapping[Square, Tone]
    line_depth: Tone
    """(12,): what the parts of an outline can be expected to have in this picture; 0 when none can be made out."""


def _typical(outlines: Tone) -> Tone:
    """(12,): the median depth of lines across for the parts above and below, of those along for left and right."""
    depths = outlines.reshape(-1, 4, _THIRDS)
    if not (~np.isnan(depths)).any():
        return np.zeros(4 * _THIRDS, dtype=np.float32)
    both = [part[~np.isnan(part)] for part in (depths[:, ::2], depths[:, 1::2])]
    across, along = (float(np.median(part)) if part.size else 0.0 for part in both)
    if max(across, along) < _LINE:
        return np.zeros(4 * _THIRDS, dtype=np.float32)
    return np.repeat(np.array([across, along, across, along], dtype=np.float32), _THIRDS)


class EmptySquares:
    """Judges the squares of one board and learns how they look when empty."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._cell = max(48, round(1.6 * board.pitch_mm))
        self._scale = self._cell / board.pitch_mm
        # Without gaps there is room to look for a line that a slightly wrong pose has put elsewhere.
        self._edge = max(2, round((2.0 if board.gap_mm else 3.0) * self._scale))
        self._rim = max(1, round(1.0 * self._scale))
        self._strip = max(self._edge, round(board.strip_mm * self._scale))
        self._known: dict[Square, _Known] = {}
        self._maps: tuple[Pose, Maps, Mask] | None = None
        self._whites: dict[int, float] = {}
        self._marked = {mark.square for mark in board.marks}
        self._open, self._disc = self._regions()
        # Between a square and a wall there is no line, unless a gap parts them.
        around = ((0, 1), (1, 0), (0, -1), (-1, 0))
        walled = [[not board.gap_mm and s.shifted(*step) in board.holes for step in around] for s in board.squares]
        self._walled: Mask = np.repeat(np.array(walled), _THIRDS, axis=1)

    def forget(self) -> None:
        """Learn anew."""
        self._known.clear()
        self._whites.clear()

    # ---- judging ----

    def snapshot(self, luma: Luma, pose: Pose, corners: Iterable[int], bodies: Iterable[Points]) -> Snapshot:
        """Look at all squares. `corners`: corner markers read in this picture; `bodies`: (N, 2) outlines in board mm
        of what pieces hide, as seen on the board's plane."""
        maps, inside = self._view(pose)
        view = maps.rectify(luma)
        white = self._white(view, corners, maps)
        hidden = np.zeros(view.shape, np.uint8)
        for body in bodies:
            hull = cv2.convexHull(maps.to_view(body).round().astype(np.int32))
            cv2.fillConvexPoly(hidden, hull, 255)
        hidden = np.asarray(cv2.dilate(hidden, np.ones((3, 3), np.uint8), iterations=self._rim), np.uint8)
        tone = np.asarray(view / white, dtype=np.float32)
        glare = (view >= 252) & (white < 242)
        visible = inside & (hidden == 0)
        squares = self._board.squares
        places = [self._place(square) for square in squares]
        cells, seen = np.array([tone[place] for place in places]), np.array([visible[place] for place in places])
        lines, shades = self._outlines(cells, seen)
        lines[self._walled], shades[self._walled] = np.nan, np.nan
        solid = [square not in self._board.holes for square in squares]
        return Snapshot(
            dict(zip(squares, cells, strict=True)),
            dict(zip(squares, seen, strict=True)),
            {square: float(glare[place].mean()) for square, place in zip(squares, places, strict=True)},
            dict(zip(squares, lines, strict=True)),
            dict(zip(squares, shades, strict=True)),
            _typical(lines[solid]),
        )

    def is_empty(self, shot: Snapshot, square: Square) -> bool:
        """Is nothing on this square, and is that certain?"""
        if shot.glare[square] > 0.12:
            return False
        known = self._known.get(square)
        if known is not None and self._as_known(shot, square, known):
            return True
        return self._as_paper(shot, square, strict=known is not None)

    def learn(self, shot: Snapshot, empty: Iterable[Square]) -> None:
        """Remember how these squares look; only those in full view count."""
        for square in empty:
            tone = shot.tones[square]
            if shot.visible[square].mean() < 0.98:
                continue
            known = self._known.get(square)
            mixed = tone if known is None else known.tone * 0.8 + tone * 0.2
            kernel = np.ones((3, 3), np.uint8)
            low = np.asarray(cv2.erode(mixed, kernel), dtype=np.float32)
            high = np.asarray(cv2.dilate(mixed, kernel), dtype=np.float32)
            self._known[square] = _Known(np.asarray(mixed, np.float32), low, high, shot.lines[square])

    # ---- two judgements ----

    def _as_paper(self, shot: Snapshot, square: Square, strict: bool) -> bool:
        """White paper inside, outline around; on squares with a printed mark only the middle can be asked."""
        tone, visible = shot.tones[square], shot.visible[square]
        wanted = self._disc if square in self._marked else self._open
        region = wanted & visible
        if region.sum() < 0.4 * wanted.sum():
            return False
        values = tone[region]
        ninth = int(0.9 * (values.size - 1))
        own = float(np.partition(values, ninth)[ninth])  # np.percentile takes ten times as long
        if 0.8 <= own <= 1.25:
            values = values / own
        dark, dim = float((values < _DARK).mean()), float(((values >= _DARK) & (values < _DIM)).mean())
        if dark > (0.01 if strict else 0.03) or float((values > _BRIGHT).mean()) > 0.12:
            return False
        if strict and (dim > 0.03 or not shot.line_depth.any()):
            return False
        return self._outlined(shot, square, 0.4 * shot.line_depth, shaded=dim > 0.08)

    def _as_known(self, shot: Snapshot, square: Square, known: _Known) -> bool:
        """The same print as before, possibly under another light."""
        visible = shot.visible[square]
        if visible.mean() < 0.4:
            return False
        tone = shot.tones[square]
        level = float(np.median(tone[visible] / np.maximum(known.tone[visible], 0.05)))
        if 0.85 <= level <= 1.18:
            tone = tone / level
        rest = 0.08  # keeps the noise of dark print from counting
        ratio = np.where(tone < known.low, (tone + rest) / (known.low + rest), 1.0)
        ratio = np.where(tone > known.high, (tone + rest) / (known.high + rest), ratio)[visible]
        dark, dim = float((ratio < _DARK).mean()), float(((ratio >= _DARK) & (ratio < _DIM)).mean())
        if dark > 0.02 or float((ratio > _BRIGHT).mean()) > 0.08:
            return False
        needed = np.where(known.lines >= _LINE, 0.4 * known.lines, 0).astype(np.float32)
        return self._outlined(shot, square, needed, shaded=dim > 0.06)

    def _outlined(self, shot: Snapshot, square: Square, needed: Tone, shaded: bool) -> bool:
        """Are the outline's visible parts there? In the shade every darkened part must be, and one must exist."""
        lines, shade = shot.lines[square], shot.shade[square]
        there = ~np.isnan(lines)
        missing = there & (lines < needed * np.minimum(1, np.nan_to_num(shade, nan=1)))
        if missing.sum() > there.sum() / 6:
            return False
        if not shaded:
            return True
        darkened = there & (shade < _DIM)
        return bool(shot.line_depth.any() and darkened.any() and not (darkened & missing).any())

    # ---- geometry ----

    def _regions(self) -> tuple[Mask, Mask]:
        """Which pixels of a cell are plain paper: without outline and label, and in the middle disc."""
        side = self._cell + 2 * self._edge
        axis = (np.arange(side) + 0.5 - side / 2) / (self._board.square_mm * self._scale)
        across, down = axis[None, :], axis[:, None]
        margin = 0.5 - 1.8 / self._board.square_mm
        plain = (np.abs(across) < margin) & (np.abs(down) < margin)
        if self._board.labels_in_squares:
            plain &= ~((across < -0.12) & (down < -0.22))
        return plain, across**2 + down**2 < 0.25**2

    def _place(self, square: Square) -> tuple[slice, slice]:
        """Rows and columns of a square's cell in the view, the neighbours' edges included."""
        row = self._strip + (self._board.ranks - 1 - square.rank) * self._cell - self._edge
        column = self._strip + square.file * self._cell - self._edge
        side = self._cell + 2 * self._edge
        return slice(row, row + side), slice(column, column + side)

    def _view(self, pose: Pose) -> tuple[Maps, Mask]:
        """The view from straight above for this pose: all cells, a strip's width around them."""
        if self._maps is None or self._maps[0] is not pose:
            board, room = self._board, self._strip / self._scale + self._board.gap_mm / 2
            low, high = (-room, -room), (board.width_mm + room, board.height_mm + room)
            maps = pose.plane_maps(low, high, 0.0, self._scale)
            x, y = maps.pixels[..., 0], maps.pixels[..., 1]
            inside = (x >= 0) & (y >= 0) & (x <= pose.size[0] - 1) & (y <= pose.size[1] - 1)
            self._maps = pose, maps, inside
        return self._maps[1], self._maps[2]

    def _white(self, view: Luma, corners: Iterable[int], maps: Maps) -> Tone:
        """(h, w): how bright paper is, from the paper round the corner markers; where one is hidden, as it was."""
        board = self._board
        for marker in corners:
            centre = maps.to_view(np.array([board.corner_centres_mm[marker]]))[0]
            half = (board.corner_mm / 2 + 1.5) * self._scale
            low, high = (centre - half).round().astype(int).clip(0), (centre + half).round().astype(int)
            patch = view[low[1] : high[1], low[0] : high[0]]
            if patch.size:
                self._whites[marker] = max(20.0, float(np.percentile(patch, 92)))
        places = [board.corner_centres_mm[marker] for marker in self._whites]
        levels = np.array(list(self._whites.values()), dtype=np.float64)
        middle = np.array([board.width_mm / 2, board.height_mm / 2])
        if len(levels) < 3:
            level = float(levels.mean()) if levels.size else float(np.percentile(view, 90))
            return np.full(view.shape, max(level, 20.0), dtype=np.float32)
        offsets = (np.array(places) - middle) / 100
        slope = np.linalg.lstsq(np.column_stack([np.ones(len(levels)), offsets]), levels, rcond=None)[0]
        height, width = view.shape
        x = (maps.to_board(np.column_stack([np.arange(width), np.zeros(width)]))[:, 0] - middle[0]) / 100
        y = (maps.to_board(np.column_stack([np.zeros(height), np.arange(height)]))[:, 1] - middle[1]) / 100
        field = slope[0] + slope[1] * x[None, :] + slope[2] * y[:, None]
        return np.asarray(field.clip(0.5 * levels.min(), 1.3 * levels.max()), dtype=np.float32)

    def _outlines(self, tones: Tone, visible: Mask) -> tuple[Tone, Tone]:
        """Depth of the outlines and brightness along them, (N, 12): top, right, bottom, left, three parts each.

        `tones` and `visible` are (N, h, h), all cells at once: one by one they would take most of a picture's time.
        """
        depth = 2 * self._edge + round((self._board.gap_mm / 2 + 1.0) * self._scale)
        side = tones.shape[1]
        start = self._edge + round((self._board.gap_mm / 2 + 2.0) * self._scale)
        cuts = np.linspace(start, side - start, _THIRDS + 1).round().astype(int)
        found = []
        for turn in range(4):
            band, seen = np.rot90(tones, turn, (1, 2))[:, :depth], np.rot90(visible, turn, (1, 2))[:, :depth]
            for third in range(_THIRDS):
                part = slice(cuts[third], cuts[third + 1])
                found.append(_line(band[:, :, part], seen[:, :, part]))
        lines, shades = (np.stack(columns, axis=1).astype(np.float32) for columns in zip(*found, strict=True))
        return lines, shades


def _line(band: Tone, seen: Mask) -> tuple[Points, Points]:
    """(N,) each: how much darker than before and behind it is somewhere in a band (N, depth, length), and how bright.

    NaN where too little is seen.
    """
    counts = seen.sum(axis=2)
    there = counts > 0
    profile = (band * seen).sum(axis=2) / np.maximum(counts, 1)
    lowest = np.where(there, profile, -np.inf)
    before, after = np.maximum.accumulate(lowest, axis=1), np.maximum.accumulate(lowest[:, ::-1], axis=1)[:, ::-1]
    depths = np.where(there, np.minimum(before, after) - profile, -np.inf).max(axis=1)
    # The 80th percentile of each row's seen values, which come first when sorted.
    ordered = np.sort(np.where(there, profile, np.inf), axis=1)
    last = np.maximum(there.sum(axis=1) - 1, 0)
    place = 0.8 * last
    low = np.floor(place).astype(int)
    rows = np.arange(len(ordered))
    lower, upper = ordered[rows, low], ordered[rows, np.minimum(low + 1, last)]
    hidden = seen.mean(axis=(1, 2)) < 0.6
    with np.errstate(invalid="ignore"):
        shade = lower + (place - low) * (upper - lower)
    return np.where(hidden, np.nan, depths), np.where(hidden, np.nan, shade)
