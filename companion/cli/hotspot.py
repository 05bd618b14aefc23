"""`companion hotspot`: a Wi-Fi of the machine's own, by a profile of NetworkManager.

Only when somebody wants it.

The profile lies in `systemd/hotspot.nmconnection`. Its password is made here, never given on a command line (others
could read it in the list of processes), and printed by nobody but the table's own code for phones.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import secrets
import subprocess
import sys
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from companion.core.config import Settings, WifiSettings
from companion.core.errors import Malformed, SystemTrouble
from companion.core.files import as_owner_of
from companion.core.network import HOTSPOT_ADDRESS, HOTSPOT_NAMES, HOTSPOT_NAMES_FILE
from companion.maintenance.own_wifi import ANSWER
from companion.maintenance.settings.file import SettingsFile

CONNECTION = "tabletop-companion-hotspot"
PROFILE = Path(f"etc/NetworkManager/system-connections/{CONNECTION}.nmconnection")
TEMPLATE = "hotspot.nmconnection"
_LETTERS = "abcdefghijkmnpqrstuvwxyz23456789"
"""Without those that look alike."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _.-]{0,31}")
_OWN = "# before="
_WAIT_S = 60.0

Run = Callable[[Sequence[str]], tuple[int, str]]
"""Runs a command. Return its exit status and what it said."""


class NoHotspot(SystemTrouble):
    """The hotspot cannot be opened or closed."""

    kind = "hotspot"


def add_hotspot(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    add_settings: Callable[[argparse.ArgumentParser], None],
    settings_path: Callable[[argparse.Namespace], Path],
) -> None:
    """Add `companion hotspot` with its options."""
    command = commands.add_parser("hotspot", help="this machine’s own Wi-Fi for phones: on or off")
    add_settings(command)
    command.add_argument("task", choices=("on", "off"))
    command.add_argument("--name", default="Table", help="name of the network (Table)")
    command.set_defaults(run=lambda options: run_hotspot(options, settings_path(options)))


def run_hotspot(options: argparse.Namespace, settings: Path) -> int:
    """Open or close it, and return the exit status."""
    hotspot = Hotspot(settings)
    print(hotspot.open(options.name) if options.task == "on" else hotspot.close())
    return 0


@dataclass(frozen=True)
class _Profile:
    """NetworkManager's file.

    In a comment of it the `[wifi]` of the settings that comes back when the hotspot goes.
    """

    text: str

    @property
    def password(self) -> str:
        """Return the password. Empty: there is none."""
        return self._value(r"^psk=(\S+)$")

    @property
    def own(self) -> WifiSettings:
        """Return what the settings said before the hotspot."""
        try:
            return WifiSettings(*json.loads(self._value(f"^{_OWN}(.+)$")))
        except (ValueError, TypeError):
            return WifiSettings()

    def is_told_in(self, wifi: WifiSettings) -> bool:
        """Return whether the settings name this hotspot, and not what somebody wrote since."""
        return (wifi.name, wifi.password) == (self._value(r"^ssid=(.+)$"), self.password)

    def _value(self, pattern: str) -> str:
        match = re.search(pattern, self.text, re.MULTILINE)
        return match[1] if match else ""


