"""Helpers: the steps of tests in real browsers.

They serve pages from the test's own process, seat players, enter orders, and read pages.
`begin_binmat` and what is about turns left are for BINMAT with a clock on two phones and a table
screen.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from flask import Flask
from selenium.webdriver.remote.webdriver import WebDriver
from service import Client, Service, sit_down, tap, until
from simulated_room import simulated
from tour import cdp

from companion.core.config import CameraSettings, WebSettings
from companion.service.app import Companion
from web.server.server import open_server

# South's phone, North's phone and the table screen.
Windows = tuple[WebDriver, WebDriver, WebDriver]


@contextmanager
def service_on_still_clock(folder: Path, **web: Any) -> Iterator[tuple[Companion, str]]:
    """Run the service in this process on a clock that only tests advance.

    Yield the service and its address. `web` has settings of its pages.
    """
    pages = WebSettings(**{"host": "127.0.0.1", "port": 0, **web})
    with simulated(folder, camera=CameraSettings(source="none"), web=pages) as companion:
        yield companion, f"http://127.0.0.1:{companion.server.port}"


@contextmanager
def serve(app: Flask) -> Iterator[str]:
    """Serve an application on a free port of this machine. Yield its address."""
    with open_server(app, "127.0.0.1", 0) as server:
        server.start()
        yield f"http://127.0.0.1:{server.port}"


def take_south_seat(window: WebDriver, url: str) -> None:
    """Take South's seat, give its cookie to the window's browser, and open the seat's page."""
    client = Client(url)
    client.post("/api/seat/south/take", name="Mara")
    cdp(window, "Network.clearBrowserCookies")
    for cookie in client.jar:
        cdp(window, "Network.setCookie", name=cookie.name, value=cookie.value, url=url)
    window.get(f"{url}/seat/south")


def enter(window: WebDriver, letters: str) -> None:
    """Tap the keys of these orders of Outbuffered, such as `UUS`."""
    for letter in letters:
        tap(window, f".order[data-letter='{letter}']")


def hand_in(window: WebDriver, letters: str) -> None:
    """Enter these orders of Outbuffered, such as `UUS`, and hand them in."""
    enter(window, letters)
    until("a complete action", lambda: "missing" not in text_of(window, "#hand-in"))
    tap(window, "#hand-in")


def begin_binmat(service: Service, windows: Windows, way: str, **options: Any) -> Client:
    """Seat both players, start a game of BINMAT as the owner, and open all three pages.

    The clock of the game does not run yet. `way` is `full` for the full game on the phones, or
    `referee` for a game with real cards. Return a client, which may do what the table screen may.
    """
    south, north, wall = windows
    client = Client(service.url)
    sit_down(south, service, "south", "Mara")
    sit_down(north, service, "north", "Jonas")
    service.new_game("binmat", way=way, **{"seconds": 60.0, **options})
    wall.get(service.url)
    for window in windows:
        window.get_log("browser")  # type: ignore[attr-defined] # Chrome has it; this empties the log
    return client


def turns_left(client: Client) -> int:
    """Return how many of BINMAT's 110 turns are left."""
    return int(client.get("/api/view")["tableau"]["count"]["number"])


def wait_for_turns_left(client: Client, turns: int) -> None:
    until(f"{turns} turns left", lambda: turns_left(client) == turns)


def wait_for_turns_on_page(window: WebDriver, turns: int) -> None:
    """Wait until the page shows this number of turns left, and then until its keys take taps.

    For a moment after each turn, the keys take no taps.
    """
    script = "return document.querySelector('.turns .figures, .top > span b')?.textContent"
    until(f"“{turns} turns left” on the page", lambda: window.execute_script(script) == str(turns))
    # the first call of this script notes the time, and later calls compare it with theirs
    until(
        "the end of the keys' rest",
        lambda: window.execute_script(
            "return performance.now() - (window.turnShownMs ??= performance.now()) > 350"
        ),
    )
    window.execute_script("delete window.turnShownMs")


def assert_no_errors(*windows: WebDriver) -> None:
    """Require that the windows have logged no error since their logs were read the last time.

    Refusals of actions that came late are allowed: a test may tap while the game goes on.
    """
    for window in windows:
        severe = [entry for entry in window.get_log("browser") if entry["level"] == "SEVERE"]  # type: ignore[attr-defined] # Chrome has it
        assert [
            entry["message"] for entry in severe if "409 (CONFLICT)" not in entry["message"]
        ] == []


def text_of(window: WebDriver, selector: str) -> str:
    """Return the visible text of the first element, or an empty text if there is none."""
    return str(
        window.execute_script(
            "return document.querySelector(arguments[0])?.innerText ?? ''", selector
        )
    )


def texts_of(window: WebDriver, selector: str) -> list[str]:
    """Return the visible texts of all elements that match a selector."""
    script = "return [...document.querySelectorAll(arguments[0])].map(part => part.innerText)"
    return list(window.execute_script(script, selector))
