"""How long people wait at one table, and what that costs: on whole cores, and on a share of one
core that stands for a Raspberry Pi.

One of the four cores of a Raspberry Pi 4 has about a fifth of the speed of a core of the measuring
machine, that of a 3B+ an eighth. The bench is stricter than the boards, because all threads share
the one core.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

from bench.bars import (
    BUZZER_MS,
    CAMERA_S,
    CLOCK_DRIFT_MS,
    FIRST_PAGE_S,
    IDLE_SHARE,
    KEY_TO_LAMP_MS,
    MEMORY_MB,
    PHONE_TO_SCREENS_MS,
    WRONG_TO_NAME_S,
    Bar,
)
from bench.pi.quota import CpuQuota, NoQuota
from bench.processes import (
    LOCAL_ONLY,
    ServerProcess,
    cpu_s,
    environment_of,
    memory_mb,
    play_command,
)
from bench.visitors import PICTURES_PER_S, TablePainter, Viewers, toggle_order
from companion.core.grid import Square
from companion.core.kit import Seat
from companion.games import GAMES
from companion.printing.printed_kit import printed_table
from companion.table.session import IDLE_TURNS
from companion.tools.selfplay.people import Phone
from vision.simulation.view import default_view

# Addresses of the streams that the ten viewers follow.
PAGES = ("/live/table", "/live/table", *(("/live/watch",) * 8))
STARTS, PRESSES, POSTS, STRAYS, TURNS = 3, 120, 100, 20, 108
TURN_S, IDLE_S = 1.0, 20.0
# Number and duration of the steps in which a hand comes to the square of a piece.
_STEPS, _STEP_S = 4, 0.1
# Beginning of the sign while orders are being made and a piece lies wrong.
_WRONG = b"Move the "


@dataclass(frozen=True)
class Computer:
    """A computer that the share of a core stands for."""

    name: str
    share: float
    """Share of one core that it gets."""
    limits: Mapping[Bar, float] = field(default_factory=dict)
    """Its own values for some bars."""


WHOLE = Computer("this machine", 1.0)
PI_4 = Computer("Raspberry Pi 4", 1 / 5, {CLOCK_DRIFT_MS: 30.0})
PI_3B = Computer(
    "Raspberry Pi 3B+",
    1 / 8,
    {
        FIRST_PAGE_S: 12.0,
        CAMERA_S: 20.0,
        CLOCK_DRIFT_MS: 30.0,
        KEY_TO_LAMP_MS: 60.0,
        PHONE_TO_SCREENS_MS: 200.0,
        WRONG_TO_NAME_S: 1.2,
    },
)
# What was measured: a bar, and the samples for it.
Figure = tuple[Bar, Sequence[float]]


class GuestProcess:
    """The service that is measured, and the orders that it takes."""

    def __init__(
        self, quota: CpuQuota | None, folder: Path, pictures: Path, size: tuple[int, int]
    ) -> None:
        settings = folder / "settings.toml"
        words = [sys.executable, "-m", "bench.pi.guest", str(settings), str(pictures)]
        words += [str(length) for length in size]
        self.began_s = time.monotonic()
        self._process = subprocess.Popen(
            quota.holding(words) if quota else words,
            env=environment_of(folder),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.pid = self._process.pid
        self.port = int(self._answer())

    def do(self, **order: Any) -> None:
        """Send an order without waiting for an answer."""
        assert self._process.stdin
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()

    def ask(self, **order: Any) -> Any:
        """Send an order, and return its answer."""
        self.do(**order)
        return self._answer()

    def _answer(self) -> Any:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the service that is measured has ended")
        return json.loads(line)

    def press(self, button: str) -> None:
        """Press a key of a pad, and let go."""
        self.do(do="press", button=button)
        time.sleep(0.06)
        self.do(do="release", button=button)
        time.sleep(0.14)

    def close(self) -> None:
        """End it."""
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe
            pipe.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(20)
        self._process.kill()
        self._process.wait()


def bench_latencies() -> bool:
    """Measure on whole cores, and return whether every bar is kept."""
    return _bench_computer(WHOLE, None)


def bench_pi() -> bool:
    """Measure both boards, and return whether every bar is kept."""
    good = True
    for computer in (PI_4, PI_3B):
        try:
            with CpuQuota(computer.share) as quota:
                good &= _bench_computer(computer, quota)
        except NoQuota as error:
            print(f"{computer.name}: not measured, {error}", flush=True)
            return False
    return good


def _bench_computer(computer: Computer, quota: CpuQuota | None) -> bool:
    print(f"{computer.name}: {computer.share:.3g} of a core, {len(PAGES)} viewers", flush=True)
    good = True
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        shared = Path(stack.enter_context(tempfile.TemporaryDirectory(dir="/dev/shm")))
        settings = (
            f"{LOCAL_ONLY}port = 0\n[camera]\nfps = {PICTURES_PER_S:g}\n"
            "[table]\nreading_time_s = 0\n"
        )
        command = play_command(folder, settings)
        for bar, samples in _measure_all(command, folder, shared / "pictures", quota):
            good &= replace(bar, limit=computer.limits.get(bar, bar.limit)).judge(samples)
    return good


def _measure_all(
    command: list[str], folder: Path, pictures: Path, quota: CpuQuota | None
) -> Iterator[Figure]:
    yield FIRST_PAGE_S, _first_pages_s(command, folder, quota)
    game = next(iter(GAMES.values()))
    kit = game.kit(game.options({}))
    world = printed_table(kit, replace(default_view(kit), width=1920, height=1080))
    with (
        TablePainter(world, pictures) as painter,
        contextlib.closing(GuestProcess(quota, folder, pictures, world.size_px())) as guest,
    ):
        phone = Phone(f"http://127.0.0.1:{guest.port}", Seat.NORTH)
        phone.post("take", {"name": "Bench"})
        while phone.get("view")["camera"]["state"] not in ("sees_board", "no_board"):
            time.sleep(0.02)
        yield CAMERA_S, [time.monotonic() - guest.began_s]
        with Viewers(guest.port, PAGES) as viewers:
            yield from _measure_play(guest, painter, phone, viewers)


def _first_pages_s(command: list[str], folder: Path, quota: CpuQuota | None) -> list[float]:
    """Measure from the command to the first page, with everything compiled as after an
    installation.
    """
    limited_command = quota.holding(command) if quota else command
    times_s = []
    for words in (command, *([limited_command] * STARTS)):
        with contextlib.closing(ServerProcess(words, folder)) as process:
            times_s.append(process.wait_for_page())
    return times_s[1:]


def _measure_play(
    guest: GuestProcess, painter: TablePainter, phone: Phone, viewers: Viewers
) -> Iterator[Figure]:
    name = next(iter(GAMES))
    layout = _begin(guest, painter, name, {})
    time.sleep(3)  # the board is read
    began_s, before_cpu_s = time.monotonic(), cpu_s(guest.pid)
    time.sleep(IDLE_S)
    yield IDLE_SHARE, [(cpu_s(guest.pid) - before_cpu_s) / (time.monotonic() - began_s)]
    guest.press("south_ready")  # sits down
    yield KEY_TO_LAMP_MS, _key_to_lamp_ms(guest)
    yield PHONE_TO_SCREENS_MS, _post_to_screens_ms(phone, viewers)
    yield WRONG_TO_NAME_S, _naming_times_s(layout, painter, viewers)
    yield from _measure_clock(guest, painter)
    yield MEMORY_MB, [memory_mb(guest.pid)]


def _begin(
    guest: GuestProcess, painter: TablePainter, name: str, options: dict[str, Any]
) -> dict[Square, tuple[str, ...]]:
    """Begin a game and lay its board out. Return the layout."""
    laid = guest.ask(do="game", game=name, options=options)
    layout = {Square.parse(square): tuple(faces) for square, faces in laid.items()}
    game = GAMES[name]
    kit = game.kit(game.options(options))
    painter.world.use(kit)
    painter.world.set_view(replace(default_view(kit), width=1920, height=1080))
    painter.world.set_up(layout)
    return layout


def _key_to_lamp_ms(guest: GuestProcess) -> list[float]:
    """Measure from the edge of a key to the lamp that counts it, through debouncing and table."""
    pressed_s = []
    for _ in range(PRESSES):
        pressed_s.append(time.monotonic())
        guest.press("south_up")
        guest.press("south_back")
    lit_s = guest.ask(do="stamps", lamp="south_1")["lit_s"]
    times_ms = []
    for began_s, end_s in zip(pressed_s, [*pressed_s[1:], time.monotonic()], strict=True):
        first_s = min((at_s for at_s in lit_s if began_s <= at_s < end_s), default=float("inf"))
        times_ms.append((first_s - began_s) * 1000)
    return times_ms


def _post_to_screens_ms(phone: Phone, viewers: Viewers) -> list[float]:
    """Measure from a phone's POST to the fragment at the last of all viewers."""
    moment, times_ms = phone.get("view")["moment"], []
    for number in range(POSTS):
        time.sleep(0.4)
        began_s = time.monotonic()
        toggle_order(phone, moment, number)
        end_s = viewers.last_since(began_s, lambda page: b"</main>" in page)
        times_ms.append((end_s - began_s) * 1000)
    return times_ms


