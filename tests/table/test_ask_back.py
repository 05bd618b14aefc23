"""Test requests that the other side has to agree to: undoing its turn, and a draw.

A request that is not answered within 20 s lapses.
"""

from __future__ import annotations

import pytest
from table_tools import TableRig

from companion.core.errors import CompanionError
from companion.core.kit import Seat
from companion.table.table_view import ClockView


def play_first_turn(rig: TableRig) -> tuple[Seat, str]:
    """Play the first turn of BINMAT. Return the seat that took it, and the next moment.

    In the notation of BINMAT, `.` ends a turn.
    """
    rig.table.new_game("binmat", {"way": "referee"}, seed=1)
    rig.table.resume("host")
    (active,) = (seat for seat, state in rig.view.seats.items() if state.is_awaited)
    rig.table.act(rig.view.moment, ".")
    return active, rig.view.moment


def play_first_move(rig: TableRig) -> None:
    """Begin Scouts with its clock running, and make White's first move."""
    rig.table.new_game("scouts", {"start": "a1 b1 c1 d1 e1 / a10 b10 c10 d10 e10"}, seed=1)
    rig.confirm()
    rig.table.resume("host")
    rig.hand_in(Seat.SOUTH, "a1-a2")
    rig.finish_stages()


def clock_view(rig: TableRig) -> ClockView:
    clock = rig.view.time.clock
    assert clock is not None
    return clock


@pytest.mark.parametrize("answer", ["yes", "no", "withdrawn", "none"])
def test_an_undo_needs_the_other_sides_yes(rig: TableRig, answer: str) -> None:
    active, moment = play_first_turn(rig)
    requester = active.other
    rig.table.request_undo(requester, moment)
    assert rig.view.match.undo_requester is requester
    assert rig.view.moment == moment
    if answer == "yes":
        rig.table.request_undo(active, moment)
    elif answer == "none":
        rig.wait(20.5)
    else:
        rig.table.decline(requester if answer == "withdrawn" else active)
    assert rig.view.match.undo_requester is None
    assert rig.view.match.can_undo is (answer != "yes")


@pytest.mark.parametrize("by", list(Seat))
def test_either_side_ends_an_offered_draw(rig: TableRig, by: Seat) -> None:
    """Withdraw South's offer as South, or decline it as North."""
    play_first_turn(rig)
    rig.table.offer_draw(Seat.SOUTH)
    rig.table.decline(by)
    assert rig.view.match.draw_offer is None
    with pytest.raises(CompanionError, match="Nobody has asked"):
        rig.table.decline(by)


def test_the_clock_stops_after_four_unused_turns(rig: TableRig) -> None:
    """Nobody is playing if two turns of each side run out one after the other.

    The clock is resumed once. After four more such turns it stops again.
    """
    rig.table.new_game("binmat", {"way": "referee"}, seed=1)
    for _ in range(2):
        rig.table.resume("host")
        for _ in range(4):
            assert not clock_view(rig).paused
            rig.wait(clock_view(rig).limit_s + 1)
        assert clock_view(rig).paused == "idle"


def test_chess_clocks_stop_while_an_answer_is_due(rig: TableRig) -> None:
    # Black wants White's move back. The clock stands still, and the screens show what is asked.
    play_first_move(rig)
    rig.table.request_undo(Seat.NORTH, rig.view.moment)
    assert clock_view(rig).due_s is None
    view = rig.table.view(Seat.SOUTH)
    assert [(str(move.origin), str(move.target)) for move in view.board.undo_moves] == [
        ("a2", "a1")
    ]
    assert view.sign.text == "Black wants the last move back"
    assert rig.table.view(Seat.NORTH).sign.text == "Waiting for white"

    # White has to answer before it plays on. Its no starts the clock again.
    with pytest.raises(CompanionError, match="answer first"):
        rig.hand_in(Seat.SOUTH, ".")
    rig.table.decline(Seat.SOUTH)
    assert clock_view(rig).due_s


def test_an_undo_on_the_table_screen_asks_too(rig: TableRig) -> None:
    """An undo on the table screen counts as a request of the side that has not taken the turn."""
    active, moment = play_first_turn(rig)
    rig.table.undo(moment)
    assert rig.view.match.undo_requester is active.other
