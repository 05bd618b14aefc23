"""The pose of the board from corner markers, and conversion between pixels and millimetres.

`solve_pose` computes a pose from points of the board and where they are in the picture:

1. Points of a plane look nearly alike from one or two poses. Compute these (`_initial_poses`).
2. Refine each by least squares, and the last pose as well if there is one (`refine_pose`).
3. Take the one with the smallest error, of those with the camera above the board (`fit_pose`).
4. Compute how uncertain the pose is (`_with_covariance`).

A `Pose` converts between pixels and millimetres. A `TopView` is the geometry of a view of the board
from straight above.

Picture axes: pixels, x right, y down, the centre of the first pixel is (0, 0). Board axes: mm, x
right as South sees it, y up towards North, z up from the paper, see `companion.core.kit`. Camera
axes: mm, x right, y down, z forwards. `Points` are coordinates (N, 2) or (N, 3) unless stated
otherwise, and `Floats` other arrays, both float64.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from operator import attrgetter
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from companion.core.grid import Square
from companion.core.kit import Board
from vision.pose import optics
from vision.pose.optics import Lens, Size

# Modules that use poses import these types from here.
Points = optics.Points
Floats = optics.Floats

# Spacing in px of exactly computed positions in a view. Positions between them are interpolated.
# The error is at most 0.02 px, for cameras up to 55 degrees oblique and lenses of 120 degrees.
_SPACING_PX = 4

# Size of a view above which the spacing is twice as large.
_LARGE_VIEW_PX = 1000

# Two poses explain points of a plane. The second one is dropped if its error exceeds the error of
# the first one by this factor. In a view from straight above, both are nearly alike.
_MAX_ERROR_RATIO = 4.0

# Minimum standard deviation of a corner in a picture with four corner markers. Smaller: squares are
# called empty although the pose is off. Larger: they stay unknown. Like the next limit, it was
# chosen by trial on rendered tables.
_MIN_CORNER_PX = 0.4

# The same with fewer corner markers. The residual says little then, and errors of the lens do not
# average out.
_MIN_CORNER_PX_OF_FEW = 0.8


class Projection(NamedTuple):
    """Where (N,) points appear in a picture, and how that depends on pose and lens."""

    points_px: Points
    """(N, 2): the points in the picture."""
    by_pose: Floats
    """(2N, 6): derivatives by rotation vector and translation. Rows are x and y of each point."""
    by_lens: Floats
    """(2N, 3): derivatives by log focal length, k1 and k2."""


@dataclass(frozen=True, eq=False)
class Pose:
    """Position and orientation of the camera relative to the board, and its lens."""

    rotation: Floats
    """Rotation from board axes to camera axes: a rotation vector (3, 1), or a matrix (3, 3)."""
    translation: Floats
    """(3, 1) mm: origin of the board in camera axes."""
    lens: Lens
    """The lens with which it was computed."""
    size: Size
    """Width and height of the picture in px."""
    markers: int = 4
    """Number of corner markers that were seen, including one that was left out as moved."""
    rms_px: float = 0.0
    """Reprojection error: root mean square over the corners of the markers."""
    covariance: Floats | None = None
    """(6, 6): covariance of rotation vector and translation, or (9, 9) with the lens as in
    `Lens.with_change`. None for a pose that is taken as exact.
    """

    @property
    def width_px(self) -> int:
        """Width of the picture. Limits in px are scaled by it."""
        return self.size[0]

    @cached_property
    def matrix(self) -> Floats:
        """(3, 3): the camera matrix in px."""
        return self.lens.matrix(self.size)

    @cached_property
    def axes(self) -> Floats:
        """(3, 3): the rotation from board axes to camera axes."""
        return np.asarray(cv2.Rodrigues(self.rotation)[0], np.float64)

    @cached_property
    def eye_mm(self) -> Points:
        """(3,): the position of the camera in board axes."""
        return -self.axes.T @ self.translation.ravel()

    def to_px(self, points_mm: Points) -> Points:
        """Project (N, 3) mm in board axes to (N, 2) pixels.

        Points behind the camera give meaningless results.
        """
        # OpenCV's own function also computes all derivatives, which takes ten times as long.
        points = np.asarray(points_mm, np.float64).reshape(-1, 3)
        in_camera = points @ self.axes.T + self.translation.ravel()
        depth = in_camera[:, 2:]
        normalised = in_camera[:, :2] / np.where(depth == 0, 1.0, depth)
        return np.asarray(self.lens.distort(normalised) * self.matrix[0, 0] + self.matrix[:2, 2])

    def to_plane(self, points_px: Points, z_mm: float | Floats = 0.0) -> Points:
        """Return (N, 2) mm in board axes: where the rays of (N, 2) pixels meet the plane at `z_mm`.

        `z_mm` is one height, or one for each pixel, (N,). The result is NaN where a ray does not
        meet its plane.
        """
        points = np.asarray(points_px, np.float64).reshape(-1, 2)
        # The ray (x, y, 1) of each pixel in camera axes, and then in board axes.
        normalised = self.lens.undistort((points - self.matrix[:2, 2]) / self.matrix[0, 0])
        rays = normalised @ self.axes[:2] + self.axes[2]
        eye = self.eye_mm
        with np.errstate(divide="ignore", invalid="ignore"):
            # The distance to the plane along the ray. Behind the camera there is no intersection.
            distance = (z_mm - eye[2]) / rays[:, 2]
            distance = np.where(distance > 0, distance, np.nan)
        return np.asarray(eye[:2] + rays[:, :2] * distance[:, None])

    def project(self, points_mm: Points) -> Projection:
        """Project (N, 3) mm in board axes as `to_px` does, and also return the derivatives."""
        points = np.asarray(points_mm, np.float64).reshape(-1, 1, 3)
        camera = (
            self.rotation.reshape(3, 1),
            self.translation.reshape(3, 1),
            self.matrix,
            self.lens.distortion,
        )
        # OpenCV's columns are derivatives by both focal lengths, by k1 and k2, and by the pose.
        if self.lens.is_fisheye:
            projected, jacobian = cv2.fisheye.projectPoints(points, *camera)
            by_focal, by_distortion, by_pose = jacobian[:, :2], jacobian[:, 4:6], jacobian[:, 8:14]
        else:
            projected, jacobian = cv2.projectPoints(points, *camera)
            by_focal, by_distortion, by_pose = jacobian[:, 6:8], jacobian[:, 10:12], jacobian[:, :6]
        # The derivative by the logarithm is that by the focal length, times the focal length.
        by_log_focal = self.matrix[0, 0] * by_focal.sum(axis=1)
        return Projection(
            np.asarray(projected, np.float64).reshape(-1, 2),
            np.asarray(by_pose, np.float64),
            np.column_stack([by_log_focal, by_distortion]),
        )

    def is_in_picture(self, points_px: Points) -> NDArray[np.bool_]:
        """Return (N,): whether each of (N, 2) pixels is inside the picture."""
        last = np.array(self.size) - 1
        return np.asarray(((points_px >= 0) & (points_px <= last)).all(axis=-1))

    def px_per_mm(self, points_mm: Points) -> Floats:
        """Return (N,): the scale of the picture at (N, 3) points.

        Of the scales along the board's two axes, this is the smaller one.
        """
        # Each point, and those one millimetre beside it.
        around = points_mm[:, None] + [[0.0, 0, 0], [1, 0, 0], [0, 1, 0]]
        ends_px = self.to_px(around).reshape(-1, 3, 2)
        sides = np.linalg.norm(ends_px[:, 1:] - ends_px[:, :1], axis=2)
        return np.asarray(sides.min(axis=1))

    def sigma_mm(self, points_mm: Points) -> Floats:
        """Return (N,): the standard deviation in mm of (N, 3) points, as the pose predicts them.

        This is the deviation in the worst direction on the board. It is 0 for an exact pose.
        """
        points = np.asarray(points_mm, np.float64).reshape(-1, 3)
        if self.covariance is None:
            return np.zeros(len(points))
        # Six parameters of the pose, or nine with those of the lens.
        count = len(self.covariance)
        _, by_pose, by_lens = self.project(points)
        jacobian = np.hstack([by_pose, by_lens])[:, :count].reshape(-1, 2, count)
        # The covariance (N, 2, 2) of each point in the picture, and the major axis of its ellipse.
        errors = jacobian @ self.covariance @ jacobian.swapaxes(1, 2)
        largest = np.linalg.eigvalsh(errors)[:, 1]
        return np.asarray(np.sqrt(largest.clip(0)) / np.maximum(self.px_per_mm(points), 1e-6))

    def top_view(
        self,
        low_mm: tuple[float, float],
        high_mm: tuple[float, float],
        z_mm: float,
        scale: float,
    ) -> TopView:
        """Return the view of a rectangle at height `z_mm` from straight above.

        The rectangle is given by its lower left and upper right corner, and `scale` is in px per
        mm. Row 0 of the view is at the rectangle's high y, so South is at the bottom.
        """
        left = low_mm[0]
        high = high_mm[1]
        width = max(1, round((high_mm[0] - left) * scale))
        height = max(1, round((high - low_mm[1]) * scale))

        # The spacing in px of exactly computed positions.
        spacing = _SPACING_PX if max(width, height) <= _LARGE_VIEW_PX else 2 * _SPACING_PX
        # A point (x, y) mm at this height lies on the ray to_rays @ (x, y, 1), in camera axes.
        to_rays = self.axes.copy()
        to_rays[:, 2] = to_rays[:, 2] * z_mm + self.translation.ravel()

        # From pixels of the view to mm, with row 0 at the top.
        step = 1 / scale
        to_mm = np.array([[step, 0, left + step / 2], [0, -step, high - step / 2], [0, 0, 1]])
        # Sparse positions, one extra at each end. Each is the centre of the block of pixels into
        # which `resize` expands it.
        first = -(spacing + 1) / 2
        to_view = np.array([[spacing, 0, first], [0, spacing, first], [0, 0, 1]])
        size = math.ceil(width / spacing) + 2, math.ceil(height / spacing) + 2
        sparse = self._source_px(to_rays @ to_mm @ to_view, size)

        # Interpolate the positions between, and cut off the margin.
        dense = cv2.resize(sparse, None, fx=spacing, fy=spacing, interpolation=cv2.INTER_LINEAR)
        source_px = np.asarray(
            dense[spacing : spacing + height, spacing : spacing + width], np.float32
        )
        return TopView(source_px, low_mm, high_mm, z_mm, scale)

    def _source_px(self, to_rays: Floats, size: Size) -> NDArray[np.float32]:
        """Return (h, w, 2): which pixel (x, y) of the picture each pixel of a view shows.

        `size` is the view's (width, height), and `to_rays` (3, 3) maps its pixels (x, y, 1) to rays
        in camera axes.
        """
        # OpenCV accepts any invertible matrix as the new camera's, and is twenty times as fast as
        # numpy here.
        camera = np.linalg.inv(to_rays)
        if self.lens.is_fisheye:
            x_and_y = cv2.fisheye.initUndistortRectifyMap(
                self.matrix, self.lens.distortion, np.eye(3), camera, size, cv2.CV_32FC1
            )
            return np.dstack(x_and_y).astype(np.float32)
        source_px, _ = cv2.initUndistortRectifyMap(
            self.matrix, self.lens.distortion, None, camera, size, cv2.CV_32FC2
        )
        return np.asarray(source_px, np.float32)


@dataclass(frozen=True, eq=False)
class TopView:
    """The geometry of a view of the board from straight above, without its picture.

    It converts between pixels of the view and millimetres, and cuts the view out of pictures. While
    the camera stays where it is, one top view serves all pictures.

              North
          +-----------+ high_mm    pixels of the view: x right, y down, (0, 0) at the upper left
          |           |
          |           |            board axes: mm, x right, y up
          +-----------+
    low_mm    South
    """

    source_px: NDArray[np.float32]
    """(h, w, 2): which pixel (x, y) of the picture each pixel of the view shows."""
    low_mm: tuple[float, float]
    """Lower left corner (x, y) in board axes."""
    high_mm: tuple[float, float]
    """Upper right corner (x, y) in board axes."""
    z_mm: float
    """Height above the board at which the view is undistorted."""
    scale: float
    """Scale in px per mm."""

    def rectify(self, luma: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return the view (h, w) of a (height, width) picture. Pixels outside it are black."""
        view = cv2.remap(luma, self.source_px, None, cv2.INTER_LINEAR)  # type: ignore[call-overload]  # stubs deny None
        return np.asarray(view, np.uint8)

    def rectify_colours(self, colours: NDArray[np.uint8], scale: float) -> NDArray[np.uint8]:
        """Return the view (h, w, 2) of the colours of a picture. Pixels outside it are grey (128).

        The size of `colours` (height, width, 2) is `scale` times that of the picture.
        """
        # The centre of the first pixel is (0, 0) in both sizes.
        source_px = ((self.source_px + 0.5) * scale - 0.5).astype(np.float32)
        view = cv2.remap(colours, source_px, None, cv2.INTER_LINEAR, borderValue=(128, 128))  # type: ignore[call-overload]  # stubs deny None
        return np.asarray(view, np.uint8)

    def pixels_in_picture(self, size: Size) -> NDArray[np.bool_]:
        """Return (h, w): whether each pixel of the view is inside a picture of this size."""
        last = np.array(size) - 1.0
        return cv2.inRange(self.source_px, (0.0, 0.0), tuple(last.tolist())).astype(bool)

    def crop(self, rows: slice, columns: slice) -> TopView:
        """Return the part of the view in these rows and columns."""
        step = 1 / self.scale
        left = self.low_mm[0]
        high = self.high_mm[1]
        low_mm = left + columns.start * step, high - rows.stop * step
        high_mm = left + columns.stop * step, high - rows.start * step
        return TopView(self.source_px[rows, columns], low_mm, high_mm, self.z_mm, self.scale)

    def to_view(self, points_mm: Points) -> Points:
        """Convert (N, 2) mm in board axes to (N, 2) pixels of the view."""
        corner = np.array([self.low_mm[0], self.high_mm[1]])
        return np.asarray((points_mm.reshape(-1, 2) - corner) * (self.scale, -self.scale) - 0.5)

    def to_board(self, points_px: Points) -> Points:
        """Convert (N, 2) pixels of the view to (N, 2) mm in board axes."""
        corner = np.array([self.low_mm[0], self.high_mm[1]])
        return corner + (points_px.reshape(-1, 2) + 0.5) / (self.scale, -self.scale)


