"""Turns of Outbuffered as an opponent needs them: positions as tuples of numbers, all 216 times 216
answers at once.

A position is (South's robot, North's robot, South's flag, North's flag). Squares are numbers, `CARRIED` is a flag that
the other side carries. What a turn ends in is a position, or one of `WON`, `LOST` and `TIED`, seen by South. Commands
are numbers too, and directions those of the board: up, down, left, right, idle, shoot.
"""

from __future__ import annotations

from collections.abc import Mapping
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
"""What the three ends are worth to South."""
IDLE, SHOOT = 4, 5
COMMANDS = 6
BUFFERS = COMMANDS**3
_LETTERS = "UDLRIS"
_TURNED = "DURLIS"
"""The same commands as North gives them, who sees the board from the other side."""
_WORDS = ("up", "down", "left", "right", "idle", "shoot")


class Turns:
    """The rules of one board. What is worked out of it is remembered.

    :param board: its text map
    :param own_flag_blocks_base: the house rule of that name
    """

    def __init__(self, board: str, own_flag_blocks_base: bool) -> None:
        terrain = terrain_of(board)
        self.squares = [
            square
            for square in (
                Square(file, rank) for rank in range(terrain.ranks) for file in range(terrain.files)
            )
            if square not in terrain.walls
        ]
        self.number_of = {square: number for number, square in enumerate(self.squares)}
        self.ways = [
            [self._number(terrain.neighbour(square, STEPS[letter])) for letter in "UDLR"]
            for square in self.squares
        ]
        self.fire = [
            frozenset(self.number_of[to] for to in terrain.lines_of_fire[square])
            for square in self.squares
        ]
        self.starts = (self.number_of[terrain.starts[0]], self.number_of[terrain.starts[1]])
        self.bases = (self.number_of[terrain.bases[0]], self.number_of[terrain.bases[1]])
        self.blocks = own_flag_blocks_base
        self.beginning: Position = (*self.starts, *self.bases)
        self._answers: dict[Position, list[tuple[Position, bool]]] = {}

    def _number(self, square: Square | None) -> int:
        return CARRIED if square is None else self.number_of[square]

    def position(self, view: Mapping[str, Any]) -> Position:
        """Return the position that a view shows."""
        south, north = (self.number_of[Square.parse(view["robots"][seat])] for seat in SEATS)
        flags = (view["flags"][seat].get("on") for seat in SEATS)
        at = [self.number_of[Square.parse(flag)] if flag else CARRIED for flag in flags]
        return (south, north, at[0], at[1])

    def answers(self, position: Position) -> list[tuple[Position, bool]]:
        """Return what the 36 pairs of commands lead to, South's first, and whether a flag was taken
        or a robot hit by them."""
        answers_ = self._answers.get(position)
        if answers_ is None:
            if position[0] <= WON[0]:
                answers_ = [(position, False)] * (COMMANDS * COMMANDS)
            else:
                answers_ = [
                    self.step(position, one, other)
                    for one in range(COMMANDS)
                    for other in range(COMMANDS)
                ]
            self._answers[position] = answers_
        return answers_

    def step(self, position: Position, south: int, north: int) -> tuple[Position, bool]:
        """Return what one pair of commands leads to, and whether a flag was taken or a robot hit by
        it."""
        robots, flags = [position[0], position[1]], [position[2], position[3]]
        stirs = self._move(robots, flags, (south, north))
        home = [
            flags[1 - seat] == CARRIED and robots[seat] == self.bases[seat]
            for seat in (SOUTH, NORTH)
        ]
        if home[0] or home[1]:
            return (TIED if home[0] and home[1] else WON if home[0] else LOST), stirs
        if SHOOT not in (south, north):
            return (robots[0], robots[1], flags[0], flags[1]), stirs
        hit = [
            seat
            for seat in (SOUTH, NORTH)
            if (south, north)[1 - seat] == SHOOT and robots[0] in self.fire[robots[1]]
        ]
        if hit and (end := self._send_back(robots, flags, hit)) is not None:
            return end, True
        return (robots[0], robots[1], flags[0], flags[1]), stirs or bool(hit)

    def _move(self, robots: list[int], flags: list[int], commands: tuple[int, int]) -> bool:
        """Carry out both moves at once. Return whether a flag was taken."""
        targets = [CARRIED, CARRIED]
        for seat in (SOUTH, NORTH):
            if commands[seat] < IDLE:
                target = self.ways[robots[seat]][commands[seat]]
                if target != CARRIED and not self._own_flag_bars(flags, seat, target):
                    targets[seat] = target
        tried = [
            self.ways[robots[seat]][commands[seat]] if commands[seat] < IDLE else CARRIED
            for seat in (0, 1)
        ]
        if tried[0] == tried[1]:
            return False
        # twice for South: one bounce can make the other one bounce
        for seat in (SOUTH, NORTH, SOUTH):  # one bounce can make the other bounce
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
        if flags[seat] != target:
            return False
        return self.blocks or target != self.bases[seat] or flags[1 - seat] != CARRIED

    def _send_back(self, robots: list[int], flags: list[int], hit: list[int]) -> Position | None:
        """Return robots that were hit drop the flag and return to their start tile.

        The end of the game where they cannot.
        """
        for seat in hit:
            if flags[1 - seat] == CARRIED:
                flags[1 - seat] = robots[seat]
        for seat in hit:
            robots[seat] = self.starts[seat]
        shut_out = [s for s in hit if robots[1 - s] == self.starts[s] or flags[s] == self.starts[s]]
        if shut_out:
            return TIED if len(shut_out) == 2 else LOST if shut_out[0] == SOUTH else WON
        for seat in hit:
            if flags[1 - seat] == robots[seat]:
                flags[1 - seat] = CARRIED
        return None

    def turn(self, position: Position) -> tuple[list[tuple[Position, bool]], NDArray[np.int32]]:
        """Return what a turn can end in, and which of it each pair of buffers leads to: 216 of
        South by 216 of North."""
        ends: dict[tuple[Position, bool], int] = {}
        layer = {(position, False): 0}
        tables = []
        for _ in range(3):
            ends = {}
            table = np.empty((len(layer), COMMANDS * COMMANDS), np.int32)
            for (at, stirred), row in layer.items():
                table[row] = [
                    ends.setdefault((to, stirred or stirs), len(ends))
                    for to, stirs in self.answers(at)
                ]
            tables.append(table)
            layer = ends
        last = tables[2][tables[1][tables[0][0]]].reshape((COMMANDS,) * 6)
        return list(ends), last.transpose(0, 2, 4, 1, 3, 5).reshape(BUFFERS, BUFFERS)


def buffer_text(buffer: int, is_turned: bool) -> str:
    """Return a buffer as its owner writes it.

    `is_turned`: North's, whose directions are seen from the seat.
    """
    letters = _TURNED if is_turned else _LETTERS
    return "".join(letters[buffer // place % COMMANDS] for place in (36, 6, 1))


def buffer_number(text: str, is_turned: bool) -> int:
    """Return the number of a buffer. The opposite of `buffer_text`."""
    letters = _TURNED if is_turned else _LETTERS
    return sum(
        letters.index(letter) * place for letter, place in zip(text, (36, 6, 1), strict=True)
    )
