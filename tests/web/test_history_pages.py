"""The pages of the games played: list, replay without a script, files, what only the host may do, and what stays secret."""

from __future__ import annotations

import html
import io
import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from flask.testing import FlaskClient
from history_tools import SHORT, made_game, play
from inside import session_of
from PIL import Image
from web_fixtures import HOST_KEY, Place, flat, open_place, page_of

from companion.archive.played_games import MOST_BYTES
from companion.core.kit import SEATS, Seat
from companion.games import GAMES
from web.routes.history import day, length, seconds
from web.static_files import STATIC

HOST = {"X-Host-Key": HOST_KEY}


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with open_place(tmp_path) as opened:
        for seat, name in zip(SEATS, ("Ann & Co", "Bob"), strict=True):
            opened.table.take_seat(seat, name)
        yield opened


def bring(browser: FlaskClient, content: bytes, **headers: str) -> Any:
    """Send the form; the client's own way leaves a file open where the content is long."""
    head = b'--cut\r\nContent-Disposition: form-data; name="file"; filename="game.json"\r\n\r\n'
    return browser.post(
        "/history",
        data=head + content + b"\r\n--cut--\r\n",
        content_type="multipart/form-data; boundary=cut",
        headers={"Accept": "text/html", **headers},
    )


def brought(place: Place, name: str, turns: int = 400) -> FlaskClient:
    browser = place.browser()
    assert bring(browser, msgspec.json.encode(made_game(name, 3, turns)), **HOST).status_code == 303
    return browser


# ---- the list --------------------------------------------------------------------------------------------------------


def test_the_list_tells_each_game_in_the_viewers_language(place: Place) -> None:
    assert "No game has been played yet." in page_of(place.browser(), "/history")
    play(place.table, place.clock, "outbuffered", 2)
    browser = place.browser()
    page = page_of(browser, "/history")
    assert 'href="/history/1"' in page
    assert re.search(r"14 November 2023, \d\d:\d\d", page)
    assert "Ann &amp; Co" in page
    assert re.search(r'class="won">.*?Bob', page)
    assert "Ann &amp; Co resigns." in page
    assert "multipart" not in page
    browser.set_cookie("language", "es")
    assert "14 de noviembre de 2023" in page_of(browser, "/history")
    plain = browser.get("/api/history").get_json()
    assert (plain["count"], plain["games"][0]["ending"]) == (1, "won")


def test_a_long_list_has_pages(place: Place) -> None:
    for seed in range(52):
        play(place.table, place.clock, "outbuffered", 0, seed, "abandon")
    first, second = (page_of(place.browser(), f"/history?page={page}") for page in (1, 2))
    assert 'href="/history/52"' in first
    assert 'href="/history/2"' not in first
    assert 'href="/history?page=2"' in first
    assert 'href="/history/2"' in second
    assert "There are no more games." in page_of(place.browser(), "/history?page=3")


# ---- a game ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SHORT)
def test_a_replay_needs_no_script(place: Place, name: str) -> None:
    browser = brought(place, name, turns=40)
    page = page_of(browser, "/history/1?at=3")
    assert 'id="next" href="?at=4"' in page
    assert 'id="back" href="?at=2"' in page
    assert page.count('aria-current="step"') in (1, 2), (
        "the line of the notation, and perhaps a key of the time line"
    )
    last = int(re.search(r'data-places="(\d+)"', page)[1]) - 1  # type: ignore[index] # the page says how many
    for at in (0, 1, last):
        fragment = browser.get(f"/history/1/scene/{at}").get_data(as_text=True)
        assert len(fragment.encode()) < 16_000
        assert ("data-receipt=" in fragment) == (at > 0)
        assert flat(fragment) in page_of(browser, f"/history/1?at={at}")
    assert browser.get(f"/history/1/scene/{last + 1}").status_code == 404
    assert page_of(browser, "/history/1?at=99999") == page_of(browser, f"/history/1?at={last}")
    assert "all receipts are right" in page


