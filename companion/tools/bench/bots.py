"""How strong the opponents are: matches in this process with the seats swapped in pairs, beside the bars of each game.

A bot is given its seat's view alone. Its times are those of its own thread's processor time, so that other programs on
the machine do not count; games are shared out over the processors.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

import msgspec

from companion.archive.statistics import wilson_interval
from companion.bots import bot_for, knows
from companion.bots.base import LEVELS, Bot
from companion.core.i18n import plain_words
from companion.core.kit import SEATS, Seat
from companion.games import GAMES, game_named
from companion.tools.bench.rivals import GREEDY, random_player

RANDOM_GAMES, GAMES_EACH = 500, 400
MOST_DECISIONS = 4000
"""Where no rule ends a game, it is left as a tie after so many."""
STRONGEST = LEVELS[-1]
_GREEDY_BARS: Mapping[str, float] = {"kahmate": 0.65}
_ROLE_BARS: Mapping[str, Mapping[Seat, float]] = {"binmat": {Seat.SOUTH: 0.40, Seat.NORTH: 0.80}}
"""Where the seats are roles, each is played for itself against the rule of thumb."""


@dataclass(frozen=True)
class Pairing:
    """A bot's level against a rival: another level, or `random` or `greedy`; `seat` None: both in turn.

    `bar` is what the lower bound of the share of wins has to reach, over so many games.
    """

    game: str
    level: int
    rival: int | str
    seat: Seat | None
    bar: float
    games: int


@dataclass
class Tally:
    """What came of the games of a pairing, and what the bot's decisions cost: seconds and nodes of each."""

    wins: int = 0
    losses: int = 0
    ties: int = 0
    times_s: list[float] = field(default_factory=list)
    nodes: list[int] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Count the games of another tally too."""
        self.wins, self.losses, self.ties = self.wins + other.wins, self.losses + other.losses, self.ties + other.ties
        self.times_s += other.times_s
        self.nodes += other.nodes


def pairings(name: str, games: int | None) -> Iterator[Pairing]:
    """What is asked of the bot of a game; `games` instead of the usual numbers of games."""
    many, each = games or RANDOM_GAMES, games or GAMES_EACH
    yield Pairing(name, STRONGEST, "random", None, 0.99, many)
    for seat, bar in _ROLE_BARS.get(name, {None: _GREEDY_BARS.get(name, 0.80)}).items():
        yield Pairing(name, STRONGEST, "greedy", seat, bar, each)
    for level in LEVELS[1:]:
        yield Pairing(name, level, level - 1, None, 0.70, each)


def bench_bots(games: int | None, only: str) -> bool:
    """Play every pairing and print what came of it; answers whether all bars were reached."""
    if only:
        game_named(only)
    good = True
    for name in GAMES:
        if only and name != only:
            continue
        if _maker(name) is None:
            print(f"{name}: no bot plays it yet, skipped", flush=True)
            continue
        for pairing in pairings(name, games):
            good &= _told(pairing, _played(pairing))
    return good


def _maker(name: str) -> Callable[[Seat, Mapping[str, Any], int, int], Bot] | None:
    """The bot of a game, or None."""
    return partial(bot_for, name) if knows(name) else None


def _told(pairing: Pairing, tally: Tally) -> bool:
    """Print a line about a pairing; answers whether the bar was reached."""
    bound, _ = wilson_interval(tally.wins, pairing.games)
    rival = f"level {pairing.rival}" if isinstance(pairing.rival, int) else pairing.rival
    role = f" as {game_named(pairing.game).sides[pairing.seat].name}" if pairing.seat else ""
    times, nodes = sorted(tally.times_s), sorted(tally.nodes)
    half, most = len(times) // 2, min(len(times) - 1, len(times) * 99 // 100)
    costs = f"{times[half]:.2f} s, p99 {times[most]:.2f} s; nodes {nodes[half]:,}, p99 {nodes[most]:,}"
    verdict = "ok" if bound >= pairing.bar else "SHORT"
    print(
        f"{pairing.game}: level {pairing.level}{role} v {rival}: {tally.wins}-{tally.losses}-{tally.ties} "
        f"(won, lost, tied), at least {bound:.1%} (bar {pairing.bar:.0%}); a decision {costs}  {verdict}",
        flush=True,
    )
    return bound >= pairing.bar


def _played(pairing: Pairing) -> Tally:
    """All games of a pairing, on all processors."""
    total = Tally()
    with ProcessPoolExecutor() as pool:
        for tally in pool.map(play_game, [pairing] * pairing.games, range(pairing.games)):
            total.add(tally)
    return total


def play_game(pairing: Pairing, number: int) -> Tally:
    """One game; both games of a pair have the same deal and the seats swapped."""
    game, maker = game_named(pairing.game), _maker(pairing.game)
    if maker is None:
        raise ValueError(f"no bot plays {pairing.game}")
    rng = Random(f"{pairing.game}/{number // 2}")
    seat = pairing.seat or SEATS[number % 2]
    state, tally = game.setup(game.options({}), rng), Tally()
    bots = {seat: maker(seat, {}, pairing.level, number)}
    if isinstance(pairing.rival, int):
        bots[seat.other] = maker(seat.other, {}, pairing.rival, number + 1)
    chance = Random(number)
    for _ in range(MOST_DECISIONS):
        if not (due := game.to_act(state)):
            break
        actions = {}
        for each in sorted(due):
            if each not in bots:
                rival = random_player if pairing.rival == "random" else GREEDY[pairing.game]
                actions[each] = rival(game, state, each, chance)
                continue
            view, began_s = game.view(state, each), time.thread_time()
            choice = bots[each].choose(view)
            if each is seat:
                tally.times_s.append(time.thread_time() - began_s)
                tally.nodes.append(choice.nodes)
            actions[each] = choice.action
        state = _carried_out(game, state, actions, rng, bots)
    outcome = game.outcome(state)
    winners = outcome.winners if outcome else frozenset()
    tally.wins, tally.losses = int(seat in winners), int(seat.other in winners)
    tally.ties = 1 - tally.wins - tally.losses
    return tally


def _carried_out(game: Any, state: Any, texts: Mapping[Seat, str], rng: Random, bots: Mapping[Seat, Bot]) -> Any:
    """The state after a turn, which all bots have seen."""
    actions = {seat: game.parse(text) for seat, text in texts.items()}
    game.require(state, actions)
    step = game.apply(state, actions, rng)
    events = [msgspec.to_builtins(event, enc_hook=plain_words) for event in step.events]
    for seat, bot in bots.items():
        bot.see(game.view(step.state, seat), events)
    return step.state
