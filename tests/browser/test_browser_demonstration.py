"""The demonstration in a real browser: from the lobby's key through turns to the touch that ends it."""

from __future__ import annotations

from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from served import served
from service import Client, browser, tap, until
from window_tools import no_errors

pytestmark = pytest.mark.browser


def test_two_machines_play_until_somebody_touches_the_screen(tmp_path: Path) -> None:
    with served(tmp_path) as service, browser((1440, 900)) as window:
        client = Client(service.url)
        window.get(service.url)
        tap(window, "[form='demonstrate']")
        until("its mark", lambda: window.find_elements(By.CSS_SELECTOR, ".demonstration b"))
        until("the orders", lambda: window.find_elements(By.CSS_SELECTOR, "#live.orders"), 20)
        until("both are opened", lambda: window.find_elements(By.CSS_SELECTOR, "#live.stages"), 30)
        assert client.get("/api/view")["phase"] == "lobby"
        tap(window, ".demonstration button")
        until("the lobby is back", lambda: window.find_elements(By.CSS_SELECTOR, "#live.lobby"))
        assert not window.find_elements(By.CSS_SELECTOR, ".demonstration")
        tap(window, "[form='demonstrate']")
        until("once more", lambda: window.find_elements(By.CSS_SELECTOR, ".demonstration"))
        client.post("/api/seat/south/take", name="Ada")
        until("the seat is taken", lambda: "Ada" in window.find_element(By.ID, "live").text)
        assert not window.find_elements(By.CSS_SELECTOR, ".demonstration")
        no_errors(window)
