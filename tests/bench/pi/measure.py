"""Boards with their shares of a core, what each must keep, and how it is measured.

A share of a core of the machine that measures stands for a board: a Raspberry Pi 4 has about a fifth of such a core's
speed in one of its four, a 3B+ an eighth. It is stricter than the boards are: all threads share the one.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

from bench.bars import (
    BUZZER_MS,
    FIRST_PAGE_S,
    KEY_TO_LAMP_MS,
    MEMORY_MB,
    PHONE_TO_SCREENS_MS,
    WRONG_TO_NAME_S,
)
from bench.figures import Figure
from bench.pi.quota import CpuQuota, NoQuota
from bench.pi.visitors import RATE, Painter, Viewers
from bench.processes import Process, compiled
from companion.core.grid import Square
from companion.core.kit import Seat
from companion.games import GAMES
from companion.printing.printed_kit import printed_table
from companion.table.session import IDLE_TURNS
from companion.tools.selfplay import Phone
from vision.simulation.view import default_view

PAGES = ("/live/table", "/live/table", *(("/live/watch",) * 8))
"""What the ten viewers look at."""
STARTS, PRESSES, POSTS, STRAYS, TURNS, SYNCS = 3, 120, 100, 20, 108, 50
TURN_S, REAL_TURN_S = 1.0, 5.0
_STEPS, _STEP_S = 4, 0.1
"""A hand comes to the square of a piece in so many steps of so long each."""
_WRONG = b"Move the "
"""What the sign says while orders are being made, and a piece lies wrong."""


@dataclass(frozen=True)
class Board:
    """A board: the share of a core that stands for it, and its bounds; all but the first are 99th percentiles."""

    name: str
    share: float
    first_page_s: float
    pad_ms: float
    phone_ms: float
    wrong_s: float


BOARDS = (
    Board(
        "Raspberry Pi 4",
        1 / 5,
        FIRST_PAGE_S.most,
        KEY_TO_LAMP_MS.most,
        PHONE_TO_SCREENS_MS.most,
        WRONG_TO_NAME_S.most,
    ),
    Board("Raspberry Pi 3B+", 1 / 8, 12.0, 60.0, 200.0, 1.2),
)


class Guest:
    """The service under a quota, and the orders that it takes."""

    def __init__(
        self, quota: CpuQuota, folder: Path, pictures: Path, size: tuple[int, int]
    ) -> None:
        self._process = subprocess.Popen(
            quota.holding(
                [
                    sys.executable,
                    "-m",
                    "bench.pi.guest",
                    str(folder / "settings.toml"),
                    str(pictures),
                ]
                + [str(each) for each in size]
            ),
            env=compiled(folder),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.port = int(self._answer())

    def do(self, **order: Any) -> None:
        """Have something done that nobody waits for."""
        if self._process.stdin is None:
            raise RuntimeError("the guest has no input")
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()

    def ask(self, **order: Any) -> Any:
        """Have something done and answered."""
        self.do(**order)
        return self._answer()

    def _answer(self) -> Any:
        if self._process.stdout is None or not (line := self._process.stdout.readline()):
            raise RuntimeError("the service under the quota has ended")
        return json.loads(line)

    def close(self) -> None:
        """End it."""
        if self._process.stdin and self._process.stdout:
            self._process.stdin.close()
            self._process.stdout.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(20)
        self._process.kill()
        self._process.wait()


def bench_pi(only: str = "", real_time: bool = False) -> bool:
    """Measure both boards, or those in whose name `only` is, and print it; answers whether every bound is kept."""
    good = True
    for board in BOARDS:
        if only.lower() not in board.name.lower():
            continue
        try:
            with CpuQuota(board.share) as quota:
                good &= _bench_board(board, quota, REAL_TURN_S if real_time else TURN_S)
        except NoQuota as error:
            print(f"{board.name}: not measured, {error}", flush=True)
            return False
    return good


def _bench_board(board: Board, quota: CpuQuota, turn_s: float) -> bool:
    print(
        f"{board.name}: {board.share:.3g} of a core in periods of {quota.period_us / 1000:g} ms, {len(PAGES)} viewers, "
        f"{RATE:g} pictures a second",
        flush=True,
    )
    good = True
    with (
        tempfile.TemporaryDirectory() as name,
        tempfile.TemporaryDirectory(dir="/dev/shm") as shared,
    ):
        folder = Path(name)
        settings = folder / "settings.toml"
        settings.write_text(
            f'state_dir = {json.dumps(name)}\n[web]\nhost = "127.0.0.1"\nport = 0\n[camera]\nfps = {RATE:g}\n'
            '[voice]\nby = "off"\n[table]\nreading_time_s = 0\n',
            encoding="utf-8",
        )
        good &= _told(_first_pages(board, quota, folder))
        with _running(quota, folder, Path(shared) / "pictures") as (guest, painter):
            for figure in _evening(board, guest, painter, quota, turn_s):
                good &= _told(figure)
            for sentence in guest.ask(do="stamps", lamp="south_1")["doctor"]:
                print(f"  doctor: {sentence}", flush=True)
        print(f"  {_surroundings(folder)}", flush=True)
    periods, throttled = quota.throttled()
    print(f"  the quota was used up in {throttled} of {periods} periods", flush=True)
    return good


def _surroundings(folder: Path) -> str:
    """What else the figures depend on: how long the disk takes for a phone's order, and how busy the machine is."""
    times_ms = []
    with (folder / "sync").open("wb", buffering=0) as file:
        for _ in range(SYNCS):
            file.write(bytes(4096))
            began_s = time.monotonic()
            os.fdatasync(file.fileno())
            times_ms.append((time.monotonic() - began_s) * 1000)
            time.sleep(_STEP_S)
    disk = Figure("", times_ms, 0.0)
    return (
        f"beside it: the disk's own sync p50 {disk.percentile(0.5):.2f} ms, p99 {disk.percentile(0.99):.2f} ms; load "
        f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    )


