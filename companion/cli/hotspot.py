"""`companion hotspot`: a Wi-Fi opened by this machine, with a profile of NetworkManager. It is
optional.

The template of the profile is `systemd/hotspot.nmconnection`. The password is generated here and
never given on a command line, where others could read it in the list of processes. Only the table's
own QR code for phones shows it.
"""

from __future__ import annotations

import argparse
import os
import re
import secrets
import subprocess
import sys
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from companion.cli.options import SETTINGS, argument, command, settings_path
from companion.core.config import WifiSettings
from companion.core.errors import Malformed, SystemTrouble
from companion.core.files import as_owner_of, replace_file
from companion.core.network import HOTSPOT_ADDRESS, HOTSPOT_NAMES, HOTSPOT_NAMES_FILE
from companion.maintenance.own_wifi import ANSWER
from companion.maintenance.settings.file import SettingsFile

CONNECTION = "tabletop-companion-hotspot"
PROFILE = Path(f"etc/NetworkManager/system-connections/{CONNECTION}.nmconnection")
TEMPLATE = "hotspot.nmconnection"
_LETTERS = "abcdefghijkmnpqrstuvwxyz23456789"
"""Letters and digits of a password, without those that look alike."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _.-]{0,31}")
COMMAND_TIMEOUT_S = 60.0

Run = Callable[[Sequence[str]], tuple[int, str]]
"""Runs a command. Returns its exit status and its output."""


class NoHotspot(SystemTrouble):
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
    own = Hotspot(settings_path(options))
    print(own.open(options.name) if options.task == "on" else own.close())


def run_command(command: Sequence[str]) -> tuple[int, str]:
    """Run a command. Return its exit status (127: not installed) and its output in English."""
    english = {**os.environ, "LC_ALL": "C"}
    try:
        result = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=COMMAND_TIMEOUT_S,
            check=False,
            env=english,
        )
    except FileNotFoundError:
        return 127, f"{command[0]} is not installed: sudo apt install network-manager dnsmasq-base"
    except subprocess.TimeoutExpired:
        return 1, f"{command[0]} does not answer"
    return result.returncode, (result.stderr or result.stdout).strip()


class Connection:
    """One profile of NetworkManager, and its file."""

    def __init__(self, name: str, path: Path, run: Run) -> None:
        self.name, self.path, self._run = name, path, run

    def text(self) -> str:
        """Return the current profile. Empty if there is none."""
        try:
            return self.path.read_text(encoding="utf-8")
        except OSError:
            return ""

    def up(self, text: str, *options: str) -> tuple[int, str]:
        """Write the profile and activate it. Return the exit status and the output.

        After a failure the former profile is restored, or this one is removed. Otherwise
        NetworkManager would try it at every start.
        """
        former = self.text()
        self._load(text)
        status, output = self._run(["nmcli", *options, "connection", "up", self.name])
        if status and former:
            self._load(former)
        elif status:
            self.forget()
        return status, output

    def _load(self, text: str) -> None:
        write_profile(self.path, text)
        self._run(["nmcli", "connection", "load", str(self.path)])

    def forget(self) -> None:
        """Deactivate the profile and delete it."""
        self._run(["nmcli", "connection", "delete", self.name])
        self.path.unlink(missing_ok=True)


@dataclass
class Hotspot:
    """The hotspot of one machine. Tests replace `root` and `run`."""

    settings: Path
    root: Path = Path("/")
    run: Run = run_command

    def open(self, name: str) -> str:
        """Write the profile and the host names, activate the hotspot, and announce it to phones.
        Return a summary.

        An existing profile keeps its password, so that phones that know it can still join. Raises
        `Malformed` for the name, and `NoHotspot` if NetworkManager refuses. Then nothing has
        changed.
        """
        if not NAME.fullmatch(name):
            raise Malformed(
                "The name of a hotspot is 1 to 32 letters, digits, spaces, dots, dashes or "
                "underscores"
            )
        self._require_root()
        with as_owner_of(self.settings.parent):
            settings = SettingsFile(self.settings).read().settings
        profile = Connection(CONNECTION, self.root / PROFILE, self.run)
        former = profile.text()
        # twelve of 32 letters have 60 bits of entropy
        password = _password_in(former) or "".join(secrets.choice(_LETTERS) for _ in range(12))
        text = profile_text(CONNECTION, name, password, is_permanent=True)
        names = "".join(f"address=/{host}/{HOTSPOT_ADDRESS}\n" for host in HOTSPOT_NAMES)
        names_path = self.root / HOTSPOT_NAMES_FILE
        write_profile(names_path, names, 0o644)
        status, output = profile.up(text)
        if status:
            if not former:
                names_path.unlink()
            raise NoHotspot(f"The hotspot cannot be opened: {output or 'nmcli failed'}")
        (self.root / ANSWER.relative_to("/")).unlink(missing_ok=True)  # about the former hotspot
        self._update_phones(WifiSettings(name, password))
        port = settings.web.port
        return (
            f"The hotspot {name} is on, now and after every start: join it by the code on the "
            "table screen, then "
            f"http://{HOTSPOT_NAMES[0]}:{port}/ or http://{HOTSPOT_ADDRESS}:{port}/. It has no "
            "internet "
            "access unless the machine is connected by cable."
        )

    def close(self) -> str:
        """Deactivate the hotspot and delete its profile. Return a summary."""
        self._require_root()
        (self.root / HOTSPOT_NAMES_FILE).unlink(missing_ok=True)
        profile = Connection(CONNECTION, self.root / PROFILE, self.run)
        former = profile.text()
        if not former:
            return "The hotspot was not on."
        profile.forget()
        with as_owner_of(self.settings.parent):
            wifi = SettingsFile(self.settings).read().settings.wifi
        if wifi.password == _password_in(former):  # not another Wi-Fi set since
            self._update_phones(WifiSettings())
        return (
            "The hotspot is off; its password is forgotten. If phones join a Wi-Fi of yours, name "
            "it on the settings page."
        )

    def _require_root(self) -> None:
        if self.root == Path("/") and os.geteuid() != 0:
            raise NoHotspot(
                "The network is the machine’s, not yours alone: sudo companion hotspot …"
            )

    def _update_phones(self, wifi: WifiSettings) -> None:
        """Make the table screen show the code of this network, or none. A running service
        restarts.
        """
        with as_owner_of(self.settings.parent):
            owner = self.settings.stat() if self.settings.exists() else None
            file = SettingsFile(self.settings)
            changes = {
                "wifi.name": wifi.name,
                "wifi.password": wifi.password,
                "wifi.hidden": wifi.hidden,
            }
            file.change(changes, file.read().digest)
            # the settings file stays the service's own, also in a folder of root
            if owner and os.geteuid() == 0:
                os.chown(self.settings, owner.st_uid, owner.st_gid)
        self.run(["systemctl", "kill", "--signal=SIGUSR1", "--kill-whom=main", "companion.service"])


def _password_in(profile: str) -> str:
    match = re.search(r"^psk=(\S+)$", profile, re.MULTILINE)
    return match[1] if match else ""


def profile_text(connection: str, name: str, password: str, *, is_permanent: bool) -> str:
    """Return the profile of a hotspot. With `is_permanent` it opens at every start.

    Raises `NoHotspot` if the template is missing.
    """
    installed = Path(sys.prefix) / "share/tabletop-companion/systemd" / TEMPLATE
    form = installed if installed.is_file() else Path(__file__).parents[2] / "systemd" / TEMPLATE
    try:
        text = form.read_text(encoding="utf-8")
    except OSError:
        raise NoHotspot(
            f"{TEMPLATE} is missing: install the companion as docs/install.md says"
        ) from None
    words = {
        "ID": connection,
        # always the same, so that it replaces the former profile
        "UUID": str(uuid.uuid5(uuid.NAMESPACE_DNS, connection)),
        "PERMANENT": str(is_permanent).lower(),
        "NAME": name,
        "PASSWORD": password,
    }
    for word, value in words.items():
        text = text.replace(f"@{word}@", value)
    return text


def write_profile(path: Path, text: str, mode: int = 0o600) -> None:
    """Write a file with these permissions from the first moment on. Raises `NoHotspot`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, text.encode(), mode)
    except OSError as error:
        raise NoHotspot(f"{path}: cannot be written: {error.strerror}") from None
