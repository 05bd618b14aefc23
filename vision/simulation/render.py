"""Renders pictures of a simulated table: optics, light, and the printed board.

1. Place the camera so that the board fills the picture (`camera_pose`).
2. Follow the rays of the camera to the plane of the table, and draw the table and the printed board
   there (`render_texture`).
3. Compute the light on every pixel, and apply it (`build_lit_table`). The result is the same for
   all pictures while only pieces move. `objects` draws pieces and hands into it.
4. Blur and compress the picture as a camera does (`degrade`).

Board, pieces and cards show their printed pictures. Everything else is drawn by simple means, with
sizes and tones that were chosen by eye.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import cv2
import numpy as np
from numpy.typing import NDArray

from companion.core.kit import TOP_TO_TAG, Board, Kit
from vision.pose.optics import Lens, Size
from vision.pose.pose import Floats, Points, Pose, at_height, middle_mm, rectangle_corners_mm
from vision.simulation.printed import Bgr, PrintedSheet, decode_png
from vision.simulation.scenery import Levels, Light, Texture
from vision.simulation.view import CameraView

# Free space beside the board, in widths of a piece's top.
BESIDE_TOPS = 2.6
# Free space beside a board of cards, in addition to a card's width.
BESIDE_CARDS_MM = 24.0
# Distance between a board and the wall of a row of order tiles.
BESIDE_ROW_MM = 15.0

# Distance between the board's strips and the edge of the picture.
_MARGIN_MM = 6.0
# Number of rounds that aim the camera. Each round moves its target less than the one before.
_AIM_ROUNDS = 4
# Number of bisections in each round, which find the camera's distance to a thousandth of a mm.
_BISECTIONS = 30
# Minimum distance at which the camera is looked for.
_MIN_DISTANCE_MM = 50.0
# Maximum distance at which the camera is looked for.
_MAX_DISTANCE_MM = 20_000.0
# Supersampling factor: a picture is drawn this many times as large, and then reduced.
_SUPERSAMPLING = 2
# Spacing in px of rays that are traced exactly. Distortion is smooth, so those between are
# interpolated.
_RAY_SPACING_PX = 8
# Brightness that a reflection adds in its middle. More than 255, so that it burns out.
_MAX_GLARE = 330.0
# Standard deviation of the blurred edge of a shadow, as a share of its radius.
_SHADOW_SOFTNESS = 0.08
# The same for a reflection.
_GLARE_SOFTNESS = 0.35
# Where rays above the horizon meet the table, in mm. It is beyond every texture.
_BEYOND_MM = 1e5


def camera_pose(kit: Kit, view: CameraView) -> Pose:
    """Return the pose at which the board and the space beside it fill the picture."""
    board = kit.board
    corners = _area_mm(kit)
    (target,) = middle_mm(board)
    middle_px = np.array([[view.width, view.height]]) / 2
    for _ in range(_AIM_ROUNDS):
        # Look at the target from as near as possible. How far is the area from the middle then?
        pose = _closest_pose(target, corners, view)
        corners_px = pose.to_px(corners)
        box = np.array([corners_px.min(axis=0), corners_px.max(axis=0)])
        # Move the target so that the middle of the area is in the middle of the picture.
        wanted = pose.to_plane(box.mean(axis=0)[None])[0]
        target[:2] += wanted - pose.to_plane(middle_px)[0]
    return _shift_board(pose, view, board)


def _closest_pose(target: Points, corners: Points, view: CameraView) -> Pose:
    """Return the closest pose to a target (3,) mm from which all these corners are visible."""
    lens = Lens(view.focal_ratio, view.k1)
    half = np.array([view.width, view.height]) / 2
    near = _MIN_DISTANCE_MM
    far = _MAX_DISTANCE_MM
    for _ in range(_BISECTIONS):
        distance = (near + far) / 2
        pose = _pose_looking_at(target, distance, view, lens)
        offsets = np.abs(pose.to_px(corners) - half)
        is_inside = (offsets <= view.fill * half).all()
        is_in_front = (corners @ pose.axes[2] + pose.translation[2] > 0).all()
        if is_inside and is_in_front:
            far = distance
        else:
            near = distance
    return _pose_looking_at(target, far, view, lens)


def _area_mm(kit: Kit) -> Points:
    """Return (4, 3) mm: the corners of the board with the space beside it."""
    board = kit.board
    if kit.deck:
        beside_mm = kit.deck.width_mm + BESIDE_CARDS_MM
    else:
        top_mm = kit.tag_mm * TOP_TO_TAG
        widest_mm = max(kit.tops_mm[face.name][0] for face in kit.faces)
        beside_mm = max(top_mm * BESIDE_TOPS, widest_mm + top_mm / 2)
    beyond_mm = board.strip_mm + _MARGIN_MM
    if kit.order_tiles:
        beyond_mm += BESIDE_ROW_MM + kit.order_tiles.row_depth_mm
    x_mm, y_mm, _ = middle_mm(board)[0]
    width_mm = board.width_mm + 2 * beside_mm
    height_mm = board.height_mm + 2 * beyond_mm
    return at_height(rectangle_corners_mm(x_mm, y_mm, width_mm, height_mm, 0.0))


def _pose_looking_at(target: Points, distance: float, view: CameraView, lens: Lens) -> Pose:
    """Return the pose of a camera at this distance in mm from a target (3,) mm."""
    tilt = math.radians(view.tilt_deg)
    turn = math.radians(view.turn_deg)
    sine = math.sin(turn)
    cosine = math.cos(turn)
    horizontal = math.sin(tilt)
    # Direction from the target to the camera.
    towards_camera = np.array([sine * horizontal, -cosine * horizontal, math.cos(tilt)])
    # Camera axes: right, down, and into the picture.
    right = np.array([cosine, sine, 0.0])
    down = np.cross(-towards_camera, right)
    axes = np.array([right, down, -towards_camera])
    eye = target + distance * towards_camera
    return _make_pose(axes, -axes @ eye, lens, (view.width, view.height))


def _shift_board(pose: Pose, view: CameraView, board: Board) -> Pose:
    """Return the pose after the board was shifted and turned about its centre."""
    angle = math.radians(view.board_turn_deg)
    sine = math.sin(angle)
    cosine = math.cos(angle)
    turn = np.array([[cosine, -sine, 0], [sine, cosine, 0], [0, 0, 1]])
    (middle,) = middle_mm(board)
    shift = np.array([*view.shift_mm, 0.0])
    offset = middle - turn @ middle + shift
    translation = pose.axes @ offset + pose.translation.ravel()
    return _make_pose(pose.axes @ turn, translation, pose.lens, pose.size)


def _make_pose(axes: Floats, translation: Floats, lens: Lens, size: Size) -> Pose:
    rotation = np.asarray(cv2.Rodrigues(axes)[0], np.float64)
    return Pose(rotation, translation.reshape(3, 1), lens, size)


# ---- table, light and lens -----------------------------------------------------------------------


# Part of a picture in px, like OpenCV's `Rect`: left, top, width, height.
Rect = tuple[int, int, int, int]


def render_texture(pose: Pose, rect: Rect, factor: int, texture: Texture) -> NDArray[np.uint8]:
    """Render what a part of the camera's picture shows of a texture, enlarged by `factor`."""
    to_texture = texture.to_texture
    left, top, width, height = rect
    step = _RAY_SPACING_PX * factor
    # A grid in the enlarged picture, with a margin of one step on each side.
    count_down = math.ceil(height * factor / step) + 2
    count_across = math.ceil(width * factor / step) + 2
    rows = (np.arange(count_down) - 0.5) * step - 0.5
    columns = (np.arange(count_across) - 0.5) * step - 0.5
    grid = np.stack(np.meshgrid(columns, rows), axis=-1)
    pixels = (grid.reshape(-1, 2) + 0.5) / factor - 0.5 + (left, top)
    board_mm = np.nan_to_num(pose.to_plane(pixels), nan=_BEYOND_MM)

    # Texture coordinates of the grid, interpolated between its points.
    texture_px = board_mm @ to_texture[:2, :2].T + to_texture[:2, 2]
    sparse_px = texture_px.astype(np.float32).reshape(grid.shape)
    dense_px = cv2.resize(sparse_px, None, fx=step, fy=step, interpolation=cv2.INTER_LINEAR)
    # Without the margin.
    source_px = dense_px[step : step + height * factor, step : step + width * factor]
    picture = cv2.remap(  # type: ignore[call-overload]  # stubs deny None
        texture.picture, source_px, None, cv2.INTER_LINEAR, borderMode=texture.border
    )
    return np.asarray(picture, np.uint8)


