"""Detection of empty squares under shadows with edges, such as shadows of a window or a blind.

A shadow darkens paper, outline and neighbours alike, and it continues beyond the square. Its edge
is nearly a straight line: the light changes across the edge, but hardly along it. So for one square
(`reflectance`):

1. Take the brightness of the square's paper, and of the paper next to it.
2. Find the direction in which it changes most, which is across the edge of a shadow.
3. Fit a light that is a function of the coordinate in this direction alone. Try directions nearby,
   and then a light that also changes gently along the edge, until one explains all of this paper.
4. Divide by this light. What remains is the print, in which the caller looks for an outline.

A piece fails this test, because its marker changes in all directions and ends at its square.

Instead of brightness, its natural logarithm is used, so that light and paper add up. A difference
of .1 is about 10 %. Directions are angles in radians in the view, from x (right) to y (down).

The limits were chosen by trial on rendered tables under blinds, windows and hands. With them, a
square with a piece must never be called empty, while an empty one may be called unknown.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.detection.stillness import fast_median

# Brightness of a cell relative to paper or its logarithm, (h, w) or (N,).
Values = NDArray[np.float32]

# Offsets from the middle of a cell, (N, 2) mm, x right and y down.
Offsets = NDArray[np.float32]

# Offsets in degrees of three searches for the direction across the edge. The first is around the
# direction in which the picture changes most, the others around the best one.
_SEARCH_DEG: tuple[tuple[float, ...], ...] = ((-20, -10, 10, 20), (-6, -3, 3, 6), (-1.5, 1.5))

# Offsets in degrees from the first direction, for a soft rim of another shadow that crosses the
# edge.
_CROSSING_DEG = (0.0, -4.0, 4.0, -10.0, 10.0)

# Step in mm of the light's profile across the edge: about a pixel of the view.
_STEP_MM = 0.8

# Minimum number of pixels in a step.
_MIN_PIXELS = 4

# Maximum residual (a logarithm) between paper and the estimated light. A pixel with a larger one is
# an outlier.
_MAX_RESIDUAL = 0.14

# Maximum share of outliers in paper that a light explains.
_MAX_OUTLIER_SHARE = 0.03

# Minimum width of a shadow in mm.
_MIN_SHADOW_MM = 5.0

# Difference (a logarithm) above which a narrower stripe is an object.
_MIN_STRIPE = 0.2

# Minimum tone, relative to paper, whose logarithm is taken. Darker ones carry no information.
_MIN_LOG_TONE = 0.03

# Quantiles that bound the tones of most of a square's paper.
_MOST_QUANTILES = 0.1, 0.9

# Quantiles that bound the tones of all paper beyond a square.
_ALL_QUANTILES = 0.03, 0.97

# About half a square, which scales offsets along an edge to about 1.
_HALF_MM = 20.0

# Minimum share of the paper inside the outline that must be in sight.
_MIN_INSIDE_SHARE = 0.4

# The same for the paper beyond the outline, on all four sides together.
_MIN_BEYOND_SHARE = 0.12


@dataclass(frozen=True, eq=False)
class PaperPixels:
    """Pixels of a cell that show paper without print, by which the light on a square is estimated.

    They are the same for many squares of a board. The index of a pixel counts row by row.
    """

    inside: NDArray[np.int_]
    """Indices of the pixels inside the outline."""
    beyond: tuple[NDArray[np.int_], ...]
    """Indices of the pixels beyond each side of the outline: top, right, bottom, left."""
    offsets_mm: Offsets
    """(N, 2): offsets of all pixels."""
    max_difference: float
    """Maximum difference (a logarithm) between the paper inside and beyond the outline. Larger on a
    board of two tones, such as a chess board.
    """
    gentle_terms: int = 6
    """Number of terms for gentle changes of the light along an edge. Few if only a small part of a
    square is examined.
    """


class _Cell(NamedTuple):
    """One square's cell in one picture."""

    # (N,): logarithms of the brightness of all pixels.
    values: Values
    # (M,): indices of pixels that are paper in sight.
    sampled: NDArray[np.int_]
    # (M,): which of these lie beyond the outline.
    is_beyond: NDArray[np.bool_]
    # Which pixels of such a cell are paper.
    pixels: PaperPixels


