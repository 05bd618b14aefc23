"""What pictures would have told had they been asked as closely as the next one.

While a hand moves, bare squares are not sought under shadows with edges: that takes most of a picture's time. Once all
is still they are, and where the still picture shows one, the picture before is asked too. So both have looked.
"""

from __future__ import annotations

from collections.abc import Collection

from companion.core.grid import Square
from vision.pieces.empty_squares import EmptySquares
from vision.pieces.snapshots import Snapshot
from vision.pose.pose import Pose


class Hindsight:
    """Keeps how squares looked that were not asked about shadows, until they are looked at again."""

    def __init__(self) -> None:
        self._pose: Pose | None = None
        self._shots: dict[Square, Snapshot] = {}

    def forget(self) -> None:
        """Another board."""
        self._pose = None
        self._shots.clear()

    def note(self, pose: Pose, shot: Snapshot, left: Collection[Square]) -> None:
        """Of all squares of this snapshot these are `left` without a verdict."""
        if pose is not self._pose:
            self.forget()
        self._pose = pose
        for square in shot.squares:
            self._shots.pop(square, None)
        self._shots |= dict.fromkeys(left, shot)

    def empty_before(self, empties: EmptySquares, pose: Pose, empty: Collection[Square]) -> frozenset[Square]:
        """Which of the squares that are `empty` in a still picture were so when they were looked at before, without
        having been asked? Asked once: all is forgotten then."""
        asked: dict[int, tuple[Snapshot, set[Square]]] = {}
        for square in self._shots.keys() & set(empty) if pose is self._pose else ():
            shot = self._shots[square]
            asked.setdefault(id(shot), (shot, set()))[1].add(square)
        self.forget()
        return frozenset(square for shot, squares in asked.values() for square in empties.empty_among(shot, squares))