def _sheet_rect(pose: Pose, sheet: PrintedSheet) -> Rect:
    """Return the part of the picture that contains the printed board, with a margin of 4 px.

    It is at least a few pixels wide and high, even if the board is outside the picture.
    """
    (left, low), (right, high) = sheet.low_mm, sheet.high_mm
    # A grid of points rather than the corners, since the lens may bend the edges.
    grid_mm = np.meshgrid(np.linspace(left, right, 20), np.linspace(low, high, 20))
    points_px = pose.to_px(at_height(np.stack(grid_mm, axis=-1)))
    size = np.array(pose.size)
    first = np.floor(points_px.min(axis=0)).astype(int).clip(0, size - 8) - 4
    last = np.ceil(points_px.max(axis=0)).astype(int).clip(8, size) + 4
    x, y = first.clip(0).tolist()
    end_x, end_y = np.minimum(last, size).tolist()
    return x, y, end_x - x, end_y - y


@dataclass(frozen=True, eq=False)
class LitTable:
    """The part of the scene that does not change while pieces move: table, board and light."""

    kit: Kit
    view: CameraView
    pose: Pose
    table: Bgr = field(repr=False)
    """The lit table with its printed board, without pieces."""
    light: Light = field(repr=False)
    """(h, w, 3): the light on pieces."""
    veil: Levels | None = field(default=None, repr=False)
    """Brightness (h, w, 1) that glare adds."""


