"""Selects the lens model that explains the board: the assumed one, one with more distortion terms,
or a fisheye.

In a series of pictures, each picture tries one more model, so that none of them takes too long. For
each model (`try_model`):

1. Fit pose and lens to corner markers and pieces, and then to the printed lines.
2. Compute the cost: how badly the fit explains lines and corners, plus a penalty for each free term
   of the model, the Bayesian information criterion (Schwarz 1978).
3. If the fit explains nearly everything, the search ends.

The model with the lowest cost is used. The assumed lens has an advantage, so another model replaces
it only if it explains much more. A few lines along one edge are not enough.

The limits were chosen by trial on rendered views through lenses that the reader's models lack, see
`tests/bench/reading/wide_lenses.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from companion.core.grid import Square
from companion.core.kit import Board
from vision.detection.markers import Luma
from vision.pose.board_fit import Fit, LensPrior, Observations, fit_board, fit_lines
from vision.pose.optics import Lens, Size
from vision.pose.pose import Points, Pose, solve_pose
from vision.pose.printed_lines import LineMeasurements, confirm_squares, printed_lines_of

# Width of the pictures for which limits in px hold. They are scaled to others.
_REFERENCE_WIDTH_PX = 1280

# ---- what is assumed of a lens before the fit (`model_priors`, `wide_angle_priors`, `fit_model`) -

# Standard deviation of a term that a model does not vary. It is not 0, because it is a divisor.
_FIXED_SIGMA = 1e-6

# Standard deviation of log focal length for a lens of which nothing is known. Webcams differ by
# about a fifth.
_FOCAL_SIGMA = 0.2

# Standard deviation of k1 for such a lens.
_K1_SIGMA = 0.06

# Minimum standard deviation of log focal length. No view is believed to determine the focal length
# more exactly than to a hundredth.
_MIN_FOCAL_SIGMA = 0.01

# (3,): standard deviations of log focal length, k1 and k2, as a prior before any view of the board.
UNKNOWN_SIGMAS = np.array([_FOCAL_SIGMA, _K1_SIGMA, _FIXED_SIGMA])

# Focal lengths to try for an unknown lens, relative to the assumed one. Each is about 0.72 times
# the one before, so that the true one is within a standard deviation of a start.
_WIDER_FOCALS = (0.72, 0.52, 0.38)

# Minimum focal length of a fisheye start, in picture widths: 95 degrees to either side.
_MIN_FISHEYE_FOCAL = 0.3

# Range of focal lengths of real lenses, in picture widths.
_FOCAL_LIMITS = 0.1, 10.0

# ---- whether a pose agrees with the printed lines (`agrees_with_lines`) --------------------------

# Search range of lines when a pose is checked. Larger: the neighbouring line is found instead.
_CHECK_PX = 6.0

# Minimum share of the lines that must be found for a check. With fewer, the corners decide.
_MIN_FOUND_SHARE = 0.3

# Minimum share of the lines found that must be near where the pose predicts them (see `_are_near`).
# `try_model` uses it, too.
_MIN_NEAR_SHARE = 0.75

# Maximum offset of these lines from where a right pose predicts them. If too few lines are found,
# it is the maximum residual of the corners.
_MAX_ERROR_PX = 1.2

# ---- when a model is accepted, and when it leaves nothing to explain (`try_model`) ---------------

# Minimum gain in cost before another model replaces the assumed one: odds of exp(10), which is
# 20,000 to 1.
_MIN_GAIN = 10.0

# Minimum share of lines found with which a model leaves nothing to explain.
_MIN_EXPLAINED_SHARE = 0.8

# The first two models differ only in how much distortion they allow, so both may explain most
# lines. For these two, the limit is stricter than `_MIN_NEAR_SHARE`, so that the search does not
# end with the first of them while the second would be better.
_MIN_NEAR_SHARE_OF_FAMILY = 0.9

# Maximum offset of most lines with which a model leaves nothing to explain. Measured: three of four
# lines are within .38 px by the right model, and beyond .91 px by another.
_MAX_EXPLAINED_PX = 0.5

# ---- how badly a fit explains lines and corners (`_cost`) ----------------------------------------

# Standard deviation of a line.
_LINE_PX = 0.8

# Offset that a missing line counts as, in standard deviations. A larger offset of a line that was
# found counts as this, too.
_MISSING_OFFSET = 2.0

# Weight of the corners' squared residual in the cost: the number of corners of four markers.
_CORNER_WEIGHT = 16.0

# Maximum of that residual in standard deviations, so that a wild fit does not hide the rest.
_MAX_CORNER_OFFSET = 5.0

# ---- which squares confirm the pose (`confirmed_squares`) ----------------------------------------

# Maximum offset of a line that matches the pose of a fit. It is scaled up for wider pictures, but
# not down for narrower ones.
_MAX_MATCHING_PX = 1.5

# Minimum share of the visible lines around a confirmed square that match the pose.
_MIN_MATCHING_SHARE = 0.5

# ---- models and their fits -----------------------------------------------------------------------


def model_priors(lens: Lens, focal_sigma: float) -> Iterator[LensPrior]:
    """Yield the prior of the assumed lens first, and then the priors of models with more freedom.

    `focal_sigma` is the standard deviation of the assumed log focal length.
    """
    focal_sigma = max(focal_sigma, _MIN_FOCAL_SIGMA)
    yield LensPrior(lens, np.array([focal_sigma, _K1_SIGMA, _FIXED_SIGMA]))
    # Strong distortion by both terms.
    yield LensPrior(lens, np.array([_FOCAL_SIGMA, 4 * _K1_SIGMA, 2 * _K1_SIGMA]))
    if not lens.is_fisheye:
        yield LensPrior(lens.to_fisheye(), UNKNOWN_SIGMAS)


def wide_angle_priors(lens: Lens) -> Iterator[LensPrior]:
    """Yield priors of lenses with wider angles than the assumed one, which does not fit."""
    for factor in _WIDER_FOCALS:
        # A shorter focal length is a wider angle.
        wider = replace(lens, focal_ratio=lens.focal_ratio * factor)
        yield LensPrior(wider, UNKNOWN_SIGMAS)
        if not lens.is_fisheye:
            fisheye = Lens(max(wider.focal_ratio, _MIN_FISHEYE_FOCAL), is_fisheye=True)
            yield LensPrior(fisheye, UNKNOWN_SIGMAS)


def best_wide_fit(observations: Observations, lens: Lens, size: Size) -> Fit | None:
    """Return the fit of the model from `wide_angle_priors` that explains the markers best.

    `size` is the size of the picture. Returns None if no model gives a pose.
    """
    fits = [fit_model(observations, prior, size) for prior in wide_angle_priors(lens)]
    return min((fit for fit in fits if fit is not None), key=attrgetter("cost"), default=None)


def fit_model(observations: Observations, prior: LensPrior, size: Size) -> Fit | None:
    """Return the best pose and lens near a prior, from markers alone.

    `size` is the size of the picture. Returns None if there is no pose, if the camera would be
    below the board, or if no real lens has such a focal length.
    """
    start = solve_pose(observations.points_mm, observations.points_px, prior.lens, size)
    if start is None:
        return None
    fit = fit_board(observations, start, prior.sigmas)
    is_above = fit.pose.eye_mm[2] > 0
    low, high = _FOCAL_LIMITS
    is_real_lens = low <= fit.pose.lens.focal_ratio <= high
    return fit if is_above and is_real_lens else None


def agrees_with_lines(luma: Luma, board: Board, pose: Pose) -> bool:
    """Return whether most of the printed lines that are found are where a pose predicts them.

    If too few lines are found, the reprojection error of the corner markers decides.
    """
    scale = pose.width_px / _REFERENCE_WIDTH_PX
    printed = printed_lines_of(board)
    lines = printed.measure(luma, pose, np.full(len(printed.middles_mm), _CHECK_PX * scale))
    if lines.is_found.sum() < _MIN_FOUND_SHARE * max(8, lines.is_inside.sum()):
        return pose.rms_px <= _MAX_ERROR_PX * scale
    return _are_near(lines, _MIN_NEAR_SHARE, _MAX_ERROR_PX * scale)


class ModelTrial(NamedTuple):
    """The result of trying one lens model."""

    fit: Fit | None
    """None if the model gives no pose."""
    cost: float
    """How badly the fit explains markers and lines. Infinite without a fit."""
    is_done: bool
    """Whether the search ends with this model: it leaves nothing to explain, or it was the last."""


def try_model(
    luma: Luma, board: Board, observations: Observations, assumed: LensPrior, tried_count: int
) -> ModelTrial:
    """Fit the next model to the markers, and then to the lines.

    `tried_count` is the number of models that were tried before, and so the index of the next one.
    If the lens is unknown, models of wider angles are tried last, because the fit from the assumed
    lens may have stopped in a local minimum.
    """
    # All models, in the order in which they are tried. The lens is unknown before any view of the
    # board, and then its standard deviations are `UNKNOWN_SIGMAS`.
    size = (luma.shape[1], luma.shape[0])
    priors = list(model_priors(assumed.lens, float(assumed.sigmas[0])))
    if assumed.sigmas[0] >= _FOCAL_SIGMA:
        priors += wide_angle_priors(assumed.lens)
    prior = priors[tried_count]
    is_last = tried_count + 1 == len(priors)

    # Fit the next one, first to the markers and then to the lines.
    by_markers = fit_model(observations, prior, size)
    if by_markers is None:
        return ModelTrial(None, math.inf, is_last)
    fit = fit_lines(luma, board, observations, by_markers, prior)
    # All models but the assumed one start with a handicap.
    cost = _cost(fit, prior) + (_MIN_GAIN if tried_count else 0.0)

    # Does it leave anything to explain?
    lines = fit.lines
    assert lines is not None
    are_most_found = lines.is_found.sum() >= _MIN_EXPLAINED_SHARE * lines.is_inside.sum()
    min_share = _MIN_NEAR_SHARE_OF_FAMILY if tried_count < 2 else _MIN_NEAR_SHARE
    is_all_explained = are_most_found and _are_near(
        lines, min_share, _MAX_EXPLAINED_PX * size[0] / _REFERENCE_WIDTH_PX
    )
    return ModelTrial(fit, cost, bool(is_all_explained or is_last))


def _are_near(lines: LineMeasurements, min_share: float, max_offset_px: float) -> bool:
    """Return whether at least this share of the found lines is near where it is predicted."""
    offsets_px = np.abs(lines.offsets_px[lines.is_found])
    return bool(len(offsets_px) and np.quantile(offsets_px, min_share) <= max_offset_px)


def _cost(fit: Fit, prior: LensPrior) -> float:
    """Return the cost of a fit: how badly it explains what should be visible.

    This is half the sum of squared errors in standard deviations, plus a penalty for each free term
    of the model.
    """
    lines = fit.lines
    assert lines is not None
    sigma_px = _LINE_PX * fit.pose.width_px / _REFERENCE_WIDTH_PX
    # The offsets of visible lines, in standard deviations.
    offsets = np.where(lines.is_found, np.abs(lines.offsets_px) / sigma_px, _MISSING_OFFSET)
    offsets = offsets.clip(0, _MISSING_OFFSET)[lines.is_inside]
    corner_offset = min(fit.pose.rms_px / sigma_px, _MAX_CORNER_OFFSET)
    # Bayesian information criterion: each free term costs the logarithm of the number of
    # observations.
    free_terms = np.count_nonzero(prior.sigmas > _FIXED_SIGMA)
    penalty = free_terms * math.log(2 * len(offsets) + 1)
    return float((offsets**2).sum() + _CORNER_WEIGHT * corner_offset**2 + penalty) / 2


def confirmed_squares(board: Board, fit: Fit, corners_mm: Points) -> frozenset[Square]:
    """Return the squares where printed lines confirm the pose of a fit.

    A chain of such squares connects each of them with one of the corner markers whose centres on
    the board are `corners_mm` (N, 2), see `confirm_squares`.
    """
    if fit.lines is None:
        return frozenset()
    # The squares next to these corners: the first or last file and rank, by the half of the board.
    last = board.files - 1, board.ranks - 1
    is_far = corners_mm > np.array([board.width_mm, board.height_mm]) / 2
    starts = [Square(*corner) for corner in (is_far * last).tolist()]
    max_offset_px = _MAX_MATCHING_PX * max(1.0, fit.pose.width_px / _REFERENCE_WIDTH_PX)
    return frozenset(confirm_squares(board, fit.lines, max_offset_px, starts, _MIN_MATCHING_SHARE))
