"""Kahmate: the worked example, the round, runs, opponents in the way, tries; every sentence of rulebook and rulings."""

from __future__ import annotations

from random import Random

import pytest
from kahmate_tools import (
    GAME,
    NORTH,
    SOUTH,
    at,
    ball,
    do,
    down,
    is_legal,
    on,
    placed,
    refusal,
    shown,
    told,
)

from companion.core.errors import Illegal
from companion.core.kit import SEATS, Seat
from companion.games.kahmate.board import FILES, RANKS, ROLES
from companion.games.kahmate.legal import Reason

# ---- the worked example ---------------------------------------------------------------------------------------------


def test_worked_example_big_with_3_against_smart_with_1_takes_the_ball() -> None:
    step = do(at("B@e5", "S@e6", "e6"), "e5xe6", "3/1")
    assert ball(step.state) == ("e5", SOUTH)
    assert [tally.total for tally in step.stages[0].tallies] == ["5", "2"]
    assert step.stages[0].tallies[0].parts == (("big", "2"), ("card", "3"))
    assert step.stages[0].tallies[1].parts == (("smart", "1"), ("card", "1"))
    assert [tally.is_greater for tally in step.stages[0].tallies] == [True, False]
    assert told(step) == [
        "5 against 2: blue big wins the face-off.",
        "Blue big has the ball on e5.",
        "Pink smart is turned over on e6.",
        "The tackle ends blue’s turn.",
    ]
    assert shown(step) == ["Face-off", "Place the ball", "Turn over"]
    assert on(step.state, "e6") == ("pink smart turned over",)
    assert on(step.state, "e5") == ("blue big", "ball")


# ---- the board, the pieces, set-up ------------------------------------------------------------------------------------


def test_board_and_directions() -> None:
    assert (FILES, RANKS) == (8, 11)
    assert GAME.sides[SOUTH].name == "blue"
    assert GAME.sides[NORTH].name == "pink"
    assert is_legal(at("B@h10", "", "h10"), "h10-h11-goal"), "blue attacks towards rank 11"
    assert is_legal(at("", "B@h2", "h2", NORTH), "h2-h1-goal"), "pink attacks towards rank 1"
    assert not is_legal(at("B@h2", "", "h2"), "h2-h1-goal")


def test_whoever_scores_leads_by_more_than_anybody_on_the_pitch() -> None:
    """As South plays: 5 and a half ranks lie between the middle and either goal."""
    for before, text, leads in (
        (at("R@h10", "", "h10"), "h10-h11-goal", (4.0, 6.0)),
        (at("", "B@h2", "h2", NORTH), "h2-h1-goal", (-4.0, -6.0)),
    ):
        assert (GAME.lead(before), GAME.lead(do(before, text).state)) == leads


def test_pieces_have_speed_attack_and_defence() -> None:
    assert [tuple(role)[2:] for role in ROLES] == [
        (3, 0, 0),
        (3, 0, 0),
        (2, 2, 1),
        (3, 1, 0),
        (4, -1, -1),
        (3, 0, 1),
    ]
    assert "".join(role.letter for role in ROLES) == "RRBTFS"


@pytest.mark.parametrize(
    ("seat", "good", "bad"), [(SOUTH, ("1", "2"), "3"), (NORTH, ("11", "10"), "9")]
)
def test_each_places_on_its_own_two_ranks(seat: Seat, good: tuple[str, str], bad: str) -> None:
    state = GAME.setup(GAME.options({}), Random(0))
    first, second = good
    text = f"R@a{first} R@h{first} B@a{second} T@h{second} F@d{first} S@e{second}"
    GAME.check(state, seat, GAME.parse(text))
    with pytest.raises(Illegal, match=f"d{bad} is not on ranks"):
        GAME.check(state, seat, GAME.parse(text.replace(f"d{first}", f"d{bad}")))


def test_the_two_regulars_may_be_named_in_either_order() -> None:
    state = GAME.setup(GAME.options({}), Random(0))
    GAME.check(state, SOUTH, GAME.parse("R@d1 R@b1 B@c2 T@e2 F@g1 S@d2"))
    GAME.check(state, SOUTH, GAME.parse("R@b1 R@d1 B@c2 T@e2 F@g1 S@d2"))


# ---- a round ------------------------------------------------------------------------------------------------------------


def test_up_to_two_different_pieces_run_each_once() -> None:
    state = do(placed(), "e2-e3").state
    assert refusal(state, "e3-e4") is Reason.RAN_ALREADY
    state = do(state, "d2-d3").state
    assert refusal(state, "c2-c3") is Reason.NO_RUN_LEFT
    assert refusal(state, "e3-e4") is Reason.RAN_ALREADY
    assert GAME.to_act(state) == {SOUTH}, "the round goes on until it is ended"
    assert GAME.to_act(do(state, ".").state) == {NORTH}


