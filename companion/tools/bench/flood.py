"""One address asks without end on four connections: how soon a seat's POST is answered meanwhile.

The flood comes from another address of this machine than the seat, so that neither is taken for its own screen; it
runs in a process of its own, as fast as answers come.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import multiprocessing
import select
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.synchronize import Event

from companion.games import GAMES
from companion.tools.bench.crowd import running_service
from companion.tools.bench.doors import health_ms
from companion.tools.bench.figures import Figure

CONNECTIONS = 4
POSTS = 200
SPACING_S = 0.02
POST_MS = 100.0
FLOODER, SEATS = "127.0.0.66", {"south": "127.0.0.10", "north": "127.0.0.11"}
PAGE = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
SHEETS = b"GET /kit/outbuffered.pdf HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


def bench_flood() -> bool:
    """Measure and print it all; answers whether the bound is kept."""
    good = True
    with running_service() as service:
        seats = {seat: Seated(service.port, seat, address) for seat, address in SEATS.items()}
        moment = _first_orders(seats["south"])
        peer_ms = health_ms(service.port)
        quiet = _posts(seats["north"], moment)
        figures = [Figure("a seat's POST, nobody else", quiet, "GET /health", peer_ms, POST_MS)]
        for what, asked in (("pages", PAGE), ("sheets as PDF", SHEETS)):
            with flood(service.port, asked):
                figures.append(
                    Figure(
                        f"one address floods: {what}", _posts(seats["north"], moment), "GET /health", peer_ms, POST_MS
                    )
                )
        for seat in seats.values():
            seat.close()
    for figure in figures:
        print(figure.sentence(), flush=True)
        good &= figure.is_met()
    return good


class Seated:
    """A phone at a seat, on one connection from an address of its own."""

    def __init__(self, port: int, seat: str, address: str) -> None:
        self._seat = seat
        self._line = http.client.HTTPConnection("127.0.0.1", port, timeout=30, source_address=(address, 0))
        self._cookie = ""
        self.ask("take", {"name": "Bench"})

    def ask(self, door: str, body: dict[str, object] | None = None) -> dict[str, object]:
        """POST to the seat, or without a body look at it; raises RuntimeError when it is refused."""
        headers = {"Content-Type": "application/json", "Cookie": self._cookie}
        path = f"/api/seat/{self._seat}/{door}"
        self._line.request(
            "GET" if body is None else "POST", path, json.dumps(body) if body is not None else None, headers
        )
        answer = self._line.getresponse()
        told: dict[str, object] = json.loads(answer.read())
        if answer.status != 200:
            raise RuntimeError(f"{path}: {told}")
        self._cookie = (answer.getheader("Set-Cookie") or self._cookie).partition(";")[0]
        return told

    def close(self) -> None:
        """Hang up."""
        self._line.close()


@contextmanager
def flood(port: int, asked: bytes) -> Iterator[None]:
    """Meanwhile an address asks for this again and again on every one of its connections."""
    end = multiprocessing.get_context("spawn").Event()
    begun = multiprocessing.get_context("spawn").Event()
    process = multiprocessing.get_context("spawn").Process(target=_flood, args=(port, asked, begun, end), daemon=True)
    process.start()
    begun.wait(30)
    try:
        yield
    finally:
        end.set()
        process.join(20)


def _flood(port: int, asked: bytes, begun: Event, end: Event) -> None:
    """The flooding process: keeps every connection full of requests, and opens those anew that are closed."""
    lines: list[socket.socket] = []
    while not end.is_set():
        while len(lines) < CONNECTIONS:
            line = socket.create_connection(("127.0.0.1", port), timeout=10, source_address=(FLOODER, 0))
            line.setblocking(False)
            lines.append(line)
        for line in list(lines):
            try:
                with contextlib.suppress(BlockingIOError):
                    line.send(asked)
                with contextlib.suppress(BlockingIOError):
                    if not line.recv(1 << 20):
                        raise ConnectionResetError
            except OSError:
                line.close()
                lines.remove(line)
        begun.set()
        select.select(lines, [], [], 0.005)
    for line in lines:
        line.close()


def _first_orders(seat: Seated) -> str:
    """Begin a game of sealed orders; answers its moment."""
    seat.ask("start", {"game": next(iter(GAMES))})
    place = seat.ask("view")
    seat.ask("confirm", {"moment": place["moment"], "stage": place["stage"], "force": True})
    return str(seat.ask("view")["moment"])


def _posts(seat: Seated, moment: str) -> list[float]:
    """Milliseconds until each order of a seat is sealed, or taken back."""
    acts: tuple[Callable[[int], object], ...] = (
        lambda number: seat.ask("hand-in", {"moment": moment, "action": "III", "salt": f"{number:032x}"}),
        lambda _: seat.ask("take-back", {"moment": moment}),
    )
    times = []
    for number in range(POSTS):
        time.sleep(SPACING_S)
        began_s = time.monotonic()
        acts[number % 2](number)
        times.append((time.monotonic() - began_s) * 1000)
    return times
