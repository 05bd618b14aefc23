"""Test a whole machine: it boots, is played on by its pins, survives a hang, and is switched off.

The tests share one machine and one game, so they run in the order in which they stand here.
"""

from __future__ import annotations

import contextlib
import re
import time
from pathlib import Path
from random import Random

import pytest

from appliance.boot import boot
from appliance.build import Disk
from appliance.machine import BOOT_S, TABLE_BUTTON, Machine, MachineError, until
from appliance.play import PadMatch, fetch_view

pytestmark = [pytest.mark.appliance, pytest.mark.timeout(1800)]
# Pin number of the system lamp, and the level of that pin while the lamp is lit. It is 0, because
# the lamp is wired to 3V3.
SYSTEM_LAMP = 1
LIT = 0


@pytest.fixture(scope="module")
def match(shared_machine: Machine) -> PadMatch:
    """One game at the pads, which the tests of this module go on with in turn."""
    return PadMatch(shared_machine, Random(7))


def is_lamp_lit(machine: Machine) -> bool:
    """Return whether the system lamp is lit steadily: three times in a row, 0.4 s apart."""
    return bool(machine.ask("lamps", [SYSTEM_LAMP], times=3, pause_s=0.4) == [[LIT]] * 3)


def test_it_boots_to_pages_and_a_lit_lamp(shared_machine: Machine) -> None:
    until(
        "the service to run", lambda: shared_machine.unit_property("SubState") == "running", BOOT_S
    )
    until("the system lamp", lambda: is_lamp_lit(shared_machine), BOOT_S)
    status, page = shared_machine.ask("fetch", "http://127.0.0.1:8080/")
    assert status == 200
    assert "<title>" in page
    assert shared_machine.unit_property("User") == "companion"
    until(
        "the end of systemd's jobs",
        lambda: not shared_machine.run("systemctl", "list-jobs", "--no-legend").strip(),
        BOOT_S,
    )
    assert shared_machine.run("systemctl", "--failed", "--no-legend") == ""


def test_the_unit_is_hardened(shared_machine: Machine, figures: list[str]) -> None:
    output = shared_machine.run(
        "systemd-analyze", "security", "--no-pager", "companion.service", timeout_s=120
    )
    level = re.search(r"Overall exposure level for companion\.service: ([0-9.]+)", output)
    assert level, output
    figures.append(f"systemd-analyze security: {level[1]}")
    assert float(level[1]) <= 2.0, output


def test_a_game_is_played_by_pins_and_camera(
    shared_machine: Machine, match: PadMatch, short: bool, figures: list[str]
) -> None:
    """Play the first turns. At each stage the table must expect the layout that the rules say."""
    began_at_s = time.monotonic()
    match.begin()
    lamps = shared_machine.lamp_levels()
    assert any(level > 0 for level in lamps.values()), f"no lamp is lit at the first turn: {lamps}"
    while not match.is_over and match.turns < (1 if short else 8):
        match.play_turn()
    figures.append(
        f"over the pins: {match.turns} turns, {match.presses} presses, "
        f"{match.misread} layouts misread, {time.monotonic() - began_at_s:.0f} s"
    )
    assert match.misread == 0


def test_a_game_survives_a_watchdog_kill(
    shared_machine: Machine, match: PadMatch, figures: list[str]
) -> None:
    """Let the service hang while South's order is sealed, so that the watchdog restarts it."""
    if match.is_over:
        pytest.skip("the game is over already")
    before = fetch_view(shared_machine)
    assert before["phase"] == "orders", before["sign"]
    south = match.hand_in("south")
    receipt = match.until("the sealed order", lambda now: now["sealed"]["south"])["sealed"]["south"]

    # a stopped process does not answer the watchdog
    pid = shared_machine.unit_property("MainPID")
    shared_machine.run("kill", "-STOP", pid)
    began_at_s = time.monotonic()
    until(
        "a restart by the watchdog",
        lambda: shared_machine.unit_property("MainPID") not in (pid, "0"),
        180,
    )
    killed_s = time.monotonic() - began_at_s
    match.until("the pages", bool)
    figures.append(
        f"watchdog: another process after {killed_s:.0f} s, "
        f"pages after {time.monotonic() - began_at_s:.0f} s"
    )
    assert "watchdog" in shared_machine.run("journalctl", "-u", "companion", "-o", "cat").lower()

    # South's order is still sealed, and the turn can be finished
    after = fetch_view(shared_machine)
    assert (after["moment"], after["sealed"]) == (
        before["moment"],
        {"south": receipt, "north": None},
    )
    match.finish_turn(before["moment"], south, match.hand_in("north"))
    assert match.misread == 0


def test_holding_the_table_button_switches_it_off(
    shared_machine: Machine, short: bool, figures: list[str]
) -> None:
    """Hold the button until the system lamp answers. The lamp must blink, and then stay dark."""
    if short:
        pytest.skip("part of the long form")
    # the levels that the lamp's pin takes one after the other
    levels = list[int]()
    # a lamp that still blinks from before would be taken for an answer to the button
    until("the system lamp", lambda: is_lamp_lit(shared_machine), BOOT_S)
    began_at_s = time.monotonic()
    shared_machine.ask("hold", TABLE_BUTTON)
    with contextlib.suppress(MachineError):  # the agent stops when the machine does
        while time.monotonic() - began_at_s < 120:
            for (level,) in shared_machine.ask(
                "lamps", [SYSTEM_LAMP], times=10, pause_s=0.05, timeout_s=20
            ):
                if levels[-1:] != [level]:
                    levels.append(level)
            if len(levels) > 1:  # the lamp has answered, so that people let the button go
                shared_machine.ask("hold", TABLE_BUTTON, down=False)
    until("switching off", shared_machine.is_off, 120)
    figures.append(
        f"table button: off {time.monotonic() - began_at_s:.0f} s after it was pressed, "
        f"the lamp went {levels}"
    )
    assert levels[-1] != LIT, "the lamp does not go dark when the cord may be pulled"
    assert levels.count(LIT) > 1, "the lamp does not blink while the machine shuts down"


def test_pages_come_without_any_network(
    disk: Disk, tmp_path: Path, short: bool, figures: list[str]
) -> None:
    if short:
        pytest.skip("part of the long form")
    with boot(disk, tmp_path, network=False) as machine:
        first_page_s = time.monotonic() - machine.began_at_s
        assert machine.run("ls", "/sys/class/net").split() == ["lo"]
        assert fetch_view(machine)["phase"] == "lobby"
    figures.append(f"without any network: first page after {first_page_s:.0f} s (emulated)")
