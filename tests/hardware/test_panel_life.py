"""The panel's threads and the machine's own pins: nothing gets stuck or is left behind, and what
lacks is said.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Literal

import pytest
from gpiozero import LED
from gpiozero.exc import PinUnknownPi
from gpiozero.pins.mock import MockFactory, MockPWMPin

import hardware.pin_factory
from companion.core.clock import FakeClock, RealClock
from companion.core.config import PanelSettings, Settings
from companion.core.errors import PanelError
from companion.core.kit import SEATS
from companion.core.ports import PadKey, Press, SeatLamps, TurnLamp
from companion.service.app import Companion
from hardware.panel import Panel, open_panel
from hardware.simulated import simulated_panel

SOUTH, NORTH = SEATS
WIRED = PanelSettings()
WAIT_S = 60.0


# ---- threads, closing ----------------------------------------------------------------------------


def test_a_listener_that_fails_costs_nobody_a_key(caplog: pytest.LogCaptureFixture) -> None:
    heard = threading.Event()

    def fail(press: Press) -> None:
        if press.key is PadKey.READY:
            heard.set()
        raise RuntimeError("the table stumbles")

    panel, hands = simulated_panel(WIRED, RealClock(), fail)
    panel.start()
    with panel:
        hands.press("south_up")
        hands.press("north_ready")
        assert heard.wait(WAIT_S)
    assert "The listener failed on a press: " in caplog.text
    assert "south_up" not in caplog.text, "which key it was is a secret"


def test_closing_twice_leaves_no_thread_and_no_pin() -> None:
    factory = MockFactory(pin_class=MockPWMPin)
    for _ in range(2):
        panel = Panel(PanelSettings(), RealClock(), lambda press: None, factory)
        panel.start()
        assert {thread.name for thread in threading.enumerate()} >= {"panel-input", "panel-output"}
        assert panel.problems == (), "the pins of the first panel were given back"
        panel.show({SOUTH: SeatLamps(frozenset({1}), TurnLamp.ON)})
        panel.close()
        panel.close()
        names = {thread.name for thread in threading.enumerate()}
        assert not names & {"panel-input", "panel-output"}
    with LED(17, pin_factory=factory):
        assert {pin.function for pin in factory.pins.values()} == {"input", "output"}


# ---- the machine's own pins ----------------------------------------------------------------------


def no_pi() -> int:
    raise PinUnknownPi("no revision")


def refusal(enabled: Literal["auto", "no"]) -> str:
    with pytest.raises(PanelError) as caught:
        open_panel(PanelSettings(enabled=enabled), FakeClock(), lambda press: None)
    return caught.value.message


def test_without_pins_there_is_no_panel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GPIOZERO_PIN_FACTORY", raising=False)
    monkeypatch.setattr(hardware.pin_factory, "get_pi_revision", no_pi)
    assert refusal("auto") == (
        "This machine is not a Raspberry Pi and has no pins: use the pages, or play --simulate."
    )


def test_missing_pins_stop_a_service_that_needs_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GPIOZERO_PIN_FACTORY", raising=False)
    monkeypatch.setattr(hardware.pin_factory, "get_pi_revision", no_pi)
    settings = Settings(state_dir=str(tmp_path), panel=PanelSettings(enabled="yes"))
    with pytest.raises(PanelError, match="not a Raspberry Pi"):
        Companion(settings, simulate=False, threads=False)


def test_a_panel_that_is_switched_off_says_so() -> None:
    assert refusal("no") == "The panel is switched off: set enabled to auto or yes in [panel]."


@pytest.mark.parametrize(
    ("has_chips", "may_use_chips", "words"),
    [(False, False, "no /dev/gpiochip"), (True, False, "add the user to group gpio")],
)
def test_what_a_pi_lacks_has_a_remedy(has_chips: bool, may_use_chips: bool, words: str) -> None:
    assert words in (hardware.pin_factory.why_no_access(has_chips, may_use_chips) or "")
    assert hardware.pin_factory.why_no_access(True, True) is None


def test_pins_that_fail_to_open_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPIOZERO_PIN_FACTORY", "no-such-pins")
    assert "no-such-pins" in refusal("auto")
