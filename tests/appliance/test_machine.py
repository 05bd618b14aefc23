"""The appliance as it stands on the shelf: it comes up, is played on, survives a hang, switches
itself off.
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
    """The game that all of these tests play on."""
    return PadMatch(house.machine, Random(7))


def says_ready(machine: Machine) -> bool:
    """Return whether the system lamp is lit for a while."""
    return bool(machine.ask("lamps", [SYSTEM_LAMP], times=3, pause_s=0.4) == [[LIT]] * 3)


def test_it_boots_to_its_pages_and_says_ready(house: SharedMachine, figures: list[str]) -> None:
    machine = house.machine
    until("ready", lambda: machine.property("SubState") == "running", BOOT_S)
    until("the lamp", lambda: says_ready(machine), BOOT_S)
    status, page = machine.ask("fetch", "http://127.0.0.1:8080/")
    assert (status, "<title>" in page) == (200, True)
    assert machine.property("User") == "companion"
    until(
        "all jobs", lambda: not machine.run("systemctl", "list-jobs", "--no-legend").strip(), BOOT_S
    )
    assert machine.run("systemctl", "--failed", "--no-legend") == ""
    figures.append(f"from switching on to the first page: {house.ready_s:.0f} s (emulated)")


def test_the_unit_is_hardened(house: SharedMachine, figures: list[str]) -> None:
    said = house.machine.run(
        "systemd-analyze", "security", "--no-pager", "companion.service", timeout_s=120
    )
    found = re.search(r"Overall exposure level for companion\.service: ([0-9.]+)", said)
    assert found, said
    figures.append(f"systemd-analyze security: {found[1]}")
    assert float(found[1]) <= 2.0, said


def test_a_game_over_the_pins_and_the_camera(
    house: SharedMachine, match: PadMatch, short: bool, figures: list[str]
) -> None:
    began_s = time.monotonic()
    match.begin()
    lamps = house.machine.lamp_levels()
    assert any(level > 0 for level in lamps.values()), f"whose turn it is shows on no lamp: {lamps}"
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
        pytest.skip("the game is over: there is nothing to go on with")
    before = view(machine)
    assert before["phase"] == "orders", before["sign"]
    south = match.hand_in("south")
    receipt = match.until("the sealed order", lambda now: now["sealed"]["south"])["sealed"]["south"]
    main = machine.property("MainPID")
    machine.run("kill", "-STOP", main)
    began_s = time.monotonic()
    until("the watchdog", lambda: machine.property("MainPID") not in (main, "0"), 180)
    killed_s = time.monotonic() - began_s
    match.until("a page", bool)
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
    # what it did before it does not tell of the button
    until("the lamp", lambda: says_ready(machine), BOOT_S)
    began_s = time.monotonic()
    machine.ask("hold", TABLE_BUTTON)
    with contextlib.suppress(MachineError):  # the agent goes down with the machine
        while time.monotonic() - began_s < 120:
            for (level,) in machine.ask(
                "lamps", [SYSTEM_LAMP], times=10, pause_s=0.05, timeout_s=20
            ):
                levels += [level] if levels[-1:] != [level] else []
            if len(levels) > 1:  # the lamp tells of it: the button may be let go
                machine.ask("hold", TABLE_BUTTON, down=False)
    until("off", machine.is_off, 120)
    figures.append(
        f"table button: off {time.monotonic() - began_s:.0f} s after it was pressed, "
        f"the lamp went {levels}"
    )
    assert levels[-1] != LIT, "dark is what says that the cord may be pulled"
    assert levels.count(LIT) > 1, "it blinks while the machine goes down"


def test_no_page_waits_for_a_network(
    disk: Disk, tmp_path: Path, short: bool, figures: list[str]
) -> None:
    if short:
        pytest.skip("part of the long form")
    machine, ready_s = boot(disk, tmp_path, network=False)
    with machine:
        assert machine.run("ls", "/sys/class/net").split() == ["lo"]
        assert view(machine)["phase"] == "lobby"
    figures.append(f"without any network: first page after {ready_s:.0f} s (emulated)")
