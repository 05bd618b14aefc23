"""Games of cards in real browsers: the full game by taps, and combats that are tapped in for the
referee.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from in_process import in_process_service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webdriver import WebDriver
from service import tap, until, wait_for_phase, wait_for_sign
from window_tools import (
    Windows,
    assert_no_errors,
    begin,
    text_of,
    texts_of,
    turns_left,
    wait_for_turns_left,
)

from companion.games.binmat.cards import DECK

pytestmark = pytest.mark.browser


# ---- the full game -------------------------------------------------------------------------------


def deal(**tops: str) -> list[str]:
    """Make a deck whose lanes begin with these cards: `lane1="5& >%"`."""
    wanted = {int(lane[-1]): cards.split() for lane, cards in tops.items()}
    chosen = {card for cards in wanted.values() for card in cards}
    rest = [card for card in DECK if card not in chosen]
    whole = []
    for lane in range(6):
        top = wanted.get(lane, [])
        whole += top + [rest.pop(0) for _ in range(13 - len(top))]
    return whole


def pick(window: WebDriver, *taps: str) -> None:
    """Tap `key:draw`, `lane:3` or `card:5&` in turn, once it is the phone's turn."""
    script = "return document.getElementById('picks')?.dataset.choices.length > 2"
    until("the own turn", lambda: window.execute_script(script))
    for step in taps:
        kind, _, name = step.partition(":")
        tap(
            window,
            {"key": f".pick[data-key='{name}']", "lane": f".ln[data-lane='{name}']"}.get(kind)
            or f".card[data-card='{name}']",
        )


def test_a_full_game_by_taps(tmp_path: Path, windows: Windows) -> None:
    south, north, wall = windows
    with in_process_service(tmp_path, reading_time_s=30) as service:
        client = begin(service, windows, "full", deck=deal(lane0="3% 9#", lane1="5& >%"))
        tap(south, ".picks [data-post$='/resume']")
        pick(south, "key:draw", "lane:0")
        wait_for_turns_left(client, 109)
        until("the card", lambda: south.find_elements(By.CSS_SELECTOR, ".card[data-card='3%']"))
        pick(north, "lane:1", "key:draw")
        wait_for_turns_left(client, 108)
        assert "5&amp;" not in wall.page_source
        assert not texts_of(wall, ".bigcard")
        pick(south, "card:3%")
        until("what comes next", lambda: "3%: play face down" in text_of(south, "#told"))
        assert text_of(south, ".pick[data-key='up']") == "Face up"
        pick(south, "lane:2")
        wait_for_turns_left(client, 107)
        assert "3%" not in wall.page_source
        until("the card in the lane", lambda: text_of(south, ".ln[data-lane='2'] .own") == "3%")
        visibility = "return getComputedStyle(document.querySelector('.ln .own')).visibility"
        for state in ("hidden", "visible"):
            tap(south, "#cover")
            until(
                f"{state} with the hand",
                lambda state=state: south.execute_script(visibility) == state,
            )
        tap(south, ".side-keys [data-post$='/take-back']")
        wait_for_turns_left(client, 108)
        until(
            "the card again", lambda: south.find_elements(By.CSS_SELECTOR, ".card[data-card='3%']")
        )
        pick(south, "lane:3", "card:3%")
        wait_for_turns_left(client, 107)
        pick(north, "card:5&", "lane:2")
        wait_for_turns_left(client, 106)
        pick(south, "key:pass")
        wait_for_turns_left(client, 105)
        pick(north, "key:draw", "lane:1")
        wait_for_turns_left(client, 104)
        pick(south, "key:pass")
        wait_for_turns_left(client, 103)
        pick(north, "card:>%")
        until(
            "only one lane to be open",
            lambda: len(north.find_elements(By.CSS_SELECTOR, ".ln.dim")) == 5,
        )
        pick(north, "card:>%")
        until(
            "the other way",
            lambda: (
                north.find_element(By.CSS_SELECTOR, ".pick[data-key='up']").get_attribute(
                    "aria-pressed"
                )
                == "true"
            ),
        )
        pick(north, "lane:2")
        wait_for_phase(client, "stages")
        until("the combat on the screen", lambda: texts_of(wall, ".bigcard b") == ["5", ">"])
        assert texts_of(wall, ".bigcard i") == ["&", "%"]
        assert "Lane 2" in text_of(wall, ".strip")
        tap(south, ".hands [data-post$='/read']")
        wait_for_phase(client, "orders")
        assert turns_left(client) == 102
        assert_no_errors(*windows)


# ---- the referee ---------------------------------------------------------------------------------


COUNT_MOVES = """
const real = Element.prototype.animate;
window.moves = 0;
Element.prototype.animate = function (...given) {
  window.moves += 1;
  return real.apply(this, given);
};
"""


