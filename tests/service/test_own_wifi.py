"""Test the table's own Wi-Fi: when it opens, how it joins another one, and who may ask for that.

NetworkManager and the clock are fakes. The unit that changes the Wi-Fi as root is run by hand.
"""

from __future__ import annotations

import configparser
import io
import os
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from html import unescape
from pathlib import Path
from typing import Any

import msgspec
import pytest
from web_fixtures import single_spaced

from companion.cli.hotspot import WifiControl, run_wifi, take_request
from companion.core.clock import FakeClock
from companion.core.config import CameraSettings, Settings, WebSettings
from companion.core.errors import Illegal, Malformed
from companion.core.network import HOTSPOT_ADDRESS, InterfaceAddress, Wifi
from companion.maintenance.own_wifi import (
    ANSWER_TIMEOUT_S,
    MAX_REQUEST_BYTES,
    NO_ADDRESS_TIMEOUT_S,
    PUBLIC_PASSWORD,
    OwnWifi,
    WifiRequest,
)
from companion.service.app import Companion
from hardware.simulated import SimulatedPanelHands, simulated_panel

HOME = Wifi("Home", "right horse")
CABLE = InterfaceAddress("192.168.5.2", has_hardware=True)
CONTAINERS = InterfaceAddress("172.17.0.1", has_hardware=False)
NOT_FOUND_ERROR = "Error: Connection activation failed: The Wi-Fi network could not be found"
WRONG_PASSWORD_ERROR = (
    "Error: Connection activation failed: Secrets were required, but not provided"
)


@dataclass
class Machine:
    """A fake of NetworkManager, one radio and the networks around."""

    root: Path
    clock: FakeClock = field(default_factory=FakeClock)
    reply: tuple[int, str] = (0, "")
    """Exit status and output of the command that joins a Wi-Fi."""
    addresses: list[InterfaceAddress] = field(default_factory=list)
    refuses_hotspot: bool = False
    commands: list[str] = field(default_factory=list)
    is_open_reports: list[bool] = field(default_factory=list)
    """What the service was told, at each change: is the table's own Wi-Fi open?"""

    def __post_init__(self) -> None:
        (self.root / "sys/class/net/wlan0/phy80211").mkdir(parents=True)
        self.control = WifiControl(self.root, self._run, lambda _: None)

    def open_service(self) -> OwnWifi:
        """Return the service's side, as it is after a start."""
        return OwnWifi(
            self.root,
            self.clock,
            lambda: PUBLIC_PASSWORD,
            self.is_open_reports.append,
            answer=self.root / "answer",
            addresses=lambda: self.addresses,
        )

    @property
    def has_request(self) -> bool:
        """True if a request waits for the unit."""
        return (self.root / "wifi").exists()

    def carry_out(self, own: OwnWifi) -> None:
        """Run the unit, then the next round of the service."""
        assert self.has_request
        run_wifi(self.root / "wifi", self.root / "answer", self.control)
        own.step()

    def open_hotspot(self) -> OwnWifi:
        """Let the service be without an address for so long that its own Wi-Fi opens."""
        own = self.open_service()
        self.clock.advance(NO_ADDRESS_TIMEOUT_S)
        own.step()
        self.carry_out(own)
        assert own.hotspot is not None
        return own

    def _run(self, command: Sequence[str]) -> tuple[int, str]:
        self.commands.append(" ".join(command))
        match command:
            case [*_, "connection", "up", "tabletop-companion-setup"]:
                if self.refuses_hotspot:
                    return 4, "Error: Connection activation failed"
                self.addresses = [InterfaceAddress(HOTSPOT_ADDRESS, has_hardware=True)]
            case [*_, "connection", "up", _]:
                self.addresses = [] if self.reply[0] else [CABLE]
                return self.reply
            case [*_, "delete", "tabletop-companion-setup"]:
                self.addresses = [
                    address for address in self.addresses if address.ip != HOTSPOT_ADDRESS
                ]
        return 0, ""


def read_profile(path: Path) -> configparser.ConfigParser:
    profile = configparser.ConfigParser(interpolation=None)
    profile.read(path)
    return profile


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_two_minutes_without_address_open_the_hotspot(machine: Machine) -> None:
    machine.addresses = [CONTAINERS]
    own = machine.open_service()
    machine.clock.advance(NO_ADDRESS_TIMEOUT_S - 1)
    own.step()
    assert not machine.has_request
    machine.clock.advance(1)
    own.step()
    machine.carry_out(own)
    assert own.hotspot is not None
    assert own.hotspot.name.startswith("Tabletop ")
    assert machine.is_open_reports[-1] is True
    profile = read_profile(machine.control.own_profile.path)
    assert (profile["wifi"]["mode"], profile["wifi-security"]["psk"]) == ("ap", PUBLIC_PASSWORD)
    assert profile["connection"]["autoconnect"] == "false"
    # A Raspberry Pi blocks its radio until a country is set.
    assert machine.commands[0] == "nmcli radio wifi on"


