"""Two phones at once in front of a seat that is played by its pad, and the table screen."""

from __future__ import annotations

from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webdriver import WebDriver
from served import served
from service import PHONE, WALL, Client, Lag, browser, says, until, wait

pytestmark = pytest.mark.browser


def mark(window: WebDriver) -> list[str]:
    """The numbers of the lamps that are drawn lit."""
    script = "return [...document.querySelectorAll('.lamp-mark .on')].map(each => each.textContent)"
    return list(window.execute_script(script))


def signed(window: WebDriver, words: str) -> None:
    """The sign of a page that waits says this."""
    script = "return document.querySelector('.sign')?.innerText ?? ''"
    until(f"“{words}”", lambda: words in str(window.execute_script(script)))


def ask(window: WebDriver, url: str) -> None:
    window.get(f"{url}/join/south")
    window.find_element(By.CSS_SELECTOR, "form.join button").click()


def test_two_phones_ask_and_the_player_lets_in_the_one_whose_mark_the_pad_shows(tmp_path: Path) -> None:
    with ExitStack() as stack:
        service = stack.enter_context(served(tmp_path, "outbuffered"))
        line = stack.enter_context(closing(Lag(service.port, "127.0.0.2")))
        first, second, wall = (stack.enter_context(browser(size)) for size in (PHONE, PHONE, WALL))
        client = Client(service.url)
        until("orders", lambda: client.get("/api/view")["phase"] == "orders")

        def back(is_down: bool) -> None:
            client.post("/workbench/press" if is_down else "/workbench/release", button="south_back")

        client.post("/workbench/press", button="south_a")
        client.post("/workbench/release", button="south_a")
        until("the pad sits down", lambda: client.get("/api/view")["seats"]["south"]["door"] == "pad")
        wall.get(service.url)

        ask(first, service.url)
        signed(first, "Hold Back at the pad of South")
        shown = mark(first)
        assert shown
        until("the same mark on the table screen", lambda: mark(wall) == shown)
        ask(second, line.url)
        signed(second, "Another phone is asking")
        assert mark(second) == []
        wait(1.0)  # until the mark has been there to be seen
        back(True)
        back(False)
        wait(1.2)
        assert mark(first) == mark(wall) == shown, "a short press lets nobody in"

        until("the first gives up", lambda: _press(first, "Stop asking"))
        signed(first, "South is taken")
        signed(second, "Hold Back at the pad of South")
        other = mark(second)
        assert other != shown
        until("its mark on the table screen", lambda: mark(wall) == other)
        wait(1.0)
        back(True)
        until("the seat's own page", lambda: second.find_elements(By.CSS_SELECTOR, "#live[data-seat=south]"))
        back(False)
        says(second, "orders to go")
        until("no mark any more", lambda: mark(wall) == [])
        first.get(f"{service.url}/seat/south")
        assert "on another phone" in first.page_source


def _press(window: WebDriver, words: str) -> bool:
    """Press a key of a page that asks again by itself every other second; False: that came between."""
    script = """
        const key = [...document.querySelectorAll('button')].find(each => each.innerText === arguments[0]);
        key?.click();
        return Boolean(key)"""
    return bool(window.execute_script(script, words))
