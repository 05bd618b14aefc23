"""Test the owner's pages in a browser: keys tried out, a game started, settings, and a restart.

The service is a process of its own, because it restarts.
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

# Parts of messages that the browser may log. The first ones are about refusals, and the last ones
# about a service that restarts: chance decides which of them comes.
EXPECTED_MESSAGES = (
    "status of 400",
    "status of 403",
    "/camera/frame.jpg",  # before the camera's first picture
    "ERR_CONNECTION_REFUSED",
    "ERR_CONNECTION_RESET",
    "ERR_EMPTY_RESPONSE",
)


def test_host_pages_start_games_and_restart_the_service(tmp_path: Path) -> None:
    """Do what an owner does on the first evening. A game that has ended must stay ended."""
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

        # Keys that are pressed light up on the page, and lamps that are tapped on the panel.
        tap(window, "#begin")
        client = Client(service.url)
        until(
            "a lamp to tap",
            lambda: window.find_element(By.CSS_SELECTOR, "[data-lamp=north_2]").is_enabled(),
        )
        client.post("/workbench/press", button="south_up")
        until("the key on the page", lambda: "down" in _classes(window, "[data-key=south_up]"))
        client.post("/workbench/release", button="south_up")
        until("the released key", lambda: _classes(window, "[data-key=south_up]") == "tried")
        tap(window, "[data-lamp=north_2]")
        until("the lamp", lambda: client.get("/workbench/state")["lamps"]["north_2"] > 0)
        tap(window, "#end")
        until(
            "the lamp of the table again",
            lambda: client.get("/workbench/state")["lamps"]["north_2"] == 0,
        )
        assert "north_2" not in str(client.get("/api/view")["seats"])

        # A game is started with an option, by one tap. A hand over the board keeps the camera from
        # seeing that everything is set up.
        client.post("/workbench/hand", square="a1")
        window.get(f"{service.url}/host?game=outbuffered")
        tap(window, "[data-option=turn_limit] input[value='1']")
        tap(window, "#start")
        wait_for_phase(client, "setup")
        until("the key “Begin”", lambda: "Begin" in window.find_element(By.ID, "host-foot").text)
        client.post("/workbench/hand", square=None)
        wait_for_phase(client, "orders")

        # During a game keys cannot be tried out, so that key is dashed.
        window.get(f"{service.url}/host/health#trial")
        until("the page", lambda: window.find_elements(By.ID, "begin"))
        assert (
            window.find_element(By.ID, "begin").value_of_css_property("border-top-style")
            == "dashed"
        )

        # The theme changes at once. The number of viewers changes by a restart, which comes by
        # itself after the game.
        window.get(f"{service.url}/settings")
        tap(window, "[data-values*=dark]")
        until(
            "the saved theme",
            lambda: parse_settings((tmp_path / "settings.toml").read_text()).table.theme == "dark",
        )
        tap(window, "#tinkerers>summary")
        field = window.find_element(By.ID, "web.viewers")
        field.clear()
        field.send_keys("30", Keys.TAB)
        until("the note", lambda: "After the game" in window.find_element(By.ID, "note").text)
        assert parse_settings((tmp_path / "settings.toml").read_text()).web.viewers == 30
        client.send("/host", f"key={service.host_key}".encode())
        client.post("/api/host/abandon")
        until(
            "a page without a note about a restart",
            lambda: window.find_element(By.ID, "note").text == "",
            40,
        )
        assert client.get("/api/view")["game"] is None, "the game is back after the restart"
        assert json.loads((tmp_path / "choices.json").read_text())["last"] == "outbuffered"
        assert [
            entry["message"]
            for entry in window.get_log("browser")
            if not any(expected in entry["message"] for expected in EXPECTED_MESSAGES)
        ] == []


def _classes(window: WebDriver, selector: str) -> str:
    script = "return document.querySelector(arguments[0])?.className ?? ''"
    return str(window.execute_script(script, selector))
