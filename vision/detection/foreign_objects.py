"""Things on the board that are no pieces: a cup, a phone. Told only when it is certain, and never
of a hand.

Something lies there when a square that was seen empty shows something else for a while, although
nothing stands in front of it, when no marker can be made out on it, and when it does not reach in
from the edge of the picture.
"""

from __future__ import annotations

from collections.abc import Iterable

import cv2
import numpy as np
from numpy.typing import NDArray

from companion.core.grid import Square
from companion.core.kit import Kit
from vision.detection.stillness import BLOCK_PX
from vision.pose.pose import Pose, flat

_CHANGE = 5.0
"""Blocks that differ so much in brightness, of 255, from the bare board show something else."""


def lying_free(
    kit: Kit,
    pose: Pose,
    squares: Iterable[Square],
    now: NDArray[np.float32],
    bare: NDArray[np.float32],
) -> frozenset[Square]:
    """Return the squares on which lies what does not reach the edge of the picture, as an arm does.

    `now` and `bare` are (rows, columns) of brightness in blocks: the picture, and the one before
    the thing came.
    """
    if now.shape != bare.shape:
        return frozenset()
    change = now - bare
    differs = np.abs(change - np.median(change[::3, ::3])) > _CHANGE
    joined = cv2.morphologyEx(differs.astype(np.uint8), cv2.MORPH_CLOSE, np.ones((5, 5), np.uint8))
    _, labels = cv2.connectedComponents(joined)
    edge = np.concatenate([labels[0], labels[-1], labels[:, 0], labels[:, -1]])
    reaching_in = {0, *edge.tolist()}
    free = set()
    for square in squares:
        middle = pose.to_px(flat(np.array([kit.board.centre_mm(square)])))
        column, row = (middle[0] / BLOCK_PX).astype(int)
        if pose.is_in_picture(middle).all() and labels[row, column] not in reaching_in:
            free.add(square)
    return frozenset(free)
