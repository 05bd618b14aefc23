"""Fits pose and lens to everything visible of a board.

This is used while corner markers are hidden, or while the lens is not known. The observations are
corner markers, the markers of pieces (called tags here), and printed lines.

1. Fit corner markers and tags (`fit_board`). Two corner markers alone constrain the far end of the
   board poorly, and the lens not at all. A tag is a square of known size at a known height. It has
   eight coordinates and three unknowns (position and turn), so it adds five constraints.
2. Fit again without tags that do not fit. They are in a hand.
3. Add the printed lines that are unambiguous, and fit again (`fit_lines`). The first ones are near
   the corner markers, where the pose is certain to less than half a square. Each of them makes the
   pose more certain farther away, where more lines become unambiguous. Repeat this until the pose
   is stable.

A fit varies pose and lens by nine parameters, the *change*: rotation vector (3), translation in mm
(3), log focal length, k1 and k2. Covariances and Jacobians have the same order. Fits are nonlinear
least squares by Levenberg-Marquardt, with Huber weights against outliers (`_least_squares`).

The limits were chosen by trial on rendered views with two hidden corners, see
`tests/bench/reading/corners.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from companion.core.kit import Board
from vision.detection.markers import Luma
from vision.pose.optics import Lens
from vision.pose.pose import Floats, Points, Pose, square_corners_mm
from vision.pose.printed_lines import LineMeasurements, printed_lines_of

# Maximum number of steps of one fit, which bounds the time. It usually converges sooner.
_MAX_STEPS = 8

# Maximum number of fits while lines are added, which bounds the time as well.
_MAX_LINE_ROUNDS = 9

# Maximum residual of a tag on the board, in a picture 1280 px wide. A tag with a larger residual is
# in a hand.
_MAX_TAG_ERROR_PX = 2.0

# Standard deviation of a corner. It is measured more precisely, but blur shifts all corners of a
# marker outwards or inwards together, so these errors do not average out.
_CORNER_PX = 0.8

# Standard deviation of a line.
_LINE_PX = 0.8

# Search range of a line, in standard deviations of its predicted position.
_SEARCH_SIGMAS = 3.0

# Minimum search range of a line to decide whether it is unambiguous.
_MIN_REACH_PX = 2.0

# Minimum search range of a line to measure it.
_FINAL_REACH_PX = 3.0

# The pose is stable when a fit moves no line by more than this.
_CONVERGED_PX = 1.0

# A fit ends when the predicted gain of its next step is smaller than this. One observation that is
# off by a standard deviation has a cost of 1/2.
_MIN_GAIN = 1e-2

# A line is used only if its search range is at most this share of the distance to the next line. At
# half of it, the next line would be as near.
_MAX_REACH_SHARE = 0.36

# Finite-difference steps for the nine parameters of a change: large enough for the precision of
# floats, small enough to be linear.
_DIFFERENCE_STEPS = (1e-6, 1e-6, 1e-6, 1e-4, 1e-4, 1e-4, 1e-6, 1e-6, 1e-6)

# Huber bound in standard deviations: larger residuals count less (Huber 1964). 1.5 is a usual
# value.
_HUBER_BOUND = 1.5

# Minimum standard deviation of a lens parameter, as it is a divisor.
_MIN_SIGMA = 1e-7


@dataclass(frozen=True, eq=False)
class Tag:
    """A piece's marker in the picture."""

    corners_px: Points
    """(4, 2), upper left of the print first, clockwise."""
    height_mm: float
    """Height of the marker above the board."""
    side_mm: float
    """Side of the printed marker."""


@dataclass(frozen=True, eq=False)
class Observations:
    """What was observed in a picture, without the printed lines."""

    points_mm: Points
    """(N, 3): corners of the corner markers on the board, four for each marker."""
    points_px: Points
    """(N, 2): the same corners in the picture."""
    tags: Sequence[Tag] = ()
    """The pieces' markers, on the board or in hands."""


@dataclass(frozen=True, eq=False)
class LensPrior:
    """What is assumed about a lens before a fit."""

    lens: Lens
    """The most likely lens."""
    sigmas: Floats
    """(3,): standard deviations of log focal length, k1 and k2."""


@dataclass(frozen=True, eq=False)
class Fit:
    """A pose with its (9, 9) covariance, and the observations it is based on."""

    pose: Pose
    cost: float
    """Half the Huber sum of squared residuals, each divided by its standard deviation."""
    tags: Sequence[Tag] = ()
    """The tags that fit the board."""
    lines: LineMeasurements | None = field(default=None, repr=False)
    """The printed lines, and how far they are from where `pose` predicts them. None if they were
    not measured.
    """

    @property
    def lens_covariance(self) -> Floats:
        """(2, 2): covariance of log focal length and k1."""
        assert self.pose.covariance is not None
        return self.pose.covariance[6:8, 6:8]


