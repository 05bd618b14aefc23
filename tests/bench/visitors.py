"""Helpers: pictures for the camera of a measured service, viewers of its pages, and orders."""

from __future__ import annotations

import selectors
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.pi.measured_service import shared_pictures
from companion.core.ports import Closeable
from companion.games import GAMES
from companion.tools.selfplay.people import Phone
from vision.simulation.table import SimulatedTable

# Rate of the camera's pictures. The settings of the measured service have it, too.
PICTURES_PER_S = 10.0


class TablePainter(Closeable):
    """A thread that paints what a camera above the table sees. A context manager.

    It paints into the file `path`, from which `PaintedCamera` (`bench.pi.measured_service`) reads
    the pictures.
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
        """Paint the next picture into the slot that is not being read."""
        exposed_at_s, number = time.monotonic(), int(self._head["number"][0]) + 1
        picture = self.world.render_luma()
        self._pictures[number % 2, : picture.shape[0], : picture.shape[1]] = picture
        self._head["exposed_at_s"][0, number % 2] = exposed_at_s
        # The number comes last, because from now on the picture may be read.
        self._head["number"] = number

    def close(self) -> None:
        """Stop painting."""
        self._stop.set()
        self._thread.join()


def ends_event(text: bytes) -> bool:
    """Return whether this part of a stream ends with the end of an event.

    In a chunked answer (HTTP/1.1) a line break follows that end.
    """
    return text.endswith((b"\n\n", b"\n\n\r\n"))


class Viewers(Closeable):
    """Viewers that follow live pages, one each. A context manager.

    A single thread reads the streams of all viewers, and notes the newest event of each and when it
    came. The object is ready when every viewer has its first event and nothing more comes.
    """

    def __init__(self, port: int, pages: Sequence[str]) -> None:
        self._sockets = [follow(port, page) for page in pages]
        self._stop = threading.Event()
        # for each viewer: when it last received something, and what it has of its newest event
        self._newest: list[tuple[float, bytes]] = [(0.0, b"")] * len(pages)
        self._thread = threading.Thread(target=self._read, name="viewers", daemon=True)
        self._thread.start()
        self._wait_for_rest()

    def _read(self) -> None:
        with selectors.DefaultSelector() as selector:
            for index, viewer in enumerate(self._sockets):
                selector.register(viewer, selectors.EVENT_READ, index)
            while not self._stop.is_set():
                for key, _ in selector.select(0.2):
                    data = key.fileobj.recv(262_144)  # type: ignore[union-attr]  # a socket was registered
                    if not data:
                        selector.unregister(key.fileobj)
                        continue
                    # after a whole event, these bytes begin the next one
                    _, before = self._newest[key.data]
                    text = data if ends_event(before) else before + data
                    self._newest[key.data] = time.monotonic(), text

    def wait_for_event(
        self,
        since_s: float,
        is_expected: Callable[[bytes], bool] = ends_event,
    ) -> float:
        """Wait until the newest event of every viewer is later than `since_s` and the expected one.

        Return the moment at which the last viewer had its event, or infinity after 5 s.
        """
        while time.monotonic() < since_s + 5.0:
            newest = list(self._newest)
            if all(at_s > since_s and is_expected(text) for at_s, text in newest):
                return max(at_s for at_s, _ in newest)
            time.sleep(0.002)
        return float("inf")

    def _wait_for_rest(self) -> None:
        """Wait until every viewer has received an event, and nothing more has come for a second."""
        while True:
            times_s = [at_s for at_s, _ in self._newest]
            if min(times_s) > 0 and time.monotonic() - max(times_s) > 1:
                return
            time.sleep(0.1)

    def close(self) -> None:
        """Stop reading, and hang up."""
        self._stop.set()
        self._thread.join()
        for viewer in self._sockets:
            viewer.close()


def follow(port: int, page: str) -> socket.socket:
    """Request the stream of a live page, and return the socket.

    The server sends the first event at once.
    """
    viewer = socket.create_connection(("127.0.0.1", port))
    viewer.sendall(f"GET {page} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
    return viewer


def begin_orders(phones: Sequence[Phone]) -> str:
    """Take both seats and begin a game of sealed orders, without its set-up.

    Return the moment of its first decision, such as `1.1`.
    """
    for phone in phones:
        phone.post("take", {"name": "Bench"})
    phones[0].post("start", {"game": next(iter(GAMES))})
    view = phones[0].get("view")
    if view["phase"] == "setup":
        confirm_stage(phones[0], view)
    return str(phones[0].get("view")["moment"])


def confirm_stage(phone: Phone, view: Mapping[str, Any]) -> None:
    """Confirm that hands have carried out this stage of the view, whatever the camera sees."""
    phone.post("confirm", {"moment": view["moment"], "stage": view["stage"], "force": True})


def toggle_order(phone: Phone, moment: str, index: int) -> None:
    """Hand in orders if the index is even, and take them back if it is odd.

    Either changes the pages of all viewers. "III" is Outbuffered's notation for three times I.
    """
    if index % 2 == 0:
        phone.hand_in(moment, "III", salt=index)
    else:
        phone.post("take-back", {"moment": moment})
