"""Compute the value of every position of Outbuffered's standard board, for its opponent's tables.

`PYTHONPATH=tests python -m bench.bots.solve FILE.npz` does value iteration over the 10,303
positions between turns. Each is a matrix game of 216 by 216 buffers. Regret matching+ solves it and
goes on where it ended in the sweep before. Each table takes a quarter of an hour on one core.
"""

from __future__ import annotations

import sys

import numpy as np
from numpy.typing import NDArray

from companion.bots.outbuffered import DISCOUNT, TABLE_SCALE
from companion.bots.outbuffered.turns import FINAL_VALUES, ORDER_COUNT, Position, TransitionModel
from companion.games.outbuffered.board import BUFFERS
from companion.games.outbuffered.turn import OutbufferedOptions

# Rounds of regret matching for each position, by sweep. The last sweeps are more accurate.
SWEEPS_ROUNDS = (15,) * 41 + (150,) * 4
# Share of its regrets that a sweep hands to the next one. Some are dropped, as values have changed.
KEPT_REGRET = 0.7
Floats = NDArray[np.float32]


def reachable_positions(model: TransitionModel) -> list[Position]:
    """Return every position that can be reached from the start, then the three final ones."""
    positions = {model.start: None}
    queue = [model.start]
    for position in queue:
        for after, _ in model.step_successors(position):
            if after not in positions and after not in FINAL_VALUES:
                positions[after] = None
                queue.append(after)
    return [*positions, *FINAL_VALUES]


def results_of_buffers(step: NDArray[np.int32], number: int) -> NDArray[np.int32]:
    """Return (216, 216): the numbers of the positions that each pair of buffers leads to."""
    ends = step[step[step[number]]].reshape((ORDER_COUNT,) * 6)
    # axes: South's and North's command in turn, of each step
    pairs: NDArray[np.int32] = ends.transpose(0, 2, 4, 1, 3, 5).reshape(len(BUFFERS), -1)
    return pairs


def solve_matrix_game(payoff: Floats, rows: Floats, columns: Floats, rounds: int) -> float:
    """Return the value of a matrix game for the rows. Update the regrets of both in place."""
    row_sum = np.zeros_like(rows)
    column_sum = np.zeros_like(columns)
    column_mix = _probabilities(columns)
    for number in range(1, rounds + 1):
        gain = payoff @ column_mix
        np.maximum(rows + gain - _probabilities(rows) @ gain, 0, out=rows)
        row_mix = _probabilities(rows)
        loss = row_mix @ payoff
        np.maximum(columns + column_mix @ loss - loss, 0, out=columns)
        column_mix = _probabilities(columns)
        # later rounds weigh more in the average
        row_sum += number * row_mix
        column_sum += number * column_mix
    lower_bound = (_probabilities(row_sum) @ payoff).min()
    upper_bound = (payoff @ _probabilities(column_sum)).max()
    return float(lower_bound + upper_bound) / 2


def _probabilities(weights: Floats) -> Floats:
    total = weights.sum()
    return weights / total if total > 1e-9 else np.full_like(weights, 1 / len(weights))


def solve(own_flag_blocks_base: bool) -> NDArray[np.int16]:
    """Return the table of the standard board with or without the house rule."""
    model = TransitionModel(OutbufferedOptions(own_flag_blocks_base=own_flag_blocks_base))
    positions = reachable_positions(model)
    count = len(positions) - len(FINAL_VALUES)
    number_of = {position: number for number, position in enumerate(positions)}
    step = np.array(
        [[number_of[after] for after, _ in model.step_successors(at)] for at in positions], np.int32
    )
    values = np.array([FINAL_VALUES.get(position, 0.0) for position in positions], np.float32)
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
    for (south, north, own, other), value in zip(positions[:count], values, strict=False):
        # a flag that is carried has the number -1
        table[south, north, own + 1, other + 1] = round(float(value) * TABLE_SCALE)
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
