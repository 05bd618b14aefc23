"""A hub under full load: many tables that all play, and spectators of some, each with the stream of
a page.

Every event is a record of a game. Its title has a number, which the page shows. Tables and
spectators run in processes of their own.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import re
import selectors
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import msgspec
from hub_room import played_records
from nats.aio.client import Client
from nats.js import JetStreamContext

from bench.bars import HUB_MB, HUB_TO_WATCHER_MS
from bench.hub import HubProcess
from bench.processes import memory_mb
from bench.visitors import follow
from companion.hub.membership import Membership
from companion.hub.subjects import inbox_prefix, record_subject
from companion.table.public.messages import PublicRecord, encode_public

TABLES, EVENTS_A_SECOND = 200, 5
FOLLOWED, SPECTATORS = 50, 1000
SECONDS = 30.0
# Time after the last event during which more may be on its way, in seconds.
_MAX_DELAY_S = 20.0
_NUMBER = re.compile(rb"No (\d{6})\.")
# When each event was sent, in monotonic seconds, by table and number.
SendTimes = dict[tuple[int, int], float]
# What each spectator has seen, and when.
SightingTimes = list[list[tuple[int, float]]]
# The hub's port, and the numbers of the tables that are followed.
HubPages = tuple[int, Sequence[int]]


@dataclass(frozen=True)
class RoomSize:
    """How full the hub is."""

    tables: int = TABLES
    followed: int = FOLLOWED
    spectators: int = SPECTATORS
    seconds: float = SECONDS

    @property
    def events(self) -> int:
        """Number of events of each table."""
        return round(self.seconds * EVENTS_A_SECOND)


def bench_load(size: RoomSize = RoomSize()) -> bool:
    """Measure the load, print the figures, and return whether every bar is kept."""
    with tempfile.TemporaryDirectory() as name:
        records = [one for one in played_records("outbuffered", 6, 1) if one.view.game]
        hub = HubProcess(Path(name) / "hub")
        try:
            members = [hub.join(f"T{n + 1}") for n in range(size.tables)]
            numbers = tuple(member.number for member in members[: size.followed])
            sent, seen = _measure(members, records, size, (hub.port, numbers))
            used_mb = memory_mb(hub.pid)
        finally:
            hub.kill()
    late_ms, missing, disordered = list[float](), 0, 0
    for spectator, arrivals in enumerate(seen):
        table = spectator % size.followed
        numbered = [(number, at_s) for number, at_s in arrivals if number]
        disordered += numbered != sorted(numbered)
        missing += size.events - len(dict(numbered))
        late_ms += [(at_s - sent[table, number]) * 1000 for number, at_s in numbered]
    is_whole = not (missing or disordered)
    print(
        f"hub: {size.tables} tables x {EVENTS_A_SECOND} events a second, "
        f"{size.spectators} spectators: {len(late_ms)} events seen, {missing} missing, "
        f"{disordered} spectators out of order  "
        f"{'ok' if is_whole else 'NOT GOOD'}",
        flush=True,
    )
    good = HUB_TO_WATCHER_MS.judge(late_ms)
    return HUB_MB.judge([used_mb]) and good and is_whole


def _measure(
    members: Sequence[Membership], records: list[PublicRecord], size: RoomSize, pages: HubPages
) -> tuple[SendTimes, SightingTimes]:
    """Let spectators come and tables play. Return when events were sent and when they were seen."""
    context = multiprocessing.get_context("spawn")
    crowd_end, crowd_line = context.Pipe()
    tables_end, tables_line = context.Pipe()
    crowd = context.Process(target=_run_spectators, args=(crowd_line, pages, size))
    tables = context.Process(target=_run_tables, args=(tables_line, members, records, size))
    try:
        crowd.start()
        crowd_end.recv()  # everybody follows
        tables.start()
        crowd_end.recv()  # everybody has seen the first event
        tables_end.send(None)
        sent: SendTimes = tables_end.recv()
        crowd_end.send(size.events)
        seen: SightingTimes = crowd_end.recv()
    finally:
        for process in (crowd, tables):
            if process.pid:
                process.terminate()
                process.join()
    return sent, seen


# ---- the tables' process -------------------------------------------------------------------------


def _run_tables(
    line: Connection, members: list[Membership], records: list[PublicRecord], size: RoomSize
) -> None:
    asyncio.run(_all_play(line, members, records, size))


async def _all_play(
    line: Connection, members: list[Membership], records: list[PublicRecord], size: RoomSize
) -> None:
    streams = [await _connect(member) for member in members]
    await asyncio.gather(
        *(
            _publish(stream, member, records, 0)
            for stream, member in zip(streams, members, strict=True)
        )
    )
    await asyncio.to_thread(line.recv)
    sent = SendTimes()
    begun_s = time.monotonic() + 0.5

    async def play(table: int) -> None:
        for number in range(1, size.events + 1):
            due_s = begun_s + (number - 1 + table / len(members)) / EVENTS_A_SECOND
            await asyncio.sleep(max(0.0, due_s - time.monotonic()))
            sent[table, number] = time.monotonic()
            await _publish(streams[table], members[table], records, number)

    await asyncio.gather(*(play(table) for table in range(len(members))))
    line.send(sent)


async def _connect(member: Membership) -> JetStreamContext:
    client = Client()
    await client.connect(
        list(member.servers), nkeys_seed_str=member.seed, inbox_prefix=inbox_prefix(member.table_id)
    )
    return client.jetstream(timeout=30)


async def _publish(
    stream: JetStreamContext, member: Membership, records: list[PublicRecord], number: int
) -> None:
    """Publish an event. When this returns, the hub's NATS server has stored it."""
    record = records[number % len(records)]
    view = msgspec.structs.replace(record.view, title=f"No {number:06d}.")
    event = msgspec.structs.replace(record, entry=number + 1, mark=f"{number:012x}", view=view)
    await stream.publish(record_subject(member.table_id), encode_public(event))


# ---- the spectators' process ---------------------------------------------------------------------


def _run_spectators(line: Connection, pages: HubPages, size: RoomSize) -> None:
    """Follow the tables with all spectators, evenly spread. Send what each saw, and when."""
    seen: SightingTimes = [[] for _ in range(size.spectators)]
    tails = [b""] * size.spectators
    with selectors.DefaultSelector() as waiting:
        for spectator in range(size.spectators):
            port, numbers = pages
            viewer = follow(port, f"/live/watch/{numbers[spectator % len(numbers)]}")
            viewer.setblocking(False)
            waiting.register(viewer, selectors.EVENT_READ, spectator)
        line.send(None)
        last, until_s, is_ready = 0, float("inf"), False
        while time.monotonic() < until_s:
            for key, _ in waiting.select(0.1):
                data, spectator = key.fileobj.recv(262_144), key.data  # type: ignore[union-attr]  # a socket
                if not data:
                    waiting.unregister(key.fileobj)
                    continue
                now_s, text = time.monotonic(), tails[spectator] + data
                numbers_seen = [int(number) for number in _NUMBER.findall(text)]
                tails[spectator] = text[-12:]
                known = seen[spectator][-1][0] if seen[spectator] else -1
                for number in numbers_seen:
                    if number != known:
                        seen[spectator].append((number, now_s))
                        known = number
            if not is_ready and all(seen):
                is_ready = True
                line.send(None)
            if is_ready and line.poll():
                last, until_s = line.recv(), time.monotonic() + _MAX_DELAY_S
            if last and all(sightings and sightings[-1][0] >= last for sightings in seen):
                break
    line.send(seen)
