"""Pictures of the board alone. Everything beside it is blacked out before a picture is kept or
shown.

If it is not known that the board still lies where it was read, the whole picture is black. So a
camera that was bumped shows nothing before the board has been found again.
"""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np
from numpy.typing import NDArray

from companion.core.kit import Board
from companion.core.ports import Frame
from vision.cameras.colours import Colours
from vision.detection.markers import Luma, marker_modules, modules_in
from vision.pose.pose import Pose, corner_points_mm, flat
from vision.readability import board_outline_mm

_EDGE_MM = 4.0
"""Paper around the outer markers that is shown, in mm. They cannot be read without it."""
_LEAST_CORNERS = 2
_LEAST_CONTRAST = 30.0
_WRONG_MODULES = 3
"""Number of the 49 modules of a corner marker that may be wrong where the pose puts it."""
_ALONG = np.linspace(0.0, 1.0, 16)[:, None]
_GREY = 128
"""Cr and Cb of grey."""

Mask = NDArray[np.uint8]
"""(height, width): 255 on the board, 0 beside it."""


class BoardOnly:
    """Blacks out what lies beside one board. Used in the watcher's thread."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._mask: tuple[Pose, Mask] | None = None

    def shown(self, frame: Frame, pose: Pose | None) -> Frame:
        """Return the frame as everybody may see it. `pose` is the pose of the board, None if it was
        not read there.
        """
        if pose is None or not self._lies_there(frame.luma, pose):
            return replace(frame, luma=np.zeros_like(frame.luma), colours=None)
        # Black beside the board, and without colour there.
        mask = self._mask_of(pose)
        luma = np.asarray(cv2.bitwise_and(frame.luma, mask), np.uint8)
        colours = frame.colours
        return replace(
            frame, luma=luma, colours=(lambda: _colours_on(colours(), mask)) if colours else None
        )

    def _lies_there(self, luma: Luma, pose: Pose) -> bool:
        """Return whether corner markers are printed in this very picture where the pose puts
        them.
        """
        if pose.size != luma.shape[::-1]:
            return False
        fitting = 0
        for marker in self._board.corners:
            # Hidden markers and those outside of the picture say nothing.
            quad = pose.to_px(corner_points_mm(self._board, marker))
            if pose.is_in_picture(quad).all():
                fitting += _shows(luma, quad, marker)
        return fitting >= _LEAST_CORNERS

    def _mask_of(self, pose: Pose) -> Mask:
        """Return the mask of the board, computed once for a pose."""
        if self._mask is None or self._mask[0] is not pose:
            # Many points along each side, because a lens bends straight lines.
            corners = board_outline_mm(self._board, _EDGE_MM)[:, :2]
            sides = zip(corners, np.roll(corners, -1, axis=0), strict=True)
            outline = np.vstack([one + (other - one) * _ALONG for one, other in sides])
            width, height = pose.size
            mask = np.zeros((height, width), np.uint8)
            cv2.fillPoly(mask, [pose.to_px(flat(outline)).round().astype(np.int32)], 255)
            self._mask = pose, mask
        return self._mask[1]


def _shows(luma: Luma, quad: NDArray[np.float64], marker: int) -> bool:
    """Return whether this marker is printed in the quadrangle, but for a few modules."""
    means = modules_in(luma, quad)
    if np.ptp(means) < _LEAST_CONTRAST:
        return False
    # Pixels above the mean of both tones are light.
    light = means > (means.min() + means.max()) / 2
    return int((light != (marker_modules(marker) > 0)).sum()) <= _WRONG_MODULES


def _colours_on(colours: Colours | None, mask: Mask) -> Colours | None:
    """Return the colours of the board, and grey beside it."""
    if colours is None:
        return None
    # Colours are smaller. A pixel that is not wholly on the board shows none.
    small = cv2.resize(mask, (colours.shape[1], colours.shape[0]), interpolation=cv2.INTER_AREA)
    copy = colours.copy()
    copy[small < 255] = _GREY
    return copy
