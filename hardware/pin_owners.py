"""Which pins belong to a driver already: the serial port, SPI, I2C, PWM or another one that the device tree gives them.

The kernel lets a program take such a pin without a word, and the driver's device stops working. Who has a pin is read
from the pin controller's own list where that may be read (as root), else from the device tree: nodes that are switched
on name their pins by `pinctrl-0`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from companion.core.i18n import listed, say, say_n

_CONTROLLERS = ("*pinctrl-rp1", "*pinctrl-bcm2711", "*pinctrl-bcm2835")
_ROW = re.compile(r"^pin \d+ \(gpio(\d+)\): ([^\s(]\S*)")
_DEVICES = ("proc/device-tree/*/pinctrl-0", "proc/device-tree/soc*/*/pinctrl-0",
            "proc/device-tree/axi/pcie@*/rp1/*/pinctrl-0")  # fmt: skip
_GROUPS = ("proc/device-tree/soc*/gpio@*/*", "proc/device-tree/axi/pcie@*/rp1/gpio@*/*")
HEADER = range(28)
"""The pins of the header."""


class PinOwner(NamedTuple):
    """A driver's device as the kernel names it, such as `serial@7e201000` or `fe201000.serial`."""

    device: str

    @property
    def kind(self) -> str:
        """`serial`, `spi`, `i2c`, `pwm`, or what else the name says."""
        words = [word for word in re.split(r"[@.]", self.device) if not re.fullmatch(r"[0-9a-f]{6,}", word)]
        return words[0] if words else self.device


def pin_owners(root: Path = Path("/")) -> Mapping[int, PinOwner]:
    """The owner of every pin of the header that has one, by BCM number; empty where nothing tells."""
    return _told_by_controller(root) or _told_by_device_tree(root)


def _told_by_controller(root: Path) -> Mapping[int, PinOwner]:
    folder = root / "sys/kernel/debug/pinctrl"
    for pattern in _CONTROLLERS:
        for path in _found(folder, f"{pattern}/pinmux-pins"):
            rows = (_ROW.match(line) for line in _content(path).decode(errors="replace").splitlines())
            return {
                int(row[1]): PinOwner(row[2]) for row in rows if row and _is_driver(row[2]) and int(row[1]) in HEADER
            }
    return {}


def _is_driver(name: str) -> bool:
    """Is it no program's pin? Those are named after the controller itself."""
    return not name.startswith(("pinctrl-", "gpiochip", "gpio-"))


def _told_by_device_tree(root: Path) -> Mapping[int, PinOwner]:
    groups = {
        _content(folder / "phandle"): _pins(folder)
        for pattern in _GROUPS
        for folder in _found(root, pattern)
        if (folder / "phandle").exists()
    }
    found: dict[int, PinOwner] = {}
    for pattern in _DEVICES:
        for path in _found(root, pattern):
            if _content(path.parent / "status").rstrip(b"\0") not in (b"", b"okay", b"ok"):
                continue
            handles = _content(path)
            for at in range(0, len(handles), 4):
                for pin in groups.get(handles[at : at + 4], ()):
                    found.setdefault(pin, PinOwner(path.parent.name))
    return found


def _pins(group: Path) -> tuple[int, ...]:
    """The pins of a group: numbers of 32 bits on a Pi 1 to 4, names on a Pi 5."""
    numbers = _content(group / "brcm,pins")
    pins = [int.from_bytes(numbers[at : at + 4], "big") for at in range(0, len(numbers), 4)]
    names = _content(group / "pins").decode(errors="replace").split("\0")
    pins += [int(name.removeprefix("gpio")) for name in names if re.fullmatch(r"gpio\d+", name)]
    return tuple(pin for pin in pins if pin in HEADER)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _found(folder: Path, pattern: str) -> Iterable[Path]:
    try:
        return sorted(folder.glob(pattern))
    except OSError:
        return ()


def conflicts(wired: Iterable[int], owners: Mapping[int, PinOwner]) -> tuple[str, ...]:
    """A sentence for every driver that has a pin which is wired to a pad, with what to do."""
    by_owner: dict[PinOwner, list[int]] = {}
    for pin in sorted(set(wired) & set(owners)):
        by_owner.setdefault(owners[pin], []).append(pin)
    return tuple(_conflict(owner, pins) for owner, pins in by_owner.items())


def _conflict(owner: PinOwner, pins: list[int]) -> str:
    numbers = listed([str(pin) for pin in pins])
    switch = {
        "serial": say("Switch it off: sudo raspi-config, Interface Options, Serial Port"),
        "spi": say("Switch it off: sudo raspi-config, Interface Options, SPI"),
        "i2c": say("Switch it off: sudo raspi-config, Interface Options, I2C"),
    }.get(owner.kind, say("Remove its dtoverlay from /boot/firmware/config.txt"))
    return say_n(
        "GPIO {pins} belongs to {owner}, which stops working when the panel takes it. {switch}, or use another pin.",
        "GPIO {pins} belong to {owner}, which stops working when the panel takes them. {switch}, or use other pins.",
        len(pins),
        pins=numbers,
        owner=_name(owner),
        switch=switch,
    )


def _name(owner: PinOwner) -> str:
    """The owner in words, with the kernel's name."""
    words = {
        "serial": say("the serial port"),
        "spi": "SPI",
        "i2c": "I2C",
        "pwm": say("the tone generator (PWM)"),
        "i2s": say("the sound output (I2S)"),
        "onewire": "1-Wire",
    }.get(owner.kind, say("another driver"))
    return say("{name} ({device})", name=words, device=owner.device)
