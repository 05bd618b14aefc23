"""A greedy player of Outbuffered.

An action is a buffer of three orders, such as `UUS`: U, D, L and R move, S shoots, I does nothing.
"""

from __future__ import annotations

import itertools
from random import Random
from typing import Any

from companion.core.kit import SEATS, Seat
from companion.games.base import Game
from companion.games.outbuffered.turn import State as OutbufferedState

# Larger than the value of every position.
_WIN = 1e6
_SAMPLED_REPLIES = 8


def greedy_outbuffered(
    game: Game[Any, Any], state: OutbufferedState, seat: Seat, rng: Random
) -> str:
    """Choose the orders that do best on average against some random orders of the other robot."""
    replies = ["".join(rng.choices("UDLRIS", k=3)) for _ in range(_SAMPLED_REPLIES)]
    best, best_value = "", -_WIN
    for letters in itertools.product("UDLRIS", repeat=3):
        text = "".join(letters)
        value = rng.random() / 100
        for reply in replies:
            after = game.apply(state, {seat: text, seat.other: reply}, rng).state
            value += _position_value(after, seat)
        if value > best_value:
            best, best_value = text, value
    return best


def _position_value(state: OutbufferedState, seat: Seat) -> float:
    """Rate how near each robot is to its goal, which is the other side's flag.

    A robot that carries that flag goes to its own base instead, and has ten points for the flag.
    """
    if state.outcome:
        return 100.0 * ((seat in state.outcome.winners) - (seat.other in state.outcome.winners))
    value = 0.0
    for side, sign in ((SEATS.index(seat), 1.0), (1 - SEATS.index(seat), -1.0)):
        # the flag has no square while the robot carries it
        robot, flag = state.robots[side], state.flags[1 - side]
        goal = flag or state.terrain.bases[side]
        distance = abs(robot.file - goal.file) + abs(robot.rank - goal.rank)
        value += sign * (-distance + (0 if flag else 10))
    return value
