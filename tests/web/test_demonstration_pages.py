"""The demonstration on the pages: what the table screen shows, who begins it, and that any touch ends it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from web_fixtures import HOST_KEY, Place, error_of, open_place, page_of, view_of

from companion.bots.demonstration import Demonstration

HOST = {"X-Host-Key": HOST_KEY}
MARK = "<b>Demonstration</b> The machine plays both sides. Touch the screen to play yourself."


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with open_place(tmp_path, demonstration=Demonstration) as place:
        yield place


def on_screen(place: Place) -> bool:
    return MARK in page_of(place.browser(), "/")


def test_the_table_screen_alone_shows_it_and_says_what_it_is(place: Place) -> None:
    browser = place.browser()
    assert not on_screen(place)
    assert browser.post("/demonstration").headers["Location"] == "/"
    page = page_of(browser, "/")
    assert MARK in page
    assert "<b>Outbuffered</b>" in page
    assert "data-tones" not in page
    assert "Set up the board" in page
    assert MARK not in page_of(browser, "/watch")
    assert view_of(place)["phase"] == "lobby", "programs are told of the table alone"


@pytest.mark.parametrize(
    "touch", ["/demonstration/end", "/api/seat/north/take", "/language", "/api/seat/north/machine"]
)
def test_whatever_is_touched_ends_it(place: Place, touch: str) -> None:
    place.browser().post("/demonstration")
    assert on_screen(place)
    place.browser().post(touch, json={})
    assert not on_screen(place)


def test_the_way_to_a_seat_ends_it_and_looking_does_not(place: Place) -> None:
    browser = place.browser()
    browser.post("/demonstration")
    for path in ("/watch", "/rules", "/api/view", "/host"):
        browser.get(path)
    assert on_screen(place)
    browser.get("/join")
    assert not on_screen(place)


def test_the_host_begins_and_ends_it(place: Place) -> None:
    browser = place.browser()
    assert browser.post("/api/host/demonstration", json={}).status_code == 403
    assert not on_screen(place)
    assert browser.post("/api/host/demonstration", json={}, headers=HOST).status_code == 200
    assert on_screen(place)
    assert "End the demonstration" in page_of_host(place)
    assert browser.post("/api/host/demonstration-ends", json={}, headers=HOST).status_code == 200
    assert not on_screen(place)
    assert "Demonstration on the table screen" in page_of_host(place)


def page_of_host(place: Place) -> str:
    place.table.step()
    return " ".join(place.browser().get("/host", headers=HOST).get_data(as_text=True).split())


def test_while_people_play_it_is_refused(place: Place) -> None:
    place.to_orders()
    answer = place.browser().post("/api/host/demonstration", json={}, headers=HOST)
    assert answer.status_code == 409
    assert error_of(answer)["message"] == "A game is on: the demonstration waits until it is over"
    assert not on_screen(place)


def test_a_stranger_begins_none_where_a_code_is_asked_for(tmp_path: Path) -> None:
    with open_place(tmp_path, join="code", demonstration=Demonstration) as place:
        answer = place.browser().post("/demonstration", environ_base={"REMOTE_ADDR": "192.0.2.9"})
        assert answer.status_code == 403
        assert not on_screen(place)


def test_another_language_says_it_too(place: Place) -> None:
    browser = place.browser()
    browser.post("/demonstration")
    for code, words in (("es", "La máquina juega por los dos bandos."), ("fr", "La machine joue les deux camps.")):
        browser.set_cookie("language", code)
        assert words in page_of(browser, "/")
