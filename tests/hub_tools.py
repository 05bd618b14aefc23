"""A real hub with its NATS on free ports, tables that join it, and what it has kept."""

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
from inside import nats_of
from mqtt_tools import until
from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js.errors import NotFoundError
from ports import free_port
from simulated_room import local_settings
from table_tools import Played

from companion.core.clock import Clock, RealClock
from companion.core.config import TableSettings, WebSettings
from companion.core.kit import SEATS
from companion.hub.adapter import HubAdapter
from companion.hub.joining import join
from companion.hub.loop_thread import LoopThread, close_client
from companion.hub.membership import Membership
from companion.hub.subjects import (
    RECORDS,
    inbox_prefix,
    record_subject,
)
from companion.hub_server.app import Hub
from companion.hub_server.folder import HubSettings
from companion.service.app import Companion
from companion.storage.journal import Journal
from companion.table.public.messages import PublicRecord, read_record
from companion.table.seats.staff_call import StaffBell
from companion.table.session import Phase
from web.hub.host import JoinedTable

__all__ = [
    "OpenHub", "TableAtHub", "act_with_key", "fill_up", "free_port", "has_all", "hub_settings", "join_table", "joined_services", "kill_nats",
    "need_of_table", "read_stored_records", "records_at_hub", "running_hub", "small_disk", "until",
]  # fmt: skip


ClientAction = Callable[[Client], Awaitable[None]]


def hub_settings(folder: Path, **more: Any) -> HubSettings:
    """A hub on this machine alone, on free ports."""
    web = WebSettings(host="127.0.0.1", port=0, viewers=64)
    given = {
        "name": "Our club",
        "nats_host": "127.0.0.1",
        "nats_port": free_port(),
        "keep_mb": 64,
        **more,
    }
    return HubSettings(folder, given.pop("web", web), **given)


class OpenHub(Hub):
    """A hub whose host lets every table in as soon as it has joined."""

    def __init__(self, settings: HubSettings, clock: Clock | None = None) -> None:
        super().__init__(settings, clock)
        join = self.members.join

        def join_and_let_in(name: str, key: str) -> JoinedTable:
            joined = join(name, key)
            self.members.admit(joined.table)
            return joined

        self.members.join = join_and_let_in  # type: ignore[method-assign]


@contextmanager
def running_hub(folder: Path, **more: Any) -> Iterator[Hub]:
    """A hub that runs meanwhile."""
    with OpenHub(hub_settings(folder, **more)) as hub:
        yield hub


class TableAtHub:
    """A table on a journal, that has joined a hub: `Played` without threads, and its line with
    one.
    """

    def __init__(self, folder: Path, member: Membership, clock: Clock | None = None) -> None:
        self.folder, self.member, self.clock = folder, member, clock or RealClock()
        self.journal = Journal(folder / "journal.sqlite")
        self.played = Played(self.journal, self.clock)  # type: ignore[arg-type] # nothing here lets its time pass
        self.bell = StaffBell(self.played.table.redraw)
        self.health = ""
        self.line = HubAdapter(
            member,
            self.played.table,
            self.journal,
            self.clock,
            bell=self.bell,
            health=lambda: self.health,
            change_settings=lambda _: "This table takes no settings.",
        )
        self.line.start()

    @property
    def table(self) -> Any:
        return self.played.table

    def play(self, turns: int = 1) -> None:
        """A game with so many turns, unless one is on."""
        if self.table.view().phase in (Phase.LOBBY, Phase.OVER):
            self.played.begin()
        for _ in range(turns):
            self.played.turn("III", "III")
            self.played.finish_stages()

    def sit(self, *names: str) -> None:
        for seat, name in zip(SEATS, names, strict=True):
            self.table.take_seat(seat, name)

    def entries(self) -> list[int]:
        """The inputs that are to be told."""
        return [entry.id for entry in self.journal.entries() if entry.id > self.member.start_after]

    def close(self) -> None:
        self.line.close()
        self.table.close()
        self.journal.close()


def join_table(
    hub: Hub, folder: Path, *, names: bool = False, clock: Clock | None = None
) -> TableAtHub:
    """A table that has just joined a hub."""
    folder.mkdir(exist_ok=True)
    member = join(hub.urls()[0], hub.table_join_code.code, folder.name, names=names)
    return TableAtHub(folder, member, clock)


