"""`companion hotspot` and `companion wifi`: control NetworkManager, as root.

A hotspot is a Wi-Fi that this machine opens itself. There are two:

- `companion hotspot on` opens one now and at every start of the machine, until `companion hotspot
  off` ends that (`Hotspot`).
- The service has one opened if the machine starts without a network. systemd runs `companion wifi`
  for each request of the service (`companion.maintenance.own_wifi`): to open this hotspot, or to
  join another Wi-Fi instead (`WifiControl`).

Passwords go to NetworkManager in files that only root may read, never on a command line, where
others could read them in the list of processes.
"""

from __future__ import annotations

import argparse
import os
import re
import secrets
import subprocess
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from companion.cli.lamp import RUN_FOLDER
from companion.cli.options import SETTINGS, argument, command, settings_path
from companion.core.config import WifiSettings
from companion.core.errors import CompanionError, Malformed, SystemTrouble
from companion.core.files import as_owner_of, open_file, replace_file
from companion.core.network import HOTSPOT_ADDRESS, HOTSPOT_NAMES, HOTSPOT_NAMES_FILE, Wifi
from companion.maintenance.own_wifi import (
    ANSWER_FILE,
    MAX_REQUEST_BYTES,
    REQUEST_FILE,
    FailureCode,
    WifiAnswer,
    WifiRequest,
    require_valid_wifi,
)
from companion.maintenance.settings.file import SettingsFile

# Letters and digits of a hotspot's password, without those that look alike.
_PASSWORD_LETTERS = "abcdefghijkmnpqrstuvwxyz23456789"
# Timeout in seconds for a command. It is longer than `JOIN_TIMEOUT_S`, so that nmcli itself reports
# a Wi-Fi that cannot be joined.
COMMAND_TIMEOUT_S = 60.0
# Pause in seconds before the machine closes its hotspot to join another Wi-Fi. During this pause
# the phone that asked for it, which is connected through the hotspot, still gets its answer.
ANSWER_PAUSE_S = 2.0
# Maximum number of attempts to open the hotspot. During a boot the radio is ready late.
MAX_OPEN_ATTEMPTS = 3
# Pause in seconds between two attempts.
RETRY_PAUSE_S = 5.0
# Timeout in seconds for joining a Wi-Fi and getting an address, as text for nmcli, the command of
# NetworkManager. Checking the password alone may take 25 seconds.
JOIN_TIMEOUT_S = "45"

# Runs a command. Returns its exit status and its output.
CommandRunner = Callable[[Sequence[str]], tuple[int, str]]


class HotspotError(SystemTrouble):
    """The hotspot cannot be opened or closed."""

    kind = "hotspot"


@command(
    "hotspot",
    "this machine’s own Wi-Fi for phones: on or off",
    *SETTINGS,
    argument("task", choices=("on", "off")),
    argument("--name", default="Table", help="name of the network (Table)"),
)
def hotspot(options: argparse.Namespace) -> None:
    if os.geteuid() != 0:
        raise HotspotError(
            "The network is the machine’s, not yours alone: sudo companion hotspot …"
        )
    machine_hotspot = Hotspot(settings_path(options))
    print(machine_hotspot.open(options.name) if options.task == "on" else machine_hotspot.close())


@command("wifi", "change the Wi-Fi as a page asks. Its unit runs it")
def wifi(_: argparse.Namespace) -> int:
    return run_wifi(RUN_FOLDER / REQUEST_FILE, ANSWER_FILE, WifiControl())


def run_command(arguments: Sequence[str]) -> tuple[int, str]:
    """Run a command in English. Return its exit status and its output.

    The output is what the command has written to standard error, or if that is nothing, to standard
    output. The status is 127 if the command is not installed, and 1 if it was killed because it did
    not end within `COMMAND_TIMEOUT_S`.
    """
    english = {**os.environ, "LC_ALL": "C"}
    program = arguments[0]
    try:
        result = subprocess.run(
            arguments,
            capture_output=True,
            text=True,
            timeout=COMMAND_TIMEOUT_S,
            check=False,
            env=english,
        )
    except FileNotFoundError:
        return 127, f"{program} is not installed: sudo apt install network-manager dnsmasq-base"
    except subprocess.TimeoutExpired:
        return 1, f"{program} does not answer"
    return result.returncode, (result.stderr or result.stdout).strip()


