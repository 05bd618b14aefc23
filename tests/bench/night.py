"""A night of play in an hour: all games in turn on one installation, while memory, threads, files and disk are watched.

One service, its journal and its pages, as at a table that is never switched off. Time runs quicker, so that what has a
thread of its own there (camera, pads, housekeeping, health) does its rounds in step; the pages have their threads.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import itertools
import logging
import os
import socket
import sqlite3
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path

from companion.core.clock import FakeClock
from companion.core.config import Settings, TableSettings, WebSettings
from companion.core.kit import SEATS
from companion.games import GAMES
from companion.printing.printed_kit import printed_kit
from companion.service.app import Companion
from companion.service.lifecycle import MALLOC
from companion.table.session import Phase
from companion.tools.selfplay import match_at
from companion.tools.selfplay.people import FRAME_S, Report

WARM_GAMES = 2 * len(GAMES)
"""Two rounds of all games: until then caches, drawings and pools fill themselves."""
LEAST_ROUNDS = 2
"""So many more are needed to judge any growth: memory is compared after the same game, its board is in it."""
LEAST_GAMES = WARM_GAMES + (LEAST_ROUNDS - 1) * len(GAMES) + 1
MOST_MB_A_GAME = 0.30
"""Resident memory may grow by this much a game, by the regression over all samples after the first rounds.

A list of the games played is kept (some kB each) and the allocator's own noise is about 2 MB: over the 30 games of an
hour more than 9 MB is a leak.
"""
NOISE_MB = 8.0
"""No slope is believed below so much growth in all, from the first half's middle to the second's."""
SPARE = 3
"""So many threads or files more than after the first rounds: connections that are just closing."""
BYTES_AN_INPUT = 1024
"""An input is a record of up to 300 bytes of JSON; SQLite's pages and its index double that."""
PAGES = ("/", "/watch", "/history", "/statistics", "/join", "/kit", "/api/view", "/health")
HEAD = "   min  games   MB  threads  files  journal kB  inputs  misread  errors  last"


@dataclass(frozen=True)
class NightSample:
    """The service after a game."""

    minute: float
    game: str
    games: int
    mb: float
    threads: int
    files: int
    journal_kb: float
    inputs: int

    def line(self, misread: int, errors: int, last: str) -> str:
        """The sample as a row under `HEAD`."""
        return (
            f"{self.minute:6.1f} {self.games:6} {self.mb:5.0f} {self.threads:7} {self.files:6} {self.journal_kb:11.0f} "
            f"{self.inputs:7} {misread:8} {errors:7}  {last}"
        )


class _Errors(logging.Handler):
    """Counts what is logged as an error, and keeps the first words."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage()[:300])


@dataclass
class _Night:
    """What came of it so far."""

    errors: _Errors
    samples: list[NightSample] = field(default_factory=list)
    reports: list[Report] = field(default_factory=list)


def play_night(minutes: float, seed: int = 1) -> bool:
    """Play for so long, print a row a minute and what was found; answers whether all was well."""
    errors = _Errors()
    logging.getLogger().addHandler(errors)
    night = _Night(errors)
    samples, reports = night.samples, night.reports
    try:
        with tempfile.TemporaryDirectory() as folder, _installation(folder) as (companion, clock):
            _play(companion, clock, seed, 60 * minutes, night)
    finally:
        logging.getLogger().removeHandler(errors)
    faults = [*faults_of(samples), *(f"logged as an error: {said}" for said in errors.said[:5])]
    faults += [f"{report.game}: {report.sentence()}" for report in reports if not report.is_good()]
    turns, frames = sum(report.turns for report in reports), sum(report.frames for report in reports)
    print(f"{len(reports)} games, {turns:,} turns, {frames:,} frames; {growth_of(samples)}", flush=True)
    for fault in faults:
        print(f"NOT GOOD: {fault}", flush=True)
    return not faults


def as_installed() -> None:
    """Begin this program anew with memory kept as the installed service keeps it, unless it is."""
    if MALLOC.items() <= os.environ.items():
        return
    sys.stdout.flush()
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], {**os.environ, **MALLOC})


@contextlib.contextmanager
def _installation(folder: str) -> Iterator[tuple[Companion, FakeClock]]:
    clock = FakeClock()
    settings = Settings(
        state_dir=folder, web=WebSettings(host="127.0.0.1", port=0), table=TableSettings(reading_time_s=FRAME_S)
    )
    with Companion(settings, simulate=True, clock=clock, threads=False) as companion:
        yield companion, clock


def _play(companion: Companion, clock: FakeClock, seed: int, seconds: float, night: _Night) -> None:
    """All games in turn until the time is over, each to its end."""
    began_s, printed_s = time.monotonic(), float("-inf")
    _print_kits()
    print(HEAD, flush=True)
    for number, name in zip(itertools.count(seed), itertools.cycle(GAMES)):
        with _spectator(companion):
            report = match_at(companion, clock, name, number).play()
        night.reports.append(report)
        _leave(companion)
        _look_around(companion)
        companion.housekeeping.step()
        companion.health.look()
        minute = (time.monotonic() - began_s) / 60
        night.samples.append(_sample(companion, minute, name, len(night.reports)))
        is_over = time.monotonic() - began_s >= seconds
        if is_over or time.monotonic() - printed_s >= 60:
            printed_s = time.monotonic()
            misread = sum(each.misread_layouts for each in night.reports)
            line = night.samples[-1].line(misread, len(night.errors.said), report.sentence()[:70])
            print(line, flush=True)
        if is_over:
            return


def _print_kits() -> None:
    """The rendered table prints a kit when its game is first opened; here all at once."""
    for game in GAMES.values():
        printed_kit(game.kit(game.options({})))


def _leave(companion: Companion) -> None:
    """Everybody goes; a game that did not end is given up."""
    table = companion.table
    if table.progress().phase not in (Phase.LOBBY, Phase.OVER):
        table.abandon()
    for seat in SEATS:
        if table.seat_nonce(seat) is not None:
            table.free_seat(seat)


def _look_around(companion: Companion) -> None:
    """Somebody walks through the pages, also those of the last game."""
    browser = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    number = companion.table.progress().number
    for path in (*PAGES, f"/history/{number}", f"/history/{number}.json", f"/history/{number}.txt"):
        try:
            browser.open(f"http://127.0.0.1:{companion.server.port}{path}", timeout=30).close()
        except urllib.error.HTTPError as error:
            with error:
                if error.code != HTTPStatus.CONFLICT:  # a full game of BINMAT stays closed while its cards lie there
                    raise


@contextlib.contextmanager
def _spectator(companion: Companion) -> Iterator[None]:
    """Somebody follows the game from a page, and walks off without a word."""
    with socket.create_connection(("127.0.0.1", companion.server.port), timeout=30) as line:
        host = f"127.0.0.1:{companion.server.port}"
        line.sendall(f"GET /live/watch HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        line.recv(1)
        ended = threading.Event()

        def read() -> None:
            line.settimeout(0.2)
            while not ended.is_set():
                with contextlib.suppress(TimeoutError):
                    if not line.recv(65536):
                        return

        reader = threading.Thread(target=read, name="spectator")
        reader.start()
        try:
            yield
        finally:
            ended.set()
            reader.join()


def _sample(companion: Companion, minute: float, game: str, games: int) -> NightSample:
    """What the process holds now, after a collection and with freed memory given back."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):  # another C library than glibc has none
        ctypes.CDLL(None).malloc_trim(0)
    journal = companion.settings.journal_path
    size = sum(path.stat().st_size for path in journal.parent.glob(f"{journal.name}*"))
    return NightSample(
        minute,
        game,
        games,
        _resident_mb(),
        threading.active_count(),
        len(os.listdir("/proc/self/fd")),
        size / 1024,
        _inputs(journal),
    )


