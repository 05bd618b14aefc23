"""Whoever taps twice does nothing that cannot be undone, and loses nothing: nothing new comes under the finger."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from selenium.webdriver.remote.webdriver import WebDriver
from service import PHONE, browser, says, until
from tour import cdp
from web_fixtures import HOST_KEY, Place, open_place

from companion.core.kit import SEATS, Seat
from companion.table.session import Phase
from web.server.server import serve

pytestmark = pytest.mark.browser

_KEYS = """
if (arguments[0]) document.querySelector('#menu').setAttribute('open', '');
return [...document.querySelectorAll('button.key:not(.off, :disabled)')].map(key => {
  const { left, right, top, bottom } = key.getBoundingClientRect();
  const [x, y] = [(left + right) / 2, (top + bottom) / 2];
  return key.contains(document.elementFromPoint(x, y)) ? [x, y, key.textContent.trim()] : null;
}).filter(Boolean);
"""
_PAUSE = "setTimeout(arguments[1], arguments[0])"
GAPS_MS = (100, 300, 650, 1000)
PATIENCE_MS = 500
REST_MS = 750


@pytest.fixture(scope="module")
def window() -> Iterator[WebDriver]:
    with browser(PHONE) as opened:
        cdp(opened, "Network.enable")
        yield opened


@contextmanager
def seated(folder: Path, window: WebDriver) -> Iterator[tuple[Place, str]]:
    """A table with both seats taken; the window's browser is South's and the host's."""
    with open_place(folder) as place, serve(place.app, "127.0.0.1", 0) as server:
        server.start()
        url = f"http://127.0.0.1:{server.port}"
        cdp(window, "Network.clearBrowserCookies")
        guest = place.sit("south", "Mara")
        guest.post("/host", data={"key": HOST_KEY})
        give_cookies(window, guest, url)
        place.sit("north", "Jonas")
        yield place, url
        window.get("about:blank")


def give_cookies(window: WebDriver, guest: FlaskClient, url: str) -> None:
    for cookie in guest._cookies.values():
        cdp(window, "Network.setCookie", name=cookie.key, value=cookie.value, url=url)


