"""Test in a browser that a table screen stays awake, but goes dark if nobody plays for long.

A page keeps its screen awake by a wake lock of the browser.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from in_process import in_process_service
from selenium.webdriver.remote.webdriver import WebDriver
from service import WALL, Client, browser, tap, until, wait_for_phase
from tour import cdp

pytestmark = pytest.mark.browser

# Replaces the browser's wake lock by one that the test can count, and holds timers of a minute and
# more back until `runLongTimers`.
_FAKES = """
window.locks = [];
Object.defineProperty(navigator, 'wakeLock', { value: { request: async kind => {
  const lock = { kind, released: false, release() { this.released = true; } };
  window.locks.push(lock);
  return lock;
} } });
const [startTimer, stopTimer] = [window.setTimeout, window.clearTimeout], longTimers = new Map();
let lastId = 0; // of a timer that is held back: ids below 0 are not the browser's
window.setTimeout = (call, ms, ...more) => {
  if (!(ms >= 60000)) return startTimer(call, ms, ...more);
  longTimers.set(lastId -= 1, call);
  return lastId;
};
window.clearTimeout = id => { longTimers.delete(id) || stopTimer(id); };
window.runLongTimers = () => {
  for (const [id, call] of [...longTimers]) longTimers.delete(id) && call();
};
"""


def is_dark(window: WebDriver) -> bool:
    return bool(window.execute_script("return Boolean(document.getElementById('dark'))"))


def lock_count(window: WebDriver) -> int:
    return int(window.execute_script("return window.locks.filter(lock => !lock.released).length"))


def goes_dark(window: WebDriver) -> bool:
    """Let the time of all timers pass. Return whether the screen is dark, without a lock."""
    window.execute_script("window.runLongTimers()")
    return is_dark(window) and lock_count(window) == 0


def test_a_dark_table_screen_wakes(tmp_path: Path) -> None:
    """Wait until the screen is dark, twice. A tap wakes it, and so does a player who sits down."""
    with in_process_service(tmp_path, "outbuffered") as service, browser(WALL) as window:
        cdp(window, "Page.addScriptToEvaluateOnNewDocument", source=_FAKES)
        client = Client(service.url)
        # From now on nothing happens by itself that could keep the screen awake.
        wait_for_phase(client, "orders")
        window.get(service.url)
        until("a lock", lambda: lock_count(window) == 1)

        # After some time without players the screen goes dark. A tap makes it bright and awake.
        until("a dark screen", lambda: goes_dark(window))
        tap(window, "#dark")
        assert not is_dark(window)
        until("a lock", lambda: lock_count(window) == 1)

        # It goes dark once more. A player who sits down makes it bright, too.
        until("a dark screen again", lambda: goes_dark(window))
        client.post("/api/seat/south/take", name="Mara")
        until("a bright screen", lambda: not is_dark(window))
