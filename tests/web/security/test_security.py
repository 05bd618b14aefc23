"""Tests of who may use the pages, through Flask's client.

They cover requests from other sites, host names, cookies, the owner key, and secrets that must not
reach strangers or logs.
"""

from __future__ import annotations

import logging
import re
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from internals import session_of
from security_tools import host_of, join_code_of, open_guarded_table, stranger
from simulated_room import simulated
from web_fixtures import HOST_KEY, WebRig, error_of, open_web_rig, page_text

from companion.cli.main import main
from companion.cli.running import ask_running
from companion.core.config import Settings, WebSettings
from companion.core.errors import SystemTrouble
from companion.core.kit import Seat
from companion.core.network import Wifi, format_host_key, normalise_code
from companion.storage.journal import Journal
from web.features import TableEquipment
from web.security.host_names import MachineNames

PAGE = {"Accept": "text/html"}
# Values for the variables of routes' paths. All others become 1.
SAMPLES = {
    "seat": "south", "page": "table", "name": "outbuffered", "version": "x",
    "number": "1", "game": "1", "moment": "1.0", "turn": "1",
}  # fmt: skip

# Host headers with a name or an address of this machine.
OWN_NAMES = (
    "192.168.1.7:8080", "10.42.0.1", "[::1]:8080", "[fe80::1%eth0]", "localhost",
    "LOCALHOST.:8080", "spieltisch", "spieltisch.local:8080", "table.example.org", "table.lan",
)  # fmt: skip
# Host headers with other names, some of which look much like those of this machine.
FOREIGN_NAMES = (
    "evil.example", "192.168.1.7.evil.example", "spieltisch.evil.example",
    "", "local", "localhost.evil.example", "table.example.org.evil.example",
    "0x7f000001", "evil.example:8080", "@localhost",
)  # fmt: skip


# ---- every route ---------------------------------------------------------------------------------


def requests_of(rig: WebRig) -> list[tuple[str, str]]:
    """Return method and path of one request to each route and method."""
    requests = []
    for rule in rig.app.url_map.iter_rules():
        path = re.sub(r"<(?:[^:<>]+:)?([^<>]+)>", lambda name: SAMPLES.get(name[1], "1"), rule.rule)
        requests += [
            (method, path) for method in rule.methods or () if method not in ("HEAD", "OPTIONS")
        ]
    return sorted(requests)


def state_of(rig: WebRig) -> tuple[object, ...]:
    """Return every part of the session that a request could change."""
    session = session_of(rig.table)
    return (
        session.seats,
        session.game_number,
        session.phase,
        session.tick,
        session.sealed,
        session.paused_by,
    )