def test_a_cable_keeps_the_hotspot_closed(machine: Machine) -> None:
    own = machine.open_service()
    machine.clock.advance(NO_ADDRESS_TIMEOUT_S)
    machine.addresses = [CABLE]
    own.step()
    assert not machine.has_request
    machine.addresses = []
    machine.clock.advance(10 * NO_ADDRESS_TIMEOUT_S)
    own.step()
    assert not machine.has_request, "a network that is lost later opens the hotspot"


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (WRONG_PASSWORD_ERROR, "The password of the Wi-Fi Home is wrong."),
        (NOT_FOUND_ERROR, "The Wi-Fi Home is not found: check its name and its reach."),
    ],
)
def test_a_failed_wifi_reopens_the_hotspot(machine: Machine, error: str, sentence: str) -> None:
    own = machine.open_hotspot()
    before, machine.reply = own.hotspot, (4, error)
    own.join(HOME)
    machine.carry_out(own)
    assert (own.hotspot, own.trouble, machine.is_open_reports[-1]) == (before, sentence, True)
    assert HOTSPOT_ADDRESS in {address.ip for address in machine.addresses}
    assert not machine.control.joined_profile.path.exists(), "the profile of a failed Wi-Fi is kept"
    machine.reply = (0, "")
    own.join(HOME)
    assert (own.joining_name, own.trouble) == ("Home", "")
    with pytest.raises(Illegal, match="try again in a minute"):
        own.join(HOME)
    machine.carry_out(own)
    assert (own.hotspot, own.joining_name, machine.is_open_reports[-1]) == (None, "", False)
    assert machine.control.joined_profile.path.stat().st_mode & 0o777 == 0o600
    assert not machine.control.own_profile.path.exists()
    assert "horse" not in " ".join(machine.commands), "processes show the password to everybody"


def test_a_failed_wifi_replaces_no_known_one(machine: Machine) -> None:
    own = machine.open_hotspot()
    own.join(HOME)
    machine.carry_out(own)
    known_profile, machine.reply = machine.control.joined_profile.text(), (4, NOT_FOUND_ERROR)
    own.join(Wifi("Elsewhere", "no such word"))
    machine.carry_out(own)
    assert machine.control.joined_profile.text() == known_profile
    assert own.hotspot is None
    machine.clock.advance(NO_ADDRESS_TIMEOUT_S)
    own.step()
    machine.carry_out(own)
    assert own.hotspot is not None, "no hotspot opened although no network came back"


@pytest.mark.parametrize("name", ["日本", "$HOME `id`", "a;b\\s", "=[wifi]", "a" * 32])
@pytest.mark.parametrize("password", ['b\\a"c;$#=', "f" * 64, "  two  blanks  "])
def test_names_and_passwords_reach_the_radio_unchanged(
    machine: Machine, name: str, password: str
) -> None:
    profile = configparser.ConfigParser(interpolation=None)
    profile.read_string(machine.control.joined_profile.text_for(Wifi(name, password, hidden=True)))
    wifi, security = profile["wifi"], profile["wifi-security"]
    # NetworkManager takes a name as its bytes in decimal, with a semicolon after each of them.
    assert bytes(int(byte) for byte in wifi["ssid"].split(";") if byte).decode() == name
    assert wifi["hidden"] == "true"
    assert security["psk"].replace("\\s", " ").replace("\\\\", "\\") == password


@pytest.mark.parametrize(
    ("wifi", "reason"),
    [
        (Wifi("", "right horse"), "1 to 32"),
        (Wifi("a\nmode=ap", "right horse"), "1 to 32"),
        (Wifi("Home", "7letter"), "8 to 63"),
    ],
    ids=range(3),
)
def test_both_sides_refuse_impossible_wifi(machine: Machine, wifi: Wifi, reason: str) -> None:
    own = machine.open_hotspot()
    with pytest.raises(Malformed, match=reason):
        own.join(wifi)
    assert not machine.has_request
    path = machine.root / "wifi"
    path.write_bytes(msgspec.json.encode(WifiRequest("1", None, wifi)))
    with pytest.raises(Malformed, match=reason):
        take_request(path)


