"""Is a square empty? Judged by what is printed there: paper, outline and marks must be seen, else
it is not empty.

A square counts as empty only when its paper is in sight and its outline is where it should be. The
first judgement knows nothing but "white paper, dark outline"; afterwards each square is compared
with how it looked when it was empty. Shadows darken paper but leave the outline, hands and things
hide it: that tells them apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from companion.core.grid import Square
from companion.core.kit import Board
from vision.pieces.shaded_squares import reflectance
from vision.pieces.snapshots import LINE, Snapshot, Tone, high_values, outlines
from vision.pieces.square_cells import GENTLE_MM, Mask, SquareCells, cells_of

_DARK, _DIM, _BRIGHT = 0.50, 0.86, 1.20
_GENTLE = 0.2
"""A soft shadow changes paper's brightness by less, a logarithm, within `GENTLE_MM`."""
_MOST_MISSING = 1 / 9
"""Under a shadow so much of what is in sight of an outline may not be there."""
_LEAST_LINES = 3
"""A bare square shows so many of the twelve parts of its outline: one side, or what pieces in front
leave of more."""
_MOST_GLARE = 0.12
"""A square of which more is burnt out is not judged."""
_LEAST_SEEN, _MOST_SEEN = 0.4, 0.98
"""Of a square that is judged, and of one by which is learned how it looks, so much is in sight."""
_FADE = 0.2
"""So much does the newest look of an empty square count."""
_OF_LINE = 0.4
"""A part of an outline is there when it has so much of the depth that can be expected."""
_PRINT = 0.08
"""Keeps the noise of dark print from counting."""


@dataclass(frozen=True, eq=False)
class Known:
    """How an empty square looks."""

    tone: Tone
    """(side, side): the brightness of its cell."""
    low: Tone
    high: Tone
    """(side, side): the darkest and the brightest of each pixel and its neighbours."""
    lines: Tone
    """(12,): how deep its outline is."""


Bare = Mapping[Square, Known]
"""How the squares of one board look when they are empty, as far as they were seen."""


def empty_among(bare: Bare, board: Board, shot: Snapshot, squares: Iterable[Square]) -> set[Square]:
    """Return those of these squares on which certainly nothing lies, in plain light."""
    cells, empty = cells_of(board), set()
    plain, marked = list[Square](), list[Square]()
    for square in squares:
        if shot.glare[shot.row[square]] > _MOST_GLARE:
            continue
        # As it looked when it was empty, or by what an empty square looks like.
        known = bare.get(square)
        if known is not None and _as_known(shot, square, known):
            empty.add(square)
        else:
            alike = marked if square in cells.marked else plain
            alike.append(square)

    # On squares with a printed mark only the middle can be asked.
    for alike, is_marked in ((plain, False), (marked, True)):
        if alike:
            # All squares of a kind at once.
            is_paper = _as_paper(bare, cells, shot, alike, is_marked)
            empty.update(map(alike.__getitem__, np.flatnonzero(is_paper)))
    return empty


def shaded_among(
    board: Board, shot: Snapshot, squares: Iterable[Square], most: int
) -> tuple[set[Square], set[Square]]:
    """Return those of these squares, none of which is bare in plain light, that are so under
    shadows with edges, and those that were asked in vain, `most` at most.

    To ask in vain takes some ten times as long, as every light is tried.
    """
    cells, shaded, vain = cells_of(board), set[Square](), set[Square]()
    for square in squares:
        if len(vain) == most:
            break
        is_clear = shot.glare[shot.row[square]] <= _MOST_GLARE
        is_bare = is_clear and _as_shaded(cells, shot, square)
        (shaded if is_bare else vain).add(square)
    return shaded, vain


def learn_bare(bare: Bare, shot: Snapshot, empty: Iterable[Square]) -> Bare:
    """Return how squares look after these were seen to be empty. Only those in full view count."""
    learned, kernel = dict(bare), np.ones((3, 3), np.uint8)
    for square in empty:
        row = shot.row[square]
        if shot.visible[row].mean() < _MOST_SEEN:
            continue
        tone = shot.tones[row]
        if square in learned:
            # Earlier looks fade.
            tone = (1 - _FADE) * learned[square].tone + _FADE * tone
        tone = np.asarray(tone, np.float32)
        # The darkest and the brightest of each pixel and its neighbours.
        low = np.asarray(cv2.erode(tone, kernel), np.float32)
        high = np.asarray(cv2.dilate(tone, kernel), np.float32)
        learned[square] = Known(tone, low, high, shot.lines[row])
    return learned


# ---- three judgements ----------------------------------------------------------------------------


