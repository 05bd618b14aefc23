"""A full house at a hub: many tables that all play, and spectators of some of them, each with a page's stream.

Every event is a record of a game with a number of its own in its title, which the page shows. Tables and spectators are
processes of their own.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import re
import selectors
import socket
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import msgspec
from nats.aio.client import Client
from nats.js import JetStreamContext

from bench.bars import HUB_MB, HUB_TO_WATCHER_MS
from bench.hub import BenchTable, HubProcess, p99
from companion.hub.membership import Membership
from companion.hub.subjects import inbox_prefix, record_subject
from companion.storage.outbox import Outbox
from companion.table.public.messages import PublicRecord, encode_public

TABLES, EVENTS_A_SECOND = 200, 5
FOLLOWED, SPECTATORS = 50, 1000
SECONDS = 30.0
_LATE_S = 20.0
"""So long after the last event it may still be on its way."""
_NUMBER = re.compile(rb"No (\d{6})\.")
Sent = dict[tuple[int, int], float]
"""When an event left: by table and number, monotonic seconds."""
Seen = list[list[tuple[int, float]]]
"""What each spectator saw, and when."""


@dataclass(frozen=True)
class RoomSize:
    """How full it is."""

    tables: int = TABLES
    followed: int = FOLLOWED
    spectators: int = SPECTATORS
    seconds: float = SECONDS

    @property
    def events(self) -> int:
        """How many events each table tells."""
        return round(self.seconds * EVENTS_A_SECOND)


@dataclass(frozen=True)
class Arrivals:
    """How late spectators saw events, and what was wrong."""

    late_ms: list[float]
    missing: int
    disordered: int
    kept_ms: list[float]
    """How long each table waited until NATS had kept its event and said so: a round trip."""

    @property
    def is_whole(self) -> bool:
        """Did everybody see everything in order?"""
        return not (self.missing or self.disordered)

    def words(self) -> str:
        """The figures for people."""
        return (
            f"{len(self.late_ms)} events seen, {self.missing} missing, {self.disordered} spectators out of order; "
            f"p50 {statistics.median(self.late_ms):.1f} ms, p99 {p99(self.late_ms):.1f} ms; a table's round trip p50 "
            f"{statistics.median(self.kept_ms):.1f} ms, p99 {p99(self.kept_ms):.1f} ms"
        )


def bench_load(house: RoomSize = RoomSize()) -> bool:
    """Measure it and print it; answers whether every bound is kept."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        records = list(_a_game(folder))
        hub = HubProcess(folder / "hub", "--viewers", "500")
        try:
            members = [hub.join(f"T{n + 1}") for n in range(house.tables)]
            numbers = tuple(member.number for member in members[: house.followed])
            ours = _run(members, records, house, HubFollower(hub.port, numbers))
            used_mb = hub.memory_mb()
        finally:
            hub.kill()
        print(
            f"hub: {house.tables} tables x {EVENTS_A_SECOND} events a second, {house.spectators} spectators of "
            f"{house.followed}: {ours.words()}",
            flush=True,
        )
    late_ms = p99(ours.late_ms)
    is_good = ours.is_whole and late_ms <= HUB_TO_WATCHER_MS.most and used_mb <= HUB_MB.most
    print(
        f"hub: p99 {late_ms:.0f} ms (at most {HUB_TO_WATCHER_MS.most:.0f}); hub with NATS "
        f"{used_mb:.0f} MB (at most {HUB_MB.most:.0f})  {'ok' if is_good else 'NOT GOOD'}",
        flush=True,
    )
    return is_good


def _run(
    members: Sequence[Membership], records: list[PublicRecord], house: RoomSize, by: HubFollower
) -> Arrivals:
    """Spectators come, tables play, and everybody is asked what was seen."""
    context = multiprocessing.get_context("spawn")
    crowd_end, crowd_line = context.Pipe()
    tables_end, tables_line = context.Pipe()
    crowd = context.Process(target=_watch, args=(crowd_line, by, house))
    tables = context.Process(target=_play, args=(tables_line, members, records, house))
    try:
        crowd.start()
        crowd_end.recv()  # everybody follows
        tables.start()
        crowd_end.recv()  # everybody has seen the first event
        tables_end.send(None)
        told: tuple[Sent, list[float]] = tables_end.recv()
        crowd_end.send(house.events)
        seen: Seen = crowd_end.recv()
    finally:
        for process in (crowd, tables):
            if process.pid:
                process.terminate()
                process.join()
    (sent, kept_ms), late_ms, missing, disordered = told, list[float](), 0, 0
    for spectator, arrivals in enumerate(seen):
        table = spectator % house.followed
        numbers = [number for number, _ in arrivals if number]
        disordered += numbers != sorted(numbers)
        missing += house.events - len(set(numbers))
        late_ms += [(at_s - sent[table, number]) * 1000 for number, at_s in arrivals if number]
    return Arrivals(late_ms, missing, disordered, kept_ms)


