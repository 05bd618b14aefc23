"""Boards in a real browser: how large they are on the table screen and on a small phone, and where they stay."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from selenium.webdriver import ActionChains, Keys
from selenium.webdriver.remote.webdriver import WebDriver
from service import tap_square, until
from tour import SIZES, Stop, Tour, dress, touring, visit

from companion.core.grid import Square
from companion.core.kit import SEATS, Seat
from companion.games import GAMES
from companion.table.session import Phase

pytestmark = pytest.mark.browser

SMALL = (360, 640)
WALL = SIZES["screen"]
LEAST_PX = {"outbuffered": 30, "scouts": 42, "arena": 30, "kahmate": 41, "binmat": 30}
"""How wide a square, or a lane, is at least on a small phone while one chooses."""
LEAST_SHARE = {"scouts": 0.45, "kahmate": 0.45}
"""How much of a wide table screen a board covers at least."""
FORMATIONS = {
    Seat.SOUTH: "R@c2 R@f2 B@d2 T@e2 F@a2 S@d1",
    Seat.NORTH: "R@f10 R@c10 B@e10 T@d10 F@h10 S@e11",
}

_SQUARE = """
const board = document.querySelector('.view .board');
if (!board) return Math.min(...[...document.querySelectorAll('.lanes .ln')].map(each => each.getBoundingClientRect().width));
return Number(board.dataset.grid.split(' ')[2]) * board.getScreenCTM().a;
"""
_CUT = """
const main = document.querySelector('#live');
const keys = [...main.querySelectorAll('.key, .sign')].filter(each => each.checkVisibility());
const last = document.querySelector('#commit, #hand-in')?.getBoundingClientRect();
const under = each => last && each.getBoundingClientRect().top >= last.bottom - 1;
const out = each => each.getBoundingClientRect().bottom > innerHeight + 1 || each.scrollHeight > each.clientHeight + 2;
return [...keys.filter(each => out(each) || under(each)).map(each => each.innerText),
  ...(document.scrollingElement.scrollHeight > innerHeight ? ['it scrolls'] : [])];
