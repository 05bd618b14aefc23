"""The opponents' programs killed at random moments while they play: does the game go on, and by whose choice?

Two machines play at a real table with its journal; whoever is thinking, beginning or waiting is killed by SIGKILL. What
counts is that every game goes on to its end, and that no decision is left to chance.
"""

from __future__ import annotations

import os
import signal
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random

from companion.bots.bot_process import BotProcess
from companion.bots.machine_players import MachinePlayers
from companion.core.clock import RealClock
from companion.core.kit import SEATS
from companion.storage.journal import Journal
from companion.table.session import Phase
from companion.table.table import Table

BOT_KILLS = 100
LONGEST_GAP_S = 30.0
"""So long at most between two decisions, kills and new beginnings included."""
_PAUSES_S = (0.02, 0.8)
"""So long between two kills: a program dies while it begins, is told what was, thinks, or waits."""
_MOST_IN_A_ROW = 2
"""So many kills at most without a decision in between: after a third one chance decides, as it should."""


@dataclass
class BotKillReport:
    """What was found; `gap_s` is the longest time between two decisions, `by_chance` how many were left to chance."""

    kills: int = 0
    decisions: int = 0
    by_chance: int = 0
    gap_s: float = 0.0

    @property
    def is_good(self) -> bool:
        """Did the game go on, and by the machines' own choice?"""
        return self.decisions > 0 and not self.by_chance and self.gap_s <= LONGEST_GAP_S


class _Killer:
    """Begins the programs, and kills one of those that live, again and again, in a thread of its own."""

    def __init__(self, kills: int, seed: int, report: BotKillReport) -> None:
        self._kills, self._rng, self._report = kills, Random(seed), report
        self._alive: list[BotProcess] = []
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __call__(self, command: Sequence[str]) -> BotProcess:
        process = BotProcess(command)
        self._alive = [*(each for each in self._alive if each.child.returncode is None), process]
        return process

    def __enter__(self) -> _Killer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        self._thread.join()

    @property
    def is_done(self) -> bool:
        """Were all of them killed?"""
        return self._report.kills >= self._kills

    def _run(self) -> None:
        decisions, in_a_row = 0, 0
        while not self.is_done and not self._ends.wait(self._rng.uniform(*_PAUSES_S)):
            if self._report.decisions > decisions:
                decisions, in_a_row = self._report.decisions, 0
            alive = [each for each in self._alive if each.child.returncode is None]
            if alive and in_a_row < _MOST_IN_A_ROW:
                with suppress(ProcessLookupError):
                    os.kill(self._rng.choice(alive).child.pid, signal.SIGKILL)
                    self._report.kills += 1
                    in_a_row += 1


def kill_bots(kills: int, seed: int = 1, game: str = "outbuffered") -> BotKillReport:
    """Games of two machines until so many of their programs were killed; raises TimeoutError where nothing goes on."""
    report, clock = BotKillReport(), RealClock()
    with (
        tempfile.TemporaryDirectory() as folder,
        Journal(Path(folder) / "journal.sqlite") as journal,
        Table(journal, clock) as table,
        _Killer(kills, seed, report) as killer,
    ):
        for seat, name in zip(SEATS, ("Pip", "Zeno"), strict=True):
            table.machines.seat(seat, name)
        table.new_game(game, seed=seed)
        with MachinePlayers(table, clock, b"k" * 32, tempo_s=(0.0, 0.0), open_process=killer) as machines:
            _play_on(table, machines, killer, report)
    return report


def _play_on(table: Table, machines: MachinePlayers, killer: _Killer, report: BotKillReport) -> None:
    begun = set[str]()
    last_s = time.monotonic()
    while not killer.is_done or time.monotonic() - last_s > 1:
        machines.step()
        table.step()
        view, now_s = table.view(), time.monotonic()
        report.by_chance += any("does not respond" in str(notice) for notice in view.devices.notices)
        moves = {f"{turn} {seat}" for turn in table.progress().turns for seat in SEATS}
        moves |= {f"{view.moment} {seat}" for seat in SEATS if view.seats[seat].receipt}
        if moves - begun:
            report.decisions += len(moves - begun)
            report.gap_s, last_s = max(report.gap_s, now_s - last_s), now_s
            begun |= moves
        if now_s - last_s > LONGEST_GAP_S:
            raise TimeoutError(f"nothing happens after {report.kills} kills")
        if view.phase in (Phase.SETUP, Phase.STAGES):
            table.confirm("host", view.moment, view.turn.stage)
        elif view.phase is Phase.OVER:
            table.rematch()


def bench_bot_kills(kills: int = BOT_KILLS) -> bool:
    """Kill so many programs and print what was found; answers whether the games went on."""
    report = kill_bots(kills)
    print(
        f"opponents’ programs killed: {report.kills} of them over {report.decisions} decisions, "
        f"{report.by_chance} left to chance (none allowed), longest gap {report.gap_s:.1f} s "
        f"(at most {LONGEST_GAP_S:.0f})  {'ok' if report.is_good else 'NOT GOOD ENOUGH'}",
        flush=True,
    )
    return report.is_good
