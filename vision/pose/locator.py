"""Finding the board in picture after picture: pose from the visible corner markers, held while nothing moves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

import numpy as np

from companion.core.grid import Square
from companion.core.i18n import say
from companion.core.kit import Board, Kit
from vision.detection.markers import Luma, Sighting
from vision.pose.board_copies import Corners, apart, boards_among, played_on
from vision.pose.board_fit import Belief, Evidence, Fit, Tag, fit_board, fit_lines
from vision.pose.lens_choice import best_start, checked_fit, confirmed_squares, explaining_fit, is_explained
from vision.pose.lens_tuner import LensTuner
from vision.pose.optics import Lens
from vision.pose.pose import Points, Pose, corner_points_mm, nearest_pose, solve_pose

_HOLD_PX = 1.0 / 1280
"""Corners that are this close (by picture width) to where they were when the pose was found have not moved."""
_ANCHOR_PX = 2.0 / 1280
_SAME_PLACE_PX = 6.0 / 1280
"""Corners that are found roughly and are this close to where they were are where they were."""
_MISFIT_PX, _BETTER = 1.0 / 1280, 0.3
"""Four corners that fit worse than this (by picture width) are read without one, when the others fit so much better."""
_TRIES = 4
"""So often in a row another model of the lens is looked for in vain."""
_BENT_PX, _FEW = 2.5, 0.4
"""So far off may corners of bent paper be; asked where the lines confirm no more than this share of the squares."""
_SURE_LINES, _SURE_SHARE = 60, 0.8
"""A view with so many lines, on so large a share of the squares, teaches the lens although corners are hidden."""


class BoardLocator:
    """Answers where the board is; remembers the last pose so that hands over corner markers do no harm.

    Two or more corner markers give a pose, sharpened by the pieces and the printed lines when some are hidden; one
    corner marker, or two pieces that lie as before, only confirm the last pose.
    """

    def __init__(self, nominal: Lens) -> None:
        self._nominal = nominal
        self._tuner = LensTuner(nominal)
        self._board: Board | None = None
        self._pose: Pose | None = None
        self._anchors: dict[int, Points] = {}
        self._corners: dict[int, Points] = {}
        self._seen: Evidence | None = None
        self._aligned = False
        self._tries = 0
        self.problem = ""
        """Why there is no pose although corner markers are seen, as a sentence; else empty."""
        self.twin = ""
        """What to do about a second copy of the board in the last picture, as a sentence; else empty."""
        self.unconfirmed: frozenset[Square] = frozenset()
        """Squares of which the last pose may be wrong: two corner markers say little, and no printed line more."""

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
        self._tries = 0
        self.forget()

    def forget(self) -> None:
        """Start anew: another board or picture size. What is known about the lens stays."""
        self._pose, self._board, self._seen = None, None, None
        self._anchors, self._corners = {}, {}
        self.unconfirmed = frozenset()

    def locate(self, kit: Kit, sightings: Iterable[Sighting], size: tuple[int, int]) -> Pose | None:
        """The pose of a kit's board among all sightings of a picture of (width, height), or None."""
        board = kit.board
        if board is not self._board or (self._pose is not None and self._pose.size != size):
            self.forget()
            self._board = board
        self.problem, self.twin = "", ""
        every = apart(sightings)
        others = {marker: px for marker, px in _once(every).items() if marker not in board.corners}
        own = [s for s in every if s.marker in board.corners]
        corners: Corners = _once(own)
        if len(corners) < len(own) or not self._still_holds(board, corners, others):
            corners = self._own_corners(kit, own, others, size)
        if self._still_holds(board, corners, others):
            self._anchors = self._anchors | others
            return self._pose
        pose = self._solve(kit, corners, others, size) if len(corners) >= 2 else None
        if len(corners) == 1 and not self.twin:
            self.problem = say("Only one corner of the board is in the picture: show at least two")
        if pose is not None:
            self._pose, self._anchors, self._corners = pose, others, dict(corners)
            self._aligned, self.unconfirmed = False, frozenset()
        return pose  # where it was stays known: what hides the corners, or half of one, goes away again

    def is_in_place(self, corners: Corners, size: tuple[int, int]) -> bool:
        """Are two corner markers at least where those of the board were last, and none elsewhere?"""
        off = [np.abs(px - self._corners[marker]).max() for marker, px in corners.items() if marker in self._corners]
        return len(off) >= 2 and max(off) <= _SAME_PLACE_PX * size[0]

    @property
    def is_rough(self) -> bool:
        """Can the printed lines still correct the last pose?"""
        return self._pose is not None and self._pose.markers < 4 and not self._aligned

    def align(self, luma: Luma, board: Board) -> Pose | None:
        """The last pose, corrected once by the printed lines: when corner markers were hidden, or when the lens
        explains the lines badly."""
        pose, seen = self._pose, self._seen
        if pose is None or seen is None or self._aligned:
            return pose
        self._aligned = True
        if pose.markers >= 4 and (self._tuner.exact or self._tries >= _TRIES or is_explained(luma, board, pose)):
            return pose
        if pose.markers >= 4:
            fit = self._explained(luma, board, seen)
        elif pose.markers == 3 and (checked := checked_fit(luma, board, seen, pose, self._spread())) is not None:
            self._pose = replace(checked.pose, markers=pose.markers)
            return self._pose
        else:
            by_markers = fit_board(seen, pose, self._spread())
            self._pose = pose = replace(by_markers.pose, markers=pose.markers)
            is_good = is_explained(luma, board, pose)
            fit = self._along_lines(luma, board, seen, by_markers) if is_good else self._explained(luma, board, seen)
        if fit is not None:
            self._take(board, fit)
        return self._pose

    # ---- the lens ----

    def _spread(self) -> Points:
        """(3,): how far the lens may be from what is believed, see `fit_board`."""
        tuner = self._tuner
        if tuner.exact:
            return np.array([1e-3, 1e-3, 1e-6])
        if tuner.views == 0:
            return np.array([0.2, 0.06, 1e-6])
        return np.array([max(0.01, tuner.spread), max(0.01, tuner.bend_spread), 1e-6])

    def _along_lines(self, luma: Luma, board: Board, seen: Evidence, by_markers: Fit) -> Fit:
        """The pose by the printed lines; where they do not follow from the corner markers, these may be bent."""
        believed = Belief(self._tuner.lens, self._spread())

        def confirmed_by(fit: Fit) -> int:
            return len(confirmed_squares(board, fit, self._corner_middles(board)))

        fit = fit_lines(luma, board, seen, by_markers, believed)
        if confirmed_by(fit) >= _FEW * len(board.squares):
            return fit
        bent = replace(seen, corner_px=_BENT_PX)
        other = fit_lines(luma, board, bent, fit_board(bent, by_markers.pose, believed.spread), believed)
        return max(fit, other, key=confirmed_by)

    def _corner_middles(self, board: Board) -> Points:
        """(N, 2): the middles of the corner markers that were seen, mm."""
        return np.array([board.corner_centres_mm[marker] for marker in self._corners])

    def _explained(self, luma: Luma, board: Board, seen: Evidence) -> Fit | None:
        """The fit of a lens that explains the lines; counts how often there is none."""
        self._tries += 1
        fit = explaining_fit(luma, board, seen, self._tuner.lens, float(self._spread()[0]))
        if fit is not None and is_explained(luma, board, fit.pose):
            self._tries = 0
        return fit

    def _take(self, board: Board, fit: Fit) -> None:
        """Go on with the pose of a fit, which may teach the lens."""
        assert self._pose is not None
        markers = self._pose.markers
        confirmed = confirmed_squares(board, fit, self._corner_middles(board))
        squares = frozenset(board.squares) - board.holes
        if markers >= 4 and len(confirmed) < _SURE_SHARE * len(squares):
            return  # four corners that no line contradicts for certain stay as they are
        self._pose = replace(fit.pose, markers=markers)
        if markers == 2:
            self.unconfirmed = squares - confirmed
        is_sure = fit.lines is not None and fit.lines.is_found.sum() >= _SURE_LINES
        if is_sure and len(confirmed) >= _SURE_SHARE * len(squares) and not self._tuner.exact:
            self._tuner.adopt(fit.pose.lens, fit.lens_spread)

    # ---- corner markers ----

    def _own_corners(
        self, kit: Kit, corners: list[Sighting], others: Mapping[int, Points], size: tuple[int, int]
    ) -> Corners:
        """Corner markers by id, of the board that is played on; none when two copies of it cannot be told apart."""
        single = _once(corners)
        times = Counter(sighting.marker for sighting in corners)
        if max(times.values(), default=0) < 2 and self._fits_one(kit.board, single, size):
            return single
        groups = boards_among(kit.board, corners, self._tuner.lens, size)
        if len(groups) == 1 and len(groups[0]) == len(corners):
            return groups[0]
        if not groups or max(times.values()) < 2 > len(groups) - 1:
            return single if max(times.values()) < 2 else {}
        self.twin = say("The camera sees two boards “{board}”: put one of them away", board=kit.board.name)
        self.problem = self.twin
        return played_on(kit, groups, others, self._tuner.lens, self._pose or size) or {}

    def _fits_one(self, board: Board, corners: Corners, size: tuple[int, int]) -> bool:
        """Can all these corners belong to one board? Fewer than three always can."""
        if len(corners) < 3 or self._tuner.views + self._tuner.exact == 0:
            return True
        pose, limit = _pose_of(board, corners, self._tuner.lens, size)
        return pose is not None and pose.rms_px <= limit

    def _still_holds(self, board: Board, corners: Corners, others: Mapping[int, Points]) -> bool:
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

    def _solve(self, kit: Kit, corners: Corners, others: Mapping[int, Points], size: tuple[int, int]) -> Pose | None:
        board = kit.board
        corners = self._fitting(board, corners, size)
        faces = {marker: kit.face_of_marker(marker) for marker in others}
        tags = [Tag(others[marker], face.height_mm, kit.tag_mm) for marker, face in faces.items() if face]
        points_mm = np.vstack([corner_points_mm(board, marker) for marker in corners])
        self._seen = seen = Evidence(points_mm, np.vstack(list(corners.values())), tags)
        trial = self._tuner
        before, limit = _pose_of(board, corners, trial.lens, size)
        if len(corners) >= 3:
            # Only views that the board explains well may teach the lens.
            trial = LensTuner(self._nominal, trial.exact) if trial.views == 0 else trial
            if before is not None and before.rms_px <= 3 * limit:
                trial.learn(points_mm, seen.points_px, before)
        pose = solve_pose(points_mm, seen.points_px, trial.lens, size, self._pose)
        if (pose is None or pose.rms_px > limit) and not trial.exact and self._tries < _TRIES:
            wide = best_start(seen, self._nominal, size)
            pose = wide[1].pose if wide else pose
            if pose is None or pose.rms_px > limit:
                self._tries += 1
            else:
                trial = LensTuner(self._nominal)
                trial.adopt(pose.lens, np.diag([0.1, 0.05]) ** 2, by_lines=False)
        if pose is None or pose.rms_px > limit:
            self.problem = self.problem or say(
                "The corner markers do not lie as on the board “{board}”: "
                "put down the board that is being played, flat, and check that it was printed at 100 %",
                board=board.name,
            )
            return None
        self._tuner = trial
        return replace(pose, markers=len(corners))

    def _fitting(self, board: Board, corners: Corners, size: tuple[int, int]) -> Corners:
        """The corners without the one of four that something bright hides in part, which moves it."""
        if len(corners) < 4 or not (self._tuner.views or self._tuner.exact):
            return corners  # a lens that is not known yet explains none of them

        def misfit_px(markers: Collection[int]) -> float:
            pose = _pose_of(board, {marker: corners[marker] for marker in markers}, self._tuner.lens, size)[0]
            return pose.rms_px if pose else float("inf")

        of_all = misfit_px(corners)
        if of_all <= _MISFIT_PX * size[0]:
            return corners
        rests = [corners.keys() - {marker} for marker in corners]
        best_px, best = min(((misfit_px(rest), number) for number, rest in enumerate(rests)))
        return {m: corners[m] for m in rests[best]} if best_px <= _BETTER * of_all else corners


def _pose_of(board: Board, corners: Corners, lens: Lens, size: tuple[int, int]) -> tuple[Pose | None, float]:
    """The pose that corner markers tell, and how much may be left over, px."""
    points_mm = np.vstack([corner_points_mm(board, marker) for marker in corners])
    points_px = np.vstack(list(corners.values()))
    limit = max(2.5, 0.01 * float(np.linalg.norm(np.ptp(points_px, axis=0))))
    return nearest_pose(points_mm, points_px, lens, size), limit


def _once(sightings: Iterable[Sighting]) -> dict[int, Points]:
    """Corners by marker id, of those that are seen exactly once."""
    found = list(sightings)
    times = Counter(sighting.marker for sighting in found)
    return {s.marker: s.corners_px for s in found if times[s.marker] == 1}
