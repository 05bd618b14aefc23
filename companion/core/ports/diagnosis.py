"""What the vision side knows about the camera and the board, for the pages Health and Camera.

`vision/diagnosis.py` makes these values, and pages and the support bundle show them. Coordinates
are pixels of one picture, x to the right, y down.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from companion.core.grid import Square
from companion.core.kit import Kit
from companion.core.ports.camera import Frame, Reading

# Points (x, y) in px of a picture, in order around an area.
Outline = tuple[tuple[float, float], ...]


class Weakness(StrEnum):
    """Reason why a square, or the whole board, is hard to read."""

    CUT = "cut"  # outside the picture
    GLARE = "glare"
    DARK = "dark"
    BLUR = "blur"
    SMALL = "small"  # a marker there has too few pixels
    TWIN = "twin"  # another copy of the board is in the picture


@dataclass(frozen=True)
class SquareSeen:
    """One square as the camera sees it."""

    square: Square
    faces: tuple[str, ...]
    """Faces on the square, from the bottom to the top. Empty for a square without a piece."""
    is_known: bool
    """Whether the square was read. Otherwise `faces` are unknown, not missing."""
    certainty: float
    """Certainty of the faces, from 0 to 1."""
    weak: tuple[Weakness, ...] = ()
    """What is hard to read here, the worst first."""
    corners_px: Outline = ()
    """Corners of the square, at the height of the piece that was read on it, if any."""


@dataclass(frozen=True)
class Advice:
    """Something that people can do for a better view.

    `text` says it in at most 40 characters, and `why` gives the reason.
    """

    text: str
    why: str
    weakness: Weakness


@dataclass(frozen=True)
class BoardSeen:
    """The board in one frame, whose width and height are `size_px`.

    `outline_px` is the outline of the printed board. `advice` has the worst problem first, and is
    empty if there is none.
    """

    size_px: tuple[int, int]
    outline_px: Outline
    kit: Kit
    reading: Reading
    squares: tuple[SquareSeen, ...]
    advice: tuple[Advice, ...]


@dataclass(frozen=True)
class SettledFrame:
    """A frame taken when the board had just come to rest. `number` counts such frames.

    `outline_px` goes around the printed board and the pieces on it. Nothing outside belongs to the
    game. `squares_px` has the corners of each square.
    """

    number: int
    frame: Frame
    reading: Reading
    outline_px: Outline
    squares_px: Mapping[Square, Outline]


@dataclass(frozen=True)
class CameraOffer:
    """A camera that the machine has: `source` as in `[camera] source`, and a name for people."""

    source: str
    name: str
