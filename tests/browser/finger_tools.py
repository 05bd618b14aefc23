"""Helpers: a finger that taps every key of a page three times, and notes what gets lost.

Hasty people tap twice. The first tap may replace the key by another one, which the second tap must
not hit. So the program lets new keys rest, that is, ignore taps for a moment. The `Finger` shows
that this is enough. It taps a key, again after 100 ms, and a third time 800 ms after the first tap,
on a clock of the page's own. Then it looks whether anything is lost that no tap may take away: a
seat, a game, an order.
"""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from typing import NamedTuple

from flask import request
from internals import app_of, database_of, journal_of, live_of, session_of, store_of
from selenium.webdriver.remote.webdriver import WebDriver
from service import until
from tour import SIZES, Stop, TableTour, cdp, set_size_and_theme, visit

from companion.core.kit import SEATS
from companion.games import GAMES
from companion.table.session import Phase

# Replaces the page's clock by one that stands until `passTime` moves it. Also counts the requests
# without an answer and the drawings of the page, and notes whether the page is being left.
OWN_CLOCK = """
(() => {
  const { performance, fetch } = window, start = performance.now();
  let aheadMs = 0;
  Object.assign(window, { openRequests: 0, drawings: 0, passTime: ms => { aheadMs += ms; } });
  performance.now = () => start + aheadMs;
  window.fetch = (...request) => {
    window.openRequests += 1;
    return fetch(...request).finally(() => { window.openRequests -= 1; });
  };
  document.addEventListener('shown', () => { window.drawings += 1; });
  navigation.addEventListener('navigate', ({ destination, downloadRequest }) => {
    window.isLeft ||= !destination.sameDocument && downloadRequest === null;
  });
  addEventListener('submit', event => { window.isLeft ||= !event.defaultPrevented; });
})();
"""
# Opens all folds if told so, and finds all keys but those of files. Returns a description of each
# key: everything about it that says what it does.
_FIND_KEYS = """
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
# Lists the addresses of keys that ask for a confirmation before they act.
_CONFIRMED_ADDRESSES = (
    "return [...document.querySelectorAll('[data-sure]')].map(key => key.dataset.post)"
)
# Returns the seat of the page if its order is ready to be handed in.
_SEAT_WITH_READY_ORDER = """
return document.querySelector(':is(#hand-in, #commit).go')
  && document.getElementById('live')?.dataset.seat;
"""
# Scrolls to the key of this index. Returns its centre and its words, or null if it is covered.
_FIND_PLACE = """
const key = keys[arguments[0]], box = () => key.getBoundingClientRect();
if (box().top < 0 || box().bottom > innerHeight) key.scrollIntoView({ block: 'center' });
const { left, right, top, bottom } = box(), [x, y] = [(left + right) / 2, (top + bottom) / 2];
return key.contains(document.elementFromPoint(x, y))
  ? [x, y, key.textContent.trim().replace(/\\s+/g, ' ')] : null;
