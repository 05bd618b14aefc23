"""A greedy player of Kahmate, which carries a ball over the board as in rugby."""

from __future__ import annotations

from random import Random
from typing import Any

from companion.core.kit import Seat
from companion.games.base import Game
from companion.games.kahmate.state import State as KahmateState
from companion.games.kahmate.state import view_details

# Larger than the value of every position.
_WIN = 1e6


def greedy_kahmate(game: Game[Any, Any], state: KahmateState, seat: Seat, rng: Random) -> str:
    """Choose the action after which the ball is farthest ahead. Ties are broken by chance.

    Choose cards and the set-up at random. A full stop in notation does nothing.
    """
    if state.is_placing or state.pending_plan:
        return game.format(game.random_action(state, seat, rng))
    best, best_value = ".", -_WIN
    for action in game.legal_actions(state, seat):
        after = game.apply(state, {seat: action}, rng).state
        value = _position_value(after, seat) + rng.random() / 10
        if value > best_value:
            best, best_value = game.format(action), value
    return best


def _position_value(state: KahmateState, seat: Seat) -> float:
    """Rate who has the ball, how far ahead it is, and how near to it the pieces are.

    Pieces that lie on the ground count a little, by the rounds until they stand up.
    """
    if state.outcome:
        return _WIN / 2 if seat in state.outcome.winners else -_WIN / 2
    view = view_details(state)
    ball = view["ball"]
    forward = 1 if seat is Seat.SOUTH else -1
    value = 0.0
    if ball and ball["square"] != "goal":
        rank = int(ball["square"][1:])
        value += (rank - 6) * forward
        value += 8 if ball["seat"] == seat else -8 if ball["seat"] else 0
    for piece in view["pieces"]:
        if ball and piece["square"] != "goal" and ball["square"] != "goal":
            distance = abs(int(piece["square"][1:]) - int(ball["square"][1:]))
            distance += abs(ord(piece["square"][0]) - ord(ball["square"][0]))
            value += (-0.1 if piece["seat"] == seat else 0.1) * distance
        value += (-0.5 if piece["seat"] == seat else 0.5) * piece["rounds_down"]
    return value
