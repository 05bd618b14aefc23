"""Tests of Kahmate's passes, kicks and tackles, and of where the ball goes.

They follow the sentences of the rulebook and of the rulings, on states without a table.

`make_state` takes blue's pieces, pink's pieces, and the square of the ball. Blue is South and is on
turn unless another seat is named. In the notation `d6*e4` is a pass, `d6!d9` a kick, `d4-d5xd6` a
tackle on d6 after a run to d5, and `d5&e6xd6` a tackle by two pieces. `6/1` are the cards of a
face-off: blue's, then pink's. `ball` gives the square of the ball, and the seat of its carrier.
"""

from __future__ import annotations

import pytest
from kahmate_tools import GAME, NORTH, SOUTH, ball, carry_out, down, faces_on, make_state
from step_tools import event_texts, stage_titles

from companion.core.kit import Seat
from companion.games.kahmate.board import SQUARE_NAMES, SQUARE_NUMBERS, squares_between
from companion.games.kahmate.state import State

# ---- passing -------------------------------------------------------------------------------------


def test_a_pass_crosses_squares_it_passes_inside() -> None:
    """A square of which only a corner is touched is not crossed.

    The passes begin on d6. The squares are given from the nearest to the farthest.
    """
    for end, crossed in (("d5", ""), ("e5", ""), ("e4", "d5 e5"), ("f5", "e6 e5"), ("b4", "c5")):
        between = squares_between(SQUARE_NUMBERS["d6"], SQUARE_NUMBERS[end])
        assert " ".join(SQUARE_NAMES[square] for square in between) == crossed


def test_the_nearest_standing_opponent_intercepts_first() -> None:
    # The line from d6 to e4 crosses d5 and then e5, on which opponents stand.
    state = make_state("R@d6 T@e4", "S@d5 B@e5", "d6")
    step = carry_out(state, "d6*e4")
    assert GAME.dump(step.state)["face_off"] == {
        "kind": "pass", "attackers": ["d6"], "defender": "d5", "won": 0, "of": 2,
    }  # fmt: skip
    # The passer wins, so the second opponent is next. The ball still waits on d6.
    step = carry_out(step.state, "6/1")
    assert GAME.dump(step.state)["face_off"]["defender"] == "e5"
    assert ball(step.state) == ("d6", SOUTH)
    # The passer wins again, and the pass arrives.
    step = carry_out(step.state, "5/2")
    assert ball(step.state) == ("e4", SOUTH)
    assert down(step.state) == {}, "an interception must turn nobody over"


def test_an_interception_compares_attack_with_defence() -> None:
    # The passer's attack of 2 counts, and the interceptor's defence of 1.
    step = carry_out(make_state("B@d6 T@d4", "S@d5", "d6"), "d6*d4", "1/2")
    assert [tally.parts for tally in step.stages[0].tallies] == [
        (("big", "2"), ("card", "1")),
        (("smart", "1"), ("card", "2")),
    ]
    assert event_texts(step) == ["3 against 3: both choose a card again."]


# ---- tackling ------------------------------------------------------------------------------------

# Two of blue beside pink's carrier.
TWO_TACKLERS = make_state("B@d5 T@e6", "S@d6", "d6")


def test_two_losing_tacklers_are_both_turned_over() -> None:
    # Both tacklers add their strength to blue's card, and still have less than pink.
    step = carry_out(TWO_TACKLERS, "d5&e6xd6", "1/6")
    attack, defence = step.stages[0].tallies
    assert attack.parts == (("big", "2"), ("tough", "1"), ("card", "1"))
    assert (attack.total, defence.total) == ("4", "7")
    assert down(step.state) == {"d5": 1, "e6": 1}
    assert ball(step.state) == ("d6", NORTH)
    assert event_texts(step)[1] == "Pink smart keeps the ball on d6."
    assert step.events[1].seat is NORTH
    assert stage_titles(step) == ["Face-off", "Turn over"]


def test_a_piece_stands_up_with_its_ball() -> None:
    # A tackle makes the ball loose, and it comes to lie with a piece that is turned over on d7.
    state = carry_out(make_state("R@d5", "R@d6 T@d7", "d6", down="d7=1"), "d5xd6", "3/1").state
    assert ball(state) == ("d7", None)
    assert faces_on(state, "d7") == ("pink tough turned over", "ball")
    # The piece stands up at the end of pink's turn.
    state = carry_out(state, ".").state
    assert ball(state) == ("d7", NORTH), "the piece that stands up must have the ball on its square"


def carrier_on_goal_line(carrier: str, tacklers: str) -> State:
    """Return a state with pink to act, in which a regular of blue has the ball on a goal line. The
    other pieces of blue are far away.
    """
    return make_state(f"R@{carrier} R@a6 B@b6 T@e6 F@f6 S@g6", tacklers, carrier, NORTH)


