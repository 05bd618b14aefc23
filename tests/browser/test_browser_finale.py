"""The end of a game in a real browser: other words for winner, loser and watchers, one key for the rematch, a score."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from history_tools import play
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webdriver import WebDriver
from service import WALL, browser, says, tap, too_wide, until
from tour import cdp
from web_fixtures import Place, open_place

from companion.core.kit import SEATS, Seat
from web.server.server import serve

pytestmark = pytest.mark.browser

_SHIFTS = """window.shifted = 0; new PerformanceObserver(list => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shifted += entry.value;
}).observe({ type: 'layout-shift', buffered: true });"""


@pytest.fixture(scope="module")
def window() -> Iterator[WebDriver]:
    with browser(WALL) as opened:
        cdp(opened, "Network.enable")
        yield opened


def text(window: WebDriver, selector: str) -> str:
    script = (
        "return document.querySelector(arguments[0])?.innerText.replace(/\\s+/g, ' ').trim() ?? ''"
    )
    return str(window.execute_script(script, selector))


def look(window: WebDriver, url: str, size: tuple[int, int]) -> None:
    """Open a page in a size; nothing may be out of sight sideways."""
    width, height = size
    cdp(
        window,
        "Emulation.setDeviceMetricsOverride",
        width=width,
        height=height,
        deviceScaleFactor=1,
        mobile=width < 800,
    )
    window.get(url)
    until("the end", lambda: window.execute_script("return !!document.querySelector('.finale')"))
    window.execute_script(_SHIFTS)
    assert too_wide(window) <= 0, f"{url} at {width}"


def test_the_end_speaks_to_everybody_in_other_words(tmp_path: Path, window: WebDriver) -> None:
    with open_place(tmp_path) as place, serve(place.app, "127.0.0.1", 0) as server:
        server.start()
        url = f"http://127.0.0.1:{server.port}"
        seats = {"south": place.sit("south", "Mara"), "north": place.sit("north", "Jonas")}
        play(place.table, place.clock, "outbuffered", 6, seed=3)
        for client in seats.values():
            for cookie in client._cookies.values():
                cdp(window, "Network.setCookie", name=cookie.key, value=cookie.value, url=url)
        look(window, url, WALL)
        assert text(window, ".result") == "Jonas wins"
        assert text(window, ".how") == "Mara resigns."
        assert text(window, ".today .evening") == "Mara 0 : 1 Jonas"
        says(window, "Once more")
        for size in ((390, 844), (320, 568)):
            look(window, f"{url}/watch", size)
            says(window, "Jonas wins")
            look(window, f"{url}/seat/north", size)
            says(window, "You win")
            look(window, f"{url}/seat/south", size)
            says(window, "Jonas wins")
        tap(window, "#share summary")
        assert f"history/{1}" in text(window, ".shared .mono")
        assert window.execute_script("return window.shifted") <= 0.05
        _rematch(window, place)
        log = window.get_log("browser")  # type: ignore[attr-defined] # Chrome has it
        assert not [entry for entry in log if entry["level"] == "SEVERE"]


def _rematch(window: WebDriver, place: Place) -> None:
    """One key: the sides change, and the phone follows to its new seat; a keyboard goes on at its sign."""
    window.find_element(By.CLASS_NAME, "rematch").send_keys(Keys.TAB)
    window.switch_to.active_element.send_keys(Keys.SHIFT, Keys.TAB)
    until("its rest", lambda: not window.execute_script("return restOf(document.activeElement)"))
    window.switch_to.active_element.send_keys(Keys.ENTER)
    until("the other seat", lambda: window.current_url.endswith("/seat/north"))
    script = "return document.activeElement.classList.contains('sign')"
    until("the focus", lambda: window.execute_script(script))
    assert [place.table.view().seats[seat].name for seat in SEATS] == ["Jonas", "Mara"]
    assert text(window, ".top h1") == "Mara"
    place.table.confirm("host", place.table.view().moment, 0)
    place.table.resign(Seat.SOUTH)
    says(window, "You win")
    assert text(window, ".evening") == "Jonas 1 : 1 Mara"
