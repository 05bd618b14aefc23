"""Test a seat's page in a browser: how orders get into slots, the shutter over them, and its tone.

The orders are those of Outbuffered, with the letters of their keys: U, D, L and R move the robot
up, down, left or right, and S shoots. Tests write three slots as `UR.`, with `.` for a free one.

All tests share one turn and run in their order. Each leaves the slots empty for the next one,
except the last two: the shutter's test hands its orders in, and the tone's test takes them back.
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
# The tone of a phone whose turn comes: C6, 1046.5 Hz, once.
ONE_TONE_HZ = [1046.5]


@pytest.fixture(scope="module")
def seat(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebDriver]:
    """South's phone at the beginning of a turn with three orders."""
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
    """Return what the slots show, such as `UR.`: a letter each, or `.` for a free slot."""
    script = (
        "return [...document.querySelectorAll('.slot')]"
        ".map(slot => slot.querySelector('b')?.textContent ?? '.')"
    )
    return "".join(window.execute_script(script))


def wait_for_letters(window: WebDriver, letters: str) -> None:
    until(f"{letters} in the slots", lambda: letters_in_slots(window) == letters)


def test_slots_are_replaced_moved_and_cleared(seat: WebDriver) -> None:
    """Change a draft in every way that the page has. The slots must always show what it is now."""
    # The keyboard enters orders by letters and arrows. Backspace removes the last one, here D.
    seat.find_element(By.TAG_NAME, "body").send_keys("d", Keys.BACKSPACE, Keys.ARROW_UP, "ds")
    wait_for_letters(seat, "UDS")

    # A tap chooses the slot in the middle, and the next order replaces what is in it.
    slots(seat)[1].click()
    tap(seat, ".order[data-letter='R']")
    wait_for_letters(seat, "URS")

    # A key moves the order of the chosen slot, here U, to the right. The order stays chosen.
    slots(seat)[0].click()
    tap(seat, "#slot-right")
    tap(seat, "#slot-right")
    wait_for_letters(seat, "RSU")
    assert slots(seat)[2].get_attribute("aria-pressed") == "true", (
        "the order that was moved is not chosen any more"
    )

    # Another key clears the chosen slot.
    tap(seat, "#slot-away")
    wait_for_letters(seat, "RS.")
    assert seat.find_element(By.ID, "hand-in").text == "Hand in: 1 missing"

    # A drag lets two orders change places. It is not a tap, so it must not choose a slot.
    slot_px = slots(seat)[1].location["x"] - slots(seat)[0].location["x"]
    ActionChains(seat).click_and_hold(slots(seat)[0]).move_by_offset(slot_px, 3).release().perform()
    wait_for_letters(seat, "SR.")
    assert not seat.find_elements(By.CSS_SELECTOR, ".slot.chosen"), "a drag chooses a slot"
    # After a drag, the page swallows clicks until a timer of 0 ms has run. Wait for a later timer.
    seat.execute_async_script("setTimeout(arguments[0], 0)")

    # “Back” removes the last order, “Clear” all of them.
    tap(seat, "#back")
    wait_for_letters(seat, "S..")
    tap(seat, "#clear")
    wait_for_letters(seat, "...")


def test_a_refusal_stays_when_orders_are_drawn(seat: WebDriver) -> None:
    """Refuse an incomplete action while the answer to its order is on its way.

    The answer has the drawing of the robot's way. When it comes, the page must draw the way and
    leave the refusal, which nobody may have read yet.
    """
    delay_next_answer = """
        const real = fetch;
        window.fetch = async (url, how) => {
          const answer = await real(url, how);
          window.fetch = real;
          await new Promise(resolve => { window.deliver = resolve; });
          return answer;
        };"""
    # The table has answered, but the page does not have the answer yet.
    seat.execute_script(delay_next_answer)
    seat.find_element(By.TAG_NAME, "body").send_keys("u")
    until(
        "the answer with the drawing", lambda: seat.execute_script("return Boolean(window.deliver)")
    )

    # One order of three is too few to hand in.
    tap(seat, "#hand-in")
    assert seat.find_element(By.ID, "said").text.startswith("2 missing")

    # The answer comes, and the refusal stays.
    seat.execute_script("deliver()")
    until("the drawing of the order", lambda: seat.find_elements(By.CSS_SELECTOR, "#plan *"))
    assert seat.find_element(By.ID, "said").text.startswith("2 missing")
    tap(seat, "#clear")


def test_orders_are_typed_in_the_pages_language(seat: WebDriver) -> None:
    """Type the letters of French orders: H (haut) is up, B (bas) is down, T (tirer) is shoot.

    The third typed letter, S, is that of the notation. It counts too, because it is the letter of
    no French order.
    """
    # Reload the page in French. A tap waits until the scripts run, but a typed letter does not, so
    # type only once a tap has had an effect.
    url = seat.current_url
    cdp(seat, "Network.setCookie", name="language", value="fr", url=url)
    seat.refresh()
    until("the keys", lambda: seat.find_elements(By.CSS_SELECTOR, ".order"))
    tap(seat, ".order[data-letter='R']")
    until("an order", lambda: letters_in_slots(seat) != "...")
    tap(seat, "#clear")
    wait_for_letters(seat, "...")

    # The slots show the letters of the language, but hand in those of the notation.
    seat.find_element(By.TAG_NAME, "body").send_keys("hbs")
    wait_for_letters(seat, "HBT")
    letters = "return [...document.querySelectorAll('.slot')].map(slot => slot.dataset.letter)"
    assert seat.execute_script(letters) == ["U", "D", "S"]

    # Leave the page in English and without orders.
    tap(seat, "#clear")
    wait_for_letters(seat, "...")
    cdp(seat, "Network.setCookie", name="language", value="en", url=url)
    seat.refresh()
    wait_for_sign(seat, "orders to go")


