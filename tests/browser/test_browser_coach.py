"""The coach on a phone: asked before an order is given, and afterwards; the sheet fits, and nothing
is sent by itself.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from bot_tools import InProcessBot
from in_process import in_process_service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webdriver import WebDriver
from service import PHONE, Client, browser, overflow_px, sit_down, tap, until, wait_for_phase
from window_tools import assert_no_errors, hand_in

from companion.bots.coach import Coach
from companion.bots.machine_players import MachinePlayers

pytestmark = pytest.mark.browser
PATIENCE_S = 60.0


def advice(window: WebDriver, about: str) -> str:
    """Return the coach's answer to a key of the sheet."""
    tap(window, "[data-help]")
    until(
        "the sheet",
        lambda: window.find_elements(By.CSS_SELECTOR, f"#help:not([hidden]) [data-coach={about}]"),
    )
    tap(window, f"[data-coach={about}]")
    until(
        "an answer",
        lambda: window.find_elements(By.CSS_SELECTOR, "#advice .note, #advice .sense"),
        PATIENCE_S,
    )
    until("thought", lambda: not window.find_elements(By.CSS_SELECTOR, "[data-coach]:disabled"))
    return window.find_element(By.ID, "advice").text


def test_the_coach_is_asked_before_and_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On South's phone, with the machine at North."""
    for part in (MachinePlayers, Coach):
        quick = partial(part, open_process=InProcessBot)
        monkeypatch.setattr(f"companion.service.app.{part.__name__}", quick)
    with in_process_service(tmp_path) as service, browser(PHONE) as window:
        sit_down(window, service, "south", "Mara")
        client = Client(service.url)
        client.post("/api/seat/north/machine", name="Pip")
        until("the machine", lambda: "Pip" in window.find_element(By.TAG_NAME, "body").text)
        tap(window, ".game[data-body*=outbuffered]")
        tap(window, "[data-post='/api/seat/south/start']")
        # the rendered pieces lie as the game wants them: its set-up may be over before anybody asks
        wait_for_phase(client, "orders")
        until("the keys", lambda: window.find_elements(By.CSS_SELECTOR, ".key.order"))
        assert "Nothing has been entered" in advice(window, "now")
        assert client.get("/api/view")["seats"]["south"]["coached"]
        assert not client.get("/api/view")["seats"]["south"]["sealed_at"]
        assert overflow_px(window) <= 0, "the sheet is wider than the phone"
        tap(window, "#help > [data-help]")
        hand_in(window, "UII")
        until("the next turn", lambda: _moved_on(client))
        until("the keys again", lambda: window.find_elements(By.CSS_SELECTOR, ".key.order"))
        assert advice(window, "last")
        tap(window, "#help > [data-help]")
        whys = advice(window, "theirs").splitlines()
        assert whys[0].startswith("Pip, turn 1: ")
        assert "This looks best against what most people do here." in whys
        tap(window, "#help > [data-help]")
        assert_no_errors(window)


def _moved_on(client: Client) -> bool:
    """Return whether the next turn waits for orders. Moves pieces as stages ask."""
    view = client.get("/api/view")
    if view["phase"] == "stages":
        client.post("/workbench/tidy")
    return bool(view["phase"] == "orders" and view["turn"] > 1)
