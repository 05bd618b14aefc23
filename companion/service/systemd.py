"""Reports to the system that runs the service: readiness, watchdog, status, and the system lamp.

systemd listens on a datagram socket (sd_notify(3), here without its library). The system lamp is
driven by another process (`companion lamp`), which reads one word from the service's folder under
`/run`, so that it works even if the service fails. Without systemd nothing is reported.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Mapping
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from companion.core.i18n import say
from hardware.power import PowerActions, PowerKey

if TYPE_CHECKING:
    from companion.table.table import Table
    from hardware.panel import Panel

# File in the service's folder under `/run` that triggers companion-poweroff.path, a unit that
# switches the machine off. The service itself may not.
POWER_FILE = "poweroff"
# File with the word for the system lamp, in the service's folder under `/run`. It is written again
# with every report (`companion.service.lifecycle`), so an old one tells that the service hangs.
LAMP_FILE = "lamp"


class LampWord(StrEnum):
    """The words for the system lamp that the service writes."""

    READY = "ready"
    HOTSPOT = "hotspot"
    FAULT = "fault"
    STOPPING = "stopping"


class ServiceManager:
    """The service manager, systemd, as the environment of this process names it.

    Without systemd the methods do nothing. It holds nothing open, so it need not be closed.
    """

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self._address = environment.get("NOTIFY_SOCKET", "")
        folder = environment.get("RUNTIME_DIRECTORY", "").partition(":")[0]
        self.folder = Path(folder) if folder else None
        """The service's own folder under `/run`. None without systemd."""
        pid = environment.get("WATCHDOG_PID", "")
        interval_us = environment.get("WATCHDOG_USEC", "")
        # The watchdog may be meant for another process of the unit (sd_watchdog_enabled(3)).
        is_meant = interval_us.isdigit() and pid in ("", str(os.getpid()))
        self.watchdog_s = int(interval_us) / 1e6 if is_meant else None
        """Interval of the watchdog in seconds. None without one."""

    @property
    def has_receiver(self) -> bool:
        """Return whether anybody receives the reports."""
        return bool(self._address or self.folder)

    def notify(self, **fields: str) -> None:
        """Send fields such as `READY="1"` or `STATUS="…"` to systemd, as sd_notify(3) does.

        A failure is ignored, because the service is more important.
        """
        if not self._address:
            return
        # One field per line, so line ends in a sentence become spaces.
        text = "\n".join(f"{name}={' '.join(value.split())}" for name, value in fields.items())
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
            sock.setblocking(False)
            sock.sendto(text.encode(errors="replace"), self._address)

    def set_lamp_word(self, word: LampWord) -> None:
        """Set what the system lamp shows."""
        if self.folder is None:
            return
        # Write and rename, so that nobody reads half a word.
        unfinished = self.folder / f"{LAMP_FILE}.part"
        with contextlib.suppress(OSError):
            unfinished.write_text(word, encoding="ascii")
            unfinished.replace(self.folder / LAMP_FILE)

    def switch_off(self) -> bool:
        """Ask the unit that waits for `POWER_FILE` to switch off the machine.

        Return whether that was possible.
        """
        if self.folder is None:
            return False
        try:
            (self.folder / POWER_FILE).touch()
        except OSError:
            return False
        return True


def connect_power_key(
    table: Table, panel: Panel, *, is_simulated: bool, has_system_lamp: bool
) -> PowerKey:
    """Make the power key, and let it handle the panel's table button before the table does.

    In simulation it only says what it would do. With a system lamp its sentence says that the lamp
    shows when the plug may be pulled.
    """

    def switch_off() -> tuple[bool, str]:
        if is_simulated:
            return False, say(
                "Simulation: here the machine would switch off, and the game would be kept."
            )
        if ServiceManager().switch_off():
            if has_system_lamp:
                return True, say(
                    "Switching off: the game is kept. Pull the plug once the system lamp is dark."
                )
            return True, say(
                "Switching off: the game is kept. Wait half a minute before you pull the plug."
            )
        return False, say(
            "The machine cannot be switched off from here: the service is not installed."
        )

    actions = PowerActions(
        press_table=table.press,
        is_urgent=lambda: table.is_open,
        signal=panel.signal,
        show_notice=partial(table.set_notice, "power"),
        switch_off=switch_off,
    )
    key = PowerKey(actions)
    panel.on_table_button = key.handle
    return key
