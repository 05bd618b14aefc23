"""A greedy player of Outbuffered."""

from __future__ import annotations

import itertools
from random import Random
from typing import Any

from companion.core.kit import SEATS, Seat
from companion.games.base import Game
from companion.games.outbuffered.turn import State as OutbufferedState

_WIN = 1e6
_SAMPLED_ANSWERS = 8


def greedy_outbuffered(
    game: Game[Any, Any], state: OutbufferedState, seat: Seat, rng: Random
) -> str:
    """Choose the orders that do best on average against a few random answers."""
    answers = ["".join(rng.choices("UDLRIS", k=3)) for _ in range(_SAMPLED_ANSWERS)]
    best, best_value = "", -_WIN
    for letters in itertools.product("UDLRIS", repeat=3):
        text = "".join(letters)
        value = rng.random() / 100
        for answer in answers:
            after = game.apply(state, {seat: text, seat.other: answer}, rng).state
            value += _outbuffered_value(after, seat)
        if value > best_value:
            best, best_value = text, value
    return best


def _outbuffered_value(state: OutbufferedState, seat: Seat) -> float:
    """Rate how near each robot is to the other one's flag, or to its base with the flag."""
    if state.outcome:
        return 100.0 * ((seat in state.outcome.winners) - (seat.other in state.outcome.winners))
    value = 0.0
    for side, sign in ((SEATS.index(seat), 1.0), (1 - SEATS.index(seat), -1.0)):
        robot, flag = state.robots[side], state.flags[1 - side]
        goal = flag or state.terrain.bases[side]
        way = abs(robot.file - goal.file) + abs(robot.rank - goal.rank)
        value += sign * (-way + (0 if flag else 10))
    return value