@dataclass(frozen=True, eq=False)
class _Light:
    """The logarithm of the light on a cell, as a function of the coordinate across a straight edge.

    It may also change gently along the edge.
    """

    # Direction across the edge.
    angle_rad: float
    # Indices of steps of `_STEP_MM` across the edge, and the light on each.
    profile: tuple[NDArray[np.int_], NDArray[np.float64]] = (np.zeros(1, int), np.zeros(1))
    # Coefficients of the gentle changes, see `_gentle_terms`. None if there are none.
    coefficients: NDArray[np.float64] | None = None
    # Coordinate across the edge at which step 0 begins.
    first_mm: float = 0.0
    # Share of the cell's paper that is brighter or darker than this light explains.
    outlier_share: float = 1.0
    # Whether this light has a stripe that is too narrow for a shadow, as an object causes.
    has_narrow_stripes: bool = True

    @property
    def explains_paper(self) -> bool:
        """Whether all of the cell's paper is white in this light, but for a few pixels."""
        return self.outlier_share <= _MAX_OUTLIER_SHARE and not self.has_narrow_stripes

    def at(self, offsets_mm: Offsets) -> Values:
        """Return (N,): the light at these offsets (N, 2) from the middle of the cell."""
        across_mm = _across_mm(offsets_mm, self.angle_rad)
        # A step's light is that at its middle.
        values = np.interp((across_mm - self.first_mm) / _STEP_MM - 0.5, *self.profile)
        if self.coefficients is not None:
            terms = _gentle_terms(offsets_mm, across_mm, self.angle_rad)
            values += terms[:, : self.coefficients.size] @ self.coefficients
        return np.asarray(values, np.float32)


def reflectance(
    tone: Values, visible: NDArray[np.bool_], paper: PaperPixels, sides: tuple[bool, ...]
) -> Values | None:
    """Return the print of a cell, (h, w): its brightness divided by the light on each pixel.

    Returns None if too little of its paper is in sight, or if no light explains its brightness.
    `tone` (h, w) is the cell's brightness relative to paper. `visible` (h, w) is False where
    something stands in front. `sides` says for the top, right, bottom and left side whether there
    is plain paper beyond it.
    """
    # Paper in sight, inside the outline and beyond it.
    in_sight = visible.ravel()
    inside = paper.inside[in_sight[paper.inside]]
    parts = [np.zeros(0, int)]
    for part, has_paper in zip(paper.beyond, sides, strict=True):
        if has_paper:
            parts.append(part[in_sight[part]])
    beyond = np.concatenate(parts)
    min_beyond = _MIN_BEYOND_SHARE * sum(part.size for part in paper.beyond)
    if inside.size < _MIN_INSIDE_SHARE * paper.inside.size or beyond.size < min_beyond:
        return None
    values = np.log(np.maximum(tone, _MIN_LOG_TONE))
    angle_rad = _steepest_direction(values, inside, beyond)

    # A part of the pixels is enough.
    some_inside = inside[::3]
    some_beyond = beyond[::2]
    sampled = np.concatenate([some_inside, some_beyond])
    is_beyond = np.arange(sampled.size) >= some_inside.size
    cell = _Cell(values.ravel(), sampled, is_beyond, paper)
    light = _best_light(cell, angle_rad)
    if not light.explains_paper:
        return None
    reflected = np.exp(cell.values - light.at(paper.offsets_mm))
    return np.asarray(reflected.reshape(tone.shape), np.float32)


