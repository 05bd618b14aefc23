"""How strong the opponents are: matches with the seats swapped in pairs, beside the bars of each game.

Games are shared out over processes, every pairing's first, then every pairing's second, and so on. With a file for the
results a run that is broken off goes on where it was. A game counts for the programs that played it alone: each line
bears a digest of their sources.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from math import sqrt
from pathlib import Path

import msgspec

import companion
from bench.bots.costs import keeps_costs
from bench.bots.matches import Pairing, play_game
from companion.bots import knows
from companion.bots.base import LEVELS
from companion.core.kit import Seat
from companion.games import GAMES

GAMES_EACH, QUICK_GAMES = 400, 4
STRONGEST = LEVELS[-1]
MOST_AGAINST_BEGINNERS = 0.6
"""So often at most the lowest level wins against a simulated beginner, who then has won the second game, as a rule."""
_GREEDY_BARS: Mapping[str, float] = {"kahmate": 0.65}
_ROLE_BARS: Mapping[str, Mapping[Seat, float]] = {"binmat": {Seat.SOUTH: 0.40, Seat.NORTH: 0.80}}
"""Where the seats are roles, each is played for itself against the rule of thumb."""
_Z = 1.959964
"""The normal quantile of a 95 % interval."""
_BOTS = Path(companion.__file__).parent / "bots"
_RIVALS = Path(__file__).parent / "rivals"


def pairings(name: str) -> Iterator[Pairing]:
    """Yield what is asked of the bot of a game."""
    for seat, bar in _ROLE_BARS.get(name, {None: _GREEDY_BARS.get(name, 0.80)}).items():
        yield Pairing(name, STRONGEST, "greedy", seat, bar)
    for level in LEVELS[1:]:
        yield Pairing(name, level, level - 1, None, 0.70)
    yield Pairing(name, LEVELS[0], "beginner", None, 0.0, MOST_AGAINST_BEGINNERS)


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


class Played(msgspec.Struct, frozen=True):
    """One game: 1 won, -1 lost, 0 tied by the bot."""

    pairing: str
    number: int
    code: str
    won: int


def code_of(pairing: Pairing) -> str:
    """Return a digest of the programs that play: the opponent, and the yardsticks where one of them plays."""
    files = [*_BOTS.glob(f"{pairing.game}*.*"), *_BOTS.glob(f"{pairing.game}/*.py")]
    if isinstance(pairing.rival, str):
        files += [_RIVALS / f"{pairing.game}.py", _RIVALS / "chance.py"]
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def bench_bots(only: str, results: Path | None, quick: bool) -> bool:
    """Play what is missing of every pairing whose name begins so, and return whether every bar is kept.

    A quick look fails only where a bar is known to be missed.
    """
    games = QUICK_GAMES if quick else GAMES_EACH
    known = [name for name in GAMES if knows(name) and name.startswith(only.partition(" ")[0])]
    good = True
    for name in known:
        good &= keeps_costs(name, quick)
    chosen = [each for name in known for each in pairings(name) if each.name.startswith(only)]
    played = _play(chosen, games, results)
    for pairing in chosen:
        won = [one.won for one in played if one.pairing == pairing.name and one.number < games]
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


def _play(chosen: Sequence[Pairing], games: int, results: Path | None) -> list[Played]:
    """Play what is missing. Return all games of these programs; a line that was broken off is left out."""
    codes = {pairing.name: code_of(pairing) for pairing in chosen}
    played = []
    for line in results.read_bytes().splitlines() if results and results.exists() else ():
        try:
            one = msgspec.json.decode(line, type=Played)
        except msgspec.DecodeError:
            continue
        if one.code == codes.get(one.pairing):
            played.append(one)
    known = {(one.pairing, one.number) for one in played}
    missing = [
        (pairing, number)
        for number, pairing in product(range(games), chosen)
        if (pairing.name, number) not in known
    ]
    with ProcessPoolExecutor() as pool:
        running = pool.map(play_game, *zip(*missing, strict=True)) if missing else ()
        for (pairing, number), won in zip(missing, running, strict=True):
            one = Played(pairing.name, number, codes[pairing.name], won)
            played.append(one)
            if results:
                with results.open("ab") as file:
                    file.write(b"\n" + msgspec.json.encode(one))
    return played
