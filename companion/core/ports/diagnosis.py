"""What an eye tells of the camera and the board, for the page Health."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from companion.core.grid import Square
from companion.core.kit import Kit
from companion.core.ports.camera import Frame, Reading

Outline = tuple[tuple[float, float], ...]
"""Points (x, y) in a picture, in order around what they enclose."""


class Weakness(StrEnum):
    """What makes a place of the board hard to read."""

    CUT = "cut"
    """It lies outside the picture."""
    GLARE = "glare"
    DARK = "dark"
    BLUR = "blur"
    SMALL = "small"
    """A marker that lies there has too few pixels."""
    TWIN = "twin"
    """Another copy of the board lies in the picture."""


@dataclass(frozen=True)
class SquareSeen:
    """One square as the camera sees it: what is read there, how surely (0..1), and what makes it
    hard.

    `faces`: as in a layout, empty for a square without a piece; `known` False: nobody can tell what
    lies there. `weak`: worst first. `module_px`: how many pixels a module of a marker lying there
    has.
    """

    square: Square
    faces: tuple[str, ...]
    known: bool
    sure: float
    weak: tuple[Weakness, ...] = ()
    module_px: float = 0.0
    corners_px: Outline = ()
    """Its corners in the picture, in order; at the height of the piece that stands there, if one is
    read."""


@dataclass(frozen=True)
class Advice:
    """One thing to do about what the camera sees badly, in at most 40 characters, and the
    reason.
    """

    text: str
    why: str
    weakness: Weakness


@dataclass(frozen=True)
class BoardSeen:
    """The board in one frame: `frame` is its number, `size_px` its width and height.

    `outline_px` is the printed board in it. `advice` is sorted, the worst first; empty: all is
    well.
    """

    frame: int
    size_px: tuple[int, int]
    outline_px: Outline
    kit: Kit
    reading: Reading
    squares: tuple[SquareSeen, ...]
    advice: tuple[Advice, ...]
    distance_mm: float
    tilt_deg: float
    note: str = ""
    """What else there is to say of the picture, as sentences without the last full stop."""


@dataclass(frozen=True)
class SettledFrame:
    """A frame in which the board had just come to rest. `number` is that of the eye.

    `lens` is its focal ratio and k1, where it needs them k2 and 1 for a fisheye as well.
    """

    number: int
    frame: Frame
    reading: Reading
    lens: tuple[float, ...]
    outline_px: Outline
    """Around the printed board and what stands on it, in the picture; nothing outside belongs to
    the game."""
    squares_px: Mapping[Square, Outline]
    """The corners of each square in the picture."""


@dataclass(frozen=True)
class CameraOffer:
    """A camera that could be used: `source` as in the settings, and a name for people."""

    source: str
    name: str