@pytest.mark.parametrize(
    ("missing", "sentence"),
    [
        ("radio", "This machine has no Wi-Fi: plug in a cable."),
        ("hotspot", "The table’s own Wi-Fi cannot be opened: sudo apt install network-manager"),
    ],
)
def test_a_hotspot_that_cannot_open_is_reported_once(
    machine: Machine, missing: str, sentence: str
) -> None:
    if missing == "radio":
        (machine.root / "sys/class/net/wlan0/phy80211").rmdir()
    else:
        machine.refuses_hotspot = True
    own = machine.open_service()
    machine.clock.advance(NO_ADDRESS_TIMEOUT_S)
    own.step()
    machine.carry_out(own)
    assert own.hotspot is None
    assert own.trouble.startswith(sentence)
    assert machine.is_open_reports[-1] is False
    assert not machine.control.own_profile.path.exists()
    machine.clock.advance(10 * NO_ADDRESS_TIMEOUT_S)
    own.step()
    assert not machine.has_request


def test_a_restarted_service_knows_an_open_hotspot(machine: Machine) -> None:
    before = machine.open_hotspot().hotspot
    after = machine.open_service()
    after.step()
    assert after.hotspot == before
    assert machine.is_open_reports[-1] is True
    machine.addresses = []
    after.step()
    assert after.hotspot is None, "a hotspot that was closed elsewhere is still shown"
    assert machine.is_open_reports[-1] is False


