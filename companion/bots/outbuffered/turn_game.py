"""A turn of Outbuffered as a matrix game, its mixed strategies, and what kinds of player play in
it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from companion.bots.outbuffered.turns import BUFFERS, VALUE_OF, Position, buffer_text

_ROUNDS = 240
"""Rounds of regret matching for one matrix."""
Matrix = NDArray[np.float32]
Vector = NDArray[np.float32]


class TurnGame:
    """A turn as a matrix game seen by its own side.

    Buffers that lead to the same whatever the other does are one.

    :param table: which end each pair of buffers leads to, own buffers by rows
    :param values: what each end is worth to the own side
    """

    def __init__(
        self, ends: Sequence[tuple[Position, bool]], table: NDArray[np.int32], values: Vector
    ) -> None:
        self.ends = ends
        self.values = values
        self._whole = table
        self.rows = _distinct(table)
        self.columns = _distinct(np.ascontiguousarray(table.T))
        self.table = np.ascontiguousarray(table[np.ix_(self.rows, self.columns)])

    @cached_property
    def payoff(self) -> Matrix:
        """Return what each pair of buffers is worth to the own side."""
        return self.values[self.table]

    def sure_win(self) -> int | None:
        """Return a row that wins whatever the other side does."""
        sure = np.flatnonzero(self.payoff.min(axis=1) >= 1.0)
        return int(sure[0]) if len(sure) else None

    def row_of(self, buffer: int) -> int:
        """Return the row of a buffer, or of the one that means the same."""
        same = (self._whole[self.rows] == self._whole[buffer]).all(axis=1)
        return int(np.argmax(same))

    def with_noise(self, noise: Vector) -> TurnGame:
        """Return the same turn judged wrongly. Ends of the game are judged right."""
        is_over = np.array([position in VALUE_OF for position, _ in self.ends])
        wrong = np.clip(self.values + noise, -0.99, 0.99)
        values = np.where(is_over, self.values, wrong).astype(np.float32)
        return TurnGame(self.ends, self._whole, values)


_IDLE_FIRST = sorted(range(BUFFERS), key=lambda buffer: -buffer_text(buffer, False).count("I"))
"""All buffers, those with the most idling first: of several that mean the same the quietest is
taken, so that the first row and column are idling."""


def _distinct(table: NDArray[np.int32]) -> list[int]:
    """Return the rows that differ, one of each kind."""
    first_rows: dict[bytes, int] = {}
    for row in _IDLE_FIRST:
        first_rows.setdefault(table[row].tobytes(), row)
    return list(first_rows.values())


def balance(payoff: Matrix, guess: Vector | None, trust: float) -> tuple[Vector, Vector, float]:
    """Return both sides' mixed strategies by regret matching+, and what the row player is sure of.

    The column player plays `guess` with the probability `trust` and is free otherwise. Averages are
    weighted by round (Tammelin, 2014).
    """
    rows, columns = payoff.shape
    across = np.ascontiguousarray(payoff.T)
    regret = np.zeros(rows, np.float32)
    regrets = np.zeros(columns, np.float32)
    sums = np.zeros(rows, np.float32)
    other_sums = np.zeros(columns, np.float32)
    mine = np.full(rows, 1 / rows, np.float32)
    theirs = np.full(columns, 1 / columns, np.float32)
    fixed = payoff @ guess * np.float32(trust) if guess is not None else np.zeros(rows, np.float32)
    free = np.float32(1 - trust)
    for number in range(1, _ROUNDS + 1):
        gain = fixed + free * (payoff @ theirs)
        # regret matching+: each side answers the other's mix of this round
        mine = _matched(regret, gain - mine @ gain)
        loss = across @ mine
        theirs = _matched(regrets, theirs @ loss - loss)
        sums += number * mine
        other_sums += number * theirs
    mine = sums / sums.sum()
    theirs = other_sums / other_sums.sum()
    return mine, theirs, float((across @ mine).min())


def _matched(regret: Vector, more: Vector) -> Vector:
    """Add to the regrets, in place, none below zero. Play in proportion to them."""
    np.maximum(regret + more, 0, out=regret)
    total = regret.sum()
    shares = np.full_like(regret, 1 / len(regret))
    if total > 1e-9:
        shares = regret / total
    return shares


def soft(value: Vector, temperature: float) -> Vector:
    """Return a choice that is the likelier the better.

    `temperature` is how little a difference matters.
    """
    weights = np.exp((value - value.max()) / temperature)
    return np.asarray(weights / weights.sum(), np.float32)


def kinds_of_player(game: TurnGame, balanced: Vector) -> list[Vector]:
    """Return what players of several kinds would play as the other side, over the distinct
    columns.
    """
    payoff = -game.payoff
    columns = payoff.shape[1]
    idle = payoff[0]
    naive = payoff.mean(axis=0)
    beginner = soft(-payoff.mean(axis=1), 0.05)
    expects_beginner = payoff.T @ beginner
    careful = payoff.min(axis=0)
    return [
        np.full(columns, 1 / columns, np.float32),
        balanced,
        soft(naive, 0.01),
        soft(naive, 0.05),
        soft(idle, 0.02),
        soft(expects_beginner, 0.01),
        soft(0.75 * expects_beginner + 0.25 * naive, 0.05),
        soft(careful, 0.02),
        soft(payoff.max(axis=0), 0.05),
    ]
