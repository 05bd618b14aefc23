"""A table with a changed program: what its key lets it do at NATS, whatever it asks for and wherever it has answers sent."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from hub_tools import TableAtHub, has_all, hub_settings, joined, kept, running, until
from nats.aio.client import Client

from companion.hub.commands import HubCommand, HubWish, encoded_command
from companion.hub.subjects import (
    PAIRS,
    RECORDS,
    command_subject,
    inbox_prefix,
    record_subject,
    state_subject,
    wish_subject,
)
from companion.hub_server.app import Hub

Act = Callable[[Client], Awaitable[None]]


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


def with_key_of(hub: Hub, table: TableAtHub | None, act: Act) -> None:
    """Do something with a table's key (None: the hub's own)."""

    async def do() -> None:
        client = Client()
        assert hub.nats is not None

        async def nothing(_: Exception) -> None:
            """Refusals come as errors beside."""

        prefix = inbox_prefix(table.member.table) if table else "_INBOX"
        seed = table.member.seed if table else hub.folder.now.seed
        await client.connect(hub.nats.url, nkeys_seed_str=seed, inbox_prefix=prefix, error_cb=nothing)
        try:
            await act(client)
            await client.flush()
        finally:
            await client.close()

    asyncio.run(do())


def sent_on(table: TableAtHub, payload: bytes, to: str) -> Act:
    """Store these bytes as one's own record, and have JetStream send them on, as the answer to a question."""

    async def do(client: Client) -> None:
        own = record_subject(table.member.table)
        await client.jetstream().publish(own, payload)
        await client.publish(f"$JS.API.DIRECT.GET.{RECORDS}.{own}", b"", reply=to)
        for subject in (own, wish_subject(table.member.table)):  # JetStream's receipt, and the hub's own answer
            await client.publish(subject, b'{"is":"ask"}', reply=to)
        await client.request(f"$JS.API.DIRECT.GET.{RECORDS}.{own}", b"", timeout=5)

    return do


def test_a_table_cannot_have_answers_sent_to_where_it_may_say_nothing(hub: Hub, tables: list[TableAtHub]) -> None:
    honest, changed = tables
    honest.play(1)
    until("it is there", lambda: has_all(hub, honest))
    changed.close()
    own = honest.member.table
    before = kept(hub, own)
    heard: list[bytes] = []
    command = honest.line.command
    honest.line.command = lambda payload: (heard.append(payload), command(payload))[1]  # type: ignore[method-assign]
    close_it = encoded_command(HubCommand(wish=HubWish("x", is_closed=True)))
    for payload, to in (
        (b"{}", record_subject(own)),
        (b"{}", state_subject(own)),
        (close_it, command_subject(own)),
        (b"", f"$JS.API.STREAM.PURGE.{RECORDS}"),
        (b"", f"$JS.API.STREAM.DELETE.{PAIRS}"),
        (b"", f"$JS.API.STREAM.DELETE.{RECORDS}"),
    ):
        with_key_of(hub, changed, sent_on(changed, payload, to))
    honest.play(1)
    until("it goes on", lambda: has_all(hub, honest))
    assert kept(hub, own)[: len(before)] == before
    assert [each.entry for each in kept(hub, own)] == honest.entries()
    assert close_it not in heard

    async def streams(client: Client) -> None:
        assert {each.config.name for each in await client.jetstream().streams_info()} >= {RECORDS, PAIRS}

    with_key_of(hub, None, streams)


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
