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
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from companion.bots.base import Choice
from companion.bots.bot_process import BotProcess
from companion.bots.machine_players import MachinePlayers
from companion.core.clock import RealClock
from companion.core.errors import Illegal
from companion.core.kit import SEATS
from companion.games import GAMES
from companion.storage.journal import Journal
from companion.table.session import Phase
from companion.table.table import Table

BOT_KILLS = 100
LONGEST_GAP_S = 30.0
"""So long at most between two decisions, kills and new beginnings included."""
_PAUSES_S = (0.02, 0.8)
"""So long between two kills: a program dies while it begins, is told what was, thinks, or waits."""
_MOST_IN_A_ROW = 2
"""So many kills at most of one machine's programs without a choice of it in between: after a third one chance decides,
as it should."""


@dataclass
class BotKillReport:
    """What was found; `gap_s` is the longest time between two choices, `by_chance` how many were left to chance."""

    kills: int = 0
    decisions: int = 0
    by_chance: int = 0
    gap_s: float = 0.0

    @property
    def is_good(self) -> bool:
        """Did the game go on, and by the machines' own choice?"""
        return self.decisions > 0 and not self.by_chance and self.gap_s <= LONGEST_GAP_S


class _Killed(BotProcess):
    """A program that may be killed; it tells its killer what it has chosen."""

    def __init__(self, command: Sequence[str], killer: _Killer) -> None:
        super().__init__(command)
        self.player, self._killer = tuple(command), killer

    def choose(self, view: Mapping[str, Any], deadline_s: float) -> Choice:
        """The action for this view."""
        choice = super().choose(view, deadline_s)
        self._killer.chosen(self.player)
        return choice


class _Killer:
    """Begins the programs, and kills one of those that live, again and again, in a thread of its own."""

    def __init__(self, kills: int, seed: int, report: BotKillReport) -> None:
        self._kills, self._rng, self._report = kills, Random(seed), report
        self._alive: list[_Killed] = []
        self._in_a_row = Counter[tuple[str, ...]]()
        """Kills of each machine's programs since its last choice."""
        self.last_s = time.monotonic()
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __call__(self, command: Sequence[str]) -> BotProcess:
        process = _Killed(command, self)
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

    def chosen(self, player: tuple[str, ...]) -> None:
        """One of them has made a decision."""
        now_s = time.monotonic()
        self._report.decisions += 1
        self._report.gap_s, self.last_s = max(self._report.gap_s, now_s - self.last_s), now_s
        self._in_a_row[player] = 0

    def _run(self) -> None:
        while not self.is_done and not self._ends.wait(self._rng.uniform(*_PAUSES_S)):
            alive = [each for each in self._alive if each.child.returncode is None]
            alive = [each for each in alive if self._in_a_row[each.player] < _MOST_IN_A_ROW]
            if alive:
                killed = self._rng.choice(alive)
                self._in_a_row[killed.player] += 1
                with suppress(ProcessLookupError):
                    os.kill(killed.child.pid, signal.SIGKILL)
                    self._report.kills += 1


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
    by_chance = set[str]()
    while not killer.is_done or time.monotonic() - killer.last_s > 1:
        machines.step()
        table.step()
        view = table.view()
        if any("random" in str(notice) for notice in view.devices.notices):
            by_chance.add(view.moment)
        report.by_chance = len(by_chance)
        if time.monotonic() - killer.last_s > LONGEST_GAP_S:
            raise TimeoutError(f"nothing happens after {report.kills} kills")
        if view.phase in (Phase.SETUP, Phase.STAGES):
            table.confirm("host", view.moment, view.turn.stage)
        elif view.phase is Phase.OVER:
            table.rematch()
        elif not any(turn.is_due for turn in table.machines.turns()):
            with suppress(Illegal):
                table.resume("host")  # a clock that waits to be started


def bench_bot_kills(kills: int = BOT_KILLS) -> bool:
    """Kill so many programs in each game and print what was found; answers whether the games went on."""
    are_good = True
    for game in GAMES:
        report = kill_bots(kills, game=game)
        print(
            f"opponents’ programs killed at {game}: {report.kills} of them over {report.decisions} decisions, "
            f"{report.by_chance} left to chance (none allowed), longest gap {report.gap_s:.1f} s "
            f"(at most {LONGEST_GAP_S:.0f})  {'ok' if report.is_good else 'NOT GOOD ENOUGH'}",
            flush=True,
        )
        are_good &= report.is_good
    return are_good
