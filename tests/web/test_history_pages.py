"""The pages of the games played: list, replay without a script, files, what only the host may do,
and what stays secret.
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

HOST = {"X-Host-Key": HOST_KEY}


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[WebRig]:
    with open_web_rig(tmp_path) as rig:
        for seat, name in zip(SEATS, ("Ann & Co", "Bob"), strict=True):
            rig.table.take_seat(seat, name)
        yield rig


def bring(browser: FlaskClient, content: bytes, **headers: str) -> Any:
    """Send the form; the client's own way leaves a file open where the content is long."""
    head = b'--cut\r\nContent-Disposition: form-data; name="file"; filename="game.json"\r\n\r\n'
    return browser.post(
        "/history",
        data=head + content + b"\r\n--cut--\r\n",
        content_type="multipart/form-data; boundary=cut",
        headers={"Accept": "text/html", **headers},
    )


def browser_with_game(rig: WebRig, name: str, turns: int = 400) -> FlaskClient:
    browser = rig.browser()
    assert (
        bring(browser, msgspec.json.encode(random_game(name, 3, turns)), **HOST).status_code == 303
    )
    return browser


# ---- the list ------------------------------------------------------------------------------------


def test_the_list_is_in_the_viewers_language(rig: WebRig) -> None:
    browser = rig.browser()
    assert "No game has been played yet." in page_text(browser, "/history")
    play(rig.table, rig.clock, "outbuffered", 2)
    page = page_text(browser, "/history")
    for words in ('href="/history/1"', "2023-11-14", "Ann &amp; Co resigns."):
        assert words in page
    assert re.search(r'class="won">.*?Bob', page)
    plain = browser.get("/api/history").json
    assert (plain["count"], plain["games"][0]["ending"]) == (1, "won")
    browser.set_cookie("language", "es")
    assert "2023-11-14" in page_text(browser, "/history")


# ---- a game --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GAME_OPTIONS)
def test_a_replay_needs_no_script(rig: WebRig, name: str) -> None:
    browser = browser_with_game(rig, name, turns=40)
    page = page_text(browser, "/history/1?at=3")
    assert ">1</text>" in page, "turns have their numbers below the time line"
    for words in ('id="next" href="?at=4"', 'id="back" href="?at=2"', "all receipts are right"):
        assert words in page
    (places,) = re.findall(r'data-places="(\d+)"', page)
    last = int(places) - 1
    for at in (0, 1, last):
        fragment = browser.get(f"/history/1/scene/{at}").text
        assert ("data-receipt=" in fragment) == (at > 0)
        assert single_spaced(fragment) in page_text(browser, f"/history/1?at={at}")
    assert browser.get(f"/history/1/scene/{last + 1}").status_code == 404


# ---- secrets -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["outbuffered", "arena", "kahmate", "binmat"])
def test_a_running_game_shows_nothing_hidden(rig: WebRig, name: str) -> None:
    table, game, browser = rig.table, GAMES[name], rig.browser()
    play(table, rig.clock, name, 2, end="on")
    session = session_of(table)
    for path in ("1.txt", "1.json", "1.webp", "1/scene/0"):
        answer = browser.get(f"/history/{path}")
        assert answer.status_code == 409
        assert "still on" in answer.text
    paths = ("/history", "/history/1", "/api/history")
    before = [browser.get(path).text for path in paths]
    if len(session.awaited_seats) > 1:
        seat = min(session.awaited_seats)
        action = game.format(next(iter(game.legal_actions(session.state, seat))))
        table.hand_in(seat, session.moment, action, "5a17" * 8)
        assert [browser.get(path).text for path in paths] == before


# ---- files ---------------------------------------------------------------------------------------


def test_files_are_taken_away_and_brought_in(rig: WebRig) -> None:
    play(rig.table, rig.clock, "outbuffered", 2)
    browser = rig.browser()
    text, plain = browser.get("/history/1.txt"), browser.get("/history/1.json")
    assert text.headers["Content-Disposition"] == 'attachment; filename="game-1.txt"'
    assert text.text.startswith('[Game "outbuffered"]')
    assert plain.json["players"]["south"] == "Ann & Co"
    for content, status, words in (
        (plain.data, 409, "This game is here already: number 1"),
        (b"x" * (MAX_GAME_BYTES + 5000), 400, "at most 1000000 bytes"),
        (b"[" + b" " * 900_000, 400, "JSON file"),
    ):
        refused = bring(browser, content, **HOST)
        assert (refused.status_code, words in refused.text) == (status, True)
    answer = bring(browser, msgspec.json.encode(random_game("scouts", 1, 3)), **HOST)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/history/2")
    assert "imported" in page_text(browser, "/history")


def test_only_the_host_removes_games_and_names(rig: WebRig) -> None:
    for seed in (1, 2):
        play(rig.table, rig.clock, "outbuffered", 1, seed)
    browser = rig.browser()
    name, first, last = {"name": "Bob"}, {"number": 1}, {"number": 2}
    for door, body, status in (
        ("forget", name, 200),
        ("forget", name, 400),
        ("remove", last, 409),
        ("remove", first, 200),
    ):
        assert browser.post(f"/api/history/{door}", json=body, headers=HOST).status_code == status
    page = page_text(browser, "/history/2")
    assert "/api/history/remove" not in page
    assert "Bob" not in page
    assert "/api/history/remove" in browser.get("/history/2", headers=HOST).text
    assert browser.get("/history/1").status_code == 404


@pytest.mark.parametrize("name", ["outbuffered", "binmat"])
def test_a_game_is_a_film(rig: WebRig, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("web.rendering.game_film.MAX_FRAMES", 4)
    browser = browser_with_game(rig, name, turns=4)
    answer = browser.get("/history/1.webp")
    assert answer.mimetype == "image/webp"
    with Image.open(io.BytesIO(answer.data)) as picture:
        assert 1 < picture.n_frames <= 4
        assert (picture.width, picture.info["loop"]) == (480, 0)
    assert browser.get("/history/2.webp").status_code == 404


def test_the_time_line_has_keys_for_great_moments(rig: WebRig) -> None:
    browser = browser_with_game(rig, "outbuffered", turns=12)
    page = page_text(browser, "/history/1")
    keys = re.findall(r'<a class="mark (\w)" href="\?at=(\d+)" aria-label="([^"]*)"', page)
    assert any("bounces and stays" in words for _, _, words in keys)
    (places,) = re.findall(r'data-places="(\d+)"', page)
    assert int(keys[-1][1]) == int(places) - 1, "the end has one"


# ---- statistics ----------------------------------------------------------------------------------


def test_statistics_are_plain_tables(rig: WebRig) -> None:
    play(rig.table, rig.clock, "outbuffered", 2)
    play(rig.table, rig.clock, "scouts", 14)
    page = page_text(rig.browser(), "/history")
    assert page.count('<section class="player">') == 2
    assert "<h2>Ann &amp; Co</h2><p>2 games, 0 won" in page
    row = 'Outbuffered</th><td data-of="Games">1</td><td data-of="Wins">0</td>'
    assert re.search(row, page), "on a phone each figure has its name with it"
    assert "/api/history/forget" not in page
    assert "/api/history/forget" in rig.browser().get("/history", headers=HOST).text


def test_times_in_words() -> None:
    lengths = (0.0, ""), (12.4, "12 s"), (95.0, "2 min"), (4000.0, "1 h 7 min")
    for length_s, words in lengths:
        assert duration_words(length_s) == words
    assert date_words(0.0) == ""
