"""Tests of tournaments on a hub's pages, through Flask's client on a fake clock.

The owner makes, pairs and corrects them. Players enter with their card. The wall, cards and the
tournament's own pages show them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape

import pytest
from flask import Flask
from hub_room import ELSEWHERE, OWNER_HEADERS, open_hub_pages, text_of

from companion.core.clock import FakeClock
from companion.league.league import League
from companion.table.public.messages import PublicState
from web.hub.room import HubRoom, HubTable


@pytest.fixture
def free_tables() -> tuple[str, ...]:
    return "t1", "t2"


# The pages of a hub with a league and two tables, both free.
@pytest.fixture
def app(league: League, clock: FakeClock) -> Iterator[Flask]:
    room = HubRoom("Club", clock)
    for number in (1, 2):
        room.add(HubTable(f"t{number}", number, ""))
        room.receive_state(f"t{number}", PublicState("1.0.0"))
    with open_hub_pages(room, clock, league=league) as app:
        yield app


def act(app: Flask, **data: object) -> int:
    """Send a form as the owner: to tournament 1 if it says what to `do`, else to make a new one.

    Return the status.
    """
    path = "/host/tournament/1" if "do" in data else "/host/tournaments"
    return app.test_client().post(path, data=data, headers=OWNER_HEADERS).status_code


def make_tournament(app: Flask, people: int = 4) -> None:
    """Make tournament 1 and enter people named `Name1`, `Name2` and so on."""
    form = {"name": "Cup", "system": "swiss", "game": "scouts", "rounds": 3, "minutes": 20}
    assert act(app, **form) == 303
    for number in range(people):
        assert act(app, do="enter", person=f"Name{number + 1}") == 303


def test_a_tournament_runs_from_start_to_end(app: Flask, league: League) -> None:
    """The owner runs a tournament and ends it early. The wall and all pages follow each step."""
    browser = app.test_client()

    def page_words(path: str, client: dict[str, str] | None = None) -> str:
        return text_of(browser.get(path, headers=OWNER_HEADERS, environ_overrides=client).text)

    # round 1 is paired: four people at two tables, whom page and wall tell where to sit
    make_tournament(app)
    assert act(app, do="pair") == 303
    for part in ("Round 1: find your name", "Name1", "Name4", "Sonneborn-Berger", "ends in"):
        assert part in page_words("/tournament/1", ELSEWHERE)
    for part in ("Cup, round 1: find your name", "Round ends in", "Name1", "Name4", "Standings"):
        assert part in page_words("/")
    assert act(app, do="pair") == 409, "round 2 must not be paired before round 1 is over"

    # A place has the numbers of round, match and board. The second match is corrected from a draw
    # to a win, which ends the round.
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
    assert "find your name" not in page_words("/tournament/1", ELSEWHERE)
    assert "Cup: round 1 is over" in page_words("/", ELSEWHERE)

    # between two rounds, somebody may enter late, withdraw, and enter again by the card's number
    assert act(app, do="enter", person="Late") == 303
    assert act(app, do="withdraw", entrant="1") == 303
    page = browser.get("/host/tournament/1", headers=OWNER_HEADERS).text
    reentry = re.search(r'name="person" value="(#\d+)">', unescape(page))
    assert reentry
    assert act(app, do="enter", person=reentry[1]) == 303
    # 0 stands for no last round: entrant 1 stays to the end again
    assert league.tournaments.find(1).entrant(1).last_round == 0
    assert act(app, do="withdraw", entrant="1") == 303

    # the owner ends the tournament before its last round: nobody can enter any more
    for action, status in (("pair", 303), ("unpair", 303), ("end", 303), ("pair", 409)):
        assert act(app, do=action) == status
    assert act(app, do="enter", person="Too late") == 409
    assert "withdrawn" in page_words("/tournament/1?round=1")
    assert "ended" in page_words("/tournaments")
    assert not [person for person in league.cards.all() if person.name == "Too late"]


def test_a_card_enters_and_shows_its_table(app: Flask, league: League) -> None:
    make_tournament(app, people=3)
    phone = app.test_client()
    phone.post("/card/make", data={"name": "Ines", "shown": "on"}, environ_overrides=ELSEWHERE)

    # Ines enters by her card, once
    assert "Take part" in phone.get("/card").text
    assert phone.post("/card/enter", data={"tournament": "1"}).status_code == 303
    assert "You are taking part." in phone.get("/card").text
    assert phone.post("/card/enter", data={"tournament": "1"}).status_code == 409

    # the round is paired: her card says against whom she plays, and at which of the two tables
    assert act(app, do="pair") == 303
    assert "against Name" in text_of(phone.get("/card").text)
    assert any(f"Table {number}, " in text_of(phone.get("/card").text) for number in (1, 2))


def test_invalid_forms_change_nothing(app: Flask, league: League) -> None:
    # no tournament is made with a wrong field
    valid = {"name": "x", "system": "swiss", "game": "scouts"}
    for invalid, status in (
        ({"name": ""}, 400),
        ({"system": "dutch"}, 400),
        ({"rounds": "99"}, 400),
        ({"game": "chess"}, 404),
    ):
        assert act(app, **{**valid, **invalid}) == status
    assert league.tournaments.all() == ()

    # no round is paired yet, person 1 has entered already, and there are only four people
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

    # nobody but the owner may send these forms
    browser = app.test_client()
    path = "/host/tournament/1"
    assert browser.post(path, data={"do": "pair"}, environ_overrides=ELSEWHERE).status_code == 403
    assert browser.get(path, environ_overrides=ELSEWHERE).status_code == 403
    assert browser.get("/tournament/9").status_code == 404
    assert league.tournaments.find(1) == before
