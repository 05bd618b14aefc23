"""The machine as an opponent, and trying it out alone: keys, doors, and who may use them."""

from __future__ import annotations

from pathlib import Path

import pytest
from inside import session_of
from web_fixtures import HOST_KEY, Place, error_of, open_place, page_of, view_of

from companion.core.config import TableSettings
from companion.core.kit import Seat
from companion.games import GAMES


def test_a_character_is_asked_exchanged_and_sent_away(place: Place) -> None:
    browser = place.sit("south", "Ada")
    assert browser.post("/api/seat/north/machine", json={"name": "Pip"}).get_json() == {
        "seat": "north",
        "name": "Pip",
    }
    assert view_of(place)["seats"]["north"]["door"] == "machine"
    assert browser.post("/api/seat/north/machine", json={"name": "Zeno"}).status_code == 200
    assert view_of(place)["seats"]["north"]["name"] == "Zeno"
    assert browser.post("/api/seat/north/machine-leaves", json={}).status_code == 200
    assert view_of(place)["seats"]["north"]["name"] is None


def test_nobody_takes_a_persons_place_by_it(place: Place) -> None:
    place.sit("south", "Ada")
    stranger = place.browser()
    assert stranger.post("/api/seat/south/machine", json={"name": "Pip"}).status_code == 409
    assert stranger.post("/api/seat/south/machine-leaves", json={}).status_code == 409
    assert view_of(place)["seats"]["south"]["name"] == "Ada"


def test_a_stranger_takes_no_opponent_out_of_a_game(place: Place) -> None:
    sitter, far = place.sit("south", "Ada"), {"REMOTE_ADDR": "192.0.2.9"}
    sitter.post("/api/seat/north/machine", json={"name": "Bo"})
    place.to_orders()
    for door, body in (("machine", {"name": "Pip"}), ("machine-leaves", {})):
        answer = place.browser().post(f"/api/seat/north/{door}", json=body, environ_base=far)
        assert answer.status_code == 403
        assert "A game is on" in error_of(answer)["message"]
    assert view_of(place)["seats"]["north"]["name"] == "Bo"
    assert (
        sitter.post("/api/seat/north/machine", json={"name": "Pip"}, environ_base=far).status_code
        == 200
    )


def test_the_statistics_count_games_against_each_character(place: Place) -> None:
    place.sit("south", "Ada").post("/api/seat/north/machine", json={"name": "Bo"})
    place.to_orders()
    place.table.resign(Seat.NORTH)
    place.table.disclose("host")
    page = page_of(place.browser(), "/history")
    assert "Bo" in page
    assert "0 games, 0 won" not in page, "who has played the machine alone has played"


def test_who_finds_the_machine_on_a_seat_is_told_how_it_leaves(place: Place) -> None:
    place.sit("south", "Ada").post("/api/seat/north/machine", json={"name": "Bo"})
    answer = place.browser().get("/join/north")
    page = answer.get_data(as_text=True)
    assert "Bo plays here. The other player can send it away" in page
    assert "Is that you, in another browser?" not in page


@pytest.mark.parametrize("name", ["", "pip", "Hal", "Pip ", "../Pip", "P" * 201])
def test_only_those_who_are_there_can_be_asked(place: Place, name: str) -> None:
    answer = place.browser().post("/api/seat/north/machine", json={"name": name})
    assert answer.status_code == 400
    if len(name) < 200:
        assert (
            error_of(answer)["message"]
            == "There is no such opponent: choose one of Pip, Bo and Zeno"
        )


def test_where_a_code_is_asked_for_it_is_asked_for_here_too(tmp_path: Path) -> None:
    with open_place(tmp_path, join="code") as place:
        far = {"REMOTE_ADDR": "192.0.2.9"}
        answer = place.browser().post(
            "/api/seat/north/machine", json={"name": "Pip"}, environ_base=far
        )
        assert answer.status_code == 403
        assert view_of(place)["seats"]["north"]["name"] is None
        tried = place.browser().post("/try", environ_base=far)
        assert (tried.status_code, tried.headers["Location"]) == (303, "/join/south")
        lobby = place.browser().get("/", environ_base=far).get_data(as_text=True)
        assert 'action="/try"' not in lobby
        host = place.browser()
        key = {"X-Host-Key": HOST_KEY}
        assert (
            host.post(
                "/api/seat/north/machine", json={"name": "Pip"}, headers=key, environ_base=far
            ).status_code
            == 200
        )


