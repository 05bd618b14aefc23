"""A tap is never lost: not while the page changes under the finger, and not before the script of a
key has come.
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

from companion.core.kit import Seat
from web.server.server import open_server

pytestmark = pytest.mark.browser

# Counts what a stream has brought, and taps what an address names before any module has run.
_COUNT_MESSAGES = """
window.messageCount = 0;
window.EventSource = class extends EventSource {
  constructor(...of) {
    super(...of);
    this.addEventListener('message', () => { window.messageCount += 1; });
  }
};
document.addEventListener('readystatechange', () => {
  if (location.hash && document.readyState === 'interactive')
    document.querySelector(location.hash).click();
});
"""
_CENTRE = """
const { left, top, width, height } = document.querySelector(arguments[0]).getBoundingClientRect();
return [left + width / 2, top + height / 2];
"""


@pytest.fixture(scope="module")
def window() -> Iterator[WebDriver]:
    with browser(PHONE) as opened:
        cdp(opened, "Network.enable")
        cdp(opened, "Page.addScriptToEvaluateOnNewDocument", source=_COUNT_MESSAGES)
        yield opened


@contextmanager
def south(folder: Path, window: WebDriver) -> Iterator[tuple[WebRig, str]]:
    """A table with its pages, and the address of South's, where the window's browser sits."""
    with open_web_rig(folder) as rig, open_server(rig.app, "127.0.0.1", 0) as server:
        server.start()
        url = f"http://127.0.0.1:{server.port}"
        cdp(window, "Network.clearBrowserCookies")
        for cookie in rig.sit("south", "Mara")._cookies.values():
            cdp(window, "Network.setCookie", name=cookie.key, value=cookie.value, url=url)
        yield rig, f"{url}/seat/south"
        window.get("about:blank")


def is_sealed(rig: WebRig) -> bool:
    return rig.table.view().seats[Seat.SOUTH].sealed_at is not None


def pointer(window: WebDriver, kind: str, at: tuple[float, float], is_down: bool) -> None:
    """Put down or lift a finger or a mouse button."""
    x, y = at
    if kind == "finger":
        points = [{"x": x, "y": y}] if is_down else []
        cdp(
            window,
            "Input.dispatchTouchEvent",
            type="touchStart" if is_down else "touchEnd",
            touchPoints=points,
        )
    else:
        what = "mousePressed" if is_down else "mouseReleased"
        cdp(window, "Input.dispatchMouseEvent", type=what, x=x, y=y, button="left", clickCount=1)


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
    """Something is told meanwhile: it stands above the keys, and all of them are made anew."""
    with south(tmp_path, window) as (rig, url):
        rig.sit("north", "Jonas")
        rig.start_game()
        window.get(url)
        wait_for_sign(window, "orders to go")
        until("the stream", lambda: window.execute_script("return window.messageCount"))
        before = window.execute_script("return window.messageCount")
        at = window.execute_script(_CENTRE, key)
        pointer(window, kind, at, True)
        rig.table.set_notice("power", "Low power.")
        until(
            "the notice has come",
            lambda: window.execute_script("return window.messageCount") > before,
        )
        pointer(window, kind, at, False)
        until("what the tap does", lambda: window.execute_script(has_worked))
        until(
            "the notice is shown",
            lambda: window.execute_script("return !!document.querySelector('.notice')"),
        )


def test_a_tap_waits_for_the_scripts(tmp_path: Path, window: WebDriver) -> None:
    with south(tmp_path, window) as (rig, url):
        rig.table.new_game("kahmate", {}, 1)
        window.get(f"{url}#commit")
        until("the placing is sealed", lambda: is_sealed(rig))


# ---- a page that is not whole, a browser that keeps nothing --------------------------------------


def lose_file(name: str, pages: int) -> Callable[[], Response | None]:
    """Lose a file so many times, as poor Wi-Fi does. A browser may ask twice for one page."""
    loads = [0]

    def lose() -> Response | None:
        loads[0] += request.path == "/seat/south"
        is_lost = request.path.endswith(f"/{name}") and loads[0] <= pages
        return Response(status=503) if is_lost else None

    return lose


@pytest.mark.parametrize("name", ["squares.js", "phone.css"])
def test_a_page_that_lost_a_part_loads_again(tmp_path: Path, window: WebDriver, name: str) -> None:
    with south(tmp_path, window) as (rig, url):
        rig.sit("north", "Jonas")
        rig.start_game()
        rig.app.before_request_funcs.setdefault(None, []).append(lose_file(name, 1))
        window.get(url)
        # how long it says so depends on the machine: the next test sees the words
        is_anew = "return performance.getEntriesByType('navigation')[0]?.type === 'reload'"
        until("it has loaded again", lambda: window.execute_script(is_anew))
        told = "return !!document.querySelector('#unloaded:not([hidden])')"
        until("nothing is lost any more", lambda: not window.execute_script(told))
        until(
            "the slots",
            lambda: window.execute_script("return !!document.querySelector('.slot .k')"),
        )
        window.execute_script("document.querySelector('.order[data-letter=\"U\"]').click()")
        until(
            "a key works",
            lambda: window.execute_script("return document.querySelector('.slot').dataset.letter"),
        )


def test_a_page_loads_again_only_once(tmp_path: Path, window: WebDriver) -> None:
    with south(tmp_path, window) as (rig, url):
        rig.app.before_request_funcs.setdefault(None, []).append(lose_file("seat.js", 99))
        window.get(url)
        until("it has loaded again", lambda: window.execute_script("return history.state?.again"))
        script = (
            "return performance.getEntriesByType('navigation')[0].type === 'reload'"
            " && !!document.querySelector('#unloaded:not([hidden])')"
        )
        until("it says so", lambda: window.execute_script(script))
        window.execute_script("window.isSame = true")
        window.execute_async_script("setTimeout(arguments[0], 2500)")
        assert window.execute_script("return window.isSame"), "it does not load again and again"


@pytest.mark.parametrize(
    "storage",
    [
        "Object.defineProperty(window, 'sessionStorage', "
        "{ get() { throw new DOMException('', 'SecurityError'); } })",
        "Storage.prototype.setItem = () => { throw new DOMException('', 'QuotaExceededError'); }",
    ],
    ids=["missing", "full"],
)
def test_orders_are_entered_where_a_browser_keeps_nothing(
    tmp_path: Path, window: WebDriver, storage: str
) -> None:
    added = cdp(window, "Page.addScriptToEvaluateOnNewDocument", source=storage)
    try:
        with south(tmp_path, window) as (rig, url):
            rig.sit("north", "Jonas")
            rig.start_game()
            window.get(url)
            wait_for_sign(window, "orders to go")
            for _ in range(3):
                window.execute_script("document.querySelector('.order[data-letter=\"U\"]').click()")
            tap(window, "#hand-in")
            until("the order is sealed", lambda: is_sealed(rig))
    finally:
        cdp(window, "Page.removeScriptToEvaluateOnNewDocument", identifier=added["identifier"])
