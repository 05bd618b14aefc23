"""Whoever taps twice does nothing that cannot be undone, and loses nothing: nothing new comes under
the finger.
"""

from __future__ import annotations

import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest
from finger_tools import PAUSES_MS, RESTED_MS, Finger, alike
from inside import app_of, database_of, journal_of, live_of, session_of, store_of
from selenium.webdriver.remote.webdriver import WebDriver
from service import Client, until
from tour import Stop, Tour, touring

from companion.core.kit import SEATS, Seat
from companion.table.session import Phase

pytestmark = pytest.mark.browser

_READY = """
return document.querySelector(':is(#hand-in, #commit).go') && document.getElementById('live')?.dataset.seat;
"""
"""The seat whose order is ready to be handed in."""
GAMES_OF_ALL_KINDS = ("outbuffered", "kahmate", "binmat")
WITHOUT_LOSS = ("/history", "/kit", "/rules", "/workbench", "/eye", "/host/first/")
"""Pages on which no key takes anything from anybody."""
_MARKS = re.compile(r'(?:id|name|value|href|data-[a-z]+)="[^"]*"')
"""What tells keys from each other in the text of a page."""


class TableFinger(Finger):
    """Taps every key of the pages of a table that it is led to."""

    def __init__(self, window: WebDriver, tour: Tour) -> None:
        super().__init__(window)
        self.tour = tour
        self._grave: set[str] = set()
        self._marks: dict[str, set[str]] = defaultdict(set)
        self.listen(app_of(tour.companion.server))

    def version(self) -> int:
        return self.tour.table.version

    def look_at(self, stop: Stop) -> None:
        """Tap what is new on a page, closed and with all its folds open."""
        kind = alike(stop.path)
        client = Client(self.tour.client.url) if stop.is_guest else self.tour.client
        page = client.send(stop.path)[1].decode()
        self._grave |= set(re.findall('data-sure="[^>]* data-post="([^"]+)"', page))
        keys_here = re.findall("<(?:button|summary|a) [^>]*>", page)
        marks = {alike(" ".join(_MARKS.findall(key))) for key in keys_here}
        if marks <= self._marks[kind]:
            return
        self._marks[kind] |= marks
        for is_open in (False, True) if "<details" in page else (False,):
            keys = self.open(self.tour, stop, is_open)
            is_fresh = True
            for number, key in enumerate(keys):
                if not self.is_new(kind, key):
                    continue
                if not is_fresh:
                    self.open(self.tour, stop, is_open)
                if at := self.place(number):
                    self._tap_again_and_again(stop, at, (is_open, keys))
                    is_fresh = self.keys(is_open) == keys

    def _is_same(self, is_open: bool, keys: list[str]) -> bool:
        """Has nothing been asked, and are there still these keys?"""
        return not self.posts and self.keys(is_open) == keys

    def _tap_again_and_again(
        self, stop: Stop, at: tuple[float, float, str], page: tuple[bool, list[str]]
    ) -> None:
        """Tap a place and see what is lost; everything is as it was afterwards.

        Where the first tap changes nothing there is one more.
        """
        table, journal = self.tour.table, database_of(journal_of(self.tour.table))
        self.posts.clear()
        live = live_of(table)
        with closing(sqlite3.connect(":memory:")) as saved:
            journal.backup(saved)
            kept, orders = self._facts(), self._orders()
            self.tap(at, PAUSES_MS[0])
            once = self._facts()
            orders &= self._orders()  # a key may take back one of them
            for pause_ms in (0,) if self._is_same(*page) else PAUSES_MS[1:]:
                self.tap(at, pause_ms)
            if stop.path == "/here":  # one tap on its keys ends a game that is only tried
                kept &= once
            if lost := {*kept, *once, *orders} - {*self._facts(), *self._orders()}:
                self.lost.append(f"{stop.name}, {at[2]}: {lost} by {self.posts}")
            if table.version != live.version:
                version = self.version()
                saved.backup(journal)
                store_of(table).publish(live)
                self.wait(version, RESTED_MS)

    def _facts(self) -> set[str]:
        """What must not get lost: who sits, a game, and what pages ask first or the camera says."""
        view = self.tour.table.view()
        facts = {f"{sits.name} sits" for sits in view.seats.values() if sits.name is not None}
        if view.phase not in (Phase.LOBBY, Phase.OVER):
            facts.add(f"game {session_of(self.tour.table).number}")
        if not any('"force":true' in asked for asked in self.posts):
            facts.add("what the camera sees")
        if self._grave.isdisjoint(asked.split(" ")[0] for asked in self.posts):
            facts.add("what pages ask about first")
        return facts

    def _orders(self) -> set[str]:
        """Whose orders are sealed, or ready to be handed in."""
        seats = self.tour.table.view().seats
        ready = self.window.execute_script(_READY)
        return {f"the order of {seat}" for seat in SEATS if seats[seat].receipt or seat == ready}


