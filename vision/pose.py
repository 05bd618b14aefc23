"""Where the board is: lens data, the pose from corner markers, and rays between pixels and millimetres.

Picture axes: pixels, x right, y down, the middle of the first pixel is (0, 0). Board axes: see `companion.kit`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import cv2
import numpy as np
from numpy.typing import NDArray

from companion.kit import Board

Points = NDArray[np.float64]
"""(N, 2) or (N, 3) coordinates."""


@dataclass(frozen=True)
class Lens:
    """`focal_ratio`: focal length by picture width; `k1`: first radial distortion term (negative: barrel)."""

    focal_ratio: float
    k1: float = 0.0

    def matrix(self, size: tuple[int, int]) -> Points:
        """Camera matrix for a picture of (width, height), the principal point in its middle."""
        width, height = size
        focal = self.focal_ratio * width
        return np.array([[focal, 0, (width - 1) / 2], [0, focal, (height - 1) / 2], [0, 0, 1]])

    @property
    def distortion(self) -> Points:
        """OpenCV's coefficients."""
        return np.array([self.k1, 0.0, 0.0, 0.0])


LENSES: Mapping[str, Lens] = {
    "camera-module-1": Lens(0.992),
    "camera-module-2": Lens(0.829),
    "camera-module-3": Lens(0.770),
    "camera-module-3-wide": Lens(0.405, -0.03),
    "hq-6mm": Lens(0.954, -0.05),
    "webcam": Lens(0.750),
}
"""Nominal lenses: horizontal angles of 53.5, 62.2, 66 and 102 degrees from Raspberry Pi's camera documentation;
6 mm before a 6.287 mm wide sensor; webcams lie between 60 and 78 degrees."""


