"""Games of cards and clocks in real browsers: the three ways to play, two phones and the table screen, and the time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webdriver import WebDriver
from service import PHONE, WALL, Client, Lag, Running, browser, running, says, sit_down, tap, until, wait

from companion.games.binmat.cards import DECK

pytestmark = pytest.mark.browser
Windows = tuple[WebDriver, WebDriver, WebDriver]
RING_S = 0.05
"""How far a ring may be from the service's clock."""


@pytest.fixture(scope="module")
def windows() -> Iterator[Windows]:
    """Two phones and the table screen, for all tests of this file."""
    with ExitStack() as stack:
        south, north, wall = (stack.enter_context(browser(size)) for size in (PHONE, PHONE, WALL))
        yield south, north, wall


def begin(service: Running, windows: Windows, way: str, **options: Any) -> Client:
    """Both sit down, the host starts the game, everybody has a page open; the clock still stands."""
    south, north, wall = windows
    client = Client(service.url)
    sit_down(south, service, "south", "Mara")
    sit_down(north, service, "north", "Jonas")
    service.new_game("binmat", way=way, **{"seconds": 60.0, **options})
    wall.get(service.url)
    for window in windows:
        window.get_log("browser")  # type: ignore[attr-defined] # Chrome has it; what an earlier test left there
    return client


def left(client: Client) -> int:
    return int(client.get("/api/view")["tableau"]["count"]["number"])


def reaches(client: Client, turns: int) -> None:
    until(f"{turns} turns left", lambda: left(client) == turns)


def shows(window: WebDriver, turns: int) -> None:
    """The page has the turn, and the keys take presses again: right after a turn a bouncing finger is not heard."""
    script = "return document.querySelector('.turns .figures, .top > span b')?.textContent"
    until(f"{turns} on the page", lambda: window.execute_script(script) == str(turns))
    until(
        "the keys",
        lambda: window.execute_script("return performance.now() - (window.seen ??= performance.now()) > 350"),
    )
    window.execute_script("delete window.seen")


def no_errors(*windows: WebDriver) -> None:
    for window in windows:
        severe = [entry for entry in window.get_log("browser") if entry["level"] == "SEVERE"]  # type: ignore[attr-defined] # Chrome has it
        assert [entry["message"] for entry in severe if "409 (CONFLICT)" not in entry["message"]] == []


def text_of(window: WebDriver, selector: str) -> str:
    return str(window.execute_script("return document.querySelector(arguments[0])?.innerText ?? ''", selector))


# ---- the clock ---------------------------------------------------------------------------------------------------------


def test_the_clock_on_two_phones_and_the_table_screen(tmp_path: Path, windows: Windows) -> None:
    south, north, wall = windows
    with running(tmp_path, "--simulate", "--port", "0") as service:
        client = begin(service, windows, "clock")
        says(wall, "Press ready to start the clock")
        shows(wall, 110)
        wall.find_element(By.TAG_NAME, "body").send_keys(" ")
        says(south, "Defender: your turn")
        shows(south, 110)
        tap(south, ".key.large.go")
        says(north, "Attacker: your turn")
        assert "Waiting for attacker" in text_of(south, ".key.large")
        shows(north, 109)
        tap(north, ".key.large.go")
        shows(wall, 108)
        wall.find_element(By.TAG_NAME, "body").send_keys(" ")
        reaches(client, 107)
        shows(wall, 107)
        ActionChains(wall).move_to_element(wall.find_element(By.CSS_SELECTOR, ".whole")).click().perform()
        reaches(client, 106)
        shows(south, 106)
        tap(south, ".row-keys [data-post$='/pause']")
        says(wall, "Press ready to go on")
        assert text_of(wall, ".whole").startswith("Go on")
        before = client.get("/api/view")["clock"]["left_s"]
        south.refresh()
        says(south, "Press ready to go on")
        shows(south, 106)
        tap(south, ".key.large[data-post$='/resume']")
        until("the clock to run", lambda: client.get("/api/view")["clock"]["due_s"])
        assert client.get("/api/view")["clock"]["left_s"] == before
        tap(south, ".key.large.go:not([data-post$='/resume'])")
        says(north, "Attacker: your turn")
        tap(south, ".row-keys [data-post$='/take-back']")
        says(south, "Defender: your turn")
        assert left(client) == 106
        until("the key", lambda: south.find_elements(By.CSS_SELECTOR, ".key.large.go"))
        shows(wall, 106)
        tap(wall, ".keysets.right .key")
        says(wall, "Combat: the clock stands still")
        tap(wall, ".keysets.left [data-post$='/back']")
        says(wall, "Press ready to go on")
        assert left(client) == 106
        no_errors(*windows)


