"""Pictures of a table that does not exist: optics, light, the printed board, pieces with height, a
hand.

The board, pieces and cards are those that are printed; all else is drawn with simple means of its
own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import cv2
import numpy as np

from companion.core.kit import TOP_TO_TAG, Board, Kit
from vision.pose.optics import Lens
from vision.pose.pose import Points, Pose, flat
from vision.simulation.printed import Bgr, PrintedSheet, unpacked
from vision.simulation.scenery import Shade
from vision.simulation.view import View

BESIDE_TOPS = 2.6
"""Room beside the board, in tops of pieces."""
BESIDE_CARDS_MM = 24.0
"""Room beside a board of cards, more than a card's width."""
BESIDE_ROW_MM = 15.0
"""Between a board and the wall of a row of order tiles."""


def camera_pose(kit: Kit, view: View) -> Pose:
    """Return the pose with which the whole board and the room beside it fill the picture."""
    board, lens = kit.board, Lens(view.focal_ratio, view.k1)
    corners = _shown_mm(kit)
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
            if (offsets.max(axis=0) <= half).all() and (
                corners @ pose.axes[2] + pose.translation[2] > 0
            ).all():
                far = distance
            else:
                near = distance
        pose = _look_at(target, far, view, lens)
        seen = pose.to_px(corners)
        middle = pose.to_plane((seen.min(axis=0) + seen.max(axis=0))[None] / 2)[0]
        aim = pose.to_plane(centre[None])[0]
        target[:2] += middle - aim
    return _displaced(pose, view, board)


def _shown_mm(kit: Kit) -> Points:
    """Return (4, 3): the corners of the board with the room beside it."""
    board, tag = kit.board, kit.tag_mm * TOP_TO_TAG
    widest = max((kit.tops_mm[face.name][0] for face in kit.faces), default=0.0)
    room = (
        kit.deck.width_mm + BESIDE_CARDS_MM
        if kit.deck
        else max(tag * BESIDE_TOPS, widest + tag / 2)
    )
    beyond = board.strip_mm + (
        BESIDE_ROW_MM + kit.order_tiles.row_depth_mm if kit.order_tiles else 0.0
    )
    low = (-room, -beyond - 6)
    high = (board.width_mm + room, board.height_mm + beyond + 6)
    return flat(np.array([low, (high[0], low[1]), high, (low[0], high[1])]))


def _look_at(target: Points, distance: float, view: View, lens: Lens) -> Pose:
    tilt, turn = math.radians(view.tilt_deg), math.radians(view.turn_deg)
    away = np.array(
        [math.sin(turn) * math.sin(tilt), -math.cos(turn) * math.sin(tilt), math.cos(tilt)]
    )
    right = np.array([math.cos(turn), math.sin(turn), 0.0])
    axes = np.array([right, np.cross(-away, right), -away])
    rotation = np.asarray(cv2.Rodrigues(axes)[0], dtype=np.float64)
    return Pose(
        rotation,
        (-axes @ (target + distance * away)).reshape(3, 1),
        lens,
        (view.width, view.height),
    )


def _displaced(pose: Pose, view: View, board: Board) -> Pose:
    """The pose after the board has been pushed and turned about its middle, the camera staying
    where it is."""
    angle = math.radians(view.board_turn_deg)
    turn = np.array(
        [[math.cos(angle), -math.sin(angle), 0], [math.sin(angle), math.cos(angle), 0], [0, 0, 1]]
    )
    middle = np.array([board.width_mm / 2, board.height_mm / 2, 0.0])
    offset = middle - turn @ middle + np.array([*view.shift_mm, 0.0])
    translation = pose.axes @ offset + pose.translation.ravel()
    rotation = np.asarray(cv2.Rodrigues(pose.axes @ turn)[0], dtype=np.float64)
    return Pose(rotation, translation.reshape(3, 1), pose.lens, pose.size)


# ---- table, light and lens -----------------------------------------------------------------------


Window = tuple[int, int, int, int]
"""A part of a picture: left, top, width, height in px."""


def from_above(pose: Pose, window: Window, factor: int) -> Callable[[Bgr, Points, int], Bgr]:
    """A function that pictures a flat texture, given the (3, 3) matrix from board mm to its pixels.

    It draws a part of the picture, `factor` times as large.
    """
    left, top, width, height = window
    whole = (width * factor, height * factor)
    if not pose.lens.k1:
        centre = np.array(
            [
                [1 / factor, 0, 0.5 / factor - 0.5 + left],
                [0, 1 / factor, 0.5 / factor - 0.5 + top],
                [0, 0, 1],
            ]
        )
        axes = pose.axes
        to_picture = pose.matrix @ np.column_stack(
            [axes[:, 0], axes[:, 1], pose.translation.ravel()]
        )

        def flat_picture(texture: Bgr, to_texture: Points, border: int) -> Bgr:
            matrix = to_texture @ np.linalg.inv(to_picture) @ centre
            flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
            return np.asarray(
                cv2.warpPerspective(texture, matrix, whole, flags=flags, borderMode=border),
                np.uint8,
            )

        return flat_picture
    return _bent_from_above(pose, window, factor)


