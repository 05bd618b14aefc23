"""Is a square bare under shadows with edges, such as a window's, a lamp's or those of a blind?

A shadow darkens paper, outline and neighbours alike, and it goes on beyond the square. Its edge is
nearly a straight line: across it the light changes, along it hardly. So the light on a square is
told from the brightness of its paper and of the paper next to it, as a function of one coordinate;
what that leaves must be white paper with its outline. A piece is neither: its marker changes in all
directions, and it ends where its square does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.detection.stillness import middle_of

Values = NDArray[np.float32]

_REACHES_DEG: tuple[tuple[float, ...], ...] = ((-20, -10, 10, 20), (-6, -3, 3, 6), (-1.5, 1.5))
"""So far round the direction in which the picture changes most the edge's is sought, then round the
best."""
_CROSSED_DEG = (0.0, -4.0, 4.0, -10.0, 10.0)
"""So far round the first direction where another shadow's soft rim crosses the edge."""
_STEP_MM, _FEW = 0.8, 4
"""The light is told for each such step across the edge in which so many pixels lie."""
_STRAY, _STRAY_SHARE = 0.14, 0.03
"""Paper is as bright as the light says, up to this (a logarithm), but for this share of it."""
_NARROW_MM, _STRIPE = 5.0, 0.2
"""No shadow is narrower; a narrower stripe that differs by this (a logarithm) is something that
lies there."""
_DARKEST = 0.03
"""Darker tones tell nothing."""
_MOST, _ALL = (0.1, 0.9), (0.03, 0.97)
"""Between these shares lie the tones of most of a square's paper, and of all that is beyond it."""
_HALF_MM = 20.0
"""About half a square, so that places along an edge are about 1."""
_LEAST_INSIDE, _LEAST_BEYOND = 0.4, 0.12
"""Shares of the paper that must be in sight: inside of the outline, and beyond it on all four sides
together."""


@dataclass(frozen=True, eq=False)
class Paper:
    """Where paper without print is in a cell: pixel numbers of its middle and of the four sides
    beyond its outline, and all pixels' places (N, 2) mm from the cell's middle."""

    inside: NDArray[np.int_]
    beyond: tuple[NDArray[np.int_], ...]
    places_mm: Values
    step: float
    """The logarithm by which the paper beyond an outline may differ, as on a chess board."""
    gentle: int = 6
    """By how many of the gentle changes along an edge a light may be told: few where little of a
    square is asked."""


@dataclass(frozen=True, eq=False)
class _Cell:
    """One square's cell: the logarithms of its brightness (N,), the numbers of the pixels (M,) that
    are paper in sight, and which of these (M,) lie beyond its outline."""

    values: Values
    paper: NDArray[np.int_]
    is_beyond: NDArray[np.bool_]
    print_: Paper


@dataclass(frozen=True, eq=False)
class _Light:
    """The logarithm of the light on a cell as a function of the place across a straight edge, in
    steps.

    It may change gently along the edge. `strays` is the share of the cell's paper that is not so
    bright, `narrow` tells whether the light changes within a stripe that is too narrow for a
    shadow.
    """

    angle: float
    profile: tuple[NDArray[np.int_], NDArray[np.float64]] = (np.zeros(1, int), np.zeros(1))
    slopes: NDArray[np.float64] | None = None
    first_mm: float = 0.0
    strays: float = 1.0
    narrow: bool = True

    @property
    def explains(self) -> bool:
        return self.strays <= _STRAY_SHARE and not self.narrow

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
    """Return a cell (h, w) by the light that falls on each pixel.

    None: no light explains its paper.

    `visible` is False where something stands in front; `sides` says beyond which outlines there is
    plain paper.
    """
    # paper in sight, inside of the outline and beyond it
    shown = visible.ravel()
    inside = paper.inside[shown[paper.inside]]
    parts = [part[shown[part]] for part, there in zip(paper.beyond, sides, strict=True) if there]
    beyond = np.concatenate([np.zeros(0, int), *parts])
    enough = _LEAST_BEYOND * sum(part.size for part in paper.beyond)
    if inside.size < _LEAST_INSIDE * paper.inside.size or beyond.size < enough:
        return None
    values = np.log(np.maximum(tone, _DARKEST))
    angle = _direction(values, inside, beyond)

    # a part of the pixels is enough
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
    """Return the plainest light that explains a cell's paper, sought from an edge in this direction
    on."""
    first, best = angle, _light(cell, angle)
    for reach in _REACHES_DEG:
        if best.explains:
            return best
        middle = best.angle
        for off in np.radians(reach):
            other = _light(cell, middle + off)
            best = other if other.strays < best.strays else best
    if best.explains or not _goes_on(cell):
        return best
    # Where two shadows cross, the steepest change is one's edge, and what is left of the other is
    # gentle.
    for way in (best.angle, *(first + np.radians(off) for off in _CROSSED_DEG)):
        best = _light(cell, way, uneven=True)
        if best.explains:
            break
    return best


def _goes_on(cell: _Cell) -> bool:
    """Tell whether paper beyond a cell's outline is as dark, and as bright, as within.

    What is within alone lies on the square.
    """
    own = cell.values[cell.paper]
    if cell.is_beyond.all() or not cell.is_beyond.any():
        # paper on one side alone tells nothing
        return False
    dark, bright = np.quantile(own[~cell.is_beyond], _MOST)
    dark_beyond, bright_beyond = np.quantile(own[cell.is_beyond], _ALL)
    most = _STRAY + cell.print_.step
    return bool(dark > dark_beyond - most and bright < bright_beyond + most)


