"""Pictures of a table that does not exist: optics, light, the printed board, pieces with height, a hand.

Everything is drawn with its own simple means, so that the reader is not tested with its own eyes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray

from companion.kit import Board, Kit, Seat
from vision.artwork import Bgr, bgr_of, board_sheet
from vision.pose import Lens, Points, Pose, flat, rectangle_corners_mm
from vision.tags import TOP_TO_TAG, top_mm

Shade = NDArray[np.float32]

BESIDE_TOPS = 2.6
"""Room beside the board, in tops of pieces."""
BESIDE_CARDS_MM = 24.0
"""Room beside a board of cards, more than a card's width."""


@dataclass(frozen=True)
class View:
    """How the rendered camera looks at the table; angles in degrees, blur in px, light by factor.

    `tilt_deg` is the angle between the camera's axis and the vertical; `turn_deg` walks the camera round the
    board (0: South is below, 180: North is). `shift_mm` and `board_turn_deg` displace the board on the table.
    `shadow` is (x mm, y mm, radius mm, strength 0..1), `glare` is (x mm, y mm, radius mm); `gradient` is how much
    darker the picture's left edge is.
    """

    width: int = 1280
    height: int = 720
    focal_ratio: float = 0.80
    k1: float = 0.0
    tilt_deg: float = 35.0
    turn_deg: float = 0.0
    fill: float = 0.94
    shift_mm: tuple[float, float] = (0.0, 0.0)
    board_turn_deg: float = 0.0
    light: float = 1.0
    gradient: float = 0.1
    shadow: tuple[float, float, float, float] | None = None
    glare: tuple[float, float, float] | None = None
    cast_bgr: tuple[float, float, float] = (1.0, 1.0, 1.0)
    noise: float = 1.5
    defocus_px: float = 0.0
    motion_px: float = 0.0
    motion_deg: float = 0.0
    jpeg_quality: int | None = None
    skin_bgr: tuple[int, int, int] = (122, 158, 208)
    seed: int = 1


def default_view(kit: Kit) -> View:
    """How the camera looks at a board when nothing else is said: finer at cards, whose markers are small."""
    return View(width=1920, height=1080, tilt_deg=25.0) if kit.deck else View()


@dataclass(frozen=True)
class Block:
    """One piece to draw: what its top shows, the colour of its sides, its size, place and base height in mm."""

    piece: int
    top: Bgr = field(repr=False)
    rgb: str
    width_mm: float
    depth_mm: float
    height_mm: float
    x_mm: float
    y_mm: float
    z_mm: float
    turn_deg: float
    covered: bool = False
    """Nothing of it shows."""

    def outline(self, pose: Pose, top: bool = True) -> Points:
        """(4, 2) pixels of its top, or of its foot."""
        size = self.width_mm, self.depth_mm
        corners = rectangle_corners_mm(self.x_mm, self.y_mm, *size, math.radians(self.turn_deg))
        return pose.to_px(flat(corners, self.z_mm + (self.height_mm if top else 0.0)))


def camera_pose(kit: Kit, view: View) -> Pose:
    """The pose with which the whole board and the room beside it fill the picture."""
    board, lens = kit.board, Lens(view.focal_ratio, view.k1)
    tag = kit.tag_mm * TOP_TO_TAG
    widest = max((top_mm(kit, face)[0] for face in kit.faces), default=0.0)
    room = kit.deck.width_mm + BESIDE_CARDS_MM if kit.deck else max(tag * BESIDE_TOPS, widest + tag / 2)
    low = (-room, -board.strip_mm - 6)
    high = (board.width_mm + room, board.height_mm + board.strip_mm + 6)
    corners = flat(np.array([low, (high[0], low[1]), high, (low[0], high[1])]))
    target = np.array([board.width_mm / 2, board.height_mm / 2, 0.0])
    size = (view.width, view.height)
    centre, half = np.array(size) / 2, view.fill * np.array(size) / 2
    pose = _look_at(target, 1000.0, view, lens)
    for _ in range(4):
        near, far = 50.0, 20000.0
        for _ in range(30):
            distance = (near + far) / 2
            pose = _look_at(target, distance, view, lens)
            offsets = np.abs(pose.to_px(corners) - centre)
            if (offsets.max(axis=0) <= half).all() and (corners @ pose.axes[2] + pose.translation[2] > 0).all():
                far = distance
            else:
                near = distance
        pose = _look_at(target, far, view, lens)
        seen = pose.to_px(corners)
        middle = pose.to_plane((seen.min(axis=0) + seen.max(axis=0))[None] / 2)[0]
        aim = pose.to_plane(centre[None])[0]
        target[:2] += middle - aim
    return _displaced(pose, view, board)


