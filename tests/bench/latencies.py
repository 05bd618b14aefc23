"""What people wait for at one table, in the process of a simulation: `make bench`."""

from __future__ import annotations

from bench.crowd import bench_crowd
from bench.doors import door_figures
from bench.turns import REAL_S, SCALED_S, bench_turns


def bench_latencies(real_time: bool) -> bool:
    """Measure and print it all, and return whether every bar is kept.

    With `real_time` a game on the clock is also measured at its real length, which takes nine minutes.
    """
    good = bench_turns(SCALED_S)
    if real_time:
        good &= bench_turns(REAL_S)
    for figure in door_figures():
        print(figure.sentence(), flush=True)
        good &= figure.is_met()
    return bench_crowd() and good
