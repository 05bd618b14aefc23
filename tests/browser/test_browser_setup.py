"""The host in a real browser: a game set up and started, settings changed, the service begun anew,
keys tried out.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ports import free_port
from selenium.webdriver import Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webdriver import WebDriver
from service import Client, browser, service_process, tap, until, wait_for_phase

from companion.core.config import parse_settings

pytestmark = pytest.mark.browser

# What a browser notes of refusals, and of a service that restarts. It is chance whether that one
# still hangs up or no longer listens.
EXPECTED = (
    "status of 400",
    "status of 403",
    "/camera/frame.jpg",  # before the camera's first picture
    "ERR_CONNECTION_REFUSED",
    "ERR_CONNECTION_RESET",
    "ERR_EMPTY_RESPONSE",
)


def test_the_host_plays_and_restarts_by_the_pages(tmp_path: Path) -> None:
    port = str(free_port())  # the page must find it again after the restart
    with (
        service_process(tmp_path, "--simulate", "--port", port) as service,
        browser((1024, 768)) as window,
    ):
        window.get(f"{service.url}/host/health")
        window.find_element(By.NAME, "key").send_keys(service.host_key)
        window.find_element(By.CSS_SELECTOR, "form button").click()
        until("the page", lambda: window.current_url.endswith("/host/health"))
        tap(window, "#trial summary")

        # Keys light up on the page, lamps on the panel.
        tap(window, "#begin")
        finger = Client(service.url)
        until(
            "a lamp to tap",
            lambda: window.find_element(By.CSS_SELECTOR, "[data-lamp=north_2]").is_enabled(),
        )
        finger.post("/workbench/press", button="south_up")
        until("the key on the page", lambda: "down" in _classes(window, "[data-key=south_up]"))
        finger.post("/workbench/release", button="south_up")
        until("the key let go", lambda: _classes(window, "[data-key=south_up]") == "tried")
        tap(window, "[data-lamp=north_2]")
        until("the lamp", lambda: finger.get("/workbench/state")["lamps"]["north_2"] > 0)
        tap(window, "#end")
        until(
            "the table’s own lamps", lambda: finger.get("/workbench/state")["lamps"]["north_2"] == 0
        )
        assert "north_2" not in str(finger.get("/api/view")["seats"])

        # A game is started with an option, by one tap; a hand over the board, or the camera would
        # tick the set-up off.
        finger.post("/workbench/hand", square="a1")
        window.get(f"{service.url}/host?game=outbuffered")
        tap(window, "[data-option=turn_limit] input[value='1']")
        tap(window, "#start")
        wait_for_phase(finger, "setup")
        until("what comes next", lambda: "Begin" in window.find_element(By.ID, "host-foot").text)
        finger.post("/workbench/hand", square=None)
        wait_for_phase(finger, "orders")

        # Keys are tried between games: the page's main key shows it.
        window.get(f"{service.url}/host/health#trial")
        until("the page", lambda: window.find_elements(By.ID, "begin"))
        assert (
            window.find_element(By.ID, "begin").value_of_css_property("border-top-style")
            == "dashed"
        )

        # Settings: one that works at once, one that waits for a restart, which comes by itself
        # after the game.
        window.get(f"{service.url}/settings")
        tap(window, "[data-values*=dark]")
        until(
            "it is saved",
            lambda: parse_settings((tmp_path / "settings.toml").read_text()).table.theme == "dark",
        )
        tap(window, "#tinkerers>summary")
        field = window.find_element(By.ID, "web.viewers")
        field.clear()
        field.send_keys("30", Keys.TAB)
        until("the note", lambda: "After the game" in window.find_element(By.ID, "note").text)
        assert parse_settings((tmp_path / "settings.toml").read_text()).web.viewers == 30
        finger.send("/host", f"key={service.host_key}".encode())
        finger.post("/api/host/abandon")
        until(
            "a page without a word of a restart",
            lambda: window.find_element(By.ID, "note").text == "",
            40,
        )
        assert finger.get("/api/view")["game"] is None, "who comes back finds the home page"
        assert json.loads((tmp_path / "choices.json").read_text())["last"] == "outbuffered"
        assert [
            entry["message"]
            for entry in window.get_log("browser")
            if not any(expected in entry["message"] for expected in EXPECTED)
        ] == []


def _classes(window: WebDriver, selector: str) -> str:
    script = "return document.querySelector(arguments[0])?.className ?? ''"
    return str(window.execute_script(script, selector))
