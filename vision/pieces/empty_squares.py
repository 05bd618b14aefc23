"""Detection of empty squares by their print: paper, outline and marks have to be visible.

A square counts as empty only if its paper is in sight and its outline is in the right place. The
first judgement only knows that paper is white and outlines are dark. Later each square is compared
with how it looked when it was empty. Shadows darken paper but leave the outline visible, while
hands and objects hide it.
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
"""Limits of tone, relative to what an empty square shows: below them a pixel is dark or dim, above
the last one bright.
"""
_MAX_GENTLE = 0.2
"""Maximum change of paper's brightness (a logarithm) by a soft shadow within `GENTLE_MM`."""
_MAX_MISSING = 1 / 9
"""Maximum share of the visible parts of an outline that may be missing under a shadow."""
_MIN_LINES = 3
"""Minimum number of the twelve parts of its outline that a bare square shows: one side, or as many
of several sides if pieces stand in front.
"""
_MAX_BRIGHT, _MAX_BRIGHT_LOOK = 0.12, 0.08
"""Maximum share of bright pixels of white paper, and of a square compared with its known look."""
_MAX_SPECKS, _MAX_SPECKS_KNOWN, _MAX_SPECKS_LOOK = 0.03, 0.01, 0.02
"""Maximum share of dark pixels of white paper, of paper with a known look, and of a square compared
with its look.
"""
_MAX_DIM_KNOWN = 0.03
"""Maximum share of dim pixels of paper with a known look."""
_MIN_SHADED, _MIN_SHADED_LOOK = 0.08, 0.06
"""Share of dim pixels above which paper, or a square with a known look, counts as shaded."""
_MAX_STEEP = 0.02
"""Maximum share of pixels at which a soft shadow changes by more than `_MAX_GENTLE`."""
_PAPER_TONES = 0.8, 1.25
"""Range of the plausible tone of a square's own paper, relative to white."""
_LIGHT_LEVELS = 0.85, 1.18
"""Range of the overall change of brightness that is due to the light."""
_MAX_GLARE = 0.12
"""Maximum share of burnt-out pixels of a square that is judged."""
_MIN_SEEN, _MIN_SEEN_TO_LEARN = 0.4, 0.98
"""Minimum visible share of a square that is judged, and of one whose look is learned."""
_NEWEST_WEIGHT = 0.2
"""Weight of the newest look of an empty square in the running average."""
_MIN_LINE_SHARE = 0.4
"""Minimum depth of a part of an outline, as a share of the expected depth."""
_TONE_OFFSET = 0.08
"""Offset added to tones before they are divided, so that the noise of dark print does not count."""


@dataclass(frozen=True, eq=False)
class Known:
    """How an empty square looks."""

    tone: Tone
    """(side, side): the brightness of its cell."""
    low: Tone
    high: Tone
    """(side, side): minimum and maximum over each pixel and its neighbours."""
    lines: Tone
    """(12,): the depths of the parts of its outline."""


Bare = Mapping[Square, Known]
"""The looks of a board's empty squares, as far as they were seen."""


def empty_among(bare: Bare, board: Board, shot: Snapshot, squares: Iterable[Square]) -> set[Square]:
    """Return those of these squares that are certainly empty, in plain light."""
    cells, empty = cells_of(board), set()
    plain, marked = list[Square](), list[Square]()
    for square in squares:
        if shot.glare[shot.row[square]] > _MAX_GLARE:
            continue
        # Compare with its known look, otherwise with how any empty square looks.
        known = bare.get(square)
        if known is not None and _shows_known(shot, square, known):
            empty.add(square)
        else:
            alike = marked if square in cells.marked else plain
            alike.append(square)

    # On squares with a printed mark only the middle can be examined.
    for alike, is_marked in ((plain, False), (marked, True)):
        if alike:
            # All squares of a kind at once.
            is_paper = _shows_paper(bare, cells, shot, alike, is_marked)
            empty.update(map(alike.__getitem__, np.flatnonzero(is_paper)))
    return empty


