"""Tests of Robot Arena in random games, against the slow implementation of `arena_slow.py`."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from arena_slow import SlowPosition, slow_start, slow_turn
from arena_tools import GAME

from companion.core.kit import SEATS

# Options of the games, by which spawn points, walls, damage and limits all differ.
OPTIONS_OF_GAMES: list[dict[str, Any]] = [
    {},
    {"board": "nN.\nS#N\n..s", "spawn_every": 1, "turns": 12},
    {"board": "nn.nn\n.....\nss.ss", "hit_points": 50, "spawn_every": 0},
    {
        "board": "N..N\nn#.n\n.##.\nS.sS",
        "spawn_every": 2,
        "max_robots": 3,
        "attack": 7,
        "friendly": 5,
        "blast": 3,
    },
    {"board": "nN" * 6 + "\n" + "." * 12 + "\n" + "sS" * 6, "spawn_every": 3, "hit_points": 60},
]


def plain_robots(slow: SlowPosition) -> dict[str, dict[str, dict[str, str | int]]]:
    """Return the robots of a position as the game dumps them."""
    robots: dict[str, dict[str, dict[str, str | int]]] = {"south": {}, "north": {}}
    for side, number, (file, rank), points in slow.robots:
        square = f"{'abcdefghijkl'[file - 1]}{rank}"
        robots[side][str(number)] = {"square": square, "points": points}
    return robots


@pytest.mark.parametrize("number", range(len(OPTIONS_OF_GAMES)))
def test_random_games_agree_with_the_slow_game(number: int) -> None:
    """Both have the same robots after every turn, and both end in the same turn with one result."""
    options = OPTIONS_OF_GAMES[number]
    rng = Random(f"arena/{number}")
    for _ in range(25):
        state = GAME.setup(GAME.options(options), rng)
        slow = slow_start(options)
        while not state.outcome:
            actions = {seat: GAME.random_action(state, seat, rng) for seat in SEATS}
            orders = {
                (str(seat), robot): code for seat in SEATS for robot, code in actions[seat].by_robot
            }
            state = GAME.apply(state, actions, rng).state
            slow = slow_turn(slow, orders)
            assert GAME.dump(state)["robots"] == plain_robots(slow)
            assert state.turn == slow.turn
            assert bool(state.outcome) == bool(slow.result)
        assert state.outcome.winners == {slow.result} - {"tie"}
