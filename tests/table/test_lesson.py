"""A guided first game at the table: it asks for exactly its orders, is resumed after a restart, can
be skipped.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from table_tools import TableRig, open_table_rig, seat_both

from companion.core.clock import FakeClock
from companion.core.errors import Illegal, Malformed
from companion.core.kit import SEATS, Seat
from companion.games import GAMES
from companion.table.session import Phase

SOUTH, NORTH = Seat.SOUTH, Seat.NORTH
EACH = pytest.mark.parametrize("name", GAMES)


def begin(rig: TableRig, name: str) -> None:
    """Begin the lesson of a game, its board set up by hand."""
    rig.table.begin_lesson(name)
    if rig.view.phase is Phase.SETUP:
        rig.confirm()


def follow(rig: TableRig, steps: int = 100) -> int:
    """Do as the guide says, for at most so many steps. Return how many were taken."""
    for taken in range(steps):
        guide = rig.view.guide
        if guide is None:
            return taken
        moment = rig.view.moment
        for seat, text in guide.step.orders.items():
            rig.table.hand_in(seat, moment, text)
        rig.finish_stages()
    return steps


def test_only_holding_back_ends_the_guide(rig: TableRig) -> None:
    rig.show({})
    rig.press(SOUTH, "U")
    rig.press(SOUTH, "S", held=True)
    assert rig.view.phase is Phase.LOBBY, "A alone begins it"
    rig.press(SOUTH, "S")
    for key, held in (("back", False), ("ready", True), ("U", True)):
        rig.press(SOUTH, key, held=held)
        assert rig.view.guide is not None, key
    rig.press(SOUTH, "back", held=True)
    assert rig.view.guide is None


@EACH
def test_results_are_announced_with_the_last_stage(rig: TableRig, name: str) -> None:
    begin(rig, name)
    guide = rig.view.guide
    assert guide is not None
    assert not guide.is_last_stage_shown
    for seat, text in guide.step.orders.items():
        rig.hand_in(seat, text)
    over = []
    while (view := rig.view).phase is Phase.STAGES:
        assert view.guide is not None
        assert view.guide.step == guide.step
        over.append(view.guide.is_last_stage_shown)
        rig.confirm("south")
    assert over == [False] * (len(over) - 1) + [True] * bool(over)


@EACH
def test_a_lesson_survives_restarts_until_it_is_skipped(tmp_path: Path, name: str) -> None:
    with open_table_rig(tmp_path) as rig:
        seat_both(rig)
        begin(rig, name)
        follow(rig, 1)
        before = rig.view
    with open_table_rig(tmp_path, FakeClock(9000.0)) as again:
        after = again.view
        assert (after.moment, after.guide) == (before.moment, before.guide)
        again.table.skip_lesson("south")
        assert again.view.guide is None
        with pytest.raises(Illegal, match="No lesson is on"):
            again.table.skip_lesson("south")
        again.table.undo()
        assert again.view.guide is None, "a turn that is taken back brings no guide back"
    with open_table_rig(tmp_path, FakeClock(9000.0)) as again:
        assert again.view.guide is None


def test_another_order_is_asked_again_and_changes_nothing(rig: TableRig) -> None:
    begin(rig, "outbuffered")
    moment = rig.view.moment
    with pytest.raises(Illegal, match=r"Good for later\. Now: up, right and wait"):
        rig.table.hand_in(SOUTH, moment, "SSS")
    rig.table.change_door(SOUTH, "pad")
    rig.press(SOUTH, "S")
    assert rig.cues[-1] == "key_refused"
    assert rig.view.seats[SOUTH].receipt is None
    rig.table.hand_in(SOUTH, moment, "URI")
    assert rig.view.seats[SOUTH].receipt


def test_a_lessons_last_sentence_stays_one_decision(rig: TableRig) -> None:
    begin(rig, "outbuffered")
    follow(rig)
    view = rig.view
    assert (view.guide, view.sign.text) == (None, "That’s all there is. Now play.")
    assert rig.table.view(SOUTH).sign.small == "That’s all there is. Now play."
    rig.turn("UUU", "UUU")
    rig.finish_stages()
    assert rig.view.sign.text != "That’s all there is. Now play."


def test_a_rematch_is_no_lesson(rig: TableRig) -> None:
    begin(rig, "scouts")
    rig.table.resign(NORTH)
    rig.table.rematch()
    view = rig.view
    assert view.guide is None
    assert not view.board.target, "scouts are placed as in any game"


def test_a_game_without_a_lesson_is_refused(rig: TableRig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(GAMES["arena"]), "lesson", None)
    with pytest.raises(Malformed, match="has no lesson"):
        rig.table.begin_lesson("arena")


# ---- pads ----------------------------------------------------------------------------------------


def test_a_pad_is_told_when_ready_is_enough(rig: TableRig) -> None:
    for seat in SEATS:
        rig.table.change_door(seat, "pad")
    begin(rig, "scouts")
    follow(rig, 1)
    assert rig.view.sign.text == "White: do what is shown here"
    rig.press(SOUTH, "ready")
    guide = rig.view.guide
    assert guide is not None
    assert guide.step_index == 2


@EACH
@pytest.mark.parametrize("seat", SEATS)
def test_somebody_may_leave_a_lesson(rig: TableRig, name: str, seat: Seat) -> None:
    begin(rig, name)
    for _ in range(4):
        rig.table.free_seat(seat)
        for viewer in (None, *SEATS):
            assert rig.table.view(viewer).sign.text
        rig.table.take_seat(seat, "Ada")
        if not follow(rig, 1):
            break


# ---- what can I do now? --------------------------------------------------------------------------


def test_table_help_does_not_depend_on_orders(rig: TableRig) -> None:
    rig.begin()
    rig.table.show_help(True)
    before = rig.view.help
    rig.hand_in(SOUTH, "UUS")
    assert rig.view.help == before
    rig.hand_in(NORTH, "UUS")
    assert not rig.view.help, "a new moment, a new question"
    with pytest.raises(Illegal, match="do as the sign says"):
        rig.table.show_help(True)


def test_a_lesson_asks_whoever_has_not_ordered(
    rig: TableRig,
) -> None:
    begin(rig, "outbuffered")
    view = rig.view
    assert view.sign.text == "Both: give the orders shown here"
    assert view.guide is not None
    rig.table.hand_in(Seat.SOUTH, view.moment, view.guide.step.orders[Seat.SOUTH])
    assert [rig.table.view(viewer).sign.text for viewer in (Seat.SOUTH, None)] == [
        "Waiting for lime",
        "Lime: do what is shown here",
    ]
