"""HTTPS with an own certificate: pages and streams, who asks without it, and files that phones or nobody can use."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import http.client
import socket
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from service import until
from web_fixtures import Place

from companion.cli.doctor import examine
from companion.core.clock import FakeClock
from companion.core.config import PanelSettings, Settings, WebSettings, read_settings
from companion.core.errors import CompanionError, ConfigError
from companion.core.i18n import translate
from companion.core.network import page_urls
from companion.diagnostics.certificate import certificate, validity
from companion.diagnostics.findings import Grade
from companion.service.app import Companion
from web.security.tls import BadCertificate, TlsTerminator, certificate_context, https_address
from web.server.server import Server, serve

FILES = Path(__file__).parents[2] / "certificates"
CERTIFICATE, KEY, LOCKED = (
    str(FILES / name) for name in ("certificate.pem", "key.pem", "locked.pem")
)
ENDED, FOR_CLIENTS = (str(FILES / name) for name in ("ended.pem", "for-clients.pem"))
"""The one counted in the first quarter of 2020, the other is not made for servers."""
ELSEWHERE = "127.0.0.66"
"""An address of this machine that is not its own screen's."""


@pytest.fixture
def server(place: Place) -> Iterator[Server]:
    with serve(place.app, "127.0.0.1", 0, certificate_context(CERTIFICATE, KEY)) as running:
        running.start()
        yield running


def secured(server: Server, source: str = ELSEWHERE) -> http.client.HTTPSConnection:
    """A browser that trusts the certificate."""
    trust = ssl.create_default_context(cafile=CERTIFICATE)
    return http.client.HTTPSConnection(
        "localhost", server.port, timeout=10, context=trust, source_address=(source, 0)
    )


def plain(server: Server, asked: bytes, source: str = ELSEWHERE) -> bytes:
    """What is answered without TLS."""
    with socket.create_connection(
        ("127.0.0.1", server.port), timeout=10, source_address=(source, 0)
    ) as line:
        line.sendall(asked)
        answer = b""
        while piece := line.recv(4096):
            answer += piece
            if b"Connection: close" not in answer:
                break
        return answer


def test_pages_seats_and_streams_come_by_tls(place: Place, server: Server) -> None:
    line = secured(server)
    for _ in range(2):
        line.request("GET", "/join")
        answer = line.getresponse()
        assert answer.status == 200
        assert b"Choose your side" in answer.read()
    own = f"https://localhost:{server.port}"
    line.request(
        "POST",
        "/join/south",
        "name=Mara",
        {"Content-Type": "application/x-www-form-urlencoded", "Origin": own},
    )
    answer = line.getresponse()
    answer.read()
    cookie = answer.getheader("Set-Cookie", "")
    assert (answer.status, "; Secure" in cookie) == (303, True)
    line.request("GET", "/live/seat/south", headers={"Cookie": cookie.partition(";")[0]})
    stream = line.getresponse()
    assert stream.status == 200
    assert stream.readline() == b"retry: 1000\n"
    place.table.new_game("outbuffered", {}, 1)
    told = b""
    while b"outbuffered" not in told.lower():
        told = stream.readline()
        assert told, "the stream goes on"
    stream.close()
    line.close()


def test_the_address_of_whoever_asks_is_known_behind_tls(place: Place, server: Server) -> None:
    """Else everybody would be the machine's own screen, which shows the host key."""
    from web_fixtures import HOST_KEY  # noqa: PLC0415 - of this test alone

    line = secured(server)
    line.request("GET", "/owner")
    assert HOST_KEY.encode() not in line.getresponse().read()
    line.close()
    own = secured(server, "127.0.0.1")
    own.request("GET", "/owner")
    assert HOST_KEY.encode() in own.getresponse().read()
    own.close()


def test_a_large_answer_comes_whole(server: Server) -> None:
    line = secured(server)
    line.request("GET", "/kit/binmat.pdf")
    answer = line.getresponse()
    pdf = answer.read()
    assert len(pdf) == int(answer.getheader("Content-Length", "0")) > 80_000
    line.close()


def test_without_tls_others_are_sent_to_the_right_address(server: Server) -> None:
    answer = plain(server, b"GET /s?x=1 HTTP/1.1\r\nHost: table.example.org:8443\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 307")
    assert b"\r\nLocation: https://table.example.org:8443/s?x=1\r\n" in answer
    for asked in (
        b"POST /join/south HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a:80:b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: table.example.org\r\nhost: evil.example\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: table.example.org\r\nHOST : evil.example\r\n\r\n",
        b"rubbish\r\n\r\n",
    ):
        assert plain(server, asked).startswith(b"HTTP/1.1 400")


