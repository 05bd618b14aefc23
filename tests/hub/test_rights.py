"""A table with a changed program: what its key lets it do at NATS, whatever it asks for and wherever it has answers sent."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import shutil
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO, cast

import nkeys
import pytest
from hub_tools import (
    OpenHub,
    TableAtHub,
    answers_go_nowhere_else,
    floods_the_store,
    has_all,
    hub_settings,
    joined,
    kept,
    needs,
    running,
    until,
    with_key_of,
)  # fmt: skip
from inside import nats_of
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from companion.hub.subjects import command_subject, record_subject, state_subject, wish_subject
from companion.hub_server.app import Hub
from companion.hub_server.folder import HubFolder, public_key
from companion.hub_server.members import Members
from companion.hub_server.nats_server import (
    MAX_LINES,
    NatsServer,
    TableKey,
    account_of,
    accounts_text,
)
from companion.hub_server.store import FLOOD, LARGE_BYTES, FloodGuard
from companion.table.public.messages import PublicRecord, PublicView, encode_public
from companion.table.session import Phase


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    with running(tmp_path / "hub") as hub:
        yield hub


@pytest.fixture
def tables(hub: Hub, tmp_path: Path) -> Iterator[list[TableAtHub]]:
    """One that plays on, and one with a changed program."""
    found = [joined(hub, tmp_path / name) for name in ("honest", "changed")]
    yield found
    for table in found:
        table.close()


def test_a_table_cannot_have_answers_sent_to_where_it_may_say_nothing(
    hub: Hub, tables: list[TableAtHub]
) -> None:
    answers_go_nowhere_else(hub, *tables)


def test_what_one_table_sends_pushes_nothing_of_another_out(
    hub: Hub, tables: list[TableAtHub]
) -> None:
    honest, changed = tables
    honest.play(2)
    until("it is there", lambda: has_all(hub, honest))
    before = kept(hub, honest.member.table)
    changed.close()
    own = record_subject(changed.member.table)
    view = PublicView(Phase.LOBBY)

    async def fill(client: Client) -> None:
        with suppress(NatsError, OSError, TimeoutError):
            for entry in range(1, 2400):
                told = PublicRecord(entry, "0123456789ab", 0, "x" * 30_000, 1, 0.0, view)
                await client.publish(own, encode_public(told))
                if entry % 20 == 0:
                    await client.flush(10)

    with_key_of(hub, changed, fill)
    assert kept(hub, honest.member.table) == before
    honest.play(1)
    until("the other one goes on", lambda: has_all(hub, honest))


def test_a_table_says_nothing_before_the_host_lets_it_in(tmp_path: Path) -> None:
    with Hub(hub_settings(tmp_path / "hub")) as hub:
        table = joined(hub, tmp_path / "table")
        number = table.member.number
        until(
            "it is said there",
            lambda: "does not let this table in: ask its owner" in table.line.sentence,
        )
        assert needs(hub, number) == "It wants to join: let it in on the owner’s page."
        assert hub.room.free_tables() == []
        assert hub.members.let_in(number)
        until("it is there", lambda: table.line.is_connected)
        table.play(1)
        until("everything is there", lambda: has_all(hub, table))
        table.close()


def test_no_table_takes_the_ids_of_anothers_messages(hub: Hub, tables: list[TableAtHub]) -> None:
    honest, changed = tables
    honest.play(1)
    until("it is there", lambda: has_all(hub, honest))
    changed.close()
    last = honest.entries()[-1]

    async def take_ids(client: Client) -> None:
        own = record_subject(changed.member.table)
        for entry in range(last + 1, last + 40):
            stolen = {"Nats-Msg-Id": f"{honest.member.table}-0-{entry}"}
            await client.jetstream().publish(own, b"{}", headers=stolen)

    with_key_of(hub, changed, take_ids)
    honest.play(2)
    until("everything is there", lambda: has_all(hub, honest))
    assert [each.entry for each in kept(hub, honest.member.table)] == honest.entries()
    assert honest.line.is_connected


def test_a_table_that_opens_lines_without_end_leaves_room_for_the_others(
    hub: Hub, tables: list[TableAtHub], tmp_path: Path
) -> None:
    honest, changed = tables
    lines = [Client() for _ in range(MAX_LINES + 1)]
    refused: list[str] = []

    async def note(error: Exception) -> None:
        refused.append(str(error))

    async def open_lines() -> None:
        for line in lines:
            with suppress(NatsError):  # which is told to `note` as well
                await line.connect(
                    nats_of(hub),
                    nkeys_seed_str=changed.member.seed,
                    allow_reconnect=False,
                    error_cb=note,
                )
        await asyncio.to_thread(others_go_on)
        for line in lines:
            await line.close()

    def others_go_on() -> None:
        honest.play(1)
        until("the other one's is there", lambda: has_all(hub, honest))
        late = joined(hub, tmp_path / "late")
        late.play(1)
        until("a new one's is there", lambda: has_all(hub, late))
        late.close()

    asyncio.run(open_lines())
    assert "maximum account active connections exceeded" in " ".join(refused)


@pytest.mark.parametrize("what", ["asks", "repeats"])
def test_a_table_that_floods_the_store_is_shut_out_and_nobody_else_suffers(
    hub: Hub, tables: list[TableAtHub], what: str
) -> None:
    """Questions that the store answers by itself, and records that it refuses: no other subscriber hears of either."""
    honest, changed = tables
    floods_the_store(hub, honest, changed, what)


@pytest.mark.parametrize(
    "head", [b"NATS/1.0 \xff\xff\xff\r\n\r\n", b"NATS/1.0 503 \xff\r\n\r\n", b"NATS/1.0"]
)
def test_a_message_with_a_head_that_cannot_be_read_cuts_nobodys_line(
    hub: Hub, tables: list[TableAtHub], head: bytes
) -> None:
    honest, changed = tables
    changed.close()
    before = hub.nats.pid
    own = changed.member.table
    for subject in (state_subject(own), record_subject(own), wish_subject(own)):
        said_with_head(hub, changed, subject, head)
    honest.play(1)
    until("the other one goes on", lambda: has_all(hub, honest))
    assert hub.nats.pid == before


def said_with_head(hub: Hub, table: TableAtHub, subject: str, head: bytes) -> None:
    """Say something by hand: the library sends no such head."""
    with said_by_hand(hub, table) as (line, heard):
        line.sendall(
            b"HPUB %s %d %d\r\n%s\r\nPING\r\n" % (subject.encode(), len(head), len(head), head)
        )
        until_pong(heard)


@contextmanager
def said_by_hand(hub: Hub, table: TableAtHub) -> Iterator[tuple[socket.socket, BinaryIO]]:
    """A line to NATS with a table's key, without the library: what is sent on it, and what is heard."""
    port = int(nats_of(hub).rpartition(":")[2])
    with (
        socket.create_connection(("127.0.0.1", port), timeout=20) as line,
        line.makefile("rb") as heard,
    ):
        nonce = json.loads(heard.readline().partition(b" ")[2])["nonce"]
        key = nkeys.from_seed(table.member.seed.encode())
        signature = base64.urlsafe_b64encode(key.sign(nonce.encode())).rstrip(b"=").decode()
        hello = {
            "nkey": key.public_key.decode(),
            "sig": signature,
            "verbose": False,
            "headers": True,
            "lang": "x",
        }
        line.sendall(b"CONNECT " + json.dumps(hello).encode() + b"\r\n")
        yield line, heard