@dataclass
class Hotspot:
    """The hotspot of one machine. `root` and `run` are others in tests."""

    settings: Path
    root: Path = Path("/")
    run: Run | None = None

    def open(self, name: str) -> str:
        """Write the profile and the names, bring it up, and let phones know. Return what was done.

        The password of a profile that is there already stays: phones that know it still get in. Raises `Malformed` for
        a name, `NoHotspot` where NetworkManager refuses: then all is as it was.
        """
        if not NAME.fullmatch(name):
            raise Malformed(
                "The name of a hotspot is 1 to 32 letters, digits, spaces, dots, dashes or underscores"
            )
        self._need_rights()
        settings, before = self._settings(), self._profile()
        password = before.password or "".join(secrets.choice(_LETTERS) for _ in range(12))
        own = before.own if before.is_told_in(settings.wifi) else settings.wifi
        text = profile_text(CONNECTION, name, password, is_permanent=True)
        profile, names = self.root / PROFILE, self.root / HOTSPOT_NAMES_FILE
        try:
            write_profile(
                profile, f"{text}{_OWN}{json.dumps([own.name, own.password, own.hidden])}\n"
            )
            write_profile(
                names,
                "".join(f"address=/{name}/{HOTSPOT_ADDRESS}\n" for name in HOTSPOT_NAMES),
                0o644,
            )
            self._do("nmcli", "connection", "load", str(profile))
            self._do("nmcli", "connection", "up", CONNECTION)
        except BaseException:  # else the profile that does not work would be tried at every start
            if before.text:
                write_profile(profile, before.text)
            else:
                profile.unlink(missing_ok=True)
                names.unlink(missing_ok=True)
            self._run("nmcli", "connection", "reload")
            raise
        (self.root / ANSWER.relative_to("/")).unlink(missing_ok=True)  # of the one before
        self._tell_phones(WifiSettings(name, password))
        port = settings.web.port
        return (
            f"The hotspot {name} is on, now and after every start: join it by the code on the table screen, then "
            f"http://{HOTSPOT_NAMES[0]}:{port}/ or http://{HOTSPOT_ADDRESS}:{port}/. It has no internet "
            "access unless the machine is connected by cable."
        )

    def close(self) -> str:
        """Take it down and forget it. Return what was done."""
        self._need_rights()
        profile, before = self.root / PROFILE, self._profile()
        was_there = profile.exists()
        if was_there:
            self._run("nmcli", "connection", "down", CONNECTION)  # it may be down already
            self._run("nmcli", "connection", "delete", CONNECTION)
        for path in (profile, self.root / HOTSPOT_NAMES_FILE):
            path.unlink(missing_ok=True)
        if not was_there:
            return "The hotspot was not on."
        if before.is_told_in(self._settings().wifi):
            self._tell_phones(before.own)
        return "The hotspot is off; its password is forgotten."

    def _need_rights(self) -> None:
        if self.root == Path("/") and os.geteuid() != 0:
            raise NoHotspot(
                "The network is the machine’s, not yours alone: sudo companion hotspot …"
            )

    def _settings(self) -> Settings:
        with as_owner_of(self.settings.parent):
            return SettingsFile(self.settings).read().settings

    def _profile(self) -> _Profile:
        """Return the profile that is there. Empty: there is none."""
        with contextlib.suppress(OSError):
            return _Profile((self.root / PROFILE).read_text(encoding="utf-8"))
        return _Profile("")

    def _tell_phones(self, wifi: WifiSettings) -> None:
        """Have the table screen show the code of this network, or none. A service that runs begins anew."""
        with as_owner_of(self.settings.parent):
            owner = self.settings.stat() if self.settings.exists() else None
            file = SettingsFile(self.settings)
            changes = {
                "wifi.name": wifi.name,
                "wifi.password": wifi.password,
                "wifi.hidden": wifi.hidden,
            }
            file.change(changes, file.read().seen)
            if (
                owner and os.geteuid() == 0
            ):  # in root's folder, too, the service's own file stays its own
                os.chown(self.settings, owner.st_uid, owner.st_gid)
        self._run("systemctl", "kill", "--signal=SIGUSR1", "--kill-whom=main", "companion.service")

    def _do(self, *command: str) -> None:
        status, output = self._run(*command)
        if status:
            raise NoHotspot(f"The hotspot cannot be opened: {output or command[0] + ' failed'}")

    def _run(self, *command: str) -> tuple[int, str]:
        return (self.run or run_command)(command)


def profile_text(connection: str, name: str, password: str, *, is_permanent: bool) -> str:
    """Return the profile of a hotspot, which opens it at every start where it `is_permanent`.

    Raises `NoHotspot` when the program came without its form.
    """
    words = {
        "ID": connection,
        "UUID": str(uuid.uuid5(uuid.NAMESPACE_DNS, connection)),
        "PERMANENT": str(is_permanent).lower(),
        "NAME": name,
        "PASSWORD": password,
    }
    text = _template()
    for word, value in words.items():
        text = text.replace(f"@{word}@", value)
    return text


def _template() -> str:
    places = (
        Path(sys.prefix) / "share/tabletop-companion/systemd",
        Path(__file__).parents[2] / "systemd",
    )
    for place in places:
        if (path := place / TEMPLATE).is_file():
            return path.read_text(encoding="utf-8")
    raise NoHotspot(f"{TEMPLATE} is missing: install the companion as docs/install.md says")


def write_profile(path: Path, text: str, mode: int = 0o600) -> None:
    """Write a file that nobody else may read in the meantime. Raises `NoHotspot`."""
    unfinished = path.with_name(f".{path.name}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished.unlink(missing_ok=True)
        with open(
            os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w", encoding="utf-8"
        ) as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except OSError as error:
        raise NoHotspot(f"{path}: cannot be written: {error.strerror}") from None


def run_command(command: Sequence[str]) -> tuple[int, str]:
    """Run a command. Return its exit status (127: it is not installed) and what it said, in English."""
    english = {**os.environ, "LC_ALL": "C"}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_WAIT_S, check=False, env=english
        )
    except FileNotFoundError:
        return 127, f"{command[0]} is not installed: sudo apt install network-manager dnsmasq-base"
    except subprocess.TimeoutExpired:
        return 1, f"{command[0]} does not answer"
    return done.returncode, (done.stderr or done.stdout).strip()
