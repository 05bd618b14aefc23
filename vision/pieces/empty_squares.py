"""Detection of empty squares by their print: paper, outline and marks have to be visible.

A square counts as empty only if its paper is in sight and its outline is in the right place.
Shadows darken paper but leave the outline visible, while hands and objects hide it. There are three
tests, and a square that passes one of them is empty:

1. By its known appearance, which is how it looked when it was seen empty (`_matches_appearance`).
2. By paper and outline alone, knowing only that paper is white and outlines are dark
   (`_shows_paper`).
3. Under a shadow with edges: compute what light can explain the brightness of its paper, remove
   that light, and look for paper and outline (`find_shaded_squares`). This is slow.

These words, and the arrays that they stand for, come from `snapshots.py` and `square_cells.py`:

- A *cell* is what the view from straight above shows of one square and the edges of its neighbours:
  (side, side) pixels, or (N, side, side) for N squares.
- A *tone* is brightness relative to white paper, which is 1. A pixel is *dark* as print is, *dim*
  as paper in a shadow is, or *bright* as a glint is.
- A pixel is *visible* unless a piece or glare hides it or it is outside the picture. It is *burnt
  out* if it is so bright that the camera cannot show any print there.
- An outline has twelve *parts*, three on each side, clockwise from the upper left. The *depth* of a
  part is how much darker its line is than the paper on both sides, as a difference of tones. It is
  NaN where the part is not visible.
- A square is *dim* if a soft shadow may lie on it, and *shaded* if a shadow with edges does.
- The *row* of a square is its index in the arrays of a `Snapshot`.

All limits here were chosen by trial on rendered tables with hands, shadows, glare and pale pieces,
where `make bench ARGS=reading` counts the errors. They lean to one side: an empty square may be
called unknown, but a square with something on it must not be called empty.
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
from vision.pieces.snapshots import (
    MIN_LINE_DEPTH,
    Snapshot,
    Tone,
    measure_outlines,
    visible_quantile,
)
from vision.pieces.square_cells import GENTLE_MM, Mask, SquareCells, cells_of

# ---- pixels, relative to what an empty square shows ----

# Tone below which a pixel is dark.
_DARK = 0.50

# Tone below which a pixel is dim.
_DIM = 0.86

# Tone above which a pixel is bright.
_BRIGHT = 1.20

# Maximum share of burnt-out pixels of a square that is judged.
_MAX_BURNT_SHARE = 0.12

# Minimum visible share of a square that is judged.
_MIN_VISIBLE_SHARE = 0.4

# ---- the test by paper. Shares are those of the visible pixels ----

# Maximum share of bright pixels.
_PAPER_MAX_BRIGHT = 0.12

# Maximum share of dark pixels.
_PAPER_MAX_DARK = 0.03

# Share of dim pixels above which the paper counts as dim.
_PAPER_MIN_DIM = 0.08

# Stricter limit of dark pixels for a square that has a known appearance and does not show it.
_MISMATCH_MAX_DARK = 0.01

# Maximum share of dim pixels for such a square.
_MISMATCH_MAX_DIM = 0.03

# Quantile of the tones of a square that counts as its own paper. A tenth may be glints.
_OWN_PAPER_QUANTILE = 0.9

# Limits of the tone of a square's own paper, by which its tones are then divided.
_MIN_OWN_PAPER = 0.8
_MAX_OWN_PAPER = 1.25

# Blur in px of a square before the gentle change of its brightness in a soft shadow is measured.
_SMOOTH_PX = 1.0

# Minimum tone whose logarithm is taken. Darker ones carry no information.
_MIN_LOG_TONE = 0.03

# Maximum change of paper's brightness (a natural logarithm) within `GENTLE_MM` in a soft shadow.
_MAX_GENTLE_CHANGE = 0.2

# Maximum share of pixels at which it changes by more.
_MAX_STEEP_SHARE = 0.02

# ---- the comparison with a known appearance. Shares are those of the visible pixels ----

# Maximum share of bright pixels.
_KNOWN_MAX_BRIGHT = 0.08

# Maximum share of dark pixels.
_KNOWN_MAX_DARK = 0.02

# Share of dim pixels above which the square counts as dim.
_KNOWN_MIN_DIM = 0.06

# Limits of the overall change of brightness of a square, as a factor. Within them, the light has
# changed. Beyond them, something else has.
_MIN_LIGHT_LEVEL = 0.85
_MAX_LIGHT_LEVEL = 1.18

# Offset added to tones before they are divided, so that the noise of dark print does not count.
_TONE_OFFSET = 0.08

# Minimum tone that is divided by.
_MIN_TONE = 0.05

# Minimum visible share of a square whose appearance is learned.
_MIN_VISIBLE_SHARE_TO_LEARN = 0.98

# Weight of the newest picture in the running average of an appearance. Larger: the appearance
# contains more noise. Smaller: it follows changes of the light more slowly.
_NEWEST_WEIGHT = 0.2

# ---- outlines, in all tests ----

# Minimum depth of a part that is present, as a share of the expected depth.
_MIN_DEPTH_SHARE = 0.4

# Maximum share of the visible parts that may be missing in plain light: two of twelve.
_MAX_MISSING_SHARE = 1 / 6

# The same under a shadow with edges: one of nine or more.
_MAX_MISSING_SHARE_SHADED = 1 / 9

# Minimum number of parts that an empty square shows: those of one side, or as many of several sides
# if pieces stand in front.
_MIN_PARTS = 3


@dataclass(frozen=True, eq=False)
class EmptyAppearance:
    """How one square looks when it is empty, as an average over pictures."""

    tone: Tone
    """(side, side): the tones of its cell."""
    darkest: Tone
    """(side, side): the minimum of `tone` over each pixel and its eight neighbours."""
    brightest: Tone
    """(side, side): the maximum of `tone` over the same pixels."""
    line_depths: Tone
    """(12,): the depths of the parts of its outline in the newest picture."""


# The known appearances of a board's squares, as far as they were seen empty.
EmptyAppearances = Mapping[Square, EmptyAppearance]


def find_empty_squares(
    appearances: EmptyAppearances, board: Board, snapshot: Snapshot, squares: Iterable[Square]
) -> set[Square]:
    """Return which of these squares of a snapshot are certainly empty, in plain light."""
    cells = cells_of(board)
    empty = set[Square]()
    plain = list[Square]()
    marked = list[Square]()
    for square in squares:
        if snapshot.burnt_share[snapshot.row_of[square]] > _MAX_BURNT_SHARE:
            continue
        # Compare with its known appearance, otherwise with how any empty square looks.
        appearance = appearances.get(square)
        if appearance is not None and _matches_appearance(snapshot, square, appearance):
            empty.add(square)
        else:
            group = marked if square in cells.marked_squares else plain
            group.append(square)

    # On squares with a printed mark only the middle can be examined.
    for group, is_marked in ((plain, False), (marked, True)):
        if group:
            is_paper = _shows_paper(appearances, cells, snapshot, group, is_marked)
            empty.update(group[index] for index in np.flatnonzero(is_paper))
    return empty


def find_shaded_squares(
    board: Board, snapshot: Snapshot, squares: Iterable[Square], max_failures: int
) -> tuple[set[Square], set[Square]]:
    """Return the squares that are empty under shadows with edges, and those whose test failed.

    Such shadows are those of a window frame or a blind. `squares` are those that do not look empty
    in plain light. A test that fails takes some ten times as long as one that succeeds, because
    every light is tried. So the search ends after `max_failures` failed tests, and the squares that
    follow are in neither set.
    """
    cells = cells_of(board)
    shaded = set[Square]()
    failed = set[Square]()
    for square in squares:
        if len(failed) == max_failures:
            break
        has_glare = snapshot.burnt_share[snapshot.row_of[square]] > _MAX_BURNT_SHARE
        if not has_glare and _shows_paper_in_shadow(cells, snapshot, square):
            shaded.add(square)
        else:
            failed.add(square)
    return shaded, failed


def learn_appearances(
    appearances: EmptyAppearances, snapshot: Snapshot, empty: Iterable[Square]
) -> EmptyAppearances:
    """Return the known appearances, updated by these empty squares of a snapshot.

    Squares that are partly hidden are left out.
    """
    updated = dict(appearances)
    kernel = np.ones((3, 3), np.uint8)
    for square in empty:
        row = snapshot.row_of[square]
        if snapshot.visible[row].mean() < _MIN_VISIBLE_SHARE_TO_LEARN:
            continue
        tone = snapshot.tones[row]
        if square in updated:
            # Earlier pictures fade.
            tone = (1 - _NEWEST_WEIGHT) * updated[square].tone + _NEWEST_WEIGHT * tone
        tone = np.asarray(tone, np.float32)
        darkest = np.asarray(cv2.erode(tone, kernel), np.float32)
        brightest = np.asarray(cv2.dilate(tone, kernel), np.float32)
        updated[square] = EmptyAppearance(tone, darkest, brightest, snapshot.line_depths[row])
    return updated


# ---- three tests: by paper, by a known appearance, and under a shadow ----------------------------


def _shows_paper(
    appearances: EmptyAppearances,
    cells: SquareCells,
    snapshot: Snapshot,
    squares: Sequence[Square],
    is_marked: bool,
) -> Mask:
    """Return (N,): whether each square shows white paper inside and an outline around it.

    `is_marked` says whether all these squares have a printed mark, such as a start or a goal. All N
    squares are judged at once, because one by one they would take most of a picture's time.
    """
    rows = np.array([snapshot.row_of[square] for square in squares])
    # Tones and visibility (N, P) of the P pixels of a cell that are plain paper.
    pixels = cells.middle_pixels if is_marked else cells.paper_pixels
    tones = snapshot.tones[rows].reshape(len(rows), -1)[:, pixels]
    visible = snapshot.visible[rows].reshape(len(rows), -1)[:, pixels]

    # Divide by the tone of the square's own paper, if that is plausible. A quarter of the pixels is
    # enough.
    own_paper = visible_quantile(tones[:, ::4], visible[:, ::4], _OWN_PAPER_QUANTILE)
    is_plausible = (own_paper >= _MIN_OWN_PAPER) & (own_paper <= _MAX_OWN_PAPER)
    values = tones / np.where(is_plausible, own_paper, 1)[:, None]

    # The shares (N,) of dark, dim and bright pixels among the visible ones.
    count = np.maximum(visible.sum(axis=1), 1)
    shares = []
    for in_band in (values < _DARK, values < _DIM, values > _BRIGHT):
        shares.append((in_band & visible).sum(axis=1) / count)
    dark, dark_or_dim, bright = shares
    dim = dark_or_dim - dark

    # Some such pixels are allowed: bright ones may be glints, dark ones specks, dim ones a shadow.
    is_empty = (visible.mean(axis=1) >= _MIN_VISIBLE_SHARE) & (bright <= _PAPER_MAX_BRIGHT)
    # A square with a known appearance has just failed that comparison, so less is tolerated.
    is_mismatch = np.array([square in appearances for square in squares])
    is_empty &= dark <= np.where(is_mismatch, _MISMATCH_MAX_DARK, _PAPER_MAX_DARK)
    is_clean = (dim <= _MISMATCH_MAX_DIM) & snapshot.has_outlines
    is_empty &= ~is_mismatch | is_clean
    is_dim = dim > _PAPER_MIN_DIM
    if is_marked:
        # If only the middle can be examined, a grey object may extend beyond it. So the paper there
        # has to be about as bright as the paper along the outline.
        line_tones = snapshot.line_tones[rows]
        is_hidden = np.isnan(line_tones).all(axis=1, keepdims=True)
        outside = np.nanmedian(np.where(is_hidden, 0, line_tones), axis=1)
        is_empty &= ~is_dim & (own_paper >= _DIM * outside)
    else:
        for index in np.flatnonzero(is_empty & is_dim):
            is_empty[index] = _is_smooth(cells, snapshot, rows[index])
    is_empty &= _shows_outline(snapshot, rows, _MIN_DEPTH_SHARE * snapshot.expected_depths, is_dim)
    return np.asarray(is_empty)


def _matches_appearance(snapshot: Snapshot, square: Square, appearance: EmptyAppearance) -> bool:
    """Return whether a square shows the same print as before, possibly under another light."""
    row = snapshot.row_of[square]
    tone = snapshot.tones[row]
    visible = snapshot.visible[row]
    if visible.mean() < _MIN_VISIBLE_SHARE:
        return False

    # An overall change of brightness within limits is due to the light.
    level = float(np.median(tone[visible] / np.maximum(appearance.tone[visible], _MIN_TONE)))
    if _MIN_LIGHT_LEVEL <= level <= _MAX_LIGHT_LEVEL:
        tone = tone / level

    # The ratio (side, side) of each pixel to what is known. As print may be shifted by one pixel,
    # the ratio is 1 for any tone between that of the darkest neighbour and the brightest one.
    to_darkest = (tone + _TONE_OFFSET) / (appearance.darkest + _TONE_OFFSET)
    to_brightest = (tone + _TONE_OFFSET) / (appearance.brightest + _TONE_OFFSET)
    ratios = np.where(tone > appearance.brightest, to_brightest, np.minimum(to_darkest, 1))
    visible_ratios = ratios[visible]
    dark = float((visible_ratios < _DARK).mean())
    dim = float((visible_ratios < _DIM).mean()) - dark
    bright = float((visible_ratios > _BRIGHT).mean())
    if dark > _KNOWN_MAX_DARK or bright > _KNOWN_MAX_BRIGHT:
        return False
    # A part of the outline that never had a line, such as one towards a wall, cannot be missing.
    min_depths = np.where(
        appearance.line_depths >= MIN_LINE_DEPTH, _MIN_DEPTH_SHARE * appearance.line_depths, 0
    )
    is_dim = np.array([dim > _KNOWN_MIN_DIM])
    rows = np.array([row])
    return bool(_shows_outline(snapshot, rows, min_depths.astype(np.float32), is_dim)[0])


def _is_smooth(cells: SquareCells, snapshot: Snapshot, row: int) -> bool:
    """Return whether a square's paper changes only gently, as in the soft edge of a shadow.

    `row` is the square's row in the snapshot.
    """
    log_tones = np.log(np.maximum(snapshot.tones[row], _MIN_LOG_TONE))
    values = cv2.GaussianBlur(log_tones, (0, 0), _SMOOTH_PX)
    # The side of the kernel, an odd number of pixels.
    side = round(GENTLE_MM * cells.scale) // 2 * 2 + 1
    kernel = np.ones((side, side), np.uint8)
    change = cv2.dilate(values, kernel) - cv2.erode(values, kernel)
    visible = snapshot.visible[row].ravel()[cells.inner_pixels]
    steep = change.ravel()[cells.inner_pixels][visible] > _MAX_GENTLE_CHANGE
    return bool(steep.size and steep.mean() <= _MAX_STEEP_SHARE)


def _shows_paper_in_shadow(cells: SquareCells, snapshot: Snapshot, square: Square) -> bool:
    """Return whether a square shows paper and outline under a shadow with edges."""
    if not snapshot.has_outlines:
        return False
    row = snapshot.row_of[square]
    # Its index among all squares of the board.
    index = cells.index_of[square]
    visible = snapshot.visible[row]
    # The print (side, side) that remains when the light is removed.
    paper = cells.paper_of_marked if square in cells.marked_squares else cells.paper
    sides = tuple(cells.next_to_paper[index].tolist())
    printed = reflectance(snapshot.tones[row], visible, paper, sides)
    if printed is None:
        return False
    is_lineless = cells.lineless_parts[[index]]
    (depths,), _ = measure_outlines(cells, printed[None], visible[None], is_lineless)
    # All visible parts of its outline have to be present, but for a few. The depth of a part that
    # is not visible is NaN, and a comparison with NaN is false.
    visible_count = np.count_nonzero(~np.isnan(depths))
    missing_count = np.count_nonzero(depths < _MIN_DEPTH_SHARE * snapshot.expected_shares)
    is_present = missing_count <= _MAX_MISSING_SHARE_SHADED * visible_count
    return bool(visible_count >= _MIN_PARTS and is_present)


def _shows_outline(
    snapshot: Snapshot, rows: NDArray[np.int_], min_depths: Tone, is_dim: Mask
) -> Mask:
    """Return (N,): whether each square's outline is present, where it is visible.

    `rows` (N,) are the squares' rows in the snapshot. The parts of an outline have to be at
    least as deep as `min_depths` (12,). A square that `is_dim` (N,) passes only if the dimness is
    a shadow that also falls on the outline.
    """
    # Both (N, 12), as are all masks below until they are summed up over the parts.
    depths = snapshot.line_depths[rows]
    tones = snapshot.line_tones[rows]
    # A shadow reduces the depth of a line by the same factor. Comparisons with NaN are false, so
    # only visible parts can be missing or clear.
    missing = depths < min_depths * np.minimum(1, tones)
    is_present = missing.sum(axis=1) <= _MAX_MISSING_SHARE * (~np.isnan(depths)).sum(axis=1)
    # If no outline is visible, as in glare, an empty square cannot be recognised.
    is_clear = ~missing & (depths >= MIN_LINE_DEPTH)
    is_present &= is_clear.sum(axis=1) >= _MIN_PARTS
    # In a shadow, at least one part is darkened, and no darkened part is missing. An object would
    # hide some of the parts that it darkens.
    is_darkened = tones < _DIM
    is_in_shadow = is_darkened.any(axis=1) & ~(is_darkened & missing).any(axis=1)
    is_in_shadow &= snapshot.has_outlines
    return np.asarray(is_present & (~is_dim | is_in_shadow))
