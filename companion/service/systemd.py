"""What the service tells the machine that runs it: ready, alive, what it does, and what the system
lamp shows.

systemd listens on a datagram socket (sd_notify(3), by the standard library alone); the system lamp
is a process of its own (`companion lamp`) that reads one word from the service's folder under
`/run`, so that it still speaks when this one does not. Without systemd nothing is told and nothing
is missing.
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
    from companion.core.clock import Clock
    from companion.table.table import Table
    from hardware.panel import Panel

POWER_FILE = "poweroff"
"""What companion-poweroff.path waits for in that folder: the service may not switch off anything
itself."""
LAMP_FILE = "lamp"
"""The word for the system lamp, in the service's folder under `/run`. It is written anew at every
look."""


class Word(StrEnum):
    """What the service says to the system lamp."""

    READY = "ready"
    HOTSPOT = "hotspot"
    FAULT = "fault"
    STOPPING = "stopping"


class Manager:
    """systemd, as this process sees it through its environment. Outside of it every method does
    nothing.
    """

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self._address = environment.get("NOTIFY_SOCKET", "")
        folder = environment.get("RUNTIME_DIRECTORY", "").partition(":")[0]
        self.folder = Path(folder) if folder else None
        """The service's own folder under `/run`; None: it has none."""
        pid, every_us = environment.get("WATCHDOG_PID", ""), environment.get("WATCHDOG_USEC", "")
        # it may be meant for another process of the unit (sd_watchdog_enabled(3))
        is_meant = every_us.isdigit() and pid in ("", str(os.getpid()))
        self.watchdog_s = int(every_us) / 1e6 if is_meant else None
        """Interval in seconds at which the watchdog wants to be fed. None: there is none."""

    @property
    def is_there(self) -> bool:
        """Return whether anybody listens."""
        return bool(self._address or self.folder)

    def tell(self, **fields: str) -> None:
        """Send fields such as `READY="1"` or `STATUS="…"`.

        What cannot be sent is left out: the service comes first.
        """
        if not self._address:
            return
        # one field a line, so line ends in a sentence become spaces
        text = "\n".join(f"{name}={' '.join(value.split())}" for name, value in fields.items())
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
            line.setblocking(False)
            line.sendto(text.encode(errors="replace"), self._address)

    def show(self, word: Word) -> None:
        """Have the system lamp show this."""
        if self.folder is None:
            return
        # renamed, so that nobody reads half a word
        unfinished = self.folder / f"{LAMP_FILE}.part"
        with contextlib.suppress(OSError):
            unfinished.write_text(word, encoding="ascii")
            unfinished.replace(self.folder / LAMP_FILE)

    def switch_off(self) -> bool:
        """Have the machine switched off, by the unit that waits for that.

        Return whether it could be asked.
        """
        if self.folder is None:
            return False
        try:
            (self.folder / POWER_FILE).touch()
        except OSError:
            return False
        return True


def power_key(
    table: Table, panel: Panel, clock: Clock, *, simulated: bool, has_lamp: bool, threads: bool
) -> PowerKey:
    """Return what stands between a panel's table button and the table.

    In simulation it only says what it would do.

    `has_lamp`: a system lamp tells when the cord may be pulled.
    """

    def switch_off() -> tuple[bool, str]:
        if simulated:
            return False, say(
                "Simulation: here the machine would switch off, and the game would be kept."
            )
        if Manager().switch_off():
            if has_lamp:
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
        play=table.press,
        is_at_once=lambda: table.is_open,
        signal=panel.signal,
        tell=partial(table.notice, "power"),
        switch_off=switch_off,
    )
    return PowerKey(clock, lambda: "table" in panel.down, actions, threads=threads)
