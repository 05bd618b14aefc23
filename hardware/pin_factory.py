"""The source of the machine's own pins: what it needs, and how gpiozero and lgpio open it.

Which pin the buzzer, a lamp or a button has is in `PanelSettings` of `companion.core.config`.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from gpiozero import Device
from gpiozero.exc import PinUnknownPi
from gpiozero.pins.local import get_pi_revision

from companion.core.errors import PanelError
from companion.core.i18n import say


def why_no_pins() -> str | None:
    """Return a sentence on why this machine has no pins to use, and what to do.

    None if it has, or if `GPIOZERO_PIN_FACTORY` chooses other pins.
    """
    if os.environ.get("GPIOZERO_PIN_FACTORY"):
        return None
    try:
        get_pi_revision()
    except (PinUnknownPi, OSError, ValueError):
        return say(
            "This machine is not a Raspberry Pi and has no pins: use the pages, or play --simulate."
        )
    chips = sorted(Path("/dev").glob("gpiochip*"))
    may_use_chips = any(os.access(chip, os.R_OK | os.W_OK) for chip in chips)
    return why_no_access(bool(chips), may_use_chips)


def why_no_access(has_chips: bool, may_use_chips: bool) -> str | None:
    """Return a sentence on why a Raspberry Pi's pins cannot be used, and what to do.

    None if they can. A chip is the kernel's device file of all pins.
    """
    if not has_chips:
        return say(
            "There is no /dev/gpiochip*: the kernel or the service's DeviceAllow hides the pins."
        )
    if not may_use_chips:
        return say(
            "There is no permission to use the pins: add the user to group gpio (sudo usermod -aG "
            "gpio USER) and log in again."
        )
    return None


def open_pin_factory() -> Any:
    """Open the machine's pin factory. `GPIOZERO_PIN_FACTORY` chooses another of gpiozero's.

    Raises `PanelError`.
    """
    if reason := why_no_pins():
        raise PanelError(reason)
    try:
        if os.environ.get("GPIOZERO_PIN_FACTORY"):
            Device.ensure_pin_factory()
            return Device.pin_factory
        return _lgpio_factory()
    except ModuleNotFoundError as error:
        raise PanelError(say("The pins need lgpio: sudo apt install python3-lgpio.")) from error
    except Exception as error:  # the pin libraries raise errors of many kinds
        raise PanelError(say("The pins cannot be opened: {error}.", error=str(error))) from error


def _lgpio_factory() -> Any:
    """Return gpiozero's pin factory for lgpio."""
    # On import lgpio changes to the folder LG_WD and makes a pipe there. It gets a temporary
    # folder, and the process returns to its own.
    before = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="lgpio-") as folder:
        os.environ["LG_WD"] = folder
        try:
            from gpiozero.pins.lgpio import LGPIOFactory  # noqa: PLC0415 - not on every machine
        finally:
            del os.environ["LG_WD"]
            os.chdir(before)
    return LGPIOFactory()
