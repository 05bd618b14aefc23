"""The clock of a game in real browsers: two phones and the table screen, what they show, and by which time."""

from __future__ import annotations

import time
from contextlib import ExitStack, closing
from pathlib import Path
from statistics import median
from typing import Any

import cv2
import numpy as np
import pytest
from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webdriver import WebDriver
from served import served
from service import WALL, Lag, press_space, running, says, tap, until, wait
from window_tools import Windows, begin, left, no_errors, reaches, shows, text_of

pytestmark = pytest.mark.browser
RING_S = 0.05
"""How far a ring may be from the service's clock."""


# ---- the clock ---------------------------------------------------------------------------------------------------------


def test_the_clock_on_two_phones_and_the_table_screen(tmp_path: Path, windows: Windows) -> None:
    south, north, wall = windows
    with served(tmp_path) as service:
        client = begin(service, windows, "referee")
        says(wall, "Start the clock")
        wall.execute_script(
            "window.shrunk = []; addEventListener('animationstart', at => shrunk.push(`${at.animationName} ${at.target.id}`))"
        )
        press_space(wall)
        says(south, "Your turn")
        shows(south, 110)
        tap(south, ".key.large.go")
        says(north, "Your turn")
        assert "Waiting for Jonas" in text_of(south, ".key.large")
        shows(north, 109)
        tap(north, ".key.large.go")
        shows(wall, 108)
        press_space(wall)
        reaches(client, 107)
        shows(wall, 107)
        wall.find_element(By.CSS_SELECTOR, ".whole").click()
        reaches(client, 106)
        shows(south, 106)
        tap(south, ".row-keys [data-post$='/pause']")
        says(wall, "Resume")
        each_once = [f"spent tick-{number}" for number in range(110, 105, -1)]
        until("each tick to shrink", lambda: wall.execute_script("return shrunk") == each_once)
        assert text_of(wall, "button.sign") == "Resume"
        before = client.get("/api/view")["clock"]["left_s"]
        south.refresh()
        says(south, "Resume")
        shows(south, 106)
        tap(south, ".key.large[data-post$='/resume']")
        until("the clock to run", lambda: client.get("/api/view")["clock"]["due_s"])
        assert client.get("/api/view")["clock"]["left_s"] == before
        tap(south, ".key.large.go:not([data-post$='/resume'])")
        says(north, "Your turn")
        tap(south, ".row-keys [data-post$='/take-back']")
        says(south, "Your turn")
        assert left(client) == 106
        until("the key", lambda: south.find_elements(By.CSS_SELECTOR, ".key.large.go"))
        shows(wall, 106)
        tap(wall, ".keysets.right .key")
        says(wall, "Both: fan your cards face up")
        tap(wall, ".keysets.left [data-post$='/back']")
        says(wall, "Jonas wants the last move back")
        tap(south, ".act [data-post$='/ask-back']")
        says(wall, "Resume")
        assert left(client) == 106
        no_errors(*windows)


@pytest.mark.alone
def test_a_finger_that_bounces_ends_one_turn(tmp_path: Path, windows: Windows) -> None:
    *_, wall = windows
    with served(tmp_path) as service:
        client = begin(service, windows, "referee")
        says(wall, "Start the clock")
        press_space(wall)
        shows(wall, 110)
        until(
            "its rest",
            lambda: not wall.execute_script("return restOf(document.querySelector('.whole'))"),
        )
        chain = ActionChains(wall, duration=0).move_to_element(
            wall.find_element(By.CSS_SELECTOR, ".whole")
        )
        for _ in range(4):
            chain.click().pause(0.04)
        chain.perform()
        reaches(client, 109)
        shows(wall, 109)
        assert left(client) == 109


def test_nothing_moves_when_the_turn_passes_or_the_clock_stops(
    tmp_path: Path, windows: Windows
) -> None:
    south, _, wall = windows
    places = (
        "return [...document.querySelectorAll(arguments[0])].map(each => { const { x, y, width, height } ="
        " each.getBoundingClientRect(); return [x, y, width, height].map(Math.round) })"
    )
    parts = {
        south: ".sign, .dial, .row-keys .key, .key.large",
        wall: ".sign, .dial, .half, .keysets .key, .turns",
    }
    with served(tmp_path) as service:
        client = begin(service, windows, "referee")
        says(wall, "Start the clock")
        seen: dict[WebDriver, list[Any]] = {south: [], wall: []}

        def look() -> None:
            for window, selector in parts.items():
                seen[window].append(window.execute_script(places, selector))

        client.post("/api/table/resume")
        says(wall, "Mara: your turn")
        says(south, "Your turn")
        look()
        client.post("/api/table/act", moment=client.get("/api/view")["moment"], action=".")
        says(wall, "Jonas: your turn")
        says(south, "Jonas: your turn")
        look()
        client.post("/api/table/pause")
        says(wall, "Resume")
        says(south, "Resume")
        look()
        for window in parts:
            assert seen[window][0] == seen[window][1] == seen[window][2]


