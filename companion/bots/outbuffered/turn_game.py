"""A turn of Outbuffered as a matrix game, its mixed strategies, and models of kinds of players."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from companion.bots.outbuffered.turns import BUFFERS, VALUE_OF, Position

_ROUNDS = 240
"""Rounds of regret matching for one matrix."""
Matrix = NDArray[np.float32]
Vector = NDArray[np.float32]


class TurnGame:
    """A turn as a matrix game, seen from the own side.

    Buffers that always have the same effect are merged.

    :param table: index of the end of each pair of buffers, own buffers by rows
    :param values: value of each end for the own side
    """

    def __init__(
        self, ends: Sequence[tuple[Position, bool]], table: NDArray[np.int32], values: Vector
    ) -> None:
        self.ends = ends
        self.values = values
        self._full_table = table
        self.rows = _distinct_rows(table)
        self.columns = _distinct_rows(np.ascontiguousarray(table.T))
        self.table = np.ascontiguousarray(table[np.ix_(self.rows, self.columns)])

    @cached_property
    def payoff(self) -> Matrix:
        """Return the value of each pair of buffers for the own side."""
        return self.values[self.table]

    def sure_win(self) -> int | None:
        """Return a row that wins against all columns, or None."""
        sure = np.flatnonzero(self.payoff.min(axis=1) >= 1.0)
        return int(sure[0]) if len(sure) else None

    def row_of(self, buffer: int) -> int:
        """Return the row of a buffer, or of the equivalent one."""
        same = (self._full_table[self.rows] == self._full_table[buffer]).all(axis=1)
        return int(np.argmax(same))

    def with_noise(self, noise: Vector) -> TurnGame:
        """Return the same turn with noise on all values except those of finished games."""
        is_over = np.array([position in VALUE_OF for position, _ in self.ends])
        wrong = np.clip(self.values + noise, -0.99, 0.99)
        values = np.where(is_over, self.values, wrong).astype(np.float32)
        return TurnGame(self.ends, self._full_table, values)


_IDLE_FIRST = sorted(range(len(BUFFERS)), key=lambda buffer: -BUFFERS[buffer].count("I"))
"""All buffers, those with the most idle commands first. Among equivalent buffers the first is
taken, so that the first row and column are idle.
"""


def _distinct_rows(table: NDArray[np.int32]) -> list[int]:
    """Return the indexes of distinct rows, one for each kind."""
    first_rows: dict[bytes, int] = {}
    for row in _IDLE_FIRST:
        first_rows.setdefault(table[row].tobytes(), row)
    return list(first_rows.values())


def balance(payoff: Matrix, guess: Vector | None, trust: float) -> tuple[Vector, Vector, float]:
    """Return both sides' mixed strategies by regret matching+, and the rows' guaranteed value.

    The column player plays `guess` with probability `trust`, and freely otherwise. Averages are
    weighted by round (Tammelin, 2014).
    """
    rows, columns = payoff.shape
    across = np.ascontiguousarray(payoff.T)
    my_regret = np.zeros(rows, np.float32)
    their_regret = np.zeros(columns, np.float32)
    my_sum = np.zeros(rows, np.float32)
    their_sum = np.zeros(columns, np.float32)
    mine = np.full(rows, 1 / rows, np.float32)
    theirs = np.full(columns, 1 / columns, np.float32)
    gain_from_guess = (
        payoff @ guess * np.float32(trust) if guess is not None else np.zeros(rows, np.float32)
    )
    free = np.float32(1 - trust)
    for number in range(1, _ROUNDS + 1):
        gain = gain_from_guess + free * (payoff @ theirs)
        # regret matching+: both sides answer the other's mix of this round
        mine = _match_regrets(my_regret, gain - mine @ gain)
        loss = across @ mine
        theirs = _match_regrets(their_regret, theirs @ loss - loss)
        my_sum += number * mine
        their_sum += number * theirs
    mine = my_sum / my_sum.sum()
    theirs = their_sum / their_sum.sum()
    return mine, theirs, float((across @ mine).min())


def _match_regrets(regret: Vector, more: Vector) -> Vector:
    """Update the regrets in place, with a minimum of 0, and return shares in proportion to them."""
    np.maximum(regret + more, 0, out=regret)
    total = regret.sum()
    shares = np.full_like(regret, 1 / len(regret))
    if total > 1e-9:
        shares = regret / total
    return shares


def soft(value: Vector, temperature: float) -> Vector:
    """Return probabilities that grow with the values (softmax).

    A high `temperature` makes differences matter less.
    """
    weights = np.exp((value - value.max()) / temperature)
    return np.asarray(weights / weights.sum(), np.float32)


def likely_mix(game: TurnGame, balanced: Vector) -> Vector:
    """Return what the other side tends to play, over the distinct columns.

    Each kind of player is equally likely: one who plays anything, one who plays the mix of
    `balance`, and those who play the best answer to any buffer, to an idle side, or to a beginner.
    """
    their_payoff = -game.payoff
    columns = their_payoff.shape[1]
    naive = their_payoff.mean(axis=0)
    expects_beginner = their_payoff.T @ soft(-their_payoff.mean(axis=1), 0.05)
    kinds = [
        np.full(columns, 1 / columns, np.float32),
        balanced,
        soft(naive, 0.05),
        soft(their_payoff[0], 0.02),
        # with slips to what most beginners play
        soft(0.75 * expects_beginner + 0.25 * naive, 0.05),
    ]
    return np.asarray(np.mean(kinds, axis=0), np.float32)
