"""`companion wifi`: the part of the table's own Wi-Fi that runs as root. It carries out one request
of the service, and answers.

Passwords go to NetworkManager in files that only root may read, never on a command line.
"""

from __future__ import annotations

import argparse
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import msgspec

from companion.cli.hotspot import NAME, Connection, Run, profile_text, run_command
from companion.cli.lamp import RUN
from companion.cli.options import command
from companion.core.errors import CompanionError, Malformed
from companion.core.files import open_file, replace_file
from companion.core.network import Wifi
from companion.diagnostics.probes import Machine
from companion.maintenance.own_wifi import (
    ANSWER,
    MAX_REQUEST_BYTES,
    REQUEST_FILE,
    Trouble,
    WifiAnswer,
    WifiRequest,
    require_valid,
)

OWN = "tabletop-companion-setup"
OWN_PROFILE = Path(f"run/NetworkManager/system-connections/{OWN}.nmconnection")
"""Profile in memory: after a restart the machine looks for the Wi-Fi that it knows."""
JOINED = "tabletop-companion-wifi"
JOINED_PROFILE = Path(f"etc/NetworkManager/system-connections/{JOINED}.nmconnection")
PAGE_S = 2.0
"""Pause in seconds before the machine leaves its own Wi-Fi, so that the phone gets its answer."""
ATTEMPTS, AGAIN_S = 3, 5.0
"""Number of attempts to open the own Wi-Fi, and seconds between them. During a boot the radio
becomes available late.
"""
JOIN_S = "45"
"""Timeout in seconds for joining a Wi-Fi, including an address. NetworkManager's own for the
password is 25.
"""


@command("wifi", "change the Wi-Fi as a page asks. Its unit runs it")
def wifi(_: argparse.Namespace) -> int:
    return run_wifi(RUN / REQUEST_FILE, ANSWER, WifiControl())


def run_wifi(request_path: Path, answer_path: Path, control: WifiControl) -> int:
    """Carry out the request in a file and delete the file. Return the exit status."""
    request = take_request(request_path)
    try:
        answer = control.carry_out(request)
    except CompanionError as error:  # a profile that cannot be written
        print(error.message)
        answer = WifiAnswer(request.number, trouble="refused")
    replace_file(answer_path, msgspec.json.encode(answer), 0o640)
    return 1 if answer.trouble else 0


def take_request(path: Path) -> WifiRequest:
    """Read a request and delete its file. Raises `Malformed` for an invalid one, without quoting
    it.
    """
    try:
        with open_file(path, follow_link=False) as file:
            request = msgspec.json.decode(file.read(MAX_REQUEST_BYTES), type=WifiRequest)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        raise Malformed("The request cannot be read.") from None
    finally:
        path.unlink(missing_ok=True)
    if request.wifi:
        require_valid(request.wifi)
    if request.hotspot:
        require_valid(request.hotspot)
        if not NAME.fullmatch(request.hotspot.name):
            raise Malformed("The request names no hotspot.")
    # only a request to join names a Wi-Fi, all others need the own hotspot
    is_join = request.task == "join"
    if (request.wifi is None) is is_join or not (is_join or request.hotspot):
        raise Malformed("The request is incomplete.")
    return request


class WifiControl:
    """Controls NetworkManager on one machine. Tests replace `root`, `run` and `pause`."""

    def __init__(
        self,
        root: Path = Path("/"),
        run: Run = run_command,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._machine, self._run, self._pause = Machine(root), run, pause
        self._own = Connection(OWN, root / OWN_PROFILE, run)
        self._joined = Connection(JOINED, root / JOINED_PROFILE, run)

    def carry_out(self, request: WifiRequest) -> WifiAnswer:
        """Carry out a request, and return its outcome."""
        own = request.hotspot
        if request.wifi is not None:
            self._pause(PAGE_S)
            trouble = self._readiness() or self._join(request.wifi)
            if not trouble:
                self._own.forget()
            # a table that could not join must stay reachable
            is_back = bool(trouble and own) and not self._open(own)
            return WifiAnswer(request.number, own if is_back else None, trouble)
        if request.task == "close":
            # NetworkManager joins a known Wi-Fi by itself once the radio is free
            _, output = self._run(["nmcli", "-t", "-f", "TYPE,AUTOCONNECT", "connection", "show"])
            if "802-11-wireless:yes" not in output.splitlines():
                return WifiAnswer(request.number, own)
            self._own.forget()
            return WifiAnswer(request.number)
        trouble = self._open(own)
        return WifiAnswer(request.number, None if trouble else own, trouble)

    def _readiness(self) -> Trouble:
        """Switch the radio on. Return why it cannot be used, or an empty string."""
        status, _ = self._run(["nmcli", "radio", "wifi", "on"])
        if status == 127:
            return "no_manager"
        read = self._machine.text
        if not self._machine.glob("sys/class/net/*/phy80211"):
            return "no_radio"
        for switch in self._machine.glob("sys/class/rfkill/*"):
            if read(f"{switch}/type") == "wlan" and read(f"{switch}/hard") == "1":
                return "blocked"
        return ""

    def _open(self, own: Wifi | None) -> Trouble:
        if own is None:
            return "refused"
        text = profile_text(OWN, own.name, own.password, is_permanent=False)
        trouble: Trouble = ""
        for attempt in range(ATTEMPTS):
            if attempt:
                self._pause(AGAIN_S)
            trouble = self._readiness()
            if not trouble and self._own.up(text)[0]:
                trouble = "refused"
            if not trouble:
                break
        return trouble

    def _join(self, wifi: Wifi) -> Trouble:
        """Join a Wi-Fi and store it. If that fails, the one stored before is restored."""
        status, output = self._joined.up(joined_text(wifi), "--wait", JOIN_S)
        return trouble_of(output) if status else ""


def trouble_of(output: str) -> Trouble:
    """Return why NetworkManager did not join, from its output (`nmc_device_reason_to_string` of
    nmcli).
    """
    if "Secrets were required" in output:
        return "password"
    return "not_found" if "network could not be found" in output else "refused"


def joined_text(wifi: Wifi) -> str:
    r"""Return NetworkManager's file for a Wi-Fi (nm-settings-keyfile(5)).

    The name is written as bytes, so that any name will do.

    >>> print(joined_text(Wifi("a;b", "back\\slash 1")).split("\n\n")[1])
    [wifi]
    ssid=97;59;98;
    hidden=false
    """
    ssid = "".join(f"{byte};" for byte in wifi.name.encode())
    # in a key file a backslash starts an escape, and a space may get lost
    password = wifi.password.replace("\\", "\\\\").replace(" ", "\\s")
    security = f"[wifi-security]\nkey-mgmt=wpa-psk\npsk={password}\n\n" if password else ""
    return (
        f"[connection]\nid={JOINED}\nuuid={uuid.uuid5(uuid.NAMESPACE_DNS, JOINED)}\ntype=wifi\n"
        "autoconnect-priority=10\n\n"
        f"[wifi]\nssid={ssid}\nhidden={str(wifi.hidden).lower()}\n\n{security}"
        "[ipv4]\nmethod=auto\nmay-fail=false\n\n[ipv6]\nmethod=auto\n"
    )
