"""Test an evening of guests in browsers: a lesson for one, then two players and their games.

The service runs in this process, with the table screen as its own screen.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from in_process import in_process_service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webdriver import WebDriver
from service import PHONE, WALL, Client, Service, browser, sit_down, tap, until, wait_for_sign
from tour import cdp
from window_tools import assert_no_errors, text_of, texts_of

pytestmark = pytest.mark.browser
_IS_TOUCHSCREEN = "return matchMedia('(hover: none) and (pointer: coarse)').matches"


@pytest.fixture(scope="module")
def wall() -> Iterator[WebDriver]:
    with browser(WALL) as window:
        yield window


@pytest.fixture(scope="module")
def ann() -> Iterator[WebDriver]:
    """A phone with a touchscreen, and without a mouse."""
    with browser(PHONE) as window:
        cdp(window, "Emulation.setTouchEmulationEnabled", enabled=True)
        yield window


@pytest.fixture(scope="module")
def ben() -> Iterator[WebDriver]:
    with browser(PHONE) as window:
        yield window


def phase(service: Service) -> str:
    return str(Client(service.url).get("/api/view")["phase"])


def set_up_pieces(service: Service) -> None:
    """Put all pieces where the game wants them, and wait for its first orders."""
    Client(service.url).post("/workbench/tidy")
    until("orders", lambda: phase(service) == "orders")


def shows_all_games(window: WebDriver) -> bool:
    """Return whether the table screen offers all five games."""
    return len(texts_of(window, ".rows .row > span > b")) >= 5


def choose_in_menu(window: WebDriver, action: str) -> None:
    """Tap a key of the seat's menu that asks for a confirmation, and confirm."""
    tap(window, "#menu summary")
    tap(window, f"[data-sure][data-post$='/{action}']")
    tap(window, "dialog [data-yes]")


def test_guests_learn_play_and_leave(
    tmp_path: Path, wall: WebDriver, ann: WebDriver, ben: WebDriver
) -> None:
    """Let guests who have never seen the table find their way by the table screen and two phones.

    All pages must follow each other, and nobody may need the owner.
    """
    with in_process_service(tmp_path) as service:
        # A new table shows all games, a code for each side, and none of the owner's words.
        wall.get(service.url)
        wait_for_sign(wall, "Scan the code on your side")
        assert shows_all_games(wall)
        assert len(wall.find_elements(By.CSS_SELECTOR, ".home .code .qr")) == 2
        page = text_of(wall, "#live")
        for word in ("Host", "Watch", "Print", "Workbench", service.host_key):
            assert word not in page

        # A single guest begins a lesson on the table screen itself, and leaves it again. The page
        # `/here` shows table and seat side by side for that.
        tap(wall, ".rows [data-body*=outbuffered]")
        until("how to win", lambda: len(texts_of(wall, ".win-tiles b")) == 3)
        assert phase(service) == "lobby"
        tap(wall, "[name=lesson]")
        until("the page of table and seat", lambda: wall.current_url.endswith("/here"))
        until("the lesson", lambda: phase(service) != "lobby")
        wall.find_element(By.CSS_SELECTOR, ".way-out [action^='/try/end'] button").click()
        until("the table screen", lambda: shows_all_games(wall))
        assert wall.current_url == f"{service.url}/"
        wait_for_sign(wall, "Scan the code on your side")

        # Two guests sit down. A tap on a game chooses it on all pages. Either guest may start it.
        assert ann.execute_script(_IS_TOUCHSCREEN)
        ann.get(service.url)
        until("the join page", lambda: ann.current_url.endswith("/join"))
        sit_down(ann, service, "south", "Ann")
        wait_for_sign(wall, "Scan here to play against Ann")
        tap(wall, ".rows [data-body*=scouts]")
        wait_for_sign(ann, "Waiting for the other side")
        sit_down(ben, service, "north", "Ben")
        wait_for_sign(wall, "Start Scouts")
        wait_for_sign(ben, "Ready for Scouts?")
        tap(ben, ".other-games")
        wait_for_sign(ann, "Choose a game")
        tap(ann, ".game[data-body*=outbuffered]")
        wait_for_sign(wall, "Start Outbuffered")
        tap(wall, "#sign")
        until("the game", lambda: phase(service) != "lobby")

        # The game ends. One tap leads back to all games.
        set_up_pieces(service)
        choose_in_menu(ben, "resign")
        until("the end", lambda: phase(service) == "over")
        tap(ann, ".other-games")
        until("all games again", lambda: shows_all_games(wall))
        assert phase(service) == "lobby"

        # They begin another game, the owner ends it, and both leave. Nothing of them remains.
        tap(ann, ".game[data-body*=kahmate]")
        tap(ben, ".starts .go")
        until("the second game", lambda: phase(service) == "orders")
        service.post_as_host("abandon")
        until("all games after the second", lambda: shows_all_games(wall))
        for guest in (ann, ben):
            choose_in_menu(guest, "leave")
            until("the seat is left", lambda guest=guest: "/join" in guest.current_url)
        wait_for_sign(wall, "Scan the code on your side")
        assert "Nobody" not in text_of(wall, "#live")
        assert_no_errors(wall, ann, ben)
