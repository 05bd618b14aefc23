"""Is a square empty? Judged by what is printed there: paper, outline and marks must be seen, else it is not empty.

A square counts as empty only when its paper is in sight and its outline is where it should be. The first judgement
knows nothing but "white paper, dark outline"; afterwards each square is compared with how it looked when it was empty.
Shadows darken paper but leave the outline, hands and things hide it: that tells them apart.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from companion.core.grid import Square
from companion.core.kit import Board
from vision.detection.markers import Luma
from vision.order_statistics import counts, median, medians_of_known, quantiles
from vision.pieces.shaded_squares import Paper, Unexplained, reflectance
from vision.pose.pose import Maps, Points, Pose

Tone = NDArray[np.float32]
"""Brightness by that of the paper next to it: 1 is white paper."""
Mask = NDArray[np.bool_]

_DARK, _DIM, _BRIGHT = 0.50, 0.86, 1.20
_GLINT, _MOST_GLINT = 1.35, 0.25
"""Times as bright as a cell's paper is a reflection; over more of a cell than this it is light, or hides too much."""
_LINE = 0.05
"""An outline this much darker than its surroundings is one."""
_GENTLE_MM, _GENTLE = 2.0, 0.2
"""Within so many mm a soft shadow changes paper's brightness by less, a logarithm."""
_NEXT_TONE = 0.15
"""Neighbouring squares of a board of two tones differ by this at most, a logarithm."""
_SAME_PRINT = 0.55
"""A square's picture that correlates more with how it looked when empty may be the same print in a shadow."""
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
    line_share: Tone
    """(12,): the same by the brightness of the paper next to each part."""


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
        self._unexplained = Unexplained()
        self._maps: tuple[Pose, Maps, Mask] | None = None
        self._whites: dict[int, float] = {}
        self._middle = np.array([board.width_mm / 2, board.height_mm / 2])
        self._paper, self._paper_range = np.zeros(3), (20.0, 255.0)
        self._line_depth: Tone = np.zeros(4 * _THIRDS, dtype=np.float32)
        self._line_share: Tone = np.zeros(4 * _THIRDS, dtype=np.float32)
        self._numbers = {square: number for number, square in enumerate(board.squares)}
        self._marked = {mark.square for mark in board.marks}
        self._open, self._disc = self._regions()
        side = self._cell + 2 * self._edge
        plain = np.zeros(side * side, np.uint8)
        plain[self._open] = 1
        near = np.ones((round(2 * _GENTLE_MM * self._scale),) * 2, np.uint8)
        self._inner = np.flatnonzero(cv2.erode(plain.reshape(side, side), near))
        self._bands = self._band_places()
        self._paper_of = self._papers()
        # Between a square and a wall there is no line, unless a gap parts them.
        around = ((0, 1), (1, 0), (0, -1), (-1, 0))
        walls = frozenset() if board.gap_mm else board.holes
        self._walled: Mask = np.repeat(_is_next(board, around, walls), _THIRDS, axis=1)
        # Gaps are paper all round; without them a mark next door reaches too near.
        free = set(board.squares) - board.holes - self._marked
        self._next_to = _is_next(board, around, free) | bool(board.gap_mm)

    def forget(self) -> None:
        """Learn anew."""
        self._known.clear()
        self._whites.clear()

    # ---- judging ----

    def snapshot(
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
        whole, all_inside = self._view(pose)
        chosen = self._board.squares if squares is None else tuple(squares)
        places, part = self._places(chosen, whole.pixels.shape[:2], all_of_it=squares is None)
        maps, inside = (whole, all_inside) if squares is None else (whole.part(*part), all_inside[part])
        view = maps.rectify(luma)
        if squares is None:
            self._learn_white(view, corners, maps)
        white = self._white(maps)
        hidden = np.zeros(view.shape, np.uint8)
        for body in bodies:
            hull = cv2.convexHull(maps.to_view(body).round().astype(np.int32))
            cv2.fillConvexPoly(hidden, hull, 255)
        hidden = np.asarray(cv2.dilate(hidden, np.ones((3, 3), np.uint8), iterations=self._rim), np.uint8)
        tone = np.asarray(view / white, dtype=np.float32)
        glare = (view >= 252) & (white < 242)
        has_glare = bool(glare.any())
        visible = inside & (hidden == 0)
        cells, seen = np.array([tone[place] for place in places]), np.array([visible[place] for place in places])
        glints = self._glints(cells)
        seen &= ~glints
        lines, shades = self._outlines(cells, seen)
        walled = self._walled[[self._numbers[square] for square in chosen]]
        lines[walled], shades[walled] = np.nan, np.nan
        if squares is None:
            free = [square not in self._board.holes for square in chosen]
            self._line_depth = _typical(lines[free])
            self._line_share = _typical(np.asarray(lines[free] / np.maximum(shades[free], 0.05), np.float32))
        return Snapshot(
            dict(zip(chosen, cells, strict=True)),
            dict(zip(chosen, seen, strict=True)),
            {
                square: float((glare[place] & ~glint).mean()) if has_glare else 0.0
                for square, place, glint in zip(chosen, places, glints, strict=True)
            },
            dict(zip(chosen, lines, strict=True)),
            dict(zip(chosen, shades, strict=True)),
            self._line_depth,
            self._line_share,
        )

    def empty_among(self, shot: Snapshot, squares: Iterable[Square], *, shaded: bool = True) -> set[Square]:
        """On which of these squares is nothing, for certain? `shaded`: also under shadows with edges, which takes four
        fifths of all the time where a hand is over the board."""
        left = [square for square in squares if shot.glare[square] <= 0.12]
        known = {s for s in left if s in self._known and self._as_known(shot, s, self._known[s])}
        found = known | self._as_paper(shot, [square for square in left if square not in known])
        rest = [square for square in left if square not in found] if shaded else []
        return found | {square for square in rest if self._as_shaded(shot, square)}

    def covered_among(self, shot: Snapshot, squares: Iterable[Square]) -> set[Square]:
        """Which of these squares were empty once and, in full view, show another picture now, whatever the light?"""
        found = set()
        for square in squares:
            known, visible = self._known.get(square), shot.visible.get(square)
            if known is None or visible is None or visible.mean() < 0.6 or shot.glare[square] > 0.12:
                continue
            likeness = np.corrcoef(shot.tones[square][visible], known.tone[visible])[0, 1]
            if not likeness > _SAME_PRINT:
                found.add(square)
        return found

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

    def _as_paper(self, shot: Snapshot, squares: Sequence[Square]) -> set[Square]:
        """White paper inside, outline around; on squares with a printed mark only the middle can be asked.

        All squares at once: one by one they would take most of a picture's time.
        """
        found = set[Square]()
        for wanted, is_marked in ((self._open, False), (self._disc, True)):
            alike = [square for square in squares if (square in self._marked) is is_marked]
            if alike:
                seen, tones = (
                    np.array([by[square] for square in alike]).reshape(len(alike), -1).take(wanted, axis=1)
                    for by in (shot.visible, shot.tones)
                )
                found |= self._paper_among(shot, alike, tones, seen)
        return found

    def _paper_among(self, shot: Snapshot, squares: Sequence[Square], tones: Tone, seen: Mask) -> set[Square]:
        """Which of N squares show paper and outline; `tones` are (N, pixels) of each one's inside, where `seen`."""
        number = counts(seen)
        # A quarter of the pixels is enough for the 90th percentile, of which those seen come first when sorted.
        some = np.sort(np.where(seen[:, ::4], tones[:, ::4], np.inf), axis=1)
        ninth = (0.9 * (counts(seen[:, ::4]) - 1)).astype(int).clip(0)
        own = some[np.arange(len(some)), ninth]
        values = np.asarray(tones / np.where((own >= 0.8) & (own <= 1.25), own, 1)[:, None], np.float32)
        dark, below, bright = (
            counts(found & seen) / np.maximum(number, 1) for found in (values < _DARK, values < _DIM, values > _BRIGHT)
        )
        dim = below - dark
        strict = np.array([square in self._known for square in squares])
        good = (number / seen.shape[1] >= 0.4) & (dark <= np.where(strict, 0.01, 0.03)) & (bright <= 0.12)
        good &= ~strict | ((dim <= 0.03) & shot.line_depth.any())
        # Where only the middle can be asked, something grey may lie there that reaches beyond it.
        marked = np.array([square in self._marked for square in squares])
        good &= ~marked | (own >= _DIM * medians_of_known(np.array([shot.shade[s] for s in squares])))
        in_shade = np.flatnonzero(good & (dim > 0.08)).tolist()
        good[in_shade] = [not marked[n] and self._is_smooth(shot, squares[n]) for n in in_shade]
        needed = np.repeat(0.4 * shot.line_depth[None], len(squares), axis=0)
        good &= self._outlined(shot, squares, needed, shaded=dim > 0.08)
        return {square for square, is_paper in zip(squares, good, strict=True) if is_paper}

    def _as_known(self, shot: Snapshot, square: Square, known: _Known) -> bool:
        """The same print as before, possibly under another light."""
        visible = shot.visible[square]
        if visible.mean() < 0.4:
            return False
        tone = shot.tones[square]
        level = median(tone[visible] / np.maximum(known.tone[visible], 0.05))
        if 0.85 <= level <= 1.18:
            tone = tone / level
        rest = 0.08  # keeps the noise of dark print from counting
        ratio = np.where(tone < known.low, (tone + rest) / (known.low + rest), 1.0)
        ratio = np.where(tone > known.high, (tone + rest) / (known.high + rest), ratio)[visible]
        dark, dim = float((ratio < _DARK).mean()), float(((ratio >= _DARK) & (ratio < _DIM)).mean())
        if dark > 0.02 or float((ratio > _BRIGHT).mean()) > 0.08:
            return False
        needed = np.where(known.lines >= _LINE, 0.4 * known.lines, 0).astype(np.float32)
        return bool(self._outlined(shot, [square], needed[None], shaded=np.array([dim > 0.06]))[0])

    def _is_smooth(self, shot: Snapshot, square: Square) -> bool:
        """Does the brightness of a square's paper change only gently, as in the soft edge of a shadow?"""
        values = cv2.GaussianBlur(np.log(np.maximum(shot.tones[square], 0.03)), (0, 0), 1.0)
        kernel = np.ones((round(_GENTLE_MM * self._scale) // 2 * 2 + 1,) * 2, np.uint8)
        change = (cv2.dilate(values, kernel) - cv2.erode(values, kernel)).ravel()[self._inner]
        steep = change[shot.visible[square].ravel()[self._inner]] > _GENTLE
        return bool(steep.size and steep.mean() <= 0.02)

    def _as_shaded(self, shot: Snapshot, square: Square) -> bool:
        """Paper and outline under a shadow with edges."""
        tone, seen = shot.tones[square], shot.visible[square]
        if not shot.line_depth.any() or self._unexplained.holds(square, tone):
            return False
        paper, sides = self._paper_of[square in self._marked], self._next_to[self._numbers[square]]
        print_ = reflectance(tone, seen, paper, tuple(sides.tolist()))
        if print_ is None:
            self._unexplained.note(square, tone)
            return False
        lines, _ = self._outlines(print_[None], seen[None])
        needed, there = 0.4 * shot.line_share, ~np.isnan(lines[0])
        there &= ~self._walled[self._numbers[square]]
        missing = there & (np.where(there, lines[0], 0) < needed)
        return bool(there.sum() >= 3 and missing.sum() <= there.sum() / 9)

    def _outlined(self, shot: Snapshot, squares: Sequence[Square], needed: Tone, shaded: Mask) -> Mask:
        """(N,): are the outline's visible parts there, (N, 12) so deep as `needed`? Where a square lies in the shade
        (N,) every darkened part must be, and one must exist."""
        lines, shade = (np.array([by[square] for square in squares]) for by in (shot.lines, shot.shade))
        there = ~np.isnan(lines)
        shade = np.where(there, shade, 1)
        missing = there & (np.where(there, lines, 0) < needed * np.minimum(1, shade))
        good = missing.sum(axis=1) <= there.sum(axis=1) / 6
        darkened = there & (shade < _DIM)
        in_shade = darkened.any(axis=1) & ~(darkened & missing).any(axis=1) & shot.line_depth.any()
        return np.asarray(good & (~shaded | in_shade))

    # ---- geometry ----

    def _regions(self) -> tuple[NDArray[np.int_], NDArray[np.int_]]:
        """Where in a cell's pixels plain paper is: without outline and label, and in the middle disc."""
        side = self._cell + 2 * self._edge
        axis = (np.arange(side) + 0.5 - side / 2) / (self._board.square_mm * self._scale)
        across, down = axis[None, :], axis[:, None]
        margin = 0.5 - 1.8 / self._board.square_mm
        plain = (np.abs(across) < margin) & (np.abs(down) < margin)
        if self._board.labels_in_squares:
            plain &= ~((across < -0.12) & (down < -0.22))
        return np.flatnonzero(plain), np.flatnonzero(across**2 + down**2 < 0.25**2)

    def _papers(self) -> dict[bool, Paper]:
        """Where paper is in cells without and with a printed mark."""
        board, side = self._board, self._cell + 2 * self._edge
        axis = (np.arange(side) + 0.5 - side / 2) / self._scale
        across, up = np.broadcast_to(axis[None, :], (side, side)), np.broadcast_to(-axis[:, None], (side, side))
        half = board.square_mm / 2
        # Beyond the outline's own blur, where there is room for that.
        low, high = (0.8, board.gap_mm - 0.8) if board.gap_mm else (1.2, self._edge / self._scale)
        beyond = []
        for away, aside in ((up, across), (across, up), (-up, across), (-across, up)):
            beyond.append(np.flatnonzero((away > half + low) & (away < half + high) & (np.abs(aside) < half - 1.5)))
        places = np.column_stack([across.ravel(), -up.ravel()]).astype(np.float32)
        step = _NEXT_TONE if board.tones > 1 else 0.03
        return {
            is_marked: Paper(inside, tuple(beyond), places, step, gentle=2 if is_marked else 6)
            for is_marked, inside in ((False, self._open), (True, self._disc))
        }

    def _place(self, square: Square) -> tuple[slice, slice]:
        """Rows and columns of a square's cell in the view, the neighbours' edges included."""
        row = self._strip + (self._board.ranks - 1 - square.rank) * self._cell - self._edge
        column = self._strip + square.file * self._cell - self._edge
        side = self._cell + 2 * self._edge
        return slice(row, row + side), slice(column, column + side)

    def _places(
        self, squares: Iterable[Square], shape: tuple[int, ...], *, all_of_it: bool
    ) -> tuple[list[tuple[slice, slice]], tuple[slice, slice]]:
        """The cells of squares within the smallest part of the view (h, w) that holds them, and that part."""
        cells = [self._place(square) for square in squares]
        if all_of_it or not cells:
            return cells, (slice(0, shape[0]), slice(0, shape[1]))
        top, left = (min(cell[axis].start for cell in cells) for axis in (0, 1))
        bottom, right = (max(cell[axis].stop for cell in cells) for axis in (0, 1))
        moved = [
            (slice(rows.start - top, rows.stop - top), slice(columns.start - left, columns.stop - left))
            for rows, columns in cells
        ]
        return moved, (slice(top, bottom), slice(left, right))

    def _view(self, pose: Pose) -> tuple[Maps, Mask]:
        """The view from straight above for this pose: all cells, a strip's width around them."""
        if self._maps is None or self._maps[0] is not pose:
            board, room = self._board, self._strip / self._scale + self._board.gap_mm / 2
            low, high = (-room, -room), (board.width_mm + room, board.height_mm + room)
            maps = pose.plane_maps(low, high, 0.0, self._scale)
            self._maps = pose, maps, _inside(maps.pixels, pose.size)
        return self._maps[1], self._maps[2]

    def _learn_white(self, view: Luma, corners: Iterable[int], maps: Maps) -> None:
        """How bright paper is, from the paper round the corner markers; where one is hidden, as it was."""
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
            self._paper = np.array([max(level, 20.0), 0.0, 0.0])
            self._paper_range = max(level, 20.0), max(level, 20.0)
            return
        places = np.array([board.corner_centres_mm[marker] for marker in self._whites])
        offsets = (places - self._middle) / 100
        self._paper = np.linalg.lstsq(np.column_stack([np.ones(len(levels)), offsets]), levels, rcond=None)[0]
        self._paper_range = 0.5 * float(levels.min()), 1.3 * float(levels.max())

    def _white(self, maps: Maps) -> Tone:
        """(h, w): how bright paper is, over a view."""
        height, width = maps.pixels.shape[:2]
        x = (maps.to_board(np.column_stack([np.arange(width), np.zeros(width)]))[:, 0] - self._middle[0]) / 100
        y = (maps.to_board(np.column_stack([np.zeros(height), np.arange(height)]))[:, 1] - self._middle[1]) / 100
        along = (self._paper[0] + self._paper[1] * x).astype(np.float32)
        across = (self._paper[2] * y).astype(np.float32)
        return np.asarray((along[None, :] + across[:, None]).clip(*self._paper_range), dtype=np.float32)

    def _glints(self, tones: Tone) -> Mask:
        """(N, h, h): which pixels of cells show reflections of a lamp: much brighter than the cell's paper, and few.

        Nothing that lies on a square is so bright, and of a piece's marker they leave most in sight.
        """
        found = np.zeros(tones.shape, bool)
        for number in np.flatnonzero(tones.reshape(len(tones), -1).max(axis=1, initial=0) > _GLINT):
            tone = tones[number]
            bright = (tone > _GLINT * max(1.0, median(tone))).astype(np.uint8)
            wide = cv2.dilate(bright, np.ones((3, 3), np.uint8), iterations=self._rim) > 0
            if bright.any() and wide.mean() <= _MOST_GLINT:
                found[number] = wide
        return found

    def _outlines(self, tones: Tone, visible: Mask) -> tuple[Tone, Tone]:
        """Depth of the outlines and brightness along them, (N, 12): top, right, bottom, left, three parts each.

        `tones` and `visible` are (N, h, h), all cells at once: one by one they would take most of a picture's time.
        """
        band = (-1, *self._bands.shape[1:])
        bands = tones.reshape(len(tones), -1).take(self._bands, axis=1).reshape(band)
        seen = visible.reshape(len(visible), -1).take(self._bands, axis=1).reshape(band)
        lines, shades = _line(bands, seen)
        shape = (-1, 4 * _THIRDS)
        return lines.reshape(shape).astype(np.float32), shades.reshape(shape).astype(np.float32)

    def _band_places(self) -> NDArray[np.int_]:
        """(12, depth, length): where in a cell's pixels the parts of its outline lie, each seen from outside."""
        side = self._cell + 2 * self._edge
        depth = 2 * self._edge + round((self._board.gap_mm / 2 + 1.0) * self._scale)
        start = self._edge + round((self._board.gap_mm / 2 + 2.0) * self._scale)
        length = (side - 2 * start) // _THIRDS
        places = np.arange(side * side).reshape(side, side)
        sides = np.stack([np.rot90(places, turn)[:depth, start : start + _THIRDS * length] for turn in range(4)])
        return sides.reshape(4, depth, _THIRDS, length).transpose(0, 2, 1, 3).reshape(-1, depth, length)


def _is_next(board: Board, around: Sequence[tuple[int, int]], squares: Collection[Square]) -> Mask:
    """(N, 4): is what lies next to each square, in so many directions, one of these?"""
    chosen = np.zeros((board.files + 2, board.ranks + 2), bool)
    for square in squares:
        chosen[square.file + 1, square.rank + 1] = True
    places = np.array(board.squares)[:, None] + np.array(around) + 1
    return np.asarray(chosen[places[..., 0], places[..., 1]])


def _inside(pixels: NDArray[np.float32], size: tuple[int, int]) -> Mask:
    """(h, w): which of the picture's pixels (h, w, 2) are in it; when all on the edge of a view are, all are."""
    last = np.array(size) - 1
    edge = np.concatenate([pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]])
    if ((edge >= 0) & (edge <= last)).all():
        return np.ones(pixels.shape[:2], dtype=bool)
    return np.asarray(((pixels >= 0) & (pixels <= last)).all(axis=2))


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
    hidden = counts.mean(axis=1) / seen.shape[2] < 0.6
    with np.errstate(invalid="ignore"):
        shade = lower + (place - low) * (upper - lower)
    return np.where(hidden, np.nan, depths), np.where(hidden, np.nan, shade)
