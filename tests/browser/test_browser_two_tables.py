"""One game at two tables in real browsers: the hosts agree by a code, each phone plays its side, both boards follow."""

from __future__ import annotations

from pathlib import Path

import pytest
from hub_tools import services
from inside import session_of
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webdriver import WebDriver
from service import PHONE, browser, tap, too_wide, until
from window_tools import no_errors, text_of

from companion.service.app import Companion
from companion.table.session import Phase

pytestmark = pytest.mark.browser
_AXE = """
const done = arguments[0];
axe.run(document, { resultTypes: ['violations'], preload: false }).then(
  found => done(found.violations.flatMap(v => v.nodes.slice(0, 3).map(n => `${v.id}: ${n.html.slice(0, 160)}`))));
"""


def become_host(window: WebDriver, companion: Companion) -> str:
    url = f"http://127.0.0.1:{companion.server.port}"
    window.get(f"{url}/host/hub/game")
    window.find_element(By.NAME, "key").send_keys(companion.host_key)
    window.find_element(By.CSS_SELECTOR, "form button").click()
    until("the page", lambda: "Offer a game" in text_of(window, ".sign"))
    window.get_log("browser")  # type: ignore[attr-defined] # Chrome has it; that the key was asked for is one
    return url


def test_two_phones_play_at_two_tables(tmp_path: Path, axe: str) -> None:
    with services(tmp_path) as both, browser(PHONE) as south, browser(PHONE) as north:
        windows = south, north
        urls = [
            become_host(window, companion) for window, companion in zip(windows, both, strict=True)
        ]
        south.execute_script(axe)
        assert south.execute_async_script(_AXE) == []
        assert too_wide(south) <= 0
        south.find_element(By.ID, "offer-name").send_keys("Mara")
        south.find_elements(By.CSS_SELECTOR, "form button")[0].click()
        code = until("the code", lambda: both[0].hub.offered)
        until("it is shown", lambda: f"{code[:3]}-{code[3:]}" in text_of(south, ".sign"))
        north.find_element(By.ID, "code").send_keys(f"{code[:3]}-{code[3:]}")
        north.find_elements(By.CSS_SELECTOR, "form button")[1].click()
        until("the game begins", lambda: all(session_of(each.table).remote for each in both))
        for window, url, seat, name in zip(
            windows, urls, ("south", "north"), ("Mara", "Jonas"), strict=True
        ):
            window.get(f"{url}/join/{seat}")
            window.find_element(By.NAME, "name").send_keys(name)
            window.find_element(By.CSS_SELECTOR, "form.join .go").click()
        for companion in both:  # each camera sees its own board set up
            assert companion.simulation
            companion.simulation.world.set_up(companion.table.view().board.target or {})
        until(
            "orders are due",
            lambda: all(session_of(each.table).phase is Phase.ORDERS for each in both),
        )
        for window, waits in ((south, True), (north, False)):
            until(
                "the keys",
                lambda window=window: window.find_elements(
                    By.CSS_SELECTOR, ".order[data-letter='U']"
                ),
            )
            for _ in range(3):
                tap(window, ".order[data-letter='U']")
            tap(window, "#hand-in")
            if waits:
                until("it waits", lambda: "Waiting for the other table" in text_of(south, ".sign"))
                assert not south.find_elements(By.CSS_SELECTOR, "[data-post$='take-back']")
        until(
            "both are open",
            lambda: all(session_of(each.table).phase is Phase.STAGES for each in both),
        )
        tap(south, "[data-post$='/resign']")
        tap(south, ".sure [data-yes]")
        until(
            "it is over", lambda: all(session_of(each.table).phase is Phase.OVER for each in both)
        )
        until("North has won", lambda: "resigns" in text_of(north, "#live"))
        no_errors(*windows)
