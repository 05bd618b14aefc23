"""Test `companion hotspot`, and the addresses at which phones reach the table.

No command of the system is run, and files are written below a folder that stands for `/`.
"""

from __future__ import annotations

import configparser
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from companion.cli.hotspot import Hotspot, HotspotError
from companion.cli.main import main
from companion.core import network
from companion.core.config import load_settings
from companion.core.errors import Malformed, SystemTrouble
from companion.core.network import (
    HOTSPOT_ADDRESS,
    HOTSPOT_NAMES_FILE,
    InterfaceAddress,
    list_addresses,
)
from web.security.host_names import MachineNames

CONNECTION = "tabletop-companion-hotspot"
PROFILE = f"etc/NetworkManager/system-connections/{CONNECTION}.nmconnection"


class FakeCommands:
    """Notes every command instead of running it, and always returns the same status and output."""

    def __init__(self, status: int = 0, output: str = "") -> None:
        self.lines: list[str] = []
        self._result = (status, output)

    def __call__(self, command: Sequence[str]) -> tuple[int, str]:
        self.lines.append(" ".join(command))
        return self._result


def test_on_writes_the_profile_and_prints_addresses(tmp_path: Path) -> None:
    settings = tmp_path / "settings.toml"
    settings.write_text("# mine\n[web]\nport = 9000\n")
    commands = FakeCommands()
    output = Hotspot(settings, tmp_path, commands).open("Our table")
    assert "http://table.lan:9000/ or http://10.42.0.1:9000/" in output

    # The profile of NetworkManager makes this machine an access point ("ap") that gives phones
    # addresses ("shared"). Its name is written as bytes. Only root can read the password.
    profile = configparser.ConfigParser(interpolation=None)
    profile.read(tmp_path / PROFILE)
    ssid = bytes(int(byte) for byte in profile["wifi"]["ssid"].split(";") if byte)
    assert (ssid, profile["wifi"]["mode"]) == (b"Our table", "ap")
    assert profile["ipv4"]["method"] == "shared"
    assert profile["ipv4"]["address1"] == f"{HOTSPOT_ADDRESS}/24"
    password = profile["wifi-security"]["psk"]
    assert len(password) == 12
    assert os.stat(tmp_path / PROFILE).st_mode & 0o777 == 0o600

    # Phones can enter host names, and the table shows the code of this Wi-Fi.
    assert (
        tmp_path / HOTSPOT_NAMES_FILE
    ).read_text() == "address=/table.lan/10.42.0.1\naddress=/table/10.42.0.1\n"
    changed = load_settings(settings)
    assert changed.wifi.name == "Our table"
    assert (changed.wifi.password, changed.web.port) == (password, 9000)
    assert settings.read_text().startswith("# mine\n")

    # The commands load and open the profile, then restart the service. None has the password, since
    # the list of processes shows commands to everybody.
    assert commands.lines == [
        f"nmcli connection load {tmp_path / PROFILE}",
        f"nmcli connection up {CONNECTION}",
        "systemctl kill --signal=SIGUSR1 --kill-whom=main companion.service",
    ]
    assert password not in output
    assert password not in " ".join(commands.lines), "no command may contain the password"

    # Opened again, the hotspot keeps its password, so that phones that know it can still join.
    Hotspot(settings, tmp_path, commands).open("Another name")
    assert password in (tmp_path / PROFILE).read_text(), "the password must stay the same"


def test_off_removes_the_hotspot_and_its_password(tmp_path: Path) -> None:
    settings, commands = tmp_path / "settings.toml", FakeCommands()
    hotspot = Hotspot(settings, tmp_path, commands)
    assert hotspot.close() == "The hotspot was not on."

    # Closing removes profile, host names and settings of the hotspot.
    hotspot.open("Table")
    assert hotspot.close().startswith("The hotspot is off; its password is forgotten.")
    assert not (tmp_path / PROFILE).exists()
    assert not (tmp_path / HOTSPOT_NAMES_FILE).exists()
    assert load_settings(settings).wifi.name == ""
    assert f"nmcli connection delete {CONNECTION}" in commands.lines

    # If the owner has named another Wi-Fi in the meantime, it stays in the settings.
    hotspot.open("Table")
    other_wifi = '[wifi]\nname = "Café"\npassword = "their own one"\n'
    settings.write_text(other_wifi)
    hotspot.close()
    assert settings.read_text() == other_wifi, "only the hotspot's own settings may change"


