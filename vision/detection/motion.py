"""Does anything move? A cheap question to every frame, so that a still table costs almost nothing.

What a camera shows of a still table is never still: the light wavers, the sensor is noisy, a codec rounds. The light is
taken off (`vision.detection.light_change`), noise is learned for each block (`vision.detection.noise`), and a movement
is a cluster of blocks that differ by more; one that is faint has to last.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.detection.light_change import Exposure, Small, exposure_between, median_ratio, unexplained
from vision.detection.markers import Luma
from vision.detection.noise import BlockNoise
from vision.pose.pose import Points

BLOCK_PX = 8
"""Side of a block."""
Blocks = NDArray[np.bool_]
"""(rows, columns): which blocks of a picture."""
RELIT = 0.04
"""When a picture is so much lighter or darker than when all of it was read, all of it is read again."""
_LASTING = 5
"""Frames for which it has to be."""
_CLUSTER, _CLEAR = 3.0, 6.0
"""A movement: the squares of changes, by what counts, in three by three blocks add up to this; and a clear one."""
_SUDDEN = 4 * _CLEAR
"""And one that is so clear against a picture that the frame before still looked like needs no second comparison."""
_PART = 0.3
"""So much of them, in a block of a cluster, makes it part of the movement."""
_BY_LIGHT = 0.15
"""Where the light has changed, a block may differ by this share of that."""
_FOLLOW = 0.33
"""Share of a still frame in what the next one is compared with: what moves slowly falls behind itself."""
_AVERAGED = 12
"""So many still frames make up what a block looked like when it was read."""
_LEARNING = 20
"""Still frames after which every other one is enough to learn the noise."""
NOWHERE: Points = np.empty((0, 2))
"""No places."""


class Stir(NamedTuple):
    """`moving`: something differs from the frames before; `drifted`: something differs from what was read last.

    `places` are (N, 2) pixels of what has moved since the frames before; `changed` (rows, columns) says which blocks
    of `BLOCK_PX` differ from what was read last, None: nothing is known of them. `light` is how bright the picture is
    by how bright it was when all of it was read last.
    """

    moving: bool
    drifted: bool
    places: Points
    changed: Blocks | None
    light: float = 1.0


class Motion:
    """Compares each frame, in blocks of 8 x 8 pixels, with those before and with what was read of them last."""

    def __init__(self) -> None:
        self._noise = BlockNoise()
        self._now: Small | None = None
        self._before: Small | None = None
        self._read: Small | None = None
        self._whole: Small | None = None
        self._looks: NDArray[np.float32] | None = None
        self._exposure: Exposure | None = None
        self._calm, self._was_calm, self._strongest = 0, False, 0.0
        self._faint: dict[str, Blocks] = {}
        self._lights: deque[float] = deque(maxlen=_LASTING)

    @property
    def small(self) -> NDArray[np.float32] | None:
        """The last frame's blocks, (rows, columns) of brightness; None: there was none."""
        return self._now

    def see(self, luma: Luma) -> Stir:
        """Take the next frame; the first one counts as moving."""
        self._now = now = _shrunk(luma)
        if self._read is None or self._read.shape != now.shape:
            self._before, self._read = now, None
            return Stir(True, True, NOWHERE, None)
        self._exposure = exposure_between(self._read, now)
        rest, shift = unexplained(self._read, now, self._exposure)
        changed = self._cluster("read", rest, shift)
        light = self._light(now)
        drifted = len(self._lights) == _LASTING and abs(light - 1) > RELIT
        if changed is None:
            # While nothing differs from what was read last, one comparison tells both.
            self._follow(now, rest)
            self._was_calm = True
            return Stir(False, drifted, NOWHERE, np.zeros(now.shape, bool), light)
        moving: Blocks | None = changed
        if self._was_calm and self._strongest >= _SUDDEN:
            # It looked as it was read until a frame ago: what has changed has moved since then.
            self._faint.pop("before", None)
            self._go_on(now, rest, _wider(changed, 3))
        else:
            moving = self._moving(now)
        self._was_calm = False
        places = NOWHERE
        if moving is not None:
            places = np.argwhere(moving)[:, ::-1].astype(np.float64) * BLOCK_PX + (BLOCK_PX - 1) / 2
        return Stir(moving is not None, True, places, changed, light)

    def mark_read(self, blocks: Blocks | None = None) -> None:
        """The last frame has been read, or these (rows, columns) of it: later ones are compared with it."""
        now, read = self._now, self._read
        if now is None:
            return
        self._faint.pop("read", None)
        if read is None or self._exposure is None or self._looks is None or blocks is None:
            self._read = self._whole = now
            self._looks = np.ones(now.shape, np.float32)
            self._lights.clear()
            return
        # What was read earlier was read in that light: bring the new blocks to it.
        self._read = np.where(blocks, self._exposure.undo(now), read)
        self._looks[blocks] = 1

    def _light(self, now: Small) -> float:
        """How bright the picture is; forgotten are frames before it was nearly as bright as when it was read."""
        light = 1.0 if self._whole is None else median_ratio(now, self._whole)
        if abs(light - 1) <= RELIT or (self._lights and (light > 1) != (self._lights[-1] > 1)):
            self._lights.clear()
        if abs(light - 1) > RELIT:
            self._lights.append(light)
        return light

    def _follow(self, now: Small, rest: Small) -> None:
        """Nothing differs from what was read: learn the noise, and what the blocks look like without it."""
        assert self._read is not None
        assert self._looks is not None
        self._calm += 1
        if self._calm < _LEARNING or self._calm % 2:
            self._noise.learn(rest, None)
        young = self._looks < _AVERAGED
        if young.any():
            self._read = self._read + np.where(young, rest / (self._looks + 1), 0)
            self._looks += young
        self._go_on(now, rest, None)
        self._faint.pop("before", None)

    def _moving(self, now: Small) -> Blocks | None:
        """Which blocks differ from the frames before; None: none."""
        assert self._before is not None
        exposure = exposure_between(self._before, now)
        rest, shift = unexplained(self._before, now, exposure)
        moving = self._cluster("before", rest, shift)
        near = None if moving is None else _wider(moving, 3)
        self._noise.learn(rest, near)
        self._go_on(now, rest, near)
        return moving

    def _go_on(self, now: Small, rest: Small, near: Blocks | None) -> None:
        """The next frame is compared with this one, its noise taken off but where something has moved `near`."""
        followed = now - rest * np.float32(1 - _FOLLOW)
        self._before = np.asarray(followed if near is None else np.where(near, now, followed), np.float32)

    def _cluster(self, what: str, rest: Small, shift: Small) -> Blocks | None:
        """The blocks whose changes hang together and are more than noise, and, if they are faint, were so in the frame
        before; None when there are none."""
        bounds = self._noise.bounds(rest) + np.float32(_BY_LIGHT) * shift
        share = rest / bounds
        share *= share
        sums = np.asarray(cv2.boxFilter(share, -1, (3, 3), normalize=False, borderType=cv2.BORDER_CONSTANT), np.float32)
        before = self._faint.pop(what, None)
        self._strongest = cv2.minMaxLoc(sums)[1]
        if self._strongest < _CLUSTER:
            return None
        cores = sums >= _CLUSTER
        lasting = sums >= _CLEAR
        if before is not None and before.shape == cores.shape:
            lasting |= cores & before
        grown = _wider(cores, 3)
        if not lasting.any():
            self._faint[what] = grown
            return None
        around = _wider(lasting, 5)
        self._faint[what] = grown & ~around
        return np.asarray(around & grown & (share >= _PART), bool)


def _wider(blocks: Blocks, side: int) -> Blocks:
    """These blocks and those around them, `side` being that of the square which each one becomes."""
    return np.asarray(cv2.dilate(blocks.view(np.uint8), np.ones((side, side), np.uint8)), bool)


def _shrunk(luma: Luma) -> Small:
    """The mean of each block: halved three times, which OpenCV does much faster than to an eighth; the last time with
    fractions, since a mean is far less noisy than a level."""
    size, rows, small = luma.shape, luma.shape[0] // BLOCK_PX, np.asarray(luma)
    for factor in (2, 4, BLOCK_PX):
        if factor == BLOCK_PX:
            small = small.astype(np.float32)
        if min(small.shape) > 1 and small.shape[0] > rows:
            half = max(1, size[1] // factor), max(1, size[0] // factor)
            small = np.asarray(cv2.resize(small, half, interpolation=cv2.INTER_AREA))
    return np.asarray(small, np.float32)
