"""`companion hotspot`: a Wi-Fi of the machine's own, by a profile of NetworkManager; only when somebody wants it.

The profile lies in `systemd/hotspot.nmconnection`. Its password is made here, never given on a command line (others
could read it in the list of processes), and printed by nobody but the table's own code for phones.
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

from companion.care.settings_file import SettingsFile
from companion.errors import Malformed, SystemTrouble
from companion.joining import HOTSPOT_ADDRESS, HOTSPOT_NAMES, HOTSPOT_NAMES_FILE

CONNECTION = "tabletop-companion-hotspot"
PROFILE = Path(f"etc/NetworkManager/system-connections/{CONNECTION}.nmconnection")
TEMPLATE = "hotspot.nmconnection"
_LETTERS = "abcdefghijkmnpqrstuvwxyz23456789"
"""Without those that look alike."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _.-]{0,31}")
_WAIT_S = 60.0

Run = Callable[[Sequence[str]], tuple[int, str]]
"""Runs a command; answers its exit status and what it said."""


class NoHotspot(SystemTrouble):
    """The hotspot cannot be opened or closed."""

    kind = "hotspot"


def add_hotspot(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    add_settings: Callable[[argparse.ArgumentParser], None],
    settings_path: Callable[[argparse.Namespace], Path],
) -> None:
    """`companion hotspot` with its options."""
    command = commands.add_parser("hotspot", help="a Wi-Fi of this machine’s own for phones: on or off")
    add_settings(command)
    command.add_argument("task", choices=("on", "off"))
    command.add_argument("--name", default="Table", help="of the network (Table)")
    command.set_defaults(run=lambda options: run_hotspot(options, settings_path(options)))


def run_hotspot(options: argparse.Namespace, settings: Path) -> int:
    """Open or close it; answers the exit status."""
    hotspot = Hotspot(settings)
    print(hotspot.open(options.name) if options.task == "on" else hotspot.close())
    return 0


@dataclass
class Hotspot:
    """The hotspot of one machine; `root` and `run` are others in tests."""

    settings: Path
    root: Path = Path("/")
    run: Run | None = None

    def open(self, name: str) -> str:
        """Write the profile and the names, let phones know, and bring it up; answers what was done.

        The password of a profile that is there already stays: phones that know it still get in. Raises `Malformed` for
        a name, `NoHotspot` where NetworkManager refuses.
        """
        if not _NAME.fullmatch(name):
            raise Malformed("The name of a hotspot is 1 to 32 letters, digits, blanks, dots, dashes or underscores")
        self._need_rights()
        profile, names = self.root / PROFILE, self.root / HOTSPOT_NAMES_FILE
        password = _password_of(profile) or "".join(secrets.choice(_LETTERS) for _ in range(12))
        words = {"UUID": str(uuid.uuid5(uuid.NAMESPACE_DNS, CONNECTION)), "NAME": name, "PASSWORD": password}
        text = template()
        for word, value in words.items():
            text = text.replace(f"@{word}@", value)
        _write(profile, text, 0o600)
        _write(names, "".join(f"address=/{each}/{HOTSPOT_ADDRESS}\n" for each in HOTSPOT_NAMES), 0o644)
        self._do("nmcli", "connection", "load", str(profile))
        self._do("nmcli", "connection", "up", CONNECTION)
        self._tell_phones(name, password)
        return (
            f"The hotspot {name} is on, now and after every start: join it by the code on the table screen, then "
            f"http://{HOTSPOT_NAMES[0]}:8080/ or http://{HOTSPOT_ADDRESS}:8080/. There is no internet in it "
            "unless a cable brings some."
        )

    def close(self) -> str:
        """Take it down and forget it; answers what was done."""
        self._need_rights()
        profile = self.root / PROFILE
        was_there = profile.exists()
        if was_there:
            self._run("nmcli", "connection", "down", CONNECTION)  # it may be down already
            self._run("nmcli", "connection", "delete", CONNECTION)
        for path in (profile, self.root / HOTSPOT_NAMES_FILE):
            path.unlink(missing_ok=True)
        if not was_there:
            return "The hotspot was not on."
        self._tell_phones("", "")
        return "The hotspot is off; its password is forgotten."

    def _need_rights(self) -> None:
        if self.root == Path("/") and os.geteuid() != 0:
            raise NoHotspot("The network is the machine’s, not yours alone: sudo companion hotspot …")

    def _tell_phones(self, name: str, password: str) -> None:
        """Have the table screen show the code of this network, or none; a service that runs begins anew."""
        owner = self.settings.stat() if self.settings.exists() else None
        file = SettingsFile(self.settings)
        file.change({"wifi.name": name, "wifi.password": password, "wifi.hidden": False}, file.read().seen)
        if owner and os.geteuid() == 0:  # what root has written anew is still the service's own
            os.chown(self.settings, owner.st_uid, owner.st_gid)
        self._run("systemctl", "kill", "--signal=SIGUSR1", "--kill-whom=main", "companion.service")

    def _do(self, *command: str) -> None:
        status, said = self._run(*command)
        if status:
            raise NoHotspot(f"The hotspot cannot be opened: {said or command[0] + ' failed'}")

    def _run(self, *command: str) -> tuple[int, str]:
        return (self.run or _run)(command)


def template() -> str:
    """The profile before it is filled in; raises `NoHotspot` when the program came without it."""
    places = (Path(sys.prefix) / "share/tabletop-companion/systemd", Path(__file__).parents[2] / "systemd")
    for place in places:
        if (found := place / TEMPLATE).is_file():
            return found.read_text(encoding="utf-8")
    raise NoHotspot(f"{TEMPLATE} is missing: install the companion by make install")


def _password_of(profile: Path) -> str:
    """The password in a profile that is there; empty: there is none."""
    try:
        found = re.search(r"^psk=(\S+)$", profile.read_text(encoding="utf-8"), re.MULTILINE)
    except OSError:
        return ""
    return found[1] if found else ""


def _write(path: Path, text: str, mode: int) -> None:
    """Write a file that nobody else may read in the meantime; raises `NoHotspot`."""
    unfinished = path.with_name(f".{path.name}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished.unlink(missing_ok=True)
        with open(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except OSError as error:
        raise NoHotspot(f"{path}: cannot be written: {error.strerror}") from None


def _run(command: Sequence[str]) -> tuple[int, str]:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_WAIT_S, check=False)
    except FileNotFoundError:
        return 127, f"{command[0]} is not installed: sudo apt install network-manager dnsmasq-base"
    except subprocess.TimeoutExpired:
        return 1, f"{command[0]} does not answer"
    return done.returncode, (done.stderr or done.stdout).strip()
