"""Tests of players' cards, standings and the owner's page of people, through Flask's client."""

from __future__ import annotations

import csv
from collections.abc import Iterator

import pytest
from flask import Flask
from flask.testing import FlaskClient
from hub_room import ELSEWHERE, OWNER_HEADERS, open_hub_pages, store_result

from companion.core.clock import FakeClock
from companion.core.kit import Seat
from companion.league.league import League
from web.hub.room import HubRoom, HubTable


# The pages of a hub with one table and a league.
@pytest.fixture
def app(league: League, clock: FakeClock) -> Iterator[Flask]:
    room = HubRoom("Club", clock)
    room.add(HubTable("a" * 16, 1, ""))
    with open_hub_pages(room, clock, league=league) as app:
        yield app


@pytest.fixture
def phone(app: Flask) -> FlaskClient:
    return app.test_client()


def make_card(phone: FlaskClient, **form: str) -> None:
    """Make a card on a phone. With `shown`, its name may be on public pages."""
    answer = phone.post("/card/make", data=form, environ_overrides=ELSEWHERE)
    assert answer.status_code == 303, answer.text


def test_a_card_is_made_opened_elsewhere_and_forgotten(
    phone: FlaskClient, app: Flask, league: League
) -> None:
    """Three phones have the same card. What happens to the card is seen on all of them."""
    # the first phone makes a card, and shows its code
    assert "Make a card" in phone.get("/card").text
    make_card(phone, name=" Mara  Meier ", shown="on")
    (mara,) = league.cards.all()
    assert (mara.name, mara.is_name_public) == ("Mara Meier", True)
    assert f"{mara.code[:4]}-{mara.code[4:]}" in phone.get("/card").text

    # the second phone opens it by the typed code, and the third by the scanned address
    second_phone = app.test_client()
    third_phone = app.test_client()
    typed = f" {mara.code[:4].upper()}-{mara.code[4:]}"
    for code, status in (("wrong", 403), (typed, 303)):
        assert second_phone.post("/card/open", data={"code": code}).status_code == status
    assert "Mara Meier" in second_phone.get("/card").text
    assert third_phone.get(f"/card/{mara.code}").status_code == 303

    # the third phone changes the name, which must not be empty
    for name, status in (("M.", 303), ("", 400)):
        form = {"name": name, "shown": "on"}
        assert third_phone.post("/card/change", data=form).status_code == status
    assert "M." in second_phone.get("/card").text

    # the second phone closes the card, and so cannot forget it any more
    assert second_phone.post("/card/close").status_code == 303
    assert second_phone.post("/card/forget").status_code == 403

    # the first phone forgets it: no cookie and no code opens it any more
    assert phone.post("/card/forget").status_code == 303
    assert "Make a card" in third_phone.get("/card").text
    assert third_phone.get(f"/card/{mara.code}").status_code == 403


def test_guessing_codes_and_making_cards_are_limited(app: Flask, league: League) -> None:
    """After five wrong codes or eight new cards, an address has to wait. Others need not."""
    mara = league.cards.create("Mara")
    near = {"REMOTE_ADDR": "192.0.2.99"}
    browser = app.test_client()

    def post(path: str, client: dict[str, str], **data: str) -> int:
        return app.test_client().post(path, data=data, environ_overrides=client).status_code

    # after five wrong codes from one address, even the right code is refused there
    for _ in range(5):
        assert post("/card/open", near, code="zzzzzzzz") == 403
    assert [post("/card/open", client, code=mara.code) for client in (near, ELSEWHERE)] == [
        403,
        303,
    ]

    # a card can be shown only at a table of this hub
    for table, status in (("a" * 16, 200), ("b" * 16, 404)):
        body = {"code": mara.code, "table": table}
        assert (
            browser.post("/api/hub/card", json=body, environ_overrides=ELSEWHERE).status_code
            == status
        )

    # of twelve cards at once, an address gets eight
    statuses = [post("/card/make", near, name=f"n{number}") for number in range(12)]
    assert (statuses.count(303), statuses[-1]) == (8, 409)


def test_hidden_names_are_on_no_page(phone: FlaskClient, app: Flask, league: League) -> None:
    """Player 1 lets others see the name, and player 2 does not. Player 1 has won against 2."""
    make_card(phone, name="=Mara", shown="on")
    make_card(app.test_client(), name="Secretia")
    store_result(league, south=1, north=2, winner=Seat.SOUTH)
    paths = ("/standings", "/results.csv", "/", "/card")
    texts = {path: phone.get(path).text for path in paths}
    assert not [path for path, text in texts.items() if "Secretia" in text]
    page = texts["/standings"]
    assert page.index("=Mara") < page.index("Player 2")
    (result,) = csv.DictReader(texts["/results.csv"].splitlines())
    # the quote keeps a spreadsheet from taking the name for a formula
    assert (result["south"], result["north"], result["winner"]) == ("'=Mara", "Player 2", "south")
    assert result["mark"] == "0123456789ab"
    assert phone.get("/standings?game=chess").status_code == 404


def test_only_the_owner_sees_and_changes_people(phone: FlaskClient, league: League) -> None:
    path = "/host/people"
    assert phone.get(path).status_code == 403
    refused = phone.post(path, data={"do": "make", "name": "x"}, environ_overrides=ELSEWHERE)
    assert refused.status_code == 403

    def act(**data: str) -> int:
        return phone.post(path, data=data, headers=OWNER_HEADERS).status_code

    # the owner makes two cards, of which one has a public name
    assert act(do="make", name="Mara", shown="on") == 303
    assert act(do="make", name="Jonas") == 303
    assert [person.is_name_public for person in league.cards.all()] == [True, False]

    # the owner's page names everybody, and shows results with their receipts
    store_result(league, south=1, north=2, winner=Seat.NORTH)
    page = phone.get(path, headers=OWNER_HEADERS).text
    for part in ("Mara", "Jonas", "0123456789ab", "Do not count it"):
        assert part in page

    # a result that does not count changes no rating, and a person is forgotten only once
    act(do="void", key=league.results.latest(1)[0].result.key)
    assert league.ratings("scouts") == ()
    assert [act(do="forget", number="1") for _ in range(2)] == [303, 409]
    page = phone.get(path, headers=OWNER_HEADERS).text
    assert "does not count" in page
    assert "Mara" not in page
    assert act(do="nonsense") == 404
