"""Mixed strategies for small matrix games, by regret matching+ (Tammelin, 2014).

It is plain Python, so that opponents that need nothing else run without numpy.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import mul


def solve(payoff: Sequence[Sequence[float]], rounds: int) -> tuple[list[float], list[float]]:
    """Return the mixed strategies of both sides. Rows maximise `payoff`, columns minimise it.

    >>> mine, theirs = solve([[1.0, -1.0], [-1.0, 1.0]], 100)
    >>> round(mine[0], 1), round(theirs[0], 1)
    (0.5, 0.5)
    """
    columns = list(zip(*payoff, strict=True))
    regrets = [0.0] * len(payoff)
    column_regrets = [0.0] * len(columns)
    totals = [0.0] * len(payoff)
    column_totals = [0.0] * len(columns)
    mine = shares_of(regrets)
    theirs = shares_of(column_regrets)
    for number in range(1, rounds + 1):
        gains = [sum(map(mul, row, theirs)) for row in payoff]
        mine = _next_mix(regrets, gains, mine)
        # columns answer the rows' newest mix, which converges faster
        column_gains = [-sum(map(mul, column, mine)) for column in columns]
        theirs = _next_mix(column_regrets, column_gains, theirs)
        # later rounds have more weight in the average
        for index, share in enumerate(mine):
            totals[index] += number * share
        for index, share in enumerate(theirs):
            column_totals[index] += number * share
    return shares_of(totals), shares_of(column_totals)


def _next_mix(regrets: list[float], gains: list[float], mix: list[float]) -> list[float]:
    """Update the regrets in place, at least 0, and return the mix in proportion to them."""
    # regret: how much better a plan would have done than the mix
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
