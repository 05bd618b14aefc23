"""Test lessons in a browser: a phone follows the guide's small sign to the end of each of them.

In a lesson a small sign points at what to tap next: a key, or a square of the board. The test taps
whatever it points at. At each new target, it measures that no page scrolls or shifts, and that the
sign hides no key and no piece.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from in_process import in_process_service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webdriver import WebDriver
from service import (
    PHONE,
    Client,
    Service,
    browser,
    sign,
    sit_down,
    tap,
    try_to_tap_square,
    until,
    wait,
    wait_for_phase,
)
from tour import resize
from window_tools import assert_no_errors

from companion.games import GAMES

pytestmark = pytest.mark.browser
# Maximum number of taps of a lesson. These three take 7 to 23.
MAX_TAPS = 80
# Number of looks at the page before the same target is tapped again. A slow page still shows the
# target for a while after a tap.
LOOKS_A_TAP = 10
# Window size of a small phone.
SMALL = (360, 640)
# Window size of a seat's page beside a table screen on one laptop.
BESIDE_SCREEN = (410, 768)
# Language in which each game is learned. Its words are longer than those of English.
LANGUAGES = {"outbuffered": "de", "kahmate": "fr", "binmat": "es"}
# Maximum sum of layout shifts, in the unit of Chromium's Layout Instability API.
MAX_SHIFT = 0.05
# Returns the sum of all layout shifts since the page was opened.
_TOTAL_SHIFT = """
const done = arguments[0];
let shift = 0;
new PerformanceObserver(list => {
  for (const { hadRecentInput, value } of list.getEntries()) if (!hadRecentInput) shift += value;
}).observe({ type: 'layout-shift', buffered: true });
setTimeout(() => done(shift), 400);
"""
# Returns the target of the small sign: a selector, or a square such as `@c4`. It is empty while the
# other side acts, and null once there is no sign because the lesson is over.
_TARGET = (
    "const sign = document.getElementById('press');"
    " return sign && (sign.hidden ? '' : sign.dataset.at)"
)

# Returns the height of the page once it is laid out in its new size.
_PAGE_HEIGHT = """
const done = arguments[0];
requestAnimationFrame(
  () => requestAnimationFrame(() => done(document.scrollingElement.scrollHeight))
);
"""

# Lists the squares of pieces whose centre the small sign hides.
_HIDDEN_PIECES = """
const sign = document.getElementById('press')?.getBoundingClientRect();
return !sign ? [] : [...document.querySelectorAll('.view [data-at]')].filter(part => {
  const box = part.getBoundingClientRect(),
    [x, y] = [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
  return x > sign.left && x < sign.right && y > sign.top && y < sign.bottom;
}).map(part => part.dataset.at);
"""
# Lists the words of keys and orders under the small sign. Its pointer, 8 px high, hides nothing.
_HIDDEN_WORDS = """
const sign = document.getElementById('press'), box = sign?.getBoundingClientRect();
if (!box?.width) return [];
const [top, bottom] = sign.classList.contains('under')
  ? [box.top + 8, box.bottom] : [box.top, box.bottom - 8];
return [...document.querySelectorAll('.key :is(b, .leg), .slot b')].filter(part => {
  const { left, right, top: upper, bottom: lower, width } = part.getBoundingClientRect();
  return width && right > box.left && left < box.right && lower > top + 2 && upper < bottom - 2;
}).map(part => part.innerText);
"""
# Returns the space that would be left between the lesson's words and the small sign if it pointed
# at the board's last rank.
_ROOM_FOR_SIGN = """
const [sign, words, frame] = ['#press', '.guide p', '.board .frame'].map(
  selector => document.querySelector(selector)
);
if (!frame) return 0;
const { top, height } = frame.getBoundingClientRect(),
  ranks = Number(frame.closest('svg').dataset.grid.split(' ')[1]);
return top + height / ranks * .3 - sign.offsetHeight - words.getBoundingClientRect().bottom;
"""


@pytest.fixture(scope="module")
def seat(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, WebDriver]]:
    """A service without a game, and South's phone."""
    folder = tmp_path_factory.mktemp("guided")
    with in_process_service(folder) as service, browser(PHONE) as window:
        sit_down(window, service, "south", "Mara")
        yield service, window


def post(window: WebDriver, path: str, body: str) -> None:
    """Send a request from this browser, with its seat's cookie."""
    script = """
        const [path, body, done] = arguments;
        fetch(path, {
            method: 'POST', headers: { 'Content-Type': 'application/json' }, body
        }).then(answer => done(answer.status))
    """
    assert window.execute_async_script(script, path, body) == 200


def tap_target(window: WebDriver, target: str) -> None:
    """Tap a target of the small sign, a square or a key.

    Do nothing if it is gone, because an earlier tap on it has worked meanwhile.
    """
    if target.startswith("@"):
        try_to_tap_square(window, target[1:])
    else:
        window.execute_script("document.querySelector(arguments[0])?.click()", target)


def scrolling_sizes(window: WebDriver) -> list[str]:
    """Return each size at which the page scrolls. Leave the window in the size of a small phone."""
    faults = []
    for width, height in (BESIDE_SCREEN, SMALL):
        resize(window, (width, height))
        page_height = window.execute_async_script(_PAGE_HEIGHT)
        if page_height > height:
            faults.append(f"{page_height} px high in {width} x {height}")
    return faults


@pytest.mark.parametrize("game", LANGUAGES)
def test_a_guided_lesson_ends_in_a_real_game(seat: tuple[Service, WebDriver], game: str) -> None:
    """Tap whatever the small sign points at until the guide ends. Then the game must go on."""
    # Begin the lesson in the language of the game.
    service, window = seat
    client = Client(service.url)
    window.add_cookie({"name": "language", "value": LANGUAGES[game]})
    resize(window, PHONE)
    post(window, "/api/seat/south/lesson", f'{{"game": "{game}"}}')
    until("the guide", lambda: window.find_elements(By.ID, "guide"))
    client.post("/workbench/tidy")
    wait_for_phase(client, "orders")

    # Load the page anew, so that only the shifts of its first drawing are counted.
    window.refresh()
    until("the small sign", lambda: window.execute_script(_TARGET))
    assert window.execute_async_script(_TOTAL_SHIFT) <= MAX_SHIFT, "parts of the page shift"
    assert window.execute_script(_HIDDEN_PIECES) == []
    assert window.execute_script(_ROOM_FOR_SIGN) >= 0, (
        "the small sign would cover the guide's words"
    )

    # Look at the page ten times a second, until there is no sign any more. A tap and the answer of
    # the other side, a machine, may take 40 looks (4 s) on average.
    resize(window, SMALL)
    targets: list[str] = []
    scrolls: list[tuple[str, str]] = []
    hidden_pieces: dict[str, int] = {}
    hidden_words: list[str] = []
    last_state = None
    for _ in range(40 * MAX_TAPS):
        target = window.execute_script(_TARGET)
        if target is None:
            break
        words = sign(window)
        # Measure each new state, also those without a target: while the other side acts, there may
        # be the most to read.
        if (target, words) != last_state:
            last_state = (target, words)
            looks_until_tap = 0
            scrolls += [(target or words, fault) for fault in scrolling_sizes(window)]
            if target:
                if target not in targets[-1:]:
                    targets.append(target)
                hidden_pieces[target] = len(window.execute_script(_HIDDEN_PIECES))
                hidden_words += window.execute_script(_HIDDEN_WORDS)
                assert len(targets) < MAX_TAPS, targets
        if target and looks_until_tap <= 0:
            looks_until_tap = LOOKS_A_TAP
            tap_target(window, target)
        looks_until_tap -= 1
        wait(0.1)
    assert target is None, "the guide has not ended"

    # Each step of the lesson had a target, and the game goes on without a guide.
    view = client.get("/api/view")
    lesson = GAMES[game].lesson
    assert lesson is not None
    assert len(targets) >= len(lesson.steps)
    assert view["phase"] == "orders", "the game does not go on"
    scrolls += [("without a guide", fault) for fault in scrolling_sizes(window)]

    # The help opens and closes.
    tap(window, "[data-help]")
    until("the help", lambda: window.find_elements(By.CSS_SELECTOR, "#help:not([hidden]) h2"))
    tap(window, "#help [data-help]")
    until(
        "the orders again", lambda: not window.find_elements(By.CSS_SELECTOR, "#help:not([hidden])")
    )
    assert_no_errors(window)

    # End the game and free North's seat for the next lesson. Then report what was measured.
    post(window, "/api/seat/south/resign", "{}")
    post(window, "/api/seat/north/machine-leaves", "{}")
    assert scrolls == []
    assert hidden_words == [], "the small sign hides words of keys"
    assert set(hidden_pieces.values()) == {0}, hidden_pieces
