"""Does anything move? A cheap question to every frame, so that a still table costs almost nothing."""

from __future__ import annotations

from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.markers import Luma
from vision.pose import Points

_SHRINK = 8
_LEAST = 4.0
"""Smallest change of a block's brightness, of 255, that counts."""
NOWHERE: Points = np.empty((0, 2))
"""No places."""


class Stir(NamedTuple):
    """`moving`: something differs from the frame before; `drifted`: something differs from the last frame read.

    `places` are (N, 2) pixels of what has moved since the frame before.
    """

    moving: bool
    drifted: bool
    places: Points


class Motion:
    """Compares each frame, in blocks of 8 x 8 pixels, with the one before and with the last one that was read.

    Brightness changes of the whole picture and the sensor's noise are measured and taken off.
    """

    def __init__(self) -> None:
        self._before: NDArray[np.float32] | None = None
        self._read: NDArray[np.float32] | None = None

    def see(self, luma: Luma) -> Stir:
        """Take the next frame; the first one counts as moving."""
        height, width = luma.shape
        size = (max(1, width // _SHRINK), max(1, height // _SHRINK))
        small = cv2.resize(luma, size, interpolation=cv2.INTER_AREA).astype(np.float32)
        moving, drifted = _difference(small, self._before), _difference(small, self._read)
        self._before = small
        places = NOWHERE
        if moving is not None:
            places = np.argwhere(moving)[:, ::-1].astype(np.float64) * _SHRINK + (_SHRINK - 1) / 2
        return Stir(moving is None or bool(moving.any()), drifted is None or bool(drifted.any()), places)

    def mark_read(self) -> None:
        """The last frame has been read: later ones are compared with it."""
        self._read = self._before


def _difference(small: NDArray[np.float32], before: NDArray[np.float32] | None) -> NDArray[np.bool_] | None:
    """Which blocks have changed; None when there is nothing to compare with."""
    if before is None or before.shape != small.shape:
        return None
    change = small - before
    sample = change[::3, ::3]
    middle = float(np.median(sample))
    change = np.abs(change - middle)
    noise = 1.4826 * float(np.median(np.abs(sample - middle)))
    return np.asarray(change > max(_LEAST, 7 * noise))