def test_a_combat_is_tapped_in(tmp_path: Path, windows: Windows) -> None:
    south, north, wall = windows
    with in_process_service(tmp_path, reading_time_s=30) as service:
        client = begin(service, windows, "referee")
        tap(south, ".key.large[data-post$='/resume']")
        tap(south, ".row-keys .key:last-child:not(:disabled)")
        wait_for_sign(wall, "Both: fan your cards face up")
        wait_for_sign(north, "Fan your cards face up")
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
        until(
            "the cards after a reload",
            lambda: len(south.find_elements(By.CSS_SELECTOR, zones["north"])) == 3,
        )
        read = {seat: texts_of(south, zones[seat]) for seat in zones}
        assert read == {"north": ["5&", "3%", ">+"], "south": ["4^", "2#"]}
        wall.execute_script(COUNT_MOVES)
        tap(south, "#work-out.go")
        wait_for_phase(client, "stages")
        until("the sums", lambda: wall.find_elements(By.CSS_SELECTOR, ".tally.greater"))
        totals = [
            figure.get_attribute("textContent")
            for figure in wall.find_elements(By.CSS_SELECTOR, ".fight .figure")
        ]
        assert totals == ["6", "8"]
        assert len(wall.find_elements(By.CSS_SELECTOR, ".fight.greater .powers .in")) == 3
        assert wall.execute_script("return window.moves"), "cards turn, and sums grow"
        wall.execute_script("window.moves = 0")
        tap(north, ".hands [data-post$='/read']")
        wait_for_sign(wall, "Jonas: discard 2# 4^ 5& 3% >+")
        assert len(wall.find_elements(By.CSS_SELECTOR, ".tally.greater")) == 1
        assert wall.execute_script("return window.moves") == 0, "the sums lie there already"
        assert_no_errors(*windows)


def test_a_single_card_is_marked_as_open(tmp_path: Path, windows: Windows) -> None:
    south, *_ = windows
    with in_process_service(tmp_path) as service:
        client = begin(service, windows, "referee", edition="hackmud")
        client.post("/api/table/resume")
        client.post("/api/table/act", moment=client.get("/api/view")["moment"], action="c")
        until("the form", lambda: south.find_elements(By.ID, "enter"))
        for key in ("[data-value='5']", "[data-suit='&']", "[data-zone='north'] [data-slot='0']"):
            tap(south, key)
        for is_marked in (True, False):
            tap(south, "[data-tool='up']")
            marked = south.find_elements(By.CSS_SELECTOR, ".cd.was-up")
            assert bool(marked) is is_marked
        assert_no_errors(south)


READS = """
document.getElementById('enter').dataset.read = arguments[0];
document.dispatchEvent(new Event('shown'));
"""
# Stops the page from hearing anything more of the table, which would bring its own reading.
DEAF = """
const done = arguments[0];
import(
  [...document.scripts].find(script => /\\/live\\b/.test(script.src)).src
).then(({ onStream }) => {
  onStream(stream => stream.close());
  done();
});
"""


def test_the_camera_fills_in_only_untapped_cards(tmp_path: Path, windows: Windows) -> None:
    south, *_ = windows
    with in_process_service(tmp_path, reading_time_s=30) as service:
        client = begin(service, windows, "referee")
        client.post("/api/table/resume")
        south.execute_script(
            "document.addEventListener('shown', () => { window.shownAt = performance.now() })"
        )
        client.post("/api/table/act", moment=client.get("/api/view")["moment"], action="c")

        def reads(north: str, other: str) -> None:
            south.execute_script(
                READS,
                json.dumps({"north": north.split(), "south": other.split()}),
            )

        def zone(seat: str) -> list[str]:
            return [
                text or "X"
                for text in texts_of(south, f"[data-zone='{seat}'] [data-slot]:not(.add)")
            ]

        until("the page", lambda: south.find_elements(By.ID, "enter"))
        south.execute_async_script(DEAF)
        until(
            "the last of it",
            lambda: south.execute_script("return performance.now() - window.shownAt > 500"),
        )
        reads("5& X", "")
        assert (zone("north"), text_of(south, "#work-out")) == (
            ["5&", "X"],
            "Work it out: 1 card missing",
        )
        tap(south, "[data-value='a']")
        tap(south, "[data-suit='%']")
        assert zone("north") == ["5&", "10%"]
        reads("X X 3!", "4^")
        assert (zone("north"), zone("south")) == (["5&", "10%"], ["4^"])
        tap(south, "#lay-open")
        tap(south, "#work-out.go")
        wait_for_phase(client, "stages")
        events = client.get("/api/view")["events"]
        assert [event["text"] for event in events[:2]] == [
            "Attacker opens 5& 10%.",
            "Defender’s 4^ lay face up before.",
        ]
        south.get("about:blank")