def _look_at(target: Points, distance: float, view: View, lens: Lens) -> Pose:
    tilt, turn = math.radians(view.tilt_deg), math.radians(view.turn_deg)
    away = np.array([math.sin(turn) * math.sin(tilt), -math.cos(turn) * math.sin(tilt), math.cos(tilt)])
    right = np.array([math.cos(turn), math.sin(turn), 0.0])
    axes = np.array([right, np.cross(-away, right), -away])
    rotation = np.asarray(cv2.Rodrigues(axes)[0], dtype=np.float64)
    return Pose(rotation, (-axes @ (target + distance * away)).reshape(3, 1), lens, (view.width, view.height))


def _displaced(pose: Pose, view: View, board: Board) -> Pose:
    """The pose after the board has been pushed and turned about its middle, the camera staying where it is."""
    angle = math.radians(view.board_turn_deg)
    turn = np.array([[math.cos(angle), -math.sin(angle), 0], [math.sin(angle), math.cos(angle), 0], [0, 0, 1]])
    middle = np.array([board.width_mm / 2, board.height_mm / 2, 0.0])
    offset = middle - turn @ middle + np.array([*view.shift_mm, 0.0])
    translation = pose.axes @ offset + pose.translation.ravel()
    rotation = np.asarray(cv2.Rodrigues(pose.axes @ turn)[0], dtype=np.float64)
    return Pose(rotation, translation.reshape(3, 1), pose.lens, pose.size)


# ---- table, light and lens ----------------------------------------------------------------------------------


@lru_cache(maxsize=2)
def _wood(seed: int) -> Bgr:
    """A dark wooden texture, 1 px per mm, 700 x 700."""
    rng = np.random.default_rng(seed)
    grain = cv2.resize(rng.normal(0, 1, (350, 12)).astype(np.float32), (700, 700), interpolation=cv2.INTER_CUBIC)
    fine = cv2.GaussianBlur(rng.normal(0, 1, (700, 700)).astype(np.float32), (0, 0), sigmaX=9, sigmaY=0.7)
    tone = 1 + 0.09 * grain + 0.35 * fine
    wood = tone[..., None] * np.array([52, 84, 124], dtype=np.float32)
    return np.asarray(wood.clip(0, 255), dtype=np.uint8)


def _from_above(pose: Pose, size: tuple[int, int], factor: int) -> Callable[[Bgr, Points, int], Bgr]:
    """A function that pictures a flat texture, given the (3, 3) matrix from board mm to its pixels."""
    width, height = size
    if not pose.lens.k1:
        centre = np.array([[1 / factor, 0, 0.5 / factor - 0.5], [0, 1 / factor, 0.5 / factor - 0.5], [0, 0, 1]])
        axes = pose.axes
        to_picture = pose.matrix @ np.column_stack([axes[:, 0], axes[:, 1], pose.translation.ravel()])

        def flat_picture(texture: Bgr, to_texture: Points, border: int) -> Bgr:
            matrix = to_texture @ np.linalg.inv(to_picture) @ centre
            flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
            whole = (width * factor, height * factor)
            return np.asarray(cv2.warpPerspective(texture, matrix, whole, flags=flags, borderMode=border), np.uint8)

        return flat_picture
    columns, rows = np.meshgrid(np.arange(width * factor), np.arange(height * factor))
    pixels = (np.column_stack([columns.ravel(), rows.ravel()]) + 0.5) / factor - 0.5
    plane = np.nan_to_num(pose.to_plane(pixels), nan=1e5)

    def bent_picture(texture: Bgr, to_texture: Points, border: int) -> Bgr:
        where = (plane @ to_texture[:2, :2].T + to_texture[:2, 2]).astype(np.float32)
        where = where.reshape(height * factor, width * factor, 2)
        return np.asarray(
            cv2.remap(texture, where[..., 0], where[..., 1], cv2.INTER_LINEAR, borderMode=border), np.uint8
        )

    return bent_picture


@dataclass(frozen=True, eq=False)
class Stage:
    """What does not change while pieces move: pose, lit empty table, the light (h, w, 3) that pieces get too,
    and the veil (h, w, 1) that glare lays over all."""

    kit: Kit
    view: View
    pose: Pose
    table: Bgr = field(repr=False)
    light: Shade = field(repr=False)
    veil: Shade | None = field(default=None, repr=False)


def build_stage(kit: Kit, view: View) -> Stage:
    """Draw the empty table once."""
    pose = camera_pose(kit, view)
    sheet = board_sheet(kit)
    factor = 2
    picture_of = _from_above(pose, (view.width, view.height), factor)
    table = picture_of(_wood(view.seed), np.array([[1.0, 0, 300], [0, -1.0, 400], [0, 0, 1]]), cv2.BORDER_REFLECT)
    board = picture_of(sheet.picture, sheet.to_texture(), cv2.BORDER_CONSTANT)
    inside = picture_of(np.full(sheet.picture.shape[:2], 255, np.uint8), sheet.to_texture(), cv2.BORDER_CONSTANT)
    table[inside > 127] = board[inside > 127]
    table = np.asarray(cv2.resize(table, (view.width, view.height), interpolation=cv2.INTER_AREA), dtype=np.uint8)
    light, veil = _light(pose, view), None
    if view.glare is not None:
        veil = 330 * _blob(pose, view, *view.glare, soft=0.35)[..., None]
    return Stage(kit, view, pose, lit(table, light, veil), light, veil)


