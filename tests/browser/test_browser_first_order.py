"""A phone comes by the table's code and hands in its first order: how many taps that takes in each
game, all counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.remote.webdriver import WebDriver
from served import served
from service import PHONE, Client, Served, browser, until
from window_tools import no_errors, text_of

from companion.games import GAMES

pytestmark = pytest.mark.browser
MOST_TAPS = 5
"""So many at most from the page that the code on the table screen leads to, to the first order that
is in."""
COUNT = "addEventListener('touchend', () => { sessionStorage.taps = 1 + Number(sessionStorage.taps ?? 0); }, true)"
_AT = """
const key = document.querySelector(arguments[0]);
if (!key?.getClientRects().length || key.disabled || restOf(key)) return null;
key.scrollIntoView({ block: 'nearest' });
const { left, top, width, height } = key.getBoundingClientRect();
const at = [left + width / 2, top + height / 2];
return key.contains(document.elementFromPoint(...at)) ? at : null;
"""
_SQUARE = """
const board = document.querySelector('#live .view .board[tabindex]');
if (!board) return null;
const [files, ranks, pitch] = board.dataset.grid.split(' ').map(Number);
const at = new DOMPoint(arguments[0] * pitch + 50, (ranks - 1 - arguments[1]) * pitch + 50).matrixTransform(board.getScreenCTM());
return [at.x, at.y];
"""


@pytest.fixture(scope="module")
def phone() -> Iterator[WebDriver]:
    with browser(PHONE) as opened:
        opened.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True})
        opened.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": COUNT})
        yield opened


def touch(phone: WebDriver, script: str, *asked: object) -> None:
    """A finger goes down and up where the script says, once it says where."""
    x, y = until(f"{asked} to touch", lambda: phone.execute_script(script, *asked))
    for kind, points in (("touchStart", [{"x": x, "y": y}]), ("touchEnd", [])):
        phone.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})  # type: ignore[attr-defined]


def press(phone: WebDriver, selector: str) -> None:
    """A finger on a key."""
    touch(phone, _AT, selector)


def example(phone: WebDriver) -> None:
    press(phone, "#example")
    until("a whole order", lambda: text_of(phone, "#hand-in, #commit") == "Hand in")
    press(phone, "#hand-in, #commit")


def a_scout(phone: WebDriver) -> None:
    touch(phone, _SQUARE, 2, 0)
    until("its main key", lambda: "c1" in text_of(phone, "#commit"))
    press(phone, "#commit")


def as_proposed(phone: WebDriver) -> None:
    press(phone, "#commit.go")


def from_an_empty_hand(phone: WebDriver) -> None:
    """The clock is started; with no card in the hand a lane alone means to draw."""
    press(phone, "[data-post$=resume]")
    until("what a lane means", lambda: "Tap a lane: draw." in text_of(phone, "#told"))
    press(phone, ".ln[data-lane='2']")


FIRST: dict[str, Callable[[WebDriver], None]] = {
    "outbuffered": example,
    "arena": example,
    "scouts": a_scout,
    "kahmate": as_proposed,
    "binmat": from_an_empty_hand,
}
"""How the first order of each game is given."""


@pytest.mark.parametrize("game", GAMES)
def test_the_first_order_is_in_after_five_taps_at_most(
    tmp_path: Path, phone: WebDriver, game: str
) -> None:
    with served(tmp_path) as service:
        phone.get_log("browser")  # type: ignore[attr-defined] # Chrome has it; what an earlier test left there
        taps = taps_to_the_first_order(service, phone, game)
        no_errors(phone)
        phone.get("about:blank")
    assert taps <= MOST_TAPS


def taps_to_the_first_order(service: Served, phone: WebDriver, game: str) -> int:
    """From the address behind the code on the table screen."""
    client = Client(service.url)
    client.post("/api/seat/north/take", name="Jonas")
    phone.get(f"{service.url}/s")
    press(phone, ".join .go")
    until("the seat", lambda: phone.current_url.endswith("/seat/south"))
    press(phone, f".game[data-body*='\"{game}\"']")
    press(phone, ".starts [data-post$=start]")
    until("the board to be set", lambda: client.get("/api/view")["phase"] == "orders")
    FIRST[game](phone)
    until("the first order is in", lambda: is_in(client.get("/api/view")))
    return int(phone.execute_script("return sessionStorage.taps"))


def is_in(view: Mapping[str, Any]) -> bool:
    """Sealed, or in a game of turns played: hands follow, or the other side is asked."""
    return bool(view["seats"]["south"]["sealed_at"]) or not view["seats"]["south"]["awaited"]
