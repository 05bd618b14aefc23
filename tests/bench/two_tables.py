"""Whole games at two tables of a hub: two services, each with a rendered board of its own and hands that err there.

The hub is a process of its own; what the tables tell each other goes over its NATS.
"""

from __future__ import annotations

import tempfile
import time
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from bench.hub import HubProcess
from companion.archive.replay import game_file, play_again
from companion.core.clock import FakeClock
from companion.core.config import Settings, TableSettings, WebSettings
from companion.core.grid import Square
from companion.core.kit import SEATS, Seat
from companion.games import game_named
from companion.service.app import Companion
from companion.table.board_check import tops
from companion.table.session import Phase, Session
from companion.table.table_view import TableView
from companion.tools.selfplay import people
from companion.tools.selfplay.people import (
    FRAME_S,
    Match,
    Phone,
    Report,
    SimulatedPlayer,
    Stuck,
    report_of,
)
from companion.tools.selfplay.plays import PlayMatch

PATIENCE_S = 120.0
"""So long nothing may happen at either table."""
_LOOK_S = 0.002
_OPTIONS: Mapping[str, Mapping[str, Any]] = {"scouts": {"seconds": 3600}}


@dataclass
class Half(Match):
    """One table of a game at two: people and hands do there what is asked of the seat that is played there."""

    worked_s: float = field(default_factory=time.monotonic)

    @property
    def seat(self) -> Seat:
        """The one that is played here."""
        (seat,) = self.players
        return seat

    @property
    def session(self) -> Session:
        """The game as this table's journal has it."""
        return self.companion.journal.restore()

    @property
    def waits(self) -> bool:
        """Does this table wait for the other one?"""
        view = self.look()
        is_due = view.phase is not Phase.ORDERS or view.seats[self.seat].awaited
        return (
            view.phase is Phase.OVER
            or not is_due
            or view.sign.text == "Waiting for the other table"
        )

    def work(self) -> None:
        """Do what may be done now, if there is anything."""
        if self.waits:
            time.sleep(_LOOK_S)
            return
        if self.look().phase is Phase.ORDERS:
            self.turns += 1
            self.state = self.session.state
        self.act()
        self.worked_s = time.monotonic()

    @abstractmethod
    def act(self) -> None:
        """Follow a step, or take the turn that is due."""

    def chance(self) -> Random:
        """What the turn that is due draws from."""
        return self.session.rng


@dataclass
class PieceHalf(Half, PlayMatch):
    """With pieces on a board."""

    def act(self) -> None:
        """Hands follow the step, or make a play."""
        view = self.look()
        if view.phase is Phase.ORDERS:
            self.give_orders()
        else:
            self.work_once(view)

    def check(self, before: TableView, after: TableView) -> None:
        """A step that is over here, while the other table still follows, must lie there as well."""
        if after.phase is not Phase.STAGES or not self.waits:
            super().check(before, after)
        elif after.kit is not None and after.board.target is not None:
            self.count.misread += tops(after.kit.anchored(after.board.target)) != self.truth()

    def give_orders(self) -> None:
        """The own one; the other seat gives its own at the other table."""
        if len(self.game.to_act(self.state)) == 1:
            super().give_orders()
            return
        view = self.look()
        self.seal(self.players[self.seat], view.moment, *self.choose(self.seat), wavers=0.0)
        if self.seat in self.session.awaited and self.look().moment == view.moment:
            raise Stuck(f"The order was handed in, but the table says “{self.look().sign.text}”")

    def until(self, done: str, *before: object) -> None:
        """As at one table, or until only the other table is waited for."""
        for frame in range(people.PATIENCE_FRAMES):
            view = self.look()
            if (view.moment, view.turn.stage, view.phase) != before or self.waits:
                return
            if frame == people.PATIENCE_FRAMES // 2 and view.board.unknown:
                self.straighten()
            if frame == people.PATIENCE_FRAMES // 4:
                self.mend(view)
            self.round()
        raise Stuck(
            f"{done}: the table still says “{self.look().sign.text}” ({self.look().sign.small})"
        )


