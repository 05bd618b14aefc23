"""Helpers: the service that the bench measures as a child process, and the requests to it.

`bench.pi.measured_service` is the program of that process.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec

from bench.pi.measured_service import Times
from bench.pi.quota import CpuQuota
from bench.processes import environment_of
from companion.core.ports import Closeable


class MeasuredProcess(Closeable):
    """The measured service as a process, on its quota of processor time or, without one, on all.

    `pictures` is the file in which `bench.visitors.TablePainter` paints what the camera sees, and
    `size` the width and height of these pictures. The service answers pages at `port` once this
    object is made.
    """

    def __init__(
        self, quota: CpuQuota | None, folder: Path, pictures: Path, size: tuple[int, int]
    ) -> None:
        settings = folder / "settings.toml"
        command = [sys.executable, "-m", "bench.pi.measured_service", str(settings), str(pictures)]
        command += [str(length_px) for length_px in size]
        self.began_at_s = time.monotonic()
        self._process = subprocess.Popen(
            quota.limited(command) if quota else command,
            env=environment_of(folder),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.pid = self._process.pid
        self.port = int(self._read_answer())

    def press(self, button: str) -> None:
        """Press a key of a pad for 60 ms, which is longer than it is debounced, and let it rest."""
        self.send(do="press", button=button)
        time.sleep(0.06)
        self.send(do="release", button=button)
        time.sleep(0.14)

    def times(self, lamp: str) -> Times:
        """Return when this lamp was lit, and when the buzzer sounded and turns ran out."""
        return msgspec.convert(self.ask(do="times", lamp=lamp), Times)

    def ask(self, **request: Any) -> Any:
        """Send a request, and return its answer."""
        self.send(**request)
        return self._read_answer()

    def send(self, **request: Any) -> None:
        """Send a request that has no answer.

        `MeasuredService.handle_request` lists the requests and their fields.
        """
        assert self._process.stdin
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()

    def _read_answer(self) -> Any:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the service that is measured has ended")
        return json.loads(line)

    def close(self) -> None:
        """End the service, by SIGKILL if it does not stop within 20 seconds."""
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe
            pipe.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(20)
        self._process.kill()
        self._process.wait()
