"""Test in a browser that the pages of a hub, and of a game at two tables, are laid out well.

They pass the same checks as a table's pages (`test_browser_walk`). This is a file of its own so
that another worker can run it meanwhile.
"""

from __future__ import annotations

import pytest
from selenium.webdriver.remote.webdriver import WebDriver
from tour_hub import open_hub_tour, open_pair_tour
from walk_tools import inspect_all, offer_axe, past_kinds, window

__all__ = ["past_kinds", "window"]
pytestmark = [pytest.mark.browser, pytest.mark.long]

# The game of a walk decides which pages must fit a small phone. With this one, none has to: a hub's
# page lists what happened in a game below its board.
NO_GAME = ""
# Stops whose names contain one of these are left out: their pages are built like those of others.
LEFT_OUT = (
    "-arena-",
    "-kahmate-",
    "-scouts-",
    "-over-overlay",
    "outbuffered-over-",
    "-setup-",
    "-orders-",
    "-stages-",
    "-north-screen",
)


def test_every_page_of_a_hub_has_no_fault(
    window: WebDriver, axe: str, past_kinds: set[str]
) -> None:
    with open_hub_tour() as hub:
        offer_axe(axe, hub.server)
        stops = (stop for stop in hub.stops() if not any(part in stop.name for part in LEFT_OUT))
        inspect_all(window, hub, stops, NO_GAME, past_kinds)


def test_every_page_of_a_linked_game_has_no_fault(
    window: WebDriver, axe: str, past_kinds: set[str]
) -> None:
    with open_pair_tour() as tables:
        offer_axe(axe, *(tour.companion.server for tour in tables.tables.values()))
        stops = tables.stops(("outbuffered",))
        stops = (stop for stop in stops if not any(part in stop.name for part in LEFT_OUT))
        inspect_all(window, tables, stops, "tables-outbuffered", past_kinds)
