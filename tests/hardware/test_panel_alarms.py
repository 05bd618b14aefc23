"""Alarms on the panel: each at its own time, replaced and cut; silent, on the small wiring,
and with threads.
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
TURN = SeatLamps(turn=TurnLamp.ON)
# The alarms of a turn of South that began at 100 s, when every rig's clock begins.
A_TURN = (
    (103.0, Cue.TIME_SHORT, SOUTH),
    (104.0, Cue.TIME_SHORT, SOUTH),
    (105.0, Cue.TIME_OUT, SOUTH),
)
WAIT_S = 60.0


@pytest.fixture
def rig() -> Iterator[PanelRig]:
    made = PanelRig()
    made.show(TURN)
    with made.panel:
        yield made


# ---- in time -------------------------------------------------------------------------------------


def test_every_alarm_sounds_at_its_millisecond(rig: PanelRig) -> None:
    rig.alarms(*A_TURN)
    changes, before = [], None
    for ms in range(5400):
        if (now := rig.tone_hz()) != before:
            changes.append((ms, now))
            before = now
        rig.after(1)
    assert changes == [
        (3000, 1046.5),
        (3020, None),
        (4000, 1046.5),
        (4020, None),
        (5000, 440.0),
        (5300, None),
    ]


def test_repeated_alarms_go_on_as_before(rig: PanelRig) -> None:
    rig.alarms(*A_TURN)
    rig.after(3000)
    rig.after(300)
    rig.alarms(*A_TURN)
    assert (rig.tone_hz(), rig.lit()) == (None, set())
    rig.after(100)
    assert rig.lit() == {"south_turn"}, "it keeps its beat"


def test_a_turn_that_passes_ends_the_blinking(rig: PanelRig) -> None:
    rig.alarms(*A_TURN)
    rig.after(3000)
    rig.after(500)
    assert rig.lit() == {"south_turn"}
    rig.panel.set_alarms((Alarm(108.5, Signal(Cue.TIME_OUT, frozenset({NORTH}))),))
    rig.panel.show({NORTH: TURN})
    rig.panel.step()
    for _ in range(10):
        assert rig.lit() == {"north_turn"}
        rig.after(100)


# ---- ranks, silence, wiring ----------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(0, 30), st.sets(st.integers(0, 40), max_size=4)), max_size=8))
def test_an_alarm_begins_once(
    replacements: list[tuple[int, set[int]]],
) -> None:
    schedule, now, begun, held = AlarmSchedule(), 0, set[int](), set[int]()
    for wait, due in replacements:
        schedule.replace([Alarm(float(at), Signal(Cue.TIME_OUT)) for at in due])
        begun, held = begun & due, due
        for _ in range(wait):
            now += 1
            came = {int(alarm.at_s) for alarm in schedule.start_due(float(now))}
            assert came == {at for at in held - begun if at <= now}
            begun |= came
        assert schedule.next_s == min((at for at in held - begun), default=float("inf"))


# ---- with threads --------------------------------------------------------------------------------


def test_the_output_thread_plays_an_alarm(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    over = threading.Event()
    began_s: list[float] = []
    plain = Buzzer.sound

    def listen(buzzer: Buzzer, hz: float | None) -> None:
        plain(buzzer, hz)
        if hz == 440.0:
            began_s.append(time.monotonic())
            over.set()

    monkeypatch.setattr(Buzzer, "sound", listen)
    clock = RealClock()
    panel, _ = simulated_panel(WIRED, clock, lambda press: None)
    panel.start()
    with panel:
        due_s = clock.monotonic_s() + 0.05
        early = Alarm(due_s - 0.02, Signal(Cue.TIME_SHORT))
        panel.set_alarms((early, Alarm(due_s, Signal(Cue.TIME_OUT))))
        assert over.wait(WAIT_S)
    assert began_s[-1] >= due_s
