"""How much the blocks of a picture differ from frame to frame while nothing moves: a sensor's noise, a codec's steps.

The noise threshold of the camera is below: the first numbers of this file. The noise of each block is learned from the
frames themselves, with what its neighbours show, and never beyond what the whole picture shows: a hand that trembles or
a shadow that waves in one place for ever does not become noise.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.detection.light_change import Small

_LEAST, _MOST = 3.5, 16.0
"""Levels, of 255: smaller changes of a block never count, nor is more ever asked for."""
_SIGMAS = 5.0
"""A block may differ by so many standard deviations of its noise."""
_STEPS = 1.75
"""And by so many of the steps in which a codec changes single blocks."""
_QUARTERS = 1.15
"""Three quarters of the values of a Gaussian are nearer to its middle than this, by its standard deviation."""
_UNKNOWN = 1.5
"""So much noisier than the middle of the picture blocks may be before anything is learned."""
_SLOWLY = 16
"""Frames after which what is newly learned counts as much as what was known."""
_BEYOND, _OF_STEP, _FLOOR = 3.0, 0.6, 0.8
"""A block's noise is at most so many times the picture's, such a part of a codec's step, or so many levels."""
_ALONE = 4.0, 1.0
"""A block that differs by so many standard deviations, and so many levels, while none next to it does, is a step."""
_FEWEST = 12
"""So many of them make a codec."""
_MOST_STEP = 9.0
_RISE, _FALL = 0.5, 0.03
"""How fast it is believed that a codec's steps are larger, or smaller: where frames were averaged, they seem to be."""
_GROWTH = 1.5
"""The picture's noise grows by no more than this factor from frame to frame."""
_INCOHERENT = 0.15
"""Changes of neighbouring blocks that go together less than this (correlation) are noise."""
_MANY = 0.02
"""That can be told of this share of the picture."""
_BOX = (3, 3)


class BlockNoise:
    """Learns the noise of blocks; `bounds` says how much each may differ."""

    def __init__(self) -> None:
        self._power: Small | None = None
        self._typical, self._step = 0.0, 0.0
        self._frames = 0
        self._bounds: Small | None = None

    def bounds(self, rest: Small) -> Small:
        """(rows, columns): the least changes that count; `rest` are the changes in question, for a first idea."""
        if self._bounds is not None and self._bounds.shape == rest.shape:
            return self._bounds
        size = np.abs(rest)
        typical = float(np.median(size[::2, ::2])) / 0.6745
        step = _step_of(size, typical) or 0.0
        least = min(max(_LEAST, _SIGMAS * _UNKNOWN * typical, _STEPS * step), _MOST)
        return np.full(rest.shape, least, np.float32)

    def learn(self, rest: Small, moved: NDArray[np.bool_] | None) -> None:
        """Take the changes of a frame; what has `moved`, None being nothing, teaches nothing unless it is noise."""
        size = np.abs(rest)
        if moved is not None and is_incoherent(rest, moved):
            moved = None
        if self._power is None or self._power.shape != rest.shape:
            self._frames, self._power = 0, np.zeros(rest.shape, np.float32)
        part = size[::3, ::3] if moved is None else size[::3, ::3][~moved[::3, ::3]]
        if part.size < 0.5 * size[::3, ::3].size:
            return  # what is left may be all sky
        self._learn_picture(size, part.ravel())
        cap = max(_BEYOND * self._typical, _OF_STEP * self._step, _FLOOR)
        rate = 1 / min(self._frames, _SLOWLY)
        limited = np.minimum(rest * rest, np.float32(cap**2))
        power = np.asarray(cv2.addWeighted(self._power, 1 - rate, limited, rate, 0), np.float32)
        if moved is not None:
            power = np.where(moved, self._power, power)
        self._power = power
        local = np.asarray(cv2.max(power, cv2.blur(power, (5, 5))), np.float32)
        bounds = np.sqrt(local) * np.float32(_SIGMAS)
        least = max(_LEAST, _STEPS * self._step)
        self._bounds = bounds.clip(least, _MOST)

    def _learn_picture(self, size: Small, part: Small) -> None:
        """The noise of the picture as a whole, and the steps of its codec."""
        place = 3 * part.size // 4
        typical = float(np.partition(part, place)[place]) / _QUARTERS
        self._frames += 1
        rate = 1 / min(self._frames, _SLOWLY)
        if self._frames > 1:
            typical = min(typical, _GROWTH * self._typical + 0.1)
        self._typical += rate * (typical - self._typical)
        step = _step_of(size, self._typical)
        if step is not None and step > self._step:
            self._step += max(rate, _RISE) * (step - self._step)
        else:
            self._step += _FALL * ((step or 0.0) - self._step)


def _step_of(size: Small, typical: float) -> float | None:
    """How much single blocks differ that stand alone; None when there are few: that is chance.

    Whatever moves is larger than a block, so that nothing of this is learned of it.
    """
    jumps = np.asarray(size > max(_ALONE[0] * typical, _ALONE[1]), np.uint8)
    if np.count_nonzero(jumps) < _FEWEST:
        return None
    alone = size[(cv2.boxFilter(jumps, -1, _BOX, normalize=False) == 1) & (jumps > 0)]
    if len(alone) < _FEWEST:
        return None
    place = 19 * len(alone) // 20
    return min(float(np.partition(alone, place)[place]), _MOST_STEP)


def is_incoherent(rest: Small, moved: NDArray[np.bool_]) -> bool:
    """Is what seems to move nothing but noise? Things have parts next to each other that change alike."""
    if np.count_nonzero(moved) < _MANY * moved.size:
        return False
    values = np.where(moved, rest, 0)
    power = float((values * values).mean())
    together = float((values[:, 1:] * values[:, :-1]).mean() + (values[1:] * values[:-1]).mean()) / 2
    return together < _INCOHERENT * power