def _direction(values: Values, inside: NDArray[np.int_], beyond: NDArray[np.int_]) -> float:
    """Return the direction in which paper changes most, radians."""
    paper = np.zeros(values.size, np.uint8)
    paper[inside] = 255
    paper[beyond] = 255
    clear = cv2.erode(paper.reshape(values.shape), np.ones((3, 3), np.uint8)) > 0
    smooth = cv2.GaussianBlur(values, (0, 0), 1.0)
    across = cv2.Sobel(smooth, cv2.CV_32F, 1, 0)[clear]
    down = cv2.Sobel(smooth, cv2.CV_32F, 0, 1)[clear]
    # the main axis of all slopes, by their structure tensor
    return 0.5 * float(np.arctan2(2 * (across * down).sum(), (across**2 - down**2).sum()))


def _across(places_mm: Values, angle: float) -> Values:
    """Return (N,): how far each place lies across an edge in this direction, mm."""
    return places_mm @ np.array([np.cos(angle), np.sin(angle)], np.float32)


def _gently(places_mm: Values, across_mm: Values, angle: float) -> NDArray[np.float64]:
    """Return (N, 6): by what a light may change along an edge, as in the soft rim of another
    shadow: cubic polynomials."""
    along = _across(places_mm, angle + np.pi / 2) / _HALF_MM
    across = across_mm / _HALF_MM
    return np.column_stack(
        [along, along * across, along**2, along * across**2, along**2 * across, along**3]
    )


def _light(cell: _Cell, angle: float, *, uneven: bool = False) -> _Light:
    """Return the light as a function of the place across an edge.

    An `uneven` one also changes gently along it.
    """
    places_mm = cell.print_.places_mm[cell.paper]
    across_mm = _across(places_mm, angle)
    first_mm = float(across_mm.min())
    steps = ((across_mm - first_mm) / _STEP_MM).astype(int)
    number = np.bincount(steps)
    known = np.flatnonzero(number >= _FEW)
    if not known.size:
        return _Light(angle)
    own, slopes, tone = np.asarray(cell.values[cell.paper], np.float64), None, 0.0
    even = own
    if uneven:
        gently = _gently(places_mm, across_mm, angle)[:, : cell.print_.gentle]
        slopes = _slopes(gently, cell, steps)
        even = own - gently @ slopes

    # The mean of each step, and the tone of the paper beyond the outline, by turns.
    for _ in range(3):
        mean = np.bincount(steps, even - tone * cell.is_beyond) / np.maximum(number, 1)
        if cell.is_beyond.any():
            off = even - tone * cell.is_beyond - mean[steps]
            step = middle_of(off[cell.is_beyond]) - middle_of(off[~cell.is_beyond])
            tone = min(max(tone + step, -cell.print_.step), cell.print_.step)
    light = _Light(angle, (known, mean[known]), slopes, first_mm)
    off = own - tone * cell.is_beyond - light.at(places_mm)
    strays = float(np.count_nonzero(np.abs(off - middle_of(off)) > _STRAY) / off.size)
    return replace(light, strays=strays, narrow=_has_narrow_stripes(mean[known]))


def _slopes(
    gently: NDArray[np.float64], cell: _Cell, steps: NDArray[np.int_]
) -> NDArray[np.float64]:
    """Return (N,): how much of each of these changes there is, by least squares.

    The light may be any in each step, and have a tone of its own beyond the outline.
    """
    number = np.maximum(np.bincount(steps), 1)
    # Without the mean of each step, the light's own value there does not count.
    off = []
    for column in (*gently.T, cell.is_beyond, cell.values[cell.paper]):
        off.append(column - (np.bincount(steps, column) / number)[steps])
    *changes, beyond, values = off
    found = _least_squares([*changes, beyond], values)
    tone, most = float(found[-1]), cell.print_.step
    if abs(tone) > most:
        # So different no paper is: the rest has to be light.
        rest = values - np.copysign(most, tone) * beyond
        found = _least_squares(changes, rest)
    return found[: gently.shape[1]]


def _least_squares(
    columns: list[NDArray[np.float64]], values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return (M,): how much of each column (N,) makes up the values (N,) best."""
    matrix = np.column_stack(columns)
    # The normal equations: N is in the thousands, and M at most seven.
    products = matrix.T @ matrix
    return np.asarray(np.linalg.lstsq(products, matrix.T @ values, rcond=None)[0], np.float64)


def _has_narrow_stripes(profile: NDArray[np.float64]) -> bool:
    """Tell whether a light changes and changes back within less than a shadow's width.

    It has one value for each `_STEP_MM`.
    """
    wide = round(_NARROW_MM / _STEP_MM) // 2 * 2 + 1
    line = cv2.copyMakeBorder(
        profile.astype(np.float32)[None], 0, 0, wide, wide, cv2.BORDER_REPLICATE
    )
    # Opened, narrow bright stripes are gone, and closed, narrow dark ones.
    kernel = np.ones((1, wide))
    opened = cv2.morphologyEx(line, cv2.MORPH_OPEN, kernel)
    closed = cv2.morphologyEx(line, cv2.MORPH_CLOSE, kernel)
    return bool(max((line - opened).max(), (closed - line).max()) > _STRIPE)
