"""A clock whose turns all run out: how far from its due time does the buzzer sound, and does it drift?"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from bench.bars import BUZZER_MS, CLOCK_DRIFT_MS
from bench.figures import Figure, Listener, simulated
from companion.core.config import CameraSettings
from companion.core.ports import Alarm, Cue
from companion.service.app import Companion
from companion.table.listeners import TableListener
from companion.table.session import IDLE_TURNS
from companion.table.table import Table

WATCHERS = 10
RUNS = 27
"""How often the clock stops because nobody acts, and goes on."""
TURNS = RUNS * IDLE_TURNS
SCALED_S, REAL_S = 0.5, 5.0
"""Lengths of a turn in seconds. The tone at its end takes 0.3 s, and the next one has to begin anew."""
_SETTLE_S = 1.0
_GRACE_S = 5.0


@dataclass(frozen=True)
class Timing:
    """The alarms of a game: how late each sounded (ms, without sign; infinite: not at all), and the drift of their due times (ms).

    `turns` is how many ran out.
    """

    turns: int
    late_ms: tuple[float, ...]
    due_drift_ms: float

    def is_good(self) -> bool:
        """Did every turn run out, and without a drift?"""
        return self.turns == TURNS and self.due_drift_ms < CLOCK_DRIFT_MS.most

    def sentence(self) -> str:
        """The drift for people."""
        return (
            f"{'':<4}{self.turns} of {TURNS} turns ran out; drift of the due times {self.due_drift_ms:.2f} ms "
            f"(below {CLOCK_DRIFT_MS.most:.0f})  {'ok' if self.is_good() else 'DRIFTS'}"
        )


def bench_turns(turn_s: float) -> bool:
    """A whole game on the clock, with the camera and the viewers that it is promised for; prints what it measured."""
    with simulated(fps=CameraSettings().fps) as companion, ExitStack() as viewers:
        for _ in range(WATCHERS):
            viewers.enter_context(Listener(companion.server.port))
        timing = time_turns(companion, turn_s)
    figure = Figure(
        f"end of a turn of {turn_s:g} s -> buzzer",
        timing.late_ms,
        BUZZER_MS.most,
    )
    print(figure.sentence(), flush=True)
    print(timing.sentence(), flush=True)
    return figure.is_met() and timing.is_good()


def time_turns(companion: Companion, turn_s: float) -> Timing:
    """Let a game's turns all run out at the simulated panel and measure; takes as long as the game."""
    simulation, table = companion.simulation, companion.table
    if simulation is None:
        raise RuntimeError("the bench runs in simulation")
    set_alarms: list[Alarm] = []
    table.connect(TableListener(on_alarms=set_alarms.extend))
    table.new_game("binmat", {"way": "referee", "seconds": turn_s, "turns": TURNS + 2})
    time.sleep(_SETTLE_S)  # the first pictures of the board, and everybody's first page
    ideal_s: list[float] = []
    for _ in range(RUNS):
        began = len(set_alarms)
        table.resume("host")
        first_s = next(alarm.at_s for alarm in set_alarms[began:] if _ends_turn(alarm))
        run_s = [first_s + number * turn_s for number in range(IDLE_TURNS)]
        time.sleep(max(0.0, run_s[-1] - time.monotonic()))  # while the turns run out
        ideal_s += run_s
        end_s = time.monotonic() + _GRACE_S
        while not _stands_still(table) and time.monotonic() < end_s:
            table.wait(table.version, 0.1)
    # the clock that stops by itself has set an alarm for a turn that does not run out
    due_s = _nearest([alarm.at_s for alarm in set_alarms if _ends_turn(alarm)], ideal_s)
    ticks_s = {alarm.at_s for alarm in set_alarms if not _ends_turn(alarm)}
    ticks_s = {tick_s for tick_s in ticks_s if any(0 < due - tick_s < turn_s for due in due_s)}
    edges_s = simulation.hands.tones_began_s()
    drifts_ms = [abs(due - ideal) * 1000 for due, ideal in zip(due_s, ideal_s, strict=True)]
    return Timing(
        turns=sum(drift_ms < turn_s * 500 for drift_ms in drifts_ms),
        late_ms=_distances_ms(sorted({*ticks_s, *due_s}), edges_s, turn_s / 2),
        due_drift_ms=max(drifts_ms),
    )


def _ends_turn(alarm: Alarm) -> bool:
    return alarm.signal.cue is Cue.TIME_OUT


def _stands_still(table: Table) -> bool:
    clock = table.view().time.clock
    return clock is not None and bool(clock.paused)


def _nearest(values: Sequence[float], targets: Sequence[float]) -> list[float]:
    """Return the value next to each target."""
    by_distance = [sorted((abs(value - target), value) for value in values) for target in targets]
    return [pairs[0][1] for pairs in by_distance]


def _distances_ms(
    moments_s: Sequence[float], edges_s: Sequence[float], at_most_s: float
) -> tuple[float, ...]:
    """How far the nearest edge is from each moment; infinite where none is near."""
    nearest = (
        min((abs(edge - moment) for edge in edges_s), default=float("inf")) for moment in moments_s
    )
    return tuple(distance * 1000 if distance <= at_most_s else float("inf") for distance in nearest)
