"""Is a square empty? Judged by what is printed there: paper, outline and marks must be seen, else it is not empty.

A square counts as empty only when its paper is in sight and its outline is where it should be. The first judgement
knows nothing but "white paper, dark outline"; afterwards each square is compared with how it looked when it was empty.
Shadows darken paper but leave the outline, hands and things hide it: that tells them apart.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from companion.core.grid import Square
from companion.core.kit import Board
from vision.detection.markers import Luma
from vision.order_statistics import counts, median, medians_of_known
from vision.pieces.shaded_squares import reflectance
from vision.pieces.snapshots import LINE, Snapshot, Snapshots, Tone
from vision.pieces.square_cells import GENTLE_MM, Mask, cells_of
from vision.pose.pose import Points, Pose

_DARK, _DIM, _BRIGHT = 0.50, 0.86, 1.20
_GENTLE = 0.2
"""A soft shadow changes paper's brightness by less, a logarithm, within `GENTLE_MM`."""
_SAME_PRINT = 0.55
"""A square's picture that correlates more with how it looked when empty may be the same print in a shadow."""
_MOST_MISSING = 1 / 9
"""Under a shadow so much of what is in sight of an outline may not be there."""
_LEAST_LINES = 3
"""A bare square shows so many of the twelve parts of its outline: one side, or what pieces in front leave of more."""
_MOST_GLARE = 0.12
"""A square of which more is burnt out is not judged."""


@dataclass(frozen=True, eq=False)
class _Known:
    """How an empty square looks: its tones, their range among neighbouring pixels, and its outline's depth."""

    tone: Tone
    low: Tone
    high: Tone
    lines: Tone


