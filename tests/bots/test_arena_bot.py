"""Tests of the bot for Robot Arena, in this process.

It finds mixed strategies and a sure win.
"""

from __future__ import annotations

from random import Random

import pytest
from bot_tools import bot_of

from companion.bots.base import LEVELS
from companion.bots.mixed_strategies import solve_matrix_game
from companion.core.kit import Seat
from companion.games.arena import Arena
from companion.games.arena.orders import ORDER_CODES
from companion.games.arena.state import Robot, State

GAME = Arena()


def test_mixed_strategies_of_scissors_paper_stone() -> None:
    own, other = solve_matrix_game([[0, 1, -1], [-1, 0, 1], [1, -1, 0]], rounds=240)
    assert own == pytest.approx([1 / 3] * 3, abs=0.03)
    assert other == pytest.approx([1 / 3] * 3, abs=0.03)


@pytest.mark.parametrize("level", LEVELS)
def test_it_takes_wins_that_need_all_robots(level: int) -> None:
    """North's last robot has few hit points. If South's three robots strike at its square and at
    both squares that it can enter, South wins whatever the robot does.
    """
    # three ranks of three squares, with the starts of South and North
    board = "n..\n...\ns.."
    options = GAME.options({"board": board, "spawn_every": 0})
    start = GAME.setup(options, Random(0))
    place_of = start.terrain.names.index
    own = tuple(
        Robot(number, place_of(name), hit_points=30)
        for number, name in enumerate(("b1", "a3", "c1"), start=1)
    )
    last_enemy = Robot(number=1, place=place_of("a2"), hit_points=6)
    state = State(options, start.terrain, (own, (last_enemy,)), turn=11)
    bot = bot_of("arena", Seat.SOUTH, level, board=board, spawn_every=0)
    action = GAME.parse(bot.choose(GAME.view(state, Seat.SOUTH)).action)
    for code in ORDER_CODES:
        orders = {Seat.SOUTH: action, Seat.NORTH: GAME.parse(f"1:{code}")}
        outcome = GAME.apply(state, orders, Random(0)).state.outcome
        assert outcome is not None
        assert outcome.winners == {Seat.SOUTH}
