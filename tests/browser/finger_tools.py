"""A hasty finger: it taps what a page has to be tapped, 100 and 800 ms after the first time, on a
clock of the page's own.
"""

from __future__ import annotations

import re

from flask import Flask, request
from selenium.webdriver.remote.webdriver import WebDriver
from service import until
from tour import SIZES, Stop, Walk, cdp, dress, visit

from companion.games import GAMES

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
"""The page's clock stands still until the test lets it go on. What the page asks for and is shown
is counted."""
_FIND = """
if (arguments[0]) for (const each of document.querySelectorAll('details')) each.open = true;
window.keys = [...document.querySelectorAll('button, summary, a.key, a.sign, a.code, .board[tabindex] [data-at]')].filter(key =>
  key.checkVisibility({ visibilityProperty: true }) && !key.matches(':disabled, [download], [data-wait], [data-wait] *, [href$=".pdf"], [href*=".csv"], [href*=".json"]'));
return keys.map(({ tagName, id, name, value, className, dataset, attributes, textContent }) => [
  tagName, id, name, value, dataset.post, dataset.body, dataset.arm, dataset.sure && 'sure', attributes.href?.value,
  id || dataset.post || dataset.at || /order|slot|card|ln|unit/.test(className) ? className.baseVal : textContent.trim(),
].map(each => String(each ?? '')).join('|'));
"""
"""What there is to be tapped, by what it does."""
_WHERE = """
const key = keys[arguments[0]], box = () => key.getBoundingClientRect();
if (box().top < 0 || box().bottom > innerHeight) key.scrollIntoView({ block: 'center' });
const { left, right, top, bottom } = box(), [x, y] = [(left + right) / 2, (top + bottom) / 2];
return key.contains(document.elementFromPoint(x, y)) ? [x, y, key.textContent.trim().replace(/\\s+/g, ' ')] : null;
"""
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
PAUSES_MS = (100, 700, 0)
"""Times between the taps: they come 100 and 800 ms after the first one."""
LOOK_S = 0.02
"""Time between two looks at a page that has not answered yet."""
_PARTS = re.compile("|".join(("south", "north", r"\d+", *GAMES)))
"""What a page says otherwise in another game, or for another seat."""


def alike(text: str) -> str:
    """What a page or a key is, whatever the game and the seat."""
    return _PARTS.sub("", text)


class Finger:
    """Taps the keys of pages, as often as a hasty person does, and notes what is lost."""

    def __init__(self, window: WebDriver) -> None:
        self.window = window
        self.lost: list[str] = []
        self.posts: list[str] = []
        self._known: set[tuple[str, str]] = set()
        self._size = (0, 0)

    def listen(self, app: Flask) -> None:
        """Note what is posted to these pages."""

        def note() -> None:
            if request.method == "POST":
                self.posts.append(f"{request.path} {request.get_data(as_text=True)}")

        app.before_request(note)

    def version(self) -> int:
        """How often what the pages show has changed; 0 where they show it before they answer."""
        return 0

    def is_new(self, page: str, key: str) -> bool:
        """Was this key of such a page not tapped so far? Languages and links lead from everywhere
        to the same page.
        """
        is_everywhere = key.startswith(("BUTTON||code", "A|"))
        name = ("" if is_everywhere else page, alike(key))
        is_new = name not in self._known
        self._known.add(name)
        return is_new

    def open(self, walk: Walk, stop: Stop, is_open: bool) -> list[str]:
        """Open a page; the keys that it has, where wanted also those in its folds."""
        is_large = stop.path in ("/", "/here") or stop.path.startswith("/host")
        size = SIZES["laptop" if is_large else "phone"]
        if size != self._size:
            dress(self.window, size, "light")
            self._size = size
        # a switch that was tapped three times is not as it was
        stored = {"origin": walk.client.url, "storageTypes": "local_storage"}
        cdp(self.window, "Storage.clearDataForOrigin", **stored)
        visit(self.window, walk, stop)
        self.wait(self.version(), RESTED_MS)
        keys = self.keys(is_open)
        self.window.execute_script("window.pass(arguments[0])", RESTED_MS)
        return keys

    def keys(self, is_open: bool) -> list[str]:
        """What the open page has to be tapped."""
        return list(self.window.execute_script(_FIND, is_open))

    def place(self, number: int) -> tuple[float, float, str] | None:
        """Where a key can be tapped, and its words."""
        at = self.window.execute_script(_WHERE, number)
        return tuple(at) if at else None

    def tap(self, at: tuple[float, float, str], pause_ms: int) -> None:
        """Tap a place, and let some time go by once all is shown that came of it."""
        version = self.version()
        for kind in ("mousePressed", "mouseReleased"):
            where = {"x": at[0], "y": at[1], "button": "left", "clickCount": 1}
            cdp(self.window, "Input.dispatchMouseEvent", type=kind, **where)
        self.wait(version, pause_ms)

    def wait(self, version: int, pause_ms: int) -> None:
        """Let some time go by once the page shows what came after this version."""
        script = self.window.execute_script
        until(
            "all answers",
            lambda: (
                script(_STANDS, False, None)
                and script(_STANDS, self.version() != version, pause_ms)
            ),
            pause_s=LOOK_S,
        )