def test_one_key_sits_down_and_asks_a_machine(place: Place) -> None:
    browser = place.browser()
    answer = browser.post("/try")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/here")
    view = view_of(place)
    assert (view["phase"], view["seats"]["south"]["name"], view["seats"]["north"]["name"]) == (
        "lobby",
        "",
        "Pip",
    )
    here = browser.get("/here")
    assert 'src="/seat/south"' in here.get_data(as_text=True)
    assert "frame-src 'self'" in here.headers["Content-Security-Policy"]
    assert browser.get("/seat/south").status_code == 200
    assert browser.post("/try").headers["Location"] == "/here", "the same browser once more"


def test_the_screen_never_sits_down_against_a_person(place: Place) -> None:
    place.sit("south", "Ada")
    assert place.browser().post("/try").headers["Location"] == "/"
    assert view_of(place)["seats"]["north"]["name"] is None
    assert place.browser().get("/here").headers["Location"] == "/"


def test_each_way_out_of_a_trial_is_one_key(place: Place) -> None:
    browser = place.browser()
    browser.post("/try", headers={"Referer": "http://localhost/?kiosk"})
    here = browser.get("/here?kiosk").get_data(as_text=True)
    assert 'href="/?kiosk"' in here
    browser.post("/api/table/choose", json={"game": "scouts"})
    browser.post("/api/table/start", json={})
    assert view_of(place)["game"] == "scouts"
    other = browser.post("/try/other?kiosk")
    assert (other.headers["Location"], view_of(place)["phase"]) == ("/here?kiosk", "lobby")
    end = browser.post("/try/end?kiosk")
    seats = view_of(place)["seats"]
    assert (end.headers["Location"], [seats[seat]["name"] for seat in seats]) == (
        "/?kiosk",
        [None, None],
    )


def test_a_trial_ends_no_game_of_somebody_else(place: Place) -> None:
    browser = place.sit("south", "Ada")
    place.sit("north", "Ben")
    place.to_orders()
    browser.post("/try/end")
    view = view_of(place)
    assert (view["phase"], view["seats"]["south"]["name"], view["seats"]["north"]["name"]) == (
        "orders",
        None,
        "Ben",
    )


@pytest.mark.parametrize("game", ["outbuffered", "scouts", "arena", "kahmate", "binmat"])
def test_each_game_is_tried_in_a_way_that_a_machine_can_play(place: Place, game: str) -> None:
    browser = place.browser()
    browser.post("/try")
    browser.post("/api/table/choose", json={"game": game})
    browser.post("/api/table/start", json={})
    session = session_of(place.table)
    assert session.is_machines(Seat.NORTH)
    assert not session.playing.is_dealt_by_hand(session.options)


def test_pages_show_who_can_be_asked_and_who_sits_there(place: Place) -> None:
    lobby = page_of(place.browser(), "/")
    assert "Play against the machine" in lobby
    for path, is_there in {
        "/watch": 0,
        "/host": 0,
        "/kit": 0,
        "/workbench": 0,
        "/s": 1,
        "/n": 1,
        "/owner": 1,
    }.items():
        assert lobby.count(f'href="{path}"') == is_there, path
    browser = place.sit("south", "Ada")
    assert 'data-post="/api/seat/north/machine"' in page_of(browser, "/seat/south")
    browser.post("/api/seat/north/machine", json={"name": "Bo"})
    pressed = page_of(browser, "/seat/south")
    assert (
        'data-post="/api/seat/north/machine-leaves" data-body="{}" aria-pressed="true"' in pressed
    )
    assert "Bo, the machine, sits here." in page_of(place.browser(), "/join")
    assert "Bo, the machine, sits here." in place.browser().get("/seat/north").get_data(
        as_text=True
    )
    assert "Bo, machine" in place.browser().get("/host", headers={"X-Host-Key": HOST_KEY}).get_data(
        as_text=True
    )


def test_an_engines_name_is_shown_as_it_is(tmp_path: Path) -> None:
    """Names from the settings are people's words: never markup."""
    with open_place(
        tmp_path, engines=("Ada=/opt/ada", "B. o=/x"), table_settings=TableSettings()
    ) as place:
        assert (
            place.browser().post("/api/seat/north/machine", json={"name": "B. o"}).status_code
            == 200
        )
        lobby = page_of(place.browser(), "/")
        assert "<b>Ada</b>" in lobby


@pytest.mark.parametrize("game", GAMES)
def test_every_game_has_its_lesson_in_the_lobby(place: Place, game: str) -> None:
    """Whatever lies on the table: who is new to a game is alone with one window, too."""
    browser = place.browser()
    browser.post("/api/table/choose", json={"game": game})
    assert f'name="lesson" value="{game}"' in page_of(browser, "/")
    assert browser.post("/try", data={"lesson": game}).headers["Location"] == "/here"
    view = place.table.view()
    assert (view.game, view.guide is not None or view.phase == "setup") == (game, True)
