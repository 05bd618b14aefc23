"""Compute the value of every position of Outbuffered's standard board, for its opponent's tables.

`PYTHONPATH=tests python -m bench.bots.solve FILE.npz` does value iteration over the 10,303
positions between turns:

1. List all positions that can be reached, and number them.
2. For each position, note where each pair of orders leads in one step. A turn is three steps.
3. In each sweep, compute the value of each position from the values of the positions after it. Both
   sides choose a buffer of three orders at the same time, so that a position is a matrix game of
   216 by 216 buffers. Regret matching+ solves the game, and goes on from the regrets with which it
   ended in the sweep before.
4. After the last sweep, write the values as a table of integers.

Each of the two tables takes a quarter of an hour on one core.
"""

from __future__ import annotations

import sys

import numpy as np
from numpy.typing import NDArray

from companion.bots.outbuffered import DISCOUNT, TABLE_SCALE
from companion.bots.outbuffered.turns import FINAL_VALUES, ORDER_COUNT, Position, TransitionModel
from companion.games.outbuffered.board import BUFFERS
from companion.games.outbuffered.turn import OutbufferedOptions

# Rounds of regret matching for each position, by sweep. The last sweeps have more, to be exact.
SWEEPS_ROUNDS = (15,) * 41 + (150,) * 4
# Factor of the regrets that a sweep takes over from the sweep before. They count less and less,
# because they come from values that have changed.
KEPT_REGRET = 0.7
Floats = NDArray[np.float32]


def reachable_positions(model: TransitionModel) -> list[Position]:
    """Return every position that can be reached from the start, then the three final ones."""
    positions = {model.start: None}
    queue = [model.start]
    for position in queue:  # which grows meanwhile
        for after, _ in model.step_successors(position):
            if after not in positions and after not in FINAL_VALUES:
                positions[after] = None
                queue.append(after)
    return [*positions, *FINAL_VALUES]


def results_of_buffers(step: NDArray[np.int32], number: int) -> NDArray[np.int32]:
    """Return (216, 216): the number of the position to which each pair of buffers leads.

    Rows are South's buffers, columns North's. `step` is (positions, 36): the number of the position
    after one step, for each pair of orders. `number` is that of the position before the turn.
    """
    # axes: South's order of the first step, North's, then those of the second and the third step
    ends = step[step[step[number]]].reshape((ORDER_COUNT,) * 6)
    pairs: NDArray[np.int32] = ends.transpose(0, 2, 4, 1, 3, 5).reshape(len(BUFFERS), -1)
    return pairs


def solve_matrix_game(payoff: Floats, rows: Floats, columns: Floats, rounds: int) -> float:
    """Return the value of a matrix game for the player of the rows, by regret matching+.

    `payoff[row, column]` is what the rows win. `rows` and `columns` are the regrets of both
    players: how much more each choice would have won so far than what was played. They are updated
    in place. Each round, both play each choice with a probability in proportion to its regret, and
    their average probabilities approach best play. The value lies between what the averages of the
    rows win at least and what those of the columns lose at most. Return the middle of these bounds.
    """
    row_sum = np.zeros_like(rows)
    column_sum = np.zeros_like(columns)
    column_mix = _probabilities(columns)
    for round_number in range(1, rounds + 1):
        gain = payoff @ column_mix
        np.maximum(rows + gain - _probabilities(rows) @ gain, 0, out=rows)
        row_mix = _probabilities(rows)
        loss = row_mix @ payoff
        np.maximum(columns + column_mix @ loss - loss, 0, out=columns)
        column_mix = _probabilities(columns)
        # later rounds weigh more in the average
        row_sum += round_number * row_mix
        column_sum += round_number * column_mix
    lower_bound = (_probabilities(row_sum) @ payoff).min()
    upper_bound = (payoff @ _probabilities(column_sum)).max()
    return float(lower_bound + upper_bound) / 2


def _probabilities(weights: Floats) -> Floats:
    """Divide weights by their sum. If all are 0, return equal probabilities."""
    total = weights.sum()
    return weights / total if total > 1e-9 else np.full_like(weights, 1 / len(weights))


def solve(own_flag_blocks_base: bool) -> NDArray[np.int16]:
    """Return the values of all positions of the standard board, as a table of integers.

    Its indices are the squares of South's and North's robot and flag. The squares of flags are
    counted from 1, because 0 stands for a flag that is carried. `own_flag_blocks_base` is a house
    rule of the game.
    """
    model = TransitionModel(OutbufferedOptions(own_flag_blocks_base=own_flag_blocks_base))
    positions = reachable_positions(model)
    count = len(positions) - len(FINAL_VALUES)
    number_of = {position: number for number, position in enumerate(positions)}
    step = np.array(
        [[number_of[after] for after, _ in model.step_successors(at)] for at in positions], np.int32
    )
    values = np.array([FINAL_VALUES.get(position, 0.0) for position in positions], np.float32)
    # what comes a turn later is worth less, except for games that are over
    discount = np.where(np.arange(len(positions)) < count, DISCOUNT, 1).astype(np.float32)
    regrets = np.zeros((count, 2, len(BUFFERS)), np.float32)
    for sweep, rounds in enumerate(SWEEPS_ROUNDS, start=1):
        before = values.copy()
        regrets *= KEPT_REGRET
        for number in range(count):
            ends = results_of_buffers(step, number)
            rows, columns = regrets[number]
            values[number] = solve_matrix_game((discount * values)[ends], rows, columns, rounds)
        print(f"sweep {sweep}: greatest change {np.abs(values - before).max():.4f}", flush=True)
    squares = len(model.squares)
    table = np.zeros((squares, squares, squares + 1, squares + 1), np.int16)
    for (south, north, south_flag, north_flag), value in zip(
        positions[:count], values, strict=False
    ):
        # a flag that is carried has the number -1
        table[south, north, south_flag + 1, north_flag + 1] = round(float(value) * TABLE_SCALE)
    return table


def main() -> int:
    """Write both tables to the file that the command names."""
    if len(sys.argv) != 2:
        print("usage: PYTHONPATH=tests python -m bench.bots.solve FILE.npz", file=sys.stderr)
        return 2
    np.savez_compressed(sys.argv[1], standard=solve(False), blocks=solve(True))
    return 0


if __name__ == "__main__":
    sys.exit(main())