def build_lit_table(kit: Kit, view: CameraView, sheet: PrintedSheet) -> LitTable:
    """Render a table with its printed board, and the light on it."""
    pose = camera_pose(kit, view)
    size = view.width, view.height
    table = render_texture(pose, (0, 0, *size), _SUPERSAMPLING, view.scenery.table(view.seed))
    # A fourth channel of the board is a mask of the paper.
    window = _sheet_rect(pose, sheet)
    paper = np.asarray(cv2.cvtColor(decode_png(sheet.png), cv2.COLOR_BGR2BGRA), np.uint8)
    texture = Texture(paper, sheet.to_texture(), cv2.BORDER_CONSTANT)
    board = render_texture(pose, window, _SUPERSAMPLING, texture)
    is_paper = cv2.inRange(board[..., 3], (128.0,), (255.0,))
    left, top, width, height = (_SUPERSAMPLING * length for length in window)
    # A view of the table, into which the board is copied.
    table_window = table[top : top + height, left : left + width]
    cv2.copyTo(cv2.cvtColor(board, cv2.COLOR_BGRA2BGR), is_paper, table_window)
    reduced = np.asarray(cv2.resize(table, size, interpolation=cv2.INTER_AREA), np.uint8)
    light = _light(pose, view)
    veil = _veil(pose, view)
    return LitTable(kit, view, pose, apply_light(reduced, light, veil), light, veil)


def apply_light(colours: Bgr | Levels, light: Light, veil: Levels | None) -> Bgr:
    """Return the picture (h, w, 3) of surfaces of these colours under a light.

    `veil` is the brightness that reflections add, None for none.
    """
    picture = colours.astype(np.float32)
    picture *= light
    if veil is not None:
        picture += veil
    return np.asarray(np.clip(picture, 0, 255, out=picture), np.uint8)