def until_pong(heard: BinaryIO) -> None:
    while b"PONG" not in (said := heard.readline()):
        assert said, "NATS has hung up"


def test_nats_lives_while_tables_subscribe_and_it_reads_anew_who_may_come_in(
    hub: Hub, tables: list[TableAtHub]
) -> None:
    """It dies of that (2.15.1) where an account listens to a stream of another one."""
    honest, changed = tables
    before, begun, ends = hub.nats.pid, threading.Event(), threading.Event()

    def listens() -> None:
        own = command_subject(changed.member.table).encode()
        with suppress(OSError), said_by_hand(hub, changed) as (line, heard):
            for number in itertools.count(1):
                line.sendall(b"SUB %s %d\r\nUNSUB %d\r\n" % (own, number, number))
                if number % 50 == 0:
                    line.sendall(b"PING\r\n")
                    until_pong(heard)
                    begun.set()
                    if ends.is_set():
                        return

    listener = threading.Thread(target=listens)
    listener.start()
    assert begun.wait(20)
    keys = [TableKey(each.id, each.key) for each in hub.folder.now.tables]
    other = public_key(nkeys.encode_seed(bytes(32), nkeys.PREFIX_BYTE_USER).decode())
    for number in range(60):
        late = [TableKey("f" * 16, other)] if number % 2 else []
        hub.nats.write(accounts_text(hub.folder.own_key, [*keys, *late]))
        hub.nats.reload()
    ends.set()
    listener.join(20)
    assert '"stream"' not in accounts_text(hub.folder.own_key, keys)
    assert hub.nats.pid == before, "nats-server has died"
    honest.play(1)
    until("the other one goes on", lambda: has_all(hub, honest))


def test_who_may_come_in_is_written_by_one_at_a_time(tmp_path: Path) -> None:
    """Tables that join all at once: else one finds no file to write, or what was known before is written last."""
    both, together = threading.Barrier(2), []

    def write(_: str) -> None:
        with suppress(threading.BrokenBarrierError):
            together.append(both.wait(0.2))

    nats = SimpleNamespace(write=write, reload=lambda: None)
    nothing = cast(Any, None)
    members = Members(
        HubFolder(tmp_path), nothing, nothing, cast(NatsServer, nats), servers=(), forget=()
    )
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: members.keep_rights(), range(2)))
    assert not together


def test_a_hub_of_before_keeps_what_it_had(tmp_path: Path) -> None:
    settings = hub_settings(tmp_path / "hub")
    with OpenHub(settings) as hub:
        table = joined(hub, tmp_path / "table")
        table.play(1)
        until("it is there", lambda: has_all(hub, table))
        before = kept(hub, table.member.table)
        table.close()
    store = tmp_path / "hub" / "nats" / "store" / "jetstream"
    shutil.move(store / "hub", store / "$G")
    with OpenHub(settings) as hub:
        assert kept(hub, table.member.table) == before


def test_large_messages_count_for_more() -> None:
    shut: list[str] = []
    guard = FloodGuard(shut.append)
    large = Msg(
        Client(),
        data=bytes(8 * LARGE_BYTES),
        headers={"Nats-Request-Info": f'{{"acc": "{account_of("7")}"}}'},
    )

    async def tell() -> None:
        for _ in range(round(FLOOD.burst) // 9 + 200):
            await guard.overhear(large)

    asyncio.run(tell())
    assert set(shut) == {"7"}
