"""Helper: a second, slow implementation of Robot Arena, with which tests compare the game.

It is written from the rulebook alone and shares no code with the game. In it squares are pairs
(file, rank) counted from 1, and a robot's name is its side and its number.

A map has a character for each square: `s` and `n` where the robots of South and North begin, `S`
and `N` where new ones appear, `#` for a wall, and `.` for any other square.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

Place = tuple[int, int]
Name = tuple[str, int]
# Steps in files and ranks.
COMPASS = {"N": (0, 1), "E": (1, 0), "S": (0, -1), "W": (-1, 0)}
# All orders: moves, attacks, to defend itself (D), to destroy itself (X), and to wait.
CODES = ("N", "E", "S", "W", "aN", "aE", "aS", "aW", "D", "X", "-")


@dataclass(frozen=True)
class SlowPosition:
    """A position of the slow game."""

    rows: tuple[str, ...]
    """Rows of the map, from the lowest rank up."""
    robots: tuple[tuple[str, int, Place, int], ...]
    """Side, number, square and hit points of each robot."""
    options: tuple[tuple[str, int], ...]
    turn: int = 1
    result: str = ""
    """The winner's side, `tie`, or empty while the game goes on."""

    def option(self, name: str) -> int:
        return dict(self.options)[name]

    def tile(self, place: Place) -> str:
        """Return the map's character of a square, and # beyond the edge."""
        file, rank = place
        on_board = 1 <= rank <= len(self.rows) and 1 <= file <= len(self.rows[0])
        return self.rows[rank - 1][file - 1] if on_board else "#"

    def squares_of(self, character: str) -> list[Place]:
        width, height = len(self.rows[0]), len(self.rows)
        all_places = sorted(
            (file, rank) for file in range(1, width + 1) for rank in range(1, height + 1)
        )
        return [place for place in all_places if self.tile(place) == character]


def slow_start(options: dict[str, Any]) -> SlowPosition:
    """Return the first position, with the rulebook's numbers for options that are not given."""
    numbers = {
        "turns": 30,
        "hit_points": 30,
        "spawn_every": 5,
        "max_robots": 8,
        "attack": 12,
        "friendly": 8,
        "blast": 6,
    }
    standard = ".nN.n.Nn.\n" + ".........\n" * 7 + ".sS.s.Ss."
    text = options.get("board", standard)
    numbers |= {name: value for name, value in options.items() if name != "board"}
    empty = SlowPosition(tuple(reversed(text.split("\n"))), (), tuple(sorted(numbers.items())))
    robots = [
        (side, number, place, numbers["hit_points"])
        for side, letter in (("south", "s"), ("north", "n"))
        for number, place in enumerate(empty.squares_of(letter), start=1)
    ]
    return replace(empty, robots=tuple(robots))


def neighbour(place: Place, letter: str) -> Place:
    return place[0] + COMPASS[letter][0], place[1] + COMPASS[letter][1]


def slow_moves(places: dict[Any, Place], tries: dict[Any, Place], is_free: Any) -> set[Any]:
    """Return the largest set of robots that can all move together, by trying every set.

    `places` has the present square of each robot, and `tries` the square that each mover wants.
    """
    tries_by_place = Counter(tries.values())
    candidates = [
        name for name in tries if is_free(tries[name]) and tries_by_place[tries[name]] == 1
    ]
    for size in range(len(candidates), -1, -1):
        for movers in itertools.combinations(candidates, size):
            occupied = {place for name, place in places.items() if name not in movers}
            if all(tries[name] not in occupied for name in movers):
                return set(movers)
    return set()


def slow_turn(position: SlowPosition, orders: dict[Name, str]) -> SlowPosition:
    """Return the next position, in the order of the rulebook's parts of a turn.

    Robots without an order are not in `orders`.
    """
    places = {(side, number): place for side, number, place, _ in position.robots}
    points = {(side, number): remaining for side, number, _, remaining in position.robots}
    # Moves come first.
    tries = {
        name: neighbour(places[name], code) for name, code in orders.items() if code in COMPASS
    }
    for name in slow_moves(places, tries, lambda place: position.tile(place) != "#"):
        places[name] = tries[name]
    # Then new robots appear, each with the lowest free number of its side.
    spawn_every = position.option("spawn_every")
    if spawn_every and position.turn % spawn_every == 0:
        for side, letter in (("south", "S"), ("north", "N")):
            for place in position.squares_of(letter):
                numbers = {number for owner, number in places if owner == side}
                if place not in places.values() and len(numbers) < position.option("max_robots"):
                    name = (side, min(set(range(1, 9)) - numbers))
                    places[name], points[name] = place, position.option("hit_points")
    # Then come attacks and self-destructs. All hits count before any robot leaves the board.
    hits: list[tuple[Name, int]] = []
    for name, code in orders.items():
        for victim, place in places.items():
            # an attack hits whoever is on the next square in its direction
            if code.startswith("a") and place == neighbour(places[name], code[1]):
                hits.append(
                    (victim, position.option("friendly" if victim[0] == name[0] else "attack"))
                )
            # a self-destruct hits all robots on the eight squares around
            distance = max(abs(place[0] - places[name][0]), abs(place[1] - places[name][1]))
            if code == "X" and distance == 1:
                hits.append((victim, position.option("blast")))
    # A robot that defends itself takes half the damage.
    for victim, damage in hits:
        points[victim] -= damage // 2 if orders.get(victim) == "D" else damage
    survivors = sorted(name for name in places if points[name] > 0 and orders.get(name) != "X")
    robots = tuple(
        (side, number, places[side, number], points[side, number]) for side, number in survivors
    )
    return replace(
        position, robots=robots, turn=position.turn + 1, result=slow_result(position, robots)
    )


def slow_result(position: SlowPosition, robots: tuple[tuple[str, int, Place, int], ...]) -> str:
    """Return `south`, `north`, `tie`, or an empty text while the game goes on."""
    robot_counts = Counter(side for side, *_ in robots)
    point_sums: Counter[str] = Counter()
    for side, _, _, points in robots:
        point_sums[side] += points
    if not robot_counts["south"] or not robot_counts["north"]:
        return next(iter(robot_counts), "tie")
    if position.turn < position.option("turns"):
        return ""
    scores = {side: (robot_counts[side], point_sums[side]) for side in ("south", "north")}
    if scores["south"] == scores["north"]:
        return "tie"
    return max(scores, key=scores.__getitem__)


def slow_orders(position: SlowPosition, side: str) -> Iterator[dict[Name, str]]:
    """Yield all orders that a side can give. At least one robot gets one."""
    names = sorted((owner, number) for owner, number, *_ in position.robots if owner == side)
    for codes in itertools.product(("", *CODES), repeat=len(names)):
        chosen = {name: code for name, code in zip(names, codes, strict=True) if code}
        if chosen:
            yield chosen


def slow_count(position: SlowPosition, depth: int) -> tuple[int, int]:
    """Return the number of sequences of orders to a depth, and of distinct positions after them.

    A game that ends earlier counts as one sequence, too.
    """
    level: Counter[SlowPosition] = Counter({position: 1})  # the number of ways to each position
    for _ in range(depth):
        after: Counter[SlowPosition] = Counter()
        for before, ways in level.items():
            if before.result:
                after[before] += ways
                continue
            for south, north in itertools.product(
                slow_orders(before, "south"), list(slow_orders(before, "north"))
            ):
                after[slow_turn(before, south | north)] += ways
        level = after
    return level.total(), len(level)
