"""Test BINMAT's clock in browsers: two phones and a table screen show one time, the service's.

Here BINMAT is played with real cards, and the program is its referee. It counts the game's 110
turns down, and limits the time of each. Whoever has made a move presses the clock, which ends the
turn.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from in_process import in_process_service
from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webdriver import WebDriver
from service import press_space, tap, until, wait_for_sign
from tour import cdp
from window_tools import (
    Windows,
    assert_no_errors,
    begin_binmat,
    text_of,
    turns_left,
    wait_for_turns_left,
    wait_for_turns_on_page,
)

pytestmark = pytest.mark.browser
# Maximum difference between the time that a ring shows and the service's clock.
MAX_RING_ERROR_S = 0.05


# ---- the clock -----------------------------------------------------------------------------------


def test_phones_and_table_screen_share_one_clock(tmp_path: Path, windows: Windows) -> None:
    """Press the clock, pause it and take moves back by each page. All others must follow."""
    south, north, wall = windows
    with in_process_service(tmp_path) as service:
        # The dial of the table screen has a tick for each turn. Note when a tick shrinks: it does
        # so once its turn is over.
        client = begin_binmat(service, windows, "referee")
        wait_for_sign(wall, "Start the clock")
        wall.execute_script(
            "window.shrinks = []; addEventListener('animationstart', at => "
            "shrinks.push(`${at.animationName} ${at.target.id}`))"
        )

        # The space bar of the table screen starts the clock. The phones press it by turns.
        press_space(wall)
        wait_for_sign(south, "Your turn")
        wait_for_turns_on_page(south, 110)
        tap(south, ".key.large.go")
        wait_for_sign(north, "Your turn")
        until(
            "“Waiting for Jonas” on South's key",
            lambda: "Waiting for Jonas" in text_of(south, ".key.large"),
        )
        wait_for_turns_on_page(north, 109)
        tap(north, ".key.large.go")
        wait_for_turns_on_page(wall, 108)

        # The table screen may press it for both seats: by the space bar, and by a tap anywhere.
        press_space(wall)
        wait_for_turns_left(client, 107)
        wait_for_turns_on_page(wall, 107)
        wall.find_element(By.CSS_SELECTOR, ".whole").click()
        wait_for_turns_left(client, 106)
        wait_for_turns_on_page(south, 106)

        # A phone pauses the clock. Meanwhile five turns are over, and each tick has shrunk once.
        tap(south, ".row-keys [data-post$='/pause']")
        wait_for_sign(wall, "Resume")
        ticks = [f"spent tick-{number}" for number in range(110, 105, -1)]
        until("all ticks shrunk", lambda: wall.execute_script("return shrinks") == ticks)
        assert text_of(wall, "button.sign") == "Resume"

        # A paused clock stands, even while a page is loaded again. Then it goes on from there.
        left_s = client.get("/api/view")["clock"]["left_s"]
        south.refresh()
        wait_for_sign(south, "Resume")
        wait_for_turns_on_page(south, 106)
        tap(south, ".key.large[data-post$='/resume']")
        until("a running clock", lambda: client.get("/api/view")["clock"]["due_s"])
        assert client.get("/api/view")["clock"]["left_s"] == left_s

        # Whoever has just pressed the clock may take that back: 106 turns are left again.
        tap(south, ".key.large.go:not([data-post$='/resume'])")
        wait_for_sign(north, "Your turn")
        tap(south, ".row-keys [data-post$='/take-back']")
        wait_for_sign(south, "Your turn")
        assert turns_left(client) == 106
        until("the key", lambda: south.find_elements(By.CSS_SELECTOR, ".key.large.go"))
        wait_for_turns_on_page(wall, 106)

        # The table screen calls for a combat, which is a move, too. North asks for it back, and
        # South agrees.
        tap(wall, ".keysets.right .key")
        wait_for_sign(wall, "Both: fan your cards face up")
        tap(wall, ".keysets.left [data-post$='/back']")
        wait_for_sign(wall, "Jonas wants the last move back")
        tap(south, ".act [data-post$='/ask-back']")
        wait_for_sign(wall, "Resume")
        assert turns_left(client) == 106
        assert_no_errors(*windows)


# ---- time ----------------------------------------------------------------------------------------

# Sets a page's date seven minutes ahead.
WRONG_DATE = """
const real = Date;
Date = class extends real {
  constructor(...given) { if (given.length) super(...given); else super(real.now() + 437000); }
  static now() { return real.now() + 437000; }
};
"""


def ring_error_s(window: WebDriver) -> float:
    """Return the difference between the time that a page's ring shows and the service's clock.

    That clock is the monotonic one of this machine. While the script reads the ring, the clock goes
    on, so any value of the clock meanwhile counts as right.
    """
    script = (
        # the ring's dash is the part of the time limit that is left, in thousandths
        "const ring = document.querySelector('[data-limit]'); const { due, limit } = ring.dataset;"
        "return [due, limit, "
        "ring.querySelector('.sweep').getAttribute('stroke-dasharray').split(' ')[0]]"
    )
    before_s = time.monotonic()
    due_s, limit_s, dash = map(float, window.execute_script(script))
    after_s = time.monotonic()
    # the moment by the service's clock at which this part of the time limit is left
    shown_at_s = due_s - dash / 1000 * limit_s
    return max(before_s - shown_at_s, shown_at_s - after_s, 0.0)


def test_rings_follow_the_services_clock_not_the_phones(tmp_path: Path, windows: Windows) -> None:
    """Set the browsers' dates seven minutes ahead, which must not change their rings.

    A ring shows how much is left of a turn's time, here of 30 seconds.
    """
    with in_process_service(tmp_path) as service, ExitStack() as cleanup:
        client = begin_binmat(service, windows, "referee", seconds=30.0)
        client.post("/api/table/resume")
        # Open pages with the wrong date: a spectator's on both phones, and the table screen.
        for window, path in zip(windows, ("/watch", "/watch", "/"), strict=True):
            added = cdp(window, "Page.addScriptToEvaluateOnNewDocument", source=WRONG_DATE)
            cleanup.callback(cdp, window, "Page.removeScriptToEvaluateOnNewDocument", **added)
            window.get(service.url + path)

        # The dates are wrong by more than 400 s, and the rings show the right time nevertheless.
        for window in windows:
            assert abs(window.execute_script("return Date.now()") / 1000 - time.time()) > 400
            until("the right time", lambda window=window: ring_error_s(window) < MAX_RING_ERROR_S)
            window.get("about:blank")


# Notes how long a phone is told to vibrate, in ms.
NOTE_VIBRATIONS = (
    "window.vibrations = []; navigator.vibrate = ms => { window.vibrations.push(ms); return true; }"
)


def test_only_the_phone_in_turn_vibrates(tmp_path: Path, windows: Windows) -> None:
    """Let North's time run out after South's first turn.

    North's phone must vibrate when its turn comes (120 ms) and in its last seconds (60 ms), and
    South's not at all: it was South's turn from the beginning, and South was quick.
    """
    south, north, wall = windows
    with in_process_service(tmp_path) as service:
        client = begin_binmat(service, windows, "referee", seconds=4.0, timeout="alarm")
        # Note vibrations of both phones. Browsers permit them only after a tap, so tap the sign.
        for window in (south, north):
            wait_for_turns_on_page(window, 110)
            window.execute_script(NOTE_VIBRATIONS)
            sign = window.find_element(By.CSS_SELECTOR, ".sign")
            ActionChains(window).move_to_element(sign).click().perform()

        # Start the clock and end South's turn at once (`.`), then wait until North's 4 s are over.
        wait_for_sign(wall, "Start the clock")
        client.post("/api/table/resume")
        client.post("/api/table/act", moment=client.get("/api/view")["moment"], action=".")
        until("the end of the time", lambda: client.get("/api/view")["clock"]["has_run_out"])
        until(
            "both vibrations",
            lambda: set(north.execute_script("return window.vibrations")) == {120, 60},
        )
        assert south.execute_script("return window.vibrations") == []
