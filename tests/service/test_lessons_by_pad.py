"""Test each game's whole lesson, played as the table screen says at a table that has only pads.

The whole service runs in simulation. Its pads are keys on mock pins.
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

# The inputs that each lesson needs where both seats have only pads: keys of a pad, a piece that is
# moved on the board, or a phone. Cards are held on phones.
EXPECTED_INPUTS = {
    "outbuffered": {"pad"},
    "arena": {"pad"},
    "scouts": {"pad", "board"},
    "kahmate": {"pad", "board"},
    "binmat": {"phone"},
}


@pytest.fixture(scope="module")
def pad_room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PadRoom]:
    """One simulated room for all tests of this file."""
    room = PadRoom(tmp_path_factory.mktemp("lessons"))
    with room.companion:
        yield room


@pytest.fixture
def room(pad_room: PadRoom) -> Iterator[PadRoom]:
    """The simulated room. Its game is abandoned after the test."""
    yield pad_room
    pad_room.table.abandon()


def test_binmat_lesson_continues_on_a_phone(room: PadRoom) -> None:
    # South, who is the defender, has only a pad. The sign says that its keys will not do, and they
    # change nothing.
    room.begin("binmat")
    assert room.sign() == "Defender: do what is shown here"
    assert str(room.table.view().sign.small).startswith("Not by this pad")
    moment = room.table.view().moment
    room.press(Seat.SOUTH, "a", "ready")
    assert room.table.view().moment == moment, "a key of the pad must not count as an order"

    # On a phone South gives the order of the first step, and the lesson goes on.
    room.table.change_door(Seat.SOUTH, "phone")
    room.look()
    guide = room.table.view().guide
    assert guide
    room.table.hand_in(Seat.SOUTH, moment, guide.step.orders[Seat.SOUTH])
    room.follow()
    assert room.table.view().guide != guide


def assert_screen_explains(room: PadRoom, guide: GuideView) -> None:
    """Check that the table screen names the orders to give, the reason and the lesson's parts."""
    page = html.unescape(page_text(app_of(room.companion.server).test_client(), "/?screen"))
    for orders in guide.orders.values():
        for order in orders:
            assert translate(order.words) in page
    assert translate(guide.step.why) in page
    assert all(translate(title) in page for title in guide.lesson.titles)


def give_order(room: PadRoom, seat: Seat, step: LessonStep) -> str:
    """Enter the order of a lesson's step for a seat. Return the device: `pad`, `phone` or `board`.

    If the keys of the pad can spell the order, it is entered with the `pad`. If not, it is entered
    with a `phone` if players hold their cards there, and otherwise by moving a piece on the
    `board`.
    """
    action_text = step.orders[seat]
    grammar = room.table.view(seat).own.pad
    keys = grammar.spell(action_text) if grammar else ()
    if grammar and grammar.text(keys) == action_text:
        # Some orders count at once, others only when the key Ready is pressed.
        room.press(seat, *keys, *(() if grammar.is_at_once(keys) else ("ready",)))
        return "pad"
    if room.table.view().board.card_ui:
        if room.table.view().seats[seat].door == "pad":
            room.table.change_door(seat, "phone")
        room.table.hand_in(seat, room.table.view().moment, action_text)
        room.look()
        return "phone"
    assert str(room.table.view().sign.small).startswith("Not by this pad: move it on the board")
    room.hand_moves(seat, action_text)
    return "board"


@pytest.mark.parametrize("name", GAMES)
def test_pads_play_lessons_as_the_screen_says(room: PadRoom, name: str) -> None:
    room.begin(name)
    inputs = set()
    step_count = 0
    # There is a guide as long as the lesson lasts.
    while guide := room.table.view().guide:
        assert_screen_explains(room, guide)
        inputs |= {give_order(room, seat, guide.step) for seat in sorted(guide.step.orders)}
        room.follow()
        step_count += 1
        assert step_count <= len(guide.lesson.steps), room.sign()
    assert step_count == len(GAMES[name].lesson.steps)  # type: ignore[union-attr]  # every game has one
    assert inputs == EXPECTED_INPUTS[name]

    # Then the game goes on without the lesson. Its clock waits until somebody starts it.
    assert room.table.view().phase is Phase.ORDERS, "the game must go on after its lesson"
    if clock := room.table.view().time.clock:
        assert clock.paused == "start", "the clock must not run as soon as the lesson ends"
