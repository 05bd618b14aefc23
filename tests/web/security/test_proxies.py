"""A proxy in front: whose headers count, and that nobody behind one stands at the machine's own screen; by a real nginx."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from flask import Flask, request
from inside import app_of
from mqtt_tools import until
from proxy_tools import needs_nginx, nginx
from werkzeug.test import Client

from companion.core.config import Settings, WebSettings, read_settings
from companion.core.errors import ConfigError
from companion.service.app import Companion
from web.security.proxies import SOMEWHERE, Caller, Front, Proxies


@pytest.mark.parametrize(
    ("address", "headers", "told"),
    [
        ("192.0.2.9", {}, ("192.0.2.9", "", "")),
        (
            "192.0.2.9",
            {"HTTP_X_FORWARDED_FOR": "127.0.0.1", "HTTP_X_FORWARDED_PROTO": "https"},
            ("192.0.2.9", "", ""),
        ),
        ("10.0.0.2", {"HTTP_X_FORWARDED_FOR": "192.0.2.7"}, ("192.0.2.7", "", "")),
        (
            "10.0.0.2",
            {"HTTP_X_FORWARDED_FOR": "127.0.0.1, 192.0.2.7, 10.0.0.3"},
            ("192.0.2.7", "", ""),
        ),
        ("10.0.0.2", {"HTTP_X_FORWARDED_FOR": "127.0.0.1"}, (SOMEWHERE, "", "")),
        ("10.0.0.2", {"HTTP_X_FORWARDED_FOR": "::1"}, (SOMEWHERE, "", "")),
        ("10.0.0.2", {"HTTP_X_FORWARDED_FOR": "nonsense, 10.0.0.3"}, (SOMEWHERE, "", "")),
        ("10.0.0.2", {}, (SOMEWHERE, "", "")),
        ("10.0.0.2", {"HTTP_X_FORWARDED_FOR": "[2001:db8::7]:4711"}, ("2001:db8::7", "", "")),
        ("10.0.0.2", {"HTTP_X_FORWARDED_FOR": "192.0.2.7:4711"}, ("192.0.2.7", "", "")),
        (
            "10.0.0.2",
            {
                "HTTP_X_FORWARDED_FOR": "192.0.2.7",
                "HTTP_X_FORWARDED_PROTO": "http, HTTPS",
                "HTTP_X_FORWARDED_HOST": "a, table.example.org",
            },
            ("192.0.2.7", "https", "table.example.org"),
        ),
        (
            "10.0.0.2",
            {"HTTP_X_FORWARDED_FOR": "192.0.2.7", "HTTP_X_FORWARDED_PROTO": "gopher"},
            ("192.0.2.7", "", ""),
        ),
        (
            "10.0.0.2",
            {"HTTP_X_INGRESS_PATH": "/api/ingress/x_1"},
            (SOMEWHERE, "", "", "/api/ingress/x_1"),
        ),
        ("10.0.0.2", {"HTTP_X_FORWARDED_PREFIX": "/table/"}, (SOMEWHERE, "", "", "/table")),
        ("10.0.0.2", {"HTTP_X_INGRESS_PATH": "//evil.example"}, (SOMEWHERE, "", "", "")),
        ("10.0.0.2", {"HTTP_X_INGRESS_PATH": '/"><script>'}, (SOMEWHERE, "", "", "")),
        ("192.0.2.9", {"HTTP_X_INGRESS_PATH": "/table"}, ("192.0.2.9", "", "", "")),
        ("127.0.0.1", {}, ("127.0.0.1", "", "")),
        ("127.0.0.1", {"HTTP_X_FORWARDED_FOR": "192.0.2.7"}, (SOMEWHERE, "", "")),
        ("::1", {"HTTP_VIA": "1.1 somebody"}, (SOMEWHERE, "", "")),
        ("no address", {"HTTP_X_FORWARDED_FOR": "192.0.2.7"}, ("no address", "", "")),
    ],
)
def test_whose_headers_count(address: str, headers: dict[str, str], told: tuple[str, ...]) -> None:
    assert Proxies(["10.0.0.1/24"]).caller(address, headers) == Caller(*told)


@pytest.mark.parametrize("proxies", ['["proxy.local"]', '["10.0.0.0/99"]', '[""]', '"10.0.0.1"'])
def test_what_is_no_address_is_refused(proxies: str) -> None:
    with pytest.raises(ConfigError, match="proxies"):
        read_settings(f"[web]\nproxies = {proxies}")


@pytest.mark.parametrize("path", ["table", "/table/", "/", "//table", "/a/../b", "/ta ble", "/t?x"])
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(ConfigError, match=r"“.*” in \[web\] path is not a path such as /table"):
        read_settings(f'[web]\npath = "{path}"')


@pytest.mark.parametrize(
    ("asked", "header", "root", "path"),
    [
        ("/table/join", "", "/table", "/join"),
        ("/table", "", "/table", "/"),
        ("/join", "", "/table", "/join"),
        ("/tables", "", "/table", "/tables"),
        ("/join", "/ingress/7", "/ingress/7", "/join"),
    ],
)
def test_a_path_is_taken_off_where_the_proxy_has_not_done_so(
    asked: str, header: str, root: str, path: str
) -> None:
    app = Flask(__name__)
    app.before_request(lambda: f"{request.script_root} {request.path}")
    browser = Client(Front(app, Proxies(["10.0.0.2"]), "http", "/table"))
    asks = {"REMOTE_ADDR": "10.0.0.2", "HTTP_X_INGRESS_PATH": header}
    assert browser.get(asked, environ_base=asks).text == f"{root} {path}"


def test_under_a_path_redirects_and_cookies_have_it(tmp_path: Path) -> None:
    with Companion(Settings(state_dir=str(tmp_path)), simulate=True, threads=False) as companion:
        browser = app_of(companion.server).test_client()
        form = {"name": "Mara"}
        answer = browser.post("/join/south", data=form, environ_overrides={"SCRIPT_NAME": "/table"})
    assert answer.location == "/table/seat/south"
    cookies = answer.headers.getlist("Set-Cookie")
    assert cookies
    assert all("; Path=/table;" in cookie for cookie in cookies)


@contextmanager
def table_behind_nginx(
    folder: Path, *, is_named: bool, more: str = ""
) -> Iterator[tuple[Companion, int]]:
    """A table on a port of the loopback, and nginx in front of it; `is_named`: the settings know it."""
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


def ask(port: int, path: str, **headers: str) -> tuple[int, str, http.client.HTTPMessage]:
    """A request as a browser sends it to the public name."""
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        line.request(
            "GET", path, headers={"Host": "table.example.org", "Accept": "text/html", **headers}
        )
        answer = line.getresponse()
        return answer.status, answer.read().decode(), answer.headers
    finally:
        line.close()


@needs_nginx
def test_behind_a_proxy_that_is_named_everything_works_and_nobody_is_at_the_own_screen(
    tmp_path: Path,
) -> None:
    with table_behind_nginx(tmp_path, is_named=True) as (companion, port):
        status, page, _ = ask(port, "/")
        assert status == 200
        assert companion.host_key not in page
        forged = ask(port, "/", **{"X-Forwarded-For": "127.0.0.1", "X-Forwarded-Host": "localhost"})
        assert companion.host_key not in forged[1]
        line = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        own = {
            "Host": "table.example.org",
            "Origin": "https://table.example.org",
            "Content-Type": "application/json",
        }
        line.request("POST", "/api/seat/south/take", json.dumps({"name": "Mara"}), own)
        answer = line.getresponse()
        assert answer.status == 200
        assert "Secure" in (answer.headers["Set-Cookie"] or "")
        answer.read()
        line.request(
            "GET",
            "/live/watch",
            headers={"Host": "table.example.org", "Accept": "text/event-stream"},
        )
        stream = line.getresponse()
        assert stream.status == 200
        assert stream.readline().startswith(b"retry")  # it is not held back until it is whole
        until("the first picture comes", lambda: b"live" in stream.readline())
        line.close()
        # a program that asks without the proxy from the same address is no own screen either
        assert companion.host_key not in ask(companion.server.port, "/", Host="127.0.0.1")[1]


@needs_nginx
@pytest.mark.parametrize("more", ["", "proxy_set_header Via somebody;"])
def test_a_proxy_that_is_not_named_gives_nobody_the_own_screen(tmp_path: Path, more: str) -> None:
    with table_behind_nginx(
        tmp_path, is_named=False, more=more and f"proxy_set_header Host $host; {more}"
    ) as (
        companion,
        port,
    ):
        assert companion.host_key not in ask(port, "/owner")[1]
        assert companion.host_key in ask(companion.server.port, "/owner", Host="127.0.0.1")[1]
