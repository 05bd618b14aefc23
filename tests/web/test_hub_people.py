"""Cards, ratings and what the host does about people, on the hub's pages."""

from __future__ import annotations

import csv
from collections.abc import Iterator

import pytest
from flask import Flask
from flask.testing import FlaskClient
from hub_room import open_hub_pages, store_result

from companion.core.clock import FakeClock
from companion.core.kit import Seat
from companion.league.league import League
from web.hub.room import HubRoom, HubTable

FAR = {"REMOTE_ADDR": "192.0.2.50"}
KEY = {"X-Host-Key": "abcde-fghij"}


@pytest.fixture
def app(league: League, clock: FakeClock) -> Iterator[Flask]:
    room = HubRoom("Club", clock)
    room.add(HubTable("a" * 16, 1, ""))
    with open_hub_pages(room, clock, league=league) as app:
        yield app


@pytest.fixture
def phone(app: Flask) -> FlaskClient:
    return app.test_client()


def card(phone: FlaskClient, name: str, *, shown: bool = True) -> None:
    answer = phone.post(
        "/card/make",
        data={"name": name, **({"shown": "on"} if shown else {})},
        environ_overrides=FAR,
    )
    assert answer.status_code == 303, answer.text


def test_a_card_is_made_opened_elsewhere_and_forgotten(
    phone: FlaskClient, app: Flask, league: League
) -> None:
    assert "Make a card" in phone.get("/card").text
    card(phone, " Mara  Meier ")
    (mara,) = league.cards.all()
    assert (mara.name, mara.is_name_public) == ("Mara Meier", True)
    assert f"{mara.code[:4]}-{mara.code[4:]}" in phone.get("/card").text
    other, by_link = app.test_client(), app.test_client()
    typed = f" {mara.code[:4].upper()}-{mara.code[4:]}"
    for code, status in (("wrong", 403), (typed, 303)):
        assert other.post("/card/open", data={"code": code}).status_code == status
    assert "Mara Meier" in other.get("/card").text
    assert by_link.get(f"/card/{mara.code}").status_code == 303
    for name, status in (("M.", 303), ("", 400)):
        form = {"name": name, "shown": "on"}
        assert by_link.post("/card/change", data=form).status_code == status
    assert "M." in other.get("/card").text
    assert other.post("/card/close").status_code == 303
    assert other.post("/card/forget").status_code == 403
    assert phone.post("/card/forget").status_code == 303
    assert "Make a card" in by_link.get("/card").text  # it opens nothing any more
    assert by_link.get(f"/card/{mara.code}").status_code == 403


def test_guessing_codes_and_making_cards_is_slowed(app: Flask, league: League) -> None:
    mara, near = league.cards.create("Mara"), {"REMOTE_ADDR": "192.0.2.99"}
    browser = app.test_client()

    def post(door: str, where: dict[str, str], **data: str) -> int:
        return app.test_client().post(door, data=data, environ_overrides=where).status_code

    for _ in range(5):
        assert post("/card/open", near, code="zzzzzzzz") == 403
    assert [post("/card/open", where, code=mara.code) for where in (near, FAR)] == [403, 303]
    for table, status in (("a" * 16, 200), ("b" * 16, 404)):
        body = {"code": mara.code, "table": table}
        shown = browser.post("/api/hub/card", json=body, environ_overrides=FAR)
        assert shown.status_code == status
    made = [post("/card/make", near, name=f"n{number}") for number in range(12)]
    assert (made.count(303), made[-1]) == (8, 409)


def test_names_are_shown_only_where_that_was_agreed(
    phone: FlaskClient, app: Flask, league: League
) -> None:
    card(phone, "=Mara")
    card(app.test_client(), "Secretia", shown=False)
    store_result(league, 1, 2, Seat.SOUTH)
    told = {
        path: phone.get(path).text
        for path in (
            "/standings",
            "/results.csv",
            "/",
            "/card",
        )
    }
    assert not [path for path, text in told.items() if "Secretia" in text]
    page = told["/standings"]
    assert page.index("=Mara") < page.index("Player 2")
    (result,) = csv.DictReader(told["/results.csv"].splitlines())
    assert (result["south"], result["north"], result["winner"]) == ("'=Mara", "Player 2", "south")
    assert result["mark"] == "0123456789ab"
    assert phone.get("/standings?game=chess").status_code == 404


def test_only_the_host_sees_and_changes_people(phone: FlaskClient, league: League) -> None:
    door = "/host/people"
    assert phone.get(door).status_code == 403
    strange = phone.post(door, data={"do": "make", "name": "x"}, environ_overrides=FAR)
    assert strange.status_code == 403

    def act(**data: str) -> int:
        return phone.post(door, data=data, headers=KEY).status_code

    assert act(do="make", name="Mara", shown="on") == 303
    assert act(do="make", name="Jonas") == 303
    assert [person.is_name_public for person in league.cards.all()] == [True, False]
    store_result(league, 1, 2, Seat.NORTH)
    page = phone.get(door, headers=KEY).text
    for part in ("Mara", "Jonas", "0123456789ab", "Do not count it"):
        assert part in page
    act(do="void", key=league.results.latest(1)[0].result.key)
    assert league.ratings("scouts") == ()
    assert [act(do="forget", number="1") for _ in range(2)] == [303, 409]
    page = phone.get(door, headers=KEY).text
    assert "does not count" in page
    assert "Mara" not in page
    assert act(do="nonsense") == 404
