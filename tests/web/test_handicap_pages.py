"""The handicap that the statistics offer: one key on both phones and the host's page, seen by both, for the next games."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from history_tools import play
from web_fixtures import HOST_KEY, Place, error_of, open_place, page_of

from companion.core.config import TableSettings
from companion.core.kit import Seat
from companion.storage.journal import Journal
from companion.table.session import Phase
from companion.table.table import Table

SOUTH, NORTH = Seat
KEY = "Only Ben may ask the coach"


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """Ada has won eight games against Ben: Ben resigns each of them."""
    with open_place(tmp_path) as place:
        place.ben = place.sit("south", "Ben")  # type: ignore[attr-defined]  # for the tests below
        place.ada = place.sit("north", "Ada")  # type: ignore[attr-defined]
        for seed in range(8):
            play(place.table, place.clock, "outbuffered", 2, seed=seed)
        yield place


def phones(place: Place) -> tuple[FlaskClient, FlaskClient]:
    return place.ben, place.ada  # type: ignore[attr-defined]


def even_out(browser: FlaskClient, seat: str, weaker: str | None) -> int:
    return browser.post(f"/api/seat/{seat}/handicap", json={"weaker": weaker}).status_code


def test_one_key_gives_the_coach_to_the_weaker_one_alone(place: Place) -> None:
    ben, ada = phones(place)
    for browser, seat in ((ben, "south"), (ada, "north")):
        html = page_of(browser, f"/seat/{seat}")
        assert "Ada has won 8 of 8 games against Ben." in html
        assert KEY in html
    assert KEY not in page_of(place.browser(), "/watch")
    assert even_out(ada, "north", "south") == 200
    assert 'aria-pressed="true">' + KEY in page_of(ben, "/seat/south"), "the other one sees it"
    place.to_orders()
    assert (place.table.coaching.of(SOUTH).about, place.table.coaching.of(NORTH).about) == (("now",), ())
    assert "Only Ben may ask the coach." in page_of(place.browser(), "/watch")
    assert KEY + "<small>" not in page_of(ben, "/seat/south"), "no key while a game is on"
    assert even_out(ben, "south", None) == 409


def test_it_goes_with_them_to_other_sides_and_ends_with_the_pair(place: Place) -> None:
    ben, _ = phones(place)
    even_out(ben, "south", "south")
    place.table.rematch(swap=True)
    view = place.table.view()
    assert (view.seats[NORTH].name, view.match.handicap) == ("Ben", NORTH)
    place.table.resign(SOUTH)
    assert place.table.view().match.handicap is NORTH, "also for the game after"
    place.table.free_seat(SOUTH)
    place.sit("south", "Cleo")
    assert place.table.view().match.handicap is None


def test_either_of_them_lifts_it_and_so_does_the_host(place: Place) -> None:
    ben, ada = phones(place)
    host = place.browser()
    host.post("/host", data={"key": HOST_KEY})
    assert KEY in page_of(host, "/host")
    for lift in (lambda: even_out(ben, "south", None), lambda: even_out(ada, "north", None)):
        assert host.post("/api/host/handicap", json={"weaker": "south"}).status_code == 200
        assert place.table.view().match.handicap is SOUTH
        assert lift() == 200
        assert place.table.view().match.handicap is None
    place.to_orders()
    assert place.table.coaching.of(SOUTH).about == ()


def test_nobody_gives_it_to_the_stronger_one_or_where_it_is_not_offered(place: Place) -> None:
    ben, ada = phones(place)
    refused = ada.post("/api/seat/north/handicap", json={"weaker": "north"})
    assert (refused.status_code, error_of(refused)["message"]) == (409, "There is no handicap to set here")
    for browser in (place.browser(), ada):
        assert browser.post("/api/seat/south/handicap", json={"weaker": "south"}).status_code == 403
    assert place.browser().post("/api/host/handicap", json={"weaker": "south"}).status_code == 403
    for body in ({}, {"weaker": "east"}, {"weaker": "south", "more": 1}):
        assert ben.post("/api/seat/south/handicap", json=body).status_code == 400
    place.table.use(TableSettings(coach="never"))
    assert KEY not in page_of(ben, "/seat/south")
    assert even_out(ben, "south", "south") == 409
    place.table.use(TableSettings())
    place.table.free_seat(NORTH)
    place.browser().post("/api/seat/north/machine", json={"name": "Bo"})
    assert KEY not in page_of(ben, "/seat/south")
    assert even_out(ben, "south", "south") == 409
    place.to_orders()
    assert even_out(ben, "south", None) == 409, "not while a game is on"


def test_the_statistics_have_the_key_for_those_who_sit_here(place: Place) -> None:
    ben, _ = phones(place)
    html = page_of(ben, "/statistics")
    assert "To even it out, Ben alone may ask the coach" in html
    assert 'data-post="/api/seat/south/handicap" data-body=\'{"weaker":"south"}\'' in html
    assert "data-post" not in page_of(place.browser(), "/statistics")
    ben.set_cookie("language", "es")
    assert "Solo Ben puede preguntar al entrenador" in page_of(ben, "/seat/south")


def test_a_restart_keeps_it_for_the_game_that_is_on(place: Place, tmp_path: Path) -> None:
    even_out(phones(place)[0], "south", "south")
    place.to_orders()
    with Journal(tmp_path / "journal.sqlite", read_only=True) as journal, Table(journal, place.clock) as again:
        assert again.view().phase is Phase.ORDERS
        assert again.coaching.of(NORTH).about == ()
        assert again.coaching.of(SOUTH).about == ("now",)
