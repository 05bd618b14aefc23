"""A full house at a hub: many tables that all play, and spectators of some of them, each with a page's stream.

Every event is a record of a game with a number of its own in its title, which the page shows. Tables and spectators are
processes of their own. The peer is a bare publish to the same NATS under the same load, synced and answered, by a
process that does nothing else.
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
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from nats.aio.client import Client
from nats.js import JetStreamContext

from companion.hub.joining import join
from companion.hub.membership import Membership
from companion.hub.subjects import inbox_prefix, record_subject
from companion.storage.outbox import Outbox
from companion.table.public.messages import PublicRecord, encoded
from companion.tools.bench.hub import BenchTable, HubProcess, p99

TABLES, EVENTS_A_SECOND = 200, 5
FOLLOWED, SPECTATORS = 50, 1000
SECONDS = 30.0
MOST_RATIO, MOST_MB = 5.0, 300.0
_LATE_S = 20.0
"""So long after the last event it may still be on its way."""
_BARE_S = 0.1
_NUMBER = re.compile(rb"No (\d{6})\.")
Sent = dict[tuple[int, int], float]
"""When an event left: by table and number, monotonic seconds."""


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


def bench_load(house: RoomSize = RoomSize()) -> bool:
    """Measure it and print it; answers whether every bound is kept."""
    with tempfile.TemporaryDirectory() as folder:
        hub = HubProcess(Path(folder) / "hub", "--viewers", "500")
        try:
            return _measure(Path(folder), hub, house)
        finally:
            hub.kill()


def _measure(folder: Path, hub: HubProcess, house: RoomSize) -> bool:
    members = [join(f"127.0.0.1:{hub.port}", hub.code, f"T{n + 1}", names=False) for n in range(house.tables)]
    records = list(_a_game(folder))
    context = multiprocessing.get_context("spawn")
    crowd_end, crowd_line = context.Pipe()
    tables_end, tables_line = context.Pipe()
    numbers = [member.number for member in members[: house.followed]]
    crowd = context.Process(target=_watch, args=(crowd_line, hub.port, numbers, house))
    tables = context.Process(target=_play, args=(tables_line, members, records, house))
    crowd.start()
    tables.start()
    try:
        tables_end.recv()  # all are connected, and everybody has told one event
        crowd_end.recv()  # everybody has seen it
        tables_end.send(None)
        bare_ms = asyncio.run(_bare_until(tables_end.poll, hub))
        sent = tables_end.recv()
        crowd_end.send(house.events)
        seen = crowd_end.recv()
        used_mb = hub.memory_mb()
    finally:
        for process in (crowd, tables):
            process.terminate()
            process.join()
    return _verdict(house, sent, seen, bare_ms, used_mb)


def _verdict(
    house: RoomSize, sent: Sent, seen: list[list[tuple[int, float]]], bare_ms: list[float], used_mb: float
) -> bool:
    late_ms, missing, disordered = list[float](), 0, 0
    for spectator, arrivals in enumerate(seen):
        table = spectator % house.followed
        numbers = [number for number, _ in arrivals if number]
        disordered += numbers != sorted(numbers)
        missing += house.events - len(set(numbers))
        late_ms += [(at_s - sent[table, number]) * 1000 for number, at_s in arrivals if number]
    ratio, bare = p99(late_ms) / p99(bare_ms), p99(bare_ms)
    is_good = not missing and not disordered and ratio <= MOST_RATIO and used_mb <= MOST_MB
    print(
        f"hub: {house.tables} tables x {EVENTS_A_SECOND} events a second, {house.spectators} spectators of "
        f"{house.followed}: {len(late_ms)} events seen, {missing} missing, {disordered} spectators out of order; "
        f"event -> spectator p50 {statistics.median(late_ms):.0f} ms, p99 {p99(late_ms):.0f} ms ({ratio:.1f} x a bare "
        f"publish, p50 {statistics.median(bare_ms):.1f} ms, p99 {bare:.1f} ms; at most {MOST_RATIO:.0f}); "
        f"hub with NATS {used_mb:.0f} MB (at most {MOST_MB:.0f})  {'ok' if is_good else 'NOT GOOD'}",
        flush=True,
    )
    return is_good


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


async def _bare_until(is_over: Callable[[], bool], hub: HubProcess) -> list[float]:
    client, found = Client(), list[float]()
    await client.connect(hub.nats, nkeys_seed_str=hub.seed)
    stream = client.jetstream(timeout=30)
    while not is_over():
        begun_s = time.monotonic()
        await stream.publish(record_subject("bare"), bytes(2000))
        found.append((time.monotonic() - begun_s) * 1000)
        await asyncio.sleep(_BARE_S)
    await client.close()
    return found


# ---- the tables' process ---------------------------------------------------------------------------------------------


def _play(line: Any, members: list[Membership], records: list[PublicRecord], house: RoomSize) -> None:
    asyncio.run(_all_play(line, members, records, house))


async def _all_play(line: Any, members: list[Membership], records: list[PublicRecord], house: RoomSize) -> None:
    streams = [await _connected(member) for member in members]
    await asyncio.gather(*(_tell(stream, member, records, 0) for stream, member in zip(streams, members, strict=True)))
    line.send(None)
    await asyncio.to_thread(line.recv)
    sent = Sent()
    begun_s = time.monotonic() + 0.5

    async def play(table: int) -> None:
        for number in range(1, house.events + 1):
            due_s = begun_s + (number - 1 + table / len(members)) / EVENTS_A_SECOND
            await asyncio.sleep(max(0.0, due_s - time.monotonic()))
            sent[table, number] = time.monotonic()
            await _tell(streams[table], members[table], records, number)

    await asyncio.gather(*(play(table) for table in range(len(members))))
    line.send(sent)


async def _connected(member: Membership) -> JetStreamContext:
    client = Client()
    await client.connect(list(member.servers), nkeys_seed_str=member.seed, inbox_prefix=inbox_prefix(member.table))
    return client.jetstream(timeout=30)


async def _tell(stream: JetStreamContext, member: Membership, records: list[PublicRecord], number: int) -> None:
    """One event, kept and synced when this ends."""
    record = records[number % len(records)]
    view = msgspec.structs.replace(record.view, title=f"No {number:06d}.")
    event = msgspec.structs.replace(record, entry=number + 1, mark=f"{number:016x}", view=view)
    await stream.publish(record_subject(member.table), encoded(event))


# ---- the spectators' process -----------------------------------------------------------------------------------------


def _watch(line: Any, port: int, numbers: list[int], house: RoomSize) -> None:
    """Everybody follows a table, in turn; answers what each saw and when."""
    seen: list[list[tuple[int, float]]] = [[] for _ in range(house.spectators)]
    rests = [b""] * house.spectators
    with selectors.DefaultSelector() as waiting:
        for spectator in range(house.spectators):
            waiting.register(_follow(port, numbers[spectator % len(numbers)]), selectors.EVENT_READ, spectator)
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


def _follow(port: int, number: int) -> socket.socket:
    spectator = socket.create_connection(("127.0.0.1", port))
    spectator.sendall(f"GET /live/watch/{number} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
    spectator.setblocking(False)
    return spectator
