"""One phone that goes round between both seats, and a table screen that speaks, in a real
browser.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webdriver import WebDriver
from service import PHONE, browser, sign, tap, until, wait_for_sign
from web_fixtures import WebRig, open_web_rig
from window_tools import enter, hand_in

from companion.core.config import Settings, VoiceSettings
from companion.core.kit import Seat
from companion.speech.speech_policy import SpeechPolicy
from web.features import TableEquipment
from web.server.server import open_server

pytestmark = pytest.mark.browser

VOICE = """
window.spoken = [];
class Said { constructor(text) { this.text = text; } }
Object.defineProperty(window, 'SpeechSynthesisUtterance', { value: Said });
Object.defineProperty(window, 'speechSynthesis', { value: {
  pending: false, getVoices: () => [{ lang: 'en' }], addEventListener() {}, cancel() {},
  speak(said) { window.spoken.push([said.text, said.lang, said.volume, said.rate]); },
} });
"""


HIDE = """
Object.defineProperty(document, 'hidden', { value: true });
document.dispatchEvent(new Event('visibilitychange'));
"""


@dataclass
class Served:
    """A table whose pages are on a port, and how it speaks."""

    rig: WebRig
    url: str
    policy: SpeechPolicy


@pytest.fixture(scope="module")
def window() -> Iterator[WebDriver]:
    with browser(PHONE) as opened:
        yield opened


@pytest.fixture
def served(tmp_path: Path, window: WebDriver) -> Iterator[Served]:
    equipment = TableEquipment()
    with (
        open_web_rig(tmp_path, equipment=equipment) as rig,
        open_server(rig.app, "127.0.0.1", 0) as server,
    ):
        policy = SpeechPolicy(
            rig.table, Settings(voice=VoiceSettings(volume=0.5, speed=1.5)), rig.clock
        )
        object.__setattr__(equipment, "voice", policy)
        server.start()
        yield Served(rig, f"http://127.0.0.1:{server.port}", policy)
        window.get("about:blank")


def wait_for_path(window: WebDriver, path: str) -> None:
    until(path, lambda: window.current_url.endswith(path))


def test_one_phone_plays_both_sides_of_a_turn(window: WebDriver, served: Served) -> None:
    table = served.rig.table
    window.get(f"{served.url}/pass")
    window.find_element(By.NAME, "south").send_keys("Mara")
    window.find_element(By.CSS_SELECTOR, "form.join .go").click()
    wait_for_sign(window, "Choose a game")
    served.rig.start_game()
    wait_for_sign(window, "Hand the phone to Mara")
    tap(window, "[name=seat][value=south]")
    wait_for_path(window, "/seat/south")
    enter(window, "UU")
    until("the draft", lambda: len(window.find_elements(By.CSS_SELECTOR, ".slot.full")) == 2)
    window.back()
    wait_for_sign(window, "Hand the phone to Mara")
    window.forward()  # to a side that is covered: the cover again
    wait_for_sign(window, "Hand the phone to Mara")
    assert not window.find_elements(By.CSS_SELECTOR, ".order, .slot")
    tap(window, "[name=seat][value=north]")
    wait_for_path(window, "/seat/north")
    until("north's keys", lambda: window.find_elements(By.CSS_SELECTOR, ".order"))
    kept = "return Object.keys(sessionStorage).filter(name => name.includes('south'))"
    until("south's draft to be gone", lambda: window.execute_script(kept) == [])
    window.execute_script(HIDE)  # the phone is locked, or another page is looked at
    wait_for_sign(window, "Hand the phone to Mara")
    tap(window, "[name=seat][value=north]")
    wait_for_path(window, "/seat/north")
    tap(window, "#cover-now")
    wait_for_sign(window, "Hand the phone to Mara")
    tap(window, "[name=seat][value=south]")
    wait_for_path(window, "/seat/south")
    hand_in(window, "UII")
    wait_for_sign(window, "Hand the phone to lime")  # the cover comes by itself
    wait_for_path(window, "/pass")
    assert "UII" not in window.page_source
    tap(window, "[name=seat][value=north]")
    wait_for_path(window, "/seat/north")
    hand_in(window, "III")
    wait_for_sign(window, "Mara: robot, a1 to a2")  # what both may see, with the key for both
    wait_for_path(window, "/pass")
    tap(window, "[data-refused]")
    until("the next step", lambda: table.view().turn.stage == 1)
    window.back()
    until("no side", lambda: "/seat/" not in window.current_url and sign(window))


def test_a_table_screen_speaks_after_one_tap(window: WebDriver, served: Served) -> None:
    said = "return window.spoken.map(([text]) => text)"
    mark = window.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": VOICE})
    try:
        window.get(f"{served.url}/?screen")
        wait_for_sign(window, "Scan the code on your side")
        served.rig.start_game()
        wait_for_sign(window, "Both: hand in")
        assert window.execute_script(said) == []
        window.find_element(By.ID, "sound").click()
        until("the stream of a screen that speaks", lambda: served.policy.speaking_screens == 1)
        assert not window.find_element(By.ID, "sound").is_displayed()
        served.rig.table.hand_in(Seat.SOUTH, "1.1", "UUS")
        until("the sentence", lambda: "Lime: hand in your orders" in window.execute_script(said))
        assert window.execute_script("return window.spoken.at(-1).slice(1)") == ["en", 0.5, 1.5]
        assert window.execute_script(said) == ["The table speaks.", "Lime: hand in your orders"]
        window.get(f"{served.url}/?screen&kiosk")
        wait_for_sign(window, "Lime: hand in")
        until("a kiosk that speaks unasked", lambda: served.policy.speaking_screens == 1)
        assert window.execute_script(said) == [], "what was said is not said again"
        served.rig.table.resign(Seat.NORTH)
        until("the result", lambda: window.execute_script(said) == ["Purple wins", "Lime resigns."])
    finally:
        window.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", mark)
