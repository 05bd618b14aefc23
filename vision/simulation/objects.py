"""Draws the objects on a simulated table: pieces with height, and a hand with its arm.

Tones, blurs and the shape of the hand were chosen by eye.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray

from companion.core.kit import Seat
from vision.detection.markers import Box
from vision.pose.pose import Points, Pose, at_height, rectangle_corners_mm
from vision.simulation.printed import Bgr, hex_to_bgr
from vision.simulation.render import LitTable, apply_light
from vision.simulation.scenery import TopPart

# Array (h, w), 255 where an object covers the picture.
Mask = NDArray[np.uint8]


# Supersampling factor: a piece is drawn this many times as large, and then reduced.
_SUPERSAMPLING = 2
# OpenCV takes corners in sixteenths of a pixel, if its `shift` argument is 4: 2 to the power of 4.
_SIXTEENTHS = 16
_SHIFT = 4
# Brightness of each side of a block, as a share of its colour: North, East, South, West of a block
# that is not turned.
_SIDE_TONES = (0.55, 0.7, 0.8, 0.65)
# Standard deviation of the blur of the soft shadow around a piece.
_SHADOW_SIGMA_PX = 2.5
# Width of that shadow. Farther away it is not drawn.
_SHADOW_PX = 6
# Share of the light that it takes away.
_SHADOW_STRENGTH = 0.35
# Standard deviation of the blur from the dark edge of an arm to its light middle.
_SOFT_SIGMA_PX = 6.0
# Margin around an arm that is drawn with it, as the blur reaches so far.
_EDGE_PX = 24
# Darkest tone of an arm, as a share of the lightest one.
_EDGE_TONE = 0.62
# Maximum distance of a point of an arm from the camera's axis, as a share of its distance along the
# axis: the tangent of 54 degrees.
_MAX_OFF_AXIS = 1.4


@dataclass(frozen=True)
class RenderedBlock:
    """One piece to draw, with its size, and the position of its middle in board axes."""

    piece: int
    """Id of the piece."""
    top: Callable[[], Bgr] = field(repr=False)
    """Function that returns the picture of its top."""
    side_colour: str
    """Colour of its four sides, `#rrggbb`."""
    width_mm: float
    """Size along x before it is turned."""
    depth_mm: float
    """Size along y before it is turned."""
    height_mm: float
    """Size along z."""
    x_mm: float
    y_mm: float
    z_mm: float
    """Height of its base above the board."""
    turn_deg: float
    """Its turn, counter-clockwise."""
    is_covered: bool = False
    """Whether the piece is completely hidden."""

    def corners_mm(self) -> Points:
        """Return (4, 2): the outline on the board's plane."""
        angle = math.radians(self.turn_deg)
        return rectangle_corners_mm(self.x_mm, self.y_mm, self.width_mm, self.depth_mm, angle)

    def outline_px(self, pose: Pose, top: bool = True) -> Points:
        """Return (4, 2) pixels of the outline of the top, or of the base."""
        height_mm = self.height_mm if top else 0.0
        return pose.to_px(at_height(self.corners_mm(), self.z_mm + height_mm))


# ---- pieces --------------------------------------------------------------------------------------


def draw_block(picture: Bgr, lit_table: LitTable, block: RenderedBlock) -> None:
    """Draw one piece into a picture of the table: a soft shadow, the visible sides, and the top."""
    if block.is_covered:
        return

    # Where the piece is in the picture.
    scenery = lit_table.view.scenery
    parts = scenery.top_parts(at_height(block.corners_mm(), block.z_mm + block.height_mm))
    quads = [lit_table.pose.to_px(part.corners_mm) for part in parts]
    top = block.outline_px(lit_table.pose)
    foot = block.outline_px(lit_table.pose, top=False)
    window = _window(np.vstack([top, foot, *quads]), _SHADOW_PX, picture)
    if window is None:
        return
    rows, columns = window
    low = np.array([columns.start, rows.start])

    def enlarge(points_px: Points) -> Points:
        # The centre of the window's first pixel is at (0.5, 0.5) in the larger picture.
        return np.asarray((points_px - low + 0.5) * _SUPERSAMPLING - 0.5)

    # Draw it into an enlarged picture of its own. `cover` is 255 where it covers the table.
    height = (rows.stop - rows.start) * _SUPERSAMPLING
    width = (columns.stop - columns.start) * _SUPERSAMPLING
    colours = np.zeros((height, width, 3), np.uint8)
    cover = np.zeros((height, width), np.uint8)
    top = enlarge(top)
    foot = enlarge(foot)
    hull = cv2.convexHull(np.vstack([top, foot]).astype(np.float32))
    cv2.fillPoly(cover, [_sixteenths(np.asarray(hull, np.float64))], 255, cv2.LINE_AA, _SHIFT)
    _draw_walls(colours, top, foot, hex_to_bgr(block.side_colour))
    art = scenery.top(block.top(), lit_table.view.seed + block.piece)
    for part, quad in zip(parts, quads, strict=True):
        _draw_top(colours, cover, art, enlarge(quad), part)
    _paste(picture, lit_table, window, colours, cover)