def ink_height(window: WebDriver) -> int:
    """Height in px of what is drawn of the big number, in the picture that the screen shows."""
    box = window.execute_script(
        "return document.querySelector('.turns').getBoundingClientRect().toJSON()"
    )
    picture = cv2.imdecode(
        np.frombuffer(window.get_screenshot_as_png(), np.uint8), cv2.IMREAD_GRAYSCALE
    )
    unit = min(box["width"], box["height"]) / 720
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    inside = picture[
        round(y - 190 * unit) : round(y + 135 * unit), round(x - 150 * unit) : round(x + 150 * unit)
    ]
    ground = int(np.median(inside[:3]))
    rows = np.flatnonzero((np.abs(inside.astype(int) - ground) > 60).any(axis=1))
    assert rows[0] > 0
    assert rows[-1] < len(inside) - 1
    return int(rows[-1] - rows[0] + 1)


def test_the_big_number_has_a_quarter_of_the_screens_height(
    tmp_path: Path, windows: Windows
) -> None:
    *_, wall = windows
    with served(tmp_path) as service:
        for way, turns in (("full", 63), ("referee", 998)):
            service.new_game("binmat", way=way, turns=turns, seconds=600.0)
            service.host("resume")
            wall.get(service.url)
            shows(wall, turns)
            number = wall.execute_script(
                "const text = document.querySelector('.turns .figures'); return [text.getBoundingClientRect().height,"
                " text.getBoundingClientRect().width, text.closest('svg').getBoundingClientRect().height]"
            )
            assert number[0] >= WALL[1] / 4
            assert number[1] < 560 / 720 * number[2]
            assert ink_height(wall) >= WALL[1] / 4
            service.host("abandon")


# ---- time --------------------------------------------------------------------------------------------------------------

WRONG_DATE = """
const real = Date;
Date = class extends real {
  constructor(...given) { if (given.length) super(...given); else super(real.now() + 437000); }
  static now() { return real.now() + 437000; }
};
"""


def ring_error_s(window: WebDriver) -> float:
    """How far the ring is from the service's clock, which is this machine's monotonic one."""
    script = (
        "const ring = document.querySelector('[data-limit]'); const { due, limit } = ring.dataset;"
        "return [due, limit, ring.querySelector('.sweep').getAttribute('stroke-dasharray').split(' ')[0]]"
    )
    before_s = time.monotonic()
    due_s, limit_s, dash = map(float, window.execute_script(script))
    after_s = time.monotonic()
    shown_s = due_s - dash / 1000 * limit_s
    return max(before_s - shown_s, shown_s - after_s, 0.0)


@pytest.mark.alone
def test_rings_follow_the_services_clock_not_the_phones(tmp_path: Path, windows: Windows) -> None:
    """The browsers' dates are seven minutes wrong, and every message takes 20 to 120 ms, each another time."""
    with (
        running(tmp_path, "--simulate", "--port", "0") as service,
        closing(Lag(service.port)) as lag,
        ExitStack() as after,
    ):
        client = begin(service, windows, "referee", seconds=30.0)
        client.post("/api/table/resume")
        for window, path in zip(windows, ("/watch", "/watch", "/"), strict=True):
            wrong = window.execute_cdp_cmd(
                "Page.addScriptToEvaluateOnNewDocument", {"source": WRONG_DATE}
            )  # type: ignore[attr-defined] # Chrome has it
            after.callback(
                window.execute_cdp_cmd, "Page.removeScriptToEvaluateOnNewDocument", wrong
            )  # type: ignore[attr-defined] # Chrome has it
            window.get(lag.url + path)
        for window in windows:
            assert abs(window.execute_script("return Date.now()") / 1000 - time.time()) > 400
            until("the time", lambda window=window: ring_error_s(window) < RING_S)
        wait(2.5)  # the eight trips of a comparison
        errors = [median(ring_error_s(window) for _ in range(8)) for window in windows]
        assert max(errors) < RING_S, errors
        for window in windows:
            window.get("about:blank")


FELT = "window.felt = []; navigator.vibrate = length => { window.felt.push(length); return true; }"


@pytest.mark.alone
def test_a_phone_is_felt_when_its_turn_comes_and_in_the_last_two_seconds(
    tmp_path: Path, windows: Windows
) -> None:
    south, north, wall = windows
    with served(tmp_path) as service:
        client = begin(service, windows, "referee", seconds=4.0, timeout="alarm")
        for window in (south, north):
            window.execute_script(FELT)
            ActionChains(window).move_to_element(
                window.find_element(By.CSS_SELECTOR, ".sign")
            ).click().perform()
        says(wall, "Start the clock")
        client.post("/api/table/resume")
        client.post("/api/table/act", moment=client.get("/api/view")["moment"], action=".")
        until("the own turn", lambda: 120 in north.execute_script("return window.felt"))
        until("the last seconds", lambda: north.execute_script("return window.felt").count(60) == 2)
        until("the end", lambda: client.get("/api/view")["clock"]["has_run_out"])
        assert north.execute_script("return window.felt") == [120, 60, 60]
        assert south.execute_script("return window.felt") == []
