"""The last correction of an uncertain pose: slide it, within its uncertainty, until the printed lines fall into place.

When pieces hide corner markers, the squares' outlines are still in sight. The search follows the few directions in
which the pose is uncertain, at most three standard deviations and less than half a square, so that it cannot jump to
a neighbouring line.
"""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np

from companion.kit import Board
from vision.markers import Luma
from vision.pose import Points, Pose, flat

_REACH = 3.0
_LEAST_PX = 12.0
"""How far the search goes where the pose claims to be more certain than hidden markers let it be."""
_DIRECTIONS = 3
_COARSE_PX = 1.5
_BETTER = 1.15
"""The lines must fit so many times better than before, or stand out from what is around, or nothing is changed."""
_AROUND_PX, _OUTSTANDING = 5.0, 1.06
"""So far around in every uncertain direction the lines must fit so many times worse."""


def aligned_pose(luma: Luma, board: Board, pose: Pose) -> Pose:
    """The pose near `pose` whose outlines lie best on dark lines of the picture; `pose` itself when none is better."""
    if pose.covariance is None:
        return pose
    search = _Search(luma, board, pose)
    many = int(np.clip(2 * search.limits[0] * search.reach_px[0] / _COARSE_PX, 3, 60)) | 1
    steps = np.zeros(len(search.limits))
    sweep = [np.concatenate([[first], steps[1:]]) for first in np.linspace(-search.limits[0], search.limits[0], many)]
    steps = max(sweep, key=lambda trial: search.fit(trial, soft=True))
    search.begin_at(steps)
    for step_px in (1.0, 0.5, 0.25):
        steps = search.climb(steps, step_px)
    if search.fit(steps) >= _BETTER * search.fit(np.zeros(len(steps))) or search.stands_out(steps):
        return search.answer(steps)
    return pose


