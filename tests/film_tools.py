"""Helper: a film of a rendered table for Chromium's fake camera, which can change while it plays.

The file is in YUV4MPEG2: a header, and then pictures that are not compressed. Here they are a few
pictures of the same table with the noise of a sensor. Chromium plays them again and again, and
reads the file for every picture, so its camera shows every change of the file at once.
"""

from __future__ import annotations

import os
from pathlib import Path

import cv2
import numpy as np

from vision.simulation.table import SimulatedTable

FRAMES_PER_S = 20
# Number of pictures in the film.
FRAMES = 4
# Mark before each picture in the file.
_FRAME = b"FRAME\n"


class Film:
    """The film of a phone's camera above a rendered table."""

    def __init__(
        self, path: Path, world: SimulatedTable, size_px: tuple[int, int] = (1280, 720)
    ) -> None:
        self.path = path
        self.world = world
        self._size_px = size_px
        width, height = size_px
        self._head = f"YUV4MPEG2 W{width} H{height} F{FRAMES_PER_S}:1 Ip A1:1 C420jpeg\n".encode()
        path.write_bytes(self._head + self._frames())

    def flags(self) -> tuple[str, ...]:
        """Return the flags that make a browser use this film as its camera."""
        return (
            "--use-fake-ui-for-media-stream",
            "--use-fake-device-for-media-stream",
            f"--use-file-for-fake-video-capture={self.path}",
            "--ignore-certificate-errors",
        )

    def show(self) -> None:
        """Show the table as it is now, by new pictures at the places of the old ones."""
        file = os.open(self.path, os.O_WRONLY)
        try:
            os.pwrite(file, self._frames(), len(self._head))
        finally:
            os.close(file)

    def _frames(self) -> bytes:
        picture = cv2.resize(self.world.render_bgr(), self._size_px, interpolation=cv2.INTER_AREA)
        planes = cv2.cvtColor(picture, cv2.COLOR_BGR2YUV_I420)
        rng = np.random.default_rng(0)
        frames = b""
        for _ in range(FRAMES):
            noise = rng.integers(-3, 4, planes.shape, np.int16)
            frames += _FRAME + np.clip(planes + noise, 0, 255).astype(np.uint8).tobytes()
        return frames
