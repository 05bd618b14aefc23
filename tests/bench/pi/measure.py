"""Measure how long people wait at one table, and what that costs the processor and the memory.

`bench_latencies` measures on whole cores, `bench_pi` on a share of one core that stands for a
Raspberry Pi.

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
# Numbers of samples: starts of the service, presses of a key, orders of a phone, pieces on a wrong
# square, and turns on the clock.
STARTS, PRESSES, POSTS, STRAYS, TURNS = 3, 120, 100, 20, 108
# Duration of a turn on the clock, and for how long the still board is watched.
TURN_S, IDLE_S = 1.0, 20.0
# Number and duration of the steps in which a hand comes to the square of a piece.
_STEPS, _STEP_S = 4, 0.1
# Beginning of the sign while orders are being made and a piece lies wrong.
_WRONG_SIGN = b"Move the "


@dataclass(frozen=True)
class Computer:
    """A computer, and the share of a core of this machine that is as fast as one of its cores."""

    name: str
    share: float
    """Share of one core that it gets."""
    limits: Mapping[Bar, float] = field(default_factory=dict)
    """Limits of its own, in place of those of the bars."""


THIS_MACHINE = Computer("this machine", 1.0)
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
# What was measured: a bar, and the samples that it judges.
Figure = tuple[Bar, Sequence[float]]


class MeasuredProcess:
    """A `bench.pi.measured_service` as a process, and the requests that it answers."""

    def __init__(
        self, quota: CpuQuota | None, folder: Path, pictures: Path, size: tuple[int, int]
    ) -> None:
        settings = folder / "settings.toml"
        words = [sys.executable, "-m", "bench.pi.measured_service", str(settings), str(pictures)]
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

    def send(self, **request: Any) -> None:
        """Send a request that has no answer."""
        assert self._process.stdin
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()

    def ask(self, **request: Any) -> Any:
        """Send a request, and return its answer."""
        self.send(**request)
        return self._answer()

    def _answer(self) -> Any:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the service that is measured has ended")
        return json.loads(line)

    def press(self, button: str) -> None:
        """Press a key of a pad for 60 ms, longer than it is debounced, and let it rest."""
        self.send(do="press", button=button)
        time.sleep(0.06)
        self.send(do="release", button=button)
        time.sleep(0.14)

    def close(self) -> None:
        """End the service, by SIGKILL if it does not stop within 20 seconds."""
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe
            pipe.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(20)
        self._process.kill()
        self._process.wait()


def bench_latencies() -> bool:
    """Measure on whole cores, and return whether every bar is kept."""
    return _bench_computer(THIS_MACHINE, None)


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
        contextlib.closing(MeasuredProcess(quota, folder, pictures, world.size_px())) as service,
    ):
        phone = Phone(f"http://127.0.0.1:{service.port}", Seat.NORTH)
        phone.post("take", {"name": "Bench"})
        while phone.get("view")["camera"]["state"] not in ("sees_board", "no_board"):
            time.sleep(0.02)
        yield CAMERA_S, [time.monotonic() - service.began_s]
        with Viewers(service.port, PAGES) as viewers:
            yield from _measure_play(service, painter, phone, viewers)


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
    service: MeasuredProcess, painter: TablePainter, phone: Phone, viewers: Viewers
) -> Iterator[Figure]:
    name = next(iter(GAMES))
    layout = _begin(service, painter, name, {})
    time.sleep(3)  # the camera reads the board meanwhile
    began_s, before_cpu_s = time.monotonic(), cpu_s(service.pid)
    time.sleep(IDLE_S)
    yield IDLE_SHARE, [(cpu_s(service.pid) - before_cpu_s) / (time.monotonic() - began_s)]
    service.press("south_ready")  # somebody sits down at South
    yield KEY_TO_LAMP_MS, _key_to_lamp_ms(service)
    yield PHONE_TO_SCREENS_MS, _post_to_screens_ms(phone, viewers)
    yield WRONG_TO_NAME_S, _naming_times_s(layout, painter, viewers)
    yield from _measure_clock(service, painter)
    yield MEMORY_MB, [memory_mb(service.pid)]


def _begin(
    service: MeasuredProcess, painter: TablePainter, name: str, options: dict[str, Any]
) -> dict[Square, tuple[str, ...]]:
    """Begin a game and lay its board out. Return the layout."""
    answer = service.ask(do="game", game=name, options=options)
    layout = {Square.parse(square): tuple(faces) for square, faces in answer.items()}
    game = GAMES[name]
    kit = game.kit(game.options(options))
    painter.world.use(kit)
    painter.world.set_view(replace(default_view(kit), width=1920, height=1080))
    painter.world.set_up(layout)
    return layout


def _key_to_lamp_ms(service: MeasuredProcess) -> list[float]:
    """Measure from the edge of a key to the lamp that counts it, through debouncing and table.

    `south_up` enters an order, which lights the lamp, and `south_back` takes it away again.
    """
    pressed_s = []
    for _ in range(PRESSES):
        pressed_s.append(time.monotonic())
        service.press("south_up")
        service.press("south_back")
    lit_s = service.ask(do="times", lamp="south_1")["lit_s"]
    times_ms = []
    for began_s, end_s in zip(pressed_s, [*pressed_s[1:], time.monotonic()], strict=True):
        first_s = min((at_s for at_s in lit_s if began_s <= at_s < end_s), default=float("inf"))
        times_ms.append((first_s - began_s) * 1000)
    return times_ms


def _post_to_screens_ms(phone: Phone, viewers: Viewers) -> list[float]:
    """Measure from a phone's POST until the last of all viewers has the fragment."""
    moment, times_ms = phone.get("view")["moment"], []
    for number in range(POSTS):
        time.sleep(0.4)
        began_s = time.monotonic()
        toggle_order(phone, moment, number)
        end_s = viewers.wait_for_event(began_s, lambda page: b"</main>" in page)
        times_ms.append((end_s - began_s) * 1000)
    return times_ms