def tap(window: WebDriver, at: tuple[float, float]) -> None:
    cdp(
        window,
        "Input.dispatchTouchEvent",
        type="touchStart",
        touchPoints=[{"x": at[0], "y": at[1]}],
    )
    cdp(window, "Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])


def tap_twice(window: WebDriver, at: tuple[float, float], gap_ms: int) -> None:
    tap(window, at)
    window.execute_async_script(_PAUSE, gap_ms)
    tap(window, at)
    window.execute_async_script(_PAUSE, PATIENCE_MS)


def to_game(place: Place, name: str, options: dict[str, Any]) -> None:
    """A game whose first action is awaited, with its clock running."""
    if place.table.view().phase not in (Phase.LOBBY, Phase.OVER):
        place.table.abandon()
    place.table.new_game(name, options, 1)
    view = place.table.view()
    if view.phase is Phase.SETUP:
        place.table.confirm("host", view.moment, view.turn.stage)
    for _ in range(10 if name == "scouts" else 0):
        moment, seats = place.table.view().moment, place.table.view().seats
        seat = next(seat for seat in SEATS if seats[seat].awaited)
        place.table.hand_in(seat, moment, place.table.coaching.plays(seat, moment)[0].text)
        while (view := place.table.view()).phase is Phase.STAGES:
            place.table.confirm("host", view.moment, view.turn.stage)
    if (clock := place.table.view().time.clock) and clock.paused:
        place.table.resume("host")


def is_whole(place: Place) -> bool:
    """Is a game on, with everybody in his place?"""
    view = place.table.view()
    return view.phase not in (Phase.LOBBY, Phase.OVER) and all(
        view.seats[seat].name for seat in SEATS
    )


GAMES = [
    ("outbuffered", {}),
    ("scouts", {}),
    ("kahmate", {}),
    ("arena", {}),
    ("binmat", {"way": "clock"}),
]


@pytest.mark.parametrize(("name", "options"), GAMES)
@pytest.mark.parametrize(
    ("path", "menu"),
    [("/seat/south", False), ("/seat/south", True), ("/?screen", False), ("/host", False)],
)
def test_no_key_ends_anything_when_it_is_tapped_twice(
    tmp_path: Path, window: WebDriver, name: str, options: dict[str, Any], path: str, menu: bool
) -> None:
    with seated(tmp_path, window) as (place, url):
        number = 0
        while True:
            if not is_whole(place) or place.table.view().turn.number != 1 or number == 0:
                to_game(place, name, options)
            window.get(url + path)
            until(
                "the page",
                lambda: window.execute_script("return document.readyState === 'complete'"),
            )
            keys = window.execute_script(_KEYS, menu)
            if number == 0:
                keys = until("its first key", lambda: window.execute_script(_KEYS, menu))
            window.execute_async_script(_PAUSE, REST_MS if menu else 0)
            if number >= len(keys):
                break
            x, y, words = keys[number]
            tap_twice(window, (x, y), GAPS_MS[number % len(GAPS_MS)])
            assert is_whole(place), words
            number += 1
        assert number


_CENTRE = """
const { left, top, width, height } = document.querySelector(arguments[0]).getBoundingClientRect();
return [left + width / 2, top + height / 2];
"""


def slots(window: WebDriver) -> str:
    return str(
        window.execute_script(
            "return [...document.querySelectorAll('.slot')].map(s => s.dataset.letter).join('')"
        )
    )


@pytest.mark.parametrize("gap_ms", GAPS_MS)
def test_handing_in_twice_loses_no_order(tmp_path: Path, window: WebDriver, gap_ms: int) -> None:
    with seated(tmp_path, window) as (place, url):
        place.to_orders()
        window.get(f"{url}/seat/south")
        says(window, "orders to go")
        for letter in "URU":
            tap(window, window.execute_script(_CENTRE, f".order[data-letter='{letter}']"))
        until("three orders", lambda: slots(window) == "URU")
        tap_twice(window, window.execute_script(_CENTRE, "#hand-in"), gap_ms)
        assert place.table.view(Seat.SOUTH).own.sealed.action == "URU"  # type: ignore[union-attr]
        until(
            "the way back",
            lambda: window.execute_script("return !!document.querySelector('#take-back')"),
        )
        window.execute_async_script(_PAUSE, REST_MS)
        tap(window, window.execute_script(_CENTRE, "#take-back"))
        until("they are back", lambda: slots(window) == "URU")


def test_a_question_is_answered_on_the_other_side_and_closes_by_itself(
    tmp_path: Path, window: WebDriver
) -> None:
    with seated(tmp_path, window) as (place, url):
        place.to_orders()
        window.get(f"{url}/seat/south")
        says(window, "orders to go")
        keys = window.execute_script(_KEYS, True)
        window.execute_async_script(_PAUSE, REST_MS)
        at = next((x, y) for x, y, words in keys if words == "Resign")
        tap(window, at)
        until(
            "the question",
            lambda: window.execute_script("return !!document.querySelector('dialog[open]')"),
        )
        assert window.execute_script("return document.activeElement.textContent") == "Keep playing"
        yes = window.execute_script(_CENTRE, ".sure [data-yes]")
        middle = window.execute_script("return innerWidth / 2")
        assert (yes[0] < middle) is not (at[0] < middle), (yes, at, middle)
        tap(window, yes)
        window.execute_async_script(_PAUSE, PATIENCE_MS)
        assert is_whole(place), "it rests at first"
        until(
            "it has closed",
            lambda: not window.execute_script("return !!document.querySelector('dialog[open]')"),
        )
        window.execute_script(_KEYS, True)
        window.execute_async_script(_PAUSE, REST_MS)
        tap(window, at)
        window.execute_async_script(_PAUSE, REST_MS)
        tap(window, yes)
        until("South has resigned", lambda: place.table.view().phase is Phase.OVER)


def test_a_second_tab_has_the_same_slots(tmp_path: Path, window: WebDriver) -> None:
    with seated(tmp_path, window) as (place, url):
        place.to_orders()
        window.get(f"{url}/seat/south")
        says(window, "orders to go")
        for letter in "UR":
            tap(window, window.execute_script(_CENTRE, f".order[data-letter='{letter}']"))
        until("two orders", lambda: slots(window) == "UR")
        first = window.current_window_handle
        window.switch_to.new_window("tab")
        try:
            window.get(f"{url}/seat/south")
            until("the same two", lambda: slots(window) == "UR")
        finally:
            window.close()
            window.switch_to.window(first)
