"""What an opponent's own process costs: processor time of a decision and memory, over whole games against chance.

Processor time, so that other programs on the machine do not count; and once, where the kernel sets a quota, time by the
clock on a fifth of a core.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from bench.bars import DECISION_S, OPPONENT_MB
from bench.pi.quota import CpuQuota, NoQuota
from companion.bots.base import LEVELS
from companion.bots.bot_process import bot_command
from companion.core.i18n import plain_words
from companion.core.kit import SEATS
from companion.games import game_named

COST_GAMES = 4
MOST_DECISIONS = 200
SHARE, SLOW_DECISIONS = 1 / 5, 20
"""Of a core, for so many decisions that are timed by the clock."""
A_FIFTH_S = 4.0
"""The longest decision on a fifth of a core."""
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Costs:
    """Seconds of processor time of each decision, the shortest first, and the most memory that was in use, in MB.

    `slow_s` are those by the clock on a fifth of a core, none where no quota can be set.
    """

    seconds: tuple[float, ...]
    megabytes: float
    slow_s: tuple[float, ...] = ()

    @property
    def p99_s(self) -> float:
        """The 99th percentile of the decisions."""
        return self.seconds[min(len(self.seconds) - 1, len(self.seconds) * 99 // 100)]


def costs_of(name: str, games: int, sample: int) -> Costs:
    """The costs of the strongest level of a game."""
    spent: list[tuple[float, float]] = []
    slowly: list[tuple[float, float]] = []
    megabytes = 0.0
    for number in range(games):
        each, peak = _play(name, number, sample, bot_command(name, LEVELS[-1], number))
        spent, megabytes = spent + each, max(megabytes, peak)
    try:
        with CpuQuota(SHARE) as quota:
            command = quota.holding(bot_command(name, LEVELS[-1], games))
            slowly, _ = _play(name, games, sample, command, most=SLOW_DECISIONS)
    except NoQuota as reason:
        print(f"{name}: {reason}")
    return Costs(
        tuple(sorted(cpu_s for cpu_s, _ in spent)),
        megabytes,
        tuple(sorted(clock_s for _, clock_s in slowly)),
    )


def told_costs(name: str, games: int | None, sample: int) -> bool:
    """Print the costs of a game's opponent; answers whether they keep the bounds."""
    found = costs_of(name, games or COST_GAMES, sample)
    slowest_s = max(found.seconds[-1] / SHARE, *found.slow_s)
    is_good = (
        found.p99_s <= DECISION_S.most
        and slowest_s <= A_FIFTH_S
        and found.megabytes <= OPPONENT_MB.most
    )
    clock = (
        f"; by the clock {found.slow_s[-1]:.1f} s in {len(found.slow_s)} decisions"
        if found.slow_s
        else ""
    )
    print(
        f"{name}: level {LEVELS[-1]}, {len(found.seconds)} decisions of its own process: p99 {found.p99_s:.2f} s of "
        f"processor time (bar {DECISION_S.most:.0f}), the longest on a fifth of a core {found.seconds[-1] / SHARE:.1f} s"
        f"{clock} (bar {A_FIFTH_S:.0f}), {found.megabytes:.0f} MB (bar {OPPONENT_MB.most:.0f})  {'ok' if is_good else 'SHORT'}",
        flush=True,
    )
    return is_good


def _play(
    name: str, number: int, sample: int, command: Sequence[str], *, most: int = MOST_DECISIONS
) -> tuple[list[tuple[float, float]], float]:
    """One game against chance: what each decision took (by the processor, by the clock), and the most memory in MB."""
    game, rng, seat = game_named(name), Random(f"costs/{name}/{sample}/{number}"), SEATS[number % 2]
    state, spent = game.setup(game.options({}), rng), list[tuple[float, float]]()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        _ask(process, {"new": {"seat": seat, "options": {}}})
        while (due := game.to_act(state)) and len(spent) < most:
            texts = {
                each: game.format(game.random_action(state, each, rng)) for each in sorted(due)
            }
            if seat in due:
                before_s, began_s = _processor_s(process.pid), time.monotonic()
                texts[seat] = _ask(process, {"choose": {"view": game.view(state, seat)}})["action"]
                spent.append((_processor_s(process.pid) - before_s, time.monotonic() - began_s))
            step = game.apply(state, {each: game.parse(text) for each, text in texts.items()}, rng)
            state = step.state
            _ask(process, {"see": {"view": game.view(state, seat), "events": list(step.events)}})
        status = Path(f"/proc/{process.pid}/status").read_text()
        process.communicate()
    peak = re.search(r"VmHWM:\s+(\d+) kB", status)
    return spent, int(peak[1]) / 1024 if peak else 0.0


def _ask(process: subprocess.Popen[bytes], request: dict[str, Any]) -> dict[str, Any]:
    """One request and its answer; raises `RuntimeError` for an error."""
    if process.stdin is None or process.stdout is None:
        raise RuntimeError("the program has no pipes")
    process.stdin.write(msgspec.json.encode(request, enc_hook=plain_words) + b"\n")
    process.stdin.flush()
    answer: dict[str, Any] = json.loads(process.stdout.readline())
    if "error" in answer:
        raise RuntimeError(str(answer["error"]))
    return answer


def _processor_s(pid: int) -> float:
    """What a process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * _TICK_S
