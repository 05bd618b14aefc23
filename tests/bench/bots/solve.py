"""Work out what every position of Outbuffered's standard board is worth, for its opponent's table.

`PYTHONPATH=tests python -m bench.bots.solve FILE.npz`: value iteration over the 10,303 positions between turns. Each is a
matrix game of up to 216 by 216 buffers, solved by regret matching+ that goes on where the sweep before ended. The board
looks the same from both seats, so that half of the positions are enough. Some minutes on one core for each table.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from companion.bots.outbuffered import DISCOUNT, SCALE
from companion.bots.outbuffered.turns import (
    BUFFERS,
    CARRIED,
    COMMANDS,
    VALUE_OF,
    Position,
    Turns,
)
from companion.games.outbuffered.board import STANDARD_MAP

_SWEEPS, _CAREFUL_SWEEPS = 41, 4
_ROUNDS, _CAREFUL_ROUNDS = 15, 150
_KEPT = 0.7
"""What is left of the regrets of one sweep in the next: worths have changed meanwhile."""
Floats = NDArray[np.float32]


@dataclass
class Solver:
    """All positions of a board that are ever reached, their games, and what they are worth so far."""

    turns: Turns

    def __post_init__(self) -> None:
        self.positions = reachable(self.turns)
        ends = list(VALUE_OF)
        self.number = {position: number for number, position in enumerate([*self.positions, *ends])}
        self.mirror = [
            self.number[mirrored(position, len(self.turns.squares))] for position in self.positions
        ]
        self.worth = np.zeros(len(self.number), np.float32)
        self.worth[len(self.positions) :] = [VALUE_OF[end] for end in ends]
        step = np.array(
            [
                [self.number[to] for to, _ in self.turns.answers(position)]
                for position in self.number
            ],
            np.int32,
        )
        self.half = [number for number, other in enumerate(self.mirror) if number <= other]
        self.games = [game_of(step, number) for number in self.half]
        self.regrets = [
            (np.zeros(len(game), np.float32), np.zeros(game.shape[1], np.float32))
            for game in self.games
        ]

    def sweep(self, rounds: int) -> tuple[float, float]:
        """Work every position out anew; answers the greatest change, and the greatest gap between the two sides."""
        change = gap = 0.0
        for number, game, (mine, theirs) in zip(self.half, self.games, self.regrets, strict=True):
            payoff = (
                np.where(game < len(self.positions), DISCOUNT, 1).astype(np.float32)
                * self.worth[game]
            )
            np.multiply(mine, _KEPT, out=mine)
            np.multiply(theirs, _KEPT, out=theirs)
            low, high = play_out(payoff, mine, theirs, rounds)
            worth = 0.0 if self.mirror[number] == number else (low + high) / 2
            change, gap = max(change, abs(worth - float(self.worth[number]))), max(gap, high - low)
            self.worth[number], self.worth[self.mirror[number]] = worth, -worth
        return change, gap

    def table(self) -> NDArray[np.int16]:
        """The worths as the opponent looks them up: by both robots, and both flags plus 1."""
        squares = len(self.turns.squares)
        table = np.zeros((squares, squares, squares + 1, squares + 1), np.int16)
        for position, worth in zip(self.positions, self.worth, strict=False):
            table[position[0], position[1], position[2] + 1, position[3] + 1] = round(
                float(worth) * SCALE
            )
        return table


def reachable(turns: Turns) -> list[Position]:
    """Every position that can follow from the beginning, in the order in which it is found."""
    found = {turns.beginning: None}
    todo = [turns.beginning]
    for position in todo:
        for to, _ in turns.answers(position):
            if to not in found and to not in VALUE_OF:
                found[to] = None
                todo.append(to)
    return list(found)


def mirrored(position: Position, squares: int) -> Position:
    """The same position seen from the other seat: the board turned, the sides exchanged."""
    south, north, own, other = (CARRIED if at == CARRIED else squares - 1 - at for at in position)
    return (north, south, other, own)


def game_of(step: NDArray[np.int32], number: int) -> NDArray[np.int16]:
    """Which position each pair of buffers leads to, of buffers that mean the same only one."""
    ends = (
        step[step[step[number]]]
        .reshape((COMMANDS,) * 6)
        .transpose(0, 2, 4, 1, 3, 5)
        .reshape(BUFFERS, BUFFERS)
    )
    rows = list({row.tobytes(): index for index, row in enumerate(ends)}.values())
    columns = list(
        {
            column.tobytes(): index for index, column in enumerate(np.ascontiguousarray(ends.T))
        }.values()
    )
    return np.ascontiguousarray(ends[np.ix_(rows, columns)]).astype(np.int16)


def play_out(payoff: Floats, regret: Floats, regrets: Floats, rounds: int) -> tuple[float, float]:
    """What the row player is sure of and what the column player allows; regrets are gone on with, in place."""
    across = np.ascontiguousarray(payoff.T)
    mine, theirs = _shares(regret), _shares(regrets)
    sums, other_sums = np.zeros_like(regret), np.zeros_like(regrets)
    for number in range(1, rounds + 1):
        gain = payoff @ theirs
        np.maximum(regret + gain - mine @ gain, 0, out=regret)
        mine = _shares(regret)
        loss = across @ mine
        np.maximum(regrets + theirs @ loss - loss, 0, out=regrets)
        theirs = _shares(regrets)
        sums += number * mine
        other_sums += number * theirs
    return float((across @ (sums / sums.sum())).min()), float(
        (payoff @ (other_sums / other_sums.sum())).max()
    )


def _shares(regret: Floats) -> Floats:
    total = regret.sum()
    return regret / total if total > 1e-9 else np.full_like(regret, 1 / len(regret))


def solve(own_flag_blocks_base: bool) -> NDArray[np.int16]:
    """The table of the standard board with or without that house rule."""
    solver = Solver(Turns(STANDARD_MAP, own_flag_blocks_base))
    print(f"{len(solver.positions)} positions, {len(solver.half)} games", flush=True)
    for number in range(_SWEEPS + _CAREFUL_SWEEPS):
        change, gap = solver.sweep(_ROUNDS if number < _SWEEPS else _CAREFUL_ROUNDS)
        print(
            f"sweep {number + 1}: greatest change {change:.4f}, greatest gap {gap:.4f}", flush=True
        )
    return solver.table()


def main() -> int:
    """Write both tables to the file that is named."""
    if len(sys.argv) != 2:
        print("usage: PYTHONPATH=tests python -m bench.bots.solve FILE.npz", file=sys.stderr)
        return 2
    np.savez_compressed(sys.argv[1], standard=solve(False), blocks=solve(True))
    return 0


if __name__ == "__main__":
    sys.exit(main())
