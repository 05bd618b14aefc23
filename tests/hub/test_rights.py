"""Test what a table with a changed program can do at NATS with its key.

Whatever it asks for, and wherever it has answers sent, other tables play on.
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
    """An honest table, and one with a changed program."""
    tables = [join_table(hub, tmp_path / name) for name in ("honest", "changed")]
    yield tables
    for table in tables:
        table.close()


def test_no_answer_reaches_another_tables_subjects(hub: Hub, tables: list[TableAtHub]) -> None:
    """With each request, a client says to which subject the answer goes. NATS does not check it.

    So a table could try to have its answers sent to the honest table or to NATS's own API.
    """
    honest, changed = tables
    honest.play(1)
    until("the hub shows the honest table's turn", lambda: shows_last_input(hub, honest))
    changed.close()
    honest_id = honest.member.table_id
    own_record = record_subject(changed.member.table_id)
    records_before = records_at_hub(hub, honest_id)
    payload = encode_command(HubCommand(desired_state=DesiredState("x")))
    targets = [record_subject(honest_id), state_subject(honest_id), command_subject(honest_id)]
    targets += [f"$JS.API.STREAM.PURGE.{RECORDS_STREAM}", f"$JS.API.STREAM.DELETE.{PAIRS_STREAM}"]

    async def redirect_answers(client: Client) -> None:
        """Store a command as the table's own record, and have all answers sent to the targets."""
        read_record = f"$JS.API.DIRECT.GET.{RECORDS_STREAM}.{own_record}"
        await client.jetstream().publish(own_record, payload)
        for target in targets:
            for subject in (read_record, own_record, request_subject(changed.member.table_id)):
                await client.publish(subject, b'{"is":"ask"}', reply=target)
            await client.request(read_record, b"", timeout=60)

    act_with_key(hub, changed, redirect_answers)
    honest.play(1)
    until("the hub shows the honest table's next turn", lambda: shows_last_input(hub, honest))
    records = records_at_hub(hub, honest_id)
    assert records[: len(records_before)] == records_before
    assert [record.entry for record in records] == honest.entries()
    assert b'"follows"' not in honest.adapter.encode_state(), "the honest table got the command"

    async def require_both_streams(client: Client) -> None:
        names = {stream.config.name for stream in await client.jetstream().streams_info()}
        assert names >= {RECORDS_STREAM, PAIRS_STREAM}

    act_with_key(hub, None, require_both_streams)


def test_a_table_is_silent_until_admitted(tmp_path: Path) -> None:
    # a hub whose owner admits nobody by itself
    with Hub(hub_settings(tmp_path / "hub")) as hub:
        table = join_table(hub, tmp_path / "table")
        number = table.member.number
        until(
            "the table reports that it is not admitted",
            lambda: "does not let this table in: ask its owner" in table.adapter.sentence,
        )
        assert need_of_table(hub, number) == "It wants to join: let it in on the owner’s page."
        assert hub.room.free_tables() == []

        hub.members.admit(table.member.table_id)
        until("the table is connected", lambda: table.adapter.is_connected)
        table.play(1)
        until("the hub shows the last input", lambda: shows_last_input(hub, table))
        table.close()


def test_one_tables_connections_leave_room_for_others(
    hub: Hub, tables: list[TableAtHub], tmp_path: Path
) -> None:
    """A table opens as many connections as NATS lets it, and then another table joins and plays."""
    _, changed = tables
    connections: list[Client] = []
    private_key = changed.member.private_key

    def join_another_table() -> None:
        third = join_table(hub, tmp_path / "third")
        third.play(1)
        until("the hub shows the third table's turn", lambda: shows_last_input(hub, third))
        third.close()

    async def connect_too_often() -> None:
        while len(connections) <= nats_server.MAX_CONNECTIONS_PER_TABLE:
            connections.append(Client())
            await connections[-1].connect(
                nats_url(hub), nkeys_seed_str=private_key, allow_reconnect=False
            )

    async def exhaust_connections() -> None:
        with pytest.raises(NatsError, match="maximum account active connections exceeded"):
            await connect_too_often()
        await asyncio.to_thread(join_another_table)
        for connection in connections:
            await connection.close()

    asyncio.run(exhaust_connections())


def test_an_unreadable_header_disconnects_no_other_table(
    hub: Hub, tables: list[TableAtHub]
) -> None:
    """The hub's client must survive a header that is no text.

    The test speaks NATS's protocol over a socket, because the library sends no such header.
    """
    honest, changed = tables
    changed.close()
    changed_id = changed.member.table_id
    header = b"NATS/1.0 \xff\xff\xff\r\n\r\n"
    port = int(nats_url(hub).rpartition(":")[2])
    with (
        socket.create_connection(("127.0.0.1", port), timeout=60) as connection,
        connection.makefile("rb") as received,
    ):
        # connect with the key, by a signature of the number that NATS has drawn
        nonce = json.loads(received.readline().partition(b" ")[2])["nonce"]
        key = nkeys.from_seed(changed.member.private_key.encode())
        signature = base64.urlsafe_b64encode(key.sign(nonce.encode())).rstrip(b"=").decode()
        connect_options = {"nkey": key.public_key.decode(), "sig": signature, "headers": True}
        connection.sendall(b"CONNECT " + json.dumps(connect_options).encode() + b"\r\n")

        # a message with that header and no content, on each kind of subject
        for subject in (
            state_subject(changed_id),
            record_subject(changed_id),
            request_subject(changed_id),
        ):
            sizes = b"%d %d" % (len(header), len(header))
            connection.sendall(b"HPUB %s %s\r\n%s\r\n" % (subject.encode(), sizes, header))

        # the answer to a ping comes when NATS has read all of these messages
        connection.sendall(b"PING\r\n")
        while b"PONG" not in (reply := received.readline()):
            assert reply, "NATS closed the connection"
    honest.play(1)
    until("the hub shows the honest table's turn", lambda: shows_last_input(hub, honest))


def test_accounts_import_no_streams(tmp_path: Path) -> None:
    """NATS 2.15.1 crashes if accounts import streams while it reloads its configuration."""
    pair = Pair("c" * 16, "scouts", {}, 0, {Seat.SOUTH: "a" * 16, Seat.NORTH: "b" * 16})
    tables = tuple(StoredTable(name * 16, 1, "", "key") for name in "ab")
    file = msgspec.structs.replace(HubFolder(tmp_path).file, tables=tables, pairs=(pair,))
    assert '"stream"' not in format_accounts(file)
