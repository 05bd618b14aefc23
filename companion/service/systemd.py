"""What the service tells the machine that runs it: ready, alive, what it does, and what the system lamp shows.

systemd listens on a datagram socket (sd_notify(3), by the standard library alone); the system lamp is a process of its
own (`companion lamp`) that reads one word from the service's folder under `/run`, so that it still speaks when this
one does not. Without systemd nothing is told and nothing is missing.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import threading
from collections.abc import Mapping
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from companion.core.errors import SystemTrouble, trace_of
from companion.core.i18n import say
from companion.core.ports import Closeable
from companion.diagnostics.own_pages import IS_COMPANION, ask_address, own_address
from companion.table.listeners import TableListener
from hardware.power import PowerActions, PowerKey

if TYPE_CHECKING:
    from companion.core.clock import Clock
    from companion.core.config import Settings, WebSettings
    from companion.core.heartbeat import Heartbeats
    from companion.maintenance.own_wifi import OwnWifi
    from companion.table.table import Table
    from hardware.panel import Panel
    from web.server.server import Server

log = logging.getLogger(__name__)
LOOK_S = 2.0
"""Interval in seconds at which the watchdog is fed and told how the service is, unless systemd wants it more often."""
ANSWER_TIMEOUT_S = 10.0
"""Timeout in seconds for the first page."""
POWER_FILE = "poweroff"
"""What companion-poweroff.path waits for in that folder: the service may not switch off anything itself."""
WORDLESS = "Runs; how the game stands cannot be said: see the log"
LAMP_FILE = "lamp"
"""The word for the system lamp, in the service's folder under `/run`. It is written anew at every look."""


class Word(StrEnum):
    """What the service says to the system lamp."""

    READY = "ready"
    HOTSPOT = "hotspot"
    FAULT = "fault"
    STOPPING = "stopping"


class Manager:
    """systemd, as this process sees it through its environment. Outside of it every method does nothing."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self._address = environment.get("NOTIFY_SOCKET", "")
        folder = environment.get("RUNTIME_DIRECTORY", "").partition(":")[0]
        self.folder = Path(folder) if folder else None
        """The service's own folder under `/run`; None: it has none."""
        pid, every_us = environment.get("WATCHDOG_PID", ""), environment.get("WATCHDOG_USEC", "")
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
        text = "\n".join(f"{name}={' '.join(value.split())}" for name, value in fields.items())
        address = f"\0{self._address[1:]}" if self._address.startswith("@") else self._address
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
            line.setblocking(False)
            line.sendto(text.encode(errors="replace"), address)

    def show(self, word: Word) -> None:
        """Have the system lamp show this."""
        if self.folder is None:
            return
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


class Attended(Protocol):
    """What the manager is told of: a service whose pages answer."""

    settings: Settings
    table: Table
    server: Server
    own_wifi: OwnWifi | None

    @property
    def vitals(self) -> Heartbeats:
        """Return who was heard when."""


class ManagerNotifier(Closeable):
    """Tells the manager how one companion is, until it is closed. A context manager, `close` may be called twice.

    The watchdog is fed only while everything that `Heartbeats` listens for is alive: a table whose loop hangs starves
    it, systemd ends the process and starts it again, and the game goes on from the journal.
    """

    def __init__(self, companion: Attended, manager: Manager) -> None:
        self._companion = companion
        self._manager = manager
        self._trouble = False
        self._status = ""
        self._stop = threading.Event()
        self._pause_s = min(LOOK_S, (manager.watchdog_s or LOOK_S * 3) / 3)
        self._thread = threading.Thread(target=self._run, name="attendant", daemon=True)
        if manager.is_there:
            companion.table.connect(TableListener(on_lamps=self._lamps))
            until_answered(companion.settings.web, companion.server.port)
            manager.tell(READY="1", **self._look())
            self._thread.start()

    def _lamps(self, _lamps: object, trouble: bool) -> None:
        self._trouble = trouble

    def _run(self) -> None:
        while not self._stop.wait(self._pause_s):
            fields = self._look()
            if fields:
                self._manager.tell(**fields)

    def _look(self) -> dict[str, str]:
        """Feed the watchdog if all are alive, and say what is new."""
        late = self._companion.vitals.late()
        own_wifi = self._companion.own_wifi
        well = Word.HOTSPOT if own_wifi and own_wifi.hotspot else Word.READY
        self._manager.show(Word.FAULT if late or self._trouble else well)
        fields = {} if late else {"WATCHDOG": "1"}
        status = silence(late) if late else self._sign()
        if status != self._status:
            self._status = fields["STATUS"] = status
        return fields

    def _sign(self) -> str:
        try:
            return status_of(self._companion.table)
        except (
            Exception
        ) as error:  # for want of words nobody may starve a table at which people play
            if self._status != WORDLESS:
                log.error("The status has no words: %s", trace_of(error))
            return WORDLESS

    def close(self) -> None:
        """Say no more."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()


def silence(late: Mapping[str, float]) -> str:
    """Return who is not heard any more, in words.

    >>> silence({"table": 12.3})
    'Not alive: table, silent for 12 s'
    """
    return "Not alive: " + ", ".join(
        f"{name}, silent for {age_s:.0f} s" for name, age_s in sorted(late.items())
    )


def status_of(table: Table) -> str:
    """Return what the table's sign says to everybody, in English.

    Nothing that anybody could not read there.
    """
    view = table.view()
    return f"{view.title}: {view.sign.text}" if view.game else view.sign.text


def until_answered(web: WebSettings, port: int, timeout_s: float = ANSWER_TIMEOUT_S) -> None:
    """Wait until the pages answer. Raises `SystemTrouble`."""
    address = own_address(web, port)
    try:
        ask_address(address, IS_COMPANION, "/health", timeout_s=timeout_s)
    except OSError as error:
        raise SystemTrouble(f"The pages do not answer at {address}: {error}") from None


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
