"""The system lamp: what it shows by the service's word, and that it is dark when the cord may be
pulled.
"""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest
from gpiozero.pins.mock import MockFactory

from companion.cli.lamp import run_lamp
from companion.core.clock import FakeClock
from companion.core.config import PanelSettings
from companion.service.systemd import LampWord, ServiceManager
from hardware.lamp import (
    BOOT_TIMEOUT_S,
    MAX_STATUS_AGE_S,
    STOP_TIMEOUT_S,
    LampState,
    StatusReader,
    SystemLamp,
)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(100.0)


class Service:
    """The service's side: its word in its folder, renewed as often as a test says."""

    def __init__(self, folder: Path) -> None:
        self.manager = ServiceManager({"RUNTIME_DIRECTORY": str(folder)})
        self.word = folder / "lamp"
        self._written_ns = 0

    def says(self, word: LampWord) -> None:
        self.manager.set_lamp_word(word)
        self._written_ns += 1_000_000
        os.utime(self.word, ns=(self._written_ns, self._written_ns))


def test_booting_ready_and_gone(tmp_path: Path, clock: FakeClock) -> None:
    service, reader = Service(tmp_path), StatusReader(tmp_path / "lamp", clock)
    assert reader.read_state() is LampState.BOOTING
    clock.advance(BOOT_TIMEOUT_S - 1)
    assert reader.read_state() is LampState.BOOTING
    clock.advance(1)
    assert reader.read_state() is LampState.FAULT, "it never came up"
    service.says(LampWord.READY)
    assert reader.read_state() is LampState.READY
    service.word.unlink()
    assert reader.read_state() is LampState.BOOTING, "killed: it begins once more"
    clock.advance(MAX_STATUS_AGE_S)
    assert reader.read_state() is LampState.FAULT


def test_a_word_not_renewed_is_a_fault(tmp_path: Path, clock: FakeClock) -> None:
    service, reader = Service(tmp_path), StatusReader(tmp_path / "lamp", clock)
    for _ in range(2):
        service.says(LampWord.READY)
        assert reader.read_state() is LampState.READY
        clock.advance(MAX_STATUS_AGE_S - 1)
        assert reader.read_state() is LampState.READY
    clock.advance(1)
    assert reader.read_state() is LampState.FAULT
    service.says(LampWord.FAULT)
    assert reader.read_state() is LampState.FAULT
    service.says(LampWord.READY)
    assert reader.read_state() is LampState.READY
    service.says(LampWord.STOPPING)
    assert reader.read_state() is LampState.STOPPING
    service.word.unlink()
    clock.advance(STOP_TIMEOUT_S - 1)
    assert reader.read_state() is LampState.STOPPING
    clock.advance(1)
    assert reader.read_state() is LampState.FAULT, "the machine is on, the service is not"


@pytest.mark.parametrize(
    ("shown", "on_ms", "off_ms"),
    [
        (LampState.BOOTING, (0, 900), (1000, 1900)),
        (LampState.STOPPING, (0, 200), (250, 450)),
        (LampState.FAULT, (0, 400), (100, 600)),
    ],
)
@pytest.mark.parametrize("is_active_low", [True, False])
def test_patterns_on_the_pin(
    shown: LampState, on_ms: tuple[int, int], off_ms: tuple[int, int], is_active_low: bool
) -> None:
    factory = MockFactory()
    with SystemLamp(1, is_active_low, factory) as lamp:
        pin = factory.pin(1)
        for at_ms in (*on_ms, *off_ms):
            lamp.show(shown, at_ms / 1000)
            assert bool(pin.state) is ((at_ms in on_ms) is not is_active_low), f"{at_ms} ms"
    lamp.close()


def test_it_wakes_in_time_for_the_next_change() -> None:
    with SystemLamp(1, True, MockFactory()) as lamp:
        assert lamp.show(LampState.READY, 10.0) == 0.5, "only the word can change it"
        assert lamp.show(LampState.FAULT, 20.0) == pytest.approx(0.08)
        assert lamp.show(LampState.STOPPING, 30.0) == pytest.approx(0.25)


def test_the_command_leaves_the_lamp_dark(
    tmp_path: Path,
) -> None:
    factory = MockFactory()
    pin = factory.pin(1)
    Service(tmp_path).says(LampWord.READY)
    states: list[bool] = []

    def end() -> None:
        tried = threading.Event()
        while not tried.wait(0.02) and not (pin.function == "output" and not pin.state):
            pass
        states.append(bool(pin.state))
        os.kill(os.getpid(), signal.SIGTERM)

    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    try:
        other = threading.Thread(target=end)
        other.start()
        assert run_lamp(PanelSettings(), tmp_path, factory) == 0
        other.join()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    assert states == [False], "wired to 3V3: low is lit"
    assert pin.function == "input", "no current flows: dark"
