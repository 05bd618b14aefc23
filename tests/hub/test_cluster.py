"""A hub at a cluster of three instead of a NATS of its own: one of them may die at any moment."""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hub_tools import free_port, has_all, hub_settings, joined, until
from nats.aio.client import Client

from companion.hub.subjects import RECORDS
from companion.hub_server.app import Hub
from companion.hub_server.folder import HubFolder
from companion.hub_server.nats_server import USERS_FILE, users_text

PATIENCE_S = 60.0
"""Who leads is elected anew, and whoever waited for the old one gives up first: seconds, more on a busy machine."""


class Cluster:
    """Three servers on this machine, as docs/many-tables.md has them set up on three."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.names = folder, ("a", "b", "c")
        self.ports = {name: free_port() for name in self.names}
        routes = {name: free_port() for name in self.names}
        for name in self.names:
            own = {
                "server_name": name,
                "listen": f"127.0.0.1:{self.ports[name]}",
                "jetstream": {"store_dir": str(folder / name), "sync_interval": "always"},
                "cluster": {
                    "name": "club",
                    "listen": f"127.0.0.1:{routes[name]}",
                    "routes": [f"nats://127.0.0.1:{port}" for port in routes.values()],
                },
            }
            lines = [f"{key}: {json.dumps(value)}" for key, value in own.items()]
            (folder / f"{name}.conf").write_text("\n".join([*lines, f"include ./{USERS_FILE}", ""]))
        self.nodes = {name: self._started(name) for name in self.names}

    @property
    def urls(self) -> tuple[str, ...]:
        return tuple(f"nats://127.0.0.1:{port}" for port in self.ports.values())

    def _started(self, name: str) -> subprocess.Popen[bytes]:
        program = shutil.which("nats-server") or str(Path(sys.executable).parent / "nats-server")
        with (self.folder / f"{name}.log").open("ab") as log:
            return subprocess.Popen([program, "-c", str(self.folder / f"{name}.conf")], stdout=log, stderr=log)

    def reload(self) -> None:
        """What the hub has written holds from now on."""
        for node in self.nodes.values():
            if node.poll() is None:
                node.send_signal(signal.SIGHUP)

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
    (tmp_path / USERS_FILE).write_text(users_text(folder.own_key, ()))
    made = Cluster(tmp_path)
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


@pytest.mark.slow
def test_a_cluster_of_three_outlives_the_one_that_leads(cluster: Cluster, tmp_path: Path) -> None:
    """The hub enters with its own key; a table that has joined is known once the file of the tables was read again."""
    with Hub(hub_settings(tmp_path, nats_urls=cluster.urls, replicas=3)) as hub:
        table = joined(hub, tmp_path / "table")
        try:
            cluster.reload()
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
