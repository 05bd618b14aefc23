"""A tournament on the hub's pages: made, entered, paired, corrected, shown on the wall and on
cards.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape

import pytest
from flask import Flask
from hub_room import open_hub_pages
from test_hub_pages import words

from companion.core.clock import FakeClock
from companion.league.league import League
from companion.table.public.messages import PublicState
from web.hub.room import HubRoom, HubTable

FAR = {"REMOTE_ADDR": "192.0.2.50"}
KEY = {"X-Host-Key": "abcde-fghij"}


@pytest.fixture
def free_tables() -> tuple[str, ...]:
    return "t1", "t2"


@pytest.fixture
def app(league: League, clock: FakeClock) -> Iterator[Flask]:
    room = HubRoom("Club", clock)
    for number in (1, 2):
        room.add(HubTable(f"t{number}", number, ""))
        room.receive_state(f"t{number}", PublicState("1.0.0"))
    with open_hub_pages(room, clock, league=league) as app:
        yield app


def act(app: Flask, **data: object) -> int:
    door = "/host/tournament/1" if "do" in data else "/host/tournaments"
    return app.test_client().post(door, data=data, headers=KEY).status_code


def make_tournament(app: Flask, people: int = 4, **more: object) -> None:
    wish = {"name": "Cup", "system": "swiss", "game": "scouts", "rounds": 3, "minutes": 20}
    assert act(app, **wish, **more) == 303
    for number in range(people):
        assert act(app, do="enter", person=f"Name{number + 1}") == 303


def test_a_tournament_from_its_making_to_its_end(app: Flask, league: League) -> None:
    browser = app.test_client()

    def page_words(path: str, *, far: bool = False) -> str:
        where = FAR if far else {}
        return words(browser.get(path, headers=KEY, environ_overrides=where).text)

    make_tournament(app)
    assert act(app, do="pair") == 303
    for part in ("Round 1: find your name", "Name1", "Name4", "Sonneborn-Berger", "ends in"):
        assert part in page_words("/tournament/1", far=True)
    for part in ("Cup, round 1: find your name", "Round ends in", "Name1", "Name4", "Standings"):
        assert part in page_words("/")
    assert act(app, do="pair") == 409  # boards are open
    for place, verdict, status in (
        ("0.0.0", "south", 400),
        ("1.1.1", "south", 303),
        ("1.2.1", "draw", 303),
        ("1.2.1", "north", 303),
    ):
        assert act(app, do="decide", place=place, verdict=verdict) == status
    shown = page_words("/tournament/1")
    assert "1 : 0" in shown
    assert "0 : 1" in shown
    assert "½ : ½" not in shown
    assert "find your name" not in page_words("/tournament/1", far=True)
    assert "Cup: round 1 is over" in page_words("/", far=True)
    assert act(app, do="enter", person="Late") == 303
    assert act(app, do="withdraw", entrant="1") == 303
    page = browser.get("/host/tournament/1", headers=KEY).text
    again = re.search(r'name="person" value="(#\d+)">', unescape(page))
    assert again
    assert act(app, do="enter", person=again[1]) == 303
    assert league.tournaments.find(1).entrant(1).last_round == 0
    assert act(app, do="withdraw", entrant="1") == 303
    for deed, status in (("pair", 303), ("unpair", 303), ("end", 303), ("pair", 409)):
        assert act(app, do=deed) == status
    assert act(app, do="enter", person="Too late") == 409
    assert "withdrawn" in page_words("/tournament/1?round=1")
    assert "ended" in page_words("/tournaments")
    assert not [person for person in league.cards.all() if person.name == "Too late"]


def test_a_card_enters_and_shows_the_table(app: Flask, league: League) -> None:
    make_tournament(app, people=3)
    phone = app.test_client()
    phone.post("/card/make", data={"name": "Ines", "shown": "on"}, environ_overrides=FAR)
    assert "Take part" in phone.get("/card").text
    assert phone.post("/card/enter", data={"tournament": "1"}).status_code == 303
    assert "You are taking part." in phone.get("/card").text
    assert phone.post("/card/enter", data={"tournament": "1"}).status_code == 409
    assert act(app, do="pair") == 303
    assert "against Name" in words(phone.get("/card").text)
    assert any(f"Table {number}, " in words(phone.get("/card").text) for number in (1, 2))


def test_wrong_words_change_nothing(app: Flask, league: League) -> None:
    wish = {"name": "x", "system": "swiss", "game": "scouts"}
    for wrong, status in (
        ({"name": ""}, 400),
        ({"system": "dutch"}, 400),
        ({"rounds": "99"}, 400),
        ({"game": "chess"}, 404),
    ):
        assert act(app, **{**wish, **wrong}) == status
    assert league.tournaments.all() == ()
    make_tournament(app)
    before = league.tournaments.find(1)
    for data in (
        {"do": "decide", "place": "1.1.1", "verdict": "south"},
        {"do": "decide", "place": "x", "verdict": "south"},
        {"do": "enter", "person": "#1"},
        {"do": "enter", "person": "#99"},
        {"do": "enter", "person": ""},
        {"do": "withdraw", "entrant": "77"},
    ):
        assert act(app, **data) in (400, 409), data
    assert act(app, do="nonsense") == 404
    browser, door = app.test_client(), "/host/tournament/1"
    assert browser.post(door, data={"do": "pair"}, environ_overrides=FAR).status_code == 403
    assert browser.get(door, environ_overrides=FAR).status_code == 403
    assert browser.get("/tournament/9").status_code == 404
    assert league.tournaments.find(1) == before