def test_a_request_without_answer_is_dropped(machine: Machine) -> None:
    own = machine.open_hotspot()
    own.join(HOME)
    machine.clock.advance(ANSWER_TIMEOUT_S)
    own.step()
    assert own.trouble == "The machine does not change its Wi-Fi: restart it."
    assert not machine.has_request, "the request would be carried out later"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b'{"number":"1"}',
        b'{"number":"1","hotspot":{"name":"a\\nmode=x","password":"right horse"}}',
        b'{"number":"1","wifi":{"name":"a"},"more":1}',
        b" " * (MAX_REQUEST_BYTES + 1),
    ],
    ids=range(5),
)
def test_root_refuses_and_deletes_malformed_requests(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "wifi"
    path.write_bytes(content)
    with pytest.raises(Malformed):
        take_request(path)
    assert not path.exists(), "a file that stays starts the unit again and again"


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_root_follows_no_links_or_pipes(tmp_path: Path, kind: str) -> None:
    path, other = tmp_path / "wifi", tmp_path / "other"
    other.write_text('{"number":"1","wifi":{"name":"a"}}')
    if kind == "link":
        path.symlink_to(other)
    else:
        os.mkfifo(path)
    with pytest.raises(Malformed):
        take_request(path)
    assert [file.name for file in tmp_path.iterdir()] == ["other"]


# ---- the whole service in process ----------------------------------------------------------------

# WSGI environment of a request from a phone in the table's own Wi-Fi, and in another network.
NEAR = {"REMOTE_ADDR": "10.42.0.17"}
FAR = {"REMOTE_ADDR": "192.168.1.9"}
OWNER_PATHS = ("/", "/wifi", "/settings", "/host/health", "/api/view", "/settings/backup.zip")


class InstalledTable:
    """An installed table with pads on mock pins, and its machine."""

    def __init__(self, companion: Companion, machine: Machine, hands: SimulatedPanelHands) -> None:
        assert companion.own_wifi is not None
        self.companion, self.machine, self.own = companion, machine, companion.own_wifi
        self.hands = hands
        self.app = companion.server.app

    def open_hotspot(self) -> None:
        self.machine.clock.advance(NO_ADDRESS_TIMEOUT_S)
        self.own.step()
        self.machine.carry_out(self.own)

    def get(self, path: str, near: bool = True) -> str:
        """Return the text of a page, for a phone in the table's own Wi-Fi or elsewhere."""
        answer = self.app.test_client().get(path, environ_overrides=NEAR if near else FAR)
        return single_spaced(unescape(answer.get_data(as_text=True)))

    def try_wifi(self, name: str, password: str) -> str:
        """Ask the table to join a Wi-Fi. Return the page that answers."""
        answer = self.app.test_client().post(
            "/wifi", data={"name": name, "password": password}, environ_overrides=NEAR
        )
        return single_spaced(unescape(answer.get_data(as_text=True)))


@contextmanager
def open_table(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, is_button_held: bool = False
) -> Iterator[InstalledTable]:
    """Start the service on this machine, perhaps while somebody holds the table button."""
    hands: list[SimulatedPanelHands] = []

    def open_panel(settings: Any, clock: Any, on_press: Any) -> Any:
        panel, fingers = simulated_panel(settings, clock, on_press)
        hands.append(fingers)
        if is_button_held:
            fingers.press("table")
            clock.advance(0.01)
            panel.step()
        return panel

    monkeypatch.setenv("RUNTIME_DIRECTORY", str(machine.root))
    monkeypatch.setattr("companion.service.app.open_panel", open_panel)
    fakes = {
        "answer": machine.root / "answer",
        "addresses": lambda: machine.addresses,
    }
    monkeypatch.setattr("companion.service.app.OwnWifi", partial(OwnWifi, **fakes))
    settings = Settings(
        state_dir=str(machine.root / "state"),
        camera=CameraSettings(source="none"),
        web=WebSettings(host="0.0.0.0", port=0),
    )
    with Companion(settings, simulate=False, clock=machine.clock, threads=False) as companion:
        yield InstalledTable(companion, machine, hands[0])


def test_a_first_evening_without_screen_shell_or_network(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_table(machine, monkeypatch) as table:
        assert "Enter the owner’s key" in table.get("/wifi"), (
            "the page is open before the hotspot is"
        )
        table.open_hotspot()
        assert 'href="/wifi"' in table.get("/")
        page = table.get("/wifi")
        assert "Give the table your Wi-Fi" in page
        # A table without a screen shows its key nowhere else.
        assert table.companion.host_key in page
        machine.reply = (4, WRONG_PASSWORD_ERROR)
        page = table.try_wifi("Home", "wrong horse")
        assert "The table is joining the Wi-Fi Home." in page
        assert f"{table.own.hotspot.name} comes back in a minute" in page  # type: ignore[union-attr] # it is open
        machine.carry_out(table.own)
        assert "The password of the Wi-Fi Home is wrong." in table.get("/")
        assert "wrong horse" not in table.get("/wifi")
        machine.reply = (0, "")
        table.try_wifi("Home", "right horse")
        machine.carry_out(table.own)
        assert table.own.hotspot is None
        assert 'href="/wifi"' not in table.get("/", near=False)
        assert "Enter the owner’s key" in table.get("/wifi", near=False)


def test_only_the_owner_changes_the_wifi(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_table(machine, monkeypatch) as table:
        owner = table.app.test_client()
        owner.post("/host", data={"key": table.companion.host_key, "back": "/wifi"})
        table.open_hotspot()
        assert table.own.hotspot is not None
        assert table.own.hotspot.password not in (PUBLIC_PASSWORD, table.companion.host_key)
        assert "Enter the owner’s key" in table.get("/wifi")
        assert "Enter the owner’s key" in table.try_wifi("Home", "right horse")
        assert not machine.has_request
        assert table.companion.host_key not in table.get("/wifi")
        assert table.own.hotspot.password not in table.get("/"), (
            "the table screen shows the password"
        )
        page = owner.get("/wifi", environ_overrides=FAR).get_data(as_text=True)
        assert "Give the table your Wi-Fi" in single_spaced(page)
        assert 'href="/wifi"' in owner.get("/settings").get_data(as_text=True)


def test_holding_the_table_button_opens_the_hotspot(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.addresses = [CABLE]
    with open_table(machine, monkeypatch) as table:
        assert not machine.has_request
        table.app.test_client().post("/host", data={"key": table.companion.host_key})
    with open_table(machine, monkeypatch, is_button_held=True) as table:
        machine.carry_out(table.own)
        assert table.own.hotspot is not None
        assert table.own.hotspot.password == PUBLIC_PASSWORD
        assert "Enter the owner’s key" in table.get("/wifi")


def test_no_page_or_file_contains_wifi_passwords(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with open_table(machine, monkeypatch) as table, caplog.at_level("DEBUG"):
        table.open_hotspot()
        machine.reply = (4, WRONG_PASSWORD_ERROR)
        table.try_wifi("Home", "wrong horse")
        machine.carry_out(table.own)
        machine.reply = (0, "")
        table.try_wifi("Home", "right horse")
        machine.carry_out(table.own)
        owner = table.app.test_client()
        owner.post("/host", data={"key": table.companion.host_key})
        answers = []
        for path in OWNER_PATHS:
            with owner.get(path) as answer:
                answers.append(answer.get_data())
        with zipfile.ZipFile(io.BytesIO(table.companion.support_zip())) as bundle:
            answers += [bundle.read(name) for name in bundle.namelist()]
    files = [path.read_bytes() for path in (machine.root / "state").rglob("*") if path.is_file()]
    assert files
    assert all(b"horse" not in content for content in answers + files)
    assert "horse" not in caplog.text
