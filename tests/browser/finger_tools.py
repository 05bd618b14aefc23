"""A hasty finger: it taps what a page has to be tapped, 100 and 800 ms after the first time, on a
clock of the page's own.
"""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing

from flask import request
from internals import app_of, database_of, journal_of, live_of, session_of, store_of
from selenium.webdriver.remote.webdriver import WebDriver
from service import until
from tour import SIZES, Stop, TableTour, cdp, set_size_and_theme, visit

from companion.core.kit import SEATS
from companion.games import GAMES
from companion.table.session import Phase

# Stops the page's clock until the test moves it, and counts what the page asks for and is shown.
OWN_CLOCK = """
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
# Lists what can be tapped, by what it does.
_FIND = """
if (arguments[0]) for (const fold of document.querySelectorAll('details')) fold.open = true;
window.keys = [...document.querySelectorAll(
  'button, summary, a.key, a.sign, a.code, .board[tabindex] [data-at]'
)].filter(key => key.checkVisibility({ visibilityProperty: true }) && !key.matches(`
  :disabled, [name=code], [download], [data-wait], [data-wait] *,
  [href$=".pdf"], [href*=".csv"], [href*=".json"]
`));
return keys.map(({ tagName, id, name, value, className, dataset, attributes, textContent }) => [
  tagName, id, name, value,
  dataset.post, dataset.body, dataset.arm, dataset.sure && 'sure', attributes.href?.value,
  id || dataset.post || dataset.at || /order|slot|card|ln|unit/.test(className)
    ? className.baseVal : textContent.trim(),
].map(value => String(value ?? '')).join('|'));
"""
_HAS_FOLDS = "return Boolean(document.querySelector('details'))"
# Lists the addresses of keys that ask before they act.
_ASKS_FIRST = "return [...document.querySelectorAll('[data-sure]')].map(key => key.dataset.post)"
# Returns the seat whose order is ready to be handed in.
_READY = """
return document.querySelector(':is(#hand-in, #commit).go')
  && document.getElementById('live')?.dataset.seat;
"""
_WHERE = """
const key = keys[arguments[0]], box = () => key.getBoundingClientRect();
if (box().top < 0 || box().bottom > innerHeight) key.scrollIntoView({ block: 'center' });
const { left, right, top, bottom } = box(), [x, y] = [(left + right) / 2, (top + bottom) / 2];
return key.contains(document.elementFromPoint(x, y))
  ? [x, y, key.textContent.trim().replace(/\\s+/g, ' ')] : null;
"""
# Returns whether the page has all answers and shows what came of them. Then some time goes by.
_STANDS = """
const [hasNews, pauseMs] = arguments,
  { before, asked, leaves, shows } = window, { live } = document.body.dataset;
const shownBefore = hasNews && /table|seat|watch|host$|pass/.test(live)
  ? before ?? 0 : before === undefined ? 0 : -1;
if (asked || leaves || document.readyState !== 'complete' || live && shows <= shownBefore)
  return false;