def middle_mm(board: Board) -> Points:
    """Return (1, 3): the middle of a board, on its paper."""
    return np.array([[board.width_mm / 2, board.height_mm / 2, 0.0]])


def square_corners_mm(x_mm: float, y_mm: float, side_mm: float, turn_deg: float = 0.0) -> Points:
    """Return (4, 2) mm: corners of a square around (x, y), upper left first, clockwise.

    This is OpenCV's order for a marker. `turn_deg` is counter-clockwise.
    """
    return rectangle_corners_mm(x_mm, y_mm, side_mm, side_mm, math.radians(turn_deg))


def rectangle_corners_mm(
    x_mm: float, y_mm: float, width_mm: float, height_mm: float, turn_rad: float
) -> Points:
    """Return (4, 2) mm: corners of a rectangle around (x, y), upper left first, clockwise.

    `turn_rad` is counter-clockwise.
    """
    # Upper left, upper right, lower right, lower left.
    across = width_mm / 2
    along = height_mm / 2
    corners = np.array([[-across, along], [across, along], [across, -along], [-across, -along]])
    # The rows are the directions of the rectangle's axes.
    axes = np.array(
        [[math.cos(turn_rad), math.sin(turn_rad)], [-math.sin(turn_rad), math.cos(turn_rad)]]
    )
    return np.asarray(corners @ axes + (x_mm, y_mm), np.float64)


