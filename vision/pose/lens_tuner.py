"""Learning a camera's lens from the board itself, view by view."""

from __future__ import annotations

import math

import numpy as np

from vision.pose.optics import Lens, Points
from vision.pose.pose import Pose, refined_pose, solve_pose


class LensTuner:
    """Sharpens focal length and distortion with every good view of three or four corner markers.

    Both are unknowns of a least-squares sum over views (the pose is solved anew for each trial value), held near the
    nominal lens by a prior: a view from straight above says nothing about the focal length and changes nothing.
    """

    _PRIOR = np.diag([1 / 0.12**2, 1 / 0.04**2])
    _CORNER_PX = 0.7
    _CLOSE = 5e-3
    """A step no longer than this leaves less than a hundredth of it to go."""

    def __init__(self, nominal: Lens, exact: bool = False) -> None:
        self.nominal = nominal
        self.lens = nominal
        self._base = nominal
        self.told_by_lines = False
        """Has a board with its printed lines told the lens, and not the corner markers alone?"""
        self.exact = exact
        """Measured by somebody who knows better: it is left alone."""
        self.views = 0
        self._information = np.zeros((2, 2))
        self._vector = np.zeros(2)

    @property
    def spread(self) -> float:
        """One standard deviation of the focal length, by its own size, as the views tell it."""
        return float(np.sqrt(np.linalg.inv(self._information + self._PRIOR)[0, 0]))

    @property
    def bend_spread(self) -> float:
        """One standard deviation of k1, as the views tell it."""
        return float(np.sqrt(np.linalg.inv(self._information + self._PRIOR)[1, 1]))

    def learn(self, points_mm: Points, points_px: Points, pose: Pose) -> None:
        """Take one view into account, `pose` being how it is seen through the lens as it is; the first one is repeated
        where its start was far off."""
        if self.exact:
            return
        for _ in range(3 if self.views == 0 else 1):
            before, linear = self._value(), self._linearised(points_mm, points_px, pose)
            if linear is None:
                return
            slopes, rest, pose = linear
            if self.views == 0:
                information, vector = np.zeros((2, 2)), np.zeros(2)
            else:
                fade = 1.0 if self.views < 20 else 0.95
                information, vector = self._information * fade, self._vector * fade
            # A view that no lens explains, as something moves a corner, teaches little.
            weight = 1 / max(self._CORNER_PX, pose.rms_px) ** 2
            self._information = information + weight * slopes.T @ slopes
            self._vector = vector + weight * slopes.T @ (slopes @ self._value() - rest)
            self._solve()
            if np.abs(self._value() - before).max() < self._CLOSE:
                break
        self.views += 1

    def adopt(self, lens: Lens, spread: Points, by_lines: bool = True) -> None:
        """Go on from a lens that a whole board has told, of whatever model; `spread` (2, 2) is the covariance of the
        logarithm of its focal length and of k1."""
        if self.exact:
            return
        self._base = self.lens = lens
        self._information, self._vector = np.asarray(np.linalg.inv(spread), np.float64), np.zeros(2)
        self.views += 1
        self.told_by_lines = by_lines

    def _value(self) -> Points:
        """Departure from the lens with which it began: (log focal ratio, k1)."""
        focal = math.log(self.lens.focal_ratio / self._base.focal_ratio)
        return np.array([focal, self.lens.k1 - self._base.k1])

    def _lens_at(self, value: Points) -> Lens:
        focal, k1 = np.clip(value, (-0.4, -0.15), (0.4, 0.15))
        return self._base.changed(np.array([focal, k1, 0.0]))

    def _solve(self) -> None:
        self.lens = self._lens_at(
            np.asarray(np.linalg.solve(self._information + self._PRIOR, self._vector), np.float64)
        )

    def _linearised(self, points_mm: Points, points_px: Points, guess: Pose) -> tuple[Points, Points, Pose] | None:
        """Slopes (2N, 2) and residuals (2N,) of the corners by focal length and k1, the pose being solved for each
        lens, and that pose; None when there is none."""
        pose = guess if guess.lens == self.lens else refined_pose(guess, points_mm, points_px, self.lens)
        pose = pose or solve_pose(points_mm, points_px, self.lens, guess.size)
        if pose is None:
            return None
        seen, by_pose, by_lens = pose.lens.project(points_mm, pose.rotation, pose.translation, pose.size)
        by_lens = by_lens[:, :2]
        # What a change of the pose makes good does not count.
        slopes = by_lens - by_pose @ np.linalg.solve(by_pose.T @ by_pose, by_pose.T @ by_lens)
        return np.asarray(slopes, np.float64), (seen - points_px).ravel(), pose
