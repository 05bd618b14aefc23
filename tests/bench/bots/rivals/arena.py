"""A greedy player of Robot Arena."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from companion.core.kit import SEATS, Seat
from companion.games.arena.board import DIRECTIONS
from companion.games.arena.state import State as ArenaState
from companion.games.base import Game


def greedy_arena(game: Game[Any, Any], state: ArenaState, seat: Seat, rng: Random) -> str:
    """Give each robot its own order: hit the weakest neighbour, blow up, or approach an enemy.

    A robot blows up if its neighbours may destroy it and it hits more than one of them.
    """
    side = SEATS.index(seat)
    terrain, taken = state.terrain, {robot.place for robot in state.robots[side]}
    enemies = {robot.place: robot.hit_points for robot in state.robots[1 - side]}
    orders = []
    for robot in state.robots[side]:
        ahead = terrain.neighbours[robot.place]
        near = [(enemies[place], way) for way, place in enumerate(ahead) if place in enemies]
        around = [place for place in terrain.around[robot.place] if place in enemies]
        if robot.hit_points <= state.options.attack * len(near) and len(around) > 1:
            orders.append(f"{robot.number}:X")
        elif near:
            orders.append(f"{robot.number}:a{DIRECTIONS[min(near)[1]]}")
        else:
            ways = [
                (_enemy_distance(state, place, enemies), rng.random(), way, place)
                for way, place in enumerate(ahead)
                if place is not None and place not in taken
            ]
            if not ways:
                orders.append(f"{robot.number}:D")
                continue
            _, _, way, place = min(ways)
            taken.add(place)
            orders.append(f"{robot.number}:{DIRECTIONS[way]}")
    return " ".join(orders)


def _enemy_distance(state: ArenaState, place: int, enemies: Mapping[int, int]) -> int:
    squares = state.terrain.squares
    here = squares[place]
    return min(
        abs(squares[enemy].file - here.file) + abs(squares[enemy].rank - here.rank)
        for enemy in enemies
    )
