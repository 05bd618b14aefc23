"""The hub's pages in a real browser: what a wall has room for, and that it and spectators follow a
room.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hub_room import open_hub_pages, open_league, played_records
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webdriver import WebDriver
from service import WALL, browser, until
from tour import resize, set_size_and_theme

from companion.core.clock import RealClock
from companion.league.tournament import PairingSystem
from companion.league.tournament_rules import new_tournament
from companion.table.public.messages import PublicState
from companion.table.seats.staff_call import Call
from web.hub.room import HubRoom, HubTable
from web.server.server import open_server

pytestmark = pytest.mark.browser

# Lists the rows of the standings that are wholly in sight above the sign.
_ROWS = """
const box = document.querySelector('.ranks ol').getBoundingClientRect(),
  sign = document.querySelector('.sign').getBoundingClientRect();
if (box.bottom > sign.top) return [];
return [...document.querySelectorAll('.ranks li')].filter(row => {
  const own = row.getBoundingClientRect();
  return own.top >= box.top - 1 && own.bottom <= box.bottom + 1;
}).map(row => row.querySelector('b').textContent);"""
_TURN = """
const done = arguments[0];
const script = performance.getEntriesByType('resource').find(
  entry => entry.name.endsWith('/wall.js')
);
import(script.name).then(({ turnRanks }) => turnRanks()).then(() => done(), done);"""


@pytest.fixture(scope="module")
def window() -> Iterator[WebDriver]:
    with browser(WALL) as opened:
        yield opened


def test_standings_that_fill_the_wall_take_turns(window: WebDriver, tmp_path: Path) -> None:
    clock = RealClock()
    room = HubRoom("Club", clock)
    room.add(HubTable("t1", 1, ""))
    with (
        open_league(tmp_path, clock) as league,
        open_hub_pages(room, clock, league=league) as app,
        open_server(app, "127.0.0.1", 0) as server,
    ):
        server.start()
        cup = league.tournaments.add(
            new_tournament("Cup", PairingSystem.SWISS, "scouts", {}, rounds=3, minutes=0)
        )
        for number in range(30):
            league.tournaments.enter(cup.id, league.cards.create(f"Name{number + 1:02}").number)
        league.tournaments.pair_round(cup.id)
        set_size_and_theme(window, WALL, "light")
        window.get(f"http://127.0.0.1:{server.port}/")
        until("rows are shown", lambda: len(window.execute_script(_ROWS)) >= 6)
        resize(window, (1920, 1400))
        until("more rows are shown", lambda: len(window.execute_script(_ROWS)) >= 9)
        resize(window, WALL)
        until("fewer rows are shown", lambda: 6 <= len(window.execute_script(_ROWS)) < 9)
        names, turns = set[str](), 0
        while len(names) < 30 and turns < 10:  # the page may have turned by itself meanwhile
            assert window.execute_async_script(_TURN) is None
            names.update(window.execute_script(_ROWS))
            turns += 1
        assert names == {f"Name{number + 1:02}" for number in range(30)}
        window.get("about:blank")


@pytest.mark.parametrize(
    ("count", "least"),
    [(2, 0.7), (20, 0.75)],
)
def test_many_tables_take_turns_on_the_wall(count: int, least: float, window: WebDriver) -> None:
    """Above the sign, at least so much of the height is taken; of twenty, twelve at a time, among
    them who calls.
    """
    script = """
    const box = document.querySelector('.tables').getBoundingClientRect();
    const tiles = [...document.querySelectorAll('.t')].filter(tile => tile.offsetParent);
    const ends = Math.max(...tiles.map(
      tile => (tile.querySelector('.bd') ?? tile).getBoundingClientRect().bottom
    ));
    const sign = document.querySelector('.hub>.sign').getBoundingClientRect().top;
    return [
      (ends - box.top) / (sign - box.top), tiles.map(tile => tile.querySelector('b').textContent)
    ]"""
    clock, records = RealClock(), played_records("outbuffered", 2, 1)
    room = HubRoom("Club", clock)
    for number in range(1, count + 1):
        room.add(HubTable(f"t{number}", number, ""))
        for record in records:
            room.receive_record(f"t{number}", record)
    if count > 12:
        room.receive_state("t20", PublicState("1.0.0", call=Call.CALLED))
    with open_hub_pages(room, clock) as app, open_server(app, "127.0.0.1", 0) as server:
        server.start()
        window.get(f"http://127.0.0.1:{server.port}/")
        for size in (WALL, (1366, 768)):
            set_size_and_theme(window, size, "light")
            until("the wall", lambda: len(window.execute_script(script)[1]) == min(count, 12))
            part, names = window.execute_script(script)
            assert least <= part <= 1, size
            assert count <= 12 or "20" in names
        window.execute_async_script(_TURN.replace("turnRanks", "turnTiles"))
        assert set(window.execute_script(script)[1]) | set(names) == {
            str(number + 1) for number in range(count)
        }
        window.get("about:blank")


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [("/", "Free", "Turn 1"), ("/watch/1", "Nothing to see yet", "turn 1")],
)
def test_the_hubs_pages_follow_a_table(
    path: str, before: str, after: str, window: WebDriver
) -> None:
    clock = RealClock()
    room = HubRoom("", clock)
    room.add(HubTable("a", 1, ""))
    room.receive_state("a", PublicState("1.0.0"))
    with open_hub_pages(room, clock) as app, open_server(app, "127.0.0.1", 0) as server:
        server.start()
        window.get(f"http://127.0.0.1:{server.port}{path}")

        def says(text: str) -> bool:
            room.step()
            return text in window.find_element(By.ID, "live").text

        until(before, lambda: says(before))
        for record in played_records("outbuffered", 1, 1):
            room.receive_record("a", record)
        until(after, lambda: says(after))
        window.get("about:blank")
