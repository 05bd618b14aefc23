"""The AprilTag library in a process of its own, because it breaks the memory of whoever loads it.

pupil-apriltags 1.0.4.post11 does so twice. `Detector.detect` counts a table of pointers in bytes
(`do_gradient_clusters` writes 8 bytes into a block of `malloc(3)`), and `Detector.__del__` destroys the tag family
before the detector, which then frees and writes what the family held. glibc says "corrupted size vs. prev_size" much
later, or at the end of the program. `tests/vision/test_heap.py` has the smallest programs that show both.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import struct
import subprocess
import sys
from importlib.util import find_spec
from typing import IO

import numpy as np
from numpy.typing import NDArray

Luma = NDArray[np.uint8]
TRIES = 2
"""So often a picture is shown to the library, which may break down at it."""
_ALLOCATOR = ("LD_PRELOAD", "MALLOC_", "GLIBC_TUNABLES")
_HEAD = struct.Struct("<II")
_CHILD = """
import json, os, struct, sys
import numpy as np
from pupil_apriltags import Detector
detector = Detector(families="tag36h11", nthreads=1, quad_decimate=1.0)
while head := sys.stdin.buffer.read(8):
    height, width = struct.unpack("<II", head)
    luma = np.frombuffer(sys.stdin.buffer.read(height * width), np.uint8).reshape(height, width)
    found = [(int(tag.tag_id), np.asarray(tag.corners, float).tolist()) for tag in detector.detect(luma)]
    print(json.dumps(found), flush=True)
os._exit(0)
"""

LEAST_PX = 8
"""A tag has so many cells a side. In a picture of one pixel the library has looked for ever, now and then."""


class AprilTags:
    """The library's detector for 36h11 at full resolution in one thread; `close` may be called twice."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        atexit.register(self.close)

    @staticmethod
    def is_installed() -> bool:
        """Can it be measured here?"""
        return find_spec("pupil_apriltags") is not None

    def find(self, luma: Luma) -> list[tuple[int, NDArray[np.float64]]]:
        """Number and (4, 2) corners, px, of every tag in a picture (h, w); none where the library breaks down."""
        if min(luma.shape) < LEAST_PX:
            return []
        for _ in range(TRIES):
            with contextlib.suppress(OSError, ValueError):  # it is gone, or its answer is not whole
                return [(number, np.array(corners, np.float64)) for number, corners in self._asked(luma)]
            self.close()
        return []

    def _asked(self, luma: Luma) -> list[tuple[int, list[list[float]]]]:
        to, back = self._pipes()
        to.write(_HEAD.pack(*luma.shape) + luma.tobytes())
        to.flush()
        found: list[tuple[int, list[list[float]]]] = json.loads(back.readline())
        return found

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        """Where the process is asked and where it answers; it begins with the first picture."""
        if self._process is None:
            environment = {name: value for name, value in os.environ.items() if not name.startswith(_ALLOCATOR)}
            self._process = subprocess.Popen(
                [sys.executable, "-c", _CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
            )
        to, back = self._process.stdin, self._process.stdout
        assert to is not None
        assert back is not None
        return to, back

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):  # what was to be written is nobody's any more
                if pipe:
                    pipe.close()