def shaded_among(
    board: Board, shot: Snapshot, squares: Iterable[Square], max_failures: int
) -> tuple[set[Square], set[Square]]:
    """Return the squares that are bare under shadows with edges, and those whose test failed.

    None of `squares` is bare in plain light. A failed test takes some ten times as long, as every
    light is tried. So the search ends after `max_failures` of them.
    """
    cells, shaded, vain = cells_of(board), set[Square](), set[Square]()
    for square in squares:
        if len(vain) == max_failures:
            break
        is_clear = shot.glare[shot.row[square]] <= _MAX_GLARE
        is_bare = is_clear and _shows_shaded(cells, shot, square)
        (shaded if is_bare else vain).add(square)
    return shaded, vain


def learn_bare(bare: Bare, shot: Snapshot, empty: Iterable[Square]) -> Bare:
    """Return the known looks, updated by these empty squares. Only squares in full view count."""
    learned, kernel = dict(bare), np.ones((3, 3), np.uint8)
    for square in empty:
        row = shot.row[square]
        if shot.visible[row].mean() < _MIN_SEEN_TO_LEARN:
            continue
        tone = shot.tones[row]
        if square in learned:
            # Earlier looks fade.
            tone = (1 - _NEWEST_WEIGHT) * learned[square].tone + _NEWEST_WEIGHT * tone
        tone = np.asarray(tone, np.float32)
        # Minimum and maximum over each pixel and its neighbours.
        low = np.asarray(cv2.erode(tone, kernel), np.float32)
        high = np.asarray(cv2.dilate(tone, kernel), np.float32)
        learned[square] = Known(tone, low, high, shot.lines[row])
    return learned


# ---- three judgements ----------------------------------------------------------------------------


def _shows_paper(
    bare: Bare, cells: SquareCells, shot: Snapshot, squares: Sequence[Square], is_marked: bool
) -> Mask:
    """Return (N,): whether each square shows white paper inside and an outline around it.

    All squares are judged at once. One by one they would take most of a picture's time.
    """
    rows = np.array([shot.row[square] for square in squares])
    wanted = cells.middle if is_marked else cells.paper
    tones = shot.tones[rows].reshape(len(rows), -1)[:, wanted]
    visible = shot.visible[rows].reshape(len(rows), -1)[:, wanted]

    # Divide by the tone of the square's own paper, if that is plausible. A quarter of the pixels is
    # enough.
    own = high_values(tones[:, ::4], visible[:, ::4], 0.9)
    is_usual = (own >= _PAPER_TONES[0]) & (own <= _PAPER_TONES[1])
    values = tones / np.where(is_usual, own, 1)[:, None]
    number, shares = np.maximum(visible.sum(axis=1), 1), []
    for in_band in (values < _DARK, values < _DIM, values > _BRIGHT):
        shares.append((in_band & visible).sum(axis=1) / number)
    dark, below, bright = shares
    dim = below - dark

    # Limits on the shares of bright, dark and dim pixels, which are glints, specks and shadows.
    # They are stricter for a square with a known look, as it has just failed that comparison.
    is_known = np.array([square in bare for square in squares])
    good = (visible.mean(axis=1) >= _MIN_SEEN) & (bright <= _MAX_BRIGHT)
    good &= dark <= np.where(is_known, _MAX_SPECKS_KNOWN, _MAX_SPECKS)
    good &= ~is_known | ((dim <= _MAX_DIM_KNOWN) & shot.line_depth.any())
    is_shaded = dim > _MIN_SHADED
    if is_marked:
        # If only the middle can be examined, a grey object may extend beyond it.
        good &= ~is_shaded & (own >= _DIM * _outline_tones(shot.shade[rows]))
    else:
        for place in np.flatnonzero(good & is_shaded):
            good[place] = _is_smooth(cells, shot, rows[place])
    good &= _has_outline(shot, rows, _MIN_LINE_SHARE * shot.line_depth, is_shaded)
    return np.asarray(good)


def _outline_tones(along: Tone) -> Tone:
    """Return (N,): the median of the tones along each square's outline. 0 if none is visible."""
    along[np.isnan(along).all(axis=1)] = 0
    return np.asarray(np.nanmedian(along, axis=1))


