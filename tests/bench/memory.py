"""Measure the memory that the service takes in a long evening.

Two people play one game after the other, eight viewers follow them, and three clients send requests
to all kinds of pages without a break. After each request the memory of the service is measured. Two
things have a bar: the memory at the end, and how much it still grows in the second half.
"""

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
from bench.visitors import Viewers, confirm_stage
from companion.core.config import Settings
from companion.core.kit import SEATS
from companion.core.network import format_host_key
from companion.games import GAMES
from companion.storage.journal import Journal
from companion.tools.selfplay.people import Phone, Stuck

REQUESTS = 20_000
GAMES_PLAYED = 40
# Number of clients. The service lets no more clients of one address wait for pictures at a time.
CLIENTS = 3
VIEWERS = 8
# Pause between two taps of the people who play.
TURN_S = 0.1
# Number of bytes of a stream that a client reads before it hangs up.
STREAM_BYTES = 2_000
# Paths of the requests.
PAGES = (
    "/", "/watch", "/join", "/host", "/settings", "/kit", "/rules/", "/history", "/host/health",
    "/workbench", "/health", "/settings/backup.zip", "/api/doctor", "/api/view",
    "/workbench/state", "/api/photographs", "/history/1", "/history/2",
)  # fmt: skip
PICTURES = ("/camera/frame.jpg", "/workbench/frame.jpg")
STREAMS = ("/live/watch", "/live/table", "/live/health", "/workbench/live")
# One of so many requests is for the printed sheets of a game, which take a second to draw.
PDF_INTERVAL = 250
# Number of groups of samples. The lowest sample of each shows the growth, see `growth_mb`.
GROUPS = 10


def bench_memory(requests: int = REQUESTS, games: int = GAMES_PLAYED) -> bool:
    """Simulate an evening, and return whether the memory keeps its bars."""
    with (
        tempfile.TemporaryDirectory() as folder,
        running_service(Path(folder), LOCAL_ONLY, "--simulate") as service,
    ):
        with Journal(Settings(state_dir=folder).journal_path, read_only=True) as journal:
            host_key = format_host_key(journal.key("host"))
        evening = Evening(service, host_key, requests)
        evening.spend(games)
        refusals = f"{evening.refusals} answers that were not 200"
        print(f"memory: {requests:,} requests over {games} games, {refusals}", flush=True)
        good = GROWTH_BAR.judge([growth_mb(evening.samples_mb)])
        good &= EVENING_BAR.judge([memory_mb(service.pid)])
        return good


def growth_mb(samples_mb: Sequence[float]) -> float:
    """Return by how much memory grows over the last half of the samples.

    The samples are divided into ten groups. A line of least squares is laid through the lowest
    samples of the groups, and the growth is that of the line. Drawing sheets and pictures takes up
    to 40 MB for a while, which raises most samples but not the lowest ones. Memory that is never
    freed raises the lowest ones, too.

    >>> samples_mb = [100 + number / 1000 for number in range(10_000)]
    >>> growth_mb(samples_mb)
    5.0
    >>> growth_mb([size + 40 * (number % 250 < 100) for number, size in enumerate(samples_mb)])
    5.0
    """
    last_half = samples_mb[len(samples_mb) // 2 :]
    group_size = len(last_half) // GROUPS
    if not group_size:
        return 0.0
    lowest = [min(last_half[group * group_size :][:group_size]) for group in range(GROUPS)]
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
        self.refusals = 0
        self.samples_mb: list[float] = []
        """Memory of the service after each request."""

    def spend(self, games: int) -> None:
        """Send all requests and play all games.

        Each game lasts until its share of the requests has been sent.
        """
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
                play_until(
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
                self.refusals += answer.status != http.client.OK
                self.samples_mb.append(memory_mb(self._service.pid))
            except (OSError, http.client.HTTPException):
                line.close()
        line.close()


def _request_paths() -> Iterator[str]:
    """Yield paths for ever: pictures and pages in turn, but each tenth one is a stream.

    One in `PDF_INTERVAL` is for printed sheets.
    """
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


def play_until(
    phones: Sequence[Phone], name: str, rng: Random, is_enough: Callable[[], bool]
) -> None:
    """Play a game by random taps until `is_enough` returns true, then resign.

    If the game ends before, begin it again.
    """
    phones[0].post("start", {"game": name})
    while not is_enough():
        # A request is refused if the camera or the game's clock has changed the view meanwhile.
        with contextlib.suppress(Stuck):
            view = phones[0].get("view")
            if view["phase"] in ("setup", "stages"):
                confirm_stage(phones[0], view)
            elif view["phase"] == "over":
                phones[0].post("start", {"game": name})
            else:
                _decide(phones, name, view["moment"], rng)
        time.sleep(TURN_S)
    with contextlib.suppress(Stuck):  # the game is over already
        phones[0].post("resign", {})


def _decide(phones: Sequence[Phone], name: str, moment: str, rng: Random) -> None:
    """Hand in a random action of each seat that may act.

    The pages of some games list the legal actions. They list none for sealed orders: then hand in
    for each seat what is legal in the first turn, and mostly in later ones, too.
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
        phone.hand_in(moment, action, rng.getrandbits(128))
