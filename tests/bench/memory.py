"""An evening's memory: forty games are played while pages, pictures and streams are asked for without a break.

The service is `companion play --simulate` as anybody starts it: nothing is said about the allocator in its environment.
"""

from __future__ import annotations

import contextlib
import http.client
import itertools
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random

from bench.bars import EVENING_MB
from bench.crowd import Crowd
from companion.core.config import Settings
from companion.core.kit import SEATS
from companion.core.network import host_key_text
from companion.games import GAMES
from companion.storage.journal import Journal
from companion.tools.selfplay.people import Phone, Stuck

REQUESTS, GAMES_PLAYED = 20_000, 40
MOST_GROWTH_MB = 2.0
"""Growth over the last half of the requests, by the line of least squares.

Memory is looked at after every request: pictures that are just being drawn move it by 2 to 4 MB (one standard
deviation). Lines through one in a hundred of the same evening rose by 0.4 to 1.7 MB, through one in twenty by 0.3 to
1.4 MB, through all by 0.6 MB.
"""
CLIENTS, VIEWERS = 3, 8
"""As many clients as one address may have waiting for pictures: more would be told to come back."""
TURN_S = 0.1
"""Between two acts of the people who play."""
STREAM_BYTES = 2_000
"""Of a stream so much is read before its client hangs up."""
PAGES = (
    *("/", "/watch", "/join", "/host", "/settings", "/kit", "/rules/", "/history", "/host/health"),
    *(
        "/workbench",
        "/health",
        "/settings/backup.zip",
        "/api/doctor",
        "/api/view",
        "/workbench/state",
    ),
    "/api/photographs",
)
PICTURES = ("/camera/frame.jpg", "/workbench/frame.jpg")
STREAMS = ("/live/watch", "/live/table", "/live/health", "/workbench/live")
PDFS_EACH = 250
"""One of so many requests is for a game's sheets, which take a second each."""
_SETTLED = re.compile(rb"/camera/settled/\d+")
_ENVIRONMENT = ("GLIBC_TUNABLES", "MALLOC_")


@dataclass(frozen=True)
class MemorySample:
    """Resident memory after so many requests."""

    requests: int
    mb: float


def growth_mb(samples: Sequence[MemorySample]) -> float:
    """By how much memory grows from the first sample to the last, by the line of least squares.

    >>> growth_mb([MemorySample(each, 100 + each / 1000) for each in range(0, 10_001, 500)])
    10.0
    """
    middle = sum(each.requests for each in samples) / max(1, len(samples))
    spread = sum((each.requests - middle) ** 2 for each in samples)
    slope = sum((each.requests - middle) * each.mb for each in samples) / spread if spread else 0.0
    return round(slope * (samples[-1].requests - samples[0].requests), 6) if samples else 0.0


def bench_memory(requests: int = REQUESTS) -> bool:
    """Measure and print it; answers whether both bounds are kept."""
    with running_service() as (port, pid, host_key):
        evening = Evening(port, pid, host_key, requests)
        samples = evening.spend()
        threads = len(os.listdir(f"/proc/{pid}/task"))
    last_half = [each for each in samples if each.requests >= requests / 2]
    grown_mb, end_mb = growth_mb(last_half), samples[-1].mb
    is_good = (
        end_mb <= EVENING_MB.most and grown_mb <= MOST_GROWTH_MB and evening.games >= GAMES_PLAYED
    )
    highest_mb = max(each.mb for each in samples)
    print(
        f"memory: {requests:,} requests over {evening.games} games: {samples[0].mb:.0f} MB, then {end_mb:.0f} MB "
        f"(at most {EVENING_MB.most:.0f}; the highest {highest_mb:.0f}), {grown_mb:+.1f} MB over the last half "
        f"(at most {MOST_GROWTH_MB:+.0f}), {threads} threads, {evening.refused.total()} answers that were not 200  "
        f"{'ok' if is_good else 'TOO MUCH'}",
        flush=True,
    )
    return is_good


