"""The panel on gpiozero's mock pins: keys, lamps, tones, wiring, broken pins, and that it gives everything back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
from gpiozero.pins.mock import MockFactory, MockPin, MockPWMPin
from panel_tools import WIRED, Rig

from companion.core.clock import FakeClock
from companion.core.config import PadPins
from companion.core.kit import SEATS
from companion.core.ports import Cue, PadKey, PanelHands, Press, SeatLamps, TurnLamp
from hardware.cues import LAMPS
from hardware.panel import Panel
from hardware.simulated import SimulatedPanelHands

SOUTH, NORTH = SEATS


@pytest.fixture
def rig() -> Iterator[Rig]:
    made = Rig()
    with made.panel:
        yield made


@pytest.fixture
def make_rig() -> Iterator[Callable[..., Rig]]:
    made: list[Rig] = []

    def make(**changes: Any) -> Rig:
        made.append(Rig(msgspec.structs.replace(WIRED, **changes)))
        return made[-1]

    yield make
    for one in made:
        one.panel.close()


# ---- keys ------------------------------------------------------------------------------------------------------


def test_every_button_of_the_default_wiring_speaks_for_itself(rig: Rig) -> None:
    assert rig.panel.problems == ()
    names = {f"{seat}_{key}" for seat in SEATS for key in PadKey if key is not PadKey.TABLE} | {
        "table"
    }
    assert set(rig.hands.buttons()) == names
    for name in rig.hands.buttons():
        rig.hands.press(name)
        rig.after(5)
    said = {f"{press.seat}_{press.key}" if press.seat else str(press.key) for press in rig.presses}
    assert said == names
    assert len(rig.presses) == 17


def test_a_press_is_stamped_at_its_first_edge_however_it_bounces_and_however_late_it_is_read(
    rig: Rig,
) -> None:
    rig.bounce("south_up", 1, 1, 2, 1, 3)
    rig.after(700)
    assert rig.presses == [Press(SOUTH, PadKey.UP, 100.0)]


def test_the_debounce_time_is_a_setting(make_rig: Callable[..., Rig]) -> None:
    for debounce_ms, count in ((20, 2), (60, 1)):
        rig = make_rig(debounce_ms=debounce_ms)
        rig.bounce("south_b", 10, 40, 10)
        rig.after(0)
        assert len(rig.presses) == count


def test_two_keys_at_once_and_a_second_key_while_the_first_is_held_all_count(rig: Rig) -> None:
    rig.hands.press("south_left")
    rig.hands.press("north_left")
    rig.after(300)
    rig.hands.press("south_right")
    rig.after(100)
    rig.hands.release("south_right")
    rig.after(100)
    rig.hands.press("south_right")
    rig.after(100)
    assert [(press.seat, press.key) for press in rig.presses] == [
        (SOUTH, PadKey.LEFT),
        (NORTH, PadKey.LEFT),
        (SOUTH, PadKey.RIGHT),
        (SOUTH, PadKey.RIGHT),
    ]


def test_a_held_back_key_says_so_after_one_and_two_seconds(rig: Rig) -> None:
    rig.hands.press("south_back")
    rig.after(999)
    assert [press.held for press in rig.presses] == [False]
    for _ in range(5):
        rig.after(500)
    assert rig.presses[1:] == [
        Press(SOUTH, PadKey.BACK, 100.0, held=True),
        Press(SOUTH, PadKey.BACK, 100.0, held=True, is_long=True),
    ]


def test_no_other_key_says_that_it_is_held_for_long(rig: Rig) -> None:
    rig.hands.press("south_up")
    for _ in range(5):
        rig.after(500)
    assert [press.held for press in rig.presses] == [False, True]


def test_a_release_whose_edge_got_lost_does_not_cost_the_next_press(rig: Rig) -> None:
    rig.hands.press("south_up")
    rig.after(50)
    lost_edge(rig, "south_up")
    rig.after(50)
    rig.after(50)
    rig.hands.press("south_up")
    rig.after(2)
    assert len(rig.presses) == 2


def lost_edge(rig: Rig, button: str) -> None:
    """Release a button without telling anybody, as gpiozero's issue 1090 describes."""
    pin = rig.hands.held_buttons[button]
    pin.edges = "none"
    rig.hands.release(button)
    pin.edges = "both"


def test_an_unknown_button_is_a_key_error(rig: Rig) -> None:
    with pytest.raises(KeyError, match="south_turbo"):
        rig.hands.press("south_turbo")


# ---- lamps -----------------------------------------------------------------------------------------------------


def test_lasting_lamps_show_as_asked_also_those_between_3v3_and_the_pin(rig: Rig) -> None:
    assert rig.lit() == set()
    both = SeatLamps(frozenset({1, 3}), TurnLamp.ON)
    rig.show(both, both)
    assert rig.lit() == {"south_1", "south_3", "south_turn", "north_1", "north_3", "north_turn"}
    rig.show(SeatLamps())
    assert rig.lit() == set()


def test_an_active_low_lamp_is_lit_by_a_low_pin(make_rig: Callable[..., Rig]) -> None:
    rig = make_rig(south=PadPins(lamp_turn=4, lamp_1=17, lamps_active_low=("lamp_turn",)))
    low, high = rig.hands.lamps["south_turn"][0], rig.hands.lamps["south_1"][0]
    assert (low.state, high.state) == (1, 0)
    rig.show(SeatLamps(frozenset({1}), TurnLamp.ON))
    assert (low.state, high.state) == (0, 1)


