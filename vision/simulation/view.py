"""How the rendered camera looks at the table: its place, its lens, the light."""

from __future__ import annotations

from dataclasses import dataclass

from companion.core.kit import Kit
from vision.simulation.scenery import PLAIN, Scenery


@dataclass(frozen=True)
class View:
    """How the rendered camera looks at the table: angles in degrees, blur in px, light by
    factor.
    """

    width: int = 1280
    height: int = 720
    focal_ratio: float = 0.80
    k1: float = 0.0
    tilt_deg: float = 35.0
    """Angle between the camera's axis and the vertical."""
    turn_deg: float = 0.0
    """Walks the camera round the board: at 0 South is below, at 180 North is."""
    fill: float = 0.94
    """Share of the picture that the board and the room beside it fill."""
    shift_mm: tuple[float, float] = (0.0, 0.0)
    """Displaces the board on the table, as `board_turn_deg` does."""
    board_turn_deg: float = 0.0
    light: float = 1.0
    gradient: float = 0.1
    """How much darker the picture's left edge is."""
    shadow: tuple[float, float, float, float] | None = None
    """A soft shadow: x mm, y mm, radius mm, strength 0 to 1."""
    glare: tuple[float, float, float] | None = None
    """A reflection of the lamp: x mm, y mm, radius mm."""
    cast_bgr: tuple[float, float, float] = (1.0, 1.0, 1.0)
    noise: float = 1.5
    """Standard deviation of the sensor's noise, in levels of 255."""
    defocus_px: float = 0.0
    motion_px: float = 0.0
    motion_deg: float = 0.0
    jpeg_quality: int | None = None
    flicker: float = 0.0
    """How much darker the bands of a lamp that flickers are."""
    skin_bgr: tuple[int, int, int] = (122, 158, 208)
    seed: int = 1
    scenery: Scenery = PLAIN


def default_view(kit: Kit) -> View:
    """Return how the camera looks at a board when nothing else is said.

    It is finer where cards or tiles have small markers.
    """
    return View(width=1920, height=1080, tilt_deg=25.0) if kit.deck or kit.order_tiles else View()
