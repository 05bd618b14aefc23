"""`companion bench`: speeds and latencies on this machine, each beside a named peer measured in the same process.

A figure that falls short fails the bench (exit status 1); nothing here is part of the tests.
"""

from __future__ import annotations

from companion.games import GAMES
from companion.tools.bench.bots.thinking import bench_thinking
from companion.tools.bench.broker import bench_broker
from companion.tools.bench.browser import bench_browser
from companion.tools.bench.crowd import bench_crowd
from companion.tools.bench.doors import door_figures
from companion.tools.bench.flood import bench_flood
from companion.tools.bench.kills import KILLS, bench_kills
from companion.tools.bench.machine import bench_machine
from companion.tools.bench.memory import bench_memory
from companion.tools.bench.reading import run_vision
from companion.tools.bench.rings import bench_rings
from companion.tools.bench.rules import bench_rules
from companion.tools.bench.turns import REAL_S, SCALED_S, bench_turns
from vision.still_pictures import CardCounts, bench_cards, bench_reader

CARD_FRAMES = 300
LEAST_RIGHT = 0.99
"""Share of the pictures showing every marker in which all stacks are read in their order."""


def run(games: int, real_time: bool = False, kills: int = KILLS) -> bool:
    """Measure everything and print it; answers whether every bound is kept.

    With `real_time` a game on the clock is also measured at its real length, which takes nine minutes.
    """
    good = True
    for turn_s in (SCALED_S, REAL_S) if real_time else (SCALED_S,):
        good &= bench_turns(turn_s)
    good &= bench_rings()
    good &= bench_broker()
    for figure in door_figures():
        print(figure.sentence(), flush=True)
        good &= figure.is_met()
    good &= bench_thinking()
    good &= bench_crowd()
    good &= bench_machine()
    good &= bench_flood()
    good &= bench_memory()
    good &= bench_browser()
    good &= bench_kills(kills)
    for name, game in GAMES.items():
        kit = game.kit(game.options({}))
        if kit.deck:
            _reading(name, bench_reader(kit))
            good &= _cards(name, bench_cards(kit, CARD_FRAMES, seed=1))
    good &= run_vision()
    return bench_rules(games) and good


def _reading(name: str, costs_ms: dict[str, float]) -> None:
    """What reading a frame of this game's board costs beside bare marker detection."""
    peer_ms = costs_ms.pop("peer")
    told = "  ".join(f"{what} {cost:.1f} ms ({cost / peer_ms:.2f} x)" for what, cost in costs_ms.items())
    print(f"{name}: reading a frame: {told}; cv2.aruco.ArucoDetector's defaults {peer_ms:.1f} ms", flush=True)


def _cards(name: str, counts: CardCounts) -> bool:
    """Print how tables of open cards are read; answers whether that is good enough, and never wrong."""
    share = counts.right / max(1, counts.complete)
    good = share >= LEAST_RIGHT and not counts.wrong
    least = f"{share:.1%}, at least {LEAST_RIGHT:.0%}"
    read = f"{counts.right} of {counts.complete} pictures with every marker read right ({least})"
    rest = (
        f"{counts.wrong} of all {counts.frames} read wrong (none allowed), {counts.missed} miss an almost hidden card"
    )
    cost = f"{counts.ms:.0f} ms a picture ({counts.ms / counts.peer_ms:.2f} x cv2.aruco.ArucoDetector's defaults)"
    print(f"{name}: {read}; {rest}; {cost}  {'ok' if good else 'NOT GOOD ENOUGH'}", flush=True)
    return good
