"""An evening in a browser: a lesson alone, two phones, a game to its end, other guests."""

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
_TOUCHED = "return matchMedia('(hover: none) and (pointer: coarse)').matches"


@pytest.fixture(scope="module")
def wall() -> Iterator[WebDriver]:
    with browser(WALL) as window:
        yield window


@pytest.fixture(scope="module")
def ann() -> Iterator[WebDriver]:
    """A phone that fingers alone can touch."""
    with browser(PHONE) as window:
        cdp(window, "Emulation.setTouchEmulationEnabled", enabled=True)
        yield window


@pytest.fixture(scope="module")
def ben() -> Iterator[WebDriver]:
    with browser(PHONE) as window:
        yield window


def phase(service: Service) -> str:
    return str(Client(service.url).get("/api/view")["phase"])


def to_orders(service: Service) -> None:
    """Set all pieces up, as quick hands do."""
    Client(service.url).post("/workbench/tidy")
    until("orders", lambda: phase(service) == "orders")


def is_home(window: WebDriver) -> bool:
    """Return whether the table screen offers all games."""
    return len(texts_of(window, ".rows .row > span > b")) >= 5


def by_menu(window: WebDriver, door: str) -> None:
    """Tap a key of the seat's menu that asks first. The second key is on the other side."""
    tap(window, "#menu summary")
    tap(window, f"[data-sure][data-post$='/{door}']")
    tap(window, "dialog [data-yes]")


def test_an_evening(tmp_path: Path, wall: WebDriver, ann: WebDriver, ben: WebDriver) -> None:
    with in_process_service(tmp_path) as service:
        # A fresh table: all games, a code for each side, nothing of the owner but a symbol.
        wall.get(service.url)
        wait_for_sign(wall, "Scan the code on your side")
        assert is_home(wall)
        assert len(wall.find_elements(By.CSS_SELECTOR, ".home .code .qr")) == 2
        page = text_of(wall, "#live")
        assert all(
            word not in page for word in ("Host", "Watch", "Print", "Workbench", service.host_key)
        )

        # Somebody alone learns a game at this very screen, and gets out of it again.
        tap(wall, ".rows [data-body*=outbuffered]")
        until("how to win", lambda: len(texts_of(wall, ".win-tiles b")) == 3)
        assert phase(service) == "lobby"
        tap(wall, "[name=lesson]")
        until("table and seat", lambda: wall.current_url.endswith("/here"))
        until("the lesson", lambda: phase(service) != "lobby")
        wall.find_element(By.CSS_SELECTOR, ".way-out [action^='/try/end'] button").click()
        until("the table screen", lambda: is_home(wall))
        assert wall.current_url == f"{service.url}/"
        wait_for_sign(wall, "Scan the code on your side")

        # Two guests sit down. Touching a game chooses it, on all pages alike; either of them starts
        # it.
        if ann.execute_script(_TOUCHED):
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

        # It ends; who stays may have it once more, and the way home is one tap.
        to_orders(service)
        by_menu(ben, "resign")
        until("the end", lambda: phase(service) == "over")
        tap(ann, ".other-games")
        until("home", lambda: is_home(wall))
        assert phase(service) == "lobby"

        # Other guests: nothing of the game before.
        tap(ann, ".game[data-body*=kahmate]")
        tap(ben, ".starts .go")
        until("the second game", lambda: phase(service) == "orders")
        service.post_as_host("abandon")
        until("home", lambda: is_home(wall))
        for guest in (ann, ben):
            by_menu(guest, "leave")
            until("the seat is left", lambda guest=guest: "/join" in guest.current_url)
        wait_for_sign(wall, "Scan the code on your side")
        assert "Nobody" not in text_of(wall, "#live")
        assert_no_errors(wall, ann, ben)