def test_a_finger_that_bounces_ends_one_turn(tmp_path: Path, windows: Windows) -> None:
    *_, wall = windows
    with running(tmp_path, "--simulate", "--port", "0") as service:
        client = begin(service, windows, "clock")
        shows(wall, 110)
        wall.find_element(By.TAG_NAME, "body").send_keys(" ")
        shows(wall, 110)
        chain = ActionChains(wall, duration=0).move_to_element(wall.find_element(By.CSS_SELECTOR, ".whole"))
        for _ in range(4):
            chain.click().pause(0.04)
        chain.perform()
        reaches(client, 109)
        shows(wall, 109)
        assert left(client) == 109


def test_nothing_moves_when_the_turn_passes_or_the_clock_stops(tmp_path: Path, windows: Windows) -> None:
    south, _, wall = windows
    places = (
        "return [...document.querySelectorAll(arguments[0])].map(each => { const { x, y, width, height } ="
        " each.getBoundingClientRect(); return [x, y, width, height].map(Math.round) })"
    )
    parts = {south: ".sign, .dial, .row-keys .key, .key.large", wall: ".sign, .dial, .half, .keysets .key, .turns"}
    with running(tmp_path, "--simulate", "--port", "0") as service:
        client = begin(service, windows, "clock")
        shows(wall, 110)
        seen: dict[WebDriver, list[Any]] = {south: [], wall: []}

        def look() -> None:
            for window, selector in parts.items():
                seen[window].append(window.execute_script(places, selector))

        look()
        client.post("/api/table/resume")
        says(wall, "Defender: your turn")
        says(south, "Defender: your turn")
        look()
        client.post("/api/table/act", moment=client.get("/api/view")["moment"], action=".")
        says(wall, "Attacker: your turn")
        says(south, "Attacker: your turn")
        look()
        for window in parts:
            assert seen[window][0] == seen[window][1] == seen[window][2]


def ink_height(window: WebDriver) -> int:
    """Height in px of what is drawn of the big number, in the picture that the screen shows."""
    box = window.execute_script("return document.querySelector('.turns').getBoundingClientRect().toJSON()")
    picture = cv2.imdecode(np.frombuffer(window.get_screenshot_as_png(), np.uint8), cv2.IMREAD_GRAYSCALE)
    unit = min(box["width"], box["height"]) / 720
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    inside = picture[round(y - 190 * unit) : round(y + 135 * unit), round(x - 150 * unit) : round(x + 150 * unit)]
    ground = int(np.median(inside[:3]))
    rows = np.flatnonzero((np.abs(inside.astype(int) - ground) > 60).any(axis=1))
    assert rows[0] > 0
    assert rows[-1] < len(inside) - 1
    return int(rows[-1] - rows[0] + 1)


@pytest.mark.parametrize(("way", "turns"), [("clock", 110), ("full", 110), ("clock", 63), ("full", 88), ("clock", 998)])
def test_the_big_number_has_a_quarter_of_the_screens_height(
    tmp_path: Path, windows: Windows, way: str, turns: int
) -> None:
    *_, wall = windows
    with running(tmp_path, "--simulate", "--port", "0") as service:
        service.new_game("binmat", way=way, turns=turns)
        wall.get(service.url)
        shows(wall, turns)
        number = wall.execute_script(
            "const text = document.querySelector('.turns .figures'); return [text.getBoundingClientRect().height,"
            " text.getBoundingClientRect().width, text.closest('svg').getBoundingClientRect().height]"
        )
        assert number[0] >= WALL[1] / 4
        assert number[1] < 560 / 720 * number[2]
        assert ink_height(wall) >= WALL[1] / 4


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


