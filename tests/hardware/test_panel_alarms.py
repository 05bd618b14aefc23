"""Test alarms on the panel: each begins once, at its time, and may be replaced.

The clock is fake but in the last test, where the output thread plays an alarm.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from panel_tools import WIRED, PanelRig

from companion.core.clock import RealClock
from companion.core.kit import SEATS
from companion.core.ports import Alarm, Cue, SeatLamps, Signal, TurnLamp
from hardware.outputs import AlarmSchedule
from hardware.simulated import simulated_panel
from hardware.wiring import Buzzer

SOUTH, NORTH = SEATS
TURN_LAMP = SeatLamps(turn=TurnLamp.ON)
# The alarms of a turn of South that began at 100 s, when every rig's clock begins.
TURN_ALARMS = (
    (103.0, Cue.TIME_SHORT, SOUTH),
    (104.0, Cue.TIME_SHORT, SOUTH),
    (105.0, Cue.TIME_OUT, SOUTH),
)
WAIT_S = 60.0


@pytest.fixture
def rig() -> Iterator[PanelRig]:
    rig = PanelRig()
    rig.show(TURN_LAMP)
    with rig.panel:
        yield rig


# ---- times of alarms -----------------------------------------------------------------------------


def test_every_alarm_sounds_at_its_millisecond(rig: PanelRig) -> None:
    rig.alarms(*TURN_ALARMS)
    changes, last_hz = [], None
    for ms in range(5400):
        if (hz := rig.tone_hz()) != last_hz:
            changes.append((ms, hz))
            last_hz = hz
        rig.after(1)
    assert changes == [
        (3000, 1046.5),
        (3020, None),
        (4000, 1046.5),
        (4020, None),
        (5000, 440.0),
        (5300, None),
    ]


def test_setting_equal_alarms_changes_nothing(rig: PanelRig) -> None:
    rig.alarms(*TURN_ALARMS)
    rig.after(3000)
    rig.after(300)
    rig.alarms(*TURN_ALARMS)
    assert (rig.tone_hz(), rig.lit()) == (None, set())
    rig.after(100)
    assert rig.lit() == {"south_turn"}, "the blinking began anew"


def test_a_turn_that_passes_ends_the_blinking(rig: PanelRig) -> None:
    rig.alarms(*TURN_ALARMS)
    rig.after(3000)
    rig.after(500)
    assert rig.lit() == {"south_turn"}
    rig.panel.set_alarms((Alarm(108.5, Signal(Cue.TIME_OUT, frozenset({NORTH}))),))
    rig.panel.show({NORTH: TURN_LAMP})
    rig.panel.step()
    for _ in range(10):
        assert rig.lit() == {"north_turn"}
        rig.after(100)


# ---- the schedule --------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(0, 30), st.sets(st.integers(0, 40), max_size=4)), max_size=8))
def test_an_alarm_begins_once(
    replacements: list[tuple[int, set[int]]],
) -> None:
    """Replace the alarms again and again, and wait some seconds after each replacement."""
    schedule, now_s, begun, times_s = AlarmSchedule(), 0, set[int](), set[int]()
    for wait_s, times_s in replacements:
        schedule.replace([Alarm(float(at_s), Signal(Cue.TIME_OUT)) for at_s in times_s])
        begun &= times_s
        for _ in range(wait_s):
            now_s += 1
            started = {int(alarm.at_s) for alarm in schedule.start_due(float(now_s))}
            assert started == {at_s for at_s in times_s - begun if at_s <= now_s}
            begun |= started
        assert schedule.next_s == min(times_s - begun, default=float("inf"))


# ---- with threads --------------------------------------------------------------------------------


def test_the_output_thread_plays_an_alarm(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    has_sounded = threading.Event()
    began_s: list[float] = []
    plain_sound = Buzzer.sound

    def sound_and_note(buzzer: Buzzer, hz: float | None) -> None:
        plain_sound(buzzer, hz)
        if hz == 440.0:  # the tone of a time-out
            began_s.append(time.monotonic())
            has_sounded.set()

    monkeypatch.setattr(Buzzer, "sound", sound_and_note)
    clock = RealClock()
    panel, _ = simulated_panel(WIRED, clock, lambda press: None)
    panel.start()
    with panel:
        due_s = clock.monotonic_s() + 0.05
        time_short = Alarm(due_s - 0.02, Signal(Cue.TIME_SHORT))
        panel.set_alarms((time_short, Alarm(due_s, Signal(Cue.TIME_OUT))))
        assert has_sounded.wait(WAIT_S)
    assert began_s[-1] >= due_s
