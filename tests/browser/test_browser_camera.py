"""The camera page in a real browser, beside a simulated table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webdriver import WebDriver
from served import served
from service import PHONE, WALL, Client, Served, browser, tap, until
from tour import dress
from window_tools import text_of

pytestmark = [pytest.mark.browser, pytest.mark.slow]
TABLET = (1024, 768)


@pytest.fixture(scope="module")
def window() -> Iterator[WebDriver]:
    with browser(TABLET, is_whole=True) as opened:
        yield opened


def as_host(window: WebDriver, service: Served) -> None:
    """Type the host key as a person does."""
    window.get(f"{service.url}/host")
    if window.find_elements(By.ID, "key"):
        window.find_element(By.ID, "key").send_keys(service.host_key)
        window.find_element(By.CSS_SELECTOR, "form button").click()
    until("the host's page", lambda: window.find_elements(By.ID, "options"))
    window.get_log("browser")  # type: ignore[attr-defined] # Chrome has it; the key was asked for with a 403


def label_of(window: WebDriver, selector: str) -> str:
    script = "return document.querySelector(arguments[0])?.getAttribute('aria-label') ?? ''"
    return str(window.execute_script(script, selector))


def pulled(window: WebDriver) -> int:
    """How many live pictures the page has asked for so far."""
    script = "return performance.getEntriesByType('resource').filter(each => each.name.endsWith('/frame.jpg')).length"
    return int(window.execute_script(script))


def test_the_page_follows_the_table(tmp_path: Path, window: WebDriver) -> None:
    with served(tmp_path, "outbuffered") as service:
        client = Client(service.url)
        until("orders", lambda: client.get("/api/view")["phase"] == "orders")
        as_host(window, service)
        until("the way to the page", lambda: window.find_elements(By.LINK_TEXT, "What it sees"))
        window.find_element(By.LINK_TEXT, "What it sees").click()
        until("the sign", lambda: text_of(window, "#camera-sign") == "The camera sees the board well")
        until("what is read", lambda: "purple robot a1" in label_of(window, "svg.seen"))
        script = "return document.getElementById('frame').naturalWidth"
        until("the live picture", lambda: window.execute_script(script) == 960)
        until("the photograph of the set-up", lambda: "Set-up" in text_of(window, "#camera-turns"))
        pieces = client.get("/workbench/state")["pieces"]
        robot = next(each["id"] for each in pieces if each["face"] == "purple robot")
        client.post("/workbench/piece", id=robot, square="b2")
        until("the piece on its new square", lambda: "purple robot b2" in label_of(window, "svg.seen"))
        client.post("/workbench/hand", square="b3")
        until("the hand", lambda: "Not read:" in label_of(window, "svg.seen"))
        until("two times at rest", lambda: len(window.find_elements(By.CSS_SELECTOR, "#camera-settled a")) >= 2)
        window.find_element(By.CSS_SELECTOR, "#camera-settled a").click()
        until("one frame, large", lambda: "What was read" in text_of(window, "main"))
        assert "purple flag" in text_of(window, "table.layout")
        severe = [entry for entry in window.get_log("browser") if entry["level"] == "SEVERE"]  # type: ignore[attr-defined] # Chrome has it
        assert severe == []


def test_no_picture_is_asked_for_while_nobody_looks(tmp_path: Path, window: WebDriver) -> None:
    with served(tmp_path, "outbuffered") as service:
        as_host(window, service)
        window.get(f"{service.url}/camera")
        until("some pictures", lambda: pulled(window) >= 3)
        tap(window, "#hold")
        assert window.find_element(By.ID, "hold").get_attribute("aria-pressed") == "true"
        window.execute_async_script("setTimeout(arguments[0], 400)")
        held = pulled(window)
        window.execute_async_script("setTimeout(arguments[0], 900)")
        assert pulled(window) == held
        tap(window, "#hold")
        until("pictures again", lambda: pulled(window) > held)
        window.execute_script("document.getElementById('camera-turns').scrollIntoView()")
        window.execute_script("document.body.style.paddingBottom = '2000px'; window.scrollTo(0, 3000)")
        window.execute_async_script("setTimeout(arguments[0], 600)")
        away = pulled(window)
        window.execute_async_script("setTimeout(arguments[0], 900)")
        assert pulled(window) == away, "the picture is out of sight"


def test_it_fits_every_screen(tmp_path: Path, window: WebDriver) -> None:
    """Nothing sticks out at the side, and what must be read is large enough to be."""
    with served(tmp_path, "scouts") as service:
        as_host(window, service)
        for size in (PHONE, TABLET, WALL):
            dress(window, size, "light")
            window.get(f"{service.url}/camera")
            until("the board", lambda: label_of(window, "svg.weak"))
            assert window.execute_script("return document.documentElement.scrollWidth") <= size[0]
            script = (
                "const least = selector => Math.min(...[...document.querySelectorAll(selector)].map(each =>"
                " parseFloat(getComputedStyle(each).fontSize) * (each.getScreenCTM?.().a ?? 1)));"
                "return [least('.camera :is(p, b, h2, a, button, span)'), least('svg.weak text')]"
            )
            words, figures = window.execute_script(script)
            assert words >= 13, size
            assert figures >= 9, size
            keys = window.execute_script(
                "return [...document.querySelectorAll('.camera .key')].map(each => each.getBoundingClientRect().height)"
            )
            assert min(keys) >= 48, size
        dress(window, TABLET, "light")


def test_the_keyboard_reaches_everything_in_reading_order(tmp_path: Path, window: WebDriver) -> None:
    with served(tmp_path, "outbuffered") as service:
        as_host(window, service)
        window.get(f"{service.url}/camera")
        until("a frame at rest", lambda: window.find_elements(By.CSS_SELECTOR, "#camera-settled a"))
        reached = []
        last = "Was something read wrong? Save a support bundle on the doctor’s page."
        for _ in range(12):
            window.switch_to.active_element.send_keys("\ue004")
            reached.append(window.execute_script("return document.activeElement.innerText.trim().split('\\n').at(-1)"))
            if reached[-1] == last:
                break
        assert reached[:3] == ["Host", "Table screen", "Pause"]
        assert reached[-1] == last
        assert window.find_element(By.ID, "camera-sign").get_attribute("aria-live") == "polite"
