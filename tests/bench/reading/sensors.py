"""Helpers: rooms with unsteady light, and sensors with noise and the codec of a webcam.

A table lies still, but no two frames of a camera are the same. `Sensor` makes such frames from one
clean picture. Each frame is

1. lit, more or less brightly, also row by row,
2. made noisy,
3. smoothed over time as webcams do, and
4. encoded as JPEG and decoded again, so that the steps between its blocks of 8 x 8 pixels flicker
   with the noise.

`CameraView.noise` and `CameraView.jpeg_quality`, in contrast, do not change from frame to frame.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from random import Random

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.detection.markers import Luma

# Brightness of white paper, of 255, to which `Room.noise` refers.
_WHITE = 230.0
# At a change of brightness of this size, the filter of a webcam smooths half as much as it does if
# nothing changes: it may be noise or a movement.
_GHOST_CHANGE = 14.0


@dataclass(frozen=True)
class Room:
    """The light of a room, and the sensor of the camera in it."""

    noise: float = 1.5
    """Standard deviation of the noise on white paper in full light, of 255."""
    shot: float = 0.5
    """Share of the variance of the noise that is in proportion to the light. The rest is the same
    in the dark."""
    light: float = 1.0
    """Factor of the brightness."""
    flicker: float = 0.0
    """Largest share of the light that lamps on alternating current lose, in the whole picture."""
    bands: float = 0.0
    """Largest share of the light that they lose in single rows, because rows are exposed in
    turn."""
    band_period_share: float = 0.3
    """Period of the bands, as a share of the picture's height."""
    beat: float = 0.37
    """By how many periods the phase of the lamps advances from frame to frame."""
    jitter: float = 0.0
    """Standard deviation of the exposure from frame to frame, as a share of the exposure."""
    drift: float = 0.0
    """Share of the light that is lost until the hundredth frame."""
    smoothing: float = 0.0
    """Weight of the previous frame in the filter of a webcam, where nothing changes."""
    quality: int | None = None
    """Quality of the JPEG codec, or None if frames are not encoded."""


class Sensor:
    """Makes the frames of a camera from clean pictures of one size.

    They are the same in every run.
    """

    def __init__(self, room: Room, seed: int) -> None:
        self.room = room
        self._rng = np.random.default_rng(seed)
        self._before: NDArray[np.float32] | None = None
        self._frame_count = 0
        self._phase = float(self._rng.random())

    def frame(self, luma: Luma) -> Luma:
        """Return the next frame, (height, width), of a scene.

        `luma` is its picture (height, width) in steady light and without noise.
        """
        room = self.room
        lit = luma.astype(np.float32) * self._lighting(luma.shape[0])
        noisy = lit + self._noise(lit) if room.noise else lit
        if room.smoothing:
            noisy = self._smoothed(noisy)
        picture = np.asarray(noisy.round().clip(0, 255), np.uint8)
        self._frame_count += 1
        if room.quality is None:
            return picture
        data = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, room.quality])[1]
        return np.asarray(cv2.imdecode(data, cv2.IMREAD_GRAYSCALE), np.uint8)

    def _lighting(self, rows: int) -> NDArray[np.float32]:
        """Return (rows, 1): the factor of the light of each row in this frame."""
        room = self.room
        phase = self._phase + room.beat * self._frame_count
        # of the whole picture
        factor = room.light * (1 - room.drift * min(1.0, self._frame_count / 100))
        factor *= 1 - room.flicker * (0.5 + 0.5 * math.sin(2 * math.pi * phase))
        factor *= 1 + room.jitter * float(self._rng.standard_normal())
        wave = np.sin(2 * np.pi * (np.arange(rows) / (room.band_period_share * rows) + phase))
        return (factor * (1 - room.bands * (0.5 + 0.5 * wave)))[:, None].astype(np.float32)

    def _noise(self, lit: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the noise of each pixel, which is stronger where there is more light."""
        room = self.room
        variance = (1 - room.shot) + room.shot * lit / _WHITE
        normal = self._rng.standard_normal(lit.shape, np.float32)
        return np.asarray(normal * room.noise * np.sqrt(variance), np.float32)

    def _smoothed(self, noisy: NDArray[np.float32]) -> NDArray[np.float32]:
        """Mix the frame with the one before, as webcams do against noise.

        Small changes, which are mostly noise, fade in slowly. Large changes are shown at once.
        """
        if self._before is None or self._before.shape != noisy.shape:
            self._before = noisy
        change = noisy - self._before
        weight = self.room.smoothing / (1 + (change / _GHOST_CHANGE) ** 2)
        self._before = np.asarray(noisy - weight * change, np.float32)
        return self._before


# ---- rooms, by condition -------------------------------------------------------------------------


def _between(low: float, high: float, share: float) -> float:
    return low + (high - low) * share


def _dim(share: float) -> Room:
    """Return a room with 100 % to 18 % of the light.

    The darker it is, the noisier is the picture.
    """
    light = _between(1.0, 0.18, share)
    return Room(light=light, noise=_between(2.0, 8.0, share), shot=0.3)


# For each condition: a function that makes a room. Its first argument says how severe the condition
# is, from 0 (harmless) to 1.
RANGES: Mapping[str, Callable[[float, Random], Room]] = {
    "noise": lambda share, _: Room(noise=_between(0.0, 14.0, share), shot=0.0),
    "shot noise": lambda share, _: Room(noise=_between(0.0, 14.0, share), shot=0.9),
    "low light": lambda share, _: _dim(share),
    "jpeg": lambda share, rng: Room(
        noise=rng.uniform(1.0, 4.0), quality=round(_between(90, 15, share))
    ),
    "flicker": lambda share, rng: Room(
        noise=2.0, flicker=_between(0.02, 0.2, share), beat=rng.uniform(0.02, 0.5)
    ),
    "bands": lambda share, rng: Room(
        noise=2.0,
        bands=_between(0.02, 0.2, share),
        band_period_share=rng.uniform(0.25, 0.7),
        beat=rng.uniform(0.02, 0.98),
    ),
    "exposure": lambda share, _: Room(noise=2.0, jitter=_between(0.005, 0.05, share)),
    "drift": lambda share, _: Room(noise=2.0, drift=_between(0.1, 0.6, share)),
    "webcam": lambda share, rng: Room(
        noise=_between(2.0, 10.0, share),
        smoothing=rng.uniform(0.5, 0.9),
        quality=rng.choice((None, 80, 55)),
    ),
    "mixed": lambda _, rng: mixed_room(rng),
}


def mixed_room(rng: Random) -> Room:
    """Return a random mixture of noise, darkness, a codec and unsteady light.

    Each of them is anywhere in its range, or left out.
    """
    room = _dim(rng.random()) if rng.random() < 0.5 else Room(noise=rng.uniform(0, 8))
    if rng.random() < 0.7:
        room = replace(room, quality=round(rng.uniform(15, 90)))
    if rng.random() < 0.5:
        flicker, bands = rng.uniform(0, 0.1), rng.uniform(0, 0.1)
        room = replace(room, flicker=flicker, bands=bands, beat=rng.uniform(0.02, 0.98))
    return replace(
        room,
        shot=rng.uniform(0, 0.9),
        jitter=rng.choice((0.0, rng.uniform(0, 0.02))),
        drift=rng.choice((0.0, rng.uniform(0, 0.4))),
        smoothing=rng.choice((0.0, 0.0, rng.uniform(0.3, 0.8))),
    )
