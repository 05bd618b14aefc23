"""Measure how strong the opponents are, by matches of many games, and what their decisions cost.

A match is all games of one pairing of a bot and a rival (`Pairing`). Its games come in pairs, with
the same deal and the seats swapped, and run in several processes. The bot's share of wins is only a
sample, so its 95 % interval (Wilson's) has to lie within the bounds of the pairing.

All matches together take hours. `--only` measures the pairings whose names begin so.
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

# Number of games of each match.
GAMES_EACH = 400
QUICK_GAMES = 4
STRONGEST = LEVELS[-1]
# Largest share of games that the lowest level may win against a simulated beginner. So most
# beginners win at least one of their first two games.
MAX_AGAINST_BEGINNERS = 0.6
# Least share of games to win against the player by rule of thumb, for games where it is not 80 %.
_GREEDY_BARS: Mapping[str, float] = {"kahmate": 0.65}
# In BINMAT the seats are roles, and each role has a bar of its own.
_ROLE_BARS: Mapping[str, Mapping[Seat, float]] = {"binmat": {Seat.SOUTH: 0.40, Seat.NORTH: 0.80}}
# Number of standard deviations of a normal distribution on either side of the middle of a 95 %
# interval.
_Z = 1.959964


def pairings(name: str) -> Iterator[Pairing]:
    """Yield the matches that a game's bot has to win.

    The strongest level plays against the player by rule of thumb, each level against the one below
    it, and the lowest level against the simulated beginner.
    """
    for seat, bar in _ROLE_BARS.get(name, {None: _GREEDY_BARS.get(name, 0.80)}).items():
        yield Pairing(name, STRONGEST, "greedy", seat, min_share=bar)
    for level in LEVELS[1:]:
        yield Pairing(name, level, level - 1, None, min_share=0.70)
    yield Pairing(name, LEVELS[0], "beginner", None, 0.0, max_share=MAX_AGAINST_BEGINNERS)


def wilson_interval(points: float, games: int) -> tuple[float, float]:
    """Return the ends of Wilson's 95 % interval for a share of wins (Wilson, 1927).

    `points` is the number of games won. A draw counts as half a point.

    >>> [round(end, 3) for end in (*wilson_interval(500, 500), *wilson_interval(330, 400))]
    [0.992, 1.0, 0.785, 0.859]
    """
    share, z_squared = points / games, _Z * _Z
    middle = share + z_squared / (2 * games)
    spread = _Z * sqrt(share * (1 - share) / games + z_squared / (4 * games * games))
    low, high = ((middle + side) / (1 + z_squared / games) for side in (-spread, spread))
    return max(0.0, low), min(1.0, high)


def bench_bots(only: str, quick: bool) -> bool:
    """Play the matches whose names begin with `only`, and return whether every bar is kept.

    A quick bench has too few games to show that a bar is kept. It fails only if the whole interval
    lies outside the bounds.
    """
    games = QUICK_GAMES if quick else GAMES_EACH
    # a name begins with its game, as in "kahmate 3 v 2"
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
        is_missed = high < pairing.min_share or low > pairing.max_share
        is_kept = low >= pairing.min_share and high <= pairing.max_share
        good &= not is_missed if quick else is_kept
        verdict = "ok" if is_kept else "SHORT" if is_missed else "open: too few games"
        print(
            f"{pairing.name}: {results.count(1)} of {len(results)} won, {results.count(0)} drawn "
            f"[{low:.1%}, {high:.1%}], bar {pairing.min_share:.0%} to {pairing.max_share:.0%}  "
            f"{verdict}",
            flush=True,
        )
    return good
