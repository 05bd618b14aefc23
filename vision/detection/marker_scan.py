"""Markers of a whole picture at half its size, and of the parts of it that have changed.

Half the size costs a quarter; what is too small for that is read later, where the board is known, or in a second go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import cv2
import numpy as np

from vision.detection.markers import Found, Luma, MarkerFinder, Sighting, sharpened, without_shadows
from vision.detection.motion import BLOCK_PX, Blocks
from vision.pose.pose import Points

_LARGE_PX = 1600
"""Pictures wider than this are looked at in half their size first, ..."""
FEW_PX = 960
"""... others in this width."""
_SHADOWS_PX = (11, 19)
"""Two or three modules of small markers, and of large ones."""
_REFINE_PX = 3
_NOT_FAR_PX = 2.0
"""A corner that would go farther when it is refined follows another edge."""
Box = tuple[slice, slice]
"""Rows and columns of a picture."""


class Scanner:
    """Finds markers; `thorough` takes its time and looks at the whole picture always."""

    def __init__(self, *, thorough: bool = False) -> None:
        self._thorough = thorough
        self._whole = MarkerFinder(thorough=thorough)
        self._quick, self._part = MarkerFinder(quick=True), MarkerFinder(quick=True)
        self._small = MarkerFinder(quick=True, rough=True)

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

    def parts(self, luma: Luma, boxes: Iterable[Box], least_px: float) -> Found:
        """The markers within boxes of a picture whose sides are `least_px` or more."""
        sightings: list[Sighting] = []
        rejected: list[Points] = []
        for rows, columns in boxes:
            found = self._part.find(np.ascontiguousarray(luma[rows, columns]), least_px)
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


def _narrowed(luma: Luma) -> tuple[Luma, float]:
    """A picture that is not wider than `FEW_PX`, and which share of its size that is."""
    share = min(1.0, FEW_PX / luma.shape[1])
    small = luma if share == 1.0 else cv2.resize(luma, None, fx=share, fy=share, interpolation=cv2.INTER_LINEAR)
    return np.asarray(small, np.uint8), share


def halved(luma: Luma) -> Luma:
    """A picture at half its size."""
    return np.asarray(cv2.resize(luma, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA), np.uint8)


def refined(luma: Luma, quads: Sequence[Points]) -> list[Points]:
    """Move corners (4, 2) px each to where edges meet in the picture; those that would go far stay."""
    if not quads:
        return []
    rough = np.vstack(quads).astype(np.float32)
    height, width = luma.shape
    is_inside = ((rough >= 0) & (rough <= (width - 1, height - 1))).all(axis=1)
    fine = rough.copy()
    if is_inside.any():
        window = (_REFINE_PX, _REFINE_PX)
        ends = (cv2.TERM_CRITERIA_COUNT + cv2.TERM_CRITERIA_EPS, 10, 0.05)
        start = np.ascontiguousarray(rough[is_inside]).reshape(-1, 1, 2)
        fine[is_inside] = cv2.cornerSubPix(luma, start, window, (-1, -1), ends).reshape(-1, 2)
    is_near = np.abs(fine - rough).max(axis=1, keepdims=True) <= _NOT_FAR_PX
    return list(np.where(is_near, fine, rough).astype(np.float64).reshape(-1, 4, 2))


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
