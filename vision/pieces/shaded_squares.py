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
_STEP_MM, _FEW = 0.8, 4
"""The light is told for each such step across the edge in which so many pixels lie."""
_STRAY, _STRAY_SHARE = 0.14, 0.03
"""Paper is as bright as the light says, up to this (a logarithm), but for this share of it."""
_NARROW_MM, _STRIPE = 5.0, 0.2
"""No shadow is narrower; a narrower stripe that differs by this (a logarithm) is something that
lies there."""
_DARKEST = 0.03
"""Darker tones tell nothing."""
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

    `strays` is the share of the cell's paper that is not so bright, `narrow` tells whether the
    light changes within a stripe that is too narrow for a shadow.
    """

    angle: float
    profile: tuple[NDArray[np.int_], NDArray[np.float64]] = (np.zeros(1, int), np.zeros(1))
    first_mm: float = 0.0
    slope: float = 0.0
    """By how much it changes along the edge for each mm."""
    strays: float = 1.0
    narrow: bool = True

    @property
    def explains(self) -> bool:
        return self.strays <= _STRAY_SHARE and not self.narrow

    def at(self, places_mm: Values) -> Values:
        """Return (N,): the light at places (N, 2)."""
        across_mm = _across(places_mm, self.angle)
        values = np.interp((across_mm - self.first_mm) / _STEP_MM - 0.5, *self.profile)
        values += self.slope * _across(places_mm, self.angle + np.pi / 2)
        return np.asarray(values, np.float32)


def reflectance(
    tone: Values, seen: NDArray[np.bool_], paper: Paper, sides: tuple[bool, ...]
) -> Values | None:
    """Return a cell (h, w) by the light that falls on each pixel.

    None: no light explains its paper.

    `seen` is False where something stands in front; `sides` says beyond which outlines there is
    plain paper.
    """
    shown = seen.ravel()
    inside = paper.inside[shown[paper.inside]]
    parts = [part[shown[part]] for part, there in zip(paper.beyond, sides, strict=True) if there]
    beyond = np.concatenate([np.zeros(0, int), *parts])
    enough = _LEAST_BEYOND * sum(part.size for part in paper.beyond)
    if inside.size < _LEAST_INSIDE * paper.inside.size or beyond.size < enough:
        return None
    values = np.log(np.maximum(tone, _DARKEST))
    angle = _direction(values, inside, beyond)
    some = np.concatenate([inside[::3], beyond[::2]])
    cell = _Cell(values.ravel(), some, np.arange(some.size) >= inside[::3].size, paper)
    light = _best_light(cell, angle)
    if not light.explains:
        return None
    return np.asarray(
        np.exp(cell.values - light.at(paper.places_mm)).reshape(tone.shape), np.float32
    )


def _best_light(cell: _Cell, angle: float) -> _Light:
    """Return the plainest light that explains a cell's paper, sought from an edge in this direction
    on."""
    best = _light(cell, angle)
    for reach in _REACHES_DEG:
        if best.explains:
            return best
        middle = best.angle
        for off in np.radians(reach):
            other = _light(cell, middle + off)
            best = other if other.strays < best.strays else best
    return best


def _direction(values: Values, inside: NDArray[np.int_], beyond: NDArray[np.int_]) -> float:
    """Return the direction in which paper changes most, radians."""
    paper = np.zeros(values.size, np.uint8)
    paper[inside] = 255
    paper[beyond] = 255
    clear = cv2.erode(paper.reshape(values.shape), np.ones((3, 3), np.uint8)) > 0
    smooth = cv2.GaussianBlur(values, (0, 0), 1.0)
    across, down = (cv2.Sobel(smooth, cv2.CV_32F, *order)[clear] for order in ((1, 0), (0, 1)))
    return 0.5 * float(np.arctan2(2 * (across * down).sum(), (across**2 - down**2).sum()))


def _across(places_mm: Values, angle: float) -> Values:
    """Return (N,): how far each place lies across an edge in this direction, mm."""
    return places_mm @ np.array([np.cos(angle), np.sin(angle)], np.float32)


def _light(cell: _Cell, angle: float) -> _Light:
    """Return the light as a function of the place across an edge."""
    places_mm = cell.print_.places_mm[cell.paper]
    across_mm = _across(places_mm, angle)
    first_mm = float(across_mm.min())
    steps = ((across_mm - first_mm) / _STEP_MM).astype(int)
    number = np.bincount(steps)
    known = np.flatnonzero(number >= _FEW)
    if not known.size:
        return _Light(angle)
    own, tone = np.asarray(cell.values[cell.paper], np.float64), 0.0
    # It may also change evenly along the edge, as in the soft rim of another shadow.
    along_mm = _across(places_mm, angle + np.pi / 2)
    apart_mm = along_mm - (np.bincount(steps, along_mm) / np.maximum(number, 1))[steps]
    slope = float((apart_mm * own).sum() / max(float((apart_mm**2).sum()), 1.0))
    even = own - slope * along_mm
    for _ in range(3):
        mean = np.bincount(steps, even - tone * cell.is_beyond) / np.maximum(number, 1)
        if cell.is_beyond.any():
            off = even - tone * cell.is_beyond - mean[steps]
            step = middle_of(off[cell.is_beyond]) - middle_of(off[~cell.is_beyond])
            tone = min(max(tone + step, -cell.print_.step), cell.print_.step)
    light = _Light(angle, (known, mean[known]), first_mm, slope)
    off = own - tone * cell.is_beyond - light.at(places_mm)
    strays = float(np.count_nonzero(np.abs(off - middle_of(off)) > _STRAY) / off.size)
    return replace(light, strays=strays, narrow=_has_narrow_stripes(mean[known]))


def _has_narrow_stripes(profile: NDArray[np.float64]) -> bool:
    """Tell whether a light changes and changes back within less than a shadow's width.

    It has one value for each `_STEP_MM`.
    """
    wide = round(_NARROW_MM / _STEP_MM) // 2 * 2 + 1
    line = cv2.copyMakeBorder(
        profile.astype(np.float32)[None], 0, 0, wide, wide, cv2.BORDER_REPLICATE
    )
    opened, closed = (
        cv2.morphologyEx(line, how, np.ones((1, wide))) for how in (cv2.MORPH_OPEN, cv2.MORPH_CLOSE)
    )
    return bool(max((line - opened).max(), (closed - line).max()) > _STRIPE)
