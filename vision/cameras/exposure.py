"""Whether there is light enough for the camera, and what the camera can do about it when there is
not."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

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
_BANDS = 0.012
"""Share of brightness that bands of flicker change rows by (one standard deviation)."""
_LONGER = say("It is dark: the camera exposes longer")
_CYCLES = 8
"""Most bands that the flicker of mains makes in a picture."""


class ExposureControl:
    """Looks at a camera's pictures about once a second and asks it for other exposures.

    Dark: the camera measures anew and may expose as long as a frame lasts. Burnt out: it measures
    anew. Bands of flickering lamps, which wander between two pictures: it exposes in whole periods
    of the mains, 50 Hz or 60 Hz. While somebody holds the exposure (`held`) nothing is asked for.
    """

    def __init__(self, device: Device, mains_hz: int) -> None:
        self._device = device
        self._mains = [mains_hz, 110 - mains_hz]
        self._next_s: float | None = None
        self._before: NDArray[np.float32] | None = None
        self._told: list[str] = []
        self._banded: list[bool] = []
        self._slow = False
        self._hz: int | None = None
        self._said_until_s = 0.0
        self._asked = ""
        """The light about which the camera was asked last and has not yet been well since."""
        self._light_words, self._band_words = "", ""
        self.held = False
        """Does somebody hold the exposure by hand?"""

    @property
    def sentence(self) -> str:
        """What is the matter with the light, and what is done or to be done about it.

        Empty when nothing is.
        """
        return self._light_words or self._band_words

    def see(self, luma: Luma, now_s: float) -> None:
        """Look at a picture if it is time to."""
        if self._next_s is None:
            self._next_s = now_s + _SETTLE_S  # a camera that was just opened is still measuring
        if self._before is not None:
            self._banded = [*self._banded, _has_bands(self._before, _cells(luma))][-5:]
            self._before = None
            self._act_on_bands(now_s)
        if now_s < self._next_s:
            return
        self._next_s = now_s + _LOOK_S
        self._before = _cells(luma)
        self._told = [*self._told, _light_of(luma)][-_AGREE:]
        if len(self._told) == _AGREE and len(set(self._told)) == 1:
            self._act_on_light(self._told[0], now_s)

    def _act_on_light(self, light: str, now_s: float) -> None:
        if light == "good":
            self._light_words = (
                _LONGER if self._slow and now_s < self._said_until_s and not self.held else ""
            )
        elif self.held:
            if light == "dark":
                self._light_words = say("It is dark: unlock the exposure on the camera page")
            else:
                self._light_words = say("It is too bright: unlock the exposure on the camera page")
        elif light == "dark":
            if self._slow:
                self._light_words = say("It is dark even at the longest exposure: switch on a lamp")
            else:
                self._light_words = (
                    _LONGER if self._ask(True, now_s) else say("It is dark: switch on a lamp")
                )
        else:
            helps = self._asked != light and self._ask(False, now_s)
            self._light_words = (
                ""
                if helps
                else say("The picture is overexposed: turn the lamp away from the board")
            )
        self._asked = "" if light == "good" else light

    def _act_on_bands(self, now_s: float) -> None:
        if not any(self._banded) and now_s >= self._said_until_s:
            self._band_words = ""
        if sum(self._banded) < _AGREE or self.held:
            return
        self._band_words = say("The lamps flicker: use another lamp, or daylight")
        if self._mains:
            self._hz = self._mains.pop(0)
            if self._ask(self._slow, now_s):
                self._band_words = say(
                    "The lamps flicker: the camera exposes in whole periods of {number} Hz",
                    number=self._hz,
                )

    def _ask(self, slow: bool, now_s: float) -> bool:
        self._told, self._banded = [], []
        self._next_s = now_s + _SETTLE_S
        if not self._device.meter(slow, self._hz):
            return False
        self._slow = slow
        self._said_until_s = now_s + _SAID_S
        return True


def _light_of(luma: Luma) -> Literal["dark", "burnt", "good"]:
    middle, light = np.percentile(luma[::8, ::16], (50, 95))
    if light < _DARK:
        return "dark"
    return "burnt" if middle >= _BURNT else "good"


def _cells(luma: Luma) -> NDArray[np.float32]:
    """Return some 100 rows of a picture with 100 pixels each, at least 1."""
    height, width = luma.shape
    return luma[:: max(1, height // 100), :: max(1, width // 100)].astype(np.float32) + 1


def _has_bands(before: NDArray[np.float32], now: NDArray[np.float32]) -> bool:
    """Do rows differ between two pictures as if one wave ran over all of their width?

    The median along a row keeps out what hides less than half of it; a hand does not do the same to
    both halves.
    """
    if before.shape != now.shape or len(now) < 32:
        return False
    ratio = np.log(now / before)
    half = ratio.shape[1] // 2
    left, right = (np.median(part, axis=1) for part in (ratio[:, :half], ratio[:, half:]))
    left, right = left - left.mean(), right - right.mean()
    spread = float(left.std()), float(right.std())
    if min(spread) < _BANDS or float((left * right).mean()) < 0.8 * spread[0] * spread[1]:
        return False
    power = np.abs(np.fft.rfft((left + right) * np.hanning(len(left)))) ** 2
    peak = int(power[1:].argmax()) + 1
    return peak <= _CYCLES and bool(
        power[max(1, peak - 1) : peak + 2].sum() > 0.7 * power[1:].sum()
    )
