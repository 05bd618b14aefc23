"""Fast rules of Outbuffered: positions as tuples, and all 216 by 216 pairs of buffers at once.

A position is (South's robot, North's robot, South's flag, North's flag). Squares are numbers, and
`CARRIED` is a flag that the other side carries. A turn ends in a position, or in one of `WON`,
`LOST` and `TIED` as seen by South. Commands are numbers as well, with directions of the board: up,
down, left, right, idle, shoot.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from companion.core.grid import Square
from companion.core.kit import SEATS
from companion.games.outbuffered.board import NORTH, SOUTH, STEPS, terrain_of

Position = tuple[int, int, int, int]
CARRIED = -1
WON: Position = (-2, 0, 0, 0)
LOST: Position = (-3, 0, 0, 0)
TIED: Position = (-4, 0, 0, 0)
VALUE_OF = {WON: 1.0, LOST: -1.0, TIED: 0.0}
"""Value of the three ends for South."""
IDLE = 4
SHOOT = 5
COMMANDS = 6
BUFFERS = COMMANDS**3
_LETTERS = "UDLRIS"
_NORTH_LETTERS = "DURLIS"
"""The same commands as North writes them, seen from the other side of the board."""


class Turns:
    """The rules on one board. Results are cached.

    :param board: text map of the board :param own_flag_blocks_base: the house rule of that name
    """

    def __init__(self, board: str, own_flag_blocks_base: bool) -> None:
        self._terrain = terrain = terrain_of(board)
        tiles = [
            Square(file, rank) for rank in range(terrain.ranks) for file in range(terrain.files)
        ]
        self.squares = [square for square in tiles if square not in terrain.walls]
        self.number_of = {square: number for number, square in enumerate(self.squares)}
        self.ways = []
        self.fire = []
        for square in self.squares:
            neighbours = [terrain.neighbour(square, STEPS[letter]) for letter in "UDLR"]
            self.ways.append([self._number(neighbour) for neighbour in neighbours])
            self.fire.append({self.number_of[to] for to in terrain.lines_of_fire[square]})
        south, north = terrain.starts
        self.starts = (self.number_of[south], self.number_of[north])
        south, north = terrain.bases
        self.bases = (self.number_of[south], self.number_of[north])
        self.blocks = own_flag_blocks_base
        self.beginning: Position = (*self.starts, *self.bases)
        self._answers: dict[Position, list[tuple[Position, bool]]] = {}

    def _number(self, square: Square | None) -> int:
        if square is None:
            return CARRIED
        return self.number_of[square]

    def distance(self, origin: int, target: int) -> int:
        """Return the length of the shortest path between two squares."""
        return self._terrain.distance(self.squares[origin], self.squares[target])

    def position(self, view: Mapping[str, Any]) -> Position:
        """Return the position of a view."""
        south, north = (self.number_of[Square.parse(view["robots"][seat])] for seat in SEATS)
        flags = []
        for seat in SEATS:
            name = view["flags"][seat].get("on")
            flags.append(self.number_of[Square.parse(name)] if name else CARRIED)
        return (south, north, flags[0], flags[1])

    def answers(self, position: Position) -> list[tuple[Position, bool]]:
        """Return the results of the 36 pairs of commands, South's command first.

        Each result is the position after it, and whether a flag was taken or a robot hit.
        """
        answers_ = self._answers.get(position)
        if answers_ is None:
            pairs = product(range(COMMANDS), repeat=2)
            if position in VALUE_OF:
                answers_ = [(position, False) for _ in pairs]
            else:
                answers_ = [self.step(position, south, north) for south, north in pairs]
            self._answers[position] = answers_
        return answers_

    def step(self, position: Position, south: int, north: int) -> tuple[Position, bool]:
        """Return the position after a pair of commands, and whether it took a flag or hit."""
        robots = [position[0], position[1]]
        flags = [position[2], position[3]]
        stirs = self._move(robots, flags, (south, north))
        is_home = [
            flags[1 - seat] == CARRIED and robots[seat] == self.bases[seat]
            for seat in (SOUTH, NORTH)
        ]
        if all(is_home):
            return TIED, stirs
        if any(is_home):
            return (WON if is_home[SOUTH] else LOST), stirs
        # the line of fire is symmetric
        if SHOOT in (south, north) and robots[0] in self.fire[robots[1]]:
            hit = [seat for seat, shot in ((SOUTH, north), (NORTH, south)) if shot == SHOOT]
            end = self._send_back(robots, flags, hit)
            if end is not None:
                return end, True
            stirs = True
        return (robots[0], robots[1], flags[0], flags[1]), stirs

    def _move(self, robots: list[int], flags: list[int], commands: tuple[int, int]) -> bool:
        """Carry out both moves together. Return whether a flag was taken."""
        tried = [
            self.ways[robot][command] if command < IDLE else CARRIED
            for robot, command in zip(robots, commands, strict=True)
        ]
        if tried[0] == tried[1]:
            return False
        targets = [
            CARRIED if self._own_flag_bars(flags, seat, tried[seat]) else tried[seat]
            for seat in (SOUTH, NORTH)
        ]
        # check South twice, because one bounce can cause the other
        for seat in (SOUTH, NORTH, SOUTH):
            if targets[seat] == robots[1 - seat] and targets[1 - seat] == CARRIED:
                targets[seat] = CARRIED
        stirs = False
        for seat in (SOUTH, NORTH):
            if targets[seat] != CARRIED:
                robots[seat] = targets[seat]
                if flags[1 - seat] == robots[seat]:
                    flags[1 - seat] = CARRIED
                    stirs = True
        return stirs

    def _own_flag_bars(self, flags: list[int], seat: int, target: int) -> bool:
        if flags[seat] != target or target == CARRIED:
            return False
        return self.blocks or target != self.bases[seat] or flags[1 - seat] != CARRIED

    def _send_back(self, robots: list[int], flags: list[int], hit: list[int]) -> Position | None:
        """Return robots that were hit to their start tiles, where they leave a carried flag behind.

        Return the end of the game if a start tile is blocked, else None.
        """
        for seat in hit:
            if flags[1 - seat] == CARRIED:
                flags[1 - seat] = robots[seat]
        for seat in hit:
            robots[seat] = self.starts[seat]
        shut_out = [seat for seat in hit if self.starts[seat] in (robots[1 - seat], flags[seat])]
        if len(shut_out) == 2:
            return TIED
        if shut_out:
            return LOST if shut_out[0] == SOUTH else WON
        for seat in hit:
            if flags[1 - seat] == robots[seat]:
                flags[1 - seat] = CARRIED
        return None

    def turn(self, position: Position) -> tuple[list[tuple[Position, bool]], NDArray[np.int32]]:
        """Return the ends of a turn, and for each pair of buffers the index of its end.

        The array has 216 rows for South and 216 columns for North.
        """
        ends = {(position, False): 0}
        tables = []
        for _ in range(3):
            layer = ends
            ends = {}
            table = np.empty((len(layer), COMMANDS * COMMANDS), np.int32)
            for (at, stirred), row in layer.items():
                for pair, (to, stirs) in enumerate(self.answers(at)):
                    table[row, pair] = ends.setdefault((to, stirred or stirs), len(ends))
            tables.append(table)
        first, second, third = tables
        # axes: South's and North's command alternately, for each step
        steps = third[second[first[0]]].reshape((COMMANDS,) * 6)
        return list(ends), steps.transpose(
            0,
            2,
            4,
            1,
            3,
            5,
        ).reshape(BUFFERS, BUFFERS)


def buffer_text(buffer: int, is_turned: bool) -> str:
    """Return a buffer as its owner writes it.

    `is_turned` is for North, whose directions are seen from its seat.
    """
    letters = _NORTH_LETTERS if is_turned else _LETTERS
    return "".join(letters[buffer // place % COMMANDS] for place in (36, 6, 1))


def buffer_number(text: str, is_turned: bool) -> int:
    """Return the number of a buffer. Inverse of `buffer_text`."""
    letters = _NORTH_LETTERS if is_turned else _LETTERS
    number = 0
    for letter in text:
        number = COMMANDS * number + letters.index(letter)
    return number
