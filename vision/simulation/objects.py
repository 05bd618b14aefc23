"""What stands and moves on a rendered table: pieces with height, and a hand with its arm."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray

from companion.core.kit import Seat
from vision.pose.pose import Points, Pose, flat, rectangle_corners_mm
from vision.simulation.printed import Bgr, bgr_of
from vision.simulation.render import LitTable, lit

_SOFT_SIGMA_PX = 6.0
_SOFT_PX = 24
"""An arm is darker towards its edges; beyond so many pixels that has no effect."""


@dataclass(frozen=True)
class RenderedBlock:
    """One piece to draw: what pictures its top, the colour of its sides, its size, place and base
    height in mm."""

    piece: int
    top: Callable[[], Bgr] = field(repr=False)
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
        """Return (4, 2) pixels of its top, or of its foot."""
        size = self.width_mm, self.depth_mm
        corners = rectangle_corners_mm(self.x_mm, self.y_mm, *size, math.radians(self.turn_deg))
        return pose.to_px(flat(corners, self.z_mm + (self.height_mm if top else 0.0)))


def draw_block(picture: Bgr, stage: LitTable, block: RenderedBlock) -> None:
    """Draw one piece into a picture of the stage: a soft shadow at its foot, walls, and the top
    with its marker."""
    if block.covered:
        return
    factor = 2
    strips = _strips_px(stage, block)
    top, foot = block.outline(stage.pose), block.outline(stage.pose, top=False)
    points = np.vstack([top, foot, *(quad for quad, _, _ in strips)])
    low = (np.floor(points.min(axis=0)).astype(int) - 6).clip(0)
    high = np.minimum(
        np.ceil(points.max(axis=0)).astype(int) + 7, (stage.view.width, stage.view.height)
    )
    if (high - low < 2).any():
        return
    window = (slice(low[1], high[1]), slice(low[0], high[0]))
    width, height = ((high - low) * factor).tolist()
    top, foot = ((quad - low + 0.5) * factor - 0.5 for quad in (top, foot))
    colours = np.zeros((height, width, 3), np.uint8)
    cover = np.zeros((height, width), np.uint8)
    hull = cv2.convexHull(np.vstack([top, foot]).astype(np.float32))
    cv2.fillPoly(cover, [(hull * 16).round().astype(np.int32)], 255, cv2.LINE_AA, 4)
    _draw_walls(colours, top, foot, bgr_of(block.rgb))
    art = stage.view.scenery.top(block.top(), stage.view.seed + block.piece)
    for quad, start, end in strips:
        _draw_top(colours, cover, art, (quad - low + 0.5) * factor - 0.5, (start, end))
    _lay(picture, stage, window, colours, cover)


def _lay(
    picture: Bgr,
    stage: LitTable,
    window: tuple[slice, slice],
    colours: Bgr,
    cover: NDArray[np.uint8],
) -> None:
    """Lay a piece, drawn larger, into its window of a picture, with the light that falls there and
    a soft shadow."""
    small = picture[window].shape[1::-1]
    flat_colour = np.asarray(cv2.resize(colours, small, interpolation=cv2.INTER_AREA), np.uint8)
    colour = lit(
        flat_colour, stage.light[window], None if stage.veil is None else stage.veil[window]
    )
    alpha = (
        cv2.resize(cover, small, interpolation=cv2.INTER_AREA).astype(np.float32)[..., None] / 255
    )
    shadow = cv2.GaussianBlur(alpha[..., 0], (0, 0), 2.5)[..., None]
    ground = picture[window].astype(np.float32) * (1 - 0.35 * shadow * (1 - alpha))
    picture[window] = (ground * (1 - alpha) + colour * alpha).clip(0, 255)


def _strips_px(stage: LitTable, block: RenderedBlock) -> list[tuple[Points, float, float]]:
    """Return the planes of a block's top in the picture, (4, 2) px, and shares of its width."""
    corners = rectangle_corners_mm(
        block.x_mm, block.y_mm, block.width_mm, block.depth_mm, math.radians(block.turn_deg)
    )
    strips = stage.view.scenery.strips_mm(flat(corners, block.z_mm + block.height_mm))
    return [(stage.pose.to_px(quad), start, end) for quad, start, end in strips]


def _draw_top(
    colours: Bgr, cover: NDArray[np.uint8], art: Bgr, quad: Points, shares: tuple[float, float]
) -> None:
    """Draw a part of a top, from one share of its width to another, into a quadrangle."""
    size = colours.shape[1], colours.shape[0]
    down, across = art.shape[:2]
    left, right = (share * across for share in shares)
    corners = np.array([[left, 0], [right, 0], [right, down], [left, down]], np.float32) - 0.5
    warp = cv2.getPerspectiveTransform(corners, quad.astype(np.float32))
    shape = np.zeros(cover.shape, np.uint8)
    cv2.fillPoly(shape, [(quad * 16).round().astype(np.int32)], 255, 8, 4)
    printed = cv2.warpPerspective(
        art, warp, size, flags=cv2.INTER_AREA, borderMode=cv2.BORDER_REPLICATE
    )
    cv2.copyTo(printed, shape, colours)
    if shares != (0.0, 1.0):  # what has come up stands out beyond the block
        cv2.max(cover, shape, cover)


