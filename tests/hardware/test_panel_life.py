"""Test that a panel releases its threads and pins, and what is said on a machine without pins.

The pins are gpiozero's mock pins.
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


# ---- threads and closing -------------------------------------------------------------------------


def test_a_failing_listener_loses_no_key(caplog: pytest.LogCaptureFixture) -> None:
    """The listener fails at every press, and still gets the second key after the first one."""
    second_key_arrived = threading.Event()

    def fail(press: Press) -> None:
        if press.key is PadKey.READY:
            second_key_arrived.set()
        raise RuntimeError("the table failed")

    panel, hands = simulated_panel(WIRED, RealClock(), fail)
    panel.start()
    with panel:
        hands.press("south_up")
        hands.press("north_ready")
        assert second_key_arrived.wait(WAIT_S)
    assert "The listener failed on a press: " in caplog.text
    assert "south_up" not in caplog.text, "the log must not tell which key was pressed"


def test_closing_twice_leaves_no_thread_and_no_pin() -> None:
    """Open and close two panels on the same pins. The second shows that the first has left them."""
    factory = MockFactory(pin_class=MockPWMPin)
    for _ in range(2):
        panel = Panel(PanelSettings(), RealClock(), lambda press: None, factory)
        panel.start()
        assert {thread.name for thread in threading.enumerate()} >= {"panel-input", "panel-output"}
        assert panel.problems == (), "no pin may be held by the first panel"
        panel.show({SOUTH: SeatLamps(frozenset({1}), TurnLamp.ON)})
        panel.close()
        panel.close()
        names = {thread.name for thread in threading.enumerate()}
        assert not names & {"panel-input", "panel-output"}

    # One pin, a lamp's, can be used for something else, and only that pin is an output.
    with LED(17, pin_factory=factory):
        assert {pin.function for pin in factory.pins.values()} == {"input", "output"}


# ---- the machine's own pins ----------------------------------------------------------------------


def raise_unknown_pi() -> int:
    raise PinUnknownPi("no revision")


def panel_refusal(enabled: Literal["auto", "no"]) -> str:
    """Try in vain to open the machine's panel. Return the message of the error."""
    with pytest.raises(PanelError) as caught:
        open_panel(PanelSettings(enabled=enabled), FakeClock(), lambda press: None)
    return caught.value.message


def test_without_pins_there_is_no_panel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GPIOZERO_PIN_FACTORY", raising=False)
    monkeypatch.setattr(hardware.pin_factory, "get_pi_revision", raise_unknown_pi)
    assert panel_refusal("auto") == (
        "This machine is not a Raspberry Pi and has no pins: use the pages, or play --simulate."
    )


def test_missing_pins_stop_a_service_that_needs_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GPIOZERO_PIN_FACTORY", raising=False)
    monkeypatch.setattr(hardware.pin_factory, "get_pi_revision", raise_unknown_pi)
    settings = Settings(state_dir=str(tmp_path), panel=PanelSettings(enabled="yes"))
    with pytest.raises(PanelError, match="not a Raspberry Pi"):
        Companion(settings, simulate=False, threads=False)


def test_a_panel_that_is_switched_off_says_so() -> None:
    assert (
        panel_refusal("no") == "The panel is switched off: set enabled to auto or yes in [panel]."
    )


@pytest.mark.parametrize(
    ("has_chips", "may_use_chips", "words"),
    [(False, False, "no /dev/gpiochip"), (True, False, "add the user to group gpio")],
)
def test_missing_pin_access_has_a_remedy(has_chips: bool, may_use_chips: bool, words: str) -> None:
    assert words in (hardware.pin_factory.why_no_access(has_chips, may_use_chips) or "")
    # With a chip and permission to use it, nothing is missing.
    assert hardware.pin_factory.why_no_access(True, True) is None


def test_pins_that_fail_to_open_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPIOZERO_PIN_FACTORY", "no-such-pins")
    assert "no-such-pins" in panel_refusal("auto")
