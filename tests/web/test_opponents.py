"""Tests of machine opponents and of trials by one person, through Flask's client."""

from __future__ import annotations

from pathlib import Path

import pytest
from internals import session_of
from security_tools import stranger
from web_fixtures import HOST_KEY, WebRig, error_of, open_web_rig, page_text, view_of

from companion.core.kit import Seat
from companion.games import GAMES


def test_an_opponent_comes_changes_and_leaves(rig: WebRig) -> None:
    ada = rig.sit("south", "Ada")
    path = "/api/seat/north/machine"

    # Ada asks Pip to play the free seat
    assert 'data-post="/api/seat/north/machine"' in page_text(ada, "/seat/south")
    assert ada.post(path, json={"name": "Pip"}).json == {"seat": "north", "name": "Pip"}
    assert view_of(rig)["seats"]["north"]["door"] == "machine"
    unknown = error_of(ada.post(path, json={"name": "../Pip"}))
    assert unknown["message"] == "There is no such opponent: choose one of Pip, Bo and Zeno"

    # Bo replaces Pip, and every page says who sits there
    assert ada.post(path, json={"name": "Bo"}).status_code == 200
    leave_key = f'data-post="{path}-leaves" data-body="{{}}" aria-pressed="true"'
    assert leave_key in page_text(ada, "/seat/south")
    for page_path in ("/join", "/seat/north"):
        assert "Bo, the machine, sits here." in page_text(rig.browser(), page_path)
    host = rig.host()
    assert "Bo, machine" in page_text(host, "/host")
    assert "Bo plays here. The other player can send it away" in page_text(host, "/join/north")

    # Ada sends Bo away
    assert ada.post(f"{path}-leaves", json={}).status_code == 200
    assert view_of(rig)["seats"]["north"]["name"] is None


def test_strangers_cannot_replace_an_opponent(rig: WebRig) -> None:
    """A stranger (another computer without a seat) cannot spoil a game that is on."""
    player = rig.sit("south", "Ada")
    guest = stranger(rig)
    path = "/api/seat/north/machine"
    body = {"name": "Pip"}
    player.post(path, json={"name": "Bo"})
    rig.start_game()
    for answer in (guest.post(path, json=body), guest.post(f"{path}-leaves", json={})):
        assert answer.status_code == 403
        assert "A game is on" in error_of(answer)["message"]
    assert player.post(path, json=body).status_code == 200


def test_asking_an_opponent_needs_the_code(tmp_path: Path) -> None:
    """At a table with a join code, only the code or the owner key lets a stranger begin a game."""
    with open_web_rig(tmp_path, join="code") as rig:
        browser = stranger(rig)
        path = "/api/seat/north/machine"
        body = {"name": "Pip"}
        assert browser.post(path, json=body).status_code == 403
        # a trial leads to the form that asks for the code
        assert browser.post("/try").headers["Location"] == "/join/south"
        host = {"X-Host-Key": HOST_KEY}
        assert browser.post(path, json=body, headers=host).status_code == 200


# ---- trials --------------------------------------------------------------------------------------


def test_one_key_begins_a_trial(rig: WebRig) -> None:
    """In a trial one person plays against the machine (Pip), in the window of the table screen."""
    browser = rig.browser()
    # a second tap changes nothing
    for _ in range(2):
        answer = browser.post("/try")
        assert (answer.status_code, answer.headers["Location"]) == (303, "/here")
    seats = view_of(rig)["seats"]
    assert (seats["south"]["name"], seats["north"]["name"]) == ("", "Pip")

    # the window shows the seat's page in a frame, which its security policy permits
    here = browser.get("/here")
    assert 'src="/seat/south"' in here.text
    assert "frame-src 'self'" in here.headers["Content-Security-Policy"]
    assert browser.get("/seat/south").status_code == 200


def test_a_trial_takes_nothing_from_a_person(rig: WebRig) -> None:
    # while Ada sits at the table, another browser cannot begin a trial
    ada = rig.sit("south", "Ada")
    assert rig.browser().post("/try").headers["Location"] == "/"
    assert view_of(rig)["seats"]["north"]["name"] is None
    assert rig.browser().get("/here").headers["Location"] == "/"

    # Ada plays against Ben: the key that ends a trial frees her seat, but the game goes on
    rig.sit("north", "Ben")
    rig.start_game()
    ada.post("/try/end")
    view = view_of(rig)
    assert (view["phase"], view["seats"]["north"]["name"]) == ("orders", "Ben")
    assert view["seats"]["south"]["name"] is None


def test_one_key_ends_or_changes_a_trial(rig: WebRig) -> None:
    """The keys lead back to the page from which the trial was begun, here that of a kiosk."""
    # begin a trial of Scouts
    browser = rig.browser()
    answer = browser.post("/try", headers={"Referer": "http://localhost/?screen&kiosk"})
    assert answer.location == "/here?kiosk"
    assert 'href="/?kiosk"' in page_text(browser, "/here?kiosk")
    browser.post("/api/table/choose", json={"game": "scouts"})
    browser.post("/api/table/start", json={})
    assert view_of(rig)["game"] == "scouts"

    # “Other games” returns to the lobby in the same window, and “End” also frees both seats
    for route, address in (("other", "/here?kiosk"), ("end", "/?kiosk")):
        answer = browser.post(f"/try/{route}?kiosk")
        assert (answer.headers["Location"], view_of(rig)["phase"]) == (address, "lobby")
    assert [seat["name"] for seat in view_of(rig)["seats"].values()] == [None, None]


@pytest.mark.parametrize("game", GAMES)
def test_every_game_can_be_tried(rig: WebRig, game: str) -> None:
    """Try each game with its lesson and without. The machine plays, and nobody deals cards."""
    browser = rig.browser()

    # with its lesson: a guide leads through the game, at the latest once the board is set up
    browser.post("/api/table/choose", json={"game": game})
    assert f'name="lesson" value="{game}"' in page_text(browser, "/")
    assert browser.post("/try", data={"lesson": game}).headers["Location"] == "/here"
    view = rig.table.view()
    assert (view.game, view.guide is not None or view.phase == "setup") == (game, True)

    # without its lesson
    browser.post("/try/other")
    browser.post("/try")
    browser.post("/api/table/choose", json={"game": game})
    browser.post("/api/table/start", json={})
    session = session_of(rig.table)
    assert session.is_machine_seat(Seat.NORTH)
    assert not session.require_game().is_dealt_by_hand(session.options)