def _draw_walls(picture: Bgr, top: Points, foot: Points, colour: tuple[int, int, int]) -> None:
    """Draw the sides of a block that the camera sees, each in its own tone."""
    for index, tone in enumerate((0.55, 0.7, 0.8, 0.65)):
        after = (index + 1) % 4
        wall = np.array([top[index], top[after], foot[after], foot[index]])
        if (
            cv2.contourArea(wall.astype(np.float32), oriented=True) >= 0
        ):  # its back is turned to the camera
            continue
        shade = tuple(part * tone for part in colour)
        cv2.fillPoly(picture, [(wall * 16).round().astype(np.int32)], shade, 8, 4)


@lru_cache(maxsize=1)
def _hand_shape() -> Points:
    """Return (N, 2) mm: the outline of a right hand with its arm, the middle of the palm at (0, 0),
    fingers towards +y."""
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
    outline = max(
        cv2.findContours(paper, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)[0], key=cv2.contourArea
    )
    points = outline.reshape(-1, 2).astype(np.float64) / scale
    return np.column_stack([points[:, 0] - left, above - points[:, 1]])


def hand_mm(x_mm: float, y_mm: float, from_seat: Seat) -> Points:
    """Return (N, 2): what a hand over a point of the board hides of it, with its arm that comes
    from a seat."""
    return np.array([x_mm, y_mm]) + (1.0 if from_seat is Seat.SOUTH else -1.0) * _hand_shape()


def hand_px(stage: LitTable, x_mm: float, y_mm: float, from_seat: Seat) -> Points:
    """Return (N, 2) pixels: the outline of an arm from a seat's edge of the table to a point of the
    board, as it is drawn."""
    axes, middle = stage.pose.axes, np.array([x_mm, y_mm])
    # The hand is drawn where it hides the point in the picture, at the height of the board. An arm
    # that reaches past the camera is cut off outside the picture: behind the lens a projection
    # means nothing.
    shape = hand_mm(x_mm, y_mm, from_seat)
    away = -1.0 if from_seat is Seat.SOUTH else 1.0
    for length in range(500, 60, -40):
        limits = sorted((middle[1] + away * length, middle[1] - away * 1000))
        reach = flat(np.column_stack([shape[:, 0], shape[:, 1].clip(*limits)]))
        seen = reach @ axes.T + stage.pose.translation.ravel()
        if (np.linalg.norm(seen[:, :2], axis=1) < 1.4 * seen[:, 2]).all():
            break
    return stage.pose.to_px(reach)


def fill_outline(mask: NDArray[np.uint8], outline_px: Points) -> None:
    """Set a (h, w) mask to 255 within an outline, which may lie partly outside."""
    points = (outline_px * 16).round().astype(np.int64).clip(-(2**20), 2**20).astype(np.int32)
    cv2.fillPoly(mask, [points], 255, 16, 4)


def draw_hand(picture: Bgr, stage: LitTable, outline_px: Points) -> None:
    """Draw an arm with fingers spread over the board, in the small part of the picture it covers."""
    window = _window(outline_px, _SOFT_PX, picture.shape[1], picture.shape[0])
    if window is None:
        return
    under = picture[window]
    cover = np.zeros(under.shape[:2], np.uint8)
    fill_outline(cover, outline_px - (window[1].start, window[0].start))
    depth = cv2.GaussianBlur(cover, (0, 0), _SOFT_SIGMA_PX).astype(np.float32)[..., None] / 255
    skin = np.asarray(np.array(stage.view.skin_bgr) * (0.62 + 0.38 * depth), np.float32)
    colour = lit(skin, stage.light[window], None if stage.veil is None else stage.veil[window])
    cv2.copyTo(colour, cv2.inRange(cover, (128.0,), (255.0,)), under)


def _window(points_px: Points, room_px: int, width: int, height: int) -> tuple[slice, slice] | None:
    """Return rows and columns of the smallest part of a picture that holds these points and the
    room round them.

    None: it is empty.
    """
    low = (np.floor(points_px.min(axis=0)).astype(int) - room_px).clip(0)
    high = np.minimum(np.ceil(points_px.max(axis=0)).astype(int) + room_px + 1, (width, height))
    if (high <= low).any():
        return None
    return slice(low[1], high[1]), slice(low[0], high[0])
