"""A turn of Outbuffered as a matrix game, its mixed strategies, and models of kinds of players.

Rows are buffers of the bot's side and columns buffers of the other one. A mixed strategy is a
vector of shares whose sum is 1. Values range from -1 (the bot's side loses) to 1 (it wins).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from companion.bots.outbuffered.turns import VALUE_OF, End
from companion.games.outbuffered.board import BUFFERS

# Number of rounds of regret matching for one matrix. More: slower. Fewer: shares farther from
# equilibrium.
_MATCHING_ROUNDS = 240

# Values of pairs of buffers, shape (rows, columns).
Matrix = NDArray[np.float32]
# Shares or values of buffers or of ends, shape (n,).
Vector = NDArray[np.float32]


class TurnGame:
    """A turn as a matrix game, from the point of view of the bot's side.

    Buffers that always have the same effect are merged.

    :param ends: possible ends of the turn
    :param table: index of the end of each pair of buffers, shape (216, 216), own buffers by rows
    :param values: value of each end for the bot's side
    """

    def __init__(self, ends: Sequence[End], table: NDArray[np.int32], values: Vector) -> None:
        self.ends = ends
        self.values = values
        self._full_table = table
        # buffer of each row of `payoff`
        self.rows = _distinct_rows(table)
        # buffer of each column of `payoff`
        self.columns = _distinct_rows(np.ascontiguousarray(table.T))
        self._table = np.ascontiguousarray(table[np.ix_(self.rows, self.columns)])

    @cached_property
    def payoff(self) -> Matrix:
        """Return the value for the bot's side of each pair of buffers, without merged ones."""
        return self.values[self._table]

    def sure_win(self) -> int | None:
        """Return a row that wins against all columns, or None."""
        sure = np.flatnonzero(self.payoff.min(axis=1) >= 1.0)
        return int(sure[0]) if len(sure) else None

    def row_of(self, buffer: int) -> int:
        """Return the row of a buffer, or of the one into which it was merged."""
        is_same = (self._full_table[self.rows] == self._full_table[buffer]).all(axis=1)
        return int(np.argmax(is_same))

    def with_noise(self, noise: Vector) -> TurnGame:
        """Return the same turn with noise on all values except those of finished games."""
        is_over = np.array([end.position in VALUE_OF for end in self.ends])
        # noise must not make a position look like a finished game
        noisy = np.clip(self.values + noise, -0.99, 0.99)
        values = np.where(is_over, self.values, noisy).astype(np.float32)
        return TurnGame(self.ends, self._full_table, values)


# All buffers, those with the most idle orders first. Among equivalent buffers the first is taken,
# so that the first row and column are those of a side that only idles.
_IDLE_FIRST = sorted(range(len(BUFFERS)), key=lambda buffer: -BUFFERS[buffer].count("I"))


def _distinct_rows(table: NDArray[np.int32]) -> list[int]:
    """Return the indexes of distinct rows: of several equal ones, the one with the most idling."""
    first_rows: dict[bytes, int] = {}
    for row in _IDLE_FIRST:
        first_rows.setdefault(table[row].tobytes(), row)
    return list(first_rows.values())


class Equilibrium(NamedTuple):
    """Mixed strategies of both sides."""

    mine: Vector
    """Shares of the rows."""
    theirs: Vector
    """Shares of the columns."""
    guaranteed: float
    """Value of `mine` for the bot's side against the best answer to it."""


def equilibrium(payoff: Matrix, guess: Vector | None = None, trust: float = 0.0) -> Equilibrium:
    """Return both sides' mixed strategies by regret matching+.

    The other side plays `guess` with probability `trust`, and freely otherwise. Averages are
    weighted by round (Tammelin, 2014). `mixed_strategies` does the same without numpy, for
    matrices that are much smaller.

    :param guess: a mixed strategy of the other side, or None without trust
    """
    rows, columns = payoff.shape
    payoff_by_column = np.ascontiguousarray(payoff.T)
    my_regret = np.zeros(rows, np.float32)
    their_regret = np.zeros(columns, np.float32)
    my_sum = np.zeros(rows, np.float32)
    their_sum = np.zeros(columns, np.float32)
    mine = np.full(rows, 1 / rows, np.float32)
    theirs = np.full(columns, 1 / columns, np.float32)
    gain_from_guess = (
        payoff @ guess * np.float32(trust) if guess is not None else np.zeros(rows, np.float32)
    )
    free_share = np.float32(1 - trust)
    for number in range(1, _MATCHING_ROUNDS + 1):
        gain = gain_from_guess + free_share * (payoff @ theirs)
        # regret matching+: both sides answer the other's mix of this round
        mine = _match_regrets(my_regret, gain - mine @ gain)
        loss = payoff_by_column @ mine
        theirs = _match_regrets(their_regret, theirs @ loss - loss)
        my_sum += number * mine
        their_sum += number * theirs
    mine = my_sum / my_sum.sum()
    theirs = their_sum / their_sum.sum()
    return Equilibrium(mine, theirs, float((payoff_by_column @ mine).min()))


def _match_regrets(regret: Vector, change: Vector) -> Vector:
    """Update the regrets in place, with a minimum of 0, and return shares in proportion to them."""
    np.maximum(regret + change, 0, out=regret)
    total = regret.sum()
    return regret / total if total > 1e-9 else np.full_like(regret, 1 / len(regret))


def softmax(values: Vector, temperature: float) -> Vector:
    """Return probabilities that grow with the values.

    A high `temperature` makes differences matter less.
    """
    weights = np.exp((values - values.max()) / temperature)
    return np.asarray(weights / weights.sum(), np.float32)


def likely_mix(game: TurnGame, balanced: Vector) -> Vector:
    """Return what the other side tends to play, as shares of the columns.

    Each kind of player is equally likely: one who plays anything, one who plays the mix of
    `equilibrium`, and those who play the best answer to any buffer, to an idle side, or to a
    beginner. How sharply they choose, the temperature, was chosen by hand.

    :param balanced: the other side's mix of `equilibrium`
    """
    their_payoff = -game.payoff
    columns = their_payoff.shape[1]
    uniform = np.full(columns, 1 / columns, np.float32)
    against_uniform = their_payoff.mean(axis=0)
    against_idle = their_payoff[0]
    my_beginner_mix = softmax(-their_payoff.mean(axis=1), 0.05)
    # somebody who expects a beginner still minds other buffers
    against_beginner = 0.75 * (their_payoff.T @ my_beginner_mix) + 0.25 * against_uniform
    kinds = [
        uniform,
        balanced,
        softmax(against_uniform, 0.05),
        softmax(against_idle, 0.02),
        softmax(against_beginner, 0.05),
    ]
    return np.asarray(np.mean(kinds, axis=0), np.float32)