def _told(figure: Figure) -> bool:
    print(f"  {figure.sentence()}", flush=True)
    return figure.is_met()


def _first_pages(board: Board, quota: CpuQuota, folder: Path) -> Figure:
    """From the command to the first page, everything compiled, as after an installation."""
    command = [
        sys.executable,
        "-m",
        "companion",
        "play",
        "--settings",
        str(folder / "settings.toml"),
        "--port",
    ]
    with contextlib.closing(Process(command, folder)) as process:
        process.until("/", b"</html>")
    times_s = []
    for _ in range(STARTS):
        with contextlib.closing(Process(quota.holding(command), folder)) as process:
            times_s.append(process.until("/", b"</html>"))
    return Figure("start -> first page", times_s, board.first_page_s, "s ")


@contextmanager
def _running(quota: CpuQuota, folder: Path, pictures: Path) -> Iterator[tuple[Guest, Painter]]:
    """The service before a painted camera of 1080p."""
    game = next(iter(GAMES.values()))
    kit = game.kit(game.options({}))
    world = printed_table(kit, replace(default_view(kit), width=1920, height=1080))
    with (
        Painter(world, pictures) as painter,
        contextlib.closing(Guest(quota, folder, pictures, world.size_px())) as guest,
    ):
        yield guest, painter


def _evening(
    board: Board, guest: Guest, painter: Painter, quota: CpuQuota, turn_s: float
) -> Iterator[Figure]:
    with Viewers(guest.port, PAGES) as viewers:
        phone = Phone(f"http://127.0.0.1:{guest.port}", Seat.NORTH)
        phone.post("take", {"name": "Bench"})
        game = _begin(guest, painter, next(iter(GAMES)), {})
        _press(guest, "south_ready")  # sits down
        viewers.settle()
        time.sleep(3)  # the board is read
        yield Figure("key of a pad -> its lamp", _key_to_lamp_ms(guest), board.pad_ms)
        yield Figure("phone -> all screens", _post_to_screens_ms(phone, viewers), board.phone_ms)
        yield Figure(
            "wrong piece at rest -> named", _named_s(game, painter, viewers), board.wrong_s, "s "
        )
        late_ms = _buzzer_ms(guest, painter, turn_s)
        yield Figure(f"end of a turn of {turn_s:g} s -> buzzer", late_ms, BUZZER_MS.most)
        yield Figure("memory of all processes", [quota.memory_mb()], MEMORY_MB.most, "MB")


