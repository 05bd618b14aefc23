"""How well the board is read, how fast it settles, and what that costs: `python -m bench reading`.

Everything is rendered from fixed seeds and read in one thread, so that two runs differ in nothing but the times.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import cv2

from bench.reading.corners import VIEWS, bench_corners
from bench.reading.costs import FRAMES, bench_costs, bench_photographs
from bench.reading.fans import PICTURES, bench_fans
from bench.reading.pictures import Verdict, bench_pictures
from bench.reading.scenes import SCENES, SEVERITIES
from bench.reading.sequences import GAMES_PLAYED, ROUGH, ROUGH_GAMES, bench_games
from bench.reading.stillness import SIZES, bench_stillness
from bench.reading.wide_lenses import bench_wide

QUICK_SEVERITIES, QUICK_SCENES, QUICK_GAMES, QUICK_FRAMES = (2, 4), 1, 1, 10
QUICK_STILL = ("mixed",)
QUICK_VIEWS = 10
QUICK_FANS = 6


@dataclass(frozen=True)
class _Run:
    """How it is asked for: a tenth of it, a folder for pictures that are not read right, and who is told."""

    quick: bool
    keep: Path | None
    say: Callable[[str], None]


_Measured = tuple[dict[str, Any], list[Verdict]]
"""Figures in plain JSON by their names, and the bounds."""


def run_vision(
    *, quick: bool = False, as_json: bool = False, only: str = "", keep: Path | None = None
) -> bool:
    """Measure all of it and print it; answers whether every bound is kept.

    `quick`: about a tenth of it. `only`: nothing but scenes whose name begins so, or one of `PARTS`. `keep`: a folder
    for pictures that were not read as they should be, with their truth. `as_json`: one JSON object instead of tables.
    """
    run = _Run(quick, keep, _silent if as_json else _aloud)
    answer, verdicts = dict[str, Any](opencv=cv2.__version__), list[Verdict]()
    threads = cv2.getNumThreads()
    cv2.setNumThreads(1)
    try:
        if only not in PARTS:
            pictures, verdicts = _pictures(run, only)
            answer |= pictures
        for name, part in PARTS.items():
            if only in ("", name):
                figures, told = part(run)
                answer |= figures
                verdicts += told
    finally:
        cv2.setNumThreads(threads)
    run.say("")
    for verdict in verdicts:
        run.say(verdict.sentence())
    if as_json:
        print(
            json.dumps(
                {**answer, "verdicts": [asdict(verdict) for verdict in verdicts]},
                ensure_ascii=False,
            )
        )
    return all(verdict.holds for verdict in verdicts)


def _pictures(run: _Run, only: str) -> _Measured:
    severities = QUICK_SEVERITIES if run.quick and not only else SEVERITIES
    scores, verdicts = bench_pictures(
        QUICK_SCENES if run.quick else SCENES, only, run.keep, run.say, severities
    )
    return {"pictures": {name: asdict(score) for name, score in scores.items()}}, verdicts


def _games(run: _Run) -> _Measured:
    games = bench_games(QUICK_GAMES if run.quick else GAMES_PLAYED, run.keep, run.say)
    number = QUICK_GAMES if run.quick else ROUGH_GAMES
    rough = {kind: bench_games(number, run.keep, run.say, kind) for kind in ROUGH}
    told = {
        "games": games.plain(),
        "rough games": {kind: tally.plain() for kind, tally in rough.items()},
    }
    judged = [verdict for kind, tally in rough.items() for verdict in tally.rough_verdicts(kind)]
    return told, [*games.verdicts(), *judged]


def _still(run: _Run) -> _Measured:
    tables = (
        bench_stillness(QUICK_STILL, SIZES[:1], run.say)
        if run.quick
        else bench_stillness(say=run.say)
    )
    return {"still": [asdict(each) for each in tables]}, [
        verdict for each in tables for verdict in each.verdicts()
    ]


def _costs(run: _Run) -> _Measured:
    costs = bench_costs(QUICK_FRAMES if run.quick else FRAMES, run.say)
    return {"costs": [asdict(each) for each in costs]}, [
        verdict for each in costs for verdict in each.verdicts()
    ]


def _corners(run: _Run) -> _Measured:
    corners, verdicts = bench_corners(QUICK_VIEWS if run.quick else VIEWS, run.say)
    return {"corners": corners.plain()}, verdicts


def _lenses(run: _Run) -> _Measured:
    lenses = bench_wide(1 if run.quick else 2, run.say)
    return {"lenses": [asdict(each) for each in lenses]}, [each.verdict() for each in lenses]


def _fans(run: _Run) -> _Measured:
    fans = bench_fans(QUICK_FANS if run.quick else PICTURES, run.keep, run.say)
    return {"fans": fans.plain()}, fans.verdicts()


def _photographs(run: _Run) -> _Measured:
    photographs = bench_photographs(run.say)
    return {"photographs": [asdict(each) for each in photographs]}, [
        each.verdict() for each in photographs
    ]


PARTS: Mapping[str, Callable[[_Run], _Measured]] = {
    "game": _games,
    "still": _still,
    "cost": _costs,
    "corners": _corners,
    "lens": _lenses,
    "fan": _fans,
    "photograph": _photographs,
}
"""What can be asked for beside scenes, in the order in which it is measured."""


def _aloud(line: str) -> None:
    print(line, flush=True)


def _silent(_line: str) -> None:
    pass
