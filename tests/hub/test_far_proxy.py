"""The port for remote phones as it stands in the open: behind a real nginx with TLS, with a certificate, and by IPv6."""

from __future__ import annotations

import http.client
import socket
import ssl
import urllib.parse
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from far_tools import FORM, FarTable, far_table
from hub_tools import until
from proxy_tools import needs_nginx, nginx

from companion.core.kit import Seat
from companion.table.session import FAR

FILES = Path(__file__).parents[1] / "certificates"
CERTIFICATE, KEY = str(FILES / "certificate.pem"), str(FILES / "key.pem")
FAR_AWAY = "localhost"
"""The public name of the port, which is that of the certificate."""


@dataclass
class Outside:
    """Somebody on the internet: an address, and the cookies so far."""

    port: int
    address: str = "127.0.0.11"
    public: str = f"https://{FAR_AWAY}"

    def __post_init__(self) -> None:
        self.cookies: dict[str, str] = {}
        self.attributes = ""

    def line(self) -> http.client.HTTPSConnection:
        trust = ssl.create_default_context(cafile=CERTIFICATE)
        return http.client.HTTPSConnection(
            "localhost", self.port, timeout=30, context=trust, source_address=(self.address, 0)
        )

    def ask(self, method: str, path: str, **fields: str) -> tuple[int, str, str]:
        """Status, page, and where it leads, which is not followed."""
        with closing(self.line()) as line:
            headers = {**FORM, "Origin": self.public, "Cookie": "; ".join(f"{k}={v}" for k, v in self.cookies.items())}
            line.request(method, path, urllib.parse.urlencode(fields), headers)
            answer = line.getresponse()
            for told in answer.headers.get_all("Set-Cookie", []):
                name, _, rest = told.partition("=")
                self.cookies[name], _, self.attributes = rest.partition(";")
            return answer.status, answer.read().decode(), answer.headers.get("Location", "")

    def sits_down(self, code: str) -> None:
        assert self.ask("POST", "/enter", code=code)[::2] == (303, "/join/north")
        assert self.is_safe
        assert self.ask("POST", "/join/north", name="Ines")[::2] == (303, "/seat/north")
        assert self.is_safe
        assert "Menu" in self.ask("GET", "/seat/north")[1]

    @property
    def is_safe(self) -> bool:
        """Did the last cookie go by TLS alone, to no script, and with no other site's forms?"""
        return {"Secure", "HttpOnly", "SameSite=Lax"} <= {each.strip() for each in self.attributes.split(";")}


@contextmanager
def behind_nginx(folder: Path, **hub: object) -> Iterator[tuple[FarTable, int]]:
    """A hub that knows its proxy, which speaks TLS."""
    known = {"proxies": ("127.0.0.1",), "far_url": f"https://{FAR_AWAY}", **hub}
    with far_table(folder, hub=known) as far:
        assert far.hub.far_server is not None
        tls = f"ssl_certificate {CERTIFICATE}; ssl_certificate_key {KEY};"
        with nginx(folder, far.hub.far_server.port, answers, tls=tls) as port:
            yield far, port


def answers(port: int) -> bool:
    try:
        return Outside(port).ask("GET", "/enter")[0] == 200
    except (OSError, http.client.HTTPException):
        return False


@needs_nginx
def test_behind_a_proxy_with_tls(tmp_path: Path) -> None:
    with behind_nginx(tmp_path) as (far, port):
        assert far.companion.hub.invite(Seat.NORTH).link.startswith(f"https://{FAR_AWAY}/")
        phone = Outside(port)
        phone.sits_down(far.invite())
        assert far.companion.table.view().seats[Seat.NORTH].door == FAR
        with closing(phone.line()) as line:
            cookies = "; ".join(f"{name}={value}" for name, value in phone.cookies.items())
            line.request("GET", "/live/seat/north", headers={"Accept": "text/event-stream", "Cookie": cookies})
            with line.getresponse() as stream:
                until("it is not held back until it is whole", lambda: b"live" in stream.readline())
        evil = Outside(port, public="https://evil.example")
        evil.cookies = phone.cookies
        assert evil.ask("POST", "/api/seat/north/leave")[0] == 403


@needs_nginx
def test_wrong_codes_are_counted_by_the_address_behind_the_proxy(tmp_path: Path) -> None:
    with behind_nginx(tmp_path) as (far, port):
        code, guesser = far.invite(), Outside(port, "127.0.0.12")
        told = [guesser.ask("POST", "/enter", code=f"aaaaaaa{letter}")[1] for letter in "234567"]
        assert "Too many wrong codes" in told[-1]
        assert "Too many wrong codes" in guesser.ask("POST", "/enter", code=code)[1]
        Outside(port, "127.0.0.13").sits_down(code)  # somebody else is not kept out


@needs_nginx
def test_a_proxy_that_is_not_named(tmp_path: Path) -> None:
    """Its word for the address does not count: all that come through it are one stranger."""
    with behind_nginx(tmp_path, proxies=()) as (far, port):
        for letter in "23456":
            Outside(port, "127.0.0.12").ask("POST", "/enter", code=f"aaaaaaa{letter}")
        page = Outside(port, "127.0.0.13").ask("POST", "/enter", code=far.invite())[1]
        assert "Too many wrong codes" in page


def test_a_certificate_on_the_port_itself(tmp_path: Path) -> None:
    with far_table(
        tmp_path, hub={"certificate": CERTIFICATE, "key": KEY, "names": ("localhost",)}, ca=CERTIFICATE
    ) as far:
        assert far.hub.far_server is not None
        port = far.hub.far_server.port
        link = far.companion.hub.invite(Seat.NORTH).link
        assert link.startswith(f"https://localhost:{port}/")
        Outside(port, public=f"https://localhost:{port}").sits_down(link.rpartition("/")[2])
        with closing(http.client.HTTPConnection("127.0.0.1", port, 20, ("127.0.0.66", 0))) as plain:
            plain.request("GET", "/enter", headers={"Host": f"localhost:{port}"})
            answer = plain.getresponse()
            assert answer.status >= 300  # never the page without TLS
            assert b"Play remotely" not in answer.read()


def has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")
def test_by_ipv6(tmp_path: Path) -> None:
    with far_table(tmp_path, hub={"host": "::1", "nats_host": "::1"}) as far:
        assert far.hub.far_url().startswith("http://[::1]:")
        far.phone().sit(far.invite())
        assert far.companion.table.view().seats[Seat.NORTH].door == FAR


def test_a_public_address_of_ipv6_as_far_url(tmp_path: Path) -> None:
    with far_table(tmp_path, hub={"far_url": "http://[2001:db8::7]:8501"}) as far:
        assert far.hub.far_server is not None
        port = far.hub.far_server.port
        for host, status in (("[2001:db8::7]:8501", 200), ("[2606:4700::1]:8501", 421)):
            with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=20)) as line:
                line.request("GET", "/enter", headers={"Host": host})
                answer = line.getresponse()
                answer.read()
                assert answer.status == status, host
