"""Turns of Outbuffered: positions as tuples, and all 216 by 216 pairs of buffers at once.

A buffer is the three orders that a side hands in for a turn. Here it is an index in `BUFFERS`, as
its owner writes it. A turn has three steps, in each of which both sides carry out one order. It
leads to a position, or to one of `WON`, `LOST` and `DRAWN` from South's point of view.
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
    """The squares of robots and flags, as numbers (indexes in `TransitionModel.squares`)."""

    south_robot: int
    north_robot: int
    south_flag: int
    """Square of South's own flag, or `CARRIED`."""
    north_flag: int
    """Square of North's own flag, or `CARRIED`."""


class Successor(NamedTuple):
    """A position to which a turn or a step may lead."""

    position: Position
    is_eventful: bool
    """Whether a flag was taken or a robot hit on the way to it."""


# Stands for the square of a flag that the other side carries.
CARRIED = -1
# Positions of finished games. They have no squares.
WON = Position(-2, 0, 0, 0)
LOST = Position(-3, 0, 0, 0)
DRAWN = Position(-4, 0, 0, 0)
# Values of finished games, for South.
FINAL_VALUES = {WON: 1.0, LOST: -1.0, DRAWN: 0.0}

ORDER_COUNT = len(ORDER_LETTERS)


class TransitionModel:
    """Finds the successors of positions by the game's own rules, for a game with these options."""

    def __init__(self, options: OutbufferedOptions) -> None:
        self._options = options
        self._terrain = terrain = parse_terrain(options.board)
        all_squares = [
            Square(file, rank) for rank in range(terrain.ranks) for file in range(terrain.files)
        ]
        self.squares = [square for square in all_squares if square not in terrain.walls]
        # number of each square, where None stands for the square of a flag that is carried
        self._numbers: dict[Square | None, int] = {None: CARRIED}
        self._numbers |= {square: number for number, square in enumerate(self.squares)}
        # position at the start of a game
        self.start = self._position(terrain.starts, terrain.bases)
        self.step_successors = cache(self._step_successors)
        """Return the successors of a position after one step, see `_step_successors`. Cached."""

    def position(self, view: Mapping[str, Any]) -> Position:
        """Return the position of a view."""
        robots = [Square.parse(view["robots"][seat]) for seat in SEATS]
        names = [view["flags"][seat].get("on") for seat in SEATS]
        return self._position(robots, [Square.parse(name) if name else None for name in names])

    def _position(self, robots: Sequence[Square], flags: Sequence[Square | None]) -> Position:
        return Position(*map(self._numbers.__getitem__, (*robots, *flags)))

    def state(self, position: Position) -> State:
        """Return a state of the game in this position, as if it were the first turn."""
        robots = self.squares[position.south_robot], self.squares[position.north_robot]
        south_flag, north_flag = (
            None if flag == CARRIED else self.squares[flag]
            for flag in (position.south_flag, position.north_flag)
        )
        return State(self._options, self._terrain, robots, (south_flag, north_flag))

    def _step_successors(self, position: Position) -> list[Successor]:
        """Return the successor after one step for each of the 36 pairs of orders, South's first."""
        if position in FINAL_VALUES:
            return [Successor(position, is_eventful=False)] * ORDER_COUNT**2
        state = self.state(position)
        successors = []
        for orders in product(ORDER_LETTERS, ORDER_LETTERS):
            # carry out buffers of one order, because the limits of a game count only after three
            after = carry_out(state, orders).state
            position_after = self._position(after.robots, after.flags)
            if after.outcome:
                winners = after.outcome.winners
                position_after = DRAWN
                if winners:
                    position_after = WON if SEATS[SOUTH] in winners else LOST
            successors.append(Successor(position_after, is_eventful=after.quiet_turns == 0))
        return successors

    def turn_successors(self, position: Position) -> tuple[list[Successor], NDArray[np.int32]]:
        """Return the successors after a whole turn, and to which one each pair of buffers leads.

        The array has the index of that successor. It has 216 rows, one for each of South's buffers,
        and 216 columns for North's.
        """
        # Each step has a table. Its rows are the numbered successors after the step before, its
        # columns the pairs of orders, and its entries the numbers of the successors after this
        # step.
        numbers = {Successor(position, is_eventful=False): 0}
        tables = []
        for _ in range(3):
            numbers_before = numbers
            numbers = {}
            table = np.empty((len(numbers_before), ORDER_COUNT * ORDER_COUNT), np.int32)
            for (before, was_eventful), row in numbers_before.items():
                for column, (after, is_eventful) in enumerate(self.step_successors(before)):
                    successor = Successor(after, was_eventful or is_eventful)
                    table[row, column] = numbers.setdefault(successor, len(numbers))
            tables.append(table)
        first, second, third = tables
        # axes: South's and North's order alternately, for each step
        steps = third[second[first[0]]].reshape((ORDER_COUNT,) * 6)
        # rows are South's three orders, columns North's
        by_buffer = steps.transpose(0, 2, 4, 1, 3, 5).reshape(len(BUFFERS), -1)
        return list(numbers), by_buffer
