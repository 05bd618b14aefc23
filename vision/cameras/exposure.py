"""Is there enough light for the camera? If not, what can the camera do about it?"""

from __future__ import annotations

from typing import Literal

import numpy as np

from companion.core.i18n import say
from vision.cameras.source import Device
from vision.detection.markers import Luma

_LOOK_S = 1.0
_AGREE = 3
"""Number of checks in a row that have to agree."""
_SETTLE_S = 8.0
"""Seconds for which a camera is left alone after a request."""
_SAID_S = 60.0
"""Seconds for which people are told what the camera did about the light."""
_DARK, _BURNT = 80, 248
"""Limits of brightness (0 to 255): the lightest twentieth of a dark picture, and the median of an
overexposed one.
"""
_LONGER = say("It is dark: the camera exposes longer")


class ExposureControl:
    """Checks a camera's pictures about once a second and asks it for other exposures.

    In the dark the camera meters again and may expose for a whole frame. In glare it meters again.
    While the exposure is locked by hand (`held`) nothing is requested.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self._next_s: float | None = None
        self._told: list[str] = []
        self._slow = False
        self._said_until_s = 0.0
        self._asked = ""
        """Light for which the camera was adjusted last and which has not recovered since."""
        self.sentence = ""
        """What is wrong with the light, and what to do. Empty when nothing is."""
        self.held = False
        """Whether the exposure is locked by hand."""

    def see(self, luma: Luma, now_s: float) -> None:
        """Check a picture if a check is due."""
        if self._next_s is None:
            self._next_s = now_s + _SETTLE_S  # a camera that was just opened is still measuring
        if now_s < self._next_s:
            return
        self._next_s = now_s + _LOOK_S
        self._told = [*self._told, _light_of(luma)][-_AGREE:]
        if len(self._told) == _AGREE and len(set(self._told)) == 1:
            self._act_on_light(self._told[0], now_s)

    def _act_on_light(self, light: str, now_s: float) -> None:
        if light == "good":
            self.sentence = (
                _LONGER if self._slow and now_s < self._said_until_s and not self.held else ""
            )
        elif self.held:
            self.sentence = (
                say("It is dark: unlock the exposure on the camera page")
                if light == "dark"
                else say("It is too bright: unlock the exposure on the camera page")
            )
        elif light == "dark":
            if self._slow:
                self.sentence = say("It is dark even at the longest exposure: switch on a lamp")
            elif self._ask(True, now_s):
                self.sentence = _LONGER
            else:
                self.sentence = say("It is dark: switch on a lamp")
        else:
            helps = self._asked != light and self._ask(False, now_s)
            self.sentence = (
                ""
                if helps
                else say("The picture is overexposed: turn the lamp away from the board")
            )
        self._asked = "" if light == "good" else light

    def _ask(self, slow: bool, now_s: float) -> bool:
        self._told = []
        self._next_s = now_s + _SETTLE_S
        if not self._device.meter(slow):
            return False
        self._slow = slow
        self._said_until_s = now_s + _SAID_S
        return True


def _light_of(luma: Luma) -> Literal["dark", "burnt", "good"]:
    middle, light = np.percentile(luma[::8, ::16], (50, 95))
    if light < _DARK:
        return "dark"
    return "burnt" if middle >= _BURNT else "good"
