"""A table with a changed program: what its key lets it do at NATS, whatever it asks for and wherever it has answers sent."""

from __future__ import annotations

import asyncio
import base64
import json
import shutil
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import nkeys
import pytest
from hub_tools import (
    TableAtHub,
    answers_go_nowhere_else,
    floods_the_store,
    has_all,
    hub_settings,
    joined,
    kept,
    running,
    until,
)  # fmt: skip
from inside import nats_of
from nats.aio.client import Client
from nats.errors import Error as NatsError

from companion.hub.subjects import record_subject, state_subject, told_far_subject, wish_subject
from companion.hub_server.app import Hub
from companion.hub_server.nats_server import MOST_LINES


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


def test_a_table_cannot_have_answers_sent_to_where_it_may_say_nothing(hub: Hub, tables: list[TableAtHub]) -> None:
    answers_go_nowhere_else(hub, *tables)


def test_a_table_that_opens_lines_without_end_leaves_room_for_the_others(
    hub: Hub, tables: list[TableAtHub], tmp_path: Path
) -> None:
    honest, changed = tables
    lines = [Client() for _ in range(MOST_LINES + 1)]
    refused: list[str] = []

    async def note(error: Exception) -> None:
        refused.append(str(error))

    async def open_lines() -> None:
        for line in lines:
            with suppress(NatsError):  # which is told to `note` as well
                await line.connect(
                    nats_of(hub), nkeys_seed_str=changed.member.seed, allow_reconnect=False, error_cb=note
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


@pytest.mark.parametrize("head", [b"NATS/1.0 \xff\xff\xff\r\n\r\n", b"NATS/1.0 503 \xff\r\n\r\n", b"NATS/1.0"])
def test_a_message_with_a_head_that_cannot_be_read_cuts_nobodys_line(
    hub: Hub, tables: list[TableAtHub], head: bytes
) -> None:
    honest, changed = tables
    changed.close()
    assert hub.nats
    before = hub.nats.pid
    own = changed.member.table
    for subject in (state_subject(own), record_subject(own), wish_subject(own), told_far_subject(own, "x")):
        said_with_head(hub, changed, subject, head)
    honest.play(1)
    until("the other one goes on", lambda: has_all(hub, honest), 5)
    assert hub.nats.pid == before


def said_with_head(hub: Hub, table: TableAtHub, subject: str, head: bytes) -> None:
    """Say something by hand: the library sends no such head."""
    port = int(nats_of(hub).rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=20) as line, line.makefile("rb") as heard:
        nonce = json.loads(heard.readline().partition(b" ")[2])["nonce"]
        key = nkeys.from_seed(table.member.seed.encode())
        signature = base64.urlsafe_b64encode(key.sign(nonce.encode())).rstrip(b"=").decode()
        hello = {"nkey": key.public_key.decode(), "sig": signature, "verbose": False, "headers": True, "lang": "x"}
        line.sendall(b"CONNECT " + json.dumps(hello).encode() + b"\r\n")
        line.sendall(b"HPUB %s %d %d\r\n%s\r\nPING\r\n" % (subject.encode(), len(head), len(head), head))
        while b"PONG" not in (said := heard.readline()):
            assert said, "NATS has hung up"


def test_a_hub_of_before_keeps_what_it_had(tmp_path: Path) -> None:
    settings = hub_settings(tmp_path / "hub")
    with Hub(settings) as hub:
        table = joined(hub, tmp_path / "table")
        table.play(1)
        until("it is there", lambda: has_all(hub, table))
        before = kept(hub, table.member.table)
        table.close()
    store = tmp_path / "hub" / "nats" / "store" / "jetstream"
    shutil.move(store / "hub", store / "$G")
    with Hub(settings) as hub:
        assert kept(hub, table.member.table) == before
