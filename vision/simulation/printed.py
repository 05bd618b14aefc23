"""The printed kit: pictures of board, pieces and cards for the rendered table.

The printing code cuts the pictures out of the kit's own pages and passes them on as values. The
pictures stay compressed until they are drawn. They have hardly more than two colours, so they are
small then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from companion.core.kit import Kit
from vision.pose.pose import Floats

# Colour picture (height, width, 3): blue, green, red.
Bgr = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class PrintedSheet:
    """The printed board: a compressed picture, and the rectangle in board axes that it shows."""

    png: bytes
    """The picture as PNG, see `encode_png`."""
    low_mm: tuple[float, float]
    """Lower left corner (x, y) of the rectangle, which fills the picture."""
    high_mm: tuple[float, float]
    """Upper right corner (x, y) of the rectangle."""
    size_px: tuple[int, int]
    """Width and height of the picture."""

    def to_texture(self) -> Floats:
        """Return the matrix (3, 3) from board coordinates to pixels of the picture."""
        (left, low), (right, high) = self.low_mm, self.high_mm
        x_px_per_mm = self.size_px[0] / (right - left)
        y_px_per_mm = self.size_px[1] / (high - low)
        # Subtract 0.5, because the centres of pixels have integer coordinates.
        return np.array(
            [
                [x_px_per_mm, 0, -left * x_px_per_mm - 0.5],
                [0, -y_px_per_mm, high * y_px_per_mm - 0.5],
                [0, 0, 1],
            ]
        )


@dataclass(frozen=True, eq=False)
class PrintedKit:
    """Compressed pictures of everything in a kit."""

    board: PrintedSheet
    tops: Mapping[int, bytes]
    """Tops of pieces by their markers."""
    cards: Mapping[str, bytes]
    """Faces of cards by their names."""
    back: bytes = b""
    """Back of all cards. Empty without cards."""


# Prints a kit and returns its pictures.
PrintKit = Callable[[Kit], PrintedKit]


def encode_png(picture: Bgr) -> bytes:
    """Return a picture as PNG, with little compression, which is fast."""
    return bytes(cv2.imencode(".png", picture, [cv2.IMWRITE_PNG_COMPRESSION, 1])[1])


def decode_png(png: bytes) -> Bgr:
    """Return the picture of a PNG from `encode_png`."""
    return np.asarray(cv2.imdecode(np.frombuffer(png, np.uint8), cv2.IMREAD_COLOR), np.uint8)


def hex_to_bgr(rgb: str) -> tuple[int, int, int]:
    """Return `#rrggbb` as (blue, green, red).

    >>> hex_to_bgr("#5B2A9D")
    (157, 42, 91)
    """
    red, green, blue = (int(rgb[start : start + 2], 16) for start in (1, 3, 5))
    return blue, green, red