def test_scenes_show_what_happened(place: Place) -> None:
    browser = brought(place, "outbuffered")
    turns = [page_of(browser, f"/history/1/scene/{at}") for at in range(1, 10)]
    assert "Step 2 of 3" in turns[1]
    assert all('class="board"' in scene for scene in turns)
    assert any("data-moves=" in scene for scene in turns)
    assert any('<circle class="trace"' in scene for scene in turns)
    assert any("/rules/outbuffered#" in scene for scene in turns)


@pytest.mark.parametrize("name", SHORT)
def test_a_replay_counts_turns_as_the_game_does(place: Place, name: str) -> None:
    """Heading, receipts, notation and time line name the same number, although a turn may be several decisions."""
    browser = brought(place, name, turns=24)
    page = page_of(browser, "/history/1")
    shown = dict(re.findall(r"<a href=\?at=(\d+)[^>]*>(\d*) <[bi]>", page))
    assert len(shown) == 24
    for at, number in shown.items():
        scene = page_of(browser, f"/history/1/scene/{at}")
        assert (f"Turn {number}" if number else "Set-up") in scene, at
        assert (f"Receipts of turn {number}<" if number else ">Receipts<") in scene, at
    numbers = re.search(r'<svg class="numbers".*?</svg>', page, re.DOTALL)
    axis = re.findall(r">(\d+)</text>", numbers[0]) if numbers else []
    assert axis == sorted(set(axis), key=int)
    assert set(axis) <= set(shown.values())


@pytest.mark.parametrize("name", SHORT)
def test_a_replay_calls_players_by_their_names(place: Place, name: str) -> None:
    """A game without names says the sides' words."""
    browser, side = place.browser(), GAMES[name].sides[Seat.SOUTH].name.capitalize()
    for seed, names in enumerate(({}, {Seat.SOUTH: "Ann", Seat.NORTH: "Bo"}), start=1):
        bring(browser, msgspec.json.encode(made_game(name, seed, 6, names)), **HOST)
        pages = "".join(page_of(browser, f"/history/{seed}?at={at}") for at in range(8))
        said, other = ("Ann", side) if names else (side, "Ann")
        assert f'class="result">{said} resigns.' in pages
        assert f"<b>{said}</b>" in pages
        assert f"<b>{other}</b>" not in pages


def test_games_of_cards_show_lanes_and_both_hands(place: Place) -> None:
    browser = brought(place, "binmat", turns=30)
    scene = browser.get("/history/1/scene/12").get_data(as_text=True)
    assert scene.count('class="ln"') == 6
    assert scene.count('class="hand-of"') == 2
    assert "turns left" in scene


def test_nobody_gets_a_page_of_a_game_that_is_not(place: Place) -> None:
    for path in (
        "/history/1",
        "/history/1.json",
        "/history/1/scene/0",
        "/history/x",
        "/history/1.webp",
        "/history/1/turn/1.webp",
    ):
        assert place.browser().get(path).status_code == 404


# ---- secrets ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["outbuffered", "arena", "kahmate", "binmat"])
def test_a_game_that_is_on_tells_nothing_that_is_hidden(place: Place, name: str) -> None:
    table, game = place.table, GAMES[name]
    play(table, place.clock, name, 2, end="on")
    session = session_of(table)
    seat = sorted(session.awaited)[0]
    action = game.format(next(iter(game.legal_actions(session.state, seat))))
    paths = ("/history", "/history/1", "/api/history", "/history/1.json", "/history/1.txt")
    browser = place.browser()
    before = [browser.get(path).get_data(as_text=True) for path in paths]
    assert browser.get("/history/1").status_code == 200
    for path in (*paths[4:], "/history/1.webp", "/history/1/turn/1.webp", "/history/1/scene/0"):
        answer = browser.get(path)
        assert answer.status_code == 409
        assert "still on" in answer.get_data(as_text=True)
    if len(session.awaited) > 1:
        table.hand_in(seat, session.moment, action, "5a17" * 8)
        after = [browser.get(path).get_data(as_text=True) for path in paths]
        assert after == before
    if (
        name == "binmat"
    ):  # the host may take the end back: until another game is on, hands stay hidden
        table.resign(SEATS[0])
        shown = page_of(browser, "/history/1")
        assert "It can still be taken back" in shown
        assert 'id="turns"' not in shown
        assert browser.get("/history/1.json").status_code == 409


