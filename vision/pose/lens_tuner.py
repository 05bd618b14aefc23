"""Learning a camera's lens from the board itself, view by view."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from vision.pose.optics import Lens, Points
from vision.pose.pose import Pose, refined_pose, solve_pose

_PRIOR = np.diag([1 / 0.12**2, 1 / 0.04**2])
"""What is known about the focal length's logarithm and k1 before the first view."""
_CORNER_PX = 0.7
"""A corner is seen no more exactly than this."""
_CLOSE = 5e-3
"""A step no longer than this leaves less than a hundredth of it to go."""
_FIRST_STEPS = 3
"""So often the first view is repeated where its start was far off."""
_MANY_VIEWS, _FADE = 20, 0.95
"""After so many views each older one counts a little less than the next."""
_FARTHEST = 0.4, 0.15
"""So far the logarithm of the focal length and k1 may be from where they began."""


@dataclass(frozen=True, eq=False)
class LensTuner:
    """Focal length and distortion, sharpened by every good view of three or four corner markers.

    Both are unknowns of a least-squares sum over views (the pose is solved anew for each trial
    value), held near the nominal lens by a prior: a view from straight above says nothing about the
    focal length and changes nothing.
    """

    base: Lens
    """The lens with which it began."""
    lens: Lens
    """The lens as it is known now."""
    exact: bool = False
    """Measured by somebody who knows better: it is left alone."""
    views: int = 0
    """How many have told it."""
    told_by_lines: bool = False
    """Has a board with its printed lines told the lens, and not the corner markers alone?"""
    information: Points = field(default_factory=lambda: np.zeros((2, 2)))
    """(2, 2): the matrix of the normal equations for the logarithm of the focal length and k1."""
    vector: Points = field(default_factory=lambda: np.zeros(2))
    """(2,): their right side."""

    @classmethod
    def of(cls, nominal: Lens, exact: bool = False) -> LensTuner:
        """Return a tuner that has seen nothing yet."""
        return cls(nominal, nominal, exact)

    @property
    def spreads(self) -> Points:
        """(2,): standard deviations of the focal length, by its own size, and of k1, as the views
        tell them."""
        return np.asarray(np.sqrt(np.diag(np.linalg.inv(self.information + _PRIOR))))

    @property
    def spread(self) -> float:
        """One standard deviation of the focal length, by its own size."""
        return float(self.spreads[0])

    def taught(self, points_mm: Points, points_px: Points, pose: Pose) -> LensTuner:
        """Return the tuner after one more view, `pose` being how it is seen through the lens as it
        is."""
        if self.exact:
            return self

        # Old views count less and less.
        fade = 1.0 if self.views < _MANY_VIEWS else _FADE
        lens, information, vector = self.lens, self.information, self.vector
        for _ in range(_FIRST_STEPS if self.views == 0 else 1):
            # Gauss and Newton's way, with all views before summed up in two matrices.
            linear = _linearise(points_mm, points_px, pose, lens)
            if linear is None:
                return self
            slopes, rest, pose = linear
            before = np.array(
                [math.log(lens.focal_ratio / self.base.focal_ratio), lens.k1 - self.base.k1]
            )
            # A view that no lens explains, as something moves a corner, teaches little.
            weight = 1 / max(_CORNER_PX, pose.rms_px) ** 2
            # The normal equations over all views, in values by the nominal lens.
            information = fade * self.information + weight * slopes.T @ slopes
            vector = fade * self.vector + weight * slopes.T @ (slopes @ before - rest)
            value = np.linalg.solve(information + _PRIOR, vector).clip(
                np.negative(_FARTHEST), _FARTHEST
            )
            # No farther than a lens of this kind may be.
            lens = self.base.changed(np.array([*value, 0.0]))
            if np.abs(value - before).max() < _CLOSE:
                break
        return replace(
            self, lens=lens, information=information, vector=vector, views=self.views + 1
        )

    def told(self, lens: Lens, spread: Points, by_lines: bool = True) -> LensTuner:
        """Return the tuner that goes on from a lens that a whole board has told, of whatever model.

        `spread` (2, 2) is the covariance of the logarithm of its focal length and of k1.
        """
        if self.exact:
            return self
        # What is known of it counts as much as the views that told it.
        information = np.asarray(np.linalg.inv(spread), np.float64)
        return LensTuner(lens, lens, False, self.views + 1, by_lines, information)


def _linearise(
    points_mm: Points, points_px: Points, guess: Pose, lens: Lens
) -> tuple[Points, Points, Pose] | None:
    """Return slopes (2N, 2) and residuals (2N,) of the corners by focal length and k1, and their
    pose.

    The pose is solved for each lens. None when there is none.
    """
    pose = guess if guess.lens == lens else refined_pose(guess, points_mm, points_px, lens)
    pose = pose or solve_pose(points_mm, points_px, lens, guess.size)
    if pose is None:
        return None
    # Slopes by the logarithm of the focal length and by k1.
    seen, by_pose, by_lens = pose.project(points_mm)
    by_lens = by_lens[:, :2]
    # What a change of the pose makes good does not count.
    slopes = by_lens - by_pose @ np.linalg.solve(by_pose.T @ by_pose, by_pose.T @ by_lens)
    return slopes, (seen - points_px).ravel(), pose
