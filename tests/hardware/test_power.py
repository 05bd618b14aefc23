"""The table button held for five seconds: told at three, done at five, and nothing is done when it
is let go.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from panel_tools import PanelRig
from simulated_room import local_settings
from table_tools import open_table_rig

from companion.core.clock import FakeClock
from companion.core.config import CameraSettings, PanelSettings
from companion.core.ports import Cue, PadKey, Press
from companion.service.app import Companion
from companion.service.systemd import connect_power_key
from hardware.power import PowerActions, PowerKey


class PowerKeyRig:
    """The button on mock pins, a fake clock, and what is told and asked."""

    def __init__(self, can: bool = True) -> None:
        self.rig = PanelRig()
        self.told: list[str] = []
        self.asked = 0
        self.can = can
        self.cues: list[str] = []
        self.played: list[tuple[str, bool]] = []
        self.is_clock = False
        actions = PowerActions(
            press_table=lambda press: self.played.append((press.key, press.is_held)),
            is_urgent=lambda: self.is_clock,
            signal=lambda signal: self.cues.append(signal.cue),
            show_notice=self.told.append,
            switch_off=self._switch_off,
        )
        self.key = PowerKey(actions)
        self.rig.panel.on_table_button = self.key.handle

    def _switch_off(self) -> tuple[bool, str]:
        self.asked += 1
        return self.can, "off it goes" if self.can else "it cannot"

    def after(self, seconds: float) -> None:
        for _ in range(round(seconds * 10)):
            self.rig.after(100)
            self.played += [(press.key, press.is_held) for press in self.rig.presses]
            self.rig.presses.clear()


def test_a_press_of_five_seconds_switches_off() -> None:
    held = PowerKeyRig()
    held.rig.hands.press("table")
    held.after(2.9)
    assert (held.told, held.cues) == ([], [])
    held.after(0.2)
    assert held.told == ["Keep holding the button to switch the table off, or let go."]
    assert held.cues == ["off_wait"]
    held.after(1.7)
    assert held.asked == 0
    held.after(0.3)
    assert (held.asked, held.told[-1]) == (1, "off it goes")
    held.after(3)
    assert held.asked == 1, "asked once, however long it is held"
    held.rig.hands.release("table")
    held.rig.hands.press("table")
    held.after(1)
    held.rig.hands.release("table")
    held.after(1)
    assert (held.played, held.told[-1]) == ([], "off it goes"), (
        "nothing is played while it goes off"
    )


@pytest.mark.parametrize("seconds", [0.5, 2.0, 4.5])
def test_letting_go_changes_everything(seconds: float) -> None:
    held = PowerKeyRig()
    held.rig.hands.press("table")
    held.after(seconds)
    assert held.played == [], "nobody knows yet what it is held for"
    held.rig.hands.release("table")
    held.after(10)
    assert held.asked == 0
    press, hold = ("table", False), ("table", True)
    assert held.played == ([] if seconds > 3 else [press, hold] if seconds > 1 else [press])
    assert held.cues == (["off_wait", "awake"] if seconds > 3 else [])
    assert held.told[-1:] == ([""] if seconds > 3 else [])
    held.rig.hands.press("table")
    held.after(5.2)
    assert held.asked == 1, "the next time counts from its own beginning"


def test_an_urgent_press_is_played_at_once() -> None:
    held = PowerKeyRig()
    held.is_clock = True
    held.rig.hands.press("table")
    held.after(0.1)
    assert held.played == [("table", False)]
    held.after(1)
    assert held.played == [("table", False), ("table", True)]
    held.after(4)
    assert (held.asked, len(held.played)) == (1, 2)


def test_a_refusal_lasts_until_the_next_press() -> None:
    held = PowerKeyRig(can=False)
    held.rig.hands.press("table")
    held.after(6)
    assert held.told[-1] == "it cannot"
    assert held.cues == ["off_wait", "awake"]
    held.rig.hands.release("table")
    held.after(1)
    held.rig.hands.press("table")
    held.after(0.1)
    assert held.told[-1] == ""


def test_every_other_key_switches_nothing_off() -> None:
    held = PowerKeyRig()
    held.key.may_switch_off = False
    held.rig.hands.press("table")
    held.after(0.1)
    assert held.played == [("table", False)]
    held.after(8)
    held.key.may_switch_off = True
    held.rig.hands.press("south_ready")
    held.after(0.1)
    assert held.played == [("table", False), ("table", True), ("ready", False)]
    held.after(8)
    assert (held.asked, held.told) == (0, [])


def companion_in(folder: Path, clock: FakeClock, panel: PanelSettings) -> Companion:
    settings = local_settings(folder, camera=CameraSettings(fps=5), panel=panel)
    return Companion(settings, simulate=True, clock=clock, threads=False)


def hold(companion: Companion, clock: FakeClock, seconds: float) -> list[str]:
    """Hold the table button so long; answers what the pages said."""
    assert companion.simulation
    companion.simulation.hands.press("table")
    told = []
    for _ in range(round(seconds * 10)):
        clock.advance(0.1)
        companion.step_keys()
        told += [notice for notice in companion.table.view().devices.notices if notice not in told]
    companion.simulation.hands.release("table")
    clock.advance(0.1)
    companion.step_keys()
    return told


def test_a_simulation_only_tells_of_switching_off(tmp_path: Path) -> None:
    clock = FakeClock(10.0)
    with companion_in(tmp_path, clock, PanelSettings()) as companion:
        assert hold(companion, clock, 5.5) == [
            "Keep holding the button to switch the table off, or let go.",
            "Simulation: here the machine would switch off, and the game would be kept.",
        ]
        assert companion.table.view().phase == "lobby"
    with companion_in(tmp_path, clock, PanelSettings(switch_off=False)) as companion:
        assert hold(companion, clock, 5.5) == []
        companion.use_settings(companion.settings.__class__(state_dir=str(tmp_path)))
        assert len(hold(companion, clock, 5.5)) == 2


def test_a_late_press_confirms_nothing(tmp_path: Path) -> None:
    with open_table_rig(tmp_path) as rig:
        rig.begin()
        rig.turn("UUU", "III")
        stamp_s = rig.clock.monotonic_s()
        rig.clock.advance(0.2)
        rig.table.confirm("host", rig.table.view().moment, 0, force=True)
        rig.table.press(Press(None, PadKey.TABLE, stamp_s))
        rig.table.step()
        assert rig.table.view().turn.stage == 1
        assert rig.signals[-1].cue is Cue.KEY_REFUSED


@pytest.mark.parametrize(
    ("has_lamp", "wait"), [(True, "once the system lamp is dark"), (False, "Wait half a minute")]
)
def test_an_installed_service_asks_the_unit_that_may(
    has_lamp: bool, wait: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(tmp_path))
    rig = PanelRig()
    with open_table_rig(tmp_path) as table_rig:
        connect_power_key(table_rig.table, rig.panel, is_simulated=False, has_system_lamp=has_lamp)
        rig.hands.press("table")
        for _ in range(50):
            assert not (tmp_path / "poweroff").exists()
            rig.after(100)
        assert (tmp_path / "poweroff").exists()
        table_rig.table.step()
        assert wait in table_rig.table.view().devices.notices[-1]
