"""Measure how well boards are read, how soon, and at what cost: `python -m bench reading`.

Everything but some photographs is rendered from fixed seeds, and read in one thread. So two runs
differ only in their times.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import cv2

from bench.reading.corners import bench_corners
from bench.reading.costs import bench_costs, bench_photographs
from bench.reading.fans import bench_fans
from bench.reading.pictures import bench_pictures
from bench.reading.sequences import bench_games
from bench.reading.stillness import bench_stillness
from bench.reading.wide_lenses import bench_wide

# The parts of the bench besides the single pictures of scenes. Each function is called with whether
# to measure only a little, and returns whether every bar is kept.
PARTS: Mapping[str, Callable[[bool], bool]] = {
    "game": bench_games,
    "still": bench_stillness,
    "cost": bench_costs,
    "corners": bench_corners,
    "lens": bench_wide,
    "fan": bench_fans,
    "photograph": lambda _: bench_photographs(),
}


def bench_reading(only: str, quick: bool) -> bool:
    """Measure, print the figures, and return whether every bar is kept.

    `only` chooses what is measured: one of `PARTS`, or the scenes whose names begin so. If it is
    empty, everything is measured. With `quick`, about a tenth is.
    """
    threads = cv2.getNumThreads()
    cv2.setNumThreads(1)
    good = True
    try:
        if only not in PARTS:
            good &= bench_pictures(only, quick)
        for name, part in PARTS.items():
            if only in ("", name):
                good &= part(quick)
    finally:
        cv2.setNumThreads(threads)
    return good
