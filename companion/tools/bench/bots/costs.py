"""What an opponent's own process costs: processor time of a decision and memory, over whole games against chance.

Processor time, not time by the clock: a program that gets a fifth of a core takes five times as long.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from companion.bots.base import LEVELS
from companion.bots.bot_process import bot_command
from companion.core.i18n import plain_words
from companion.core.kit import SEATS
from companion.games import game_named

COST_GAMES = 4
MOST_DECISIONS = 200
A_FIFTH_S, WHOLE_S, MOST_MB = 4.0, 2.0, 60
"""The bounds: a decision on a fifth of a core and on a whole one, and the memory of the process."""
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Costs:
    """Seconds of processor time of each decision, the shortest first, and the most memory that was in use, in MB."""

    seconds: tuple[float, ...]
    megabytes: float

    @property
    def p99_s(self) -> float:
        """The 99th percentile of the decisions."""
        return self.seconds[min(len(self.seconds) - 1, len(self.seconds) * 99 // 100)]


def costs_of(name: str, games: int, sample: int) -> Costs:
    """The costs of the strongest level of a game."""
    seconds: list[float] = []
    megabytes = 0.0
    for number in range(games):
        megabytes = max(megabytes, _play(name, number, sample, seconds))
    return Costs(tuple(sorted(seconds)), megabytes)


def told_costs(name: str, games: int | None, sample: int) -> bool:
    """Print the costs of a game's opponent; answers whether they keep the bounds."""
    found = costs_of(name, games or COST_GAMES, sample)
    is_good = found.p99_s <= WHOLE_S and 5 * found.seconds[-1] <= A_FIFTH_S and found.megabytes <= MOST_MB
    print(
        f"{name}: level {LEVELS[-1]}, {len(found.seconds)} decisions of its own process: p99 {found.p99_s:.2f} s of "
        f"processor time (bar {WHOLE_S:.0f}), the longest on a fifth of a core {5 * found.seconds[-1]:.1f} s "
        f"(bar {A_FIFTH_S:.0f}), {found.megabytes:.0f} MB (bar {MOST_MB})  {'ok' if is_good else 'SHORT'}",
        flush=True,
    )
    return is_good


def _play(name: str, number: int, sample: int, seconds: list[float]) -> float:
    """One game against chance; adds what each decision cost and answers the most memory that was in use."""
    game, rng, seat = game_named(name), Random(f"costs/{name}/{sample}/{number}"), SEATS[number % 2]
    state, asked = game.setup(game.options({}), rng), 0
    command = bot_command(name, LEVELS[-1], number)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        _ask(process, {"new": {"seat": seat, "options": {}}})
        while (due := game.to_act(state)) and asked < MOST_DECISIONS:
            texts = {each: game.format(game.random_action(state, each, rng)) for each in sorted(due)}
            if seat in due:
                before_s, asked = _processor_s(process.pid), asked + 1
                texts[seat] = _ask(process, {"choose": {"view": game.view(state, seat)}})["action"]
                seconds.append(_processor_s(process.pid) - before_s)
            step = game.apply(state, {each: game.parse(text) for each, text in texts.items()}, rng)
            state = step.state
            _ask(process, {"see": {"view": game.view(state, seat), "events": list(step.events)}})
        status = Path(f"/proc/{process.pid}/status").read_text()
        process.communicate()
    peak = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(peak[1]) / 1024 if peak else 0.0


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