def _bent_from_above(pose: Pose, window: Window, factor: int) -> Callable[[Bgr, Points, int], Bgr]:
    """Return the same through a lens that bends straight lines."""
    left, top, width, height = window
    # Rays are bent smoothly: it is enough to follow one in every 8 x 8 pixels, and to interpolate.
    step = 8 * factor
    shape = math.ceil(height * factor / step), math.ceil(width * factor / step)
    rows, columns = ((np.arange(count + 2) - 0.5) * step - 0.5 for count in shape)
    grid = np.stack(np.meshgrid(columns, rows), axis=-1).reshape(-1, 2)
    plane = np.nan_to_num(pose.to_plane((grid + 0.5) / factor - 0.5 + (left, top)), nan=1e5)

    def bent_picture(texture: Bgr, to_texture: Points, border: int) -> Bgr:
        where = (plane @ to_texture[:2, :2].T + to_texture[:2, 2]).astype(np.float32)
        coarse = where.reshape(shape[0] + 2, shape[1] + 2, 2)
        fine = cv2.resize(coarse, None, fx=step, fy=step, interpolation=cv2.INTER_LINEAR)
        fine = fine[step : step + height * factor, step : step + width * factor]
        picture = cv2.remap(
            texture, fine[..., 0], fine[..., 1], cv2.INTER_LINEAR, borderMode=border
        )
        return np.asarray(picture, np.uint8)

    return bent_picture


def _window_of(pose: Pose, sheet: PrintedSheet) -> Window:
    """The part of the picture in which the board's sheet lies."""
    share = np.linspace(0, 1, 20)
    (left, low), (right, high) = sheet.low_mm, sheet.high_mm
    across, along = left + (right - left) * share, low + (high - low) * share
    edges = [np.column_stack([across, np.full(20, y)]) for y in (low, high)]
    edges += [np.column_stack([np.full(20, x), along]) for x in (left, right)]
    seen = pose.to_px(flat(np.vstack(edges)))
    first = np.floor(seen.min(axis=0)).astype(int).clip(0, np.array(pose.size) - 8) - 4
    last = np.ceil(seen.max(axis=0)).astype(int).clip(8, pose.size) + 4
    (x, y), (end_x, end_y) = first.clip(0), np.minimum(last, pose.size)
    return int(x), int(y), int(end_x - x), int(end_y - y)


@dataclass(frozen=True, eq=False)
class LitTable:
    """What does not change while pieces move: pose, lit empty table, the light (h, w, 3) that
    pieces get too, and the veil (h, w, 1) that glare lays over all."""

    kit: Kit
    view: View
    pose: Pose
    table: Bgr = field(repr=False)
    light: Shade = field(repr=False)
    veil: Shade | None = field(default=None, repr=False)


def build_stage(kit: Kit, view: View, sheet: PrintedSheet) -> LitTable:
    """Draw the empty table with its printed board once."""
    pose = camera_pose(kit, view)
    factor, whole = 2, (0, 0, view.width, view.height)
    table = from_above(pose, whole, factor)(*view.scenery.table(view.seed))
    left, top, width, height = window = _window_of(pose, sheet)
    paper = np.asarray(cv2.cvtColor(unpacked(sheet.packed), cv2.COLOR_BGR2BGRA), np.uint8)
    board = from_above(pose, window, factor)(paper, sheet.to_texture(), cv2.BORDER_CONSTANT)
    under = table[top * factor : (top + height) * factor, left * factor : (left + width) * factor]
    cv2.copyTo(
        cv2.cvtColor(board, cv2.COLOR_BGRA2BGR),
        cv2.inRange(board[..., 3], (128.0,), (255.0,)),
        under,
    )
    table = np.asarray(
        cv2.resize(table, (view.width, view.height), interpolation=cv2.INTER_AREA), dtype=np.uint8
    )
    light, veil = _light(pose, view), _veil(pose, view)
    return LitTable(kit, view, pose, lit(table, light, veil), light, veil)


def lit(colours: Bgr | Shade, light: Shade, veil: Shade | None) -> Bgr:
    """Colours (h, w, 3) under a light, with reflections of it on top."""
    shone = colours.astype(np.float32)
    shone *= light
    if veil is not None:
        shone += veil
    return np.asarray(np.clip(shone, 0, 255, out=shone), dtype=np.uint8)


def _light(pose: Pose, view: View) -> Shade:
    """(h, w, 3), by factor; where all rows are alike they are one row in memory."""
    across = np.linspace(1 - view.gradient, 1, view.width, dtype=np.float32)
    shade = np.asarray(across[None] * view.light, np.float32)
    if view.shadow is not None:
        x, y, radius, strength = view.shadow
        mask = _blob(pose, view, x, y, radius, soft=0.08)
        shade = shade * (1 - strength * mask)
    colours = np.asarray(shade[..., None] * np.array(view.cast_bgr, dtype=np.float32), np.float32)
    colours = np.broadcast_to(colours, (view.height, view.width, 3))
    light = view.scenery.light(pose)
    return colours if light is None else np.asarray(colours * light, np.float32)


def _veil(pose: Pose, view: View) -> Shade | None:
    """Return (h, w, 1): the brightness, of 255, that reflections lay over all. None: none do."""
    veil = view.scenery.veil(pose, view.seed)
    if view.glare is None:
        return veil
    glare = 330 * _blob(pose, view, *view.glare, soft=0.35)[..., None]
    return glare if veil is None else np.asarray(glare + veil, np.float32)


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
        ends = [
            tuple(((middle + sign * reach) * 16).round().astype(int).tolist()) for sign in (-1, 1)
        ]
        cv2.line(kernel, ends[0], ends[1], (1.0,), 1, cv2.LINE_AA, 4)
        picture = np.asarray(cv2.filter2D(picture, -1, kernel / kernel.sum()), dtype=np.uint8)
    if view.jpeg_quality is not None:
        data = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, view.jpeg_quality])[1]
        picture = np.asarray(cv2.imdecode(data, cv2.IMREAD_COLOR), dtype=np.uint8)
    return picture
