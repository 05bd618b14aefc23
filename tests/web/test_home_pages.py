"""Tests of the lobby and of the table screen, through Flask's client.

They cover choosing a game by a touch, that guests see nothing of the owner's, and how to win.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from web_fixtures import HOST_KEY, WebRig, open_web_rig, page_text

from companion.core.kit import Seat
from companion.games import GAMES
from companion.table.session import Phase


def test_a_touch_chooses_and_seats_nobody(rig: WebRig) -> None:
    browser = rig.browser()
    assert browser.post("/api/table/choose", json={"game": "kahmate"}).status_code == 200
    page = page_text(browser, "/")
    for words in ("Over their line, and you win", "Scan the code on your side"):
        assert words in page
    seats = rig.table.view().seats
    assert [seats[seat].name for seat in Seat] == [None, None]
    phones = {seat: rig.sit(seat, seat) for seat in Seat}
    for seat, phone in phones.items():
        assert "Ready for Kahmate?" in page_text(phone, f"/seat/{seat}")
    assert "Start Kahmate" in page_text(browser, "/")
    assert browser.post("/api/table/start", json={}).status_code == 200
    assert rig.table.view().game == "kahmate"


def test_guests_pages_have_nothing_of_the_owner(tmp_path: Path) -> None:
    """The machine's own screen shows the owner key at `/owner` until the key is used."""
    key_uses: list[bool] = []
    elsewhere = {"REMOTE_ADDR": "192.0.2.9"}
    with open_web_rig(tmp_path) as rig:
        auth = rig.app.extensions["auth"]
        auth.site = replace(
            auth.site,
            is_key_used=lambda: bool(key_uses),
            note_key_used=lambda: key_uses.append(True),
        )
        browser = rig.browser()
        for path in ("/", "/watch", "/join", "/join/south", "/pass", "/rules/"):
            page = page_text(browser, path)
            assert HOST_KEY not in page, path
            assert not re.search('href="/(host|settings|kit|history|statistics|workbench)', page)
        assert HOST_KEY in page_text(browser, "/owner")
        assert browser.get("/owner", environ_overrides=elsewhere).headers["Location"] == "/host"
        assert browser.post("/host", data={"key": HOST_KEY}).status_code == 303
        assert browser.get("/owner").headers["Location"] == "/host"


@pytest.mark.parametrize("name", GAMES)
def test_the_table_screen_begins_with_how_to_win(rig: WebRig, name: str) -> None:
    """It shows one introduction with three drawings."""
    rig.table.new_game(name, {}, 1)
    if (view := rig.table.view()).phase is Phase.SETUP:
        rig.table.confirm("host", view.moment, 0)
    page = page_text(rig.browser(), "/")
    assert (page.count('class="how-to-win"'), page.count('class="win"')) == (1, 3)