def test_who_hangs_up_in_the_middle_leaves_the_door_open(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The number of a closed connection is the next one's, which the event loop must not take for the old one."""
    monkeypatch.setattr(
        asyncio.StreamWriter, "__del__", lambda self: None, raising=False
    )  # younger Pythons tidy up
    for asked in (b"GET / HTTP/1.1\r\nHo", b"x" * 70_000):
        with socket.create_connection(
            ("127.0.0.1", server.port), timeout=10, source_address=(ELSEWHERE, 0)
        ) as line:
            line.sendall(asked)
            line.shutdown(socket.SHUT_WR)
            with contextlib.suppress(ConnectionResetError):
                assert line.recv(16) == b""
        line = secured(server)
        line.request("GET", "/favicon.svg")
        assert line.getresponse().status == 200
        line.close()


def test_who_comes_when_it_has_ended_is_turned_away() -> None:
    terminator = TlsTerminator(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
    for _ in range(2):
        terminator.close()
    near, far = socket.socketpair()
    with far, terminator.unwrap(near, is_own=False) as inner:
        assert (far.recv(1), inner.recv(1)) == (b"", b"")


def test_who_never_begins_a_handshake_counts_like_anybody(server: Server) -> None:
    silent = [
        socket.create_connection(
            ("127.0.0.1", server.port), timeout=10, source_address=(ELSEWHERE, 0)
        )
        for _ in range(5)
    ]
    until("all five", lambda: server.listener.count_of(ELSEWHERE) == 5)
    for line in silent:
        line.close()
    until("their end", lambda: server.listener.count_of(ELSEWHERE) == 0)


@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/1.1\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\nX: y\r\n\r\n",
        b"GET  / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /\x7f HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"Host:" * 1500 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b" " * 9000 + b"\r\n\r\n",
    ],
)
def test_a_plain_head_is_read_strictly(head: bytes) -> None:
    assert https_address(head) == b""


def test_nothing_is_kept_of_connections_that_have_ended(server: Server) -> None:
    def tasks() -> int:
        return sum(type(each) is asyncio.Task for each in gc.get_objects())

    before = tasks()
    for _ in range(5):
        line = secured(server)
        line.request("GET", "/favicon.svg")
        assert line.getresponse().read()
        line.close()
    until("the end of all connections", lambda: tasks() <= before)


def test_without_tls_the_machine_itself_is_answered(server: Server) -> None:
    assert b"200 OK" in plain(
        server, b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "127.0.0.1"
    )


def test_who_does_not_trust_or_hangs_up_disturbs_nobody(server: Server) -> None:
    strict = http.client.HTTPSConnection(
        "localhost", server.port, timeout=10, source_address=(ELSEWHERE, 0)
    )
    with pytest.raises(ssl.SSLCertVerificationError):
        strict.request("GET", "/")
    socket.create_connection(("127.0.0.1", server.port), source_address=(ELSEWHERE, 0)).close()
    line = secured(server)
    line.request("GET", "/favicon.svg")
    assert line.getresponse().read()
    assert server.listener.count_of(ELSEWHERE) >= 1
    line.close()
    until("all to be counted out", lambda: not server.listener.count_of(ELSEWHERE))


@pytest.mark.parametrize(
    ("certificate", "key", "words"),
    [
        ("/nowhere/c.pem", KEY, "/nowhere/c.pem of [web] cannot be read: No such file"),
        (CERTIFICATE, "/nowhere/k.pem", "/nowhere/k.pem of [web] cannot be read: No such file"),
        (KEY, CERTIFICATE, "are not a certificate and its key"),
        (__file__, KEY, "are not a certificate and its key"),
        (CERTIFICATE, LOCKED, "is locked with a password"),
    ],
)
def test_files_that_cannot_be_used_are_told_at_the_start(
    tmp_path: Path, certificate: str, key: str, words: str
) -> None:
    web = WebSettings(host="127.0.0.1", port=0, certificate=certificate, key=key)
    with pytest.raises(BadCertificate) as refused:
        Companion(
            Settings(state_dir=str(tmp_path), web=web),
            simulate=True,
            clock=FakeClock(),
            threads=False,
        )
    assert isinstance(refused.value, CompanionError)
    assert words in refused.value.message


