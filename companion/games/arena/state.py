"""Options of Robot Arena, and its state between two turns."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, NamedTuple

from msgspec import Meta

from companion.core.errors import Malformed
from companion.core.grid import parse_square_groups
from companion.core.i18n import say, say_n
from companion.core.kit import SEATS
from companion.games.arena.board import MAX_ROBOTS, STANDARD_MAP, Terrain, parse_terrain
from companion.games.base import Limit, Options, Outcome

_HitPoints = Annotated[int, Meta(ge=1, le=999)]
_Damage = Annotated[int, Meta(ge=0, le=999)]


class ArenaOptions(Options, frozen=True):
    """Options of Robot Arena. Damage values are from the rulebook, other defaults from Ruling 3."""

    board: str = STANDARD_MAP
    """Text map, as `board.py` explains."""
    turns: Annotated[int, Meta(ge=1, le=1000)] = 30
    """Number of turns, after which the game ends."""
    hit_points: _HitPoints = 30
    """Hit points with which a robot begins."""
    spawn_every: Limit = 5
    """Robots appear in each turn whose number is a multiple of this. 0 for no new robots."""
    max_robots: Annotated[int, Meta(ge=1, le=MAX_ROBOTS)] = MAX_ROBOTS
    """Maximum number of robots of a side, at the start and when new ones appear."""
    attack: _Damage = 12
    """Damage of an attack to an enemy."""
    friendly: _Damage = 8
    """Damage of an attack to a robot of the attacker's own side."""
    blast: _Damage = 6
    """Damage of a self-destruct to each neighbour."""
    start: str = ""
    """First squares of South's robots, a slash, then of North's. If empty, those of the map."""


class Reason(StrEnum):
    """Reason why the game refuses orders. Other orders that cannot succeed are legal and fail."""

    NOT_ON_BOARD = "not_on_board"


class Robot(NamedTuple):
    """A robot on the board: its number, its place (index in `Terrain.squares`), its hit points."""

    number: int
    place: int
    hit_points: int


# South's and North's robots, each side by rising numbers.
Robots = tuple[tuple[Robot, ...], tuple[Robot, ...]]


@dataclass(frozen=True, slots=True)
class State:
    """A position between two turns."""

    options: ArenaOptions
    terrain: Terrain
    robots: Robots
    turn: int = 1
    """Number of the coming turn."""
    outcome: Outcome | None = None

    def numbers(self, seat: int) -> tuple[int, ...]:
        """Return the numbers of a seat's robots in rising order. `seat` is 0 (South) or 1."""
        return tuple(robot.number for robot in self.robots[seat])


def _starting_places(options: ArenaOptions, terrain: Terrain) -> tuple[tuple[int, ...], ...]:
    """Return the places on which each side's robots begin, South's first.

    Raises `Malformed` if the option `start` is not valid.
    """
    if not options.start:
        return terrain.starts
    groups = parse_square_groups(options.start, terrain.files, terrain.ranks)
    if (
        len(groups) != len(SEATS)
        or not all(groups)
        or any(terrain.walls.intersection(group) for group in groups)
    ):
        raise Malformed(
            say(
                "Write South’s squares, a slash and North’s, such as c4 e4 / c6 e6; none may be a "
                "wall"
            )
        )
    return tuple(tuple(terrain.squares.index(square) for square in group) for group in groups)


def first_state(options: ArenaOptions) -> State:
    """Return the first state, with robots 1, 2, 3 … of each side on its starts.

    Robots begin on the starts of the map by file, then rank, or on the squares of the option
    `start` in the order in which it lists them. Raises `Malformed` if the board or that option is
    not valid, or if a side has more starts than robots are allowed.
    """
    terrain = parse_terrain(options.board)
    sides = []
    for seat, starts in zip(SEATS, _starting_places(options, terrain), strict=True):
        if len(starts) > options.max_robots:
            text = say_n(
                "The board has {starts} starts of {seat!c}, but a side has at most {n} robot: "
                "take starts away, or allow more robots (up to {most})",
                "The board has {starts} starts of {seat!c}, but a side has at most {n} robots: "
                "take starts away, or allow more robots (up to {most})",
                options.max_robots,
                starts=len(starts),
                seat=seat,
                most=MAX_ROBOTS,
            )
            raise Malformed(text)
        sides.append(
            tuple(
                Robot(number, place, options.hit_points) for number, place in enumerate(starts, 1)
            )
        )
    return State(options, terrain, (sides[0], sides[1]))


def is_spawning_turn(options: ArenaOptions, turn: int) -> bool:
    """Return whether new robots appear in the turn with this number."""
    return options.spawn_every > 0 and turn % options.spawn_every == 0


def lead(state: State) -> float:
    """Return the lead of South: its hit points minus those of North, each summed over robots."""
    south, north = (sum(robot.hit_points for robot in robots) for robots in state.robots)
    return float(south - north)