def play_at_two_tables(name: str, games: int, seed: int) -> Iterator[Report]:
    """So many games with the seeds `seed`, `seed + 1` …, each at two fresh installations at a fresh hub."""
    for number in range(seed, seed + games):
        with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
            hub = HubProcess(Path(folder) / "hub")
            stack.callback(hub.kill)
            halves = []
            for seat in SEATS:
                halves.append(half_at(Path(folder) / seat, name, seat, number, stack))
                halves[-1].companion.hub.join(f"127.0.0.1:{hub.port}", hub.new_code(), names=False)
                hub.let_in(len(halves))
            yield play_pair(halves)


def half_at(folder: Path, name: str, seat: Seat, seed: int, stack: ExitStack) -> Half:
    """A fresh installation at which a seat of a game is to be played; `seed` decides who plays how."""
    clock, game = FakeClock(), game_named(name)
    settings = Settings(
        state_dir=str(folder),
        web=WebSettings(host="127.0.0.1", port=0),
        table=TableSettings(reading_time_s=FRAME_S),
    )
    companion = stack.enter_context(Companion(settings, simulate=True, clock=clock, threads=False))
    if companion.simulation is None:
        raise Stuck("There is no simulation to play in")
    rng = Random(f"{name}/{seed}/{seat}")
    by_pad = rng.random() < 0.5
    phone = None if by_pad else Phone(f"http://127.0.0.1:{companion.server.port}", seat)
    players = {seat: SimulatedPlayer(seat, phone, Random(f"{seed}/{seat}"))}
    options = _OPTIONS.get(name, {})
    return PieceHalf(
        companion, companion.simulation, clock, game, seed, rng, options, players, None
    )


def play_pair(halves: list[Half]) -> Report:
    """One game of two tables at a hub to its end, and whether it is the same at both."""
    south, north = halves
    began_s = time.perf_counter()
    misread, reason = 0, ""
    try:
        _begin(halves)
        while not all(half.look().phase is Phase.OVER for half in halves):
            for half in halves:
                half.work()
            if time.monotonic() - max(half.worked_s for half in halves) > PATIENCE_S:
                raise Stuck(" / ".join(str(half.look().sign.text) for half in halves))
            views = [half.look() for half in halves]
            are_both_due = all(
                view.phase is Phase.ORDERS and view.board.target is not None for view in views
            )
            if are_both_due and views[0].moment == views[1].moment:
                misread += _lying(south) != _lying(north)
        reason = _difference(south.session, north.session)
    except Stuck as stuck:
        reason = stuck.message
    return report_of(halves, reason, time.perf_counter() - began_s, misread)


def _lying(half: Half) -> dict[Square, str]:
    """What lies on the rendered table."""
    return half.truth() if isinstance(half, PieceHalf) else {}


def _begin(halves: list[Half]) -> None:
    """Both sit down, and the tables agree by a code."""
    south, north = halves
    for half in halves:
        half.sit_down(half.players[half.seat])
        half.simulation.world.set_up({})
    end_s = time.monotonic() + PATIENCE_S
    while not all(half.companion.hub.sentence.startswith("Table ") for half in halves):
        _wait(end_s)
    code = south.companion.hub.offer_game(south.game.name, south.options, Seat.SOUTH, "")
    north.companion.hub.take_game(code, "")
    while any(half.look().phase is Phase.LOBBY for half in halves):
        _wait(end_s)
    for half in halves:
        half.round(3)


def _wait(end_s: float) -> None:
    if time.monotonic() > end_s:
        raise Stuck("The tables do not find each other")
    time.sleep(_LOOK_S)


def _difference(south: Session, north: Session) -> str:
    """What is not the same at both tables, also when all is played again from their journals; empty: nothing."""
    files = [game_file(session) for session in (south, north)]
    if files[0] != files[1] or (south.state, south.tick, south.outcome) != (
        north.state,
        north.tick,
        north.outcome,
    ):
        return "The tables have different games."
    if len(list(play_again(files[0]))) != len(south.turns):
        return "The game cannot be played again."
    return ""
