"""What the service asks of the machine: the time of its start, its memory, and its work while nobody does anything.

It runs as a process of its own in simulation: the rendered table takes the place of the board, every frame is read as
from a real camera. The peer is the smallest server of the same kind, Flask behind waitress with one line of text.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from companion.bench.crowd import Crowd

STARTS = 5
FIRST_PAGE_S, CAMERA_S = 1.5, 3.0
MEMORY_MB, MEMORY_VIEWERS = 160.0, 10
IDLE_SHARE, IDLE_VIEWERS, IDLE_FPS = 0.12, 3, 10
SETTLE_S, IDLE_S = 8.0, 20.0
PATIENCE_S = 60.0
_TICKS_S = 1 / os.sysconf("SC_CLK_TCK")
_PEER = """
import sys
from flask import Flask
from waitress import serve
app = Flask(__name__)
app.add_url_rule("/", view_func=lambda: "a page")
serve(app, host="127.0.0.1", port=int(sys.argv[1]))
"""


@dataclass(frozen=True)
class Start:
    """Seconds from the command until the first page and until the camera's first reading, and processor time till then.

    `camera_s` is None where nobody asked for a camera.
    """

    page_s: float
    camera_s: float | None
    cpu_s: float


def compiled(folder: Path) -> dict[str, str]:
    """The environment in which Python keeps what it compiles, in a folder of its own, as an installation does."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(folder / "compiled")}
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
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)) as connection:
            try:
                connection.request("GET", path)
                answer = connection.getresponse()
                return answer.read() if answer.status == 200 else None
            except OSError:
                return None

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
        fields = Path(f"/proc/{self._process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * _TICKS_S

    def memory_mb(self) -> float:
        """Resident memory."""
        status = Path(f"/proc/{self._process.pid}/status").read_text(encoding="ascii")
        found = re.search(r"VmRSS:\s+(\d+)", status)
        return int(found[1]) / 1000 if found else 0.0

    def close(self) -> None:
        """Stop it."""
        self._process.terminate()
        self._process.wait(timeout=20)


@contextmanager
def service(folder: Path, fps: float = IDLE_FPS) -> Iterator[Process]:
    """The companion in simulation, with its state in a folder."""
    settings = folder / "settings.toml"
    parts = f'[web]\nhost = "127.0.0.1"\n[camera]\nfps = {fps}\n[voice]\nby = "off"\n'
    settings.write_text(f"state_dir = {json.dumps(str(folder))}\n{parts}", encoding="utf-8")
    command = [sys.executable, "-m", "companion", "play", "--simulate", "--settings", str(settings), "--port"]
    with contextlib.closing(Process(command, folder)) as process:
        yield process


def measure_start(folder: Path) -> Start:
    """One start of the service, to the first page and to the first board that its camera has read."""
    with service(folder) as process:
        page_s = process.until("/", b"</html>")
        cpu_s = process.cpu_s()
        return Start(page_s, process.until("/api/view", rb'"camera":\s*\{"state":\s*"(sees|no)_board"'), cpu_s)


def measure_peer(folder: Path) -> tuple[Start, float]:
    """One start of the peer, and its memory in MB."""
    with contextlib.closing(Process([sys.executable, "-c", _PEER], folder)) as process:
        return Start(process.until("/", b"a page"), None, process.cpu_s()), process.memory_mb()


def measure_rest(folder: Path) -> tuple[float, float]:
    """Memory in MB with viewers and a camera, and the share of one core while the board lies still with a few."""
    with service(folder) as process:
        process.until("/", b"</html>")
        many = Crowd(process.port, MEMORY_VIEWERS)
        many.settle()
        time.sleep(SETTLE_S)
        memory_mb = process.memory_mb()
        many.close()
        few = Crowd(process.port, IDLE_VIEWERS)
        few.settle()
        time.sleep(SETTLE_S)
        before_s, began_s = process.cpu_s(), time.monotonic()
        time.sleep(IDLE_S)
        share = (process.cpu_s() - before_s) / (time.monotonic() - began_s)
        few.close()
        return memory_mb, share


def detector_share() -> float:
    """The share of a core that bare marker detection would take for the same pictures: the peer of the idle camera."""
    import cv2  # noqa: PLC0415 - heavy

    from companion.games import GAMES  # noqa: PLC0415
    from vision.read import bench_reader  # noqa: PLC0415

    game = next(iter(GAMES.values()))
    cv2.setNumThreads(1)
    costs_ms = bench_reader(game.kit(game.options({})))
    return costs_ms["peer"] * IDLE_FPS / 1000


def bench_machine() -> bool:
    """Measure and print it all; answers whether every bound is kept."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        first = measure_start(folder)  # compiles everything; an installation has that done
        starts = [measure_start(folder) for _ in range(STARTS)]
        peers = [measure_peer(folder) for _ in range(STARTS)]
        memory_mb, share = measure_rest(folder)
    page_s = statistics.median(start.page_s for start in starts)
    camera_s = statistics.median(start.camera_s or 0.0 for start in starts)
    cpu_s = statistics.median(start.cpu_s for start in starts)
    peer_s = statistics.median(peer.page_s for peer, _ in peers)
    peer_mb = statistics.median(memory_mb for _, memory_mb in peers)
    peer_share = detector_share()
    kept = (page_s <= FIRST_PAGE_S, camera_s <= CAMERA_S, memory_mb <= MEMORY_MB, share <= IDLE_SHARE)
    lines = (
        f"start -> first page: {page_s:.2f} s (at most {FIRST_PAGE_S}), {cpu_s:.2f} s of processor time, "
        f"{page_s / peer_s:.1f} x the smallest Flask behind waitress ({peer_s:.2f} s)",
        f"start -> the camera has read the board: {camera_s:.2f} s (at most {CAMERA_S:.0f}), "
        f"{camera_s / peer_s:.1f} x; the very first start, which compiles everything: {first.camera_s or 0.0:.2f} s",
        f"memory with a camera and {MEMORY_VIEWERS} viewers: {memory_mb:.0f} MB (at most {MEMORY_MB:.0f}), "
        f"{memory_mb / peer_mb:.1f} x the smallest Flask behind waitress ({peer_mb:.0f} MB)",
        f"idle, {IDLE_VIEWERS} viewers, {IDLE_FPS} pictures a second: {share:.1%} of one core (at most "
        f"{IDLE_SHARE:.0%}), {share / peer_share:.2f} x cv2.aruco.ArucoDetector's defaults on as many "
        f"({peer_share:.0%})",
    )
    for line, is_kept in zip(lines, kept, strict=True):
        print(f"{line}  {'ok' if is_kept else 'NOT GOOD ENOUGH'}", flush=True)
    return all(kept)
