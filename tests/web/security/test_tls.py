"""HTTPS with an own certificate: pages and streams, who asks without it, and files that phones or
nobody can use.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from service import until
from web_fixtures import HOST_KEY, WebRig

from companion.cli.doctor import examine
from companion.core.config import PanelSettings, Settings, WebSettings
from companion.diagnostics.findings import Grade
from web.security import tls as own
from web.security.tls import BadCertificate, NoCertificate, certificate_context, own_certificate
from web.server.server import Server, open_server

FILES = Path(__file__).parents[2] / "certificates"
CERTIFICATE, KEY, LOCKED = (
    str(FILES / name) for name in ("certificate.pem", "key.pem", "locked.pem")
)
# An address of this machine that is not that of its own screen.
ELSEWHERE = "127.0.0.66"


@pytest.fixture
def server(rig: WebRig) -> Iterator[Server]:
    with open_server(rig.app, "127.0.0.1", 0, certificate_context(CERTIFICATE, KEY)) as server:
        server.start()
        yield server


def https_connection(server: Server, source: str = ELSEWHERE) -> http.client.HTTPSConnection:
    """Return a connection that trusts the certificate."""
    trust = ssl.create_default_context(cafile=CERTIFICATE)
    return http.client.HTTPSConnection(
        "localhost", server.port, timeout=60, context=trust, source_address=(source, 0)
    )


def plain(server: Server, asked: bytes, source: str = ELSEWHERE) -> bytes:
    """Return what is answered without TLS."""
    with socket.create_connection(
        ("127.0.0.1", server.port), timeout=60, source_address=(source, 0)
    ) as line:
        line.sendall(asked)
        answer = b""
        while piece := line.recv(4096):
            answer += piece
            if b"Connection: close" not in answer:
                break
        return answer


def test_pages_seats_and_streams_come_by_tls(rig: WebRig, server: Server) -> None:
    line = https_connection(server)
    headers = {
        "Content-Type": "application/x-www-form-urlencoded",
        "Origin": f"https://localhost:{server.port}",
    }
    line.request("POST", "/join/south", "name=Mara", headers)
    answer = line.getresponse()
    answer.read()
    cookie = answer.getheader("Set-Cookie", "")
    assert (answer.status, "; Secure" in cookie) == (303, True)
    line.request("GET", "/live/seat/south", headers={"Cookie": cookie.partition(";")[0]})
    stream = line.getresponse()
    assert stream.readline() == b"retry: 1000\n"
    rig.table.new_game("outbuffered", {}, 1)
    while b"outbuffered" not in (told := stream.readline()).lower():
        assert told, "the stream goes on"
    stream.close()
    line.close()


def test_behind_tls_the_askers_address_is_known(server: Server) -> None:
    """Else everybody would be the machine's own screen, which shows the host key."""
    for source, is_own in ((ELSEWHERE, False), ("127.0.0.1", True)):
        line = https_connection(server, source)
        line.request("GET", "/owner")
        assert (HOST_KEY.encode() in line.getresponse().read()) is is_own
        line.close()
    asked = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    assert b"200 OK" in plain(server, asked, "127.0.0.1"), "the machine itself needs no TLS"


def test_plain_requests_are_sent_to_the_https_address(server: Server) -> None:
    answer = plain(server, b"GET /s?x=1 HTTP/1.1\r\nHost: table.example.org:8443\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 307")
    assert b"\r\nLocation: https://table.example.org:8443/s?x=1\r\n" in answer
    for asked in (
        b"POST /join/south HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a:80:b\r\n\r\n",
        b"rubbish\r\n\r\n",
    ):
        assert plain(server, asked).startswith(b"HTTP/1.1 400")


# ---- certificates --------------------------------------------------------------------------------


def test_the_doctor_names_a_certificate_that_is_missing(tmp_path: Path) -> None:
    web = WebSettings(certificate="/no.pem", key=KEY)
    settings = Settings(state_dir=str(tmp_path), web=web, panel=PanelSettings(enabled="no"))
    findings = examine(settings)
    assert [finding.grade for finding in findings if finding.topic == "https"] == [Grade.FAIL]


def test_broken_handshakes_disturb_nobody(server: Server) -> None:
    for asked in (b"GET / HTTP/1.1\r\nHo", b"x" * 70_000, b""):
        with socket.create_connection(
            ("127.0.0.1", server.port), 10, source_address=(ELSEWHERE, 0)
        ) as line:
            line.sendall(asked)
            line.shutdown(socket.SHUT_WR)
            with contextlib.suppress(ConnectionResetError):
                assert line.recv(16) == b""
    strict = http.client.HTTPSConnection("localhost", server.port, timeout=60)
    with pytest.raises(ssl.SSLCertVerificationError):
        strict.request("GET", "/")
    browser = https_connection(server)
    browser.request("GET", "/kit/binmat.pdf")
    answer = browser.getresponse()
    assert len(answer.read()) == int(answer.getheader("Content-Length", "0")) > own.CHUNK_BYTES
    browser.close()
    until("all to be counted out", lambda: not server.listener.count_of("127.0.0.1"))


@pytest.mark.parametrize(
    ("certificate", "key", "words"),
    [
        ("/nowhere/c.pem", KEY, "/nowhere/c.pem of [web] cannot be read: No such file"),
        (KEY, CERTIFICATE, "are not a certificate and its key"),
        (CERTIFICATE, LOCKED, "is locked with a password"),
    ],
)
def test_unusable_files_are_reported(certificate: str, key: str, words: str) -> None:
    with pytest.raises(BadCertificate, match=re.escape(words)):
        certificate_context(certificate, key)


HOSTS = ("192.0.2.7", "table.local", "::1")


def test_it_is_for_the_tables_names_and_addresses(tmp_path: Path) -> None:
    own_certificate(tmp_path, HOSTS)
    command = ["openssl", "x509", "-noout", "-enddate", "-ext", "subjectAltName,extendedKeyUsage"]
    file = tmp_path / "own-certificate.pem"
    told = subprocess.run([*command, "-in", file], capture_output=True, text=True, check=True)
    assert "IP Address:192.0.2.7, DNS:table.local, IP Address:0:0:0:0:0:0:0:1" in told.stdout
    assert "TLS Web Server Authentication" in told.stdout
    ends = re.search(r"notAfter=(.*)", told.stdout)
    assert ends
    assert 700 < (ssl.cert_time_to_seconds(ends[1]) - time.time()) / 86400 < 825
    assert (tmp_path / "own-key.pem").stat().st_mode & 0o077 == 0


def test_it_is_kept_and_made_anew_in_time(tmp_path: Path) -> None:
    file = tmp_path / "own-certificate.pem"

    def certificate_after(age_s: float) -> bytes:
        if file.exists():
            os.utime(file, (time.time() - age_s, time.time() - age_s))
        assert isinstance(own_certificate(tmp_path, HOSTS), ssl.SSLContext)
        return file.read_bytes()

    first = certificate_after(0)
    assert certificate_after(1000) == first
    second = certificate_after(own.RENEW_AFTER_S + 1)
    assert second != first
    assert certificate_after(-5000) != second, "it was made while the clock was wrong"


def test_what_is_missing_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoCertificate, match="sudo apt install openssl"):
        own_certificate(tmp_path, HOSTS)
