"""One game of the bench of opponents, in this process: a bot is given its seat's view alone.

Its times are those of its own thread's processor time, so that other programs on the machine do not count.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from random import Random
from typing import Any

import msgspec

from bench.bots.results import Pairing, Played
from bench.bots.rivals import rival_of
from companion.bots import bot_for
from companion.bots.base import Bot
from companion.core.i18n import plain_words
from companion.core.kit import SEATS, Seat
from companion.games import game_named

MOST_DECISIONS = 1000
"""Where no rule ends a game, it is left as a tie after so many."""


def play_game(pairing: Pairing, sample: int, number: int, code: str) -> Played:
    """One game; both games of a pair have the same deal and the seats swapped. Another sample has other deals."""
    game = game_named(pairing.game)
    rng = Random(f"{pairing.game}/{sample}/{number // 2}")
    seat, seed = pairing.seat or SEATS[number % 2], 100_000 * sample + number
    state, chance = game.setup(game.options({}), rng), Random(seed)
    bots = {seat: bot_for(pairing.game, seat, {}, pairing.level, seed)}
    rival = None
    if isinstance(pairing.rival, int):
        bots[seat.other] = bot_for(pairing.game, seat.other, {}, pairing.rival, seed + 1)
    else:
        rival = rival_of(pairing.rival, pairing.game)
    times_ms, nodes = [], []
    for _ in range(MOST_DECISIONS):
        if not (due := game.to_act(state)):
            break
        actions = {}
        for each in sorted(due):
            if each not in bots and rival is not None:
                actions[each] = rival(game, state, each, chance)
                continue
            view, began_s = game.view(state, each), time.thread_time()
            choice = bots[each].choose(view)
            if each is seat:
                times_ms.append(round(1000 * (time.thread_time() - began_s)))
                nodes.append(choice.nodes)
            actions[each] = choice.action
        state = _carried_out(game, state, actions, rng, bots)
    outcome = game.outcome(state)
    winners = outcome.winners if outcome else frozenset()
    won = 0 if len(winners) > 1 else (seat in winners) - (seat.other in winners)
    return Played(pairing.name, sample, number, code, won, times_ms, nodes)


def _carried_out(
    game: Any, state: Any, texts: Mapping[Seat, str], rng: Random, bots: Mapping[Seat, Bot]
) -> Any:
    """The state after a turn, which all bots have seen."""
    actions = {seat: game.parse(text) for seat, text in texts.items()}
    game.require(state, actions)
    step = game.apply(state, actions, rng)
    events = [msgspec.to_builtins(event, enc_hook=plain_words) for event in step.events]
    for seat, bot in bots.items():
        bot.see(game.view(step.state, seat), events)
    return step.state