"""
_LYING = """
const { left, top, width, height } = document.querySelector('.desk .lies .board').getBoundingClientRect();
return [left, top, width, height].map(Math.round);
"""


@contextmanager
def at_table(game: str) -> Iterator[Tour]:
    """Both sit, and the game is on."""
    with touring() as tour:
        for seat, name in zip(SEATS, ("Ann", "Ben"), strict=True):
            tour.client.post(f"/api/seat/{seat}/take", name=name)
        tour.clock.advance(1)
        tour.table.new_game(game, {})
        yield tour


def to_orders(tour: Tour) -> None:
    """Hands and clocks are done with."""
    until("orders", lambda: tour.table.view().phase is Phase.ORDERS or tour.go_on())


def open_page(window: WebDriver, tour: Tour, path: str, size: tuple[int, int]) -> None:
    dress(window, size, "light")
    visit(window, tour, Stop(path, path))


@pytest.mark.parametrize("game", GAMES)
def test_a_small_phone_shows_large_squares_and_whole_keys(game: str, window: WebDriver) -> None:
    with at_table(game) as tour:
        to_orders(tour)
        pages = 0
        for _ in range(3):
            seat = next(seat for seat in SEATS if tour.table.view().seats[seat].awaited)
            open_page(window, tour, f"/seat/{seat}", SMALL)
            if not tour.table.view().board.standing or not tour.table.view().board.standing.duel:
                assert window.execute_script(_SQUARE) >= LEAST_PX[game]
                pages += 1
            assert window.execute_script(_CUT) == []
            tour.go_on()
            to_orders(tour)
        assert pages


@pytest.mark.parametrize("game", [name for name in GAMES if name != "binmat"])
def test_a_board_keeps_its_place_and_size_on_the_table_screen(game: str, window: WebDriver) -> None:
    with at_table(game) as tour:
        places = set()
        for _ in range(4):
            open_page(window, tour, "/", WALL)
            places.add(tuple(window.execute_script(_LYING)))
            tour.go_on()
        ((_, top, width, height),) = places
        assert width * height >= LEAST_SHARE.get(game, 0.33) * WALL[0] * WALL[1]
        sign = window.execute_script(
            "return document.querySelector('#sign').getBoundingClientRect().top"
        )
        assert top + height < sign
        assert width > height or game == "arena"
        dress(window, (1440, 1080), "light")
        assert not window.execute_script(
            "return document.querySelector('.desk .lies').checkVisibility()"
        )
        assert window.execute_script(
            "return document.querySelector('.desk .stands').checkVisibility()"
        )


def test_a_refusal_in_scouts_moves_no_key(window: WebDriver) -> None:
    with at_table("scouts") as tour:
        to_orders(tour)
        open_page(window, tour, "/seat/south", SMALL)
        keys = "return [...document.querySelectorAll('.key, .view')].map(each => each.getBoundingClientRect().top)"
        until("the plays", lambda: window.execute_script("return document.querySelector('.dots')"))
        before = window.execute_script(keys)
        tap_square(window, "c5")
        said = "return document.getElementById('said').innerText"
        until("the refusal", lambda: "c5" in window.execute_script(said))
        assert window.execute_script(keys) == before
        assert window.execute_script(_CUT) == []


def test_a_second_tap_on_the_target_commits_and_another_dot_changes(window: WebDriver) -> None:
    with at_table("kahmate") as tour:
        for seat, text in FORMATIONS.items():
            tour.table.hand_in(seat, tour.table.view().moment, text)
        to_orders(tour)
        seat = next(seat for seat in SEATS if tour.table.view().seats[seat].awaited)
        piece, far, near = ("a2", "a6", "a5") if seat is Seat.SOUTH else ("h10", "h6", "h7")
        open_page(window, tour, f"/seat/{seat}", SMALL)
        taps = "return document.getElementById('plays').dataset.taps"
        until(
            "the plays",
            lambda: window.execute_script(
                "return !document.querySelector('#commit').matches('.off')"
            ),
        )
        for tapped in ((piece,), (piece, far), (piece, near)):
            tap_square(window, tapped[-1])
            assert window.execute_script(taps).split() == list(tapped)
        assert (
            window.execute_script(
                "return document.querySelectorAll('#plan .way, #plan .ghost, #plan .target').length"
            )
            == 3
        )
        assert (
            window.execute_script("return document.querySelectorAll('[data-begin]').length") == 0
        ), "no modes"
        tap_square(window, near)
        until("the run", lambda: tour.table.view().phase is Phase.STAGES)
        (run,) = tour.table.view().turn.instructions
        assert (run.move.origin, run.move.target) == (Square.parse(piece), Square.parse(near))


# ---- by keyboard -----------------------------------------------------------------------------------------------------


def focus(window: WebDriver, selector: str) -> None:
    """Press Tab until something has the focus."""

    def look() -> bool:
        if window.execute_script("return document.activeElement.matches(arguments[0])", selector):
            return True
        ActionChains(window).send_keys(Keys.TAB).perform()
        return False

    until(f"focus on {selector}", look)


def press(window: WebDriver, selector: str) -> None:
    """Press a key of the page once it is awake."""
    awake = "const key = document.querySelector(arguments[0]); return key && !key.matches('.off, :disabled')"
    until(f"{selector} awake", lambda: window.execute_script(awake, selector))
    focus(window, selector)
    ActionChains(window).pause(0.8).send_keys(Keys.ENTER).perform()


def choose(window: WebDriver, *squares: str) -> None:
    """Go to squares of the board by arrows, and press Enter on each."""
    focus(window, ".view .board")
    at = "return document.querySelector('.view .board').getAttribute('aria-description')"
    turned = window.execute_script(
        "return Number(document.querySelector('.view .board').dataset.grid.split(' ')[3])"
    )
    for square in squares:
        if not window.execute_script(at):
            ActionChains(window).send_keys(Keys.ARROW_UP).perform()
        here = window.execute_script(at)
        across, up = ord(square[0]) - ord(here[0]), int(square[1:]) - int(here[1:])
        across, up = (-across, -up) if turned else (across, up)
        steps = [Keys.ARROW_RIGHT if across > 0 else Keys.ARROW_LEFT] * abs(across)
        steps += [Keys.ARROW_UP if up > 0 else Keys.ARROW_DOWN] * abs(up)
        ActionChains(window).send_keys(*steps, Keys.ENTER).perform()


def test_a_whole_game_of_scouts_is_played_by_keyboard(window: WebDriver) -> None:
    """Both sides: placing, the clock, dashes, a jump, a boulder, a rock, the end."""
    with at_table("scouts") as tour:
        view = tour.table.view

        def play(seat: Seat, *deeds: str) -> None:
            """Squares are tapped by Enter, the last one twice; what begins with # or [ is a key."""
            open_page(window, tour, f"/seat/{seat}", (1024, 768))
            until(
                "its page", lambda: window.execute_script("return document.querySelector('#plays')")
            )
            for deed in deeds:
                if deed.startswith(("#", "[")):
                    press(window, deed)
                    continue
                moment, squares = view().moment, deed.split()
                choose(window, *squares, squares[-1])
                until(
                    deed,
                    lambda moment=moment: (
                        view().moment != moment or view().phase is not Phase.ORDERS
                    ),
                )
                to_orders(tour)

        to_orders(tour)
        for square in ("c1", "c10", "d1", "d10", "e1", "e10", "f1", "f10", "g1", "g10"):
            play(Seat.SOUTH if square.endswith("1") else Seat.NORTH, square)
        open_page(window, tour, "/seat/south", (1024, 768))
        press(window, "#commit")
        until("the clock", lambda: not view().time.clock.paused)  # type: ignore[union-attr] # it has one
        for seat, *deeds in (
            (Seat.SOUTH, "[data-begin=boulder]", "a5", "c1 c2", "#commit"),
            (Seat.NORTH, "[data-begin=rock]", "h5 h6", "c10 c9", "d10 d9", "#commit"),
            (Seat.SOUTH, "e1 c1", "d1 d2", "#commit"),
        ):
            play(seat, *deeds)
        until("black", lambda: view().seats[Seat.NORTH].awaited)
        open_page(window, tour, "/seat/north", (1024, 768))
        press(window, "#menu summary")
        press(window, "[data-sure]")
        press(window, ".sure [data-yes]")
        until("the end", lambda: view().phase is Phase.OVER)
