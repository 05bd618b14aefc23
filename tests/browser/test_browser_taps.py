"""Test in a browser that no tap is lost, even if scripts come late or a part of a page is missing.

The pages are South's, and the key that is tapped enters the order "up" (U) of Outbuffered. They are
served in this process, from a table with a fake clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from flask import Response, request
from selenium.webdriver.remote.webdriver import WebDriver
from service import PHONE, browser, tap, until, wait_for_sign
from tour import cdp
from web_fixtures import WebRig, open_web_rig
from window_tools import serve

from companion.core.kit import Seat

pytestmark = pytest.mark.browser

# Counts the messages of streams. Also clicks the key that the address names after `#`, before any
# module of the page has run.
_COUNT_MESSAGES_AND_CLICK_EARLY = """
window.messageCount = 0;
window.EventSource = class extends EventSource {
  constructor(...options) {
    super(...options);
    this.addEventListener('message', () => { window.messageCount += 1; });
  }
};
document.addEventListener('readystatechange', () => {
  if (location.hash && document.readyState === 'interactive')
    document.querySelector(location.hash).click();
});
"""
# Returns x and y of the centre of an element.
_CENTRE = """
const { left, top, width, height } = document.querySelector(arguments[0]).getBoundingClientRect();
return [left + width / 2, top + height / 2];
"""


@pytest.fixture(scope="module")
def window() -> Iterator[WebDriver]:
    with browser(PHONE) as opened:
        cdp(opened, "Network.enable")
        cdp(opened, "Page.addScriptToEvaluateOnNewDocument", source=_COUNT_MESSAGES_AND_CLICK_EARLY)
        yield opened


@contextmanager
def open_south_page(folder: Path, window: WebDriver) -> Iterator[tuple[WebRig, str]]:
    """Open a table and give South's seat to the window. Yield the rig and the seat's address."""
    with open_web_rig(folder) as rig, serve(rig.app) as url:
        cdp(window, "Network.clearBrowserCookies")
        for cookie in rig.sit("south", "Mara")._cookies.values():
            cdp(window, "Network.setCookie", name=cookie.key, value=cookie.value, url=url)
        yield rig, f"{url}/seat/south"
        window.get("about:blank")


def is_sealed(rig: WebRig) -> bool:
    return rig.table.view().seats[Seat.SOUTH].sealed_at is not None


def move_pointer(
    window: WebDriver, kind: str, place: tuple[float, float], *, is_down: bool
) -> None:
    """Press or release a finger or a mouse button at a place."""
    x, y = place
    if kind == "finger":
        points = [{"x": x, "y": y}] if is_down else []
        cdp(
            window,
            "Input.dispatchTouchEvent",
            type="touchStart" if is_down else "touchEnd",
            touchPoints=points,
        )
    else:
        event = "mousePressed" if is_down else "mouseReleased"
        cdp(window, "Input.dispatchMouseEvent", type=event, x=x, y=y, button="left", clickCount=1)


@pytest.mark.parametrize(
    ("kind", "key", "has_worked"),
    [
        (
            "finger",
            ".order[data-letter='U']",
            "return document.querySelector('.slot').dataset.letter === 'U'",
        ),
        ("mouse", ".slot", "return document.querySelector('.slot').matches('.chosen')"),
    ],
)
def test_news_waits_for_a_finger_to_lift(
    tmp_path: Path, window: WebDriver, kind: str, key: str, has_worked: str
) -> None:
    """Send news while a key is pressed. The page must not draw its keys anew before the release.

    If it did, the tap would be lost: the released key would not be the one that was pressed. The
    news is a notice above the keys, so it also moves all of them.
    """
    with open_south_page(tmp_path, window) as (rig, url):
        rig.sit("north", "Jonas")
        rig.start_game()
        window.get(url)
        wait_for_sign(window, "orders to go")
        until("the stream", lambda: window.execute_script("return window.messageCount"))
        before = window.execute_script("return window.messageCount")
        place = window.execute_script(_CENTRE, key)

        # Press the key, and wait until the news has arrived, before the key is released.
        move_pointer(window, kind, place, is_down=True)
        rig.table.set_notice("power", "Low power.")
        until(
            "the message with the notice",
            lambda: window.execute_script("return window.messageCount") > before,
        )

        # The tap works, and then the page shows the news.
        move_pointer(window, kind, place, is_down=False)
        until("the effect of the tap", lambda: window.execute_script(has_worked))
        until(
            "the notice on the page",
            lambda: window.execute_script("return !!document.querySelector('.notice')"),
        )


def test_a_tap_waits_for_the_scripts(tmp_path: Path, window: WebDriver) -> None:
    """Click the key that hands in a placing as soon as the page has it, and before its scripts.

    The click must be kept until the scripts can act on it.
    """
    with open_south_page(tmp_path, window) as (rig, url):
        rig.table.new_game("kahmate", seed=1)
        window.get(f"{url}#commit")
        until("the seal", lambda: is_sealed(rig))


# ---- lost files, and browsers that store nothing -------------------------------------------------


def lose_file(name: str, page_loads: int) -> Callable[[], Response | None]:
    """Return a handler that loses a file in the first loads of South's page, as poor Wi-Fi does.

    It counts loads of the page and not requests for the file, because a browser may request a file
    twice for one page.
    """
    pages_loaded: list[str] = []

    def lose() -> Response | None:
        if request.path == "/seat/south":
            pages_loaded.append(request.path)
        is_lost = request.path.endswith(f"/{name}") and len(pages_loaded) <= page_loads
        return Response(status=503) if is_lost else None

    return lose


@pytest.mark.parametrize("name", ["squares.js", "phone.css"])
def test_a_page_that_lost_a_file_reloads(tmp_path: Path, window: WebDriver, name: str) -> None:
    """Lose a script that makes keys work, or a style sheet. The page must load itself again."""
    with open_south_page(tmp_path, window) as (rig, url):
        rig.sit("north", "Jonas")
        rig.start_game()
        rig.app.before_request_funcs.setdefault(None, []).append(lose_file(name, page_loads=1))
        window.get(url)
        # the notice about it may be gone too soon to be seen here: the next test looks for it
        is_reloaded = "return performance.getEntriesByType('navigation')[0]?.type === 'reload'"
        until("the reload", lambda: window.execute_script(is_reloaded))

        # After that it is complete, and a tap enters an order.
        has_notice = "return !!document.querySelector('#unloaded:not([hidden])')"
        until("a page without the notice", lambda: not window.execute_script(has_notice))
        until(
            "the slots",
            lambda: window.execute_script("return !!document.querySelector('.slot .k')"),
        )
        window.execute_script("document.querySelector('.order[data-letter=\"U\"]').click()")
        until(
            "an order in its slot",
            lambda: window.execute_script("return document.querySelector('.slot').dataset.letter"),
        )


def test_a_page_reloads_only_once(tmp_path: Path, window: WebDriver) -> None:
    """Lose a script each time. The page shows a notice after its reload, and stays as it is.

    If it went on loading itself, nobody could read the notice.
    """
    with open_south_page(tmp_path, window) as (rig, url):
        rig.app.before_request_funcs.setdefault(None, []).append(
            lose_file("seat.js", page_loads=99)
        )
        window.get(url)
        until("the reload", lambda: window.execute_script("return history.state?.again"))
        script = (
            "return performance.getEntriesByType('navigation')[0].type === 'reload'"
            " && !!document.querySelector('#unloaded:not([hidden])')"
        )
        until("the notice", lambda: window.execute_script(script))
        # A page that loads again loses this mark. It would do so within 1.5 s.
        window.execute_script("window.isSame = true")
        window.execute_async_script("setTimeout(arguments[0], 2500)")
        assert window.execute_script("return window.isSame"), "the page has loaded again"


@pytest.mark.parametrize(
    "storage",
    [
        "Object.defineProperty(window, 'sessionStorage', "
        "{ get() { throw new DOMException('', 'SecurityError'); } })",
        "Storage.prototype.setItem = () => { throw new DOMException('', 'QuotaExceededError'); }",
    ],
    ids=["missing", "full"],
)
def test_orders_need_no_storage_of_the_browser(
    tmp_path: Path, window: WebDriver, storage: str
) -> None:
    """Let the storage fail in which pages keep drafts. Some browsers forbid it, or give no room.

    Orders must be entered and handed in nevertheless.
    """
    added = cdp(window, "Page.addScriptToEvaluateOnNewDocument", source=storage)
    try:
        with open_south_page(tmp_path, window) as (rig, url):
            rig.sit("north", "Jonas")
            rig.start_game()
            window.get(url)
            wait_for_sign(window, "orders to go")
            for _ in range(3):
                window.execute_script("document.querySelector('.order[data-letter=\"U\"]').click()")
            tap(window, "#hand-in")
            until("the seal", lambda: is_sealed(rig))
    finally:
        cdp(window, "Page.removeScriptToEvaluateOnNewDocument", **added)
