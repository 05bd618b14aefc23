"""A whole guided first game of each of the five by pads, through the real panel, with the table screen in a browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from selenium.webdriver.remote.webdriver import WebDriver
from service import WALL, browser, says, until
from simulated_room import PadRoom
from window_tools import no_errors, text_of, texts_of

from companion.core.i18n import translate
from companion.core.kit import Seat
from companion.games import GAMES
from companion.games.lesson import Lesson, LessonStep
from companion.table.prompts.guide import GuideView
from companion.table.session import Phase

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def wall() -> Iterator[WebDriver]:
    with browser(WALL) as opened:
        yield opened


def lesson_of(name: str) -> Lesson:
    lesson = GAMES[name].lesson
    assert lesson is not None
    return lesson


def shows(wall: WebDriver, guide: GuideView) -> None:
    """The table screen says which orders are to be given, what they are good for, and how far the lesson has come."""
    words = [
        translate(order.words)
        for seat in sorted(guide.orders, reverse=True)
        for order in guide.orders[seat]
    ]
    script = "return [...document.querySelectorAll('.given td')].map(each => (each.querySelector('.vh') ?? each).textContent.trim())"
    until(
        f"{words} on the table screen", lambda: sorted(wall.execute_script(script)) == sorted(words)
    )
    assert text_of(wall, ".lesson .sense") == translate(guide.step.why)
    plates = texts_of(wall, ".course-of li")
    assert plates == [
        f"{number} {translate(title)}" for number, title in enumerate(guide.lesson.titles, start=1)
    ]
    assert text_of(wall, ".course-of .now") == plates[guide.part]


def give(at: PadRoom, wall: WebDriver, seat: Seat, step: LessonStep) -> str:
    """A seat gives its order as the sign says: by the keys of its pad, with its hand, or by a phone; which of them."""
    text = step.orders[seat]
    grammar = at.table.view(seat).own.pad
    keys = grammar.spell(text) if grammar else ()
    side = translate(GAMES[at.table.view().game or ""].sides[seat].name).capitalize()
    if grammar and grammar.text(keys) == text:
        at.press(seat, *keys, *(() if grammar.is_at_once(keys) else ("ready",)))
        return "pad"
    if at.table.view().board.tableau:
        if at.table.view().seats[seat].door == "pad":
            says(wall, f"{side}: give the order on a phone")
            at.table.play_by(seat, "phone")
        says(wall, f"{side}: do what is shown here")
        at.table.hand_in(seat, at.table.view().moment, text)
        at.look()
        return "phone"
    says(wall, f"{side}: move as shown here")
    at.hand_moves(seat, text)
    return "hand"


BY = {
    "outbuffered": {"pad"},
    "arena": {"pad"},
    "scouts": {"pad", "hand"},
    "kahmate": {"pad", "hand"},
    "binmat": {"phone"},
}
"""How the orders of each lesson are given where both seats have nothing but pads; cards are held on phones."""


@pytest.mark.parametrize("name", GAMES)
def test_pads_play_a_whole_lesson_as_the_table_screen_says(
    tmp_path: Path, wall: WebDriver, name: str
) -> None:
    at = PadRoom(tmp_path)
    try:
        wall.get(f"http://127.0.0.1:{at.companion.server.port}/")
        at.begin(name)
        by = set()
        steps = 0
        while guide := at.table.view().guide:
            shows(wall, guide)
            by |= {give(at, wall, seat, guide.step) for seat in sorted(guide.step.orders)}
            until("what came of it", lambda: text_of(wall, "#live .sign"))
            at.follow()
            steps += 1
            assert steps <= len(lesson_of(name).steps), at.sign()
        assert steps == len(lesson_of(name).steps)
        assert by == BY[name]
        assert at.table.view().phase is Phase.ORDERS, "the game goes on"
        until("the lesson to leave the table screen", lambda: not texts_of(wall, ".lesson"))
        no_errors(wall)
    finally:
        wall.get("about:blank")
        at.companion.close()


def test_a_lesson_begun_and_skipped_by_a_pad_is_a_game(tmp_path: Path, wall: WebDriver) -> None:
    at = PadRoom(tmp_path)
    try:
        game = GAMES["outbuffered"]
        wall.get(f"http://127.0.0.1:{at.companion.server.port}/")
        at.world.set_up(game.expected(game.setup(game.options({}), Random(1))) or {})
        at.look()
        at.press(Seat.SOUTH, "a")
        at.look()
        until("the lesson", lambda: texts_of(wall, ".lesson"))
        at.hands.press("south_back")
        at.look(8)
        at.hands.release("south_back")
        at.look()
        until("the lesson to go", lambda: not texts_of(wall, ".lesson"))
        assert at.table.view().phase is Phase.ORDERS
        no_errors(wall)
    finally:
        wall.get("about:blank")
        at.companion.close()
