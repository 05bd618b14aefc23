"""Measure the program on this machine, and compare the measured values with bars.

`PYTHONPATH=tests python -m bench` measures `DEFAULT_PARTS`, and `python -m bench reading` only the
part `reading`. The exit status is 1 if a measured value misses its bar.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence

from bench.bots import bench_bots
from bench.hub.load import RoomSize, bench_load
from bench.hub.pairs import bench_pairs
from bench.kills import KILLS, bench_kills
from bench.memory import bench_memory
from bench.pi.measure import bench_latencies, bench_pi
from bench.reading import bench_reading
from bench.streams import bench_streams

# A function that measures one part with the options of the command, and returns whether every bar
# is kept.
Bench = Callable[[argparse.Namespace], bool]


def _hub(options: argparse.Namespace) -> bool:
    """Measure the load of a hub, and pairs of tables that play over a hub."""
    if options.quick:
        load_is_good = bench_load(RoomSize(tables=20, followed=5, spectators=50, seconds=5.0))
        pairs_are_good = bench_pairs(kills=8)
    else:
        load_is_good = bench_load()
        pairs_are_good = bench_pairs()
    return load_is_good and pairs_are_good


def _memory(options: argparse.Namespace) -> bool:
    return bench_memory(requests=1000, games=5) if options.quick else bench_memory()


# What can be measured, by name.
PARTS: Mapping[str, Bench] = {
    "latencies": lambda _: bench_latencies(),
    "streams": lambda _: bench_streams(),
    "memory": _memory,
    "kills": lambda options: bench_kills(20 if options.quick else KILLS),
    "reading": lambda options: bench_reading(options.only, options.quick),
    "bots": lambda options: bench_bots(options.only, options.quick),
    "pi": lambda _: bench_pi(),
    "hub": _hub,
}
# What `make bench` measures. The other benches have targets of their own.
DEFAULT_PARTS = ("latencies", "streams", "memory", "kills", "reading")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the part that the command names, or the default ones. Return the exit status."""
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("part", nargs="?", default="all", choices=("all", *PARTS))
    parser.add_argument(
        "--quick", action="store_true", help="measure only a little, to see that the bench works"
    )
    parser.add_argument(
        "--only",
        default="",
        metavar="NAME",
        help="measure only what begins with NAME, of the parts reading and bots",
    )
    options = parser.parse_args(arguments)
    all_good = True
    for part in DEFAULT_PARTS if options.part == "all" else (options.part,):
        all_good &= PARTS[part](options)
    return 0 if all_good else 1


if __name__ == "__main__":
    sys.exit(main())
