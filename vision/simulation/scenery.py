"""What is round the board on a rendered table: a wooden table, and new pieces in plain light.

The bench has harder ones, which override what they change.
"""

from __future__ import annotations

from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.pose.pose import Points, Pose
from vision.simulation.printed import Bgr

Shade = NDArray[np.float32]
"""(h, w, 3), or what broadcasts to it: brightness by factor, or in levels of 255."""

TABLE_SEEDS = 4
"""Number of tables of each kind, so that they are drawn once."""
_WOOD_BGR = (52, 84, 124)
_TO_WOOD = np.array([[1.0, 0, 300], [0, -1.0, 400], [0, 0, 1]])
"""(3, 3): board mm to pixels of the wood."""


class Scenery:
    """A plain scenery. `seed` chooses between those that look alike."""

    def table(self, seed: int) -> tuple[Bgr, Points, int]:
        """Return a picture of the table, the (3, 3) matrix from board mm to its pixels, and how
        it goes on beyond its edges, as OpenCV's `BorderTypes`."""
        return _wood(seed % TABLE_SEEDS), _TO_WOOD, cv2.BORDER_REFLECT

    def light(self, _pose: Pose) -> Shade | None:
        """Return by what the light of the lamp is multiplied. None: by nothing."""
        return None

    def veil(self, _pose: Pose, _seed: int) -> Shade | None:
        """Return (h, w, 1): how much brightness reflections add. None: there are none."""
        return None

    def top(self, printed: Bgr, _seed: int) -> Bgr:
        """Return the top of a piece as it looks today."""
        return printed

    def strips_mm(self, corners_mm: Points) -> list[tuple[Points, float, float]]:
        """Return the planes of a piece's top with (4, 3) corners, and the shares of its width from
        which to which each goes."""
        return [(corners_mm, 0.0, 1.0)]


PLAIN = Scenery()


@lru_cache(maxsize=TABLE_SEEDS)
def _wood(seed: int) -> Bgr:
    """Draw a dark wooden texture, 1 px per mm, (700, 700, 3)."""
    rng = np.random.default_rng(seed)
    rough = rng.normal(0, 1, (350, 12)).astype(np.float32)
    grain = cv2.resize(rough, (700, 700), interpolation=cv2.INTER_CUBIC)
    speckles = rng.normal(0, 1, (700, 700)).astype(np.float32)
    fine = cv2.GaussianBlur(speckles, (0, 0), sigmaX=9, sigmaY=0.7)
    tone = 1 + 0.09 * grain + 0.35 * fine
    wood = tone[..., None] * np.array(_WOOD_BGR, np.float32)
    return np.asarray(wood.clip(0, 255), np.uint8)
