"""A hub and its tables as processes and on the real clock; and kills of hub and NATS while a table plays."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random

from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js.errors import NotFoundError

from companion.core.clock import RealClock
from companion.core.config import TableSettings
from companion.core.errors import Stale
from companion.core.kit import SEATS
from companion.core.network import host_key_text
from companion.games import GAMES
from companion.hub.adapter import HubAdapter
from companion.hub.joining import join
from companion.hub.membership import Membership
from companion.hub.subjects import RECORDS, record_subject
from companion.hub_server.folder import HubFolder
from companion.league.league_file import LeagueFile
from companion.league.results import GameFollowed, follow
from companion.storage.journal import Journal
from companion.storage.outbox import Outbox
from companion.table.public.messages import read_record
from companion.table.seats.staff_call import StaffBell
from companion.table.session import Phase
from companion.table.table import Table

HUB_KILLS, NATS_SHARE = 100, 5
"""So often the hub is killed; of five kills there is one more of its NATS alone."""
_WAIT_S = 60.0


class BenchTable:
    """A table on the real clock that plays by itself, and its line to a hub where it has joined one."""

    def __init__(self, folder: Path, member: Membership | None, seed: int = 1) -> None:
        folder.mkdir(exist_ok=True)
        clock = RealClock()
        self.member = member
        self.journal = Journal(folder / "journal.sqlite")
        self.table = Table(self.journal, clock, TableSettings(reading_time_s=0.0))
        self.line: HubAdapter | None = None
        self._rng = Random(seed)
        if member:
            bell = StaffBell(clock)
            self.line = HubAdapter(member, self.table, self.journal, clock, bell=bell, health=str)
            self.line.start()

    def step(self) -> None:
        """One turn of the first game."""
        moment = self.ready()
        for seat in SEATS:
            self.table.hand_in(seat, moment, "III")

    def ready(self) -> str:
        """The moment of the next turn, in a new game where the last one is over; hands have followed."""
        table, game = self.table, next(iter(GAMES.values()))
        while (view := table.view()).phase is not Phase.ORDERS:
            if view.phase in (Phase.LOBBY, Phase.OVER):
                table.new_game(game.name, {}, seed=self._rng.randrange(1 << 30))
            else:
                with suppress(Stale):  # its own thread was quicker
                    table.confirm("host", view.moment, view.turn.stage, force=True)
        return view.moment

    def entries(self) -> list[int]:
        """All inputs that a hub is to be told."""
        start = self.member.start if self.member else 0
        return [entry.id for entry in self.journal.entries() if entry.id > start]

    def close(self) -> None:
        """End line, table and journal."""
        if self.line:
            self.line.close()
        self.table.close()
        self.journal.close()


def bench_kills(hub_kills: int = HUB_KILLS) -> bool:
    """Kill hub and NATS while a table plays, and print it; answers whether everything was there once."""
    with tempfile.TemporaryDirectory() as folder:
        return _kills(Path(folder), hub_kills, hub_kills // NATS_SHARE)


# ---- kills -----------------------------------------------------------------------------------------------------------


class HubProcess:
    """`companion hub` as a process; its address stays the same over kills."""

    def __init__(self, folder: Path, *more: str) -> None:
        self.folder, self.port, self.nats_port = folder, free_port(), free_port()
        self._more = more
        self.start()

    def start(self) -> None:
        """Start it, and wait until it answers; another program may have its port for a moment."""
        end_s = time.monotonic() + _WAIT_S
        while "Ctrl-C" not in (told := self._begin()):
            if "is in use" not in told or time.monotonic() > end_s:
                raise RuntimeError(f"the hub does not start: {told}")
            time.sleep(0.5)

    def join(self, name: str) -> Membership:
        """A table joins and is let in."""
        member = join(f"127.0.0.1:{self.port}", self.new_code(), name, names=False)
        self.let_in(member.number)
        return member

    def new_code(self) -> str:
        """A code, which is good for one table."""
        return str(self._ask("new-code", {})["code"])

    def let_in(self, number: int) -> None:
        """The host lets a table in."""
        self._ask("let-in", {"number": number})

    def _ask(self, door: str, body: dict[str, object]) -> dict[str, object]:
        """What the hub answers to its host."""
        key = host_key_text(HubFolder(self.folder).now.host_key)
        asked = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/api/hub/{door}",
            json.dumps(body).encode(),
            {"Content-Type": "application/json", "X-Host-Key": key},
        )
        with urllib.request.urlopen(asked, timeout=_WAIT_S) as answer:
            told: dict[str, object] = json.load(answer)
        return told

    def _begin(self) -> str:
        """Start it once; answers what it has said until it answers, or ends."""
        words = [
            "--folder",
            str(self.folder),
            "--host",
            "127.0.0.1",
            "--keep-mb",
            "64",
            *self._more,
        ]
        ports = ["--port", str(self.port), "--nats-port", str(self.nats_port)]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "companion", "hub", *words, *ports],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        told, out = "", self._process.stdout
        while out and "Ctrl-C" not in told and (line := out.readline()):
            told += line
        if "Ctrl-C" not in told:
            self.kill()
        return told

    @property
    def nats(self) -> str:
        """Where its NATS is."""
        return f"nats://127.0.0.1:{self.nats_port}"

    @property
    def seed(self) -> str:
        """Its own NKey."""
        return HubFolder(self.folder).now.seed

    def memory_mb(self) -> float:
        """What it and its NATS hold, MB."""
        told = (
            Path(f"/proc/{each}/status").read_text()
            for each in (self._process.pid, *self._children())
        )
        return sum(int(re.findall(r"VmRSS:\s+(\d+)", text)[0]) for text in told) / 1000

    def kill(self) -> None:
        """SIGKILL of the hub: its NATS dies with it. May be called twice."""
        self._process.kill()
        self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()

    def kill_nats(self) -> None:
        """SIGKILL of its NATS alone."""
        for child in self._children():
            os.kill(child, signal.SIGKILL)

    def signal(self, number: signal.Signals) -> None:
        """Stop both, or let them go on."""
        for each in (self._process.pid, *self._children()):
            os.kill(each, number)

    def _children(self) -> list[int]:
        tasks = Path(f"/proc/{self._process.pid}/task").iterdir()
        return [int(each) for task in tasks for each in (task / "children").read_text().split()]


def _kills(folder: Path, hub_kills: int, nats_kills: int) -> bool:
    """A table plays without a pause; hub and NATS are killed at random moments. Then everything is there once."""
    hub, rng = HubProcess(folder / "hub"), Random(2)
    member = hub.join("bench")
    table = BenchTable(folder / "table", member)
    moments = ["hub"] * hub_kills + ["nats"] * nats_kills
    rng.shuffle(moments)
    try:
        with _playing(table):
            for what in moments:
                time.sleep(rng.uniform(0.05, 0.6))
                if what == "nats":
                    hub.kill_nats()
                else:
                    hub.kill()
                    hub.start()
        entries = table.entries()
        kept = _kept_by_then(hub, member.table, entries)
        results_good = _results(hub, table)
    finally:
        table.close()
        hub.kill()
    is_good = kept == entries[-len(kept) :] and bool(kept) and kept[-1] == entries[-1]
    print(
        f"hub: {hub_kills} SIGKILLs of the hub and {nats_kills} of NATS while {len(entries)} inputs were made: "
        f"{len(kept)} kept, {len(kept) - len(set(kept))} twice, "
        f"{len(set(entries[-len(kept) :]) - set(kept))} missing, in order: {kept == sorted(kept)}  "
        f"{'ok' if is_good else 'NOT GOOD'}",
        flush=True,
    )
    return is_good and results_good


def _results(hub: HubProcess, table: BenchTable) -> bool:
    """Is every result of the table's journal at the hub once, and no other?"""
    wanted = sorted(results_told(table))
    found: list[tuple[str, str]] = []
    end_s = time.monotonic() + _WAIT_S
    while len(found) < len(wanted) and time.monotonic() < end_s:
        time.sleep(1)
        file = LeagueFile(hub.folder)
        found = sorted(
            (kept.result.key, str(kept.result.winner)) for kept in file.results(len(wanted) + 100)
        )
        file.close()
    is_good = found == wanted
    print(
        f"hub: {len(wanted)} results of games, {len(found)} at the hub  {'ok' if is_good else 'NOT GOOD'}",
        flush=True,
    )
    return is_good


