"""Finding the board in picture after picture: pose from the corner markers that are visible, held while nothing moves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np

from companion.kit import Board
from vision.markers import Sighting
from vision.pose import Lens, LensTuner, Points, Pose, corner_points_mm, solve_pose

_HOLD_PX = 1.0 / 1280
"""Corners that are this close (by picture width) to where the last pose puts them have not moved."""
_ANCHOR_PX = 2.0 / 1280


class BoardLocator:
    """Answers where the board is; remembers the last pose so that hands over corner markers do no harm.

    Two or more corner markers give a pose; one, or two pieces that lie as before, only confirm the last one.
    """

    def __init__(self, nominal: Lens) -> None:
        self._nominal = nominal
        self._tuner = LensTuner(nominal)
        self._board: Board | None = None
        self._pose: Pose | None = None
        self._anchors: dict[int, Points] = {}
        self.problem = ""
        """Why there is no pose although corner markers are seen, as a sentence; else empty."""

    @property
    def lens(self) -> Lens:
        """The lens as far as it is known by now."""
        return self._tuner.lens

    def forget(self) -> None:
        """Start anew: another board or picture size. What is known about the lens stays."""
        self._pose, self._anchors, self._board = None, {}, None

    def locate(self, board: Board, sightings: Iterable[Sighting], size: tuple[int, int]) -> Pose | None:
        """The pose of a board among all sightings of a picture of (width, height), or None."""
        if board is not self._board or (self._pose is not None and self._pose.size != size):
            self.forget()
            self._board = board
        self.problem = ""
        single = _once(sightings)
        corners = {marker: px for marker, px in single.items() if marker in board.corners}
        others = {marker: px for marker, px in single.items() if marker not in board.corners}
        if self._still_holds(board, corners, others):
            self._anchors = self._anchors | others
            return self._pose
        self._pose = self._solve(board, corners, size) if len(corners) >= 2 else None
        self._anchors = others
        if len(corners) == 1:
            self.problem = "Only one corner of the board is in the picture: show at least two"
        return self._pose

    def _still_holds(self, board: Board, corners: Mapping[int, Points], others: Mapping[int, Points]) -> bool:
        pose = self._pose
        if pose is None or len(corners) > pose.markers:
            return False
        if corners:
            expected = np.vstack([pose.to_px(corner_points_mm(board, marker)) for marker in corners])
            error = expected - np.vstack(list(corners.values()))
            rms = float(np.sqrt((error**2).sum(axis=1).mean()))
            return rms <= max(_HOLD_PX * pose.size[0], 1.3 * pose.rms_px)
        same = [
            np.abs(px - self._anchors[marker]).max() <= _ANCHOR_PX * pose.size[0]
            for marker, px in others.items()
            if marker in self._anchors
        ]
        return sum(same) >= 2 and all(same)

    def _solve(self, board: Board, corners: Mapping[int, Points], size: tuple[int, int]) -> Pose | None:
        points_mm = np.vstack([corner_points_mm(board, marker) for marker in corners])
        points_px = np.vstack(list(corners.values()))
        diagonal = float(np.linalg.norm(np.ptp(points_px, axis=0)))
        limit = max(2.5, 0.01 * diagonal)
        tuner = self._tuner
        if len(corners) >= 3:
            # Only views that the board explains well may teach the lens.
            trial = LensTuner(self._nominal) if tuner.views == 0 else tuner
            before = solve_pose(points_mm, points_px, trial.lens, size)
            if before is not None and before.rms_px <= 3 * limit:
                trial.learn(points_mm, points_px, size)
        else:
            trial = tuner
        pose = solve_pose(points_mm, points_px, trial.lens, size, self._pose)
        if pose is None or pose.rms_px > limit:
            self.problem = (
                f"The corner markers do not lie as on the board “{board.name}”: "
                "put down the board that is being played, flat, and check that it was printed at 100 %"
            )
            return None
        self._tuner = trial
        return pose


def _once(sightings: Iterable[Sighting]) -> dict[int, Points]:
    """Corners by marker id, of those that are seen exactly once."""
    found = list(sightings)
    times = Counter(sighting.marker for sighting in found)
    return {s.marker: s.corners_px for s in found if times[s.marker] == 1}
