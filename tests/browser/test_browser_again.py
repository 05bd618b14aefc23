"""Test in a browser that a phone shows the right page after sleep, a lost network and the like.

Whatever interrupts a phone, no order may be lost, and the page must show the table as it is now.
The service runs in this process, on a clock that stands. The game is Outbuffered, in which a turn
has three orders, such as `UUS` (up, up, shoot) or `III` (wait three times).
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
from window_tools import hand_in, service_on_still_clock, take_south_seat

from companion.core.kit import SEATS, Seat
from companion.service.app import Companion

pytestmark = pytest.mark.browser

# Parameters of a network of full speed. Chrome wants them whenever it is set offline or online.
NETWORK = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}


def begin(companion: Companion) -> str:
    """Begin a game of Outbuffered and set it up. Return the moment of its first orders."""
    table = companion.table
    table.new_game("outbuffered", seed=1)
    table.confirm("host", table.view().moment, 0, force=True)
    return table.view().moment


def sit_down_at_orders(window: WebDriver, companion: Companion, url: str) -> str:
    """Begin a game, and open South's page at its first orders. Return their moment."""
    moment = begin(companion)
    take_south_seat(window, url)
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
    """Hide the page behind another tab and freeze it, like a locked phone. Then show it again."""
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


def test_a_phone_that_slept_shows_the_new_game(tmp_path: Path, window: WebDriver) -> None:
    """Freeze the page in the middle of a draft. When it wakes, another game has begun.

    The draft belongs to the old game, so it must be gone.
    """
    with service_on_still_clock(tmp_path) as (companion, url):
        moment = sit_down_at_orders(window, companion, url)
        tap(window, ".order[data-letter='U']")
        with asleep(window):
            for seat in SEATS:
                companion.table.hand_in(seat, moment, "III")
            companion.table.abandon()
            begin(companion)
        wait_for_sign(window, "orders to go")
        until("an empty draft", lambda: "3 missing" in window.find_element(By.ID, "hand-in").text)
        assert (
            window.find_element(By.ID, "live").get_attribute("data-moment")
            == companion.table.view().moment
        )


def test_a_draft_survives_a_lost_network(tmp_path: Path, window: WebDriver) -> None:
    """Hand in without a network, then with it. At last the page reports a stream that is silent."""
    with service_on_still_clock(tmp_path) as (companion, url):
        sit_down_at_orders(window, companion, url)

        # Without a network, the page says that nothing was handed in.
        cdp(window, "Network.emulateNetworkConditions", offline=True, **NETWORK)
        hand_in(window, "UUS")
        until("a refusal on the page", lambda: window.find_element(By.ID, "said").text)
        assert not is_sealed(companion)

        # With a network, the orders are still there and can be handed in.
        cdp(window, "Network.emulateNetworkConditions", offline=False, **NETWORK)
        until(
            "the same orders in the draft",
            lambda: window.find_element(By.ID, "hand-in").text == "Hand in",
        )
        tap(window, "#hand-in")
        until("the seal", lambda: is_sealed(companion))
        wait_for_sign(window, "Waiting for lime")

        # The stream brings nothing for a minute, although the connection is not closed.
        window.execute_script(SILENCE_STREAM)
        until("a note about the lost connection", window.find_element(By.ID, "lost").is_displayed)


# Moves the page's clock on by a minute, and replaces new streams by ones that bring nothing. So the
# page finds its stream silent, and a new one does not help.
SILENCE_STREAM = """
window.EventSource = class { addEventListener() {} close() {} };
const now = performance.now.bind(performance);
performance.now = () => now() + 60000;
"""
# Loses the answer when an order is handed in for the first time, so that the page does not know
# whether its request has arrived. It does so at once (`ARRIVES_AT_ONCE`), or just before the second
# request. Notes the salts of all requests, and the status of each answer from the second on.
LOSE_FIRST_ANSWER = """
const real = window.fetch, delayed = [];
[window.salts, window.statuses] = [[], []];
window.fetch = async (url, how) => {
  if (!String(url).endsWith('/hand-in')) return real(url, how);
  window.salts.push(JSON.parse(how.body).salt);
  if (window.salts.length === 1) {
    if (ARRIVES_AT_ONCE) await real(url, how); else delayed.push([url, how]);
    throw new TypeError('the line broke');
  }
  if (delayed.length) await real(...delayed.pop());
  const answer = await real(url, how);
  window.statuses.push(answer.status);
  return answer;
};
"""


def hand_in_without_answer(
    window: WebDriver, companion: Companion, url: str, *, arrives_at_once: bool
) -> None:
    """Hand in South's orders, and lose the answer of the table.

    The request arrives at once, or only with the next one.
    """
    sit_down_at_orders(window, companion, url)
    window.execute_script(
        LOSE_FIRST_ANSWER.replace("ARRIVES_AT_ONCE", str(arrives_at_once).lower())
    )
    hand_in(window, "UUS")
    until("the first request", lambda: window.execute_script("return window.salts.length"))


