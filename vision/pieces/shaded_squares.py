"""Detection of bare squares under shadows with edges, such as those of a window, a lamp or a blind.

A shadow darkens paper, outline and neighbours alike, and it continues beyond the square. Its edge
is nearly a straight line: the light changes across it, but hardly along it. So the light on a
square is estimated from the brightness of its paper and of the paper next to it, as a function of
one coordinate. After division by this light, white paper with its outline must remain. A piece
fails this test: its marker changes in all directions, and it ends at its square.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.detection.stillness import middle_of

Values = NDArray[np.float32]

_SEARCH_DEG: tuple[tuple[float, ...], ...] = ((-20, -10, 10, 20), (-6, -3, 3, 6), (-1.5, 1.5))
"""Offsets in degrees of three searches for the direction of the edge. The first is around the
direction in which the picture changes most, the others around the best one.
"""
_CROSSING_DEG = (0.0, -4.0, 4.0, -10.0, 10.0)
"""Offsets in degrees from the first direction, for a soft rim of another shadow that crosses the
edge.
"""
_STEP_MM, _MIN_PIXELS = 0.8, 4
"""Step in mm of the light's profile across the edge, and minimum number of pixels in a step."""
_MAX_STRAY, _MAX_STRAY_SHARE = 0.14, 0.03
"""Maximum difference (a logarithm) between paper and the estimated light, and the share of the
paper that may differ more.
"""
_MIN_SHADOW_MM, _MIN_STRIPE = 5.0, 0.2
"""Minimum width of a shadow in mm. A narrower stripe that differs by more than `_MIN_STRIPE` (a
logarithm) is an object.
"""
_DARKEST = 0.03
"""Minimum tone. Darker ones carry no information."""
_MOST_QUANTILES, _ALL_QUANTILES = (0.1, 0.9), (0.03, 0.97)
"""Quantiles that bound the tones of most of a square's paper, and of all paper beyond it."""
_HALF_MM = 20.0
"""About half a square, which scales places along an edge to about 1."""
_MIN_INSIDE, _MIN_BEYOND = 0.4, 0.12
"""Minimum shares of the paper that must be in sight: inside the outline, and beyond it on all four
sides together.
"""


@dataclass(frozen=True, eq=False)
class Paper:
    """Where a cell has paper without print: pixel numbers of its middle and of the four sides
    beyond its outline, and the places (N, 2) in mm of all pixels from the cell's middle.
    """

    inside: NDArray[np.int_]
    beyond: tuple[NDArray[np.int_], ...]
    places_mm: Values
    step: float
    """Maximum difference (a logarithm) of the paper beyond an outline, as on a chess board."""
    gentle: int = 6
    """Number of terms for gentle changes of the light along an edge. Few if only a small part of a
    square is examined.
    """


@dataclass(frozen=True, eq=False)
class _Cell:
    """One square's cell: the logarithms of its brightness (N,), the numbers of the pixels (M,) that
    are paper in sight, and which of these (M,) lie beyond its outline.
    """

    values: Values
    paper: NDArray[np.int_]
    is_beyond: NDArray[np.bool_]
    print_: Paper


@dataclass(frozen=True, eq=False)
class _Light:
    """The logarithm of the light on a cell, in steps across a straight edge.

    It may change gently along the edge. `strays` is the share of the cell's paper that differs from
    it. `narrow` is whether the light changes within a stripe that is too narrow for a shadow.
    """

    angle: float
    profile: tuple[NDArray[np.int_], NDArray[np.float64]] = (np.zeros(1, int), np.zeros(1))
    slopes: NDArray[np.float64] | None = None
    first_mm: float = 0.0
    strays: float = 1.0
    narrow: bool = True

    @property
    def explains(self) -> bool:
        return self.strays <= _MAX_STRAY_SHARE and not self.narrow

    def at(self, places_mm: Values) -> Values:
        """Return (N,): the light at places (N, 2)."""
        across_mm = _across(places_mm, self.angle)
        values = np.interp((across_mm - self.first_mm) / _STEP_MM - 0.5, *self.profile)
        if self.slopes is not None:
            values += _gently(places_mm, across_mm, self.angle)[:, : self.slopes.size] @ self.slopes
        return np.asarray(values, np.float32)