def _begin(
    guest: Guest, painter: Painter, name: str, options: dict[str, Any]
) -> dict[Square, tuple[str, ...]]:
    """Begin a game and lay its board out; answers the layout."""
    laid = guest.ask(do="game", game=name, options=options)
    layout = {Square.parse(square): tuple(faces) for square, faces in laid.items()}
    game = GAMES[name]
    kit = game.kit(game.options(options))
    painter.world.use(kit)
    painter.world.look(replace(default_view(kit), width=1920, height=1080))
    painter.world.set_up(layout)
    return layout


def _press(guest: Guest, button: str) -> None:
    guest.do(do="press", button=button)
    time.sleep(0.06)
    guest.do(do="release", button=button)
    time.sleep(0.14)


def _key_to_lamp_ms(guest: Guest) -> list[float]:
    """From the edge of a key to the lamp that counts it, through debouncing and table."""
    pressed_s = []
    for _ in range(PRESSES):
        pressed_s.append(time.monotonic())
        _press(guest, "south_up")
        _press(guest, "south_back")
    lit_s = guest.ask(do="stamps", lamp="south_1")["lit_s"]
    ends_s = [*pressed_s[1:], time.monotonic()]
    found = [
        [at_s for at_s in lit_s if began_s <= at_s < end_s]
        for began_s, end_s in zip(pressed_s, ends_s, strict=True)
    ]
    return [
        (lit[0] - began_s) * 1000 if lit else float("inf")
        for began_s, lit in zip(pressed_s, found, strict=True)
    ]


def _post_to_screens_ms(phone: Phone, viewers: Viewers) -> list[float]:
    """From a phone's POST to the fragment at the last of all viewers."""
    moment, times_ms = phone.get("view")["moment"], []
    for number in range(POSTS):
        time.sleep(0.4)
        began_s = time.monotonic()
        if number % 2 == 0:
            phone.post("hand-in", {"moment": moment, "action": "III", "salt": f"{number:032x}"})
        else:
            phone.post("take-back", {"moment": moment})
        times_ms.append((viewers.all_since(began_s, lambda it: b"</main>" in it) - began_s) * 1000)
    return times_ms


def _named_s(
    layout: dict[Square, tuple[str, ...]], painter: Painter, viewers: Viewers
) -> list[float]:
    """From when a hand has left a piece on a wrong square to all screens that name it."""
    world, times_s, rng = painter.world, [], Random(1)
    free = [square for square in world.kit.board.squares if square not in layout]
    for _ in range(STRAYS):
        piece, wrong = rng.choice(world.pieces()), rng.choice(free)
        files = world.kit.board.files
        for step in range(_STEPS, 0, -1):
            world.hold_hand(Square((wrong.file + step - 1) % files, wrong.rank))
            time.sleep(_STEP_S)
        world.move_to(piece.id, wrong)
        world.hold_hand(None)
        began_s = time.monotonic()
        times_s.append(viewers.all_since(began_s, lambda it: _WRONG in it) - began_s)
        world.set_up(layout)
        viewers.all_since(time.monotonic(), lambda it: b"</main>" in it and _WRONG not in it)
    return times_s


def _buzzer_ms(guest: Guest, painter: Painter, turn_s: float) -> list[float]:
    """How far from its due time each alarm of a clock sounds that nobody presses."""
    _begin(guest, painter, "binmat", {"way": "referee", "seconds": turn_s, "turns": TURNS + 2})
    time.sleep(3)
    runs_s = []
    for _ in range(TURNS // IDLE_TURNS):
        runs_s.append(time.monotonic())
        guest.do(do="resume")
        time.sleep(turn_s * IDLE_TURNS + 1)  # then the clock stops by itself
    stamps = guest.ask(do="stamps", lamp="south_1")
    edges_s = stamps["tones_s"]
    # what was due in the turn in which the clock stopped is never heard
    run_s = (IDLE_TURNS + 0.5) * turn_s
    due_s = [
        at_s for at_s in stamps["due_s"] if any(0 < at_s - began_s < run_s for began_s in runs_s)
    ]
    nearest_ms = [
        min((abs(edge - at_s) for edge in edges_s), default=float("inf")) * 1000 for at_s in due_s
    ]
    return [each if each <= turn_s * 500 else float("inf") for each in nearest_ms]
