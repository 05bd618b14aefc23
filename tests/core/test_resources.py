"""Freed memory is given back: the allocator's settings, the thread that writes letters, quiet moments."""

from __future__ import annotations

import gc
import platform
import subprocess
import sys
import weakref
from pathlib import Path
from types import SimpleNamespace

import pytest

from companion.core import resources
from companion.core.clock import FakeClock
from companion.core.config import CameraSettings
from companion.core.resources import is_small_machine
from companion.maintenance import housekeeping
from companion.service import lifecycle
from companion.table.session import Phase

ARENAS = """
import ctypes, sys, threading
from companion.core.resources import save_memory
if sys.argv[1] == "saving":
    assert save_memory()
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
met = threading.Barrier(8)
def work():
    blocks = [libc.malloc(5000) for _ in range(50)]
    met.wait()
    for block in blocks:
        libc.free(block)
threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
libc.fopen.restype, libc.malloc_info.argtypes, libc.fclose.argtypes = ctypes.c_void_p, [ctypes.c_int, ctypes.c_void_p], [ctypes.c_void_p]
file = libc.fopen(sys.argv[2].encode(), b"w")
libc.malloc_info(0, file)
libc.fclose(file)
"""
needs_glibc = pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="another C library than glibc"
)


def arenas(how: str, folder: Path) -> int:
    """How many arenas eight threads get."""
    report = folder / how
    root = Path(__file__).parents[2]
    subprocess.run(
        [sys.executable, "-c", ARENAS, how, str(report)], check=True, cwd=root, env={}, timeout=60
    )
    return report.read_text(encoding="ascii").count("<heap nr=")


@needs_glibc
def test_threads_share_one_arena_however_the_program_is_started(tmp_path: Path) -> None:
    assert arenas("plain", tmp_path) > 1
    assert arenas("saving", tmp_path) == resources.ARENAS


def test_the_service_says_so_before_anything_else(monkeypatch: pytest.MonkeyPatch) -> None:
    def said() -> bool:
        raise InterruptedError("memory is saved")

    monkeypatch.setattr(lifecycle, "save_memory", said)
    with pytest.raises(InterruptedError):
        lifecycle.run(lambda: pytest.fail("too late"), Path(), None, lambda *_: None)


def test_another_c_library_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "_glibc", lambda: None)
    assert not resources.save_memory()
    assert not resources.give_back()


# ---- quiet moments -----------------------------------------------------------------------------------------------------


class Progress:
    """What housekeeping asks of the table."""

    number, moment, phase = 0, "", Phase.LOBBY


def test_memory_is_given_back_between_two_games_and_now_and_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given: list[int] = []
    monkeypatch.setattr(housekeeping, "give_back", lambda: given.append(progress.number))
    progress, clock = Progress(), FakeClock()
    house = housekeeping.Housekeeping.__new__(housekeeping.Housekeeping)
    table = SimpleNamespace(progress=lambda: progress)
    vars(house).update(
        _table=table, _clock=clock, _given_back=None, _give_back_s=clock.monotonic_s() + 30
    )
    for number, phase in (
        (0, Phase.LOBBY),
        (1, Phase.SETUP),
        (1, Phase.ORDERS),
        (1, Phase.STAGES),
        (1, Phase.OVER),
    ):
        progress.number, progress.phase = number, phase
        house.give_back()
        house.give_back()
    assert given == [0, 1, 1], "in the lobby, at the set-up and at the end"
    progress.number, progress.phase = 2, Phase.ORDERS
    for _ in range(7):
        clock.advance(10)
        house.give_back()
    assert given[3:] == [2, 2]


# ---- the bench ---------------------------------------------------------------------------------------------------------


def test_what_only_refers_to_itself_is_given_back_too(monkeypatch: pytest.MonkeyPatch) -> None:
    class Ring:
        """Refers to itself."""

    ring = Ring()
    ring.itself = ring  # type: ignore[attr-defined]
    left = weakref.ref(ring)
    gc.disable()
    try:
        del ring
        found: list[object] = []
        monkeypatch.setattr(housekeeping, "give_back", lambda: found.append(left()))
        house = housekeeping.Housekeeping.__new__(housekeeping.Housekeeping)
        vars(house).update(
            _table=SimpleNamespace(progress=Progress),
            _clock=FakeClock(),
            _given_back=None,
            _give_back_s=0.0,
        )
        house.give_back()
    finally:
        gc.enable()
    assert found == [None]


# ---- boards with little memory ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("told", "is_small"),
    [
        ("MemTotal:         427068 kB\nMemFree: 1 kB\n", True),
        ("MemTotal:         517000 kB\n", True),
        ("MemTotal:         945364 kB\n", False),
        ("MemTotal:        3884392 kB\n", False),
        ("nothing of it\n", False),
    ],
)
def test_a_small_board_is_told_by_its_memory(tmp_path: Path, told: str, is_small: bool) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text(told)
    assert is_small_machine(tmp_path) is is_small


def test_a_machine_that_tells_nothing_has_enough(tmp_path: Path) -> None:
    assert not is_small_machine(tmp_path)


def test_a_small_board_takes_small_pictures_unless_the_settings_say_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("companion.core.config.is_small_machine", lambda: True)
    assert CameraSettings().size_px == (1280, 720)
    assert CameraSettings().is_small
    assert CameraSettings(size="1920x1080").size_px == (1920, 1080)
    assert not CameraSettings(size="1920x1080").is_small
    monkeypatch.setattr("companion.core.config.is_small_machine", lambda: False)
    assert CameraSettings().size_px == (1920, 1080)