def reflectance(
    tone: Values, visible: NDArray[np.bool_], paper: Paper, sides: tuple[bool, ...]
) -> Values | None:
    """Return a cell's brightness (h, w), divided by the light on each pixel.

    None if no light explains its paper. `visible` is False where something stands in front. `sides`
    are the sides of the outline beyond which there is plain paper.
    """
    # Paper in sight, inside the outline and beyond it.
    shown = visible.ravel()
    inside = paper.inside[shown[paper.inside]]
    parts = [part[shown[part]] for part, there in zip(paper.beyond, sides, strict=True) if there]
    beyond = np.concatenate([np.zeros(0, int), *parts])
    enough = _MIN_BEYOND * sum(part.size for part in paper.beyond)
    if inside.size < _MIN_INSIDE * paper.inside.size or beyond.size < enough:
        return None
    values = np.log(np.maximum(tone, _DARKEST))
    angle = _direction(values, inside, beyond)

    # A part of the pixels is enough.
    some_inside, some_beyond = inside[::3], beyond[::2]
    some = np.concatenate([some_inside, some_beyond])
    is_beyond = np.arange(some.size) >= some_inside.size
    cell = _Cell(values.ravel(), some, is_beyond, paper)
    light = _best_light(cell, angle)
    if not light.explains:
        return None
    print_ = np.exp(cell.values - light.at(paper.places_mm))
    return np.asarray(print_.reshape(tone.shape), np.float32)


def _best_light(cell: _Cell, angle: float) -> _Light:
    """Return the simplest light that explains a cell's paper. The search starts from an edge in
    this direction.
    """
    first, best = angle, _light(cell, angle)
    for reach in _SEARCH_DEG:
        if best.explains:
            return best
        middle = best.angle
        for off in np.radians(reach):
            other = _light(cell, middle + off)
            best = other if other.strays < best.strays else best
    if best.explains or not _continues_beyond(cell):
        return best
    # Where two shadows cross, the steepest change is the edge of one. The rest of the other is
    # gentle.
    for way in (best.angle, *(first + np.radians(off) for off in _CROSSING_DEG)):
        best = _light(cell, way, uneven=True)
        if best.explains:
            break
    return best


def _continues_beyond(cell: _Cell) -> bool:
    """Return whether the paper beyond a cell's outline is as dark and as bright as within.

    A tone that occurs only within belongs to an object on the square.
    """
    own = cell.values[cell.paper]
    if cell.is_beyond.all() or not cell.is_beyond.any():
        # Paper on one side alone proves nothing.
        return False
    dark, bright = np.quantile(own[~cell.is_beyond], _MOST_QUANTILES)
    dark_beyond, bright_beyond = np.quantile(own[cell.is_beyond], _ALL_QUANTILES)
    most = _MAX_STRAY + cell.print_.step
    return bool(dark > dark_beyond - most and bright < bright_beyond + most)


def _direction(values: Values, inside: NDArray[np.int_], beyond: NDArray[np.int_]) -> float:
    """Return the direction in radians in which paper changes most."""
    paper = np.zeros(values.size, np.uint8)
    paper[inside] = 255
    paper[beyond] = 255
    clear = cv2.erode(paper.reshape(values.shape), np.ones((3, 3), np.uint8)) > 0
    smooth = cv2.GaussianBlur(values, (0, 0), 1.0)
    across = cv2.Sobel(smooth, cv2.CV_32F, 1, 0)[clear]
    down = cv2.Sobel(smooth, cv2.CV_32F, 0, 1)[clear]
    # The main axis of all slopes, by their structure tensor.
    return 0.5 * float(np.arctan2(2 * (across * down).sum(), (across**2 - down**2).sum()))


def _across(places_mm: Values, angle: float) -> Values:
    """Return (N,): offset in mm of each place across an edge in this direction."""
    return places_mm @ np.array([np.cos(angle), np.sin(angle)], np.float32)


