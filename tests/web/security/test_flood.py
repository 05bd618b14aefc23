"""Tests of the limits per address on requests, streams and connections.

Seats and the owner are answered while another client floods the service, or sends a request that
never ends. Limits on requests and streams are tested in process. Limits on connections are tested
over sockets of a real server.
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
    Audience,
    Streams,
    TooManyViewers,
)
from web.server.worker import MAX_WAITING, MAX_WAITING_PER_ADDRESS, Worker

# Addresses of a client that floods the service, of a player's phone, and of another guest.
FLOODER = "192.0.2.66"
SEATED = "192.0.2.10"
OTHER = "192.0.2.77"
# Loopback addresses that stand for two of them on real connections.
LOOPBACK = {FLOODER: "127.0.0.66", SEATED: "127.0.0.10"}


def seat_cookie(rig: WebRig, seat: str) -> dict[str, str]:
    """Return name and value of the cookie of a browser that has taken the seat."""
    browser = rig.sit(seat)
    cookie = rig.cookie(browser, f"seat_{seat}")
    assert cookie
    return {cookie.key: cookie.value}


# ---- requests ------------------------------------------------------------------------------------


class LimitedRequests:
    """Requests that are counted by one `RequestLimits`, on a fake clock of its own."""

    def __init__(self, rig: WebRig) -> None:
        self.clock = FakeClock()
        self._app = rig.app
        self._limits = RequestLimits(rig.app.extensions["auth"].requester, self.clock.monotonic_s)

    def count_served(self, times: int, address: str, cookies: dict[str, str] | None = None) -> int:
        """Send a number of requests from an address. Return how many of them are let through."""
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


def test_a_flood_is_refused_but_seats_are_served(rig: WebRig) -> None:
    south = seat_cookie(rig, "south")
    north = seat_cookie(rig, "north")
    requests = LimitedRequests(rig)

    # a stranger floods the service: a seat at the same address, and others, are still served
    assert requests.count_served(2_000, FLOODER) == STRANGER_RATE.burst
    assert requests.count_served(20, FLOODER, south) == 20, (
        "a seat must not share the flooder’s limit"
    )
    assert requests.count_served(20, OTHER) == 20
    assert requests.count_served(2_000, "127.0.0.1") == 2_000, (
        "the machine’s own screen must not be limited"
    )

    # a seat floods the service from two addresses: the other seat is still served
    assert requests.count_served(1000, SEATED, south) == MEMBER_RATE.burst - 20
    assert requests.count_served(1, FLOODER, north) == 1, (
        "a seat that floods must not use up the other seat’s requests"
    )

    # the flooder gets no more with cookies of a freed seat, with a wrong signature, or without one
    rig.table.free_seat(Seat.NORTH)
    for cookies in (north, {"seat_south": "WyJzb3V0aCJd.x"}, {"host": HOST_KEY}):
        assert requests.count_served(1, FLOODER, cookies) == 0

    # a second later the flooder is served a little again
    requests.clock.advance(1)
    assert requests.count_served(1000, FLOODER) == STRANGER_RATE.per_s


def test_one_address_never_fills_the_workers_queue(rig: WebRig) -> None:
    """The worker makes one picture or PDF at a time. One address must not make all others wait."""
    worker = Worker()
    finish = threading.Event()
    refused = []

    def send_request(address: str) -> None:
        with rig.app.test_request_context(environ_base={"REMOTE_ADDR": address}):
            try:
                worker.run(finish.wait)
            except ServiceUnavailable:
                refused.append(address)

    # The flooder sends 8 requests: 6 get places, of which there are 12, and 2 are refused. Of the
    # 12 others, each with an address of its own, 6 get the remaining places and 6 are refused.
    others = [f"192.0.2.{number}" for number in range(100, 100 + MAX_WAITING)]
    addresses = [*[FLOODER] * (MAX_WAITING_PER_ADDRESS + 2), *others]
    clients = [threading.Thread(target=send_request, args=(address,)) for address in addresses]
    for client in clients:
        client.start()
    until("the refusals", lambda: len(refused) == 2 + MAX_WAITING_PER_ADDRESS)

    # the first piece of work ends, and so do all that wait for it
    finish.set()
    for client in clients:
        client.join()
    worker.close()
    assert refused.count(FLOODER) == 2


# ---- streams -------------------------------------------------------------------------------------


def open_streams(rig: WebRig, audience: Audience, address: str, times: int) -> list[Any]:
    """Try to open a number of streams from an address. Return those that it gets."""
    places: Streams = rig.app.extensions["streams"]
    opened = []
    for _ in range(times):
        with rig.app.test_request_context(environ_base={"REMOTE_ADDR": address}):
            try:
                opened.append(places.stream_changes(rig.table, lambda: "", audience))
            except TooManyViewers:
                break
    return opened


def test_one_address_cannot_take_all_streams(rig: WebRig) -> None:
    """While one address opens as many streams as it can, seats and other guests get theirs, too."""
    opened = []
    # For each audience and address: how many streams are wanted, and how many are opened. Of the
    # rig's 16 places for spectators an address gets at most three quarters, which are 12. So 4 are
    # left for others. Of the places for table screens, one is kept for the machine's own screen.
    for audience, address, wanted, places in (
        (Audience.SPECTATOR, FLOODER, 50, 12),
        (Audience.SPECTATOR, FLOODER, 1, 0),
        (Audience.TABLE, FLOODER, 50, RESERVED_PLACES[Audience.TABLE] - OWN_SCREEN_PLACES),
        (Audience.SEAT, FLOODER, 50, MAX_SEAT_STREAMS_PER_ADDRESS),
        (Audience.SPECTATOR, OTHER, 50, 4),
        (Audience.TABLE, "127.0.0.1", 1, 1),
        (Audience.SEAT, SEATED, 3, 3),
    ):
        streams = open_streams(rig, audience, address, wanted)
        assert len(streams) == places, (audience, address)
        opened += streams

    # all streams are closed
    for stream in opened:
        stream.close()
    assert not rig.app.extensions["streams"].taken_places, "closed streams must not be counted"


# ---- over the network ----------------------------------------------------------------------------


@pytest.fixture
def server(rig: WebRig) -> Iterator[Server]:
    with open_server(rig.app, "127.0.0.1", 0) as running:
        running.start()
        yield running


def connect(server: Server, address: str) -> socket.socket:
    """Connect from a loopback address that does not count as the machine's own screen."""
    return socket.create_connection(
        ("127.0.0.1", server.port), timeout=60, source_address=(LOOPBACK[address], 0)
    )


