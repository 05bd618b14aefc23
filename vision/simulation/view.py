"""Parameters of the rendered camera: its position, its lens, the light."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from companion.core.kit import Kit
from vision.simulation.scenery import PLAIN, Scenery


class Glare(NamedTuple):
    """A round reflection of a lamp on the board."""

    x_mm: float
    y_mm: float
    radius_mm: float


class Shadow(NamedTuple):
    """A round, soft shadow on the board."""

    x_mm: float
    y_mm: float
    radius_mm: float
    strength: float
    """Share of the light that it takes away, 0 to 1."""


@dataclass(frozen=True)
class CameraView:
    """Parameters of the rendered camera. Positions are in board axes, see `companion.core.kit`."""

    width: int = 1280
    """Width of the picture in px."""
    height: int = 720
    """Height of the picture in px."""
    focal_ratio: float = 0.80
    """Focal length of the lens, in widths of the picture."""
    k1: float = 0.0
    """Distortion of the lens, as in `vision.pose.optics.Lens`."""
    tilt_deg: float = 35.0
    """Angle between the camera's axis and the vertical."""
    turn_deg: float = 0.0
    """Position of the camera around the board. At 0 South is at the bottom of the picture, and at
    180 North is.
    """
    fill: float = 0.94
    """Share of the picture that the board and the space beside it fill."""
    shift_mm: tuple[float, float] = (0.0, 0.0)
    """How far the board was pushed on the table, (x, y). The camera did not follow."""
    board_turn_deg: float = 0.0
    """Turn of the board about its middle, counter-clockwise."""
    light: float = 1.0
    """Brightness of the light as a factor."""
    gradient: float = 0.1
    """Share of the light that is missing at the left edge. At the right edge, none is missing."""
    shadow: Shadow | None = None
    glare: Glare | None = None
    cast_bgr: tuple[float, float, float] = (1.0, 1.0, 1.0)
    """Colour of the light, as factors of blue, green and red."""
    noise: float = 1.5
    """Standard deviation of the sensor's noise, in levels of 255."""
    defocus_px: float = 0.0
    """Standard deviation of a blur by lack of focus."""
    motion_px: float = 0.0
    """Length of a blur by motion."""
    motion_deg: float = 0.0
    """Direction of that blur in the picture, in degrees from right to down."""
    jpeg_quality: int | None = None
    """JPEG quality from 0 to 100. None if pictures are not compressed."""
    flicker: float = 0.0
    """Share of the light that is missing in the bands of a flickering lamp."""
    skin_bgr: tuple[int, int, int] = (122, 158, 208)
    """Colour of a hand."""
    seed: int = 1
    """Seed of the noise and of the scenery."""
    scenery: Scenery = PLAIN
    """What surrounds the board."""


def default_view(kit: Kit) -> CameraView:
    """Return the default view of a kit's board.

    The resolution is higher for cards and tiles, whose markers are small.
    """
    return (
        CameraView(width=1920, height=1080, tilt_deg=25.0)
        if kit.deck or kit.order_tiles
        else CameraView()
    )
