"""Lenses: focal length and distortion in OpenCV's two models, from rays to pixels and back.

A *normalised* coordinate, OpenCV's word, is where a ray passes at distance 1 before the camera:
(x / z, y / z), with x to the right and y down. A *distorted* coordinate is where the lens images
that ray, in focal lengths from the centre of the picture:

    ray (x, y, z)  ->  normalised (x / z, y / z)  -- distort -->  distorted  -- matrix -->  pixel
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import cv2
import numpy as np
from numpy.typing import NDArray

# Coordinates or vectors, (N, 2) or (N, 3) unless stated otherwise.
Points = NDArray[np.float64]

# Other numbers: matrices, covariances, or one value for each of N things.
Floats = NDArray[np.float64]

# Width and height of a picture in px.
Size = tuple[int, int]

# Maximum angle of a ray from the optical axis, 86 degrees. At 90 degrees a normalised coordinate is
# infinite.
_MAX_ANGLE_RAD = 1.5

# Number of Newton steps to invert a fisheye. Each doubles the correct digits, so this is ample.
_NEWTON_STEPS = 8

# Minimum slope in a Newton step. Beyond the picture a strong distortion folds back, and its slope
# reaches 0.
_MIN_SLOPE = 0.2


@dataclass(frozen=True)
class Lens:
    """A lens in one of OpenCV's two models.

    Let r be the distance of a normalised coordinate from the axis, and a = atan r the angle of its
    ray. An ordinary lens images it at r (1 + k1 r^2 + k2 r^4), a fisheye at a (1 + k1 a^2 + k2
    a^4). These are OpenCV's `calib3d` and `fisheye` models (Kannala and Brandt 2006).
    """

    focal_ratio: float
    """Focal length, in widths of the picture."""
    k1: float = 0.0
    """First term of the radial distortion. Negative: straight lines bulge outwards (barrel)."""
    k2: float = 0.0
    """Second term of the radial distortion."""
    is_fisheye: bool = False
    """Whether it is a fisheye, otherwise an ordinary lens."""

    def matrix(self, size: Size) -> Floats:
        """Return the camera matrix (3, 3) in px for a picture of this size.

        The principal point is the picture's centre.
        """
        width, height = size
        focal = self.focal_ratio * width
        return np.array([[focal, 0, (width - 1) / 2], [0, focal, (height - 1) / 2], [0, 0, 1]])

    @cached_property
    def distortion(self) -> Floats:
        """(4,): OpenCV's distortion coefficients k1, k2, and two zeros."""
        return np.array([self.k1, self.k2, 0.0, 0.0])

    @cached_property
    def has_distortion(self) -> bool:
        """Whether the lens has distortion, so that straight lines appear curved."""
        return bool(self.k1 or self.k2 or self.is_fisheye)

    def distort(self, normalised: Points) -> Points:
        """Return the distorted coordinates (N, 2) of normalised ones (N, 2)."""
        if not self.has_distortion:
            return normalised
        # The squared distance from the axis.
        r2 = (normalised**2).sum(axis=1, keepdims=True)
        if not self.is_fisheye:
            return np.asarray(normalised * (1 + r2 * (self.k1 + self.k2 * r2)))
        # A fisheye distorts by the angle from the axis.
        radii = np.sqrt(r2).clip(1e-9)
        angles = np.arctan(radii)
        a2 = angles**2
        return np.asarray(normalised * (angles / radii * (1 + a2 * (self.k1 + self.k2 * a2))))

    def undistort(self, distorted: Points) -> Points:
        """Return the normalised coordinates (N, 2) of distorted ones (N, 2).

        This is the inverse of `distort`.
        """
        if not self.has_distortion or not len(distorted):
            return distorted
        if not self.is_fisheye:
            # OpenCV inverts the ordinary model by iteration.
            points = np.asarray(distorted, np.float64).reshape(-1, 1, 2)
            normalised = cv2.undistortPoints(points, np.eye(3), self.distortion)
            return np.asarray(normalised, np.float64).reshape(-1, 2)
        radii = np.linalg.norm(distorted, axis=1, keepdims=True).clip(1e-9)
        angles = radii.copy()
        for _ in range(_NEWTON_STEPS):
            # The radius at which these angles are imaged, and its derivative by the angle.
            a2 = angles**2
            imaged = angles * (1 + a2 * (self.k1 + self.k2 * a2))
            slope = 1 + a2 * (3 * self.k1 + 5 * self.k2 * a2)
            step = (imaged - radii) / np.maximum(slope, _MIN_SLOPE)
            angles = (angles - step).clip(0, _MAX_ANGLE_RAD)
        return np.asarray(distorted * (np.tan(angles) / radii))

    def with_change(self, change: Floats) -> Lens:
        """Return the lens changed by (3,) differences of log focal length, k1 and k2."""
        log_focal, k1, k2 = map(float, change)
        focal_ratio = self.focal_ratio * math.exp(log_focal)
        return replace(self, focal_ratio=focal_ratio, k1=self.k1 + k1, k2=self.k2 + k2)

    def change_from(self, other: Lens) -> Floats:
        """Return (3,): the change that makes this lens of another one, see `with_change`."""
        log_focal = math.log(self.focal_ratio / other.focal_ratio)
        return np.array([log_focal, self.k1 - other.k1, self.k2 - other.k2])

    def to_fisheye(self) -> Lens:
        """Return an equidistant fisheye (k1 = k2 = 0) with the same horizontal angle of view."""
        if self.is_fisheye:
            return self
        # The ray at the right edge of the picture, and half the horizontal angle of view.
        edge = self.undistort(np.array([[0.5 / self.focal_ratio, 0.0]]))[0, 0]
        half_angle = float(np.arctan(edge))
        return Lens(0.5 / half_angle, is_fisheye=True)


# Nominal lenses by the name of a camera in the settings. The focal ratio for a horizontal angle of
# view `a` is 0.5 / tan(a / 2). Those of the camera modules are 53.5, 62.2, 66 and 102 degrees by
# Raspberry Pi's camera documentation. `hq-6mm` is 6 mm in front of a 6.287 mm wide sensor. Webcams
# have 60 to 78 degrees: 67 is assumed. Values of k1 are estimates, which the board corrects.
LENSES: Mapping[str, Lens] = {
    "camera-module-1": Lens(0.992),
    "camera-module-2": Lens(0.829),
    "camera-module-3": Lens(0.770),
    "camera-module-3-wide": Lens(0.405, -0.03),
    "hq-6mm": Lens(0.954, -0.05),
    "webcam": Lens(0.750),
}