def test_pins_that_cannot_play_tones_are_named_and_the_lamps_work() -> None:
    factory = MockFactory(pin_class=MockPin)
    with Panel(WIRED, FakeClock(), lambda press: None, factory, threads=False) as panel:
        assert len(panel.lamps) == 8
        assert not panel.has_buzzer
        assert [problem.split(":")[0] for problem in panel.problems] == [
            "buzzer on GPIO 18 cannot be used"
        ]


# ---- tones -----------------------------------------------------------------------------------------------------


def test_silent_mode_plays_on_the_turn_lamp_of_the_seat_and_never_on_the_buzzer(
    make_rig: Callable[..., Rig],
) -> None:
    rig = make_rig(silent=True)
    rig.signal(Cue.SEALED, SOUTH)
    seen = []
    for _ in range(4):
        seen.append(rig.lit())
        assert rig.hands.view().tone_hz is None
        rig.after(60)
    assert seen == [{"south_turn"}, set(), {"south_turn"}, set()]


# ---- wiring and broken pins ------------------------------------------------------------------------------------


def test_nothing_wired_at_all_is_a_panel_that_does_nothing(make_rig: Callable[..., Rig]) -> None:
    rig = make_rig(south=PadPins(), north=PadPins(), table_button="", buzzer="")
    rig.signal(Cue.WON, SOUTH)
    rig.show(SeatLamps(frozenset({1}), TurnLamp.PULSE))
    assert (rig.hands.view().lamps, rig.hands.view().tone_hz, rig.panel.problems) == ({}, None, ())


def test_a_pin_with_two_jobs_does_the_first_and_is_named_for_the_second(
    make_rig: Callable[..., Rig],
) -> None:
    rig = make_rig(south=PadPins(up=5, down=5, lamp_1=17), north=PadPins(lamp_1=18))
    said = (
        "cannot be used: another button, lamp or buzzer has this pin. Give each its own in [panel]"
    )
    assert rig.panel.problems == (f"south_down on GPIO 5 {said}", f"buzzer on GPIO 18 {said}")
    assert rig.hands.buttons() == ("south_up", "table")
    rig.hands.press("south_up")
    rig.after(2)
    rig.signal(Cue.SEALED, SOUTH)
    assert rig.presses == [Press(SOUTH, PadKey.UP, 100.0)]
    assert rig.hands.view().tone_hz is None


class BrokenFactory(MockFactory):  # type: ignore[misc]  # gpiozero has no types
    """Mock pins of which some are taken by another program."""

    def pin(self, name: int, *args: Any, **more: Any) -> Any:
        if name in (6, 27):
            raise OSError("GPIO busy")
        return super().pin(name, *args, **more)


def test_a_pin_that_cannot_be_opened_is_named_and_the_rest_works() -> None:
    presses: list[Press] = []
    factory = BrokenFactory(pin_class=MockPWMPin)
    clock = FakeClock()
    with Panel(WIRED, clock, presses.append, factory, threads=False) as panel:
        said = "cannot be used: GPIO busy. Check that nothing else uses the pin, or leave it out in [panel]"
        assert panel.problems == (f"south_down on GPIO 6 {said}", f"south_2 on GPIO 27 {said}")
        assert (len(panel.buttons), len(panel.lamps), panel.has_buzzer) == (16, 7, True)
        factory.pin(5).drive_low()
        clock.advance(0.002)
        panel.step()
        assert [press.key for press in presses] == [PadKey.UP]


def test_a_lamp_that_fails_while_in_use_is_named_once_and_the_rest_goes_on(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(value: float) -> None:
        raise OSError("line lost")

    monkeypatch.setattr(rig.hands.lamps["south_1"][0], "_set_state", fail)
    for turn in (TurnLamp.ON, TurnLamp.OFF, TurnLamp.ON):
        rig.show(SeatLamps(frozenset({1, 2}), turn))
    assert rig.lit() == {"south_2", "south_turn"}
    assert len(rig.panel.problems) == 1
    assert rig.panel.problems[0].startswith("south_1 no longer works: line lost. Check")
    rig.show(SeatLamps(frozenset({1})))
    assert len(rig.panel.problems) == 1


def test_a_key_whose_line_cannot_be_read_any_more_is_named(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> bool:
        raise OSError("line lost")

    rig.hands.press("south_up")
    rig.after(2)
    monkeypatch.setattr(rig.hands.held_buttons["south_up"], "_get_state", fail)
    rig.after(50)
    rig.hands.press("north_up")
    rig.after(50)
    assert [press.seat for press in rig.presses] == [SOUTH, NORTH]
    assert [problem.split(".")[0] for problem in rig.panel.problems] == [
        "a key of the south pad no longer works: line lost"
    ]


# ---- simulation ----------------------------------------------------------------------------------------------


def test_a_closed_panel_is_dark_silent_and_deaf(rig: Rig) -> None:
    rig.show(
        SeatLamps(frozenset({1, 2, 3}), TurnLamp.ON), SeatLamps(frozenset({1, 2, 3}), TurnLamp.ON)
    )
    rig.signal(Cue.WON, SOUTH)
    rig.panel.close()
    assert rig.lit() == set()
    assert rig.hands.view().tone_hz is None
    rig.hands.press("south_up")
    rig.signal(Cue.WON, SOUTH)
    rig.show(SeatLamps(turn=TurnLamp.ON))
    assert (rig.presses, rig.lit()) == ([], set())


def test_the_simulated_panel_is_the_port_and_forgets_old_states(rig: Rig) -> None:
    hands: PanelHands = rig.hands
    assert isinstance(hands, SimulatedPanelHands)
    assert set(hands.view().lamps) == {f"{seat}_{lamp}" for seat in SEATS for lamp in LAMPS}
    for _ in range(150):
        rig.show(SeatLamps(frozenset({1})))
        rig.show(SeatLamps())
    assert len(rig.hands.lamps["south_1"][0].states) <= 100