def fit_board(observations: Observations, start: Pose, lens_sigmas: Floats) -> Fit:
    """Return the best pose near `start` from markers alone. Tags that do not fit are dropped.

    `lens_sigmas` (3,): prior standard deviations of log focal length, k1 and k2, around the lens of
    `start`.
    """
    prior = LensPrior(start.lens, lens_sigmas)
    fit = _least_squares(_FitProblem(observations, start, prior))
    # Tags held in a hand are not on the board's plane.
    limit_px = _MAX_TAG_ERROR_PX * start.width_px / 1280
    errors_px = tag_errors_px(fit.pose, observations.tags)
    tags = zip(observations.tags, errors_px, strict=True)
    fitting = [tag for tag, error_px in tags if error_px <= limit_px]
    if len(fitting) < len(observations.tags):
        # The outliers distorted the first fit, so start again without them.
        fit = _least_squares(_FitProblem(replace(observations, tags=fitting), start, prior))
    return replace(fit, tags=fitting)


def fit_lines(
    luma: Luma, board: Board, observations: Observations, fit: Fit, prior: LensPrior
) -> Fit:
    """Return the fit, refined with all printed lines that are unambiguous in the picture.

    `fit` is the fit to the markers alone, which has a covariance. `prior` is what is assumed about
    the lens.
    """
    printed = printed_lines_of(board)
    middles_mm = printed.middles_mm
    was_unambiguous = np.zeros(len(middles_mm), bool)
    is_unambiguous = was_unambiguous

    # Each round adds the lines whose predicted position has become certain, from the corners
    # outwards.
    observations = replace(observations, tags=fit.tags)
    for _ in range(_MAX_LINE_ROUNDS):
        pose = fit.pose
        # The search range of each line. It is unambiguous if it does not reach the next line.
        _, normals, scale = printed.geometry(pose)
        sigmas_px = _predicted_sigmas_px(pose, middles_mm, normals)
        reach_px = np.maximum(_SEARCH_SIGMAS * sigmas_px, _MIN_REACH_PX)
        is_unambiguous = reach_px <= _MAX_REACH_SHARE * printed.period_mm * scale
        lines = printed.measure(
            luma, pose, np.where(is_unambiguous, np.maximum(reach_px, _FINAL_REACH_PX), np.nan)
        )
        # Fit corners, tags and these lines together.
        problem = _FitProblem(observations, pose, prior, (middles_mm, lines))
        fit = replace(_least_squares(problem), tags=fit.tags, lines=lines)
        # Stop when the pose is stable, and all visible lines are in use, or no more of them than in
        # the last round.
        shifts_px = np.abs(fit.pose.to_px(middles_mm) - pose.to_px(middles_mm))
        is_stable = shifts_px.max() < _CONVERGED_PX
        if is_stable and (
            is_unambiguous[lines.is_inside].all() or is_unambiguous.sum() <= was_unambiguous.sum()
        ):
            break
        was_unambiguous = is_unambiguous

    # Measure the lines against the final pose. Search a pixel farther, as it has moved a little.
    final = printed.measure(luma, fit.pose, np.where(is_unambiguous, _FINAL_REACH_PX + 1, np.nan))
    return replace(fit, lines=final)


def tag_errors_px(pose: Pose, tags: Sequence[Tag]) -> Floats:
    """Return (T,): the root mean square error of each tag in px."""
    squared_px = (_TagArrays(tags).residuals_px(pose) ** 2).sum(axis=1)
    # Four corners per tag.
    return np.asarray(np.sqrt(squared_px.reshape(-1, 4).mean(axis=1)), np.float64)


def _predicted_sigmas_px(pose: Pose, points_mm: Points, normals: Points) -> Floats:
    """Return (N,) px: the standard deviation of each predicted point (N, 3) along its normal."""
    assert pose.covariance is not None
    # Derivatives of the points along their normals, by the nine parameters of a change.
    _, by_pose, by_lens = pose.project(points_mm)
    jacobian = np.hstack([by_pose, by_lens]).reshape(-1, 2, 9)
    along = np.einsum("nij,ni->nj", jacobian, normals)
    return np.asarray(np.sqrt(np.einsum("ni,ij,nj->n", along, pose.covariance, along).clip(0)))


