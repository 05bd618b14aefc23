"""A turn of Outbuffered as a matrix game, its mixed strategies, and models of kinds of players.

Rows are buffers of the bot's side, and columns are buffers of the other side. A mixed strategy is a
vector of probabilities, one for each row or for each column. Values range from -1 (the bot's side
loses) to 1 (it wins).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from companion.bots.outbuffered.turns import FINAL_VALUES, Successor
from companion.games.outbuffered.board import BUFFERS

# Number of rounds of regret matching for one matrix. More rounds take longer. With fewer rounds the
# strategies are farther from equilibrium.
_MATCHING_ROUNDS = 240

# Values of pairs of buffers, shape (rows, columns).
Matrix = NDArray[np.float32]
# A probability or a value for each of n buffers or successors, shape (n,).
Vector = NDArray[np.float32]


class TurnGame:
    """A turn as a matrix game, from the point of view of the bot's side.

    Buffers that always have the same effect are merged into one.

    :param successors: positions to which the turn may lead
    :param table: index of the successor of each pair of buffers, shape (216, 216), own buffers by
        rows
    :param values: value of each successor for the bot's side
    """

    def __init__(
        self, successors: Sequence[Successor], table: NDArray[np.int32], values: Vector
    ) -> None:
        self.successors = successors
        self.values = values
        self._full_table = table
        # buffer of each row of `payoff`, as an index in `BUFFERS`
        self.rows = _distinct_rows(table)
        # buffer of each column of `payoff`
        self.columns = _distinct_rows(np.ascontiguousarray(table.T))
        self._table = np.ascontiguousarray(table[np.ix_(self.rows, self.columns)])

    @cached_property
    def payoff(self) -> Matrix:
        """Payoff matrix for the bot's side, without merged buffers."""
        return self.values[self._table]

    def find_sure_win(self) -> int | None:
        """Return the first row that wins against all columns, or None if no row does."""
        winning_rows = np.flatnonzero(self.payoff.min(axis=1) >= 1.0)
        return int(winning_rows[0]) if len(winning_rows) else None

    def row_of(self, buffer: int) -> int:
        """Return the row of a buffer, or of the one into which it was merged."""
        is_same = (self._full_table[self.rows] == self._full_table[buffer]).all(axis=1)
        return int(np.argmax(is_same))

    def with_noise(self, noise: Vector) -> TurnGame:
        """Return the same turn with noise on all values except those of finished games.

        :param noise: noise of each successor
        """
        is_over = np.array([after.position in FINAL_VALUES for after in self.successors])
        # clipped, because noise must not make a position look like a finished game
        noisy_values = np.clip(self.values + noise, -0.99, 0.99)
        values = np.where(is_over, self.values, noisy_values).astype(np.float32)
        return TurnGame(self.successors, self._full_table, values)


# All buffers, those with the most idle orders first. Of equivalent buffers the first one is taken.
# So the first row and the first column are for a side that only idles.
_IDLE_FIRST = sorted(range(len(BUFFERS)), key=lambda buffer: -BUFFERS[buffer].count("I"))


def _distinct_rows(table: NDArray[np.int32]) -> list[int]:
    """Return the indexes of distinct rows: of equal rows, the one with the most idle orders."""
    first_rows: dict[bytes, int] = {}
    for row in _IDLE_FIRST:
        first_rows.setdefault(table[row].tobytes(), row)
    return list(first_rows.values())


class Equilibrium(NamedTuple):
    """Mixed strategies of both sides, as `find_equilibrium` returns them."""

    row_strategy: Vector
    """Probability of each row, for the bot's side."""
    column_strategy: Vector
    """Probability of each column, for the other side."""
    guaranteed_value: float
    """Value of `row_strategy` for the bot's side against the best response to it."""