def test_other_sites_cannot_change_anything(rig: WebRig) -> None:
    # a browser that may do everything here, and all addresses at which it can change something
    player_and_owner = rig.sit("south")
    player_and_owner.post("/host", data={"key": HOST_KEY})
    changing = [(method, path) for method, path in requests_of(rig) if method != "GET"]
    assert len(changing) > 40, "most routes must be found"
    before = state_of(rig)

    # pages of other sites let this browser send requests: every one is refused
    for headers in (
        {"Origin": "http://evil.example"},
        {"Origin": "http://localhost:81"},
        {"Referer": "http://evil.example/page"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ):
        for method, path in changing:
            for body in ({"json": {}}, {"data": {"name": "Eve"}}):
                answer = player_and_owner.open(path, method=method, headers=headers, **body)
                assert answer.status_code == 403, path
                assert error_of(answer)["kind"] == "foreign_origin", path
    assert state_of(rig) == before

    # the table's own pages may
    for same_site in ({"Sec-Fetch-Site": "none"}, {"Origin": "http://localhost"}):
        answer = player_and_owner.post("/api/seat/south/mine", json={}, headers=same_site)
        assert answer.status_code == 200, same_site


def test_only_post_requests_change_anything(rig: WebRig) -> None:
    """Send GET and OPTIONS to every route, and methods that no route has."""
    player_and_owner = rig.sit("south")
    player_and_owner.post("/host", data={"key": HOST_KEY})
    rig.start_game()
    before = state_of(rig)
    for method, path in requests_of(rig):
        for safe_method in {"GET", "OPTIONS", method} - {"POST"}:
            player_and_owner.open(path, method=safe_method, buffered=False).close()
        for unused_method in ("PUT", "DELETE", "PATCH"):
            status = player_and_owner.open(path, method=unused_method).status_code
            assert status in (404, 405), path
    assert state_of(rig) == before


def test_cookies_are_for_this_site_alone(rig: WebRig) -> None:
    for base_url, is_secure in (("http://localhost", False), ("https://localhost", True)):
        browser = rig.browser()
        cookies = []
        # collect cookies of every kind: seats, names, owner, language, shared phone
        for path, form in (
            ("/join/south", {"name": "Mara"}),
            ("/host", {"key": HOST_KEY}),
            ("/language", {"code": "fr"}),
            ("/pass", {}),
        ):
            answer = browser.post(path, data=form, base_url=base_url)
            cookies += answer.headers.getlist("Set-Cookie")
        assert len(cookies) >= 5, "all kinds of cookies must be set"

        # no script can read them, no other site can send them, and over HTTPS they stay on HTTPS
        for cookie in cookies:
            assert "HttpOnly" in cookie
            assert "SameSite=Lax" in cookie
            assert ("; Secure" in cookie) is is_secure
        for seat in Seat:
            rig.table.free_seat(seat)


@pytest.mark.parametrize(
    ("mode", "destination", "status"), [("no-cors", "image", 403), ("navigate", "document", 200)]
)
def test_other_sites_may_link_but_not_embed(
    rig: WebRig, mode: str, destination: str, status: int
) -> None:
    headers = {
        "Sec-Fetch-Site": "cross-site",
        "Sec-Fetch-Mode": mode,
        "Sec-Fetch-Dest": destination,
    }
    for path in ("/api/view", "/join"):
        assert rig.browser().get(path, headers=headers).status_code == status


# ---- host names ----------------------------------------------------------------------------------


def test_a_foreign_host_name_gets_only_the_address(rig: WebRig) -> None:
    south = rig.sit("south", "Marabella")
    foreign = {"Host": "evil.example"}
    for path in ("/", "/api/view", "/seat/south", "/health", "/nowhere", "/live/table"):
        answer = south.get(path, headers={**foreign, **PAGE})
        text = answer.text
        assert answer.status_code == 421
        assert "Marabella" not in text
        assert "evil.example" not in text
        assert path.startswith("/api") or 'href="http://192.0.2.7:8080/"' in text
    refused = south.post("/api/seat/south/leave", json={}, headers=foreign)
    assert (refused.status_code, error_of(refused)["kind"]) == (421, "unknown_name")
    assert error_of(refused)["message"] == (
        "The table’s pages have another address: open 192.0.2.7:8080"
    )


# ---- the owner key -------------------------------------------------------------------------------


def test_a_new_owner_key_ends_other_sessions(tmp_path: Path) -> None:
    with open_guarded_table(tmp_path) as rig:
        # the owner replaces the key on one browser, while another has the owner's page open
        host = host_of(rig)
        other_host = host_of(rig)
        with other_host.get("/live/host", buffered=False) as stream:
            chunks = iter(stream.response)
            next(chunks)
            new_key = host.post("/api/host/new-key", json={}).json["host_key"]
            rest = "".join(str(chunk) for chunk in chunks)
        assert new_key not in rest, "a page that was opened with the old key must not get the new"

        # only the first browser stays the owner's, the other has to enter the new key
        assert re.fullmatch(r"[a-z2-7]{5}-[a-z2-7]{5}", new_key)
        assert host.get("/host").status_code == 200
        for path in ("/host", "/live/host"):
            assert other_host.get(path).status_code == 403
        for key, status in ((HOST_KEY, 403), (new_key, 303)):
            assert other_host.post("/host", data={"key": key}).status_code == status

    # a restart of the table finds the new key
    with Journal(tmp_path / "journal.sqlite") as journal:
        assert format_host_key(journal.key("host")) == new_key


def test_a_command_shows_and_changes_the_key(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def run_host_key(*more: str) -> str:
        assert main(["host-key", "--state-dir", str(tmp_path), *more]) == 0
        return capsys.readouterr().out.strip()

    with simulated(tmp_path) as companion:
        first = companion.host_key
        assert run_host_key() == first
        second = run_host_key("--new", "--port", str(companion.server.port))
        assert companion.host_key == second
    assert run_host_key() == second
    assert len({first, second, run_host_key("--new")}) == 3


def test_another_service_never_gets_the_key(tmp_path: Path) -> None:
    """Run the command while another program answers on the port of the table.

    The command must not send the key to whoever answers, before it knows that this is the table.
    """
    received_keys: list[str | None] = []

    class OtherService(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            received_keys.append(self.headers["X-Host-Key"])
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"ok":true}')

        do_POST = do_GET  # noqa: N815 - named by the library

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), OtherService) as server:
        web = WebSettings(host="0.0.0.0", port=server.server_port)
        settings = Settings(state_dir=str(tmp_path), web=web)
        with Journal(settings.journal_path) as journal:
            journal.key("host")
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        with pytest.raises(SystemTrouble, match="No companion answers on port"):
            ask_running(settings, "/api/host/new-key", {})
        thread.join()
    assert received_keys == [None]


