"""The sensors of Raspberry Pi cameras: the lens of each, and the modes in which it can be read.

Picamera2 lists the modes of a sensor only by configuring the camera for each, with four buffers
every time (74 MB for an imx477, 60 MB for an imx708). A board with 512 MB has 64 MB of contiguous
memory. So the modes of known sensors stand here, as `rpicam-hello --list-cameras` prints them. For
other sensors libcamera chooses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

LENSES = {
    "ov5647": "camera-module-1",
    "imx219": "camera-module-2",
    "imx708": "camera-module-3",
    "imx708_wide": "camera-module-3-wide",
    "imx477": "hq-6mm",
}
"""Lens by the sensor name of Picamera2. The HQ camera has no lens of its own, 6 mm is the usual
one.
"""
_LEAST_FPS = 30
_AS_WIDE = 0.9
"""Share of the best mode's view that another mode must have to replace it."""


class Mode(NamedTuple):
    """One way to read a sensor: size of the picture in px, bits a pixel, maximum frames a second.

    `crop_px` is the visible part of the sensor: left, top, width and height.
    """

    size: tuple[int, int]
    bit_depth: int
    fps: float
    crop_px: tuple[int, int, int, int]

    @property
    def pixels(self) -> int:
        """Memory of one picture, in pixels."""
        return self.size[0] * self.size[1]


_IMX708_PX, _IMX477_PX, _OV5647_PX, _IMX219_PX = (
    (4608, 2592),
    (4056, 3040),
    (2592, 1944),
    (3280, 2464),
)

MODES: Mapping[str, tuple[Mode, ...]] = {
    "imx708": (
        Mode((1536, 864), 10, 120.13, (768, 432, 3072, 1728)),
        Mode((2304, 1296), 10, 56.03, (0, 0, *_IMX708_PX)),
        Mode(_IMX708_PX, 10, 14.35, (0, 0, *_IMX708_PX)),
    ),
    "imx477": (
        Mode((1332, 990), 10, 120.05, (696, 528, 2664, 1980)),
        Mode((2028, 1080), 12, 50.03, (0, 440, 4056, 2160)),
        Mode((2028, 1520), 12, 40.01, (0, 0, *_IMX477_PX)),
        Mode(_IMX477_PX, 12, 10.0, (0, 0, *_IMX477_PX)),
    ),
    "imx219": (
        Mode((640, 480), 10, 103.33, (1000, 752, 1280, 960)),
        Mode((1640, 1232), 10, 41.85, (0, 0, *_IMX219_PX)),
        Mode((1920, 1080), 10, 47.57, (680, 692, 1920, 1080)),
        Mode(_IMX219_PX, 10, 21.19, (0, 0, *_IMX219_PX)),
    ),
    "ov5647": (
        Mode((640, 480), 10, 58.92, (16, 0, 2560, 1920)),
        Mode((1296, 972), 10, 43.25, (0, 0, *_OV5647_PX)),
        Mode((1920, 1080), 10, 30.62, (348, 434, 1928, 1080)),
        Mode(_OV5647_PX, 10, 15.63, (0, 0, *_OV5647_PX)),
    ),
    "imx296": (Mode((1456, 1088), 10, 60.38, (0, 0, 1456, 1088)),),
    "imx500": (
        Mode((2028, 1520), 10, 30.02, (0, 0, *_IMX477_PX)),
        Mode(_IMX477_PX, 10, 10.0, (0, 0, *_IMX477_PX)),
    ),
}
"""Modes by sensor, without the endings for lens and filter (`_wide`, `_noir`)."""


def lens_of(sensor: str) -> str:
    """Return the lens of a sensor, a name among `vision.pose.pose.LENSES`."""
    return LENSES.get(sensor.removesuffix("_noir").replace("_wide_noir", "_wide"), "webcam")


def modes_of(sensor: str) -> tuple[Mode, ...]:
    """Return the modes of a sensor. Empty for an unknown one, for which libcamera chooses."""
    return MODES.get(sensor.partition("_")[0], ())


def choices(modes: Iterable[Mode], size: tuple[int, int], fps: float) -> Sequence[Mode]:
    """Return the modes worth trying for a picture of this size: the best first, then those with the
    same view and less memory.

    The best mode sees most of the sensor and is large enough. libcamera's own choice would crop the
    view.
    """
    fast = [mode for mode in modes if mode.fps >= min(_LEAST_FPS, fps)]
    enough = [mode for mode in fast if mode.size[0] >= size[0] and mode.size[1] >= size[1]] or fast
    if not enough:
        return ()
    best = min(enough, key=_by_view)
    wide = [
        mode
        for mode in fast
        if mode.pixels < best.pixels and mode.crop_px[2] >= _AS_WIDE * best.crop_px[2]
    ]
    return (best, *sorted(wide, key=lambda mode: -mode.pixels))


def _by_view(mode: Mode) -> tuple[int, int, int]:
    return -mode.crop_px[2], -mode.crop_px[3], mode.pixels
