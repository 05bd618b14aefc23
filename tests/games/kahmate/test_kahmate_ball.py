"""Kahmate: passes, kicks, tackles, where the ball goes; every sentence of rulebook and rulings."""

from __future__ import annotations

import pytest
from kahmate_tools import GAME, NORTH, SOUTH, at, ball, do, down, is_legal, on, shown, told

from companion.games.kahmate.board import NAMES, NUMBERS, squares_between
from companion.games.kahmate.events import KahmateEvent

# ---- passing ------------------------------------------------------------------------------------------------------------


def test_the_line_of_a_pass_crosses_the_inside_of_squares() -> None:
    """A corner that is touched is not inside."""
    for end, crossed in (("d5", ""), ("e5", ""), ("e4", "d5 e5"), ("f5", "e6 e5"), ("b4", "c5")):
        between = squares_between(NUMBERS["d6"], NUMBERS[end])
        assert " ".join(NAMES[square] for square in between) == crossed


def test_standing_opponents_on_the_line_intercept_the_nearest_first() -> None:
    state = at("R@d6 T@e4", "S@d5 B@e5", "d6")
    step = do(state, "d6*e4")
    assert GAME.dump(step.state)["face_off"] == {
        "kind": "pass", "attackers": ["d6"], "defender": "d5", "won": 0, "of": 2,
    }  # fmt: skip
    step = do(step.state, "6/1")
    assert GAME.dump(step.state)["face_off"]["defender"] == "e5"
    assert ball(step.state) == ("d6", SOUTH)
    step = do(step.state, "5/2")
    assert ball(step.state) == ("e4", SOUTH), "every face-off won: it arrives"
    assert down(step.state) == {}, "the loser of an interception is not turned over"


def test_turned_over_opponents_and_team_mates_do_not_intercept() -> None:
    state = at("R@d6 T@e4 F@e5", "S@d5", "d6", down="d5=1")
    step = do(state, "d6*e4")
    assert ball(step.state) == ("e4", SOUTH)


def test_a_pass_is_the_passers_attack_against_the_interceptors_defence() -> None:
    step = do(at("B@d6 T@d4", "S@d5", "d6"), "d6*d4", "1/2")
    assert [tally.parts for tally in step.stages[0].tallies] == [
        (("big", "2"), ("card", "1")),
        (("smart", "1"), ("card", "2")),
    ]
    assert told(step) == ["3 against 3: both choose a card again."]


def test_a_lost_pass_gives_the_interceptor_the_ball_and_the_round_goes_on() -> None:
    step = do(at("R@d6 T@d4", "S@d5", "d6"), "d6*d4", "1/6")
    assert ball(step.state) == ("d5", NORTH)
    assert down(step.state) == {}
    assert GAME.to_act(step.state) == {SOUTH}
    assert is_legal(step.state, "d4xd5"), "it can be tackled at once"
    assert is_legal(step.state, "d6xd5"), "a pass is no run"


# ---- kicking ------------------------------------------------------------------------------------------------------------


def test_nothing_intercepts_a_kick_and_it_may_go_to_an_opponent() -> None:
    state = at("R@d6", "S@d7 B@d8", "d6")
    assert ball(do(state, "d6!d9").state) == ("d9", None)
    assert ball(do(state, "d6!d8").state) == ("d8", NORTH)
    assert GAME.to_act(do(state, "d6!d8").state) == {SOUTH}


def test_a_kick_onto_a_turned_over_piece_lies() -> None:
    step = do(at("R@d6", "S@d7", "d6", down="d7=1"), "d6!d7")
    assert ball(step.state) == ("d7", None)
    assert on(step.state, "d7") == ("pink smart turned over", "ball")


# ---- tackling -----------------------------------------------------------------------------------------------------------


def test_the_way_of_a_tackler_may_end_on_an_occupied_square_and_he_goes_back() -> None:
    step = do(at("R@d4 T@d5", "S@d6", "d6"), "d4-d5xd6", "6/1")
    assert on(step.state, "d4") == ("blue regular", "ball")
    assert on(step.state, "d5") == ("blue tough",)
    step = do(at("R@d4", "S@d6 B@d5", "d6", down="d5=1"), "d4-d5xd6", "6/1")
    assert ball(step.state) == ("d4", SOUTH)


def test_two_tacklers_add_their_attack_strengths() -> None:
    step = do(at("B@d5 T@e6", "S@d6", "d6"), "d5&e6xd6", "1/1")
    assert step.stages[0].tallies[0].parts == (("big", "2"), ("tough", "1"), ("card", "1"))
    assert [tally.total for tally in step.stages[0].tallies] == ["4", "2"]


def test_two_tacklers_are_both_turned_over_if_they_lose() -> None:
    step = do(at("B@d5 F@e6", "S@d6", "d6"), "d5&e6xd6", "1/6")
    assert down(step.state) == {"d5": 1, "e6": 1}
    assert ball(step.state) == ("d6", NORTH)
    assert told(step)[1] == "Pink smart keeps the ball on d6."
    assert step.events[1].seat is NORTH
    assert shown(step) == ["Face-off", "Turn over"]