class _Search:
    """Trial poses, `steps` standard deviations away in each uncertain direction, and how well their lines fit."""

    def __init__(self, luma: Luma, board: Board, pose: Pose) -> None:
        self._pose = pose
        self._points = _outline_points(board)
        self._changes, self.reach_px = _directions(board, pose)
        half_square_px = 0.46 * board.pitch_mm * min(pose.px_per_mm(x, y) for x, y in _ends(board))
        reach_px = np.maximum(self.reach_px, 1e-6)
        self.limits = np.minimum(np.maximum(_REACH, _LEAST_PX / reach_px), half_square_px / reach_px)
        kernel = np.ones((9, 9), np.uint8)
        low, high = self._window(luma)
        self._corner = np.array(low, dtype=np.float64)
        dark = cv2.morphologyEx(luma[low[1] : high[1], low[0] : high[0]], cv2.MORPH_BLACKHAT, kernel)
        dark = np.asarray(np.minimum(dark, 60) * 4, np.uint8)  # a quarter of a level counts
        self._sharp: Luma = np.asarray(cv2.GaussianBlur(dark, (0, 0), 0.7), np.uint8)
        self._soft: Luma = np.asarray(cv2.GaussianBlur(dark, (0, 0), 2.0), np.uint8)
        self.begin_at(np.zeros(len(self.limits)))

    def _window(self, luma: Luma) -> tuple[tuple[int, int], tuple[int, int]]:
        """Low and high (x, y) of the part of the picture in which the lines may lie."""
        places = self._pose.to_px(self._points)
        room = _LEAST_PX + float(np.max(self.limits * self.reach_px))
        size = np.array(luma.shape[::-1])
        low = np.floor(places.min(axis=0) - room).clip(0, size - 1).astype(int)
        high = np.ceil(places.max(axis=0) + room).clip(low + 1, size).astype(int)
        return (int(low[0]), int(low[1])), (int(high[0]), int(high[1]))

    def begin_at(self, steps: Points) -> None:
        """Measure how the lines move from here on: nearby they move straight."""
        self._here = steps
        self._places = self._moved(steps).to_px(self._points) - self._corner
        shifts = 0.5 * np.diag(1 / np.maximum(self.reach_px, 1e-6))
        moved = [self._moved(steps + shift).to_px(self._points) - self._corner for shift in shifts]
        ways = [(there - self._places) / shift.sum() for there, shift in zip(moved, shifts, strict=True)]
        self._ways = np.array(ways).astype(np.float32)
        self._places = self._places.astype(np.float32)

    def _moved(self, steps: Points) -> Pose:
        change = steps @ self._changes
        rotation, translation = change[:3].reshape(3, 1), change[3:].reshape(3, 1)
        return replace(
            self._pose, rotation=self._pose.rotation + rotation, translation=self._pose.translation + translation
        )

    def fit(self, steps: Points, soft: bool = False) -> float:
        """Mean darkness, against its surroundings, along the outlines."""
        change = (steps - self._here).astype(np.float32)
        if soft:  # for a first search a part of the lines is enough
            lines, places = self._soft, self._places[::3] + np.tensordot(change, self._ways[:, ::3], 1)
        else:
            lines, places = self._sharp, self._places + np.tensordot(change, self._ways, 1)
        darkness = cv2.remap(lines, places[:, None], None, cv2.INTER_LINEAR)  # type: ignore[call-overload]  # no None
        return float(cv2.mean(darkness)[0])

    def climb(self, steps: Points, step_px: float) -> Points:
        """Up to the nearest best fit, in steps that move the board's corners so far."""
        best, better = self.fit(steps), True
        sizes = step_px / np.maximum(self.reach_px, step_px)
        while better:
            better = False
            for index, sign in ((i, s) for i in range(len(steps)) for s in (-1, 1)):
                trial = steps.copy()
                limit = self.limits[index]
                trial[index] = np.clip(trial[index] + sign * sizes[index], -limit, limit)
                value = self.fit(trial)
                if value > best * 1.001:
                    best, steps, better = value, trial, True
        return steps

    def stands_out(self, steps: Points) -> bool:
        """Do the lines fit clearly worse some pixels away in every direction that is less certain than these?"""
        away = np.diag(_AROUND_PX / np.maximum(self.reach_px, 1e-6))[self.reach_px > _AROUND_PX]
        worse = [self.fit(steps + sign * way) for way in away for sign in (-1, 1)]
        return self.fit(steps) >= _OUTSTANDING * max(worse, default=0.0)

    def answer(self, steps: Points) -> Pose:
        """The pose there; along the directions searched it is certain to about a pixel, unless a limit was hit."""
        covariance = self._pose.covariance
        assert covariance is not None
        if (np.abs(steps) >= 0.97 * self.limits).any():
            return self._moved(steps)
        for change, reach in zip(self._changes, self.reach_px, strict=True):
            covariance = covariance - (1 - min(1.0, 1.0 / reach) ** 2) * np.outer(change, change)
        return replace(self._moved(steps), covariance=covariance)


def _ends(board: Board) -> tuple[tuple[float, float], ...]:
    right, top = board.width_mm, board.height_mm
    return (0.0, 0.0), (right, 0.0), (right, top), (0.0, top)


def _directions(board: Board, pose: Pose) -> tuple[Points, Points]:
    """(D, 6): changes of rotation and translation by one standard deviation in the directions that move the board's
    corners most; (D,): how far they do, in px."""
    covariance = np.asarray(pose.covariance)
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(values.clip(0))
    ends = flat(np.array(_ends(board))).reshape(-1, 1, 3)
    jacobian = cv2.projectPoints(ends, pose.rotation, pose.translation, pose.matrix, pose.lens.distortion)[1][:, :6]
    _, reach, ways = np.linalg.svd(jacobian @ root)
    return (root @ ways[:_DIRECTIONS].T).T, reach[:_DIRECTIONS]


def _outline_points(board: Board) -> Points:
    """(N, 3): points along the outlines of all squares, their corners left out."""
    along = np.linspace(-0.4, 0.4, 7) * board.square_mm
    side = np.full(len(along), board.square_mm / 2)
    square = np.vstack(
        [np.column_stack(pair) for pair in ((along, side), (along, -side), (side, along), (-side, along))]
    )
    return np.vstack([flat(square + board.centre_mm(s)) for s in board.squares if s not in board.holes])
