"""Tests of the pages of games that were played, through Flask's client.

They cover the list, replays without a script, files to download and upload, what only the owner may
do, statistics, and that a running game stays secret.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from flask.testing import FlaskClient
from history_tools import GAME_OPTIONS, play, random_game
from internals import session_of
from PIL import Image
from web_fixtures import HOST_KEY, WebRig, open_web_rig, page_text, single_spaced

from companion.archive.played_games import MAX_GAME_BYTES
from companion.core.kit import SEATS
from companion.games import GAMES
from web.routes.history import duration_words
from web.templating.phrases import date_words

# Headers of a request by the owner.
HOST = {"X-Host-Key": HOST_KEY}


# A table with two players, of whom one has a name that HTML has to escape.
@pytest.fixture
def rig(tmp_path: Path) -> Iterator[WebRig]:
    with open_web_rig(tmp_path) as rig:
        for seat, name in zip(SEATS, ("Ann & Co", "Bob"), strict=True):
            rig.table.take_seat(seat, name)
        yield rig


def upload_game(browser: FlaskClient, content: bytes, **headers: str) -> Any:
    """Send the form with a game's file, in which parts are separated by `cut`. Return the answer.

    The form is written by hand, because Flask's client leaves a file open if the content is long.
    """
    head = b'--cut\r\nContent-Disposition: form-data; name="file"; filename="game.json"\r\n\r\n'
    return browser.post(
        "/history",
        data=head + content + b"\r\n--cut--\r\n",
        content_type="multipart/form-data; boundary=cut",
        headers={"Accept": "text/html", **headers},
    )


def browser_with_game(rig: WebRig, name: str, turns: int = 400) -> FlaskClient:
    """Upload a game of random actions as game 1. Return the browser."""
    browser = rig.browser()
    content = msgspec.json.encode(random_game(name, 3, turns))
    assert upload_game(browser, content, **HOST).status_code == 303
    return browser


# ---- the list ------------------------------------------------------------------------------------


def test_the_list_is_in_the_viewers_language(rig: WebRig) -> None:
    browser = rig.browser()
    assert "No game has been played yet." in page_text(browser, "/history")

    # after two turns South, Ann & Co, resigns
    play(rig.table, rig.clock, "outbuffered", 2)
    page = page_text(browser, "/history")
    for words in ('href="/history/1"', "2023-11-14", "Ann &amp; Co resigns."):
        assert words in page
    assert re.search(r'class="won">.*?Bob', page)
    listed = browser.get("/api/history").json
    assert (listed["count"], listed["games"][0]["ending"]) == (1, "won")

    # another browser reads the same in Spanish
    browser.set_cookie("language", "es")
    assert re.search(r"2023-11-14.*Ann &amp; Co se rinde\.", page_text(browser, "/history"))


# ---- a game --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GAME_OPTIONS)
def test_a_replay_needs_no_script(rig: WebRig, name: str) -> None:
    browser = browser_with_game(rig, name, turns=40)

    # scene 3 has links to the next scene and to the one before
    page = page_text(browser, "/history/1?at=3")
    assert ">1</text>" in page, "turn 1 must have its number below the time line"
    for words in ('id="next" href="?at=4"', 'id="back" href="?at=2"', "all receipts are right"):
        assert words in page

    # a scene that a script fetches is the same as in the page without a script
    (scene_count,) = re.findall(r'data-places="(\d+)"', page)
    last = int(scene_count) - 1
    for at in (0, 1, last):
        fragment = browser.get(f"/history/1/scene/{at}").text
        # scene 0 is the set-up, without actions
        assert ("data-receipt=" in fragment) == (at > 0)
        assert single_spaced(fragment) in page_text(browser, f"/history/1?at={at}")
    assert browser.get(f"/history/1/scene/{last + 1}").status_code == 404


# ---- secrets -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "turns", "is_simultaneous"),
    [
        ("outbuffered", 2, True),
        ("arena", 2, True),
        ("kahmate", 0, True),  # both sides place their players at once
        ("kahmate", 2, False),
        ("binmat", 2, False),
    ],
)
def test_the_pages_of_a_running_game_hide_actions(
    rig: WebRig, name: str, turns: int, is_simultaneous: bool
) -> None:
    """Files and scenes of a running game are refused.

    When both seats decide at once, the pages do not even show that one of them has handed in.
    """
    table = rig.table
    game = GAMES[name]
    browser = rig.browser()
    play(table, rig.clock, name, turns, end="on")
    session = session_of(table)

    # nothing can be downloaded or replayed while the game is on
    for path in ("1.txt", "1.json", "1.webp", "1/scene/0"):
        answer = browser.get(f"/history/{path}")
        assert answer.status_code == 409
        assert "still on" in answer.text

    # pages and list are the same before and after one of two seats has handed in
    paths = ("/history", "/history/1", "/api/history")
    pages_before = [browser.get(path).text for path in paths]
    assert (len(session.awaited_seats) > 1) is is_simultaneous
    if is_simultaneous:
        seat = min(session.awaited_seats)
        action = game.format(next(iter(game.legal_actions(session.state, seat))))
        table.hand_in(seat, session.moment, action, "5a17" * 8)
        assert [browser.get(path).text for path in paths] == pages_before


# ---- files ---------------------------------------------------------------------------------------


def test_games_are_downloaded_and_uploaded(rig: WebRig) -> None:
    play(rig.table, rig.clock, "outbuffered", 2)
    browser = rig.browser()

    # download game 1 as notation and as JSON
    text_file = browser.get("/history/1.txt")
    json_file = browser.get("/history/1.json")
    assert text_file.headers["Content-Disposition"] == 'attachment; filename="game-1.txt"'
    assert text_file.text.startswith('[Game "outbuffered"]')
    assert json_file.json["players"]["south"] == "Ann & Co"

    # refused: a game that is here already, a file that is too large, and one that is damaged
    for content, status, words in (
        (json_file.data, 409, "This game is here already: number 1"),
        (b"x" * (MAX_GAME_BYTES + 5000), 400, "at most 1000000 bytes"),
        (b"[" + b" " * 900_000, 400, "JSON file"),
    ):
        refused = upload_game(browser, content, **HOST)
        assert (refused.status_code, words in refused.text) == (status, True)

    # a game of another table becomes game 2
    answer = upload_game(browser, msgspec.json.encode(random_game("scouts", 1, 3)), **HOST)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/history/2")
    assert "imported" in page_text(browser, "/history")


def test_only_the_owner_removes_games_and_names(rig: WebRig) -> None:
    for seed in (1, 2):
        play(rig.table, rig.clock, "outbuffered", 1, seed)
    browser = rig.browser()

    # a name can be removed once, and the last game not at all
    bob = {"name": "Bob"}
    first_game = {"number": 1}
    last_game = {"number": 2}
    for route, body, status in (
        ("forget", bob, 200),
        ("forget", bob, 400),
        ("remove", last_game, 409),
        ("remove", first_game, 200),
    ):
        assert browser.post(f"/api/history/{route}", json=body, headers=HOST).status_code == status

    # guests have no key to remove a game, and the removed name and game are gone
    page = page_text(browser, "/history/2")
    assert "/api/history/remove" not in page
    assert "Bob" not in page
    assert "/api/history/remove" in browser.get("/history/2", headers=HOST).text
    assert browser.get("/history/1").status_code == 404


@pytest.mark.parametrize("name", ["outbuffered", "binmat"])
def test_a_game_can_be_downloaded_as_a_film(
    rig: WebRig, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("web.rendering.game_film.MAX_FRAMES", 4)
    browser = browser_with_game(rig, name, turns=4)
    answer = browser.get("/history/1.webp")
    assert answer.mimetype == "image/webp"
    with Image.open(io.BytesIO(answer.data)) as picture:
        assert 1 < picture.n_frames <= 4
        assert (picture.width, picture.info["loop"]) == (480, 0)
    assert browser.get("/history/2.webp").status_code == 404


def test_the_time_line_links_to_great_moments(rig: WebRig) -> None:
    browser = browser_with_game(rig, "outbuffered", turns=12)
    page = page_text(browser, "/history/1")
    links = re.findall(r'<a class="mark (\w)" href="\?at=(\d+)" aria-label="([^"]*)"', page)
    assert any("bounces and stays" in words for _, _, words in links)
    (scene_count,) = re.findall(r'data-places="(\d+)"', page)
    assert int(links[-1][1]) == int(scene_count) - 1, "the end of the game must have a link"


# ---- statistics ----------------------------------------------------------------------------------


def test_statistics_are_shown_as_tables(rig: WebRig) -> None:
    # South, Ann & Co, resigns in both games, and so wins none
    play(rig.table, rig.clock, "outbuffered", 2)
    play(rig.table, rig.clock, "scouts", 14)
    page = page_text(rig.browser(), "/history")
    assert page.count('<section class="player">') == 2
    assert "<h2>Ann &amp; Co</h2><p>2 games, 0 won" in page
    row = 'Outbuffered</th><td data-of="Games">1</td><td data-of="Wins">0</td>'
    # on a narrow screen, each figure stands beside its name in `data-of`
    assert re.search(row, page), "each figure must have a name"
    assert "/api/history/forget" not in page
    assert "/api/history/forget" in rig.browser().get("/history", headers=HOST).text


def test_durations_are_written_in_words() -> None:
    durations = (0.0, ""), (12.4, "12 s"), (95.0, "2 min"), (4000.0, "1 h 7 min")
    for length_s, words in durations:
        assert duration_words(length_s) == words
    assert date_words(0.0) == ""
