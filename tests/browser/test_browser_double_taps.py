"""Whoever taps twice does nothing that cannot be undone, and loses nothing: nothing new comes under the finger."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from flask import request
from flask.testing import FlaskClient
from inside import app_of, database_of, journal_of, live_of, session_of, store_of
from selenium.webdriver.remote.webdriver import WebDriver
from service import PHONE, Client, browser, says, until
from tour import SIZES, Stop, Tour, cdp, dress, touring, visit
from web_fixtures import HOST_KEY, Place, open_place

from companion.core.kit import SEATS, Seat
from companion.games import GAMES
from companion.table.session import Phase
from web.server.server import serve

pytestmark = pytest.mark.browser

_KEYS = """
if (arguments[0]) document.querySelector('#menu').setAttribute('open', '');
return [...document.querySelectorAll('button.key:not(.off, :disabled)')].map(key => {
  const { left, right, top, bottom } = key.getBoundingClientRect();
  const [x, y] = [(left + right) / 2, (top + bottom) / 2];
  return key.contains(document.elementFromPoint(x, y)) ? [x, y, key.textContent.trim()] : null;
}).filter(Boolean);
"""
_PAUSE = "setTimeout(arguments[1], arguments[0])"
GAPS_MS = (100, 300, 650, 1000)
PATIENCE_MS = 500
REST_MS = 750


@pytest.fixture(scope="module")
def window() -> Iterator[WebDriver]:
    with browser(PHONE) as opened:
        cdp(opened, "Network.enable")
        yield opened


@pytest.fixture(scope="module")
def own_clock() -> Iterator[WebDriver]:
    with browser(PHONE) as opened:
        cdp(opened, "Network.enable")
        cdp(opened, "Page.addScriptToEvaluateOnNewDocument", source=_OWN_CLOCK)
        yield opened


@contextmanager
def seated(folder: Path, window: WebDriver) -> Iterator[tuple[Place, str]]:
    """A table with both seats taken; the window's browser is South's and the host's."""
    with open_place(folder) as place, serve(place.app, "127.0.0.1", 0) as server:
        server.start()
        url = f"http://127.0.0.1:{server.port}"
        cdp(window, "Network.clearBrowserCookies")
        guest = place.sit("south", "Mara")
        guest.post("/host", data={"key": HOST_KEY})
        give_cookies(window, guest, url)
        place.sit("north", "Jonas")
        yield place, url
        window.get("about:blank")


def give_cookies(window: WebDriver, guest: FlaskClient, url: str) -> None:
    for cookie in guest._cookies.values():
        cdp(window, "Network.setCookie", name=cookie.key, value=cookie.value, url=url)