@pytest.mark.parametrize(("letter", "speed"), [("R", 3), ("B", 2), ("T", 3), ("F", 4), ("S", 3)])
def test_a_run_goes_up_to_the_speed_in_orthogonal_steps(letter: str, speed: int) -> None:
    state = at(f"{letter}@d3", "", "h6")
    path = [f"d{rank}" for rank in range(3, 4 + speed)]
    for length in range(2, len(path) + 1):
        assert is_legal(state, "-".join(path[:length]))
    assert refusal(state, "-".join([*path, f"d{4 + speed}"])) is Reason.TOO_FAR
    assert refusal(state, "d3-e4") is Reason.NOT_A_STEP
    assert refusal(state, "d3-d5") is Reason.NOT_A_STEP
    assert refusal(state, "d3-d3") is Reason.NOT_A_STEP


def test_passes_and_kicks_come_before_between_and_after_the_runs() -> None:
    state = at("R@d7 R@d6 B@c5 T@e5", "", "d7")
    state = do(state, "d7*d6", "d6-d7-d8", "d8!e9", "e5-e6-e7", ".").state
    assert ball(state) == ("e9", None)
    state = at("R@d7 R@c6 B@d5 T@e4", "", "d7")
    state = do(state, "e4-e5-e6", "d7*e6", "e6*d5", "d7-d6", ".").state
    assert ball(state) == ("d5", SOUTH)


def test_a_tackle_ends_the_round() -> None:
    for cards in ("6/1", "1/6"):
        assert GAME.to_act(do(at("B@e5", "S@e6", "e6"), "e5xe6", cards).state) == {NORTH}


def test_doing_nothing_is_allowed_and_there_is_no_limit_of_rounds() -> None:
    state = placed()
    for _ in range(300):
        state = do(state, ".").state
    assert GAME.dump(state)["turn"] == 301
    assert GAME.outcome(state) is None


# ---- running ------------------------------------------------------------------------------------------------------------


def test_a_path_may_revisit_squares_and_end_where_it_began() -> None:
    state = at("F@b2 T@h2", "", "b3")
    step = do(state, "b2-b3-b2")
    assert ball(step.state) == ("b2", SOUTH)
    assert is_legal(state, "b2-b3-b2-b3-b2")
    assert is_legal(state, "b2-b3-c3-b3-b2")


def test_through_team_mates_and_turned_over_pieces_freely() -> None:
    state = at("F@d3 T@d4 S@d6", "B@d5", "h6", down="d5=1 d6=1")
    step = do(state, "d3-d4-d5-d6-d7")
    assert on(step.state, "d7") == ("blue fast",)
    assert GAME.to_act(step.state) == {SOUTH}, "no face-off"


def test_stopping_on_neither() -> None:
    state = at("F@d3 T@d4 S@e3", "B@c3", "h6", down="c3=1 e3=1")
    assert refusal(state, "d3-d4") is Reason.STOPS_ON_TEAM_MATE
    assert refusal(state, "d3-c3") is Reason.STOPS_ON_TURNED_OVER
    assert refusal(state, "d3-e3") is Reason.STOPS_ON_TURNED_OVER


def test_nobody_enters_the_square_of_a_standing_opponent_with_the_ball() -> None:
    state = at("F@d3", "B@d4", "d4")
    for text in ("d3-d4", "d3-d4-d5", "d3-d4-d3"):
        assert refusal(state, text) is Reason.INTO_CARRIER
    assert is_legal(at("F@d3", "B@d4", "d4", down="d4=1"), "d3-d4-d5"), (
        "turned over, it has no ball"
    )


def test_running_through_the_own_carrier_leaves_him_the_ball() -> None:
    step = do(at("F@d3 T@d4", "", "d4"), "d3-d4-d5")
    assert ball(step.state) == ("d4", SOUTH)
    assert on(step.state, "d4") == ("blue tough", "ball")


def test_stepping_onto_a_standing_opponent_is_a_face_off_there_and_then() -> None:
    state = do(at("T@d3", "S@d4", "h6"), "d3-d4-d5").state
    assert GAME.to_act(state) == set(SEATS)
    assert GAME.dump(state)["face_off"] == {
        "kind": "run", "attackers": ["d3"], "defender": "d4", "won": 0, "of": 1,
    }  # fmt: skip


def test_it_is_the_runners_attack_against_his_defence() -> None:
    step = do(at("T@d3", "S@d4", "h6"), "d3-d4-d5", "3/4")
    assert [tally.parts for tally in step.stages[0].tallies] == [
        (("tough", "1"), ("card", "3")),
        (("smart", "1"), ("card", "4")),
    ]
    step = do(at("B@d3", "F@d4", "h6"), "d3-d4-d5", "1/1")
    assert [tally.total for tally in step.stages[0].tallies] == ["3", "0"]


