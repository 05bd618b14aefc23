"""A kit as it comes out of the printer: what the rendered table shows of board, pieces and cards.

The pictures are cut out of the kit's own pages by who can print them; they are handed over as
values. Kept packed, as they have hardly more than two colours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import cv2
import numpy as np
from companion.core.kit import Kit
from numpy.typing import NDArray

from vision.pose.pose import Points

Bgr = NDArray[np.uint8]
"""(height, width, 3): blue, green, red."""


@dataclass(frozen=True, eq=False)
class Sheet:
    """The board as paper: a packed picture, and which rectangle of the board's axes it shows."""

    packed: bytes
    low_mm: tuple[float, float]
    high_mm: tuple[float, float]
    px_per_mm: float

    def to_texture(self) -> Points:
        """Return (3, 3): board coordinates to pixels of the picture."""
        scale = self.px_per_mm
        return np.array(
            [
                [scale, 0, -self.low_mm[0] * scale - 0.5],
                [0, -scale, self.high_mm[1] * scale - 0.5],
                [0, 0, 1],
            ]
        )


@dataclass(frozen=True, eq=False)
class PrintedKit:
    """Packed pictures: the board, the tops of pieces by their markers, the faces of cards by name,
    their back."""

    board: Sheet
    tops: Mapping[int, bytes]
    cards: Mapping[str, bytes]
    back: bytes = b""


PrintKit = Callable[[Kit], PrintedKit]
"""Prints a kit and cuts it out."""


def packed(picture: Bgr) -> bytes:
    """Return a picture as PNG."""
    return bytes(cv2.imencode(".png", picture, [cv2.IMWRITE_PNG_COMPRESSION, 1])[1])


def unpacked(picture: bytes) -> Bgr:
    """Return the picture that `packed` has made smaller."""
    return np.asarray(cv2.imdecode(np.frombuffer(picture, np.uint8), cv2.IMREAD_COLOR), np.uint8)


def bgr_of(rgb: str) -> tuple[int, int, int]:
    """Return `#rrggbb` as (blue, green, red).

    >>> bgr_of("#5B2A9D")
    (157, 42, 91)
    """
    red, green, blue = (int(rgb[i : i + 2], 16) for i in (1, 3, 5))
    return blue, green, red
