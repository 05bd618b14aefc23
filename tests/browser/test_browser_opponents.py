"""One person with one laptop: from the lobby to a sealed order and on to the second turn, against the machine."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webdriver import WebDriver
from served import served
from service import Client, Served, browser, says, tap, until
from window_tools import no_errors

pytestmark = pytest.mark.browser
LAPTOP = (1440, 900)
FIRST_ORDER_S = 30.0
"""So long at most from the lobby to the first sealed order, by taps alone."""


@pytest.fixture
def laptop(tmp_path: Path) -> Iterator[tuple[Served, WebDriver]]:
    with served(tmp_path) as service, browser(LAPTOP) as window:
        window.get(service.url)
        yield service, window


def seat(window: WebDriver) -> WebDriver:
    """The window's part in which the seat is."""
    window.switch_to.default_content()
    window.switch_to.frame(window.find_element(By.CSS_SELECTOR, "iframe.seat"))
    return window


def test_one_laptop_plays_two_turns_without_a_typed_address(laptop: tuple[Served, WebDriver]) -> None:
    service, window = laptop
    client = Client(service.url)
    begun_s = time.monotonic()
    tap(window, ".ways .go")
    until("the two parts", lambda: window.find_elements(By.CSS_SELECTOR, "iframe.seat"))
    says(seat(window), "orders to go")
    for letter in "UUS":
        tap(window, f".order[data-letter='{letter}']")
    tap(window, "#hand-in")
    until("the order is sealed", lambda: client.get("/api/view")["phase"] == "stages" or sealed(client))
    assert time.monotonic() - begun_s < FIRST_ORDER_S
    until("the machine is done", lambda: client.get("/api/view")["phase"] == "stages", 20)
    for _ in range(20):
        if client.get("/api/view")["turn"] == 2 or client.get("/api/view")["phase"] == "over":
            break
        if window.find_elements(By.CSS_SELECTOR, "[data-post='/workbench/tidy']"):
            tap(window, "[data-post='/workbench/tidy']")
        time.sleep(0.5)
    until("the second turn", lambda: client.get("/api/view")["phase"] in ("orders", "over"), 30)
    no_errors(window)


def sealed(client: Client) -> bool:
    return bool(client.get("/api/view")["seats"]["south"]["sealed_at"])


def test_a_character_is_picked_on_the_table_screen_and_sent_away(laptop: tuple[Served, WebDriver]) -> None:
    service, window = laptop
    client = Client(service.url)
    window.find_elements(By.CSS_SELECTOR, ".chars .key")[2].click()
    until("Zeno sits", lambda: client.get("/api/view")["seats"]["north"]["name"] == "Zeno")
    until("its key is down", lambda: window.find_elements(By.CSS_SELECTOR, ".chars [aria-pressed='true']"))
    tap(window, ".chars [aria-pressed='true']")
    until("it is gone", lambda: client.get("/api/view")["seats"]["north"]["name"] is None)
    no_errors(window)
