"""A whole lesson of every game without a phone: through mock pins, as the table screen's page
says.
"""

from __future__ import annotations

import html
from collections.abc import Iterator

import pytest
from internals import app_of
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


@pytest.fixture(scope="module")
def pad_room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PadRoom]:
    room = PadRoom(tmp_path_factory.mktemp("lessons"))
    with room.companion:
        yield room


@pytest.fixture
def room(pad_room: PadRoom) -> Iterator[PadRoom]:
    yield pad_room
    pad_room.table.abandon()


def test_binmat_says_that_its_lesson_needs_a_phone(room: PadRoom) -> None:
    room.begin("binmat")
    assert room.sign() == "Defender: do what is shown here"
    assert str(room.table.view().sign.small).startswith("Not by this pad")
    moment = room.table.view().moment
    room.press(Seat.SOUTH, "a", "ready")
    assert room.table.view().moment == moment, "no key of a pad is taken for an order"
    room.table.change_door(Seat.SOUTH, "phone")
    room.look()
    step = room.table.view().guide
    assert step
    room.table.hand_in(Seat.SOUTH, moment, step.step.orders[Seat.SOUTH])
    room.follow()
    assert room.table.view().guide != step


def assert_told(room: PadRoom, guide: GuideView) -> None:
    """Check that the table screen says which orders to give, why, and how far the lesson is."""
    page = html.unescape(page_text(app_of(room.companion.server).test_client(), "/?screen"))
    for order in (order for orders in guide.orders.values() for order in orders):
        assert translate(order.words) in page
    assert translate(guide.step.why) in page
    assert all(translate(title) in page for title in guide.lesson.titles)


def give(room: PadRoom, seat: Seat, step: LessonStep) -> str:
    """Give a seat's order by the keys of its pad, with its hand, or by a phone. Return by which of
    them.
    """
    text = step.orders[seat]
    grammar = room.table.view(seat).own.pad
    keys = grammar.spell(text) if grammar else ()
    if grammar and grammar.text(keys) == text:
        room.press(seat, *keys, *(() if grammar.is_at_once(keys) else ("ready",)))
        return "pad"
    if room.table.view().board.card_ui:
        if room.table.view().seats[seat].door == "pad":
            room.table.change_door(seat, "phone")
        room.table.hand_in(seat, room.table.view().moment, text)
        room.look()
        return "phone"
    assert str(room.table.view().sign.small).startswith("Not by this pad: move it on the board")
    room.hand_moves(seat, text)
    return "hand"


@pytest.mark.parametrize("name", GAMES)
def test_pads_play_lessons_as_the_screen_says(room: PadRoom, name: str) -> None:
    room.begin(name)
    by = set()
    steps = 0
    while guide := room.table.view().guide:
        assert_told(room, guide)
        by |= {give(room, seat, guide.step) for seat in sorted(guide.step.orders)}
        room.follow()
        steps += 1
        assert steps <= len(guide.lesson.steps), room.sign()
    assert steps == len(GAMES[name].lesson.steps)  # type: ignore[union-attr]  # every game has one
    assert by == BY[name]
    assert room.table.view().phase is Phase.ORDERS, "the game goes on"
    if clock := room.table.view().time.clock:
        assert clock.paused == "start", "nobody is hurried out of a lesson"
