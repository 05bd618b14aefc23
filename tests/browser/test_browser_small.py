"""On the smallest phone nothing scrolls that need not: a seat's keys and what they are about are all in sight."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from selenium.webdriver.remote.webdriver import WebDriver
from service import PHONE, browser
from tour import cdp, dress, touring, visit

from companion.games import GAMES

pytestmark = pytest.mark.browser
SMALL = (320, 568)
IN_SIGHT = {"outbuffered": ("orders", "stages", "over"), "kahmate": ("orders", "over"), "arena": ("orders", "over")}
"""The states in which a seat's page must fit; where a turn has much to tell, its text goes on below the keys."""


@pytest.fixture(scope="module")
def window() -> Iterator[WebDriver]:
    with browser(PHONE) as opened:
        cdp(opened, "Network.enable")
        yield opened


@pytest.mark.parametrize("game", GAMES)
def test_a_seat_fits_the_smallest_phone(game: str, window: WebDriver) -> None:
    told = {}
    with touring() as walk:
        for stop in walk.stops((game,)):
            states = IN_SIGHT.get(game, ("orders", "stages", "over"))
            if not stop.name.startswith(tuple(f"{game}-{state}" for state in states)) or "watch" in stop.name:
                continue
            if stop.name.endswith(("south", "north")):
                dress(window, SMALL, "light")
                visit(window, walk, stop)
                height = window.execute_script("return document.scrollingElement.scrollHeight")
                if height > SMALL[1]:
                    told[stop.name] = height
    assert not told
