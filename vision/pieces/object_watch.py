"""What lies on the board and is no piece: a square that stays covered, and looked otherwise before."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from companion.core.grid import Square
from vision.detection.foreign_objects import lying_free
from vision.detection.markers import Luma
from vision.pieces.frame_reader import FrameReader
from vision.pose.pose import Pose


class ObjectWatch:
    """Watches the unknown squares of the board that the `reader` has seen last."""

    def __init__(self, reader: FrameReader) -> None:
        self._reader = reader
        self.forget()

    def forget(self) -> None:
        """Another board."""
        self._squares: frozenset[Square] = frozenset()
        self._bare: tuple[Pose, NDArray[np.float32]] | None = None

    def among(self, unknown: frozenset[Square]) -> frozenset[Square]:
        """Squares with a foreign object, if they are still among the unknown ones."""
        self._squares &= unknown
        return self._squares

    def look(self, luma: Luma, unknown: frozenset[Square], small: NDArray[np.float32] | None, *, long: bool) -> None:
        """Which unknown squares of a board that lies still does something cover that is no piece? It must have lain
        there for `long`; and what the board looked like before, `small`, is remembered while nothing does."""
        seen = self._reader.seen
        if seen is None or small is None:
            return
        covered = self._reader.covered(luma, unknown)
        if not covered:
            self._bare = seen.pose, small
        elif long and self._bare is not None and self._bare[0] is seen.pose:
            self._squares = lying_free(seen.kit, seen.pose, covered, small, self._bare[1])
