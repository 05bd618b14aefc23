"""Whoever taps twice does nothing that cannot be undone, and loses nothing: nothing new comes under
the finger.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from finger_tools import RESTED_MS, Finger
from selenium.webdriver.remote.webdriver import WebDriver
from service import until
from tour import Stop, open_table_tour

from companion.core.kit import SEATS, Seat
from companion.table.session import Phase

pytestmark = pytest.mark.browser

GAMES_OF_ALL_KINDS = ("outbuffered", "kahmate", "binmat")
# Stops at which something can be lost, each once: before a game, in it, after it, and on its
# owner's pages.
STOPS = (
    "lobby-screen", "join-seat", "lobby-seat", "chosen-screen", "settings",
    "outbuffered-lesson-south", "-sealed-south", "-stages-screen",
    "-stages-south", "outbuffered-host", "-over-screen", "outbuffered-over-south",
    "-here", "binmat-orders-dealt-south", "binmat-orders-screen",
)  # fmt: skip
# Some addresses to which keys of these pages post.
EFFECTS = {
    "/api/table/choose",
    "/join/south",
    "/api/seat/south/take-back",
    "/api/seat/south/hand-in",
    "/api/host/new-game",
    "/try/end",
}


@pytest.mark.slow
def test_no_key_tapped_twice_takes_anything_away(own_clock: WebDriver) -> None:
    """In games of orders, of pieces and of cards, and on their owner's pages: all keys rest by one
    script, which `test_tour` finds on every page.
    """
    with open_table_tour() as tour:
        finger = Finger(own_clock, tour)
        for stop in tour.stops(GAMES_OF_ALL_KINDS, machines=("outbuffered",)):
            if stop.name.endswith(STOPS):
                finger.look_at(stop)
        assert finger.lost == []
        assert finger.addresses >= EFFECTS, "the taps have hit their keys"


@contextmanager
def finger_at_game(window: WebDriver, game: str, **options: str) -> Iterator[Finger]:
    """Seat both people and begin a game."""
    with open_table_tour() as tour:
        finger = Finger(window, tour)
        for seat in SEATS:
            tour.client.post(f"/api/seat/{seat}/take", name=str(seat))
        tour.table.new_game(game, options, 7)
        yield finger


def test_a_quick_answer_leaves_the_turn_ended_once(own_clock: WebDriver) -> None:
    """The key that ends it is back, with the same words, before the finger is."""
    with finger_at_game(own_clock, "kahmate", starter="south") as finger:
        tour, table = finger.tour, finger.tour.table
        while table.view().turn.number == 0 or table.view().phase is not Phase.ORDERS:
            tour.go_on()
        finger.open(Stop("south", "/seat/south"), False)
        is_ready = "return document.querySelector('#commit')?.textContent === 'End turn'"
        until("the key", lambda: own_clock.execute_script(is_ready))
        at = centre(own_clock, "#commit")
        finger.tap(at, 0)
        table.hand_in(Seat.NORTH, table.view().moment, ".")
        moment = table.view().moment
        until("the same key", lambda: own_clock.execute_script(is_ready))
        for pause_ms in (100, 550):
            own_clock.execute_script("window.pass(arguments[0])", pause_ms)
            finger.tap(at, 0)
            assert table.view().moment == moment


def centre(window: WebDriver, selector: str) -> tuple[float, float, str]:
    """Return where to tap a key."""
    script = """
        const { left, top, width, height }
            = document.querySelector(arguments[0]).getBoundingClientRect();
        return [left + width / 2, top + height / 2, arguments[0]];
    """
    return tuple(window.execute_script(script, selector))


def test_handing_in_twice_loses_no_order(own_clock: WebDriver) -> None:
    slots = "return [...document.querySelectorAll('.slot')].map(s => s.dataset.letter).join('')"
    with finger_at_game(own_clock, "outbuffered") as finger:
        tour, table = finger.tour, finger.tour.table
        tour.go_on()
        for pause_ms in (100, 650):
            finger.open(Stop("south", "/seat/south"), False)
            for letter in "URU":
                finger.tap(centre(own_clock, f".order[data-letter='{letter}']"), RESTED_MS)
            at = centre(own_clock, "#hand-in")
            finger.tap(at, pause_ms)
            finger.tap(at, RESTED_MS)
            assert table.view(Seat.SOUTH).own.sealed.action == "URU"  # type: ignore[union-attr]
            finger.tap(centre(own_clock, "#take-back"), RESTED_MS)
            until("they are back", lambda: own_clock.execute_script(slots) == "URU")
            finger.tap(centre(own_clock, "#clear"), RESTED_MS)


# Holds back what the page would do after many seconds, until the test does it.
_HOLD_LATE = """
const { setTimeout } = window;
window.late = [];
window.setTimeout = (act, ms) => (ms < 5000 ? setTimeout(act, ms) : void window.late.push(act));
"""


def test_a_question_is_answered_elsewhere_and_closes(own_clock: WebDriver) -> None:
    is_asked = "return !!document.querySelector('dialog[open]')"
    focus = "return document.activeElement.textContent"
    with finger_at_game(own_clock, "outbuffered") as finger:
        tour, table = finger.tour, finger.tour.table
        tour.go_on()
        finger.open(Stop("south", "/seat/south"), True)
        own_clock.execute_script(_HOLD_LATE)
        at = centre(own_clock, "[data-sure][data-post$='/resign']")
        finger.tap(at, 100)
        assert own_clock.execute_script(is_asked)
        assert own_clock.execute_script(focus) == "Keep playing"
        yes = centre(own_clock, ".sure [data-yes]")
        middle = own_clock.execute_script("return innerWidth / 2")
        assert (yes[0] < middle) is not (at[0] < middle), (yes, at, middle)
        finger.tap(yes, 0)
        assert table.view().phase is Phase.ORDERS, "it rests at first"
        assert own_clock.execute_script(is_asked)
        own_clock.execute_script("late.forEach(act => act())")
        until("it has closed", lambda: not own_clock.execute_script(is_asked))
        finger.open(Stop("south", "/seat/south"), True)
        finger.tap(at, RESTED_MS)
        finger.tap(yes, 0)
        assert table.view().phase is Phase.OVER


def test_a_finger_that_bounces_ends_one_turn(own_clock: WebDriver) -> None:
    with finger_at_game(own_clock, "binmat", way="referee") as finger:
        table = finger.tour.table
        table.resume("host")
        finger.open(Stop("screen", "/"), False)
        number, at = table.view().turn.number, centre(own_clock, ".whole")
        for _ in range(3):
            finger.tap(at, 40)
        assert table.view().turn.number == number + 1
