"""Test in a browser one phone for both seats, and a table screen that speaks.

Two players may share a phone and pass it to each other. Between their turns a page covers it, so
that neither sees what the other has entered.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webdriver import WebDriver
from service import PHONE, browser, sign, tap, until, wait_for_sign
from tour import cdp
from web_fixtures import WebRig, open_web_rig
from window_tools import enter, hand_in, serve

from companion.core.config import Settings, VoiceSettings
from companion.core.kit import Seat
from companion.speech.speech_policy import SpeechPolicy
from web.features import TableEquipment

pytestmark = pytest.mark.browser

# Replaces the browser's voice by one that notes what it is told to say.
FAKE_VOICE = """
window.spoken = [];
class Utterance { constructor(text) { this.text = text; } }
Object.defineProperty(window, 'SpeechSynthesisUtterance', { value: Utterance });
Object.defineProperty(window, 'speechSynthesis', { value: {
  pending: false, getVoices: () => [{ lang: 'en' }], addEventListener() {}, cancel() {},
  speak({ text, lang, volume, rate }) { window.spoken.push([text, lang, volume, rate]); },
} });
"""


# Hides the page, as locking the phone or opening another page does.
HIDE_PAGE = """
Object.defineProperty(document, 'hidden', { value: true });
document.dispatchEvent(new Event('visibilitychange'));
"""


@dataclass
class ServedTable:
    """A table with its pages at an address, and the policy of what it says."""

    rig: WebRig
    url: str
    policy: SpeechPolicy


@pytest.fixture(scope="module")
def window() -> Iterator[WebDriver]:
    with browser(PHONE) as opened:
        yield opened


@pytest.fixture
def served(tmp_path: Path, window: WebDriver) -> Iterator[ServedTable]:
    """A table with its pages, and what decides what it says."""
    equipment = TableEquipment()
    with (
        open_web_rig(tmp_path, equipment=equipment) as rig,
        serve(rig.app) as url,
    ):
        policy = SpeechPolicy(
            rig.table, Settings(voice=VoiceSettings(volume=0.5, speed=1.5)), rig.clock
        )
        # the policy needs the table, which is opened with this frozen equipment
        object.__setattr__(equipment, "voice", policy)
        yield ServedTable(rig, url, policy)
        window.get("about:blank")


def wait_for_path(window: WebDriver, path: str) -> None:
    until(path, lambda: window.current_url.endswith(path))


def test_one_phone_plays_both_sides_of_a_turn(window: WebDriver, served: ServedTable) -> None:
    """Pass the phone by keys, by Back and Forward, and by hiding it.

    Each time a cover must come first, and nothing of the other side may remain on the phone.
    """
    # Mara enters her name for South. North has no name, so it is called lime, after its colour.
    table = served.rig.table
    window.get(f"{served.url}/pass")
    window.find_element(By.NAME, "south").send_keys("Mara")
    window.find_element(By.CSS_SELECTOR, "form.join .go").click()
    wait_for_sign(window, "Choose a game")
    served.rig.start_game()

    # Mara enters two orders and goes back, which covers them. Forward does not uncover them.
    wait_for_sign(window, "Hand the phone to Mara")
    tap(window, "[name=seat][value=south]")
    wait_for_path(window, "/seat/south")
    enter(window, "UU")
    until("the draft", lambda: len(window.find_elements(By.CSS_SELECTOR, ".slot.full")) == 2)
    window.back()
    wait_for_sign(window, "Hand the phone to Mara")
    window.forward()
    wait_for_sign(window, "Hand the phone to Mara")
    assert not window.find_elements(By.CSS_SELECTOR, ".order, .slot")

    # When North looks at its page, the phone forgets Mara's draft.
    tap(window, "[name=seat][value=north]")
    wait_for_path(window, "/seat/north")
    until("North's keys", lambda: window.find_elements(By.CSS_SELECTOR, ".order"))
    stored_names = "return Object.keys(sessionStorage).filter(name => name.includes('south'))"
    until("the end of South's draft", lambda: window.execute_script(stored_names) == [])

    # A page that was hidden is covered, and so is one whose key for that was tapped.
    window.execute_script(HIDE_PAGE)
    wait_for_sign(window, "Hand the phone to Mara")
    tap(window, "[name=seat][value=north]")
    wait_for_path(window, "/seat/north")
    tap(window, "#cover-now")
    wait_for_sign(window, "Hand the phone to Mara")

    # Mara hands in. The cover then comes by itself, and does not tell her orders.
    tap(window, "[name=seat][value=south]")
    wait_for_path(window, "/seat/south")
    hand_in(window, "UII")
    wait_for_sign(window, "Hand the phone to lime")
    wait_for_path(window, "/pass")
    assert "UII" not in window.page_source

    # North hands in, too. Now the page shows what both may see, with one key for both.
    tap(window, "[name=seat][value=north]")
    wait_for_path(window, "/seat/north")
    hand_in(window, "III")
    wait_for_sign(window, "Mara: robot, a1 to a2")
    wait_for_path(window, "/pass")
    tap(window, "[data-refused]")
    until("the next step", lambda: table.view().turn.stage == 1)

    # Going back leads to no side's page.
    window.back()
    until("a page of no side", lambda: "/seat/" not in window.current_url and sign(window))


def test_a_table_screen_speaks_after_one_tap(window: WebDriver, served: ServedTable) -> None:
    """Let a table screen speak, and then a kiosk, which is the machine's own screen.

    Browsers permit sound after a tap only, but that of a kiosk permits it at once. Neither may say
    what was said before it was there.
    """
    spoken_texts = "return window.spoken.map(([text]) => text)"
    added = cdp(window, "Page.addScriptToEvaluateOnNewDocument", source=FAKE_VOICE)
    try:
        # A table screen says nothing before its key for sound was tapped.
        window.get(f"{served.url}/?screen")
        wait_for_sign(window, "Scan the code on your side")
        served.rig.start_game()
        wait_for_sign(window, "Both: hand in")
        assert window.execute_script(spoken_texts) == []

        # After the tap it says each new sentence, with the settings' volume (0.5) and speed (1.5).
        window.find_element(By.ID, "sound").click()
        until("a screen that speaks", lambda: served.policy.speaking_screens == 1)
        assert not window.find_element(By.ID, "sound").is_displayed()
        served.rig.table.hand_in(Seat.SOUTH, "1.1", "UUS")
        until(
            "the sentence",
            lambda: "Lime: hand in your orders" in window.execute_script(spoken_texts),
        )
        assert window.execute_script("return window.spoken.at(-1).slice(1)") == ["en", 0.5, 1.5]
        assert window.execute_script(spoken_texts) == [
            "The table speaks.",
            "Lime: hand in your orders",
        ]

        # A kiosk speaks without a tap, but only from now on.
        window.get(f"{served.url}/?screen&kiosk")
        wait_for_sign(window, "Lime: hand in")
        until("a kiosk that speaks unasked", lambda: served.policy.speaking_screens == 1)
        assert window.execute_script(spoken_texts) == [], (
            "the kiosk repeats what the table said before"
        )
        served.rig.table.resign(Seat.NORTH)
        until(
            "the result",
            lambda: window.execute_script(spoken_texts) == ["Purple wins", "Lime resigns."],
        )
    finally:
        cdp(window, "Page.removeScriptToEvaluateOnNewDocument", **added)
