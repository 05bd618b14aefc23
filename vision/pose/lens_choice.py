"""Selects the lens model that explains the board: the assumed one, one with more terms, or a
fisheye.

The assumed lens stays unless another model explains corner markers, pieces and printed lines much
better. Models with more terms pay a penalty (Schwarz 1978), so a few lines along one edge change
nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from companion.core.grid import Square
from companion.core.kit import Board
from vision.detection.markers import Luma
from vision.pose.board_fit import Belief, Evidence, Fit, fit_board, fit_lines
from vision.pose.optics import Lens
from vision.pose.pose import Points, Pose, solve_pose
from vision.pose.printed_lines import Lines, confirmed, lines_of

_FOCAL_SPREAD, _BEND_SPREAD = 0.2, 0.06
_FIXED_SPREAD = 1e-6
_WIDER_FOCALS = (0.72, 0.52, 0.38)
"""Focal lengths to try for an unknown lens, relative to the assumed one."""
_LINE_PX, _MISSING_COST = 0.8, 2.0
"""Standard deviation of a line at 1280 px, and the offset, in multiples of it, that a missing line
counts as.
"""
_MIN_GAIN = 10.0
"""Minimum gain in cost before another model replaces the assumed one: odds of 20,000 to 1."""
_MAX_OFFSET_PX = 1.5
"""Maximum offset (at 1280 px) of a line that matches the pose."""
_CHECK_PX = 6.0
_MIN_LINE_SHARE, _MAX_ERROR_PX = 0.3, 1.2
_SHARP_PX, _SHARP_SHARE = 0.5, 0.8
"""Maximum offset (at 1280 px) of most lines, and minimum share of lines found, with which a model
leaves nothing to explain. Measured: three of four lines are within .38 px by the right model, and
beyond .91 px by another.
"""
_MIN_MATCHING = 0.5
"""Minimum share of the visible lines around a confirmed square that match the pose."""


def models_of(lens: Lens, focal_spread: float) -> Iterator[Belief]:
    """Yield the assumed model first, then models with more freedom."""
    focal, bend = max(focal_spread, 0.01), _BEND_SPREAD
    yield Belief(lens, np.array([focal, bend, _FIXED_SPREAD]))
    yield Belief(lens, np.array([_FOCAL_SPREAD, 4 * bend, 2 * bend]))
    if not lens.is_fisheye:
        yield Belief(lens.as_fisheye(), np.array([_FOCAL_SPREAD, bend, _FIXED_SPREAD]))


def wide_starts(lens: Lens) -> Iterator[Belief]:
    """Yield lenses of wider angles, for corner markers that do not fit the assumed lens."""
    spread = np.array([_FOCAL_SPREAD, _BEND_SPREAD, _FIXED_SPREAD])
    for share in _WIDER_FOCALS:
        # A shorter focal length is a wider angle.
        other = replace(lens, focal_ratio=lens.focal_ratio * share)
        yield Belief(other, spread)
        if not lens.is_fisheye:
            yield Belief(Lens(max(other.focal_ratio, 0.3), is_fisheye=True), spread)


def best_start(evidence: Evidence, lens: Lens, size: tuple[int, int]) -> tuple[Belief, Fit] | None:
    """Return the model from `wide_starts` that explains the markers best, with its fit to them."""
    best: tuple[Belief, Fit] | None = None
    for model in wide_starts(lens):
        fit = fit_model(evidence, model, size)
        if fit is not None and (best is None or fit.misfit < best[1].misfit):
            best = model, fit
    return best


def fit_model(evidence: Evidence, model: Belief, size: tuple[int, int]) -> Fit | None:
    """Return the best pose for a model from markers alone.

    Returns None without a pose, with a camera below the board, or with a focal length that no real
    lens has.
    """
    start = solve_pose(evidence.points_mm, evidence.points_px, model.lens, size)
    if start is None:
        return None
    fit = fit_board(evidence, start, model.spread)
    is_above, is_sane = fit.pose.eye_mm[2] > 0, 0.1 <= fit.pose.lens.focal_ratio <= 10
    return fit if is_above and is_sane else None


def is_explained(luma: Luma, board: Board, pose: Pose) -> bool:
    """Return whether the detected printed lines are where the pose predicts them.

    With too few lines, the residual of the corners decides.
    """
    scale = pose.size[0] / 1280
    printed = lines_of(board)
    lines = printed.look(luma, pose, np.full(len(printed.middles_mm), _CHECK_PX * scale))
    if lines.is_found.sum() < _MIN_LINE_SHARE * max(8, lines.is_in.sum()):
        return pose.rms_px <= _MAX_ERROR_PX * scale
    # Three of four lines have to match.
    return _is_near(lines, 0.75, _MAX_ERROR_PX * scale)


def try_model(
    luma: Luma, board: Board, evidence: Evidence, believed: Belief, tried: int
) -> tuple[Fit | None, float, bool]:
    """Fit the next model to the markers, and then to the lines. `tried` models did not fit sharply.

    If the lens is unknown, those of other angles are tried last. The fit from the assumed lens may
    have stopped in a local minimum. Returns the fit, its cost, and whether it is the last one.
    """
    size = (luma.shape[1], luma.shape[0])
    models = list(models_of(believed.lens, float(believed.spread[0])))
    if believed.spread[0] >= _FOCAL_SPREAD:
        models += wide_starts(believed.lens)
    model, is_last = models[tried], tried + 1 == len(models)
    by_markers = fit_model(evidence, model, size)
    if by_markers is None:
        return None, math.inf, is_last
    fit = fit_lines(luma, board, evidence, by_markers, model)
    # The assumed model has an advantage over all others.
    cost = _cost(fit, model) + (_MIN_GAIN if tried else 0.0)
    lines = fit.lines
    assert lines is not None
    are_most = lines.is_found.sum() >= _SHARP_SHARE * lines.is_in.sum()
    # Two models of one family may both explain most lines: the first ones have to explain more.
    share = 0.9 if tried < 2 else 0.75
    is_sharp = are_most and _is_near(lines, share, _SHARP_PX * size[0] / 1280)
    return fit, cost, bool(is_sharp or is_last)


def _is_near(lines: Lines, share: float, within_px: float) -> bool:
    """Return whether this share of the lines that were found is where the pose predicts them."""
    off = np.abs(lines.off_px[lines.is_found])
    return bool(len(off) and np.quantile(off, share) <= within_px)


def _cost(fit: Fit, model: Belief) -> float:
    """Return half the sum of squares over everything that should be visible, plus the model's
    penalty.
    """
    lines = fit.lines
    assert lines is not None
    scale = _LINE_PX * fit.pose.size[0] / 1280
    # in units of a matching line's standard deviation
    off = np.where(lines.is_found, np.abs(lines.off_px) / scale, _MISSING_COST).clip(
        0, _MISSING_COST
    )[lines.is_in]
    corners = min(fit.pose.rms_px / scale, 5.0)
    # Bayesian information criterion: each free term costs the logarithm of the number of
    # observations.
    terms = np.count_nonzero(model.spread > _FIXED_SPREAD)
    return float((off**2).sum() + 16 * corners**2 + terms * math.log(2 * len(off) + 1)) / 2


def confirmed_squares(board: Board, fit: Fit, corners: Points) -> frozenset[Square]:
    """Return the squares where printed lines confirm the pose.

    They are connected with the corner markers seen at `corners` (N, 2) mm.
    """
    if fit.lines is None:
        return frozenset()
    # the squares next to these corners
    last = board.files - 1, board.ranks - 1
    is_beyond = corners > np.array([board.width_mm, board.height_mm]) / 2
    starts = [Square(*corner) for corner in (is_beyond * last).tolist()]
    within = _MAX_OFFSET_PX * max(1.0, fit.pose.size[0] / 1280)
    return frozenset(confirmed(board, fit.lines, within, starts, _MIN_MATCHING))
