"""Letters in pictures, all written by one thread that ends as soon as nobody needs it.

OpenCV 5 loads its fonts for each thread that writes, 6 MB each, and frees them with the thread.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

Picture = NDArray[np.uint8]
T = TypeVar("T")
REST_S = 0.1
"""So long the thread waits for more to write: the letters of a board come one after the other,
loading takes 20 ms."""


class _Letterer:
    """The thread, while there is something to write."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._is_running = False

    def do(self, job: Callable[[], T]) -> T:
        """Have it done there; answers, or raises, what it does."""
        done: Future[T] = Future()
        with self._lock:
            self._jobs.put((done, job))
            if not self._is_running:
                self._is_running = True
                threading.Thread(target=self._run, name="lettering", daemon=True).start()
        return done.result()

    def _run(self) -> None:
        while True:
            try:
                done, job = self._jobs.get(timeout=REST_S)
            except queue.Empty:
                with self._lock:
                    if self._jobs.empty():
                        self._is_running = False
                        return
                continue
            try:
                done.set_result(job())
            except BaseException as error:
                done.set_exception(error)


_LETTERER = _Letterer()


def write(
    picture: Picture,
    text: str,
    at: tuple[int, int],
    scale: float,
    colour: tuple[int, int, int],
    *,
    thick: int,
    font: int = cv2.FONT_HERSHEY_SIMPLEX,
) -> None:
    """Write into an (h, w, 3) picture; `at` is the lower left corner of the first letter, px,
    `thick` in px."""
    _LETTERER.do(lambda: cv2.putText(picture, text, at, font, scale, colour, thick, cv2.LINE_AA))


def size_px(text: str, scale: float, thick: int) -> tuple[int, int]:
    """Width and height of letters above their line."""
    (width, height), _ = _LETTERER.do(
        lambda: cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, scale, thick)
    )
    return width, height
