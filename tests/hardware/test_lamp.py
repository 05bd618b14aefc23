"""Test the system lamp: what it shows for each word of the service, and that it ends dark.

The service writes its word into a file, which another process reads. The lamp is dark when the
power may be cut.
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


class FakeService:
    """Writes the service's word to its folder, each time with a newer date of the file."""

    def __init__(self, folder: Path) -> None:
        self.manager = ServiceManager({"RUNTIME_DIRECTORY": str(folder)})
        self.file = folder / "lamp"
        self._written_at_ns = 0

    def write_word(self, word: LampWord) -> None:
        self.manager.set_lamp_word(word)
        self._written_at_ns += 1_000_000
        os.utime(self.file, ns=(self._written_at_ns, self._written_at_ns))


def test_the_lamp_follows_boot_and_crash(tmp_path: Path, clock: FakeClock) -> None:
    # The machine boots, and the service does not start in time.
    service, reader = FakeService(tmp_path), StatusReader(tmp_path / "lamp", clock)
    assert reader.read_state() is LampState.BOOTING
    clock.advance(BOOT_TIMEOUT_S - 1)
    assert reader.read_state() is LampState.BOOTING
    clock.advance(1)
    assert reader.read_state() is LampState.FAULT, "a boot without end must be a fault"

    # The service starts late, and runs.
    service.write_word(LampWord.READY)
    assert reader.read_state() is LampState.READY

    # It is killed: systemd deletes the file and starts the service again, but in vain.
    service.file.unlink()
    assert reader.read_state() is LampState.BOOTING, "a killed service must count as starting"
    clock.advance(MAX_STATUS_AGE_S)
    assert reader.read_state() is LampState.FAULT


def test_an_old_word_is_a_fault(tmp_path: Path, clock: FakeClock) -> None:
    # The service renews its word in time once, and then hangs.
    service, reader = FakeService(tmp_path), StatusReader(tmp_path / "lamp", clock)
    for _ in range(2):
        service.write_word(LampWord.READY)
        assert reader.read_state() is LampState.READY
        clock.advance(MAX_STATUS_AGE_S - 1)
        assert reader.read_state() is LampState.READY
    clock.advance(1)
    assert reader.read_state() is LampState.FAULT

    # Any new word is shown at once.
    service.write_word(LampWord.FAULT)
    assert reader.read_state() is LampState.FAULT
    service.write_word(LampWord.READY)
    assert reader.read_state() is LampState.READY

    # When the service has ended, systemd deletes its folder. The machine has two minutes to
    # switch off.
    service.write_word(LampWord.STOPPING)
    assert reader.read_state() is LampState.STOPPING
    service.file.unlink()
    clock.advance(STOP_TIMEOUT_S - 1)
    assert reader.read_state() is LampState.STOPPING
    clock.advance(1)
    assert reader.read_state() is LampState.FAULT, "a machine that stays on must be a fault"


@pytest.mark.parametrize(
    ("state", "on_ms", "off_ms"),
    [
        (LampState.BOOTING, (0, 900), (1000, 1900)),
        (LampState.STOPPING, (0, 200), (250, 450)),
        (LampState.FAULT, (0, 400), (100, 600)),
    ],
)
@pytest.mark.parametrize("is_active_low", [True, False])
def test_each_state_blinks_its_pattern_on_the_pin(
    state: LampState, on_ms: tuple[int, int], off_ms: tuple[int, int], is_active_low: bool
) -> None:
    """At the times `on_ms` the lamp is lit, and at `off_ms` it is dark."""
    factory = MockFactory()
    with SystemLamp(1, is_active_low, factory) as lamp:
        pin = factory.pin(1)
        for at_ms in (*on_ms, *off_ms):
            lamp.show(state, at_ms / 1000)
            assert bool(pin.state) is ((at_ms in on_ms) is not is_active_low), f"{at_ms} ms"
    lamp.close()


def test_the_lamp_wakes_for_its_next_change() -> None:
    with SystemLamp(1, True, MockFactory()) as lamp:
        # A steady lamp has no change of its own, but has to look for a new word.
        assert lamp.show(LampState.READY, 10.0) == 0.5
        assert lamp.show(LampState.FAULT, 20.0) == pytest.approx(0.08)
        assert lamp.show(LampState.STOPPING, 30.0) == pytest.approx(0.25)


def test_the_command_leaves_the_lamp_dark(tmp_path: Path) -> None:
    """The command lights the lamp, and releases its pin when SIGTERM ends it.

    The lamp is wired to 3V3: a low output lights it, and an input lets no current flow.
    """
    factory = MockFactory()
    pin = factory.pin(1)
    FakeService(tmp_path).write_word(LampWord.READY)
    pin_states: list[bool] = []

    def terminate_when_lit() -> None:
        pause = threading.Event()
        while not pause.wait(0.02) and not (pin.function == "output" and not pin.state):
            pass
        pin_states.append(bool(pin.state))
        os.kill(os.getpid(), signal.SIGTERM)

    # The command blocks these signals for the whole process. Restore the mask of the tests.
    mask_before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    try:
        terminator = threading.Thread(target=terminate_when_lit)
        terminator.start()
        assert run_lamp(PanelSettings(), tmp_path, factory) == 0
        terminator.join()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask_before)
    assert pin_states == [False]
    assert pin.function == "input"