def is_closed(line: socket.socket) -> bool:
    """Return whether the server has closed the connection."""
    try:
        return line.recv(16) == b""
    except ConnectionResetError:
        return True


def test_a_trickling_request_is_timed_out(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "REQUEST_TIMEOUT_S", 0.3)
    with connect(server, FLOODER) as slow:
        # a request that never ends: one byte after the other, until the server closes
        slow.sendall(b"GET / HTTP/1.1\r\nHost: ")

        def is_refused() -> bool:
            try:
                slow.sendall(b"x")
            except OSError:
                return True
            return False

        until("the end of the connection", is_refused)


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
    ids=["header", "body", "form", "TLS greeting"],
)
def test_oversized_requests_are_refused(server: Server, request_head: bytes, status: bytes) -> None:
    """A TLS greeting to a server without TLS is refused without an answer."""
    with connect(server, FLOODER) as line:
        line.sendall(request_head)
        # the answer begins with "HTTP/1.1 431"
        assert line.recv(64)[9:12] == status


def test_an_address_has_two_uploads_at_once(server: Server) -> None:
    head = b"POST /settings/restore HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50000000\r\n\r\n"
    # two uploads of one address begin, and neither ends
    lines = [connect(server, FLOODER) for _ in range(3)]
    for count, line in enumerate(lines[:2], start=1):
        line.sendall(head + b"x" * 200_000)
        until("an upload", lambda count=count: len(server.listener.uploads) == count)

    # the third one is refused, perhaps while it is being sent
    with contextlib.suppress(OSError):
        lines[2].sendall(head + b"x" * 200_000)
    assert is_closed(lines[2])

    # another address may still upload
    lines.append(connect(server, SEATED))
    lines[3].sendall(head + b"x" * 200_000)
    until("an upload of another address", lambda: len(server.listener.uploads) == 3)
    for line in lines:
        line.close()
    until("the end of all uploads", lambda: not server.listener.uploads)


def test_connections_of_an_address_are_limited(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    # the flooder has both connections that an address gets here: a third one is closed at once
    monkeypatch.setattr(server.listener, "max_per_address", 2)
    lines = [connect(server, FLOODER) for _ in range(2)]
    until("two connections", lambda: server.listener.count_of(LOOPBACK[FLOODER]) == 2)
    with connect(server, FLOODER) as third:
        assert is_closed(third)

    # another address is still served
    with connect(server, SEATED) as seat:
        seat.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert seat.recv(12) == b"HTTP/1.1 200"
    for line in lines:
        line.close()
    until("the end of both connections", lambda: server.listener.count_of(LOOPBACK[FLOODER]) == 0)
