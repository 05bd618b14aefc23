"""Test a hub's pages in a browser: what fits on a wall, and that pages follow the tables.

A wall is a large screen that shows all tables of a hub, or the standings of a tournament. What does
not fit is shown in parts, one after the other.
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
from window_tools import serve

from companion.core.clock import RealClock
from companion.league.tournament import PairingSystem
from companion.league.tournament_rules import new_tournament
from companion.table.public.messages import PublicState
from companion.table.seats.staff_call import Call
from web.hub.room import HubRoom, HubTable

pytestmark = pytest.mark.browser

# Maximum number of tables that a wall shows at a time.
MAX_TABLES = 12
# Lists the names in those rows of the standings that are wholly in sight above the sign.
_NAMES_IN_SIGHT = """
const box = document.querySelector('.ranks ol').getBoundingClientRect(),
  sign = document.querySelector('.sign').getBoundingClientRect();
if (box.bottom > sign.top) return [];
return [...document.querySelectorAll('.ranks li')].filter(row => {
  const own = row.getBoundingClientRect();
  return own.top >= box.top - 1 && own.bottom <= box.bottom + 1;
}).map(row => row.querySelector('b').textContent);"""
# Lets the wall show its next rows at once, which it does by itself after some seconds.
_SHOW_NEXT_ROWS = """
const done = arguments[0];
const script = performance.getEntriesByType('resource').find(
  entry => entry.name.endsWith('/wall.js')
);
import(script.name).then(({ turnRanks }) => turnRanks()).then(() => done(), done);"""


@pytest.fixture(scope="module")
def window() -> Iterator[WebDriver]:
    with browser(WALL) as opened:
        yield opened


def test_long_standings_are_shown_in_parts(window: WebDriver, tmp_path: Path) -> None:
    """Enter 30 players. The wall has room for six to eight at a time, and must show all in turn."""
    clock = RealClock()
    room = HubRoom("Club", clock)
    room.add(HubTable("t1", 1, ""))
    with (
        open_league(tmp_path, clock) as league,
        open_hub_pages(room, clock, league=league) as app,
        serve(app) as url,
    ):
        cup = league.tournaments.add(
            new_tournament("Cup", PairingSystem.SWISS, "scouts", {}, rounds=3, minutes=0)
        )
        for number in range(30):
            league.tournaments.enter(cup.id, league.cards.create(f"Name{number + 1:02}").number)
        league.tournaments.pair_round(cup.id)

        # The number of rows follows the height of the window.
        set_size_and_theme(window, WALL, "light")
        window.get(f"{url}/")
        until("six rows in sight", lambda: len(window.execute_script(_NAMES_IN_SIGHT)) >= 6)
        resize(window, (1920, 1400))
        until("nine rows in sight", lambda: len(window.execute_script(_NAMES_IN_SIGHT)) >= 9)
        resize(window, WALL)
        until(
            "six to eight rows in sight",
            lambda: 6 <= len(window.execute_script(_NAMES_IN_SIGHT)) < 9,
        )

        # Four or five parts show all names. Up to ten are allowed, because the page also goes on by
        # itself, so that the test may miss one.
        names = set[str]()
        parts = 0
        while len(names) < 30 and parts < 10:
            assert window.execute_async_script(_SHOW_NEXT_ROWS) is None
            names.update(window.execute_script(_NAMES_IN_SIGHT))
            parts += 1
        assert names == {f"Name{number + 1:02}" for number in range(30)}
        window.get("about:blank")


@pytest.mark.parametrize(
    ("table_count", "min_share"),
    [(2, 0.7), (20, 0.75)],
)
def test_many_tables_are_shown_in_parts(
    table_count: int, min_share: float, window: WebDriver
) -> None:
    """Show few tables and many. Their boards must take at least `min_share` of the free height.

    The free height is that above the sign. A wall shows twelve tables at a time, and a table that
    has called the staff, here table 20, is always among them.
    """
    # Returns the share of the free height that the boards take, and the numbers of the tables.
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
    clock = RealClock()
    records = played_records("outbuffered", decisions=2)
    room = HubRoom("Club", clock)
    for number in range(1, table_count + 1):
        room.add(HubTable(f"t{number}", number, ""))
        for record in records:
            room.receive_record(f"t{number}", record)
    if table_count > MAX_TABLES:
        room.receive_state("t20", PublicState("1.0.0", call=Call.CALLED))
    with open_hub_pages(room, clock) as app, serve(app) as url:
        window.get(f"{url}/")
        shown_count = min(table_count, MAX_TABLES)
        for size in (WALL, (1366, 768)):
            set_size_and_theme(window, size, "light")
            until("the wall", lambda: len(window.execute_script(script)[1]) == shown_count)
            share, numbers = window.execute_script(script)
            assert min_share <= share <= 1, size
            assert table_count <= MAX_TABLES or "20" in numbers

        # The next part shows the tables that are left. `turnTiles` is for tables what `turnRanks`
        # is for the rows of standings.
        window.execute_async_script(_SHOW_NEXT_ROWS.replace("turnRanks", "turnTiles"))
        assert set(window.execute_script(script)[1]) | set(numbers) == {
            str(number + 1) for number in range(table_count)
        }
        window.get("about:blank")


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [("/", "Free", "Turn 1"), ("/watch/1", "Nothing to see yet", "turn 1")],
)
def test_the_hubs_pages_follow_a_table(
    path: str, before: str, after: str, window: WebDriver
) -> None:
    """Begin a game at a table. The hub's pages must show it without a reload."""
    clock = RealClock()
    room = HubRoom("", clock)
    room.add(HubTable("a", 1, ""))
    room.receive_state("a", PublicState("1.0.0"))
    with open_hub_pages(room, clock) as app, serve(app) as url:
        window.get(url + path)

        def contains(text: str) -> bool:
            room.step()
            return text in window.find_element(By.ID, "live").text

        # Before and after the table's records of a game of Outbuffered come in.
        until(f"“{before}”", lambda: contains(before))
        for record in played_records("outbuffered", decisions=1):
            room.receive_record("a", record)
        until(f"“{after}”", lambda: contains(after))
        window.get("about:blank")
