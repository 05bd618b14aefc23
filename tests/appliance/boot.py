"""Helpers: switch a machine on, and wait until its pages are there."""

from __future__ import annotations

from pathlib import Path

from appliance.build import Disk
from appliance.machine import BOOT_S, Machine, MachineError, copy_image
from appliance.play import wait_for_pages

# Number of times that a machine is switched on again after a panic of its kernel. Where other
# programs share the cores, the emulated kernel sometimes panics before it has found its disk.
MAX_PANICS = 1


def boot(
    disk: Disk,
    folder: Path,
    image: Path | None = None,
    network: bool = True,
    stick: Path | None = None,
) -> Machine:
    """Switch a machine on, and wait for its agent and its first page.

    The machine writes to `image`, or without one to a copy of the disk's image in `folder`. The
    image `stick` is plugged in as a second disk. After a panic of the kernel, the machine is
    switched on once more. Raises `MachineError` if no page comes.
    """
    folder.mkdir(parents=True, exist_ok=True)
    image = image or copy_image(disk.image, folder / "disk.img")
    panics = 0
    while True:
        machine = Machine(disk, image, folder, network, stick=stick)
        try:
            machine.ask("read", "/proc/uptime", timeout_s=BOOT_S)
            wait_for_pages(machine, BOOT_S)
            return machine
        except BaseException as error:
            machine.close()
            is_panic = isinstance(error, MachineError) and "Kernel panic" in machine.console(60)
            if not is_panic or panics == MAX_PANICS:
                raise
            panics += 1
