"""Tests of what the table screen shows before the first turn, through Flask's client.

They cover choosing a game in the lobby, pages for guests, which have nothing that only the owner
may use, and the introduction to a game, which says how to win.
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
    """Choosing a game at the table screen only invites people to sit down. They start it later."""
    table_screen = rig.browser()

    # a touch on Kahmate shows how it is won, and takes no seat
    assert table_screen.post("/api/table/choose", json={"game": "kahmate"}).status_code == 200
    page = page_text(table_screen, "/")
    for words in ("Over their line, and you win", "Scan the code on your side"):
        assert words in page
    seats = rig.table.view().seats
    assert [seats[seat].name for seat in Seat] == [None, None]

    # both players sit down, and every page now offers to start the chosen game
    phones = {seat: rig.sit(seat, name=seat) for seat in Seat}
    for seat, phone in phones.items():
        assert "Ready for Kahmate?" in page_text(phone, f"/seat/{seat}")
    assert "Start Kahmate" in page_text(table_screen, "/")

    # the table screen can start it, too
    assert table_screen.post("/api/table/start", json={}).status_code == 200
    assert rig.table.view().game == "kahmate"


def test_guests_pages_have_nothing_of_the_owner(tmp_path: Path) -> None:
    """No page for guests shows the owner key, or links to a page of the owner.

    Only `/owner` shows the key: on the machine's own screen, until somebody has used the key.
    """
    key_uses: list[bool] = []
    elsewhere = {"REMOTE_ADDR": "192.0.2.9"}
    with open_web_rig(tmp_path) as rig:
        # the rig would forget that the key was used, so let it remember
        auth = rig.app.extensions["auth"]
        auth.site = replace(
            auth.site,
            is_key_used=lambda: bool(key_uses),
            note_key_used=lambda: key_uses.append(True),
        )
        # its requests come from this machine, as those of the machine's own screen do
        browser = rig.browser()
        for path in ("/", "/watch", "/join", "/join/south", "/pass", "/rules/"):
            page = page_text(browser, path)
            assert HOST_KEY not in page, path
            assert not re.search('href="/(host|settings|kit|history|statistics|workbench)', page)

        # the key is unused: only the machine's own screen gets it, other browsers have to type it
        assert HOST_KEY in page_text(browser, "/owner")
        assert browser.get("/owner", environ_overrides=elsewhere).headers["Location"] == "/host"

        # somebody uses the key: from now on not even the machine's own screen shows it
        assert browser.post("/host", data={"key": HOST_KEY}).status_code == 303
        assert browser.get("/owner").headers["Location"] == "/host"


@pytest.mark.parametrize("name", GAMES)
def test_the_table_screen_begins_with_how_to_win(rig: WebRig, name: str) -> None:
    """Before the first turn it shows the introduction of the game once, with its three drawings."""
    rig.table.new_game(name, {}, 1)
    # some games begin with a set-up of the board, which hands confirm
    if (view := rig.table.view()).phase is Phase.SETUP:
        rig.table.confirm("host", view.moment, 0)
    page = page_text(rig.browser(), "/")
    assert (page.count('class="how-to-win"'), page.count('class="win"')) == (1, 3)
