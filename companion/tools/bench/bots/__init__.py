"""How strong the opponents are: matches in this process with the seats swapped in pairs, beside the bars of each game.

Games are shared out over processes. With a file for the results a run that is broken off goes on where it was, and
pairings can be played in pieces. A sample is a number that chooses the deals and seeds: what served for tuning is one,
what shares are told of is another one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from itertools import chain
from os import cpu_count
from pathlib import Path

from companion.archive.statistics import wilson_interval
from companion.bots import knows
from companion.bots.base import LEVELS
from companion.core.errors import Malformed
from companion.core.kit import Seat
from companion.games import GAMES, game_named
from companion.tools.bench.bots.costs import told_costs
from companion.tools.bench.bots.matches import play_game
from companion.tools.bench.bots.results import Pairing, Results, Tally, code_of
from companion.tools.bench.bots.rivals.mcts import BUDGETS_S, has_open_spiel

RANDOM_GAMES, GAMES_EACH, MCTS_GAMES = 500, 400, 40
STRONGEST = LEVELS[-1]
PERFECT = "outbuffered 3 v perfect"
MOST_AGAINST_BEGINNERS = 0.6
"""So often at most the lowest level wins against a simulated beginner, who then has won the second game, as a rule."""
_GREEDY_BARS: Mapping[str, float] = {"kahmate": 0.65}
_ROLE_BARS: Mapping[str, Mapping[Seat, float]] = {"binmat": {Seat.SOUTH: 0.40, Seat.NORTH: 0.80}}
"""Where the seats are roles, each is played for itself against the rule of thumb."""


def pairings(name: str) -> Iterator[Pairing]:
    """What is asked of the bot of a game."""
    yield Pairing(name, STRONGEST, "random", None, 0.99, RANDOM_GAMES)
    for seat, bar in _ROLE_BARS.get(name, {None: _GREEDY_BARS.get(name, 0.80)}).items():
        yield Pairing(name, STRONGEST, "greedy", seat, bar, GAMES_EACH)
    for level in LEVELS[1:]:
        yield Pairing(name, level, level - 1, None, 0.70, GAMES_EACH)
    yield Pairing(name, LEVELS[0], "beginner", None, 0.0, GAMES_EACH, MOST_AGAINST_BEGINNERS)
    if name in BUDGETS_S and has_open_spiel():
        yield Pairing(name, STRONGEST, "mcts", None, 0.0, MCTS_GAMES)


def bench_bots(only: Sequence[str], games: int | None, file: Path | None, sample: int, jobs: int | None) -> bool:
    """Play what is missing of every pairing and print what came of it; answers whether all bars were reached.

    :param only: beginnings of pairings' names; none: all of them
    :param games: how many games of each, instead of as many as its bar is about
    """
    chosen = [
        pairing
        for pairing in chain.from_iterable(pairings(name) for name in GAMES if knows(name))
        if _is_chosen(pairing.name, only)
    ]
    costed = [name for name in GAMES if knows(name) and _is_chosen(f"{name} costs", only)]
    if not (chosen or costed or _is_chosen(PERFECT, only)):
        raise Malformed(f"There is no pairing like that: {', '.join(only)[:80]}")
    good = True
    with Results(file) as results:
        for name in costed:
            good &= told_costs(name, games, sample)
        if _is_chosen(PERFECT, only):
            good &= _told_perfect(games, sample)
        for each in chosen:
            pairing = replace(each, games=games or each.games)
            _play_missing(pairing, results, sample, jobs or cpu_count() or 1)
            good &= _told(pairing, results, sample)
    return good


def _is_chosen(name: str, only: Sequence[str]) -> bool:
    return not only or any(name.startswith(start) for start in only)


def _play_missing(pairing: Pairing, results: Results, sample: int, jobs: int) -> None:
    """The games that the results lack, each kept as soon as it is over."""
    known, code = results.of(pairing, sample), code_of(pairing)
    missing = [number for number in range(pairing.games) if number not in known]
    if jobs == 1:
        for number in missing:
            results.add(play_game(pairing, sample, number, code))
        return
    with ProcessPoolExecutor(jobs) as pool:
        try:
            for future in as_completed([pool.submit(play_game, pairing, sample, number, code) for number in missing]):
                results.add(future.result())
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _told(pairing: Pairing, results: Results, sample: int) -> bool:
    """Print a line about a pairing; answers whether the bar was reached."""
    tally = Tally()
    for played in results.of(pairing, sample).values():
        tally.add(played)
    low, high = wilson_interval(tally.wins, tally.games)
    rival = f"level {pairing.rival}" if isinstance(pairing.rival, int) else pairing.rival
    role = f" as {game_named(pairing.game).sides[pairing.seat].name}" if pairing.seat else ""
    is_good = low >= pairing.bar and high <= pairing.most
    bar = f"at most {pairing.most:.0%}" if pairing.most < 1 else f"{pairing.bar:.0%}"
    verdict = "ok" if is_good else "SHORT"
    print(
        f"{pairing.game}: level {pairing.level}{role} v {rival}: {tally.wins}-{tally.losses}-{tally.ties} "
        f"(won, lost, tied), {tally.wins / max(1, tally.games):.1%} [{low:.1%}, {high:.1%}], bar {bar}; "
        f"a decision {_costs(tally)}  {verdict}",
        flush=True,
    )
    return is_good


def _told_perfect(games: int | None, sample: int) -> bool:
    """Print what Outbuffered's strongest level loses to a perfect opponent; answers whether that is little enough."""
    from companion.tools.bench.bots.perfect import MOST_LOST_A_TURN, PERFECT_GAMES, losses  # noqa: PLC0415 - brings numpy

    found = losses(games or PERFECT_GAMES, sample)
    verdict = "ok" if found.mean <= MOST_LOST_A_TURN else "SHORT"
    print(
        f"outbuffered: level {STRONGEST} v a perfect opponent that knows its strategy: loses {found.mean:.4f} a turn, "
        f"at most {max(found.turns):.4f}, in {len(found.turns)} turns (bar {MOST_LOST_A_TURN})  {verdict}",
        flush=True,
    )
    return found.mean <= MOST_LOST_A_TURN


def _costs(tally: Tally) -> str:
    """Processor time and nodes of a decision: the median and the 99th percentile."""
    if not tally.times_ms:
        return "was not asked for"
    times, nodes = sorted(tally.times_ms), sorted(tally.nodes)
    half, most = len(times) // 2, min(len(times) - 1, len(times) * 99 // 100)
    return f"{times[half]} ms, p99 {times[most]} ms; nodes {nodes[half]:,}, p99 {nodes[most]:,}"
