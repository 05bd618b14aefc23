"""A table with a changed program: what its key lets it do at NATS, whatever it asks for and wherever it has answers sent."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hub_tools import TableAtHub, answers_go_nowhere_else, has_all, hub_settings, joined, kept, running, until

from companion.hub_server.app import Hub


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
