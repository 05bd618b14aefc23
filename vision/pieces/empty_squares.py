"""Detection of empty squares by their print: paper, outline and marks have to be visible.

A square counts as empty only if its paper is in sight and its outline is in the right place. The
first judgement only knows that paper is white and outlines are dark. Later each square is compared
with how it looked when it was empty. Shadows darken paper but leave the outline visible, while
hands and objects hide it. All arrays are cells of squares, see `Snapshot`: tones are brightness
relative to white paper, and an outline has twelve parts, three on each side.

The limits were chosen by trial on rendered tables with hands, shadows, glare and pale pieces. They
lean to one side: a bare square may be called unknown, but a square with something on it must not be
called empty. `make bench ARGS=reading` counts both.
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
from vision.pieces.snapshots import LINE, Snapshot, Tone, measure_outlines, visible_quantile
from vision.pieces.square_cells import GENTLE_MM, Mask, SquareCells, cells_of

# Limits of tone, relative to what an empty square shows. A pixel is dark below the first one, as
# print is, dim below the second one, as paper in a shadow is, and bright above the last one.
_DARK, _DIM, _BRIGHT = 0.50, 0.86, 1.20

# Maximum change of paper's brightness (a logarithm) by a soft shadow within `GENTLE_MM`.
_MAX_GENTLE = 0.2

# Maximum share of the visible parts of an outline that may be missing, in plain light and under a
# shadow with edges: two of twelve, and one.
_MAX_MISSING, _MAX_MISSING_SHADED = 1 / 6, 1 / 9

# Minimum number of the twelve parts of its outline that a bare square shows: one side, or as many
# of several sides if pieces stand in front.
_MIN_LINES = 3

# Maximum share of bright pixels of white paper, and of a square compared with its known look.
_MAX_BRIGHT, _MAX_BRIGHT_LOOK = 0.12, 0.08

# Maximum share of dark pixels of white paper, of paper with a known look, and of a square compared
# with its look.
_MAX_SPECKS, _MAX_SPECKS_KNOWN, _MAX_SPECKS_LOOK = 0.03, 0.01, 0.02

# Maximum share of dim pixels of paper with a known look.
_MAX_DIM_KNOWN = 0.03

# Share of dim pixels above which paper, or a square compared with its look, counts as shaded.
_MIN_SHADED, _MIN_SHADED_LOOK = 0.08, 0.06

# Maximum share of pixels at which a soft shadow changes by more than `_MAX_GENTLE`.
_MAX_STEEP = 0.02

# Range of the plausible tone of a square's own paper, relative to white.
_PAPER_TONES = 0.8, 1.25

# Range of the overall change of brightness that is due to the light.
_LIGHT_LEVELS = 0.85, 1.18

# Maximum share of burnt-out pixels of a square that is judged.
_MAX_GLARE = 0.12

# Minimum visible share of a square that is judged, and of one whose look is learned.
_MIN_SEEN, _MIN_SEEN_TO_LEARN = 0.4, 0.98

# Weight of the newest look of an empty square in the running average. Larger: noise stays in it.
# Smaller: it follows changes of the light more slowly.
_NEWEST_WEIGHT = 0.2

# Minimum depth of a part of an outline, as a share of the expected depth.
_MIN_DEPTH_SHARE = 0.4

# Offset added to tones before they are divided, so that the noise of dark print does not count.
_TONE_OFFSET = 0.08

# Minimum tone that is divided by.
_MIN_TONE = 0.05

# Quantile of the tones of a square that counts as its own paper. A tenth may be glints.
_OWN_PAPER_QUANTILE = 0.9

# Blur in px, and minimum tone, before the change of a soft shadow is measured.
_SMOOTH_PX, _DARKEST = 1.0, 0.03


@dataclass(frozen=True, eq=False)
class BareLook:
    """How an empty square looks, as an average over pictures."""

    tone: Tone
    """(side, side): the brightness of its cell, relative to white paper."""
    darkest: Tone
    """(side, side): the minimum over each pixel and its neighbours."""
    brightest: Tone
    """(side, side): the maximum over each pixel and its neighbours."""
    line_depths: Tone
    """(12,): the depths of the parts of its outline. NaN where one is not visible."""


# The looks of a board's empty squares, as far as they were seen.
BareLooks = Mapping[Square, BareLook]


def find_empty(
    bare: BareLooks, board: Board, shot: Snapshot, squares: Iterable[Square]
) -> set[Square]:
    """Return those of these squares of a snapshot that are certainly empty, in plain light."""
    cells, empty = cells_of(board), set()
    plain, marked = list[Square](), list[Square]()
    for square in squares:
        if shot.burnt_share[shot.row_of[square]] > _MAX_GLARE:
            continue
        # Compare with its known look, otherwise with how any empty square looks.
        known = bare.get(square)
        if known is not None and _shows_known(shot, square, known):
            empty.add(square)
        else:
            group = marked if square in cells.marked_squares else plain
            group.append(square)

    # On squares with a printed mark only the middle can be examined.
    for group, is_marked in ((plain, False), (marked, True)):
        if group:
            is_paper = _shows_paper(bare, cells, shot, group, is_marked)
            empty.update(group[number] for number in np.flatnonzero(is_paper))
    return empty


def find_shaded(
    board: Board, shot: Snapshot, squares: Iterable[Square], max_failures: int
) -> tuple[set[Square], set[Square]]:
    """Return the squares that are bare under shadows with edges, and those whose test failed.

    None of `squares` is bare in plain light. A failed test takes some ten times as long, as every
    light is tried. So the search ends after `max_failures` of them.
    """
    cells, shaded, failed = cells_of(board), set[Square](), set[Square]()
    for square in squares:
        if len(failed) == max_failures:
            break
        is_clear = shot.burnt_share[shot.row_of[square]] <= _MAX_GLARE
        if is_clear and _shows_shaded(cells, shot, square):
            shaded.add(square)
        else:
            failed.add(square)
    return shaded, failed


def learn_bare(bare: BareLooks, shot: Snapshot, empty: Iterable[Square]) -> BareLooks:
    """Return the known looks, updated by these empty squares of a snapshot.

    Only squares in full view count.
    """
    learned, kernel = dict(bare), np.ones((3, 3), np.uint8)
    for square in empty:
        row = shot.row_of[square]
        if shot.visible[row].mean() < _MIN_SEEN_TO_LEARN:
            continue
        tone = shot.tones[row]
        if square in learned:
            # Earlier pictures fade.
            tone = (1 - _NEWEST_WEIGHT) * learned[square].tone + _NEWEST_WEIGHT * tone
        tone = np.asarray(tone, np.float32)
        darkest = np.asarray(cv2.erode(tone, kernel), np.float32)
        brightest = np.asarray(cv2.dilate(tone, kernel), np.float32)
        learned[square] = BareLook(tone, darkest, brightest, shot.line_depths[row])
    return learned


# ---- three tests: by paper, by a known look, and under a shadow ----------------------------------


def _shows_paper(
    bare: BareLooks, cells: SquareCells, shot: Snapshot, squares: Sequence[Square], is_marked: bool
) -> Mask:
    """Return (N,): whether each square shows white paper inside and an outline around it.

    `is_marked` is whether all these squares have a printed mark. They are judged at once. One by
    one they would take most of a picture's time.
    """
    rows = np.array([shot.row_of[square] for square in squares])
    pixels = cells.middle_pixels if is_marked else cells.paper_pixels
    tones = shot.tones[rows].reshape(len(rows), -1)[:, pixels]
    visible = shot.visible[rows].reshape(len(rows), -1)[:, pixels]

    # Divide by the tone of the square's own paper, if that is plausible. A quarter of the pixels is
    # enough.
    own_paper = visible_quantile(tones[:, ::4], visible[:, ::4], _OWN_PAPER_QUANTILE)
    is_usual = (own_paper >= _PAPER_TONES[0]) & (own_paper <= _PAPER_TONES[1])
    values = tones / np.where(is_usual, own_paper, 1)[:, None]

    # The shares (N,) of dark, dim and bright pixels.
    count, shares = np.maximum(visible.sum(axis=1), 1), []
    for in_band in (values < _DARK, values < _DIM, values > _BRIGHT):
        shares.append((in_band & visible).sum(axis=1) / count)
    dark, dark_or_dim, bright = shares
    dim = dark_or_dim - dark

    # Limits on the shares of bright, dark and dim pixels, which are glints, specks and shadows.
    # They are stricter for a square with a known look, as it has just failed that comparison.
    is_known = np.array([square in bare for square in squares])
    is_bare = (visible.mean(axis=1) >= _MIN_SEEN) & (bright <= _MAX_BRIGHT)
    is_bare &= dark <= np.where(is_known, _MAX_SPECKS_KNOWN, _MAX_SPECKS)
    is_bare &= ~is_known | ((dim <= _MAX_DIM_KNOWN) & shot.expected_depths.any())
    is_shaded = dim > _MIN_SHADED
    if is_marked:
        # If only the middle can be examined, a grey object may extend beyond it.
        is_bare &= ~is_shaded & (own_paper >= _DIM * _outline_tones(shot.line_tones[rows]))
    else:
        for number in np.flatnonzero(is_bare & is_shaded):
            is_bare[number] = _is_smooth(cells, shot, rows[number])
    is_bare &= _has_outline(shot, rows, _MIN_DEPTH_SHARE * shot.expected_depths, is_shaded)
    return np.asarray(is_bare)


def _outline_tones(along: Tone) -> Tone:
    """Return (N,): the median of the tones (N, 12) along outlines. 0 if none is visible.

    Writes to `along`.
    """
    along[np.isnan(along).all(axis=1)] = 0
    return np.asarray(np.nanmedian(along, axis=1))


def _shows_known(shot: Snapshot, square: Square, known: BareLook) -> bool:
    """Return whether a square shows the same print as before, possibly under another light."""
    row = shot.row_of[square]
    tone, visible = shot.tones[row], shot.visible[row]
    if visible.mean() < _MIN_SEEN:
        return False

    # An overall change of brightness within limits is due to the light.
    level = float(np.median(tone[visible] / np.maximum(known.tone[visible], _MIN_TONE)))
    if _LIGHT_LEVELS[0] <= level <= _LIGHT_LEVELS[1]:
        tone = tone / level

    # Compare with the darkest and the brightest neighbour of each pixel, as print may be shifted by
    # one pixel.
    darker = (tone + _TONE_OFFSET) / (known.darkest + _TONE_OFFSET)
    brighter = (tone + _TONE_OFFSET) / (known.brightest + _TONE_OFFSET)
    ratios = np.where(tone > known.brightest, brighter, np.minimum(darker, 1))
    ratio = ratios[visible]
    dark = float((ratio < _DARK).mean())
    dim = float((ratio < _DIM).mean()) - dark
    bright = float((ratio > _BRIGHT).mean())
    if dark > _MAX_SPECKS_LOOK or bright > _MAX_BRIGHT_LOOK:
        return False
    needed = np.where(known.line_depths >= LINE, _MIN_DEPTH_SHARE * known.line_depths, 0).astype(
        np.float32
    )
    is_shaded = np.array([dim > _MIN_SHADED_LOOK])
    return bool(_has_outline(shot, np.array([row]), needed, is_shaded)[0])


def _is_smooth(cells: SquareCells, shot: Snapshot, row: int) -> bool:
    """Return whether the brightness of a square's paper changes only gently, as in the soft edge of
    a shadow.
    """
    log_tones = np.log(np.maximum(shot.tones[row], _DARKEST))
    values = cv2.GaussianBlur(log_tones, (0, 0), _SMOOTH_PX)
    # The side of the kernel, an odd number of pixels.
    side = round(GENTLE_MM * cells.scale) // 2 * 2 + 1
    kernel = np.ones((side, side), np.uint8)
    change = cv2.dilate(values, kernel) - cv2.erode(values, kernel)
    visible = shot.visible[row].ravel()[cells.inner_pixels]
    steep = change.ravel()[cells.inner_pixels][visible] > _MAX_GENTLE
    return bool(steep.size and steep.mean() <= _MAX_STEEP)


def _shows_shaded(cells: SquareCells, shot: Snapshot, square: Square) -> bool:
    """Return whether a square shows paper and outline under a shadow with edges."""
    row, number = shot.row_of[square], cells.number_of[square]
    if not shot.expected_depths.any():
        return False
    visible = shot.visible[row]
    # The print that remains when the light is removed.
    paper = cells.paper_around[square in cells.marked_squares]
    sides = tuple(cells.next_to_paper[number].tolist())
    print_ = reflectance(shot.tones[row], visible, paper, sides)
    if print_ is None:
        return False
    walled = cells.walled_parts[[number]]
    (depths,), _ = measure_outlines(cells, print_[None], visible[None], walled)
    # All visible parts of its outline have to be present, but for a few.
    is_visible = ~np.isnan(depths)
    min_depths = _MIN_DEPTH_SHARE * shot.expected_shares
    missing = is_visible & (np.where(is_visible, depths, 0) < min_depths)
    max_missing = _MAX_MISSING_SHADED * is_visible.sum()
    return bool(is_visible.sum() >= _MIN_LINES and missing.sum() <= max_missing)


def _has_outline(shot: Snapshot, rows: NDArray[np.int_], min_depths: Tone, is_shaded: Mask) -> Mask:
    """Return (N,): whether each square's outline is present, where it is visible.

    Its parts have to be at least as deep as `min_depths` (12,). If a square `is_shaded` (N,), every
    darkened part has to be present, and there must be at least one.
    """
    depths, tones = shot.line_depths[rows], shot.line_tones[rows]
    is_visible = ~np.isnan(depths)
    # Shade reduces the depth of a line by the same factor.
    tones = np.where(is_visible, tones, 1)
    missing = is_visible & (np.where(is_visible, depths, 0) < min_depths * np.minimum(1, tones))
    is_present = missing.sum(axis=1) <= _MAX_MISSING * is_visible.sum(axis=1)
    # If no outline is visible, as in glare, a bare square cannot be recognised.
    is_clear = is_visible & ~missing & (depths >= LINE)
    is_present &= is_clear.sum(axis=1) >= _MIN_LINES
    is_darkened = is_visible & (tones < _DIM)
    is_whole = ~(is_darkened & missing).any(axis=1)
    is_under_shadow = is_darkened.any(axis=1) & is_whole & shot.expected_depths.any()
    return np.asarray(is_present & (~is_shaded | is_under_shadow))