@pytest.mark.parametrize("error", ["Bad gateway", {"code": 502}])
def test_a_proxys_error_keeps_the_draft(tmp_path: Path, window: WebDriver, error: object) -> None:
    """Let a proxy answer for the table once. The phone then reports a lost connection.

    The proxy's answer is JSON like the table's own refusals, with an error of another form.
    """
    errors = [{"error": error}]

    def fail_once() -> tuple[object, int] | None:
        is_order = request.path.endswith("/hand-in")
        return (errors.pop(), 502) if errors and is_order else None

    with service_on_still_clock(tmp_path) as (companion, url):
        app_of(companion.server).before_request(fail_once)
        sit_down_at_orders(window, companion, url)
        hand_in(window, "UUS")
        notice = window.find_element(By.ID, "said")
        until("the notice", lambda: notice.text == "No connection to the table: try again")
        assert not is_sealed(companion)
        tap(window, "#hand-in")
        until("the seal", lambda: is_sealed(companion))


def test_an_order_sent_again_has_the_same_salt(tmp_path: Path, window: WebDriver) -> None:
    """Hand in again after a lost answer. The table gets two requests, and must accept both.

    With the same salt they have the same receipt, so the table knows that they are one.
    """
    with service_on_still_clock(tmp_path) as (companion, url):
        hand_in_without_answer(window, companion, url, arrives_at_once=False)
        tap(window, "#hand-in")
        until("the answer", lambda: window.execute_script("return window.statuses.length"))
        assert window.execute_script("return window.statuses") == [200]
        first, second = window.execute_script("return window.salts")
        assert first == second


def test_an_order_taken_back_gets_another_salt(tmp_path: Path, window: WebDriver) -> None:
    """Take an order back and hand the same one in again, with another salt.

    Everybody sees receipts, so two equal ones would show that the order is the same. The phone must
    choose another salt although it never got the first receipt.
    """
    with service_on_still_clock(tmp_path) as (companion, url):
        hand_in_without_answer(window, companion, url, arrives_at_once=True)
        until("the seal", lambda: is_sealed(companion))
        tap(window, "[data-post$='/take-back']")
        until("the order taken back", lambda: not is_sealed(companion))
        until(
            "the orders in their slots",
            lambda: window.find_element(By.ID, "hand-in").text == "Hand in",
        )
        tap(window, "#hand-in")
        until("the seal", lambda: is_sealed(companion))
        first, second = window.execute_script("return window.salts")
        assert first != second


def test_a_draft_survives_a_restart(tmp_path: Path, window: WebDriver) -> None:
    """Restart the service. The page connects to the new one by itself, and still has its draft."""
    with service_on_still_clock(tmp_path) as (companion, url):
        sit_down_at_orders(window, companion, url)
        tap(window, ".order[data-letter='U']")
        port = companion.server.port
    until(
        "a note about the lost connection",
        lambda: window.find_element(By.ID, "lost").is_displayed(),
    )
    with service_on_still_clock(tmp_path, port=port):
        until("the end of the note", lambda: not window.find_element(By.ID, "lost").is_displayed())
        until("the draft", lambda: "2 missing" in window.find_element(By.ID, "hand-in").text)


def test_the_back_key_shows_the_current_state(tmp_path: Path, window: WebDriver) -> None:
    """Hand in, open the rules, and go back when the turn has gone on.

    The page must show the stage that hands carry out now, and no slots.
    """
    with service_on_still_clock(tmp_path) as (companion, url):
        moment = sit_down_at_orders(window, companion, url)
        hand_in(window, "UUS")
        wait_for_sign(window, "Waiting for lime")
        window.get(f"{url}/rules/outbuffered")
        companion.table.hand_in(Seat.NORTH, moment, "III")
        window.back()
        wait_for_sign(window, "Robot, a1 to a2")
        assert not window.find_elements(By.CSS_SELECTOR, ".order")


def test_two_tabs_of_a_seat_agree(tmp_path: Path, window: WebDriver) -> None:
    """Hand in by the second tab, and take back by the first one. Both must show it each time."""
    with service_on_still_clock(tmp_path) as (companion, url):
        # The first tab shows the first orders. Open the second one.
        sit_down_at_orders(window, companion, url)
        first = window.current_window_handle
        window.switch_to.new_window("tab")
        second = window.current_window_handle
        try:
            window.get(f"{url}/seat/south")
            wait_for_sign(window, "orders to go")
            hand_in(window, "UUS")
            wait_for_sign(window, "Waiting for lime")
            # The first tab shows that, too. It takes the orders back, which the second one shows.
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