def test_rings_follow_the_services_clock_not_the_phones(tmp_path: Path, windows: Windows) -> None:
    """The browsers' dates are seven minutes wrong, and every message takes 20 to 120 ms, each another time."""
    with (
        running(tmp_path, "--simulate", "--port", "0") as service,
        closing(Lag(service.port)) as lag,
        ExitStack() as after,
    ):
        client = begin(service, windows, "clock", seconds=30.0)
        client.post("/api/table/resume")
        for window, path in zip(windows, ("/watch", "/watch", "/"), strict=True):
            wrong = window.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WRONG_DATE})  # type: ignore[attr-defined] # Chrome has it
            after.callback(window.execute_cdp_cmd, "Page.removeScriptToEvaluateOnNewDocument", wrong)  # type: ignore[attr-defined] # Chrome has it
            window.get(lag.url + path)
        for window in windows:
            assert abs(window.execute_script("return Date.now()") / 1000 - time.time()) > 400
            until("the time", lambda window=window: ring_error_s(window) < RING_S)
        wait(2.5)  # the eight trips of a comparison
        errors = [ring_error_s(window) for _ in range(8) for window in windows]
        assert max(errors) < RING_S, errors
        for window in windows:
            window.get("about:blank")


# ---- the full game -----------------------------------------------------------------------------------------------------


def deal(**tops: str) -> list[str]:
    """A deck whose lanes begin with these cards: `lane1="5& >%"`."""
    wanted = {int(lane[-1]): cards.split() for lane, cards in tops.items()}
    chosen = {card for cards in wanted.values() for card in cards}
    rest = [card for card in DECK if card not in chosen]
    whole = []
    for lane in range(6):
        top = wanted.get(lane, [])
        whole += top + [rest.pop(0) for _ in range(13 - len(top))]
    return whole


def pick(window: WebDriver, *taps: str) -> None:
    """`key:draw`, `lane:3` or `card:5&`, one after the other, once it is the phone's turn."""
    script = "return document.getElementById('picks')?.dataset.choices.length > 2"
    until("the own turn", lambda: window.execute_script(script))
    for each in taps:
        kind, _, name = each.partition(":")
        tap(
            window,
            {"key": f".pick[data-key='{name}']", "lane": f".ln[data-lane='{name}']"}.get(kind)
            or f".card[data-card='{name}']",
        )


def test_a_full_game_by_taps(tmp_path: Path, windows: Windows) -> None:
    south, north, wall = windows
    with running(tmp_path, "--simulate", "--port", "0", reading_time_s=30) as service:
        client = begin(service, windows, "full", deck=deal(lane0="3% 9#", lane1="5& >%"))
        tap(south, ".picks [data-post$='/resume']")
        pick(south, "key:draw", "lane:0")
        reaches(client, 109)
        until("the card", lambda: south.find_elements(By.CSS_SELECTOR, ".card[data-card='3%']"))
        pick(north, "lane:1", "key:draw")
        reaches(client, 108)
        assert "5&amp;" not in wall.page_source
        pick(south, "card:3%")
        until("what comes next", lambda: "3%: play face down" in text_of(south, "#told"))
        assert text_of(south, ".pick[data-key='up'] span") == "Face up: on open stacks, and >"
        assert text_of(south, ".pick[data-key='down'] small") == "lane"
        pick(south, "lane:2")
        reaches(client, 107)
        assert "3%" not in wall.page_source
        assert text_of(south, ".ln[data-lane='2'] .own") == "3%"
        tap(south, ".side-keys [data-post$='/take-back']")
        reaches(client, 108)
        until("the card again", lambda: south.find_elements(By.CSS_SELECTOR, ".card[data-card='3%']"))
        pick(south, "lane:3", "card:3%")
        reaches(client, 107)
        pick(north, "card:5&", "lane:2")
        reaches(client, 106)
        pick(south, "key:pass")
        reaches(client, 105)
        pick(north, "key:draw", "lane:1")
        reaches(client, 104)
        pick(south, "key:draw")
        pick(south, "lane:0")
        reaches(client, 103)
        pick(north, "card:>%")
        until("only one lane to be open", lambda: len(north.find_elements(By.CSS_SELECTOR, ".ln.dim")) == 5)
        pick(north, "card:>%")
        until(
            "the other way",
            lambda: north.find_element(By.CSS_SELECTOR, ".pick[data-key='up']").get_attribute("aria-pressed") == "true",
        )
        pick(north, "lane:2")
        until("the combat", lambda: client.get("/api/view")["phase"] == "stages")
        until("the combat on the screen", lambda: "5&amp;" in wall.page_source)
        while client.get("/api/view")["phase"] == "stages":
            stage = client.get("/api/view")["stage_title"]
            until("the step", lambda stage=stage: stage in text_of(wall, ".strip"))
            tap(south, ".hands [data-post$='/confirm']")
            until("the next step", lambda stage=stage: client.get("/api/view")["stage_title"] != stage)
        assert left(client) == 102
        no_errors(*windows)


