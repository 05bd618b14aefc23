"""Learns the lens of a camera from views of the board.

Every view of three or four corner markers says a little about focal length and distortion. A
`LensEstimate` sums these views up as the normal equations of a least-squares problem with two
unknowns, log focal length and k1. For each view:

1. Solve the pose with the current lens.
2. Compute how the corners' residuals depend on the lens if the pose follows it (`_linearise`).
3. Add this to the normal equations. Older views slowly lose weight.
4. Solve the equations, with a prior that holds the lens near the nominal one.

`vision.reading.locate` updates the estimate, and `vision.cameras.lenses` stores it between two
starts. The limits were chosen by trial on rendered tables. `tests/vision/test_lens_models.py` reads
boards through lenses that have to be learned.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from vision.pose.optics import Floats, Lens, Points
from vision.pose.pose import Pose, refine_pose, solve_pose

# Prior information on log focal length and k1, before the first view: the inverse of their
# variances. The nominal focal lengths of webcams are wrong by about an eighth, and k1 by 0.04.
_PRIOR_INFORMATION = np.diag([1 / 0.12**2, 1 / 0.04**2])

# Minimum standard deviation of a corner in px. It covers paper that is not flat. Smaller: the first
# views outweigh all later ones.
_MIN_CORNER_PX = 0.7

# Maximum step in log focal length and in k1 after which no further step is needed. The remaining
# error is below a hundredth of that step.
_CONVERGED = 5e-3

# Maximum number of Gauss-Newton steps on the first view, whose start may be far off.
_MAX_FIRST_STEPS = 3

# Number of views that keep their full weight.
_FULL_VIEWS = 20

# Factor by which each further view reduces the weight of all older ones. A lens changes when it is
# focused anew, and with this factor the estimate follows after some 20 views.
_FADE = 0.95

# Maximum change of log focal length and of k1 from the nominal lens. It keeps a few bad views from
# spoiling the lens. Lenses beyond it are found by `vision.pose.lens_choice`.
_MAX_CHANGE = 0.4, 0.15


@dataclass(frozen=True, eq=False)
class LensEstimate:
    """An estimate of focal length and k1 that improves with each view of corner markers.

    A prior holds both near the nominal lens. So a view from straight above, which contains no
    information about the focal length, does not change it. An estimate is immutable: `with_view`
    and `with_fit` return a new one.
    """

    base: Lens
    """The lens from which changes count: the nominal one, or the last one of `with_fit`."""
    lens: Lens
    """The current estimate."""
    is_calibrated: bool = False
    """Whether the lens was calibrated elsewhere. It is never changed then."""
    views: int = 0
    """Number of views used so far."""
    is_from_lines: bool = False
    """Whether the estimate comes from a board with its printed lines, not from corner markers
    alone.
    """
    information: Floats = field(default_factory=lambda: np.zeros((2, 2)))
    """(2, 2): matrix of the normal equations for log focal length and k1, relative to `base`."""
    vector: Floats = field(default_factory=lambda: np.zeros(2))
    """(2,): right side of the normal equations."""

    @classmethod
    def initial(cls, nominal: Lens, is_calibrated: bool = False) -> LensEstimate:
        """Return an estimate without any views."""
        return cls(nominal, nominal, is_calibrated)

    @property
    def is_lens_known(self) -> bool:
        """Whether the estimate rests on more than the nominal lens of the camera's model."""
        return self.is_calibrated or self.views > 0

    @property
    def sigmas(self) -> Floats:
        """(2,): standard deviations of the focal length, as a share of it, and of k1."""
        covariance = np.linalg.inv(self.information + _PRIOR_INFORMATION)
        return np.asarray(np.sqrt(np.diag(covariance)))

    @property
    def focal_sigma(self) -> float:
        """Standard deviation of the focal length, as a share of it."""
        return float(self.sigmas[0])

    def with_view(self, points_mm: Points, points_px: Points, pose: Pose) -> LensEstimate:
        """Return the estimate after one more view: corners (N, 3) mm on the board at (N, 2) px.

        `pose` is the pose of that view with the current lens. Returns the same estimate for a
        calibrated lens, or if the view gives no pose.
        """
        if self.is_calibrated:
            return self

        fade = 1.0 if self.views < _FULL_VIEWS else _FADE
        lens = self.lens
        information = self.information
        vector = self.vector
        for _ in range(_MAX_FIRST_STEPS if self.views == 0 else 1):
            # Gauss-Newton, with all earlier views summed up in a matrix and a vector.
            linearised = _linearise(points_mm, points_px, pose, lens)
            if linearised is None:
                return self
            jacobian, residuals, pose = linearised
            # The unknowns: how far log focal length and k1 are from the nominal lens.
            before = lens.change_from(self.base)[:2]
            # A view that no lens explains gets little weight, since something probably shifts a
            # corner.
            weight = 1 / max(_MIN_CORNER_PX, pose.rms_px) ** 2
            # The normal equations over all views, in values relative to the nominal lens.
            information = fade * self.information + weight * jacobian.T @ jacobian
            vector = fade * self.vector + weight * jacobian.T @ (jacobian @ before - residuals)
            solution = np.linalg.solve(information + _PRIOR_INFORMATION, vector)
            after = solution.clip(np.negative(_MAX_CHANGE), _MAX_CHANGE)
            lens = self.base.with_change(np.array([*after, 0.0]))
            if np.abs(after - before).max() < _CONVERGED:
                break
        return replace(
            self, lens=lens, information=information, vector=vector, views=self.views + 1
        )

    def with_fit(self, lens: Lens, covariance: Floats, by_lines: bool = True) -> LensEstimate:
        """Return the estimate that continues from a lens fitted to a whole board, of any model.

        The fitted lens also becomes the `base`. `covariance` (2, 2) is that of log focal length and
        k1. `by_lines` is whether printed lines were part of the fit. Returns the same estimate for
        a calibrated lens.
        """
        if self.is_calibrated:
            return self
        # The information of the fitted lens replaces what earlier views have said.
        information = np.asarray(np.linalg.inv(covariance), np.float64)
        return LensEstimate(
            base=lens,
            lens=lens,
            views=self.views + 1,
            is_from_lines=by_lines,
            information=information,
        )


def _linearise(
    points_mm: Points, points_px: Points, guess: Pose, lens: Lens
) -> tuple[Floats, Floats, Pose] | None:
    """Return the Jacobian (2N, 2), residuals (2N,) and pose of (N,) corners for a lens.

    The columns of the Jacobian are derivatives by log focal length and k1, where the pose follows
    the lens. The pose is solved for this lens, starting from `guess`. Returns None if there is no
    such pose.
    """
    pose = guess if guess.lens == lens else refine_pose(guess, points_mm, points_px, lens)
    pose = pose or solve_pose(points_mm, points_px, lens, guess.size)
    if pose is None:
        return None
    # The derivatives by log focal length and k1.
    projected_px, by_pose, by_lens = pose.project(points_mm)
    by_lens = by_lens[:, :2]
    # Remove the part that a change of the pose can compensate.
    jacobian = by_lens - by_pose @ np.linalg.solve(by_pose.T @ by_pose, by_pose.T @ by_lens)
    return jacobian, (projected_px - points_px).ravel(), pose
