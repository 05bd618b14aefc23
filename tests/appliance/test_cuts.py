"""The plug is pulled again and again: nothing that anybody was promised is lost, doubled or
shown.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from appliance import cuts
from appliance.build import Disk
from appliance.evening import Evening
from appliance.house import boot
from appliance.machine import BOOT_S, Machine, copy_image
from appliance.play import host_key, wait_for_pages

pytestmark = [pytest.mark.appliance, pytest.mark.timeout(7200)]
CUTS, SHORT_CUTS = 12, 3
LONGEST_S = 8.0
# Unit settings for a service whose fsync does nothing. It is the control: if the check finds no
# loss here either, it proves nothing.
NO_SYNC = "[Service]\nEnvironment=LD_PRELOAD=libeatmydata.so\n"


def arrive(machine: Machine) -> Evening:
    """Sit down with two phones, and return them."""
    evening = Evening(machine.url, host_key(machine), Random(0))
    evening.sit_down()
    return evening


def test_nothing_promised_is_lost_by_pulled_plugs(
    disk: Disk, tmp_path: Path, short: bool, figures: list[str]
) -> None:
    """Every other game is one on the clock. Switched on again, the phones find it as it was."""
    image, rng = copy_image(disk.image, tmp_path / "disk.img"), Random(1)
    count = SHORT_CUTS if short else CUTS
    evening: Evening | None = None
    for number in range(count + 1):
        with boot(disk, tmp_path / f"boot-{number}", image)[0] as machine:
            if evening is None:
                evening = arrive(machine)
            else:
                evening.move(machine.url)
                is_found(evening, is_clock=number % 2 == 0)
            if number == count:
                return
            evening.begin(has_clock=number % 2 == 1)
            evening.play(rng.uniform(1.0, LONGEST_S))
            machine.pull_the_plug()
        cut = copy_image(image, tmp_path / "cut.img")
        found = cuts.examine(cut, tmp_path / "state", evening.promises)
        promised = len(evening.promises.accepted)
        figures.append(f"cut {number + 1}: {promised} inputs promised, {found.inputs} on disk")
        assert found.is_whole, found


def is_found(evening: Evening, is_clock: bool) -> None:
    """Require the same game with a standing clock and no sealed action shown, and go on with it."""
    now = evening.view()
    assert now["seats"]["south"]["name"] == "South", "the phones find their seats"
    assert now["game"] == ("binmat" if is_clock else "outbuffered")
    if is_clock:
        assert now["clock"]["paused"] == "restart"
        assert 0 <= now["clock"]["left_s"] <= now["clock"]["limit_s"]
    elif now["phase"] == "orders":
        salts = [each.salt for each in evening.promises.accepted if each.moment == now["moment"]]
        assert not any(salt in str(now) for salt in salts)
    evening.play(2.0)


def test_without_sync_it_would_lose_inputs(
    disk: Disk, tmp_path: Path, short: bool, figures: list[str]
) -> None:
    if short:
        pytest.skip("part of the long form")
    with boot(disk, tmp_path)[0] as machine:
        evening = arrive(machine)
        machine.run("sync")
        machine.ask("write", "/run/systemd/system/companion.service.d/control.conf", NO_SYNC)
        machine.run("systemctl", "daemon-reload")
        machine.run("systemctl", "restart", "companion", timeout_s=300)
        wait_for_pages(machine, BOOT_S)
        evening.begin(has_clock=False)
        evening.play(LONGEST_S)
        machine.pull_the_plug()
        found = cuts.examine(machine.image, tmp_path / "state", evening.promises)
    lost, promised = len(found.lost), len(evening.promises.accepted)
    figures.append(f"control without sync: {lost} of {promised} promised inputs lost")
    assert found.lost, "the check could not tell: it finds nothing even where nothing is synced"