def _light(pose: Pose, view: CameraView) -> Light:
    """Return the light (h, w, 3) of the view. If all rows are equal, they share their memory."""
    across = np.linspace(1 - view.gradient, 1, view.width, dtype=np.float32)
    shade = across[None] * view.light
    if view.shadow is not None:
        x_mm, y_mm, radius_mm, strength = view.shadow
        blob = _soft_disc(pose, view, x_mm, y_mm, radius_mm, softness=_SHADOW_SOFTNESS)
        shade = shade * (1 - strength * blob)
    colours = shade[..., None] * np.array(view.cast_bgr, np.float32)
    colours = np.broadcast_to(colours, (view.height, view.width, 3))
    light = view.scenery.light(pose)
    return colours if light is None else (colours * light)


def _veil(pose: Pose, view: CameraView) -> Levels | None:
    """Return the brightness (h, w, 1), of 255, that reflections add, or None if there are none."""
    veil = view.scenery.veil(pose, view.seed)
    if view.glare is None:
        return veil
    glare = _MAX_GLARE * _soft_disc(pose, view, *view.glare, softness=_GLARE_SOFTNESS)[..., None]
    return glare if veil is None else (glare + veil)


def _soft_disc(
    pose: Pose, view: CameraView, x_mm: float, y_mm: float, radius_mm: float, *, softness: float
) -> NDArray[np.float32]:
    """Return (h, w): 1 within a circle on the board, 0 outside, with a soft edge.

    `softness` is the standard deviation of the edge's blur, as a share of the radius in the
    picture.
    """
    # Forty corners look like a circle.
    angles = np.linspace(0, 2 * math.pi, 40, endpoint=False)
    ring = np.column_stack([x_mm + radius_mm * np.cos(angles), y_mm + radius_mm * np.sin(angles)])
    pixels = pose.to_px(at_height(ring))
    mask = np.zeros((view.height, view.width), np.float32)
    cv2.fillPoly(mask, [pixels.round().astype(np.int32)], 1.0)
    half_width_px = float(np.ptp(pixels[:, 0])) / 2
    sigma = max(1.0, softness * half_width_px)
    return np.asarray(cv2.GaussianBlur(mask, (0, 0), sigma), np.float32)


def degrade(picture: Bgr, view: CameraView) -> Bgr:
    """Return the picture as a camera takes it: out of focus, in motion, and as a JPEG."""
    if view.defocus_px:
        picture = np.asarray(cv2.GaussianBlur(picture, (0, 0), view.defocus_px), np.uint8)
    if view.motion_px >= 1:
        kernel = _motion_kernel(view.motion_px, math.radians(view.motion_deg))
        picture = np.asarray(cv2.filter2D(picture, -1, kernel), np.uint8)
    if view.jpeg_quality is not None:
        data = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, view.jpeg_quality])[1]
        picture = np.asarray(cv2.imdecode(data, cv2.IMREAD_COLOR), np.uint8)
    return picture


def _motion_kernel(length_px: float, angle: float) -> NDArray[np.float32]:
    """Return the kernel of a straight motion blur at an angle in radians: a line with sum 1."""
    size = int(length_px) * 2 + 3
    middle = (size - 1) / 2
    half_line = np.array([math.cos(angle), math.sin(angle)]) * length_px / 2
    # With a shift of 4 bits OpenCV takes sixteenths of a pixel.
    first = ((middle - half_line) * 16).round().astype(int).tolist()
    last = ((middle + half_line) * 16).round().astype(int).tolist()
    kernel = np.zeros((size, size), np.float32)
    cv2.line(kernel, first, last, (1.0,), 1, cv2.LINE_AA, 4)
    return np.asarray(kernel / kernel.sum(), np.float32)
