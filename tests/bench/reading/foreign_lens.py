"""Lenses that the reader's own model does not have: OpenCV's rational and its fisheye model, laid over a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from bench.reading.ground_truth import Print
from vision.pose.pose import Points

_STEP_PX = 16
"""Between the places for which the bend is worked out; between them it is as good as straight."""


@dataclass(frozen=True)
class ForeignLens:
    """A lens by its focal length, by picture width, and OpenCV's coefficients: eight of the rational model, or four of
    the fisheye model."""

    focal_ratio: float
    coefficients: tuple[float, ...]

    def seen_through(self, luma: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """The (height, width) picture of a straight lens of this focal length as this one shows it."""
        height, width = luma.shape
        columns, rows = (
            np.arange(0, width + _STEP_PX, _STEP_PX),
            np.arange(0, height + _STEP_PX, _STEP_PX),
        )
        grid = np.stack(np.meshgrid(columns, rows), axis=-1).reshape(-1, 1, 2).astype(np.float64)
        matrix, bend = self._matrix(luma.shape), np.array(self.coefficients)
        if len(bend) == 4:
            straight = cv2.fisheye.undistortPoints(grid, matrix, bend, P=matrix)
        else:
            straight = cv2.undistortPoints(grid, matrix, bend, P=matrix)
        coarse = np.asarray(straight, np.float32).reshape(len(rows), len(columns), 2)
        where = (
            np.stack(np.meshgrid(np.arange(width), np.arange(height)), axis=-1).astype(np.float32)
            / _STEP_PX
        )
        fine = cv2.remap(coarse, where, None, cv2.INTER_LINEAR)  # type: ignore[call-overload]  # stubs deny None
        seen = cv2.remap(luma, fine, None, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT)  # type: ignore[call-overload]  # stubs deny None
        return np.asarray(seen, np.uint8)

    def moved(self, prints: Sequence[Print], luma: NDArray[np.uint8]) -> tuple[Print, ...]:
        """The markers of that picture where this lens shows them."""
        return tuple(
            replace(print_, corners_px=self._bent(print_.corners_px, luma.shape))
            for print_ in prints
        )

    def _bent(self, points_px: Points, shape: tuple[int, ...]) -> Points:
        """(N, 2) px of the straight picture where this lens shows them."""
        matrix, bend = self._matrix(shape), np.array(self.coefficients)
        plane = (points_px - matrix[:2, 2]) / matrix[0, 0]
        if len(bend) == 4:
            seen = cv2.fisheye.distortPoints(plane.reshape(-1, 1, 2), matrix, bend)
        else:
            rays, zero = np.column_stack([plane, np.ones(len(plane))]), np.zeros(3)
            seen = cv2.projectPoints(rays, zero, zero, matrix, bend)[0]
        return np.asarray(seen, np.float64).reshape(-1, 2)

    def _matrix(self, shape: tuple[int, ...]) -> Points:
        height, width = shape[:2]
        focal = self.focal_ratio * width
        return np.array([[focal, 0, (width - 1) / 2], [0, focal, (height - 1) / 2], [0, 0, 1]])


FOREIGN_LENSES = (
    ForeignLens(0.80, (-0.10, 0.06, 0.0004, -0.0003, -0.012, 0.02, 0.01, 0.0)),
    ForeignLens(0.65, (-0.20, 0.10, 0.0006, -0.0005, -0.02, 0.04, 0.02, 0.0)),
    ForeignLens(0.60, (0.02, -0.01, 0.004, -0.001)),
    ForeignLens(0.45, (-0.01, 0.004, -0.002, 0.0)),
)
"""Two of webcams, mild and strong, by the rational model with a little tangential bend; two wide ones, equidistant."""