class _TagArrays:
    """All (T,) tags of a picture as arrays, for their residuals."""

    def __init__(self, tags: Sequence[Tag]) -> None:
        self._corners_px = np.array([tag.corners_px for tag in tags]).reshape(-1, 2)
        self._heights_mm = np.repeat([tag.height_mm for tag in tags], 4)
        sides_mm = np.array([tag.side_mm for tag in tags]).reshape(-1, 1)
        # The corners of a square as complex numbers, so that a rotation is a product.
        self._models = sides_mm * _to_complex(square_corners_mm(0, 0, 1.0))

    def residuals_px(self, pose: Pose) -> Points:
        """Return (4 T, 2): residuals in px of the tags' corners.

        The rays of a tag's corners are intersected with the plane of the tag. The square that fits
        these points best is projected back.
        """
        if not len(self._heights_mm):
            return np.empty((0, 2))
        corners_mm = np.nan_to_num(pose.to_plane(self._corners_px, self._heights_mm))
        corners = _to_complex(corners_mm).reshape(-1, 4)
        middles = corners.mean(axis=1, keepdims=True)
        # The best rotation is the mean direction of the corners, relative to the model's corners.
        turns = (np.conj(self._models) * (corners - middles)).sum(axis=1, keepdims=True)
        turns = turns / np.maximum(np.abs(turns), 1e-9)
        squares = (middles + self._models * turns).ravel()
        squares_mm = np.column_stack([squares.real, squares.imag, self._heights_mm])
        return np.asarray(pose.to_px(squares_mm) - self._corners_px, np.float64)


def _to_complex(points: Points) -> NDArray[np.complex128]:
    # Points (N, 2) as (N,) complex numbers x + iy.
    return points[:, 0] + 1j * points[:, 1]


class _FitProblem:
    """A least-squares problem: residuals, in standard deviations, as a function of a change (9,).

    `start` is the pose from which a change counts. `lines` are the middles (N, 3) mm of all lines
    on the board, and what was measured of each of them.
    """

    def __init__(
        self,
        observations: Observations,
        start: Pose,
        prior: LensPrior,
        lines: tuple[Points, LineMeasurements] | None = None,
    ) -> None:
        self.start = start
        self.corner_count = len(observations.points_px)
        self._observations = observations
        self._tags = _TagArrays(observations.tags)
        self._weights = 1 / np.maximum(prior.sigmas, _MIN_SIGMA)

        # The offset of the start's lens from the prior's.
        self._lens_offset = start.lens.change_from(prior.lens)
        # (8 T, 9): Jacobian of the tags' residuals. None before it is computed.
        self._tag_jacobian: Floats | None = None
        # Everything that is projected: the corners, then the middles of the lines that were found.
        self._points_mm = observations.points_mm
        # (N, 2) each: these middles as measured, and the unit vectors across their lines.
        self._lines_px = np.empty((0, 2))
        self._normals = np.empty((0, 2))
        if lines is not None:
            middles_mm, measured = lines
            is_found = measured.is_found
            self._points_mm = np.vstack([observations.points_mm, middles_mm[is_found]])
            self._lines_px = measured.measured_px[is_found]
            self._normals = measured.normals[is_found]

    @property
    def coordinate_count(self) -> int:
        """Number of observed coordinates."""
        tags = len(self._observations.tags)
        return 2 * self.corner_count + 8 * tags + len(self._lines_px)

    def pose(self, change: Floats) -> Pose:
        """Return the start pose with a change applied."""
        return replace(
            self.start,
            rotation=self.start.rotation.reshape(3, 1) + change[:3, None],
            translation=self.start.translation.reshape(3, 1) + change[3:6, None],
            lens=self.start.lens.with_change(change[6:]),
        )

    def linearise(self, change: Floats) -> tuple[Floats, Floats]:
        """Return the residuals (M,) after a change (9,), and their Jacobian (M, 9).

        The last three residuals are the prior of the lens.
        """
        pose = self.pose(change)
        observations = self._observations
        projected_px, by_pose, by_lens = pose.project(self._points_mm)
        jacobian = np.hstack([by_pose, by_lens])
        corner_count = self.corner_count
        corner_residuals = projected_px[:corner_count] - observations.points_px

        # A line constrains only the direction across it.
        line_residuals = projected_px[corner_count:] - self._lines_px
        line_residuals = (line_residuals * self._normals).sum(axis=1)
        line_jacobian = jacobian[2 * corner_count :].reshape(-1, 2, 9)
        across = (line_jacobian * self._normals[:, :, None]).sum(axis=1)

        # A tag's square is fitted anew for each pose.
        tag_residuals = self._tags.residuals_px(pose).ravel()
        if self._tag_jacobian is None or not len(self._normals):
            # The tags' Jacobian is slow. With lines it is computed only once, because it changes
            # little once they constrain the pose.
            self._tag_jacobian = self._compute_tag_jacobian(change, tag_residuals)

        # Divide everything by its standard deviation, so that all residuals count alike.
        prior_residuals = self._weights * (self._lens_offset + change[6:])
        residuals = [
            corner_residuals.ravel() / _CORNER_PX,
            tag_residuals / _CORNER_PX,
            line_residuals / _LINE_PX,
            prior_residuals,
        ]
        jacobians = [
            jacobian[: 2 * corner_count] / _CORNER_PX,
            self._tag_jacobian / _CORNER_PX,
            across / _LINE_PX,
            np.hstack([np.zeros((3, 6)), np.diag(self._weights)]),
        ]
        return np.concatenate(residuals), np.vstack(jacobians)

    def _compute_tag_jacobian(self, change: Floats, tag_residuals: Floats) -> Floats:
        """Return (8 T, 9): Jacobian of the tags' residuals (8 T,) px by pose and lens."""
        jacobian = np.empty((len(tag_residuals), 9))
        if not len(tag_residuals):
            return jacobian
        # Use finite differences, because the square that fits a tag best has no simple derivative.
        for index, step in enumerate(_DIFFERENCE_STEPS):
            shifted = change.copy()
            shifted[index] += step
            shifted_residuals = self._tags.residuals_px(self.pose(shifted)).ravel()
            jacobian[:, index] = (shifted_residuals - tag_residuals) / step
        return jacobian


