"""A guided first game at the table: it asks for exactly its orders, is resumed after a restart, can
be skipped.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from table_tools import Played, playing, seat_both

from companion.core.clock import FakeClock
from companion.core.errors import Illegal, Malformed
from companion.core.kit import SEATS, Seat
from companion.games import GAMES
from companion.table.session import Phase

SOUTH, NORTH = Seat.SOUTH, Seat.NORTH
EACH = pytest.mark.parametrize("name", GAMES)


def begin(played: Played, name: str) -> None:
    """Begin the lesson of a game, its board set up by hand."""
    played.table.begin_lesson(name)
    if played.view.phase is Phase.SETUP:
        played.confirm()


def follow(played: Played, steps: int = 100) -> int:
    """Do as the guide says, for at most so many steps. Return how many were taken."""
    for taken in range(steps):
        guide = played.view.guide
        if guide is None:
            return taken
        moment = played.view.moment
        for seat, text in guide.step.orders.items():
            played.table.hand_in(seat, moment, text)
        played.finish_stages()
    return steps


def test_only_holding_back_ends_the_guide(played: Played) -> None:
    played.show({})
    played.press(SOUTH, "U")
    played.press(SOUTH, "S", held=True)
    assert played.view.phase is Phase.LOBBY, "A alone begins it"
    played.press(SOUTH, "S")
    for key, held in (("back", False), ("ready", True), ("U", True)):
        played.press(SOUTH, key, held=held)
        assert played.view.guide is not None, key
    played.press(SOUTH, "back", held=True)
    assert played.view.guide is None


@EACH
def test_results_are_said_with_the_last_stage(played: Played, name: str) -> None:
    begin(played, name)
    guide = played.view.guide
    assert guide is not None
    assert not guide.is_shown
    for seat, text in guide.step.orders.items():
        played.hand_in(seat, text)
    over = []
    while (view := played.view).phase is Phase.STAGES:
        assert view.guide is not None
        assert view.guide.step == guide.step
        over.append(view.guide.is_shown)
        played.confirm("south")
    assert over == [False] * (len(over) - 1) + [True] * bool(over)


@EACH
def test_a_lesson_survives_restarts_until_it_is_skipped(tmp_path: Path, name: str) -> None:
    with playing(tmp_path) as played:
        seat_both(played)
        begin(played, name)
        follow(played, 1)
        before = played.view
    with playing(tmp_path, FakeClock(9000.0)) as again:
        after = again.view
        assert (after.moment, after.guide) == (before.moment, before.guide)
        again.table.skip_lesson("south")
        assert again.view.guide is None
        with pytest.raises(Illegal, match="No lesson is on"):
            again.table.skip_lesson("south")
        again.table.undo()
        assert again.view.guide is None, "a turn that is taken back brings no guide back"
    with playing(tmp_path, FakeClock(9000.0)) as again:
        assert again.view.guide is None


def test_another_order_is_asked_again_and_changes_nothing(played: Played) -> None:
    begin(played, "outbuffered")
    moment = played.view.moment
    with pytest.raises(Illegal, match=r"Good for later\. Now: up, right and wait"):
        played.table.hand_in(SOUTH, moment, "SSS")
    played.table.change_door(SOUTH, "pad")
    played.press(SOUTH, "S")
    assert played.cues[-1] == "key_refused"
    assert played.view.seats[SOUTH].receipt is None
    played.table.hand_in(SOUTH, moment, "URI")
    assert played.view.seats[SOUTH].receipt


def test_a_lessons_last_sentence_stays_one_decision(played: Played) -> None:
    begin(played, "outbuffered")
    follow(played)
    view = played.view
    assert (view.guide, view.sign.text) == (None, "That’s all there is. Now play.")
    assert played.table.view(SOUTH).sign.small == "That’s all there is. Now play."
    played.turn("UUU", "UUU")
    played.finish_stages()
    assert played.view.sign.text != "That’s all there is. Now play."


def test_a_rematch_is_no_lesson(played: Played) -> None:
    begin(played, "scouts")
    played.table.resign(NORTH)
    played.table.rematch()
    view = played.view
    assert view.guide is None
    assert not view.board.target, "scouts are placed as in any game"


def test_a_game_without_a_lesson_is_refused(
    played: Played, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(GAMES["arena"]), "lesson", None)
    with pytest.raises(Malformed, match="has no lesson"):
        played.table.begin_lesson("arena")


# ---- pads ----------------------------------------------------------------------------------------


def test_a_pad_is_told_when_ready_is_enough(played: Played) -> None:
    for seat in SEATS:
        played.table.change_door(seat, "pad")
    begin(played, "scouts")
    follow(played, 1)
    assert played.view.sign.text == "White: do what is shown here"
    played.press(SOUTH, "ready")
    guide = played.view.guide
    assert guide is not None
    assert guide.step_index == 2


@EACH
@pytest.mark.parametrize("seat", SEATS)
def test_somebody_may_leave_a_lesson(played: Played, name: str, seat: Seat) -> None:
    begin(played, name)
    for _ in range(4):
        played.table.free_seat(seat)
        for viewer in (None, *SEATS):
            assert played.table.view(viewer).sign.text
        played.table.take_seat(seat, "Ada")
        if not follow(played, 1):
            break


# ---- what can I do now? --------------------------------------------------------------------------


def test_table_help_does_not_depend_on_orders(played: Played) -> None:
    played.begin()
    played.table.show_help(True)
    before = played.view.help
    played.hand_in(SOUTH, "UUS")
    assert played.view.help == before
    played.hand_in(NORTH, "UUS")
    assert not played.view.help, "a new moment, a new question"
    with pytest.raises(Illegal, match="do as the sign says"):
        played.table.show_help(True)


def test_a_lesson_asks_whoever_has_not_ordered(
    played: Played,
) -> None:
    begin(played, "outbuffered")
    view = played.view
    assert view.sign.text == "Both: give the orders shown here"
    assert view.guide is not None
    played.table.hand_in(Seat.SOUTH, view.moment, view.guide.step.orders[Seat.SOUTH])
    assert [played.table.view(viewer).sign.text for viewer in (Seat.SOUTH, None)] == [
        "Waiting for lime",
        "Lime: do what is shown here",
    ]
