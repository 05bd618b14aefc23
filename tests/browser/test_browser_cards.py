"""Test BINMAT in browsers: the full game by taps, and the referee's form for a combat.

In the full game players hold cards on their phones. With the referee they play with real cards, and
tap in the cards of a combat for the program to work it out.

A card is a value and a suit, such as `5&`. The value `>` is a BREAK, and `a` is a ten, which pages
show as 10. South defends six lanes, and North attacks them. A game has 110 turns, which are counted
down.
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
    begin_binmat,
    text_of,
    texts_of,
    turns_left,
    wait_for_turns_left,
)

from companion.games.binmat.cards import DECK

pytestmark = pytest.mark.browser


# ---- the full game -------------------------------------------------------------------------------


def deal(**tops: str) -> list[str]:
    """Make a deck whose lanes begin with these cards, such as `lane1="5& >%"`.

    Each of the six lanes gets 13 cards of the deck, in order.
    """
    top_cards = {int(lane[-1]): cards.split() for lane, cards in tops.items()}
    chosen = {card for cards in top_cards.values() for card in cards}
    others = [card for card in DECK if card not in chosen]
    deck = []
    for lane in range(6):
        first = top_cards.get(lane, [])
        deck += first + [others.pop(0) for _ in range(13 - len(first))]
    return deck


def pick(window: WebDriver, client: Client, *picks: str) -> None:
    """Tap `key:draw`, `lane:3`, `card:5&` and the like, once the phone shows that it is on turn.

    Until then a slow phone shows its last turn, whose picks the table would refuse as late.
    """
    script = """
    const [moment] = arguments;
    const choices = document.getElementById('picks')?.dataset.choices ?? '[]';
    return document.getElementById('live').dataset.moment === moment && choices !== '[]';
    """
    moment = client.get("/api/view")["moment"]
    until("the phone's turn", lambda: window.execute_script(script, moment))
    classes = {"key": "pick", "lane": "ln", "card": "card"}
    for choice in picks:
        kind, _, name = choice.partition(":")
        tap(window, f".{classes[kind]}[data-{kind}='{name}']")


def test_a_full_game_is_played_by_taps(tmp_path: Path, windows: Windows) -> None:
    """Draw, play, take back, pass, and fight for a lane. No page may show a card that is secret."""
    south, north, wall = windows
    with in_process_service(tmp_path, reading_time_s=30) as service:
        client = begin_binmat(service, windows, "full", deck=deal(lane0="3% 9#", lane1="5& >%"))
        tap(south, ".picks [data-post$='/resume']")

        # Both draw a card: South says what to do and then where, North the other way round. The
        # table screen shows neither card.
        pick(south, client, "key:draw", "lane:0")
        wait_for_turns_left(client, 109)
        until("the card", lambda: south.find_elements(By.CSS_SELECTOR, ".card[data-card='3%']"))
        pick(north, client, "lane:1", "key:draw")
        wait_for_turns_left(client, 108)
        assert "5&amp;" not in wall.page_source
        assert not texts_of(wall, ".bigcard")

        # South plays its card face down to lane 2. Only South's own page shows it there.
        pick(south, client, "card:3%")
        until("what comes next", lambda: "3%: play face down" in text_of(south, "#told"))
        assert text_of(south, ".pick[data-key='up']") == "Face up"
        pick(south, client, "lane:2")
        wait_for_turns_left(client, 107)
        assert "3%" not in wall.page_source
        until("the card in the lane", lambda: text_of(south, ".ln[data-lane='2'] .own") == "3%")

        # The key that hides the hand also hides this card.
        visibility = "return getComputedStyle(document.querySelector('.ln .own')).visibility"
        for state in ("hidden", "visible"):
            tap(south, "#cover")
            until(
                f"{state} with the hand",
                lambda state=state: south.execute_script(visibility) == state,
            )

        # South takes the card back, and plays it to another lane.
        tap(south, ".side-keys [data-post$='/take-back']")
        wait_for_turns_left(client, 108)
        until(
            "the card taken back",
            lambda: south.find_elements(By.CSS_SELECTOR, ".card[data-card='3%']"),
        )
        pick(south, client, "lane:3", "card:3%")
        wait_for_turns_left(client, 107)

        # North plays to lane 2 and draws a second card, while South passes.
        pick(north, client, "card:5&", "lane:2")
        wait_for_turns_left(client, 106)
        pick(south, client, "key:pass")
        wait_for_turns_left(client, 105)
        pick(north, client, "key:draw", "lane:1")
        wait_for_turns_left(client, 104)
        pick(south, client, "key:pass")
        wait_for_turns_left(client, 103)

        # A tap on North's second card, a BREAK, dims the five lanes to which it cannot go. Another
        # tap turns it face up.
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

        # A BREAK face up begins a combat at once. The table screen shows the attacker's cards.
        pick(north, client, "lane:2")
        wait_for_phase(client, "stages")
        until("the combat on the screen", lambda: texts_of(wall, ".bigcard b") == ["5", ">"])
        assert texts_of(wall, ".bigcard i") == ["&", "%"]
        assert "Lane 2" in text_of(wall, ".strip")

        # Once it is read, the game goes on.
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
        # South starts the clock and calls for a combat. South's phone shows the form for the cards,
        # and North's does not.
        client = begin_binmat(service, windows, "referee")
        tap(south, ".key.large[data-post$='/resume']")
        tap(south, ".row-keys .key:last-child:not(:disabled)")
        wait_for_sign(wall, "Both: fan your cards face up")
        wait_for_sign(north, "Fan your cards face up")
        assert not north.find_elements(By.ID, "enter")

        def enter(*cards: str) -> None:
            for value, suit in cards:
                tap(south, f"[data-value='{value}']")
                tap(south, f"[data-suit='{suit}']:not(:disabled)")

        # North's fan comes first. Remove the third card, 9#, and go on with South's fan.
        enter("5&", "3%", "9#", ">+")
        tap(south, "[data-zone='north'] [data-slot='2']")
        tap(south, "[data-tool='away']")
        tap(south, "[data-zone='south'] [data-slot='0']")
        # Move South's second card, 4^, to the left.
        enter("2#", "4^")
        tap(south, "[data-zone='south'] [data-slot='1']")
        tap(south, "[data-tool='left']")
        # There is one card 5&, which is in North's fan already.
        tap(south, "[data-value='5']")
        assert south.find_element(By.CSS_SELECTOR, "[data-suit='&']").get_attribute("disabled")

        # A reload keeps all cards, and their order.
        south.refresh()
        zones = {seat: f"[data-zone='{seat}'] .up" for seat in ("north", "south")}
        until(
            "the cards after a reload",
            lambda: len(south.find_elements(By.CSS_SELECTOR, zones["north"])) == 3,
        )
        cards = {seat: texts_of(south, zones[seat]) for seat in zones}
        assert cards == {"north": ["5&", "3%", ">+"], "south": ["4^", "2#"]}

        # The wall shows both sums, animated: the defender's 4 + 2, and the attacker's 5 + 3, whose
        # power is 3, as 8 is 2 to the power of 3.
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

        # When the page is drawn again for the next stage, nothing is animated once more.
        wall.execute_script("window.animations = 0")
        tap(north, ".hands [data-post$='/read']")
        wait_for_sign(wall, "Jonas: discard 2# 4^ 5& 3% >+")
        assert len(wall.find_elements(By.CSS_SELECTOR, ".tally.greater")) == 1
        assert wall.execute_script("return window.animations") == 0, "the sums are animated again"
        assert_no_errors(*windows)


def test_a_card_is_marked_as_face_up_before(tmp_path: Path, windows: Windows) -> None:
    """Mark a card as one that lay face up before the combat, and unmark it again."""
    south, *_ = windows
    with in_process_service(tmp_path) as service:
        client = begin_binmat(service, windows, "referee", edition="hackmud")
        client.post("/api/table/resume")
        client.post("/api/table/act", moment=client.get("/api/view")["moment"], action="c")
        until("the form", lambda: south.find_elements(By.ID, "enter"))
        # enter the card 5&, and choose it where it lies
        for key in ("[data-value='5']", "[data-suit='&']", "[data-zone='north'] [data-slot='0']"):
            tap(south, key)
        for is_marked in (True, False):
            tap(south, "[data-tool='up']")
            marked = south.find_elements(By.CSS_SELECTOR, ".cd.was-up")
            assert bool(marked) is is_marked
        assert_no_errors(south)


# Gives the form a reading of the camera: the cards of each zone, with X for one that it cannot
# read.
SHOW_READING = """
document.getElementById('enter').dataset.read = arguments[0];
document.dispatchEvent(new Event('shown'));
"""
# Closes the page's stream, because the table would send its own readings.
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
        client = begin_binmat(service, windows, "referee")
        client.post("/api/table/resume")
        # note when the page was drawn last
        south.execute_script(
            "document.addEventListener('shown', () => { window.shownAt = performance.now() })"
        )
        # call for a combat
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

        # From now on only this test gives the form readings.
        until("the form", lambda: south.find_elements(By.ID, "enter"))
        south.execute_async_script(CLOSE_STREAM)
        until(
            "half a second without news",
            lambda: south.execute_script("return performance.now() - window.shownAt > 500"),
        )

        # The camera reads one of North's two cards. A person taps in the other one, 10%.
        show_reading("5& X", "")
        assert cards_in("north") == ["5&", "X"]
        assert text_of(south, "#work-out") == "Work it out: 1 card missing"
        tap(south, "[data-value='a']")
        tap(south, "[data-suit='%']")
        assert cards_in("north") == ["5&", "10%"]

        # A later reading changes South's fan, but not North's, where a person has tapped.
        show_reading("X X 3!", "4^")
        assert cards_in("north") == ["5&", "10%"]
        assert cards_in("south") == ["4^"]

        # Say that South's card lay face up before, and work the combat out. Its first events have
        # these cards.
        tap(south, "#lay-open")
        tap(south, "#work-out.go")
        wait_for_phase(client, "stages")
        events = client.get("/api/view")["events"]
        assert [event["text"] for event in events[:2]] == [
            "Attacker opens 5& 10%.",
            "Defender’s 4^ lay face up before.",
        ]
        south.get("about:blank")