@pytest.mark.slow
def test_no_key_takes_anything_away_when_tapped_twice(own_clock: WebDriver) -> None:
    """In games of orders, of pieces and of cards, and on their owner's pages: all keys rest by one
    script, which `test_tour` finds on every page.
    """
    with touring() as tour:
        finger = TableFinger(own_clock, tour)
        for stop in tour.stops(GAMES_OF_ALL_KINDS, machines=("outbuffered",)):
            if not stop.path.startswith(WITHOUT_LOSS):
                finger.look_at(stop)
        assert finger.lost == []


def test_nor_does_a_key_of_one_phone_for_both(own_clock: WebDriver) -> None:
    with touring() as tour:
        finger, phases = TableFinger(own_clock, tour), set[Phase]()
        form = {"Accept": "text/html"}
        assert tour.client.send("/pass", b"south=Mara&north=Jonas", form)[0] == 200
        finger.look_at(Stop("pass-lobby", "/pass"))
        tour.table.new_game("outbuffered", {}, 7)
        while not phases >= {Phase.SETUP, Phase.ORDERS, Phase.STAGES}:
            phase = tour.table.view().phase
            if phase not in phases:
                phases.add(phase)
                finger.look_at(Stop(f"pass-{phase}", "/pass"))
            tour.go_on()
        assert finger.lost == []


@contextmanager
def at_table(window: WebDriver, game: str, **options: str) -> Iterator[TableFinger]:
    """Both sit, and a game has begun."""
    with touring() as tour:
        finger = TableFinger(window, tour)
        for seat in SEATS:
            tour.client.post(f"/api/seat/{seat}/take", name=str(seat))
        tour.table.new_game(game, options, 7)
        yield finger


def test_a_turn_is_ended_once_where_the_other_answers_at_once(own_clock: WebDriver) -> None:
    """The key that ends it is back, with the same words, before the finger is."""
    with at_table(own_clock, "kahmate", starter="south") as finger:
        tour, table = finger.tour, finger.tour.table
        while table.view().turn.number == 0 or table.view().phase is not Phase.ORDERS:
            tour.go_on()
        finger.open(tour, Stop("south", "/seat/south"), False)
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
    """Where to tap a key."""
    script = """
        const { left, top, width, height } = document.querySelector(arguments[0]).getBoundingClientRect();
        return [left + width / 2, top + height / 2, arguments[0]];
    """
    return tuple(window.execute_script(script, selector))


def test_handing_in_twice_loses_no_order(own_clock: WebDriver) -> None:
    slots = "return [...document.querySelectorAll('.slot')].map(s => s.dataset.letter).join('')"
    with at_table(own_clock, "outbuffered") as finger:
        tour, table = finger.tour, finger.tour.table
        tour.go_on()
        for pause_ms in (100, 650):
            finger.open(tour, Stop("south", "/seat/south"), False)
            for letter in "URU":
                finger.tap(centre(own_clock, f".order[data-letter='{letter}']"), RESTED_MS)
            at = centre(own_clock, "#hand-in")
            finger.tap(at, pause_ms)
            finger.tap(at, RESTED_MS)
            assert table.view(Seat.SOUTH).own.sealed.action == "URU"  # type: ignore[union-attr]
            finger.tap(centre(own_clock, "#take-back"), RESTED_MS)
            until("they are back", lambda: own_clock.execute_script(slots) == "URU")
            finger.tap(centre(own_clock, "#clear"), RESTED_MS)


def test_a_question_is_answered_elsewhere_and_closes(own_clock: WebDriver) -> None:
    is_asked = "return !!document.querySelector('dialog[open]')"
    focus = "return document.activeElement.textContent"
    with at_table(own_clock, "outbuffered") as finger:
        tour, table = finger.tour, finger.tour.table
        tour.go_on()
        finger.open(tour, Stop("south", "/seat/south"), True)
        at = centre(own_clock, "[data-sure][data-post$='/resign']")
        finger.tap(at, 100)
        assert own_clock.execute_script(is_asked)
        assert own_clock.execute_script(focus) == "Keep playing"
        yes = centre(own_clock, ".sure [data-yes]")
        middle = own_clock.execute_script("return innerWidth / 2")
        assert (yes[0] < middle) is not (at[0] < middle), (yes, at, middle)
        finger.tap(yes, 0)
        assert table.view().phase is Phase.ORDERS, "it rests at first"
        until("it has closed", lambda: not own_clock.execute_script(is_asked))
        finger.open(tour, Stop("south", "/seat/south"), True)
        finger.tap(at, RESTED_MS)
        finger.tap(yes, 0)
        assert table.view().phase is Phase.OVER


def test_a_finger_that_bounces_ends_one_turn(own_clock: WebDriver) -> None:
    with at_table(own_clock, "binmat", way="referee") as finger:
        tour, table = finger.tour, finger.tour.table
        table.resume("host")
        finger.open(tour, Stop("screen", "/"), False)
        number, at = table.view().turn.number, centre(own_clock, ".whole")
        for _ in range(3):
            finger.tap(at, 40)
        assert table.view().turn.number == number + 1
