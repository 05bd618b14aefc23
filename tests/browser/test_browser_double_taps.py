"""Test in a browser that a second or third tap on the same place takes nothing away.

A key that comes under the finger rests, that is, it takes no taps for a moment. The pages run on a
clock of their own (`own_clock`), which stands until a test moves it: a tap and a pause in ms is
`finger.tap(place, pause_ms)`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from finger_tools import RESTED_MS, Finger, Place
from selenium.webdriver.remote.webdriver import WebDriver
from service import until
from tour import Stop, open_table_tour

from companion.core.kit import SEATS, Seat
from companion.table.session import Phase

pytestmark = pytest.mark.browser

# A game of orders, one of pieces and one of cards.
GAMES_OF_ALL_KINDS = ("outbuffered", "kahmate", "binmat")
# Endings of the names of stops at which something can be lost, each kind once: before, in and after
# a game, and on the owner's pages.
STOP_ENDINGS = (
    "lobby-screen", "join-seat", "lobby-seat", "chosen-screen", "settings",
    "outbuffered-lesson-south", "-sealed-south", "-stages-screen",
    "-stages-south", "outbuffered-host", "-over-screen", "outbuffered-over-south",
    "-here", "binmat-orders-dealt-south", "binmat-orders-screen",
)  # fmt: skip
# Some addresses to which the keys of these pages post, to show that taps reach them.
POSTED_ADDRESSES = {
    "/api/table/choose",
    "/join/south",
    "/api/seat/south/take-back",
    "/api/seat/south/hand-in",
    "/api/host/new-game",
    "/try/end",
}


@pytest.mark.slow
def test_no_key_tapped_twice_takes_anything_away(own_clock: WebDriver) -> None:
    """Tap every kind of key in games of orders, pieces and cards, and on the owner's pages.

    Other pages need no taps: one script makes all keys rest, and `test_tour` finds it on each page.
    """
    with open_table_tour() as tour:
        finger = Finger(own_clock, tour)
        for stop in tour.stops(GAMES_OF_ALL_KINDS, machines=("outbuffered",)):
            if stop.name.endswith(STOP_ENDINGS):
                finger.tap_new_keys(stop)
        assert finger.losses == []
        assert finger.addresses >= POSTED_ADDRESSES, "some taps have missed their keys"


@contextmanager
def finger_at_game(window: WebDriver, game: str, **options: str) -> Iterator[Finger]:
    """Seat both players and begin a game, with its set-up. Yield a finger at its pages."""
    with open_table_tour() as tour:
        finger = Finger(window, tour)
        for seat in SEATS:
            tour.client.post(f"/api/seat/{seat}/take", name=str(seat))
        tour.table.new_game(game, options, seed=7)
        yield finger


def test_end_turn_rests_after_a_quick_answer(own_clock: WebDriver) -> None:
    """Let North answer before South's finger taps again.

    The key "End turn" is then back at the same place with the same words, but for another turn.
    """
    with finger_at_game(own_clock, "kahmate", starter="south") as finger:
        tour = finger.tour
        table = finger.tour.table
        # Go on until South may end its first turn.
        while table.view().turn.number == 0 or table.view().phase is not Phase.ORDERS:
            tour.go_on()
        finger.open(Stop("south", "/seat/south"))
        is_ready = "return document.querySelector('#commit')?.textContent === 'End turn'"
        until("“End turn”", lambda: own_clock.execute_script(is_ready))

        # South ends its turn, and North ends its own at once (`.`).
        place = centre(own_clock, "#commit")
        finger.tap(place, 0)
        table.hand_in(Seat.NORTH, table.view().moment, ".")
        moment = table.view().moment
        until("“End turn” again", lambda: own_clock.execute_script(is_ready))

        # South's second and third tap, 100 and 650 ms after the first one, must not end its new
        # turn.
        for pause_ms in (100, 550):
            own_clock.execute_script("window.passTime(arguments[0])", pause_ms)
            finger.tap(place, 0)
            assert table.view().moment == moment


def centre(window: WebDriver, selector: str) -> Place:
    """Return the place in the centre of a key, with its selector as its words."""
    script = """
        const { left, top, width, height }
            = document.querySelector(arguments[0]).getBoundingClientRect();
        return [left + width / 2, top + height / 2, arguments[0]];
    """
    return Place(*window.execute_script(script, selector))


def test_handing_in_twice_loses_no_order(own_clock: WebDriver) -> None:
    """Tap "Hand in" again after 100 or 650 ms. The orders must stay sealed.

    At its place is then the key "Take back", which must rest.
    """
    slots = "return [...document.querySelectorAll('.slot')].map(s => s.dataset.letter).join('')"
    with finger_at_game(own_clock, "outbuffered") as finger:
        tour = finger.tour
        table = finger.tour.table
        tour.go_on()
        for pause_ms in (100, 650):
            finger.open(Stop("south", "/seat/south"))
            for letter in "URU":
                finger.tap(centre(own_clock, f".order[data-letter='{letter}']"), RESTED_MS)
            place = centre(own_clock, "#hand-in")
            finger.tap(place, pause_ms)
            finger.tap(place, RESTED_MS)
            assert table.view(Seat.SOUTH).own.sealed.action == "URU"  # type: ignore[union-attr]
            # take the orders back and remove them for the next pause
            finger.tap(centre(own_clock, "#take-back"), RESTED_MS)
            until("the orders in their slots", lambda: own_clock.execute_script(slots) == "URU")
            finger.tap(centre(own_clock, "#clear"), RESTED_MS)


# Holds back timers of 5 s and more, until the test runs them.
_HOLD_LONG_TIMERS = """
const { setTimeout } = window;
window.longTimers = [];
window.setTimeout = (act, ms) => (
  ms < 5000 ? setTimeout(act, ms) : void window.longTimers.push(act)
);
"""


def test_a_confirmation_rests_and_closes_by_itself(own_clock: WebDriver) -> None:
    """Tap "Resign", which needs a confirmation. A second tap must not give it by accident.

    Its key "yes" is on the other half of the page than the key "Resign", and takes no taps at
    first.
    """
    is_dialog_open = "return !!document.querySelector('dialog[open]')"
    focus = "return document.activeElement.textContent"
    with finger_at_game(own_clock, "outbuffered") as finger:
        tour = finger.tour
        table = finger.tour.table
        tour.go_on()
        finger.open(Stop("south", "/seat/south"), with_folds=True)
        own_clock.execute_script(_HOLD_LONG_TIMERS)

        # A tap on “Resign” opens the question. Enter would answer it with “Keep playing”.
        resign = centre(own_clock, "[data-sure][data-post$='/resign']")
        finger.tap(resign, 100)
        assert own_clock.execute_script(is_dialog_open)
        assert own_clock.execute_script(focus) == "Keep playing"
        yes = centre(own_clock, ".sure [data-yes]")
        middle = own_clock.execute_script("return innerWidth / 2")
        assert (yes.x_px < middle) is not (resign.x_px < middle), (yes, resign, middle)

        # A tap on “yes” 100 ms later does nothing.
        finger.tap(yes, 0)
        assert table.view().phase is Phase.ORDERS, "the key “yes” does not rest"
        assert own_clock.execute_script(is_dialog_open)

        # If nobody answers for long, the question closes by itself.
        own_clock.execute_script("longTimers.forEach(act => act())")
        until("the end of the question", lambda: not own_clock.execute_script(is_dialog_open))

        # Once “yes” has rested, it ends the game.
        finger.open(Stop("south", "/seat/south"), with_folds=True)
        finger.tap(resign, RESTED_MS)
        finger.tap(yes, 0)
        assert table.view().phase is Phase.OVER


def test_a_bouncing_finger_ends_one_turn(own_clock: WebDriver) -> None:
    """Tap BINMAT's table screen three times within 80 ms, which must end one turn only."""
    with finger_at_game(own_clock, "binmat", way="referee") as finger:
        table = finger.tour.table
        table.resume("host")
        finger.open(Stop("screen", "/"))
        number = table.view().turn.number
        place = centre(own_clock, ".whole")
        for _ in range(3):
            finger.tap(place, 40)
        assert table.view().turn.number == number + 1