def test_a_refused_hotspot_shows_no_code(tmp_path: Path) -> None:
    settings = tmp_path / "settings.toml"
    with pytest.raises(HotspotError, match="The hotspot cannot be opened: no Wi-Fi device"):
        Hotspot(settings, tmp_path, FakeCommands(10, "no Wi-Fi device")).open("Table")
    assert not settings.exists()
    # NetworkManager would try a profile that stays at every start.
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can write as another user")
def test_root_writes_settings_through_no_link(tmp_path: Path) -> None:
    """Root must not overwrite its own file through a link that the folder's owner has made."""
    # The settings' folder belongs to another user (12345), who links the settings to a file of
    # root.
    folder, victim = tmp_path / "etc/tabletop-companion", tmp_path / "victim"
    folder.mkdir(parents=True)
    victim.write_text("")
    for path in (tmp_path, *tmp_path.parents[:3]):
        path.chmod(path.stat().st_mode | 0o011)
    (folder / "settings.toml").symlink_to(victim)
    os.chown(folder, 12345, 12345)

    # The command writes as that user, who may not write the file, and is root again afterwards.
    with pytest.raises(SystemTrouble, match="cannot be written"):
        Hotspot(folder / "settings.toml", tmp_path, FakeCommands()).open("Table")
    assert (victim.read_text(), victim.stat().st_uid, os.geteuid()) == ("", 0, 0)

    # Without the link, the new settings file belongs to that user.
    (folder / "settings.toml").unlink()
    Hotspot(folder / "settings.toml", tmp_path, FakeCommands()).open("Table")
    assert (folder / "settings.toml").stat().st_uid == 12345


@pytest.mark.parametrize("name", ["x" * 33, "a\nb"])
def test_names_that_break_the_profile_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(Malformed, match="name of a Wi-Fi"):
        Hotspot(tmp_path / "settings.toml", tmp_path, FakeCommands()).open(name)
    assert list(tmp_path.iterdir()) == []


def test_a_user_without_rights_is_told_sudo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert main(["hotspot", "on", "--settings", str(tmp_path / "settings.toml")]) == 1
    assert "sudo companion hotspot" in capsys.readouterr().err


# ---- addresses for phones ------------------------------------------------------------------------

HOME = InterfaceAddress("192.168.1.7", has_hardware=True)
CABLE = InterfaceAddress("192.168.5.2", has_hardware=True)
HOTSPOT = InterfaceAddress(HOTSPOT_ADDRESS, has_hardware=True)
VPN = InterfaceAddress("100.64.3.4", has_hardware=False)
CONTAINERS = InterfaceAddress("172.17.0.1", has_hardware=False)


@pytest.mark.parametrize(
    ("interfaces", "outbound", "first_addresses"),
    [
        ([HOME], "", [HOME.ip]),
        ([HOTSPOT], "", [HOTSPOT.ip]),
        ([HOME, HOTSPOT], HOME.ip, [HOTSPOT.ip, HOME.ip]),
        ([CABLE, HOME], HOME.ip, [HOME.ip, CABLE.ip]),
        ([CONTAINERS, VPN, HOME], VPN.ip, [HOME.ip, VPN.ip, CONTAINERS.ip]),
    ],
    ids=["no way out", "hotspot", "hotspot and Wi-Fi", "cable and Wi-Fi", "VPN"],
)
def test_addresses_that_phones_reach_come_first(
    monkeypatch: pytest.MonkeyPatch,
    interfaces: list[InterfaceAddress],
    outbound: str,
    first_addresses: list[str],
) -> None:
    """The hotspot comes first, then the network to the internet, then other networks.

    :param outbound: the address from which this machine reaches the internet, empty if it does not
    """
    monkeypatch.setattr(network, "interface_addresses", lambda: interfaces)
    monkeypatch.setattr(network, "outbound_address", lambda: outbound)
    addresses = list_addresses("0.0.0.0")
    assert addresses[: len(first_addresses)] == first_addresses
    assert addresses[-1].endswith(".local")


def test_without_network_only_the_machine_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "interface_addresses", list)
    monkeypatch.setattr(network, "outbound_address", str)
    assert list_addresses("0.0.0.0") == ["127.0.0.1"]


def test_the_pages_accept_the_hotspots_names() -> None:
    assert MachineNames([]).knows("table.lan:8080")
    assert MachineNames([]).knows("table")
