"""What an opponent's own process costs: processor time of a decision and memory, over whole games against chance."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from bench.bars import DECISION_S, OPPONENT_MB
from bench.processes import cpu_s
from companion.bots.base import LEVELS
from companion.bots.bot_process import bot_command
from companion.core.i18n import plain_words
from companion.core.kit import SEATS
from companion.games import game_named

COST_GAMES = 4
MOST_DECISIONS = 200


def keeps_costs(name: str, quick: bool) -> bool:
    """Print the costs of the strongest level of a game, and return whether they keep the bars."""
    spent_s, sizes_mb = list[float](), list[float]()
    for number in range(1 if quick else COST_GAMES):
        times_s, peak_mb = _play(name, number)
        spent_s += times_s
        sizes_mb.append(peak_mb)
    print(name, flush=True)
    good = DECISION_S.judge(spent_s)
    return OPPONENT_MB.judge(sizes_mb) and good


def _play(name: str, number: int) -> tuple[list[float], float]:
    """Play one game against chance. Return what each decision took, in s, and the most memory, in MB."""
    game, rng, seat = game_named(name), Random(f"costs/{name}/{number}"), SEATS[number % 2]
    state, spent_s = game.setup(game.options({}), rng), list[float]()
    command = bot_command(name, LEVELS[-1], number)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        _ask(process, {"new": {"seat": seat, "options": {}}})
        while (due := game.to_act(state)) and len(spent_s) < MOST_DECISIONS:
            texts = {
                each: game.format(game.random_action(state, each, rng)) for each in sorted(due)
            }
            if seat in due:
                before_s = cpu_s(process.pid)
                texts[seat] = _ask(process, {"choose": {"view": game.view(state, seat)}})["action"]
                spent_s.append(cpu_s(process.pid) - before_s)
            step = game.apply(state, {each: game.parse(text) for each, text in texts.items()}, rng)
            state = step.state
            _ask(process, {"see": {"view": game.view(state, seat), "events": list(step.events)}})
        status = Path(f"/proc/{process.pid}/status").read_text()
        process.communicate()
    peak = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert peak
    return spent_s, int(peak[1]) / 1024


def _ask(process: subprocess.Popen[bytes], request: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to one request. Raises `RuntimeError`."""
    assert process.stdin
    assert process.stdout
    process.stdin.write(msgspec.json.encode(request, enc_hook=plain_words) + b"\n")
    process.stdin.flush()
    answer: dict[str, Any] = json.loads(process.stdout.readline())
    if "error" in answer:
        raise RuntimeError(str(answer["error"]))
    return answer