if (pauseMs !== null) window.pass(pauseMs);
if (pauseMs !== null) window.before = shows;
return true;
"""
RESTED_MS = 5000
# Pauses between taps: they come 100 and 800 ms after the first one.
PAUSES_MS = (100, 700, 0)
# Pause between two looks at a page that has not answered yet.
LOOK_S = 0.02
# Words that differ between games, seats and choices on otherwise equal pages.
_PARTS = re.compile("|".join(("south", "north", "true|false", r"\b[0-9a-f]{12}\b", r"\d+", *GAMES)))


def alike(text: str) -> str:
    """Return what a page or a key is, without the words that differ by game, seat and choice."""
    return _PARTS.sub("", text)


class Finger:
    """Taps the keys of a table's pages, as often as a hasty person does, and notes what is lost."""

    def __init__(self, window: WebDriver, tour: TableTour) -> None:
        self.window = window
        self.tour = tour
        self.lost: list[str] = []
        self.addresses: set[str] = set()
        """To which its taps have posted something."""
        self._posts: list[str] = []
        self._grave: set[str] = set()
        self._past_keys: set[tuple[str, str]] = set()
        self._size = (0, 0)
        app_of(tour.companion.server).before_request(self._note)

    def _note(self) -> None:
        """Note what is posted."""
        if request.method == "POST":
            self.addresses.add(request.path)
            self._posts.append(f"{request.path} {request.get_data(as_text=True)}")

    def look_at(self, stop: Stop) -> None:
        """Tap what is new on a page, closed and with all its folds open."""
        is_fresh = False
        for is_open in (False, True):
            keys = self._rested_keys(is_open) if is_fresh else self.open(stop, is_open)
            is_fresh = True
            has_folds = self.window.execute_script(_HAS_FOLDS)
            self._grave.update(self.window.execute_script(_ASKS_FIRST))
            for number, key in enumerate(keys):
                name = (alike(stop.path), alike(key))
                if name in self._past_keys:
                    continue
                self._past_keys.add(name)
                if not is_fresh:
                    self.open(stop, is_open)
                if at := tuple(self.window.execute_script(_WHERE, number) or ()):
                    self._tap_again_and_again(stop, at, is_open, keys)
                    is_fresh = self._keys(is_open) == keys
            if not has_folds:
                break

    def _tap_again_and_again(
        self, stop: Stop, at: tuple[float, float, str], is_open: bool, keys: list[str]
    ) -> None:
        """Tap a place and see what is lost; everything is as it was afterwards.

        Where the first tap changes nothing there is one more.
        """
        table, journal = self.tour.table, database_of(journal_of(self.tour.table))
        self._posts.clear()
        live = live_of(table)
        with closing(sqlite3.connect(":memory:")) as saved:
            journal.backup(saved)
            facts, orders = self._facts(), self._orders()
            self.tap(at, PAUSES_MS[0])
            once = self._facts()
            orders &= self._orders()  # a key may take back one of them
            is_same = not self._posts and self._keys(is_open) == keys
            for pause_ms in (0,) if is_same else PAUSES_MS[1:]:
                self.tap(at, pause_ms)
            if stop.path == "/here":  # one tap on its keys ends a game that is only tried
                facts &= once
            if lost := {*facts, *once, *orders} - {*self._facts(), *self._orders()}:
                self.lost.append(f"{stop.name}, {at[2]}: {lost} by {self._posts}")
            if table.version != live.version:
                version = table.version
                saved.backup(journal)
                store_of(table).publish(live)
                self._wait(version, RESTED_MS)

    def _facts(self) -> set[str]:
        """Return what must not get lost: who sits, a game, and what pages ask first or the camera
        says.
        """
        view = self.tour.table.view()
        facts = {f"{sits.name} sits" for sits in view.seats.values() if sits.name is not None}
        if view.phase not in (Phase.LOBBY, Phase.OVER):
            facts.add(f"game {session_of(self.tour.table).number}")
        if not any('"force":true' in asked for asked in self._posts):
            facts.add("what the camera sees")
        if self._grave.isdisjoint(asked.split(" ")[0] for asked in self._posts):
            facts.add("what pages ask about first")
        return facts

    def _orders(self) -> set[str]:
        """Return whose orders are sealed, or ready to be handed in."""
        seats = self.tour.table.view().seats
        ready = self.window.execute_script(_READY)
        return {f"the order of {seat}" for seat in SEATS if seats[seat].receipt or seat == ready}

    def open(self, stop: Stop, is_open: bool) -> list[str]:
        """Open a page; the keys that it has, where wanted also those in its folds."""
        is_large = stop.path in ("/", "/here") or stop.path.startswith("/host")
        size = SIZES["laptop" if is_large else "phone"]
        if size != self._size:
            set_size_and_theme(self.window, size, "light")
            self._size = size
        # a switch that was tapped three times is not as it was
        stored = {"origin": self.tour.client.url, "storageTypes": "local_storage"}
        cdp(self.window, "Storage.clearDataForOrigin", **stored)
        visit(self.window, self.tour, stop)
        self._wait(self.tour.table.version, RESTED_MS)
        return self._rested_keys(is_open)

    def _rested_keys(self, is_open: bool) -> list[str]:
        """Return the keys of the open page once they all take taps."""
        keys = self._keys(is_open)
        self.window.execute_script("window.pass(arguments[0])", RESTED_MS)
        return keys

    def _keys(self, is_open: bool) -> list[str]:
        """Return what can be tapped on the open page."""
        return list(self.window.execute_script(_FIND, is_open))

    def tap(self, at: tuple[float, float, str], pause_ms: int) -> None:
        """Tap a place, and let some time go by once all is shown that came of it."""
        version = self.tour.table.version
        for kind in ("mousePressed", "mouseReleased"):
            where = {"x": at[0], "y": at[1], "button": "left", "clickCount": 1}
            cdp(self.window, "Input.dispatchMouseEvent", type=kind, **where)
        self._wait(version, pause_ms)

    def _wait(self, version: int, pause_ms: int) -> None:
        """Let some time go by once the page shows what came after this version."""

        def stands() -> bool:
            script = self.window.execute_script
            if not script(_STANDS, False, None):
                return False
            return bool(script(_STANDS, self.tour.table.version != version, pause_ms))

        until("all answers", stands, pause_s=LOOK_S)
