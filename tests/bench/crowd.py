"""Sixty-four people watch at once: how soon each screen hears of an event, whether seats starve, what it costs.

The service runs as a process of its own; the viewers are sockets of this one, read by a single thread.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import tempfile
import threading
import time
from pathlib import Path

from bench.bars import PHONE_TO_SCREENS_MS
from bench.figures import Figure
from bench.processes import LOCAL, running_service
from companion.core.kit import Seat
from companion.games import GAMES
from companion.tools.selfplay import Phone

VIEWERS = 64
SLEEPERS = 20
EVENTS = 60
SPACING_S = 0.25
MORE_MEMORY_MB = 30.0
"""So much the service may grow while viewers that do not read sleep through every event."""


class Crowd:
    """Viewers of a live page: `n` connections, of which those that read note when each event reached them."""

    def __init__(self, port: int, n: int, reads: bool = True, path: str = "/live/watch") -> None:
        self._sockets = [_follow(port, reads, path) for _ in range(n)]
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._last_s = [0.0] * n
        self._thread = threading.Thread(target=self._read, daemon=True)
        if reads:
            self._thread.start()

    def _read(self) -> None:
        with selectors.DefaultSelector() as waiting:
            for number, each in enumerate(self._sockets):
                waiting.register(each, selectors.EVENT_READ, number)
            while not self._stop.is_set():
                for key, _ in waiting.select(0.2):
                    data = key.fileobj.recv(262_144)  # type: ignore[union-attr]  # a socket was registered
                    if data:
                        with self._lock:
                            self._last_s[key.data] = time.monotonic()

    def arrivals_since(self, since_s: float, patience_s: float = 5.0) -> list[float]:
        """When every reading viewer had the newest event after a moment; who had none counts as `patience_s` late."""
        end_s = since_s + patience_s
        while True:
            with self._lock:
                last_s = list(self._last_s)
            if min(last_s) >= since_s or time.monotonic() > end_s:
                return [when_s if when_s >= since_s else end_s for when_s in last_s]
            time.sleep(0.005)

    def settle(self) -> None:
        """Wait until everybody has come and has the page: until nothing arrives for half a second."""
        while True:
            with self._lock:
                first_s, newest_s = min(self._last_s), max(self._last_s)
            if first_s > 0 and time.monotonic() - newest_s > 0.5:
                return
            time.sleep(0.05)

    def close(self) -> None:
        """Everybody goes home."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()
        for each in self._sockets:
            each.close()


def _follow(port: int, reads: bool, path: str) -> socket.socket:
    viewer = socket.socket()
    if not reads:
        viewer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    viewer.connect(("127.0.0.1", port))
    viewer.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
    return viewer


def bench_crowd() -> bool:
    """Measure and print it all; answers whether every bound is kept."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        settings = f'{LOCAL}viewers = {VIEWERS + SLEEPERS}\n[camera]\nsource = "none"\n'
        service = stack.enter_context(running_service(Path(folder), settings))
        service.until("/", b"</html>")
        phones = [Phone(f"http://127.0.0.1:{service.port}", seat) for seat in Seat]
        for phone in phones:
            phone.post("take", {"name": "Bench"})
        moment = first_orders(phones)
        crowd = Crowd(service.port, VIEWERS)
        stack.callback(crowd.close)
        crowd.settle()
        seen, answers = _measure(phones[1], crowd, moment)
        before_mb = service.memory_mb()
        sleepers = Crowd(service.port, SLEEPERS, reads=False)
        stack.callback(sleepers.close)
        seen_beside, _ = _measure(phones[1], crowd, moment)
        grown_mb = service.memory_mb() - before_mb
        figures = (
            Figure(
                f"event -> {VIEWERS} spectators",
                seen,
                PHONE_TO_SCREENS_MS.most,
            ),
            Figure("a seat's POST meanwhile", answers, PHONE_TO_SCREENS_MS.most),
            Figure(
                f"event, {SLEEPERS} more do not read",
                seen_beside,
                PHONE_TO_SCREENS_MS.most,
            ),
        )
        for figure in figures:
            print(figure.sentence(), flush=True)
        is_small = grown_mb <= MORE_MEMORY_MB
        verdict = "ok" if is_small else "TOO MUCH"
        print(f"memory: {before_mb:.0f} MB with {VIEWERS} viewers; {SLEEPERS} that do not read add {grown_mb:.1f} MB "
              f"(at most {MORE_MEMORY_MB:.0f})  {verdict}", flush=True)  # fmt: skip
        return is_small and all(figure.is_met() for figure in figures)


def first_orders(phones: list[Phone]) -> str:
    """Begin a game of sealed orders; answers its moment."""
    phones[0].post("start", {"game": next(iter(GAMES))})
    place = phones[0].get("view")
    phones[0].post("confirm", {"moment": place["moment"], "stage": place["stage"], "force": True})
    return str(phones[0].get("view")["moment"])


def _measure(phone: Phone, crowd: Crowd, moment: str) -> tuple[list[float], list[float]]:
    """Milliseconds from a POST to every screen, and to the POST's own answer."""
    seen: list[float] = []
    answers: list[float] = []
    for number in range(EVENTS):
        time.sleep(SPACING_S)
        began_s = time.monotonic()
        if number % 2 == 0:
            phone.post("hand-in", {"moment": moment, "action": "III", "salt": f"{number:032x}"})
        else:
            phone.post("take-back", {"moment": moment})
        answers.append((time.monotonic() - began_s) * 1000)
        seen += [(when_s - began_s) * 1000 for when_s in crowd.arrivals_since(began_s)]
    return seen, answers
