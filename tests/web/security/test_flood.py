"""A phone that asks without end, connects without end or never finishes: seats are answered as if it was not there."""

from __future__ import annotations

import contextlib
import fcntl
import http.client
import itertools
import socket
import sys
import termios
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from flask import request
from service import until
from web_fixtures import HOST_KEY, Place

from companion.core.clock import FakeClock
from companion.core.kit import Seat
from web.security.admission import EACH, OWNER, OWNER_EACH, STRANGER, TOGETHER, Admission, Asker
from web.security.auth import TRIES, Auth
from web.server import connections as channels
from web.server import sse
from web.server.sse import KEPT, OWN_TABLES, SEATS_EACH, THREADS, Server, Streams, TooManyViewers, serve
from web.server.sse import Audience as Kind

BAD, SEATED, OTHER = "192.0.2.66", "192.0.2.10", "192.0.2.77"
LOCAL = {BAD: "127.0.0.66", SEATED: "127.0.0.10"}


def token(place: Place, seat: str) -> dict[str, str]:
    """The cookies of a browser that sits there."""
    browser = place.sit(seat)
    cookie = browser.get_cookie(f"seat_{seat}")
    assert cookie
    return {cookie.key: cookie.value}


def gate_of(place: Place, clock: FakeClock, connections: int = 10) -> Admission:
    guard: Auth = place.app.extensions["guard"]
    return Admission(guard, clock.monotonic_s, connections)


def test_a_flood_waits_and_a_seat_does_not(place: Place) -> None:
    clock, cookies = FakeClock(), token(place, "south")
    gate = gate_of(place, clock)
    bad, seat = gate.asker(BAD, {}), gate.asker(SEATED, cookies)
    behind_the_same_router = gate.asker(BAD, cookies)
    served = 0
    for _ in range(10_000):
        if gate.begin(bad, "/"):
            served += 1
            gate.end(bad, "/")
    assert served == STRANGER.burst
    for _ in range(20):
        for each in (seat, behind_the_same_router):
            assert gate.begin(each, "/api/seat/south/hand-in")
            gate.end(each, "/api/seat/south/hand-in")
    assert gate.begin(gate.asker("127.0.0.1", {}), "/")
    assert gate.begin(gate.asker(OTHER, {}), "/")
    clock.advance(1)
    assert sum(gate.begin(bad, "/live/watch") for _ in range(1000)) == STRANGER.per_s


def test_a_stream_that_ends_makes_no_room_for_another_request(place: Place) -> None:
    gate = gate_of(place, FakeClock())
    bad = gate.asker(BAD, {})
    assert all(gate.begin(bad, "/") for _ in range(EACH))
    assert gate.begin(bad, "/live/watch")
    gate.end(bad, "/live/watch")
    assert not gate.begin(bad, "/")
    gate.end(bad, "/")
    assert [gate.begin(bad, "/") for _ in range(2)] == [True, False], "one that ends makes room for one"


def test_a_seat_that_floods_does_not_delay_the_other(place: Place) -> None:
    clock, south, north = FakeClock(), token(place, "south"), token(place, "north")
    gate = gate_of(place, clock)
    seat = gate.asker(SEATED, south)
    assert sum(gate.begin(seat, "/kit/scouts.pdf") for _ in range(50)) == OWNER_EACH, "answers that nobody reads"
    for _ in range(OWNER_EACH):
        gate.end(seat, "/kit/scouts.pdf")
    assert sum(gate.begin(seat, "/live/seat/south") for _ in range(10_000)) == OWNER.burst - OWNER_EACH
    assert gate.begin(gate.asker(SEATED, north), "/x")
    assert not gate.begin(gate.asker(BAD, south), "/x"), "the seat's tokens, whatever the address"
    assert TOGETHER + OWNER_EACH < THREADS


def test_a_forged_token_is_a_strangers(place: Place) -> None:
    gate = gate_of(place, FakeClock())
    cookies = token(place, "south")
    place.table.free_seat(Seat.SOUTH)
    for worthless in (cookies, {"seat_south": "WyJzb3V0aCJd.x"}, {"host": "x"}, {"host": HOST_KEY}):
        assert not gate.asker(BAD, worthless).is_owner
        assert not gate.may_bring("/settings/restore", BAD, worthless, None)
    assert [gate.may_bring("/settings/restore", BAD, {}, "a-wrong-key") for _ in range(TRIES + 1)] == [0] * (TRIES + 1)
    assert not gate.may_bring("/settings/restore", BAD, {}, HOST_KEY), "nobody looks at it any more"