def _a_game(folder: Path) -> Iterator[PublicRecord]:
    """The records of some turns."""
    table = BenchTable(folder / "table", None)
    try:
        for _ in range(6):
            table.step()
        outbox = Outbox(table.journal)
        outbox.seek(0)
        while record := outbox.next():
            if record.view.game:
                yield record
            outbox.sent()
    finally:
        table.close()


# ---- the tables' process ---------------------------------------------------------------------------------------------


def _play(
    line: Connection, members: list[Membership], records: list[PublicRecord], house: RoomSize
) -> None:
    asyncio.run(_all_play(line, members, records, house))


async def _all_play(
    line: Connection, members: list[Membership], records: list[PublicRecord], house: RoomSize
) -> None:
    streams = [await _connected(member) for member in members]
    await asyncio.gather(
        *(
            _tell(stream, member, records, 0)
            for stream, member in zip(streams, members, strict=True)
        )
    )
    await asyncio.to_thread(line.recv)
    sent, kept_ms = Sent(), list[float]()
    begun_s = time.monotonic() + 0.5

    async def play(table: int) -> None:
        for number in range(1, house.events + 1):
            due_s = begun_s + (number - 1 + table / len(members)) / EVENTS_A_SECOND
            await asyncio.sleep(max(0.0, due_s - time.monotonic()))
            sent[table, number] = time.monotonic()
            await _tell(streams[table], members[table], records, number)
            kept_ms.append((time.monotonic() - sent[table, number]) * 1000)

    await asyncio.gather(*(play(table) for table in range(len(members))))
    line.send((sent, kept_ms))


async def _connected(member: Membership) -> JetStreamContext:
    client = Client()
    await client.connect(
        list(member.servers), nkeys_seed_str=member.seed, inbox_prefix=inbox_prefix(member.table)
    )
    return client.jetstream(timeout=30)


async def _tell(
    stream: JetStreamContext, member: Membership, records: list[PublicRecord], number: int
) -> None:
    """One event, kept and synced when this ends."""
    record = records[number % len(records)]
    view = msgspec.structs.replace(record.view, title=f"No {number:06d}.")
    event = msgspec.structs.replace(record, entry=number + 1, mark=f"{number:012x}", view=view)
    await stream.publish(record_subject(member.table), encode_public(event))


# ---- the spectators' process -----------------------------------------------------------------------------------------


def _watch(line: Connection, by: HubFollower, house: RoomSize) -> None:
    """Everybody follows a table, in turn; answers what each saw and when."""
    seen: Seen = [[] for _ in range(house.spectators)]
    rests = [b""] * house.spectators
    with selectors.DefaultSelector() as waiting:
        for spectator in range(house.spectators):
            each = by.follow(spectator)
            each.setblocking(False)
            waiting.register(each, selectors.EVENT_READ, spectator)
        line.send(None)
        last, until_s, is_ready = 0, float("inf"), False
        while time.monotonic() < until_s:
            for key, _ in waiting.select(0.1):
                data, spectator = key.fileobj.recv(262_144), key.data  # type: ignore[union-attr]  # a socket
                if not data:
                    waiting.unregister(key.fileobj)
                    continue
                now_s, text = time.monotonic(), rests[spectator] + data
                found = [int(number) for number in _NUMBER.findall(text)]
                rests[spectator] = text[-12:]
                known = seen[spectator][-1][0] if seen[spectator] else -1
                for number in found:
                    if number != known:
                        seen[spectator].append((number, now_s))
                        known = number
            if not is_ready and all(seen):
                is_ready = True
                line.send(None)
            if is_ready and line.poll():
                last, until_s = line.recv(), time.monotonic() + _LATE_S
            if last and all(each and each[-1][0] >= last for each in seen):
                break
    line.send(seen)


@dataclass(frozen=True)
class HubFollower:
    """By a page's stream at the hub."""

    port: int
    numbers: tuple[int, ...]

    def follow(self, spectator: int) -> socket.socket:
        """Ask for the stream of a table; its page comes at once."""
        number = self.numbers[spectator % len(self.numbers)]
        opened = socket.create_connection(("127.0.0.1", self.port))
        opened.sendall(
            f"GET /live/watch/{number} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n\r\n".encode()
        )
        return opened
