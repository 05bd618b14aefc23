"""`companion lamp`: the process that drives the system lamp.

companion-lamp.service starts it early during a boot and ends it last during a shutdown, so that the
lamp shows when the machine may be unplugged.
"""

from __future__ import annotations

import argparse
import signal
from pathlib import Path
from typing import Any

from companion.cli.options import SETTINGS, argument, command, settings_from_options
from companion.core.clock import RealClock
from companion.core.config import PanelSettings
from companion.core.errors import PanelError

# Folder in which the service writes its state (`RuntimeDirectory` of companion.service).
RUN_FOLDER = Path("/run/tabletop-companion")
# Timeout in seconds for opening the pins while the machine boots. After that the machine counts as
# one without pins.
PINS_TIMEOUT_S = 60
# Interval in seconds between two attempts to open the pins.
RETRY_INTERVAL_S = 1

# Signals that end the process.
END_SIGNALS = frozenset({signal.SIGTERM, signal.SIGINT})


@command(
    "lamp",
    "drive the system lamp: booting, ready, fault, safe to unplug",
    *SETTINGS,
    argument(
        "--run",
        type=Path,
        default=RUN_FOLDER,
        metavar="DIR",
        dest="folder",
        help=f"folder in which the service writes its state ({RUN_FOLDER})",
    ),
)
def lamp(options: argparse.Namespace) -> int:
    return run_lamp(settings_from_options(options).panel, options.folder)


def run_lamp(settings: PanelSettings, folder: Path, factory: Any = None) -> int:
    """Show the state of the service on the lamp until SIGTERM or SIGINT. Return the exit status 0.

    If no lamp is wired, return at once. If there are no pins, return after `PINS_TIMEOUT_S`. During
    a shutdown systemd sends SIGTERM to this process last, once every service has ended and the
    disks are synced.

    :param folder: the folder in which the service writes its state
    :param factory: gpiozero's pin factory. Tests replace it
    """
    from companion.service.systemd import LAMP_FILE  # noqa: PLC0415
    from hardware.lamp import StatusReader, SystemLamp  # noqa: PLC0415 - brings gpiozero

    if settings.enabled == "no" or not isinstance(settings.system_lamp, int):
        print("No system lamp is wired.")
        return 0
    # A signal that is blocked waits until `sigtimedwait` asks for it. So no signal is lost while
    # the lamp is driven.
    signal.pthread_sigmask(signal.SIG_BLOCK, END_SIGNALS)
    clock = RealClock()
    factory = factory or _wait_for_pins()
    if factory is None:
        return 0
    reader = StatusReader(folder / LAMP_FILE, clock)
    with SystemLamp(settings.system_lamp, settings.system_lamp_active_low, factory) as system_lamp:
        while True:
            pause_s = system_lamp.show(reader.read_state(), clock.monotonic_s())
            if signal.sigtimedwait(END_SIGNALS, pause_s) is not None:
                return 0


def _wait_for_pins() -> Any:
    """Wait for the machine's pins, which may become available late during a boot.

    Return their factory, or None in two cases: if a signal ends the process first, or if no pins
    become available in time. In the second case print the reason.
    """
    from hardware.pin_factory import open_pin_factory  # noqa: PLC0415

    trouble = ""
    for _ in range(PINS_TIMEOUT_S // RETRY_INTERVAL_S):
        try:
            return open_pin_factory()
        except PanelError as error:
            trouble = error.message
        if signal.sigtimedwait(END_SIGNALS, RETRY_INTERVAL_S) is not None:
            return None
    print(trouble)
    return None
