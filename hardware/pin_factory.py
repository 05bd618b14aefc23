"""The machine's own pins: what they lack, opening them, and reading keys from the kernel itself."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

from gpiozero import Device
from gpiozero.exc import PinUnknownPi
from gpiozero.pins.local import get_pi_revision

from companion.core.errors import PanelError
from companion.core.i18n import say
from hardware.kernel_keys import KernelKeys, can_read_keys

last_failure: list[str] = []
"""Why opening the pins failed last: a process has one set of pins, hence one such reason."""


def missing_pins() -> str | None:
    """What this machine lacks for pins of its own; None: nothing, or the environment chooses other pins."""
    if os.environ.get("GPIOZERO_PIN_FACTORY"):
        return None
    try:
        get_pi_revision()
    except (PinUnknownPi, OSError, ValueError):
        return say("This machine is not a Raspberry Pi and has no pins: use the pages, or play --simulate.")
    chips = sorted(Path("/dev").glob("gpiochip*"))
    return obstacle(
        has_library=importlib.util.find_spec("lgpio") is not None,
        has_chips=bool(chips),
        may_use_chips=any(os.access(chip, os.R_OK | os.W_OK) for chip in chips),
    )


def obstacle(has_library: bool, has_chips: bool, may_use_chips: bool) -> str | None:
    """What a Raspberry Pi lacks, and what to do."""
    if not has_chips:
        return say("There is no /dev/gpiochip*: the kernel or the service's DeviceAllow hides the pins.")
    if not may_use_chips:
        return say(
            "There is no permission to use the pins: add the user to group gpio (sudo usermod -aG "
            "gpio USER) and log in again."
        )
    if not has_library:
        return say(
            "The pin library is missing: sudo apt install python3-lgpio, "
            "and make the virtual environment with --system-site-packages."
        )
    return None


def kernel_keys(factory: Any) -> KernelKeys | None:
    """The keys read from the kernel itself; None on other pins than the machine's own, or on an old kernel."""
    chip = getattr(factory, "chip", None)
    if chip is None:
        return None
    path = Path(f"/dev/gpiochip{chip}")
    return KernelKeys(path) if can_read_keys(path) else None


def open_factory() -> Any:
    """The machine's pin factory; raises `PanelError`. `GPIOZERO_PIN_FACTORY` chooses another than lgpio."""
    last_failure.clear()
    if missing := missing_pins():
        raise PanelError(missing)
    try:
        if os.environ.get("GPIOZERO_PIN_FACTORY"):
            Device.ensure_pin_factory()
            return Device.pin_factory
        from gpiozero.pins.lgpio import LGPIOFactory  # noqa: PLC0415  (only on a Pi)

        return LGPIOFactory()
    except Exception as error:  # the pin libraries raise what they like
        sentence = say(
            "The pins cannot be opened: {error}. The working directory must be writable, for lgpio's pipe.",
            error=str(error),
        )
        last_failure.append(sentence)
        raise PanelError(sentence) from error
