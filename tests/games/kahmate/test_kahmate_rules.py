"""Tests of Kahmate's worked example, its runs and its tries, on states without a table.

They follow the sentences of the rulebook and of the rulings.

`make_state` takes blue's pieces, pink's pieces, and the square of the ball. `B@e5` is the big piece
on e5. Blue is South and is on turn unless another seat is named. `carry_out` carries out actions in
notation, where `3/1` are the cards of a face-off: blue's, then pink's.
"""

from __future__ import annotations

from kahmate_tools import (
    GAME,
    NORTH,
    SOUTH,
    ball,
    carry_out,
    down,
    faces_on,
    is_legal,
    make_state,
    refusal,
)
from step_tools import event_texts, stage_titles

from companion.core.kit import SEATS
from companion.games.kahmate.legal import Reason

# ---- the worked example --------------------------------------------------------------------------


def test_worked_example_of_a_tackle() -> None:
    # Pink's smart piece has the ball, and blue's big piece tackles it from the next square.
    step = carry_out(make_state("B@e5", "S@e6", "e6"), "e5xe6", "3/1")
    # Big adds 2 to blue's card, smart adds 1 to pink's. A lead of 3 wins the ball.
    assert ball(step.state) == ("e5", SOUTH)
    attack, defence = step.stages[0].tallies
    assert (attack.total, defence.total) == ("5", "2")
    assert attack.parts == (("big", "2"), ("card", "3"))
    assert defence.parts == (("smart", "1"), ("card", "1"))
    assert (attack.is_greater, defence.is_greater) == (True, False)
    # The sentences and the stages tell the players what has happened, and what they have to do.
    assert event_texts(step) == [
        "5 against 2: blue big wins the face-off.",
        "Blue big has the ball on e5.",
        "Pink smart is turned over on e6.",
        "The tackle ends blue’s turn.",
    ]
    assert stage_titles(step) == ["Face-off", "Place the ball", "Turn over"]
    assert faces_on(step.state, "e6") == ("pink smart turned over",)
    assert faces_on(step.state, "e5") == ("blue big", "ball")


# ---- the lead ------------------------------------------------------------------------------------


def test_a_try_leads_by_more_than_any_position() -> None:
    """The lead is the ball's distance from the middle in ranks: 5 on a goal line, 6 in goal."""
    for before, text, leads in (
        (make_state("R@h10", "", "h10"), "h10-h11-goal", (4.0, 6.0)),
        (make_state("", "B@h2", "h2", NORTH), "h2-h1-goal", (-4.0, -6.0)),
    ):
        assert (GAME.lead(before), GAME.lead(carry_out(before, text).state)) == leads


# ---- running -------------------------------------------------------------------------------------


def test_a_lost_run_does_not_end_the_turn() -> None:
    # The runner meets an opponent on d4, loses the face-off, and is turned over where it started.
    step = carry_out(make_state("T@d3 F@a3", "S@d4", "h6"), "d3-d4-d5", "3/6")
    assert faces_on(step.state, "d3") == ("blue tough turned over",)
    assert faces_on(step.state, "d4") == ("pink smart",)
    # It is still blue's turn, and another piece may run.
    assert GAME.to_act(step.state) == {SOUTH}
    assert GAME.dump(step.state)["runs_left"] == 1
    assert refusal(step.state, "d3-e3") is Reason.RAN_ALREADY
    assert is_legal(step.state, "a3-a4")


def test_pieces_move_only_after_the_last_face_off() -> None:
    # The run meets two opponents, and wins the first of its two face-offs.
    before = make_state("R@d3", "F@d4 S@d5", "h6")
    step = carry_out(before, "d3-d4-d5-d6", "6/1")
    assert GAME.to_act(step.state) == set(SEATS)
    assert GAME.expected(step.state) == GAME.expected(before)
    assert stage_titles(step) == ["Face-off"]
    assert step.stages[0].expected is None  # hands may have moved the runner already
    assert not GAME.is_checked(step.state)
    assert GAME.is_checked(before)
    # After the second face-off the runner arrives, and both opponents are turned over.
    step = carry_out(step.state, "5/2")
    assert faces_on(step.state, "d6") == ("blue regular",)
    assert down(step.state) == {"d4": 1, "d5": 1}


# ---- tries ---------------------------------------------------------------------------------------


def test_a_run_into_goal_may_meet_opponents() -> None:
    # The opponent stands on the last square before the goal.
    state = make_state("R@d10", "S@d11", "d10")
    won = carry_out(state, "d10-d11-goal", "6/1").state
    assert won.outcome is not None
    assert down(won) == {"d11": 1}
    # A runner that loses stays on d10, and the ball goes one square behind it.
    lost = carry_out(state, "d10-d11-goal", "1/6").state
    assert lost.outcome is None
    assert ball(lost) == ("d9", None)
