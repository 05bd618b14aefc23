"""Whether there is light enough for the camera, and what the camera can do about it when there is
not."""

from __future__ import annotations

from typing import Literal

import numpy as np

from companion.core.i18n import say
from vision.cameras.source import Device
from vision.detection.markers import Luma

_LOOK_S = 1.0
_AGREE = 3
"""So many looks in a row have to say the same."""
_SETTLE_S = 8.0
"""So long a camera is left alone after it was asked for something."""
_SAID_S = 60.0
"""So long it is said what the camera does about the light, once that has helped."""
_DARK, _BURNT = 80, 248
"""Brightness of the lightest twentieth of a picture that is too dark, and of its middle in one that
is burnt out."""
_LONGER = say("It is dark: the camera exposes longer")


class ExposureControl:
    """Looks at a camera's pictures about once a second and asks it for other exposures.

    Dark: the camera measures anew and may expose as long as a frame lasts. Burnt out: it measures
    anew. While somebody holds the exposure (`held`) nothing is asked for.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self._next_s: float | None = None
        self._told: list[str] = []
        self._slow = False
        self._said_until_s = 0.0
        self._asked = ""
        """The light about which the camera was asked last and has not yet been well since."""
        self.sentence = ""
        """What is the matter with the light, and what to do. Empty when nothing is."""
        self.held = False
        """Does somebody hold the exposure by hand?"""

    def see(self, luma: Luma, now_s: float) -> None:
        """Look at a picture if it is time to."""
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
            if light == "dark":
                self.sentence = say("It is dark: unlock the exposure on the camera page")
            else:
                self.sentence = say("It is too bright: unlock the exposure on the camera page")
        elif light == "dark":
            if self._slow:
                self.sentence = say("It is dark even at the longest exposure: switch on a lamp")
            else:
                self.sentence = (
                    _LONGER if self._ask(True, now_s) else say("It is dark: switch on a lamp")
                )
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
