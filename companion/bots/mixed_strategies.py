"""Mixed strategies for small matrix games, by regret matching+ (Tammelin, 2014).

In a matrix game both sides choose at once: one side a row of the payoff matrix, and the other side
a column. A mixed strategy is the probability of each choice. Regret matching plays the game many
times. In each round, both sides play each choice in proportion to its regret, which is how much
better that choice would have done so far. The average over the rounds comes close to an
equilibrium.

This module is plain Python, so that a bot that needs nothing else does not load numpy into its
process.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import mul


def solve_matrix_game(
    payoff: Sequence[Sequence[float]], rounds: int
) -> tuple[list[float], list[float]]:
    """Return the mixed strategies of both sides: the probabilities of the rows and of the columns.

    :param payoff: payoff matrix for the side that chooses a row, which maximises it. The other side
        minimises it
    :param rounds: number of rounds of regret matching. The more, the closer to equilibrium

    >>> row_strategy, column_strategy = solve_matrix_game([[1.0, -1.0], [-1.0, 1.0]], 100)
    >>> round(row_strategy[0], 1), round(column_strategy[0], 1)
    (0.5, 0.5)
    """
    columns = list(zip(*payoff, strict=True))
    row_regrets = [0.0] * len(payoff)
    column_regrets = [0.0] * len(columns)
    row_totals = [0.0] * len(payoff)
    column_totals = [0.0] * len(columns)
    row_strategy = normalise(row_regrets)
    column_strategy = normalise(column_regrets)
    for round_number in range(1, rounds + 1):
        row_payoffs = [sum(map(mul, row, column_strategy)) for row in payoff]
        row_strategy = _match_regrets(row_regrets, row_payoffs, row_strategy)
        # columns respond to the rows' newest strategy, which converges faster
        column_payoffs = [-sum(map(mul, column, row_strategy)) for column in columns]
        column_strategy = _match_regrets(column_regrets, column_payoffs, column_strategy)
        # the average over all rounds converges to equilibrium. Later rounds have more weight in it
        for index, probability in enumerate(row_strategy):
            row_totals[index] += round_number * probability
        for index, probability in enumerate(column_strategy):
            column_totals[index] += round_number * probability
    return normalise(row_totals), normalise(column_totals)


def _match_regrets(
    regrets: list[float], payoffs: list[float], strategy: list[float]
) -> list[float]:
    """Update the regrets in place. Return the next strategy, in proportion to them.

    The regret of a choice is how much better it would have done than the strategies played so far.
    It is at least 0.

    :param payoffs: expected payoff of each choice in this round
    :param strategy: strategy played in this round
    """
    expected_payoff = sum(map(mul, payoffs, strategy))
    for index, payoff in enumerate(payoffs):
        regrets[index] = max(0.0, regrets[index] + payoff - expected_payoff)
    return normalise(regrets)


def normalise(weights: Sequence[float]) -> list[float]:
    """Return weights scaled to a sum of 1. If their sum is 0, all results are equal."""
    total = sum(weights)
    if total <= 1e-12:
        return [1 / len(weights)] * len(weights)
    return [weight / total for weight in weights]