# ---- secrets -------------------------------------------------------------------------------------


def test_strangers_do_not_get_the_wifi_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The Wi-Fi's password is only for people at the machine's own screen, and for the owner."""
    # note with which Wi-Fi the table card is printed
    wifi = Wifi("Table", "wifi-secret")
    printed: list[object] = []

    def card(_: object, urls: object, wifi: object, *more: object) -> bytes:
        printed.append(wifi)
        return b"%PDF"

    monkeypatch.setattr("companion.printing.kit_printer.KitPrinter.join_card_pdf", card)
    with open_web_rig(tmp_path, equipment=TableEquipment(lambda: wifi)) as home:
        guest = stranger(home)

        # the machine's own screen and the owner get a card with the Wi-Fi, a guest one without
        for browser, printed_wifi in ((home.browser(), wifi), (guest, None), (host_of(home), wifi)):
            browser.get("/kit/join.pdf")
            assert printed.pop() == printed_wifi
            is_warned = "It has the Wi-Fi code only when" in page_text(browser, "/kit")
            assert is_warned is (printed_wifi is None)

        # so does the table screen
        assert "Scan first to join it" not in page_text(guest, "/")
        assert "Scan first to join it" in page_text(home.browser(), "/")


def test_logs_headers_and_errors_have_no_secrets(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with open_guarded_table(tmp_path, join="code") as rig:
        # a phone sits down by the code, and the owner replaces the key
        code = join_code_of(rig)
        phone = stranger(rig)
        host = host_of(rig)
        phone.post("/join/south", data={"name": "Mara", "code": code})
        new_key = host.post("/api/host/new-key", json={}).json["host_key"]
        nonce = rig.table.nonce_of(Seat.SOUTH)
        assert nonce

        # neither the log nor an answer to a wrong request repeats any secret
        answers = [
            *(phone.get(path) for path in ("/nowhere", "/seat/north", "/s")),
            phone.post("/api/seat/north/take", json={"code": "zzz", "x": 1}),
            phone.post("/host", data={"key": HOST_KEY}),
            phone.post("/api/host/undo", json={}, headers={"X-Host-Key": HOST_KEY}),
        ]
        texts = [caplog.text, *(str(answer.headers) + answer.text for answer in answers)]
        for secret in (code, normalise_code(code), HOST_KEY, nonce, "wifi-secret", new_key):
            assert not [text for text in texts if secret in text]


def test_only_the_machines_own_names_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "spieltisch.home.example")
    names = MachineNames(["table.example.org"])
    assert [host for host in OWN_NAMES + FOREIGN_NAMES if names.knows(host)] == [*OWN_NAMES]


def test_a_seats_cookie_of_version_one_works(rig: WebRig) -> None:
    """Version 1.0.0 named its cookies without the suffix of the table."""
    cookie = rig.cookie(rig.sit("south"), "seat_south")
    browser = rig.browser()
    assert cookie
    browser.set_cookie("seat_south", cookie.value)
    assert browser.get("/seat/south").status_code == 200
    browser.post("/api/seat/south/leave", json={})
    assert browser.get_cookie("seat_south") is None
