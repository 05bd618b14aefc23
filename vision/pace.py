"""How often pictures are read: as often as the settings want, less where the machine has no time for it."""

from __future__ import annotations

from collections import deque

from companion.core.i18n import say

REST = 0.5
"""While hands move, the reader rests after a picture for this share of what it took: others have time, too."""
SLOW, GLANCES = 0.5, 4.0
"""If reading a picture in which hands move took more than this share of a picture's time, further ones are not read for
so many times as long, nor are those of the next movement: whether the hands have gone is seen sooner then."""
_REMEMBERED = 600
_OFTEN = 0.02
"""Hard pictures are told of when they are more than this share of those that are remembered."""


class Pace:
    """When the next picture is due; written by the thread that reads them, `sentence` may be asked from any."""

    def __init__(self, period_s: float) -> None:
        self.period_s = period_s
        self._took_s: deque[float] = deque(maxlen=_REMEMBERED)
        self._hard_s = 0.0
        self._is_stirred = False
        self._glances_until_s = 0.0

    def read(self, ended_s: float, took_s: float, is_stirred: bool) -> float:
        """A picture was read in so many seconds till then, in which something moved or not; how many seconds the reader
        should rest at least."""
        self._took_s.append(took_s)
        if is_stirred:
            if not self.glances(ended_s - took_s):
                self._hard_s = took_s if took_s > SLOW * self.period_s else 0.0
                self._glances_until_s = ended_s + GLANCES * self._hard_s
            elif not self._is_stirred:
                self._glances_until_s = ended_s + GLANCES * self._hard_s
        self._is_stirred = is_stirred
        return REST * took_s if is_stirred else 0.0

    def glances(self, now_s: float) -> bool:
        """Is it only to be seen whether something moves?"""
        return self._hard_s > 0 and (not self._is_stirred or now_s < self._glances_until_s)

    @property
    def sentence(self) -> str:
        """What gave way lately, for people; empty: nothing."""
        told = list(self._took_s)
        hard = sorted(took_s for took_s in told if took_s > self.period_s)
        if len(hard) <= _OFTEN * len(told):
            return ""
        return say(
            "A picture of a changed board takes this machine {ms} ms. While hands move it reads about {rate} a second "
            "and otherwise only looks whether they have gone.",
            ms=f"{1000 * hard[len(hard) // 2]:.0f}",
            rate=round(1 / ((1 + GLANCES) * hard[len(hard) // 2]), 1),
        )
