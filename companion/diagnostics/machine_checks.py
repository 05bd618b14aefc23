"""The doctor's checks of the machine: memory, temperature, voltage, disk, clock, versions.

`probes` reads the facts, and this module judges them. Most checks return one finding. Those that
may have nothing to say, or several things, yield findings.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from companion import DEBIAN_HOME, __version__
from companion.core.i18n import joined, say
from companion.diagnostics import probes
from companion.diagnostics.findings import Finding, fail, note, ok, warn
from companion.diagnostics.probes import Machine

# Free space on the disk below which the check fails or warns. Chosen by eye, well above what the
# service needs, because other programs write to the disk, too.
FAIL_FREE_MB = 200
WARN_FREE_MB = 500
# Temperatures from which the check notes that it is warm, or warns. At 80 degrees a Raspberry Pi
# begins to throttle its processor (Raspberry Pi documentation, `temp_limit`).
WARM_C = 75.0
HOT_C = 80.0
# Free memory below which the check warns. Chosen by eye: a machine slows down before it has none.
LOW_MEMORY_MB = 100
# Throttling flags of the firmware (`probes.read_throttling_flags`). A processor is slowed down by
# any of three flags: a capped frequency, throttling, and the soft limit of the temperature.
_LOW_VOLTAGE = 0b0001
_SLOWED = 0b1110
# The same flags for the time since the start are this many bits further up.
_SINCE_START_SHIFT = 16
# Unix time of 1 January 2025. If the clock shows an earlier date, it was never set: the date may be
# that of the card's image.
_EARLIEST_SET_CLOCK_S = 1_735_689_600

_SUPPLY_ADVICE = say(
    "use the official power supply and a short, thick cable, and unplug power-hungry USB devices"
)


def check_memory(machine: Machine) -> Finding:
    """Check the free memory. The finding also names the model of the machine."""
    model = probes.read_model(machine) or platform.machine()
    memory = probes.read_memory(machine)
    if memory is None:
        return ok("machine", say("{model}.", model=model))
    text = say(
        "{model}, {free} of {total} MB of memory are free.",
        model=model,
        free=memory.free_mb,
        total=memory.total_mb,
    )
    if memory.free_mb < LOW_MEMORY_MB:
        advice = say("Close other programs, or use a Raspberry Pi with more memory.")
        return warn("machine", joined(" ", (text, advice)))
    return ok("machine", text)


def check_temperature(machine: Machine) -> Iterator[Finding]:
    """Check the temperature of the processor, if it is known."""
    degrees = probes.read_temperature_c(machine)
    if degrees is None:
        return
    text = say("The processor is at {degrees} °C.", degrees=f"{degrees:.0f}")
    if degrees >= HOT_C:
        advice = say("It is slowing down to cool off: give it air, a heat sink or a fan.")
        yield warn("warmth", joined(" ", (text, advice)))
    elif degrees >= WARM_C:
        advice = say("Above 80 °C it slows down: give it air.")
        yield note("warmth", joined(" ", (text, advice)))
    else:
        yield ok("warmth", text)


def check_power(machine: Machine) -> Iterator[Finding]:
    """Check for low voltage and a throttled processor, now and since the start.

    Only a Raspberry Pi reports them. For another machine there is no finding.
    """
    flags = probes.read_throttling_flags(machine)
    if flags is None:
        if probes.read_model(machine).startswith("Raspberry Pi"):
            text = say("Voltage and throttling cannot be read here: run vcgencmd get_throttled.")
            yield note("power", text)
        return
    flags_since_start = flags >> _SINCE_START_SHIFT
    if flags & _LOW_VOLTAGE:
        text = say("The voltage is too low now: {advice}.", advice=_SUPPLY_ADVICE)
        yield warn("power", text)
    elif flags_since_start & _LOW_VOLTAGE:
        text = say(
            "The voltage has been too low since the machine was switched on: {advice}.",
            advice=_SUPPLY_ADVICE,
        )
        yield warn("power", text)
    if flags & _SLOWED:
        text = say(
            "Heat or low voltage is slowing the processor down: give it air and a good power "
            "supply."
        )
        yield warn("power", text)
    elif flags_since_start & _SLOWED:
        text = say(
            "The processor has been slowed down at times since the machine was switched on: give "
            "it air."
        )
        yield note("power", text)
    if not (flags | flags_since_start) & (_LOW_VOLTAGE | _SLOWED):
        yield ok("power", say("The voltage is fine, and nothing is slowed down."))


# ---- the disk ------------------------------------------------------------------------------------


def find_free_bytes(folder: Path) -> int | None:
    """Return the free bytes on the disk of a folder, which need not exist yet. None if unknown."""
    try:
        return shutil.disk_usage(_nearest_existing(folder)).free
    except OSError:
        return None


def is_writable(folder: Path) -> bool:
    """Return whether this process may write to a folder, which need not exist yet.

    It may not if the file system is read-only.
    """
    return os.access(_nearest_existing(folder), os.W_OK)


def _nearest_existing(folder: Path) -> Path:
    """Return a folder, or the nearest one above it that exists."""
    return next((path for path in (folder, *folder.parents) if path.exists()), folder)


def check_disk(machine: Machine, folder: Path) -> Finding:
    """Check whether games can be saved in a folder, and whether its disk is nearly full."""
    existing = _nearest_existing(folder)
    free_bytes = find_free_bytes(folder)
    mount = probes.find_volume(machine, existing)
    if mount and mount.read_only:
        text = say(
            "{folder} is on a read-only file system. Restart the machine. If that does not help, "
            "the card is worn out: save a backup and use a new card.",
            folder=str(existing),
        )
        return fail("disk", text)
    if not is_writable(folder):
        text = say(
            "{folder} cannot be written to: set state_dir to a folder of your own.",
            folder=str(existing),
        )
        return fail("disk", text)
    if free_bytes is None:
        text = say("It is not known how much space is free for {folder}.", folder=str(folder))
        return note("disk", text)
    free_mb = free_bytes // 1_000_000
    if free_mb < FAIL_FREE_MB:
        text = say(
            "Only {free} MB are free for {folder}: make room.", free=free_mb, folder=str(folder)
        )
        return fail("disk", text)
    text = say("{free} MB are free for {folder}.", free=free_mb, folder=str(folder))
    if free_mb < WARN_FREE_MB:
        return warn("disk", joined(" ", (text, say("Make room soon."))))
    return ok("disk", text)


def memory_only_warning(machine: Machine, folder: Path) -> str:
    """Return a warning for the pages if everything in a folder is lost when the power goes off.

    Empty otherwise.
    """
    if not probes.is_lost_at_power_off(machine, folder.resolve()):
        return ""
    return say(
        "Games are kept in memory only: they are lost when the power goes off. Switch the overlay "
        "file system off (sudo raspi-config, Performance Options), or set state_dir to a folder on "
        "the card or a USB stick."
    )


# ---- clock and versions --------------------------------------------------------------------------


def check_clock(machine: Machine) -> Finding:
    """Check whether the time of day was set. The history shows dates, but games do not need any."""
    if time.time() < _EARLIEST_SET_CLOCK_S:
        text = say("The clock was never set: dates in the history will be wrong, games are not.")
        return note("clock", text)
    now = say("It is {time}.", time=time.strftime("%Y-%m-%d %H:%M %Z"))
    synchronised = probes.is_synchronised(machine)
    if synchronised is None:
        return ok("clock", now)
    if synchronised:
        return ok("clock", joined(" ", (now, say("It was set by the network."))))
    text = say("No network has set the clock: dates in the history may be wrong, games are not.")
    return note("clock", joined(" ", (now, text)))


def list_versions(machine: Machine) -> Finding:
    """List the versions of all software, for people who are asked for help."""
    origin = " (Debian package, brought up to date by apt)" if sys.prefix == DEBIAN_HOME else ""
    parts = [f"companion {__version__}{origin}", f"Python {platform.python_version()}"]
    for package, title in (
        ("opencv-python-headless", "OpenCV"),
        ("picamera2", "Picamera2"),
        ("lgpio", "lgpio"),
    ):
        with suppress(importlib.metadata.PackageNotFoundError):
            parts.append(f"{title} {importlib.metadata.version(package)}")
    parts += [probes.read_system_name(machine), f"Linux {probes.read_kernel_version(machine)}"]
    return ok("versions", f"{', '.join(parts)}.")


def run_quick_checks(machine: Machine, folder: Path) -> Iterator[Finding]:
    """Run the checks of every minute: temperature, voltage, disk."""
    yield from check_temperature(machine)
    yield from check_power(machine)
    yield check_disk(machine, folder)


def run_all_checks(machine: Machine, folder: Path) -> Iterator[Finding]:
    """Run all checks of the machine."""
    yield check_memory(machine)
    yield from run_quick_checks(machine, folder)
    if sentence := memory_only_warning(machine, folder):
        yield fail("disk", sentence)
    yield check_clock(machine)
    yield list_versions(machine)
