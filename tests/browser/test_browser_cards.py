"""Test BINMAT in browsers: the full game by taps, and the referee's form for a combat.

In the full game players hold cards on their phones. With the referee they play with real cards, and
tap in the cards of a combat for the program to work it out.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from in_process import in_process_service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webdriver import WebDriver
from service import Client, tap, until, wait_for_phase, wait_for_sign
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
    top_cards = {int(lane[-1]): cards.split() for lane, cards in tops.items()}
    chosen = {card for cards in top_cards.values() for card in cards}
    others = [card for card in DECK if card not in chosen]
    deck = []
    for lane in range(6):
        first = top_cards.get(lane, [])
        deck += first + [others.pop(0) for _ in range(13 - len(first))]
    return deck


def pick(window: WebDriver, client: Client, *picks: str) -> None:
    """Tap picks such as `key:draw`, `lane:3` or `card:5&`, once the phone shows that it is on turn.

    A slow phone may still show its last turn, whose picks the table would refuse as late.
    """
    script = """
    const [moment] = arguments;
    const choices = document.getElementById('picks')?.dataset.choices ?? '[]';
    return document.getElementById('live').dataset.moment === moment && choices !== '[]';
    """
    moment = client.get("/api/view")["moment"]
    until("the phone's turn", lambda: window.execute_script(script, moment))
    classes = {"key": "pick", "lane": "ln", "card": "card"}
    for each_pick in picks:
        kind, _, name = each_pick.partition(":")
        tap(window, f".{classes[kind]}[data-{kind}='{name}']")


def test_a_full_game_is_played_by_taps(tmp_path: Path, windows: Windows) -> None:
    """Draw, play, take back, pass, and fight for a lane. No page may show a card that is secret."""
    south, north, wall = windows
    with in_process_service(tmp_path, reading_time_s=30) as service:
        client = begin(service, windows, "full", deck=deal(lane0="3% 9#", lane1="5& >%"))
        tap(south, ".picks [data-post$='/resume']")
        pick(south, client, "key:draw", "lane:0")
        wait_for_turns_left(client, 109)
        until("the card", lambda: south.find_elements(By.CSS_SELECTOR, ".card[data-card='3%']"))
        pick(north, client, "lane:1", "key:draw")
        wait_for_turns_left(client, 108)
        assert "5&amp;" not in wall.page_source
        assert not texts_of(wall, ".bigcard")
        pick(south, client, "card:3%")
        until("what comes next", lambda: "3%: play face down" in text_of(south, "#told"))
        assert text_of(south, ".pick[data-key='up']") == "Face up"
        pick(south, client, "lane:2")
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
            "the card taken back",
            lambda: south.find_elements(By.CSS_SELECTOR, ".card[data-card='3%']"),
        )
        pick(south, client, "lane:3", "card:3%")
        wait_for_turns_left(client, 107)
        pick(north, client, "card:5&", "lane:2")
        wait_for_turns_left(client, 106)
        pick(south, client, "key:pass")
        wait_for_turns_left(client, 105)
        pick(north, client, "key:draw", "lane:1")
        wait_for_turns_left(client, 104)
        pick(south, client, "key:pass")
        wait_for_turns_left(client, 103)
        pick(north, client, "card:>%")
        until(
            "a single lane to choose",
            lambda: len(north.find_elements(By.CSS_SELECTOR, ".ln.dim")) == 5,
        )
        pick(north, client, "card:>%")
        until(
            "the card face up",
            lambda: (
                north.find_element(By.CSS_SELECTOR, ".pick[data-key='up']").get_attribute(
                    "aria-pressed"
                )
                == "true"
            ),
        )
        pick(north, client, "lane:2")
        wait_for_phase(client, "stages")
        until("the combat on the screen", lambda: texts_of(wall, ".bigcard b") == ["5", ">"])
        assert texts_of(wall, ".bigcard i") == ["&", "%"]
        assert "Lane 2" in text_of(wall, ".strip")
        tap(south, ".hands [data-post$='/read']")
        wait_for_phase(client, "orders")
        assert turns_left(client) == 102
        assert_no_errors(*windows)


# ---- the referee ---------------------------------------------------------------------------------


# Counts the animations that scripts begin.
COUNT_ANIMATIONS = """
const real = Element.prototype.animate;
window.animations = 0;
Element.prototype.animate = function (...options) {
  window.animations += 1;
  return real.apply(this, options);
};
"""


def test_a_combat_is_entered_by_taps(tmp_path: Path, windows: Windows) -> None:
    """Enter, remove and move cards, and reload. The wall then shows the sums, animated once."""
    south, north, wall = windows
    with in_process_service(tmp_path, reading_time_s=30) as service:
        client = begin(service, windows, "referee")
        tap(south, ".key.large[data-post$='/resume']")
        tap(south, ".row-keys .key:last-child:not(:disabled)")
        wait_for_sign(wall, "Both: fan your cards face up")
        wait_for_sign(north, "Fan your cards face up")
        assert not north.find_elements(By.ID, "enter")

        def enter(*cards: str) -> None:
            for value, suit in cards:
                tap(south, f"[data-value='{value}']")
                tap(south, f"[data-suit='{suit}']:not(:disabled)")

        enter("5&", "3%", "9#", ">+")
        tap(south, "[data-zone='north'] [data-slot='2']")
        tap(south, "[data-tool='away']")
        tap(south, "[data-zone='south'] [data-slot='0']")
        enter("2#", "4^")
        tap(south, "[data-zone='south'] [data-slot='1']")
        tap(south, "[data-tool='left']")
        # 5& is already in the fan of North
        tap(south, "[data-value='5']")
        assert south.find_element(By.CSS_SELECTOR, "[data-suit='&']").get_attribute("disabled")
        south.refresh()
        zones = {seat: f"[data-zone='{seat}'] .up" for seat in ("north", "south")}
        until(
            "the cards after a reload",
            lambda: len(south.find_elements(By.CSS_SELECTOR, zones["north"])) == 3,
        )
        cards = {seat: texts_of(south, zones[seat]) for seat in zones}
        assert cards == {"north": ["5&", "3%", ">+"], "south": ["4^", "2#"]}
        wall.execute_script(COUNT_ANIMATIONS)
        tap(south, "#work-out.go")
        wait_for_phase(client, "stages")
        until("the sums", lambda: wall.find_elements(By.CSS_SELECTOR, ".tally.greater"))
        totals = [
            figure.get_attribute("textContent")
            for figure in wall.find_elements(By.CSS_SELECTOR, ".fight .figure")
        ]
        assert totals == ["6", "8"]
        assert len(wall.find_elements(By.CSS_SELECTOR, ".fight.greater .powers .in")) == 3
        assert wall.execute_script("return window.animations"), "nothing is animated"
        wall.execute_script("window.animations = 0")
        tap(north, ".hands [data-post$='/read']")
        wait_for_sign(wall, "Jonas: discard 2# 4^ 5& 3% >+")
        assert len(wall.find_elements(By.CSS_SELECTOR, ".tally.greater")) == 1
        assert wall.execute_script("return window.animations") == 0, "the sums are animated again"
        assert_no_errors(*windows)


def test_a_card_is_marked_as_face_up_before(tmp_path: Path, windows: Windows) -> None:
    """Mark a card that lay face up before the combat, and unmark it again."""
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


# Lets the form take a reading of the camera, by zone.
SHOW_READING = """
document.getElementById('enter').dataset.read = arguments[0];
document.dispatchEvent(new Event('shown'));
"""
# Closes the page's stream, as the table would send its own readings.
CLOSE_STREAM = """
const done = arguments[0];
import(
  [...document.scripts].find(script => /\\/live\\b/.test(script.src)).src
).then(({ onStream }) => {
  onStream(stream => stream.close());
  done();
});
"""


def test_the_camera_fills_in_only_untapped_cards(tmp_path: Path, windows: Windows) -> None:
    """Tap in a card that the camera has not read. A later reading must not replace it."""
    south, *_ = windows
    with in_process_service(tmp_path, reading_time_s=30) as service:
        client = begin(service, windows, "referee")
        client.post("/api/table/resume")
        south.execute_script(
            "document.addEventListener('shown', () => { window.shownAt = performance.now() })"
        )
        client.post("/api/table/act", moment=client.get("/api/view")["moment"], action="c")

        def show_reading(north_cards: str, south_cards: str) -> None:
            south.execute_script(
                SHOW_READING,
                json.dumps({"north": north_cards.split(), "south": south_cards.split()}),
            )

        def cards_in(seat: str) -> list[str]:
            """Return the cards of a zone, with X for one that is missing."""
            return [
                text or "X"
                for text in texts_of(south, f"[data-zone='{seat}'] [data-slot]:not(.add)")
            ]

        until("the form", lambda: south.find_elements(By.ID, "enter"))
        south.execute_async_script(CLOSE_STREAM)
        until(
            "half a second without news",
            lambda: south.execute_script("return performance.now() - window.shownAt > 500"),
        )
        show_reading("5& X", "")
        assert (cards_in("north"), text_of(south, "#work-out")) == (
            ["5&", "X"],
            "Work it out: 1 card missing",
        )
        tap(south, "[data-value='a']")
        tap(south, "[data-suit='%']")
        assert cards_in("north") == ["5&", "10%"]
        show_reading("X X 3!", "4^")
        assert (cards_in("north"), cards_in("south")) == (["5&", "10%"], ["4^"])
        tap(south, "#lay-open")
        tap(south, "#work-out.go")
        wait_for_phase(client, "stages")
        events = client.get("/api/view")["events"]
        assert [event["text"] for event in events[:2]] == [
            "Attacker opens 5& 10%.",
            "Defender’s 4^ lay face up before.",
        ]
        south.get("about:blank")
