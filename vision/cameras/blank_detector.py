"""Whether a camera that sends pictures sees anything at all: a cap on the lens, a picture that
stands still."""

from __future__ import annotations

import numpy as np

from companion.core.i18n import say
from vision.detection.markers import Luma

_BLACK = 30
"""Brightness that 99 of 100 pixels stay below: noise of a covered sensor, not a room at night."""
BLACK_WORDS = say("The camera sees only black: take off the lens cap, or switch on a lamp")
_BLACK_S, _FROZEN_S = 2.0, 5.0
_REOPEN_S = 15.0


class BlankDetector:
    """Watches the pictures of a real camera.

    One that sends the same bytes again and again has stopped, since noise is sure.

    It outlives the opening of the camera anew: a camera that is still frozen then is not called
    well in between.
    """

    def __init__(self) -> None:
        self._last: Luma | None = None
        self._same_since_s: float | None = None
        self._black_since_s: float | None = None
        self._opened_s = 0.0

    def begin(self, now_s: float) -> None:
        """Note that the camera was opened, for the first time or anew."""
        self._opened_s = now_s

    def trouble(self, name: str, luma: Luma, now_s: float) -> str:
        """Return what is wrong with the picture of a camera of that name, and what to do.

        It is empty when nothing is.
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
        """Tell whether opening the camera anew may help.

        That is so when the picture has stood still for long since it was opened.
        """
        since_s = self._same_since_s
        return since_s is not None and now_s - max(since_s, self._opened_s) >= _REOPEN_S


def is_black(luma: Luma) -> bool:
    """Tell whether a picture is as dark as one of a covered lens."""
    return float(np.percentile(luma[::8, ::16], 99)) < _BLACK


def _equal(one: Luma, other: Luma) -> bool:
    """Tell whether two pictures are the same to the last bit.

    That is told from few pixels when they are not.
    """
    return bool(np.array_equal(one[::64], other[::64])) and bool(np.array_equal(one, other))


def _lasts(since_s: float | None, now_s: float, limit_s: float) -> bool:
    return since_s is not None and now_s - since_s >= limit_s


def _rough_time(seconds: float) -> str:
    """Return a length of time in words that change seldom."""
    if seconds < 60:
        return f"{max(_FROZEN_S, 15 * (seconds // 15)):.0f} s"
    return f"{seconds // 60:.0f} min"
