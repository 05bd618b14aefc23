"""One person with one laptop: from the lobby to a sealed order and on to the second turn, against the machine."""

from __future__ import annotations

import sys
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


def test_one_laptop_plays_two_turns_without_a_typed_address(
    laptop: tuple[Served, WebDriver],
) -> None:
    service, window = laptop
    client = Client(service.url)
    begun_s = time.monotonic()
    tap(window, ".machines button")
    until("the two parts", lambda: window.find_elements(By.CSS_SELECTOR, "iframe.seat"))
    tap(seat(window), ".game[data-body*=outbuffered]")
    tap(window, ".starts .go")
    says(window, "orders to go")
    for letter in "UUS":
        tap(window, f".order[data-letter='{letter}']")
    tap(window, "#hand-in")
    until(
        "the order is sealed",
        lambda: client.get("/api/view")["phase"] == "stages" or sealed(client),
    )
    assert time.monotonic() - begun_s < FIRST_ORDER_S
    until("the machine is done", lambda: client.get("/api/view")["phase"] == "stages")
    until("the second turn", lambda: is_tidied(client, window))
    no_errors(window)


def is_tidied(client: Client, window: WebDriver) -> bool:
    """Are hands through with what is to be done on the board? Each look taps the key that does some of it."""
    window.execute_script("document.querySelector(`[data-post='/workbench/tidy']`)?.click()")
    return client.get("/api/view")["phase"] in ("orders", "over")


def sealed(client: Client) -> bool:
    return bool(client.get("/api/view")["seats"]["south"]["sealed_at"])


def test_a_character_is_picked_on_the_table_screen_and_sent_away(
    laptop: tuple[Served, WebDriver],
) -> None:
    service, window = laptop
    client = Client(service.url)
    client.post("/api/seat/south/take", name="Mara")
    tap(window, ".machines [data-post]")
    until("Pip sits", lambda: client.get("/api/view")["seats"]["north"]["name"] == "Pip")
    tap(window, ".machines [data-body*=Zeno]")
    until("Zeno sits", lambda: client.get("/api/view")["seats"]["north"]["name"] == "Zeno")
    tap(window, ".machines [data-post$=machine-leaves]")
    until("it is gone", lambda: client.get("/api/view")["seats"]["north"]["name"] is None)
    no_errors(window)


ENGINE = """
import json, sys
for line in sys.stdin:
    name = next(iter(json.loads(line)))
    reply = {"new": {"ready": True}, "choose": {"action": "UII", "nodes": 1, "why": []}}.get(name, {"ok": True})
    print(json.dumps(reply), flush=True)
"""


def test_a_program_from_outside_is_picked_and_hands_in(tmp_path: Path) -> None:
    """It is offered beside the three characters, by its name, and plays like them."""
    program = tmp_path / "ada.py"
    program.write_text(ENGINE)
    engine = f"Ada={sys.executable} {program}"
    with served(tmp_path, engines=(engine,)) as service, browser(LAPTOP) as window:
        client = Client(service.url)
        client.post("/api/seat/south/take", name="Mara")
        window.get(service.url)
        tap(window, ".machines [data-post]")
        until(
            "four keys",
            lambda: len(window.find_elements(By.CSS_SELECTOR, ".machines .wkey b")) == 4,
        )
        names = [each.text for each in window.find_elements(By.CSS_SELECTOR, ".machines .wkey b")]
        assert names == ["Pip", "Bo", "Zeno", "Ada"]
        heights = [
            each.size["height"]
            for each in window.find_elements(By.CSS_SELECTOR, ".machines .wkey b")
        ]
        assert max(heights) < 1.5 * min(heights), "a name is broken into lines"
        out = """return [...document.querySelectorAll('.machines .wkey :is(.face,.dots)')].filter(part =>
            part.getBoundingClientRect().right > part.closest('.wkey').getBoundingClientRect().right).length"""
        assert window.execute_script(out) == 0, "a face or its strength is cut"
        tap(window, ".machines [data-body*=Ada]")
        until("Ada sits", lambda: client.get("/api/view")["seats"]["north"]["name"] == "Ada")
        client.post("/api/seat/south/start", game="outbuffered")
        until("its receipt", lambda: client.get("/api/view")["seats"]["north"]["sealed_at"])
        no_errors(window)
