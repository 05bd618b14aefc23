"""A whole guided first game of orders, of pieces and of cards, pressed through on a phone as its
small sign says.
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
MOST_TOUCHES = 80
SMALL = (360, 640)
# Window size of a seat's page beside a table screen on one laptop.
BESIDE = (410, 768)
# Language in which each game is learned: with longer words than English.
LANGUAGE = {"outbuffered": "de", "kahmate": "fr", "binmat": "es"}
MOST_SHIFT = 0.05
_SHIFTS = """
const done = arguments[0];
let shift = 0;
new PerformanceObserver(list => {
  for (const { hadRecentInput, value } of list.getEntries()) if (!hadRecentInput) shift += value;
}).observe({ type: 'layout-shift', buffered: true });
setTimeout(() => done(shift), 400);
"""
_AT = (
    "const sign = document.getElementById('press');"
    " return sign && (sign.hidden ? '' : sign.dataset.at)"
)

_TALL = """
const done = arguments[0];
requestAnimationFrame(
  () => requestAnimationFrame(() => done(document.scrollingElement.scrollHeight))
);
"""

# Lists the pieces that the small sign hides.
_HIDDEN = """
const sign = document.getElementById('press')?.getBoundingClientRect();
return !sign ? [] : [...document.querySelectorAll('.view [data-at]')].filter(part => {
  const box = part.getBoundingClientRect(),
    [x, y] = [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
  return x > sign.left && x < sign.right && y > sign.top && y < sign.bottom;
}).map(part => part.dataset.at);
"""
# Lists the words and letters of keys and orders under the small sign.
_COVERED = """
const sign = document.getElementById('press'), box = sign?.getBoundingClientRect();
if (!box?.width) return [];
const [top, bottom] = sign.classList.contains('under')
  ? [box.top + 8, box.bottom] : [box.top, box.bottom - 8];
return [...document.querySelectorAll('.key :is(b, .leg), .slot b')].filter(part => {
  const { left, right, top: upper, bottom: lower, width } = part.getBoundingClientRect();
  return width && right > box.left && left < box.right && lower > top + 2 && upper < bottom - 2;
}).map(part => part.innerText);
"""
# Returns the space between the lesson's words and a small sign that points at the board's last
# rank.
_ROOM = """
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
    """South's phone in the lobby."""
    folder = tmp_path_factory.mktemp("guided")
    with in_process_service(folder) as service, browser(PHONE) as window:
        sit_down(window, service, "south", "Mara")
        yield service, window


def ask(window: WebDriver, path: str, body: str) -> None:
    """Send a request from this browser."""
    script = """
        const [path, body, done] = arguments;
        fetch(path, {
            method: 'POST', headers: { 'Content-Type': 'application/json' }, body
        }).then(a => done(a.status))
    """
    assert window.execute_async_script(script, path, body) == 200


def touch(window: WebDriver, target: str) -> None:
    """Tap what the small sign points at: a square as `@c4`, else a key. Do nothing if it is pressed
    already.
    """
    if target.startswith("@"):
        try_to_tap_square(window, target[1:])
    else:
        window.execute_script("document.querySelector(arguments[0])?.click()", target)


def too_tall(window: WebDriver) -> list[str]:
    """Return the height of the page at each size at which it scrolls. A small phone stays."""
    tall = []
    for width, height in (BESIDE, SMALL):
        resize(window, (width, height))
        found = window.execute_async_script(_TALL)
        tall += [f"{found} px high in {width} x {height}"] if found > height else []
    return tall


@pytest.mark.parametrize("name", LANGUAGE)
def test_a_guided_lesson_ends_in_a_real_game(seat: tuple[Service, WebDriver], name: str) -> None:
    service, window = seat
    client = Client(service.url)
    window.add_cookie({"name": "language", "value": LANGUAGE[name]})
    resize(window, PHONE)
    ask(window, "/api/seat/south/lesson", f'{{"game": "{name}"}}')
    until("the guide", lambda: window.find_elements(By.ID, "guide"))
    client.post("/workbench/tidy")
    wait_for_phase(client, "orders")
    window.refresh()
    until("the small sign", lambda: window.execute_script(_AT))
    assert window.execute_async_script(_SHIFTS) <= MOST_SHIFT
    assert window.execute_script(_HIDDEN) == []
    assert window.execute_script(_ROOM) >= 0
    resize(window, SMALL)
    touches: list[str] = []
    scrolls: list[tuple[str, str]] = []
    hides: dict[str, int] = {}
    covers: list[str] = []
    before = None
    for _ in range(40 * MOST_TOUCHES):
        target = window.execute_script(_AT)
        if target is None:
            break
        # while the other side acts there may be the most to read
        if (target, words := sign(window)) != before:
            before = (target, words)
            scrolls += [(target or words, tall) for tall in too_tall(window)]
            if target:
                touches += [target] if touches[-1:] != [target] else []
                hides[target] = len(window.execute_script(_HIDDEN))
                covers += window.execute_script(_COVERED)
                assert len(touches) < MOST_TOUCHES, touches
        if target:
            touch(window, target)
        wait(0.1)
    view = client.get("/api/view")
    lesson = GAMES[name].lesson
    assert lesson is not None
    assert len(touches) >= len(lesson.steps)
    assert view["phase"] == "orders", "the game goes on"
    scrolls += [("without a guide", tall) for tall in too_tall(window)]
    tap(window, "[data-help]")
    until("the help", lambda: window.find_elements(By.CSS_SELECTOR, "#help:not([hidden]) h2"))
    tap(window, "#help [data-help]")
    until(
        "the orders again", lambda: not window.find_elements(By.CSS_SELECTOR, "#help:not([hidden])")
    )
    assert_no_errors(window)
    ask(window, "/api/seat/south/resign", "{}")
    ask(window, "/api/seat/north/machine-leaves", "{}")
    assert scrolls == []
    assert covers == []
    assert max(hides.values()) <= (name == "scouts"), "between two scouts in a file it hides one"
