"""Tests of the bot for Scouts, in this process.

They cover how it values positions, the wins that it finds, and how it goes on within a turn.
"""

from __future__ import annotations

from random import Random

import pytest
from bench.bots.matches import Pairing, play_game
from bot_tools import bot_of, is_legal, random_states
from scouts_tools import GAME, make_state, state_after

from companion.bots.base import LEVELS
from companion.bots.scouts_evaluation import WIN, Evaluation, position_of, values_by_ranks_left
from companion.core.kit import Seat
from companion.games.scouts.state import State, move_scout


@pytest.mark.parametrize("stacking", ["on", "off"])
def test_a_gain_is_the_difference_of_two_values(stacking: str) -> None:
    """The search adds up gains of plays, which are faster to compute than values of positions."""
    evaluation = Evaluation(values_by_ranks_left(Random(0), 0.0))
    for state in random_states("scouts", count=100, max_decisions=150, stacking=stacking):
        position = state.position
        view = GAME.view(state, state.seat)
        assert position_of(view, may_stack=stacking == "on") == position
        for gain, origin, target in evaluation.rated_plays(position):
            played = move_scout(position, 1 << origin, 1 << target)
            assert (gain >= WIN) == played.is_won
            if not played.is_won:
                gained = evaluation.value(played) - evaluation.value(position)
                assert gain == pytest.approx(gained, abs=1e-6)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    "state",
    [
        make_state(white="d2 g5", black="c9 h9", intel="d2"),
        make_state(white="d5 d4 d2 a9", black="g9", intel="d5"),
        make_state(white="c3 d1 h9", black="c9 e5", intel="c3"),
        make_state(white="h2", black="b9 g4", intel="b9", seat=Seat.NORTH),
    ],
    ids=["dash", "jumps", "two plays", "black"],
)
def test_it_finds_a_win_in_one_turn(level: int, state: State) -> None:
    """A scout with intel is one dash, one chain of jumps, or two plays from home."""
    seat = state.seat
    bot = bot_of("scouts", seat, level)
    while state.seat is seat and state.outcome is None:
        state = state_after(state, bot.choose(GAME.view(state, seat)).action)
    assert state.outcome is not None
    assert state.outcome.winners == {seat}


def test_a_new_bot_finishes_a_begun_turn() -> None:
    """A bot that is started in the middle of a turn does not know the plan. It must not choose the
    scout that has moved.
    """
    state = make_state(white="d4 e4 f4 b3 h6", black="b9 c9 d9 e9 f9", due=1, played="d4")
    choice = bot_of("scouts", Seat.SOUTH, level=3).choose(GAME.view(state, Seat.SOUTH))
    # a dash is written `d4-d5`, and a jump `d4^d6`
    origin = choice.action.split("-")[0].split("^")[0]
    assert origin != "d4"
    assert is_legal("scouts", state, Seat.SOUTH, choice.action)


def test_a_blocked_game_of_beginners_ends() -> None:
    """In this game both sides move back and forth. A beginner recognises its own scouts' squares
    and then plays something else. When it compared whole positions, a thousand decisions did not
    end the game.
    """
    pairing = Pairing("scouts", level=1, rival=1, seat=None, min_share=0.0)
    assert play_game(pairing, index=27) != 0


@pytest.mark.parametrize("rock", ["R@d5-e5", "B@d5"])
def test_a_rock_before_the_moves_is_not_judged(rock: str) -> None:
    """The search values a rock only after the plays. So the bot cannot tell what this one loses."""
    state = make_state(white="d2 g2", black="c9 h9")
    assert (
        bot_of("scouts", Seat.SOUTH, level=3).judge(GAME.view(state, Seat.SOUTH), rock).loss is None
    )
