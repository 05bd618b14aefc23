"""The service as a process of its own: its pages, its processor time and its memory."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from companion.service.lifecycle import MALLOC

PATIENCE_S = 60.0
LOCAL = '[web]\nhost = "127.0.0.1"\n'
"""Settings by which nobody else reaches the service."""
_TICKS_S = 1 / os.sysconf("SC_CLK_TCK")


def compiled(folder: Path) -> dict[str, str]:
    """The environment of an installation: Python keeps what it compiles, here in a folder of its own, and no more."""
    environment = {**os.environ, **MALLOC, "PYTHONPYCACHEPREFIX": str(folder / "compiled")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return environment


class Process:
    """A server as a process of its own on a free port of this machine."""

    def __init__(self, command: list[str], folder: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port = int(probe.getsockname()[1])
        self.began_s = time.monotonic()
        self._process = subprocess.Popen(
            [*command, str(self.port)],
            env=compiled(folder),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def get(self, path: str) -> bytes | None:
        """The page, or None while nobody answers."""
        with contextlib.closing(
            http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        ) as connection:
            try:
                connection.request("GET", path)
                answer = connection.getresponse()
                return answer.read() if answer.status == 200 else None
            except OSError:
                return None

    def line(self, path: str, holding: bytes) -> bytes:
        """The first line of a live page that holds this; empty when it ends before."""
        with contextlib.closing(
            http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        ) as connection:
            connection.request("GET", path)
            return next((line for line in connection.getresponse() if holding in line), b"")

    def until(self, path: str, pattern: bytes) -> float:
        """Seconds since the start when a page first matches; raises TimeoutError."""
        while time.monotonic() < self.began_s + PATIENCE_S:
            page = self.get(path)
            if page is not None and re.search(pattern, page):
                return time.monotonic() - self.began_s
            time.sleep(0.005)
        raise TimeoutError(f"{path} did not come within {PATIENCE_S:.0f} s")

    def cpu_s(self) -> float:
        """Processor time until now, of all threads."""
        fields = (
            Path(f"/proc/{self._process.pid}/stat")
            .read_text(encoding="ascii")
            .rpartition(")")[2]
            .split()
        )
        return (int(fields[11]) + int(fields[12])) * _TICKS_S

    def memory_mb(self) -> float:
        """Resident memory."""
        status = Path(f"/proc/{self._process.pid}/status").read_text(encoding="ascii")
        found = re.search(r"VmRSS:\s+(\d+)", status)
        return int(found[1]) / 1000 if found else 0.0

    def close(self) -> None:
        """Stop it."""
        self._process.terminate()
        self._process.wait(timeout=PATIENCE_S)


@contextmanager
def running_service(folder: Path, settings: str, *arguments: str) -> Iterator[Process]:
    """Run the companion with its state in a folder, silent, with these settings in its file."""
    file = folder / "settings.toml"
    file.write_text(
        f'state_dir = {json.dumps(str(folder))}\n{settings}[voice]\nby = "off"\n', encoding="utf-8"
    )
    command = [sys.executable, "-m", "companion", "play", "--settings", str(file), *arguments]
    with contextlib.closing(Process([*command, "--port"], folder)) as process:
        yield process
