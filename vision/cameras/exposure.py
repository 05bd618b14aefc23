"""Checks whether pictures are too dark or too bright, and has the camera adjust its exposure.

Brightness is in levels from 0 to 255. The limits are judgements, not measured with real cameras.
`tests/vision/test_exposure.py` holds what they do.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from companion.core.i18n import say
from vision.cameras.source import PhysicalCamera
from vision.detection.markers import Luma

# Interval in seconds between two checks. Light seldom changes faster, and each check costs time.
_CHECK_INTERVAL_S = 1.0
# Number of checks in a row that have to agree, so that one odd picture changes nothing.
_AGREEING_CHECKS = 3
# Seconds for which a camera is left alone after a request, and after it was opened. A Raspberry Pi
# camera settles for 4 s, see `picamera`.
_SETTLE_S = 8.0
# A picture is dark if its 95th percentile is below this. Higher: a lamp is asked for sooner. Lower:
# more pictures are read that are mostly noise.
_MAX_DARK = 80
# A picture is overexposed from this median on: half of its pixels are nearly white.
_MIN_OVEREXPOSED = 248

DARK_SENTENCE = say("It is dark: switch on a lamp, or take off the lens cap")


class ExposureControl:
    """Checks a camera's pictures about once a second and asks it for other exposures.

    If pictures are dark, the camera has to measure the light again, and may expose each picture for
    longer. If they are overexposed, it has to measure again without that. If this does not help,
    `sentence` asks people for help.

    `CameraLink` makes a control for each camera that it opens, and uses it in the thread that takes
    the frames.
    """

    def __init__(self, device: PhysicalCamera, now_s: float) -> None:
        self._device = device
        self._next_check_at_s = now_s + _SETTLE_S
        # What the last checks have found, at most `_AGREEING_CHECKS` of them.
        self._lights: list[str] = []
        # The light to which the camera was adjusted last. Empty once the light was good again.
        self._adjusted_to = ""
        self.sentence = ""
        """What is wrong with the light, and what to do. Empty when nothing is."""
        self.is_locked = False
        """Whether the exposure is locked by hand, so that it must not be adjusted."""

    def check(self, luma: Luma, now_s: float) -> None:
        """Check a picture if a check is due, and act once enough checks agree."""
        if now_s < self._next_check_at_s:
            return
        self._next_check_at_s = now_s + _CHECK_INTERVAL_S
        light = classify_light(luma)
        self._lights = [*self._lights, light][-_AGREEING_CHECKS:]
        if self._lights != [light] * _AGREEING_CHECKS:
            return
        if light == "good":
            self._adjusted_to = self.sentence = ""
        elif self._adjust(light):
            # Leave the camera alone while it measures.
            self._adjusted_to = light
            self.sentence = ""
            self._lights = []
            self._next_check_at_s = now_s + _SETTLE_S
        elif light == "dark":
            self.sentence = DARK_SENTENCE
        else:
            self.sentence = say("The picture is overexposed: turn the lamp away from the board")

    def _adjust(self, light: str) -> bool:
        """Ask the camera to adjust to the light.

        Return False if it cannot, if its exposure is locked by hand, or if it has been adjusted to
        this light already.
        """
        if light == self._adjusted_to or self.is_locked:
            return False
        return self._device.meter(slow=light == "dark")


def classify_light(luma: Luma) -> Literal["dark", "overexposed", "good"]:
    """Return whether a picture is too dark, too bright, or neither."""
    # One pixel in 128 is enough to see this.
    median, bright = np.percentile(luma[::8, ::16], (50, 95))
    if bright < _MAX_DARK:
        return "dark"
    return "overexposed" if median >= _MIN_OVEREXPOSED else "good"
