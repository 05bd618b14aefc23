"""What a table's own inputs take with its hub there, slow, hanging, full and gone: a key → its lamp, orders → screens.

Three tables take turns at every single input in one process: the one at the hub, one without, and a second one without,
which shows how much two equal tables differ in this run: where that is more than the bound, nothing is told.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from nats.aio.client import Client

from bench.hub import BenchTable, HubProcess, p99
from companion.core.kit import SEATS, Seat
from companion.core.ports import PadKey, Press
from companion.hub.subjects import RECORDS, record_subject
from companion.table.listeners import TableListener
from companion.table.session import Phase

INPUTS, PAUSE_S = 100, 0.1
"""So many inputs of each kind at each table while the hub is in one state, with so long between."""
MOST_RATIO = 1.1
BARE = 300
DISK_MB = 96
STOPPED_S, RUNS_S = 0.3, 0.1
"""A slow hub stands still for so long, then runs for so long."""
_LATE_S = 5.0


@dataclass
class TimedTable:
    """A table and its inputs: how long a key takes to its lamp, and orders of a phone to the screens, ms."""

    table: BenchTable
    lamps_ms: list[float] = field(default_factory=list)
    screens_ms: list[float] = field(default_factory=list)
    _seen: threading.Event = field(default_factory=threading.Event)

    def begin(self) -> None:
        """Listen to what lamps and screens are told."""
        self.table.table.connect(TableListener(on_lamps=lambda _lamps, _trouble: self._seen.set()))
        self.table.table.start()

    def play(self) -> None:
        """A turn: South presses a key, then both hand their orders in."""
        table = self.table.table
        moment = self.table.ready()
        self._seen.clear()
        begun_s = time.perf_counter()
        table.press(Press(Seat.SOUTH, PadKey("up"), time.monotonic()))
        if not self._seen.wait(_LATE_S):
            raise RuntimeError("a key lights no lamp")
        self.lamps_ms.append((time.perf_counter() - begun_s) * 1000)
        version = table.version
        begun_s = time.perf_counter()
        for seat in SEATS:
            table.hand_in(seat, moment, "III")
        while table.view().phase is Phase.ORDERS:
            version = table.wait(version, _LATE_S)
        self.screens_ms.append((time.perf_counter() - begun_s) * 1000)

    def forget(self) -> None:
        """Begin to measure anew."""
        self.lamps_ms, self.screens_ms = [], []


def bench_latencies() -> bool:
    """Measure it and print it; answers whether the bound is kept."""
    with tempfile.TemporaryDirectory() as name, _small_disk(Path(name) / "disk") as disk:
        folder = Path(name)
        hub = HubProcess((disk or folder) / "hub")
        member = hub.join("bench")
        alone, again, at_hub = (
            TimedTable(BenchTable(folder / each, member if each == "at-hub" else None))
            for each in ("alone", "again", "at-hub")
        )
        tables = (at_hub, alone, again)
        try:
            bare_ms = asyncio.run(_bare_ms(hub.nats, hub.seed))
            print(
                f"hub: a bare publish, synced: p50 {statistics.median(bare_ms):.2f} ms, p99 {p99(bare_ms):.2f} ms"
            )
            for table in tables:
                table.begin()
            good = _compare("there", tables)
            with _slow(hub):
                good &= _compare("slow", tables)
            hub.signal(signal.SIGSTOP)
            good &= _compare("hanging", tables)
            hub.signal(signal.SIGCONT)
            if disk:
                _fill(disk)
                good &= _compare("full", tables)
            else:
                print("hub full: not measured, only root may mount a small disk", flush=True)
            hub.kill()
            return _compare("gone", tables) and good
        finally:
            hub.kill()
            for table in tables:
                table.table.close()


def _compare(state: str, tables: tuple[TimedTable, ...]) -> bool:
    for table in tables:
        table.forget()
    for number in range(INPUTS):
        place = number % len(tables)
        for table in (*tables[place:], *tables[:place]):
            table.play()
            time.sleep(PAUSE_S)
    good = True
    for what, all_ms in (
        ("a key to its lamp", [table.lamps_ms for table in tables]),
        ("both orders to the screens", [table.screens_ms for table in tables]),
    ):
        at_hub, alone, again = map(statistics.median, all_ms)
        is_told = 1 / MOST_RATIO <= again / alone <= MOST_RATIO
        is_good = is_told and at_hub / alone <= MOST_RATIO
        good &= is_good
        verdict = (
            "ok" if is_good else "TOO SLOW" if is_told else "NOT TOLD: the machine is too busy"
        )
        print(
            f"hub {state}: {what}, p50 {at_hub:.2f} ms ({at_hub / alone:.2f} x a table without a hub, at most "
            f"{MOST_RATIO}; a second one without {again / alone:.2f} x), p99 {p99(all_ms[0]):.2f} ms "
            f"({p99(all_ms[0]) / p99(all_ms[1]):.2f} x, second {p99(all_ms[2]) / p99(all_ms[1]):.2f} x)  {verdict}",
            flush=True,
        )
    return good


async def _bare_ms(url: str, seed: str) -> list[float]:
    client, found = Client(), []
    await client.connect(url, nkeys_seed_str=seed, allow_reconnect=False)
    stream = client.jetstream()
    for _ in range(BARE):
        begun_s = time.perf_counter()
        await stream.publish(record_subject("bare"), bytes(2000))
        found.append((time.perf_counter() - begun_s) * 1000)
    await stream.purge_stream(RECORDS, subject=record_subject("bare"))
    await client.close()
    return found


@contextmanager
def _slow(hub: HubProcess) -> Iterator[None]:
    """The hub and its NATS stand still three quarters of the time meanwhile."""
    over = threading.Event()

    def hold() -> None:
        while not over.wait(RUNS_S):
            hub.signal(signal.SIGSTOP)
            over.wait(STOPPED_S)
            hub.signal(signal.SIGCONT)

    holder = threading.Thread(target=hold)
    holder.start()
    try:
        yield
    finally:
        over.set()
        holder.join()


@contextmanager
def _small_disk(folder: Path) -> Iterator[Path | None]:
    """A disk of its own for the hub; None: only root may mount one."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m", "tmpfs", str(folder)]
    try:
        is_mounted = not subprocess.run(command, capture_output=True, check=False).returncode
    except OSError:
        is_mounted = False
    try:
        yield folder if is_mounted else None
    finally:
        if is_mounted:
            subprocess.run(["umount", "-l", str(folder)], check=True)


def _fill(disk: Path) -> None:
    with (disk / "ballast").open("wb", buffering=0) as ballast, contextlib.suppress(OSError):
        while True:
            ballast.write(bytes(65_536))
