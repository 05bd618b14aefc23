"""Lenses: focal length and distortion in OpenCV's two models, from rays to pixels and back.

A *plane* coordinate is that of a ray at distance 1 in front of the camera, (x / z, y / z). A *bent*
coordinate is the distorted one, in focal lengths from the centre of the picture.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import cv2
import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]
"""Coordinates (N, 2) or (N, 3)."""

_WIDEST = 1.5
"""Maximum angle of a ray from the optical axis, in radians."""
_ROUNDS = 8


@dataclass(frozen=True)
class Lens:
    """A lens in one of OpenCV's two models.

    `focal_ratio`: focal length by picture width. `k1`, `k2`: radial distortion (negative: barrel).

    Let r be the distance from the axis on the plane, and a = atan r. An ordinary lens images a ray
    at r (1 + k1 r^2 + k2 r^4), a fisheye at a (1 + k1 a^2 + k2 a^4). These are OpenCV's `calib3d`
    and `fisheye` models (Kannala and Brandt 2006).
    """

    focal_ratio: float
    k1: float = 0.0
    k2: float = 0.0
    is_fisheye: bool = False

    def matrix(self, size: tuple[int, int]) -> Points:
        """Return the camera matrix for a picture of (width, height). The principal point is its
        centre.
        """
        width, height = size
        focal = self.focal_ratio * width
        return np.array([[focal, 0, (width - 1) / 2], [0, focal, (height - 1) / 2], [0, 0, 1]])

    @cached_property
    def distortion(self) -> Points:
        """OpenCV's distortion coefficients, (4,)."""
        return np.array([self.k1, self.k2, 0.0, 0.0])

    @cached_property
    def bends(self) -> bool:
        """Whether the lens has distortion, so that straight lines appear curved."""
        return bool(self.k1 or self.k2 or self.is_fisheye)

    def bent(self, plane: Points) -> Points:
        """Distort (N, 2) plane coordinates."""
        if not self.bends:
            return plane
        # squared distance from the axis
        squares = (plane**2).sum(axis=1, keepdims=True)
        if not self.is_fisheye:
            return np.asarray(plane * (1 + squares * (self.k1 + self.k2 * squares)))
        # A fisheye distorts by the angle from the axis.
        radii = np.sqrt(squares).clip(1e-9)
        angles = np.arctan(radii)
        flat = angles**2
        return np.asarray(plane * (angles / radii * (1 + flat * (self.k1 + self.k2 * flat))))

    def straight(self, bent: Points) -> Points:
        """Undistort (N, 2) bent coordinates. This is the inverse of `bent`."""
        if not self.bends or not len(bent):
            return bent
        if not self.is_fisheye:
            # OpenCV inverts the ordinary model by iteration.
            points = np.asarray(bent, np.float64).reshape(-1, 1, 2)
            plane = cv2.undistortPoints(points, np.eye(3), self.distortion)
            return np.asarray(plane, np.float64).reshape(-1, 2)
        radii = np.linalg.norm(bent, axis=1, keepdims=True).clip(1e-9)
        angles = radii.copy()
        for _ in range(_ROUNDS):  # Newton iteration
            flat = angles**2
            there = angles * (1 + flat * (self.k1 + self.k2 * flat))
            # derivative of `there` by the angle
            slope = 1 + flat * (3 * self.k1 + 5 * self.k2 * flat)
            angles = (angles - (there - radii) / np.maximum(slope, 0.2)).clip(0, _WIDEST)
        return np.asarray(bent * (np.tan(angles) / radii))

    def changed(self, by: Points) -> Lens:
        """Return the lens changed by (3,) differences of log focal length, k1 and k2."""
        focal, k1, k2 = map(float, by)
        return replace(
            self, focal_ratio=self.focal_ratio * math.exp(focal), k1=self.k1 + k1, k2=self.k2 + k2
        )

    def as_fisheye(self) -> Lens:
        """Return an equidistant fisheye (k1 = k2 = 0) with the same horizontal angle of view."""
        if self.is_fisheye:
            return self
        # half the horizontal angle of view
        half = float(np.arctan(self.straight(np.array([[0.5 / self.focal_ratio, 0.0]]))[0, 0]))
        return Lens(0.5 / half, is_fisheye=True)


LENSES: Mapping[str, Lens] = {
    "camera-module-1": Lens(0.992),
    "camera-module-2": Lens(0.829),
    "camera-module-3": Lens(0.770),
    "camera-module-3-wide": Lens(0.405, -0.03),
    "hq-6mm": Lens(0.954, -0.05),
    "webcam": Lens(0.750),
}
"""Nominal lenses. Horizontal angles of 53.5, 62.2, 66 and 102 degrees come from Raspberry Pi's
camera documentation. `hq-6mm` is 6 mm in front of a 6.287 mm wide sensor. Webcams have 60 to 78
degrees.
"""
