"""Measure how strong the opponents are, by matches of many games.

The games of a match are in pairs, with the same deal and the seats swapped. They run in several
processes. All of it takes hours: `--only` measures the pairings whose names begin so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from math import sqrt

from bench.bots.costs import bench_costs
from bench.bots.matches import Pairing, play_game
from companion.bots import has_bot
from companion.bots.base import LEVELS
from companion.core.kit import Seat
from companion.games import GAMES

GAMES_EACH, QUICK_GAMES = 400, 4
STRONGEST = LEVELS[-1]
# Largest share of games that the lowest level may win against a simulated beginner, so that most
# beginners win one of their first two games.
MAX_AGAINST_BEGINNERS = 0.6
# Least share of games to win against the player by rule of thumb, where it is not 80 %.
_GREEDY_BARS: Mapping[str, float] = {"kahmate": 0.65}
# In BINMAT the seats are roles, and each role has a bar of its own.
_ROLE_BARS: Mapping[str, Mapping[Seat, float]] = {"binmat": {Seat.SOUTH: 0.40, Seat.NORTH: 0.80}}
# Normal quantile of a 95 % interval.
_Z = 1.959964


def pairings(name: str) -> Iterator[Pairing]:
    """Yield the matches that a game's bot has to win.

    The strongest level plays against the player by rule of thumb, each level against the one below
    it, and the lowest level against the simulated beginner.
    """
    for seat, bar in _ROLE_BARS.get(name, {None: _GREEDY_BARS.get(name, 0.80)}).items():
        yield Pairing(name, STRONGEST, "greedy", seat, bar)
    for level in LEVELS[1:]:
        yield Pairing(name, level, level - 1, None, 0.70)
    yield Pairing(name, LEVELS[0], "beginner", None, 0.0, MAX_AGAINST_BEGINNERS)


def wilson_interval(points: float, games: int) -> tuple[float, float]:
    """Return Wilson's interval at 95 % for a share of points (Wilson, 1927).

    A draw counts as half a point.

    >>> [round(end, 3) for end in (*wilson_interval(500, 500), *wilson_interval(330, 400))]
    [0.992, 1.0, 0.785, 0.859]
    """
    share, square = points / games, _Z * _Z
    middle = share + square / (2 * games)
    spread = _Z * sqrt(share * (1 - share) / games + square / (4 * games * games))
    low, high = ((middle + side) / (1 + square / games) for side in (-spread, spread))
    return max(0.0, low), min(1.0, high)


def bench_bots(only: str, quick: bool) -> bool:
    """Play the pairings whose names begin with `only`, and return whether every bar is kept.

    A quick bench has too few games to show that. It fails only where a bar is surely missed.
    """
    games = QUICK_GAMES if quick else GAMES_EACH
    names = [name for name in GAMES if has_bot(name) and name.startswith(only.partition(" ")[0])]
    good = True
    for name in names:
        good &= bench_costs(name, quick)
    all_pairings = [pairing for name in names for pairing in pairings(name)]
    for pairing in all_pairings:
        if not pairing.name.startswith(only):
            continue
        with ProcessPoolExecutor() as pool:
            results = list(pool.map(partial(play_game, pairing), range(games)))
        points = results.count(1) + results.count(0) / 2
        low, high = wilson_interval(points, len(results))
        is_short = high < pairing.bar or low > pairing.most
        is_kept = low >= pairing.bar and high <= pairing.most
        good &= not is_short if quick else is_kept
        verdict = "ok" if is_kept else "SHORT" if is_short else "open: too few games"
        print(
            f"{pairing.name}: {results.count(1)} of {len(results)} won, {results.count(0)} drawn "
            f"[{low:.1%}, {high:.1%}], bar {pairing.bar:.0%} to {pairing.most:.0%}  {verdict}",
            flush=True,
        )
    return good