@dataclass(frozen=True, eq=False)
class Pose:
    """The camera as the board sees it. `markers`: how many corner markers it rests on; `rms_px`: what is left over."""

    rotation: Points
    translation: Points
    lens: Lens
    size: tuple[int, int]
    markers: int = 4
    rms_px: float = 0.0
    covariance: Points | None = None
    """(6, 6) of rotation vector and translation; None when exact."""

    @cached_property
    def matrix(self) -> Points:
        """The camera matrix."""
        return self.lens.matrix(self.size)

    @cached_property
    def axes(self) -> Points:
        """(3, 3): board axes to camera axes."""
        return np.asarray(cv2.Rodrigues(self.rotation)[0], dtype=np.float64)

    @cached_property
    def eye_mm(self) -> Points:
        """(3,): where the camera is above the board."""
        return np.asarray(-self.axes.T @ self.translation.ravel(), dtype=np.float64)

    def to_px(self, points_mm: Points) -> Points:
        """(N, 2) pixels of (N, 3) points; those behind the camera give nonsense."""
        # cv2.projectPoints works out all slopes as well, which takes ten times as long.
        points = np.asarray(points_mm, dtype=np.float64).reshape(-1, 3) @ self.axes.T + self.translation.ravel()
        plane = points[:, :2] / np.where(points[:, 2:] == 0, 1.0, points[:, 2:])
        if self.lens.k1:
            plane = plane * (1 + self.lens.k1 * (plane**2).sum(axis=1, keepdims=True))
        return np.asarray(plane * self.matrix[0, 0] + self.matrix[:2, 2], dtype=np.float64)

    def to_plane(self, points_px: Points, z_mm: float | Points = 0.0) -> Points:
        """(N, 2) board coordinates where the rays of (N, 2) pixels meet the plane at `z_mm`; NaN where they do not."""
        points = np.asarray(points_px, dtype=np.float64).reshape(-1, 1, 2)
        if self.lens.k1:
            plane = np.asarray(cv2.undistortPoints(points, self.matrix, self.lens.distortion)).reshape(-1, 2)
        else:
            plane = (points.reshape(-1, 2) - self.matrix[:2, 2]) / self.matrix[0, 0]
        rays = np.column_stack([plane, np.ones(len(plane))]) @ self.axes
        eye = self.eye_mm
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = (z_mm - eye[2]) / rays[:, 2]
            reach = np.where(reach > 0, reach, np.nan)
        return np.asarray(eye[:2] + rays[:, :2] * reach[:, None], dtype=np.float64)

    def px_per_mm(self, x_mm: float, y_mm: float, z_mm: float = 0.0) -> float:
        """How large the board appears at a point: the smaller of both directions."""
        here, right, up = self.to_px(np.array([[x_mm, y_mm, z_mm], [x_mm + 1, y_mm, z_mm], [x_mm, y_mm + 1, z_mm]]))
        return float(min(np.linalg.norm(right - here), np.linalg.norm(up - here)))

    def spread_mm(self, points_mm: Points) -> Points:
        """(N,): one standard deviation of where the pose puts (N, 3) points, in mm on the board."""
        points = np.asarray(points_mm, dtype=np.float64).reshape(-1, 3)
        if self.covariance is None:
            return np.zeros(len(points))
        jacobian = cv2.projectPoints(
            points.reshape(-1, 1, 3), self.rotation, self.translation, self.matrix, self.lens.distortion
        )[1][:, :6].reshape(-1, 2, 6)
        errors = np.einsum("nij,jk,nlk->nil", jacobian, self.covariance, jacobian)
        largest = np.sqrt(np.linalg.eigvalsh(errors)[:, 1].clip(0))
        around = points[:, None] + [[0.0, 0, 0], [1, 0, 0], [0, 1, 0]]
        here = self.to_px(around.reshape(-1, 3)).reshape(-1, 3, 2)
        scale = np.linalg.norm(here[:, 1:] - here[:, :1], axis=2).min(axis=1)
        return np.asarray(largest / np.maximum(scale, 1e-6), dtype=np.float64)

    def plane_maps(self, low_mm: tuple[float, float], high_mm: tuple[float, float], z_mm: float, scale: float) -> Maps:
        """Where to look in the picture for each pixel of a view from straight above of a rectangle at `z_mm`.

        `scale` is px per mm; the view's row 0 lies at the rectangle's high y, so that South is below.
        """
        size = [max(1, round((high - low) * scale)) for low, high in zip(low_mm, high_mm, strict=True)]
        axes = self.axes
        base = axes[:, 2] * z_mm + self.translation.ravel()
        to_mm = np.array([[1, 0, low_mm[0] * scale + 0.5], [0, -1, high_mm[1] * scale - 0.5], [0, 0, scale]]) / scale
        to_rays = np.column_stack([axes[:, :2], base]) @ to_mm
        # OpenCV takes any invertible matrix for the new camera's, and is twenty times as fast as numpy here.
        pixels = cv2.initUndistortRectifyMap(
            self.matrix, self.lens.distortion, None, np.linalg.inv(to_rays), size, cv2.CV_32FC2
        )[0]
        return Maps(np.asarray(pixels, np.float32), low_mm, high_mm, z_mm, scale)


