"""Detect a camera that sends pictures but sees nothing: a cap on the lens, or a picture that stands
still.
"""

from __future__ import annotations

import numpy as np

from companion.core.i18n import say
from vision.detection.markers import Luma

_BLACK = 30
"""Brightness below which 99 % of the pixels of a covered sensor stay. A room at night is brighter.
"""
BLACK_WORDS = say("The camera sees only black: take off the lens cap, or switch on a lamp")
_BLACK_S, _FROZEN_S = 2.0, 5.0
_REOPEN_S = 15.0


class BlankDetector:
    """Watches the pictures of a real camera.

    Every real picture has noise, so a camera that repeats the same bytes has stopped. The detector
    survives reopening: a camera that is still frozen afterwards is not reported as well in between.
    """

    def __init__(self) -> None:
        self._last: Luma | None = None
        self._same_since_s: float | None = None
        self._black_since_s: float | None = None
        self._opened_s = 0.0

    def begin(self, now_s: float) -> None:
        """Note that the camera was opened or reopened."""
        self._opened_s = now_s

    def trouble(self, name: str, luma: Luma, now_s: float) -> str:
        """Return what is wrong with the picture of a camera of this name, and what to do. Empty
        when nothing is.
        """
        before, self._last = self._last, luma
        if before is None or before.shape != luma.shape or not _equal(before, luma):
            self._same_since_s = None
        elif self._same_since_s is None and luma[::8, ::16].min() < luma[::8, ::16].max():
            self._same_since_s = now_s  # a picture of one tone, burnt out, may well repeat itself
        if not is_black(luma):
            self._black_since_s = None
        elif self._black_since_s is None:
            self._black_since_s = now_s
        if _lasts(self._black_since_s, now_s, _BLACK_S):
            return BLACK_WORDS
        if self._same_since_s is not None and _lasts(self._same_since_s, now_s, _FROZEN_S):
            lasted = _rough_time(now_s - self._same_since_s)
            return say(
                "The camera {name} has sent the same picture for {time}: unplug it and plug it in "
                "again",
                name=name,
                time=lasted,
            )
        return ""

    def wants_reopening(self, now_s: float) -> bool:
        """Return whether reopening the camera may help: the picture has stood still for long since
        it was opened.
        """
        since_s = self._same_since_s
        return since_s is not None and now_s - max(since_s, self._opened_s) >= _REOPEN_S


def is_black(luma: Luma) -> bool:
    """Return whether a picture is as dark as that of a covered lens."""
    return float(np.percentile(luma[::8, ::16], 99)) < _BLACK


def _equal(one: Luma, other: Luma) -> bool:
    """Return whether two pictures are equal to the last bit. A few pixels are compared first."""
    return bool(np.array_equal(one[::64], other[::64])) and bool(np.array_equal(one, other))


def _lasts(since_s: float | None, now_s: float, limit_s: float) -> bool:
    return since_s is not None and now_s - since_s >= limit_s


def _rough_time(seconds: float) -> str:
    if seconds < 60:
        return f"{max(_FROZEN_S, 15 * (seconds // 15)):.0f} s"
    return f"{seconds // 60:.0f} min"
