"""Calibration of a lens from pictures of the printed page (`companion calibrate`): which views are
still needed, and the lens that fits them. Its sentences are for a terminal, in English only.

1. Find the page's corners in each picture. Such a picture is a *view*.
2. A view counts if the page was held still, and if the view differs from all earlier ones.
3. With nine different views, solve for focal length and k1 (`Calibration.solve`).

The limits below were chosen by judgement, not measured. `tests/vision/test_calibrate.py` shows with
rendered views that known lenses are found with these limits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import cv2
import numpy as np

from vision.cameras.lens_pattern import charuco_board
from vision.detection.markers import Luma
from vision.pose.optics import Lens, Size
from vision.pose.pose import Points

# Minimum number of the page's 48 inner corners that a view has to show. With a larger number, the
# page could not be held into the picture's corners, where distortion is strongest.
_MIN_CORNERS = 16
# Minimum number of corners that two views share before their positions are compared.
_MIN_SHARED_CORNERS = 4
# Maximum tilt in degrees of a page whose corners are found exactly.
_MAX_TILT_DEG = 60.0
# Minimum mean distance of the corners in two views that differ, in widths of the picture.
_MIN_MOVE_WIDTHS = 0.04
# Minimum turn in degrees that makes a view new when the page has not moved.
_MIN_TURN_DEG = 8.0
# Maximum distance between the corners of a page that is held still, in two pictures in a row.
_MAX_STILL_PX = 2.0
# The requested views, in order. A view counts if it differs from those before, even if it is not
# the one that was asked for. With the wrong views the lens is determined less well, which the
# result shows.
_WANTED_VIEWS = (
    "Hold the page straight towards the camera, as large as it goes into the picture",
    *(
        f"Tilt the page so that its {edge} edge comes nearer to the camera"
        for edge in ("left", "right", "upper", "lower")
    ),
    *(
        f"Hold the page further into the {corner} of the picture"
        for corner in ("upper left", "upper right", "lower left", "lower right")
    ),
)


@dataclass(frozen=True)
class LensFit:
    """Result of a calibration."""

    lens: Lens
    rms_px: float
    """Reprojection error: root mean square over the corners of all views."""
    focal_sigma: float
    """Relative standard deviation of the focal length."""
    views: int
    """Number of views from which it was computed."""
    rms_widths: float
    """Reprojection error in widths of the picture."""

    @property
    def field_of_view_deg(self) -> float:
        """Horizontal field of view in degrees, without distortion."""
        return math.degrees(2 * math.atan(0.5 / self.lens.focal_ratio))


@dataclass(frozen=True)
class _View:
    """One picture of the page: the N corners that were found in it, and its pose."""

    # Corners (N, 3) on the page, in the axes of `lens_pattern`.
    points_mm: Points
    # The same corners (N, 2) in the picture.
    points_px: Points
    # Index of each of these corners among all corners of the page.
    ids: tuple[int, ...]
    # (3,): normal of the page towards the camera, in camera axes.
    normal: Points

    @property
    def tilt_deg(self) -> float:
        """Angle between the page's normal and the camera's axis."""
        return math.degrees(math.acos(min(1.0, -float(self.normal[2]))))


class Calibration:
    """Collects views of the page from one camera until they determine the lens.

    `nominal` is the lens that is assumed for this kind of camera.
    """

    def __init__(self, nominal: Lens) -> None:
        self._nominal = nominal
        self._detector = cv2.aruco.CharucoDetector(charuco_board())
        self._views: list[_View] = []
        # The view of the last picture, whether it counts or not. None if it shows no page.
        self._last: _View | None = None
        # Width and height of all views. None before the first one.
        self._size: Size | None = None

    @property
    def views(self) -> int:
        """Number of views that count."""
        return len(self._views)

    def add(self, luma: Luma) -> str:
        """Add a (height, width) picture as a view, if the page was held still and the view is new.

        Return an empty text if the view counts, or else a sentence that says what to do.
        """
        size = (luma.shape[1], luma.shape[0])
        if self._size not in (None, size):
            pixels = f"{size[0]} x {size[1]}"
            return f"This picture is {pixels}, the others are not: take all with one camera"
        view = self._find_page(luma, size)
        previous = self._last
        self._last = None
        if view is None:
            return "The page is not seen well: show more of it, sharp and evenly lit"
        if view.tilt_deg > _MAX_TILT_DEG:
            return "The page is tilted too far: hold it straighter"
        self._last = view
        if previous is None or _distance_px(view, previous) > _MAX_STILL_PX:
            return "Hold the page still for a moment"
        if any(_is_similar(view, earlier, size[0]) for earlier in self._views):
            return "This view is like one before: move or tilt the page"
        self._size = size
        self._views.append(view)
        return ""

    def missing_views(self) -> tuple[str, ...]:
        """Return the views that are still needed, the next one first."""
        return _WANTED_VIEWS[len(self._views) :]

    def solve(self) -> LensFit:
        """Return the lens that fits all views best, with the principal point in the middle.

        Call it when no view is missing. Three views are the least that determine a lens.
        """
        assert self._size is not None
        # Only the focal length and k1 are free.
        flags = (
            cv2.CALIB_USE_INTRINSIC_GUESS
            | cv2.CALIB_FIX_PRINCIPAL_POINT
            | cv2.CALIB_FIX_ASPECT_RATIO
            | cv2.CALIB_ZERO_TANGENT_DIST
            | cv2.CALIB_FIX_K2
            | cv2.CALIB_FIX_K3
        )
        fit = cv2.calibrateCameraExtended(
            [view.points_mm.astype(np.float32) for view in self._views],
            [view.points_px.astype(np.float32) for view in self._views],
            self._size,
            self._nominal.matrix(self._size),
            np.zeros(5),
            flags=flags,
        )

        # What is measured in px becomes a share of the picture's width, or of the focal length.
        rms_px, matrix, distortion, _, _, deviations_px, *_ = fit
        focal_px = float(matrix[0, 0])
        k1 = float(np.ravel(distortion)[0])
        width = self._size[0]
        # With a fixed aspect ratio only one of the two focal lengths has a deviation.
        focal_sigma = float(np.ravel(deviations_px)[:2].max()) / focal_px
        lens = Lens(focal_px / width, k1)
        return LensFit(
            lens=lens,
            rms_px=float(rms_px),
            focal_sigma=focal_sigma,
            views=len(self._views),
            rms_widths=float(rms_px) / width,
        )

    def _find_page(self, luma: Luma, size: Size) -> _View | None:
        """Return the view of the page in a picture, or None if too few of its corners are found."""
        corners, ids, *_ = self._detector.detectBoard(luma)
        if corners is None or len(corners) < _MIN_CORNERS:
            return None
        indices = np.ravel(ids)
        points_mm = np.asarray(charuco_board().getChessboardCorners(), np.float64)[indices]
        points_px = np.asarray(corners, np.float64).reshape(-1, 2)
        is_solved, rotation, _ = cv2.solvePnP(
            points_mm, points_px, self._nominal.matrix(size), self._nominal.distortion
        )
        if not is_solved:
            return None
        # The page's third axis points into the page, as y goes down on it. The sign is chosen below
        # so that the normal points to the camera, even if `solvePnP` gives the back of the page.
        normal = np.asarray(cv2.Rodrigues(rotation)[0], np.float64)[:, 2]
        towards_camera = -normal if normal[2] > 0 else normal
        return _View(points_mm, points_px, tuple(map(int, indices)), towards_camera)


def _is_similar(view: _View, earlier: _View, width: int) -> bool:
    """Return whether two views show the page at the same position and angle."""
    turn_deg = math.degrees(math.acos(min(1.0, float(np.dot(view.normal, earlier.normal)))))
    return turn_deg < _MIN_TURN_DEG and _distance_px(view, earlier) < _MIN_MOVE_WIDTHS * width


def _distance_px(view: _View, earlier: _View) -> float:
    """Return the mean distance in px between the corners that both views show.

    The distance is infinite if the views share too few corners to compare them.
    """
    # The corners that both show, as their indices in each view.
    shared, indices, earlier_indices = np.intersect1d(view.ids, earlier.ids, return_indices=True)
    if len(shared) < _MIN_SHARED_CORNERS:
        return math.inf
    shifts_px = view.points_px[indices] - earlier.points_px[earlier_indices]
    return float(np.linalg.norm(shifts_px, axis=1).mean())