KICKER = make_state("R@d6", "S@d7 B@d8", "d6")
# Each case: the state, the action of the seat on turn, the cards that decide its face-off (South /
# North), the ball's square afterwards, and the seat of its carrier.
BALL_MOVES: list[tuple[State, str, str, str, Seat | None]] = [
    # Nothing intercepts a kick. An opponent on the target square gets the ball, unless it is turned
    # over.
    (KICKER, "d6!d9", "", "d9", None),
    (KICKER, "d6!d8", "", "d8", NORTH),
    (make_state("R@d6", "S@d7", "d6", down="d7=1"), "d6!d7", "", "d7", None),
    # An opponent that is turned over does not intercept. An opponent that intercepts has the ball.
    (make_state("R@d6 T@e4 F@e5", "S@d5", "d6", down="d5=1"), "d6*e4", "", "e4", SOUTH),
    (make_state("R@d6 T@d4", "S@d5", "d6"), "d6*d4", "1/6", "d5", NORTH),
    # A lead of more than 2 takes the ball to the square from which the first tackler came.
    (make_state("R@d4 T@d5", "S@d6", "d6"), "d4-d5xd6", "6/1", "d4", SOUTH),
    (make_state("R@d4", "S@d6 B@d5", "d6", down="d5=1"), "d4-d5xd6", "6/1", "d4", SOUTH),
    (TWO_TACKLERS, "d5&e6xd6", "6/1", "d5", SOUTH),
    (TWO_TACKLERS, "e6&d5xd6", "6/1", "e6", SOUTH),
    (make_state("T@d5", "S@d6", "d6"), "d5xd6", "4/1", "d5", SOUTH),
    # A carrier that wins the face-off keeps the ball.
    (make_state("R@d5", "S@d6", "d6"), "d5xd6", "1/2", "d6", NORTH),
    # A smaller lead of the tackler puts the ball behind the carrier. A piece that stands there has
    # it, even the tackler.
    (make_state("T@d5", "S@d6", "d6"), "d5xd6", "3/1", "d7", None),
    (make_state("R@d6", "R@d7", "d6", NORTH), "d7xd6", "1/3", "d5", None),
    (make_state("R@d5", "R@d6 T@d7", "d6"), "d5xd6", "3/1", "d7", NORTH),
    (make_state("R@d5 T@d7", "R@d6", "d6"), "d5xd6", "3/1", "d7", SOUTH),
    (make_state("R@d7", "R@d6", "d6"), "d7xd6", "3/1", "d7", SOUTH),
    # If the carrier stands on its own goal line, the ball goes beside it. After a tackle from one
    # side, it goes to the other side.
    (carrier_on_goal_line("c1", "R@b1"), "b1xc1", "1/3", "d1", None),
    # After a tackle from straight ahead, it goes towards the middle of the line.
    (carrier_on_goal_line("c1", "R@c2"), "c2xc1", "1/3", "d1", None),
    (carrier_on_goal_line("f1", "R@f2"), "f2xf1", "1/3", "e1", None),
    (carrier_on_goal_line("a1", "R@a2"), "a2xa1", "1/3", "b1", None),
    # On the last file there is no square away from the tackler, so the ball goes to the tackler.
    (carrier_on_goal_line("h1", "R@g1"), "g1xh1", "1/3", "g1", NORTH),
    # The first of two tacklers decides the side, by the last square of its path.
    (carrier_on_goal_line("c1", "R@b1 T@d1"), "b1&d1xc1", "1/2", "d1", NORTH),
    (carrier_on_goal_line("c1", "R@b1 T@d1"), "d1&b1xc1", "1/2", "b1", NORTH),
    (carrier_on_goal_line("c1", "R@d2"), "d2-d1xc1", "1/3", "b1", None),
    (carrier_on_goal_line("c1", "R@d2"), "d2-c2xc1", "1/3", "d1", None),
    # On the other goal line the ball goes behind the carrier, as everywhere else.
    (carrier_on_goal_line("c11", "R@c10"), "c10xc11", "1/3", "c10", NORTH),
    # The ball of a runner that loses a face-off goes behind it. A piece that stands there has it.
    (make_state("T@d4 R@d3", "S@d5", "d4"), "d4-d5-d6", "1/6", "d3", SOUTH),
    (make_state("T@d4", "S@d5 R@d3", "d4"), "d4-d5-d6", "1/6", "d3", NORTH),
]


@pytest.mark.parametrize(
    ("state", "text", "cards", "square", "seat"), BALL_MOVES, ids=range(len(BALL_MOVES))
)
def test_the_ball_goes_where_the_rules_say(
    state: State, text: str, cards: str, square: str, seat: Seat | None
) -> None:
    assert ball(carry_out(state, text, *cards.split()).state) == (square, seat)
