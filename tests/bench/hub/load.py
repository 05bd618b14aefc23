"""A full house at a hub: many tables that all play, and spectators of some of them, each with a
page's stream.

Every event is a record of a game with a number of its own in its title, which the page shows.
Tables and spectators are processes of their own.
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
_LATE_S = 20.0
_NUMBER = re.compile(rb"No (\d{6})\.")
# When each event was sent, in monotonic seconds, by table and number.
Sent = dict[tuple[int, int], float]
# What each spectator has seen, and when.
Seen = list[list[tuple[int, float]]]
# The hub's port, and the numbers of the tables that are followed.
HubPages = tuple[int, Sequence[int]]


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
    """Measure it and print it, and return whether every bar is kept."""
    with tempfile.TemporaryDirectory() as name:
        records = [it for it in played_records("outbuffered", 6, 1) if it.view.game]
        hub = HubProcess(Path(name) / "hub")
        try:
            members = [hub.join(f"T{n + 1}") for n in range(house.tables)]
            numbers = tuple(member.number for member in members[: house.followed])
            sent, seen = _run(members, records, house, (hub.port, numbers))
            used_mb = memory_mb(hub.pid)
        finally:
            hub.kill()
    late_ms, missing, disordered = list[float](), 0, 0
    for spectator, arrivals in enumerate(seen):
        table = spectator % house.followed
        numbered = [(number, at_s) for number, at_s in arrivals if number]
        disordered += numbered != sorted(numbered)
        missing += house.events - len(dict(numbered))
        late_ms += [(at_s - sent[table, number]) * 1000 for number, at_s in numbered]
    is_whole = not (missing or disordered)
    print(
        f"hub: {house.tables} tables x {EVENTS_A_SECOND} events a second, {house.spectators} "
        "spectators: "
        f"{len(late_ms)} events seen, {missing} missing, {disordered} spectators out of order  "
        f"{'ok' if is_whole else 'NOT GOOD'}",
        flush=True,
    )
    good = HUB_TO_WATCHER_MS.judge(late_ms)
    return HUB_MB.judge([used_mb]) and good and is_whole


def _run(
    members: Sequence[Membership], records: list[PublicRecord], house: RoomSize, at: HubPages
) -> tuple[Sent, Seen]:
    """Spectators come, tables play, and everybody is asked what was seen."""
    context = multiprocessing.get_context("spawn")
    crowd_end, crowd_line = context.Pipe()
    tables_end, tables_line = context.Pipe()
    crowd = context.Process(target=_watch, args=(crowd_line, at, house))
    tables = context.Process(target=_play, args=(tables_line, members, records, house))
    try:
        crowd.start()
        crowd_end.recv()  # everybody follows
        tables.start()
        crowd_end.recv()  # everybody has seen the first event
        tables_end.send(None)
        sent: Sent = tables_end.recv()
        crowd_end.send(house.events)
        seen: Seen = crowd_end.recv()
    finally:
        for process in (crowd, tables):
            if process.pid:
                process.terminate()
                process.join()
    return sent, seen


# ---- the tables' process -------------------------------------------------------------------------


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


# ---- the spectators' process ---------------------------------------------------------------------


def _watch(line: Connection, at: HubPages, house: RoomSize) -> None:
    """Everybody follows a table, in turn; answers what each saw and when."""
    seen: Seen = [[] for _ in range(house.spectators)]
    rests = [b""] * house.spectators
    with selectors.DefaultSelector() as waiting:
        for spectator in range(house.spectators):
            port, numbers = at
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
