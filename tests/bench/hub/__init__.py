"""Benches of a hub, and the hub as a process of its own."""

from __future__ import annotations

import json
import signal
import sys
import time
import urllib.request
from os import kill
from pathlib import Path

from ports import free_port

from bench.processes import TIMEOUT_S, ServerProcess, children_of
from companion.core.network import format_host_key
from companion.hub.joining import join
from companion.hub.membership import Membership
from companion.hub_server.folder import HubFolder


class HubProcess(ServerProcess):
    """`companion hub` as a process. Its ports stay the same when it is killed and restarted."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.nats_port = folder, free_port()
        folder.mkdir()
        options = ["--folder", str(folder), "--host", "127.0.0.1"]
        options += ["--nats-port", str(self.nats_port)]
        super().__init__([sys.executable, "-m", "companion", "hub", *options], folder)

    def start(self) -> None:
        """Start the hub, and wait for its first page.

        Try again as long as the port is still in use by the NATS server of the hub that was killed.
        """
        end_s = time.monotonic() + TIMEOUT_S
        while True:
            super().start()
            try:
                self.wait_for_page()
                return
            except RuntimeError as error:
                if "is in use" not in str(error) or time.monotonic() > end_s:
                    raise
                time.sleep(0.5)

    def join(self, name: str) -> Membership:
        """Let a table join the hub, and admit it as the hub's owner. Return its membership."""
        join_code = str(self._ask("new-code", {})["code"])
        member = join(f"127.0.0.1:{self.port}", join_code, name, sends_names=False)
        self._ask("let-in", {"number": member.number})
        return member

    def _ask(self, action: str, body: dict[str, object]) -> dict[str, object]:
        """Send a request to the hub as its owner, and return the answer."""
        key = format_host_key(HubFolder(self.folder).file.owner_key)
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/api/hub/{action}",
            json.dumps(body).encode(),
            {"Content-Type": "application/json", "X-Host-Key": key},
        )
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as response:
            answer: dict[str, object] = json.load(response)
        return answer

    def kill_nats(self) -> None:
        """Kill the hub's NATS server, but not the hub. The hub starts another one."""
        for child_pid in children_of(self.pid):
            kill(child_pid, signal.SIGKILL)

    def hang(self, seconds: float) -> None:
        """Freeze the hub and its NATS server for `seconds`, let them go on, and wait as long."""
        pids = (self.pid, *children_of(self.pid))
        for signal_number in (signal.SIGSTOP, signal.SIGCONT):
            for pid in pids:
                kill(pid, signal_number)
            time.sleep(seconds)
