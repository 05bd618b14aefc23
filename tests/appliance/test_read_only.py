"""A root that nobody writes to: the steps of docs/read-only.md, a game, and the plug pulled."""

from __future__ import annotations

import filecmp
import re
import shutil
from pathlib import Path
from random import Random

import pytest

from appliance import build, cuts
from appliance.evening import Evening
from appliance.house import boot
from appliance.machine import Machine, copy_image, until
from appliance.play import host_key

pytestmark = [pytest.mark.appliance, pytest.mark.timeout(1800)]
PAGE = build.ROOT / "docs/read-only.md"
WRITTEN = "/root/written"


@pytest.fixture
def disk_with_overlay(disk: build.Disk, short: bool, tmp_path: Path) -> build.Disk:
    """The machine with the one package that the page has it fetch, for it has no network to fetch
    it by.
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
    stick, starts = tmp_path / "stick.img", iter(range(9))
    build.run("truncate", "-s", "256M", str(stick))

    def start_machine() -> Machine:
        return boot(
            disk_with_overlay, tmp_path / str(next(starts)), disk_with_overlay.image, stick=stick
        )[0]

    with start_machine() as machine:
        follow(machine, PAGE.read_text())
        until("switching off", machine.is_off, 120)
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
    cut = copy_image(stick, tmp_path / "cut.img")
    found = cuts.examine(cut, tmp_path / "state", evening.promises, state_dir="/")
    figures.append(
        f"read-only root: {len(evening.promises.accepted)} inputs promised, {found.inputs} kept"
    )
    assert found.is_whole, found
    with start_machine() as machine:
        evening.move(machine.url)
        assert evening.view()["seats"]["south"]["name"] == "South", "the phones find their seats"
        assert machine.run("ls", WRITTEN, check=False) == "", "what is not kept is forgotten"
        machine.run("overlayroot-chroot", "touch", WRITTEN)
        assert machine.run("ls", f"/media/root-ro{WRITTEN}")


def follow(machine: Machine, page: str) -> None:
    """Do what the page says as root; the stick has no partition here."""
    for step in re.findall(r"(?ms)^```sh\n(.*?)```", page):
        command = step.replace("sudo ", "").replace("/dev/sda1", "/dev/vdb")
        machine.run(
            "/bin/sh",
            "-ec",
            command.replace("reboot", "systemctl --no-block reboot"),
            timeout_s=300,
        )
