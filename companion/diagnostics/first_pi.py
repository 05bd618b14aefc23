"""What the first owner of a Raspberry Pi can send: one file about machine, cameras, pins and times of reading.

There is no name, no key, no address and no picture in it. It can be read back: a simulated Pi can be made of it.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import platform
import time
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from companion import __version__
from companion.core.errors import CameraError, ConfigError, SystemTrouble
from companion.core.i18n import say
from companion.core.kit import Kit
from companion.core.ports import Frame
from companion.diagnostics import probes
from companion.diagnostics.probes import Machine
from companion.games.outbuffered import Outbuffered
from vision.cameras.ribbon import PiDevice, close_device, open_device, pi_devices
from vision.pieces.board_reader import board_reader
from vision.simulation.table import SimulatedTable

_PACKAGES = ("opencv-python-headless", "numpy", "picamera2", "lgpio", "gpiozero")
_PROPERTIES = ("PixelArraySize", "UnitCellSize", "PixelArrayActiveAreas", "Rotation", "Location")
_LOOKS = 5
MOST_BYTES = 1_000_000


class FirstCamera(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A ribbon camera: modes as Picamera2 tells them, controls by name with least, most and default."""

    sensor: str
    id: str
    modes: tuple[Mapping[str, Any], ...] = ()
    controls: Mapping[str, Any] = {}
    properties: Mapping[str, Any] = {}
    problem: str = ""


class FirstPins(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Pins: what the panel could not use, and how often it wakes at rest."""

    problems: tuple[str, ...] = ()
    wakeups_per_s: float | None = None


class FirstPi(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All of it. Times of reading in ms, memory in MB; `throttled` as `vcgencmd get_throttled` tells it by name."""

    companion: str
    model: str
    revision: str
    system: str
    kernel: str
    bootloader: str
    packages: Mapping[str, str]
    memory_mb: tuple[int, int] | None
    contiguous_mb: tuple[int, int] | None
    temperature_c: float | None
    throttled: tuple[str, ...] | None
    file_system: str
    disk: str
    cameras: tuple[FirstCamera, ...] = ()
    pins: FirstPins = FirstPins()
    reading_ms: Mapping[str, float] = {}


def look(machine: Machine, folder: Path, pins: FirstPins) -> FirstPi:
    """Look at everything once; opens every ribbon camera, and reads some rendered pictures, for some seconds."""
    memory, contiguous = probes.memory(machine), probes.contiguous_memory(machine)
    flags, mount = probes.throttling(machine), probes.volume(machine, folder.resolve())
    disk = probes.disk(machine, mount.device) if mount else None
    return FirstPi(
        companion=__version__,
        model=probes.model(machine),
        revision=machine.hex("proc/device-tree/system/linux,revision"),
        system=probes.system_name(machine),
        kernel=probes.kernel(machine),
        bootloader=probes.bootloader(machine),
        packages=_packages(),
        memory_mb=(memory.total_mb, memory.free_mb) if memory else None,
        contiguous_mb=(contiguous.total_mb, contiguous.free_mb) if contiguous else None,
        temperature_c=probes.temperature_c(machine),
        throttled=tuple(name for name, is_so in vars(flags).items() if is_so) if flags else None,
        file_system=mount.file_system if mount else "",
        disk=f"{disk.kind} {disk.name}".strip() if disk else "",
        cameras=_cameras(),
        pins=pins,
        reading_ms=reading_ms(),
    )


def _packages() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[package] = importlib.metadata.version(package)
    return found


# ---- cameras -----------------------------------------------------------------------------------------------------


def _cameras() -> tuple[FirstCamera, ...]:
    try:
        return tuple(_camera(device) for device in pi_devices())
    except CameraError:
        return ()


def _camera(which: PiDevice) -> FirstCamera:
    """What a camera tells of itself; the modes come last, for they take most memory."""
    try:
        device = open_device(which)
    except CameraError as error:
        return FirstCamera(which.sensor, which.id, problem=error.message)
    problem = ""
    modes: tuple[Mapping[str, Any], ...] = ()
    controls = {name: plain(bounds) for name, bounds in sorted(device.camera_controls.items())}
    properties = {name: plain(value) for name, value in device.camera_properties.items() if name in _PROPERTIES}
    try:
        modes = tuple({key: plain(value) for key, value in mode.items()} for mode in device.sensor_modes)
    except Exception as error:  # too little contiguous memory, and libcamera's own kinds
        problem = str(error)
    with contextlib.suppress(CameraError):
        close_device(device)
    return FirstCamera(which.sensor, which.id, modes, controls, properties, problem)


def plain(value: Any) -> Any:
    """A value of libcamera as JSON has it: numbers, words and lists of them.

    >>> plain((0, 1.5, None, 3 + 0j))
    [0, 1.5, None, '(3+0j)']
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return str(value)


# ---- times of reading --------------------------------------------------------------------------------------------


def reading_ms() -> dict[str, float]:
    """How long reading takes here, on rendered pictures of 1920 x 1080: the first one, a still one, a changed one."""
    game = Outbuffered()
    options = game.options({})
    kit: Kit = game.kit(options)
    world = SimulatedTable(kit)
    world.set_up(game.expected(game.setup(options, Random(1))) or {})
    reader, numbers = board_reader({game.name: kit}), iter(range(1, 1000))
    reader.use(kit)

    def read_s() -> float:
        frame = Frame(world.render_luma(), time.monotonic(), next(numbers))
        began_s = time.perf_counter()
        reader.read(frame)
        return time.perf_counter() - began_s

    first_s = read_s()
    for _ in range(_LOOKS):
        read_s()
    still_s = min(read_s() for _ in range(_LOOKS))
    changed = []
    for _ in range(_LOOKS):
        world.nudge(world.pieces()[0].id, 3.0, 0.0)
        changed.append(read_s())
    return {
        "first": round(first_s * 1000, 1),
        "still": round(still_s * 1000, 1),
        "changed": round(sorted(changed)[_LOOKS // 2] * 1000, 1),
    }


# ---- the file ----------------------------------------------------------------------------------------------------


def write(found: FirstPi, path: Path) -> None:
    """Write the file; raises `SystemTrouble`."""
    try:
        path.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n")
    except OSError as error:
        raise SystemTrouble(
            say("{file}: cannot be written: {error}. Choose another place", file=str(path), error=error.strerror)
        ) from None


def read(path: Path) -> FirstPi:
    """A file that somebody has sent; raises `SystemTrouble` or `ConfigError`."""
    try:
        if os.stat(path).st_size > MOST_BYTES:
            raise ConfigError(say("{file}: is too large for a file about a Pi", file=str(path)))
        return msgspec.json.decode(path.read_bytes(), type=FirstPi)
    except OSError as error:
        raise SystemTrouble(
            say("{file}: cannot be read: {error}. Check the path", file=str(path), error=error.strerror)
        ) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ConfigError(say("{file}: is not a file about a Pi: {error}", file=str(path), error=str(error))) from None
