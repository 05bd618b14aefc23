"""`companion lamp`: the process that drives the system lamp. companion-lamp.service starts it
early.
"""

from __future__ import annotations

import argparse
import signal
from pathlib import Path
from typing import Any

from companion.cli.options import SETTINGS, argument, command, settings_of
from companion.core.clock import RealClock
from companion.core.config import PanelSettings
from companion.core.errors import PanelError

RUN = Path("/run/tabletop-companion")
"""The service's folder (`RuntimeDirectory` of companion.service)."""
PINS_TIMEOUT_S, RETRY_S = 60, 1
"""Timeout and retry interval in seconds for opening the pins while the machine boots."""
ENDS = frozenset({signal.SIGTERM, signal.SIGINT})


@command(
    "lamp",
    "drive the system lamp: booting, ready, fault, safe to unplug",
    *SETTINGS,
    argument(
        "--run", type=Path, default=RUN, metavar="DIR", dest="folder", help=f"the service’s ({RUN})"
    ),
)
def lamp(options: argparse.Namespace) -> int:
    return run_lamp(settings_of(options).panel, options.folder)


def run_lamp(settings: PanelSettings, folder: Path, factory: Any = None) -> int:
    """Show the state of the service on the lamp until SIGTERM. Return the exit status.

    Without a lamp or pins it returns at once or after a time-out. During a shutdown, SIGTERM
    arrives last, once every service has ended and the disks are synced.
    """
    from companion.service.systemd import LAMP_FILE  # noqa: PLC0415
    from hardware.lamp import StatusReader, SystemLamp  # noqa: PLC0415 - brings gpiozero

    if settings.enabled == "no" or not isinstance(settings.system_lamp, int):
        print("No system lamp is wired.")
        return 0
    # blocked signals wait for `sigtimedwait`, so none is lost between two polls
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
    clock = RealClock()
    factory = factory or _pins()
    if factory is None:
        return 0
    reader = StatusReader(folder / LAMP_FILE, clock)
    with SystemLamp(settings.system_lamp, settings.system_lamp_active_low, factory) as lamp:
        while True:
            pause_s = lamp.show(reader.state(), clock.monotonic_s())
            if signal.sigtimedwait(ENDS, pause_s) is not None:
                return 0


def _pins() -> Any:
    """Return the machine's pins, which may become available late during a boot.

    Returns None if there are none, and prints why, or if a signal ends the process first.
    """
    from hardware.pin_factory import open_factory  # noqa: PLC0415

    trouble = ""
    for _ in range(PINS_TIMEOUT_S // RETRY_S):
        try:
            return open_factory()
        except PanelError as error:
            trouble = error.message
        if signal.sigtimedwait(ENDS, RETRY_S) is not None:
            return None
    print(trouble)
    return None
