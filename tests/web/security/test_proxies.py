"""Tests of a table behind a reverse proxy: values, the WSGI middleware, and a real nginx in front.

Forwarded headers count only from proxies that the settings name. Nobody behind a proxy counts as
the machine's own screen, which shows the owner key.
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

# An address that is no proxy.
ELSEWHERE = "192.0.2.9"
# An address in the network of proxies.
PROXY = "10.0.0.2"
# Headers of a request from the machine's own screen.
OWN_SCREEN = {"Host": "127.0.0.1"}


@pytest.mark.parametrize(
    ("address", "headers", "expected"),
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
def test_only_proxies_forwarded_headers_count(
    address: str, headers: dict[str, str], expected: tuple[str, ...]
) -> None:
    """Headers are those that begin with `X-Forwarded-`, and the network of proxies is 10.0.0.x.

    What is expected are the fields of a `RequestClient`. Fields that are left out are empty.
    """
    sent = {f"HTTP_X_FORWARDED_{name}": value for name, value in headers.items()}
    client = RequestClient(*expected, *[""] * (3 - len(expected)))
    assert Proxies(["10.0.0.1/24"]).find_client(address, sent) == client


@pytest.mark.parametrize("path", ["table", "/table/", "/", "//table", "/a/../b", "/ta ble", "/t?x"])
def test_an_invalid_path_setting_is_refused(path: str) -> None:
    with pytest.raises(ConfigError, match=r"“.*” in \[web\] path is not a path such as /table"):
        parse_settings(f'[web]\npath = "{path}"')


@pytest.mark.parametrize(
    ("path", "header", "expected"),
    [
        ("/table/join", "", "/table /join"),
        ("/table", "", "/table /"),
        ("/tables", "", "/table /tables"),
        ("/join", "/ingress/7", "/ingress/7 /join"),
    ],
)
def test_the_proxys_path_is_removed(path: str, header: str, expected: str) -> None:
    """The path of the pages is `/table` by the settings, or another one by the proxy's header.

    The answer is the prefix that all links get, and the path that is left for the routes.
    """
    app = Flask(__name__)
    app.before_request(lambda: f"{request.script_root} {request.path}")
    browser = Client(ProxyMiddleware(app, Proxies(["10.0.0.2"]), "http", "/table"))
    environ = {"REMOTE_ADDR": "10.0.0.2", "HTTP_X_INGRESS_PATH": header}
    assert browser.get(path, environ_base=environ).text == expected


@contextmanager
def table_behind_nginx(
    folder: Path, *, is_named: bool, more: str = ""
) -> Iterator[tuple[Companion, int]]:
    """Run a table on a loopback port with nginx in front. Yield the table and the port of nginx.

    `is_named` is whether the table's settings name nginx as a proxy, `more` are lines of its
    configuration.
    """
    web = WebSettings(
        host="127.0.0.1",
        port=0,
        names=("table.example.org",),
        proxies=("127.0.0.1",) if is_named else (),
    )
    with (
        Companion(Settings(state_dir=str(folder), web=web), simulate=True) as companion,
        nginx(folder, companion.server.port, _is_up, more=more) as port,
    ):
        yield companion, port


def _is_up(port: int) -> bool:
    try:
        return ask(port, "/health")[0] == 200
    except OSError:
        return False


def ask(port: int, path: str, **headers: str) -> tuple[int, str]:
    """Request a path as a browser that knows the public name. Return status and body."""
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        line.request("GET", path, headers={"Host": "table.example.org", **headers})
        answer = line.getresponse()
        return answer.status, answer.read().decode()
    finally:
        line.close()


@needs_nginx
def test_everything_works_behind_a_named_proxy(tmp_path: Path) -> None:
    """All requests come from nginx on this machine, but are those of browsers elsewhere."""
    with table_behind_nginx(tmp_path, is_named=True) as (companion, port):
        # Nobody sees the key: not through nginx, not with forged headers, and not from this machine
        # itself, whose address now stands for a proxy.
        forged = {"X-Forwarded-For": "127.0.0.1", "X-Forwarded-Host": "localhost"}
        for target, headers in ((port, {}), (port, forged), (companion.server.port, OWN_SCREEN)):
            assert companion.host_key not in ask(target, "/owner", **headers)[1]

        # nginx says that the browser uses HTTPS, so the cookie of a seat is only for HTTPS
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

        # a stream works
        line.request("GET", "/live/watch", headers={"Host": "table.example.org"})
        stream = line.getresponse()
        # nginx must pass a stream on at once instead of waiting for its end
        assert stream.readline().startswith(b"retry")
        until("the first fragment", lambda: b"live" in stream.readline())
        line.close()


@needs_nginx
def test_behind_an_unnamed_proxy_nobody_sees_the_key(tmp_path: Path) -> None:
    more = "proxy_set_header Host $host; proxy_set_header Via somebody;"
    with table_behind_nginx(tmp_path, is_named=False, more=more) as (companion, port):
        assert companion.host_key not in ask(port, "/owner")[1]
        assert companion.host_key in ask(companion.server.port, "/owner", **OWN_SCREEN)[1]
