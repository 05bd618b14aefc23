"""Tests of HTTPS: a real server with a certificate, requests without TLS, and certificate files.

The certificate comes either from files that the settings name, or is made by the table itself.
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
from web.security import tls
from web.security.tls import BadCertificate, NoCertificate, certificate_context, own_certificate
from web.server.server import Server, open_server

# A certificate for localhost, its key, and a key that is locked with a password.
FILES = Path(__file__).parents[2] / "certificates"
CERTIFICATE, KEY, LOCKED = (
    str(FILES / name) for name in ("certificate.pem", "key.pem", "locked.pem")
)
# A loopback address that does not count as the machine's own screen.
ELSEWHERE = "127.0.0.66"


@pytest.fixture
def server(rig: WebRig) -> Iterator[Server]:
    with open_server(rig.app, "127.0.0.1", 0, certificate_context(CERTIFICATE, KEY)) as server:
        server.start()
        yield server


def https_connection(server: Server, source: str = ELSEWHERE) -> http.client.HTTPSConnection:
    """Return a connection from the address `source` that trusts the test's certificate."""
    trust = ssl.create_default_context(cafile=CERTIFICATE)
    return http.client.HTTPSConnection(
        "localhost", server.port, timeout=60, context=trust, source_address=(source, 0)
    )


def answer_without_tls(server: Server, request: bytes, source: str = ELSEWHERE) -> bytes:
    """Send a request without TLS. Return what the server answers.

    An answer that closes the connection is read to its end. Of any other answer, only the first
    piece is read.
    """
    with socket.create_connection(
        ("127.0.0.1", server.port), timeout=60, source_address=(source, 0)
    ) as line:
        line.sendall(request)
        answer = b""
        while piece := line.recv(4096):
            answer += piece
            if b"Connection: close" not in answer:
                break
        return answer


def test_pages_seats_and_streams_work_over_tls(rig: WebRig, server: Server) -> None:
    # a phone takes a seat
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

    # its stream shows a game that begins
    line.request("GET", "/live/seat/south", headers={"Cookie": cookie.partition(";")[0]})
    stream = line.getresponse()
    assert stream.readline() == b"retry: 1000\n"
    rig.table.new_game("outbuffered", {}, 1)
    while b"outbuffered" not in (sent := stream.readline()).lower():
        assert sent, "the stream must not end before the game is shown"
    stream.close()
    line.close()


def test_tls_keeps_the_address_of_the_client(server: Server) -> None:
    """If it were lost, everybody would seem to be at the machine's own screen and see the key."""
    for source, is_own in ((ELSEWHERE, False), ("127.0.0.1", True)):
        line = https_connection(server, source)
        line.request("GET", "/owner")
        assert (HOST_KEY.encode() in line.getresponse().read()) is is_own
        line.close()
    request = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    assert b"200 OK" in answer_without_tls(server, request, "127.0.0.1"), (
        "programs on this machine must be served without TLS"
    )


def test_requests_without_tls_are_redirected(server: Server) -> None:
    answer = answer_without_tls(
        server, b"GET /s?x=1 HTTP/1.1\r\nHost: table.example.org:8443\r\n\r\n"
    )
    assert answer.startswith(b"HTTP/1.1 307")
    assert b"\r\nLocation: https://table.example.org:8443/s?x=1\r\n" in answer
    for malformed in (
        b"POST /join/south HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a:80:b\r\n\r\n",
        b"rubbish\r\n\r\n",
    ):
        assert answer_without_tls(server, malformed).startswith(b"HTTP/1.1 400")


# ---- certificates --------------------------------------------------------------------------------


def test_the_doctor_reports_a_missing_certificate(tmp_path: Path) -> None:
    web = WebSettings(certificate="/no.pem", key=KEY)
    settings = Settings(state_dir=str(tmp_path), web=web, panel=PanelSettings(enabled="no"))
    findings = examine(settings)
    assert [finding.grade for finding in findings if finding.topic == "https"] == [Grade.FAIL]


def test_broken_handshakes_disturb_nobody(server: Server) -> None:
    """Clients that fail must neither stop the server nor leave connections behind."""
    # three clients hang up: in a request without TLS, after rubbish, and at once
    for beginning in (b"GET / HTTP/1.1\r\nHo", b"x" * 70_000, b""):
        with socket.create_connection(
            ("127.0.0.1", server.port), 10, source_address=(ELSEWHERE, 0)
        ) as line:
            line.sendall(beginning)
            line.shutdown(socket.SHUT_WR)
            with contextlib.suppress(ConnectionResetError):
                assert line.recv(16) == b""

    # a client does not trust the certificate
    strict = http.client.HTTPSConnection("localhost", server.port, timeout=60)
    with pytest.raises(ssl.SSLCertVerificationError):
        strict.request("GET", "/")

    # a browser loads a file that is longer than what is copied at once
    browser = https_connection(server)
    browser.request("GET", "/kit/binmat.pdf")
    answer = browser.getresponse()
    assert len(answer.read()) == int(answer.getheader("Content-Length", "0")) > tls.CHUNK_BYTES
    browser.close()
    until("the end of all connections", lambda: not server.listener.count_of("127.0.0.1"))


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


# Addresses and names that the table's own certificate is made for.
HOSTS = ("192.0.2.7", "table.local", "::1")


def test_an_own_certificate_names_the_tables_addresses(tmp_path: Path) -> None:
    """The certificate is valid for at most 825 days, the maximum that Apple's phones accept."""
    own_certificate(tmp_path, HOSTS)
    command = ["openssl", "x509", "-noout", "-enddate", "-ext", "subjectAltName,extendedKeyUsage"]
    file = tmp_path / "own-certificate.pem"
    shown = subprocess.run([*command, "-in", file], capture_output=True, text=True, check=True)
    assert "IP Address:192.0.2.7, DNS:table.local, IP Address:0:0:0:0:0:0:0:1" in shown.stdout
    assert "TLS Web Server Authentication" in shown.stdout
    ends = re.search(r"notAfter=(.*)", shown.stdout)
    assert ends
    days_left = (ssl.cert_time_to_seconds(ends[1]) - time.time()) / 86400
    assert 700 < days_left < 825
    assert (tmp_path / "own-key.pem").stat().st_mode & 0o077 == 0


def test_an_own_certificate_is_renewed_in_time(tmp_path: Path) -> None:
    file = tmp_path / "own-certificate.pem"

    def certificate_at_age(age_s: float) -> bytes:
        if file.exists():
            os.utime(file, (time.time() - age_s, time.time() - age_s))
        assert isinstance(own_certificate(tmp_path, HOSTS), ssl.SSLContext)
        return file.read_bytes()

    # the first call makes a certificate, which stays until it is old
    first = certificate_at_age(0)
    assert certificate_at_age(1000) == first
    second = certificate_at_age(tls.RENEW_AFTER_S + 1)
    assert second != first
    assert certificate_at_age(-5000) != second, "a certificate from the future must be renewed"


def test_a_missing_openssl_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoCertificate, match="sudo apt install openssl"):
        own_certificate(tmp_path, HOSTS)
