"""How phones get in: the addresses of the pages, and the Wi-Fi that they join first, as people and QR codes tell it."""

from __future__ import annotations

import shutil
import subprocess
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from segno import helpers

from companion.clock import Clock
from companion.config import WifiSettings
from companion.kit import Seat

NMCLI_S = 3.0
"""So long NetworkManager may take to answer."""
LOOK_S = 60.0
"""So long what it said is believed."""


@dataclass(frozen=True)
class Wifi:
    """A wireless network; an empty `password` is an open one. The password is in no repr, hence in no log."""

    name: str
    password: str = field(default="", repr=False)
    hidden: bool = False

    @property
    def text(self) -> str:
        r"""What a QR code says so that a phone joins it.

        >>> print(Wifi("Table; one", "ab:12345").text)
        WIFI:T:WPA;S:Table\; one;P:ab\:12345;;
        """
        kind = "WPA" if self.password else "nopass"
        told = helpers.make_wifi_data(self.name, self.password or None, kind, self.hidden)
        text = told.decode() if isinstance(told, bytes) else told
        return text if text.endswith(";;") else f"{text};"  # segno leaves the last one out for a hidden network


def seat_address(url: str, seat: Seat) -> str:
    """The short address that takes a seat, under the table screen's.

    >>> seat_address("http://192.0.2.7:8080/", Seat.SOUTH)
    'http://192.0.2.7:8080/s'
    """
    return f"{url}{seat[:1]}"


def shown(url: str) -> str:
    """An address as people type it.

    >>> shown("http://192.0.2.7:8080/s"), shown("http://table.local/")
    ('192.0.2.7:8080/s', 'table.local')
    """
    return url.removeprefix("http://").rstrip("/")


# ---- the Wi-Fi ------------------------------------------------------------------------------------------------------


class Network:
    """The Wi-Fi for phones: that of the settings, else the machine's own hotspot, which may come and go.

    A context manager. NetworkManager is asked in a thread, at most once in `LOOK_S`, while somebody wants to know;
    `when_changed` is called there. `run` answers the output of a command, empty when it fails.
    """

    def __init__(
        self,
        settings: WifiSettings,
        clock: Clock,
        when_changed: Callable[[], None] = lambda: None,
        run: Callable[[Sequence[str]], str] | None = None,
    ) -> None:
        self.settings = settings
        self._clock = clock
        self._when_changed = when_changed
        self._run = run or _run
        self._found: Wifi | None = None
        self._looked_s: float | None = None
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._has_manager = run is not None or shutil.which("nmcli") is not None

    def wifi(self) -> Wifi | None:
        """What is known of it now; returns at once."""
        settings = self.settings
        if settings.name:
            return Wifi(settings.name, settings.password, settings.hidden)
        now_s = self._clock.monotonic_s()
        with self._lock:
            is_due = self._looked_s is None or now_s - self._looked_s >= LOOK_S
            if self._has_manager and is_due and (self._thread is None or not self._thread.is_alive()):
                self._looked_s = now_s
                self._thread = threading.Thread(target=self._look, name="network", daemon=True)
                self._thread.start()
            return self._found

    def settle(self) -> None:
        """Wait until a look that is under way has ended."""
        if self._thread:
            self._thread.join(2 * NMCLI_S)

    def _look(self) -> None:
        found = hotspot(self._run)
        if found != self._found:
            self._found = found
            self._when_changed()

    def __enter__(self) -> Network:
        return self

    def __exit__(self, *_: object) -> None:
        self.settle()


def hotspot(run: Callable[[Sequence[str]], str]) -> Wifi | None:
    """The hotspot that NetworkManager runs now, as `nmcli` tells it; None: there is none, or its password is not told.

    `run` answers the output of a command, empty when it fails.
    """
    for line in run(["nmcli", "-t", "-f", "UUID,TYPE", "connection", "show", "--active"]).splitlines():
        uuid, _, kind = line.partition(":")
        if kind != "802-11-wireless":
            continue
        wanted = "802-11-wireless.mode,802-11-wireless.ssid,802-11-wireless.hidden,802-11-wireless-security.key-mgmt"
        fields = f"{wanted},802-11-wireless-security.psk"
        told = _fields(run(["nmcli", "-s", "-t", "-f", fields, "connection", "show", "uuid", uuid]))
        name, password = told.get("802-11-wireless.ssid", ""), told.get("802-11-wireless-security.psk", "")
        is_open = told.get("802-11-wireless-security.key-mgmt", "") in ("", "--", "none")
        if told.get("802-11-wireless.mode") == "ap" and name and (password or is_open):
            return Wifi(name, "" if is_open else password, told.get("802-11-wireless.hidden") == "yes")
    return None


def _fields(text: str) -> dict[str, str]:
    r"""What `nmcli -t` prints, a line for each field; a colon or backslash in a value has a backslash before it."""
    found = {}
    for line in text.splitlines():
        name, _, value = line.partition(":")
        found[name] = value.replace("\\:", ":").replace("\\\\", "\\")
    return found


def _run(command: Sequence[str]) -> str:
    """The output of a command; empty when it is not there, fails or takes too long. Nothing of it is logged."""
    if shutil.which(command[0]) is None:
        return ""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=NMCLI_S, check=False)
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError):
        return ""
    return done.stdout if done.returncode == 0 else ""
