"""How the rendered camera looks at the table: its place, its lens, the light, and what makes it
hard to read."""

from __future__ import annotations

from dataclasses import dataclass

from companion.core.kit import Kit


@dataclass(frozen=True)
class View:
    """How the rendered camera looks at the table; angles in degrees, blur in px, light by factor.

    `tilt_deg` is the angle between the camera's axis and the vertical; `turn_deg` walks the camera
    round the board (0: South is below, 180: North is). `shift_mm` and `board_turn_deg` displace the
    board on the table. `shadow` is (x mm, y mm, radius mm, strength 0..1), `glare` is (x mm, y mm,
    radius mm); `gradient` is how much darker the picture's left edge is, `vignette` its corners.
    `table` is one of `vision.simulation.degradations.TABLES`. `window` is the edge of a hard
    shadow, (x mm, y mm, degrees, strength): through that point, the shadow in the direction of the
    angle; `blind` its stripes, (degrees, mm wide, strength); light that falls there has the tint
    `shade_bgr`. `spots` small reflections lie about; `flicker` darkens bands by so much. Tags are
    worn by `wear`, 0 to 1, and their sides have come up by `curl_mm`.
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
    table: str = "wood"
    vignette: float = 0.0
    window: tuple[float, float, float, float] | None = None
    blind: tuple[float, float, float] | None = None
    shade_bgr: tuple[float, float, float] = (1.0, 1.0, 1.0)
    spots: int = 0
    flicker: float = 0.0
    wear: float = 0.0
    curl_mm: float = 0.0


def default_view(kit: Kit) -> View:
    """How the camera looks at a board when nothing else is said: finer where cards or tiles have
    small markers."""
    return View(width=1920, height=1080, tilt_deg=25.0) if kit.deck or kit.order_tiles else View()
