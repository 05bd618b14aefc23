"""Markers of a whole picture at half its size, and of the parts of it that have changed.

Half the size costs a quarter; what is too small for that is read later, where the board is known, or in a second go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.detection.markers import Found, Luma, MarkerFinder, Sighting, sharpened, without_shadows
from vision.detection.motion import BLOCK_PX, Blocks
from vision.order_statistics import median, quantiles
from vision.pose.pose import Points
from vision.profiles import profiles

_LARGE_PX = 1600
"""Pictures wider than this are looked at in half their size first, ..."""
FEW_PX, _LEAST_LARGE_PX, _MOST_LARGE_PX = 960, 15.0, 320.0
"""... others in this width; large markers have sides that are longer than this in them. Of markers that fill a third of
the width no two are in view; the outlines of whole boards, of thousands of pixels, need not be followed."""
_SHADOWS_PX = (11, 19)
"""Two or three modules of small markers, and of large ones."""
_REFINE_PX = 3
_NOT_FAR_PX = 2.0
"""A corner that would go farther when it is refined follows another edge."""
_MODULES, _LEAST_SIDE_PX = 7, 12.0
"""A marker's modules along a side, the black rim included; smaller ones are too coarse for this."""
_FARTHEST = 1.5
"""So many modules (and a pixel) away a corner is another one's."""
_ALONG = np.linspace(0.06, 0.94, 16)
"""Where along a marker's edge it is looked for, ..."""
_STEP_PX = 0.5
"""... and in such steps across it, up to a module away."""
_RISE, _LEAST_CONTRAST = 0.08, 20.0
"""An edge is a rise from black to white by this share of the contrast within a pixel; least contrast in grey levels."""
_ON_LINE_PX, _LEAST_SHARE, _STEEPEST = 0.5, 0.35, 0.25
"""Of an edge this share must lie on one straight line, which is turned at most so much (tangent)."""
_SOFT = 0.45
"""The steepest edges of sharp markers rise by more than this, of their contrast, within a pixel."""
_LEAST_TURN = 0.05
"""Sine of the angle under which edges meet, at least."""
_NEXT, _LAST = [1, 2, 3, 0], [3, 0, 1, 2]
_PAIRS = np.triu_indices(len(_ALONG), len(_ALONG) // 4)

Box = tuple[slice, slice]
"""Rows and columns of a picture."""


class Scanner:
    """Finds markers; `thorough` takes its time and looks at the whole picture always."""

    def __init__(self, *, thorough: bool = False) -> None:
        self._thorough = thorough
        self._whole, self._patient = MarkerFinder(thorough=thorough), MarkerFinder(thorough=True)
        self._quick, self._part, self._slow_part = MarkerFinder(quick=True), MarkerFinder(quick=True), MarkerFinder()
        self._small, self._large = (MarkerFinder(quick=True, rough=True) for _ in range(2))

    def whole(self, luma: Luma) -> Found:
        """All markers of a picture, at its full size."""
        return self._whole.find(luma)

    def quickly(self, luma: Luma) -> Found | None:
        """Most markers of a picture, made smaller; None: this picture is to be looked at as it is."""
        if self._thorough or luma.shape[1] <= FEW_PX:
            return None
        if is_large(luma):
            return self._at_half(luma, halved(luma))
        small, share = _narrowed(luma)
        return _enlarged(luma, self._small.find(small), share)

    def largest(self, luma: Luma) -> Found | None:
        """The large markers of a picture that is not large itself; None: it is, or time is no matter."""
        if self._thorough or is_large(luma):
            return None
        small, share = _narrowed(luma)
        found = self._large.find(small, _LEAST_LARGE_PX, _MOST_LARGE_PX)
        return replace(_enlarged(luma, found, share), small=small)

    def patiently(self, luma: Luma) -> Found:
        """All markers of a picture, through so many windows that it takes several times as long."""
        return self._patient.find(luma)

    def with_effort(self, luma: Luma) -> Found:
        """The markers of a picture that is blurred, or crossed by hard shadows; at half its size when it is large."""
        in_half = is_large(luma)
        picture = halved(luma) if in_half else luma
        sightings: dict[int, Sighting] = {}
        rejected: list[Points] = []
        for better in (sharpened(picture), *(without_shadows(picture, window) for window in _SHADOWS_PX)):
            found = self._at_half(luma, better) if in_half else self._quick.find(better)
            sightings = {sighting.marker: sighting for sighting in found.sightings} | sightings
            rejected.append(found.rejected)
        return Found(tuple(sightings.values()), np.concatenate(rejected))

    def _at_half(self, luma: Luma, half: Luma) -> Found:
        """The markers of a picture of half the size, their corners where they are in the whole one."""
        return _enlarged(luma, self._small.find(half), 0.5)

    def parts(self, luma: Luma, boxes: Iterable[Box], least_px: float, *, slowly: bool = False) -> Found:
        """The markers within boxes of a picture whose sides are `least_px` or more."""
        finder = self._slow_part if slowly else self._part
        sightings: list[Sighting] = []
        rejected: list[Points] = []
        for rows, columns in boxes:
            found = finder.find(np.ascontiguousarray(luma[rows, columns]), least_px)
            shift = (columns.start, rows.start)
            sightings += [Sighting(s.marker, s.corners_px + shift) for s in found.sightings]
            rejected.append(found.rejected + shift)
        return Found(tuple(sightings), np.concatenate(rejected) if rejected else np.empty((0, 4, 2)))


def _enlarged(luma: Luma, found: Found, share: float) -> Found:
    """What was found in a picture of this `share` of its size, the markers' corners where they are in the whole one."""
    off = (1 / share - 1) / 2
    corners = refined(luma, [sighting.corners_px / share + off for sighting in found.sightings])
    return Found(
        tuple(Sighting(s.marker, px) for s, px in zip(found.sightings, corners, strict=True)),
        found.rejected / share + off,
    )


def is_large(luma: Luma) -> bool:
    """Does a picture show in half its size what there is to see?"""
    return bool(luma.shape[1] > _LARGE_PX)


def large_px(luma: Luma) -> float:
    """How long the sides of large markers are at least, in a picture that is not large itself."""
    return float(_LEAST_LARGE_PX * max(1.0, luma.shape[1] / FEW_PX))


def _narrowed(luma: Luma) -> tuple[Luma, float]:
    """A picture that is not wider than `FEW_PX`, and which share of its size that is."""
    share = min(1.0, FEW_PX / luma.shape[1])
    small = luma if share == 1.0 else cv2.resize(luma, None, fx=share, fy=share, interpolation=cv2.INTER_LINEAR)
    return np.asarray(small, np.uint8), share


def halved(luma: Luma) -> Luma:
    """A picture at half its size."""
    return np.asarray(cv2.resize(luma, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA), np.uint8)


def refined(luma: Luma, quads: Sequence[Points]) -> list[Points]:
    """Corners (4, 2) px each, moved to where edges meet in the picture; those that would go far stay."""
    if not quads:
        return []
    rough = np.vstack(quads).astype(np.float32)
    window, ends = (_REFINE_PX, _REFINE_PX), (cv2.TERM_CRITERIA_COUNT + cv2.TERM_CRITERIA_EPS, 10, 0.05)
    fine = cv2.cornerSubPix(luma, rough.copy().reshape(-1, 1, 2), window, (-1, -1), ends).reshape(-1, 2)
    is_near = np.abs(fine - rough).max(axis=1, keepdims=True) <= _NOT_FAR_PX
    return list(np.where(is_near, fine, rough).astype(np.float64).reshape(-1, 4, 2))


def is_soft(luma: Luma, quads: Sequence[Points]) -> bool:
    """Are the edges of these markers, (4, 2) px each, blurred, in one direction at least?"""
    height, width = luma.shape
    sharpness = []
    for quad in quads:
        low, high = quad.min(axis=0) - 2, quad.max(axis=0) + 3
        left, top, right, bottom = (int(v) for v in (*low.clip(0), *np.minimum(high, (width, height))))
        patch = luma[top:bottom, left:right]
        if min(patch.shape) < _LEAST_SIDE_PX:
            continue
        dark, bright = quantiles(patch, 0.05, 0.95)
        rises = cv2.absdiff(patch[1:], patch[:-1]), cv2.absdiff(patch[:, 1:], patch[:, :-1])
        sharpness.append(min(quantiles(rise, 0.98)[0] for rise in rises) / max(bright - dark, 1.0))
        if 2 * sum(each >= _SOFT for each in sharpness) > len(quads):
            return False  # whatever the others are
    return bool(sharpness) and median(np.array(sharpness)) < _SOFT


def on_edges(luma: Luma, quads: Sequence[Points]) -> list[Points | None]:
    """The corners (4, 2) px of each marker where straight lines along its four edges meet; None where one is hidden.

    What touches a marker or hides one of its corners moves a corner that is looked for by itself by several pixels,
    and small markers have rough ones; most of an edge stays in sight.
    """
    every = np.array(quads).reshape(-1, 4, 2)
    sides = every[:, _NEXT] - every
    lengths = np.sqrt((sides**2).sum(axis=2, keepdims=True))
    is_fine = lengths.min(axis=(1, 2)) >= _LEAST_SIDE_PX
    if not is_fine.any():
        return [None] * len(quads)
    found = iter(_on_edges(luma, every[is_fine], sides[is_fine], lengths[is_fine]))
    return [next(found) if fine else None for fine in is_fine]


def _on_edges(luma: Luma, quads: Points, sides: Points, lengths: Points) -> list[Points | None]:
    """The same of markers, (N, 4, 2), whose sides, (N, 4, 2), are so long, (N, 4, 1): each edge is looked for not so
    far inwards and outwards as a module of its marker is wide."""
    own = np.ceil(0.9 * lengths.min(axis=(1, 2)) / _MODULES / _STEP_PX).astype(int)
    steps = int(own.max())
    ways = sides / lengths
    outward = np.stack([ways[..., 1], -ways[..., 0]], axis=2)
    offsets = np.arange(-steps, steps + 1) * _STEP_PX
    places = (quads[:, :, None] + _ALONG[:, None] * sides[:, :, None]).reshape(-1, 2)
    every = profiles(luma, places, outward.reshape(-1, 2).repeat(len(_ALONG), axis=0), offsets, cv2.BORDER_CONSTANT)
    across = every.reshape(len(quads), -1, len(offsets))
    contrasts = np.diff(
        [quantiles(each[:, steps - far : steps + far + 1], 0.1, 0.9) for each, far in zip(across, own, strict=True)]
    )
    soft = cv2.GaussianBlur(every.astype(np.float32), (5, 1), 0.8)
    rise = (soft[:, 2:] - soft[:, :-2]).reshape(len(quads), 4, len(_ALONG), -1)
    away, beyond = np.abs(np.arange(1 - steps, steps)), (steps - own)[:, None, None]
    top = np.where(away < own[:, None, None, None], rise, -np.inf).argmax(axis=3)
    inner = top.clip(1 + beyond, rise.shape[3] - 2 - beyond)
    at = inner + np.arange(inner.size).reshape(inner.shape) * rise.shape[3]
    before, peak, after = (rise.take(at + by) for by in (-1, 0, 1))
    bend = before - 2 * peak + after
    finer = np.where(bend < 0, 0.5 * (before - after) / np.where(bend < 0, bend, 1.0), 0.0)
    off = (inner + 1 - steps + finer.clip(-0.5, 0.5)) * _STEP_PX
    is_edge = (top == inner) & (peak >= _RISE * contrasts[..., None])
    flat = (-1, len(_ALONG))
    slopes, bases, is_line = (
        each.reshape(len(quads), 4, -1)
        for each in _lines_through((_ALONG * lengths).reshape(flat), off.reshape(flat), is_edge.reshape(flat))
    )
    starts, headings = quads + bases * outward, ways + slopes * outward
    last_starts, last_headings = starts[:, _LAST], headings[:, _LAST]
    turns = _cross(headings, last_headings)
    meet = is_line.all(axis=(1, 2)) & (np.abs(turns) >= _LEAST_TURN).all(axis=1) & (contrasts[:, 0] >= _LEAST_CONTRAST)
    turns = np.where(meet[:, None], turns, 1.0)
    corners = starts + (_cross(last_starts - starts, last_headings) / turns)[..., None] * headings
    meet &= np.abs(corners - quads).max(axis=(1, 2)) <= _FARTHEST * lengths.min(axis=(1, 2)) / _MODULES + 1
    return [px if is_met else None for px, is_met in zip(corners, meet, strict=True)]


def _lines_through(
    along: Points, across: Points, counts: NDArray[np.bool_]
) -> tuple[Points, Points, NDArray[np.bool_]]:
    """Slopes and starts of the lines on which most of the places that count lie, (N, M) by their distances along and
    across an edge, and whether they are enough of them; (N, 1) each."""
    one, other = _PAIRS
    slopes = (across[:, other] - across[:, one]) / (along[:, other] - along[:, one])
    bases = across[:, one] - slopes * along[:, one]
    near = np.abs(across[:, None] - bases[..., None] - slopes[..., None] * along[:, None]) <= _ON_LINE_PX
    near &= counts[:, None] & ((np.abs(slopes) < _STEEPEST) & counts[:, one] & counts[:, other])[..., None]
    on_line = near[np.arange(len(near)), near.sum(axis=2).argmax(axis=1)]
    number = on_line.sum(axis=1, keepdims=True)
    reach = np.where(on_line, along, -np.inf).max(axis=1) - np.where(on_line, along, np.inf).min(axis=1)
    is_line = (number >= _LEAST_SHARE * len(_ALONG)) & (reach >= _LEAST_SHARE * along[:, -1])[:, None]
    on_line |= ~is_line  # any numbers
    number = on_line.sum(axis=1, keepdims=True)
    x, y = ((on_line * of).sum(axis=1, keepdims=True) / number for of in (along, across))
    slope = (on_line * (along - x) * (across - y)).sum(axis=1, keepdims=True)
    slope /= (on_line * (along - x) ** 2).sum(axis=1, keepdims=True)
    return slope, y - slope * x, is_line


def _cross(one: Points, other: Points) -> Points:
    return np.asarray(one[..., 0] * other[..., 1] - one[..., 1] * other[..., 0])


def boxes_of(blocks: Blocks, margin_px: float, luma: Luma) -> list[Box]:
    """Boxes of the picture that hold all these blocks and a margin; boxes that would touch are one."""
    reach = int(np.ceil(margin_px / BLOCK_PX))
    wide = np.asarray(cv2.dilate(blocks.astype(np.uint8), np.ones((2 * reach + 1,) * 2, np.uint8)), np.uint8)
    x, y, columns_in, rows_in = cv2.boundingRect(wide)
    if not rows_in:
        return []
    count, _, stats, _ = cv2.connectedComponentsWithStats(
        np.ascontiguousarray(wide[y : y + rows_in, x : x + columns_in])
    )
    height, width = luma.shape
    boxes = []
    for left, top, across, down in (stats[1:count, :4] + (x, y, 0, 0)) * BLOCK_PX:
        rows = slice(int(top), min(int(top + down), height))
        columns = slice(int(left), min(int(left + across), width))
        boxes.append((rows, columns))
    return boxes


def area_of(boxes: Iterable[Box]) -> int:
    """Pixels within boxes."""
    return sum((rows.stop - rows.start) * (columns.stop - columns.start) for rows, columns in boxes)
