"""Measure how long people wait at one table, and what that costs the processor and the memory.

`bench_latencies` measures the service on whole cores. `bench_pi` gives it only a share of one core,
which stands for a Raspberry Pi: a core of a Raspberry Pi 4 has about a fifth of the speed of a core
of the measuring machine, and a core of a 3B+ an eighth. The bench is stricter than these boards,
which have four cores, because here all threads share one.

Both measure the same things, in this order:

1. from the command to the first page, several times,
2. from the command until the camera has read the board,
3. the processor's load while a set-up board lies still,
4. from pressing a key of a pad to its lamp,
5. from an order on a phone to the screens of all viewers,
6. from putting a piece on a wrong square to its name on all screens,
7. how late the buzzer sounds, and how exactly turns follow each other, on a running clock,
8. the memory of the service after all of that.
"""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

from bench.bars import (
    BUZZER_BAR,
    CAMERA_BAR,
    CLOCK_DRIFT_BAR,
    FIRST_PAGE_BAR,
    IDLE_BAR,
    KEY_TO_LAMP_BAR,
    MEMORY_BAR,
    PHONE_TO_SCREENS_BAR,
    WRONG_TO_NAME_BAR,
    Bar,
)
from bench.pi.measured_process import MeasuredProcess
from bench.pi.quota import CpuQuota, NoQuota
from bench.processes import (
    LOCAL_ONLY,
    ServerProcess,
    cpu_s,
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
STREAMS = ("/live/table", "/live/table", *(("/live/watch",) * 8))
# Number of starts of the service.
STARTS = 3
# Number of times that a key is pressed.
PRESSES = 120
# Number of orders that the phone sends.
ORDERS = 100
# Number of pieces that are put on a wrong square.
WRONG_PIECES = 20
# Number and duration of the turns on the clock.
TURNS = 108
TURN_S = 1.0
# How long the processor's load is measured while the board lies still.
IDLE_S = 20.0
# Number of squares that a hand crosses on its way to a square, and how long it is over each.
_HAND_STEPS = 4
_HAND_STEP_S = 0.1
# Beginning of the sign while orders are being made and a piece lies on a wrong square.
_WRONG_SIGN = b"Move the "


@dataclass(frozen=True)
class Computer:
    """A computer that the bench stands for, and the bars that are different for it."""

    name: str
    share: float
    """Share of a core of this machine that is as fast as one core of that computer."""
    limits: Mapping[Bar, float] = field(default_factory=dict)
    """Limits that replace those of the bars on this computer."""


THIS_MACHINE = Computer("this machine", 1.0)
PI_4 = Computer("Raspberry Pi 4", 1 / 5, {CLOCK_DRIFT_BAR: 30.0})
PI_3B = Computer(
    "Raspberry Pi 3B+",
    1 / 8,
    {
        FIRST_PAGE_BAR: 12.0,
        CAMERA_BAR: 20.0,
        CLOCK_DRIFT_BAR: 30.0,
        KEY_TO_LAMP_BAR: 60.0,
        PHONE_TO_SCREENS_BAR: 200.0,
        WRONG_TO_NAME_BAR: 1.2,
    },
)
# A bar, and the measured samples that it judges.
JudgedSamples = tuple[Bar, Sequence[float]]


def bench_latencies() -> bool:
    """Measure the service on whole cores, and return whether every bar is kept."""
    return _bench_computer(THIS_MACHINE, None)


def bench_pi() -> bool:
    """Measure the service on the shares of a core that stand for two boards.

    Return whether every bar is kept. Without root no share can be set, and this returns False.
    """
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
    """Measure everything and print it. Return whether every bar is kept.

    Without a quota, the service has whole cores.
    """
    print(f"{computer.name}: {computer.share:.3g} of a core, {len(STREAMS)} viewers", flush=True)
    good = True
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        # in memory, because a camera writes no files either
        memory = Path(stack.enter_context(tempfile.TemporaryDirectory(dir="/dev/shm")))
        settings = (
            f"{LOCAL_ONLY}port = 0\n[camera]\nfps = {PICTURES_PER_S:g}\n"
            "[table]\nreading_time_s = 0\n"
        )
        command = play_command(folder, settings)
        for bar, samples in _measure_all(command, folder, memory / "pictures", quota):
            good &= replace(bar, limit=computer.limits.get(bar, bar.limit)).judge(samples)
    return good


def _measure_all(
    command: list[str], folder: Path, pictures: Path, quota: CpuQuota | None
) -> Iterator[JudgedSamples]:
    """Yield the samples of everything that this module's docstring lists, in that order.

    `command` starts the service for the first pages, with the settings in `folder`. For everything
    else the service runs as a `MeasuredProcess`, and its camera reads the file `pictures`.
    """
    yield FIRST_PAGE_BAR, _first_pages_s(command, folder, quota)
    game = next(iter(GAMES.values()))
    kit = game.kit(game.options({}))
    world = printed_table(kit, replace(default_view(kit), width=1920, height=1080))
    with (
        TablePainter(world, pictures) as painter,
        MeasuredProcess(quota, folder, pictures, world.size_px()) as service,
    ):
        phone = Phone(f"http://127.0.0.1:{service.port}", Seat.NORTH)
        phone.post("take", {"name": "Bench"})
        # whatever the camera says of the board, it has read a picture
        while phone.get("view")["camera"]["state"] not in ("sees_board", "no_board"):
            time.sleep(0.02)
        yield CAMERA_BAR, [time.monotonic() - service.began_at_s]
        with Viewers(service.port, STREAMS) as viewers:
            yield from _measure_play(service, painter, phone, viewers)


def _first_pages_s(command: list[str], folder: Path, quota: CpuQuota | None) -> list[float]:
    """Measure from the command to the first page, `STARTS` times.

    An extra start without the quota comes first and is not measured: it compiles the program, as
    an installation does.
    """
    measured_command = quota.limited(command) if quota else command
    times_s = []
    for start_command in (command, *([measured_command] * STARTS)):
        with contextlib.closing(ServerProcess(start_command, folder)) as process:
            times_s.append(process.wait_for_page())
    return times_s[1:]


def _measure_play(
    service: MeasuredProcess, painter: TablePainter, phone: Phone, viewers: Viewers
) -> Iterator[JudgedSamples]:
    """Yield the samples of what happens in play: the points 3 to 8 of this module's docstring."""
    name = next(iter(GAMES))
    layout = _begin(service, painter, name, {})
    time.sleep(3)  # meanwhile, the camera reads the board

    # nothing happens at the table
    began_at_s, cpu_before_s = time.monotonic(), cpu_s(service.pid)
    time.sleep(IDLE_S)
    yield IDLE_BAR, [(cpu_s(service.pid) - cpu_before_s) / (time.monotonic() - began_at_s)]

    # somebody sits down at South's pad, and then people make orders and move pieces
    service.press("south_ready")
    yield KEY_TO_LAMP_BAR, _key_to_lamp_times_ms(service)
    yield PHONE_TO_SCREENS_BAR, _order_to_screens_times_ms(phone, viewers)
    yield WRONG_TO_NAME_BAR, _wrong_to_name_times_s(layout, painter, viewers)

    # another game, with a clock
    yield from _measure_clock(service, painter)
    yield MEMORY_BAR, [memory_mb(service.pid)]


def _begin(
    service: MeasuredProcess, painter: TablePainter, name: str, options: dict[str, Any]
) -> dict[Square, tuple[str, ...]]:
    """Begin a game at the service, and set its board up before the camera. Return the layout."""
    answer = service.ask(do="game", game=name, options=options)
    layout = {Square.parse(square): tuple(faces) for square, faces in answer.items()}
    game = GAMES[name]
    kit = game.kit(game.options(options))
    painter.world.use(kit)
    painter.world.set_view(replace(default_view(kit), width=1920, height=1080))
    painter.world.set_up(layout)
    return layout


def _key_to_lamp_times_ms(service: MeasuredProcess) -> list[float]:
    """Measure from pressing a key until its lamp is lit, which includes the key's debouncing.

    The key `south_up` enters an order, which lights South's first lamp. The key `south_back` takes
    the order away again. A press that lights no lamp takes infinitely long.
    """
    pressed_at_s = []
    for _ in range(PRESSES):
        pressed_at_s.append(time.monotonic())
        service.press("south_up")
        service.press("south_back")
    lit_at_s = service.times("south_1").lit_at_s
    times_ms = []
    for began_at_s, end_s in zip(pressed_at_s, [*pressed_at_s[1:], time.monotonic()], strict=True):
        # the first time that the lamp was lit before the key was pressed again
        answered_at_s = min(
            (at_s for at_s in lit_at_s if began_at_s <= at_s < end_s), default=float("inf")
        )
        times_ms.append((answered_at_s - began_at_s) * 1000)
    return times_ms


def _order_to_screens_times_ms(phone: Phone, viewers: Viewers) -> list[float]:
    """Measure from sending an order on a phone until the last viewer has the new page."""
    moment, times_ms = phone.get("view")["moment"], []
    for index in range(ORDERS):
        time.sleep(0.4)
        began_at_s = time.monotonic()
        toggle_order(phone, moment, index)
        end_s = viewers.wait_for_event(began_at_s, lambda page: b"</main>" in page)
        times_ms.append((end_s - began_at_s) * 1000)
    return times_ms


def _wrong_to_name_times_s(
    layout: dict[Square, tuple[str, ...]], painter: TablePainter, viewers: Viewers
) -> list[float]:
    """Measure from when a hand leaves a piece on a wrong square until all screens name it."""
    world, rng = painter.world, Random(1)
    times_s = list[float]()
    files = world.kit.board.files
    free = [square for square in world.kit.board.squares if square not in layout]
    for _ in range(WRONG_PIECES):
        piece, wrong = rng.choice(world.pieces()), rng.choice(free)
        # the hand comes along the rank to the wrong square, puts the piece down, and goes
        for steps_left in reversed(range(_HAND_STEPS)):
            world.hold_hand(Square((wrong.file + steps_left) % files, wrong.rank))
            time.sleep(_HAND_STEP_S)
        world.move_to(piece.id, wrong)
        world.hold_hand(None)
        began_at_s = time.monotonic()
        times_s.append(
            viewers.wait_for_event(began_at_s, lambda page: _WRONG_SIGN in page) - began_at_s
        )
        # the piece is put back, and the sign stops naming it
        world.set_up(layout)
        viewers.wait_for_event(
            time.monotonic(), lambda page: b"</main>" in page and _WRONG_SIGN not in page
        )
    return times_s


def _measure_clock(service: MeasuredProcess, painter: TablePainter) -> Iterator[JudgedSamples]:
    """Let a clock run that nobody presses, so that each turn runs out.

    Yield how far each alarm's sound was from when the alarm was due, and how far the end of each
    turn was from where it should be: a whole number of turns after the first end. After
    `IDLE_TURNS` turns the clock stops by itself, so it is resumed until `TURNS` turns are over.
    """
    # In this way to play BINMAT, the program only counts turns. Two more than are measured, so that
    # the game does not end before.
    _begin(service, painter, "binmat", {"way": "referee", "seconds": TURN_S, "turns": TURNS + 2})
    time.sleep(3)
    late_ms = list[float]()
    drifts_ms = list[float]()
    for _ in range(TURNS // IDLE_TURNS):
        began_at_s = time.monotonic()
        service.send(do="resume")
        time.sleep(TURN_S * IDLE_TURNS + 1)
        times = service.times("south_1")
        # Leave out alarms that are due more than half a turn after the clock has stopped: they
        # belong to turns that never come, so they never sound.
        stop_at_s = began_at_s + (IDLE_TURNS + 0.5) * TURN_S
        ends_at_s = sorted(end_s for end_s in times.ends_at_s if began_at_s < end_s < stop_at_s)
        for due_at_s in times.due_at_s:
            if began_at_s < due_at_s < stop_at_s:
                late_ms.append(
                    min(abs(tone_at_s - due_at_s) for tone_at_s in times.tones_at_s) * 1000
                )
        for end_s in ends_at_s:
            turns = round((end_s - ends_at_s[0]) / TURN_S)
            drifts_ms.append(abs(end_s - ends_at_s[0] - turns * TURN_S) * 1000)
    yield BUZZER_BAR, late_ms
    yield CLOCK_DRIFT_BAR, drifts_ms
