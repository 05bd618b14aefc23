"""The rules of Robot Arena as the search needs them: lists of numbers, and what a position is worth.

Robots are listed South's first, each side by rising numbers. An order is its place in `companion.games.arena.orders`'
`CODES`: 0 to 3 moves, 4 to 7 attacks, then defend, self-destruct and nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

from companion.core.kit import SEATS
from companion.games.arena.board import Terrain, terrain_of
from companion.games.arena.state import ArenaOptions

DEFEND, DESTRUCT, NOTHING = 8, 9, 10
Codes = tuple[int, ...]
DECIDED = 10_000.0
_OFF = -1


class Robots(NamedTuple):
    """All robots between two turns: each one's side, number, place and hit points, and the turn that comes."""

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
    """Of a new robot that is kept from coming, by who stands on its point, if it were due at once."""
    near: float = 0.8
    """Every step of an own robot towards the next enemy.

    What the enemy wants to be near is not asked.
    """
    together: float = 0.5
    """A friend within two steps."""


def bent(weights: Weights, rng: Random, noise: float) -> Weights:
    """Return the same weights, each bent by up to this share, fixed for a game."""
    return (
        Weights(*[weight * (1 + noise * rng.uniform(-1, 1)) for weight in weights])
        if noise
        else weights
    )


def robots_of(view: Mapping[str, Any], terrain: Terrain) -> Robots:
    """Return the position that a view shows."""
    places = {text: place for place, text in enumerate(terrain.texts)}
    rows = [
        (side, int(number), places[robot["square"]], robot["points"])
        for side, seat in enumerate(SEATS)
        for number, robot in sorted(view["robots"][seat].items(), key=lambda item: int(item[0]))
    ]
    sides, numbers, squares, points = zip(*rows, strict=True)
    return Robots(sides, numbers, squares, points, view["turn"])