@dataclass
class WifiProfile:
    """A connection profile of NetworkManager, in a file of its own."""

    name: str
    folder: Path
    """`/etc` for a profile that stays, `/run` for one that a restart of the machine forgets."""
    run: CommandRunner
    """Runs a command."""
    is_hotspot: bool = True
    """Whether this machine opens the Wi-Fi, instead of joining it."""
    autoconnect: bool = True
    """Whether it is used at every start."""

    @property
    def path(self) -> Path:
        """Path of the file, which need not exist."""
        return self.folder / "NetworkManager/system-connections" / f"{self.name}.nmconnection"

    def text(self) -> str:
        """Return the text of the file. Empty if there is none."""
        try:
            return self.path.read_text(encoding="utf-8")
        except OSError:
            return ""

    def activate(self, wifi: Wifi, *options: str) -> tuple[int, str]:
        """Write the profile and activate it. Return the exit status and the output of nmcli.

        After a failure the former profile is restored, but not activated. If there was no former
        profile, the new one is removed: if it stayed, NetworkManager would try it at every start.
        Raises `HotspotError` if the file cannot be written.

        :param options: options of nmcli, such as its timeout
        """
        former = self.text()
        self._load(self.text_for(wifi))
        status, output = self.run(["nmcli", *options, "connection", "up", self.name])
        if status and former:
            self._load(former)
        elif status:
            self.forget()
        return status, output

    def _load(self, text: str) -> None:
        """Write the profile and make NetworkManager read it."""
        _write_file(self.path, text, 0o600)
        self.run(["nmcli", "connection", "load", str(self.path)])

    def forget(self) -> None:
        """Deactivate the profile and delete it."""
        self.run(["nmcli", "connection", "delete", self.name])
        self.path.unlink(missing_ok=True)

    def text_for(self, wifi: Wifi) -> str:
        """Return the text of the file for a Wi-Fi (nm-settings-keyfile(5)).

        The name is written as bytes, so that it may have any characters.
        """
        lines = [
            "[connection]",
            f"id={self.name}",
            # the same UUID every time, so that this profile replaces the former one
            f"uuid={uuid.uuid5(uuid.NAMESPACE_DNS, self.name)}",
            "type=wifi",
            f"autoconnect={str(self.autoconnect).lower()}",
            # if both are possible, NetworkManager joins a Wi-Fi rather than open a hotspot
            f"autoconnect-priority={0 if self.is_hotspot else 10}",
            "[wifi]",
            f"ssid={''.join(f'{byte};' for byte in wifi.name.encode())}",
            f"hidden={str(wifi.hidden).lower()}",
        ]
        if self.is_hotspot:
            lines += ["mode=ap", "band=bg"]
        if wifi.password:
            # in a key file a backslash starts an escape, and a space may get lost
            password = wifi.password.replace("\\", "\\\\").replace(" ", "\\s")
            lines += ["[wifi-security]", "key-mgmt=wpa-psk", f"psk={password}"]
            if self.is_hotspot:
                lines += ["proto=rsn;", "pairwise=ccmp;"]
        if self.is_hotspot:
            # `shared` gives phones addresses of this machine
            lines += ["[ipv4]", "method=shared", "may-fail=false"]
            lines += [f"address1={HOTSPOT_ADDRESS}/24", "[ipv6]", "method=disabled", ""]
        else:
            lines += ["[ipv4]", "method=auto", "may-fail=false", "[ipv6]", "method=auto", ""]
        return "\n".join(lines)


# ---- companion hotspot ---------------------------------------------------------------------------


