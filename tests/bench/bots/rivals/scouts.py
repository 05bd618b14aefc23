"""A greedy player of Scouts.

In notation `c4-c5` moves a scout, `@c4` places one, and `.` does nothing. Positions have sets of
scouts as bit masks, with one bit for each square.
"""

from __future__ import annotations

from random import Random
from typing import Any

from companion.core.kit import Seat
from companion.games.base import Game
from companion.games.scouts.board import SQUARE_NAMES, SQUARES, squares_in
from companion.games.scouts.moves import dash_targets, has_play, movable_scouts, shortest_chains
from companion.games.scouts.state import Decision, DecisionKind, Position, move_scout
from companion.games.scouts.state import State as ScoutsState

# Larger than the value of every position.
_WIN = 1e6


def greedy_scouts(game: Game[Any, Any], state: ScoutsState, seat: Seat, rng: Random) -> str:
    """Choose the move after which the seat's scouts are farthest, compared with the other seat's.

    If the seat has another move after it, look ahead to the best one.
    """
    position = state.position
    if position.to_place or not has_play(position):
        return str(
            rng.choice(
                [text for text in map(str, game.legal_actions(state, seat)) if text[0] in "@."]
            )
        )
    best, best_value = "", -_WIN
    for text, after in _moves(position):
        value = _position_value(after)
        if not after.is_won and after.plays_due:
            value = max((_position_value(second) for _, second in _moves(after)), default=value)
        value += rng.random() / 100
        if value > best_value:
            best, best_value = text, value
    return best


def _moves(position: Position) -> list[tuple[str, Position]]:
    """Return the notation of every move, dashes and jumps, with the position after it."""
    moves = []
    for square in squares_in(movable_scouts(position)):
        name, origin = SQUARE_NAMES[square], 1 << square
        moves += [
            (f"{name}-{SQUARE_NAMES[target]}", move_scout(position, origin, 1 << target))
            for target in squares_in(dash_targets(position, square))
        ]
        moves += [
            (str(Decision(DecisionKind.JUMP, chain)), move_scout(position, origin, 1 << chain[-1]))
            for chain in shortest_chains(position, square)
        ]
    return moves


def _position_value(position: Position) -> float:
    """Rate how far all scouts have come, those of the other seat negatively.

    A scout without intel counts a point for each rank that it has come. A scout with intel counts
    the 9 points of the way there, and 2 for each rank that it has come back. Scouts that lie
    beneath others count half. `own` are the scouts of the seat that is to move.
    """
    if position.is_won:
        return _WIN / 2
    value = 0.0
    # The scouts of a group, all scouts that are turned over because they have intel, the side of
    # the group, and the weight of its points.
    groups = (
        (position.own, position.intel, position.seat, 1.0),
        (position.own_lower, position.lower_intel, position.seat, 0.5),
        (position.foe, position.intel, 1 - position.seat, -1.0),
        (position.foe_lower, position.lower_intel, 1 - position.seat, -0.5),
    )
    for mask, turned, side, weight in groups:
        for square in squares_in(mask):
            ahead = SQUARES[square].rank if side == 0 else 9 - SQUARES[square].rank
            value += weight * (9 + 2 * (9 - ahead) if turned >> square & 1 else ahead)
    return value
