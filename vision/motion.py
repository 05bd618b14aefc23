"""Does anything move? A cheap question to every frame, so that a still table costs almost nothing."""

from __future__ import annotations

from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.markers import Luma
from vision.pose import Points

BLOCK_PX = 8
"""Side of a block."""
Blocks = NDArray[np.bool_]
"""(rows, columns): which blocks of a picture."""
_Small = NDArray[np.float32]
_LEAST = 4.0
_MOST = 20.0
"""Smallest change of a block's brightness, of 255, that counts; and what counts however noisy the picture is."""
_BAND = 6.0
"""Rows of blocks become lighter or darker together by no more than this."""
_QUARTER = 0.3186
"""A quarter of all values of a Gaussian are nearer to its middle than this, by its standard deviation."""
NOWHERE: Points = np.empty((0, 2))
"""No places."""


class Stir(NamedTuple):
    """`moving`: something differs from the frame before; `drifted`: something differs from what was read last.

    `places` are (N, 2) pixels of what has moved since the frame before; `changed` (rows, columns) says which blocks of
    `BLOCK_PX` differ from what was read last, None: nothing is known of them. `light` is how bright the picture is by
    how bright it was when all of it was read last.
    """

    moving: bool
    drifted: bool
    places: Points
    changed: Blocks | None
    light: float = 1.0


class Motion:
    """Compares each frame, in blocks of 8 x 8 pixels, with the one before and with what was read of them last.

    Brightness changes of the whole picture and the sensor's noise are measured and taken off.
    """

    def __init__(self) -> None:
        self._before: _Small | None = None
        self._read: _Small | None = None
        self._whole: _Small | None = None
        self._calm = False

    @property
    def small(self) -> NDArray[np.float32] | None:
        """The last frame's blocks, (rows, columns) of brightness; None: there was none."""
        return self._before

    def see(self, luma: Luma) -> Stir:
        """Take the next frame; the first one counts as moving."""
        small = _shrunk(luma)
        changed = _difference(small, self._read)
        # While nothing differs from what was read last, one comparison tells both.
        moving = changed if self._calm else _difference(small, self._before)
        self._before = small
        places = NOWHERE
        if moving is not None and moving.any():
            places = np.argwhere(moving)[:, ::-1].astype(np.float64) * BLOCK_PX + (BLOCK_PX - 1) / 2
        drifted = changed is None or bool(changed.any())
        self._calm = not drifted
        light = 1.0
        if drifted and changed is not None and self._whole is not None:
            light = _part((small[::5, ::5] + 1) / (self._whole[::5, ::5] + 1), 0.5)
        return Stir(moving is None or bool(len(places)), drifted, places, changed, light)

    def mark_read(self, blocks: Blocks | None = None) -> None:
        """The last frame has been read, or these (rows, columns) of it: later ones are compared with it."""
        now, read = self._before, self._read
        if now is None or read is None or read.shape != now.shape or blocks is None:
            self._read = self._whole = now
            return
        # What was read earlier was read in that light: bring the new blocks to it.
        lighter = _part(now[::5, ::5] - read[::5, ::5], 0.5)
        self._read = np.where(blocks, now - np.float32(lighter), read)


def _shrunk(luma: Luma) -> _Small:
    """The mean of each block: halved three times, which OpenCV does ten times as fast as to an eighth."""
    small = luma
    while min(small.shape) > 1 and small.shape[0] > luma.shape[0] // BLOCK_PX:
        half = max(1, small.shape[1] // 2), max(1, small.shape[0] // 2)
        small = np.asarray(cv2.resize(small, half, interpolation=cv2.INTER_AREA), np.uint8)
    return small.astype(np.float32)


def _difference(small: _Small, before: _Small | None) -> Blocks | None:
    """Which blocks have changed; None when there is nothing to compare with."""
    if before is None or before.shape != small.shape:
        return None
    change = np.asarray(cv2.subtract(small, before), np.float32)
    sample = change[::5, ::5]
    middle = _part(sample, 0.5)
    # A quarter of the picture stays as it is even when all of a large board has moved.
    noise = _part(np.abs(sample - middle), 0.25) / _QUARTER
    least = min(max(_LEAST, 7 * noise), _MOST)
    changed = np.asarray(cv2.inRange(change, np.array([middle - least]), np.array([middle + least])) == 0)
    rows = changed.any(axis=1)
    if rows.any():
        # Lamps on alternating current light a picture in bands when its rows are exposed one after the other.
        own = change[rows] - middle
        half = change.shape[1] // 6
        bands = np.partition(own[:, ::3], half, axis=1)[:, half, None]
        changed[rows] = np.abs(own - bands.clip(-_BAND, _BAND)) > least
    return changed


def _part(values: _Small, share: float) -> float:
    """The value below which this share of the values lies; `np.quantile` takes several times as long for so few."""
    place = int(share * values.size)
    return float(np.partition(values, place, axis=None)[place])
