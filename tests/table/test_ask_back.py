"""Whoever wants back what the other has done asks him; without a yes within 20 s nothing
happens.
"""

from __future__ import annotations

import pytest
from table_tools import TableRig

from companion.core.errors import CompanionError
from companion.core.kit import Seat
from companion.table.table_view import ClockView


def to_second_turn(rig: TableRig) -> tuple[Seat, str]:
    """Play BINMAT's clock through the first turn. Return who took it, and the moment."""
    rig.table.new_game("binmat", {"way": "referee"}, seed=1)
    rig.table.resume("host")
    (doer,) = (seat for seat, shown in rig.view.seats.items() if shown.is_awaited)
    rig.table.act(rig.view.moment, ".")
    return doer, rig.view.moment


def to_second_move(rig: TableRig) -> None:
    """Begin Scouts with its clock running, after White's first move."""
    rig.table.new_game("scouts", {"start": "a1 b1 c1 d1 e1 / a10 b10 c10 d10 e10"}, 1)
    rig.confirm()
    rig.table.resume("host")
    rig.hand_in(Seat.SOUTH, "a1-a2")
    rig.finish_stages()


def clock(rig: TableRig) -> ClockView:
    shown = rig.view.time.clock
    assert shown is not None
    return shown


@pytest.mark.parametrize("answer", ["yes", "no", "withdrawn", "none"])
def test_other_is_asked_for_his_turn(rig: TableRig, answer: str) -> None:
    doer, moment = to_second_turn(rig)
    wanting = doer.other
    rig.table.request_undo(wanting, moment)
    assert rig.view.match.undo_requester is wanting
    assert rig.view.moment == moment
    if answer == "yes":
        rig.table.request_undo(wanting.other, moment)
    elif answer == "none":
        rig.wait(20.5)
    else:
        rig.table.decline(wanting if answer == "withdrawn" else wanting.other)
    assert rig.view.match.undo_requester is None
    assert rig.view.match.can_undo is (answer != "yes")


@pytest.mark.parametrize("by", list(Seat))
def test_draw_is_declined_or_withdrawn(rig: TableRig, by: Seat) -> None:
    to_second_turn(rig)
    rig.table.offer_draw(Seat.SOUTH)
    rig.table.decline(by)
    assert rig.view.match.draw_offer is None
    with pytest.raises(CompanionError, match="Nobody has asked"):
        rig.table.decline(by)


def test_clock_stops_when_nobody_acts_any_more(rig: TableRig) -> None:
    """Two turns of each side pass by time; after the fourth the clock waits for somebody, and so
    once more.
    """
    rig.table.new_game("binmat", {"way": "referee"}, seed=1)
    for _ in range(2):
        rig.table.resume("host")
        for _ in range(4):
            assert not clock(rig).paused
            rig.wait(clock(rig).limit_s + 1)
        assert clock(rig).paused == "idle"


def test_clocks_wait_for_the_answer_and_go_on(rig: TableRig) -> None:
    to_second_move(rig)
    rig.table.request_undo(Seat.NORTH, rig.view.moment)
    assert clock(rig).due_s is None
    view = rig.table.view(Seat.SOUTH)
    assert [(str(move.origin), str(move.target)) for move in view.board.undo_moves] == [
        ("a2", "a1")
    ]
    assert view.sign.text == "Black wants the last move back"
    assert rig.table.view(Seat.NORTH).sign.text == "Waiting for white"
    with pytest.raises(CompanionError, match="answer first"):
        rig.hand_in(Seat.SOUTH, ".")
    rig.table.decline(Seat.SOUTH)
    assert clock(rig).due_s


def test_the_table_screen_asks_whose_turn_it_was(rig: TableRig) -> None:
    doer, moment = to_second_turn(rig)
    rig.table.undo(moment)
    assert rig.view.match.undo_requester is doer.other
