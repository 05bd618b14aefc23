"""How strong the opponents are: matches in this process with the seats swapped in pairs, beside the bars of each game.

Games are shared out over processes, in rounds over all pairings. With a file for the results a run that is broken off
goes on where it was, so it can be played in pieces. A sample is a number that chooses the deals and seeds: what served
for tuning is one, what shares are told of is another one.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import chain
from math import sqrt
from os import cpu_count
from pathlib import Path

from bench.bots.costs import told_costs
from bench.bots.results import Pairing, Results, Tally
from bench.bots.rounds import Rounds
from companion.bots import knows
from companion.bots.base import LEVELS
from companion.core.errors import Malformed
from companion.core.kit import Seat
from companion.games import GAMES, game_named

GAMES_EACH = 400
QUICK_MINUTES = 4.0
"""Of a look in between, with what is measured before the games; a game that has begun is played to its end."""
STRONGEST = LEVELS[-1]
MOST_AGAINST_BEGINNERS = 0.6
"""So often at most the lowest level wins against a simulated beginner, who then has won the second game, as a rule."""
_GREEDY_BARS: Mapping[str, float] = {"kahmate": 0.65}
_ROLE_BARS: Mapping[str, Mapping[Seat, float]] = {"binmat": {Seat.SOUTH: 0.40, Seat.NORTH: 0.80}}
"""Where the seats are roles, each is played for itself against the rule of thumb."""

_Z = 1.959964
"""The normal quantile of a 95 % interval."""


def wilson_interval(points: float, games: int) -> tuple[float, float]:
    """Return Wilson's interval at 95 % for a share of points; a tie is half a point (Wilson, 1927).

    >>> [round(end, 3) for end in (*wilson_interval(500, 500), *wilson_interval(330, 400), *wilson_interval(0, 0))]
    [0.992, 1.0, 0.785, 0.859, 0.0, 1.0]
    """
    if not games:
        return 0.0, 1.0
    share, square = points / games, _Z * _Z
    middle = share + square / (2 * games)
    spread = _Z * sqrt(share * (1 - share) / games + square / (4 * games * games))
    return max(0.0, (middle - spread) / (1 + square / games)), min(
        1.0, (middle + spread) / (1 + square / games)
    )


class Verdict(Enum):
    """What the interval of a share says of its bar."""

    OK = "ok"
    OPEN = "open: too few games"
    SHORT = "SHORT"

    @classmethod
    def of(cls, pairing: Pairing, low: float, high: float) -> Verdict:
        """OK: the whole interval keeps it; SHORT: the whole interval lies beyond it."""
        if low >= pairing.bar and high <= pairing.most:
            return cls.OK
        return cls.SHORT if high < pairing.bar or low > pairing.most else cls.OPEN


def pairings(name: str) -> Iterator[Pairing]:
    """What is asked of the bot of a game."""
    for seat, bar in _ROLE_BARS.get(name, {None: _GREEDY_BARS.get(name, 0.80)}).items():
        yield Pairing(name, STRONGEST, "greedy", seat, bar, GAMES_EACH)
    for level in LEVELS[1:]:
        yield Pairing(name, level, level - 1, None, 0.70, GAMES_EACH)
    yield Pairing(name, LEVELS[0], "beginner", None, 0.0, GAMES_EACH, MOST_AGAINST_BEGINNERS)


@dataclass(frozen=True)
class Plan:
    """What of the bench is run: `only` are beginnings of pairings' names, none: all; `games` how many games of each,
    instead of as many as its bar is about; `file` keeps them; with `minutes` it is over after so long, as a look
    in between."""

    only: Sequence[str] = ()
    games: int | None = None
    file: Path | None = None
    sample: int = 0
    jobs: int | None = None
    minutes: float | None = None

    def has(self, name: str) -> bool:
        """Is something of that name part of it?"""
        return not self.only or any(name.startswith(start) for start in self.only)

    @property
    def few(self) -> int | None:
        """How many games measure costs and losses; None: as many as the whole bench takes."""
        return self.games or (1 if self.minutes else None)


def bench_bots(plan: Plan) -> bool:
    """Play what is missing of every pairing and print what came of it; answers whether nothing falls short.

    Of the whole bench every bar has to be reached; of a part nothing may be known to be below it.
    """
    until_s = time.monotonic() + 60 * plan.minutes if plan.minutes else None
    known = [name for name in GAMES if knows(name)]
    chosen = [
        replace(pairing, games=plan.games or pairing.games)
        for pairing in chain.from_iterable(pairings(name) for name in known)
        if plan.has(pairing.name)
    ]
    costed = [name for name in known if plan.has(f"{name} costs")]
    if not (chosen or costed):
        raise Malformed(f"There is no pairing like that: {', '.join(plan.only)[:80]}")
    good = True
    for name in costed:
        good &= told_costs(name, plan.few, plan.sample)
    if chosen:
        with Results(plan.file) as results:
            good &= _told_matches(plan, chosen, results, until_s)
    return good


def _told_matches(
    plan: Plan, chosen: Sequence[Pairing], results: Results, until_s: float | None
) -> bool:
    """Play, with a line now and then, and print the table, also when it is broken off; answers whether it is good."""
    jobs = plan.jobs or cpu_count() or 1
    rounds = Rounds(
        chosen, results, plan.sample, jobs, lambda line: print(line, file=sys.stderr, flush=True)
    )
    try:
        rounds.play(until_s)
    except KeyboardInterrupt:
        print(
            "Broken off." + ("" if plan.file else " Games are kept with --results FILE."),
            file=sys.stderr,
        )
        until_s = time.monotonic()
    is_part = until_s is not None or plan.games is not None
    good = True
    for pairing in chosen:
        verdict = _told(pairing, results, plan.sample)
        good &= verdict is Verdict.OK or (is_part and verdict is Verdict.OPEN)
    print(rounds.progress(), flush=True)
    return good


def _told(pairing: Pairing, results: Results, sample: int) -> Verdict:
    """Print a line about a pairing, and answer what its games say of its bar."""
    tally = Tally()
    for played in results.of(pairing, sample).values():
        tally.add(played)
    low, high = wilson_interval(tally.wins, tally.games)
    rival = f"level {pairing.rival}" if isinstance(pairing.rival, int) else pairing.rival
    role = f" as {game_named(pairing.game).sides[pairing.seat].name}" if pairing.seat else ""
    verdict = Verdict.of(pairing, low, high)
    bar = f"at most {pairing.most:.0%}" if pairing.most < 1 else f"{pairing.bar:.0%}"
    print(
        f"{pairing.game}: level {pairing.level}{role} v {rival}: {tally.wins}-{tally.losses}-{tally.ties} "
        f"(won, lost, tied), {tally.wins / max(1, tally.games):.1%} [{low:.1%}, {high:.1%}], bar {bar}; "
        f"a decision {_costs(tally)}  {verdict.value}",
        flush=True,
    )
    return verdict


def _costs(tally: Tally) -> str:
    """Processor time and nodes of a decision: the median and the 99th percentile."""
    if not tally.times_ms:
        return "was not asked for"
    times, nodes = sorted(tally.times_ms), sorted(tally.nodes)
    half, most = len(times) // 2, min(len(times) - 1, len(times) * 99 // 100)
    return f"{times[half]} ms, p99 {times[most]} ms; nodes {nodes[half]:,}, p99 {nodes[most]:,}"