# ---- files -----------------------------------------------------------------------------------------------------------


def test_files_are_taken_away_and_brought_in(place: Place) -> None:
    play(place.table, place.clock, "outbuffered", 2)
    browser = place.browser()
    text, plain = browser.get("/history/1.txt"), browser.get("/history/1.json")
    assert text.headers["Content-Disposition"] == 'attachment; filename="game-1.txt"'
    assert text.get_data(as_text=True).startswith('[Game "outbuffered"]')
    assert plain.get_json()["players"]["south"] == "Ann & Co"
    refused = bring(browser, text.data)
    assert refused.status_code == 403
    assert "Only the owner" in refused.get_data(as_text=True)
    again = bring(browser, plain.data, **HOST)
    assert again.status_code == 400
    assert "This game is here already: number 1" in again.get_data(as_text=True)
    answer = bring(browser, msgspec.json.encode(made_game("scouts", 1, 3)), **HOST)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/history/2")
    assert "imported" in page_of(browser, "/history")


def test_files_that_do_not_fit_are_told_on_the_list(place: Place) -> None:
    browser = place.browser()
    huge = bring(browser, b"x" * (MOST_BYTES + 5000), **HOST)
    assert huge.status_code == 413
    assert "at most 1000000 bytes" in huge.get_data(as_text=True)
    large = bring(browser, b"[" + b" " * 900_000, **HOST)  # far more than other pages take
    assert large.status_code == 400
    assert "Line 1: " in large.get_data(as_text=True)
    empty = browser.post("/history", data={}, headers={"Accept": "text/html", **HOST})
    assert (empty.status_code, "Choose a file first" in empty.get_data(as_text=True)) == (400, True)
    foreign = browser.post("/history", headers={**HOST, "Origin": "http://elsewhere.example"})
    assert foreign.status_code == 403


def test_only_the_host_removes_games_and_names(place: Place) -> None:
    play(place.table, place.clock, "outbuffered", 1)
    play(place.table, place.clock, "outbuffered", 1, 2)
    browser = place.browser()
    for door, body in (("remove", {"number": 1}), ("forget", {"name": "Bob"})):
        assert browser.post(f"/api/history/{door}", json=body).status_code == 403
    assert browser.post("/api/history/forget", json={"name": "Bob"}, headers=HOST).get_json() == {
        "games": 2
    }
    assert (
        browser.post("/api/history/forget", json={"name": "Bob"}, headers=HOST).status_code == 400
    )
    assert "Bob" not in page_of(browser, "/history")
    assert browser.post("/api/history/remove", json={"number": 2}, headers=HOST).status_code == 409
    assert browser.post("/api/history/remove", json={"number": 1}, headers=HOST).status_code == 200
    assert browser.get("/history/1").status_code == 404
    shown = browser.get("/history/2", headers=HOST).get_data(as_text=True)
    assert "/api/history/remove" in shown
    assert "/api/history/remove" not in page_of(browser, "/history/2")