def test_it_needs_a_speed_that_carries_at_least_one_square_beyond() -> None:
    state = at("B@d3", "S@d5 R@d4", "h6")
    assert refusal(state, "d3-d4") is Reason.STOPS_ON_OPPONENT
    assert refusal(state, "d3-d4-d5") is Reason.STOPS_ON_OPPONENT
    assert is_legal(state, "d3-d4-c4")
    assert is_legal(at("T@d3", "S@d5 R@d4", "h6"), "d3-d4-d5-d6")
    assert is_legal(at("R@d9", "S@d11", "d9"), "d9-d10-d11-goal"), "the goal is beyond"
    assert refusal(at("B@d9", "S@d11", "d9"), "d9-d10-d11") is Reason.STOPS_ON_OPPONENT


def test_won_the_opponent_is_turned_over_and_the_run_goes_on() -> None:
    step = do(at("T@d3", "S@d4", "h6"), "d3-d4-d5", "4/3")
    assert on(step.state, "d5") == ("blue tough",)
    assert on(step.state, "d4") == ("pink smart turned over",)
    assert shown(step) == ["Face-off", "Turn over"]
    assert step.stages[0].expected is not None
    assert GAME.dump(step.state)["runs_left"] == 1
    assert GAME.to_act(step.state) == {SOUTH}


def test_lost_the_run_is_over_but_not_the_round() -> None:
    step = do(at("T@d3 F@a3", "S@d4", "h6"), "d3-d4-d5", "3/6")
    assert on(step.state, "d3") == ("blue tough turned over",)
    assert on(step.state, "d4") == ("pink smart",)
    assert GAME.to_act(step.state) == {SOUTH}
    assert GAME.dump(step.state)["runs_left"] == 1
    assert refusal(step.state, "d3-e3") is Reason.RAN_ALREADY
    assert is_legal(step.state, "a3-a4")


def test_the_runner_stays_on_the_last_free_square_of_its_way_before_him() -> None:
    """Over a team-mate on d5 and a turned-over piece on d6: c4 is not passed, d4 is free."""
    state = at("F@d3 T@d4 S@d5", "B@d6 R@d7", "h6", down="d5=1")
    assert refusal(state, "d3-d4-d5-d6-d7") is Reason.STOPS_ON_OPPONENT
    step = do(state, "d3-d4-d5-d6-c6", "1/6")
    assert on(step.state, "d3") == ("blue fast turned over",), (
        "nothing before him was free but its own square"
    )
    step = do(at("F@d3 S@d5", "B@d6", "h6"), "d3-d4-d5-d6-c6", "1/6")
    assert on(step.state, "d4") == ("blue fast turned over",)


def test_a_square_won_on_the_way_is_not_free_for_the_runner_who_loses_the_next() -> None:
    step = do(at("R@d3", "F@d4 S@d5", "h6"), "d3-d4-d5-d6", "6/1", "1/6")
    assert on(step.state, "d3") == ("blue regular turned over",)
    assert on(step.state, "d4") == ("pink fast turned over",)
    assert on(step.state, "d5") == ("pink smart",)
    assert down(step.state) == {"d3": 2, "d4": 1}


def test_several_face_offs_come_one_after_the_other_and_nothing_moves_before_the_last() -> None:
    before = at("R@d3", "F@d4 S@d5", "h6")
    step = do(before, "d3-d4-d5-d6", "6/1")
    assert GAME.to_act(step.state) == set(SEATS)
    assert GAME.expected(step.state) == GAME.expected(before)
    assert shown(step) == ["Face-off"]
    assert step.stages[0].expected is None, "hands may have gone ahead"
    assert not GAME.is_checked(step.state)
    assert GAME.is_checked(before)
    step = do(step.state, "5/2")
    assert on(step.state, "d6") == ("blue regular",)
    assert down(step.state) == {"d4": 1, "d5": 1}


def test_an_opponent_met_twice_is_one_face_off() -> None:
    step = do(at("F@d3", "S@d4", "h6"), "d3-d4-d5-d4-c4", "6/1")
    assert on(step.state, "c4") == ("blue fast",)
    assert down(step.state) == {"d4": 1}


def test_the_ball_of_a_runner_who_loses_goes_one_square_behind_it() -> None:
    step = do(at("T@d3", "S@d5", "d3"), "d3-d4-d5-d6", "1/6")
    assert on(step.state, "d4") == ("blue tough turned over",)
    assert ball(step.state) == ("d3", None)
    assert shown(step) == ["Face-off", "Place the ball", "Turn over"]
    step = do(at("S@d7", "T@d9", "d9", NORTH), "d9-d8-d7-d6", "6/1")
    assert on(step.state, "d8") == ("pink tough turned over",)
    assert ball(step.state) == ("d9", None), "behind pink is towards rank 11"