def at_height(points_mm: Points, z_mm: float = 0.0) -> Points:
    """Return (N, 3): points (N, 2) with `z_mm` as their third coordinate."""
    points = np.asarray(points_mm, np.float64).reshape(-1, 2)
    return np.column_stack([points, np.full(len(points), z_mm)])


def boxes_mm(centres_mm: Points, width_mm: float, height_mm: float) -> Points:
    """Return (N, 4, 2) mm: corners of upright rectangles around (N, 2) centres.

    The upper left corner comes first, the others follow clockwise.
    """
    return centres_mm[:, None] + rectangle_corners_mm(0.0, 0.0, width_mm, height_mm, 0.0)


def square_outline_mm(board: Board, square: Square) -> Points:
    """Return (4, 3) mm: corners of a square on the paper, upper left first, clockwise."""
    depth = board.depth_mm or board.square_mm
    return at_height(rectangle_corners_mm(*board.centre_mm(square), board.square_mm, depth, 0.0))


@lru_cache(maxsize=64)
def corner_points_mm(board: Board, marker: int) -> Points:
    """Return (4, 3) mm: the corners of one corner marker as printed, upper left first, clockwise.

    The array is cached and read-only.
    """
    corners = at_height(square_corners_mm(*board.corner_centres_mm[marker], board.corner_mm))
    corners.flags.writeable = False
    return corners