async def read_stored_records(server: str, seed: str, table: str) -> list[PublicRecord]:
    """Return what a NATS server has of a table's inputs, in its order."""
    client = Client()
    await client.connect(server, nkeys_seed_str=seed, allow_reconnect=False)
    try:
        stream, subject = client.jetstream(), record_subject(table)
        records, place = [], 1
        while True:
            message = await stream.get_msg(
                RECORDS, seq=place, subject=subject, next=True, direct=True
            )
            place = (message.seq or 0) + 1
            records.append(read_record(message.data or b""))
    except NotFoundError:
        return records
    finally:
        await client.close()


def records_at_hub(hub: Hub, table: str) -> list[PublicRecord]:
    """All that a hub's store has of a table, in its order; while it is started anew it is asked
    again.
    """

    def answer() -> list[list[PublicRecord]]:
        with suppress(OSError, NatsError):
            return [asyncio.run(read_stored_records(nats_of(hub), hub.folder.file.seed, table))]
        return []

    found: list[PublicRecord] = until("the store answers", answer)[0]
    return found


def has_all(hub: Hub, table: TableAtHub) -> bool:
    """Does the hub's room show the table's last input?"""
    shown = next((each.shown for each in hub.room.tables() if each.id == table.member.table), None)
    return shown is not None and shown.record.entry == table.entries()[-1]


def need_of_table(hub: Hub, number: int) -> str:
    """What the room says that a table needs."""
    table = hub.room.table(number)
    assert table is not None
    return table.need(hub.room.now_s())


def kill_nats(hub: Hub) -> None:
    """SIGKILL of the hub's NATS."""
    assert hub.nats is not None
    pid = until("NATS runs", lambda: hub.nats and hub.nats.pid)
    os.kill(pid, signal.SIGKILL)


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """A small disk, with 96 MB, that is there meanwhile."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=96m", "tmpfs", str(folder)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("only root may mount a small disk")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def fill_up(disk: Path) -> None:
    """Leave nothing free."""
    with (disk / "ballast").open("wb", buffering=0) as ballast, suppress(OSError):
        while True:
            ballast.write(bytes(65536))


@contextmanager
def joined_services(folder: Path) -> Iterator[list[Companion]]:
    """Two services in simulation that have joined a hub."""
    with running_hub(folder / "hub") as hub, ExitStack() as stack:
        both = []
        for name in ("south", "north"):
            table = TableSettings(reading_time_s=0.1)
            settings = local_settings(folder / name, port=free_port(), table=table)
            both.append(stack.enter_context(Companion(settings, simulate=True)))
            both[-1].hub.join(hub.urls()[0], hub.table_join_code.code, names=False)
        until("both are there", lambda: all("of Our club" in each.hub.sentence for each in both))
        yield both


# ---- a table with a changed program ----


async def connect_with_key(hub: Hub, table: TableAtHub | None, refused: list[str]) -> Client:
    """A connection with a table's key, or the hub's own; it is asked for again where a server has
    not read the key yet.
    """
    prefix = inbox_prefix(table.member.table) if table else "_INBOX"
    seed = table.member.seed if table else hub.folder.file.seed

    async def note(error: Exception) -> None:
        refused.append(str(error))

    async with asyncio.timeout(30):
        while True:
            client = Client()
            try:
                await client.connect(
                    nats_of(hub),
                    nkeys_seed_str=seed,
                    inbox_prefix=prefix,
                    error_cb=note,
                    allow_reconnect=False,
                )
                return client
            except (NatsError, OSError, TimeoutError):
                await close_client(client)
                await asyncio.sleep(0.2)


def act_with_key(
    hub: Hub, table: TableAtHub | None, act: ClientAction, refused: list[str] | None = None
) -> None:
    """Do something with a table's key (None: the hub's own). What NATS refuses is noted in
    `refused`.
    """
    done = []

    async def do() -> None:
        client = await connect_with_key(hub, table, [] if refused is None else refused)
        try:
            await act(client)
            done.append(act)
            with suppress(NatsError, OSError):  # it may be put out just then
                await client.flush()
        finally:
            await close_client(client)

    work = LoopThread("changed", do)
    work.start()
    until("it is over", lambda: not work.is_alive)
    assert done