def _paste(picture: Bgr, lit_table: LitTable, window: Box, colours: Bgr, cover: Mask) -> None:
    """Paste an enlarged piece into its window of a picture, lit and with a soft shadow."""
    # Reduce the piece, and light it.
    ground = picture[window].astype(np.float32)
    size = ground.shape[1], ground.shape[0]
    small = np.asarray(cv2.resize(colours, size, interpolation=cv2.INTER_AREA), np.uint8)
    colour = _light_part(small, lit_table, window)
    share = cv2.resize(cover, size, interpolation=cv2.INTER_AREA)
    alpha = share.astype(np.float32)[..., None] / 255
    # Darken the table beside the piece, and mix both.
    shadow = cv2.GaussianBlur(alpha[..., 0], (0, 0), _SHADOW_SIGMA_PX)[..., None]
    shaded = ground * (1 - _SHADOW_STRENGTH * shadow * (1 - alpha))
    mixed = shaded * (1 - alpha) + colour * alpha
    picture[window] = mixed.clip(0, 255)


def _draw_top(colours: Bgr, cover: Mask, art: Bgr, quad: Points, part: TopPart) -> None:
    """Draw a part of a top into a quadrangle (4, 2) px.

    `art` is the picture of the whole top.
    """
    height, width = cover.shape
    down, across = art.shape[:2]
    left = part.start * across
    right = part.end * across
    corners = np.array([[left, 0], [right, 0], [right, down], [left, down]], np.float32)
    # Pixel centres have integer coordinates.
    warp = cv2.getPerspectiveTransform(corners - 0.5, quad.astype(np.float32))
    printed = cv2.warpPerspective(
        art, warp, (width, height), flags=cv2.INTER_AREA, borderMode=cv2.BORDER_REPLICATE
    )
    shape = np.zeros(cover.shape, np.uint8)
    cv2.fillPoly(shape, [_sixteenths(quad)], 255, cv2.LINE_8, _SHIFT)
    cv2.copyTo(printed, shape, colours)
    if (part.start, part.end) != (0.0, 1.0):
        # A lifted part extends beyond the block.
        cv2.max(cover, shape, cover)


def _draw_walls(picture: Bgr, top: Points, foot: Points, colour: tuple[int, int, int]) -> None:
    """Draw the sides of a block that face the camera, each in its own tone."""
    for index, tone in enumerate(_SIDE_TONES):
        following = (index + 1) % 4
        wall = np.array([top[index], top[following], foot[following], foot[index]])
        # OpenCV's signed area is negative for a wall that faces the camera.
        if cv2.contourArea(wall.astype(np.float32), oriented=True) < 0:
            shade = tuple(part * tone for part in colour)
            cv2.fillPoly(picture, [_sixteenths(wall)], shade, cv2.LINE_8, _SHIFT)


# ---- a hand --------------------------------------------------------------------------------------


# Start and end in mm from the centre of the palm, and width in mm, of the parts of an arm.
_LIMBS = (
    ((0, -500), (0, -60), 58),  # arm
    ((-14, -8), (-12, -44), 44),  # palm
    ((14, -8), (12, -44), 44),
    ((-28, -6), (-38, 42), 16),  # fingers
    ((-9, -6), (-12, 56), 16),
    ((10, -6), (12, 54), 16),
    ((27, -6), (34, 40), 16),
    ((-26, -40), (-58, 0), 19),  # thumb
)


