"""The surroundings of a rendered board: a wooden table, and new pieces in plain light.

The bench has more difficult sceneries, which override parts of this one.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.pose.pose import Floats, Points, Pose
from vision.simulation.printed import Bgr

# Factors by which light brightens a surface, (h, w, 3) or broadcastable to it.
Light = NDArray[np.float32]
# Brightness in levels of 255, in the same shapes.
Levels = NDArray[np.float32]

# Number of variants of each kind of table. Each is drawn once.
TABLE_SEEDS = 4
# Mean colour of the wood.
_WOOD_BGR = (52, 84, 124)
# Matrix (3, 3) from board mm to pixels of the wood.
_TO_WOOD = np.array([[1.0, 0, 300], [0, -1.0, 400], [0, 0, 1]])


class Texture(NamedTuple):
    """A picture that lies flat in the plane of the board."""

    picture: NDArray[np.uint8]
    """(height, width), or with a third axis of colours."""
    to_texture: Floats
    """Matrix (3, 3) from board mm to pixels of the picture."""
    border: int
    """One of OpenCV's `BorderTypes`, for the area beyond the picture's edges."""


class TopPart(NamedTuple):
    """A flat part of a piece's top, as deep as the top, between two shares of its width."""

    corners_mm: Points
    """(4, 3): corners in board axes, upper left first, clockwise."""
    start: float
    """Share of the top's width at the part's left edge."""
    end: float
    """The same at its right edge."""


class Scenery:
    """A plain scenery. Others may override every method.

    `seed` selects one of several similar variants. `build_lit_table` asks for table, light and
    veil, and `draw_block` for the tops of pieces and their parts.
    """

    def table(self, seed: int) -> Texture:
        """Return the table."""
        return Texture(_wood(seed % TABLE_SEEDS), _TO_WOOD, cv2.BORDER_REFLECT)

    def light(self, _pose: Pose) -> Light | None:
        """Return an additional light (h, w, 1) or (h, w, 3), or None if there is none."""
        return None

    def veil(self, _pose: Pose, _seed: int) -> Levels | None:
        """Return the brightness (h, w, 1) that reflections add, or None if there are none."""
        return None

    def top(self, printed: Bgr, _seed: int) -> Bgr:
        """Return the picture of a piece's top, with wear if the scenery has any."""
        return printed

    def top_parts(self, corners_mm: Points) -> list[TopPart]:
        """Return the flat parts of a top with these corners (4, 3) mm, which may be bent.

        A flat top has one part.
        """
        return [TopPart(corners_mm, 0.0, 1.0)]


PLAIN = Scenery()


@lru_cache(maxsize=TABLE_SEEDS)
def _wood(seed: int) -> Bgr:
    """Draw a dark wooden texture, 1 px per mm, (700, 700, 3)."""
    rng = np.random.default_rng(seed)
    # Broad grain: a few values, enlarged so that they run along the rows.
    coarse = rng.normal(0, 1, (350, 12)).astype(np.float32)
    grain = cv2.resize(coarse, (700, 700), interpolation=cv2.INTER_CUBIC)
    # Fine horizontal fibres: noise that is blurred along one axis only.
    speckles = rng.normal(0, 1, (700, 700)).astype(np.float32)
    fibres = cv2.GaussianBlur(speckles, (0, 0), sigmaX=9, sigmaY=0.7)
    # The shares of grain and fibres were chosen by eye.
    tone = 1 + 0.09 * grain + 0.35 * fibres
    wood = tone[..., None] * np.array(_WOOD_BGR, np.float32)
    return np.asarray(wood.clip(0, 255), np.uint8)
