"""Test lessons at a table: which orders they accept, when they end, and how restarts keep them."""

from __future__ import annotations

from pathlib import Path

import pytest
from table_tools import TableRig, open_table_rig, seat_both

from companion.core.clock import FakeClock
from companion.core.errors import Illegal, Malformed
from companion.core.kit import SEATS, Seat
from companion.games import GAMES
from companion.table.session import Phase

SOUTH = Seat.SOUTH
NORTH = Seat.NORTH
EVERY_GAME = pytest.mark.parametrize("name", GAMES)


def begin(rig: TableRig, name: str) -> None:
    """Begin the lesson of a game, and confirm that its board is set up."""
    rig.table.begin_lesson(name)
    if rig.view.phase is Phase.SETUP:
        rig.confirm()


def follow_guide(rig: TableRig, max_steps: int = 100) -> int:
    """Do as the guide says until the lesson ends. Return the number of steps that were taken."""
    for step_count in range(max_steps):
        guide = rig.view.guide
        if guide is None:
            return step_count
        moment = rig.view.moment
        for seat, text in guide.step.orders.items():
            rig.table.hand_in(seat, moment, text)
        rig.finish_stages()
    return max_steps


def test_only_holding_back_ends_the_guide(rig: TableRig) -> None:
    # With a board of Outbuffered on the table, the key A (the order S) begins its lesson.
    rig.show_reading({})
    rig.press(SOUTH, "U")
    rig.press(SOUTH, "S", held=True)
    assert rig.view.phase is Phase.LOBBY, "no other key than A must begin the lesson"
    rig.press(SOUTH, "S")

    # Of all keys, only Back leaves the lesson, and only if it is held.
    for key, held in (("back", False), ("ready", True), ("U", True)):
        rig.press(SOUTH, key, held=held)
        assert rig.view.guide is not None, key
    rig.press(SOUTH, "back", held=True)
    assert rig.view.guide is None


@EVERY_GAME
def test_results_are_announced_with_the_last_stage(rig: TableRig, name: str) -> None:
    """The guide explains what has happened only when all of the turn is on the screen."""
    begin(rig, name)
    guide = rig.view.guide
    assert guide is not None
    assert not guide.is_last_stage_shown
    for seat, text in guide.step.orders.items():
        rig.hand_in(seat, text)
    # For each stage, whether the guide takes it for the last one.
    is_last_shown = []
    while (view := rig.view).phase is Phase.STAGES:
        assert view.guide is not None
        assert view.guide.step == guide.step
        is_last_shown.append(view.guide.is_last_stage_shown)
        rig.confirm("south")
    # A step of the lesson may have no stages.
    if is_last_shown:
        assert is_last_shown.pop()
    assert not any(is_last_shown)


@EVERY_GAME
def test_a_lesson_survives_restarts_until_it_is_skipped(tmp_path: Path, name: str) -> None:
    # The table is restarted after the first step, and shows the same step.
    with open_table_rig(tmp_path) as rig:
        seat_both(rig)
        begin(rig, name)
        follow_guide(rig, max_steps=1)
        before = rig.view
    with open_table_rig(tmp_path, FakeClock(9000.0)) as restarted:
        after = restarted.view
        assert (after.moment, after.guide) == (before.moment, before.guide)

        # Once the lesson is skipped, neither an undone turn nor a restart brings it back.
        restarted.table.skip_lesson("south")
        assert restarted.view.guide is None
        with pytest.raises(Illegal, match="No lesson is on"):
            restarted.table.skip_lesson("south")
        restarted.table.undo()
        assert restarted.view.guide is None, "undoing a turn must not bring the lesson back"
    with open_table_rig(tmp_path, FakeClock(9000.0)) as restarted:
        assert restarted.view.guide is None


def test_other_orders_are_refused_during_a_lesson(rig: TableRig) -> None:
    # On a phone, the answer names the orders of this step. A pad refuses the first wrong key.
    begin(rig, "outbuffered")
    moment = rig.view.moment
    with pytest.raises(Illegal, match=r"Good for later\. Now: up, right and wait"):
        rig.table.hand_in(SOUTH, moment, "SSS")
    rig.table.change_door(SOUTH, "pad")
    rig.press(SOUTH, "S")
    assert rig.cues[-1] == "key_refused"
    assert rig.view.seats[SOUTH].receipt is None

    # The orders up, right and wait are accepted.
    rig.table.hand_in(SOUTH, moment, "URI")
    assert rig.view.seats[SOUTH].receipt


def test_a_lessons_last_sentence_stays_for_one_turn(rig: TableRig) -> None:
    begin(rig, "outbuffered")
    follow_guide(rig)
    view = rig.view
    assert (view.guide, view.sign.text) == (None, "That’s all there is. Now play.")
    assert rig.table.view(SOUTH).sign.small == "That’s all there is. Now play."
    rig.hand_in_both("UUU", "UUU")
    rig.finish_stages()
    assert rig.view.sign.text != "That’s all there is. Now play."


def test_a_rematch_has_no_lesson(rig: TableRig) -> None:
    begin(rig, "scouts")
    rig.table.resign(NORTH)
    rig.table.rematch()
    view = rig.view
    assert view.guide is None
    assert not view.board.target, "scouts must be placed as in other games"


def test_a_game_without_a_lesson_is_refused(rig: TableRig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(GAMES["arena"]), "lesson", None)
    with pytest.raises(Malformed, match="has no lesson"):
        rig.table.begin_lesson("arena")


# ---- pads ----------------------------------------------------------------------------------------


def test_ready_on_a_pad_ends_a_turn(rig: TableRig) -> None:
    for seat in SEATS:
        rig.table.change_door(seat, "pad")
    begin(rig, "scouts")
    follow_guide(rig, 1)
    assert rig.view.sign.text == "White: do what is shown here"
    rig.press(SOUTH, "ready")
    guide = rig.view.guide
    assert guide is not None
    assert guide.step_index == 2


@EVERY_GAME
@pytest.mark.parametrize("seat", SEATS)
def test_people_may_leave_and_join_a_lesson(rig: TableRig, name: str, seat: Seat) -> None:
    """The sign has a sentence for everybody, whoever sits at the table."""
    begin(rig, name)
    for _ in range(4):
        rig.table.free_seat(seat)
        for viewer in (None, *SEATS):
            assert rig.table.view(viewer).sign.text
        rig.table.take_seat(seat, "Ada")
        if not follow_guide(rig, 1):
            break


# ---- help ----------------------------------------------------------------------------------------


def test_table_help_does_not_depend_on_orders(rig: TableRig) -> None:
    """The help is on the table screen, where it must not reveal what a seat has sealed."""
    rig.begin()
    rig.table.show_help(True)
    before = rig.view.help
    rig.hand_in(SOUTH, "UUS")
    assert rig.view.help == before
    rig.hand_in(NORTH, "UUS")
    assert not rig.view.help, "the help must go with the turn for which it was asked"
    with pytest.raises(Illegal, match="do as the sign says"):
        rig.table.show_help(True)


def test_a_lesson_asks_seats_without_orders(rig: TableRig) -> None:
    begin(rig, "outbuffered")
    view = rig.view
    assert view.sign.text == "Both: give the orders shown here"
    assert view.guide is not None
    rig.table.hand_in(Seat.SOUTH, view.moment, view.guide.step.orders[Seat.SOUTH])
    assert [rig.table.view(viewer).sign.text for viewer in (Seat.SOUTH, None)] == [
        "Waiting for lime",
        "Lime: do what is shown here",
    ]