def _as_paper(
    bare: Bare, cells: SquareCells, shot: Snapshot, squares: Sequence[Square], is_marked: bool
) -> Mask:
    """Return (N,): which of the squares show white paper inside, and an outline around it.

    All squares at once: one by one they would take most of a picture's time.
    """
    rows = np.array([shot.row[square] for square in squares])
    wanted = cells.middle if is_marked else cells.paper
    tones = shot.tones[rows].reshape(len(rows), -1)[:, wanted]
    visible = shot.visible[rows].reshape(len(rows), -1)[:, wanted]

    # By the square's own paper, where that is not too far from its neighbours'. A quarter of the
    # pixels is enough.
    own = high_values(tones[:, ::4], visible[:, ::4], 0.9)
    is_usual = (own >= 0.8) & (own <= 1.25)
    values = tones / np.where(is_usual, own, 1)[:, None]
    number, shares = np.maximum(visible.sum(axis=1), 1), []
    for is_so in (values < _DARK, values < _DIM, values > _BRIGHT):
        shares.append((is_so & visible).sum(axis=1) / number)
    dark, below, bright = shares
    dim = below - dark

    # Of a square that was seen empty more is asked, as it does not look as it did then.
    is_known = np.array([square in bare for square in squares])
    good = (visible.mean(axis=1) >= _LEAST_SEEN) & (bright <= 0.12)
    good &= dark <= np.where(is_known, 0.01, 0.03)
    good &= ~is_known | ((dim <= 0.03) & shot.line_depth.any())
    is_shaded = dim > 0.08
    if is_marked:
        # Where only the middle can be asked, something grey may lie there that reaches beyond it:
        # the paper has to be as bright as along the outline, 0 where nothing is seen of that.
        along = shot.shade[rows]
        along[np.isnan(along).all(axis=1)] = 0
        good &= ~is_shaded & (own >= _DIM * np.nanmedian(along, axis=1))
    else:
        for place in np.flatnonzero(good & is_shaded):
            good[place] = _is_smooth(cells, shot, rows[place])
    good &= _has_outline(shot, rows, _OF_LINE * shot.line_depth, is_shaded)
    return np.asarray(good)


def _as_known(shot: Snapshot, square: Square, known: Known) -> bool:
    """Tell whether a square shows the same print as before, possibly under another light."""
    row = shot.row[square]
    tone, visible = shot.tones[row], shot.visible[row]
    if visible.mean() < _LEAST_SEEN:
        return False

    # What is a little darker or brighter as a whole is so by the light.
    level = float(np.median(tone[visible] / np.maximum(known.tone[visible], 0.05)))
    if 0.85 <= level <= 1.18:
        tone = tone / level

    # By the darkest and the brightest neighbour of each pixel, as print may have moved by one.
    darker = (tone + _PRINT) / (known.low + _PRINT)
    brighter = (tone + _PRINT) / (known.high + _PRINT)
    ratios = np.where(tone > known.high, brighter, np.minimum(darker, 1))
    ratio = ratios[visible]
    dark = float((ratio < _DARK).mean())
    dim = float((ratio < _DIM).mean()) - dark
    bright = float((ratio > _BRIGHT).mean())
    if dark > 0.02 or bright > 0.08:
        return False
    needed = np.where(known.lines >= LINE, _OF_LINE * known.lines, 0).astype(np.float32)
    is_shaded = np.array([dim > 0.06])
    return bool(_has_outline(shot, np.array([row]), needed, is_shaded)[0])


def _is_smooth(cells: SquareCells, shot: Snapshot, row: int) -> bool:
    """Tell whether the brightness of a square's paper changes only gently.

    So it does in the soft edge of a shadow.
    """
    values = cv2.GaussianBlur(np.log(np.maximum(shot.tones[row], 0.03)), (0, 0), 1.0)
    # an odd number of px
    side = round(GENTLE_MM * cells.scale) // 2 * 2 + 1
    kernel = np.ones((side, side), np.uint8)
    change = cv2.dilate(values, kernel) - cv2.erode(values, kernel)
    visible = shot.visible[row].ravel()[cells.far_inside]
    steep = change.ravel()[cells.far_inside][visible] > _GENTLE
    return bool(steep.size and steep.mean() <= 0.02)


def _as_shaded(cells: SquareCells, shot: Snapshot, square: Square) -> bool:
    """Tell whether a square shows paper and outline under a shadow with edges."""
    row, number = shot.row[square], cells.number[square]
    if not shot.line_depth.any():
        return False
    visible = shot.visible[row]
    # What is left when the light is taken off.
    paper = cells.surroundings[square in cells.marked]
    print_ = reflectance(
        shot.tones[row], visible, paper, tuple(cells.next_to_paper[number].tolist())
    )
    if print_ is None:
        return False
    (depths,), _ = outlines(cells, print_[None], visible[None], cells.walled[[number]])
    # Its outline has to be all there.
    there = ~np.isnan(depths)
    missing = there & (np.where(there, depths, 0) < _OF_LINE * shot.line_share)
    return bool(there.sum() >= 3 and missing.sum() <= _MOST_MISSING * there.sum())


def _has_outline(shot: Snapshot, rows: NDArray[np.int_], needed: Tone, is_shaded: Mask) -> Mask:
    """Return (N,): are the outline's visible parts there, so deep as `needed` (12,)?

    Where a square lies in the shade (N,) every darkened part must be, and one must exist.
    """
    lines, shade = shot.lines[rows], shot.shade[rows]
    there = ~np.isnan(lines)
    # In the shade a line is less deep by as much.
    shade = np.where(there, shade, 1)
    missing = there & (np.where(there, lines, 0) < needed * np.minimum(1, shade))
    good = missing.sum(axis=1) <= there.sum(axis=1) / 6
    # Where no outline is in sight, as in glare, nothing tells a bare square.
    clear = there & ~missing & (lines >= LINE)
    good &= clear.sum(axis=1) >= _LEAST_LINES
    darkened = there & (shade < _DIM)
    is_whole = ~(darkened & missing).any(axis=1)
    in_shade = darkened.any(axis=1) & is_whole & shot.line_depth.any()
    return np.asarray(good & (~is_shaded | in_shade))
