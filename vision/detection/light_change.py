"""How the light of one picture differs from that of another, whatever moves in them: exposure, lamps, bands.

Pictures are block means, (rows, columns) float32 of 0 to 255, as `vision.detection.motion` compares them.
"""

from __future__ import annotations

from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

Small = NDArray[np.float32]
"""(rows, columns): the mean brightness of each block."""
_SAMPLE = 6
"""Every so many rows and columns are enough to tell the light of a whole picture."""
_BURNT = 245.0
"""A block that is lighter than this may hide how bright it is."""
_CONTRAST = 25.0
"""The dark and the bright third of a picture must differ by so much to tell a gain from an offset."""
_GAINS = 0.5, 2.0
_MOST_OFFSET = 20.0
"""What counts as light: beyond these factors and levels something has come before the camera."""
_SLIGHT = 1.0
"""An offset of fewer levels has not disturbed the gains of the rows."""
_DARKEST = 4.0
"""Blocks are taken to be as bright as this at least: a ratio of black blocks is all noise."""
_SMOOTH_ROWS = 5
_MUCH_BETTER = 0.8
"""A gain and an offset of the whole picture must leave less than this share of what the gains of its rows leave."""


class Exposure(NamedTuple):
    """How a picture is brought to the light of another: `gain` times it plus `offset`, (rows, 1) each."""

    gain: Small
    offset: Small

    def apply(self, picture: Small) -> Small:
        """The picture in the other one's light."""
        return np.asarray(np.minimum(picture * self.gain + self.offset, np.float32(255)), np.float32)

    def undo(self, picture: Small) -> Small:
        """A picture in the other one's light, as it would be in this one's."""
        return np.asarray((picture - self.offset) / self.gain, np.float32)


def exposure_between(before: Small, now: Small) -> Exposure:
    """The light of `now` by that of `before`; what differs in less than half of the picture does not count.

    Each row of blocks has a gain of its own, since lamps on alternating current light a picture in bands when its rows
    are exposed one after the other; what is left tells a gain and an offset, by the medians of the dark and the bright
    third of all blocks. A hand that covers half of either bends these, so that they count only where they explain what
    most of the picture shows much better than the rows' gains alone.
    """
    rows = _of_rows(before[:, 2::4], now[:, 2::4])
    plain = Exposure(rows, np.zeros_like(rows))
    lit = (before[::_SAMPLE, ::_SAMPLE] * rows[::_SAMPLE]).ravel()
    gain, offset = _of_all(lit, now[::_SAMPLE, ::_SAMPLE].ravel())
    whole = Exposure((rows * np.float32(gain)).clip(*_GAINS), np.full_like(rows, offset))
    if abs(offset) >= _SLIGHT:
        more = _of_rows(before[:, 2::4] * whole.gain + whole.offset, now[:, 2::4])
        whole = Exposure((whole.gain * more).clip(*_GAINS), whole.offset)
    return whole if _misfit(before, now, whole) < _MUCH_BETTER * _misfit(before, now, plain) else plain


def _misfit(before: Small, now: Small, exposure: Exposure) -> float:
    """By how much the middling block differs in the same light."""
    some = slice(None, None, _SAMPLE)
    lit = before[some, some] * exposure.gain[some] + exposure.offset[some]
    return _middle(np.abs(now[some, some] - lit))


def _of_rows(before: Small, now: Small) -> Small:
    """(rows, 1): the gain of each row by the median along it; bands are wide."""
    ratios = now / np.maximum(before, np.float32(_DARKEST))
    middle = ratios.shape[1] // 2
    rows = np.partition(ratios, middle, axis=1)[:, middle].clip(*_GAINS)
    return np.asarray(cv2.blur(rows[:, None], (1, _SMOOTH_ROWS), borderType=cv2.BORDER_REPLICATE), np.float32)


def _of_all(before: Small, now: Small) -> tuple[float, float]:
    """(gain, offset) of N blocks."""
    clear = (before < _BURNT) & (now < _BURNT)
    if np.count_nonzero(clear) > before.size // 4:
        before, now = before[clear], now[clear]
    order, third = np.argsort(before), before.size // 3
    dark, bright = order[:third], order[-third:]
    dark_was, bright_was = float(before[dark[third // 2]]), float(before[bright[third // 2]])
    if bright_was - dark_was < _CONTRAST:
        return 1.0, float(np.clip(_middle(now - before), -_MOST_OFFSET, _MOST_OFFSET))
    dark_is, bright_is = _middle(now[dark]), _middle(now[bright])
    gain = float(np.clip((bright_is - dark_is) / (bright_was - dark_was), *_GAINS))
    return gain, float(np.clip(bright_is - gain * bright_was, -_MOST_OFFSET, _MOST_OFFSET))


def _middle(values: Small) -> float:
    """The median; `np.median` takes several times as long for so few."""
    return float(np.partition(values, values.size // 2, axis=None)[values.size // 2])


def unexplained(before: Small, now: Small, exposure: Exposure) -> tuple[Small, Small]:
    """(rows, columns) twice: how `now` differs from `before` in the same light, and how much the light has changed."""
    lit = exposure.apply(before)
    shift = np.asarray(cv2.absdiff(lit, before), np.float32)
    rest = np.asarray(cv2.subtract(now, lit), np.float32)
    burnt = before > _BURNT
    if burnt.any():
        # What was burnt out may have been much brighter: it need not have become as dark as the rest.
        rest[burnt & (rest > 0) & (now <= before + 2)] = 0
    return rest, shift


def median_ratio(now: Small, before: Small) -> float:
    """How bright a picture is by another one."""
    return _middle((now[::_SAMPLE, ::_SAMPLE] + 1) / (before[::_SAMPLE, ::_SAMPLE] + 1))
