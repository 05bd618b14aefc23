"""The hotspot's profile, names and code, and the addresses under which phones find the table, with
and without one.
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


class Commands:
    """What was run, and an answer to it."""

    def __init__(self, status: int = 0, said: str = "") -> None:
        self.run: list[str] = []
        self._answer = (status, said)

    def __call__(self, command: Sequence[str]) -> tuple[int, str]:
        self.run.append(" ".join(command))
        return self._answer


def test_on_writes_profile_and_names_and_tells_phones(tmp_path: Path) -> None:
    settings = tmp_path / "settings.toml"
    settings.write_text("# mine\n[web]\nport = 9000\n")
    commands = Commands()
    said = Hotspot(settings, tmp_path, commands).open("Our table")
    assert "http://table.lan:9000/ or http://10.42.0.1:9000/" in said
    profile = configparser.ConfigParser(interpolation=None)
    profile.read(tmp_path / PROFILE)
    ssid = bytes(int(byte) for byte in profile["wifi"]["ssid"].split(";") if byte)
    assert (ssid, profile["wifi"]["mode"]) == (b"Our table", "ap")
    assert profile["ipv4"]["method"] == "shared"
    assert profile["ipv4"]["address1"] == f"{HOTSPOT_ADDRESS}/24"
    password = profile["wifi-security"]["psk"]
    assert len(password) == 12
    assert os.stat(tmp_path / PROFILE).st_mode & 0o777 == 0o600
    assert (
        tmp_path / HOTSPOT_NAMES_FILE
    ).read_text() == "address=/table.lan/10.42.0.1\naddress=/table/10.42.0.1\n"
    found = load_settings(settings)
    assert (found.wifi.name, found.wifi.password, found.web.port) == ("Our table", password, 9000)
    assert settings.read_text().startswith("# mine\n")
    assert commands.run == [
        f"nmcli connection load {tmp_path / PROFILE}",
        f"nmcli connection up {CONNECTION}",
        "systemctl kill --signal=SIGUSR1 --kill-whom=main companion.service",
    ]
    assert password not in said
    assert password not in " ".join(commands.run), "anybody may read the list of processes"
    Hotspot(settings, tmp_path, commands).open("Another name")
    assert password in (tmp_path / PROFILE).read_text(), "phones that know it still get in"


def test_off_forgets_all_of_it(tmp_path: Path) -> None:
    settings, commands = tmp_path / "settings.toml", Commands()
    hotspot = Hotspot(settings, tmp_path, commands)
    assert hotspot.close() == "The hotspot was not on."
    hotspot.open("Table")
    assert hotspot.close().startswith("The hotspot is off; its password is forgotten.")
    assert not (tmp_path / PROFILE).exists()
    assert not (tmp_path / HOTSPOT_NAMES_FILE).exists()
    assert load_settings(settings).wifi.name == ""
    assert f"nmcli connection delete {CONNECTION}" in commands.run
    hotspot.open("Table")
    own = '[wifi]\nname = "Café"\npassword = "their own one"\n'
    settings.write_text(own)
    hotspot.close()
    assert settings.read_text() == own, "a Wi-Fi that is not the hotspot's is left alone"


def test_a_refused_hotspot_shows_no_code(tmp_path: Path) -> None:
    settings = tmp_path / "settings.toml"
    with pytest.raises(HotspotError, match="The hotspot cannot be opened: no Wi-Fi device"):
        Hotspot(settings, tmp_path, Commands(10, "no Wi-Fi device")).open("Table")
    assert not settings.exists()
    assert not [path for path in tmp_path.rglob("*") if path.is_file()], (
        "else it would be tried at every start"
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be anybody")
def test_links_in_the_folder_lead_root_nowhere(tmp_path: Path) -> None:
    folder, victim = tmp_path / "etc/tabletop-companion", tmp_path / "victim"
    folder.mkdir(parents=True)
    victim.write_text("")
    for path in (tmp_path, *tmp_path.parents[:3]):
        path.chmod(path.stat().st_mode | 0o011)
    (folder / "settings.toml").symlink_to(victim)
    os.chown(folder, 12345, 12345)
    with pytest.raises(SystemTrouble, match="cannot be written"):
        Hotspot(folder / "settings.toml", tmp_path, Commands()).open("Table")
    assert (victim.read_text(), victim.stat().st_uid, os.geteuid()) == ("", 0, 0)
    (folder / "settings.toml").unlink()
    Hotspot(folder / "settings.toml", tmp_path, Commands()).open("Table")
    assert (folder / "settings.toml").stat().st_uid == 12345


@pytest.mark.parametrize("name", ["x" * 33, "a\nb"])
def test_names_that_break_the_profile_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(Malformed, match="name of a Wi-Fi"):
        Hotspot(tmp_path / "settings.toml", tmp_path, Commands()).open(name)
    assert list(tmp_path.iterdir()) == []


def test_without_rights_it_says_sudo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert main(["hotspot", "on", "--settings", str(tmp_path / "settings.toml")]) == 1
    assert "sudo companion hotspot" in capsys.readouterr().err


HOME = InterfaceAddress("192.168.1.7", has_hardware=True)
CABLE = InterfaceAddress("192.168.5.2", has_hardware=True)
HOTSPOT = InterfaceAddress(HOTSPOT_ADDRESS, has_hardware=True)
VPN = InterfaceAddress("100.64.3.4", has_hardware=False)
CONTAINERS = InterfaceAddress("172.17.0.1", has_hardware=False)


@pytest.mark.parametrize(
    ("own", "routed", "first"),
    [
        ([HOME], "", [HOME.ip]),
        ([HOTSPOT], "", [HOTSPOT.ip]),
        ([HOME, HOTSPOT], HOME.ip, [HOTSPOT.ip, HOME.ip]),
        ([CABLE, HOME], HOME.ip, [HOME.ip, CABLE.ip]),
        ([CONTAINERS, VPN, HOME], VPN.ip, [HOME.ip, VPN.ip, CONTAINERS.ip]),
    ],
    ids=["no way out", "hotspot", "hotspot and cable", "two networks", "VPN"],
)
def test_phones_are_sent_where_they_can_get(
    monkeypatch: pytest.MonkeyPatch,
    own: list[InterfaceAddress],
    routed: str,
    first: list[str],
) -> None:
    monkeypatch.setattr(network, "interface_addresses", lambda: own)
    monkeypatch.setattr(network, "outbound_address", lambda: routed)
    found = list_addresses("0.0.0.0")
    assert found[: len(first)] == first
    assert found[-1].endswith(".local")


def test_without_any_network_it_is_the_machine_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "interface_addresses", list)
    monkeypatch.setattr(network, "outbound_address", str)
    assert list_addresses("0.0.0.0") == ["127.0.0.1"]


def test_the_hotspots_names_are_the_tables_own() -> None:
    assert MachineNames([]).knows("table.lan:8080")
    assert MachineNames([]).knows("table")
