"""The panel's threads and the machine's own pins: nothing gets stuck or is left behind, and what lacks is said."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Literal

import pytest
from gpiozero import LED, Device
from gpiozero.exc import PinUnknownPi
from gpiozero.pins.mock import MockFactory, MockPWMPin

import hardware.pins
from companion.core.clock import FakeClock, RealClock
from companion.core.config import PanelSettings
from companion.core.errors import PanelError
from companion.core.kit import SEATS
from companion.core.ports import Cue, PadKey, Press, SeatLamps, Signal, TurnLamp
from hardware.panel import Panel, open_panel, panel_reason
from hardware.simulated import simulated_panel
from hardware.wiring import Buzzer

SOUTH, NORTH = SEATS
WIRED = PanelSettings()
WAIT_S = 10.0


# ---- threads, closing ------------------------------------------------------------------------------------------


def test_a_listener_that_fails_costs_nobody_a_key(caplog: pytest.LogCaptureFixture) -> None:
    heard = threading.Event()

    def fail(press: Press) -> None:
        if press.key is PadKey.READY:
            heard.set()
        raise RuntimeError("the table stumbles")

    panel, hands = simulated_panel(WIRED, RealClock(), fail)
    with panel:
        hands.press("south_up")
        hands.press("north_ready")
        assert heard.wait(WAIT_S)
    assert "The listener failed on a press: " in caplog.text
    assert "south_up" not in caplog.text, "which key it was is a secret"


def test_a_press_travels_through_the_threads_to_a_tone(monkeypatch: pytest.MonkeyPatch) -> None:
    sounded: list[float | None] = []
    over = threading.Event()
    plain = Buzzer.sound

    def listen(buzzer: Buzzer, hz: float | None) -> None:
        plain(buzzer, hz)
        sounded.append(hz)
        if len(sounded) > 1 and hz is None:
            over.set()

    monkeypatch.setattr(Buzzer, "sound", listen)
    clock = RealClock()
    stamps: list[float] = []

    def tick(press: Press) -> None:
        stamps.append(press.at_s)
        panel.signal(Signal(Cue.KEY_TAKEN, frozenset({SOUTH}), 1))

    panel, hands = simulated_panel(WIRED, clock, tick)
    with panel:
        before_s = clock.monotonic_s()
        hands.press("south_up")
        after_s = clock.monotonic_s()
        assert over.wait(WAIT_S)
    assert 880.0 in sounded
    assert before_s <= stamps[0] <= after_s


def test_closing_twice_leaves_no_thread_and_no_pin() -> None:
    factory = MockFactory(pin_class=MockPWMPin)
    for _ in range(2):
        panel = Panel(PanelSettings(), RealClock(), lambda press: None, factory)
        assert {thread.name for thread in threading.enumerate()} >= {"panel-input", "panel-output"}
        assert panel.problems == (), "the pins of the first panel were given back"
        panel.show({SOUTH: SeatLamps(frozenset({1}), TurnLamp.ON)})
        panel.close()
        panel.close()
        assert not {thread.name for thread in threading.enumerate()} & {
            "panel-input",
            "panel-output",
        }
    with LED(17, pin_factory=factory):
        assert {pin.function for pin in factory.pins.values()} == {"input", "output"}


def test_a_listener_may_close_the_panel() -> None:
    closed = threading.Event()

    def close(press: Press) -> None:
        panel.close()
        closed.set()

    panel, hands = simulated_panel(WIRED, RealClock(), close)
    threads = [thread for thread in threading.enumerate() if thread.name.startswith("panel-")]
    hands.press("table")
    assert closed.wait(WAIT_S)
    for thread in threads:
        thread.join(WAIT_S)
        assert not thread.is_alive()


def test_a_panel_with_threads_is_not_stepped() -> None:
    panel, _ = simulated_panel(WIRED, FakeClock(), lambda press: None)
    with panel, pytest.raises(RuntimeError, match="threads=False"):
        panel.step()


# ---- the machine's own pins ------------------------------------------------------------------------------------


def no_pi() -> int:
    raise PinUnknownPi("no revision")


def open_here(enabled: Literal["auto", "yes", "no"]) -> Panel | None:
    return open_panel(PanelSettings(enabled=enabled), FakeClock(), lambda press: None)


def test_without_pins_auto_is_no_panel_and_yes_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GPIOZERO_PIN_FACTORY", raising=False)
    monkeypatch.setattr(hardware.pins, "get_pi_revision", no_pi)
    sentence = (
        "This machine is not a Raspberry Pi and has no pins: use the pages, or play --simulate."
    )
    assert open_here("auto") is None
    assert panel_reason(PanelSettings()) == sentence
    with pytest.raises(PanelError, match="not a Raspberry Pi") as caught:
        open_here("yes")
    assert caught.value.message == sentence


def test_a_panel_that_is_switched_off_says_so() -> None:
    assert open_here("no") is None
    assert panel_reason(PanelSettings(enabled="no")) == (
        "The panel is switched off: set enabled to auto or yes in [panel]."
    )


@pytest.mark.parametrize(
    ("has_chips", "may_use_chips", "words"),
    [(False, False, "no /dev/gpiochip"), (True, False, "add the user to group gpio")],
)
def test_what_a_pi_lacks_is_said_with_the_remedy(
    has_chips: bool, may_use_chips: bool, words: str
) -> None:
    assert words in (hardware.pins.obstacle(has_chips, may_use_chips) or "")
    assert hardware.pins.obstacle(True, True) is None


def test_pins_that_fail_to_open_are_told_afterwards_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPIOZERO_PIN_FACTORY", "no-such-pins")
    assert open_here("auto") is None
    reason = panel_reason(PanelSettings())
    assert reason is not None
    assert "no-such-pins" in reason
    hardware.pins.last_failure.clear()


def test_the_environment_may_choose_the_pins(monkeypatch: pytest.MonkeyPatch) -> None:
    factory = MockFactory(pin_class=MockPWMPin)
    monkeypatch.setenv("GPIOZERO_PIN_FACTORY", "mock")
    monkeypatch.setattr(Device, "pin_factory", factory)
    panel = open_here("yes")
    assert panel is not None
    with panel:
        assert panel.problems == ()
    assert factory.pins, "pins that the environment chose are not ours to close"
    monkeypatch.undo()


@pytest.mark.skipif(importlib.util.find_spec("lgpio") is None, reason="no lgpio here")
def test_lgpio_leaves_the_working_directory_as_it_was(tmp_path: Path) -> None:
    program = (
        "import contextlib, os\n"
        "from hardware import pins\n"
        "before = os.getcwd(), dict(os.environ)\n"
        "with contextlib.suppress(Exception):  # there is no chip here\n"
        "    pins._lgpio_factory()\n"
        "import sys\n"
        "assert 'lgpio' in sys.modules\n"
        "assert (os.getcwd(), dict(os.environ)) == before\n"
    )
    path = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-c", program]
    done = subprocess.run(
        command, cwd=tmp_path, env=path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.iterdir()) == []