def tap(window: WebDriver, at: tuple[float, float]) -> None:
    cdp(
        window,
        "Input.dispatchTouchEvent",
        type="touchStart",
        touchPoints=[{"x": at[0], "y": at[1]}],
    )
    cdp(window, "Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])


def tap_twice(window: WebDriver, at: tuple[float, float], gap_ms: int) -> None:
    tap(window, at)
    window.execute_async_script(_PAUSE, gap_ms)
    tap(window, at)
    window.execute_async_script(_PAUSE, PATIENCE_MS)


def is_whole(place: Place) -> bool:
    """Is a game on, with everybody in his place?"""
    view = place.table.view()
    return view.phase not in (Phase.LOBBY, Phase.OVER) and all(
        view.seats[seat].name for seat in SEATS
    )


_OWN_CLOCK = """
(() => {
  const { performance, fetch } = window, start = performance.now();
  let ahead = 0;
  Object.assign(window, { asked: 0, shows: 0, pass: ms => { ahead += ms; } });
  performance.now = () => start + ahead;
  window.fetch = (...all) => {
    window.asked += 1;
    return fetch(...all).finally(() => { window.asked -= 1; });
  };
  document.addEventListener('shown', () => { window.shows += 1; });
  navigation.addEventListener('navigate', ({ destination, downloadRequest }) => {
    window.leaves ||= !destination.sameDocument && downloadRequest === null;
  });
  addEventListener('submit', event => { window.leaves ||= !event.defaultPrevented; });
})();
"""
"""The page's clock stands still until the test lets it go on. What the page asks for and is shown is counted."""
_FIND = """
if (arguments[0]) for (const each of document.querySelectorAll('details')) each.open = true;
window.keys = [...document.querySelectorAll('button, summary, a.key, a.sign, a.code, .board[tabindex] [data-at]')].filter(key =>
  key.checkVisibility({ visibilityProperty: true }) && !key.matches(':disabled, [download], [data-wait], [data-wait] *, [href$=".pdf"]'));
return keys.map(({ tagName, id, name, value, className, dataset, attributes, textContent }) => [
  tagName, id, name, value, dataset.post, dataset.body, dataset.arm, dataset.sure, attributes.href?.value,
  id || dataset.post || dataset.at || /order|slot|card|ln|unit/.test(className) ? className.baseVal : textContent.trim(),
].map(each => String(each ?? '').replace(/north|south|\\d+/g, '')).join('|'));
"""
"""What there is to be tapped, by what it does."""
_WHERE = """
const key = keys[arguments[0]], box = () => key.getBoundingClientRect();
if (box().top < 0 || box().bottom > innerHeight) key.scrollIntoView({ block: 'center' });
const { left, right, top, bottom } = box(), [x, y] = [(left + right) / 2, (top + bottom) / 2];
return key.contains(document.elementFromPoint(x, y)) ? [x, y, key.textContent.trim().replace(/\\s+/g, ' ')] : null;
"""
_READY = """
return document.querySelector(':is(#hand-in, #commit).go') && document.getElementById('live')?.dataset.seat;
"""
"""The seat whose order is ready to be handed in."""
_STANDS = """
const [hasNews, pauseMs] = arguments, { before, asked, leaves, shows } = window, { live } = document.body.dataset;
const seen = hasNews && /table|seat|watch|host$|pass/.test(live) ? before ?? 0 : before === undefined ? 0 : -1;
if (asked || leaves || document.readyState !== 'complete' || live && shows <= seen) return false;
if (pauseMs !== null) window.pass(pauseMs);
if (pauseMs !== null) window.before = shows;
return true;
"""
"""Has the page all answers, and shows what came of them? Then some time goes by."""
RESTED_MS = 5000
PAUSES_MS = (100, 300, 400, 0)
"""Times between the taps: they come 100, 400 and 800 ms after the first one."""
LOOK_S = 0.005
"""Time between two looks at a page that has not answered yet."""
PARTS = re.compile("|".join(("south", "north", r"\d+", *GAMES)))
"""What a page says otherwise in another game, or for another seat."""


class Fingers:
    """Taps every key of the pages that it is led to, and notes what is lost."""

    def __init__(self, window: WebDriver, tour: Tour) -> None:
        self.window, self.tour = window, tour
        self.lost: list[str] = []
        self._known: set[tuple[str, ...]] = set()
        self._asked: list[str] = []
        self._grave: set[str] = set()
        self._size = (0, 0)
        app_of(tour.companion.server).before_request(self._hear)

    def _hear(self) -> None:
        if request.method == "POST":
            self._asked.append(f"{request.path} {request.get_data(as_text=True)}")

    def look_at(self, stop: Stop) -> None:
        """Tap what is new on a page, closed and with all its folds open."""
        kind = f"{PARTS.sub('', stop.path)} {self.tour.table.view().phase}"
        client = Client(self.tour.client.url) if stop.is_guest else self.tour.client
        page = client.send(stop.path)[1].decode()
        look = PARTS.sub("", "".join(re.findall("<(?:button|summary|a) [^>]*>", page)))
        self._grave |= set(re.findall('data-sure="[^>]* data-post="([^"]+)"', page))
        if (kind, look) in self._known:
            return
        self._known.add((kind, look))
        for is_open in (False, True) if "<details" in page else (False,):
            keys = self.open(stop, is_open)
            is_fresh = True
            for number, key in enumerate(keys):
                # what a key of a seat does depends on all that is there, and the language keys are everywhere
                place = look if "/api/seat" in key and not is_open else kind
                place = "" if key.startswith("BUTTON||code") else place
                if (place, key) in self._known:
                    continue
                self._known.add((place, key))
                if not is_fresh:
                    self.open(stop, is_open)
                if at := self.window.execute_script(_WHERE, number):
                    self._tap_again_and_again(stop, at, (is_open, keys))
                    is_fresh = self._is_same(is_open, keys)

    def _is_same(self, is_open: bool, keys: list[str]) -> bool:
        """Has nothing been asked, and are there still these keys?"""
        return not self._asked and self.window.execute_script(_FIND, is_open) == keys

    def open(self, stop: Stop, is_open: bool = False) -> list[str]:
        """Open a page; the keys that it has."""
        is_large = stop.path in ("/", "/here") or stop.path.startswith("/host")
        size = SIZES["laptop" if is_large else "phone"]
        if size != self._size:
            dress(self.window, size, "light")
            self._size = size
        # a switch that was tapped three times is not as it was
        stored = {"origin": self.tour.client.url, "storageTypes": "local_storage"}
        cdp(self.window, "Storage.clearDataForOrigin", **stored)
        visit(self.window, self.tour, stop)
        self._wait(self.tour.table.version, RESTED_MS)
        return list(self.window.execute_script(_FIND, is_open))

    def _wait(self, version: int, pause_ms: int) -> None:
        script, table = self.window.execute_script, self.tour.table
        until(
            "all answers",
            lambda: (
                script(_STANDS, False, None) and script(_STANDS, table.version != version, pause_ms)
            ),
            pause_s=LOOK_S,
        )

    def _tap_again_and_again(
        self, stop: Stop, at: tuple[float, float, str], page: tuple[bool, list[str]]
    ) -> None:
        """Tap a place and see what is lost; everything is as it was afterwards.

        Where the first tap changes nothing there is one more.
        """
        table, journal = self.tour.table, database_of(journal_of(self.tour.table))
        self._asked.clear()
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
                self.lost.append(f"{stop.name}, {at[2]}: {lost} by {self._asked}")
            if table.version != live.version:
                saved.backup(journal)
                store_of(table).publish(live)

    def tap(self, at: Sequence[Any], pause_ms: int) -> None:
        """Tap a place, and let some time go by once all is shown that came of it."""
        version = self.tour.table.version
        for kind in ("mousePressed", "mouseReleased"):
            where = {"x": at[0], "y": at[1], "button": "left", "clickCount": 1}
            cdp(self.window, "Input.dispatchMouseEvent", type=kind, **where)
        self._wait(version, pause_ms)

    def _facts(self) -> set[str]:
        """What must not get lost: who sits, a game, and what pages ask first or the camera says."""
        view = self.tour.table.view()
        facts = {f"{sits.name} sits" for sits in view.seats.values() if sits.name is not None}
        if view.phase not in (Phase.LOBBY, Phase.OVER):
            facts.add(f"game {session_of(self.tour.table).number}")
        if not any('"force":true' in asked for asked in self._asked):
            facts.add("what the camera sees")
        if self._grave.isdisjoint(asked.split(" ")[0] for asked in self._asked):
            facts.add("what pages ask about first")
        return facts

    def _orders(self) -> set[str]:
        """Whose orders are sealed, or ready to be handed in."""
        seats = self.tour.table.view().seats
        ready = self.window.execute_script(_READY)
        return {f"the order of {seat}" for seat in SEATS if seats[seat].receipt or seat == ready}


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_no_key_of_any_page_takes_anything_away_when_it_is_tapped_twice(
    own_clock: WebDriver,
) -> None:
    with touring() as tour:
        fingers = Fingers(own_clock, tour)
        for stop in tour.stops(machines=("scouts",)):
            fingers.look_at(stop)
        assert fingers.lost == []


def test_nor_does_a_key_of_one_phone_for_both_seats(own_clock: WebDriver) -> None:
    with touring() as tour:
        fingers, phases = Fingers(own_clock, tour), set[Phase]()
        form = {"Accept": "text/html"}
        assert tour.client.send("/pass", b"south=Mara&north=Jonas", form)[0] == 200
        fingers.look_at(Stop("pass-lobby", "/pass"))
        tour.table.new_game("outbuffered", {}, 7)
        while not phases >= {Phase.SETUP, Phase.ORDERS, Phase.STAGES}:
            phase = tour.table.view().phase
            if phase not in phases:
                phases.add(phase)
                fingers.look_at(Stop(f"pass-{phase}", "/pass"))
            tour.go_on()
        assert fingers.lost == []


@pytest.mark.parametrize("pause_ms", [100, 650])
def test_a_turn_is_ended_once_where_the_other_answers_at_once(
    own_clock: WebDriver, pause_ms: int
) -> None:
    """The key that ends it is back, with the same words, before the finger is."""
    with touring() as tour:
        fingers, table = Fingers(own_clock, tour), tour.table
        for seat in SEATS:
            tour.client.post(f"/api/seat/{seat}/take", name=str(seat))
        table.new_game("kahmate", {"starter": "south"}, 7)
        while table.view().turn.number == 0 or table.view().phase is not Phase.ORDERS:
            tour.go_on()
        fingers.open(Stop("south", "/seat/south"))
        is_ready = "return document.querySelector('#commit')?.textContent === 'End turn'"
        until("the key", lambda: own_clock.execute_script(is_ready))
        at = own_clock.execute_script(_CENTRE, "#commit")
        fingers.tap(at, 0)
        table.hand_in(Seat.NORTH, table.view().moment, ".")
        moment = table.view().moment
        until("the same key", lambda: own_clock.execute_script(is_ready))
        own_clock.execute_script("window.pass(arguments[0])", pause_ms)
        fingers.tap(at, 0)
        assert table.view().moment == moment


_CENTRE = """
const { left, top, width, height } = document.querySelector(arguments[0]).getBoundingClientRect();
return [left + width / 2, top + height / 2];
"""


def slots(window: WebDriver) -> str:
    return str(
        window.execute_script(
            "return [...document.querySelectorAll('.slot')].map(s => s.dataset.letter).join('')"
        )
    )


@pytest.mark.parametrize("gap_ms", GAPS_MS)
def test_handing_in_twice_loses_no_order(tmp_path: Path, window: WebDriver, gap_ms: int) -> None:
    with seated(tmp_path, window) as (place, url):
        place.to_orders()
        window.get(f"{url}/seat/south")
        says(window, "orders to go")
        for letter in "URU":
            tap(window, window.execute_script(_CENTRE, f".order[data-letter='{letter}']"))
        until("three orders", lambda: slots(window) == "URU")
        tap_twice(window, window.execute_script(_CENTRE, "#hand-in"), gap_ms)
        assert place.table.view(Seat.SOUTH).own.sealed.action == "URU"  # type: ignore[union-attr]
        until(
            "the way back",
            lambda: window.execute_script("return !!document.querySelector('#take-back')"),
        )
        window.execute_async_script(_PAUSE, REST_MS)
        tap(window, window.execute_script(_CENTRE, "#take-back"))
        until("they are back", lambda: slots(window) == "URU")


def test_a_question_is_answered_on_the_other_side_and_closes_by_itself(
    tmp_path: Path, window: WebDriver
) -> None:
    with seated(tmp_path, window) as (place, url):
        place.to_orders()
        window.get(f"{url}/seat/south")
        says(window, "orders to go")
        keys = window.execute_script(_KEYS, True)
        window.execute_async_script(_PAUSE, REST_MS)
        at = next((x, y) for x, y, words in keys if words == "Resign")
        tap(window, at)
        until(
            "the question",
            lambda: window.execute_script("return !!document.querySelector('dialog[open]')"),
        )
        assert window.execute_script("return document.activeElement.textContent") == "Keep playing"
        yes = window.execute_script(_CENTRE, ".sure [data-yes]")
        middle = window.execute_script("return innerWidth / 2")
        assert (yes[0] < middle) is not (at[0] < middle), (yes, at, middle)
        tap(window, yes)
        window.execute_async_script(_PAUSE, PATIENCE_MS)
        assert is_whole(place), "it rests at first"
        until(
            "it has closed",
            lambda: not window.execute_script("return !!document.querySelector('dialog[open]')"),
        )
        window.execute_script(_KEYS, True)
        window.execute_async_script(_PAUSE, REST_MS)
        tap(window, at)
        window.execute_async_script(_PAUSE, REST_MS)
        tap(window, yes)
        until("South has resigned", lambda: place.table.view().phase is Phase.OVER)


def test_a_second_tab_has_the_same_slots(tmp_path: Path, window: WebDriver) -> None:
    with seated(tmp_path, window) as (place, url):
        place.to_orders()
        window.get(f"{url}/seat/south")
        says(window, "orders to go")
        for letter in "UR":
            tap(window, window.execute_script(_CENTRE, f".order[data-letter='{letter}']"))
        until("two orders", lambda: slots(window) == "UR")
        first = window.current_window_handle
        window.switch_to.new_window("tab")
        try:
            window.get(f"{url}/seat/south")
            until("the same two", lambda: slots(window) == "UR")
        finally:
            window.close()
            window.switch_to.window(first)
