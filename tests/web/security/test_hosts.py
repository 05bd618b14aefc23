"""Tests of the Host header, sent to a real server over sockets.

A request must name one well-formed host of this machine, exactly once. No other header counts.
"""

from __future__ import annotations

import itertools
import socket
from collections.abc import Iterator

import pytest
from web_fixtures import HOST_KEY, open_web_rig

from web.server.server import Server, open_server

# Loopback addresses that do not count as the machine's own screen. Each is used for one request, so
# that no limit per address is reached.
ELSEWHERE = (f"127.{part // 250 + 1}.{part % 250}.66" for part in itertools.count())


# One server for all tests, because none of them changes anything.
@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("hosts")
    with open_web_rig(folder) as rig, open_server(rig.app, "127.0.0.1", 0) as server:
        server.start()
        yield server


def answer(server: Server, head: bytes, source: str = "") -> bytes:
    """Send a request of these lines, from a new address by default. Return the answer."""
    with socket.create_connection(
        ("127.0.0.1", server.port), timeout=60, source_address=(source or next(ELSEWHERE), 0)
    ) as line:
        line.sendall(head + b"Connection: close\r\n\r\n")
        received = b""
        while piece := line.recv(65536):
            received += piece
        return received


def status(server: Server, head: bytes) -> int:
    received = answer(server, head)
    assert received.startswith(b"HTTP/1."), received
    return int(received.split(b" ", 2)[1])


@pytest.mark.parametrize(
    "host",
    [
        b"", b"a:80:b", b"localhost:80:80", b"localhost:", b"localhost:0", b"localhost:65536",
        b"localhost:99999999", b"localhost:-80", b"localhost:+80", b"localhost:8 0",
        b"localhost:http", b"user@localhost", b"localhost@evil", b"user:pass@localhost",
        b"localhost..", b".localhost", b".", b"local host", b"localhost, localhost",
        b"localhost/", b"http://localhost", b"localhost?x", b"localhost#x",
        b"localhost\\evil", b"local\x00host", b"::1", b"[::1", b"::1]", b"[::1]x", b"[::1]:",
        b"[::1]:80:90", b"[127.0.0.1]", b"[::g]", b"[]", b"[::1%]", b"127.1", b"127.0.0.256",
        b"127.0.0.1.1", b"0x7f000001", b"2130706433", b"loc\xc3\xa4l", b"%6cocalhost",
        b"-localhost", b"a" * 64, b".".join([b"a" * 60] * 5), b"<script>", b"localhost'",
    ],
)  # fmt: skip
def test_a_malformed_host_is_refused_first(server: Server, host: bytes) -> None:
    """The answer is 400 at every path, also at one that does not exist."""
    for path in (b"/health", b"/", b"/favicon.svg", b"/nowhere"):
        assert status(server, b"GET " + path + b" HTTP/1.1\r\nHost: " + host + b"\r\n") == 400


@pytest.mark.parametrize(
    "host",
    [
        b"localhost", b"LocalHost", b"localhost.", b"localhost:8080",
        b"localhost.:65535", b"127.0.0.1", b"127.0.0.1:1", b"[::1]", b"[::1]:8080",
        b"[::ffff:127.0.0.1]:80", b"[fe80::1%eth0]", b"192.168.1.7:8080",
    ],
)  # fmt: skip
def test_every_name_of_this_machine_is_served(server: Server, host: bytes) -> None:
    assert status(server, b"GET /favicon.svg HTTP/1.1\r\nHost: " + host + b"\r\n") == 200
    assert status(server, b"GET /watch HTTP/1.1\r\nhost:" + host + b" \t\r\n") == 200


@pytest.mark.parametrize(
    "lines",
    [
        b"Host: localhost\r\nHost: localhost\r\n",
        b"Host: localhost\r\nhOST: evil.example\r\n",
        b"Host: evil.example\r\nHost: localhost\r\n",
        b"Host: localhost\r\nX: y\r\nHost:\r\n",
        b"Host:\r\nHost: localhost\r\n",
        b"Host: localhost\r\n evil.example\r\n",
        b"Host : localhost\r\n",
        b" Host: localhost\r\n",
        b"H_ost: localhost\r\n",
        b"X: y\r\n Host: localhost\r\n",
        b"",
    ],
)
def test_a_request_needs_exactly_one_host(server: Server, lines: bytes) -> None:
    for version in (b"1.1", b"1.0"):
        assert status(server, b"GET /favicon.svg HTTP/" + version + b"\r\n" + lines) == 400


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (b"http://localhost/favicon.svg", 200),
        (b"HTTP://LOCALHOST/favicon.svg", 200),
        (b"https://localhost/favicon.svg", 200),
        (b"http://evil.example/favicon.svg", 400),
        (b"http://localhost:8080/favicon.svg", 400),
        (b"http://user@localhost/favicon.svg", 400),
        (b"http:///favicon.svg", 400),
        (b"http:/favicon.svg", 400),
        (b"ftp://localhost/favicon.svg", 400),
        (b"favicon.svg", 400),
        (b"localhost:80", 400),
        (b"//evil.example/favicon.svg", 404),
        (b"?x", 400),
    ],
)
def test_an_absolute_target_must_name_the_host(
    server: Server, target: bytes, expected: int
) -> None:
    assert status(server, b"GET " + target + b" HTTP/1.1\r\nHost: localhost\r\n") == expected


@pytest.mark.parametrize(
    "line",
    [
        b"X-Forwarded-Host: localhost",
        b"X-Forwarded-Server: localhost",
        b"X-Host: localhost",
        b"X-HTTP-Host: localhost",
        b"X-Original-Host: localhost",
        b"Forwarded: host=localhost",
        b"X-Rewrite-URL: /favicon.svg",
    ],
)
def test_forwarded_headers_cannot_change_the_host(server: Server, line: bytes) -> None:
    assert status(server, b"GET /watch HTTP/1.1\r\nHost: evil.example\r\n" + line + b"\r\n") == 421
    for header in (
        line.replace(b"localhost", b"evil.example"),
        b"X-Forwarded-Proto: https\r\nX-Forwarded-Port: 1",
    ):
        page = answer(server, b"GET /watch HTTP/1.1\r\nHost: localhost\r\n" + header + b"\r\n")
        assert page.startswith(b"HTTP/1.1 200")
        assert b"evil.example" not in page


@pytest.mark.parametrize(
    "line",
    [
        b"X-Forwarded-For: 127.0.0.1",
        b"X-Real-IP: 127.0.0.1",
        b"Forwarded: for=127.0.0.1",
        b"Client-IP: ::1",
    ],
)
def test_proxy_headers_never_reveal_the_key(server: Server, line: bytes) -> None:
    """Only the machine's own screen sees the owner key, and only if no proxy has sent its request.

    `Client-IP` is no header of a proxy, so it is ignored.
    """
    # a stranger pretends to be the machine itself
    request = b"GET /owner HTTP/1.1\r\nHost: localhost\r\n" + line + b"\r\n"
    assert HOST_KEY.encode() not in answer(server, request)
    # a request through a proxy on this machine does not come from its own screen either
    is_own_screen = HOST_KEY.encode() in answer(server, request, "127.0.0.1")
    assert is_own_screen == line.startswith(b"Client-IP")
