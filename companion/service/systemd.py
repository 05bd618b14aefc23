"""Reports to the system that runs the service: readiness, watchdog, status, and the system lamp.

systemd listens on a datagram socket (sd_notify(3), here without its library). The system lamp is
driven by another process (`companion lamp`), so that the lamp works even if the service fails. That
process reads one word from a file in the service's folder under `/run`. Without systemd nothing is
reported.

The last part connects the panel's table button, which may switch the machine off.
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

# Name of the file in the service's folder under `/run` that has the machine switched off. The
# service itself may not do that: systemd notices the file (companion-poweroff.path).
POWER_FILE = "poweroff"
# Name of the file with the word for the system lamp, in the same folder. The service writes it
# again with every report (`companion.service.lifecycle`). If the file is old, the service hangs.
LAMP_FILE = "lamp"


class LampWord(StrEnum):
    """The words for the system lamp that the service writes."""

    READY = "ready"
    HOTSPOT = "hotspot"
    FAULT = "fault"
    STOPPING = "stopping"


class ServiceManager:
    """The service manager, systemd, as the environment of this process describes it.

    Without systemd the methods do nothing. An object holds nothing open, so it need not be closed.
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
        """Interval of the watchdog in seconds. None if this process has no watchdog."""

    @property
    def has_receiver(self) -> bool:
        """Whether anybody receives the reports."""
        return bool(self._address or self.folder)

    def notify(self, **fields: str) -> None:
        """Send fields such as `READY="1"` or `STATUS="…"` to systemd, as sd_notify(3) does.

        A failure is ignored, because the service is more important than its reports.
        """
        if not self._address:
            return
        # Each field is one line, so line ends within a value become spaces.
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
        """Ask systemd to switch off the machine, by `POWER_FILE`.

        Return whether the file could be made.
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
    """Make the power key, which handles the panel's table button before the table does.

    :param is_simulated: whether the panel is simulated. Then holding the button only shows a
        sentence on what it would do
    :param has_system_lamp: whether a system lamp shows when the plug may be pulled. Then the
        sentence says so
    """

    def switch_off() -> tuple[bool, str]:
        """Ask the machine to switch off. Return whether it will, and a sentence."""
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
