"""Helpers: a real hub with its NATS server on free ports, tables that join it, and its store.

Tables and hub send each other messages through the NATS server, which also stores the records of
all tables.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from internals import nats_url
from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js.errors import NotFoundError
from ports import free_port
from run_folder import share_templates
from simulated_room import local_settings
from table_tools import TableRig
from waiting import until

from companion.core.clock import Clock, RealClock
from companion.core.config import TableSettings, WebSettings
from companion.core.kit import SEATS
from companion.hub.adapter import HubAdapter
from companion.hub.joining import join
from companion.hub.loop_thread import LoopThread, close_client
from companion.hub.membership import Membership
from companion.hub.subjects import RECORDS_STREAM, inbox_prefix, record_subject
from companion.hub_server.app import Hub
from companion.hub_server.folder import HubSettings
from companion.service.app import Companion
from companion.storage.journal import Journal
from companion.table.public.messages import PublicRecord, decode_record
from companion.table.seats.staff_call import StaffBell
from companion.table.session import Phase
from web.hub.host import JoinedTable

# A coroutine function that acts on a connection to NATS.
ClientAction = Callable[[Client], Awaitable[None]]


def hub_settings(folder: Path, **more: Any) -> HubSettings:
    """Return settings of a hub that only this machine can reach, on free ports.

    `more` replaces some of them. The hub uses the templates that other tests have compiled.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    share_templates(folder)
    values = {
        "web": WebSettings(host="127.0.0.1", port=0, viewers=64),
        "name": "Our club",
        "nats_host": "127.0.0.1",
        "nats_port": free_port(),
        "max_store_mb": 64,
        **more,
    }
    return HubSettings(folder, **values)


class AdmittingHub(Hub):
    """A hub that admits every table as soon as it has joined, as its owner would."""

    def __init__(self, settings: HubSettings, clock: Clock | None = None) -> None:
        super().__init__(settings, clock)
        join_only = self.members.join

        def join_and_admit(name: str, key: str) -> JoinedTable:
            member = join_only(name, key)
            self.members.admit(member.table)
            return member

        self.members.join = join_and_admit  # type: ignore[method-assign]


@contextmanager
def running_hub(folder: Path, **more: Any) -> Iterator[Hub]:
    """Run a hub until the end of the block."""
    with AdmittingHub(hub_settings(folder, **more)) as hub:
        yield hub


class TableAtHub:
    """A table that has joined a hub. Only its connection to the hub has a thread.

    `member` is its membership, and `start_after` in it the last journal entry that the hub does not
    receive, because it was there before the table joined.
    """

    def __init__(self, folder: Path, member: Membership, clock: Clock | None = None) -> None:
        self.folder = folder
        self.member = member
        self.clock = clock or RealClock()
        self.journal = Journal(folder / "journal.sqlite")
        self.rig = TableRig(self.journal, self.clock)  # type: ignore[arg-type] # no test with a real clock advances it
        self.bell = StaffBell(self.rig.table.redraw)
        self.health = ""
        self.adapter = HubAdapter(
            member,
            self.rig.table,
            self.journal,
            self.clock,
            bell=self.bell,
            describe_health=lambda: self.health,
            change_settings=lambda _: "This table takes no settings.",
        )
        self.adapter.start()

    @property
    def table(self) -> Any:
        return self.rig.table

    def play(self, turns: int = 1) -> None:
        """Play some turns, in a new game unless one is on."""
        if self.table.view().phase in (Phase.LOBBY, Phase.OVER):
            self.rig.begin()
        for _ in range(turns):
            self.rig.hand_in_both("III", "III")
            self.rig.finish_stages()

    def sit(self, *names: str) -> None:
        """Seat people with these names, South's first."""
        for seat, name in zip(SEATS, names, strict=True):
            self.table.take_seat(seat, name)

    def entries(self) -> list[int]:
        """Return the numbers of the journal entries that the hub has to receive, in order."""
        return [entry.id for entry in self.journal.entries() if entry.id > self.member.start_after]

    def close(self) -> None:
        self.adapter.close()
        self.table.close()
        self.journal.close()


def join_table(
    hub: Hub, folder: Path, *, names: bool = False, clock: Clock | None = None
) -> TableAtHub:
    """Join a hub with a new table, and return the table. The folder's name is that of the table.

    `names` says whether it sends the names of its players.
    """
    folder.mkdir(exist_ok=True)
    member = join(hub.urls()[0], hub.table_join_code.code, folder.name, sends_names=names)
    return TableAtHub(folder, member, clock)


