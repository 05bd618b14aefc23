"""Test how people get to a seat: remembered names, the Wi-Fi's code, and changes of phone and pad.

Pages are asked through Flask's client. The greeting on the console is tested by its text.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from web_fixtures import SALT, WebRig, error_of, open_web_rig, page_text

from companion.cli.greeting import format_greeting
from companion.core.kit import Seat
from companion.core.network import Wifi
from companion.core.ports import PadKey, Press
from web.features import TableEquipment


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[WebRig]:
    with open_web_rig(
        tmp_path, equipment=TableEquipment(lambda: Wifi("Table; one", "ab:12345"), None, True)
    ) as opened:
        yield opened


# ---- a side and a name ---------------------------------------------------------------------------


def test_a_browser_offers_its_earlier_names(rig: WebRig) -> None:
    phone = rig.browser()
    assert "<option" not in page_text(phone, "/join")
    phone.post("/join/south", data={"name": "Mara"})
    phone.post("/api/seat/south/leave", json={})
    phone.post("/join/north", data={"name": "Jonas"})
    phone.post("/api/seat/north/leave", json={})
    for path in ("/join", "/join/south"):
        page = page_text(phone, path)
        assert '<option value="Jonas"><option value="Mara">' in page
        assert page.count('value="Jonas"') == 2, "the last name must be filled in"
    assert 'value="Mara"' not in page_text(rig.browser(), "/join"), (
        "another browser must not get the name"
    )


# ---- the Wi-Fi -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wifi", "text"),
    [
        (Wifi("Table"), "WIFI:T:nopass;S:Table;;"),
        (Wifi('a"b\\c;d', "p:;12345", True), 'WIFI:T:WPA;S:a\\"b\\\\c\\;d;P:p\\:\\;12345;H:true;;'),
    ],
)
def test_a_wifi_code_has_the_phones_format(wifi: Wifi, text: str) -> None:
    assert wifi.qr_text == text
    assert not wifi.password or wifi.password not in repr(wifi)


def test_the_lobby_shows_the_wifi_to_scan(rig: WebRig) -> None:
    page = page_text(rig.browser(), "/")
    assert "Scan first to join it:" in page
    assert "Table; one" in page
    assert "ab:12345" not in page, "the password must not be readable beside its code"


def test_the_console_shows_codes_only_to_people() -> None:
    """A terminal shows the owner key and codes to scan. Plain text, as in a log, has neither."""
    urls = ("http://192.0.2.7:8080/", "http://table.local:8080/")
    wifi = Wifi("Table", "secret123")
    companion = SimpleNamespace(
        urls=lambda: urls, wifi=lambda: wifi, notes=["No camera."], host_key="abcde-fghij",
        key_command="companion host-key", join_code=None, simulation=object(),
    )  # fmt: skip
    plain, terminal = (
        format_greeting(cast(Any, companion), is_terminal) for is_terminal in (False, True)
    )
    for text in (plain, terminal):
        assert "No camera." in text
        assert "http://192.0.2.7:8080/s\n" in text
        assert "secret123" not in text
    assert "owner key abcde-fghij" in terminal
    assert "its key: companion host-key" in plain
    assert "█" not in plain
    assert terminal.count("Scan") == 2


# ---- from the phone to the pad and back ----------------------------------------------------------


def test_changing_phone_and_pad_keeps_sealed_orders(rig: WebRig) -> None:
    # Mara seals an order on her phone.
    phone = rig.sit("south", "Mara")
    rig.sit("north")
    moment = rig.start_game()
    receipt = rig.table.hand_in(Seat.SOUTH, moment, "UUS", SALT)

    # She goes on at the pad. Nobody can see the order there, not even on her phone.
    assert phone.post("/api/seat/south/by-pad", json={}).status_code == 200
    shown = rig.table.view().seats[Seat.SOUTH]
    assert (shown.door, shown.name, shown.receipt) == ("pad", "Mara", receipt)
    page = page_text(phone, "/seat/south")
    assert "You are playing at the pad" in page
    assert "UUS" not in page

    # Back on her phone, she sees the order again.
    assert phone.post("/api/seat/south/by-phone", json={}).status_code == 200
    assert phone.post("/api/seat/south/mine", json={}).get_json()["action"] == "UUS"
    assert rig.table.view().moment == moment


def test_without_pads_nobody_changes_to_one(tmp_path: Path) -> None:
    with open_web_rig(tmp_path) as rig:
        answer = rig.sit("south").post("/api/seat/south/by-pad", json={})
        assert (answer.status_code, error_of(answer)["message"]) == (
            409,
            "There are no pads here: continue by phone",
        )


def press(rig: WebRig, key: PadKey) -> None:
    """Press a key of South's pad."""
    rig.table.press(Press(Seat.SOUTH, key, rig.clock.monotonic_s()))
    rig.table.step()


def hold_back(rig: WebRig) -> None:
    """Hold the South pad's Back key for two seconds."""
    pressed_s = rig.clock.monotonic_s()
    for held, is_long in ((False, False), (True, False), (True, True)):
        rig.table.press(Press(Seat.SOUTH, PadKey.BACK, pressed_s, held, is_long))
    rig.table.step()


def test_holding_back_opens_a_seat_to_phones(rig: WebRig) -> None:
    # Somebody plays South at the pad, and has entered the beginning of an order.
    press(rig, PadKey.READY)
    north = rig.sit("north")
    rig.start_game()
    press(rig, PadKey.UP)

    # A phone cannot take the seat, and learns how it can be opened.
    phone = rig.browser()
    page = page_text(phone, "/join/south")
    assert "Hold its Back key for two seconds" in page
    refused = phone.post("/join/south/move")
    assert refused.status_code == 409
    assert "This seat is not open" in unescape(refused.get_data(as_text=True))

    # Once Back is held, every screen says that the seat is open.
    hold_back(rig)
    sentence = "South’s seat is open for half a minute"
    for browser, path in ((rig.browser(), "/"), (north, "/seat/north"), (phone, "/watch")):
        assert sentence in page_text(browser, path)

    # The first phone gets it, without the entered orders. A second one is refused.
    assert phone.post("/join/south/move").location == "/seat/south"
    shown = rig.table.view().seats[Seat.SOUTH]
    assert (shown.door, shown.entered_count) == ("phone", 0)
    assert rig.table.view().devices.notices == ()
    assert phone.get("/seat/south").status_code == 200
    assert rig.browser().post("/join/south/move").status_code == 409, (
        "a second phone must not get the seat"
    )


def test_an_open_seat_closes_after_half_a_minute(rig: WebRig) -> None:
    press(rig, PadKey.READY)
    hold_back(rig)
    for seconds, is_open in ((29.9, True), (0.2, False)):
        rig.clock.advance(seconds)
        rig.table.step()
        assert bool(rig.table.view().devices.notices) is is_open
    assert rig.browser().post("/join/south/move").status_code == 409
