"""Test alarms on the panel: each begins once, at its time, and may be replaced.

An alarm is a cue that the panel plays by itself at a given time. The clock is a fake, except in the
last test, in which the output thread plays an alarm in real time.
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
# Tones of `Cue.TIME_SHORT` and `Cue.TIME_OUT` in Hz: the notes C6 and A4.
TIME_SHORT_HZ = 1046.5
TIME_OUT_HZ = 440.0
# Timeout in seconds for the thread, far longer than it needs.
WAIT_S = 60.0


@pytest.fixture
def rig() -> Iterator[PanelRig]:
    """A panel on which South's turn lamp is on."""
    rig = PanelRig()
    rig.show(TURN_LAMP)
    with rig.panel:
        yield rig


# ---- times of alarms -----------------------------------------------------------------------------


def test_every_alarm_sounds_at_its_millisecond(rig: PanelRig) -> None:
    """Note each change of the tone, with the milliseconds since the turn began."""
    rig.alarms(*TURN_ALARMS)
    changes = []
    last_hz = None
    for ms in range(5400):
        if (hz := rig.tone_hz()) != last_hz:
            changes.append((ms, hz))
            last_hz = hz
        rig.after(1)

    # Two short tones warn of the end, and a long one marks it.
    assert changes == [
        (3000, TIME_SHORT_HZ),
        (3020, None),
        (4000, TIME_SHORT_HZ),
        (4020, None),
        (5000, TIME_OUT_HZ),
        (5300, None),
    ]


def test_setting_equal_alarms_changes_nothing(rig: PanelRig) -> None:
    # 300 ms after the first alarm its tone is over, and the turn lamp that blinks every 400 ms is
    # dark. The alarm must not start again, which would light the lamp.
    rig.alarms(*TURN_ALARMS)
    rig.after(3000)
    rig.after(300)
    rig.alarms(*TURN_ALARMS)
    assert (rig.tone_hz(), rig.lit()) == (None, set())

    # The lamp goes on at its old rhythm.
    rig.after(100)
    assert rig.lit() == {"south_turn"}, "the blinking must not begin anew"


def test_a_turn_that_passes_ends_the_blinking(rig: PanelRig) -> None:
    # South's lamp blinks.
    rig.alarms(*TURN_ALARMS)
    rig.after(3000)
    rig.after(500)
    assert rig.lit() == {"south_turn"}

    # The turn passes to North, whose lamp is lit without blinking.
    rig.panel.set_alarms((Alarm(108.5, Signal(Cue.TIME_OUT, frozenset({NORTH}))),))
    rig.panel.show({NORTH: TURN_LAMP})
    rig.panel.step()
    for _ in range(10):
        assert rig.lit() == {"north_turn"}
        rig.after(100)


# ---- the schedule --------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(0, 30), st.sets(st.integers(0, 40), max_size=4)), max_size=8))
def test_an_alarm_begins_once(replacements: list[tuple[int, set[int]]]) -> None:
    """Replace all alarms again and again, and let some seconds pass after each replacement.

    Every alarm here is known by its time.

    :param replacements: the seconds to wait, and the times of the new alarms
    """
    schedule = AlarmSchedule()
    now_s = 0
    # Times of the present alarms that have started.
    started_s = set[int]()
    for wait_s, times_s in replacements:
        schedule.replace([Alarm(float(at_s), Signal(Cue.TIME_OUT)) for at_s in times_s])
        started_s &= times_s
        for _ in range(wait_s):
            now_s += 1
            due_s = {int(alarm.at_s) for alarm in schedule.start_due(float(now_s))}
            assert due_s == {at_s for at_s in times_s - started_s if at_s <= now_s}
            started_s |= due_s
        assert schedule.next_at_s == min(times_s - started_s, default=float("inf"))


# ---- with threads --------------------------------------------------------------------------------


def test_the_output_thread_plays_an_alarm(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread wakes up for an alarm by itself, and not too early."""
    has_sounded = threading.Event()
    sounded_at_s: list[float] = []
    plain_sound = Buzzer.sound

    def sound_and_note(buzzer: Buzzer, hz: float | None) -> None:
        plain_sound(buzzer, hz)
        if hz == TIME_OUT_HZ:
            sounded_at_s.append(time.monotonic())
            has_sounded.set()

    monkeypatch.setattr(Buzzer, "sound", sound_and_note)
    clock = RealClock()
    panel, _ = simulated_panel(WIRED, clock, lambda press: None)
    panel.start()
    with panel:
        due_at_s = clock.monotonic_s() + 0.05
        time_short = Alarm(due_at_s - 0.02, Signal(Cue.TIME_SHORT))
        panel.set_alarms((time_short, Alarm(due_at_s, Signal(Cue.TIME_OUT))))
        assert has_sounded.wait(WAIT_S)
    assert sounded_at_s[-1] >= due_at_s
