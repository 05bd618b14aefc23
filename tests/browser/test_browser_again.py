"""A phone that slept, lost its network, went back, has a second tab or shows yesterday's game ends
in the right page.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from flask import request
from internals import app_of
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webdriver import WebDriver
from service import PHONE, browser, tap, until, wait_for_sign
from tour import cdp
from window_tools import hand_in, service_on_still_clock, take_seat

from companion.core.kit import SEATS, Seat
from companion.service.app import Companion

pytestmark = pytest.mark.browser

OFFLINE = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}


def begin(companion: Companion) -> str:
    """Begin a new game of sealed orders and set it up. Return its moment."""
    table = companion.table
    table.new_game("outbuffered", {}, 1)
    table.confirm("host", table.view().moment, 0, force=True)
    return table.view().moment


def sit_at_orders(window: WebDriver, companion: Companion, url: str) -> str:
    """Open South's page at its orders in a new game. Return the moment."""
    moment = begin(companion)
    take_seat(window, url)
    wait_for_sign(window, "orders to go")
    return moment


@pytest.fixture(scope="module")
def window() -> Iterator[WebDriver]:
    """A phone whose network can be changed, and whose pages can be hidden."""
    with browser(PHONE, is_whole=True) as opened:
        cdp(opened, "Network.enable")
        yield opened


@contextmanager
def asleep(window: WebDriver) -> Iterator[None]:
    """Hide the page behind another one and freeze it, as in a pocket, then show it again."""
    page = window.current_window_handle
    window.switch_to.new_window("tab")
    other = window.current_window_handle
    window.switch_to.window(page)
    cdp(window, "Target.activateTarget", targetId=other)
    cdp(window, "Page.setWebLifecycleState", state="frozen")
    try:
        yield
    finally:
        cdp(window, "Page.setWebLifecycleState", state="active")
        window.switch_to.window(other)
        window.close()
        window.switch_to.window(page)
        cdp(window, "Target.activateTarget", targetId=page)


def is_sealed(companion: Companion) -> bool:
    return companion.table.view().seats[Seat.SOUTH].sealed_at is not None


def test_a_phone_that_slept_for_ten_minutes(tmp_path: Path, window: WebDriver) -> None:
    """Frozen in the middle of a draft; by the time it wakes the turn was played and another game
    has begun.
    """
    with service_on_still_clock(tmp_path) as (companion, url):
        moment = sit_at_orders(window, companion, url)
        tap(window, ".order[data-letter='U']")
        with asleep(window):
            for seat in SEATS:
                companion.table.hand_in(seat, moment, "III")
            companion.table.abandon()
            begin(companion)
        wait_for_sign(window, "orders to go")
        until("an empty buffer", lambda: "3 missing" in window.find_element(By.ID, "hand-in").text)
        assert (
            window.find_element(By.ID, "live").get_attribute("data-moment")
            == companion.table.view().moment
        )


def test_the_network_goes_and_comes_back(tmp_path: Path, window: WebDriver) -> None:
    with service_on_still_clock(tmp_path) as (companion, url):
        sit_at_orders(window, companion, url)
        cdp(window, "Network.emulateNetworkConditions", offline=True, **OFFLINE)
        hand_in(window, "UUS")
        until("a word about it", lambda: window.find_element(By.ID, "said").text)
        assert not is_sealed(companion)
        cdp(window, "Network.emulateNetworkConditions", offline=False, **OFFLINE)
        until(
            "the orders are still there",
            lambda: window.find_element(By.ID, "hand-in").text == "Hand in",
        )
        tap(window, "#hand-in")
        until("the seal", lambda: is_sealed(companion))
        wait_for_sign(window, "Waiting for lime")
        window.execute_script(SILENT)
        until("a word about silence", window.find_element(By.ID, "lost").is_displayed)


# Silences the stream for a minute. A new stream then meets a line that swallows all packets.
SILENT = """
window.EventSource = class { addEventListener() {} close() {} };
const now = performance.now.bind(performance);
performance.now = () => now() + 60000;
"""
# Loses the answer to the first order. The order arrives at the table at once (`IS_SHOWN`), or
# just before the second one.
LOSES = """
const real = window.fetch, kept = [];
[window.salts, window.statuses] = [[], []];
window.fetch = async (url, how) => {
  if (!String(url).endsWith('/hand-in')) return real(url, how);
  window.salts.push(JSON.parse(how.body).salt);
  if (window.salts.length === 1) {
    if (IS_SHOWN) await real(url, how); else kept.push([url, how]);
    throw new TypeError('the line broke');
  }
  if (kept.length) await real(...kept.pop());
  const answer = await real(url, how);
  window.statuses.push(answer.status);
  return answer;
};
"""


