"""A greedy player of Scouts."""

from __future__ import annotations

from random import Random
from typing import Any

from companion.core.kit import Seat
from companion.games.base import Game
from companion.games.scouts.board import SQUARE_NAMES, SQUARES, squares_in
from companion.games.scouts.moves import dash_targets, has_play, movable_scouts, shortest_chains
from companion.games.scouts.state import Decision, DecisionKind, Position, move_scout
from companion.games.scouts.state import State as ScoutsState

_WIN = 1e6


def greedy_scouts(game: Game[Any, Any], state: ScoutsState, seat: Seat, rng: Random) -> str:
    """Choose the move from which the seat's scouts come farthest, compared with the other one's.

    If another move is due, look ahead to the best one.
    """
    position = state.position
    if position.to_place or not has_play(position):
        return str(
            rng.choice(
                [text for text in map(str, game.legal_actions(state, seat)) if text[0] in "@."]
            )
        )
    best, best_value = "", -_WIN
    for text, after in _scouts_plays(position):
        value = _scouts_value(after)
        if not after.is_won and after.plays_due:
            value = max(
                (_scouts_value(second) for _, second in _scouts_plays(after)), default=value
            )
        value += rng.random() / 100
        if value > best_value:
            best, best_value = text, value
    return best


def _scouts_plays(position: Position) -> list[tuple[str, Position]]:
    plays = []
    for square in squares_in(movable_scouts(position)):
        name, origin = SQUARE_NAMES[square], 1 << square
        plays += [
            (f"{name}-{SQUARE_NAMES[target]}", move_scout(position, origin, 1 << target))
            for target in squares_in(dash_targets(position, square))
        ]
        plays += [
            (str(Decision(DecisionKind.JUMP, chain)), move_scout(position, origin, 1 << chain[-1]))
            for chain in shortest_chains(position, square)
        ]
    return plays


def _scouts_value(position: Position) -> float:
    """Rate how far all scouts have come. The way home counts double, scouts beneath others half."""
    if position.is_won:
        return _WIN / 2
    value = 0.0
    groups = (
        (position.own, position.intel, position.seat, 1.0),
        (position.own_lower, position.lower_intel, position.seat, 0.5),
        (position.foe, position.intel, 1 - position.seat, -1.0),
        (position.foe_lower, position.lower_intel, 1 - position.seat, -0.5),
    )
    for mask, turned, side, sign in groups:
        for square in squares_in(mask):
            ahead = SQUARES[square].rank if side == 0 else 9 - SQUARES[square].rank
            value += sign * (9 + 2 * (9 - ahead) if turned >> square & 1 else ahead)
    return value