def find_equilibrium(
    payoff: Matrix, guess: Vector | None = None, trust: float = 0.0
) -> Equilibrium:
    """Solve a matrix game by regret matching+, and return both sides' mixed strategies.

    The other side plays `guess` with probability `trust`, and otherwise what is best for it. In
    each round, both sides change their strategies towards what would have done better so far. The
    result is the average over all rounds, with more weight for later ones (Tammelin, 2014).
    `mixed_strategies` does the same without numpy, for matrices that are much smaller.

    :param payoff: payoff matrix for the bot's side
    :param guess: a mixed strategy of the other side, or None without trust
    """
    rows, columns = payoff.shape
    payoff_by_column = np.ascontiguousarray(payoff.T)
    row_regrets = np.zeros(rows, np.float32)
    column_regrets = np.zeros(columns, np.float32)
    row_totals = np.zeros(rows, np.float32)
    column_totals = np.zeros(columns, np.float32)
    row_strategy = uniform_strategy(rows)
    column_strategy = uniform_strategy(columns)
    payoffs_from_guess = (
        payoff @ guess * np.float32(trust) if guess is not None else np.zeros(rows, np.float32)
    )
    free_probability = np.float32(1 - trust)
    for round_number in range(1, _MATCHING_ROUNDS + 1):
        # expected payoff of each row, for the bot's side
        row_payoffs = payoffs_from_guess + free_probability * (payoff @ column_strategy)
        row_strategy = _match_regrets(row_regrets, row_payoffs - row_strategy @ row_payoffs)
        # what each column is expected to cost the other side
        column_costs = payoff_by_column @ row_strategy
        column_strategy = _match_regrets(
            column_regrets, column_strategy @ column_costs - column_costs
        )
        row_totals += round_number * row_strategy
        column_totals += round_number * column_strategy
    row_strategy = row_totals / row_totals.sum()
    column_strategy = column_totals / column_totals.sum()
    guaranteed_value = float((payoff_by_column @ row_strategy).min())
    return Equilibrium(row_strategy, column_strategy, guaranteed_value)


def _match_regrets(regrets: Vector, change: Vector) -> Vector:
    """Update the regrets in place, with a minimum of 0. Return a strategy in proportion to them."""
    np.maximum(regrets + change, 0, out=regrets)
    total = regrets.sum()
    return regrets / total if total > 1e-9 else uniform_strategy(len(regrets))


def uniform_strategy(count: int) -> Vector:
    """Return the mixed strategy that plays each of `count` buffers with the same probability."""
    return np.full(count, 1 / count, np.float32)


def softmax(values: Vector, temperature: float) -> Vector:
    """Return probabilities that grow with the values. Their sum is 1.

    :param temperature: the higher, the less differences between values matter
    """
    weights = np.exp((values - values.max()) / temperature)
    return np.asarray(weights / weights.sum(), np.float32)


def likely_strategy(game: TurnGame, balanced: Vector) -> Vector:
    """Return the mixed strategy that people at the other side are likely to play.

    There are five kinds of players, and each is assumed to be equally likely. One plays anything,
    and one plays the equilibrium. The others play nearly the best response: to a side that plays
    anything, to a side that idles, or to a beginner. Their temperatures, which say how often they
    miss the best response, were chosen by hand.

    :param balanced: the other side's equilibrium strategy
    """
    their_payoff = -game.payoff
    uniform = uniform_strategy(their_payoff.shape[1])
    # their expected payoffs, one for each column
    against_uniform = their_payoff.mean(axis=0)
    # the first row only idles
    against_idle = their_payoff[0]
    beginner = softmax(-their_payoff.mean(axis=1), 0.05)
    # somebody who expects a beginner still minds other buffers
    against_beginner = 0.75 * (their_payoff.T @ beginner) + 0.25 * against_uniform
    kinds = [
        uniform,
        balanced,
        softmax(against_uniform, 0.05),
        softmax(against_idle, 0.02),
        softmax(against_beginner, 0.05),
    ]
    return np.asarray(np.mean(kinds, axis=0), np.float32)
