"""Measure a hub under full load: many tables play, and spectators follow the pages of some of them.

Tables send events to the hub, which are records of a game. The title of each record contains the
number of the event. The hub's page shows the title, so that each spectator can tell which events
have reached it, and when.

All tables run in one process and all spectators in another. In the parent process, `_measure` tells
both when to go on:

1. The spectators open their pages.
2. Every table sends event 0, which every spectator has to see.
3. The tables send all other events at their times, and report when each was sent.
4. The spectators wait for the last event, and report when each event was seen.
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

# Number of tables, of those that are followed, and of all spectators together.
TABLES = 200
FOLLOWED = 50
SPECTATORS = 1000
# Number of events that each table sends in a second, and for how many seconds.
EVENTS_A_SECOND = 5
SECONDS = 30.0
# Timeout for the first event of all spectators, in seconds.
_FIRST_EVENT_TIMEOUT_S = 120.0
# Time in seconds after the last event was sent, for delayed events to arrive.
_MAX_DELAY_S = 20.0
# Title of an event, and its length. So many bytes of the end of each read are kept, because the
# read may have cut a title.
_TITLE = re.compile(rb"No (\d{6})\.")
_TITLE_BYTES = 10
# When each event was sent, in monotonic seconds, by the index of the table and the event's number.
SendTimes = dict[tuple[int, int], float]
# For each spectator: the numbers of the events that it has seen, and when it saw each, in monotonic
# seconds.
SightingTimes = list[list[tuple[int, float]]]
# The port of the hub, and the numbers by which the hub knows the tables that are followed.
HubPages = tuple[int, Sequence[int]]


@dataclass(frozen=True)
class RoomSize:
    """How much goes on at the hub."""

    tables: int = TABLES
    """Number of tables that play."""
    followed: int = FOLLOWED
    """Number of tables that spectators follow."""
    spectators: int = SPECTATORS
    """Number of spectators, who are spread evenly over the tables that are followed."""
    seconds: float = SECONDS
    """For how long the tables play."""

    @property
    def events(self) -> int:
        """Number of events of each table after event 0."""
        return round(self.seconds * EVENTS_A_SECOND)


def bench_load(size: RoomSize = RoomSize()) -> bool:
    """Measure the load. Return whether every bar is kept, and every event was seen in order."""
    with tempfile.TemporaryDirectory() as name:
        records = [record for record in played_records("outbuffered", 6, 1) if record.view.game]
        hub = HubProcess(Path(name) / "hub")
        try:
            members = [hub.join(f"T{index + 1}") for index in range(size.tables)]
            followed = tuple(member.number for member in members[: size.followed])
            sent_at_s, seen = _measure(members, records, size, (hub.port, followed))
            used_mb = memory_mb(hub.pid)
        finally:
            hub.kill()
    late_ms = list[float]()
    missing = disordered = 0
    for spectator, sightings in enumerate(seen):
        table = spectator % size.followed  # as `_run_spectators` spreads them
        # without event 0, which only shows that the spectator is there
        counted = [(number, at_s) for number, at_s in sightings if number]
        disordered += counted != sorted(counted)
        missing += size.events - len(dict(counted))
        late_ms += [(at_s - sent_at_s[table, number]) * 1000 for number, at_s in counted]
    is_whole = not (missing or disordered)
    print(
        f"hub: {size.tables} tables x {EVENTS_A_SECOND} events a second, "
        f"{size.spectators} spectators: {len(late_ms)} events seen, {missing} missing, "
        f"{disordered} spectators out of order  "
        f"{'ok' if is_whole else 'NOT GOOD'}",
        flush=True,
    )
    good = HUB_TO_WATCHER_BAR.judge(late_ms)
    good &= HUB_BAR.judge([used_mb])
    return good and is_whole


def _measure(
    members: Sequence[Membership], records: list[PublicRecord], size: RoomSize, pages: HubPages
) -> tuple[SendTimes, SightingTimes]:
    """Run both processes. Return when events were sent and when they were seen.

    `pages` says which pages are followed. This process talks to its children over two pipes, of
    which it has the ends `spectators` and `tables`. A child that ends early closes its end, so that
    `recv` raises EOFError here.
    """
    context = multiprocessing.get_context("spawn")
    spectators, spectators_end = context.Pipe()
    tables, tables_end = context.Pipe()
    watching = context.Process(target=_run_spectators, args=(spectators_end, pages, size))
    playing = context.Process(target=_run_tables, args=(tables_end, members, records, size))
    try:
        watching.start()
        # The child has a copy of its end. As long as this copy was open, too, `recv` would wait for
        # a child that is dead.
        spectators_end.close()
        spectators.recv()  # all spectators have opened their pages
        playing.start()
        tables_end.close()
        spectators.recv()  # all spectators have seen the first event of their tables
        tables.send(None)  # play
        sent_at_s: SendTimes = tables.recv()
        spectators.send(size.events)  # the number of the last event
        seen: SightingTimes = spectators.recv()
    finally:
        for process in (watching, playing):
            if process.pid:
                process.terminate()
                process.join()
    return sent_at_s, seen


# ---- the tables' process -------------------------------------------------------------------------


def _run_tables(
    parent: Connection, members: list[Membership], records: list[PublicRecord], size: RoomSize
) -> None:
    asyncio.run(_play_all(parent, members, records, size))


async def _play_all(
    parent: Connection, members: list[Membership], records: list[PublicRecord], size: RoomSize
) -> None:
    """Publish event 0 of every table. When the parent process says so, publish all others.

    Then send the parent process the moments at which they were published.
    """
    streams = [await _connect(member) for member in members]
    await asyncio.gather(
        *(
            _publish(stream, member, records, 0)
            for stream, member in zip(streams, members, strict=True)
        )
    )
    await asyncio.to_thread(parent.recv)
    sent_at_s = SendTimes()
    start_at_s = time.monotonic() + 0.5

    async def play(table: int) -> None:
        for number in range(1, size.events + 1):
            # tables take turns, so that their events are spread evenly over each interval
            due_at_s = start_at_s + (number - 1 + table / len(members)) / EVENTS_A_SECOND
            await asyncio.sleep(max(0.0, due_at_s - time.monotonic()))
            sent_at_s[table, number] = time.monotonic()
            await _publish(streams[table], members[table], records, number)

    await asyncio.gather(*(play(table) for table in range(len(members))))
    parent.send(sent_at_s)


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
    """Publish the event with this number, and wait until the hub's NATS server has stored it.

    It is one of the records, with the number in its title.
    """
    record = records[number % len(records)]
    view = msgspec.structs.replace(record.view, title=f"No {number:06d}.")
    event = msgspec.structs.replace(record, entry=number + 1, mark=f"{number:012x}", view=view)
    await stream.publish(record_subject(member.table_id), encode_public(event))


# ---- the spectators' process ---------------------------------------------------------------------


def _run_spectators(parent: Connection, pages: HubPages, size: RoomSize) -> None:
    """Follow the tables with all spectators, and send the parent process what each has seen.

    One thread reads the streams of all spectators until each has the last event, or until
    `_MAX_DELAY_S` after the last event was sent. Raises RuntimeError if a spectator has no event
    within `_FIRST_EVENT_TIMEOUT_S`.
    """
    port, table_numbers = pages
    seen: SightingTimes = [[] for _ in range(size.spectators)]
    # the last bytes of each spectator's stream so far
    tails = [b""] * size.spectators
    with selectors.DefaultSelector() as selector:
        for spectator in range(size.spectators):
            viewer = follow(port, f"/live/watch/{table_numbers[spectator % len(table_numbers)]}")
            viewer.setblocking(False)
            selector.register(viewer, selectors.EVENT_READ, spectator)
        parent.send(None)
        end_s, is_ready = time.monotonic() + _FIRST_EVENT_TIMEOUT_S, False
        last_number: int | None = None  # known once all events are sent
        while time.monotonic() < end_s:
            for key, _ in selector.select(0.1):
                data, spectator = key.fileobj.recv(262_144), key.data  # type: ignore[union-attr]  # a socket
                if not data:  # its stream was cut off, and the events that it lacks are missing
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
