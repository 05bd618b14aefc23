"""Boards in a real browser: how large they are on the table screen and on a small phone, and where
they stay.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
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


# ---- by keyboard ---------------------------------------------------------------------------------
