"""Test a seat's page in a browser: how orders get into slots, the shutter over them, and its tone.

All tests share one turn of Outbuffered, and each but the last two leaves the slots empty.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from in_process import in_process_service
from selenium.webdriver import ActionChains, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webdriver import WebDriver
from selenium.webdriver.remote.webelement import WebElement
from service import (
    PHONE,
    Client,
    browser,
    sign,
    sit_down,
    tap,
    until,
    wait_for_phase,
    wait_for_sign,
)
from tour import cdp

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def seat(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebDriver]:
    """South's phone at the beginning of a turn with three orders, U, D, L, R or S each."""
    folder = tmp_path_factory.mktemp("seat")
    with in_process_service(folder, "outbuffered") as service, browser(PHONE) as window:
        client = Client(service.url)
        wait_for_phase(client, "orders")
        sit_down(window, service, "south", "Mara")
        wait_for_sign(window, "orders to go")
        yield window


def slots(window: WebDriver) -> list[WebElement]:
    return window.find_elements(By.CSS_SELECTOR, ".slot")


def letters_in_slots(window: WebDriver) -> str:
    """Return the letters in the slots, with `.` for a free one."""
    script = (
        "return [...document.querySelectorAll('.slot')]"
        ".map(slot => slot.querySelector('b')?.textContent ?? '.')"
    )
    return "".join(window.execute_script(script))


def wait_for_letters(window: WebDriver, letters: str) -> None:
    until(f"{letters} in the slots", lambda: letters_in_slots(window) == letters)


def test_slots_are_replaced_moved_and_cleared(seat: WebDriver) -> None:
    seat.find_element(By.TAG_NAME, "body").send_keys("d", Keys.BACKSPACE, Keys.ARROW_UP, "ds")
    wait_for_letters(seat, "UDS")
    slots(seat)[1].click()
    tap(seat, ".order[data-letter='R']")
    wait_for_letters(seat, "URS")
    slots(seat)[0].click()
    tap(seat, "#slot-right")
    tap(seat, "#slot-right")
    wait_for_letters(seat, "RSU")
    assert slots(seat)[2].get_attribute("aria-pressed") == "true", (
        "the order that was chosen has lost the choice"
    )
    tap(seat, "#slot-away")
    wait_for_letters(seat, "RS.")
    assert seat.find_element(By.ID, "hand-in").text == "Hand in: 1 missing"
    slot_px = slots(seat)[1].location["x"] - slots(seat)[0].location["x"]
    ActionChains(seat).click_and_hold(slots(seat)[0]).move_by_offset(slot_px, 3).release().perform()
    wait_for_letters(seat, "SR.")
    assert not seat.find_elements(By.CSS_SELECTOR, ".slot.chosen"), "a drag chooses a slot"
    tap(seat, "#back")
    wait_for_letters(seat, "S..")
    tap(seat, "#clear")
    wait_for_letters(seat, "...")


def test_a_refusal_stays_when_orders_are_drawn(seat: WebDriver) -> None:
    """Delay the answer with the drawing of an order until the page shows a refusal."""
    delay_next_answer = """
        const real = fetch;
        window.fetch = async (url, how) => {
          const answer = await real(url, how);
          window.fetch = real;
          await new Promise(resolve => { window.deliver = resolve; });
          return answer;
        };"""
    seat.execute_script(delay_next_answer)
    seat.find_element(By.TAG_NAME, "body").send_keys("u")
    until(
        "the answer with the drawing", lambda: seat.execute_script("return Boolean(window.deliver)")
    )
    tap(seat, "#hand-in")
    assert seat.find_element(By.ID, "said").text.startswith("2 missing")
    seat.execute_script("deliver()")
    until("the drawing of the order", lambda: seat.find_elements(By.CSS_SELECTOR, "#plan *"))
    assert seat.find_element(By.ID, "said").text.startswith("2 missing")
    tap(seat, "#clear")


def test_orders_are_typed_in_the_pages_language(seat: WebDriver) -> None:
    """Type the French letters H and B for the orders U and D.

    The third letter, S, is that of the notation. It counts too, as no French order has it.
    """
    url = seat.current_url
    cdp(seat, "Network.setCookie", name="language", value="fr", url=url)
    seat.refresh()
    until("the keys", lambda: seat.find_elements(By.CSS_SELECTOR, ".order"))
    tap(seat, ".order[data-letter='R']")
    # a tap waits for the scripts, a letter does not: type once a tap has shown that they run
    until("an order", lambda: letters_in_slots(seat) != "...")
    tap(seat, "#clear")
    wait_for_letters(seat, "...")
    seat.find_element(By.TAG_NAME, "body").send_keys("hbs")
    wait_for_letters(seat, "HBT")
    letters = "return [...document.querySelectorAll('.slot')].map(slot => slot.dataset.letter)"
    # what is handed in
    assert seat.execute_script(letters) == ["U", "D", "S"]
    tap(seat, "#clear")
    wait_for_letters(seat, "...")
    cdp(seat, "Network.setCookie", name="language", value="en", url=url)
    seat.refresh()
    wait_for_sign(seat, "orders to go")


