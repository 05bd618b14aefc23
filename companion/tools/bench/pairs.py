"""One game at two tables while everything is killed: either table, the hub, its NATS, and the line between.

Each table is a process that plays at random; the hub is `companion hub`. In the end both journals must have the same
game, with every order once, and none that was heard before the own one was sealed.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random

from companion.archive.replay import game_file, play_again
from companion.core.clock import RealClock
from companion.core.config import TableSettings
from companion.core.errors import CompanionError, JournalInUse
from companion.core.kit import SEATS, Seat
from companion.hub.adapter import HubAdapter
from companion.hub.joining import join
from companion.hub.membership import read_membership, write_membership
from companion.storage.journal import Journal
from companion.table.records import HandIn, RemoteSaid
from companion.table.remote.messages import OrderOpened
from companion.table.seats.staff_call import StaffBell
from companion.table.session import Phase, Session
from companion.table.table import Table
from companion.tools.bench.hub import HubProcess

GAMES = ("outbuffered", "arena", "scouts", "kahmate")
PAUSE_S = (0.2, 1.5)
CUT_S = 0.4
"""So long the line hangs: NATS is stopped and goes on."""
TURN_S = 0.01
_WAIT_S = 120.0
_MEMBER = "hub.json"


class PairTable:
    """A table on the real clock, and its line to the hub that it has joined."""

    def __init__(self, folder: Path) -> None:
        member = read_membership(folder / _MEMBER)
        if member is None:
            raise RuntimeError(f"{folder} has joined no hub")
        clock = RealClock()
        self.journal = Journal(folder / "journal.sqlite")
        self.table = Table(self.journal, clock, TableSettings(reading_time_s=0.0))
        self.line = HubAdapter(member, self.table, self.journal, clock, bell=StaffBell(clock), health=str)
        self.table.start()
        self.line.start()

    def act(self, seat: Seat, rng: Random) -> bool:
        """Do what may be done now; answers whether the game is over."""
        view, table = self.table.view(), self.table
        match view.phase:
            case Phase.OVER:
                return True
            case Phase.SETUP | Phase.STAGES:
                table.confirm("host", view.moment, view.turn.stage, force=True)
            case Phase.ORDERS if view.seats[seat].awaited:
                if view.time.clock and view.time.clock.paused:
                    table.resume("host")
                session = self.journal.fold(int(view.moment.partition(".")[0]))
                game = session.playing
                table.hand_in(seat, view.moment, game.format(game.random_action(session.state, seat, rng)))
        return False

    def close(self) -> None:
        """End line, table and journal."""
        self.line.close()
        self.table.close()
        self.journal.close()


def play(folder: Path, seat: Seat) -> None:
    """What a table's process does: plays to the end and says so, and tells what is left until it is ended."""
    while True:
        try:
            table = PairTable(folder)
            break
        except JournalInUse:  # the one that was killed
            time.sleep(TURN_S)
    rng = Random(os.getpid())
    while True:
        with suppress(CompanionError):  # the other table was quicker
            if table.act(seat, rng):
                break
        time.sleep(TURN_S)
    print("over", flush=True)
    while True:
        time.sleep(1)


class _TableProcess:
    """The process of a table; it may be killed and started anew."""

    def __init__(self, folder: Path, seat: Seat) -> None:
        self.folder, self.seat = folder, seat
        self.start()

    def start(self) -> None:
        words = [sys.executable, "-m", "companion.tools.bench.pairs", str(self.folder), str(self.seat)]
        self._process = subprocess.Popen(words, stdout=subprocess.PIPE)
        if self._process.stdout:
            os.set_blocking(self._process.stdout.fileno(), False)

    @property
    def is_over(self) -> bool:
        """Has it played to the end?"""
        if self._process.poll() is not None:
            raise RuntimeError(f"the table of {self.seat} has ended: {self._process.returncode}")
        return bool(self._process.stdout and self._process.stdout.read())

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()