class Field:
    """A board with its options: carries turns out and values what comes of them, for South, as a side sees it."""

    def __init__(self, options: ArenaOptions, weights: Weights, side: int = 0) -> None:
        self.options, self.weights, self.side = options, weights, side
        self.terrain = terrain = terrain_of(options.board)
        self.ahead = tuple(
            tuple(_OFF if place is None else place for place in ways) for ways in terrain.ahead
        )
        self.around, self.spawns = terrain.around, terrain.spawns
        self.ways = [self._flooded(place) for place in range(len(self.ahead))]
        """How many steps a robot needs from a place to each other one, robots left out.

        Many where no way leads.
        """
        self._beside = [sum(1 << other for other in ways if other != _OFF) for ways in self.ahead]
        self._friendly = [
            sum(1 << place for place, way in enumerate(ways) if 0 < way < 3) for ways in self.ways
        ]

    def _flooded(self, goal: int) -> list[int]:
        ways = [99] * len(self.ahead)
        ways[goal], work = 0, [goal]
        for place in work:  # it grows
            for other in self.ahead[place]:
                if other != _OFF and ways[other] == 99:
                    ways[other] = ways[place] + 1
                    work.append(other)
        return ways

    def play(self, robots: Robots, codes: Sequence[int]) -> Robots:
        """Return the robots after a turn with these orders, those without hit points gone."""
        sides, places, points = (
            list(robots.sides),
            self.moved(robots.places, codes),
            list(robots.points),
        )
        numbers, orders = list(robots.numbers), list(codes)
        at = {place: index for index, place in enumerate(places)}
        if self.is_spawning(robots.turn):
            for side, place in self._born(sides, at):
                at[place] = len(places)
                numbers_taken = {
                    number for owner, number in zip(sides, numbers, strict=True) if owner == side
                }
                numbers.append(
                    next(number for number in range(1, 9) if number not in numbers_taken)
                )
                sides.append(side)
                places.append(place)
                points.append(self.options.hit_points)
                orders.append(NOTHING)
        self._fire(sides, places, points, orders, at)
        rows = sorted(
            (side, number, place, hit_points)
            for side, number, place, hit_points in zip(sides, numbers, places, points, strict=True)
            if hit_points > 0
        )
        if not rows:
            return Robots((), (), (), (), robots.turn + 1)
        columns = zip(*rows, strict=True)
        return Robots(next(columns), next(columns), next(columns), next(columns), robots.turn + 1)

    def is_spawning(self, turn: int) -> bool:
        """Return whether spawn points act in this turn."""
        return self.options.spawn_every > 0 and turn % self.options.spawn_every == 0

    def moved(self, places: Sequence[int], codes: Sequence[int]) -> list[int]:
        """Return where the robots stand after all moves, made at once."""
        after = list(places)
        tries: dict[int, int] = {}
        comers: dict[int, list[int]] = {}
        for index, code in enumerate(codes):
            if code < 4 and (target := self.ahead[places[index]][code]) != _OFF:
                tries[index] = target
                comers.setdefault(target, []).append(index)
        if not tries:
            return after
        for rivals in comers.values():
            if len(rivals) > 1:
                for index in rivals:
                    del tries[index]
        staying = [place for index, place in enumerate(places) if index not in tries]
        for place in staying:  # it grows: who cannot enter keeps a place too
            for index in comers.get(place, ()):
                if index in tries:
                    del tries[index]
                    staying.append(places[index])
        for index, target in tries.items():
            after[index] = target
        return after

    def _born(self, sides: Sequence[int], at: Mapping[int, int]) -> list[tuple[int, int]]:
        """Return the sides and places of the robots that appear."""
        born = []
        for side, spawns in enumerate(self.spawns):
            room = self.options.max_robots - sides.count(side)
            free = [place for place in spawns if place not in at]
            born += [(side, place) for place in free[: max(0, room)]]
        return born

    def _fire(
        self,
        sides: list[int],
        places: list[int],
        points: list[int],
        codes: list[int],
        at: Mapping[int, int],
    ) -> None:
        """Carry out attacks and blasts. Hit points may fall below nought."""
        options = self.options
        armed = []
        for index, code in enumerate(codes):
            if 4 <= code < DEFEND:
                victim = at.get(self.ahead[places[index]][code - 4])
                if victim is not None:
                    damage = options.friendly if sides[victim] == sides[index] else options.attack
                    points[victim] -= damage // 2 if codes[victim] == DEFEND else damage
            elif code == DESTRUCT:
                armed.append(index)
        for index in armed:
            for place in self.around[places[index]]:
                victim = at.get(place)
                if victim is not None:
                    points[victim] -= (
                        options.blast // 2 if codes[victim] == DEFEND else options.blast
                    )
        for index in armed:
            points[index] = 0

    def after(self, robots: Robots, codes: Sequence[int]) -> float:
        """Return what the position after a turn is worth to South."""
        return self.value(self.play(robots, codes))

    def value(self, robots: Robots) -> float:
        """Return robots and hit points.

        Who can be hit by how many. Spawn points held. Nearness to the enemy.
        """
        south = robots.sides.count(0)
        north = len(robots.sides) - south
        if not south or not north:
            return DECIDED * ((south > 0) - (north > 0))
        strength = [0, 0]
        for side, points in zip(robots.sides, robots.points, strict=True):
            strength[side] += points
        if robots.turn > self.options.turns:
            ahead = (south > north) - (south < north) or (strength[0] > strength[1]) - (
                strength[0] < strength[1]
            )
            return DECIDED * ahead + strength[0] - strength[1]
        material = self.weights.robot * (south - north) + strength[0] - strength[1]
        return material + self._places(robots, material) + self._held(robots, (south, north))

    def _places(self, robots: Robots, material: float) -> float:
        """Return what the places are worth: who can hit, who can be brought down, friends at hand,
        how near the enemy is."""
        weights, masks = self.weights, [0, 0]
        for side, place in zip(robots.sides, robots.places, strict=True):
            masks[side] |= 1 << place
        enemies = [
            place
            for side, place in zip(robots.sides, robots.places, strict=True)
            if side != self.side
        ]
        attack, total = self.options.attack, 0.0
        near = weights.near * (1 + robots.turn / self.options.turns)
        if material * (1 if self.side == 0 else -1) > 0:
            near *= 0.4
        for side, place, hit_points in zip(robots.sides, robots.places, robots.points, strict=True):
            sign = 1.0 if side == 0 else -1.0
            if foes := (self._beside[place] & masks[1 - side]).bit_count():
                total += sign * weights.contact
                if foes * attack >= hit_points:
                    total -= sign * weights.doomed
            if side == self.side:
                total -= sign * near * min(map(self.ways[place].__getitem__, enemies))
            if self._friendly[place] & masks[side]:
                total += sign * weights.together
        return total

    def _held(self, robots: Robots, counts: tuple[int, int]) -> float:
        """Return what it is worth to stand on spawn points, the more the sooner they act."""
        every = self.options.spawn_every
        if not every:
            return 0.0
        due = -robots.turn % every
        if robots.turn + due > self.options.turns:
            return 0.0
        worth = self.weights.spawn * (self.weights.robot + self.options.hit_points) * 0.6**due
        at, total = set(robots.places), 0.0
        for side, spawns in enumerate(self.spawns):
            if counts[side] < self.options.max_robots:
                held = sum([place in at for place in spawns])
                total += worth * held * (-1.0 if side == 0 else 1.0)
        return total
