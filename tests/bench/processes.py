"""Helpers: servers as processes of their own, and how much time and memory processes take."""

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

# Timeout for an answer of a server, and for its start and its end.
TIMEOUT_S = 60.0
# Settings of the memory allocator, as in the service's units. Without them each of some hundred
# threads keeps freed memory for itself, which adds 20 MB in a night.
MALLOC_SETTINGS = {"GLIBC_TUNABLES": "glibc.malloc.arena_max=1:glibc.malloc.tcache_count=0"}
# Settings with which only this machine reaches the service.
LOCAL_ONLY = '[web]\nhost = "127.0.0.1"\n'
# Unit of the processor times in /proc.
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


def environment_of(folder: Path) -> dict[str, str]:
    """Return the environment variables of a measured process.

    As in an installation, Python keeps compiled code. It is kept in a subfolder of `folder`.
    """
    environment = {**os.environ, **MALLOC_SETTINGS, "PYTHONPYCACHEPREFIX": str(folder / "compiled")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return environment


def cpu_s(pid: int) -> float:
    """Return the processor time that all threads of a process have taken so far, in seconds."""
    # Fields 14 (utime) and 15 (stime) of proc(5). Field 2, the name, ends with the last bracket and
    # may contain spaces, so the fields are counted from there: index 0 is field 3.
    fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * _TICK_S


def children_of(pid: int) -> list[int]:
    """Return the process ids of a process's children."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]


def memory_mb(pid: int) -> float:
    """Return the memory of a process and its children in MB.

    A page of memory that several processes share is divided among them (the kernel's `Pss`).
    """
    pids = (pid, *children_of(pid))
    texts = [Path(f"/proc/{each_pid}/smaps_rollup").read_text() for each_pid in pids]
    sizes_kb = [int(size) for text in texts for size in re.findall(r"^Pss:\s+(\d+)", text, re.M)]
    return sum(sizes_kb) * 1024 / 1e6


class ServerProcess:
    """A server as a process. It keeps its port when it is killed and started again.

    The server is started with `command` and the option `--port`. Its log and compiled code lie in
    `folder`.
    """

    def __init__(self, command: Sequence[str], folder: Path, port: int = 0) -> None:
        self.port = port or free_port()
        self.log = folder / "service.log"
        self._command = [*command, "--port", str(self.port)]
        self._folder = folder
        self.start()

    def start(self) -> None:
        """Start the server without waiting for its first page."""
        self.began_at_s = time.monotonic()
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
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_S)
        with (
            contextlib.closing(connection),
            contextlib.suppress(OSError, http.client.HTTPException),
        ):
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.read() if answer.status == 200 else None
        return None

    def wait_for_page(self) -> float:
        """Wait until the table screen is whole. Return the seconds from the start until then.

        Raises RuntimeError with the end of the log if the server ends, or after the timeout.
        """
        while time.monotonic() < self.began_at_s + TIMEOUT_S and self._process.poll() is None:
            page = self.get("/")
            if page is not None and b"</html>" in page:
                return time.monotonic() - self.began_at_s
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
    """Write a settings file, and return the command that runs a table with it.

    The table has its state in the same folder, and no voice. `settings` is the rest of the file, as
    TOML. `arguments` are appended to the command.
    """
    path = folder / "settings.toml"
    state = f"state_dir = {json.dumps(str(folder))}\n"
    path.write_text(f'{state}{settings}[voice]\nby = "off"\n', encoding="utf-8")
    return [sys.executable, "-m", "companion", "play", "--settings", str(path), *arguments]


@contextmanager
def running_service(folder: Path, settings: str, *arguments: str) -> Iterator[ServerProcess]:
    """Run a table until the end of the block. It answers pages when the block begins."""
    process = ServerProcess(play_command(folder, settings, *arguments), folder)
    with contextlib.closing(process):
        process.wait_for_page()
        yield process
