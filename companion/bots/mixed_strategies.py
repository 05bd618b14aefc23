"""Mixed strategies for small matrix games, by regret matching+ (Tammelin, 2014).

In a matrix game both sides choose at once, one a row and the other a column. A mixed strategy gives
each choice a share, the probability to play it. This module is plain Python, so that the process of
a bot that needs nothing else does not load numpy.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import mul


def solve(payoff: Sequence[Sequence[float]], rounds: int) -> tuple[list[float], list[float]]:
    """Return the mixed strategies of both sides: the shares of the rows and of the columns.

    :param payoff: value of each pair for the side that chooses a row, which maximises it. The other
        side minimises it
    :param rounds: number of rounds of regret matching. The more, the closer to equilibrium

    >>> row_shares, column_shares = solve([[1.0, -1.0], [-1.0, 1.0]], 100)
    >>> round(row_shares[0], 1), round(column_shares[0], 1)
    (0.5, 0.5)
    """
    columns = list(zip(*payoff, strict=True))
    row_regrets = [0.0] * len(payoff)
    column_regrets = [0.0] * len(columns)
    row_totals = [0.0] * len(payoff)
    column_totals = [0.0] * len(columns)
    row_shares = shares_of(row_regrets)
    column_shares = shares_of(column_regrets)
    for round_number in range(1, rounds + 1):
        row_gains = [sum(map(mul, row, column_shares)) for row in payoff]
        row_shares = _next_mix(row_regrets, row_gains, row_shares)
        # columns answer the rows' newest mix, which converges faster
        column_gains = [-sum(map(mul, column, row_shares)) for column in columns]
        column_shares = _next_mix(column_regrets, column_gains, column_shares)
        # later rounds have more weight in the average
        for index, share in enumerate(row_shares):
            row_totals[index] += round_number * share
        for index, share in enumerate(column_shares):
            column_totals[index] += round_number * share
    return shares_of(row_totals), shares_of(column_totals)


def _next_mix(regrets: list[float], gains: list[float], mix: list[float]) -> list[float]:
    """Update the regrets in place, with a minimum of 0, and return shares in proportion to them.

    The regret of a choice is how much better it would have done than the mix, in all rounds.
    """
    mean = sum(map(mul, gains, mix))
    for index, gain in enumerate(gains):
        regrets[index] = max(0.0, regrets[index] + gain - mean)
    return shares_of(regrets)


def shares_of(weights: Sequence[float]) -> list[float]:
    """Return weights as shares of their sum. If the sum is 0, all shares are equal."""
    total = sum(weights)
    if total <= 1e-12:
        return [1 / len(weights)] * len(weights)
    return [weight / total for weight in weights]
