"""Helpers: pictures for the camera of a measured service, viewers of its pages, and orders."""

from __future__ import annotations

import selectors
import socket
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

from bench.pi.measured_service import shared_pictures
from companion.games import GAMES
from companion.tools.selfplay.people import Phone
from vision.simulation.table import SimulatedTable

# Rate of the camera. It is that of the settings, too.
PICTURES_PER_S = 10.0


class TablePainter:
    """Context manager of a thread that paints what a camera above the table sees.

    `bench.pi.measured_service.PaintedCamera` reads the pictures from the file `path`.
    """

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
        exposed_s, number = time.monotonic(), int(self._head["number"][0]) + 1
        picture = self.world.render_luma()
        self._pictures[number % 2, : picture.shape[0], : picture.shape[1]] = picture
        self._head["exposed_s"][0, number % 2] = exposed_s
        self._head["number"] = number  # last: now the picture may be read

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


def ends_event(text: bytes) -> bool:
    """Return whether a part of a stream ends with a whole event.

    The second ending is that of an event in a chunk of HTTP.
    """
    return text.endswith((b"\n\n", b"\n\n\r\n"))


class Viewers:
    """Context manager of browsers that each follow a live page and note when its last event came.

    One thread reads all sockets.
    """

    def __init__(self, port: int, pages: Sequence[str]) -> None:
        self._sockets = [follow(port, page) for page in pages]
        self._stop = threading.Event()
        # for each viewer: when it last received something, and its newest event so far
        self._newest: list[tuple[float, bytes]] = [(0.0, b"")] * len(pages)
        self._thread = threading.Thread(target=self._read, name="viewers", daemon=True)
        self._thread.start()
        self._wait_for_rest()

    def _read(self) -> None:
        with selectors.DefaultSelector() as selector:
            for number, viewer in enumerate(self._sockets):
                selector.register(viewer, selectors.EVENT_READ, number)
            while not self._stop.is_set():
                for key, _ in selector.select(0.2):
                    data = key.fileobj.recv(262_144)  # type: ignore[union-attr]  # a socket was registered
                    if not data:
                        selector.unregister(key.fileobj)
                        continue
                    before = self._newest[key.data][1]
                    text = data if ends_event(before) else before + data
                    self._newest[key.data] = time.monotonic(), text

    def wait_for_event(
        self,
        since_s: float,
        is_expected: Callable[[bytes], bool] = ends_event,
        timeout_s: float = 5.0,
    ) -> float:
        """Wait until every viewer's newest event is later than `since_s` and the expected one.

        Return when the last viewer had it, or infinity after `timeout_s`.
        """
        while time.monotonic() < since_s + timeout_s:
            newest = list(self._newest)
            if all(at_s > since_s and is_expected(text) for at_s, text in newest):
                return max(at_s for at_s, _ in newest)
            time.sleep(0.002)
        return float("inf")

    def _wait_for_rest(self) -> None:
        """Wait until every viewer has had an event, and nothing has come for a second."""
        while True:
            times_s = [at_s for at_s, _ in self._newest]
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
    """Hand in an order if the number is even, else take it back."""
    if number % 2 == 0:
        phone.post("hand-in", {"moment": moment, "action": "III", "salt": f"{number:032x}"})
    else:
        phone.post("take-back", {"moment": moment})