def _best_light(cell: _Cell, angle_rad: float) -> _Light:
    """Return the simplest light that explains a cell's paper, if there is one.

    If no light explains the paper, the returned one does not either: check its `explains_paper`.
    The search starts with a light that changes in the direction `angle_rad`.
    """
    best = _fit_light(cell, angle_rad)
    for offsets_deg in _SEARCH_DEG:
        if best.explains_paper:
            return best
        middle_rad = best.angle_rad
        for offset_rad in np.radians(offsets_deg):
            light = _fit_light(cell, middle_rad + offset_rad)
            best = light if light.outlier_share < best.outlier_share else best
    if best.explains_paper or not _continues_beyond(cell):
        return best
    # Where two shadows cross, the steepest change is the edge of one of them. The soft rim of the
    # other one is a gentle change along that edge.
    for direction_rad in (best.angle_rad, *(angle_rad + np.radians(_CROSSING_DEG))):
        best = _fit_light(cell, direction_rad, is_uneven=True)
        if best.explains_paper:
            break
    return best


def _continues_beyond(cell: _Cell) -> bool:
    """Return whether the tones of the paper within the outline also occur beyond it.

    A tone that occurs only within the outline belongs to an object on the square.
    """
    values = cell.values[cell.sampled]
    if cell.is_beyond.all() or not cell.is_beyond.any():
        # Paper on one side alone proves nothing.
        return False
    dark, bright = np.quantile(values[~cell.is_beyond], _MOST_QUANTILES)
    dark_beyond, bright_beyond = np.quantile(values[cell.is_beyond], _ALL_QUANTILES)
    tolerance = _MAX_RESIDUAL + cell.pixels.max_difference
    return bool(dark > dark_beyond - tolerance and bright < bright_beyond + tolerance)


def _steepest_direction(
    values: Values, inside: NDArray[np.int_], beyond: NDArray[np.int_]
) -> float:
    """Return the direction in radians in which paper changes most, of a cell's `values` (h, w)."""
    paper = np.zeros(values.size, np.uint8)
    paper[inside] = 255
    paper[beyond] = 255
    # Pixels whose neighbours are paper too.
    is_clear = cv2.erode(paper.reshape(values.shape), np.ones((3, 3), np.uint8)) > 0
    smooth = cv2.GaussianBlur(values, (0, 0), 1.0)
    right = cv2.Sobel(smooth, cv2.CV_32F, 1, 0)[is_clear]
    down = cv2.Sobel(smooth, cv2.CV_32F, 0, 1)[is_clear]
    # The main axis of all slopes, by their structure tensor.
    return 0.5 * float(np.arctan2(2 * (right * down).sum(), (right**2 - down**2).sum()))


def _across_mm(offsets_mm: Offsets, angle_rad: float) -> Values:
    """Return (N,): the coordinate of each offset (N, 2) in this direction."""
    return offsets_mm @ np.array([np.cos(angle_rad), np.sin(angle_rad)], np.float32)


def _gentle_terms(offsets_mm: Offsets, across_mm: Values, angle_rad: float) -> NDArray[np.float64]:
    """Return (N, 6): cubic polynomials for gentle changes of a light along an edge.

    They describe the soft rim of another shadow. Each term changes along the edge. Terms of
    `across_mm` (N,) alone are left out, because the light's profile contains them already.
    """
    along = _across_mm(offsets_mm, angle_rad + np.pi / 2) / _HALF_MM
    across = across_mm / _HALF_MM
    return np.column_stack(
        [along, along * across, along**2, along * across**2, along**2 * across, along**3]
    )


