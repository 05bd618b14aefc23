"""Helpers: boot a machine until its pages are there, and share it between tests."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from appliance.build import Disk
from appliance.machine import BOOT_S, Machine, MachineError, copy_image
from appliance.play import wait_for_pages


def boot(
    disk: Disk,
    folder: Path,
    image: Path | None = None,
    network: bool = True,
    panics: int = 1,
    stick: Path | None = None,
) -> tuple[Machine, float]:
    """Boot a machine, and wait for its agent and its first page.

    Return the machine, and the time from switching on to the first page in seconds. Where other
    programs share the cores, the emulated kernel sometimes panics before it has found its disk. Up
    to `panics` times the machine is then switched on again.
    """
    folder.mkdir(parents=True, exist_ok=True)
    image = image or copy_image(disk.image, folder / "disk.img")
    machine = Machine(disk, image, folder, network, stick=stick)
    try:
        machine.ask("read", "/proc/uptime", timeout_s=BOOT_S)
        wait_for_pages(machine, BOOT_S)
    except BaseException as error:
        machine.close()
        if (
            not isinstance(error, MachineError)
            or not panics
            or "Kernel panic" not in machine.console(60)
        ):
            raise
        return boot(disk, folder, image, network, panics - 1, stick)
    return machine, time.monotonic() - machine.began_s


@dataclass(frozen=True)
class SharedMachine:
    """The booted machine, which all tests share that do not pull its plug."""

    machine: Machine
    ready_s: float
    """Time from switching on to the first page."""
