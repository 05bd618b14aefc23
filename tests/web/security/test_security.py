"""Who gets in: names, other sites, the host key, the code to sit down, and what strangers are never given."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from flask import Request
from inside import session_of
from security_tools import code_of, guarded, host_of, stranger
from web_fixtures import HOST_KEY, FakeHands, FakeWorld, Place, error_of, open_place, page_of

from companion.cli.greeting import greeting
from companion.cli.main import main
from companion.cli.running import ask_running
from companion.core.clock import FakeClock
from companion.core.config import Settings, WebSettings, read_settings
from companion.core.errors import ConfigError, SystemTrouble
from companion.core.kit import Seat
from companion.core.network import Wifi, host_key_text, page_urls, plain_code, shown_code
from companion.service.app import Companion
from companion.storage.journal import Journal
from web.features import Welcome, Workbench
from web.security.host_names import Names

PAGE = {"Accept": "text/html"}
SAMPLES = {
    "seat": "south", "page": "table", "name": "outbuffered", "version": "x", "number": "1", "game": "1",
    "moment": "1.0", "turn": "1",
}  # fmt: skip


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with open_place(tmp_path, workbench=Workbench(FakeWorld(), FakeHands())) as opened:
        yield opened


def test_a_seat_that_is_left_is_forgotten_by_the_browser(place: Place) -> None:
    phone = place.sit("south")
    answer = phone.post("/api/seat/south/leave", json={}, headers={"Origin": "http://localhost"})
    assert (answer.status_code, place.cookie(phone, "seat_south")) == (200, None)


def test_a_browser_is_known_by_its_own_cookies(place: Place) -> None:
    guard, phone, host = place.app.extensions["guard"], place.sit("south"), place.browser()
    cookie = place.cookie(phone, "seat_south")
    assert cookie is not None
    assert guard.owner_of({"seat_south": cookie.value}) == "south"
    for name, carried in (("seat_south", True), ("seat_north", False)):
        asked = Request({"HTTP_COOKIE": f"{name}={cookie.value}"})
        assert bool(guard.sitting(asked, Seat(name[5:]))) is carried
    host.post("/host", data={"key": HOST_KEY})
    held = place.cookie(host, "host")
    assert held is not None
    assert guard.owner_of({"host": held.value}) == "host"


# ---- every route -------------------------------------------------------------------------------------------------------


def doors(place: Place) -> list[tuple[str, str]]:
    """Method and path of everything that can be asked."""
    found = []
    for rule in place.app.url_map.iter_rules():
        path = re.sub(r"<(?:[^:<>]+:)?([^<>]+)>", lambda name: SAMPLES.get(name[1], "1"), rule.rule)
        found += [
            (method, path) for method in rule.methods or () if method not in ("HEAD", "OPTIONS")
        ]
    return sorted(found)


def state_of(place: Place) -> tuple[object, ...]:
    """All that a request could change, but what pages look like."""
    session = session_of(place.table)
    return (
        session.seats,
        session.number,
        session.phase,
        session.tick,
        session.sealed,
        session.paused,
    )


def test_no_other_site_changes_anything_by_any_route(place: Place) -> None:
    both = place.sit("south")
    both.post("/host", data={"key": HOST_KEY})
    changing = [door for door in doors(place) if door[0] != "GET"]
    assert len(changing) > 40
    before = state_of(place)
    foreign: tuple[dict[str, str], ...] = (
        {"Origin": "http://evil.example"},
        {"Origin": "http://localhost:81"},
        {"Referer": "http://evil.example/page"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    )
    for method, path in changing:
        for headers in foreign:
            for body in (
                {"json": {}},
                {"data": {"name": "Eve"}},
                {"data": b"{}", "content_type": "text/plain"},
            ):
                answer = both.open(path, method=method, headers=headers, **body)
                assert (answer.status_code, error_of(answer)["kind"]) == (403, "foreign_origin"), (
                    path
                )
    assert state_of(place) == before


def test_what_a_person_types_or_our_own_page_sends_is_no_other_site(place: Place) -> None:
    browser = place.sit("south")
    for own in (
        {"Sec-Fetch-Site": "none"},
        {"Sec-Fetch-Site": "same-origin", "Origin": "http://localhost"},
    ):
        assert browser.post("/api/seat/south/mine", json={}, headers=own).status_code == 200, own


def test_looking_changes_nothing_at_any_route(place: Place) -> None:
    """Nor does any other method that a route does not offer."""
    both = place.sit("south")
    both.post("/host", data={"key": HOST_KEY})
    place.to_orders()
    before = state_of(place)
    for method, path in doors(place):
        for asked in {"GET", "OPTIONS", method} - {"POST"}:
            both.open(path, method=asked, buffered=False).close()
        for never in ("PUT", "DELETE", "PATCH"):
            assert both.open(path, method=never).status_code in (404, 405), path
    assert state_of(place) == before


def test_every_cookie_is_for_this_site_and_for_no_script(place: Place) -> None:
    browser = place.browser()
    for base, is_secure in (("http://localhost", False), ("https://localhost", True)):
        answers = [
            browser.post("/join/south", data={"name": "Mara"}, base_url=base),
            browser.post("/host", data={"key": HOST_KEY}, base_url=base),
            browser.post("/language", data={"code": "fr"}, base_url=base),
            browser.post("/pass", data={}, base_url=base),
        ]
        cookies = [cookie for answer in answers for cookie in answer.headers.getlist("Set-Cookie")]
        assert len(cookies) >= 5
        for cookie in cookies:
            assert "HttpOnly" in cookie
            assert "SameSite=Lax" in cookie
            assert ("; Secure" in cookie) is is_secure
        place.table.free_seat(Seat.SOUTH)
        place.table.free_seat(Seat.NORTH)


def test_nothing_of_ours_is_shown_inside_another_site(place: Place) -> None:
    inside = {
        "Sec-Fetch-Site": "cross-site",
        "Sec-Fetch-Mode": "no-cors",
        "Sec-Fetch-Dest": "image",
    }
    for path in ("/live/table?voice", "/api/view", "/"):
        assert place.browser().get(path, headers=inside).status_code == 403
    followed = {
        "Sec-Fetch-Site": "cross-site",
        "Sec-Fetch-Mode": "navigate",
        "Sec-Fetch-Dest": "document",
    }
    assert place.browser().get("/join", headers=followed).status_code == 200


def test_the_workbench_and_debug_pages_are_there_in_simulation_alone(tmp_path: Path) -> None:
    with open_place(tmp_path) as bare:
        paths = {rule.rule for rule in bare.app.url_map.iter_rules()}
        assert not [
            path for path in paths if "workbench" in path or "debug" in path or "console" in path
        ]
        assert bare.browser().get("/workbench").status_code == 404
        assert not bare.app.debug
        assert not bare.app.testing
        for path in (
            "/workbench/state",
            "/console",
            "/debug",
            "/?__debugger__=yes&cmd=resource&f=style.css",
        ):
            assert "Werkzeug" not in page_of(bare.browser(), path)


# ---- names -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host",
    ["192.168.1.7:8080", "10.42.0.1", "127.0.0.1:80", "[::1]:8080", "[fe80::1%eth0]", "100.64.3.4", "localhost",
     "LOCALHOST.:8080", "spieltisch", "spieltisch.local:8080", "table.example.org", "table.lan"],
)  # fmt: skip
def test_the_own_names_are_known(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "spieltisch.home.example")
    assert Names(["table.example.org"]).knows(host)


@pytest.mark.parametrize(
    "host",
    ["evil.example", "192.168.1.7.evil.example", "spieltisch.evil.example", "", "local",
     "localhost.evil.example", "table.example.org.evil.example", "0x7f000001", "evil.example:8080", "@localhost"],
)  # fmt: skip
def test_foreign_names_are_not(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "spieltisch")
    assert not Names(["table.example.org"]).knows(host)


def test_under_a_foreign_name_nothing_is_told_but_the_right_address(place: Place) -> None:
    south = place.sit("south", "Marabella")
    for path in ("/", "/api/view", "/seat/south", "/health", "/nowhere", "/live/table"):
        answer = south.get(path, headers={"Host": "evil.example", **PAGE})
        text = answer.get_data(as_text=True)
        assert answer.status_code == 421
        assert "Marabella" not in text
        assert path.startswith("/api") or 'href="http://192.0.2.7:8080/"' in text
        assert "evil.example" not in text
    refused = south.post("/api/seat/south/leave", json={}, headers={"Host": "evil.example"})
    assert (refused.status_code, error_of(refused)["kind"]) == (421, "unknown_name")
    assert (
        error_of(refused)["message"]
        == "The table’s pages have another address: open 192.0.2.7:8080"
    )
    style = re.search(r'href="(/static/[^"]+\.css)"', page_of(south, "/join"))
    assert style
    assert south.get(style[1], headers={"Host": "evil.example"}).status_code == 200, (
        "the page that says so has colours"
    )


def test_further_names_are_a_setting(tmp_path: Path) -> None:
    with guarded(tmp_path, names=("spiel.example",)) as place:
        assert (
            place.browser().get("/health", headers={"Host": "spiel.example:8080"}).status_code
            != 421
        )
    assert page_urls(WebSettings(host="192.0.2.7", names=("a.example",)), 80) == (
        "http://192.0.2.7/",
        "http://a.example/",
    )
    for wrong in ('names = ["a b"]', 'names = ["http://a"]', 'names = "a"'):
        with pytest.raises(ConfigError, match="names"):
            read_settings(f"[web]\n{wrong}")


# ---- the host's key ----------------------------------------------------------------------------------------------------


def test_a_new_host_key_turns_every_other_host_out(tmp_path: Path) -> None:
    with guarded(tmp_path) as place:
        host, other = host_of(place), host_of(place)
        stream = other.get("/live/host", buffered=False)
        chunks = iter(stream.response)
        next(chunks)
        assert HOST_KEY in page_of(host, "/host")
        made = host.post("/api/host/new-key", json={}).get_json()["host_key"]
        assert re.fullmatch(r"[a-z2-7]{5}-[a-z2-7]{5}", made)
        assert made != HOST_KEY
        assert host.get("/host").status_code == 200
        assert other.get("/host").status_code == 403
        assert made not in "".join(str(chunk) for chunk in chunks), (
            "what is open ends with nothing new"
        )
        stream.close()
        assert other.get("/live/host").status_code == 403
        assert (
            other.post("/api/host/abandon", json={}, headers={"X-Host-Key": HOST_KEY}).status_code
            == 403
        )
        assert "That is not the owner’s key" in other.post(
            "/host", data={"key": HOST_KEY}
        ).get_data(as_text=True)
        assert other.post("/host", data={"key": made}).status_code == 303
        assert stranger(place).post("/api/host/new-key", json={}).status_code == 403
    with Journal(tmp_path / "journal.sqlite") as journal:
        assert host_key_text(journal.key("host")) == made


def test_one_address_that_guesses_keeps_nobody_else_out(place: Place) -> None:
    bad = stranger(place)
    for _ in range(20):
        refused = bad.post("/host", data={"key": "nope"}).get_data(as_text=True)
    assert "wait 30 seconds" in refused
    assert place.browser().post("/host", data={"key": HOST_KEY}).status_code == 303
    for asks, key, status in (
        (bad, "nope", 403),
        (bad, HOST_KEY, 403),
        (place.browser(), HOST_KEY, 200),
    ):
        told = [
            asks.post("/api/host/swap-seats", json={}, headers={"X-Host-Key": key}).status_code
            for _ in range(6)
        ]
        assert told == [status] * 6, key


def test_the_command_line_shows_and_changes_the_host_key(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["host-key", "--state-dir", str(tmp_path)]
    assert main(where) == 1
    assert "no companion" in capsys.readouterr().err
    settings = Settings(state_dir=str(tmp_path), web=WebSettings(host="127.0.0.1", port=0))
    with Companion(settings, simulate=True, clock=FakeClock(), threads=False) as companion:
        assert main(where) == 0
        assert capsys.readouterr().out.strip() == companion.host_key
        before = companion.host_key
        assert main([*where, "--new", "--port", str(companion.server.port)]) == 0
        assert capsys.readouterr().out.strip() == companion.host_key != before
        changed = companion.host_key
    assert main(where) == 0
    assert capsys.readouterr().out.strip() == changed
    assert main([*where, "--new"]) == 0
    assert capsys.readouterr().out.strip() not in (before, changed)


@pytest.mark.parametrize(
    "answer", [(404, b'{"detail":"x"}'), (200, b"[]"), (200, b'{"ok":true}'), (200, b"5")]
)
def test_the_host_key_is_told_to_no_other_service(
    answer: tuple[int, bytes], tmp_path: Path
) -> None:
    heard: list[str | None] = []

    class Foreign(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            heard.append(self.headers["X-Host-Key"])
            self.send_response(answer[0])
            self.end_headers()
            self.wfile.write(answer[1])

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Foreign) as server:
        web = WebSettings(host="0.0.0.0", port=server.server_port)
        settings = Settings(state_dir=str(tmp_path), web=web)
        with Journal(settings.journal_path) as journal:
            journal.key("host")
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        with pytest.raises(SystemTrouble, match="does not answer on port"):
            ask_running(settings, "/api/host/new-key", {})
        thread.join()
    assert heard == [None]


def test_a_journal_that_cannot_be_written_is_not_taken_for_a_companion_that_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Journal(tmp_path / "journal.sqlite") as journal:
        journal.key("host")
    lock = tmp_path / "journal.lock"
    lock.unlink()
    lock.mkdir()
    assert main(["host-key", "--new", "--state-dir", str(tmp_path)]) == 1
    assert "cannot be written to (Is a directory)" in capsys.readouterr().err


# ---- secrets that stay ---------------------------------------------------------------------------------------------------


def test_the_wifis_password_goes_to_who_stands_at_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wifi = Wifi("Table", "wifi-secret")
    printed: list[object] = []

    def card(_: object, urls: object, wifi: object, *more: object) -> bytes:
        printed.append(wifi)
        return b"%PDF"

    monkeypatch.setattr("companion.printing.kit_printer.KitPrinter.join_card", card)
    with open_place(tmp_path, welcome=Welcome(lambda: wifi)) as home:
        own, guest, host = home.browser(), stranger(home), host_of(home)
        for browser in (own, guest, host):
            assert browser.get("/kit/join.pdf").status_code == 200
        assert printed == [wifi, None, wifi]
        assert "It has the Wi-Fi code only when" in page_of(guest, "/kit")
        assert "It has the Wi-Fi code only when" not in page_of(host, "/kit") + page_of(own, "/kit")
        assert guest.post("/host", data={"key": HOST_KEY, "back": "/kit"}).location == "/kit"
        assert "Scan first to join it" not in page_of(stranger(home), "/")
        assert "Scan first to join it" in page_of(own, "/")


def test_no_key_code_or_nonce_is_in_a_log_an_address_or_an_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with guarded(tmp_path, join="code") as place:
        code, phone, host = code_of(place), stranger(place), host_of(place)
        phone.post("/join/south", data={"name": "Mara", "code": code})
        host.post("/api/host/new-key", json={})
        nonce = place.table.seat_nonce(Seat.SOUTH)
        assert nonce
        secrets = (
            code,
            plain_code(code),
            HOST_KEY,
            nonce,
            "wifi-secret",
            place.app.extensions["guard"].host_key,
        )
        answers = [
            phone.get("/nowhere"),
            phone.post("/api/seat/north/take", json={"code": "zzz", "x": 1}),
            phone.post("/host", data={"key": HOST_KEY}),
            phone.get("/seat/north"),
            phone.get("/s"),
            phone.post("/api/host/undo", json={}, headers={"X-Host-Key": HOST_KEY}),
        ]
        told = caplog.text + "".join(
            f"{each.headers.get('Location')} {each.get_data(as_text=True)}" for each in answers
        )
        for secret in secrets:
            assert secret not in told


def test_key_and_code_are_printed_on_a_terminal_and_into_no_file(tmp_path: Path) -> None:
    web = WebSettings(host="127.0.0.1", port=0, join="code")
    with Companion(
        Settings(state_dir=str(tmp_path), web=web), clock=FakeClock(), threads=False
    ) as companion:
        assert companion.join_code
        code = shown_code(companion.join_code.now())
        told = {on_terminal: greeting(companion, on_terminal) for on_terminal in (False, True)}
        for secret in (companion.host_key, code):
            assert secret not in told[False]
            assert secret in told[True]


def test_tables_on_one_machine_keep_their_own_seats(tmp_path: Path) -> None:
    with (
        open_place(tmp_path / "one") as one,
        open_place(tmp_path / "other", signing_key=b"o" * 32) as other,
    ):
        phone = one.sit("south")
        guest = other.browser()
        for cookie in (one.cookie(phone, "seat_south"), one.cookie(phone, "names")):
            if cookie:
                guest.set_cookie(cookie.key, cookie.value)
        guest.post("/api/seat/south/take", json={"name": ""})
        # one browser brings the cookies of both, as it does for two ports of one machine
        held = other.cookie(guest, "seat_south")
        assert held
        phone.set_cookie(held.key, held.value)
        assert phone.get("/seat/south").status_code == 200
        assert guest.get("/seat/south").status_code == 200


def test_a_seat_taken_with_version_one_is_kept(place: Place) -> None:
    phone = place.sit("south")
    held = place.cookie(phone, "seat_south")
    assert held
    old = place.browser()
    old.set_cookie("seat_south", held.value)
    assert old.get("/seat/south").status_code == 200
