"""The lobby's pages: what is offered, what a touch does, and what is nowhere in public."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from web_fixtures import HOST_KEY, Place, open_place, page_of

from companion.archive.played_games import Ending, GameLine
from companion.archive.statistics import ENOUGH_GAMES, typical_minutes
from companion.archive.summary import Summary
from companion.core.kit import Seat
from companion.games import GAMES
from companion.table.session import Phase


def test_five_games_on_say_how_long_one_takes() -> None:
    line = GameLine(1, "scouts", "", 1.0, 1.0, {}, (), 1, Ending.WON)
    games = [
        (line, Summary("scouts", 1.0, 60.0 * minutes, {}, {}, 3, True))
        for minutes in (10, 11, 30, 12, 90)
    ]
    assert typical_minutes(games[: ENOUGH_GAMES - 1]) == {}
    assert typical_minutes(games) == {"scouts": 12}
    ended = [(replace(line, ending=Ending.ABANDONED), summary) for _, summary in games]
    assert typical_minutes(ended) == {}


def test_a_touch_chooses_and_seats_nobody(place: Place) -> None:
    browser = place.browser()
    assert browser.post("/api/table/choose", json={"game": "kahmate"}).status_code == 200
    page = page_of(browser, "/")
    assert "Over their line, and you win" in page
    assert "Scan the code on your side" in page
    view = place.table.view()
    assert (view.phase, [view.seats[seat].name for seat in Seat]) == ("lobby", [None, None])
    phones = {seat: place.sit(seat, seat) for seat in Seat}
    for seat, phone in phones.items():
        assert "Ready for Kahmate?" in page_of(phone, f"/seat/{seat}")
    assert "Start Kahmate" in page_of(browser, "/")
    assert browser.post("/api/table/start", json={}).status_code == 200
    assert place.table.view().game == "kahmate"


def test_the_host_key_is_on_the_machines_own_screen_alone_until_it_was_used(tmp_path: Path) -> None:
    used: list[bool] = []
    far = {"REMOTE_ADDR": "192.0.2.9"}
    with open_place(tmp_path) as place:
        guard = place.app.extensions["guard"]
        guard.is_key_used, guard.note_key_used = lambda: bool(used), lambda: used.append(True)
        browser = place.browser()
        for path in ("/", "/watch", "/join", "/join/south", "/pass", "/rules/"):
            assert HOST_KEY not in page_of(browser, path), path
        assert HOST_KEY in page_of(browser, "/owner")
        assert browser.get("/owner", environ_base=far).headers["Location"] == "/host"
        assert browser.post("/host", data={"key": HOST_KEY}).status_code == 303
        assert browser.get("/owner").headers["Location"] == "/host"


@pytest.mark.parametrize("path", ["/", "/watch", "/join", "/join/south", "/pass", "/rules/"])
def test_guests_pages_lead_to_nothing_of_the_owner(place: Place, path: str) -> None:
    page = page_of(place.browser(), path)
    for owners in ("/host", "/settings", "/kit", "/history", "/statistics", "/workbench", "hub"):
        assert f'href="{owners}' not in page, owners


@pytest.mark.parametrize("name", GAMES)
def test_the_table_screen_says_how_to_win_before_the_first_turn(place: Place, name: str) -> None:
    place.table.new_game(name, {}, 1)
    if (view := place.table.view()).phase is Phase.SETUP:
        place.table.confirm("host", view.moment, 0)
    page = page_of(place.browser(), "/")
    assert (page.count('class="how-to-win"'), page.count('class="win"')) == (1, 3)


def fields(place: Place) -> tuple[int, int, bool]:
    """How many options there are, how many of them rest, and whether the page says why."""
    host = place.host()
    page = page_of(host, "/host?game=outbuffered")
    is_said = re.search(r'id="fixed"[^>]*>', page)
    assert is_said
    return (
        page.count("<fieldset"),
        len(re.findall(r"<fieldset[^>]* disabled>", page)),
        "hidden" not in is_said[0],
    )


def test_options_rest_while_a_game_is_played(place: Place) -> None:
    number, resting, is_said = fields(place)
    assert number > 2
    assert (resting, is_said) == (0, False)
    place.to_orders()
    assert fields(place) == (number, number, True)
