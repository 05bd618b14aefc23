"""Finding the board in picture after picture: pose from the visible corner markers, held while nothing moves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping

import numpy as np

from companion.kit import Board, Kit
from companion.languages import say
from vision.align import aligned_pose
from vision.markers import Luma, Sighting
from vision.pose import Lens, LensTuner, Points, Pose, corner_points_mm, solve_pose
from vision.sharpen import Tag, sharpened_pose

_HOLD_PX = 1.0 / 1280
"""Corners that are this close (by picture width) to where they were when the pose was found have not moved."""
_ANCHOR_PX = 2.0 / 1280
_MISFIT_PX, _BETTER = 1.0 / 1280, 0.3
"""Four corners that fit worse than this (by picture width) are read without one, when the others fit so much better."""


class BoardLocator:
    """Answers where the board is; remembers the last pose so that hands over corner markers do no harm.

    Two or more corner markers give a pose, sharpened by the pieces when some are hidden; one corner marker, or two
    pieces that lie as before, only confirm the last pose.
    """

    def __init__(self, nominal: Lens) -> None:
        self._nominal = nominal
        self._tuner = LensTuner(nominal)
        self._board: Board | None = None
        self._pose: Pose | None = None
        self._anchors: dict[int, Points] = {}
        self._corners: dict[int, Points] = {}
        self._aligned = False
        self.problem = ""
        """Why there is no pose although corner markers are seen, as a sentence; else empty."""

    @property
    def lens(self) -> Lens:
        """The lens as far as it is known by now."""
        return self._tuner.lens

    @property
    def learned(self) -> LensTuner:
        """What the views have told about the lens, and how surely."""
        return self._tuner

    def use_lens(self, lens: Lens, exact: bool = False) -> None:
        """Another camera: start from its lens, and leave it alone when it is exact."""
        self._nominal, self._tuner = lens, LensTuner(lens, exact)
        self.forget()

    def forget(self) -> None:
        """Start anew: another board or picture size. What is known about the lens stays."""
        self._pose, self._board = None, None
        self._anchors, self._corners = {}, {}

    def locate(self, kit: Kit, sightings: Iterable[Sighting], size: tuple[int, int]) -> Pose | None:
        """The pose of a kit's board among all sightings of a picture of (width, height), or None."""
        board = kit.board
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
        pose = self._solve(kit, corners, others, size) if len(corners) >= 2 else None
        if len(corners) == 1:
            self.problem = say("Only one corner of the board is in the picture: show at least two")
        if pose is not None:
            self._pose, self._anchors, self._corners = pose, others, corners
            self._aligned = False
        return pose  # where it was stays known: what hides the corners, or half of one, goes away again

    @property
    def is_rough(self) -> bool:
        """Can the printed lines still correct the last pose?"""
        return self._pose is not None and self._pose.markers < 4 and not self._aligned

    def align(self, luma: Luma, board: Board) -> Pose | None:
        """The last pose, corrected once by the printed lines when corner markers were hidden; for still pictures."""
        if self._pose is not None and self.is_rough:
            self._pose = aligned_pose(luma, board, self._pose)
            self._aligned = True
        return self._pose

    def _still_holds(self, board: Board, corners: Mapping[int, Points], others: Mapping[int, Points]) -> bool:
        pose = self._pose
        if pose is None or len(corners) > pose.markers:
            return False
        if corners:
            known = self._corners
            expected = [known[m] if m in known else pose.to_px(corner_points_mm(board, m)) for m in corners]
            error = np.vstack(expected) - np.vstack(list(corners.values()))
            return float(np.sqrt((error**2).sum(axis=1).mean())) <= _HOLD_PX * pose.size[0]
        same = [
            np.abs(px - self._anchors[marker]).max() <= _ANCHOR_PX * pose.size[0]
            for marker, px in others.items()
            if marker in self._anchors
        ]
        return sum(same) >= 2 and all(same)

    def _solve(
        self, kit: Kit, corners: Mapping[int, Points], others: Mapping[int, Points], size: tuple[int, int]
    ) -> Pose | None:
        board = kit.board
        corners = self._fitting(board, corners, size)
        points_mm = np.vstack([corner_points_mm(board, marker) for marker in corners])
        points_px = np.vstack(list(corners.values()))
        diagonal = float(np.linalg.norm(np.ptp(points_px, axis=0)))
        limit = max(2.5, 0.01 * diagonal)
        tuner = self._tuner
        if len(corners) >= 3:
            # Only views that the board explains well may teach the lens.
            trial = LensTuner(self._nominal, tuner.exact) if tuner.views == 0 else tuner
            before = solve_pose(points_mm, points_px, trial.lens, size)
            if before is not None and before.rms_px <= 3 * limit:
                trial.learn(points_mm, points_px, size)
        else:
            trial = tuner
        pose = solve_pose(points_mm, points_px, trial.lens, size, self._pose)
        faces = {marker: kit.face_of_marker(marker) for marker in others}
        tags = [Tag(others[marker], face.height_mm, kit.tag_mm) for marker, face in faces.items() if face]
        if pose is not None and tags and len(corners) < 4:
            pose = sharpened_pose(
                pose, points_mm, points_px, tags, 0.12 if trial.views == 0 and not trial.exact else 0.02
            )
        if pose is None or pose.rms_px > limit:
            self.problem = say(
                "The corner markers do not lie as on the board “{board}”: "
                "put down the board that is being played, flat, and check that it was printed at 100 %",
                board=board.name,
            )
            return None
        self._tuner = trial
        return pose

    def _fitting(self, board: Board, corners: Mapping[int, Points], size: tuple[int, int]) -> Mapping[int, Points]:
        """The corners without the one of four that something bright hides in part, which moves it."""
        if len(corners) < 4 or not (self._tuner.views or self._tuner.exact):
            return corners  # a lens that is not known yet explains none of them

        def misfit_px(markers: Collection[int]) -> float:
            points_mm = np.vstack([corner_points_mm(board, marker) for marker in markers])
            pose = solve_pose(points_mm, np.vstack([corners[marker] for marker in markers]), self._tuner.lens, size)
            return pose.rms_px if pose else float("inf")

        of_all = misfit_px(corners)
        if of_all <= _MISFIT_PX * size[0]:
            return corners
        rests = [corners.keys() - {marker} for marker in corners]
        best_px, best = min(((misfit_px(rest), number) for number, rest in enumerate(rests)))
        return {m: corners[m] for m in rests[best]} if best_px <= _BETTER * of_all else corners


def _once(sightings: Iterable[Sighting]) -> dict[int, Points]:
    """Corners by marker id, of those that are seen exactly once."""
    found = list(sightings)
    times = Counter(sighting.marker for sighting in found)
    return {s.marker: s.corners_px for s in found if times[s.marker] == 1}