def lit(colours: Bgr | Shade, light: Shade, veil: Shade | None) -> Bgr:
    """Colours (h, w, 3) under a light, with reflections of it on top."""
    shone = colours.astype(np.float32) * light
    return np.asarray((shone if veil is None else shone + veil).clip(0, 255), dtype=np.uint8)


def _light(pose: Pose, view: View) -> Shade:
    across = np.linspace(1 - view.gradient, 1, view.width, dtype=np.float32)
    shade = np.repeat(across[None], view.height, axis=0) * view.light
    if view.shadow is not None:
        x, y, radius, strength = view.shadow
        mask = _blob(pose, view, x, y, radius, soft=0.08)
        shade = shade * (1 - strength * mask)
    colours = shade[..., None] * np.array(view.cast_bgr, dtype=np.float32)
    return np.asarray(colours, dtype=np.float32)


def _blob(pose: Pose, view: View, x: float, y: float, radius: float, *, soft: float) -> Shade:
    angles = np.linspace(0, 2 * math.pi, 40, endpoint=False)
    ring = np.column_stack([x + radius * np.cos(angles), y + radius * np.sin(angles)])
    pixels = pose.to_px(flat(ring))
    mask = np.zeros((view.height, view.width), dtype=np.float32)
    cv2.fillPoly(mask, [pixels.round().astype(np.int32)], 1.0)
    sigma = max(1.0, soft * float(np.ptp(pixels[:, 0])) / 2)
    return np.asarray(cv2.GaussianBlur(mask, (0, 0), sigma), dtype=np.float32)


def blurred(picture: Bgr, view: View) -> Bgr:
    """Defocus, motion and JPEG of the view."""
    if view.defocus_px:
        picture = np.asarray(cv2.GaussianBlur(picture, (0, 0), view.defocus_px), dtype=np.uint8)
    if view.motion_px >= 1:
        size = int(view.motion_px) * 2 + 3
        kernel = np.zeros((size, size), np.float32)
        angle, middle = math.radians(view.motion_deg), (size - 1) / 2
        reach = np.array([math.cos(angle), math.sin(angle)]) * view.motion_px / 2
        ends = [tuple(((middle + sign * reach) * 16).round().astype(int).tolist()) for sign in (-1, 1)]
        cv2.line(kernel, ends[0], ends[1], (1.0,), 1, cv2.LINE_AA, 4)
        picture = np.asarray(cv2.filter2D(picture, -1, kernel / kernel.sum()), dtype=np.uint8)
    if view.jpeg_quality is not None:
        data = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, view.jpeg_quality])[1]
        picture = np.asarray(cv2.imdecode(data, cv2.IMREAD_COLOR), dtype=np.uint8)
    return picture


# ---- pieces and hands ---------------------------------------------------------------------------------------


def draw_block(picture: Bgr, stage: Stage, block: Block) -> None:
    """Draw one piece into a picture of the stage: a soft shadow at its foot, walls, and the top with its marker."""
    if block.covered:
        return
    factor = 2
    top, foot = block.outline(stage.pose), block.outline(stage.pose, top=False)
    points = np.vstack([top, foot])
    low = np.floor(points.min(axis=0)).astype(int) - 6
    high = np.ceil(points.max(axis=0)).astype(int) + 7
    low, high = low.clip(0), np.minimum(high, (stage.view.width, stage.view.height))
    if (high - low < 2).any():
        return
    window = (slice(low[1], high[1]), slice(low[0], high[0]))
    size = tuple(((high - low) * factor).tolist())
    top, foot = ((quad - low + 0.5) * factor - 0.5 for quad in (top, foot))
    colours = np.zeros((size[1], size[0], 3), np.uint8)
    cover = np.zeros((size[1], size[0]), np.uint8)
    hull = cv2.convexHull(np.vstack([top, foot]).astype(np.float32)).reshape(-1, 2)
    cv2.fillPoly(cover, [(hull * 16).round().astype(np.int32)], 255, cv2.LINE_AA, 4)
    _draw_walls(colours, top, foot, bgr_of(block.rgb))
    art = block.top
    down, across = art.shape[:2]
    corners = np.array([[0, 0], [across, 0], [across, down], [0, down]], np.float32) - 0.5
    warp = cv2.getPerspectiveTransform(corners, top.astype(np.float32))
    shape = np.zeros((size[1], size[0]), np.uint8)
    cv2.fillPoly(shape, [(top * 16).round().astype(np.int32)], 255, 8, 4)
    printed = cv2.warpPerspective(art, warp, size, flags=cv2.INTER_AREA, borderMode=cv2.BORDER_REPLICATE)
    colours[shape > 0] = printed[shape > 0]
    small = tuple((high - low).tolist())
    flat_colour = np.asarray(cv2.resize(colours, small, interpolation=cv2.INTER_AREA), np.uint8)
    colour = lit(flat_colour, stage.light[window], None if stage.veil is None else stage.veil[window])
    alpha = cv2.resize(cover, small, interpolation=cv2.INTER_AREA).astype(np.float32)[..., None] / 255
    shadow = cv2.GaussianBlur(alpha[..., 0], (0, 0), 2.5)[..., None]
    ground = picture[window].astype(np.float32) * (1 - 0.35 * shadow * (1 - alpha))
    picture[window] = (ground * (1 - alpha) + colour * alpha).clip(0, 255)


