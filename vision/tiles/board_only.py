"""Pictures of the board alone. Everything beside it is blacked out before a picture is kept or
shown.

If it is not known that the board still lies where it was read, the whole picture is black. So a
camera that was bumped shows nothing before the board has been found again.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray

from companion.core.kit import Board
from companion.core.ports import Frame
from vision.cameras.colours import Colours
from vision.detection.markers import Luma, marker_modules, module_means
from vision.pose.pose import Pose, at_height, corner_points_mm
from vision.readability import board_outline_mm

# Paper around the corner markers that is shown, in mm. Without it, they could not be read.
_EDGE_MM = 4.0

# Minimum number of corner markers that must be where the pose puts them. A board that was turned or
# pushed has none, and hands may hide two.
_MIN_CORNERS = 2

# Minimum difference between black and white modules, of 255. With less, noise would decide. This
# limit and the next one are strict, because a picture that is shown in error may show what is
# secret.
_MIN_CONTRAST = 30.0

# Maximum number of the 49 modules of a corner marker that may be wrong where the pose puts it. A
# pose that is off by a module has many more.
_MAX_WRONG_MODULES = 3

# (16, 1): points along a side of the board, as shares of it.
_SIDE_POINTS = np.linspace(0.0, 1.0, 16)[:, None]

# Cr and Cb of grey.
_GREY = 128

# (height, width): 255 on the board, 0 beside it.
Mask = NDArray[np.uint8]


def black_out(frame: Frame, board: Board, pose: Pose | None) -> Frame:
    """Return the frame as everybody may see it: black beside the board.

    `pose` is the pose of the board in it. None means that the board was not read, so the whole
    frame becomes black.
    """
    if pose is None or not _is_board_there(frame.luma, board, pose):
        return replace(frame, luma=np.zeros_like(frame.luma), colours=None)
    mask = _board_mask(board, pose)
    luma = np.asarray(cv2.bitwise_and(frame.luma, mask), np.uint8)
    colours = frame.colours
    if colours is None:
        return replace(frame, luma=luma)
    # Colours are computed when somebody asks for them.
    return replace(frame, luma=luma, colours=lambda: _colours_on_board(colours(), mask))


def _is_board_there(luma: Luma, board: Board, pose: Pose) -> bool:
    """Return whether corner markers are in this very picture where the pose puts them."""
    if pose.size != luma.shape[::-1]:
        return False
    fitting_count = 0
    for marker in board.corners:
        # Hidden markers and those outside of the picture say nothing.
        quad = pose.to_px(corner_points_mm(board, marker))
        if pose.is_in_picture(quad).all():
            fitting_count += _shows_marker(luma, quad, marker)
    return fitting_count >= _MIN_CORNERS


@lru_cache(maxsize=1)
def _board_mask(board: Board, pose: Pose) -> Mask:
    """Return the mask of the board, which is cached for the last pose."""
    # Many points along each side, because a lens bends straight lines.
    starts = board_outline_mm(board, _EDGE_MM)[:, None, :2]
    ends = np.roll(starts, -1, axis=0)
    outline = starts + (ends - starts) * _SIDE_POINTS
    width, height = pose.size
    mask = np.zeros((height, width), np.uint8)
    cv2.fillPoly(mask, [pose.to_px(at_height(outline)).round().astype(np.int32)], 255)
    return mask


def _shows_marker(luma: Luma, quad: NDArray[np.float64], marker: int) -> bool:
    """Return whether the quadrangle (4, 2) px shows this marker, but for a few modules."""
    means = module_means(luma, quad)
    if np.ptp(means) < _MIN_CONTRAST:
        return False
    # Modules above the mean of both tones are light.
    is_light = means > (means.min() + means.max()) / 2
    return int((is_light != (marker_modules(marker) > 0)).sum()) <= _MAX_WRONG_MODULES


def _colours_on_board(colours: Colours | None, mask: Mask) -> Colours | None:
    """Return the colours (h, w, 2) of the board, and grey beside it.

    `mask` has the size of the luma.
    """
    if colours is None:
        return None
    # Colours are smaller. A pixel that is not wholly on the board shows none.
    small = cv2.resize(mask, (colours.shape[1], colours.shape[0]), interpolation=cv2.INTER_AREA)
    covered = colours.copy()
    covered[small < 255] = _GREY
    return covered