class EmptySquares:
    """Judges the squares of one board, and learns how they look when empty."""

    def __init__(self, board: Board) -> None:
        self._cells = cells_of(board)
        self._snapshots = Snapshots(self._cells)
        self._known: dict[Square, _Known] = {}

    @property
    def has_looked(self) -> bool:
        """Has it seen all of the board, and so how bright paper is and how dark lines are?"""
        return self._snapshots.has_measured

    def forget(self) -> None:
        """Learn anew."""
        self._known.clear()
        self._snapshots.forget()

    def snapshot(
        self,
        luma: Luma,
        pose: Pose,
        corners: Iterable[int],
        bodies: Iterable[Points],
        squares: Collection[Square] | None = None,
    ) -> Snapshot:
        """What a (height, width) picture shows of all squares, or of these, see `Snapshots.take`."""
        return self._snapshots.take(luma, pose, corners, bodies, squares)

    def empty_among(self, shot: Snapshot, squares: Iterable[Square]) -> set[Square]:
        """Return those of these squares on which certainly nothing lies, in plain light."""
        left = [square for square in squares if shot.glare[shot.row[square]] <= _MOST_GLARE]
        known = {s for s in left if s in self._known and self._as_known(shot, s, self._known[s])}
        return known | self._as_paper(shot, [square for square in left if square not in known])

    def shaded_among(self, shot: Snapshot, squares: Iterable[Square]) -> set[Square]:
        """Return those of these squares, none of which is bare in plain light, that are so under shadows with edges.

        This takes some milliseconds for each square.
        """
        left = [square for square in squares if shot.glare[shot.row[square]] <= _MOST_GLARE]
        return {square for square in left if self._as_shaded(shot, square)}

    def covered_among(self, shot: Snapshot, squares: Iterable[Square]) -> set[Square]:
        """Which of these squares were empty once and, in full view, show another picture now, whatever the light?"""
        found = set()
        for square in squares:
            known, row = self._known.get(square), shot.row.get(square)
            if known is None or row is None or shot.visible[row].mean() < 0.6 or shot.glare[row] > _MOST_GLARE:
                continue
            visible = shot.visible[row]
            likeness = np.corrcoef(shot.tones[row][visible], known.tone[visible])[0, 1]
            if not likeness > _SAME_PRINT:
                found.add(square)
        return found

    def learn(self, shot: Snapshot, empty: Iterable[Square]) -> None:
        """Remember how these squares look; only those in full view count."""
        for square in empty:
            row = shot.row[square]
            tone = shot.tones[row]
            if shot.visible[row].mean() < 0.98:
                continue
            known = self._known.get(square)
            mixed = tone if known is None else known.tone * 0.8 + tone * 0.2
            kernel = np.ones((3, 3), np.uint8)
            low = np.asarray(cv2.erode(mixed, kernel), dtype=np.float32)
            high = np.asarray(cv2.dilate(mixed, kernel), dtype=np.float32)
            self._known[square] = _Known(np.asarray(mixed, np.float32), low, high, shot.lines[row])

    # ---- three judgements ----

    def _as_paper(self, shot: Snapshot, squares: Sequence[Square]) -> set[Square]:
        """White paper inside, outline around; on squares with a printed mark only the middle can be asked.

        All squares at once: one by one they would take most of a picture's time.
        """
        found = set[Square]()
        for wanted, is_marked in ((self._cells.paper, False), (self._cells.middle, True)):
            alike = [square for square in squares if (square in self._cells.marked) is is_marked]
            if alike:
                rows = shot.rows(alike)
                tones = shot.tones.reshape(len(shot.tones), -1)[rows].take(wanted, axis=1)
                seen = shot.visible.reshape(len(shot.tones), -1)[rows].take(wanted, axis=1)
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
        marked = np.array([square in self._cells.marked for square in squares])
        if marked.any():
            # Where only the middle can be asked, something grey may lie there that reaches beyond it.
            good &= ~marked | (own >= _DIM * medians_of_known(shot.shade[shot.rows(squares)]))
        in_shade = np.flatnonzero(good & (dim > 0.08)).tolist()
        good[in_shade] = [not marked[n] and self._is_smooth(shot, squares[n]) for n in in_shade]
        needed = np.repeat(0.4 * shot.line_depth[None], len(squares), axis=0)
        good &= self._outlined(shot, squares, needed, shaded=dim > 0.08)
        return {square for square, is_paper in zip(squares, good, strict=True) if is_paper}

    def _as_known(self, shot: Snapshot, square: Square, known: _Known) -> bool:
        """The same print as before, possibly under another light."""
        row = shot.row[square]
        tone, visible = shot.tones[row], shot.visible[row]
        if visible.mean() < 0.4:
            return False
        level = median(tone[visible] / np.maximum(known.tone[visible], 0.05))
        if 0.85 <= level <= 1.18:
            tone = tone / level
        rest = 0.08  # keeps the noise of dark print from counting
        ratio = np.where(tone < known.low, (tone + rest) / (known.low + rest), 1.0)
        ratio = np.where(tone > known.high, (tone + rest) / (known.high + rest), ratio)[visible]
        dark, dim = float((ratio < _DARK).mean()), float(((ratio >= _DARK) & (ratio < _DIM)).mean())
        if dark > 0.02 or float((ratio > _BRIGHT).mean()) > 0.08:
            return False
        needed = np.where(known.lines >= LINE, 0.4 * known.lines, 0).astype(np.float32)
        return bool(self._outlined(shot, [square], needed[None], shaded=np.array([dim > 0.06]))[0])

    def _is_smooth(self, shot: Snapshot, square: Square) -> bool:
        """Does the brightness of a square's paper change only gently, as in the soft edge of a shadow?"""
        row, inside = shot.row[square], self._cells.far_inside
        values = cv2.GaussianBlur(np.log(np.maximum(shot.tones[row], 0.03)), (0, 0), 1.0)
        kernel = np.ones((round(GENTLE_MM * self._cells.scale) // 2 * 2 + 1,) * 2, np.uint8)
        change = (cv2.dilate(values, kernel) - cv2.erode(values, kernel)).ravel()[inside]
        steep = change[shot.visible[row].ravel()[inside]] > _GENTLE
        return bool(steep.size and steep.mean() <= 0.02)

    def _as_shaded(self, shot: Snapshot, square: Square) -> bool:
        """Paper and outline under a shadow with edges."""
        cells, row = self._cells, shot.row[square]
        tone, seen, number = shot.tones[row], shot.visible[row], cells.number[square]
        if not shot.line_depth.any():
            return False
        paper = cells.surroundings[square in cells.marked]
        print_ = reflectance(tone, seen, paper, tuple(cells.next_to_paper[number].tolist()))
        if print_ is None:
            return False
        lines, _ = self._snapshots.outlines(print_[None], seen[None])
        needed, there = 0.4 * shot.line_share, ~np.isnan(lines[0])
        there &= ~cells.walled[number]
        missing = there & (np.where(there, lines[0], 0) < needed)
        return bool(there.sum() >= 3 and missing.sum() <= _MOST_MISSING * there.sum())

    def _outlined(self, shot: Snapshot, squares: Sequence[Square], needed: Tone, shaded: Mask) -> Mask:
        """(N,): are the outline's visible parts there, (N, 12) so deep as `needed`? Where a square lies in the shade
        (N,) every darkened part must be, and one must exist."""
        rows = shot.rows(squares)
        lines, shade = shot.lines[rows], shot.shade[rows]
        there = ~np.isnan(lines)
        shade = np.where(there, shade, 1)
        missing = there & (np.where(there, lines, 0) < needed * np.minimum(1, shade))
        good = missing.sum(axis=1) <= there.sum(axis=1) / 6
        # Where no outline is in sight, as in glare, nothing tells a bare square.
        good &= (there & ~missing & (lines >= LINE)).sum(axis=1) >= _LEAST_LINES
        darkened = there & (shade < _DIM)
        in_shade = darkened.any(axis=1) & ~(darkened & missing).any(axis=1) & shot.line_depth.any()
        return np.asarray(good & (~shaded | in_shade))
