"""The sensors of Raspberry Pi cameras: the lens of each, and the modes in which it can be read.

A mode is listed if it uses the whole width of its sensor, since libcamera's own choice may crop the
view. The largest modes of imx477 and imx708 are left out, because their buffers would nearly fill
the 64 MB of contiguous memory that a Raspberry Pi with 512 MB has.

The values are those that `rpicam-hello --list-cameras` prints. Picamera2 is not asked for them: to
list the modes, it configures the camera for each of them with four buffers, which take 74 MB in the
largest mode of an imx477, and 60 MB in that of an imx708.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

# Lens by the sensor name of Picamera2. The HQ camera comes without a lens. The usual one has 6 mm.
LENS_BY_SENSOR = {
    "ov5647": "camera-module-1",
    "imx219": "camera-module-2",
    "imx708": "camera-module-3",
    "imx708_wide": "camera-module-3-wide",
    "imx477": "hq-6mm",
}


class SensorMode(NamedTuple):
    """One way to read a sensor."""

    size_px: tuple[int, int]
    """Width and height of the picture."""
    bit_depth: int
    """Bits per pixel."""


# Modes by sensor, without the endings for lens and filter (`_wide`, `_noir`), the largest first.
MODES: Mapping[str, tuple[SensorMode, ...]] = {
    "imx708": (SensorMode((2304, 1296), 10),),
    "imx477": (SensorMode((2028, 1520), 12), SensorMode((2028, 1080), 12)),
    "imx219": (SensorMode((3280, 2464), 10), SensorMode((1640, 1232), 10)),
    "ov5647": (SensorMode((2592, 1944), 10), SensorMode((1296, 972), 10)),
}


def lens_name_of(sensor: str) -> str:
    """Return the lens of a sensor, a name among `vision.pose.optics.LENSES`.

    An unknown sensor counts as a webcam.
    """
    return LENS_BY_SENSOR.get(sensor.removesuffix("_noir"), "webcam")


def modes_for(sensor: str, size_px: tuple[int, int]) -> tuple[SensorMode, ...]:
    """Return the modes to try for a picture of this size (width, height), in order.

    First comes the smallest mode that is large enough, then those that need less memory. If no mode
    is large enough, all are returned. For an unknown sensor there are none.
    """
    # "imx708_wide_noir" has the modes of "imx708".
    modes = MODES.get(sensor.partition("_")[0], ())
    width, height = size_px
    large = [mode for mode in modes if mode.size_px[0] >= width and mode.size_px[1] >= height]
    # The modes are sorted by size, so the last large one is the smallest of them.
    return modes[max(0, len(large) - 1) :]