def test_a_selection_survives_a_fragment_and_ends_with_the_turn(tmp_path: Path, windows: Windows) -> None:
    south, north, _ = windows
    with running(tmp_path, "--simulate", "--port", "0") as service:
        client = begin(service, windows, "full", deck=deal(lane0="3%"))
        tap(south, ".picks [data-post$='/resume']")
        pick(south, "key:draw", "lane:0")
        reaches(client, 109)
        pick(north, "key:pass")
        reaches(client, 108)
        pick(south, "card:3%")
        north.get(f"{service.url}/seat/north")
        tap(north, ".menu summary")
        tap(north, ".sheet [data-post$='/draw']")
        says(south, "")
        until("the offer", lambda: "offers a draw" in text_of(south, ".offer"))
        assert south.find_elements(By.CSS_SELECTOR, ".card.on")
        until("lanes to choose", lambda: len(south.find_elements(By.CSS_SELECTOR, ".ln.dim")) == 0)
        south.execute_script("document.getElementById('cover').click()")
        assert south.find_element(By.CSS_SELECTOR, ".card b").value_of_css_property("visibility") == "hidden"
        south.refresh()
        until("the cover", lambda: south.find_elements(By.CSS_SELECTOR, ".held.covered"))
        south.execute_script("document.getElementById('cover').click()")
        pick(south, "card:3%")
        service.host("pause")
        service.host("undo")
        until("the turn before", lambda: left(client) == 109)
        until("no selection", lambda: not south.find_elements(By.CSS_SELECTOR, ".card.on"))


# ---- the referee -------------------------------------------------------------------------------------------------------


