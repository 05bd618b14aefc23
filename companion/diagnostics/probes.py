"""Facts about the machine, read from `/proc`, `/sys` and `/run`.

A fact that is not available is None or empty. Every probe depends only on a `Machine`, a folder
that stands for `/`. Probes do not judge: `machine_checks` and `network_checks` do.
"""

from __future__ import annotations

import platform
import re
from dataclasses import dataclass
from pathlib import Path

# Files by which Docker and Podman mark their containers.
_CONTAINER_MARKS = (".dockerenv", "run/.containerenv")
# A line of `/proc/self/mountinfo` (proc(5)), such as
#   26 1 179:2 / / rw,noatime shared:2 - ext4 /dev/root rw
# Its groups are the number of the device (179:2), the mount point (the second slash), the options
# of the mount, and after the dash the type and the options of the file system.
_MOUNT_LINE = re.compile(r"\S+ \S+ (\S+) \S+ (\S+) (\S+) .*?- (\S+) \S+ (\S+)")


@dataclass(frozen=True)
class Machine:
    """The machine to probe."""

    root: Path = Path("/")
    """Folder that stands for `/`. Tests replace it."""

    def read_text(self, path: str) -> str:
        """Return the text of a small file, without white space and null bytes at its ends.

        Empty if it cannot be read.
        """
        try:
            with open(self.root / path, "rb") as file:
                return file.read(1 << 16).decode(errors="replace").strip("\0 \t\r\n")
        except OSError:
            return ""

    def read_number(self, path: str, base: int = 10) -> int | None:
        """Return the first whole number in a small file. None if there is none."""
        try:
            return int((self.read_text(path).split() or [""])[0], base)
        except ValueError:
            return None

    def glob(self, pattern: str) -> list[str]:
        """Return the paths that match a pattern, sorted and relative to the root."""
        try:
            return sorted(str(path.relative_to(self.root)) for path in self.root.glob(pattern))
        except OSError:
            return []


# ---- the board -----------------------------------------------------------------------------------


def read_model(machine: Machine) -> str:
    """Return the model of the machine, such as `Raspberry Pi 5 Model B Rev 1.0`."""
    return machine.read_text("proc/device-tree/model") or machine.read_text(
        "sys/class/dmi/id/product_name"
    )


def read_temperature_c(machine: Machine) -> float | None:
    """Return the temperature of the processor in degrees Celsius.

    If it is not known which sensor is the processor's, return that of the warmest sensor.
    """
    # The kernel writes thousandths of a degree.
    millidegrees = {
        machine.read_text(f"{zone}/type"): value
        for zone in machine.glob("sys/class/thermal/thermal_zone*")
        if (value := machine.read_number(f"{zone}/temp")) is not None
    }
    for name in ("cpu-thermal", "cpu_thermal", "x86_pkg_temp"):
        if name in millidegrees:
            return millidegrees[name] / 1000
    return max(millidegrees.values()) / 1000 if millidegrees else None


def read_throttling_flags(machine: Machine) -> int | None:
    """Return the firmware's throttling flags. None if the machine has no such firmware.

    They are the bits of `vcgencmd get_throttled` in the Raspberry Pi documentation. Bits 0 to 3 say
    what is the case now, and bits 16 to 19 what was the case at any time since the start.
    """
    for path in machine.glob("sys/devices/platform/soc*/*firmware/get_throttled"):
        if (flags := machine.read_number(path, 16)) is not None:
            return flags
    return None


@dataclass(frozen=True)
class MachineMemory:
    """Memory in megabytes: total, and available to programs."""

    total_mb: int
    free_mb: int


def read_memory(machine: Machine) -> MachineMemory | None:
    """Return the memory of the machine. None if it is unknown."""
    fields = dict(
        re.findall(r"^(\w+):\s+(\d+) kB", machine.read_text("proc/meminfo"), re.MULTILINE)
    )
    if "MemTotal" not in fields or "MemAvailable" not in fields:
        return None
    return MachineMemory(int(fields["MemTotal"]) // 1000, int(fields["MemAvailable"]) // 1000)


# ---- the disk ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Volume:
    """A mounted file system."""

    device: str
    """Number of its block device, such as `8:1`."""
    file_system: str
    """Its type, such as `ext4`."""
    read_only: bool
    upper: str = ""
    """Folder to which an overlay writes, or empty."""


def find_volume(machine: Machine, folder: Path) -> Volume | None:
    """Return the volume on which a folder lies. None if it is unknown.

    It is the volume with the longest mount point above the folder. If several volumes have the same
    mount point, the last one hides the others.
    """
    longest_length = -1
    volume = None
    for line in machine.read_text("proc/self/mountinfo").splitlines():
        match = _MOUNT_LINE.match(line)
        if match is None:
            continue
        device, escaped_point, mount_options, file_system, system_options = match.groups()
        # The kernel writes a space as an octal escape.
        mount_point = escaped_point.replace("\\040", " ")
        if folder.is_relative_to(mount_point) and len(mount_point) >= longest_length:
            longest_length = len(mount_point)
            options = f"{mount_options},{system_options}".split(",")
            upper = ""
            for option in options:
                if option.startswith("upperdir="):
                    upper = option.removeprefix("upperdir=")
            volume = Volume(device, file_system, "ro" in options, upper)
    return volume


def is_lost_at_power_off(machine: Machine, folder: Path) -> bool:
    """Return whether a folder is only in memory.

    An overlay is a file system that writes to another folder, its upper folder, so that folder
    decides. If the upper folder is not visible, there are two cases. Either the overlay belongs to
    a container, which keeps its files. Or it is the overlay that `raspi-config` puts over a
    read-only root, which writes to memory.
    """
    volume = find_volume(machine, folder)
    if volume is None:
        return False
    if volume.file_system == "overlay":
        upper_volume = find_volume(machine, Path(volume.upper)) if volume.upper else None
        if upper_volume is None or upper_volume.device == volume.device:
            return not any((machine.root / mark).exists() for mark in _CONTAINER_MARKS)
        volume = upper_volume
    return volume.file_system in ("tmpfs", "ramfs")


# ---- the clock -----------------------------------------------------------------------------------


def is_synchronised(machine: Machine) -> bool | None:
    """Return whether systemd has set the clock by the network.

    None if systemd does not set the clock on this machine.
    """
    folder = machine.root / "run/systemd/timesync"
    return (folder / "synchronized").exists() if folder.exists() else None


# ---- the network ---------------------------------------------------------------------------------


def is_radio_blocked(machine: Machine) -> bool:
    """Return whether a Wi-Fi is blocked, by a switch or by software.

    Raspberry Pi OS blocks it until its country is set.
    """
    return any(
        machine.read_text(f"{path}/type") == "wlan"
        and (machine.read_number(f"{path}/soft") == 1 or machine.read_number(f"{path}/hard") == 1)
        for path in machine.glob("sys/class/rfkill/rfkill*")
    )


# ---- versions ------------------------------------------------------------------------------------


def read_system_name(machine: Machine) -> str:
    """Return the distribution, such as `Debian GNU/Linux 12 (bookworm)`."""
    match = re.search(
        r'^PRETTY_NAME="?([^"\n]*)"?$', machine.read_text("etc/os-release"), re.MULTILINE
    )
    return match[1] if match else platform.system()


def read_kernel_version(machine: Machine) -> str:
    """Return the kernel's version and the kind of processor."""
    return f"{machine.read_text('proc/sys/kernel/osrelease')} {platform.machine()}".strip()
