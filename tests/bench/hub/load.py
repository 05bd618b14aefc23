"""Measure a hub under full load: many tables play, and spectators follow the pages of some of them.

Every event is a record of a game with a number in its title. The page shows the title, so a
spectator can tell which event it has seen. All tables run in one process and all spectators in
another one. `_measure` in the parent process tells both when to go on.
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

from bench.bars import HUB_BAR, HUB_TO_WATCHER_BAR
from bench.hub import HubProcess
from bench.processes import memory_mb
from bench.visitors import follow
from companion.hub.membership import Membership
from companion.hub.subjects import inbox_prefix, record_subject
from companion.table.public.messages import PublicRecord, encode_public

TABLES, EVENTS_A_SECOND = 200, 5
FOLLOWED, SPECTATORS = 50, 1000
SECONDS = 30.0
# Timeout for the first event of all spectators, in seconds.
_FIRST_EVENT_TIMEOUT_S = 120.0
# Time in seconds that delayed events may take to arrive after the last one was sent.
_MAX_DELAY_S = 20.0
# Title of an event, and the number of its last bytes that are kept in case a read cuts a title.
_TITLE, _TITLE_BYTES = re.compile(rb"No (\d{6})\."), 10
# When each event was sent, in monotonic seconds, by table and number.
SendTimes = dict[tuple[int, int], float]
# For each spectator: the numbers of the events on its page, each with its monotonic time.
SightingTimes = list[list[tuple[int, float]]]
# The hub's port, and the hub's numbers of the tables that are followed.
HubPages = tuple[int, Sequence[int]]


@dataclass(frozen=True)
class RoomSize:
    """How many tables play for how many seconds, and how many spectators follow `followed` of
    them.
    """

    tables: int = TABLES
    followed: int = FOLLOWED
    spectators: int = SPECTATORS
    seconds: float = SECONDS

    @property
    def events(self) -> int:
        """Number of events of each table after its first one, which has the number 0."""
        return round(self.seconds * EVENTS_A_SECOND)


def bench_load(size: RoomSize = RoomSize()) -> bool:
    """Measure the load, print the figures, and return whether every bar is kept."""
    with tempfile.TemporaryDirectory() as name:
        records = [record for record in played_records("outbuffered", 6, 1) if record.view.game]
        hub = HubProcess(Path(name) / "hub")
        try:
            members = [hub.join(f"T{n + 1}") for n in range(size.tables)]
            followed = tuple(member.number for member in members[: size.followed])
            sent, seen = _measure(members, records, size, (hub.port, followed))
            used_mb = memory_mb(hub.pid)
        finally:
            hub.kill()
    late_ms, missing, disordered = list[float](), 0, 0
    for spectator, sightings in enumerate(seen):
        table = spectator % size.followed  # as `_run_spectators` spreads them
        numbered = [(number, at_s) for number, at_s in sightings if number]
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
    good = HUB_TO_WATCHER_BAR.judge(late_ms)
    return HUB_BAR.judge([used_mb]) and good and is_whole


def _measure(
    members: Sequence[Membership], records: list[PublicRecord], size: RoomSize, pages: HubPages
) -> tuple[SendTimes, SightingTimes]:
    """Run both processes. Return when events were sent and when they were seen.

    This process has the ends `spectators` and `tables` of the two pipes. A child that ends early
    closes its end, so that `recv` raises EOFError here.
    """
    context = multiprocessing.get_context("spawn")
    spectators, spectators_end = context.Pipe()
    tables, tables_end = context.Pipe()
    watching = context.Process(target=_run_spectators, args=(spectators_end, pages, size))
    playing = context.Process(target=_run_tables, args=(tables_end, members, records, size))
    try:
        watching.start()
        # the child has a copy of its end: while this one is open, `recv` waits for a dead child
        spectators_end.close()
        spectators.recv()  # all spectators have opened their pages
        playing.start()
        tables_end.close()
        spectators.recv()  # all spectators have seen the first event of their tables
        tables.send(None)  # play
        sent: SendTimes = tables.recv()
        spectators.send(size.events)  # the number of the last event
        seen: SightingTimes = spectators.recv()
    finally:
        for process in (watching, playing):
            if process.pid:
                process.terminate()
                process.join()
    return sent, seen


# ---- the tables' process -------------------------------------------------------------------------


def _run_tables(
    parent: Connection, members: list[Membership], records: list[PublicRecord], size: RoomSize
) -> None:
    asyncio.run(_play_all(parent, members, records, size))


async def _play_all(
    parent: Connection, members: list[Membership], records: list[PublicRecord], size: RoomSize
) -> None:
    """Publish event 0 of every table, wait for the word of the parent process, and publish the
    others at their times. Send it when each was published.
    """
    streams = [await _connect(member) for member in members]
    await asyncio.gather(
        *(
            _publish(stream, member, records, 0)
            for stream, member in zip(streams, members, strict=True)
        )
    )
    await asyncio.to_thread(parent.recv)
    sent = SendTimes()
    start_s = time.monotonic() + 0.5

    async def play(table: int) -> None:
        for number in range(1, size.events + 1):
            # tables take turns, so that their events are spread evenly over each interval
            due_s = start_s + (number - 1 + table / len(members)) / EVENTS_A_SECOND
            await asyncio.sleep(max(0.0, due_s - time.monotonic()))
            sent[table, number] = time.monotonic()
            await _publish(streams[table], members[table], records, number)

    await asyncio.gather(*(play(table) for table in range(len(members))))
    parent.send(sent)


async def _connect(member: Membership) -> JetStreamContext:
    client = Client()
    await client.connect(
        list(member.servers),
        nkeys_seed_str=member.private_key,
        inbox_prefix=inbox_prefix(member.table_id),
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


def _run_spectators(parent: Connection, pages: HubPages, size: RoomSize) -> None:
    """Follow the tables with all spectators, evenly spread. Send the parent process what each saw.

    Raises RuntimeError if a spectator has no event within `_FIRST_EVENT_TIMEOUT_S`.
    """
    port, numbers = pages
    seen: SightingTimes = [[] for _ in range(size.spectators)]
    tails = [b""] * size.spectators
    with selectors.DefaultSelector() as selector:
        for spectator in range(size.spectators):
            viewer = follow(port, f"/live/watch/{numbers[spectator % len(numbers)]}")
            viewer.setblocking(False)
            selector.register(viewer, selectors.EVENT_READ, spectator)
        parent.send(None)
        end_s, is_ready = time.monotonic() + _FIRST_EVENT_TIMEOUT_S, False
        last_number: int | None = None  # known once all events are sent
        while time.monotonic() < end_s:
            for key, _ in selector.select(0.1):
                data, spectator = key.fileobj.recv(262_144), key.data  # type: ignore[union-attr]  # a socket
                if not data:  # cut off: the events that it lacks count as missing
                    selector.unregister(key.fileobj)
                    continue
                now_s, text = time.monotonic(), tails[spectator] + data
                tails[spectator] = text[-_TITLE_BYTES:]
                sightings = seen[spectator]
                for number in map(int, _TITLE.findall(text)):
                    # a page shows its title several times
                    if not sightings or number != sightings[-1][0]:
                        sightings.append((number, now_s))
            if not is_ready and all(seen):
                is_ready, end_s = True, float("inf")
                parent.send(None)
            if is_ready and parent.poll():
                last_number, end_s = parent.recv(), time.monotonic() + _MAX_DELAY_S
            if last_number is not None and all(
                sightings[-1][0] >= last_number for sightings in seen
            ):
                break
    if not is_ready:
        raise RuntimeError(f"{seen.count([])} spectators have seen no event")
    parent.send(seen)