def _naming_times_s(
    layout: dict[Square, tuple[str, ...]], painter: TablePainter, viewers: Viewers
) -> list[float]:
    """Measure from when a hand leaves a piece on a wrong square until all screens name it."""
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
        times_s.append(viewers.last_since(began_s, lambda page: _WRONG in page) - began_s)
        world.set_up(layout)
        viewers.last_since(time.monotonic(), lambda page: b"</main>" in page and _WRONG not in page)
    return times_s


def _measure_clock(guest: GuestProcess, painter: TablePainter) -> Iterator[Figure]:
    """Let a clock run that nobody presses. Measure how late each alarm sounds, and how due times
    drift.
    """
    _begin(guest, painter, "binmat", {"way": "referee", "seconds": TURN_S, "turns": TURNS + 2})
    time.sleep(3)
    late_ms, drifts_ms = list[float](), list[float]()
    for _ in range(TURNS // IDLE_TURNS):
        began_s = time.monotonic()
        guest.do(do="resume")
        time.sleep(TURN_S * IDLE_TURNS + 1)  # then the clock stops by itself
        stamps = guest.ask(do="stamps", lamp="south_1")
        # what was due in the turn in which the clock stopped is never heard
        stop_s = began_s + (IDLE_TURNS + 0.5) * TURN_S
        ends_s = sorted(end_s for end_s in stamps["ends_s"] if began_s < end_s < stop_s)
        for due_s in stamps["due_s"]:
            if began_s < due_s < stop_s:
                late_ms.append(min(abs(edge_s - due_s) for edge_s in stamps["tones_s"]) * 1000)
        for end_s in ends_s:
            turns = round((end_s - ends_s[0]) / TURN_S)
            drifts_ms.append(abs(end_s - ends_s[0] - turns * TURN_S) * 1000)
    yield BUZZER_MS, late_ms
    yield CLOCK_DRIFT_MS, drifts_ms
