"""A browser that has served one test is lent to the next as new; one that cannot be made so is not lent again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from service import PHONE, WALL, Window, browser, close_browsers
from tour import cdp
from web_fixtures import open_place

from web.server.server import serve

pytestmark = pytest.mark.browser

_FOUND = """return {
  cookie: document.cookie, kept: Object.keys(localStorage), session: Object.keys(sessionStorage),
  dark: matchMedia('(prefers-color-scheme: dark)').matches, still: matchMedia('(prefers-reduced-motion)').matches,
  touch: navigator.maxTouchPoints, size: [innerWidth, innerHeight], online: navigator.onLine,
  visible: document.visibilityState, before: history.length, mark: window.mark ?? '' };"""


@pytest.fixture(autouse=True)
def _none_is_lent() -> Iterator[None]:
    """Only browsers of this test's own."""
    close_browsers()
    yield
    close_browsers()


def leave_everything(window: Window) -> None:
    """What tests do to a window: storage, cookies, another tab, a theme, touch, no network."""
    window.execute_script(
        "localStorage.setItem('secret', '1'); sessionStorage.setItem('secret', '1'); document.cookie = 'secret=1'"
    )
    cdp(window, "Network.enable")
    cdp(window, "Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=2)
    features = [
        {"name": "prefers-color-scheme", "value": "dark"},
        {"name": "prefers-reduced-motion", "value": "reduce"},
    ]
    cdp(window, "Emulation.setEmulatedMedia", features=features)
    offline = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1, "offline": True}
    cdp(window, "Network.emulateNetworkConditions", **offline)
    window.execute_script("console.error('something of the test before')")
    window.switch_to.new_window("tab")


def test_nothing_of_the_test_before_is_left(tmp_path: Path) -> None:
    with open_place(tmp_path) as place, serve(place.app, "127.0.0.1", 0) as server:
        server.start()
        page = f"http://127.0.0.1:{server.port}/rules/"
        with browser(PHONE) as fresh:
            fresh.get(page)
            as_new = fresh.execute_script(_FOUND)
            fresh.is_spoiled = True
        with browser(WALL, dark=True) as window:
            window.get(page)
            leave_everything(window)
        with browser(PHONE) as again:
            assert again is window
            assert len(again.window_handles) == 1
            assert again.get_log("browser") == []
            again.get(page)
            found = again.execute_script(_FOUND)
    assert found.pop("before") >= as_new.pop("before")  # nobody can shorten it
    assert found == as_new


def test_what_cannot_be_taken_back_ends_a_browser() -> None:
    with browser(PHONE) as first:
        first.execute_cdp_cmd(
            "Page.addScriptToEvaluateOnNewDocument", {"source": "window.mark = 'left'"}
        )
    with browser(PHONE) as second:
        assert second is not first
        second.get("about:blank")
        assert second.execute_script("return window.mark ?? ''") == ""
    with pytest.raises(ZeroDivisionError), browser(PHONE) as failed:
        raise ZeroDivisionError
    assert failed is second
    with browser(PHONE) as third:
        assert third is not failed
