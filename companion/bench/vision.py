"""`companion bench vision`: how well the board is read, how fast it settles, and what that costs, beside three peers.

Everything is rendered from fixed seeds and read in one thread, so that two runs differ in nothing but the times.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import cv2

from companion.bench.corners import VIEWS, bench_corners
from companion.bench.costs import FRAMES, bench_costs, bench_photographs
from companion.bench.fans import PICTURES, bench_fans
from companion.bench.first import TIMES, bench_first
from companion.bench.pictures import Verdict, bench_pictures
from companion.bench.scenes import SCENES, SEVERITIES
from companion.bench.sequences import GAMES_PLAYED, ROUGH, ROUGH_GAMES, bench_games
from companion.bench.stillness import SIZES, bench_stillness
from companion.bench.wide import bench_wide

QUICK_SEVERITIES, QUICK_SCENES, QUICK_GAMES, QUICK_FRAMES = (2, 4), 1, 1, 10
QUICK_STILL = ("mixed",)
QUICK_VIEWS = 10
QUICK_FANS, QUICK_STEP, QUICK_TIMES = 6, 8, 3
PARTS = ("game", "still", "cost", "photograph", "corners", "lens", "fan", "first")
"""What can be asked for beside scenes."""


def run_vision(*, quick: bool = False, as_json: bool = False, only: str = "", keep: Path | None = None) -> bool:
    """Measure all of it and print it; answers whether every bound is kept.

    `quick`: about a tenth of it. `only`: nothing but scenes whose name begins so, or one of `PARTS`. `keep`: a folder
    for pictures that were not read as they should be, with their truth. `as_json`: one JSON object instead of tables.
    """
    say: Callable[[str], None] = _silent if as_json else _aloud
    threads = cv2.getNumThreads()
    cv2.setNumThreads(1)
    answer: dict[str, object] = {"opencv": cv2.__version__}
    try:
        verdicts = list[Verdict]()
        if only not in PARTS:
            severities = QUICK_SEVERITIES if quick and not only else SEVERITIES
            tallies, verdicts = bench_pictures(QUICK_SCENES if quick else SCENES, only, keep, say, severities)
            answer["pictures"] = [tally.plain() for tally in tallies]
        if not only or only == "game":
            games = bench_games(QUICK_GAMES if quick else GAMES_PLAYED, keep, say)
            answer["games"] = games.plain()
            rough = bench_games(QUICK_GAMES if quick else ROUGH_GAMES, keep, say, ROUGH)
            answer["rough games"] = rough.plain()
            verdicts += games.verdicts() + rough.rough_verdicts()
        if not only or only == "still":
            tables = bench_stillness(QUICK_STILL, SIZES[:1], say) if quick else bench_stillness(say=say)
            answer["still"] = [asdict(each) for each in tables]
            verdicts += [verdict for each in tables for verdict in each.verdicts()]
        if not only or only == "cost":
            costs = bench_costs(QUICK_FRAMES if quick else FRAMES, say)
            answer["costs"] = [asdict(each) for each in costs]
            verdicts += [verdict for each in costs for verdict in each.verdicts()]
        if not only or only == "corners":
            corners, told = bench_corners(QUICK_VIEWS if quick else VIEWS, say)
            answer["corners"] = corners.plain()
            verdicts += told
        if not only or only == "lens":
            lenses = bench_wide(1 if quick else 2, say)
            answer["lenses"] = [asdict(each) for each in lenses]
            verdicts += [each.verdict() for each in lenses]
        if not only or only == "first":
            first = bench_first(QUICK_STEP if quick else 1, QUICK_TIMES if quick else TIMES, say)
            answer["first"] = [asdict(each) for each in first]
            verdicts += [each.verdict() for each in first]
        if not only or only == "fan":
            fans = bench_fans(QUICK_FANS if quick else PICTURES, keep, say)
            answer["fans"] = fans.plain()
            verdicts += fans.verdicts()
        if not only or only == "photograph":
            photographs = bench_photographs(say)
            answer["photographs"] = [asdict(each) for each in photographs]
            verdicts += [each.verdict() for each in photographs]
    finally:
        cv2.setNumThreads(threads)
    say("")
    for verdict in verdicts:
        say(verdict.sentence())
    if as_json:
        print(json.dumps({**answer, "verdicts": [asdict(verdict) for verdict in verdicts]}, ensure_ascii=False))
    return all(verdict.holds for verdict in verdicts)


def _aloud(line: str) -> None:
    print(line, flush=True)


def _silent(_line: str) -> None:
    pass
