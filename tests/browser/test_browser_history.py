"""Test the page of a replay in a browser: its keys, slider, links, and how it plays by itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from history_tools import play
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webdriver import WebDriver
from service import browser, tap, until
from web_fixtures import open_web_rig
from window_tools import serve, text_of

from companion.core.kit import Seat

pytestmark = pytest.mark.browser

# Moves the slider to a scene.
_MOVE_SLIDER = """const scrub = document.getElementById('scrub'); scrub.value = arguments[0];
scrub.dispatchEvent(new Event('input', { bubbles: true }));"""


def scene_title(window: WebDriver) -> str:
    """Return where the shown scene is in the game, such as `Turn 2`."""
    return text_of(window, "#scene .at")


def press(window: WebDriver, key: str, words: str) -> None:
    """Press a key, and wait until the title of the scene contains these words."""
    window.find_element(By.CSS_SELECTOR, "#turns a").send_keys(key)
    until(f"“{words}” after a key", lambda: words in scene_title(window))


def test_a_replay_moves_by_keys_slider_and_links(tmp_path: Path) -> None:
    """Open the replay of a game from the list of games, and go through its scenes in every way."""
    with open_web_rig(tmp_path) as rig:
        # the history has two games, of which the first is shown
        rig.table.take_seat(Seat.SOUTH, "Ann")
        play(rig.table, rig.clock, "outbuffered", 6)
        play(rig.table, rig.clock, "outbuffered", 1, seed=2)
        with serve(rig.app) as url, browser((1024, 768)) as window:
            window.get(f"{url}/history")
            window.find_element(By.CSS_SELECTOR, 'a[href="/history/1"]').click()
            until("the replay", lambda: window.find_elements(By.ID, "turns"))
            check_replay(window)
            assert not [line for line in window.get_log("browser") if line["level"] == "SEVERE"]


def check_replay(window: WebDriver) -> None:
    """Go through a game of Outbuffered, whose turns have three scenes each after the start.

    So scene 0 is the start, and the turns begin at the scenes 1, 4, 7 and 10.
    """
    # Arrows to the right go on scene by scene. A screen reader is told about each scene. At the
    # full stop of a sentence it pauses, so each sentence must have exactly one.
    assert scene_title(window) == "The start"
    press(window, Keys.ARROW_RIGHT, "Step 1 of 3")
    press(window, Keys.ARROW_RIGHT, "Step 2 of 3")
    spoken = str(window.execute_script("return document.getElementById('told').textContent"))
    assert spoken.endswith(".")
    assert spoken.count(".") > 1
    assert ".." not in spoken
    assert window.current_url.endswith("?at=2")

    # An arrow down goes to the next turn, and Home to the start.
    press(window, Keys.ARROW_DOWN, "Turn 2")
    press(window, Keys.HOME, "The start")

    # The slider goes to any scene, and the key “back” one scene back from there.
    window.execute_script(_MOVE_SLIDER, 10)
    until("turn 4 by the slider", lambda: "Turn 4" in scene_title(window))
    assert text_of(window, "#turns [aria-current]").split()[0] == "4"
    assert window.find_element(By.ID, "back").get_attribute("href").endswith("?at=9")

    # The list of turns has links to them in notation.
    tap(window, '#turns a[href="?at=6"]')
    until("turn 2 by the notation", lambda: "Turn 2" in scene_title(window))

    # Some scenes are marked at the slider as important. Page Down goes to the next one, and Page Up
    # to the one before, if there is one.
    press(window, Keys.HOME, "The start")
    marks = window.find_elements(By.CSS_SELECTOR, ".mark")
    first_address = str(marks[0].get_dom_attribute("href"))
    window.find_element(By.TAG_NAME, "body").send_keys(Keys.PAGE_DOWN)
    until("the first marked scene", lambda: window.current_url.endswith(first_address))
    assert marks[0].get_dom_attribute("aria-current") == "step"
    assert marks[0].get_dom_attribute("aria-label").split(":")[0] in scene_title(window)
    window.find_element(By.TAG_NAME, "body").send_keys(Keys.PAGE_UP)
    assert window.current_url.endswith(first_address), "Page Up leaves the first marked scene"

    # A key lets the replay play by itself, and stops it.
    tap(window, '#turns a[href="?at=6"]')
    until("turn 2 again", lambda: "Turn 2" in scene_title(window))
    tap(window, "#play-key")
    assert window.find_element(By.ID, "play-key").get_attribute("aria-pressed") == "true"
    until("turn 3 without a key", lambda: "Turn 3" in scene_title(window))
    tap(window, "#play-key")
    assert window.find_element(By.ID, "play-key").get_attribute("aria-pressed") == "false"
