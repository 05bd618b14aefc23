"""Measure this machine: `PYTHONPATH=tests python -m bench`, one part of it by name. Exit status 1: a bar is missed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.kills import KILLS
from companion.games import GAMES
from companion.games.tools import count

Bench = Callable[[argparse.Namespace], bool]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts that are asked for, and return the exit status."""
    options = parser().parse_args(arguments)
    parts = WHOLE if options.part == "all" else (options.part,)
    good = True
    for part in parts:
        good &= PARTS[part](options)
    return 0 if good else 1


def parser() -> argparse.ArgumentParser:
    """Describe the command line."""
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("part", nargs="?", default="all", choices=("all", *PARTS))
    parser.add_argument(
        "--quick", action="store_true", help="reading: a tenth of it; bots: four minutes"
    )
    parser.add_argument(
        "--only", default="", metavar="NAME", help="reading, bots, pi, hub: a part of it"
    )
    parser.add_argument("--json", action="store_true", help="reading: print one JSON object")
    parser.add_argument(
        "--keep", type=Path, metavar="DIR", help="reading: keep pictures that were misread"
    )
    parser.add_argument(
        "--kills", type=count, default=KILLS, metavar="N", help="kills, hub: so many SIGKILLs"
    )
    parser.add_argument(
        "--real-time", action="store_true", help="latencies, pi: turns of their real length"
    )
    parser.add_argument("--matches", type=count, metavar="N", help="bots: games of each pairing")
    parser.add_argument(
        "--results", type=Path, metavar="FILE", help="bots: keep the games there, and go on"
    )
    parser.add_argument(
        "--sample", type=int, default=0, metavar="N", help="bots: which deals and seeds"
    )
    parser.add_argument("--jobs", type=count, metavar="N", help="bots: games at a time")
    parser.add_argument("--game", choices=sorted(GAMES), help="two-tables: which game")
    parser.add_argument("--games", type=count, default=1, metavar="N", help="two-tables: how many")
    parser.add_argument(
        "--seed", type=int, default=1, metavar="S", help="two-tables: the first seed"
    )
    return parser


def _latencies(options: argparse.Namespace) -> bool:
    from bench.latencies import bench_latencies  # noqa: PLC0415 - each part brings libraries of its own

    return bench_latencies(options.real_time)


def _machine(_options: argparse.Namespace) -> bool:
    from bench.machine import bench_machine  # noqa: PLC0415

    return bench_machine()


def _memory(_options: argparse.Namespace) -> bool:
    from bench.memory import bench_memory  # noqa: PLC0415

    return bench_memory()


def _streams(_options: argparse.Namespace) -> bool:
    from bench.streams import bench_streams  # noqa: PLC0415

    return bench_streams()


def _kills(options: argparse.Namespace) -> bool:
    from bench.kills import bench_kills  # noqa: PLC0415

    return bench_kills(options.kills)


def _reading(options: argparse.Namespace) -> bool:
    from bench.reading import run_vision  # noqa: PLC0415

    return run_vision(
        quick=options.quick, as_json=options.json, only=options.only, keep=options.keep
    )


def _bots(options: argparse.Namespace) -> bool:
    from bench.bots import QUICK_MINUTES, Plan, bench_bots  # noqa: PLC0415

    only = [name.strip() for name in options.only.split(",") if name.strip()]
    minutes = QUICK_MINUTES if options.quick else None
    return bench_bots(
        Plan(only, options.matches, options.results, options.sample, options.jobs, minutes)
    )


def _pi(options: argparse.Namespace) -> bool:
    from bench.pi.measure import bench_pi  # noqa: PLC0415

    return bench_pi(options.only, options.real_time)


def _hub(options: argparse.Namespace) -> bool:
    from bench.hub.parts import bench_hub  # noqa: PLC0415

    return bench_hub(options.kills, options.only)


def _two_tables(options: argparse.Namespace) -> bool:
    from bench.two_tables import play_at_two_tables  # noqa: PLC0415

    good = True
    for name in [options.game] if options.game else GAMES:
        for report in play_at_two_tables(name, options.games, options.seed):
            print(report.sentence(), flush=True)
            good &= report.is_good()
    return good


PARTS: dict[str, Bench] = {
    "latencies": _latencies,
    "machine": _machine,
    "memory": _memory,
    "streams": _streams,
    "kills": _kills,
    "reading": _reading,
    "bots": _bots,
    "pi": _pi,
    "hub": _hub,
    "two-tables": _two_tables,
}
"""What can be measured, by name."""
WHOLE = ("latencies", "machine", "memory", "streams", "kills", "reading")
"""What `make bench` measures; the others have targets of their own."""

if __name__ == "__main__":
    sys.exit(main())