@pytest.mark.parametrize("name", SHORT)
def test_a_game_is_a_moving_picture(
    place: Place, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("web.rendering.moving_picture.MAX_FRAMES", 4)
    browser = brought(place, name, turns=4)
    answer = browser.get("/history/1.webp")
    assert answer.mimetype == "image/webp"
    with Image.open(io.BytesIO(answer.data)) as picture:
        frames = picture.n_frames
        assert picture.width == 480
        assert 1 < frames <= 4
        assert picture.info["loop"] == 0
        picture.seek(frames - 1)
        picture.load()
        assert picture.info["duration"] == 4000
    assert browser.get("/history/1.webp").data == answer.data


def test_a_turn_is_a_moving_picture(place: Place) -> None:
    browser = brought(place, "outbuffered", turns=3)
    answer = browser.get("/history/1/turn/2.webp")
    assert answer.mimetype == "image/webp"
    with Image.open(io.BytesIO(answer.data)) as picture:
        assert picture.format == "WEBP"
        assert 1 < picture.n_frames <= 4, "before it, and its three steps; equal ones are one"
    assert browser.get("/history/1/turn/4.webp").status_code == 400
    assert browser.get("/history/2/turn/1.webp").status_code == 404


def test_the_time_line_has_keys_for_what_people_remember(place: Place) -> None:
    browser = brought(place, "outbuffered", turns=12)
    page = page_of(browser, "/history/1")
    keys = re.findall(r'<a class="mark (\w)" href="\?at=(\d+)" aria-label="([^"]*)"', page)
    assert any("bounces and stays" in words for _, _, words in keys)
    places = [int(place) for _, place, _ in keys]
    assert places == sorted(places)
    last = int(re.search(r'data-places="(\d+)"', page)[1]) - 1  # type: ignore[index] # the page says how many
    assert places[-1] == last, "the end has one"
    for _, at, words in keys[:-1]:
        if words.endswith("bounces and stays on a1."):
            assert "bounces and stays on a1" in page_of(browser, f"/history/1/scene/{at}")
    for width, px in (("s", 230), ("sm", 560), ("sml", 880)):
        there = [int(place) * px / last for kind, place, _ in keys if kind in width]
        assert all(b - a >= 52 for a, b in itertools.pairwise(there)), (
            f"they overlap on a line of {px} pixels"
        )


# ---- statistics ------------------------------------------------------------------------------------------------------


def test_the_key_of_the_bars_stands_in_its_line(place: Place) -> None:
    """What says that the line to the table is lost lies over the page: that is for paragraphs alone."""
    play(place.table, place.clock, "outbuffered", 2)
    assert '<span class="lost"></span>lost' in page_of(place.browser(), "/history")
    pinned = re.findall(r"([^{}]+) \{\s+position: fixed", (STATIC / "base.css").read_text())
    assert "#lost, p.lost" in [rule.strip() for rule in pinned]
    assert not any(part.strip() == ".lost" for rule in pinned for part in rule.split(","))


def test_statistics_are_plain_tables(place: Place) -> None:
    assert place.browser().get("/statistics").location == "/history#players"
    play(place.table, place.clock, "outbuffered", 2)
    play(place.table, place.clock, "scouts", 14)
    page = page_of(place.browser(), "/history")
    assert page.count('<section class="player">') == 2
    assert re.search(r"<h2>Ann &amp; Co</h2><p>2 games, 0 won", page)
    assert '<rect class="lost" x="0.00" y="1" width="100.00" height="10"/>' in page
    cells = zip(("Games", "Wins", "Draws", "A turn"), ("1", "0", "0", "3.0 s"), strict=True)
    row = "".join(f'<td data-of="{of}">{figure}</td>' for of, figure in cells)
    assert f"Outbuffered</th>{row}" in page, "on a phone each figure has its name with it"
    assert "/api/history/forget" not in page
    hosts = place.browser().get("/history", headers=HOST).get_data(as_text=True)
    body = re.search(r"/api/history/forget\"[^>]*data-body='([^']*)'", hosts)
    assert body is not None
    assert json.loads(html.unescape(body[1])) == {"name": "Ann & Co"}


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (length(0.0), ""),
        (length(12.4), "12 s"),
        (length(95.0), "2 min"),
        (length(4000.0), "1 h 7 min"),
        (seconds(None), ""),
        (seconds(4.25), "4.2 s"),
        (seconds(75.2), "75 s"),
        (day(0.0), ""),
    ],
)
def test_times_in_words(told: str, words: str) -> None:
    assert told == words