def test_both_files_or_none() -> None:
    for line in ('certificate = "c.pem"', 'key = "k.pem"'):
        with pytest.raises(ConfigError, match="both certificate and key"):
            read_settings(f"[web]\n{line}")


def test_addresses_say_https_and_the_name_of_the_certificate_first(monkeypatch: Any) -> None:
    web = WebSettings(host="192.0.2.7", names=("table.example.org",), certificate="c", key="k")
    assert page_urls(web, 443) == ("https://table.example.org/", "https://192.0.2.7/")
    assert page_urls(WebSettings(host="::1"), 8080) == ("http://[::1]:8080/",)


# ---- what phones check -----------------------------------------------------------------------------------------------


def at_s(day: str) -> float:
    return datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp()


def told(name: str, day: str, names: tuple[str, ...] = ()) -> list[tuple[Grade, str]]:
    found = certificate(validity(certificate_context(name, KEY), name, names), at_s(day))
    return [(each.grade, translate(each.text, "en")) for each in found]


def test_a_certificate_that_counts_is_said_to() -> None:
    good = (Grade.OK, "The certificate is valid until 2120-01-01.")
    assert told(CERTIFICATE, "2026-05-01", ("table.example.org", "localhost", "127.0.0.1")) == [
        good
    ]


@pytest.mark.parametrize(
    ("day", "words"),
    [
        ("2020-03-17", None),
        ("2020-03-20", "The certificate expires on 2020-04-01. Renew it, then restart"),
        (
            "2026-11-22",
            "The certificate expired on 2020-04-01: phones show a warning or do not connect. Renew it",
        ),
    ],
)
def test_one_that_ends_is_told_two_weeks_before(
    day: str, words: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("companion.diagnostics.certificate.EARLIEST_S", 0.0)
    ((grade, text),) = told(ENDED, day)
    assert grade is (Grade.WARN if words else Grade.OK)
    assert text.startswith(words or "The certificate is valid until 2020-04-01.")


def test_a_clock_that_is_wrong_is_told_and_one_that_was_never_set_says_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert told(ENDED, "1970-01-02")[0][0] is Grade.OK
    monkeypatch.setattr("companion.diagnostics.certificate.EARLIEST_S", 0.0)
    ((grade, text),) = told(CERTIFICATE, "2019-12-31")
    assert (grade, text.startswith("The certificate is not valid before 2020-01-01")) == (
        Grade.WARN,
        True,
    )


def test_older_tls_tells_the_same() -> None:
    served = certificate_context(CERTIFICATE, KEY)
    newer = validity(served, CERTIFICATE, ("localhost",))
    served.maximum_version = ssl.TLSVersion.TLSv1_2
    assert validity(served, CERTIFICATE, ("localhost",)) == newer


def test_one_for_another_name_or_another_purpose_is_told() -> None:
    good, other = told(CERTIFICATE, "2026-05-01", ("localhost", "table.example.com"))
    assert good[0] is Grade.OK
    assert (other[0], other[1].startswith("The certificate does not cover table.example.com,")) == (
        Grade.WARN,
        True,
    )
    odd = (f"{'a' * 70}.example.org", "a..example.org", "fe80::1")
    assert validity(certificate_context(CERTIFICATE, KEY), CERTIFICATE, odd).not_for == odd
    assert told(FOR_CLIENTS, "2026-05-01") == [
        (Grade.WARN, "Phones will not accept the certificate: unsuitable certificate purpose.")
    ]


def test_the_service_warns_of_it_wherever_it_tells_of_the_machine(tmp_path: Path) -> None:
    web = WebSettings(host="127.0.0.1", port=0, certificate=ENDED, key=KEY)
    settings = Settings(state_dir=str(tmp_path), web=web, panel=PanelSettings(enabled="no"))
    clock = FakeClock(wall_s=at_s("2026-11-22"))
    with Companion(settings, simulate=True, clock=clock, threads=False) as companion:
        companion.health.look()
        assert companion.health.state().machine is Grade.WARN
        assert companion.health.line().startswith("The certificate expired on 2020-04-01")
        assert [each.grade for each in companion.health.examine() if each.topic == "https"] == [
            Grade.WARN
        ]
    assert [each.grade for each in examine(settings) if each.topic == "https"] == [Grade.WARN]
    missing = msgspec.structs.replace(
        settings, web=WebSettings(certificate="/nowhere.pem", key=KEY)
    )
    assert [each.grade for each in examine(missing) if each.topic == "https"] == [Grade.FAIL]
