"""Measure the memory of a long evening: games are played while clients send requests."""

from __future__ import annotations

import contextlib
import http.client
import itertools
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from random import Random

from bench.bars import EVENING_BAR, GROWTH_BAR
from bench.processes import LOCAL_ONLY, ServerProcess, memory_mb, running_service
from bench.visitors import Viewers
from companion.core.config import Settings
from companion.core.kit import SEATS
from companion.core.network import format_host_key
from companion.games import GAMES
from companion.storage.journal import Journal
from companion.tools.selfplay.people import Phone, Stuck

REQUESTS, GAMES_PLAYED = 20_000, 40
# Number of clients. The service lets no more of one address wait for pictures at a time.
CLIENTS = 3
VIEWERS = 8
# Pause between two taps of the people who play.
TURN_S = 0.1
# Number of bytes that a client reads of a stream before it hangs up.
STREAM_BYTES = 2_000
PAGES = (
    *("/", "/watch", "/join", "/host", "/settings", "/kit", "/rules/", "/history", "/host/health"),
    *("/workbench", "/health", "/settings/backup.zip", "/api/doctor", "/api/view"),
    *("/workbench/state", "/api/photographs", "/history/1", "/history/2"),
)
PICTURES = ("/camera/frame.jpg", "/workbench/frame.jpg")
STREAMS = ("/live/watch", "/live/table", "/live/health", "/workbench/live")
# Every so many requests one is for the sheets of a game, which take a second.
PDF_INTERVAL = 250
# Number of groups of samples. The lowest sample of each group shows the growth.
GROUPS = 10


def bench_memory(requests: int = REQUESTS, games: int = GAMES_PLAYED) -> bool:
    """Simulate an evening, and return whether memory keeps its bars."""
    with (
        tempfile.TemporaryDirectory() as folder,
        running_service(Path(folder), LOCAL_ONLY, "--simulate") as service,
    ):
        with Journal(Settings(state_dir=folder).journal_path, read_only=True) as journal:
            host_key = format_host_key(journal.key("host"))
        evening = Evening(service, host_key, requests)
        evening.spend(games)
        refused = f"{evening.refused} answers that were not 200"
        print(f"memory: {requests:,} requests over {games} games, {refused}", flush=True)
        is_flat = GROWTH_BAR.judge([growth_mb(evening.samples_mb)])
        return EVENING_BAR.judge([memory_mb(service.pid)]) and is_flat


def growth_mb(samples_mb: Sequence[float]) -> float:
    """Return by how much memory grows over the last half of the samples.

    The growth is that of a line of least squares through the lowest sample of each of ten groups.
    Drawing sheets and pictures takes up to 40 MB for a while, which the lowest samples do not show.
    Memory that is never freed raises them, too.

    >>> samples_mb = [100 + number / 1000 for number in range(10_000)]
    >>> growth_mb(samples_mb)
    5.0
    >>> growth_mb([size + 40 * (number % 250 < 100) for number, size in enumerate(samples_mb)])
    5.0
    """
    last = samples_mb[len(samples_mb) // 2 :]
    group_size = len(last) // GROUPS
    if not group_size:
        return 0.0
    lowest = [min(last[group * group_size :][:group_size]) for group in range(GROUPS)]
    slope = statistics.linear_regression(range(GROUPS), lowest).slope
    return round(slope * GROUPS, 6)


class Evening:
    """Clients that send requests without a break, and two people who play meanwhile."""

    def __init__(self, service: ServerProcess, host_key: str, requests: int) -> None:
        self._service, self._requests = service, requests
        self._headers = {"X-Host-Key": host_key}
        self._paths = _request_paths()
        self._lock = threading.Lock()
        self._sent = 0
        self.refused = 0
        self.samples_mb: list[float] = []
        """Memory after each request."""

    def spend(self, games: int) -> None:
        """Send all requests and play all games."""
        port = self._service.port
        clients = [
            threading.Thread(target=self._send_requests, daemon=True) for _ in range(CLIENTS)
        ]
        with Viewers(port, ["/live/watch"] * VIEWERS):
            for client in clients:
                client.start()
            phones = [Phone(f"http://127.0.0.1:{port}", seat) for seat in SEATS]
            for phone in phones:
                phone.post("take", {"name": "Bench"})
            names = itertools.islice(itertools.cycle(GAMES), games)
            for number, name in enumerate(names, start=1):
                play_a_while(
                    phones, name, Random(number), partial(self._has_sent_share, number / games)
                )
            for client in clients:
                client.join()

    def _has_sent_share(self, share: float) -> bool:
        return self._sent >= share * self._requests

    def _next_path(self) -> str | None:
        """Return the path of the next request, or None after the last one."""
        with self._lock:
            if self._sent >= self._requests:
                return None
            self._sent += 1
            return next(self._paths)

    def _send_requests(self) -> None:
        """Send requests as one client, over one connection until a stream or an error ends it."""
        line = http.client.HTTPConnection("127.0.0.1", self._service.port, timeout=60)
        while path := self._next_path():
            try:
                line.request("GET", path, headers=self._headers)
                answer = line.getresponse()
                if path in STREAMS:
                    answer.read(STREAM_BYTES)
                    line.close()
                    continue
                answer.read()
                self.refused += answer.status != http.client.OK
                self.samples_mb.append(memory_mb(self._service.pid))
            except (OSError, http.client.HTTPException):
                line.close()
        line.close()


def _request_paths() -> Iterator[str]:
    """Yield paths: pictures and pages in turn, every tenth time a stream, sometimes sheets."""
    pages = itertools.cycle([*PAGES, *(f"/rules/{name}" for name in GAMES)])
    pictures, streams = itertools.cycle(PICTURES), itertools.cycle(STREAMS)
    sheets = itertools.cycle([f"/kit/{name}.pdf" for name in GAMES])
    for number in itertools.count(1):
        if number % PDF_INTERVAL == 0:
            yield next(sheets)
        elif number % 10 == 0:
            yield next(streams)
        else:
            yield next(pictures if number % 2 else pages)


def play_a_while(
    phones: Sequence[Phone], name: str, rng: Random, is_enough: Callable[[], bool]
) -> None:
    """Play one game after another by random taps until `is_enough`, then resign."""
    phones[0].post("start", {"game": name})
    while not is_enough():
        with contextlib.suppress(
            Stuck
        ):  # the camera or the game's clock has changed the view meanwhile
            view = phones[0].get("view")
            if view["phase"] in ("setup", "stages"):
                place = {"moment": view["moment"], "stage": view["stage"], "force": True}
                phones[0].post("confirm", place)
            elif view["phase"] == "over":
                phones[0].post("start", {"game": name})
            else:
                _decide(phones, name, view["moment"], rng)
        time.sleep(TURN_S)
    with contextlib.suppress(Stuck):  # the game is over already
        phones[0].post("resign", {})


def _decide(phones: Sequence[Phone], name: str, moment: str, rng: Random) -> None:
    """Hand in a random action of each seat that may act.

    Where the pages list none, as for sealed orders, hand in what is legal in the first turn.
    """
    game = GAMES[name]
    plays_by_seat = [phone.get("plays")["plays"] for phone in phones]
    first_state = game.setup(game.options({}), Random(0))
    for seat, phone, plays in zip(SEATS, phones, plays_by_seat, strict=True):
        if plays:
            action = rng.choice(plays)[0]
        elif not any(plays_by_seat):
            action = game.format(game.random_action(first_state, seat, rng))
        else:
            continue
        salt = f"{rng.getrandbits(128):032x}"
        phone.post("hand-in", {"moment": moment, "action": action, "salt": salt})
