"""Whoever wants back what the other has done asks him; without a yes within 20 s nothing
happens.
"""

from __future__ import annotations

import pytest
from table_tools import Played

from companion.core.errors import CompanionError
from companion.core.kit import Seat
from companion.table.table_view import ClockView


def to_second_turn(played: Played) -> tuple[Seat, str]:
    """Play BINMAT's clock through the first turn. Return who took it, and the moment."""
    played.table.new_game("binmat", {"way": "referee"}, seed=1)
    played.table.resume("host")
    (doer,) = (seat for seat, shown in played.view.seats.items() if shown.is_awaited)
    played.table.act(played.view.moment, ".")
    return doer, played.view.moment


def to_second_move(played: Played) -> None:
    """Begin Scouts with its clock running, after White's first move."""
    played.table.new_game("scouts", {"start": "a1 b1 c1 d1 e1 / a10 b10 c10 d10 e10"}, 1)
    played.confirm()
    played.table.resume("host")
    played.hand_in(Seat.SOUTH, "a1-a2")
    played.finish_stages()


def clock(played: Played) -> ClockView:
    shown = played.view.time.clock
    assert shown is not None
    return shown


@pytest.mark.parametrize("answer", ["yes", "no", "withdrawn", "none"])
def test_other_is_asked_for_his_turn(played: Played, answer: str) -> None:
    doer, moment = to_second_turn(played)
    wanting = doer.other
    played.table.request_undo(wanting, moment)
    assert played.view.match.undo_requester is wanting
    assert played.view.moment == moment
    if answer == "yes":
        played.table.request_undo(wanting.other, moment)
    elif answer == "none":
        played.wait(20.5)
    else:
        played.table.decline(wanting if answer == "withdrawn" else wanting.other)
    assert played.view.match.undo_requester is None
    assert played.view.match.can_undo is (answer != "yes")


@pytest.mark.parametrize("by", list(Seat))
def test_draw_is_declined_or_withdrawn(played: Played, by: Seat) -> None:
    to_second_turn(played)
    played.table.offer_draw(Seat.SOUTH)
    played.table.decline(by)
    assert played.view.match.draw_offer is None
    with pytest.raises(CompanionError, match="Nobody has asked"):
        played.table.decline(by)


def test_clock_stops_when_nobody_acts_any_more(played: Played) -> None:
    """Two turns of each side pass by time; after the fourth the clock waits for somebody, and so
    once more.
    """
    played.table.new_game("binmat", {"way": "referee"}, seed=1)
    for _ in range(2):
        played.table.resume("host")
        for _ in range(4):
            assert not clock(played).paused
            played.wait(clock(played).limit_s + 1)
        assert clock(played).paused == "idle"


def test_clocks_wait_for_the_answer_and_go_on(played: Played) -> None:
    to_second_move(played)
    played.table.request_undo(Seat.NORTH, played.view.moment)
    assert clock(played).due_s is None
    view = played.table.view(Seat.SOUTH)
    assert [(str(move.origin), str(move.target)) for move in view.board.undo_moves] == [
        ("a2", "a1")
    ]
    assert view.sign.text == "Black wants the last move back"
    assert played.table.view(Seat.NORTH).sign.text == "Waiting for white"
    with pytest.raises(CompanionError, match="answer first"):
        played.hand_in(Seat.SOUTH, ".")
    played.table.decline(Seat.SOUTH)
    assert clock(played).due_s


def test_the_table_screen_asks_whose_turn_it_was(played: Played) -> None:
    doer, moment = to_second_turn(played)
    played.table.undo(moment)
    assert played.view.match.undo_requester is doer.other