def _shows_known(shot: Snapshot, square: Square, known: Known) -> bool:
    """Return whether a square shows the same print as before, possibly under another light."""
    row = shot.row[square]
    tone, visible = shot.tones[row], shot.visible[row]
    if visible.mean() < _MIN_SEEN:
        return False

    # An overall change of brightness within limits is due to the light.
    level = float(np.median(tone[visible] / np.maximum(known.tone[visible], 0.05)))
    if _LIGHT_LEVELS[0] <= level <= _LIGHT_LEVELS[1]:
        tone = tone / level

    # Compare with the darkest and the brightest neighbour of each pixel, as print may be shifted by
    # one pixel.
    darker = (tone + _TONE_OFFSET) / (known.low + _TONE_OFFSET)
    brighter = (tone + _TONE_OFFSET) / (known.high + _TONE_OFFSET)
    ratios = np.where(tone > known.high, brighter, np.minimum(darker, 1))
    ratio = ratios[visible]
    dark = float((ratio < _DARK).mean())
    dim = float((ratio < _DIM).mean()) - dark
    bright = float((ratio > _BRIGHT).mean())
    if dark > _MAX_SPECKS_LOOK or bright > _MAX_BRIGHT_LOOK:
        return False
    needed = np.where(known.lines >= LINE, _MIN_LINE_SHARE * known.lines, 0).astype(np.float32)
    is_shaded = np.array([dim > _MIN_SHADED_LOOK])
    return bool(_has_outline(shot, np.array([row]), needed, is_shaded)[0])


def _is_smooth(cells: SquareCells, shot: Snapshot, row: int) -> bool:
    """Return whether the brightness of a square's paper changes only gently, as in the soft edge of
    a shadow.
    """
    values = cv2.GaussianBlur(np.log(np.maximum(shot.tones[row], 0.03)), (0, 0), 1.0)
    # The side of the kernel, an odd number of pixels.
    side = round(GENTLE_MM * cells.scale) // 2 * 2 + 1
    kernel = np.ones((side, side), np.uint8)
    change = cv2.dilate(values, kernel) - cv2.erode(values, kernel)
    visible = shot.visible[row].ravel()[cells.far_inside]
    steep = change.ravel()[cells.far_inside][visible] > _MAX_GENTLE
    return bool(steep.size and steep.mean() <= _MAX_STEEP)


def _shows_shaded(cells: SquareCells, shot: Snapshot, square: Square) -> bool:
    """Return whether a square shows paper and outline under a shadow with edges."""
    row, number = shot.row[square], cells.number[square]
    if not shot.line_depth.any():
        return False
    visible = shot.visible[row]
    # The print that remains when the light is removed.
    paper = cells.surroundings[square in cells.marked]
    print_ = reflectance(
        shot.tones[row], visible, paper, tuple(cells.next_to_paper[number].tolist())
    )
    if print_ is None:
        return False
    (depths,), _ = outlines(cells, print_[None], visible[None], cells.walled[[number]])
    # All visible parts of its outline have to be present, but for a few.
    there = ~np.isnan(depths)
    missing = there & (np.where(there, depths, 0) < _MIN_LINE_SHARE * shot.line_share)
    return bool(there.sum() >= _MIN_LINES and missing.sum() <= _MAX_MISSING * there.sum())


def _has_outline(shot: Snapshot, rows: NDArray[np.int_], needed: Tone, is_shaded: Mask) -> Mask:
    """Return (N,): whether the outline's visible parts are present, at least as deep as `needed`
    (12,).

    If a square is in the shade (N,), every darkened part has to be present, and there must be at
    least one.
    """
    lines, shade = shot.lines[rows], shot.shade[rows]
    there = ~np.isnan(lines)
    # Shade reduces the depth of a line by the same factor.
    shade = np.where(there, shade, 1)
    missing = there & (np.where(there, lines, 0) < needed * np.minimum(1, shade))
    # In plain light one part in six may be missing.
    good = missing.sum(axis=1) <= there.sum(axis=1) / 6
    # If no outline is visible, as in glare, a bare square cannot be recognised.
    clear = there & ~missing & (lines >= LINE)
    good &= clear.sum(axis=1) >= _MIN_LINES
    darkened = there & (shade < _DIM)
    is_whole = ~(darkened & missing).any(axis=1)
    in_shade = darkened.any(axis=1) & is_whole & shot.line_depth.any()
    return np.asarray(good & (~is_shaded | in_shade))
