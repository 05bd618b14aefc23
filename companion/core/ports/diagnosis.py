"""What an eye knows about the camera and the board, for the page Health."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from companion.core.grid import Square
from companion.core.kit import Kit
from companion.core.ports.camera import Frame, Reading

Outline = tuple[tuple[float, float], ...]
"""Points (x, y) in a picture, in order around an area."""


class Weakness(StrEnum):
    """Reason why a place on the board is hard to read."""

    CUT = "cut"
    """The place is outside the picture."""
    GLARE = "glare"
    DARK = "dark"
    BLUR = "blur"
    SMALL = "small"
    """A marker in this place has too few pixels."""
    TWIN = "twin"
    """Another copy of the board is in the picture."""


@dataclass(frozen=True)
class SquareSeen:
    """One square as the camera sees it: its faces, the certainty (0..1), and what makes it hard to
    read.

    `faces` are as in a layout, empty for a square without a piece. `known` is whether its content
    is known. `weak` has the worst first.
    """

    square: Square
    faces: tuple[str, ...]
    known: bool
    sure: float
    weak: tuple[Weakness, ...] = ()
    corners_px: Outline = ()
    """Corners of the square in the picture, in order. They are at the height of the piece that was
    read on it, if any.
    """


@dataclass(frozen=True)
class Advice:
    """One measure for a better view, in at most 40 characters, and its reason."""

    text: str
    why: str
    weakness: Weakness


@dataclass(frozen=True)
class BoardSeen:
    """The board in one frame, whose width and height are `size_px`.

    `outline_px` is the printed board in it. `advice` has the worst problem first, and is empty if
    there is none.
    """

    size_px: tuple[int, int]
    outline_px: Outline
    kit: Kit
    reading: Reading
    squares: tuple[SquareSeen, ...]
    advice: tuple[Advice, ...]


@dataclass(frozen=True)
class SettledFrame:
    """A frame taken when the board had just come to rest. `number` is the eye's count."""

    number: int
    frame: Frame
    reading: Reading
    outline_px: Outline
    """Outline in the picture of the printed board and the pieces on it. Nothing outside belongs to
    the game.
    """
    squares_px: Mapping[Square, Outline]
    """Corners of each square in the picture."""


@dataclass(frozen=True)
class CameraOffer:
    """An available camera: `source` as in the settings, and a name for people."""

    source: str
    name: str