def test_a_ball_fetched_on_the_way_is_lost_too() -> None:
    step = do(at("T@d3", "S@e4", "d4"), "d3-d4-e4-e5", "1/6")
    assert on(step.state, "d4") == ("blue tough turned over",)
    assert ball(step.state) == ("d3", None)


def test_the_ball_behind_a_loser_is_his_who_stands_there() -> None:
    step = do(at("T@d4 R@d3", "S@d5", "d4"), "d4-d5-d6", "1/6")
    assert ball(step.state) == ("d3", SOUTH)
    step = do(at("T@d4", "S@d5 R@d3", "d4"), "d4-d5-d6", "1/6")
    assert ball(step.state) == ("d3", NORTH)


def test_the_ball_behind_a_loser_on_rank_1_stays_on_his_square() -> None:
    step = do(at("T@d1", "S@d2", "d1"), "d1-d2-d3", "1/6")
    assert on(step.state, "d1") == ("blue tough turned over", "ball")
    assert ball(step.state) == ("d1", None)
    assert shown(step) == ["Face-off", "Turn over"]
    step = do(at("S@d10", "T@d11", "d11", NORTH), "d11-d10-d9", "6/1")
    assert on(step.state, "d11") == ("pink tough turned over", "ball")


def test_a_runner_that_enters_the_square_of_a_loose_ball_has_it() -> None:
    assert ball(do(at("T@d3", "", "d4"), "d3-d4").state) == ("d4", SOUTH)
    assert ball(do(at("T@d3", "", "d4"), "d3-d4-e4").state) == ("e4", SOUTH)
    assert ball(do(at("T@d3", "", "d4"), "d3-e3-e4").state) == ("d4", None)
    lying = at("T@d3", "S@d4", "d4", down="d4=1")
    assert ball(do(lying, "d3-d4-d5").state) == ("d5", SOUTH), (
        "over the ball on a turned-over piece"
    )


# ---- tries --------------------------------------------------------------------------------------------------------------


def test_into_goal_costs_one_step() -> None:
    assert is_legal(at("B@h10", "", "h10"), "h10-h11-goal")
    assert refusal(at("B@h9", "", "h9"), "h9-h10-h11-goal") is Reason.TOO_FAR
    assert is_legal(at("B@h11", "", "h11"), "h11-goal")
    assert is_legal(at("", "B@h1", "h1", NORTH), "h1-goal")


def test_into_goal_needs_the_ball_by_then() -> None:
    assert refusal(at("R@h10", "", "h6"), "h10-h11-goal") is Reason.GOAL_WITHOUT_BALL
    assert "a2-a1-goal" not in map(
        GAME.format, GAME.legal_actions(at("S@d5", "R@a2", "d5", NORTH), NORTH)
    )
    assert is_legal(at("R@h10", "", "h11"), "h10-h11-goal"), "fetched on the way"
    assert refusal(at("R@h10 T@g10", "", "g10"), "h10-h11-goal") is Reason.GOAL_WITHOUT_BALL
    assert refusal(at("R@h10 T@g10", "", "g10"), "h10-g10-g11-goal") is Reason.GOAL_WITHOUT_BALL, (
        "a team-mate has it"
    )


@pytest.mark.parametrize("seat", SEATS)
def test_a_carrier_whose_run_leaves_the_board_over_the_far_end_wins(seat: Seat) -> None:
    if seat is SOUTH:
        step = do(at("R@h9", "", "h9"), "h9-h10-h11-goal")
    else:
        step = do(at("", "R@h3", "h3", NORTH), "h3-h2-h1-goal")
    outcome = GAME.outcome(step.state)
    assert outcome is not None
    assert outcome.winners == {seat}
    assert GAME.to_act(step.state) == frozenset()
    assert (step.events[-1].kind, step.events[-1].text) == ("won", outcome.reason)
    assert list(GAME.legal_actions(step.state, seat)) == []
    layout = GAME.expected(step.state)
    assert layout is not None
    assert len(layout) == 11, "runner and ball are in goal"
    assert ball(step.state) == ("goal", seat)


def test_the_way_into_goal_may_lead_over_opponents() -> None:
    state = at("R@d10", "S@d11", "d10")
    won = do(state, "d10-d11-goal", "6/1").state
    assert won.outcome is not None
    assert down(won) == {"d11": 1}
    lost = do(state, "d10-d11-goal", "1/6").state
    assert lost.outcome is None
    assert ball(lost) == ("d9", None)
