"""Test a whole machine: it boots, is played on by its pins, survives a hang, and switches itself
off.
"""

from __future__ import annotations

import contextlib
import re
import time
from pathlib import Path
from random import Random

import pytest

from appliance.build import Disk
from appliance.house import SharedMachine, boot
from appliance.machine import BOOT_S, TABLE_BUTTON, Machine, MachineError, until
from appliance.play import PadMatch, view

pytestmark = [pytest.mark.appliance, pytest.mark.timeout(1800)]
SYSTEM_LAMP = 1
# Level of the system lamp's pin when the lamp is lit: it is wired to 3V3.
LIT = 0


@pytest.fixture(scope="module")
def match(house: SharedMachine) -> PadMatch:
    """One game at the pads, which the tests of this module go on with in turn."""
    return PadMatch(house.machine, Random(7))


def is_lamp_lit(machine: Machine) -> bool:
    """Return whether the system lamp is lit steadily: three times, 0.4 s apart."""
    return bool(machine.ask("lamps", [SYSTEM_LAMP], times=3, pause_s=0.4) == [[LIT]] * 3)


def test_it_boots_to_pages_and_a_lit_lamp(house: SharedMachine, figures: list[str]) -> None:
    machine = house.machine
    until("the service to run", lambda: machine.property("SubState") == "running", BOOT_S)
    until("the system lamp", lambda: is_lamp_lit(machine), BOOT_S)
    status, page = machine.ask("fetch", "http://127.0.0.1:8080/")
    assert (status, "<title>" in page) == (200, True)
    assert machine.property("User") == "companion"
    until(
        "the end of systemd's jobs",
        lambda: not machine.run("systemctl", "list-jobs", "--no-legend").strip(),
        BOOT_S,
    )
    assert machine.run("systemctl", "--failed", "--no-legend") == ""
    figures.append(f"from switching on to the first page: {house.ready_s:.0f} s (emulated)")


def test_the_unit_is_hardened(house: SharedMachine, figures: list[str]) -> None:
    output = house.machine.run(
        "systemd-analyze", "security", "--no-pager", "companion.service", timeout_s=120
    )
    level = re.search(r"Overall exposure level for companion\.service: ([0-9.]+)", output)
    assert level, output
    figures.append(f"systemd-analyze security: {level[1]}")
    assert float(level[1]) <= 2.0, output


def test_a_game_is_played_by_pins_and_camera(
    house: SharedMachine, match: PadMatch, short: bool, figures: list[str]
) -> None:
    began_s = time.monotonic()
    match.begin()
    lamps = house.machine.lamp_levels()
    assert any(level > 0 for level in lamps.values()), f"no lamp is lit at the first turn: {lamps}"
    while not match.is_over and match.turns < (1 if short else 8):
        match.turn()
    figures.append(
        f"over the pins: {match.turns} turns, {match.presses} presses, "
        f"{match.misread} layouts misread, {time.monotonic() - began_s:.0f} s"
    )
    assert match.misread == 0


def test_a_game_survives_a_watchdog_kill(
    house: SharedMachine, match: PadMatch, figures: list[str]
) -> None:
    machine = house.machine
    if match.is_over:
        pytest.skip("the game is over already")
    before = view(machine)
    assert before["phase"] == "orders", before["sign"]
    south = match.hand_in("south")
    receipt = match.until("the sealed order", lambda now: now["sealed"]["south"])["sealed"]["south"]
    pid = machine.property("MainPID")
    machine.run("kill", "-STOP", pid)
    began_s = time.monotonic()
    until("a restart by the watchdog", lambda: machine.property("MainPID") not in (pid, "0"), 180)
    killed_s = time.monotonic() - began_s
    match.until("the pages", bool)
    figures.append(
        f"watchdog: another process after {killed_s:.0f} s, "
        f"pages after {time.monotonic() - began_s:.0f} s"
    )
    assert "watchdog" in machine.run("journalctl", "-u", "companion", "-o", "cat").lower()
    after = view(machine)
    assert (after["moment"], after["sealed"]) == (
        before["moment"],
        {"south": receipt, "north": None},
    )
    match.finish_turn(before["moment"], south, match.hand_in("north"))
    assert match.misread == 0


def test_holding_the_table_button_switches_it_off(
    house: SharedMachine, short: bool, figures: list[str]
) -> None:
    if short:
        pytest.skip("part of the long form")
    machine, levels = house.machine, list[int]()
    # a lamp that still blinks from before would not be an answer to the button
    until("the system lamp", lambda: is_lamp_lit(machine), BOOT_S)
    began_s = time.monotonic()
    machine.ask("hold", TABLE_BUTTON)
    with contextlib.suppress(MachineError):  # the agent ends with the machine
        while time.monotonic() - began_s < 120:
            for (level,) in machine.ask(
                "lamps", [SYSTEM_LAMP], times=10, pause_s=0.05, timeout_s=20
            ):
                levels += [level] if levels[-1:] != [level] else []
            if len(levels) > 1:  # the lamp has answered, so that people let the button go
                machine.ask("hold", TABLE_BUTTON, down=False)
    until("switching off", machine.is_off, 120)
    figures.append(
        f"table button: off {time.monotonic() - began_s:.0f} s after it was pressed, "
        f"the lamp went {levels}"
    )
    assert levels[-1] != LIT, "the lamp does not go dark when the cord may be pulled"
    assert levels.count(LIT) > 1, "the lamp does not blink while the machine shuts down"


def test_pages_come_without_any_network(
    disk: Disk, tmp_path: Path, short: bool, figures: list[str]
) -> None:
    if short:
        pytest.skip("part of the long form")
    machine, ready_s = boot(disk, tmp_path, network=False)
    with machine:
        assert machine.run("ls", "/sys/class/net").split() == ["lo"]
        assert view(machine)["phase"] == "lobby"
    figures.append(f"without any network: first page after {ready_s:.0f} s (emulated)")