def _naming_times_s(
    layout: dict[Square, tuple[str, ...]], painter: TablePainter, viewers: Viewers
) -> list[float]:
    """Measure from when a hand leaves a piece on a wrong square until all screens name it."""
    world, times_s, rng = painter.world, [], Random(1)
    files = world.kit.board.files
    free = [square for square in world.kit.board.squares if square not in layout]
    for _ in range(STRAYS):
        piece, wrong = rng.choice(world.pieces()), rng.choice(free)
        for steps_left in reversed(range(_STEPS)):  # the hand comes along the rank
            world.hold_hand(Square((wrong.file + steps_left) % files, wrong.rank))
            time.sleep(_STEP_S)
        world.move_to(piece.id, wrong)
        world.hold_hand(None)
        began_s = time.monotonic()
        times_s.append(viewers.wait_for_event(began_s, lambda page: _WRONG_SIGN in page) - began_s)
        world.set_up(layout)
        viewers.wait_for_event(
            time.monotonic(), lambda page: b"</main>" in page and _WRONG_SIGN not in page
        )
    return times_s


def _measure_clock(service: MeasuredProcess, painter: TablePainter) -> Iterator[Figure]:
    """Let a clock run that nobody presses, so that each turn runs out.

    Measure how far each alarm's sound is from when it was due, and how far the end of each turn is
    from a whole number of turns after the first end.
    """
    _begin(service, painter, "binmat", {"way": "referee", "seconds": TURN_S, "turns": TURNS + 2})
    time.sleep(3)
    late_ms, drifts_ms = list[float](), list[float]()
    for _ in range(TURNS // IDLE_TURNS):
        began_s = time.monotonic()
        service.send(do="resume")
        time.sleep(TURN_S * IDLE_TURNS + 1)  # after `IDLE_TURNS` turns the clock stops by itself
        times = service.ask(do="times", lamp="south_1")
        # half a turn later: alarms that are due after the clock has stopped never sound
        stop_s = began_s + (IDLE_TURNS + 0.5) * TURN_S
        ends_s = sorted(end_s for end_s in times["ends_s"] if began_s < end_s < stop_s)
        for due_s in times["due_s"]:
            if began_s < due_s < stop_s:
                late_ms.append(min(abs(edge_s - due_s) for edge_s in times["tones_s"]) * 1000)
        for end_s in ends_s:
            turns = round((end_s - ends_s[0]) / TURN_S)
            drifts_ms.append(abs(end_s - ends_s[0] - turns * TURN_S) * 1000)
    yield BUZZER_MS, late_ms
    yield CLOCK_DRIFT_MS, drifts_ms
