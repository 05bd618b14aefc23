"""`companion lamp`: the process behind the system lamp, begun early by companion-lamp.service."""

from __future__ import annotations

import argparse
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from companion.core.clock import RealClock
from companion.core.config import PanelSettings, Settings
from companion.core.errors import PanelError

RUN = Path("/run/tabletop-companion")
"""The service's folder (`RuntimeDirectory` of companion.service)."""
PATIENCE_S, AGAIN_S = 60, 1
"""Timeout and interval in seconds for trying the pins while the machine still boots."""
ENDS = frozenset({signal.SIGTERM, signal.SIGINT})


def add_lamp(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    add_settings: Callable[[argparse.ArgumentParser], None],
    settings_of: Callable[[argparse.Namespace], Settings],
) -> None:
    """Add `companion lamp` with its options."""
    command = commands.add_parser(
        "lamp", help="drive the system lamp: booting, ready, fault, safe to unplug"
    )
    add_settings(command)
    command.add_argument(
        "--run", type=Path, default=RUN, metavar="DIR", dest="folder", help=f"the service’s ({RUN})"
    )
    command.set_defaults(run=lambda options: run_lamp(settings_of(options).panel, options.folder))


def run_lamp(settings: PanelSettings, folder: Path, factory: Any = None) -> int:
    """Show what the service says until SIGTERM.

    Return the exit status. Without a lamp or pins there is nothing to do.

    The machine takes its time: SIGTERM comes last of all, once every service has ended and the disks are synced.
    """
    from companion.service.systemd import LAMP_FILE  # noqa: PLC0415
    from hardware.lamp import Sense, SystemLamp  # noqa: PLC0415 - brings gpiozero

    if settings.enabled == "no" or not isinstance(settings.system_lamp, int):
        print("No system lamp is wired.")
        return 0
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
    clock = RealClock()
    if factory is None and (factory := _pins()) is None:
        return 0
    sense = Sense(folder / LAMP_FILE, clock)
    with SystemLamp(settings.system_lamp, settings.system_lamp_active_low, factory) as lamp:
        while True:
            pause_s = lamp.show(sense.shown(), clock.monotonic_s())
            if signal.sigtimedwait(ENDS, pause_s) is not None:
                return 0


def _pins() -> Any:
    """Return the machine's pins, which may come late at the start.

    None, and a word: there are none, or the end came first.
    """
    from hardware.pins import open_factory  # noqa: PLC0415

    for attempt in range(1, PATIENCE_S // AGAIN_S + 1):
        try:
            return open_factory()
        except PanelError as error:
            if attempt * AGAIN_S >= PATIENCE_S:
                print(error.message)
        if signal.sigtimedwait(ENDS, AGAIN_S) is not None:
            break
    return None
