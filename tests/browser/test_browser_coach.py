"""Test in a browser that the coach gives advice on a phone, before an order and afterwards.

The coach is a bot that judges orders for people who learn the game. Its sheet must fit on the
phone, and asking it must hand nothing in.
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
# Timeout for an answer of the coach, who searches in this process.
ADVICE_TIMEOUT_S = 60.0


def ask_coach(window: WebDriver, about: str) -> str:
    """Open the help, ask the coach, and return the answer.

    Ask about what is entered (`now`), the last order (`last`), or the other side's (`theirs`).
    """
    tap(window, "[data-help]")
    until(
        "the sheet",
        lambda: window.find_elements(By.CSS_SELECTOR, f"#help:not([hidden]) [data-coach={about}]"),
    )
    tap(window, f"[data-coach={about}]")
    until(
        "an answer",
        lambda: window.find_elements(By.CSS_SELECTOR, "#advice .note, #advice .sense"),
        ADVICE_TIMEOUT_S,
    )
    until(
        "the end of the search",
        lambda: not window.find_elements(By.CSS_SELECTOR, "[data-coach]:disabled"),
    )
    return window.find_element(By.ID, "advice").text


def test_the_coach_answers_before_and_after_a_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Play South against a machine player, and ask the coach about both sides' orders."""
    # Machine and coach think in this process, with the lowest strength, so that answers come soon.
    for part in (MachinePlayers, Coach):
        quick = partial(part, open_process=InProcessBot)
        monkeypatch.setattr(f"companion.service.app.{part.__name__}", quick)
    with in_process_service(tmp_path) as service, browser(PHONE) as window:
        # The phone takes South's seat and starts a game against the machine player Pip.
        sit_down(window, service, "south", "Mara")
        client = Client(service.url)
        client.post("/api/seat/north/machine", name="Pip")
        until("the machine", lambda: "Pip" in window.find_element(By.TAG_NAME, "body").text)
        tap(window, ".game[data-body*=outbuffered]")
        tap(window, "[data-post='/api/seat/south/start']")
        # the rendered pieces lie right from the beginning, so the set-up may already be over
        wait_for_phase(client, "orders")
        until("the keys", lambda: window.find_elements(By.CSS_SELECTOR, ".key.order"))

        # Before an order, the coach has nothing to judge. The table notes that South was coached.
        assert "Nothing has been entered" in ask_coach(window, "now")
        assert client.get("/api/view")["seats"]["south"]["coached"]
        assert not client.get("/api/view")["seats"]["south"]["sealed_at"]
        assert overflow_px(window) <= 0, "the sheet is wider than the phone"
        tap(window, "#help > [data-help]")

        # Play a turn: up, and wait twice.
        hand_in(window, "UII")
        until("the next turn", lambda: _is_at_next_orders(client))
        until("the keys again", lambda: window.find_elements(By.CSS_SELECTOR, ".key.order"))

        # Afterwards, the coach has words about South's orders, and reasons for those of Pip.
        assert ask_coach(window, "last"), "the coach says nothing about South's last orders"
        tap(window, "#help > [data-help]")
        reasons = ask_coach(window, "theirs").splitlines()
        assert reasons[0].startswith("Pip, turn 1: ")
        assert "This looks best against what most people do here." in reasons
        tap(window, "#help > [data-help]")
        assert_no_errors(window)


def _is_at_next_orders(client: Client) -> bool:
    """Return whether turn 2 or a later one waits for orders.

    In the stages before, first put the pieces where they belong.
    """
    view = client.get("/api/view")
    if view["phase"] == "stages":
        client.post("/workbench/tidy")
    return bool(view["phase"] == "orders" and view["turn"] > 1)
