"""Test the read-only root file system that docs/read-only.md describes.

The commands are read from that page. A game is played, and the plug is pulled.
"""

from __future__ import annotations

import filecmp
import re
import shutil
from pathlib import Path
from random import Random

import pytest

from appliance import build, cuts
from appliance.boot import boot
from appliance.evening import Evening
from appliance.machine import Machine, copy_image, until
from appliance.play import host_key

pytestmark = [pytest.mark.appliance, pytest.mark.timeout(1800)]
PAGE = build.ROOT / "docs/read-only.md"
# File that the test writes to the root file system.
WRITTEN = "/root/written"


@pytest.fixture
def disk_with_overlay(disk: build.Disk, short: bool, tmp_path: Path) -> build.Disk:
    """A disk with the package that the page's commands install.

    It is installed before, because the machine has no network to fetch it.
    """
    if short:
        pytest.skip("part of the long form")
    image, root = copy_image(disk.image, tmp_path / "disk.img"), tmp_path / "root"
    root.mkdir()
    build.run("mount", "-o", "loop", str(image), str(root))
    try:
        with build.chroot(root) as inside:
            inside("apt-get install -y -qq --no-install-recommends overlayroot")
        shutil.copy(next(root.glob("boot/initrd.img-*")), tmp_path / "initrd")
    finally:
        build.run("umount", str(root))
    return build.Disk(image, disk.kernel, tmp_path / "initrd", 0.0)


def test_a_pulled_plug_leaves_root_unchanged(
    disk_with_overlay: build.Disk, tmp_path: Path, figures: list[str]
) -> None:
    """Make the root read-only. Then only the stick may be written to, and nothing may be lost."""
    stick = tmp_path / "stick.img"
    # each start has a folder of its own, named by its number
    starts = iter(range(9))
    build.run("truncate", "-s", "256M", str(stick))

    def start_machine() -> Machine:
        return boot(
            disk_with_overlay, tmp_path / str(next(starts)), disk_with_overlay.image, stick=stick
        )

    # the page's commands make the root read-only and reboot the machine
    with start_machine() as machine:
        run_commands(machine, PAGE.read_text())
        until("switching off", machine.is_off, 120)

    # people play, and the plug is pulled: the root is as before
    before = copy_image(disk_with_overlay.image, tmp_path / "before.img")
    with start_machine() as machine:
        assert machine.run("findmnt", "-no", "FSTYPE", "/") == "overlay\n"
        machine.run("touch", WRITTEN)
        evening = Evening(machine.url, host_key(machine), Random(5))
        evening.sit_down()
        evening.begin(has_clock=False)
        evening.play(8.0)
        machine.pull_the_plug()
    assert filecmp.cmp(before, disk_with_overlay.image, shallow=False)

    # everything that was accepted is on the stick
    cut = copy_image(stick, tmp_path / "cut.img")
    report = cuts.examine(cut, tmp_path / "state", evening.promises, state_dir="/")
    figures.append(
        f"read-only root: {len(evening.promises.accepted)} inputs promised, {report.records} kept"
    )
    assert report.is_whole, report

    # the next start finds the game, but not the file
    with start_machine() as machine:
        evening.move_to(machine.url)
        assert evening.fetch_view()["seats"]["south"]["name"] == "South", "a seat is lost"
        assert machine.run("ls", WRITTEN, check=False) == "", (
            "a file outside the stick has outlived the restart"
        )

        # with the command that the page names, the root can still be written to
        machine.run("overlayroot-chroot", "touch", WRITTEN)
        assert machine.run("ls", f"/media/root-ro{WRITTEN}")


def run_commands(machine: Machine, page: str) -> None:
    """Run the commands of the page, as root.

    In this machine the stick is `/dev/vdb`, without a partition. The reboot must not wait for the
    end of the command that asks for it.
    """
    for block in re.findall(r"(?ms)^```sh\n(.*?)```", page):
        command = block.replace("sudo ", "").replace("/dev/sda1", "/dev/vdb")
        machine.run(
            "/bin/sh",
            "-ec",
            command.replace("reboot", "systemctl --no-block reboot"),
            timeout_s=300,
        )