@pytest.mark.parametrize(("text", "holder"), [("d5&e6xd6", "d5"), ("e6&d5xd6", "e6")])
def test_the_first_named_takes_the_ball(text: str, holder: str) -> None:
    step = do(at("B@d5 T@e6", "S@d6", "d6"), text, "6/1")
    assert ball(step.state) == (holder, SOUTH)


def test_carrier_wins_he_keeps_the_ball_and_the_tackler_is_turned_over() -> None:
    step = do(at("R@d5", "S@d6", "d6"), "d5xd6", "1/2")
    assert ball(step.state) == ("d6", NORTH)
    assert on(step.state, "d5") == ("blue regular turned over",)


@pytest.mark.parametrize(
    ("cards", "taken"),
    [
        ("3/1", False),
        ("4/1", True),
    ],
)
def test_more_than_2_ahead_takes_the_ball(cards: str, taken: bool) -> None:
    """Tough attacks with 1, smart defends with 1: the cards alone make the difference."""
    step = do(at("T@d5", "S@d6", "d6"), "d5xd6", cards)
    assert ball(step.state) == (("d5", SOUTH) if taken else ("d7", None))
    assert down(step.state) == {"d6": 1}


def test_2_ahead_puts_the_ball_one_square_behind_the_carrier() -> None:
    step = do(at("R@d5", "R@d6", "d6"), "d5xd6", "3/1")
    assert ball(step.state) == ("d7", None)
    assert [event.seat for event in step.events if event.kind is KahmateEvent.BALL] == [None]
    assert on(step.state, "d6") == ("pink regular turned over",)
    step = do(at("R@d6", "R@d7", "d6", NORTH), "d7xd6", "1/3")
    assert ball(step.state) == ("d5", None), "behind blue is towards rank 1"


@pytest.mark.parametrize(
    ("carrier", "tackler", "goes"),
    [
        ("c1", "b1", "d1"),
        ("c1", "c2", "d1"),
        ("f1", "f2", "e1"),
        ("a1", "a2", "b1"),
        ("h1", "g1", "g1"),
    ],
)
def test_on_his_own_goal_line_the_ball_goes_beside_him(
    carrier: str, tackler: str, goes: str
) -> None:
    """Away from the tackler; from straight ahead towards the middle; off the board: the other side."""
    state = at(f"R@{carrier} B@a6 T@b6 F@c6 S@e6 R@f6", f"R@{tackler}", carrier, NORTH)
    after = do(state, f"{tackler}x{carrier}", "1/3").state
    assert ball(after) == (goes, NORTH if goes == tackler else None)


def test_the_first_named_decides_the_side() -> None:
    state = at("R@c1 R@a6 B@b6 T@e6 F@f6 S@g6", "R@b1 T@d1", "c1", NORTH)
    assert ball(do(state, "b1&d1xc1", "1/2").state) == ("d1", NORTH), (
        "away from b1: on the second tackler"
    )
    assert ball(do(state, "d1&b1xc1", "1/2").state) == ("b1", NORTH)


def test_the_side_is_where_the_tacklers_way_ends_not_where_it_began() -> None:
    state = at("R@c1 R@a6 B@b6 T@e6 F@f6 S@g6", "R@c3", "c1", NORTH)
    assert ball(do(state, "c3-c2xc1", "1/3").state) == ("d1", None)
    state = at("R@c1 R@a6 B@b6 T@e6 F@f6 S@g6", "R@d2", "c1", NORTH)
    assert ball(do(state, "d2-d1xc1", "1/3").state) == ("b1", None)
    assert ball(do(state, "d2-c2xc1", "1/3").state) == ("d1", None)


def test_the_goal_line_of_the_other_side_is_no_own_goal_line() -> None:
    state = at("R@c11 R@a6 B@b6 T@e6 F@f6 S@g6", "R@c10", "c11", NORTH)
    assert ball(do(state, "c10xc11", "1/3").state) == ("c10", NORTH), (
        "behind blue, where the tackler stands"
    )


def test_a_ball_put_on_a_standing_piece_is_that_pieces_whoever_it_is() -> None:
    assert ball(do(at("R@d5", "R@d6 T@d7", "d6"), "d5xd6", "3/1").state) == ("d7", NORTH)
    assert ball(do(at("R@d5 T@d7", "R@d6", "d6"), "d5xd6", "3/1").state) == ("d7", SOUTH)
    assert ball(do(at("R@d7", "R@d6", "d6"), "d7xd6", "3/1").state) == ("d7", SOUTH), (
        "the tackler included"
    )


def test_a_ball_put_on_a_turned_over_piece_lies_until_it_stands_up() -> None:
    state = do(at("R@d5", "R@d6 T@d7", "d6", down="d7=1"), "d5xd6", "3/1").state
    assert ball(state) == ("d7", None)
    assert on(state, "d7") == ("pink tough turned over", "ball")
    state = do(state, ".").state
    assert ball(state) == ("d7", NORTH), "stood up with the ball"