def _huber(residuals: Floats) -> tuple[Floats, float]:
    """Return the Huber weights of the residuals, and the cost: half the robust sum of squares.

    The last three residuals (the prior) always have full weight.
    """
    magnitudes = np.abs(residuals)
    # Huber: beyond the bound the cost grows linearly, not quadratically.
    weights = np.minimum(1.0, _HUBER_BOUND / np.maximum(magnitudes, 1e-9))
    weights[-3:] = 1.0
    costs = np.where(
        magnitudes <= _HUBER_BOUND,
        0.5 * residuals**2,
        _HUBER_BOUND * (magnitudes - 0.5 * _HUBER_BOUND),
    )
    costs[-3:] = 0.5 * residuals[-3:] ** 2
    return weights, float(costs.sum())


def _least_squares(problem: _FitProblem) -> Fit:
    """Return the fit that solves a problem, by Levenberg-Marquardt with Huber weights.

    Its pose has a covariance (9, 9).
    """
    change = np.zeros(9)
    # The usual first damping. A step that reduces the cost makes it ten times smaller, any other
    # step ten times larger.
    damping = 1e-3
    residuals, jacobian = problem.linearise(change)
    weights, cost = _huber(residuals)
    for _ in range(_MAX_STEPS):
        # The normal equations of the linearised problem.
        weighted = jacobian * weights[:, None]
        normal = jacobian.T @ weighted
        descent = -weighted.T @ residuals
        # More damping makes the step shorter and safer.
        step = np.linalg.solve(normal + damping * np.diag(np.diag(normal)), descent)
        predicted_gain = step @ (descent - 0.5 * normal @ step)
        if predicted_gain < _MIN_GAIN:
            break
        trial_residuals, trial_jacobian = problem.linearise(change + step)
        trial_weights, trial_cost = _huber(trial_residuals)
        if trial_cost < cost:
            change = change + step
            residuals = trial_residuals
            jacobian = trial_jacobian
            weights = trial_weights
            cost = trial_cost
            damping /= 10
        else:
            damping *= 10

    # The root mean square residual of the corners. Each has two coordinates.
    pose = problem.pose(change)
    corner_residuals_px = residuals[: 2 * problem.corner_count] * _CORNER_PX
    rms_px = float(np.sqrt(2 * (corner_residuals_px**2).mean()))

    # Residuals that are larger than expected make the result less certain. As the cost is half the
    # sum of squares, they count only if that sum is more than twice as large as expected.
    excess = max(1.0, cost / max(1, problem.coordinate_count - 9))
    covariance = excess * np.linalg.pinv(jacobian.T @ (jacobian * weights[:, None]), hermitian=True)
    fitted = replace(pose, rms_px=rms_px, covariance=np.asarray(covariance, np.float64))
    return Fit(fitted, cost)
