"""Which parts of a picture are to be looked at: those that differ from what was read, and what stayed unknown."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from companion.core.grid import Square
from vision.detection.markers import Luma
from vision.detection.motion import RELIT, Blocks, Motion, Stir
from vision.pieces.regions import blocks_over
from vision.pieces.square_judge import LastLook

_RETRY_FRAMES = 10
"""After so many still frames squares that stayed unknown are looked at again."""


class ChangedBlocks:
    """Follows what moves from frame to frame, and what of that has not been read since."""

    def __init__(self) -> None:
        self._motion = Motion()
        self._since_look = self._still_frames = 0
        self._fresh: Blocks | None = None

    @property
    def still_frames(self) -> int:
        """How many frames in a row nothing has moved; 0: something moved in the last one."""
        return self._still_frames

    @property
    def small(self) -> NDArray[np.float32] | None:
        """See `Motion.small`."""
        return self._motion.small

    @property
    def is_retry_due(self) -> bool:
        """Was so long nothing looked at that squares that stayed unknown are to be looked at again?"""
        return self._since_look >= _RETRY_FRAMES

    def see(self, luma: Luma) -> Stir:
        """What moves in the next frame."""
        stir = self._motion.see(luma)
        self._since_look += 1
        self._still_frames = 0 if stir.moving else self._still_frames + 1
        return stir

    def see_turned(self, luma: Luma) -> Stir:
        """The same frame turned round: it is compared with none before it."""
        self._motion = Motion()
        return self._motion.see(luma)

    def to_read(self, stir: Stir, seen: LastLook | None, resigned: frozenset[Square]) -> Blocks | None:
        """Which blocks of the picture to look at again; None: all of them.

        What was read while something moved is read once more when all is still, and so is what stayed unknown but for
        the `resigned` squares, which have to wait for a retry.
        """
        if seen is None or stir.changed is None or abs(stir.light - 1) > RELIT:
            return None
        blocks = stir.changed
        wanted = seen.unknown if self.is_retry_due else seen.unknown - resigned
        if wanted and not stir.moving:
            blocks = blocks | blocks_over(seen.kit, seen.pose, wanted, blocks.shape)
        fresh = blocks if self._fresh is None or self._fresh.shape != blocks.shape else self._fresh | blocks
        self._fresh = fresh
        return blocks if stir.moving else fresh

    def mark_read(self, looked: Blocks | None) -> None:
        """These blocks of the last frame were looked at; None: all of them."""
        self._motion.mark_read(looked)
        if looked is None and self._motion.small is not None:
            self._fresh = np.ones(self._motion.small.shape, dtype=bool)
        self._since_look = 0

    def settle(self) -> None:
        """The table has been still for as long as it takes: nothing is left to be read once more."""
        self._fresh = None