def test_answers_that_nobody_reads_never_hold_all_threads(place: Place) -> None:
    gate = gate_of(place, FakeClock())
    bad = gate.asker(BAD, {})
    assert sum(gate.begin(bad, "/kit/scouts.pdf") for _ in range(50)) == EACH
    others = [gate.asker(f"192.0.2.{number}", {}) for number in range(100, 120)]
    assert sum(gate.begin(each, "/kit/scouts.pdf") for each in others) == TOGETHER - EACH
    assert gate.begin(gate.asker(SEATED, token(place, "south")), "/kit/scouts.pdf")
    assert gate.begin(others[-1], "/live/watch"), "streams have places of their own"
    gate.end(bad, "/kit/scouts.pdf")
    assert gate.begin(others[-1], "/kit/scouts.pdf")


def test_an_address_has_so_many_connections_and_gives_them_back(place: Place) -> None:
    gate = gate_of(place, FakeClock(), connections=3)
    assert [gate.enter(BAD) for _ in range(5)] == [True] * 3 + [False] * 2
    assert gate.enter(OTHER)
    assert all(gate.enter("127.0.0.1") for _ in range(9))
    gate.leave(BAD)
    assert gate.enter(BAD)
    for _ in range(3):
        gate.leave(BAD)
    assert BAD not in gate.connected


# ---- places to follow the table ----------------------------------------------------------------------------------------


def follow(streams: Streams, kind: Kind, address: str, times: int) -> list[Any]:
    """As many streams as the address gets."""
    held = []
    for _ in range(times):
        try:
            held.append(streams.follow({"REMOTE_ADDR": address}, lambda: "", kind))
        except TooManyViewers:
            break
    return held


def test_one_address_never_takes_all_places(place: Place) -> None:
    streams: Streams = place.app.extensions["streams"]
    watching = follow(streams, Kind.SPECTATOR, BAD, 50)
    assert len(watching) == 12, "three quarters of sixteen"
    assert len(follow(streams, Kind.SPECTATOR, BAD, 1)) == 0
    tables = follow(streams, Kind.TABLE, BAD, 50)
    assert len(tables) == KEPT[Kind.TABLE] - OWN_TABLES
    seats = follow(streams, Kind.SEAT, BAD, 50)
    assert len(seats) == SEATS_EACH
    rest = follow(streams, Kind.SPECTATOR, OTHER, 50)
    assert len(rest) == 4
    own, seated = follow(streams, Kind.TABLE, "127.0.0.1", 1), follow(streams, Kind.SEAT, SEATED, 3)
    assert len(own) == 1, "the machine's own screen has a place"
    assert len(seated) == 3
    for each in (*watching, *tables, *seats, *rest, *own, *seated):
        each.close()
    assert len(streams.held) == 0, "nothing is remembered of those who have left"


# ---- over the network --------------------------------------------------------------------------------------------------


