"""Markers of which a reflection hides a part: read from what it leaves in sight, in a view from straight above.

A reflection adds light. So what is dark in it is black, and what is bright in it tells nothing. The rim of a marker may
be broken by it, but how large the marker is, is known: its dark parts and that size tell where it is.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray

from companion.core.kit import DICTIONARY
from vision.detection.markers import Luma, Sighting, dictionary_of, marker_modules
from vision.order_statistics import quantiles
from vision.pose.pose import Points

Mask = NDArray[np.bool_]

_MODULES, _PX = 7, 6
"""A marker's modules along a side, the black rim included, and how many pixels each is looked at in."""
_PAPER, _NARROW = (0.6, 1.3), 0.75
"""Print that is dark together is narrower than so many sides of a marker, which depends on the marker (both are tried);
a reflection is narrower than so many: what is left without both is paper."""
_LEAST_PAPER = 20
"""No paper is darker than this, of 255."""
_QUICK = 0.25
"""Whether there is a reflection at all is asked of a view that is so much smaller."""
_BRIGHT, _BURNT, _WHITE = 1.3, 250, 238
"""Times as bright as paper is a reflection; so is what is burnt out (of 255) where paper is darker than that."""
_BLACK = 0.55
"""Print is darker than this share of paper."""
_REACH = 1.0
"""A reflection fades over so many modules, in which grey may be black."""
_LEAST_SIDE, _MOST_SIDE = 0.45, 1.12
"""Sides of what is seen of a marker, by those of all of it."""
_LEAST_CONTRAST = 0.25
"""Of paper's brightness, between black and white modules."""
_LEAST_RIM, _RIM = 14, 0.92
"""So many of the 24 modules of the rim tell something, and of them this share is black."""
_APART = 3
"""Every module that tells something is as the marker's print has it, and every other print of the whole dictionary,
however it is turned, differs from so many of them."""


def has_reflection(view: Luma, side_px: float) -> bool:
    """Is anything in a (h, w) view brighter than paper? `side_px` is how wide markers are in it."""
    small = np.asarray(cv2.resize(view, None, fx=_QUICK, fy=_QUICK, interpolation=cv2.INTER_AREA), np.uint8)
    return any(_lit(small, window, _QUICK * side_px)[1].any() for window in _PAPER)


def veiled_markers(view: Luma, side_px: float, wanted: Collection[int]) -> Iterator[Sighting]:
    """The wanted ids of which a (h, w) view from straight above shows enough beside a reflection, in its pixels;
    `side_px` is how wide markers are in it."""
    if not has_reflection(view, side_px):
        return
    for window in _PAPER:
        tone, veil = _lit(view, window, side_px)
        for quad in _quads(tone, veil, side_px):
            found = _read(tone, veil, quad, side_px, wanted)
            if found is not None:
                yield found
                wanted = set(wanted) - {found.marker}


def _lit(view: Luma, window: float, side_px: float) -> tuple[NDArray[np.float32], Mask]:
    """(h, w) each: brightness by that of paper, which is 1, and where a reflection is brighter than paper."""
    dark_px, bright_px = round(window * side_px), round(_NARROW * side_px)
    closed = cv2.morphologyEx(view, cv2.MORPH_CLOSE, np.ones((dark_px, dark_px), np.uint8))
    paper = np.maximum(
        cv2.morphologyEx(closed, cv2.MORPH_OPEN, np.ones((bright_px, bright_px), np.uint8)), _LEAST_PAPER
    )
    veil = (view > _BRIGHT * paper) | ((view >= _BURNT) & (paper < _WHITE))
    return np.asarray(view / paper.astype(np.float32), np.float32), np.asarray(veil, bool)


