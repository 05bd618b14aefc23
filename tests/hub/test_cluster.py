"""A hub at a cluster of three instead of a NATS of its own: one of them may die at any moment."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random

import msgspec
import pytest
from hub_tools import (
    OpenHub,
    TableAtHub,
    answers_go_nowhere_else,
    floods_the_store,
    free_port,
    has_all,
    hub_settings,
    joined,
    until,
)
from inside import session_of
from nats.aio.client import Client
from remote_tools import act, same_game

from companion.core.errors import CompanionError, SystemTrouble
from companion.core.kit import Seat
from companion.hub.joining import join
from companion.hub.subjects import RECORDS
from companion.hub_server.app import Hub
from companion.hub_server.folder import HubFolder
from companion.hub_server.nats_server import USERS_FILE, cluster_text
from companion.table.seats.staff_call import Call
from companion.table.session import Phase

PATIENCE_S = 60.0
"""Who leads is elected anew, and whoever waited for the old one gives up first: seconds, more on a busy machine."""


class Cluster:
    """Three servers on this machine, as docs/many-tables.md has them set up on three: each with a folder of its own."""

    def __init__(self, folder: Path, users: str) -> None:
        self.folder, self.names = folder, ("a", "b", "c")
        self.ports = {name: free_port() for name in self.names}
        routes = {name: free_port() for name in self.names}
        self.program = shutil.which("nats-server") or str(Path(sys.executable).parent / "nats-server")
        for name in self.names:
            own = {
                "server_name": name,
                "listen": f"127.0.0.1:{self.ports[name]}",
                "pid_file": str(folder / name / "pid"),
                "max_payload": 65536,
                "jetstream": {"store_dir": str(folder / name / "store"), "sync_interval": "always"},
                "cluster": {
                    "name": "club",
                    "listen": f"127.0.0.1:{routes[name]}",
                    "routes": [f"nats://127.0.0.1:{port}" for port in routes.values()],
                },
            }
            lines = [f"{key}: {json.dumps(value)}" for key, value in own.items()]
            (folder / name).mkdir()
            (folder / name / "own.conf").write_text("\n".join([*lines, f"include ./{USERS_FILE}", ""]))
            (folder / name / USERS_FILE).write_text(users)
        self.nodes = {name: self._started(name) for name in self.names}

    @property
    def urls(self) -> tuple[str, ...]:
        return tuple(f"nats://127.0.0.1:{port}" for port in self.ports.values())

    @property
    def told_by(self) -> str:
        """The command that takes the file of tables to all three, and has them read it."""
        script = self.folder / "tell-nats"
        script.write_text(
            f'for each in {" ".join(self.names)}; do\n  cp "$1" {self.folder}/$each/{USERS_FILE}\n'
            f"  {self.program} --signal reload={self.folder}/$each/pid || true\ndone\n"
        )
        return f"sh {script}"

    def _started(self, name: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{name}.log").open("ab") as log:
            return subprocess.Popen([self.program, "-c", str(self.folder / name / "own.conf")], stdout=log, stderr=log)

    def kill(self, name: str) -> None:
        self.nodes[name].kill()
        self.nodes[name].wait()

    def start(self, name: str) -> None:
        self.nodes[name] = self._started(name)

    def close(self) -> None:
        for name in self.names:
            self.kill(name)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    folder = HubFolder(tmp_path)
    folder.draw_spare()
    made = Cluster(tmp_path, cluster_text(folder.own_key, (), folder.now.spare))
    yield made
    made.close()


async def leader(cluster: Cluster, seed: str) -> tuple[str, int, int]:
    """Which of them leads the stream of records, how many follow, and how many messages are in it."""
    client = Client()
    await client.connect(list(cluster.urls), nkeys_seed_str=seed)
    info = await client.jetstream(timeout=5).stream_info(RECORDS)
    await client.close()
    assert info.cluster
    return info.cluster.leader or "", len(info.cluster.replicas or ()), info.state.messages


@pytest.fixture
def hub(cluster: Cluster, tmp_path: Path) -> Iterator[Hub]:
    settings = hub_settings(tmp_path, nats_urls=cluster.urls, replicas=3, nats_reload=cluster.told_by)
    with OpenHub(settings) as hub:
        yield hub


@contextmanager
def at(hub: Hub, folder: Path, *servers: str) -> Iterator[list[TableAtHub]]:
    """Tables that have joined, each at the one server that is named for it."""
    tables = []
    try:
        for number, server in enumerate(servers):
            (folder / f"t{number}").mkdir()
            member = join(hub.urls()[0], hub.door.code, f"T{number}", names=False)
            tables.append(TableAtHub(folder / f"t{number}", msgspec.structs.replace(member, servers=(server,))))
            until("it is let in", lambda table=tables[-1]: table.line.is_connected, PATIENCE_S)
        yield tables
    finally:
        for table in tables:
            table.close()


@pytest.mark.slow
def test_a_cluster_of_three_outlives_the_one_that_leads(hub: Hub, cluster: Cluster, tmp_path: Path) -> None:
    table = joined(hub, tmp_path / "table")
    try:
        table.play(2)
        until("the hub has everything", lambda: has_all(hub, table), PATIENCE_S)
        first, followers, _ = asyncio.run(leader(cluster, hub.folder.now.seed))
        assert followers == 2
        cluster.kill(first)
        table.play(2)
        until("it goes on without the one that led", lambda: has_all(hub, table), PATIENCE_S)
        cluster.start(first)
        table.play(1)
        until("and with it again", lambda: has_all(hub, table), PATIENCE_S)
        *_, messages = asyncio.run(leader(cluster, hub.folder.now.seed))
        assert messages == len(table.entries())
    finally:
        table.close()


@pytest.mark.slow
def test_tables_that_join_at_any_server_play_each_other(hub: Hub, cluster: Cluster, tmp_path: Path) -> None:
    """Accounts that came while the servers ran would stay deaf: each is there from the beginning."""
    with at(hub, tmp_path, *cluster.urls) as tables:
        for table in tables:
            table.bell.ring("south")
            until("an answer reaches it", lambda table=table: is_answered(hub, table), PATIENCE_S)
            table.play(1)
            until("the hub has it", lambda table=table: has_all(hub, table), PATIENCE_S)
            table.table.abandon()
        for south, north in (tables[:2], tables[1:]):
            code = south.line.pairs.offer("outbuffered", {"turn_limit": 2}, Seat.SOUTH, "")
            north.line.pairs.take(code, "")
            until("it begins", lambda n=north, s=south: s.table.remote.begun and n.table.remote.begun, PATIENCE_S)
            rng = Random(3)

            def plays(south: TableAtHub = south, north: TableAtHub = north, rng: Random = rng) -> bool:
                for table, seat in ((south, Seat.SOUTH), (north, Seat.NORTH)):
                    with suppress(CompanionError):
                        act(table.table, seat, rng)
                    table.table.step()
                return all(session_of(each.table).phase is Phase.OVER for each in (south, north))

            until("the game is over", plays, PATIENCE_S)
            same_game(south.table, north.table)


def is_answered(hub: Hub, table: TableAtHub) -> bool:
    """The hub answers a call until the table has heard it."""
    hub.members.answer(table.member.number, "coming")
    return table.bell.call is Call.COMING


@pytest.mark.slow
def test_a_table_at_a_cluster_cannot_have_answers_sent_on(hub: Hub, cluster: Cluster, tmp_path: Path) -> None:
    with at(hub, tmp_path, *cluster.urls[:2]) as (honest, changed):
        answers_go_nowhere_else(hub, honest, changed)


@pytest.mark.slow
@pytest.mark.parametrize("what", ["asks", "repeats"])
def test_a_table_that_floods_the_store_of_a_cluster_is_shut_out(
    hub: Hub, cluster: Cluster, tmp_path: Path, what: str
) -> None:
    with at(hub, tmp_path, *cluster.urls[:2]) as (honest, changed):
        floods_the_store(hub, honest, changed, what)


@pytest.mark.slow
def test_a_hub_without_an_account_left_says_so(hub: Hub) -> None:
    hub.folder.change(lambda file: msgspec.structs.replace(file, spare=()))
    with pytest.raises(SystemTrouble, match="no account left"):
        join(hub.urls()[0], hub.door.code, "one too many", names=False)