def _inputs(journal: Path) -> int:
    """How many inputs are kept: counted in the file, as reading them all takes memory that is measured here."""
    with contextlib.closing(sqlite3.connect(f"file:{journal}?mode=ro", uri=True)) as db:
        return int(db.execute("SELECT COUNT(*) FROM entries").fetchone()[0])


def _resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def mb_a_game(samples: Sequence[NightSample]) -> float:
    """By how much resident memory grows a game: the slope of the least squares line.

    >>> mb_a_game([NightSample(0, "scouts", game, 100 + game / 4, 9, 20, 0, 0) for game in range(5)])
    0.25
    """
    middle = sum(sample.games for sample in samples) / max(1, len(samples))
    spread = sum((sample.games - middle) ** 2 for sample in samples)
    return sum((sample.games - middle) * sample.mb for sample in samples) / spread if spread else 0.0


def _comparable(samples: Sequence[NightSample]) -> list[NightSample]:
    """Those after the game that was first of all, since everything is filled: the same board is in their memory."""
    return [sample for sample in samples[WARM_GAMES:] if sample.game == samples[0].game]


def growth_of(samples: Sequence[NightSample]) -> str:
    """How the service has changed since the first rounds, for people."""
    if len(samples) < LEAST_GAMES:
        return f"too few games to judge any growth: {LEAST_GAMES} are needed"
    warm, same = samples[WARM_GAMES:], _comparable(samples)
    first, last = warm[0], warm[-1]
    inputs, kb = max(1, last.inputs - first.inputs), last.journal_kb - first.journal_kb
    return (
        f"since game {first.games}: memory after {same[0].game} {same[0].mb:.0f} to {same[-1].mb:.0f} MB "
        f"({mb_a_game(same):+.2f} MB a game, "
        f"at most {MOST_MB_A_GAME}), threads {first.threads} to {last.threads}, files {first.files} to {last.files}, "
        f"journal {kb:+.0f} kB ({1024 * kb / inputs:.0f} bytes an input, at most {BYTES_AN_INPUT})"
    )


def faults_of(samples: Sequence[NightSample]) -> list[str]:
    """What has grown beyond what the games need; nothing before there is anything to compare."""
    if len(samples) < LEAST_GAMES:
        return []
    warm, same = samples[WARM_GAMES:], _comparable(samples)
    first, last, half = warm[0], warm[-1], len(same) // 2
    risen_mb = sum(s.mb for s in same[-half:]) / half - sum(s.mb for s in same[:half]) / half
    found = []
    if mb_a_game(same) > MOST_MB_A_GAME and risen_mb > NOISE_MB:
        found.append(f"memory grows by {mb_a_game(same):.2f} MB a game, {risen_mb:.0f} MB from half to half")
    if last.threads > first.threads + SPARE:
        found.append(f"threads grow from {first.threads} to {last.threads}")
    if last.files > first.files + SPARE:
        found.append(f"open files grow from {first.files} to {last.files}")
    allowed_kb = (last.inputs - first.inputs) * BYTES_AN_INPUT / 1024 + 64  # and a page or so of the write-ahead log
    if last.journal_kb - first.journal_kb > allowed_kb:
        found.append(
            f"the journal grows by {last.journal_kb - first.journal_kb:.0f} kB, at most {allowed_kb:.0f} needed"
        )
    return found