def _gently(places_mm: Values, across_mm: Values, angle: float) -> NDArray[np.float64]:
    """Return (N, 6): cubic polynomials for gentle changes of a light along an edge, as in the soft
    rim of another shadow.
    """
    along = _across(places_mm, angle + np.pi / 2) / _HALF_MM
    across = across_mm / _HALF_MM
    return np.column_stack(
        [along, along * across, along**2, along * across**2, along**2 * across, along**3]
    )


def _light(cell: _Cell, angle: float, *, uneven: bool = False) -> _Light:
    """Return the light as a function of the place across an edge.

    An `uneven` light also changes gently along the edge.
    """
    places_mm = cell.print_.places_mm[cell.paper]
    across_mm = _across(places_mm, angle)
    first_mm = float(across_mm.min())
    steps = ((across_mm - first_mm) / _STEP_MM).astype(int)
    number = np.bincount(steps)
    known = np.flatnonzero(number >= _MIN_PIXELS)
    if not known.size:
        return _Light(angle)
    own, slopes, tone = np.asarray(cell.values[cell.paper], np.float64), None, 0.0
    even = own
    if uneven:
        gently = _gently(places_mm, across_mm, angle)[:, : cell.print_.gentle]
        slopes = _slopes(gently, cell, steps)
        even = own - gently @ slopes

    # Alternate between the mean of each step and the tone of the paper beyond the outline.
    for _ in range(3):
        mean = np.bincount(steps, even - tone * cell.is_beyond) / np.maximum(number, 1)
        if cell.is_beyond.any():
            off = even - tone * cell.is_beyond - mean[steps]
            step = middle_of(off[cell.is_beyond]) - middle_of(off[~cell.is_beyond])
            tone = min(max(tone + step, -cell.print_.step), cell.print_.step)
    light = _Light(angle, (known, mean[known]), slopes, first_mm)
    off = own - tone * cell.is_beyond - light.at(places_mm)
    strays = float(np.count_nonzero(np.abs(off - middle_of(off)) > _MAX_STRAY) / off.size)
    return replace(light, strays=strays, narrow=_has_narrow_stripes(mean[known]))


def _slopes(
    gently: NDArray[np.float64], cell: _Cell, steps: NDArray[np.int_]
) -> NDArray[np.float64]:
    """Return (N,): the coefficients of these changes, by least squares.

    The light is free in each step, and has its own tone beyond the outline.
    """
    number = np.maximum(np.bincount(steps), 1)
    # Subtracting the mean of each step removes the light's own value there.
    off = []
    for column in (*gently.T, cell.is_beyond, cell.values[cell.paper]):
        off.append(column - (np.bincount(steps, column) / number)[steps])
    *changes, beyond, values = off
    coefficients = _least_squares([*changes, beyond], values)
    tone, most = float(coefficients[-1]), cell.print_.step
    if abs(tone) > most:
        # Paper differs by no more than this: the rest has to be light.
        rest = values - np.copysign(most, tone) * beyond
        coefficients = _least_squares(changes, rest)
    return coefficients[: gently.shape[1]]


def _least_squares(
    columns: list[NDArray[np.float64]], values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return (M,): the least-squares coefficients of the columns (N,) for the values (N,)."""
    matrix = np.column_stack(columns)
    # The normal equations: N is in the thousands, and M at most seven.
    products = matrix.T @ matrix
    return np.asarray(np.linalg.lstsq(products, matrix.T @ values, rcond=None)[0], np.float64)


def _has_narrow_stripes(profile: NDArray[np.float64]) -> bool:
    """Return whether a light changes and changes back within less than a shadow's width.

    The profile has one value for each `_STEP_MM`.
    """
    wide = round(_MIN_SHADOW_MM / _STEP_MM) // 2 * 2 + 1
    line = cv2.copyMakeBorder(
        profile.astype(np.float32)[None], 0, 0, wide, wide, cv2.BORDER_REPLICATE
    )
    # Opening removes narrow bright stripes, and closing removes narrow dark ones.
    kernel = np.ones((1, wide))
    opened = cv2.morphologyEx(line, cv2.MORPH_OPEN, kernel)
    closed = cv2.morphologyEx(line, cv2.MORPH_CLOSE, kernel)
    return bool(max((line - opened).max(), (closed - line).max()) > _MIN_STRIPE)
