"""A proxy in front: whose headers count, and that nobody behind one stands at the machine's own
screen; by a real nginx.
"""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from flask import Flask, request
from proxy_tools import needs_nginx, nginx
from waiting import until
from werkzeug.test import Client

from companion.core.config import Settings, WebSettings, parse_settings
from companion.core.errors import ConfigError
from companion.service.app import Companion
from web.security.proxies import UNKNOWN_ADDRESS, Proxies, ProxyMiddleware, RequestClient

ELSEWHERE, PROXY = "192.0.2.9", "10.0.0.2"
# Headers with which the machine asks for its own screen.
OWN = {"Host": "127.0.0.1"}


@pytest.mark.parametrize(
    ("address", "headers", "told"),
    [
        (ELSEWHERE, {"FOR": "127.0.0.1", "PROTO": "https", "PREFIX": "/table"}, (ELSEWHERE,)),
        (PROXY, {"FOR": "192.0.2.7:4711"}, ("192.0.2.7",)),
        (PROXY, {"FOR": "127.0.0.1, 192.0.2.7, 10.0.0.3"}, ("192.0.2.7",)),
        (PROXY, {"FOR": "127.0.0.1"}, (UNKNOWN_ADDRESS,)),
        (PROXY, {"FOR": "nonsense, 10.0.0.3"}, (UNKNOWN_ADDRESS,)),
        (PROXY, {"FOR": "[2001:db8::7]:4711"}, ("2001:db8::7",)),
        (
            PROXY,
            {"FOR": "192.0.2.7", "PROTO": "http, HTTPS", "HOST": "a, table.example.org"},
            ("192.0.2.7", "https", "table.example.org"),
        ),
        (PROXY, {"FOR": "192.0.2.7", "PROTO": "gopher"}, ("192.0.2.7",)),
        (PROXY, {"PREFIX": "/table/"}, (UNKNOWN_ADDRESS, "", "", "/table")),
        (PROXY, {"PREFIX": '/"><script>'}, (UNKNOWN_ADDRESS,)),
        ("127.0.0.1", {}, ("127.0.0.1",)),
        ("127.0.0.1", {"FOR": "192.0.2.7"}, (UNKNOWN_ADDRESS,)),
    ],
)
def test_whose_headers_count(address: str, headers: dict[str, str], told: tuple[str, ...]) -> None:
    sent = {f"HTTP_X_FORWARDED_{name}": value for name, value in headers.items()}
    expected = RequestClient(*told, *[""] * (3 - len(told)))
    assert Proxies(["10.0.0.1/24"]).find_client(address, sent) == expected


@pytest.mark.parametrize("path", ["table", "/table/", "/", "//table", "/a/../b", "/ta ble", "/t?x"])
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(ConfigError, match=r"“.*” in \[web\] path is not a path such as /table"):
        parse_settings(f'[web]\npath = "{path}"')


@pytest.mark.parametrize(
    ("asked", "header", "expected"),
    [
        ("/table/join", "", "/table /join"),
        ("/table", "", "/table /"),
        ("/tables", "", "/table /tables"),
        ("/join", "/ingress/7", "/ingress/7 /join"),
    ],
)
def test_a_path_left_by_the_proxy_is_removed(asked: str, header: str, expected: str) -> None:
    app = Flask(__name__)
    app.before_request(lambda: f"{request.script_root} {request.path}")
    browser = Client(ProxyMiddleware(app, Proxies(["10.0.0.2"]), "http", "/table"))
    asks = {"REMOTE_ADDR": "10.0.0.2", "HTTP_X_INGRESS_PATH": header}
    assert browser.get(asked, environ_base=asks).text == expected


@contextmanager
def table_behind_nginx(
    folder: Path, *, is_named: bool, more: str = ""
) -> Iterator[tuple[Companion, int]]:
    """Run a table on a loopback port with nginx in front. `is_named`: the settings know of it."""
    web = WebSettings(
        host="127.0.0.1",
        port=0,
        names=("table.example.org",),
        proxies=("127.0.0.1",) if is_named else (),
    )
    with (
        Companion(Settings(state_dir=str(folder), web=web), simulate=True) as companion,
        nginx(folder, companion.server.port, _answers, more=more) as port,
    ):
        yield companion, port


def _answers(port: int) -> bool:
    try:
        return ask(port, "/health")[0] == 200
    except OSError:
        return False


def ask(port: int, path: str, **headers: str) -> tuple[int, str]:
    """Send a request to the public name as a browser does."""
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        line.request("GET", path, headers={"Host": "table.example.org", **headers})
        answer = line.getresponse()
        return answer.status, answer.read().decode()
    finally:
        line.close()


@needs_nginx
def test_everything_works_behind_a_named_proxy(
    tmp_path: Path,
) -> None:
    with table_behind_nginx(tmp_path, is_named=True) as (companion, port):
        forged = {"X-Forwarded-For": "127.0.0.1", "X-Forwarded-Host": "localhost"}
        for target, headers in ((port, {}), (port, forged), (companion.server.port, OWN)):
            assert companion.host_key not in ask(target, "/owner", **headers)[1]
        line = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        own = {
            "Host": "table.example.org",
            "Origin": "https://table.example.org",
            "Content-Type": "application/json",
        }
        line.request("POST", "/api/seat/south/take", json.dumps({"name": "Mara"}), own)
        answer = line.getresponse()
        answer.read()
        assert "Secure" in (answer.headers["Set-Cookie"] or "")
        line.request("GET", "/live/watch", headers={"Host": "table.example.org"})
        stream = line.getresponse()
        assert stream.readline().startswith(b"retry")  # it is not held back until it is whole
        until("the first picture comes", lambda: b"live" in stream.readline())
        line.close()


@needs_nginx
def test_an_unnamed_proxy_gives_nobody_the_own_screen(tmp_path: Path) -> None:
    more = "proxy_set_header Host $host; proxy_set_header Via somebody;"
    with table_behind_nginx(tmp_path, is_named=False, more=more) as (companion, port):
        assert companion.host_key not in ask(port, "/owner")[1]
        assert companion.host_key in ask(companion.server.port, "/owner", **OWN)[1]