def _draw_walls(picture: Bgr, top: Points, foot: Points, colour: tuple[int, int, int]) -> None:
    """The sides of a block that the camera sees, each in its own tone."""
    for index, tone in enumerate((0.55, 0.7, 0.8, 0.65)):
        after = (index + 1) % 4
        wall = np.array([top[index], top[after], foot[after], foot[index]])
        if cv2.contourArea(wall.astype(np.float32), oriented=True) >= 0:  # its back is turned to the camera
            continue
        shade = tuple(part * tone for part in colour)
        cv2.fillPoly(picture, [(wall * 16).round().astype(np.int32)], shade, 8, 4)


@lru_cache(maxsize=1)
def _hand_shape() -> Points:
    """(N, 2) mm: the outline of a right hand with its arm, the middle of the palm at (0, 0), fingers towards +y."""
    scale, left, above = 2, 80, 90
    paper = np.zeros((620 * scale, 160 * scale), np.uint8)

    def limb(start: tuple[int, int], end: tuple[int, int], width: int) -> None:
        ends = [((x + left) * scale, (above - y) * scale) for x, y in (start, end)]
        cv2.line(paper, ends[0], ends[1], (255,), width * scale, cv2.LINE_AA)

    limb((0, -500), (0, -60), 58)  # arm
    limb((-14, -8), (-12, -44), 44)
    limb((14, -8), (12, -44), 44)
    for foot, tip in ((-28, (-38, 42)), (-9, (-12, 56)), (10, (12, 54)), (27, (34, 40))):
        limb((foot, -6), tip, 16)
    limb((-26, -40), (-58, 0), 19)  # thumb
    outline = max(cv2.findContours(paper, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)[0], key=cv2.contourArea)
    points = outline.reshape(-1, 2).astype(np.float64) / scale
    return np.column_stack([points[:, 0] - left, above - points[:, 1]])


def hand_mm(x_mm: float, y_mm: float, from_seat: Seat) -> Points:
    """(N, 2): what a hand over a point of the board hides of it, with its arm that comes from a seat."""
    return np.array([x_mm, y_mm]) + (1.0 if from_seat is Seat.SOUTH else -1.0) * _hand_shape()


def draw_hand(picture: Bgr, stage: Stage, x_mm: float, y_mm: float, from_seat: Seat) -> None:
    """An arm from a seat's edge of the table to a point of the board, fingers spread over it."""
    axes, middle = stage.pose.axes, np.array([x_mm, y_mm])
    # The hand is drawn where it hides the point in the picture, at the height of the board. An arm that reaches past
    # the camera is cut off outside the picture: behind the lens a projection means nothing.
    shape = hand_mm(x_mm, y_mm, from_seat)
    away = -1.0 if from_seat is Seat.SOUTH else 1.0
    for length in range(500, 60, -40):
        limits = sorted((middle[1] + away * length, middle[1] - away * 1000))
        reach = flat(np.column_stack([shape[:, 0], shape[:, 1].clip(*limits)]))
        seen = reach @ axes.T + stage.pose.translation.ravel()
        if (np.linalg.norm(seen[:, :2], axis=1) < 1.4 * seen[:, 2]).all():
            break
    pixels = stage.pose.to_px(reach)
    cover = np.zeros(picture.shape[:2], np.uint8)
    cv2.fillPoly(cover, [(pixels * 16).round().astype(np.int64).clip(-(2**20), 2**20).astype(np.int32)], 255, 16, 4)
    depth = cv2.GaussianBlur(cover, (0, 0), 6).astype(np.float32)[..., None] / 255
    skin = np.asarray(np.array(stage.view.skin_bgr) * (0.62 + 0.38 * depth), dtype=np.float32)
    where = cover > 127
    picture[where] = lit(skin, stage.light, stage.veil)[where]