def test_a_combat_is_tapped_in(tmp_path: Path, windows: Windows) -> None:
    south, north, wall = windows
    with running(tmp_path, "--simulate", "--port", "0", reading_time_s=30) as service:
        client = begin(service, windows, "referee")
        tap(south, ".key.large[data-post$='/resume']")
        tap(south, ".row-keys .key:last-child:not(:disabled)")
        says(wall, "Lay both stacks open")
        says(north, "Lay both stacks open")
        assert not north.find_elements(By.ID, "enter")

        def enter(*cards: str) -> None:
            for card in cards:
                tap(south, f"[data-value='{card[0]}']")
                tap(south, f"[data-suit='{card[1]}']:not(:disabled)")

        enter("5&", "3%", "9#", ">+")
        tap(south, "[data-zone='north'] [data-slot='2']")
        tap(south, "[data-tool='away']")
        tap(south, "[data-zone='south'] [data-slot='0']")
        enter("2#", "4^")
        tap(south, "[data-zone='south'] [data-slot='1']")
        tap(south, "[data-tool='left']")
        tap(south, "[data-value='5']")
        assert south.find_element(By.CSS_SELECTOR, "[data-suit='&']").get_attribute("disabled")
        south.refresh()
        zones = {seat: f"[data-zone='{seat}'] .up" for seat in ("north", "south")}
        until("the cards after a reload", lambda: len(south.find_elements(By.CSS_SELECTOR, zones["north"])) == 3)
        read = {seat: [key.text for key in south.find_elements(By.CSS_SELECTOR, zones[seat])] for seat in zones}
        assert read == {"north": ["5&", "3%", ">+"], "south": ["4^", "2#"]}
        tap(south, "#work-out.go")
        until("the combat", lambda: client.get("/api/view")["phase"] == "stages")
        tap(south, ".hands [data-post$='/confirm']")
        until("the sums", lambda: wall.find_elements(By.CSS_SELECTOR, ".tally.greater"))
        totals = [each.get_attribute("textContent") for each in wall.find_elements(By.CSS_SELECTOR, ".half .total")]
        assert totals == ["6", "8"]
        assert len(wall.find_elements(By.CSS_SELECTOR, ".half.right .ladder .in")) == 3
        tap(north, ".hands [data-post$='/confirm']")
        says(wall, "Attacker: 5 cards to the attacker discard")
        no_errors(*windows)


def test_what_is_missing_is_said(tmp_path: Path, windows: Windows) -> None:
    south, *_ = windows
    with running(tmp_path, "--simulate", "--port", "0") as service:
        begin(service, windows, "referee")
        tap(south, ".key.large[data-post$='/resume']")
        tap(south, ".row-keys .key:last-child:not(:disabled)")
        until("the key", lambda: text_of(south, "#work-out") == "Work it out: tap the cards")
        tap(south, "[data-suit='&']")
        until("the order", lambda: text_of(south, "#said") == "First the value, then the suit")
        tap(south, "[data-zone='south'] [data-slot='0']")
        tap(south, "[data-value='5']")
        tap(south, "[data-suit='&']")
        until("what lacks", lambda: text_of(south, "#work-out") == "Work it out: a card of attacker missing")


# ---- sizes -------------------------------------------------------------------------------------------------------------


def test_no_page_scrolls_sideways_on_a_small_phone_or_with_large_text(tmp_path: Path, windows: Windows) -> None:
    south, *_ = windows
    bigger = (
        "for (const each of document.querySelectorAll('#live, #live *:not(svg *)'))"
        " each.dataset.size = parseFloat(getComputedStyle(each).fontSize);"
        "for (const each of document.querySelectorAll('[data-size]')) each.style.fontSize = `${2 * each.dataset.size}px`;"
    )
    with running(tmp_path, "--simulate", "--port", "0") as service, ExitStack() as after:
        metrics = "Emulation.setDeviceMetricsOverride"
        size = {"deviceScaleFactor": 1, "mobile": True}
        after.callback(south.execute_cdp_cmd, metrics, {"width": PHONE[0], "height": PHONE[1], **size})  # type: ignore[attr-defined] # Chrome has it
        client = begin(service, windows, "clock")
        for way in ("clock", "referee", "full"):
            for large in (False, True):
                width, height = (390, 844) if large else (320, 640)
                south.execute_cdp_cmd(metrics, {"width": width, "height": height, **size})  # type: ignore[attr-defined] # Chrome has it
                for path in ("/seat/south", "/watch", "/rules/binmat"):
                    south.get(service.url + path)
                    until("the page", lambda: south.execute_script("return document.readyState") == "complete")
                    if large:
                        south.execute_script(bigger)
                    wide = south.execute_script("return document.scrollingElement.scrollWidth")
                    assert wide <= width, f"{way} {path} is {wide} px wide"
            following = {"clock": "referee", "referee": "full"}.get(way)
            if following:
                service.host("abandon")
                service.new_game("binmat", way=following)
            if following == "referee":
                client.post("/api/table/resume")
                client.post("/api/table/act", moment=client.get("/api/view")["moment"], action="c")
