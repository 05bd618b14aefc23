"""The hub's pages in a real browser: what a wall has room for, and that it and spectators follow a room."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from hub_room import hub_pages, league_of, played_records, room_of_twelve
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webdriver import WebDriver
from service import WALL, browser, too_wide, until
from tour import dress, resize

from companion.core.clock import RealClock
from companion.core.i18n import LANGUAGES, Verbatim, packed
from companion.core.kit import SEATS
from companion.league.tournament import System
from companion.table.public.messages import PublicState
from companion.table.seats.staff_call import Call
from web.hub.room import Room, RoomTable
from web.server.server import serve

pytestmark = pytest.mark.browser

_ROWS = """
const box = document.querySelector('.ranks ol').getBoundingClientRect(), sign = document.querySelector('.sign').getBoundingClientRect();
if (box.bottom > sign.top) return [];
return [...document.querySelectorAll('.ranks li')].filter(row => {
  const own = row.getBoundingClientRect();
  return own.top >= box.top - 1 && own.bottom <= box.bottom + 1;
}).map(row => row.querySelector('b').textContent);"""
"""The rows of the standings that can be seen wholly, above the sign."""
_TURN = """
const done = arguments[0];
const script = performance.getEntriesByType('resource').find(each => each.name.endsWith('/wall.js'));
import(script.name).then(({ turnRanks }) => turnRanks()).then(() => done(), done);"""
_HEIGHTS = """
return [5, 6].map(number => document.querySelector(`.list tbody tr:nth-child(${number})`).getBoundingClientRect().height)"""
"""How high the rows of tables 5 and 6 are."""
WIDTHS = (768, 1024, 1366, 1920, 2560)


@pytest.fixture(scope="module")
def room() -> Room:
    return room_of_twelve(RealClock())


@pytest.fixture
def address(room: Room) -> Iterator[str]:
    with hub_pages(room, RealClock()) as app, serve(app, "127.0.0.1", 0) as server:
        server.start()
        yield f"http://127.0.0.1:{server.port}"


@pytest.fixture(scope="module")
def window() -> Iterator[WebDriver]:
    with browser(WALL) as opened:
        yield opened


def test_a_table_that_says_far_too_much_leaves_the_others_their_place(
    window: WebDriver, address: str, room: Room
) -> None:
    def heights() -> list[list[float]]:
        window.get(f"{address}/host")
        found = []
        for width in (320, *WIDTHS):
            resize(window, (width, 900))
            assert too_wide(window) <= 0, width
            found.append(window.execute_script(_HEIGHTS))
        return found

    window.get(f"{address}/host")
    if keys := window.find_elements(By.ID, "key"):
        keys[0].send_keys("abcde-fghij")
        window.find_element(By.CSS_SELECTOR, "button.go").click()
    until("the tables", lambda: window.find_elements(By.CSS_SELECTOR, ".list tbody tr"))
    before = heights()
    much = packed(Verbatim("W" * 3000))
    room.state(
        "id5",
        PublicState(
            "1" * 200, RealClock().wall_s(), health=much, notices=(much,) * 3, wrong=(much,)
        ),
    )
    after = heights()
    room.state("id5", PublicState("1.0.0", RealClock().wall_s()))  # for the tests behind this one
    for (own, other), (_, other_before) in zip(after, before, strict=True):
        assert own < 900
        assert other <= 2 * other_before
    window.get("about:blank")


def test_codes_beside_the_tables_stand_clear_of_the_sign(window: WebDriver, address: str) -> None:
    """With a call, the code by which tables join, and both codes to scan; a wall that nobody scrolls."""
    script = """const top = document.querySelector('.sign').getBoundingClientRect().top;
    return [...document.querySelectorAll('.side section')].map(each => top - each.getBoundingClientRect().bottom)"""
    window.get(address)
    for size in (WALL, (1366, 768)):
        resize(window, size)
        room_left = window.execute_script(script)
        assert len(room_left) == 4
        assert min(room_left) >= 0, size


def test_codes_of_an_empty_wall_stand_clear_of_the_sign_in_every_language(
    window: WebDriver,
) -> None:
    with (
        hub_pages(Room("Club", RealClock()), RealClock()) as app,
        serve(app, "127.0.0.1", 0) as server,
    ):
        server.start()
        script = """const top = document.querySelector('.sign').getBoundingClientRect().top;
        return [...document.querySelectorAll('.side .scan')].map(each => top - each.getBoundingClientRect().bottom)"""
        for language, size in product(LANGUAGES, (WALL, (1366, 768))):
            resize(window, size)
            window.get(f"http://127.0.0.1:{server.port}/")
            window.add_cookie({"name": "language", "value": language})
            window.refresh()
            room_left = window.execute_script(script)
            assert len(room_left) == 2
            assert min(room_left) >= 0, (language, size, room_left)
        window.delete_all_cookies()


def test_a_tournament_is_printed_and_names_fit_the_wall(window: WebDriver, tmp_path: Path) -> None:
    clock = RealClock()
    room = Room("Club", clock)
    for number in (1, 2):
        room.put(RoomTable(f"t{number}", number, ""))
        room.state(f"t{number}", PublicState("1.0.0", clock.wall_s()))
    with (
        league_of(tmp_path, clock, "t1", "t2") as league,
        hub_pages(room, clock, league=league) as app,
        serve(app, "127.0.0.1", 0) as server,
    ):
        server.start()
        key, host = {"X-Host-Key": "abcde-fghij"}, app.test_client()
        wish = {
            "name": "Cup of the long evenings",
            "system": "swiss",
            "game": "scouts",
            "rounds": 3,
            "minutes": 20,
        }
        assert (
            host.post("/host/tournaments", data={**wish, "team_size": 1}, headers=key).status_code
            == 303
        )
        for name in ("Mara", "Hugo", "Bartholomea-Wilhelmine", "Jo", "Ada"):
            host.post("/host/tournament/1", data={"do": "enter", "people": name}, headers=key)
        assert host.post("/host/tournament/1", data={"do": "pair"}, headers=key).status_code == 303
        address = f"http://127.0.0.1:{server.port}"
        window.get(f"{address}/tournament/1")
        left = window.find_element(By.CSS_SELECTOR, ".ends")
        assert left.is_displayed()
        dark = [{"name": "prefers-color-scheme", "value": "dark"}]
        window.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": dark})
        assert not left.is_displayed()  # on paper no time runs
        assert "F4EEE1" in window.execute_script(
            "return getComputedStyle(document.body).getPropertyValue('--paper')"
        )
        window.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
        window.get(f"{address}/")  # a table without a board has its whole place for the names
        cut = "return [...document.querySelectorAll('.nm b')].map(name => name.scrollWidth > name.clientWidth)"
        names = window.execute_script(cut)
        assert names
        assert not any(names)
        window.get("about:blank")


def test_the_wall_shows_as_many_places_as_it_has_room_for_and_then_the_others(
    window: WebDriver, tmp_path: Path
) -> None:
    clock = RealClock()
    room = Room("Club", clock)
    room.put(RoomTable("t1", 1, ""))
    with (
        league_of(tmp_path, clock) as league,
        hub_pages(room, clock, league=league) as app,
        serve(app, "127.0.0.1", 0) as server,
    ):
        server.start()
        cup = league.tournaments.new(
            "Cup", System.SWISS, "scouts", {}, rounds=3, minutes=0, team_size=1
        )
        for number in range(30):
            league.tournaments.enter(cup.id, [league.cards.make(f"Name{number + 1:02}").number])
        league.tournaments.pair_round(cup.id)
        dress(window, WALL, "light")
        window.get(f"http://127.0.0.1:{server.port}/")
        until("rows are shown", lambda: len(window.execute_script(_ROWS)) >= 6)
        resize(window, (1920, 1400))
        until("more rows are shown", lambda: len(window.execute_script(_ROWS)) >= 9)
        resize(window, WALL)
        until("fewer rows are shown", lambda: 6 <= len(window.execute_script(_ROWS)) < 9)
        seen, turns = set[str](), 0
        while len(seen) < 30 and turns < 10:  # the page may have turned by itself meanwhile
            assert window.execute_async_script(_TURN) is None
            seen.update(window.execute_script(_ROWS))
            turns += 1
        assert seen == {f"Name{number + 1:02}" for number in range(30)}
        window.get("about:blank")


@pytest.mark.parametrize(
    ("count", "least"),
    [(1, 0.75), (2, 0.7), (6, 0.75), (20, 0.75)],
)
def test_few_tables_fill_the_wall_and_many_take_turns(
    count: int, least: float, window: WebDriver
) -> None:
    """Above the sign, at least so much of the height is taken; of twenty, twelve at a time, among them who calls."""
    script = """const box = document.querySelector('.tables').getBoundingClientRect();
    const shown = [...document.querySelectorAll('.t')].filter(tile => tile.offsetParent);
    const ends = Math.max(...shown.map(tile => (tile.querySelector('.bd') ?? tile).getBoundingClientRect().bottom));
    const sign = document.querySelector('.hub>.sign').getBoundingClientRect().top;
    return [(ends - box.top) / (sign - box.top), shown.map(tile => tile.querySelector('b').textContent)]"""
    clock, records = RealClock(), played_records("outbuffered", 2, 1)
    room = Room("Club", clock)
    for number in range(1, count + 1):
        room.put(RoomTable(f"t{number}", number, ""))
        for record in records:
            room.record(f"t{number}", record)
    if count > 12:
        room.state("t20", PublicState("1.0.0", clock.wall_s(), call=Call.CALLED))
    with hub_pages(room, clock) as app, serve(app, "127.0.0.1", 0) as server:
        server.start()
        window.get(f"http://127.0.0.1:{server.port}/")
        for size in (WALL, (1366, 768)):
            dress(window, size, "light")
            until("the wall", lambda: len(window.execute_script(script)[1]) == min(count, 12))
            part, names = window.execute_script(script)
            assert least <= part <= 1, size
            assert count <= 12 or "20" in names
        window.execute_async_script(_TURN.replace("turnRanks", "turnTiles"))
        assert set(window.execute_script(script)[1]) | set(names) == {
            str(number + 1) for number in range(count)
        }
        window.get("about:blank")


def test_the_longest_names_leave_every_table_above_the_sign_and_the_tournament_whole(
    window: WebDriver, tmp_path: Path
) -> None:
    script = """const sign = document.querySelector('.hub>.sign').getBoundingClientRect().top;
    const ends = [...document.querySelectorAll('.t')].filter(tile => tile.offsetParent).map(tile => tile.getBoundingClientRect().bottom);
    const cup = [...document.querySelectorAll('.strip span')].find(each => each.textContent.includes('Coupe'));
    return [ends.length, Math.max(...ends) - sign, cup.scrollWidth - cup.clientWidth]"""
    plate = """const plate = document.querySelector('.low').getBoundingClientRect();
    return [...document.querySelectorAll('.low h2, .low .or')].every(
      each => each.getBoundingClientRect().top >= plate.top && each.getBoundingClientRect().bottom <= plate.bottom)"""
    clock = RealClock()
    room = Room("Ludothèque municipale de Saint-Étienne", clock)
    names = dict(
        zip(SEATS, ("Jean-Christophe Beauchamp", "María de los Ángeles Ruiz"), strict=True)
    )
    records = played_records("outbuffered", 2, 1)
    for number in range(1, 13):
        room.put(
            RoomTable(
                f"t{number}", number, "By the great window on the left" if number == 6 else ""
            )
        )
        for record in records:
            room.record(f"t{number}", record)
        room.state(f"t{number}", PublicState("1.0.0", clock.wall_s(), names))
    with (
        league_of(tmp_path, clock) as league,
        hub_pages(room, clock, league=league) as app,
        serve(app, "127.0.0.1", 0) as server,
    ):
        server.start()
        name = "Coupe des longues soirées d’hiver de Saint-Étie"
        cup = league.tournaments.new(
            name, System.SWISS, "scouts", {}, rounds=3, minutes=20, team_size=1
        )
        for each in names.values():
            league.tournaments.enter(cup.id, [league.cards.make(each[:24]).number])
        league.tournaments.pair_round(cup.id)
        dress(window, WALL, "light")
        window.get(f"http://127.0.0.1:{server.port}/")
        tables, under, cut = until("the wall", lambda: window.execute_script(script))
        assert tables == 12
        assert under <= 0
        assert cut <= 0
        window.get(f"http://127.0.0.1:{server.port}/overlay/1")
        assert window.execute_script(plate)
        window.get("about:blank")


def test_a_clock_that_runs_stays_in_its_place_on_the_overlay(window: WebDriver) -> None:
    """After the clock's script has marked its box as late, too."""
    clock = RealClock()
    room = Room("Club", clock)
    room.put(RoomTable("t1", 1, ""))
    for record in played_records("binmat", 30, 1):
        room.record("t1", record)
    script = """const [low, box] = ['.low', '.clk.over .time'].map(each => document.querySelector(each)?.getBoundingClientRect());
    return box && box.left > low.left && box.right < low.right && box.top > low.top && box.bottom < low.bottom"""
    with hub_pages(room, clock) as app, serve(app, "127.0.0.1", 0) as server:
        server.start()
        dress(window, WALL, "light")
        window.get(f"http://127.0.0.1:{server.port}/overlay/1")
        until("it is in its place", lambda: window.execute_script(script))
        window.get("about:blank")


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [("/", "Free", "Turn 1"), ("/watch/1", "Nothing to see yet", "turn 1")],
)
def test_the_wall_and_a_spectator_follow_what_is_told(
    path: str, before: str, after: str, window: WebDriver
) -> None:
    clock = RealClock()
    room = Room("", clock)
    room.put(RoomTable("a", 1, ""))
    room.state("a", PublicState("1.0.0", clock.wall_s()))
    with hub_pages(room, clock) as app, serve(app, "127.0.0.1", 0) as server:
        server.start()
        window.get(f"http://127.0.0.1:{server.port}{path}")

        def says(text: str) -> bool:
            room.step()
            return text in window.find_element(By.ID, "live").text

        until(before, lambda: says(before))
        for record in played_records("outbuffered", 1, 1):
            room.record("a", record)
        until(after, lambda: says(after))
        window.get("about:blank")
