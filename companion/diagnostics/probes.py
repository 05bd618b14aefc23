"""Facts about the machine, read from `/proc`, `/sys` and `/run`. None or empty if not available.

Every probe is a pure function of a `Machine`: a folder that stands for `/`. Probes do not judge.
The checks are in `machine` and `network`.
"""

from __future__ import annotations

import platform
import re
from dataclasses import dataclass
from pathlib import Path

# Files by which Docker and Podman mark their containers.
_CONTAINER = (".dockerenv", "run/.containerenv")


@dataclass(frozen=True)
class Machine:
    """The machine to probe.

    :param root: folder that stands for `/`. Tests replace it
    """

    root: Path = Path("/")

    def text(self, path: str) -> str:
        """Return the text of a small file, without white space and null bytes at its ends.

        Empty if it cannot be read.
        """
        try:
            with open(self.root / path, "rb") as file:
                return file.read(1 << 16).decode(errors="replace").strip("\0 \t\r\n")
        except OSError:
            return ""

    def number(self, path: str, base: int = 10) -> int | None:
        """Return the first whole number in a small file."""
        try:
            return int((self.text(path).split() or [""])[0], base)
        except ValueError:
            return None

    def glob(self, pattern: str) -> list[str]:
        """Return the paths below the root that match a pattern, sorted."""
        try:
            return sorted(str(path.relative_to(self.root)) for path in self.root.glob(pattern))
        except OSError:
            return []


# ---- the board -----------------------------------------------------------------------------------


def model(machine: Machine) -> str:
    """Return the model of the machine, such as `Raspberry Pi 5 Model B Rev 1.0`."""
    return machine.text("proc/device-tree/model") or machine.text("sys/class/dmi/id/product_name")


def temperature_c(machine: Machine) -> float | None:
    """Return the temperature of the processor in degrees Celsius, or else of the warmest sensor."""
    zones = {
        machine.text(f"{zone}/type"): value
        for zone in machine.glob("sys/class/thermal/thermal_zone*")
        if (value := machine.number(f"{zone}/temp")) is not None
    }
    # the sensor of the processor, or else the warmest of all
    for name in ("cpu-thermal", "cpu_thermal", "x86_pkg_temp"):
        if name in zones:
            return zones[name] / 1000
    return max(zones.values()) / 1000 if zones else None


def throttling(machine: Machine) -> int | None:
    """Return the firmware's throttling flags, from the kernel's file.

    They are the bits of `vcgencmd get_throttled` in the Raspberry Pi documentation: 0 to 3 are for
    now, 16 to 19 for the time since the start.
    """
    for path in machine.glob("sys/devices/platform/soc*/*firmware/get_throttled"):
        if (bits := machine.number(path, 16)) is not None:
            return bits
    return None


@dataclass(frozen=True)
class MachineMemory:
    """Memory in megabytes: total, and available to programs."""

    total_mb: int
    free_mb: int


def memory(machine: Machine) -> MachineMemory | None:
    """Return the memory of the machine. None if it is unknown."""
    fields = dict(re.findall(r"^(\w+):\s+(\d+) kB", machine.text("proc/meminfo"), re.MULTILINE))
    if "MemTotal" not in fields or "MemAvailable" not in fields:
        return None
    return MachineMemory(int(fields["MemTotal"]) // 1000, int(fields["MemAvailable"]) // 1000)


# ---- the disk ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Volume:
    """The mount of a folder: its block device (`8:1`), its file system, and whether it is
    read-only.

    `upper` is the folder to which an overlay writes. Empty if there is none.
    """

    device: str
    file_system: str
    read_only: bool
    upper: str = ""


def volume(machine: Machine, folder: Path) -> Volume | None:
    """Return the mount of a folder, which is the one with the longest mount point above it.

    If several have the same mount point, the last one counts.
    """
    best, mount = -1, None
    for line in machine.text("proc/self/mountinfo").splitlines():
        head, _, tail = line.partition(" - ")
        fields, kinds = head.split(), tail.split()
        if len(fields) < 6 or len(kinds) < 3:
            continue
        # the kernel writes a space as an octal escape
        place = fields[4].replace("\\040", " ")
        if folder.is_relative_to(place) and len(place) >= best:
            options = [*fields[5].split(","), *kinds[2].split(",")]
            upper = ""
            for option in options:
                if option.startswith("upperdir="):
                    upper = option.removeprefix("upperdir=")
            best, mount = len(place), Volume(fields[2], kinds[0], "ro" in options, upper)
    return mount


def is_lost_at_power_off(machine: Machine, folder: Path) -> bool:
    """Return whether a folder is only in memory.

    For an overlay this depends on its upper folder. If that is not visible, the overlay either
    belongs to a container, which keeps its files, or is the read-only root of `raspi-config`, which
    writes to memory.
    """
    mount = volume(machine, folder)
    if mount is None:
        return False
    if mount.file_system != "overlay":
        return mount.file_system in ("tmpfs", "ramfs")
    below = volume(machine, Path(mount.upper)) if mount.upper else None
    if below is None or below.device == mount.device:
        return not any((machine.root / mark).exists() for mark in _CONTAINER)
    return below.file_system in ("tmpfs", "ramfs")


# ---- the clock -----------------------------------------------------------------------------------


def is_synchronised(machine: Machine) -> bool | None:
    """Return whether systemd has set the clock by the network. None if it does not do that."""
    folder = machine.root / "run/systemd/timesync"
    return (folder / "synchronized").exists() if folder.exists() else None


# ---- the network ---------------------------------------------------------------------------------


def is_radio_blocked(machine: Machine) -> bool:
    """Return whether a Wi-Fi is blocked by software, as it is until its country is set, or by a
    switch.
    """
    return any(
        machine.text(f"{path}/type") == "wlan"
        and (machine.number(f"{path}/soft") == 1 or machine.number(f"{path}/hard") == 1)
        for path in machine.glob("sys/class/rfkill/rfkill*")
    )


# ---- versions -----------------------------------------------------------------------------------


def system_name(machine: Machine) -> str:
    """Return the distribution, such as `Debian GNU/Linux 12 (bookworm)`."""
    match = re.search(r'^PRETTY_NAME="?([^"\n]*)"?$', machine.text("etc/os-release"), re.MULTILINE)
    return match[1] if match else platform.system()


def kernel(machine: Machine) -> str:
    """Return the kernel's version and the kind of processor."""
    return f"{machine.text('proc/sys/kernel/osrelease')} {platform.machine()}".strip()
