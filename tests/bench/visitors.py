"""A camera's pictures and viewers of pages, for a service that is measured."""

from __future__ import annotations

import selectors
import socket
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

from bench.pi.guest import shared_pictures
from companion.games import GAMES
from companion.tools.selfplay.people import Phone
from vision.simulation.table import SimulatedTable

# Rate of the camera.
PICTURES_PER_S = 10.0


class TablePainter:
    """Context manager that paints what a camera above the table sees, at a camera's rate."""

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
            next_s += 1 / PICTURES_PER_S
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


def ends_event(text: bytes) -> bool:
    """Return whether a part of a stream ends with the end of an event."""
    return text.endswith((b"\n\n", b"\n\n\r\n"))


class Viewers:
    """Context manager of browsers that each follow a live page and note when its last event came.

    One thread reads all sockets.
    """

    def __init__(self, port: int, pages: Sequence[str]) -> None:
        self._sockets = [follow(port, page) for page in pages]
        self._stop = threading.Event()
        self._last: list[tuple[float, bytes]] = [(0.0, b"")] * len(pages)
        self._thread = threading.Thread(target=self._read, name="viewers", daemon=True)
        self._thread.start()
        self._settle()

    def _read(self) -> None:
        with selectors.DefaultSelector() as waiting:
            for number, viewer in enumerate(self._sockets):
                waiting.register(viewer, selectors.EVENT_READ, number)
            while not self._stop.is_set():
                for key, _ in waiting.select(0.2):
                    data = key.fileobj.recv(262_144)  # type: ignore[union-attr]  # a socket was registered
                    if not data:
                        waiting.unregister(key.fileobj)
                        continue
                    before = self._last[key.data][1]
                    text = data if ends_event(before) else before + data
                    self._last[key.data] = time.monotonic(), text

    def last_since(
        self, since_s: float, shows: Callable[[bytes], bool] = ends_event, patience_s: float = 5.0
    ) -> float:
        """Wait until every viewer's newest event is later than `since_s` and satisfies `shows`.

        Return when the last viewer had it, or infinity after `patience_s`.
        """
        while time.monotonic() < since_s + patience_s:
            last = list(self._last)
            if all(at_s > since_s and shows(text) for at_s, text in last):
                return max(at_s for at_s, _ in last)
            time.sleep(0.002)
        return float("inf")

    def _settle(self) -> None:
        """Wait until every viewer has had an event, and then nothing comes for a second."""
        while True:
            times_s = [at_s for at_s, _ in self._last]
            if min(times_s) > 0 and time.monotonic() - max(times_s) > 1:
                return
            time.sleep(0.1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        for viewer in self._sockets:
            viewer.close()


def follow(port: int, page: str) -> socket.socket:
    """Request the stream of a live page, and return the socket. The first event comes at once."""
    viewer = socket.create_connection(("127.0.0.1", port))
    viewer.sendall(f"GET {page} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
    return viewer


def begin_orders(phones: Sequence[Phone]) -> str:
    """Take both seats and begin a game of sealed orders. Return its moment, such as `1.1`."""
    for phone in phones:
        phone.post("take", {"name": "Bench"})
    phones[0].post("start", {"game": next(iter(GAMES))})
    view = phones[0].get("view")
    if view["phase"] == "setup":
        place = {"moment": view["moment"], "stage": view["stage"], "force": True}
        phones[0].post("confirm", place)
    return str(phones[0].get("view")["moment"])


def toggle_order(phone: Phone, moment: str, number: int) -> None:
    """Hand in an order, and take it back with every second number."""
    if number % 2 == 0:
        phone.post("hand-in", {"moment": moment, "action": "III", "salt": f"{number:032x}"})
    else:
        phone.post("take-back", {"moment": moment})
