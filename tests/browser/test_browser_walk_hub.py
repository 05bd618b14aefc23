"""The walk through the pages of a hub and of two tables that play one game over it, held to the
same as every other page.

In a file of its own, so that another worker looks at it meanwhile.
"""

from __future__ import annotations

import pytest
from selenium.webdriver.remote.webdriver import WebDriver
from test_browser_walk import inspect_all, offer_axe, past_kinds, window
from tour_hub import open_hub_tour, open_pair_tour

__all__ = ["past_kinds", "window"]
pytestmark = [pytest.mark.browser, pytest.mark.long]

# States in which a page has the same parts as in another one, here or at one table alone.
LIKE_OTHERS = (
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


def test_every_page_of_a_hub(window: WebDriver, axe: str, past_kinds: set[str]) -> None:
    with open_hub_tour() as hub:
        offer_axe(axe, hub.server)
        stops = (
            stop for stop in hub.stops() if not any(state in stop.name for state in LIKE_OTHERS)
        )
        inspect_all(window, hub, stops, "hub-", past_kinds)


def test_every_page_of_a_game_at_two_tables(
    window: WebDriver, axe: str, past_kinds: set[str]
) -> None:
    with open_pair_tour() as tables:
        offer_axe(axe, *(tour.companion.server for tour in tables.tables.values()))
        stops = tables.stops(("outbuffered",))
        stops = (stop for stop in stops if not any(state in stop.name for state in LIKE_OTHERS))
        inspect_all(window, tables, stops, "tables-outbuffered", past_kinds)
