"""The rules of Robot Arena as the search needs them: lists of numbers, and what a position is
worth.

Robots are listed South's first, each side by rising numbers. An order is its place in
`companion.games.arena.orders`' `CODES`: 0 to 3 moves, 4 to 7 attacks, then defend, self-destruct
and nothing.
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
"""The first order of each kind. Moves are the orders before `ATTACK`."""
Codes = tuple[int, ...]
DECIDED = 10_000.0
"""Value of a game that is won."""
_UNREACHED = 99
_FRIENDS_REACH = 2
"""Steps within which a friend is at hand."""
_AHEAD_HURRY = 0.4
"""How much of its will to be near the enemy a side keeps that is ahead."""
_SPAWN_FADE = 0.6
"""What a spawn point keeps of its value with each turn before it acts."""


class Robots(NamedTuple):
    """All robots between two turns: each one's side, number, place and hit points, and the turn
    that comes.
    """

    sides: tuple[int, ...]
    numbers: tuple[int, ...]
    places: tuple[int, ...]
    points: tuple[int, ...]
    turn: int


class Weights(NamedTuple):
    """What counts in a position, in hit points."""

    robot: float = 22.0
    """A robot on the board, beside its hit points."""
    contact: float = 5.0
    """A robot that stands beside an enemy and so can hit one in the next turn."""
    doomed: float = 6.0
    """An enemy that those beside it can bring down in the next turn."""
    spawn: float = 0.55
    """Of a new robot that is kept from coming, by who stands on its point, if it were due at
    once."""
    near: float = 0.8
    """Every step of an own robot towards the next enemy.

    What the enemy wants to be near is not asked.
    """
    together: float = 0.5
    """A friend within two steps."""


def robots_of(view: Mapping[str, Any], terrain: Terrain) -> Robots:
    """Return the position that a view shows."""
    rows = []
    for side, seat in enumerate(SEATS):
        for number, robot in view["robots"][seat].items():
            place = terrain.texts.index(robot["square"])
            rows.append((side, int(number), place, robot["points"]))
    return _by_columns(rows, view["turn"])


def _by_columns(rows: list[tuple[int, int, int, int]], turn: int) -> Robots:
    """Return robots, each given as side, number, place and hit points, in their order."""
    if not rows:
        return Robots(
            (),
            (),
            (),
            (),
            turn,
        )
    sides, numbers, places, points = zip(*sorted(rows), strict=True)
    return Robots(
        sides,
        numbers,
        places,
        points,
        turn,
    )


class Field:
    """A board with its options: carries turns out and values what comes of them, for South, as a
    side sees it.
    """

    def __init__(self, options: ArenaOptions, weights: Weights, side: int = 0) -> None:
        self.options = options
        self.weights = weights
        self.side = side
        self.terrain = terrain_of(options.board)
        self.ways = [self._steps_to(place) for place in range(len(self.terrain.squares))]
        """How many steps a robot needs from a place to each other one, robots left out.

        Many where no way leads.
        """
        self._beside = self._within(1)
        self._friendly = self._within(_FRIENDS_REACH)

    def _steps_to(self, goal: int) -> list[int]:
        ahead = self.terrain.ahead
        steps = [_UNREACHED] * len(ahead)
        steps[goal] = 0
        reached = [goal]
        for place in reached:  # it grows
            for other in ahead[place]:
                if other is not None and steps[other] == _UNREACHED:
                    steps[other] = steps[place] + 1
                    reached.append(other)
        return steps

    def _within(self, reach: int) -> list[int]:
        """Return masks of the places that are within so many steps of each place."""
        return [
            sum(1 << place for place, steps in enumerate(ways) if 0 < steps <= reach)
            for ways in self.ways
        ]

    # ---- a turn ----

    def play(self, robots: Robots, codes: Sequence[int]) -> Robots:
        """Return the robots after a turn with these orders, those without hit points gone."""
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
                    # the lowest number that is free
                    number = next(free for free in range(1, MAX_ROBOTS + 1) if free not in used)
                    used.add(number)
                    index_at[place] = len(places)
                    numbers.append(number)
                    sides.append(side)
                    places.append(place)
                    points.append(self.options.hit_points)
                    orders.append(NOTHING)
        self._fire(
            sides,
            places,
            points,
            orders,
            index_at,
        )
        rows = [
            row
            for row in zip(
                sides,
                numbers,
                places,
                points,
                strict=True,
            )
            if row[3] > 0
        ]
        return _by_columns(rows, robots.turn + 1)

    def moved(self, places: Sequence[int], codes: Sequence[int]) -> list[int]:
        """Return where the robots stand after all moves, made at once."""
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
        """Carry out attacks and blasts. Hit points may fall below nought."""
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
            # half of every single hit behind a shield
            points[victim] -= damage // 2 if codes[victim] == DEFEND else damage
        for index in armed:
            points[index] = 0

    # ---- the value of a position ----

    def value(self, robots: Robots) -> float:
        """Return what a position is worth to South.

        Robots and hit points, who can be hit by how many, spawn points held, nearness to the enemy.
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
        return material + self._places(robots, material) + self._spawns_held(robots, south, north)

    def _places(self, robots: Robots, material: float) -> float:
        """Return what the places are worth: who can hit, who can be brought down, friends at hand,
        how near the enemy is."""
        weights = self.weights
        attack = self.options.attack
        masks = [0, 0]
        enemies = []
        for side, place in zip(robots.sides, robots.places, strict=True):
            masks[side] |= 1 << place
            if side != self.side:
                enemies.append(place)
        # the later, the nearer, but who is ahead need not hurry
        near = weights.near * (1 + robots.turn / self.options.turns)
        if (material if self.side == 0 else -material) > 0:
            near *= _AHEAD_HURRY
        total = 0.0
        for side, place, points in zip(
            robots.sides,
            robots.places,
            robots.points,
            strict=True,
        ):
            sign = 1.0 if side == 0 else -1.0
            foes = (self._beside[place] & masks[1 - side]).bit_count()
            if foes:
                total += sign * weights.contact
                if foes * attack >= points:
                    total -= sign * weights.doomed
            if side == self.side:
                total -= sign * near * min(map(self.ways[place].__getitem__, enemies))
            if self._friendly[place] & masks[side]:
                total += sign * weights.together
        return total

    def _spawns_held(self, robots: Robots, south: int, north: int) -> float:
        """Return what it is worth to stand on spawn points, the more the sooner they act."""
        every = self.options.spawn_every
        if not every:
            return 0.0
        due = -robots.turn % every
        if robots.turn + due > self.options.turns:
            return 0.0
        value = self.weights.spawn * (self.weights.robot + self.options.hit_points)
        value *= _SPAWN_FADE**due
        places = set(robots.places)
        total = 0.0
        for spawns, count, sign in zip(
            self.terrain.spawns, (south, north), (-1.0, 1.0), strict=True
        ):
            if count < self.options.max_robots:
                held = sum([place in places for place in spawns])
                total += value * held * sign
        return total
