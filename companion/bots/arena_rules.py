"""Fast rules of Robot Arena for the search, on tuples of numbers, and the evaluation of positions.

South's robots come first, each side by rising numbers. An order is an index in `CODES` of
`companion.games.arena.orders`: 0 to 3 are moves, 4 to 7 attacks, then defend, self-destruct and
nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from companion.core.kit import SEATS
from companion.games.arena.board import MAX_ROBOTS, Terrain, terrain_of
from companion.games.arena.state import ArenaOptions, is_spawning
from companion.games.arena.turn import failures

ATTACK = 4
DEFEND = 8
DESTRUCT = 9
NOTHING = 10
"""First order of each kind. Moves are the orders below `ATTACK`."""
Codes = tuple[int, ...]
DECIDED = 10_000.0
"""Value of a game that is won."""
_UNREACHED = 99
_AHEAD_NEAR_FACTOR = 0.4
"""Factor of the weight for being near the enemy while the side is ahead."""


class Robots(NamedTuple):
    """All robots between two turns, by columns: side, number, place and hit points.

    `turn` is the number of the present turn.
    """

    sides: tuple[int, ...]
    numbers: tuple[int, ...]
    places: tuple[int, ...]
    points: tuple[int, ...]
    turn: int


class Weights(NamedTuple):
    """Weights of the evaluation, in hit points."""

    robot: float = 22.0
    """A robot on the board, in addition to its hit points."""
    contact: float = 5.0
    """A robot beside an enemy, which it can hit in the next turn."""
    doomed: float = 6.0
    """An enemy that the robots beside it can destroy in the next turn."""
    near: float = 0.8
    """Each step of an own robot towards the nearest enemy.

    The enemy's distances are ignored.
    """


def robots_of(view: Mapping[str, Any], terrain: Terrain) -> Robots:
    """Return the robots of a view."""
    rows = []
    for side, seat in enumerate(SEATS):
        for number, robot in view["robots"][seat].items():
            place = terrain.texts.index(robot["square"])
            rows.append((side, int(number), place, robot["points"]))
    return _by_columns(rows, view["turn"])


def _by_columns(rows: list[tuple[int, int, int, int]], turn: int) -> Robots:
    """Return robots by columns, from rows of side, number, place and hit points."""
    sides, numbers, places, points = zip(*sorted(rows), strict=True) if rows else ((),) * 4
    return Robots(sides, numbers, places, points, turn)


class Field:
    """A board with its options, which plays turns and evaluates positions.

    Values are South's. Distances to the enemy count only for `side`.
    """

    def __init__(self, options: ArenaOptions, weights: Weights, side: int = 0) -> None:
        self.options = options
        self.weights = weights
        self.side = side
        self.terrain = terrain_of(options.board)
        self.ways = [self._steps_to(place) for place in range(len(self.terrain.squares))]
        """Number of steps between each two places, ignoring robots. A high number if there is no
        way.
        """
        self._beside = [
            sum(1 << place for place, steps in enumerate(ways) if steps == 1) for ways in self.ways
        ]
        """Mask of the neighbours of each place."""

    def _steps_to(self, goal: int) -> list[int]:
        ahead = self.terrain.ahead
        steps = [_UNREACHED] * len(ahead)
        steps[goal] = 0
        reached = [goal]
        for place in reached:  # the list grows during the loop
            for other in ahead[place]:
                if other is not None and steps[other] == _UNREACHED:
                    steps[other] = steps[place] + 1
                    reached.append(other)
        return steps

    # ---- a turn ----

    def play(self, robots: Robots, codes: Sequence[int]) -> Robots:
        """Return the robots after a turn with these orders, without those that are destroyed."""
        sides = list(robots.sides)
        numbers = list(robots.numbers)
        points = list(robots.points)
        places = self.moved(robots.places, codes)
        orders = list(codes)
        index_at = {place: index for index, place in enumerate(places)}
        if is_spawning(self.options, robots.turn):
            for side, spawns in enumerate(self.terrain.spawns):
                used = {
                    robots.numbers[at] for at, owner in enumerate(robots.sides) if owner == side
                }
                for place in spawns:
                    if place in index_at or len(used) >= self.options.max_robots:
                        continue
                    # the lowest free number
                    number = next(free for free in range(1, MAX_ROBOTS + 1) if free not in used)
                    used.add(number)
                    index_at[place] = len(places)
                    numbers.append(number)
                    sides.append(side)
                    places.append(place)
                    points.append(self.options.hit_points)
                    orders.append(NOTHING)
        self._fire(sides, places, points, orders, index_at)
        rows = [row for row in zip(sides, numbers, places, points, strict=True) if row[3] > 0]
        return _by_columns(rows, robots.turn + 1)

    def moved(self, places: Sequence[int], codes: Sequence[int]) -> list[int]:
        """Return the places of the robots after all moves, which happen together."""
        ahead = self.terrain.ahead
        tries = {
            index: ahead[places[index]][code] for index, code in enumerate(codes) if code < ATTACK
        }
        after = list(places)
        if tries:
            failed = failures(places, tries)
            for index, target in tries.items():
                if index not in failed and target is not None:
                    after[index] = target
        return after

    def _fire(
        self,
        sides: list[int],
        places: list[int],
        points: list[int],
        codes: list[int],
        index_at: Mapping[int, int],
    ) -> None:
        """Apply attacks and blasts to the hit points, which may become negative."""
        options = self.options
        terrain = self.terrain
        hits = []
        armed = []
        for index, code in enumerate(codes):
            if ATTACK <= code < DEFEND:
                target = terrain.ahead[places[index]][code - ATTACK]
                if target is not None and target in index_at:
                    victim = index_at[target]
                    is_friend = sides[victim] == sides[index]
                    hits.append((victim, options.friendly if is_friend else options.attack))
            elif code == DESTRUCT:
                armed.append(index)
                for place in terrain.around[places[index]]:
                    if place in index_at:
                        hits.append((index_at[place], options.blast))
        for victim, damage in hits:
            # a shield halves every single hit
            points[victim] -= damage // 2 if codes[victim] == DEFEND else damage
        for index in armed:
            points[index] = 0

    # ---- the value of a position ----

    def value(self, robots: Robots) -> float:
        """Return the value of a position for South.

        It counts robots, hit points, threats, and distances to the enemy.
        """
        south = robots.sides.count(0)
        north = len(robots.sides) - south
        if not south or not north:
            return DECIDED * ((south > 0) - (north > 0))
        points_ahead = sum(robots.points[:south]) - sum(robots.points[south:])
        if robots.turn > self.options.turns:
            ahead = (south - north) or points_ahead
            return DECIDED * ((ahead > 0) - (ahead < 0)) + points_ahead
        material = self.weights.robot * (south - north) + points_ahead
        return material + self._places_value(robots, material)

    def _places_value(self, robots: Robots, material: float) -> float:
        """Return the value of the places: threats, and distances to the enemy."""
        weights = self.weights
        attack = self.options.attack
        masks = [0, 0]
        enemies = []
        for side, place in zip(robots.sides, robots.places, strict=True):
            masks[side] |= 1 << place
            if side != self.side:
                enemies.append(place)
        # nearness counts more in later turns, but less for the side that is ahead
        near = weights.near * (1 + robots.turn / self.options.turns)
        if (material if self.side == 0 else -material) > 0:
            near *= _AHEAD_NEAR_FACTOR
        total = 0.0
        for side, place, points in zip(robots.sides, robots.places, robots.points, strict=True):
            sign = 1.0 if side == 0 else -1.0
            foes = (self._beside[place] & masks[1 - side]).bit_count()
            if foes:
                total += sign * weights.contact
                if foes * attack >= points:
                    total -= sign * weights.doomed
            if side == self.side:
                total -= sign * near * min(map(self.ways[place].__getitem__, enemies))
        return total