def results_told(table: BenchTable) -> list[tuple[str, str]]:
    """Every game of a table's journal that has a result: what names it, and who won."""
    found, followed, outbox = [], GameFollowed(), Outbox(table.journal)
    outbox.seek(0)
    while record := outbox.next():
        followed, change = follow("", followed, record, 0.0)
        found += [(each.key, str(each.winner)) for each in (change.come,) if each]
        outbox.sent()
    return found


@contextmanager
def _playing(table: BenchTable) -> Iterator[None]:
    """The table plays meanwhile, some ten turns a second; somebody gives up every second."""
    over = threading.Event()

    def play() -> None:
        turns = 0
        while not over.wait(0.1):
            table.step()
            turns += 1
            if turns % 10 == 0 and table.table.view().phase is not Phase.OVER:
                table.table.resign(SEATS[turns // 10 % 2])

    player = threading.Thread(target=play)
    player.start()
    try:
        yield
    finally:
        over.set()
        player.join()


def _kept_by_then(hub: HubProcess, table: str, entries: list[int]) -> list[int]:
    """What the store has of a table once it has the last input, or once nothing new has come for a minute."""
    last, since_s = 0, time.monotonic()
    while last != entries[-1] and time.monotonic() - since_s < _WAIT_S:
        time.sleep(1)
        newest = _patiently(lambda: asyncio.run(_kept(hub.nats, table, hub.seed, last_alone=True)))
        if newest and newest[0] != last:
            last, since_s = newest[0], time.monotonic()
    return _patiently(lambda: asyncio.run(_kept(hub.nats, table, hub.seed)))


def _patiently(ask: Callable[[], list[int]]) -> list[int]:
    """What is answered; nothing while NATS has just been killed."""
    try:
        return ask()
    except (OSError, TimeoutError, NatsError):
        return []


async def _kept(url: str, table: str, seed: str, *, last_alone: bool = False) -> list[int]:
    client, found, place, subject = Client(), [], 1, record_subject(table)
    await client.connect(url, nkeys_seed_str=seed, allow_reconnect=False, max_reconnect_attempts=1)
    try:
        stream = client.jetstream()
        if last_alone:
            message = await stream.get_msg(RECORDS, subject=subject, direct=True)
            return [read_record(message.data or b"").entry]
        while True:
            message = await stream.get_msg(
                RECORDS, seq=place, subject=subject, next=True, direct=True
            )
            place = (message.seq or 0) + 1
            found.append(read_record(message.data or b"").entry)
    except NotFoundError:
        return found
    finally:
        await client.close()


def p99(times_ms: list[float]) -> float:
    """What one in a hundred exceeds."""
    return sorted(times_ms)[int(0.99 * len(times_ms))]


def free_port() -> int:
    """A port that nobody uses now."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])