def solve_pose(
    points_mm: Points,
    points_px: Points,
    lens: Lens,
    size: Size,
    guess: Pose | None = None,
) -> Pose | None:
    """Return the pose with its covariance from coplanar points (N, 3) at pixels (N, 2), N >= 4.

    `size` is the size of the picture, and `guess` a pose that may be near. Returns None if no pose
    is found with the camera above the board.
    """
    pose = fit_pose(points_mm, points_px, lens, size, guess)
    return None if pose is None else _with_covariance(pose, points_mm)


def fit_pose(
    points_mm: Points,
    points_px: Points,
    lens: Lens,
    size: Size,
    guess: Pose | None = None,
) -> Pose | None:
    """Return the pose as in `solve_pose`, without its covariance.

    Several poses may explain points of a plane almost equally well. Of those with the camera above
    the table, this is the one with the smallest reprojection error.
    """
    # Refine each start, and the guess if there is one.
    starts = _initial_poses(points_mm, points_px, lens, size)
    if guess is not None:
        starts.append(Pose(guess.rotation, guess.translation, lens, size, len(points_mm) // 4))
    poses = [refine_pose(start, points_mm, points_px, lens) for start in starts]
    return min((pose for pose in poses if pose is not None), key=attrgetter("rms_px"), default=None)


def _initial_poses(points_mm: Points, points_px: Points, lens: Lens, size: Size) -> list[Pose]:
    """Return the one or two poses from which the points look as they do, the better one first."""
    matrix = lens.matrix(size)
    normalised = lens.undistort((points_px - matrix[:2, 2]) / matrix[0, 0])
    # IPPE (Collins and Bartoli 2014) returns both poses of a plane.
    _, rotations, translations, errors = cv2.solvePnPGeneric(
        points_mm[:, None], normalised[:, None], np.eye(3), None, flags=cv2.SOLVEPNP_IPPE
    )
    starts = []
    errors = np.ravel(errors)
    # Each marker has four corners.
    markers = len(points_mm) // 4
    for rotation, translation, error in zip(rotations, translations, errors, strict=True):
        if error <= _MAX_ERROR_RATIO * errors[0]:
            starts.append(Pose(np.asarray(rotation), np.asarray(translation), lens, size, markers))
    return starts


def refine_pose(start: Pose, points_mm: Points, points_px: Points, lens: Lens) -> Pose | None:
    """Return the pose near `start` that fits points (N, 3) at pixels (N, 2) best.

    Its residual is `rms_px`. Returns None if the camera would be below the board.
    """
    matrix = lens.matrix(start.size)
    distortion = lens.distortion
    points = points_px
    if lens.is_fisheye:
        # OpenCV refines for ordinary lenses only, so undistort fisheye points first.
        points = lens.undistort((points_px - matrix[:2, 2]) / matrix[0, 0])
        matrix = np.eye(3)
        distortion = np.zeros(4)
    rotation, translation = cv2.solvePnPRefineLM(
        points_mm[:, None],
        points[:, None],
        matrix,
        distortion,
        start.rotation.copy(),
        start.translation.copy(),
    )
    pose = replace(
        start,
        rotation=np.asarray(rotation, np.float64),
        translation=np.asarray(translation, np.float64),
        lens=lens,
    )
    if pose.eye_mm[2] <= 0:
        return None
    # The root mean square residual.
    error = pose.to_px(points_mm) - points_px
    return replace(pose, rms_px=float(np.sqrt((error**2).sum(axis=1).mean())))


def _with_covariance(pose: Pose, points_mm: Points) -> Pose:
    """Return the pose with the covariance of a least-squares fit to these corners (N, 3)."""
    jacobian = pose.project(points_mm).by_pose
    min_px = _MIN_CORNER_PX if pose.markers >= 4 else _MIN_CORNER_PX_OF_FEW
    corner_px = max(min_px, pose.rms_px)
    covariance = corner_px**2 * np.linalg.pinv(jacobian.T @ jacobian, hermitian=True)
    return replace(pose, covariance=np.asarray(covariance))
