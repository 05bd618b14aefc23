"""Turns of Outbuffered: positions as tuples, and all 216 by 216 pairs of buffers at once.

A position is (South's robot, North's robot, South's flag, North's flag). Squares are numbers, and
`CARRIED` is a flag that the other side carries. A turn ends in a position, or in one of `WON`,
`LOST` and `TIED` as seen by South. Buffers are indexes in `BUFFERS`, as their owner writes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from companion.core.grid import Square
from companion.core.kit import SEATS
from companion.games.outbuffered.board import SOUTH, terrain_of
from companion.games.outbuffered.turn import OutbufferedOptions, State, play

Position = tuple[int, int, int, int]
CARRIED = -1
WON: Position = (-2, 0, 0, 0)
LOST: Position = (-3, 0, 0, 0)
TIED: Position = (-4, 0, 0, 0)
VALUE_OF = {WON: 1.0, LOST: -1.0, TIED: 0.0}
"""Value of the three ends for South."""
_LETTERS = "UDLRIS"
COMMANDS = len(_LETTERS)
BUFFERS = tuple(map("".join, product(_LETTERS, repeat=3)))
"""All 216 buffers in notation."""


class Turns:
    """All turns with these options, played by the game's own rules. Results are cached."""

    def __init__(self, options: OutbufferedOptions) -> None:
        self._options = options
        self._terrain = terrain = terrain_of(options.board)
        tiles = [
            Square(file, rank) for rank in range(terrain.ranks) for file in range(terrain.files)
        ]
        self.squares = [square for square in tiles if square not in terrain.walls]
        self._numbers: dict[Square | None, int] = {None: CARRIED}
        self._numbers |= {square: number for number, square in enumerate(self.squares)}
        self.beginning = self._position(terrain.starts, terrain.bases)
        self.answers = cache(self._answers)

    def position(self, view: Mapping[str, Any]) -> Position:
        """Return the position of a view."""
        robots = [Square.parse(view["robots"][seat]) for seat in SEATS]
        names = [view["flags"][seat].get("on") for seat in SEATS]
        return self._position(robots, [Square.parse(name) if name else None for name in names])

    def _position(self, robots: Sequence[Square], flags: Sequence[Square | None]) -> Position:
        south, north, south_flag, north_flag = map(self._numbers.__getitem__, (*robots, *flags))
        return south, north, south_flag, north_flag

    def state(self, position: Position) -> State:
        """Return the game's state of a position, at the beginning of the first turn."""
        south, north = (self.squares[robot] for robot in position[:2])
        own, other = (None if flag == CARRIED else self.squares[flag] for flag in position[2:])
        return State(self._options, self._terrain, (south, north), (own, other))

    def _answers(self, position: Position) -> list[tuple[Position, bool]]:
        """Return the results of the 36 pairs of commands, South's command first.

        Each result is the position after it, and whether a flag was taken or a robot hit.
        """
        if position in VALUE_OF:
            return [(position, False)] * COMMANDS**2
        state = self.state(position)
        answers = []
        for pair in product(_LETTERS, _LETTERS):
            # buffers of one command each, so that the limits of whole turns do not count
            after = play(state, pair).state
            end = self._position(after.robots, after.flags)
            if after.outcome:
                winners = after.outcome.winners
                end = TIED if not winners else WON if SEATS[SOUTH] in winners else LOST
            answers.append((end, after.quiet == 0))
        return answers

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
            for (at, was_eventful), row in layer.items():
                for pair, (to, is_eventful) in enumerate(self.answers(at)):
                    table[row, pair] = ends.setdefault((to, was_eventful or is_eventful), len(ends))
            tables.append(table)
        first, second, third = tables
        # axes: South's and North's command alternately, for each step
        steps = third[second[first[0]]].reshape((COMMANDS,) * 6)
        return list(ends), steps.transpose(0, 2, 4, 1, 3, 5).reshape(len(BUFFERS), -1)