def _quads(tone: NDArray[np.float32], veil: Mask, side_px: float) -> Iterator[Points]:
    """Squares (4, 2) of a marker's size round what is dark together, alone or with the reflection between its parts."""
    dark = (tone < _BLACK).astype(np.uint8)
    module = round(side_px / _MODULES)
    thick = cv2.morphologyEx(dark, cv2.MORPH_OPEN, np.ones((module - 2,) * 2, np.uint8))  # without lines and letters
    thick = np.asarray(cv2.dilate(thick, np.ones((3, 3), np.uint8)), np.uint8) & dark
    tried: list[Points] = []
    for joined in (thick, thick | veil.astype(np.uint8)):
        count, labels, stats, _ = cv2.connectedComponentsWithStats(joined)
        for number in range(1, count):
            if min(stats[number, cv2.CC_STAT_WIDTH], stats[number, cv2.CC_STAT_HEIGHT]) < _LEAST_SIDE * side_px:
                continue
            rows, columns = np.nonzero((labels == number) & (thick > 0))
            if not rows.size:
                continue
            middle, sizes, degrees = cv2.minAreaRect(np.column_stack([columns, rows]).astype(np.float32))
            # From the middles of pixels to their edges.
            for quad in _completed(np.array(middle), np.array(sizes, np.float64) + 1, math.radians(degrees), side_px):
                if not any(np.abs(quad.mean(axis=0) - other.mean(axis=0)).max() < 1 for other in tried):
                    tried.append(quad)
                    yield quad


def _completed(middle: Points, sizes: Points, angle: float, side_px: float) -> Iterator[Points]:
    """A rectangle, (2,) each its middle and its sizes, that is a marker or may be what is left of one, as squares of a
    marker's size that end where it does."""
    if sizes.min() < _LEAST_SIDE * side_px or sizes.max() > _MOST_SIDE * side_px:
        return
    ways = np.array([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]])
    full = np.where(sizes < (2 - _MOST_SIDE) * side_px, side_px, sizes)
    shifts = [(-off / 2, off / 2) if off > 0 else (0.0,) for off in full - sizes]
    for across in shifts[0]:
        for down in shifts[1]:
            corners = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)]) * full / 2
            yield np.asarray(middle + across * ways[0] + down * ways[1] + corners @ ways)


def _read(
    tone: NDArray[np.float32], veil: Mask, quad: Points, side_px: float, wanted: Collection[int]
) -> Sighting | None:
    """The marker whose print is all that a square shows, if it can be no other one."""
    side = _MODULES * _PX
    target = np.array([[0, 0], [side, 0], [side, side], [0, side]], np.float32) - 0.5
    warp = cv2.getPerspectiveTransform(quad.astype(np.float32), target)
    reach = 2 * round(_REACH * side_px / _MODULES) + 1
    near = cv2.dilate(veil.astype(np.uint8), np.ones((reach, reach), np.uint8))
    tones, shares = (
        cv2.warpPerspective(layer, warp, (side, side)).reshape(_MODULES, _PX, _MODULES, _PX)[:, 1:-1, :, 1:-1]
        for layer in (tone, near.astype(np.float32))
    )
    means, veiled = tones.mean(axis=(1, 3)), shares.mean(axis=(1, 3)) > 0.2
    if veiled.all():
        return None
    black, white = quantiles(means[~veiled], 0.1, 0.9)
    if white - black < _LEAST_CONTRAST:
        return None
    dark = means < (black + white) / 2
    tells = dark | ~veiled
    rim = np.ones((_MODULES, _MODULES), bool)
    rim[1:-1, 1:-1] = False
    if (rim & tells).sum() < _LEAST_RIM or dark[rim & tells].mean() < _RIM:
        return None
    inner = tells & ~rim
    off = (_prints(DICTIONARY)[:, :, inner] == dark[inner]).sum(axis=2)
    marker, turns = divmod(int(off.argmin()), 4)
    others = np.delete(off.ravel(), 4 * marker + turns)
    if marker not in wanted or off[marker, turns] or others.min() < _APART:
        return None
    return Sighting(marker, np.roll(quad, turns, axis=0), 1.0)


@lru_cache(maxsize=2)
def _prints(dictionary: str) -> Mask:
    """(ids, 4, 7, 7): which modules are white, of all markers of a dictionary in each turn."""
    ids = range(len(dictionary_of(dictionary).bytesList))
    whites = [marker_modules(marker, dictionary) > 0 for marker in ids]
    return np.array([[np.rot90(white, turns) for turns in range(4)] for white in whites])
