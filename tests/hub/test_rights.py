"""A table with a changed program: what its key lets it do at NATS, whatever it asks for and
wherever it has answers sent.
"""

from __future__ import annotations

import asyncio
import base64
import json
import socket
from collections.abc import Iterator
from pathlib import Path

import msgspec
import nkeys
import pytest
from hub_tools import (
    TableAtHub,
    act_with_key,
    hub_settings,
    join_table,
    need_of_table,
    records_at_hub,
    running_hub,
    shows_last_input,
)
from internals import nats_url
from nats.aio.client import Client
from nats.errors import Error as NatsError
from waiting import until

from companion.core.kit import Seat
from companion.hub.commands import DesiredState, HubCommand, encode_command
from companion.hub.pair_messages import Pair
from companion.hub.subjects import (
    PAIRS_STREAM,
    RECORDS_STREAM,
    command_subject,
    record_subject,
    request_subject,
    state_subject,
)
from companion.hub_server import nats_server
from companion.hub_server.app import Hub
from companion.hub_server.folder import HubFolder, StoredTable
from companion.hub_server.nats_server import format_accounts


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    with running_hub(tmp_path / "hub") as hub:
        yield hub


@pytest.fixture
def tables(hub: Hub, tmp_path: Path) -> Iterator[list[TableAtHub]]:
    """One that plays on, and one with a changed program."""
    found = [join_table(hub, tmp_path / name) for name in ("honest", "changed")]
    yield found
    for table in found:
        table.close()


def test_no_answer_is_sent_on_to_other_subjects(hub: Hub, tables: list[TableAtHub]) -> None:
    honest, changed = tables
    honest.play(1)
    until("it is there", lambda: shows_last_input(hub, honest))
    changed.close()
    own, stored = honest.member.table_id, record_subject(changed.member.table_id)
    before = records_at_hub(hub, own)
    payload = encode_command(HubCommand(desired_state=DesiredState("x")))
    elsewhere = [record_subject(own), state_subject(own), command_subject(own)]
    elsewhere += [f"$JS.API.STREAM.PURGE.{RECORDS_STREAM}", f"$JS.API.STREAM.DELETE.{PAIRS_STREAM}"]

    async def send_on(client: Client) -> None:
        """Store bytes as one's own record, and have every kind of answer sent elsewhere."""
        ask = f"$JS.API.DIRECT.GET.{RECORDS_STREAM}.{stored}"
        await client.jetstream().publish(stored, payload)
        for to in elsewhere:
            for subject in (ask, stored, request_subject(changed.member.table_id)):
                await client.publish(subject, b'{"is":"ask"}', reply=to)
            await client.request(ask, b"", timeout=60)

    act_with_key(hub, changed, send_on)
    honest.play(1)
    until("it goes on", lambda: shows_last_input(hub, honest))
    assert records_at_hub(hub, own)[: len(before)] == before
    assert [each.entry for each in records_at_hub(hub, own)] == honest.entries()
    assert b'"follows"' not in honest.line.encode_state()

    async def streams(client: Client) -> None:
        names = {each.config.name for each in await client.jetstream().streams_info()}
        assert names >= {RECORDS_STREAM, PAIRS_STREAM}

    act_with_key(hub, None, streams)


def test_a_table_is_silent_until_admitted(tmp_path: Path) -> None:
    with Hub(hub_settings(tmp_path / "hub")) as hub:
        table = join_table(hub, tmp_path / "table")
        number = table.member.number
        until(
            "it is said there",
            lambda: "does not let this table in: ask its owner" in table.line.sentence,
        )
        assert need_of_table(hub, number) == "It wants to join: let it in on the owner’s page."
        assert hub.room.free_tables() == []
        hub.members.admit(table.member.table_id)
        until("it is there", lambda: table.line.is_connected)
        table.play(1)
        until("everything is there", lambda: shows_last_input(hub, table))
        table.close()


def test_lines_without_end_leave_room_for_others(
    hub: Hub, tables: list[TableAtHub], tmp_path: Path
) -> None:
    _, changed = tables
    lines: list[Client] = []
    seed = changed.member.seed

    def others_come() -> None:
        late = join_table(hub, tmp_path / "late")
        late.play(1)
        until("a new one's is there", lambda: shows_last_input(hub, late))
        late.close()

    async def connect() -> None:
        while len(lines) <= nats_server.MAX_CONNECTIONS_PER_TABLE:
            lines.append(Client())
            await lines[-1].connect(nats_url(hub), nkeys_seed_str=seed, allow_reconnect=False)

    async def open_lines() -> None:
        with pytest.raises(NatsError, match="maximum account active connections exceeded"):
            await connect()
        await asyncio.to_thread(others_come)
        for line in lines:
            await line.close()

    asyncio.run(open_lines())


def test_an_unreadable_head_cuts_nobodys_line(hub: Hub, tables: list[TableAtHub]) -> None:
    """It is said by hand, because the library sends no such head."""
    honest, changed = tables
    changed.close()
    own, head = changed.member.table_id, b"NATS/1.0 \xff\xff\xff\r\n\r\n"
    port = int(nats_url(hub).rpartition(":")[2])
    with (
        socket.create_connection(("127.0.0.1", port), timeout=60) as line,
        line.makefile("rb") as heard,
    ):
        nonce = json.loads(heard.readline().partition(b" ")[2])["nonce"]
        key = nkeys.from_seed(changed.member.seed.encode())
        signature = base64.urlsafe_b64encode(key.sign(nonce.encode())).rstrip(b"=").decode()
        hello = {"nkey": key.public_key.decode(), "sig": signature, "headers": True}
        line.sendall(b"CONNECT " + json.dumps(hello).encode() + b"\r\n")
        for subject in (state_subject(own), record_subject(own), request_subject(own)):
            sizes = b"%d %d" % (len(head), len(head))
            line.sendall(b"HPUB %s %s\r\n%s\r\n" % (subject.encode(), sizes, head))
        line.sendall(b"PING\r\n")
        while b"PONG" not in (said := heard.readline()):
            assert said, "NATS has hung up"
    honest.play(1)
    until("the other one goes on", lambda: shows_last_input(hub, honest))


def test_accounts_take_no_streams_of_another(tmp_path: Path) -> None:
    """NATS 2.15.1 dies of that while it reads anew who may come in."""
    pair = Pair("c" * 16, "scouts", {}, 0, {Seat.SOUTH: "a" * 16, Seat.NORTH: "b" * 16})
    tables = tuple(StoredTable(name * 16, 1, "", "key") for name in "ab")
    file = msgspec.structs.replace(HubFolder(tmp_path).file, tables=tables, pairs=(pair,))
    assert '"stream"' not in format_accounts(file)