@dataclass(frozen=True, eq=False)
class Maps:
    """A view from straight above: `pixels` (h, w, 2) float32 says where each of its pixels lies in the picture."""

    pixels: NDArray[np.float32]
    low_mm: tuple[float, float]
    high_mm: tuple[float, float]
    z_mm: float
    scale: float

    def rectify(self, luma: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """The view, (h, w); black outside the picture."""
        view = cv2.remap(luma, self.pixels, None, cv2.INTER_LINEAR)  # type: ignore[call-overload]  # stubs deny None
        return np.asarray(view, dtype=np.uint8)

    def part(self, rows: slice, columns: slice) -> Maps:
        """A part of the view."""
        low_x, high_x = (self.low_mm[0] + column / self.scale for column in (columns.start, columns.stop))
        low_y, high_y = (self.high_mm[1] - row / self.scale for row in (rows.stop, rows.start))
        pixels = np.ascontiguousarray(self.pixels[rows, columns])
        return Maps(pixels, (low_x, low_y), (high_x, high_y), self.z_mm, self.scale)

    def to_view(self, points_mm: Points) -> Points:
        """(N, 2) board coordinates to (N, 2) pixels of the view."""
        x, y = np.asarray(points_mm, dtype=np.float64).reshape(-1, 2).T
        columns, rows = (x - self.low_mm[0]) * self.scale - 0.5, (self.high_mm[1] - y) * self.scale - 0.5
        return np.column_stack([columns, rows])

    def to_board(self, points: Points) -> Points:
        """(N, 2) pixels of the view to (N, 2) board coordinates."""
        columns, rows = np.asarray(points, dtype=np.float64).reshape(-1, 2).T
        x, y = self.low_mm[0] + (columns + 0.5) / self.scale, self.high_mm[1] - (rows + 0.5) / self.scale
        return np.column_stack([x, y])


def square_corners_mm(x_mm: float, y_mm: float, side_mm: float, turn_deg: float = 0.0) -> Points:
    """(4, 2): the corners of a marker in OpenCV's order (upper left first, clockwise), `turn_deg` counter-clockwise."""
    return rectangle_corners_mm(x_mm, y_mm, side_mm, side_mm, math.radians(turn_deg))


def rectangle_corners_mm(x_mm: float, y_mm: float, width_mm: float, height_mm: float, turn: float) -> Points:
    """(4, 2): the corners of a rectangle, upper left first, clockwise; `turn` counter-clockwise in radians."""
    across, along = width_mm / 2, height_mm / 2
    corners = np.array([[-across, along], [across, along], [across, -along], [-across, -along]])
    axes = np.array([[math.cos(turn), math.sin(turn)], [-math.sin(turn), math.cos(turn)]])
    return np.asarray(corners @ axes + (x_mm, y_mm), dtype=np.float64)


def flat(points_mm: Points, z_mm: float = 0.0) -> Points:
    """(N, 3): points of the board's plane, lifted to `z_mm`."""
    points = np.asarray(points_mm, dtype=np.float64).reshape(-1, 2)
    return np.column_stack([points, np.full(len(points), z_mm)])


def corner_points_mm(board: Board, marker: int) -> Points:
    """(4, 3): the printed corners of one of the board's corner markers."""
    return flat(square_corners_mm(*board.corner_centres_mm[marker], board.corner_mm))


def solve_pose(
    points_mm: Points, points_px: Points, lens: Lens, size: tuple[int, int], guess: Pose | None = None
) -> Pose | None:
    """The pose from (N, 3) coplanar board points and their (N, 2) pixels, N >= 4; None when the camera would be below.

    Two poses explain a plane almost equally well: the one above the table with less error counts.
    """
    matrix, distortion = lens.matrix(size), lens.distortion
    object_points, image_points = points_mm.reshape(-1, 1, 3), points_px.reshape(-1, 1, 2).astype(np.float64)
    found = cv2.solvePnPGeneric(object_points, image_points, matrix, distortion, flags=cv2.SOLVEPNP_IPPE)
    starts = list(zip(found[1], found[2], strict=True))
    if guess is not None:
        starts.append((guess.rotation, guess.translation))
    best: Pose | None = None
    for rotation, translation in starts:
        start = Pose(np.asarray(rotation), np.asarray(translation), lens, size, len(points_mm) // 4)
        pose = _refined(start, points_mm, points_px, lens)
        if pose is not None and (best is None or pose.rms_px < best.rms_px):
            best = pose
    return best and _with_covariance(best, object_points)


def _refined(start: Pose, points_mm: Points, points_px: Points, lens: Lens) -> Pose | None:
    """The pose near another that fits best, with what is left over; None when the camera would be below."""
    found = cv2.solvePnPRefineLM(
        points_mm.reshape(-1, 1, 3),
        points_px.reshape(-1, 1, 2).astype(np.float64),
        lens.matrix(start.size),
        lens.distortion,
        start.rotation.copy(),
        start.translation.copy(),
    )
    pose = replace(start, rotation=np.asarray(found[0]), translation=np.asarray(found[1]), lens=lens)
    if pose.eye_mm[2] <= 0:
        return None
    error = pose.to_px(points_mm) - points_px
    return replace(pose, rms_px=float(np.sqrt((error**2).sum(axis=1).mean())))


def _with_covariance(pose: Pose, object_points: Points) -> Pose:
    """Add how certain the pose is; corners are never trusted to better than 0.4 px, or 0.8 px while some are hidden."""
    jacobian = cv2.projectPoints(object_points, pose.rotation, pose.translation, pose.matrix, pose.lens.distortion)[1]
    information = jacobian[:, :6].T @ jacobian[:, :6]
    covariance = max(0.4 if pose.markers >= 4 else 0.8, pose.rms_px) ** 2 * np.linalg.pinv(information)
    return replace(pose, covariance=np.asarray(covariance, dtype=np.float64))


class LensTuner:
    """Sharpens focal length and distortion with every good view of three or four corner markers.

    Both are unknowns of a least-squares sum over views (the pose is solved anew for each trial value), held near the
    nominal lens by a prior: a view from straight above says nothing about the focal length and changes nothing.
    """

    _PRIOR = np.diag([1 / 0.12**2, 1 / 0.04**2])
    _CORNER_PX = 0.7

    def __init__(self, nominal: Lens, exact: bool = False) -> None:
        self.nominal = nominal
        self.lens = nominal
        self.exact = exact
        """Measured by somebody who knows better: it is left alone."""
        self.views = 0
        self._information = np.zeros((2, 2))
        self._vector = np.zeros(2)

    @property
    def spread(self) -> float:
        """One standard deviation of the focal length, by its own size, as the views tell it."""
        return float(np.sqrt(np.linalg.inv(self._information + self._PRIOR)[0, 0]))

    def learn(self, points_mm: Points, points_px: Points, size: tuple[int, int]) -> None:
        """Take one view into account; the first one is repeated because its start is far off."""
        if self.exact:
            return
        pose: Pose | None = None
        for _ in range(3 if self.views == 0 else 1):
            linear = self._linearised(points_mm, points_px, size, pose)
            if linear is None:
                return
            slopes, rest, pose = linear
            if self.views == 0:
                information, vector = np.zeros((2, 2)), np.zeros(2)
            else:
                fade = 1.0 if self.views < 20 else 0.95
                information, vector = self._information * fade, self._vector * fade
            # A view that no lens explains, as something moves a corner, teaches little.
            weight = 1 / max(self._CORNER_PX, pose.rms_px) ** 2
            self._information = information + weight * slopes.T @ slopes
            self._vector = vector + weight * slopes.T @ (slopes @ self._value() - rest)
            self._solve()
        self.views += 1

    def _value(self) -> Points:
        """Departure from the nominal lens: (log focal ratio, k1)."""
        focal = math.log(self.lens.focal_ratio / self.nominal.focal_ratio)
        return np.array([focal, self.lens.k1 - self.nominal.k1])

    def _lens_at(self, value: Points) -> Lens:
        focal, k1 = np.clip(value, (-0.4, -0.15), (0.4, 0.15))
        return Lens(self.nominal.focal_ratio * math.exp(focal), self.nominal.k1 + float(k1))

    def _solve(self) -> None:
        self.lens = self._lens_at(
            np.asarray(np.linalg.solve(self._information + self._PRIOR, self._vector), np.float64)
        )

    def _linearised(
        self, points_mm: Points, points_px: Points, size: tuple[int, int], guess: Pose | None
    ) -> tuple[Points, Points, Pose] | None:
        """Slopes (2N, 2) and residuals (2N,) of the corners by focal length and k1, the pose being solved for each
        lens, and that pose; None when there is none."""
        pose = _refined(guess, points_mm, points_px, self.lens) if guess else None
        pose = pose or solve_pose(points_mm, points_px, self.lens, size)
        if pose is None:
            return None
        seen, jacobian = cv2.projectPoints(
            points_mm.reshape(-1, 1, 3), pose.rotation, pose.translation, pose.matrix, self.lens.distortion
        )
        focal = pose.matrix[0, 0] * (jacobian[:, 6] + jacobian[:, 7])
        by_lens, by_pose = np.column_stack([focal, jacobian[:, 10]]), jacobian[:, :6]
        # What a change of the pose makes good does not count.
        slopes = by_lens - by_pose @ np.linalg.lstsq(by_pose, by_lens, rcond=None)[0]
        return np.asarray(slopes, np.float64), (seen.reshape(-1, 2) - points_px).ravel(), pose
