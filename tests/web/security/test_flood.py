"""Somebody who asks without end, connects without end or never finishes: a seat and the host are
answered all the same.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from service import until
from web_fixtures import HOST_KEY, WebRig
from werkzeug.exceptions import ServiceUnavailable

from companion.core.clock import FakeClock
from companion.core.kit import Seat
from web.security.rate_limit import MEMBER_RATE, STRANGER_RATE, RequestLimits, TooManyRequests
from web.server import server as listening
from web.server.server import Server, open_server
from web.server.sse import (
    MAX_SEAT_STREAMS_PER_ADDRESS,
    OWN_SCREEN_PLACES,
    RESERVED_PLACES,
    Streams,
    TooManyViewers,
)
from web.server.sse import Audience as Kind
from web.server.worker import MAX_WAITING, MAX_WAITING_PER_ADDRESS, Worker

BAD, SEATED, OTHER = "192.0.2.66", "192.0.2.10", "192.0.2.77"
LOCAL = {BAD: "127.0.0.66", SEATED: "127.0.0.10"}


def token(rig: WebRig, seat: str) -> dict[str, str]:
    """Return the cookies of a browser that has that seat."""
    browser = rig.sit(seat)
    cookie = rig.cookie(browser, f"seat_{seat}")
    assert cookie
    return {cookie.key: cookie.value}


# ---- how often somebody may ask ------------------------------------------------------------------


class Asking:
    """Requests to one set of limits."""

    def __init__(self, rig: WebRig) -> None:
        self.clock = FakeClock()
        self._app = rig.app
        self._limits = RequestLimits(rig.app.extensions["auth"].requester, self.clock.monotonic_s)

    def count_served(self, times: int, address: str, cookies: dict[str, str] | None = None) -> int:
        """Return how many of so many requests are let through."""
        count = 0
        header = "; ".join(f"{name}={value}" for name, value in (cookies or {}).items())
        with self._app.test_request_context(
            environ_base={"REMOTE_ADDR": address}, headers={"Cookie": header}
        ):
            for _ in range(times):
                with contextlib.suppress(TooManyRequests):
                    self._limits.check()
                    count += 1
        return count


def test_a_flood_is_refused_but_no_seat(rig: WebRig) -> None:
    south, north, asking = token(rig, "south"), token(rig, "north"), Asking(rig)
    assert asking.count_served(2_000, BAD) == STRANGER_RATE.burst
    assert asking.count_served(20, BAD, south) == 20, "behind the same router"
    assert asking.count_served(20, OTHER) == 20
    assert asking.count_served(2_000, "127.0.0.1") == 2_000, "the machine's own screen"
    assert asking.count_served(1000, SEATED, south) == MEMBER_RATE.burst - 20
    assert asking.count_served(1, BAD, north) == 1, "a seat that floods leaves the other alone"
    rig.table.free_seat(Seat.NORTH)
    for worthless in (north, {"seat_south": "WyJzb3V0aCJd.x"}, {"host": HOST_KEY}):
        assert asking.count_served(1, BAD, worthless) == 0
    asking.clock.advance(1)
    assert asking.count_served(1000, BAD) == STRANGER_RATE.per_s


def test_one_address_never_fills_the_workers_queue(rig: WebRig) -> None:
    worker, go_on, refused = Worker(), threading.Event(), []

    def ask(address: str) -> None:
        with rig.app.test_request_context(environ_base={"REMOTE_ADDR": address}):
            try:
                worker.run(go_on.wait)
            except ServiceUnavailable:
                refused.append(address)

    others = [f"192.0.2.{number}" for number in range(100, 100 + MAX_WAITING)]
    addresses = [*[BAD] * (MAX_WAITING_PER_ADDRESS + 2), *others]
    askers = [threading.Thread(target=ask, args=(address,)) for address in addresses]
    for asker in askers:
        asker.start()
    until("the refusals", lambda: len(refused) == 2 + MAX_WAITING_PER_ADDRESS)
    go_on.set()
    for asker in askers:
        asker.join()
    worker.close()
    assert refused.count(BAD) == 2


# ---- places to follow the table ------------------------------------------------------------------


def follow(rig: WebRig, kind: Kind, address: str, times: int) -> list[Any]:
    """Open and return as many streams as the address gets."""
    streams: Streams = rig.app.extensions["streams"]
    held = []
    for _ in range(times):
        with rig.app.test_request_context(environ_base={"REMOTE_ADDR": address}):
            try:
                held.append(streams.stream_changes(rig.table, lambda: "", kind))
            except TooManyViewers:
                break
    return held


def test_one_address_never_takes_all_places(rig: WebRig) -> None:
    held = []
    for kind, address, wanted, places in (
        (Kind.SPECTATOR, BAD, 50, 12),
        (Kind.SPECTATOR, BAD, 1, 0),
        (Kind.TABLE, BAD, 50, RESERVED_PLACES[Kind.TABLE] - OWN_SCREEN_PLACES),
        (Kind.SEAT, BAD, 50, MAX_SEAT_STREAMS_PER_ADDRESS),
        (Kind.SPECTATOR, OTHER, 50, 4),
        (Kind.TABLE, "127.0.0.1", 1, 1),
        (Kind.SEAT, SEATED, 3, 3),
    ):
        streams = follow(rig, kind, address, wanted)
        assert len(streams) == places, (kind, address)
        held += streams
    for stream in held:
        stream.close()
    assert not rig.app.extensions["streams"].taken_places, "nothing is remembered of who has left"


# ---- over the network ----------------------------------------------------------------------------


@pytest.fixture
def server(rig: WebRig) -> Iterator[Server]:
    with open_server(rig.app, "127.0.0.1", 0) as running:
        running.start()
        yield running


def connect(server: Server, address: str) -> socket.socket:
    """Connect from an address of this machine that is not that of its own screen."""
    return socket.create_connection(
        ("127.0.0.1", server.port), timeout=60, source_address=(LOCAL[address], 0)
    )


def is_cut(line: socket.socket) -> bool:
    """Return whether the server has hung up."""
    try:
        return line.recv(16) == b""
    except ConnectionResetError:
        return True


def test_a_trickling_request_is_cut_off(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "REQUEST_TIMEOUT_S", 0.3)
    with connect(server, BAD) as slow:
        slow.sendall(b"GET / HTTP/1.1\r\nHost: ")

        def is_over() -> bool:
            try:
                slow.sendall(b"x")
            except OSError:
                return True
            return False

        until("the cut", is_over)


@pytest.mark.parametrize(
    ("request_head", "status"),
    [
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 40_000 + b"\r\n\r\n", b"431"),
        (
            b"POST /join/south HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900000000\r\n\r\n",
            b"413",
        ),
        (
            b"POST /join/south HTTP/1.1\r\nHost: localhost\r\n"
            b"Content-Type: application/x-www-form-urlencoded\r\n"
            b"Content-Length: 20000\r\n\r\n" + b"x" * 20_000,
            b"413",
        ),
        (b"\x16\x03\x01\x02\x00\x01", b""),
    ],
    ids=["header", "body", "form", "greeting"],
)
def test_too_much_is_refused(server: Server, request_head: bytes, status: bytes) -> None:
    """And a TLS greeting is hung up on at once."""
    with connect(server, BAD) as line:
        line.sendall(request_head)
        assert line.recv(64)[9:12] == status


def test_an_address_has_two_uploads_at_once(server: Server) -> None:
    head = b"POST /settings/restore HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50000000\r\n\r\n"
    lines = [connect(server, BAD) for _ in range(3)]
    for count, line in enumerate(lines[:2], start=1):
        line.sendall(head + b"x" * 200_000)
        until("an upload", lambda count=count: len(server.listener.uploads) == count)
    with contextlib.suppress(OSError):
        lines[2].sendall(head + b"x" * 200_000)
    assert is_cut(lines[2])
    lines.append(connect(server, SEATED))
    lines[3].sendall(head + b"x" * 200_000)
    until("another address's", lambda: len(server.listener.uploads) == 3)
    for line in lines:
        line.close()
    until("all to be forgotten", lambda: not server.listener.uploads)


def test_connections_of_an_address_are_limited(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server.listener, "max_per_address", 2)
    lines = [connect(server, BAD) for _ in range(2)]
    until("two connections", lambda: server.listener.count_of(LOCAL[BAD]) == 2)
    with connect(server, BAD) as more:
        assert is_cut(more)
    with connect(server, SEATED) as seat:
        seat.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert seat.recv(12) == b"HTTP/1.1 200"
    for line in lines:
        line.close()
    until("their end", lambda: server.listener.count_of(LOCAL[BAD]) == 0)