class Hotspot:
    """The hotspot that opens at every start of the machine (`companion hotspot`).

    :param settings: path of the settings file
    :param root: folder that stands for `/`. Tests replace it
    :param run: runs a command. Tests replace it
    """

    def __init__(
        self, settings: Path, root: Path = Path("/"), run: CommandRunner = run_command
    ) -> None:
        self._settings = settings
        self._run = run
        self._profile = WifiProfile("tabletop-companion-hotspot", root / "etc", run)
        self._names_path = root / HOTSPOT_NAMES_FILE
        self._answer_path = root / ANSWER_FILE.relative_to("/")

    def open(self, name: str) -> str:
        """Open the hotspot under this name, and announce it to phones. Return a summary.

        It writes the profile, the host names that phones can enter, and the Wi-Fi in the settings,
        then restarts the service. An existing profile keeps its password, so that phones that know
        it can still join.

        Raises `Malformed` for the name, `ConfigError` for settings that cannot be read, and
        `HotspotError` if a file cannot be written or if NetworkManager refuses. If it refuses,
        nothing has changed.
        """
        former = self._profile.text()
        # twelve of 32 letters have 60 bits of entropy
        new_password = "".join(secrets.choice(_PASSWORD_LETTERS) for _ in range(12))
        password = _password_in(former) or new_password
        require_valid_wifi(Wifi(name, password))
        with as_owner_of(self._settings.parent):
            port = SettingsFile(self._settings).read().settings.web.port
        names = "".join(f"address=/{host}/{HOTSPOT_ADDRESS}\n" for host in HOTSPOT_NAMES)
        _write_file(self._names_path, names, 0o644)
        status, output = self._profile.activate(Wifi(name, password))
        if status:
            if not former:
                self._names_path.unlink()
            raise HotspotError(f"The hotspot cannot be opened: {output or 'nmcli failed'}")
        # The last answer of `companion wifi` may name the service's hotspot, which is closed now.
        self._answer_path.unlink(missing_ok=True)
        self._update_table(WifiSettings(name, password))
        return (
            f"The hotspot {name} is on, now and after every start: join it by the code on the "
            f"table screen, then http://{HOTSPOT_NAMES[0]}:{port}/ or "
            f"http://{HOTSPOT_ADDRESS}:{port}/. It has no internet access unless the machine is "
            "connected by cable."
        )

    def close(self) -> str:
        """Deactivate the hotspot and delete its profile. Return a summary.

        If the settings still name this Wi-Fi, they name none afterwards, and the service restarts.
        Raises `ConfigError` for settings that cannot be read.
        """
        self._names_path.unlink(missing_ok=True)
        former = self._profile.text()
        if not former:
            return "The hotspot was not on."
        self._profile.forget()
        with as_owner_of(self._settings.parent):
            wifi = SettingsFile(self._settings).read().settings.wifi
        # If the owner has named another Wi-Fi since then, it stays in the settings.
        if wifi.password == _password_in(former):
            self._update_table(WifiSettings())
        return (
            "The hotspot is off; its password is forgotten. If phones join a Wi-Fi of yours, name "
            "it on the settings page."
        )

    def _update_table(self, wifi: WifiSettings) -> None:
        """Write this Wi-Fi to the settings, and restart the service so that it uses them.

        The table screen then shows the QR code of this Wi-Fi, or none if it has no name.
        """
        changes = {f"wifi.{name}": getattr(wifi, name) for name in ("name", "password", "hidden")}
        with as_owner_of(self._settings.parent):
            owner = self._settings.stat() if self._settings.exists() else None
            file = SettingsFile(self._settings)
            file.change(changes, file.read().digest)
            # In a folder of root, the new file would belong to root. The service must be able to
            # write it, so give it back to its owner.
            if owner and os.geteuid() == 0:
                os.chown(self._settings, owner.st_uid, owner.st_gid)
        self._run(
            ["systemctl", "kill", "--signal=SIGUSR1", "--kill-whom=main", "companion.service"]
        )


def _password_in(profile: str) -> str:
    """Return the password in the text of a profile. Empty if there is none."""
    match = re.search(r"^psk=(\S+)$", profile, re.MULTILINE)
    return match[1] if match else ""


