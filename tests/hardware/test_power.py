"""Test switching off by holding the table button for five seconds: by values, then in a service.

After three seconds the table says what will happen. Whoever lets go before five seconds are over
switches nothing off.
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

# Presses that reach the table: the key, and whether it was held.
PRESS = ("table", False)
HOLD = ("table", True)


class PowerKeyRig:
    """The table button on mock pins and a fake clock, and everything that it causes."""

    def __init__(self, can_switch_off: bool = True) -> None:
        self.panel_rig = PanelRig()
        self.notices: list[str] = []
        self.off_requests = 0
        self.can_switch_off = can_switch_off
        self.cues: list[str] = []
        # Every press that has reached the table, as its key and whether it was held.
        self.played: list[tuple[str, bool]] = []
        self.is_urgent = False
        actions = PowerActions(
            press_table=lambda press: self.played.append((press.key, press.is_held)),
            is_urgent=lambda: self.is_urgent,
            signal=lambda signal: self.cues.append(signal.cue),
            show_notice=self.notices.append,
            switch_off=self._switch_off,
        )
        self.key = PowerKey(actions)
        self.panel_rig.panel.on_table_button = self.key.handle

    def _switch_off(self) -> tuple[bool, str]:
        self.off_requests += 1
        return self.can_switch_off, "switching off" if self.can_switch_off else "not possible"

    def after(self, seconds: float) -> None:
        """Let time pass, in rounds of 0.1 s, and collect the presses of other keys."""
        for _ in range(round(seconds * 10)):
            self.panel_rig.after(100)
            self.played += [(press.key, press.is_held) for press in self.panel_rig.presses]
            self.panel_rig.presses.clear()


def test_a_press_of_five_seconds_switches_off() -> None:
    key_rig = PowerKeyRig()

    # After three seconds the table announces it.
    key_rig.panel_rig.hands.press("table")
    key_rig.after(2.9)
    assert (key_rig.notices, key_rig.cues) == ([], [])
    key_rig.after(0.2)
    assert key_rig.notices == ["Keep holding the button to switch the table off, or let go."]
    assert key_rig.cues == ["off_wait"]

    # After five seconds the machine is asked to switch off, once.
    key_rig.after(1.7)
    assert key_rig.off_requests == 0
    key_rig.after(0.3)
    assert (key_rig.off_requests, key_rig.notices[-1]) == (1, "switching off")
    key_rig.after(3)
    assert key_rig.off_requests == 1, "a longer hold must not ask again"

    # From then on no press reaches the table, neither this one nor another.
    key_rig.panel_rig.hands.release("table")
    key_rig.panel_rig.hands.press("table")
    key_rig.after(1)
    key_rig.panel_rig.hands.release("table")
    key_rig.after(1)
    assert (key_rig.played, key_rig.notices[-1]) == ([], "switching off"), (
        "no press may be played while the machine switches off"
    )


@pytest.mark.parametrize(
    ("seconds", "played", "cues", "last_notices"),
    [
        (0.5, [PRESS], [], []),
        (2.0, [PRESS, HOLD], [], []),
        # After the announcement, the press has no effect. The announcement is taken back.
        (4.5, [], ["off_wait", "awake"], [""]),
    ],
)
def test_letting_go_in_time_switches_nothing_off(
    seconds: float, played: list[tuple[str, bool]], cues: list[str], last_notices: list[str]
) -> None:
    key_rig = PowerKeyRig()
    key_rig.panel_rig.hands.press("table")
    key_rig.after(seconds)
    assert key_rig.played == [], "no press may be played before it is clear what it means"
    key_rig.panel_rig.hands.release("table")
    key_rig.after(10)
    assert key_rig.off_requests == 0
    assert (key_rig.played, key_rig.cues, key_rig.notices[-1:]) == (played, cues, last_notices)

    # The next press counts from its own beginning.
    key_rig.panel_rig.hands.press("table")
    key_rig.after(5.2)
    assert key_rig.off_requests == 1


def test_an_urgent_press_is_played_at_once() -> None:
    key_rig = PowerKeyRig()
    key_rig.is_urgent = True
    key_rig.panel_rig.hands.press("table")
    key_rig.after(0.1)
    assert key_rig.played == [PRESS]
    key_rig.after(1)
    assert key_rig.played == [PRESS, HOLD]

    # Held for five seconds it switches the machine off nevertheless.
    key_rig.after(4)
    assert (key_rig.off_requests, len(key_rig.played)) == (1, 2)


def test_a_refusal_lasts_until_the_next_press() -> None:
    # The pages say that the machine cannot be switched off, and its lamps show that it is awake.
    key_rig = PowerKeyRig(can_switch_off=False)
    key_rig.panel_rig.hands.press("table")
    key_rig.after(6)
    assert key_rig.notices[-1] == "not possible"
    assert key_rig.cues == ["off_wait", "awake"]

    # An empty sentence removes the notice.
    key_rig.panel_rig.hands.release("table")
    key_rig.after(1)
    key_rig.panel_rig.hands.press("table")
    key_rig.after(0.1)
    assert key_rig.notices[-1] == ""


def test_other_keys_and_settings_switch_nothing_off() -> None:
    # The settings forbid it: the table button is an ordinary key, however long it is held.
    key_rig = PowerKeyRig()
    key_rig.key.may_switch_off = False
    key_rig.panel_rig.hands.press("table")
    key_rig.after(0.1)
    assert key_rig.played == [PRESS]
    key_rig.after(8)

    # The settings allow it, but another key is held.
    key_rig.key.may_switch_off = True
    key_rig.panel_rig.hands.press("south_ready")
    key_rig.after(0.1)
    assert key_rig.played == [PRESS, HOLD, ("ready", False)]
    key_rig.after(8)
    assert (key_rig.off_requests, key_rig.notices) == (0, [])


def open_companion(folder: Path, clock: FakeClock, panel: PanelSettings) -> Companion:
    settings = local_settings(folder, camera=CameraSettings(fps=5), panel=panel)
    return Companion(settings, simulate=True, clock=clock, threads=False)


def hold(companion: Companion, clock: FakeClock, seconds: float) -> list[str]:
    """Hold the table button for some seconds. Return the notices that the pages showed."""
    assert companion.simulation
    companion.simulation.hands.press("table")
    notices = []
    for _ in range(round(seconds * 10)):
        clock.advance(0.1)
        companion.step_keys()
        notices += [
            notice for notice in companion.table.view().devices.notices if notice not in notices
        ]
    companion.simulation.hands.release("table")
    clock.advance(0.1)
    companion.step_keys()
    return notices


def test_a_simulation_only_says_it_would_switch_off(tmp_path: Path) -> None:
    clock = FakeClock(10.0)
    with open_companion(tmp_path, clock, PanelSettings()) as companion:
        assert hold(companion, clock, 5.5) == [
            "Keep holding the button to switch the table off, or let go.",
            "Simulation: here the machine would switch off, and the game would be kept.",
        ]
        assert companion.table.view().phase == "lobby"

    # If the settings forbid it, nothing is shown. The default settings, which allow it, apply at
    # once.
    with open_companion(tmp_path, clock, PanelSettings(switch_off=False)) as companion:
        assert hold(companion, clock, 5.5) == []
        companion.use_settings(companion.settings.__class__(state_dir=str(tmp_path)))
        assert len(hold(companion, clock, 5.5)) == 2


def test_a_late_press_confirms_nothing(tmp_path: Path) -> None:
    """A delayed press was meant for the stage that was shown when the button went down."""
    with open_table_rig(tmp_path) as rig:
        # The button goes down while stage 0 is shown.
        rig.begin()
        rig.hand_in_both("UUU", "III")
        pressed_at_s = rig.clock.monotonic_s()
        rig.clock.advance(0.2)

        # The owner confirms stage 0 before the press arrives, so stage 1 is shown and stays.
        rig.table.confirm("host", rig.table.view().moment, 0, force=True)
        rig.table.press(Press(None, PadKey.TABLE, pressed_at_s))
        rig.table.step()
        assert rig.table.view().turn.stage == 1
        assert rig.signals[-1].cue is Cue.KEY_REFUSED


@pytest.mark.parametrize(
    ("has_lamp", "advice"), [(True, "once the system lamp is dark"), (False, "Wait half a minute")]
)
def test_an_installed_service_requests_poweroff_by_file(
    has_lamp: bool, advice: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(tmp_path))
    rig = PanelRig()
    with open_table_rig(tmp_path) as table_rig:
        connect_power_key(table_rig.table, rig.panel, is_simulated=False, has_system_lamp=has_lamp)
        # The file appears after five seconds, not before.
        rig.hands.press("table")
        for _ in range(50):
            assert not (tmp_path / "poweroff").exists()
            rig.after(100)
        assert (tmp_path / "poweroff").exists()
        table_rig.table.step()
        assert advice in table_rig.table.view().devices.notices[-1]