def hand_in_unheard(window: WebDriver, companion: Companion, url: str, *, is_shown: bool) -> None:
    sit_at_orders(window, companion, url)
    window.execute_script(LOSES.replace("IS_SHOWN", "true" if is_shown else "false"))
    hand_in(window, "UUS")
    until("it is sent", lambda: window.execute_script("return window.salts.length"))


@pytest.mark.parametrize("error", ["Bad gateway", {"code": 502}])
def test_a_proxy_answers_for_the_table(tmp_path: Path, window: WebDriver, error: object) -> None:
    """The phone says that it does not reach the table, and the orders stay in their slots."""
    answers = [{"error": error}]

    def answer_once() -> tuple[object, int] | None:
        is_order = request.path.endswith("/hand-in")
        return (answers.pop(), 502) if answers and is_order else None

    with service_on_still_clock(tmp_path) as (companion, url):
        app_of(companion.server).before_request(answer_once)
        sit_at_orders(window, companion, url)
        hand_in(window, "UUS")
        said = window.find_element(By.ID, "said")
        until("the refusal", lambda: said.text == "No connection to the table: try again")
        assert not is_sealed(companion)
        tap(window, "#hand-in")
        until("the seal", lambda: is_sealed(companion))


def test_an_order_sent_again_is_the_same_order(tmp_path: Path, window: WebDriver) -> None:
    with service_on_still_clock(tmp_path) as (companion, url):
        hand_in_unheard(window, companion, url, is_shown=False)
        tap(window, "#hand-in")
        until("the answer", lambda: window.execute_script("return window.statuses.length"))
        assert window.execute_script("return window.statuses") == [200]
        first, second = window.execute_script("return window.salts")
        assert first == second


def test_an_order_taken_back_gets_another_salt(tmp_path: Path, window: WebDriver) -> None:
    """Though the phone never heard of its receipt: two equal ones would tell that the order is the
    same.
    """
    with service_on_still_clock(tmp_path) as (companion, url):
        hand_in_unheard(window, companion, url, is_shown=True)
        until("the seal", lambda: is_sealed(companion))
        tap(window, "[data-post$='/take-back']")
        until("it is back", lambda: not is_sealed(companion))
        until(
            "the orders in their slots",
            lambda: window.find_element(By.ID, "hand-in").text == "Hand in",
        )
        tap(window, "#hand-in")
        until("the seal", lambda: is_sealed(companion))
        first, second = window.execute_script("return window.salts")
        assert first != second


def test_the_service_is_restarted(tmp_path: Path, window: WebDriver) -> None:
    """The page finds the new service by itself, with the draft that had been entered."""
    with service_on_still_clock(tmp_path) as (companion, url):
        sit_at_orders(window, companion, url)
        tap(window, ".order[data-letter='U']")
        port = companion.server.port
    until("the loss is told", lambda: window.find_element(By.ID, "lost").is_displayed())
    with service_on_still_clock(tmp_path, port=port):
        until("the loss is over", lambda: not window.find_element(By.ID, "lost").is_displayed())
        until("the draft", lambda: "2 missing" in window.find_element(By.ID, "hand-in").text)


def test_the_browsers_back_key(tmp_path: Path, window: WebDriver) -> None:
    """Sealed, off to the rules, meanwhile the turn goes on, back: the page of now, and never the
    slots of before.
    """
    with service_on_still_clock(tmp_path) as (companion, url):
        moment = sit_at_orders(window, companion, url)
        hand_in(window, "UUS")
        wait_for_sign(window, "Waiting for lime")
        window.get(f"{url}/rules/outbuffered")
        companion.table.hand_in(Seat.NORTH, moment, "III")
        window.back()
        wait_for_sign(window, "Robot, a1 to a2")
        assert not window.find_elements(By.CSS_SELECTOR, ".order")


def test_two_tabs_of_one_seat(tmp_path: Path, window: WebDriver) -> None:
    """What one hands in, the other shows as sealed; what one takes back, the other has in its
    slots.
    """
    with service_on_still_clock(tmp_path) as (companion, url):
        sit_at_orders(window, companion, url)
        first = window.current_window_handle
        window.switch_to.new_window("tab")
        second = window.current_window_handle
        try:
            window.get(f"{url}/seat/south")
            wait_for_sign(window, "orders to go")
            hand_in(window, "UUS")
            wait_for_sign(window, "Waiting for lime")
            window.switch_to.window(first)
            wait_for_sign(window, "Waiting for lime")
            tap(window, "[data-post$='take-back']")
            wait_for_sign(window, "Hand in, or change your mind")
            window.switch_to.window(second)
            wait_for_sign(window, "Hand in, or change your mind")
            assert not is_sealed(companion)
        finally:
            window.switch_to.window(second)
            window.close()
            window.switch_to.window(first)
