"""A greedy player of Robot Arena.

An action in notation gives each robot an order, such as `1:N 2:aE 3:X 4:D`: robot 1 moves north, 2
attacks east, 3 blows itself up, and 4 defends.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from companion.core.kit import SEATS, Seat
from companion.games.arena.board import DIRECTIONS
from companion.games.arena.state import State as ArenaState
from companion.games.base import Game


def greedy_arena(game: Game[Any, Any], state: ArenaState, seat: Seat, rng: Random) -> str:
    """Choose an order for each robot: hit the weakest enemy beside it, or approach the nearest one.

    A robot blows up if the enemies beside it may destroy it, and if it hits more than one enemy.
    """
    side = SEATS.index(seat)
    # squares on which own robots are or will be, and the enemies' hit points by their squares
    terrain, taken = state.terrain, {robot.place for robot in state.robots[side]}
    enemies = {robot.place: robot.hit_points for robot in state.robots[1 - side]}
    orders = []
    for robot in state.robots[side]:
        # the squares in each of `DIRECTIONS`, and the enemies on them: hit points and direction
        neighbours = terrain.neighbours[robot.place]
        beside = [(enemies[place], way) for way, place in enumerate(neighbours) if place in enemies]
        # the enemies that blowing up would hit, also across corners
        around = [place for place in terrain.around[robot.place] if place in enemies]
        if robot.hit_points <= state.options.attack * len(beside) and len(around) > 1:
            orders.append(f"{robot.number}:X")
        elif beside:
            _, way = min(beside)
            orders.append(f"{robot.number}:a{DIRECTIONS[way]}")
        else:
            steps = [
                (_enemy_distance(state, place, enemies), rng.random(), way, place)
                for way, place in enumerate(neighbours)
                if place is not None and place not in taken
            ]
            if not steps:
                orders.append(f"{robot.number}:D")
                continue
            # the shortest distance, or one of the shortest by chance
            _, _, way, place = min(steps)
            taken.add(place)
            orders.append(f"{robot.number}:{DIRECTIONS[way]}")
    return " ".join(orders)


def _enemy_distance(state: ArenaState, place: int, enemies: Mapping[int, int]) -> int:
    """Return how many steps it is from a place to the nearest enemy, if nothing is in the way."""
    squares = state.terrain.squares
    here = squares[place]
    return min(
        abs(squares[enemy].file - here.file) + abs(squares[enemy].rank - here.rank)
        for enemy in enemies
    )
