"""Test that pulling the machine's plug loses, doubles and reveals no input that was accepted.

Two phones play while the plug is pulled. Then the disk is checked from outside.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from appliance import cuts
from appliance.boot import boot
from appliance.build import Disk
from appliance.evening import Evening
from appliance.machine import BOOT_S, Machine, copy_image
from appliance.play import host_key, wait_for_pages

pytestmark = [pytest.mark.appliance, pytest.mark.timeout(7200)]
CUTS = 12
SHORT_CUTS = 3
MAX_PLAY_S = 8.0
# Unit settings for a service whose fsync does nothing. This is the control experiment: a check that
# found no loss even here would prove nothing.
NO_SYNC = "[Service]\nEnvironment=LD_PRELOAD=libeatmydata.so\n"


def sit_down(machine: Machine) -> Evening:
    """Take both seats of a fresh machine with two phones, and return their evening."""
    evening = Evening(machine.url, host_key(machine), Random(0))
    evening.sit_down()
    return evening


def test_nothing_promised_is_lost_by_pulled_plugs(
    disk: Disk, tmp_path: Path, short: bool, figures: list[str]
) -> None:
    """Pull the plug again and again, in games with sealed orders and on a clock in turn.

    After each cut the disk is checked, and the phones find the game that they were playing.
    """
    image, rng = copy_image(disk.image, tmp_path / "disk.img"), Random(1)
    count = SHORT_CUTS if short else CUTS
    evening: Evening | None = None
    for number in range(count + 1):
        with boot(disk, tmp_path / f"boot-{number}", image) as machine:
            if evening is None:
                evening = sit_down(machine)
            else:
                # the game before this start had the other kind of turns
                evening.move_to(machine.url)
                check_same_game(evening, has_clock=number % 2 == 0)
            if number == count:
                return
            evening.begin(has_clock=number % 2 == 1)
            evening.play(rng.uniform(1.0, MAX_PLAY_S))
            machine.pull_the_plug()

        # on a copy, because the check repairs the file system before the machine does
        cut = copy_image(image, tmp_path / "cut.img")
        report = cuts.examine(cut, tmp_path / "state", evening.promises)
        promised = len(evening.promises.accepted)
        figures.append(f"cut {number + 1}: {promised} inputs promised, {report.records} on disk")
        assert report.is_whole, report


def check_same_game(evening: Evening, has_clock: bool) -> None:
    """Check that the game is there, its clock stopped and no sealed action shown. Then play on."""
    now = evening.fetch_view()
    assert now["seats"]["south"]["name"] == "South", "a seat is lost"
    assert now["game"] == ("binmat" if has_clock else "outbuffered")
    if has_clock:
        assert now["clock"]["paused"] == "restart"
        assert 0 <= now["clock"]["left_s"] <= now["clock"]["limit_s"]
    elif now["phase"] == "orders":
        # the view of a spectator, in which a salt would reveal the sealed action
        salts = [sent.salt for sent in evening.promises.accepted if sent.moment == now["moment"]]
        assert not any(salt in str(now) for salt in salts)
    evening.play(2.0)


def test_cuts_lose_inputs_without_sync(
    disk: Disk, tmp_path: Path, short: bool, figures: list[str]
) -> None:
    """Pull the plug of a machine whose service does not sync: the check must find the loss."""
    if short:
        pytest.skip("part of the long form")
    with boot(disk, tmp_path) as machine:
        evening = sit_down(machine)
        machine.run("sync")
        machine.ask("write", "/run/systemd/system/companion.service.d/control.conf", NO_SYNC)
        machine.run("systemctl", "daemon-reload")
        machine.run("systemctl", "restart", "companion", timeout_s=300)
        wait_for_pages(machine, BOOT_S)
        evening.begin(has_clock=False)
        evening.play(MAX_PLAY_S)
        machine.pull_the_plug()
        report = cuts.examine(machine.image, tmp_path / "state", evening.promises)
    lost, promised = len(report.lost), len(evening.promises.accepted)
    figures.append(f"control without sync: {lost} of {promised} promised inputs lost")
    assert report.lost, "the check finds no loss even where nothing is synced: it proves nothing"
