"""Screens that sleep: a table screen stays awake, and goes dark when nobody has played for long."""

from __future__ import annotations

from pathlib import Path

import pytest
from in_process import in_process_service
from selenium.webdriver.remote.webdriver import WebDriver
from service import WALL, Client, browser, tap, until, wait_for_phase

pytestmark = pytest.mark.browser

# Gives the page a lock, and runs timers of a minute or more when the test says so.
_FAKES = """
window.locks = [];
Object.defineProperty(navigator, 'wakeLock', { value: { request: async kind => {
  const lock = { kind, released: false, release() { this.released = true; } };
  window.locks.push(lock);
  return lock;
} } });
const [later, forget, naps] = [window.setTimeout, window.clearTimeout, new Map()];
let number = 0;
window.setTimeout = (call, ms, ...more) => {
  if (!(ms >= 60000)) return later(call, ms, ...more);
  naps.set(number -= 1, call);
  return number;
};
window.clearTimeout = id => { naps.delete(id) || forget(id); };
window.nap = () => { for (const [id, call] of [...naps]) naps.delete(id) && call(); };
"""


def is_dark(window: WebDriver) -> bool:
    return bool(window.execute_script("return Boolean(document.getElementById('dark'))"))


def lock_count(window: WebDriver) -> int:
    return int(window.execute_script("return window.locks.filter(lock => !lock.released).length"))


def nap(window: WebDriver) -> bool:
    """Let nobody play for long. Return whether the screen is dark, without a lock."""
    window.execute_script("window.nap()")
    return is_dark(window) and lock_count(window) == 0


def test_a_dark_table_screen_wakes(tmp_path: Path) -> None:
    with in_process_service(tmp_path, "outbuffered") as service, browser(WALL) as window:
        window.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": _FAKES})
        client = Client(service.url)
        wait_for_phase(client, "orders")  # nothing happens by itself any more
        window.get(service.url)
        until("a lock", lambda: lock_count(window) == 1)
        until("a dark screen", lambda: nap(window))
        tap(window, "#dark")
        assert not is_dark(window)
        until("a lock", lambda: lock_count(window) == 1)
        until("dark again", lambda: nap(window))
        client.post("/api/seat/south/take", name="Mara")
        until("awake by an event", lambda: not is_dark(window))
