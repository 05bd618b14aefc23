"""`companion bench`: speeds and latencies on this machine, each beside a named peer measured in the same process.

A figure that falls short fails the bench (exit status 1); nothing here is part of the tests.
"""

from __future__ import annotations

from companion.bench.doors import door_figures
from companion.bench.rules import bench_rules
from companion.bench.turns import REAL_S, SCALED_S, bench_turns
from companion.games import GAMES
from vision.read import bench_reader


def run(games: int, real_time: bool = False) -> bool:
    """Measure everything and print it; answers whether every bound is kept.

    With `real_time` a game on the clock is also measured at its real length, which takes nine minutes.
    """
    good = True
    for turn_s in (SCALED_S, REAL_S) if real_time else (SCALED_S,):
        good &= bench_turns(turn_s)
    for figure in door_figures():
        print(figure.sentence(), flush=True)
        good &= figure.is_met()
    for name, game in GAMES.items():
        _reading(name, bench_reader(game.kit(game.options({}))))
    return bench_rules(games) and good


def _reading(name: str, costs_ms: dict[str, float]) -> None:
    """What reading a frame of this game's board costs beside bare marker detection."""
    peer_ms = costs_ms.pop("peer")
    told = "  ".join(f"{what} {cost:.1f} ms ({cost / peer_ms:.2f} x)" for what, cost in costs_ms.items())
    print(f"{name}: reading a 720p frame: {told}; cv2.aruco.ArucoDetector's defaults {peer_ms:.1f} ms", flush=True)
