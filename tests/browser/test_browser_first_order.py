"""A phone joins and seals its first order: how many taps that takes, beside those that say what the order is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver.remote.webdriver import WebDriver
from service import PHONE, Client, browser, running, tap, until
from window_tools import no_errors, text_of

pytestmark = pytest.mark.browser
MOST_TAPS = 4
"""So many at most from the page that the code on the table screen leads to, to the first sealed order."""
ORDERS: dict[str, tuple[str, ...]] = {
    "outbuffered": tuple(f".order[data-letter='{letter}']" for letter in "UUS"),
    "arena": ("[data-way=N]",) * 3,
    "kahmate": (),
}
"""Of each game with secret orders, the keys of a first order; Kahmate proposes a placing."""
HAND_IN = {"outbuffered": "#hand-in"}
COUNT = "addEventListener('click', () => { sessionStorage.taps = 1 + Number(sessionStorage.taps ?? 0); }, true)"


@pytest.fixture(scope="module")
def phone() -> Iterator[WebDriver]:
    with browser(PHONE) as opened:
        opened.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": COUNT})
        yield opened


@pytest.mark.parametrize("game", ORDERS)
def test_the_first_order_is_sealed_after_four_taps_at_most(tmp_path: Path, phone: WebDriver, game: str) -> None:
    with running(tmp_path, "--simulate", "--port", "0") as service:
        client = Client(service.url)
        phone.get_log("browser")  # type: ignore[attr-defined] # Chrome has it; what an earlier test left there
        phone.get(f"{service.url}/join")
        tap(phone, "[formaction='/join/south']")
        until("the seat", lambda: phone.current_url.endswith("/seat/south"))
        tap(phone, f".games [data-body*='\"{game}\"']")
        until("the board to be set", lambda: client.get("/api/view")["phase"] == "orders")
        order = ORDERS[game]
        for key in order:
            tap(phone, key)
        end = HAND_IN.get(game, "#commit")
        until("a whole order", lambda: is_whole(phone, end))
        tap(phone, end)
        until("the order is sealed", lambda: client.get("/api/view")["seats"]["south"]["sealed_at"])
        taps = int(phone.execute_script("return sessionStorage.taps")) - len(order)
        assert taps <= MOST_TAPS, f"{taps} taps, and {len(order)} for the order"
        no_errors(phone)
        phone.get("about:blank")


def is_whole(phone: WebDriver, end: str) -> bool:
    """Does the main key hand in what is complete?"""
    words = text_of(phone, end)
    return bool(words) and "missing" not in words and "Without" not in words and "do nothing" not in words