async def read_stored_records(server: str, private_key: str, table: str) -> list[PublicRecord]:
    """Return the records of a table that a NATS server has stored, in their order."""
    client = Client()
    await client.connect(server, nkeys_seed_str=private_key, allow_reconnect=False)
    try:
        stream = client.jetstream()
        subject = record_subject(table)
        records = []
        sequence = 1
        while True:  # until there is no further message
            message = await stream.get_msg(
                RECORDS_STREAM, seq=sequence, subject=subject, next=True, direct=True
            )
            sequence = (message.seq or 0) + 1
            records.append(decode_record(message.data or b""))
    except NotFoundError:
        return records
    finally:
        await client.close()


def records_at_hub(hub: Hub, table: str) -> list[PublicRecord]:
    """Return the records of a table that a hub has stored, in their order.

    Try again while the hub's NATS server restarts.
    """

    # `until` takes an empty list for a failure, so records that were read are put into a list
    def read_records() -> list[list[PublicRecord]]:
        with suppress(OSError, NatsError):
            return [
                asyncio.run(read_stored_records(nats_url(hub), hub.folder.file.private_key, table))
            ]
        return []

    records: list[PublicRecord] = until("an answer of the hub's store", read_records)[0]
    return records


def shows_last_input(hub: Hub, table: TableAtHub) -> bool:
    """Return whether the hub's room has got the table's last journal entry."""
    tables = hub.room.tables()
    latest = next((other.latest for other in tables if other.id == table.member.table_id), None)
    return latest is not None and latest.record.entry == table.entries()[-1]


def need_of_table(hub: Hub, number: int) -> str:
    """Return what the table with this number needs of the staff, as the hub's room says it."""
    table = hub.room.table(number)
    assert table is not None
    return table.need(hub.room.now_s())


def kill_nats(hub: Hub) -> None:
    """End the hub's NATS server by SIGKILL."""
    assert hub.nats_server is not None
    pid = until("the start of NATS", lambda: hub.nats_server and hub.nats_server.pid)
    os.kill(pid, signal.SIGKILL)


@contextmanager
def mount_small_disk(folder: Path) -> Iterator[Path]:
    """Mount a disk of 96 MB on a folder until the end of the block, to test a disk that is full.

    Only root may mount a disk, so skip the test for anybody else.
    """
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=96m", "tmpfs", str(folder)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("only root may mount a small disk")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def fill_disk(disk: Path) -> None:
    """Fill a disk to the last byte."""
    with (disk / "ballast").open("wb", buffering=0) as ballast, suppress(OSError):
        while True:
            ballast.write(bytes(65536))


@contextmanager
def joined_services(folder: Path) -> Iterator[list[Companion]]:
    """Run two services in simulation, South's and North's, that have joined a hub."""
    with running_hub(folder / "hub") as hub, ExitStack() as stack:
        services: list[Companion] = []
        for name in ("south", "north"):
            table = TableSettings(reading_time_s=0.1)
            settings = local_settings(folder / name, port=free_port(), table=table)
            services.append(stack.enter_context(Companion(settings, simulate=True)))
            services[-1].hub.join(hub.urls()[0], hub.table_join_code.code, sends_names=False)
        until("joining", lambda: all("of Our club" in service.hub.sentence for service in services))
        yield services


# ---- what a tampered program can do with a table's key -------------------------------------------


async def connect_with_key(hub: Hub, table: TableAtHub | None, refusals: list[str]) -> Client:
    """Connect to NATS with a table's key, or with the hub's own if there is no table.

    Try again while the server has not read a new key yet.
    """
    prefix = inbox_prefix(table.member.table_id) if table else "_INBOX"
    private_key = table.member.private_key if table else hub.folder.file.private_key

    async def note(error: Exception) -> None:
        refusals.append(str(error))

    async with asyncio.timeout(30):
        while True:
            client = Client()
            try:
                await client.connect(
                    nats_url(hub),
                    nkeys_seed_str=private_key,
                    inbox_prefix=prefix,
                    error_cb=note,
                    allow_reconnect=False,
                )
                return client
            except (NatsError, OSError, TimeoutError):
                await close_client(client)
                await asyncio.sleep(0.2)


def act_with_key(
    hub: Hub, table: TableAtHub | None, act: ClientAction, refusals: list[str] | None = None
) -> None:
    """Act on a connection with a table's key, or with the hub's own key if there is no table.

    The messages of what NATS refuses are appended to `refusals`.
    """
    finished = []

    async def connect_and_act() -> None:
        client = await connect_with_key(hub, table, [] if refusals is None else refusals)
        try:
            await act(client)
            finished.append(act)
            with suppress(NatsError, OSError):  # the hub may close the connection just then
                await client.flush()
        finally:
            await close_client(client)

    thread = LoopThread("tampered program", connect_and_act)
    thread.start()
    until("the end of the action", lambda: not thread.is_alive)
    assert finished, "the action has raised an error"