def _fit_light(cell: _Cell, angle_rad: float, *, is_uneven: bool = False) -> _Light:
    """Return the light that fits a cell's paper best if it changes in the direction `angle_rad`.

    With `is_uneven`, the light may also change gently along the edge.
    """
    offsets_mm = cell.pixels.offsets_mm[cell.sampled]
    across_mm = _across_mm(offsets_mm, angle_rad)
    first_mm = float(across_mm.min())
    # The step of each sampled pixel, (M,).
    steps = ((across_mm - first_mm) / _STEP_MM).astype(int)
    counts = np.bincount(steps)
    known_steps = np.flatnonzero(counts >= _MIN_PIXELS)
    if not known_steps.size:
        return _Light(angle_rad)
    values = np.asarray(cell.values[cell.sampled], np.float64)
    coefficients = None
    even = values
    if is_uneven:
        terms = _gentle_terms(offsets_mm, across_mm, angle_rad)[:, : cell.pixels.gentle_terms]
        coefficients = _gentle_coefficients(terms, cell, steps)
        even = values - terms @ coefficients

    # Alternate between the mean of each step and the tone of the paper beyond the outline.
    tone = 0.0
    max_tone = cell.pixels.max_difference
    for _ in range(3):
        means = np.bincount(steps, even - tone * cell.is_beyond) / np.maximum(counts, 1)
        if cell.is_beyond.any():
            residual = even - tone * cell.is_beyond - means[steps]
            change = fast_median(residual[cell.is_beyond]) - fast_median(residual[~cell.is_beyond])
            tone = min(max(tone + change, -max_tone), max_tone)
    profile = means[known_steps]
    light = _Light(
        angle_rad, profile=(known_steps, profile), coefficients=coefficients, first_mm=first_mm
    )
    residual = values - tone * cell.is_beyond - light.at(offsets_mm)
    is_outlier = np.abs(residual - fast_median(residual)) > _MAX_RESIDUAL
    outlier_share = float(np.count_nonzero(is_outlier) / residual.size)
    has_stripes = _has_narrow_stripes(profile)
    return replace(light, outlier_share=outlier_share, has_narrow_stripes=has_stripes)


def _gentle_coefficients(
    terms: NDArray[np.float64], cell: _Cell, steps: NDArray[np.int_]
) -> NDArray[np.float64]:
    """Return (K,): the coefficients of gentle changes of the light, by least squares.

    `terms` (M, K) are these changes at each sampled pixel, and `steps` (M,) its step across the
    edge. The light may have any value in each step, and the paper beyond the outline its own tone.
    """
    counts = np.maximum(np.bincount(steps), 1)
    # Subtracting the mean of each step removes the light's own value there.
    columns = []
    for column in (*terms.T, cell.is_beyond, cell.values[cell.sampled]):
        columns.append(column - (np.bincount(steps, column) / counts)[steps])
    *changes, beyond, values = columns
    coefficients = _least_squares([*changes, beyond], values)
    tone = float(coefficients[-1])
    max_tone = cell.pixels.max_difference
    if abs(tone) > max_tone:
        # The two papers cannot differ by so much, so the rest of the difference has to be light.
        by_light = values - np.copysign(max_tone, tone) * beyond
        coefficients = _least_squares(changes, by_light)
    return coefficients[: terms.shape[1]]


def _least_squares(
    columns: list[NDArray[np.float64]], values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return (K,): the least-squares coefficients of K columns (M,) for the values (M,)."""
    matrix = np.column_stack(columns)
    # The normal equations: M is in the thousands, and K at most seven.
    products = matrix.T @ matrix
    return np.asarray(np.linalg.lstsq(products, matrix.T @ values, rcond=None)[0], np.float64)


def _has_narrow_stripes(profile: NDArray[np.float64]) -> bool:
    """Return whether a light changes and changes back within less than a shadow's width.

    The profile has one value for each `_STEP_MM`.
    """
    # An odd number of steps.
    width = round(_MIN_SHADOW_MM / _STEP_MM) // 2 * 2 + 1
    row = profile.astype(np.float32)[None]
    line = cv2.copyMakeBorder(row, 0, 0, width, width, cv2.BORDER_REPLICATE)
    # Opening removes narrow bright stripes, and closing removes narrow dark ones.
    kernel = np.ones((1, width))
    opened = cv2.morphologyEx(line, cv2.MORPH_OPEN, kernel)
    closed = cv2.morphologyEx(line, cv2.MORPH_CLOSE, kernel)
    return bool(max((line - opened).max(), (closed - line).max()) > _MIN_STRIPE)