def bench_pairs(kills: int) -> bool:
    """Whole games, one after the other, until so many SIGKILLs were survived; answers whether all is well."""
    rng, left, games, good = Random(7), kills, 0, True
    with tempfile.TemporaryDirectory() as named:
        folder = Path(named)
        hub = HubProcess(folder / "hub")
        try:
            for seat in SEATS:
                (folder / seat).mkdir()
                member = join(f"127.0.0.1:{hub.port}", hub.code, str(seat), names=False)
                write_membership(folder / seat / _MEMBER, member)
            while left > 0 or games < len(GAMES):
                game = GAMES[games % len(GAMES)]
                _agree(folder, game)
                done = _play(folder, hub, rng, min(left, -(-kills // len(GAMES))))
                left -= done
                games += 1
                found = _faults(folder)
                good &= not found
                print(f"pairs: {game}, {done} SIGKILLs: {found or 'the same at both tables'}", flush=True)
        finally:
            hub.kill()
    is_good = good and left <= 0
    print(
        f"pairs: {games} games at two tables, {kills - left} SIGKILLs of tables, hub and NATS: "
        f"{'no order lost, doubled or seen early  ok' if is_good else 'NOT GOOD'}",
        flush=True,
    )
    return is_good


def _agree(folder: Path, game: str) -> None:
    """Both tables begin a game; nothing is killed meanwhile."""
    south, north = (PairTable(folder / seat) for seat in SEATS)
    try:
        _until(lambda: south.line.is_connected and north.line.is_connected)
        north.line.pairs.take(south.line.pairs.offer(game, {}, Seat.SOUTH, ""), "")
        _until(lambda: Phase.OVER not in {each.table.view().phase for each in (south, north)})
    finally:
        south.close()
        north.close()


def _play(folder: Path, hub: HubProcess, rng: Random, most: int) -> int:
    """One game to its end, with at most so many kills; answers how many there were."""
    tables, done = [_TableProcess(folder / seat, seat) for seat in SEATS], 0
    over: set[Seat] = set()
    end_s = time.monotonic() + _WAIT_S
    try:
        while len(over) < len(SEATS):
            time.sleep(rng.uniform(*PAUSE_S))
            over |= {each.seat for each in tables if each.is_over}
            if len(over) == len(SEATS):
                break
            if done < most:
                done += _break(rng, hub, tables)
                over.clear()
                end_s = time.monotonic() + _WAIT_S
            if time.monotonic() > end_s:
                raise RuntimeError("the game does not end")
        return done
    finally:
        for table in tables:
            table.kill()


def _break(rng: Random, hub: HubProcess, tables: list[_TableProcess]) -> int:
    """Kill one or several things at once, or let the line hang; answers how many were killed."""
    match rng.randrange(10):
        case 0:
            hub.kill()
            hub.start()
            return 1
        case 1:
            hub.kill_nats()
            return 1
        case 2:
            hub.signal(signal.SIGSTOP)
            time.sleep(CUT_S)
            hub.signal(signal.SIGCONT)
            return 0
        case 3:
            gone = tables
        case _:
            gone = [rng.choice(tables)]
    for table in gone:
        table.kill()
    for table in gone:
        table.start()
    return len(gone)


def _faults(folder: Path) -> str:
    """What is not as it should be in the journals; empty: nothing."""
    sessions: list[Session] = []
    for seat in SEATS:
        with Journal(folder / seat / "journal.sqlite") as journal:
            number = journal.games()[-1]
            sessions.append(journal.fold(number))
            sealed: set[str] = set()
            for entry in journal.entries(number):
                record = entry.record
                if isinstance(record, HandIn):
                    sealed.add(record.moment)
                elif isinstance(record, RemoteSaid) and isinstance(record.message, OrderOpened):
                    moment = f"{number}.{record.message.tick}"
                    turn = next((turn for turn in sessions[-1].turns if turn.moment == moment), None)
                    if turn is not None and len(turn.sealed) == len(SEATS) and moment not in sealed:
                        return f"{seat} heard an order of {moment} before its own was sealed"
    south, north = sessions
    files = [game_file(session) for session in sessions]
    moments = [turn.moment for turn in south.turns]
    if files[0] != files[1] or south.state != north.state or south.tick != north.tick:
        return "the tables have different games"
    if len(set(moments)) != len(moments) or len(list(play_again(files[0]))) != len(moments):
        return "a turn is there twice, or is missing"
    return ""


def _until(is_so: Callable[[], bool]) -> None:
    """Wait until it is so."""
    end_s = time.monotonic() + _WAIT_S
    while not is_so():
        if time.monotonic() > end_s:
            raise RuntimeError("the tables do not agree on a game")
        time.sleep(TURN_S)


if __name__ == "__main__":
    play(Path(sys.argv[1]), Seat(sys.argv[2]))
