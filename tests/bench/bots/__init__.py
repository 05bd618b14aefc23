"""How strong the opponents are: matches with the seats swapped in pairs, beside the bars of each
game.

Games are shared out over processes. `--only` measures a part of what takes hours.
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
# Largest share of games that the lowest level may win against a simulated beginner, so that the
# beginner as a rule has won by the second game.
MAX_AGAINST_BEGINNERS = 0.6
_GREEDY_BARS: Mapping[str, float] = {"kahmate": 0.65}
# Where the seats are roles, each role has a bar of its own against the player by rule of thumb.
_ROLE_BARS: Mapping[str, Mapping[Seat, float]] = {"binmat": {Seat.SOUTH: 0.40, Seat.NORTH: 0.80}}
# Normal quantile of a 95 % interval.
_Z = 1.959964


def pairings(name: str) -> Iterator[Pairing]:
    """Yield what is asked of the bot of a game."""
    for seat, bar in _ROLE_BARS.get(name, {None: _GREEDY_BARS.get(name, 0.80)}).items():
        yield Pairing(name, STRONGEST, "greedy", seat, bar)
    for level in LEVELS[1:]:
        yield Pairing(name, level, level - 1, None, 0.70)
    yield Pairing(name, LEVELS[0], "beginner", None, 0.0, MAX_AGAINST_BEGINNERS)


def wilson_interval(points: float, games: int) -> tuple[float, float]:
    """Return Wilson's interval at 95 % for a share of points; a tie is half a point (Wilson, 1927).

    >>> [round(end, 3) for end in (*wilson_interval(500, 500), *wilson_interval(330, 400))]
    [0.992, 1.0, 0.785, 0.859]
    """
    share, square = points / games, _Z * _Z
    middle = share + square / (2 * games)
    spread = _Z * sqrt(share * (1 - share) / games + square / (4 * games * games))
    low, high = ((middle + side) / (1 + square / games) for side in (-spread, spread))
    return max(0.0, low), min(1.0, high)


def bench_bots(only: str, quick: bool) -> bool:
    """Play every pairing whose name begins so, and return whether every bar is kept.

    A quick look fails only where a bar is known to be missed.
    """
    games = QUICK_GAMES if quick else GAMES_EACH
    known = [name for name in GAMES if has_bot(name) and name.startswith(only.partition(" ")[0])]
    good = True
    for name in known:
        good &= bench_costs(name, quick)
    chosen = [each for name in known for each in pairings(name) if each.name.startswith(only)]
    for pairing in chosen:
        with ProcessPoolExecutor() as pool:
            won = list(pool.map(partial(play_game, pairing), range(games)))
        points = won.count(1) + won.count(0) / 2
        low, high = wilson_interval(points, len(won))
        is_short = high < pairing.bar or low > pairing.most
        is_kept = low >= pairing.bar and high <= pairing.most
        good &= not is_short if quick else is_kept
        verdict = "ok" if is_kept else "SHORT" if is_short else "open: too few games"
        print(
            f"{pairing.name}: {won.count(1)} of {len(won)} won, {won.count(0)} tied "
            f"[{low:.1%}, {high:.1%}], bar {pairing.bar:.0%} to {pairing.most:.0%}  {verdict}",
            flush=True,
        )
    return good