@contextmanager
def running_service() -> Iterator[tuple[int, int, str]]:
    """The service in simulation as somebody starts it: its port, its process and its host key."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(_ENVIRONMENT)
    }
    with tempfile.TemporaryDirectory() as folder:
        settings = Path(folder) / "settings.toml"
        settings.write_text(
            f'state_dir = "{folder}"\n[web]\nhost = "127.0.0.1"\n', encoding="utf-8"
        )
        command = [
            sys.executable,
            "-u",
            "-m",
            "companion",
            "play",
            "--simulate",
            "--settings",
            str(settings),
        ]
        with subprocess.Popen(
            [*command, "--port", "0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        ) as process:
            try:
                port = 0
                for line in process.stdout or ():
                    if found := re.search(r"Table screen\s+http://[^/]+:(\d+)/", line):
                        port = int(found[1])
                    if line.startswith("Ctrl-C"):
                        break
                with Journal(Settings(state_dir=folder).journal_path, read_only=True) as journal:
                    host_key = host_key_text(journal.key("host"))
                yield port, process.pid, host_key
            finally:
                process.terminate()


class Evening:
    """Clients that ask without a break, and two people who play meanwhile."""

    def __init__(self, port: int, pid: int, host_key: str, requests: int) -> None:
        self._port, self._pid, self._requests = port, pid, requests
        self._headers = {"X-Host-Key": host_key}
        self.refused: Counter[str] = Counter()
        self._paths = _paths()
        self._lock = threading.Lock()
        self._asked = 0
        self._settled: tuple[str, ...] = ()
        self._samples: list[MemorySample] = []
        self.games = 0

    def spend(self) -> list[MemorySample]:
        """All requests and all games; answers what the service's memory was on the way."""
        crowd = Crowd(self._port, VIEWERS)
        clients = [threading.Thread(target=self._ask, daemon=True) for _ in range(CLIENTS)]
        for client in clients:
            client.start()
        phones = [Phone(f"http://127.0.0.1:{self._port}", seat) for seat in SEATS]
        for phone in phones:
            phone.post("take", {"name": "Bench"})
        names = list(itertools.islice(itertools.cycle(order_of_games()), GAMES_PLAYED))
        for number, name in enumerate(names, start=1):
            play_a_while(phones, name, Random(number), partial(self._is_at, number / len(names)))
            self.games += 1
        for client in clients:
            client.join()
        crowd.close()
        return self._samples

    def _is_at(self, share: float) -> bool:
        return self._asked >= share * self._requests

    def _next(self) -> str | None:
        """What is asked next; None: all is asked."""
        with self._lock:
            if self._asked >= self._requests:
                return None
            self._samples.append(MemorySample(self._asked, _resident_mb(self._pid)))
            self._asked += 1
            kept = self._settled
            if kept and self._asked % 7 == 0:
                return kept[self._asked // 7 % len(kept)]
            return next(self._paths)

    def _ask(self) -> None:
        """One client: asks on one connection, anew where a stream or an error has ended it."""
        line: http.client.HTTPConnection | None = None
        while path := self._next():
            if line is None:
                line = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
            try:
                line.request("GET", path, headers=self._headers)
                answer = line.getresponse()
                if path in STREAMS:
                    answer.read(STREAM_BYTES)
                    raise ConnectionError("a stream is left after its beginning")
                self._look_for_settled(path, answer.read())
                if answer.status != http.client.OK:
                    self.refused[f"{path} {answer.status}"] += 1
            except (OSError, http.client.HTTPException):
                line.close()
                line = None
        if line is not None:
            line.close()

    def _look_for_settled(self, path: str, page: bytes) -> None:
        """The page Health names its settled frames: their pages and pictures are asked for next."""
        if path == "/host/health":
            frames = sorted({found.decode() for found in _SETTLED.findall(page)})
            self._settled = tuple(
                f"{frame}{end}" for frame in frames for end in ("", ".jpg", ".jpg?small")
            )


def order_of_games() -> list[str]:
    """All games and back again: so each lies as far before the middle of a half as it lies behind it once more.

    A game with large pictures takes up to 40 MB more than another while it is on; in this order that slants no line.
    """
    return [*GAMES, *reversed(GAMES)]


def _paths() -> Iterator[str]:
    """Pages in turn, every second one a picture, now and then a stream or a game's sheets; without an end."""
    pages = itertools.cycle(
        [*PAGES, *(f"/rules/{name}" for name in GAMES), *(f"/history/{n}" for n in (1, 2, 3))]
    )
    pictures, streams = itertools.cycle(PICTURES), itertools.cycle(STREAMS)
    sheets = itertools.cycle([f"/kit/{name}.pdf" for name in GAMES])
    for number in itertools.count(1):
        if number % PDFS_EACH == 0:
            yield next(sheets)
        elif number % 10 == 0:
            yield next(streams)
        else:
            yield next(pictures if number % 2 else pages)


def play_a_while(
    phones: Sequence[Phone], name: str, rng: Random, is_enough: Callable[[], bool]
) -> None:
    """One game after the other of a kind by taps, however it goes, until it `is_enough`; then somebody resigns."""
    phones[0].post("start", {"game": name})
    while not is_enough():
        with contextlib.suppress(Stuck):  # the camera, or the game's clock, was quicker
            view = phones[0].get("view")
            if view["phase"] in ("setup", "stages"):
                phones[0].post(
                    "confirm", {"moment": view["moment"], "stage": view["stage"], "force": True}
                )
            elif view["phase"] == "over":
                phones[0].post("start", {"game": name})
            else:
                _decide(phones, name, view["moment"], rng)
        time.sleep(TURN_S)
    with contextlib.suppress(Stuck):  # it is just over
        phones[0].post("resign", {})


def _decide(phones: Sequence[Phone], name: str, moment: str, rng: Random) -> None:
    """What the seat on turn may tap, at random; or both seats' orders, as one would write them in the first turn."""
    game = GAMES[name]
    offered = [phone.get("plays")["plays"] for phone in phones]
    first = game.setup(game.options({}), Random(0))
    for seat, phone, plays in zip(SEATS, phones, offered, strict=True):
        if plays or not any(offered):
            action = (
                rng.choice(plays)[0] if plays else game.format(game.random_action(first, seat, rng))
            )
            phone.post(
                "hand-in",
                {"moment": moment, "action": action, "salt": f"{rng.getrandbits(128):032x}"},
            )


def _resident_mb(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
