"""A whole lesson of every game without a phone: through mock pins, as the table screen's page
says.
"""

from __future__ import annotations

import html
from collections.abc import Iterator
from pathlib import Path

import pytest
from inside import app_of
from simulated_room import PadRoom
from web_fixtures import page_text

from companion.core.i18n import translate
from companion.core.kit import Seat
from companion.games import GAMES
from companion.games.lesson import LessonStep
from companion.table.prompts.guide import GuideView
from companion.table.session import Phase

# How the orders of each lesson are given where both seats have only pads. Cards are held on
# phones.
BY = {
    "outbuffered": {"pad"},
    "arena": {"pad"},
    "scouts": {"pad", "hand"},
    "kahmate": {"pad", "hand"},
    "binmat": {"phone"},
}


@pytest.fixture
def at(tmp_path: Path) -> Iterator[PadRoom]:
    opened = PadRoom(tmp_path)
    yield opened
    opened.companion.close()


def test_binmat_says_that_its_lesson_needs_a_phone(at: PadRoom) -> None:
    at.begin("binmat")
    assert at.sign() == "Defender: do what is shown here"
    assert str(at.table.view().sign.small).startswith("Not by this pad")
    moment = at.table.view().moment
    at.press(Seat.SOUTH, "a", "ready")
    assert at.table.view().moment == moment, "no key of a pad is taken for an order"
    at.table.change_door(Seat.SOUTH, "phone")
    at.look()
    step = at.table.view().guide
    assert step
    at.table.hand_in(Seat.SOUTH, moment, step.step.orders[Seat.SOUTH])
    at.follow()
    assert at.table.view().guide != step


def assert_told(at: PadRoom, guide: GuideView) -> None:
    """Check that the table screen says which orders to give, why, and how far the lesson is."""
    page = html.unescape(page_text(app_of(at.companion.server).test_client(), "/?screen"))
    for order in (order for orders in guide.orders.values() for order in orders):
        assert translate(order.words) in page
    assert translate(guide.step.why) in page
    assert all(translate(title) in page for title in guide.lesson.titles)


def give(at: PadRoom, seat: Seat, step: LessonStep) -> str:
    """Give a seat's order by the keys of its pad, with its hand, or by a phone. Return by which of
    them.
    """
    text = step.orders[seat]
    grammar = at.table.view(seat).own.pad
    keys = grammar.spell(text) if grammar else ()
    if grammar and grammar.text(keys) == text:
        at.press(seat, *keys, *(() if grammar.is_at_once(keys) else ("ready",)))
        return "pad"
    if at.table.view().board.card_ui:
        if at.table.view().seats[seat].door == "pad":
            at.table.change_door(seat, "phone")
        at.table.hand_in(seat, at.table.view().moment, text)
        at.look()
        return "phone"
    assert str(at.table.view().sign.small).startswith("Not by this pad: move it on the board")
    at.hand_moves(seat, text)
    return "hand"


@pytest.mark.parametrize("name", GAMES)
def test_pads_play_a_whole_lesson_as_the_table_screen_says(at: PadRoom, name: str) -> None:
    at.begin(name)
    by = set()
    steps = 0
    while guide := at.table.view().guide:
        assert_told(at, guide)
        by |= {give(at, seat, guide.step) for seat in sorted(guide.step.orders)}
        at.follow()
        steps += 1
        assert steps <= len(guide.lesson.steps), at.sign()
    assert steps == len(GAMES[name].lesson.steps)  # type: ignore[union-attr]  # every game has one
    assert by == BY[name]
    assert at.table.view().phase is Phase.ORDERS, "the game goes on"
    if clock := at.table.view().time.clock:
        assert clock.paused == "start", "nobody is hurried out of a lesson"
