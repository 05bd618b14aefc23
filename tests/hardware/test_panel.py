"""Test the panel on gpiozero's mock pins: keys, lamps, wiring, broken pins and closing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from gpiozero.pins.mock import MockFactory, MockPWMPin
from panel_tools import WIRED, PanelRig

from companion.core.clock import FakeClock
from companion.core.kit import SEATS
from companion.core.ports import Cue, PadKey, Press, SeatLamps, TurnLamp
from hardware.panel import Panel
from hardware.wiring import Button

SOUTH, NORTH = SEATS


@pytest.fixture
def rig() -> Iterator[PanelRig]:
    rig = PanelRig()
    with rig.panel:
        yield rig


# ---- keys ----------------------------------------------------------------------------------------


def test_every_button_has_its_own_key(rig: PanelRig) -> None:
    assert rig.panel.problems == ()
    # Both pads have all keys but the table button, of which there is one.
    names = {f"{seat}_{key}" for seat in SEATS for key in PadKey if key is not PadKey.TABLE} | {
        "table"
    }
    assert set(rig.hands.buttons()) == names

    # Every button causes one press, of the seat and the key in its name.
    for name in rig.hands.buttons():
        rig.hands.press(name)
        rig.after(5)
    pressed = {
        f"{press.seat}_{press.key}" if press.seat else str(press.key) for press in rig.presses
    }
    assert pressed == names
    assert len(rig.presses) == 17


def test_a_bouncing_key_is_pressed_once(rig: PanelRig) -> None:
    # The key is down for 1, 2 and 3 ms, and up for 1 ms in between. Its press has the time of the
    # first edge, at which the clock of every rig begins.
    rig.bounce("south_up", 1, 1, 2, 1, 3)
    rig.after(700)
    assert rig.presses == [Press(SOUTH, PadKey.UP, 100.0)]


def test_the_debounce_time_is_a_setting() -> None:
    # The key is up for 40 ms between two presses. With a longer debounce time they are one press.
    for debounce_ms, count in ((20, 2), (60, 1)):
        rig = PanelRig(msgspec.structs.replace(WIRED, debounce_ms=debounce_ms))
        rig.bounce("south_b", 10, 40, 10)
        rig.after(0)
        assert len(rig.presses) == count
        rig.panel.close()


def test_a_held_back_key_is_reported_twice(rig: PanelRig) -> None:
    # Until a second is over there is only the press itself.
    rig.hands.press("south_back")
    rig.after(999)
    assert [press.is_held for press in rig.presses] == [False]

    # Then it is reported as held after one second, and again as held for long after two.
    for _ in range(5):
        rig.after(500)
    assert rig.presses[1:] == [
        Press(SOUTH, PadKey.BACK, 100.0, is_held=True),
        Press(SOUTH, PadKey.BACK, 100.0, is_held=True, is_long=True),
    ]


# ---- lamps ---------------------------------------------------------------------------------------


def test_exactly_the_requested_lamps_are_lit(rig: PanelRig) -> None:
    assert rig.lit() == set()
    both = SeatLamps(frozenset({1, 3}), TurnLamp.ON)
    rig.show(both, both)
    assert rig.lit() == {"south_1", "south_3", "south_turn", "north_1", "north_3", "north_turn"}
    rig.show(SeatLamps())
    assert rig.lit() == set()


# ---- wiring and broken pins ----------------------------------------------------------------------


# GPIO numbers in the default wiring.
SOUTH_UP_GPIO = 5
SOUTH_DOWN_GPIO = 6
SOUTH_2_GPIO = 27


class BrokenFactory(MockFactory):  # type: ignore[misc]  # gpiozero has no types
    """Mock pins, of which another program uses that of one key and that of one lamp."""

    def pin(self, name: int, *args: Any, **options: Any) -> Any:
        if name in (SOUTH_DOWN_GPIO, SOUTH_2_GPIO):
            raise OSError("GPIO busy")
        return super().pin(name, *args, **options)


def test_a_pin_that_cannot_open_is_named() -> None:
    presses: list[Press] = []
    factory = BrokenFactory(pin_class=MockPWMPin)
    clock = FakeClock()
    with Panel(WIRED, clock, presses.append, factory) as panel:
        reason = (
            "cannot be used: GPIO busy. Check that nothing else uses the pin, "
            "or leave it out in [panel]"
        )
        assert panel.problems == (f"south_down on GPIO 6 {reason}", f"south_2 on GPIO 27 {reason}")

        # The other 16 of 17 buttons and 7 of 8 lamps work.
        assert (len(panel.buttons), len(panel.lamps), panel.has_buzzer) == (16, 7, True)
        factory.pin(SOUTH_UP_GPIO).drive_low()
        clock.advance(0.002)
        panel.step()
        assert [press.key for press in presses] == [PadKey.UP]


def test_a_failing_lamp_is_named_once(rig: PanelRig, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(value: float) -> None:
        raise OSError("line lost")

    # The pin of lamp 1, the first value of its entry, fails at its first change. Then the lamp is
    # not used any more. The other lamps work.
    monkeypatch.setattr(rig.hands.lamps["south_1"][0], "_set_state", fail)
    for turn in (TurnLamp.ON, TurnLamp.OFF, TurnLamp.ON):
        rig.show(SeatLamps(frozenset({1, 2}), turn))
    assert rig.lit() == {"south_2", "south_turn"}
    assert len(rig.panel.problems) == 1
    assert rig.panel.problems[0].startswith("south_1 no longer works: line lost. Check")
    rig.show(SeatLamps(frozenset({1})))
    assert len(rig.panel.problems) == 1


@pytest.mark.parametrize(
    ("button", "subject"),
    [("south_up", "A key of the south pad"), ("table", "The table button")],
)
def test_a_failing_secret_button_is_not_named(
    rig: PanelRig, monkeypatch: pytest.MonkeyPatch, button: str, subject: str
) -> None:
    """Only a key that is down is read, so its name would reveal what a player presses."""

    def fail(button: Button) -> bool:
        raise OSError("line lost")

    rig.hands.press(button)
    rig.after(5)
    monkeypatch.setattr(Button, "is_down", fail)
    rig.after(5)
    reason = "no longer works: line lost. Check that nothing else uses the pin"
    assert [problem.split(",")[0] for problem in rig.panel.problems] == [f"{subject} {reason}"]


# ---- closing -------------------------------------------------------------------------------------


def test_a_closed_panel_ignores_keys_and_cues(rig: PanelRig) -> None:
    # All lamps are lit and a tone sounds when the panel is closed. Then it is dark and silent.
    all_lamps = SeatLamps(frozenset({1, 2, 3}), TurnLamp.ON)
    rig.show(all_lamps, all_lamps)
    rig.signal(Cue.WON, SOUTH)
    rig.panel.close()
    assert rig.lit() == set()
    assert rig.hands.view().tone_hz is None

    # Nothing that is pressed or shown afterwards has any effect.
    rig.hands.press("south_up")
    rig.signal(Cue.WON, SOUTH)
    rig.show(SeatLamps(turn=TurnLamp.ON))
    assert (rig.presses, rig.lit()) == ([], set())