"""
# Returns whether the page is settled: it has all answers, and shows what came of them. If it is,
# and if a pause is given, moves the page's clock on by the pause. A page that follows the table is
# drawn once more after a change (`hasNews`), and every page with a stream is drawn once after it is
# loaded.
_IS_SETTLED = """
const [hasNews, pauseMs] = arguments;
const { settledDrawings, openRequests, isLeft, drawings } = window;
const { live } = document.body.dataset;
if (openRequests || isLeft || document.readyState !== 'complete') return false;
const followsTable = /table|seat|watch|host$|pass/.test(live);
let neededDrawings = 0;
if (live && settledDrawings === undefined) neededDrawings = 1;
if (live && hasNews && followsTable) neededDrawings = (settledDrawings ?? 0) + 1;
if (drawings < neededDrawings) return false;
if (pauseMs !== null) {
  window.passTime(pauseMs);
  window.settledDrawings = drawings;
}
return true;
"""
# Pause after which every key takes taps again. Keys rest for 1.1 s at most (`web/static/early.js`).
RESTED_MS = 5000
# Pauses after each of three taps: the later ones come 100 and 800 ms after the first one.
PAUSES_MS = (100, 700, 0)
# Pause before a page that has not settled is asked again.
POLL_S = 0.02
# Parts of addresses and descriptions that differ by game, seat and choice on pages of one kind.
_DETAILS = re.compile(
    "|".join(("south", "north", "true|false", r"\b[0-9a-f]{12}\b", r"\d+", *GAMES))
)


class Place(NamedTuple):
    """Where to tap."""

    x_px: float
    y_px: float
    words: str
    """The words of the key at this place, for reports."""


def remove_details(text: str) -> str:
    """Return an address or a description without what differs by game, seat and choice."""
    return _DETAILS.sub("", text)


class Finger:
    """Taps the keys of a table's pages three times, like hasty people, and notes what gets lost."""

    def __init__(self, window: WebDriver, tour: TableTour) -> None:
        self.window = window
        self.tour = tour
        self.losses: list[str] = []
        """A sentence for each key that took something away: the page, the key, what and how."""
        self.addresses: set[str] = set()
        """Addresses to which its taps have posted something."""
        self._posts: list[str] = []
        self._confirmed_addresses: set[str] = set()
        self._tapped_keys: set[tuple[str, str]] = set()
        """Page and key, without details: keys of the same kind are tapped once."""
        self._size = (0, 0)
        app_of(tour.companion.server).before_request(self._note_post)

    def _note_post(self) -> None:
        if request.method == "POST":
            self.addresses.add(request.path)
            self._posts.append(f"{request.path} {request.get_data(as_text=True)}")

    def tap_new_keys(self, stop: Stop) -> None:
        """Tap the new kinds of keys of a page, first with its folds closed, then with all open.

        The page is opened anew for the next key, unless the last one has changed nothing on it
        (`is_untouched`).
        """
        is_untouched = False
        for with_folds in (False, True):
            keys = self._rested_keys(with_folds) if is_untouched else self.open(stop, with_folds)
            is_untouched = True
            has_folds = self.window.execute_script(_HAS_FOLDS)
            self._confirmed_addresses.update(self.window.execute_script(_CONFIRMED_ADDRESSES))
            for index, key in enumerate(keys):
                kind = (remove_details(stop.path), remove_details(key))
                if kind in self._tapped_keys:
                    continue
                self._tapped_keys.add(kind)
                if not is_untouched:
                    self.open(stop, with_folds)
                # nothing to tap if another part of the page covers the key
                if place := self.window.execute_script(_FIND_PLACE, index):
                    self._tap_thrice(stop, Place(*place), with_folds, keys)
                    is_untouched = self._keys(with_folds) == keys
            if not has_folds:
                break

    def _tap_thrice(self, stop: Stop, place: Place, with_folds: bool, keys: list[str]) -> None:
        """Tap a place three times, and note what gets lost. Then put the table back as it was.

        If the first tap changes nothing, tap only once more.
        """
        table = self.tour.table
        journal = database_of(journal_of(self.tour.table))
        self._posts.clear()
        live_before = live_of(table)
        with closing(sqlite3.connect(":memory:")) as saved:
            journal.backup(saved)
            facts = self._facts()
            orders = self._orders()

            # The first tap does what the person wants. It may take an order back or clear it.
            self.tap(place, PAUSES_MS[0])
            facts_after_one = self._facts()
            orders &= self._orders()

            # After the other taps, nothing may be lost that was there before or after the first
            # one.
            is_same = not self._posts and self._keys(with_folds) == keys
            for pause_ms in (0,) if is_same else PAUSES_MS[1:]:
                self.tap(place, pause_ms)
            if stop.path == "/here":  # one tap on its keys ends a trial game, as it should
                facts &= facts_after_one
            if lost := {*facts, *facts_after_one, *orders} - {*self._facts(), *self._orders()}:
                self.losses.append(f"{stop.name}, {place.words}: {lost} by {self._posts}")

            # Put journal and table back, and wait until the page shows that.
            if table.version != live_before.version:
                version = table.version
                saved.backup(journal)
                store_of(table).publish(live_before)
                self._wait(version, RESTED_MS)

    def _facts(self) -> set[str]:
        """Return what no tap may take away, as sentences.

        These are who has a seat, which game is on, that nobody has overruled the camera, and that
        nothing was done for which a key has to ask first.
        """
        view = self.tour.table.view()
        facts = {
            f"{state.name} has a seat" for state in view.seats.values() if state.name is not None
        }
        if view.phase not in (Phase.LOBBY, Phase.OVER):
            facts.add(f"game {session_of(self.tour.table).game_number}")
        if not any('"force":true' in post for post in self._posts):
            facts.add("the camera is not overruled")
        if self._confirmed_addresses.isdisjoint(post.split(" ")[0] for post in self._posts):
            facts.add("nothing is done without a confirmation")
        return facts

    def _orders(self) -> set[str]:
        """Return the orders that are sealed, or ready to be handed in on the open page."""
        seats = self.tour.table.view().seats
        ready_seat = self.window.execute_script(_SEAT_WITH_READY_ORDER)
        return {
            f"the order of {seat}" for seat in SEATS if seats[seat].receipt or seat == ready_seat
        }

    def open(self, stop: Stop, with_folds: bool = False) -> list[str]:
        """Open a page anew. Return its keys, if `with_folds` also those in its folds."""
        is_large = stop.path in ("/", "/here") or stop.path.startswith("/host")
        size = SIZES["laptop" if is_large else "phone"]
        if size != self._size:
            set_size_and_theme(self.window, size, "light")
            self._size = size
        # three taps on a switch have changed what the browser stores
        storage = {"origin": self.tour.client.url, "storageTypes": "local_storage"}
        cdp(self.window, "Storage.clearDataForOrigin", **storage)
        visit(self.window, self.tour, stop)
        self._wait(self.tour.table.version, RESTED_MS)
        return self._rested_keys(with_folds)

    def _rested_keys(self, with_folds: bool) -> list[str]:
        """Return the keys of the open page, and pass the time for which they rest."""
        keys = self._keys(with_folds)
        self.window.execute_script("window.passTime(arguments[0])", RESTED_MS)
        return keys

    def _keys(self, with_folds: bool) -> list[str]:
        """Return descriptions of all keys on the open page."""
        return list(self.window.execute_script(_FIND_KEYS, with_folds))

    def tap(self, place: Place, pause_ms: int) -> None:
        """Tap a place, wait until the page shows what came of it, and let its clock go on."""
        version = self.tour.table.version
        for kind in ("mousePressed", "mouseReleased"):
            click = {"x": place.x_px, "y": place.y_px, "button": "left", "clickCount": 1}
            cdp(self.window, "Input.dispatchMouseEvent", type=kind, **click)
        self._wait(version, pause_ms)

    def _wait(self, version: int, pause_ms: int) -> None:
        """Wait until the page shows what came after this version, and let its clock go on."""

        def is_settled() -> bool:
            script = self.window.execute_script
            # an open request may still change the version, so it is read after the answer
            if not script(_IS_SETTLED, False, None):
                return False
            return bool(script(_IS_SETTLED, self.tour.table.version != version, pause_ms))

        until("a settled page", is_settled, pause_s=POLL_S)
