"""The rules of Robot Arena as the search needs them: lists of numbers, and what a position is
worth.

Robots are listed South's first, each side by rising numbers. An order is its place in
`companion.games.arena.orders`' `CODES`: 0 to 3 moves, 4 to 7 attacks, then defend, self-destruct
and nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

from companion.core.kit import SEATS
from companion.games.arena.board import Terrain, terrain_of
from companion.games.arena.state import ArenaOptions

ATTACK = 4
DEFEND = 8
DESTRUCT = 9
NOTHING = 10
"""The first order of each kind. Moves are the orders before `ATTACK`."""
Codes = tuple[int, ...]
DECIDED = 10_000.0
"""Worth of a game that is won."""
_OFF = -1
_UNREACHED = 99
_FRIENDS_REACH = 2
"""Steps within which a friend is at hand."""
_AHEAD_HURRY = 0.4
"""How much of its will to be near the enemy a side keeps that is ahead."""
_SPAWN_FADE = 0.6
"""What a spawn point keeps of its worth with each turn before it acts."""


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


def bent(weights: Weights, rng: Random, noise: float) -> Weights:
    """Return the same weights, each bent by up to this share, fixed for a game."""
    if not noise:
        return weights
    return Weights(*[weight * (1 + noise * rng.uniform(-1, 1)) for weight in weights])


def robots_of(view: Mapping[str, Any], terrain: Terrain) -> Robots:
    """Return the position that a view shows."""
    places = {text: place for place, text in enumerate(terrain.texts)}
    rows = []
    for side, seat in enumerate(SEATS):
        for number, robot in view["robots"][seat].items():
            rows.append((side, int(number), places[robot["square"]], robot["points"]))
    return _by_columns(rows, view["turn"])


def _by_columns(rows: list[tuple[int, int, int, int]], turn: int) -> Robots:
    """Return robots, each given as side, number, place and hit points, in their order."""
    if not rows:
        return Robots((), (), (), (), turn)
    sides, numbers, places, points = zip(*sorted(rows), strict=True)
    return Robots(sides, numbers, places, points, turn)


class Field:
    """A board with its options: carries turns out and values what comes of them, for South, as a
    side sees it.
    """

    def __init__(self, options: ArenaOptions, weights: Weights, side: int = 0) -> None:
        self.options = options
        self.weights = weights
        self.side = side
        self.terrain = terrain = terrain_of(options.board)
        self.ahead = tuple(
            tuple(_OFF if place is None else place for place in ways) for ways in terrain.ahead
        )
        self.around = terrain.around
        self.spawns = terrain.spawns
        self.ways = [self._steps_to(place) for place in range(len(self.ahead))]
        """How many steps a robot needs from a place to each other one, robots left out.

        Many where no way leads.
        """
        self._beside = [_mask(place for place in ways if place != _OFF) for ways in self.ahead]
        """Masks of the places next to each place."""
        self._friendly = [
            _mask(place for place, steps in enumerate(ways) if 0 < steps <= _FRIENDS_REACH)
            for ways in self.ways
        ]

    def _steps_to(self, goal: int) -> list[int]:
        steps = [_UNREACHED] * len(self.ahead)
        steps[goal] = 0
        reached = [goal]
        for place in reached:  # it grows
            for other in self.ahead[place]:
                if other != _OFF and steps[other] == _UNREACHED:
                    steps[other] = steps[place] + 1
                    reached.append(other)
        return steps

    # ---- a turn ----

    def play(self, robots: Robots, codes: Sequence[int]) -> Robots:
        """Return the robots after a turn with these orders, those without hit points gone."""
        sides = list(robots.sides)
        numbers = list(robots.numbers)
        points = list(robots.points)
        places = self.moved(robots.places, codes)
        orders = list(codes)
        index_at = {place: index for index, place in enumerate(places)}
        if self.is_spawning(robots.turn):
            for side, place in self._births(sides, index_at):
                index_at[place] = len(places)
                numbers.append(_free_number(side, sides, numbers))
                sides.append(side)
                places.append(place)
                points.append(self.options.hit_points)
                orders.append(NOTHING)
        self._fire(sides, places, points, orders, index_at)
        rows = [row for row in zip(sides, numbers, places, points, strict=True) if row[3] > 0]
        return _by_columns(rows, robots.turn + 1)

    def is_spawning(self, turn: int) -> bool:
        """Return whether spawn points act in this turn."""
        return self.options.spawn_every > 0 and turn % self.options.spawn_every == 0

    def moved(self, places: Sequence[int], codes: Sequence[int]) -> list[int]:
        """Return where the robots stand after all moves, made at once."""
        after = list(places)
        moves: dict[int, int] = {}
        comers: dict[int, list[int]] = {}
        for index, code in enumerate(codes):
            if code < ATTACK:
                target = self.ahead[places[index]][code]
                if target != _OFF:
                    moves[index] = target
                    comers.setdefault(target, []).append(index)
        if not moves:
            return after
        for rivals in comers.values():
            if len(rivals) > 1:
                for index in rivals:
                    del moves[index]
        staying = [place for index, place in enumerate(places) if index not in moves]
        for place in staying:  # it grows: who cannot enter keeps a place too
            for index in comers.get(place, ()):
                if index in moves:
                    del moves[index]
                    staying.append(places[index])
        for index, target in moves.items():
            after[index] = target
        return after

    def _births(self, sides: Sequence[int], index_at: Mapping[int, int]) -> list[tuple[int, int]]:
        """Return the sides and places of the robots that appear."""
        births = []
        for side, spawns in enumerate(self.spawns):
            room = max(0, self.options.max_robots - sides.count(side))
            free = [place for place in spawns if place not in index_at]
            births += [(side, place) for place in free[:room]]
        return births

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
        armed = []
        for index, code in enumerate(codes):
            if ATTACK <= code < DEFEND:
                victim = index_at.get(self.ahead[places[index]][code - ATTACK])
                if victim is not None:
                    damage = options.friendly if sides[victim] == sides[index] else options.attack
                    points[victim] -= damage // 2 if codes[victim] == DEFEND else damage
            elif code == DESTRUCT:
                armed.append(index)
        for index in armed:
            for place in self.around[places[index]]:
                victim = index_at.get(place)
                if victim is not None:
                    damage = options.blast
                    points[victim] -= damage // 2 if codes[victim] == DEFEND else damage
        for index in armed:
            points[index] = 0

    # ---- what a position is worth ----

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
        for side, place, points in zip(robots.sides, robots.places, robots.points, strict=True):
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
        worth = self.weights.spawn * (self.weights.robot + self.options.hit_points)
        worth *= _SPAWN_FADE**due
        places = set(robots.places)
        total = 0.0
        for spawns, count, sign in zip(self.spawns, (south, north), (-1.0, 1.0), strict=True):
            if count < self.options.max_robots:
                held = sum([place in places for place in spawns])
                total += worth * held * sign
        return total


def _mask(places: Iterable[int]) -> int:
    return sum(1 << place for place in places)


def _free_number(side: int, sides: Sequence[int], numbers: Sequence[int]) -> int:
    """Return the lowest number that no robot of a side has."""
    used = {number for owner, number in zip(sides, numbers, strict=True) if owner == side}
    return next(number for number in range(1, 9) if number not in used)