def _write_file(path: Path, text: str, mode: int) -> None:
    """Write a file of the system, with these permissions from the first moment on.

    Raises `HotspotError`.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, text.encode(), mode)
    except OSError as error:
        raise HotspotError(f"{path}: cannot be written: {error.strerror}") from None


# ---- companion wifi ------------------------------------------------------------------------------


def run_wifi(request_path: Path, answer_path: Path, control: WifiControl) -> int:
    """Carry out the request in a file, delete that file, and write the answer to another one.

    Return the exit status: 1 if the request failed. Raises `Malformed` for a request that is not
    valid, and then writes no answer.
    """
    request = take_request(request_path)
    try:
        answer = control.carry_out(request)
    except CompanionError as error:  # such as a profile that cannot be written
        print(error.message)
        answer = WifiAnswer(request.request_id, failure="refused")
    replace_file(answer_path, msgspec.json.encode(answer), 0o640)
    return 1 if answer.failure else 0


def take_request(path: Path) -> WifiRequest:
    """Read a request and delete its file.

    Raises `Malformed` if the file is missing or the request is not valid. The error does not quote
    the request, which may hold a password.
    """
    try:
        with open_file(path, follow_link=False) as file:
            request = msgspec.json.decode(file.read(MAX_REQUEST_BYTES), type=WifiRequest)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        raise Malformed("The request cannot be read.") from None
    finally:
        path.unlink(missing_ok=True)
    networks = [network for network in (request.wifi, request.hotspot) if network]
    if not networks:
        raise Malformed("The request is incomplete.")
    for network in networks:
        require_valid_wifi(network)
    return request


class WifiControl:
    """Carries out the service's requests, by NetworkManager (`companion wifi`).

    :param root: folder that stands for `/`. Tests replace it
    :param run: runs a command. Tests replace it
    :param pause: waits for some seconds. Tests replace it
    """

    def __init__(
        self,
        root: Path = Path("/"),
        run: CommandRunner = run_command,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._root = root
        self._run = run
        self._pause = pause
        # At a start the machine first looks for a Wi-Fi that it knows, so this hotspot does not
        # open by itself then.
        self.hotspot_profile = WifiProfile(
            "tabletop-companion-setup", root / "run", run, autoconnect=False
        )
        self.joined_profile = WifiProfile(
            "tabletop-companion-wifi", root / "etc", run, is_hotspot=False
        )

    def carry_out(self, request: WifiRequest) -> WifiAnswer:
        """Carry out a request: open the hotspot, or join another Wi-Fi. Return its outcome.

        Raises `HotspotError` if a profile cannot be written.
        """
        hotspot = request.hotspot
        failure = self._switch_radio_on()
        if request.wifi is None:
            failure = failure or self._open(hotspot)
            return WifiAnswer(request.request_id, None if failure else hotspot, failure)
        self._pause(ANSWER_PAUSE_S)
        if not failure:
            status, output = self.joined_profile.activate(request.wifi, "--wait", JOIN_TIMEOUT_S)
            failure = parse_failure(output) if status else ""
        if not failure:
            self.hotspot_profile.forget()
            return WifiAnswer(request.request_id)
        # Phones must still reach a table that could not join, so open its hotspot again.
        is_reopened = hotspot is not None and not self._open(hotspot)
        return WifiAnswer(request.request_id, hotspot if is_reopened else None, failure)

    def _switch_radio_on(self) -> FailureCode:
        """Switch the radio on. Return why it cannot be used. Empty if it can."""
        self._run(["nmcli", "radio", "wifi", "on"])
        return "" if list(self._root.glob("sys/class/net/*/phy80211")) else "no_radio"

    def _open(self, hotspot: Wifi | None) -> FailureCode:
        """Open the hotspot. Return why this failed. Empty if the hotspot is open.

        A request without a hotspot (None) counts as a failure.
        """
        for attempt in range(MAX_OPEN_ATTEMPTS):
            if attempt:
                self._pause(RETRY_PAUSE_S)
            if hotspot:
                status, _ = self.hotspot_profile.activate(hotspot)
                if not status:
                    return ""
        return "refused"


def parse_failure(output: str) -> FailureCode:
    """Return the code for why NetworkManager did not join a Wi-Fi.

    :param output: output of nmcli. Its sentences are those of `nmc_device_reason_to_string` in its
        source
    """
    if "Secrets were required" in output:
        return "password"
    return "not_found" if "network could not be found" in output else "refused"
