"""A better pose when corner markers are hidden: pieces are squares of known size at a known height, wherever they lie.

Seen at a slant, pieces on the far ranks hide the corner markers behind them, and two near markers alone say little
about the far end. Each piece's marker has eight coordinates and only three unknowns (place and turn): five are left to
tell the pose. Least squares over pose and focal length, every piece's place being solved inside.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from vision.pose import Lens, Points, Pose, square_corners_mm

_ROUNDS = 8
_STEPS = np.array([1e-5, 1e-5, 1e-5, 1e-2, 1e-2, 1e-2, 1e-4])
_OUTLIER_PX = 2.0
"""A tag that fits worse than this (at 1280 px) does not lie where tags lie: a hand holds it."""


@dataclass(frozen=True, eq=False)
class Tag:
    """A piece's marker: its four corners in the picture (4, 2), its height and side."""

    corners_px: Points
    height_mm: float
    side_mm: float


def sharpened_pose(pose: Pose, points_mm: Points, points_px: Points, tags: Sequence[Tag], focal_spread: float) -> Pose:
    """The pose that explains corner points (N, 3) at pixels (N, 2) and all tags best, starting from a good guess.

    `focal_spread` is the relative uncertainty of the lens's focal length. Tags that do not fit are left out.
    """
    scene = _Scene(pose, points_mm, points_px, tags, focal_spread)
    first = _least_squares(scene)
    limit = _OUTLIER_PX * pose.size[0] / 1280
    errors = scene.tag_errors(first)
    fitting = [tag for tag, error in zip(tags, errors, strict=True) if error <= limit]
    if len(fitting) == len(tags):
        return first
    # What did not fit has bent the first answer: begin again without it.
    return _least_squares(_Scene(pose, points_mm, points_px, fitting, focal_spread)) if fitting else pose


class _Scene:
    """What was seen, as residuals of a pose given by seven numbers: its own six, and the log of the focal length."""

    def __init__(
        self, pose: Pose, points_mm: Points, points_px: Points, tags: Sequence[Tag], focal_spread: float
    ) -> None:
        self.start = pose
        self._points_mm, self._points_px = points_mm, points_px
        self._focal_weight = 0.5 / focal_spread
        self._tags_px = np.array([tag.corners_px for tag in tags]).reshape(-1, 2)
        self._heights = np.repeat([tag.height_mm for tag in tags], 4)
        self._models = np.array([_complex(square_corners_mm(0, 0, tag.side_mm)) for tag in tags]).reshape(-1, 4)

    def pose(self, change: Points) -> Pose:
        """The start, changed."""
        rotation = self.start.rotation.ravel() + change[:3]
        translation = self.start.translation.ravel() + change[3:6]
        lens = Lens(self.start.lens.focal_ratio * math.exp(change[6]), self.start.lens.k1)
        return replace(self.start, rotation=rotation.reshape(3, 1), translation=translation.reshape(3, 1), lens=lens)

    def residuals(self, change: Points) -> Points:
        """Pixels by which corners and tags are off, and the focal length's departure."""
        pose = self.pose(change)
        corners = (pose.to_px(self._points_mm) - self._points_px).ravel()
        return np.concatenate([corners, self._tag_residuals(pose).ravel(), [self._focal_weight * change[6]]])

    def tag_errors(self, pose: Pose) -> Points:
        """Root mean square by tag."""
        errors = (self._tag_residuals(pose) ** 2).sum(axis=1).reshape(-1, 4)
        return np.asarray(np.sqrt(errors.mean(axis=1)), dtype=np.float64)

    def _tag_residuals(self, pose: Pose) -> Points:
        """(4 T, 2): the squares that fit best where the tags' rays meet their planes, projected back."""
        if not len(self._heights):
            return np.empty((0, 2))
        places = _complex(np.nan_to_num(pose.to_plane(self._tags_px, self._heights))).reshape(-1, 4)
        middles = places.mean(axis=1, keepdims=True)
        turns = (np.conj(self._models) * (places - middles)).sum(axis=1, keepdims=True)
        squares = (middles + self._models * turns / np.maximum(np.abs(turns), 1e-9)).ravel()
        corners = np.column_stack([squares.real, squares.imag, self._heights])
        return np.asarray(pose.to_px(corners) - self._tags_px, dtype=np.float64)


def _complex(points: Points) -> np.ndarray[tuple[int, ...], np.dtype[np.complex128]]:
    return np.asarray(points[:, 0] + 1j * points[:, 1], dtype=np.complex128)


def _least_squares(scene: _Scene) -> Pose:
    """Levenberg and Marquardt's way, with numeric slopes; the answer knows its covariance."""
    change, damping = np.zeros(7), 1e-3
    rest = scene.residuals(change)
    slopes = _slopes(scene, change, rest)
    for _ in range(_ROUNDS):
        normal = slopes.T @ slopes
        step = np.linalg.solve(normal + damping * np.diag(np.diag(normal)), -slopes.T @ rest)
        trial = scene.residuals(change + step)
        if trial @ trial < rest @ rest:
            gain = rest @ rest - trial @ trial
            change, rest, damping = change + step, trial, damping / 10
            slopes = _slopes(scene, change, rest)
            if gain < 1e-3:
                break
        else:
            damping *= 10
    rms = float(np.sqrt(2 * (rest[:-1] ** 2).mean()))
    # Blur shifts all corners of a marker outwards or inwards together: such errors do not average out.
    covariance = max(0.8, 1.5 * rms) ** 2 * np.linalg.pinv(slopes.T @ slopes)[:6, :6]
    return replace(scene.pose(change), rms_px=rms, covariance=np.asarray(covariance, dtype=np.float64))


def _slopes(scene: _Scene, change: Points, rest: Points) -> Points:
    """By how much the residuals, `rest` here, grow with each of the seven numbers."""
    columns = [
        (scene.residuals(change + shift) - rest) / step for step, shift in zip(_STEPS, np.diag(_STEPS), strict=True)
    ]
    return np.column_stack(columns)
