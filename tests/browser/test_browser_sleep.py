"""Screens that sleep: a table screen stays awake, and goes dark when nobody has played for long."""

from __future__ import annotations

from pathlib import Path

import pytest
from selenium.webdriver.remote.webdriver import WebDriver
from served import served
from service import WALL, Client, browser, tap, until

pytestmark = pytest.mark.browser

_FAKES = """
window.locks = [];
Object.defineProperty(navigator, 'wakeLock', { value: { request: async kind => {
  const lock = { kind, released: false, release() { this.released = true; } };
  window.locks.push(lock);
  return lock;
} } });
const later = window.setTimeout;
window.setTimeout = (call, ms) => later(call, ms >= 60000 ? 300 : ms);
"""
"""The browser gives a lock, and a minute or more is over in a moment."""


def is_dark(window: WebDriver) -> bool:
    return bool(window.execute_script("return Boolean(document.getElementById('dark'))"))


def held(window: WebDriver) -> int:
    return int(window.execute_script("return window.locks.filter(each => !each.released).length"))


def test_a_table_screen_goes_dark_and_wakes_by_a_touch_or_an_event(tmp_path: Path) -> None:
    with served(tmp_path, "outbuffered") as service, browser(WALL) as window:
        window.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": _FAKES})
        window.get(service.url)
        until("a dark screen", lambda: is_dark(window))
        until("no lock", lambda: held(window) == 0)
        tap(window, "#dark")
        assert not is_dark(window)
        until("a lock", lambda: held(window) == 1)
        until("dark again", lambda: is_dark(window))
        Client(service.url).post("/api/seat/south/take", name="Mara")
        until("awake by an event", lambda: not is_dark(window))