def press_by_finger(window: WebDriver, letter: str, move_up_px: int = 0) -> None:
    """Put a finger on an order's key, and lift it. Before that, move it up by so many pixels.

    The finger moves in four steps, as a touchscreen reports it.
    """
    script = """const box = document.querySelector(arguments[0]).getBoundingClientRect();
        return {x: Math.round(box.x + box.width / 2), y: Math.round(box.y + box.height / 2)}"""
    point = window.execute_script(script, f".order[data-letter='{letter}']")
    cdp(window, "Input.dispatchTouchEvent", type="touchStart", touchPoints=[point])
    for step in (1, 2, 3, 4) if move_up_px else ():
        moved = point | {"y": point["y"] - move_up_px * step // 4}
        cdp(window, "Input.dispatchTouchEvent", type="touchMove", touchPoints=[moved])
    cdp(window, "Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])


def test_a_lifted_finger_presses_once(seat: WebDriver) -> None:
    """Tap keys by a finger. When it is lifted, the page's script clicks the key.

    The browser must not send a click of its own as well. That would be a trusted event, and a click
    by a script is not.
    """
    cdp(seat, "Emulation.setTouchEmulationEnabled", enabled=True)
    seat.execute_script(
        "window.clicks = []; addEventListener('click', event => "
        "window.clicks.push(event.isTrusted), true)"
    )

    # Four fingers, but three orders: the second finger leaves its key before it is lifted. The
    # third one moves by 4 px only, as a finger that taps may do.
    press_by_finger(seat, "R")
    wait_for_letters(seat, "R..")
    press_by_finger(seat, "R", move_up_px=160)
    press_by_finger(seat, "R", move_up_px=4)
    wait_for_letters(seat, "RR.")
    press_by_finger(seat, "S")
    wait_for_letters(seat, "RRS")
    are_trusted = seat.execute_script("return window.clicks")
    assert are_trusted == [False] * 3, "the browser has clicked too"

    # Leave the page with a mouse and without orders.
    cdp(seat, "Emulation.setTouchEmulationEnabled", enabled=False)
    tap(seat, "#clear")
    wait_for_letters(seat, "...")


def test_the_shutter_covers_orders_until_touched(seat: WebDriver) -> None:
    """Switch on the peek guard, which hides a player's orders from people beside the phone."""
    # Enter three orders. The board shows the robot's way.
    seat.find_element(By.TAG_NAME, "body").send_keys("dlr")
    wait_for_letters(seat, "DLR")
    until("the robot's way on the board", lambda: seat.find_elements(By.CSS_SELECTOR, "#plan > *"))

    # Switch the peek guard on, and load the page again. Slots and way are there, but hidden.
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

    # A tap opens the shutter. It must not choose the slot that was under the finger.
    ActionChains(seat).click(seat.find_element(By.CSS_SELECTOR, ".buffer")).perform()
    until("the slots", lambda: any(slot.is_displayed() for slot in slots(seat)))
    assert not seat.find_elements(By.CSS_SELECTOR, ".slot.chosen"), (
        "the tap that opens the shutter also chooses a slot"
    )

    # Hand the orders in, with which the test of the tone begins.
    seat.find_element(By.TAG_NAME, "body").send_keys(Keys.ENTER)
    wait_for_sign(seat, "Waiting for lime")


def test_a_tone_sounds_when_the_turn_comes(seat: WebDriver) -> None:
    """Take orders back, so that it is South's turn again. One tone must sound.

    South's own changes of orders must not sound, because South is looking at the phone.
    """
    # Note the frequencies of tones. Browsers permit sound only after a tap, so tap somewhere.
    seat.execute_script("""
        window.tones = [];
        const start = OscillatorNode.prototype.start;
        OscillatorNode.prototype.start = function (...at) {
            window.tones.push(this.frequency.value);
            start.apply(this, at);
        };
    """)
    ActionChains(seat).click(seat.find_element(By.CSS_SELECTOR, ".sign")).perform()

    # The test before has handed in these orders. If this test runs alone, it hands them in itself.
    if "Waiting for lime" not in sign(seat):
        seat.find_element(By.TAG_NAME, "body").send_keys("dlr", Keys.ENTER)
        wait_for_sign(seat, "Waiting for lime")

    # When the orders are taken back, South's turn comes, and one tone sounds.
    tap(seat, "[data-post$='take-back']")
    wait_for_sign(seat, "Hand in, or change your mind")
    until("a tone", lambda: seat.execute_script("return window.tones") == ONE_TONE_HZ)

    # A changed order makes no other tone.
    wait_for_letters(seat, "DLR")
    seat.find_element(By.TAG_NAME, "body").send_keys(Keys.BACKSPACE, "u")
    wait_for_letters(seat, "DLU")
    assert seat.execute_script("return window.tones") == ONE_TONE_HZ
