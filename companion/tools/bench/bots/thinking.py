"""What a machine that thinks costs its table: its decisions by the clock with the camera on, and how much later lamps
and the buzzer come meanwhile.

The strongest level of each game thinks in a process of its own, as at a table, one decision right after the other, of
positions that were made before; the same latencies are measured without it, in the same process, in turns. It takes
a hundred seconds, sixty of them two games whose turns all run out.
"""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle
from multiprocessing import get_context
from multiprocessing.connection import Connection
from random import Random
from typing import Any

import msgspec

from companion.bots.base import LEVELS
from companion.bots.bot_process import BotProcess, bot_command
from companion.core.config import CameraSettings
from companion.core.i18n import plain_words
from companion.core.kit import SEATS, Seat
from companion.games import GAMES, game_named
from companion.tools.bench.doors import key_to_lamp_ms
from companion.tools.bench.figures import simulated
from companion.tools.bench.turns import SCALED_S, time_turns

MOST_S, MOST_RATIO = 2.0, 1.3
"""The 99th percentile of a decision, and of lamp and buzzer beside those without a machine that thinks."""
LEAST_MS = 0.5
"""A ratio to less than this tells nothing: a scheduler's own tick is longer."""
_DEADLINE_S = 60.0
_JOIN_S = 120.0
_MOST_TURNS = 80
_BLOCKS, _PRESSES = 10, 60
"""A lamp is measured in so many blocks of presses, every other one with a machine that thinks."""
View = Mapping[str, Any]


@dataclass(frozen=True)
class Thinking:
    """Seconds of decisions by the clock; milliseconds from a key to its lamp and from a turn's end to the buzzer, each
    without a machine that thinks and with one."""

    decisions_s: Sequence[float]
    lamp_ms: tuple[Sequence[float], Sequence[float]]
    buzzer_ms: tuple[Sequence[float], Sequence[float]]

    def is_good(self) -> bool:
        """Are all bounds kept?"""
        ratios = (_ratio(*times) for times in (self.lamp_ms, self.buzzer_ms))
        return bool(self.decisions_s) and _p99(self.decisions_s) <= MOST_S and max(ratios) <= MOST_RATIO

    def sentences(self) -> Iterator[str]:
        """The figures for people."""
        told = f"p99 {_p99(self.decisions_s):.2f} s (bar {MOST_S:.0f})" if self.decisions_s else "none was made"
        yield f"a machine's decisions with the camera on: {len(self.decisions_s)}, by the clock {told}"
        for what, (without, beside) in (("key of a pad -> its lamp", self.lamp_ms), ("buzzer", self.buzzer_ms)):
            yield (
                f"{what} while a machine thinks: p99 {_p99(beside):.2f} ms, without {_p99(without):.2f} ms: "
                f"{_ratio(without, beside):.2f} x (bar {MOST_RATIO})"
            )
        yield "ok" if self.is_good() else "SHORT"


def bench_thinking() -> bool:
    """Measure and print it; answers whether all bounds are kept."""
    lamp_ms, buzzer_ms = (list[float](), list[float]()), (list[float](), list[float]())
    with _thinker() as (let_think, decisions_s):
        with simulated(fps=CameraSettings().fps) as companion:
            blocks = key_to_lamp_ms(companion, _BLOCKS, _PRESSES)
            for number in range(_BLOCKS):
                let_think(number % 2 == 1)
                lamp_ms[number % 2].extend(next(blocks))
        for is_thinking in (False, True):
            let_think(is_thinking)
            with simulated(fps=CameraSettings().fps) as companion:
                buzzer_ms[is_thinking].extend(time_turns(companion, SCALED_S).late_ms)
    found = Thinking(decisions_s, lamp_ms, buzzer_ms)
    for sentence in found.sentences():
        print(sentence, flush=True)
    return found.is_good()


@contextmanager
def _thinker() -> Iterator[tuple[Callable[[bool], None], list[float]]]:
    """Let it think, or rest, by a call that comes back once it does; its decisions' seconds by the clock, in the end.

    It makes one decision after the other, of all games in turn. Who asks is a process of its own that has nothing to
    work out meanwhile: at a table people play on.
    """
    decisions_s, (ours, theirs), context = list[float](), get_context("spawn").Pipe(), get_context("spawn")
    process = context.Process(target=_think, args=(theirs,), name="thinking")
    process.start()
    theirs.close()  # so that the end of the other process is the end of its answers

    def let_think(is_to: bool) -> None:
        ours.send(is_to)
        ours.recv()

    try:
        yield let_think, decisions_s
        ours.send(None)
        decisions_s += ours.recv()
    finally:
        ours.close()
        process.join(_JOIN_S)
        if process.is_alive():
            process.kill()
            process.join()


def _think(line: Connection) -> None:
    os.nice(19)
    played = {name: list(_turns(name, SEATS[number % 2])) for number, name in enumerate(GAMES)}
    decisions_s, is_thinking = list[float](), False
    for number, (name, turns) in enumerate(cycle(played.items())):
        with BotProcess(bot_command(name, LEVELS[-1], number)) as process:
            process.new(SEATS[number % len(GAMES) % 2], {}, _DEADLINE_S)
            for asked, after, events in turns:
                if not (is_thinking := _may_think(line, is_thinking)):
                    with contextlib.suppress(BrokenPipeError):
                        line.send(decisions_s)
                    return
                if asked is not None:
                    began_s = time.monotonic()
                    process.choose(asked, _DEADLINE_S)
                    decisions_s.append(time.monotonic() - began_s)
                process.see(after, events, _DEADLINE_S)


def _may_think(line: Connection, is_thinking: bool) -> bool:
    """Heed what is said, and wait at rest; False: it is over."""
    while line.poll() or not is_thinking:
        try:
            said = line.recv()
        except EOFError:  # who asks has gone
            said = None
        if said is None:
            return False
        is_thinking = said
        line.send(None)
    return True


def _turns(name: str, seat: Seat) -> Iterator[tuple[View | None, View, list[View]]]:
    """Turns of a game by chance as a seat sees them: what it is asked (None: nothing), the view afterwards, events."""
    game, rng = game_named(name), Random(f"thinking/{name}")
    state = game.setup(game.options({}), rng)
    for _ in range(_MOST_TURNS):
        if not (due := game.to_act(state)):
            return
        asked = game.view(state, seat) if seat in due else None
        step = game.apply(state, {each: game.random_action(state, each, rng) for each in sorted(due)}, rng)
        state = step.state
        yield asked, game.view(state, seat), [msgspec.to_builtins(each, enc_hook=plain_words) for each in step.events]


def _p99(times: Sequence[float]) -> float:
    return sorted(times)[min(len(times) - 1, len(times) * 99 // 100)]


def _ratio(without_ms: Sequence[float], beside_ms: Sequence[float]) -> float:
    without, beside = _p99(without_ms), _p99(beside_ms)
    if math.isinf(without) or math.isinf(beside):  # an edge that never came
        return math.inf
    return max(LEAST_MS, beside) / max(LEAST_MS, without)