@pytest.fixture
def server(place: Place, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(channels, "ARRIVES_S", 0.3)
    monkeypatch.setattr(channels, "SWEEP_S", 0)
    with serve(place.app, "127.0.0.1", 0, 16) as running:
        running.start()
        yield running


def connect(server: Server, address: str) -> socket.socket:
    """A connection from an address of this machine that is not its own screen's."""
    return socket.create_connection(("127.0.0.1", server.port), timeout=10, source_address=(LOCAL[address], 0))


def test_a_held_back_request_is_answered_later_and_a_seats_at_once(place: Place, server: Server) -> None:
    browser = place.sit("south")
    cookie = browser.get_cookie("seat_south")
    assert cookie
    gate, name = server.gated.gate, LOCAL[BAD]
    while gate.strangers.take(name):
        pass
    with connect(server, BAD) as bad, connect(server, SEATED) as seat:
        bad.sendall(b"GET /favicon.svg HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 2)
        body = b'{"name": ""}'
        seat.sendall(
            b"POST /api/seat/south/pause HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            b"Cookie: seat_south=%s\r\nContent-Length: %d\r\n\r\n%s" % (cookie.value.encode(), len(body), body)
        )
        assert seat.recv(64).startswith(b"HTTP/1.1 4"), "it is read and answered"
        assert bad.recv(64).startswith(b"HTTP/1.1 200"), "as soon as a token has come"


def test_who_says_a_letter_a_second_is_cut_off(server: Server) -> None:
    with connect(server, BAD) as slow:
        slow.sendall(b"GET / HTTP/1.1\r\nHost: ")
        until("the cut", lambda: slow.recv(16) == b"", 10)


@pytest.mark.parametrize(
    ("request_head", "status"),
    [
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 40_000 + b"\r\n\r\n", b"431"),
        (b"POST /join/south HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900000000\r\n\r\n", b"413"),
        (b"POST /settings/restore HTTP/1.1\r\nHost: localhost\r\nContent-Length: 90000000\r\n\r\n", b"413"),
        (
            b"POST /api/seat/south/take HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
            + b"8000\r\n" + b"x" * 0x8000 + b"\r\n8000\r\n" + b"x" * 0x8000 + b"\r\n8000\r\n",
            b"413",
        ),
    ],
    ids=["header", "body", "backup of a stranger", "chunks"],
)  # fmt: skip
def test_too_much_is_refused_before_it_is_kept(server: Server, request_head: bytes, status: bytes) -> None:
    with connect(server, BAD) as line:
        line.sendall(request_head)
        assert line.recv(64).split()[1] == status


@pytest.mark.parametrize(
    ("language", "words"),
    [("en", "That is too large"), ("es-MX", "demasiado grande"), ("fr", "trop volumineux")],
)
def test_a_browser_that_sends_too_much_reads_why_and_finds_back(server: Server, language: str, words: str) -> None:
    head = f"POST /join/south HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\nAccept-Language: {language}\r\n"
    with connect(server, BAD) as line:
        line.sendall(f"{head}Content-Length: 900000000\r\n\r\n".encode())
        answer = b"".join(iter(lambda: line.recv(4096), b"")).decode()
    assert answer.startswith("HTTP/1.1 413 ")
    assert words in answer, "why"
    assert '<a href="/">' in answer
    assert f'lang="{language[:2]}"' in answer


def test_the_host_may_bring_files(place: Place, server: Server) -> None:
    host = place.browser()
    host.post("/host", data={"key": HOST_KEY})
    cookie = host.get_cookie("host")
    assert cookie
    by_cookie, by_key = {"Cookie": f"host={cookie.value}"}, {"X-Host-Key": HOST_KEY}
    statuses = []
    for path, size in (("/settings/restore", 200_000), ("/history", 200_000), ("/history", 3_000_000)):
        for host_of in (by_cookie, by_key, {"X-Host-Key": "wrong"}):
            line = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
            with contextlib.suppress(OSError):  # answered and closed before all of it was sent
                line.request("POST", path, b"x" * size, host_of)
            statuses.append(line.getresponse().status)
            line.close()
    assert statuses == [404, 404, 413, 400, 400, 413, 413, 413, 413], "no settings are here to be restored"


def test_an_upload_for_which_the_disk_has_no_room_is_cut_off_and_told(
    place: Place, server: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("waitress.receiver.FixedStreamReceiver.received", full)
    head = f"POST /settings/restore HTTP/1.1\r\nHost: localhost\r\nX-Host-Key: {HOST_KEY}\r\nContent-Length: 200000\r\n\r\n"
    with connect(server, SEATED) as line:
        line.sendall(head.encode())
        line.sendall(b"x" * 1000)
        assert line.recv(64) == b""
    assert "What a browser sends cannot be kept: No space left on device" in caplog.messages
    monkeypatch.undo()
    with connect(server, SEATED) as line:
        line.sendall(b"GET /favicon.svg HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert line.recv(64).split()[1] == b"200"


def test_a_server_that_ends_writes_to_no_number_of_a_closed_file(place: Place) -> None:
    """A worker wakes the server just before its end: waitress would write to the closed pipe, or to another's file."""
    server = serve(place.app, "127.0.0.1", 0, 2)
    server.start()
    trigger, pull = server.gated.trigger, server.gated.trigger._physical_pull
    (thread,) = (each for each in threading.enumerate() if each.name == "web")

    def late() -> None:
        pull()  # a worker's, as every answer ends with one
        thread.join(timeout=0.2)
        pull()

    trigger._physical_pull = late
    server.close()
    assert not thread.is_alive()
    server.gated.has_answered(Asker("late", is_own_screen=True), "/")
    server.gated.pull_trigger()


def test_a_connection_handed_over_at_the_end_is_closed(place: Place) -> None:
    server = serve(place.app, "127.0.0.1", 0, 2)
    near, far = socket.socketpair()
    server.gated.gate.enter(BAD)
    server.gated.trigger.thunks.append(lambda: server.gated.open_channel(near, (BAD, 1), "127.0.0.1"))
    server.gated.pull_trigger()
    server.close()
    assert far.recv(1) == b""
    assert not server.gated.gate.connected
    far.close()


def test_who_does_not_read_holds_no_thread_beyond_the_end(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "ANSWERS_S", 0.1)
    streams: Streams = place.app.extensions["streams"]
    endless = itertools.repeat("data: " + "x" * 100_000 + "\n\n")
    monkeypatch.setitem(
        place.app.view_functions, "pages.live", lambda page: streams.hold(request.environ, lambda gone: endless)
    )
    server = serve(place.app, "127.0.0.1", 0, 2)
    server.start()
    with connect(server, BAD) as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        line.sendall(b"GET /live/table HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        until(
            "somebody who does not read",
            lambda: any(c.total_outbufs_len > channels.STREAM_UNREAD_BYTES for c in channels_of(server)),
        )
        (channel,) = channels_of(server)
        assert channel.total_outbufs_len < 2 * channels.STREAM_UNREAD_BYTES + 100_000
        queued = int.from_bytes(fcntl.ioctl(channel.socket.fileno(), termios.TIOCOUTQ, bytes(4)), sys.byteorder)
        assert queued < 8 * sse.UNSENT_BYTES, "the kernel keeps the rest"
        server.close()
    assert streams.open == 0
    assert not server.gated.task_dispatcher.threads


def channels_of(server: Server) -> list[channels.Channel]:
    return list(server.gated.active_channels.values())


def test_room_is_made_by_idle_strangers_alone(place: Place, server: Server) -> None:
    own = socket.create_connection(("127.0.0.1", server.port), timeout=10)
    idle, brings = connect(server, BAD), connect(server, SEATED)
    brings.sendall(b"POST /x HTTP/1.1\r\n")
    until("all three", lambda: len(channels_of(server)) == 3 and any(c.request for c in channels_of(server)))
    server.gated._make_room()
    closing = {channel.addr[0] for channel in channels_of(server) if channel.will_close}
    assert closing == {LOCAL[BAD]}
    for line in (own, idle, brings):
        line.close()


def test_in_a_crowd_a_seat_stays_and_who_takes_long_to_ask_goes(
    place: Place, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before, requests that never ended held every place, and a seat's next order waited at the door for minutes."""
    ((name, value),) = token(place, "south").items()
    monkeypatch.setattr(channels, "OWNER_KEEPS", 2)
    seats = [connect(server, SEATED) for _ in range(3)]
    for line in seats:
        line.sendall(f"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: {name}={value}\r\n\r\n".encode())
        assert line.recv(12) == b"HTTP/1.1 200"
        until("all that is answered", lambda: not any(c.requests for c in channels_of(server)))
    late, fresh = connect(server, BAD), connect(server, BAD)
    for line in (late, fresh):
        line.sendall(b"POST /x HTTP/1.1\r\nX-a: b")
    until("all that begins", lambda: sum(c.request is not None for c in channels_of(server)) == 2)
    by_port = {channel.addr[1]: channel for channel in channels_of(server)}
    by_port[late.getsockname()[1]].request.began_s -= channels.CROWDED_ARRIVES_S + 1
    server.gated._make_room()
    closing = {port for port, channel in by_port.items() if channel.will_close}
    assert closing == {late.getsockname()[1], seats[0].getsockname()[1]}, "of one seat the newest stay"
    for line in (*seats, late, fresh):
        line.close()


def test_a_port_for_both_kinds_of_addresses_knows_its_own_screen(place: Place) -> None:
    if not socket.has_dualstack_ipv6():
        pytest.skip("no IPv6 here")
    with serve(place.app, "::", 0, 2) as server:
        server.start()
        for source in ("127.0.0.1", LOCAL[BAD]):
            with socket.create_connection(("127.0.0.1", server.port), timeout=10, source_address=(source, 0)):
                until("its address", lambda source=source: source in server.gated.gate.connected)


def test_an_address_with_too_many_connections_gets_no_more(server: Server) -> None:
    gate = server.gated.gate
    gate.connections = 2
    lines = [connect(server, BAD) for _ in range(2)]
    until("two connections", lambda: gate.connected.get(LOCAL[BAD]) == 2)
    with connect(server, BAD) as more:
        assert more.recv(16) == b""
    for line in lines:
        line.close()
    until("their end", lambda: LOCAL[BAD] not in gate.connected)
