"""Helpers: servers as processes of their own, and what processes cost.

All times are in seconds.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ports import free_port

TIMEOUT_S = 60.0
# Settings of the memory allocator, as in the service's units. Without them each of a hundred
# threads keeps freed memory for itself, 20 MB in a night.
MALLOC_SETTINGS = {"GLIBC_TUNABLES": "glibc.malloc.arena_max=1:glibc.malloc.tcache_count=0"}
# Settings by which nobody else reaches the service.
LOCAL_ONLY = '[web]\nhost = "127.0.0.1"\n'
_TICKS_S = 1 / os.sysconf("SC_CLK_TCK")


def environment_of(folder: Path) -> dict[str, str]:
    """Return environment variables as in an installation, where Python keeps compiled code.

    Here it lies in `folder`.
    """
    environment = {**os.environ, **MALLOC_SETTINGS, "PYTHONPYCACHEPREFIX": str(folder / "compiled")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return environment


def cpu_s(pid: int) -> float:
    """Return the processor time that all threads of a process have taken so far, in seconds."""
    # fields 14 and 15 of proc(5), utime and stime. Field 2, the name, may have spaces.
    fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * _TICKS_S


def children_of(pid: int) -> list[int]:
    """Return the ids of a process's children."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]


def memory_mb(pid: int) -> float:
    """Return the memory of a process and its children in MB.

    A page that several processes share counts by its share (the kernel's `Pss`).
    """
    pids = (pid, *children_of(pid))
    texts = [Path(f"/proc/{number}/smaps_rollup").read_text() for number in pids]
    sizes_kb = [int(size) for text in texts for size in re.findall(r"^Pss:\s+(\d+)", text, re.M)]
    return sum(sizes_kb) * 1024 / 1e6


class ServerProcess:
    """A server that keeps its port when it is killed and started again."""

    def __init__(self, command: Sequence[str], folder: Path, port: int = 0) -> None:
        self.port = port or free_port()
        self.log = folder / "service.log"
        self._command = [*command, "--port", str(self.port)]
        self._folder = folder
        self.start()

    def start(self) -> None:
        """Start the server without waiting for its first page."""
        self.began_s = time.monotonic()
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command, env=environment_of(self._folder), stdout=log, stderr=log
            )

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def get(self, path: str) -> bytes | None:
        """Return a page, or None if nobody answers or the status is not 200."""
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_S)
        with contextlib.closing(line), contextlib.suppress(OSError, http.client.HTTPException):
            line.request("GET", path)
            answer = line.getresponse()
            return answer.read() if answer.status == 200 else None
        return None

    def wait_for_page(self, path: str = "/", pattern: bytes = b"</html>") -> float:
        """Wait until a page matches. Return the seconds since the start. Raises RuntimeError."""
        while time.monotonic() < self.began_s + TIMEOUT_S and self._process.poll() is None:
            page = self.get(path)
            if page is not None and re.search(pattern, page):
                return time.monotonic() - self.began_s
            time.sleep(0.005)
        self.kill()
        raise RuntimeError(self.log.read_text(encoding="utf-8", errors="replace")[-2000:])

    def kill(self) -> None:
        """End the server by SIGKILL. May be called twice."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """End the server by SIGTERM."""
        self._process.terminate()
        self._process.wait(timeout=TIMEOUT_S)


def play_command(folder: Path, settings: str, *arguments: str) -> list[str]:
    """Write a settings file, and return the command that runs a silent table with its state in the
    same folder.
    """
    file = folder / "settings.toml"
    state = f"state_dir = {json.dumps(str(folder))}\n"
    file.write_text(f'{state}{settings}[voice]\nby = "off"\n', encoding="utf-8")
    return [sys.executable, "-m", "companion", "play", "--settings", str(file), *arguments]


@contextmanager
def running_service(folder: Path, settings: str, *arguments: str) -> Iterator[ServerProcess]:
    """Run a table until the end of the block. It answers pages when the block begins."""
    process = ServerProcess(play_command(folder, settings, *arguments), folder)
    with contextlib.closing(process):
        process.wait_for_page()
        yield process