def press_by_finger(window: WebDriver, letter: str, move_up_px: int = 0) -> None:
    """Put a finger on an order's key, move it up in four steps, and lift it."""
    script = """const box = document.querySelector(arguments[0]).getBoundingClientRect();
        return {x: Math.round(box.x + box.width / 2), y: Math.round(box.y + box.height / 2)}"""
    point = window.execute_script(script, f".order[data-letter='{letter}']")
    cdp(window, "Input.dispatchTouchEvent", type="touchStart", touchPoints=[point])
    for step in (1, 2, 3, 4) if move_up_px else ():
        moved = point | {"y": point["y"] - move_up_px * step // 4}
        cdp(window, "Input.dispatchTouchEvent", type="touchMove", touchPoints=[moved])
    cdp(window, "Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])


def test_a_lifted_finger_presses_once(seat: WebDriver) -> None:
    """The page's script clicks the key. The browser must not send a click of its own as well."""
    cdp(seat, "Emulation.setTouchEmulationEnabled", enabled=True)
    seat.execute_script(
        "window.clicks = []; addEventListener('click', event => "
        "window.clicks.push(event.isTrusted), true)"
    )
    press_by_finger(seat, "R")
    wait_for_letters(seat, "R..")
    press_by_finger(seat, "R", move_up_px=160)  # away from the key, which does nothing
    press_by_finger(seat, "R", move_up_px=4)
    wait_for_letters(seat, "RR.")
    press_by_finger(seat, "S")
    wait_for_letters(seat, "RRS")
    are_trusted = seat.execute_script("return window.clicks")
    assert are_trusted == [False] * 3, "the browser has clicked too"
    cdp(seat, "Emulation.setTouchEmulationEnabled", enabled=False)
    tap(seat, "#clear")
    wait_for_letters(seat, "...")


def test_the_shutter_covers_orders_until_touched(seat: WebDriver) -> None:
    seat.find_element(By.TAG_NAME, "body").send_keys("dlr")
    wait_for_letters(seat, "DLR")
    until("the robot's way on the board", lambda: seat.find_elements(By.CSS_SELECTOR, "#plan > *"))
    seat.execute_script("document.getElementById('menu').open = true")
    tap(seat, "[data-switch=cover]")
    assert (
        seat.find_element(By.CSS_SELECTOR, "[data-switch=cover]").get_attribute("aria-pressed")
        == "true"
    )
    seat.refresh()
    wait_for_sign(seat, "Hand in, or change your mind")
    wait_for_letters(seat, "DLR")
    for covered in (".slot", "#plan"):
        assert not seat.find_element(By.CSS_SELECTOR, covered).is_displayed(), covered
    assert seat.find_element(By.CSS_SELECTOR, ".buffer").text == ""
    ActionChains(seat).click(seat.find_element(By.CSS_SELECTOR, ".buffer")).perform()
    until("the slots", lambda: any(slot.is_displayed() for slot in slots(seat)))
    assert not seat.find_elements(By.CSS_SELECTOR, ".slot.chosen"), (
        "the tap that opens the shutter also chooses a slot"
    )
    seat.find_element(By.TAG_NAME, "body").send_keys(Keys.ENTER)
    wait_for_sign(seat, "Waiting for lime")


def test_a_tone_sounds_when_the_turn_comes(seat: WebDriver) -> None:
    """Take orders back, so that it is South's turn again. One tone sounds, and none for changes."""
    seat.execute_script("""
        window.tones = [];
        const start = OscillatorNode.prototype.start;
        OscillatorNode.prototype.start = function (...at) {
            window.tones.push(this.frequency.value);
            start.apply(this, at);
        };
    """)
    ActionChains(seat).click(seat.find_element(By.CSS_SELECTOR, ".sign")).perform()
    if "Waiting for lime" not in sign(seat):
        seat.find_element(By.TAG_NAME, "body").send_keys("dlr", Keys.ENTER)
        wait_for_sign(seat, "Waiting for lime")
    tap(seat, "[data-post$='take-back']")
    wait_for_sign(seat, "Hand in, or change your mind")
    until("a tone", lambda: seat.execute_script("return window.tones") == [1046.5])
    until("the orders in their slots", lambda: letters_in_slots(seat) == "DLR")
    seat.find_element(By.TAG_NAME, "body").send_keys(Keys.BACKSPACE, "u")
    until("the changed order", lambda: letters_in_slots(seat) == "DLU")
    assert seat.execute_script("return window.tones") == [1046.5]