@lru_cache(maxsize=1)
def _hand_shape() -> Points:
    """Return (N, 2) mm: the outline of a right hand with its arm.

    The centre of the palm is at (0, 0), and the fingers point towards +y.
    """
    # Draw the hand on paper of 160 x 620 mm at two px per mm. The centre of the palm is 80 mm from
    # the left edge and 90 mm from the upper one.
    scale = 2
    left = 80
    above = 90
    paper = np.zeros((620 * scale, 160 * scale), np.uint8)
    for start, end, width in _LIMBS:
        ends = [((x + left) * scale, (above - y) * scale) for x, y in (start, end)]
        cv2.line(paper, ends[0], ends[1], (255,), width * scale, cv2.LINE_AA)
    contours = cv2.findContours(paper, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)[0]
    outline = max(contours, key=cv2.contourArea)
    points = outline.reshape(-1, 2).astype(np.float64) / scale
    return np.column_stack([points[:, 0] - left, above - points[:, 1]])


def hand_px(lit_table: LitTable, x_mm: float, y_mm: float, from_seat: Seat) -> Points:
    """Return (N, 2) pixels: the outline of an arm from a seat's edge of the table to a point of the
    board.

    The hand is drawn at the height of the board, where it hides the point in the picture.
    """
    forward = 1.0 if from_seat is Seat.SOUTH else -1.0
    shape = np.array([x_mm, y_mm]) + forward * _hand_shape()
    # Points behind the lens cannot be projected. So an arm that reaches past the camera is
    # shortened step by step, from the whole arm down to little more than the palm.
    for length_mm in range(500, 60, -40):
        # Cut off what is behind the elbow. A metre beyond the palm, there is nothing to cut off.
        elbow = y_mm - forward * length_mm
        beyond = y_mm + forward * 1000
        ys = shape[:, 1].clip(min(elbow, beyond), max(elbow, beyond))
        arm = at_height(np.column_stack([shape[:, 0], ys]))
        from_camera = arm @ lit_table.pose.axes.T + lit_table.pose.translation.ravel()
        off_axis = np.linalg.norm(from_camera[:, :2], axis=1)
        if (off_axis < _MAX_OFF_AXIS * from_camera[:, 2]).all():
            break
    return lit_table.pose.to_px(arm)


def draw_hand(picture: Bgr, lit_table: LitTable, outline_px: Points) -> None:
    """Draw an arm with spread fingers into the part of the picture that it covers."""
    window = _window(outline_px, _EDGE_PX, picture)
    if window is None:
        return
    under = picture[window]
    cover = np.zeros(under.shape[:2], np.uint8)
    fill_outline(cover, outline_px - (window[1].start, window[0].start))
    depth = cv2.GaussianBlur(cover, (0, 0), _SOFT_SIGMA_PX).astype(np.float32)[..., None] / 255
    skin = np.array(lit_table.view.skin_bgr) * (_EDGE_TONE + (1 - _EDGE_TONE) * depth)
    colour = _light_part(np.asarray(skin, np.float32), lit_table, window)
    is_hand = cv2.inRange(cover, (128.0,), (255.0,))
    cv2.copyTo(colour, is_hand, under)


def fill_outline(mask: Mask, outline_px: Points) -> None:
    """Set a mask to 255 within an outline, which may be partly outside the mask."""
    cv2.fillPoly(mask, [_sixteenths(outline_px)], 255, cv2.LINE_AA, _SHIFT)


# ---- both ----------------------------------------------------------------------------------------


def _light_part(colours: Bgr | NDArray[np.float32], lit_table: LitTable, window: Box) -> Bgr:
    """Return the picture of these colours in the light of a window of the picture."""
    veil = None if lit_table.veil is None else lit_table.veil[window]
    return apply_light(colours, lit_table.light[window], veil)


def _sixteenths(points_px: Points) -> NDArray[np.int32]:
    """Return corners in OpenCV's sixteenths of a pixel, clipped to where it does not overflow."""
    whole = (points_px * _SIXTEENTHS).round().astype(np.int64)
    return whole.clip(-(2**20), 2**20).astype(np.int32)


def _window(points_px: Points, margin_px: int, picture: Bgr) -> Box | None:
    """Return the smallest part of a picture that contains these points and a margin.

    Returns None if that part is narrower than two pixels, as for a piece outside the picture.
    """
    height, width = picture.shape[:2]
    low = np.floor(points_px.min(axis=0)).astype(int) - margin_px
    high = np.ceil(points_px.max(axis=0)).astype(int) + margin_px + 1
    low = low.clip(0)
    high = np.minimum(high, (width, height))
    if (high - low < 2).any():
        return None
    return slice(low[1], high[1]), slice(low[0], high[0])
