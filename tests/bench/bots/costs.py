"""Measure the processor time of an opponent's decisions, and the memory of its process.

The opponent plays whole games against random actions.
"""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import msgspec

from bench.bars import DECISION_BAR, OPPONENT_BAR
from bench.processes import TIMEOUT_S, cpu_s
from companion.bots.base import LEVELS
from companion.bots.bot_process import BotProcess, bot_command
from companion.core.i18n import translate_for_json
from companion.core.kit import SEATS
from companion.games import game_named

COST_GAMES = 4
# Number of decisions after which a game is broken off.
MAX_DECISIONS = 200


def bench_costs(name: str, quick: bool) -> bool:
    """Measure the strongest level of a game's opponent. Return whether the bars are kept."""
    spent_s, sizes_mb = list[float](), list[float]()
    for seed in range(1 if quick else COST_GAMES):
        times_s, peak_mb = _play(name, seed)
        spent_s += times_s
        sizes_mb.append(peak_mb)
    print(name, flush=True)
    good = DECISION_BAR.judge(spent_s)
    good &= OPPONENT_BAR.judge(sizes_mb)
    return good


def _play(name: str, seed: int) -> tuple[list[float], float]:
    """Play one game against random actions.

    Return the seconds of processor time of each decision, and the peak of the memory in MB.
    """
    game, rng, seat = game_named(name), Random(f"costs/{name}/{seed}"), SEATS[seed % 2]
    state, spent_s = game.setup(game.options({}), rng), list[float]()
    with BotProcess(bot_command(name, LEVELS[-1], seed)) as bot:
        pid = bot.child.pid
        bot.new(seat, {}, TIMEOUT_S)
        while (due := game.to_act(state)) and len(spent_s) < MAX_DECISIONS:
            actions = {side: game.random_action(state, side, rng) for side in sorted(due)}
            if seat in due:
                before_s = cpu_s(pid)
                choice = bot.choose(game.view(state, seat), TIMEOUT_S)
                spent_s.append(cpu_s(pid) - before_s)
                actions[seat] = game.parse(choice.action)
            step = game.apply(state, actions, rng)
            state = step.state
            events = [
                msgspec.to_builtins(event, enc_hook=translate_for_json) for event in step.events
            ]
            bot.see(game.view(state, seat), events, TIMEOUT_S)
        status = Path(f"/proc/{pid}/status").read_text()
    # VmHWM is the peak of the resident memory
    peak = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert peak
    return spent_s, int(peak[1]) / 1024
