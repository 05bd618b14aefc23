"""Turns of Outbuffered: positions as tuples, and all 216 by 216 pairs of buffers at once.

A buffer is the three orders that a side hands in for a turn. Here it is an index in `BUFFERS`, as
its owner writes it. A turn has three steps, in each of which both sides carry out one order. A turn
ends in a position, or in one of `WON`, `LOST` and `DRAWN` from South's point of view.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from companion.core.grid import Square
from companion.core.kit import SEATS
from companion.games.outbuffered.board import BUFFERS, ORDER_LETTERS, SOUTH, parse_terrain
from companion.games.outbuffered.turn import OutbufferedOptions, State, carry_out


class Position(NamedTuple):
    """The squares of robots and flags, as numbers (indexes in `Turns.squares`)."""

    south_robot: int
    north_robot: int
    south_flag: int
    """Square of South's own flag, or `CARRIED`."""
    north_flag: int
    """Square of North's own flag, or `CARRIED`."""


class End(NamedTuple):
    """A possible end of a turn or of a step."""

    position: Position
    is_eventful: bool
    """Whether on the way to it a flag was taken or a robot hit."""


# Stands for the square of a flag that the other side carries.
CARRIED = -1
# Ends of a game. They have no squares.
WON = Position(-2, 0, 0, 0)
LOST = Position(-3, 0, 0, 0)
DRAWN = Position(-4, 0, 0, 0)
# Value for South of a finished game.
VALUE_OF = {WON: 1.0, LOST: -1.0, DRAWN: 0.0}

ORDER_COUNT = len(ORDER_LETTERS)


class Turns:
    """All turns with these options, played by the game's own rules. Results are cached."""

    def __init__(self, options: OutbufferedOptions) -> None:
        self._options = options
        self._terrain = terrain = parse_terrain(options.board)
        tiles = [
            Square(file, rank) for rank in range(terrain.ranks) for file in range(terrain.files)
        ]
        self.squares = [square for square in tiles if square not in terrain.walls]
        # number of each square. None is a flag that is carried
        self._numbers: dict[Square | None, int] = {None: CARRIED}
        self._numbers |= {square: number for number, square in enumerate(self.squares)}
        # position at the start of a game
        self.start = self._position(terrain.starts, terrain.bases)
        self.step_results = cache(self._step_results)

    def position(self, view: Mapping[str, Any]) -> Position:
        """Return the position of a view."""
        robots = [Square.parse(view["robots"][seat]) for seat in SEATS]
        names = [view["flags"][seat].get("on") for seat in SEATS]
        return self._position(robots, [Square.parse(name) if name else None for name in names])

    def _position(self, robots: Sequence[Square], flags: Sequence[Square | None]) -> Position:
        return Position(*map(self._numbers.__getitem__, (*robots, *flags)))

    def state(self, position: Position) -> State:
        """Return the game's state of a position, at the beginning of the first turn."""
        robots = self.squares[position.south_robot], self.squares[position.north_robot]
        south_flag, north_flag = (
            None if flag == CARRIED else self.squares[flag]
            for flag in (position.south_flag, position.north_flag)
        )
        return State(self._options, self._terrain, robots, (south_flag, north_flag))

    def _step_results(self, position: Position) -> list[End]:
        """Return the results of one step, for each of the 36 pairs of orders, South's first."""
        if position in VALUE_OF:
            return [End(position, is_eventful=False)] * ORDER_COUNT**2
        state = self.state(position)
        results = []
        for pair in product(ORDER_LETTERS, ORDER_LETTERS):
            # buffers of one order each, so that the limits of whole turns do not count
            after = carry_out(state, pair).state
            end = self._position(after.robots, after.flags)
            if after.outcome:
                winners = after.outcome.winners
                end = DRAWN
                if winners:
                    end = WON if SEATS[SOUTH] in winners else LOST
            results.append(End(end, is_eventful=after.quiet_turns == 0))
        return results

    def ends_of_turn(self, position: Position) -> tuple[list[End], NDArray[np.int32]]:
        """Return the possible ends of a turn, and for each pair of buffers the index of its end.

        The array has 216 rows for South and 216 columns for North.
        """
        # Each step has a table. Its rows are the numbered ends of the step before, its columns the
        # pairs of orders, and its entries the numbers of the ends of this step.
        numbers = {End(position, is_eventful=False): 0}
        tables = []
        for _ in range(3):
            numbers_before = numbers
            numbers = {}
            table = np.empty((len(numbers_before), ORDER_COUNT * ORDER_COUNT), np.int32)
            for (before, was_eventful), row in numbers_before.items():
                for pair, (after, is_eventful) in enumerate(self.step_results(before)):
                    end = End(after, was_eventful or is_eventful)
                    table[row, pair] = numbers.setdefault(end, len(numbers))
            tables.append(table)
        first, second, third = tables
        # axes: South's and North's order alternately, for each step
        steps = third[second[first[0]]].reshape((ORDER_COUNT,) * 6)
        # rows are South's three orders, columns North's
        by_buffer = steps.transpose(0, 2, 4, 1, 3, 5).reshape(len(BUFFERS), -1)
        return list(numbers), by_buffer
