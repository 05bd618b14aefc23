"""Who is around the service under the quota, and takes none of it: the painter of its pictures, and its viewers."""

from __future__ import annotations

import selectors
import socket
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

from bench.pi.guest import shared_pictures
from vision.simulation.table import SimulatedTable

RATE = 10.0
"""Pictures a second."""


class Painter:
    """Paints what a camera above the table sees, at a camera's rate; a context manager."""

    def __init__(self, world: SimulatedTable, path: Path) -> None:
        self.world = world
        self._head, self._pictures = shared_pictures(path, world.size_px(), "w+")
        self._stop = threading.Event()
        self._paint()
        self._thread = threading.Thread(target=self._run, name="painter", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        next_s = time.monotonic()
        while not self._stop.wait(max(0.0, next_s - time.monotonic())):
            next_s += 1 / RATE
            self._paint()

    def _paint(self) -> None:
        at_s, number = time.monotonic(), int(self._head["number"][0]) + 1
        picture = self.world.render_luma()
        self._pictures[number % 2, : picture.shape[0], : picture.shape[1]] = picture
        self._head["at_s"], self._head["number"] = at_s, number

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


class Viewers:
    """Browsers that follow a live page each and note when each piece of it came; a context manager."""

    def __init__(self, port: int, pages: Sequence[str]) -> None:
        self._sockets = [_follow(port, page) for page in pages]
        self._stop = threading.Event()
        self._came = threading.Condition()
        self._last: list[tuple[float, bytes]] = [(0.0, b"")] * len(pages)
        self._thread = threading.Thread(target=self._read, name="viewers", daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with selectors.DefaultSelector() as waiting:
            for number, each in enumerate(self._sockets):
                waiting.register(each, selectors.EVENT_READ, number)
            while not self._stop.is_set():
                for key, _ in waiting.select(0.2):
                    data = key.fileobj.recv(262_144)  # type: ignore[union-attr]  # a socket was registered
                    at_s = time.monotonic()
                    if not data:
                        waiting.unregister(key.fileobj)
                        continue
                    with self._came:
                        before = self._last[key.data][1]
                        self._last[key.data] = at_s, data if _is_whole(before) else before + data
                        self._came.notify_all()

    def all_since(
        self, since_s: float, is_it: Callable[[bytes], bool], patience_s: float = 5.0
    ) -> float:
        """When the last of all viewers had what `is_it` looks for, after a moment; infinite where one never had."""
        with self._came:
            shown = self._came.wait_for(
                lambda: all(at_s > since_s and is_it(it) for at_s, it in self._last), patience_s
            )
            return max(at_s for at_s, _ in self._last) if shown else float("inf")

    def settle(self) -> None:
        """Wait until everybody has a page and nothing comes for a second."""
        while True:
            with self._came:
                times_s = [at_s for at_s, _ in self._last]
            if min(times_s) > 0 and time.monotonic() - max(times_s) > 1:
                return
            time.sleep(0.1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        for each in self._sockets:
            each.close()


def _is_whole(told: bytes) -> bool:
    """Does it end with the end of an event?"""
    return told.endswith((b"\n\n", b"\n\n\r\n"))


def _follow(port: int, page: str) -> socket.socket:
    viewer = socket.create_connection(("127.0.0.1", port))
    viewer.sendall(f"GET {page} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
    return viewer
