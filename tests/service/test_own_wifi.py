"""The table's own Wi-Fi: when it opens, what is tried, what comes back; NetworkManager and clock
are fakes.
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
NOT_FOUND = "Error: Connection activation failed: The Wi-Fi network could not be found"
WRONG = "Error: Connection activation failed: Secrets were required, but not provided"


@dataclass
class Machine:
    """A fake of NetworkManager, one radio and the networks around."""

    root: Path
    clock: FakeClock = field(default_factory=FakeClock)
    reply: tuple[int, str] = (0, "")
    """What joining a Wi-Fi comes to."""
    addresses: list[InterfaceAddress] = field(default_factory=list)
    refuses_hotspot: bool = False
    commands: list[str] = field(default_factory=list)
    told: list[bool] = field(default_factory=list)

    def __post_init__(self) -> None:
        (self.root / "sys/class/net/wlan0/phy80211").mkdir(parents=True)
        self.hands = WifiControl(self.root, self._run, lambda _: None)

    def service(self) -> OwnWifi:
        return OwnWifi(
            self.root,
            self.clock,
            lambda: PUBLIC_PASSWORD,
            self.told.append,
            answer=self.root / "answer",
            addresses=lambda: self.addresses,
        )

    @property
    def has_request(self) -> bool:
        """Is there anything for the unit to do?"""
        return (self.root / "wifi").exists()

    def carry_out(self, own: OwnWifi) -> None:
        """Run the unit, then the next round of the service."""
        assert self.has_request
        run_wifi(self.root / "wifi", self.root / "answer", self.hands)
        own.step()

    def open_hotspot(self) -> OwnWifi:
        own = self.service()
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
                self.addresses = [each for each in self.addresses if each.ip != HOTSPOT_ADDRESS]
        return 0, ""


def profile(path: Path) -> configparser.ConfigParser:
    found = configparser.ConfigParser(interpolation=None)
    found.read(path)
    return found


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_two_minutes_without_an_address_open_it(machine: Machine) -> None:
    machine.addresses = [CONTAINERS]
    own = machine.service()
    machine.clock.advance(NO_ADDRESS_TIMEOUT_S - 1)
    own.step()
    assert not machine.has_request
    machine.clock.advance(1)
    own.step()
    machine.carry_out(own)
    assert own.hotspot is not None
    assert own.hotspot.name.startswith("Tabletop ")
    assert machine.told[-1] is True
    found = profile(machine.hands.own_profile.path)
    assert (found["wifi"]["mode"], found["wifi-security"]["psk"]) == ("ap", PUBLIC_PASSWORD)
    assert found["connection"]["autoconnect"] == "false"
    assert machine.commands[0] == "nmcli radio wifi on", "it is blocked until a country is set"


def test_a_cable_in_the_meantime_keeps_it_closed(machine: Machine) -> None:
    own = machine.service()
    machine.clock.advance(NO_ADDRESS_TIMEOUT_S)
    machine.addresses = [CABLE]
    own.step()
    assert not machine.has_request
    machine.addresses = []
    machine.clock.advance(10 * NO_ADDRESS_TIMEOUT_S)
    own.step()
    assert not machine.has_request, "a network that goes later is NetworkManager's"


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        (WRONG, "The password of the Wi-Fi Home is wrong."),
        (NOT_FOUND, "The Wi-Fi Home is not found: check its name and its reach."),
    ],
)
def test_a_failed_wifi_reopens_the_hotspot(machine: Machine, said: str, sentence: str) -> None:
    own = machine.open_hotspot()
    before, machine.reply = own.hotspot, (4, said)
    own.join(HOME)
    machine.carry_out(own)
    assert (own.hotspot, own.trouble, machine.told[-1]) == (before, sentence, True)
    assert HOTSPOT_ADDRESS in {each.ip for each in machine.addresses}
    assert not machine.hands.joined_profile.path.exists(), "it is not tried at every start"
    machine.reply = (0, "")
    own.join(HOME)
    assert (own.joining_name, own.trouble) == ("Home", "")
    with pytest.raises(Illegal, match="try again in a minute"):
        own.join(HOME)
    machine.carry_out(own)
    assert (own.hotspot, own.joining_name, machine.told[-1]) == (None, "", False)
    assert machine.hands.joined_profile.path.stat().st_mode & 0o777 == 0o600
    assert not machine.hands.own_profile.path.exists()
    assert "horse" not in " ".join(machine.commands), "anybody may read the list of processes"


def test_a_wrong_wifi_replaces_no_known_one(machine: Machine) -> None:
    own = machine.open_hotspot()
    own.join(HOME)
    machine.carry_out(own)
    kept, machine.reply = machine.hands.joined_profile.text(), (4, NOT_FOUND)
    own.join(Wifi("Elsewhere", "no such word"))
    machine.carry_out(own)
    assert machine.hands.joined_profile.text() == kept
    assert own.hotspot is None
    machine.clock.advance(NO_ADDRESS_TIMEOUT_S)
    own.step()
    machine.carry_out(own)
    assert own.hotspot is not None, "nothing else came back"


@pytest.mark.parametrize("name", ["日本", "$HOME `id`", "a;b\\s", "=[wifi]", "a" * 32])
@pytest.mark.parametrize("password", ['b\\a"c;$#=', "f" * 64, "  two  blanks  "])
def test_names_and_passwords_reach_the_radio_unchanged(
    machine: Machine, name: str, password: str
) -> None:
    written = configparser.ConfigParser(interpolation=None)
    written.read_string(machine.hands.joined_profile.text_for(Wifi(name, password, hidden=True)))
    wifi, security = written["wifi"], written["wifi-security"]
    assert bytes(int(each) for each in wifi["ssid"].split(";") if each).decode() == name
    assert wifi["hidden"] == "true"
    assert security["psk"].replace("\\s", " ").replace("\\\\", "\\") == password


@pytest.mark.parametrize(
    ("wifi", "why"),
    [
        (Wifi("", "right horse"), "1 to 32"),
        (Wifi("a\nmode=ap", "right horse"), "1 to 32"),
        (Wifi("Home", "7letter"), "8 to 63"),
    ],
    ids=range(3),
)
def test_both_sides_refuse_impossible_wifi(machine: Machine, wifi: Wifi, why: str) -> None:
    own = machine.open_hotspot()
    with pytest.raises(Malformed, match=why):
        own.join(wifi)
    assert not machine.has_request
    path = machine.root / "wifi"
    path.write_bytes(msgspec.json.encode(WifiRequest("1", None, wifi)))
    with pytest.raises(Malformed, match=why):
        take_request(path)


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        ("radio", "This machine has no Wi-Fi: plug in a cable."),
        ("hotspot", "The table’s own Wi-Fi cannot be opened: sudo apt install network-manager"),
    ],
)
def test_a_machine_that_cannot_says_so_once(machine: Machine, spoil: str, sentence: str) -> None:
    if spoil == "radio":
        (machine.root / "sys/class/net/wlan0/phy80211").rmdir()
    else:
        machine.refuses_hotspot = True
    own = machine.service()
    machine.clock.advance(NO_ADDRESS_TIMEOUT_S)
    own.step()
    machine.carry_out(own)
    assert own.hotspot is None
    assert own.trouble.startswith(sentence)
    assert machine.told[-1] is False
    assert not machine.hands.own_profile.path.exists()
    machine.clock.advance(10 * NO_ADDRESS_TIMEOUT_S)
    own.step()
    assert not machine.has_request


def test_a_restarted_service_knows_an_open_hotspot(machine: Machine) -> None:
    before = machine.open_hotspot().hotspot
    after = machine.service()
    after.step()
    assert after.hotspot == before
    assert machine.told[-1] is True
    machine.addresses = []
    after.step()
    assert after.hotspot is None, "somebody has closed it"
    assert machine.told[-1] is False


def test_nobody_waits_for_a_silent_machine(machine: Machine) -> None:
    own = machine.open_hotspot()
    own.join(HOME)
    machine.clock.advance(ANSWER_TIMEOUT_S)
    own.step()
    assert own.trouble == "The machine does not change its Wi-Fi: restart it."
    assert not machine.has_request, "nor done by surprise later"


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
def test_root_ignores_a_malformed_wish(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "wifi"
    path.write_bytes(content)
    with pytest.raises(Malformed):
        take_request(path)
    assert not path.exists(), "else the unit would begin for ever"


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
    assert [each.name for each in tmp_path.iterdir()] == ["other"]


# ---- the whole service in process ----------------------------------------------------------------

# Environment of a request from a phone in the table's own Wi-Fi.
NEAR = {"REMOTE_ADDR": "10.42.0.17"}
PLACES = ("/", "/wifi", "/settings", "/host/health", "/api/view", "/settings/backup.zip")
FAR = {"REMOTE_ADDR": "192.168.1.9"}


class Box:
    """An installed table with pads on mock pins, and its machine."""

    def __init__(self, companion: Companion, machine: Machine, hands: SimulatedPanelHands) -> None:
        assert companion.own_wifi is not None
        self.companion, self.machine, self.own = companion, machine, companion.own_wifi
        self.hands = hands
        self.app = companion.server.app

    def opens(self) -> None:
        self.machine.clock.advance(NO_ADDRESS_TIMEOUT_S)
        self.own.step()
        self.machine.carry_out(self.own)

    def get(self, path: str, near: bool = True) -> str:
        answer = self.app.test_client().get(path, environ_overrides=NEAR if near else FAR)
        return single_spaced(unescape(answer.get_data(as_text=True)))

    def try_wifi(self, name: str, password: str) -> str:
        answer = self.app.test_client().post(
            "/wifi", data={"name": name, "password": password}, environ_overrides=NEAR
        )
        return single_spaced(unescape(answer.get_data(as_text=True)))


@contextmanager
def box(machine: Machine, monkeypatch: pytest.MonkeyPatch, held: bool = False) -> Iterator[Box]:
    hands: list[SimulatedPanelHands] = []

    def open_panel(settings: Any, clock: Any, on_press: Any) -> Any:
        panel, fingers = simulated_panel(settings, clock, on_press)
        hands.append(fingers)
        if held:
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
        yield Box(companion, machine, hands[0])


def test_a_first_evening_without_screen_shell_or_network(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with box(machine, monkeypatch) as table:
        assert "Enter the owner’s key" in table.get("/wifi"), "no phone is near yet"
        table.opens()
        assert 'href="/wifi"' in table.get("/")
        page = table.get("/wifi")
        assert "Give the table your Wi-Fi" in page
        assert table.companion.host_key in page, (
            "the only place where a box without a screen tells it"
        )
        machine.reply = (4, WRONG)
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
    with box(machine, monkeypatch) as table:
        owner = table.app.test_client()
        owner.post("/host", data={"key": table.companion.host_key, "back": "/wifi"})
        table.opens()
        assert table.own.hotspot is not None
        assert table.own.hotspot.password not in (PUBLIC_PASSWORD, table.companion.host_key)
        assert "Enter the owner’s key" in table.get("/wifi")
        assert "Enter the owner’s key" in table.try_wifi("Home", "right horse")
        assert not machine.has_request
        assert table.companion.host_key not in table.get("/wifi")
        assert table.own.hotspot.password not in table.get("/"), "who is in it knows it already"
        page = owner.get("/wifi", environ_overrides=FAR).get_data(as_text=True)
        assert "Give the table your Wi-Fi" in single_spaced(page)
        assert 'href="/wifi"' in owner.get("/settings").get_data(as_text=True)


def test_holding_the_table_button_opens_it_immediately(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.addresses = [CABLE]
    with box(machine, monkeypatch) as table:
        assert not machine.has_request
        table.app.test_client().post("/host", data={"key": table.companion.host_key})
    with box(machine, monkeypatch, held=True) as table:
        machine.carry_out(table.own)
        assert table.own.hotspot is not None
        assert table.own.hotspot.password == PUBLIC_PASSWORD, "who is at the machine needs no other"
        assert "Enter the owner’s key" in table.get("/wifi")


def test_no_page_or_file_has_wifi_passwords(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with box(machine, monkeypatch) as table, caplog.at_level("DEBUG"):
        table.opens()
        machine.reply = (4, WRONG)
        table.try_wifi("Home", "wrong horse")
        machine.carry_out(table.own)
        machine.reply = (0, "")
        table.try_wifi("Home", "right horse")
        machine.carry_out(table.own)
        owner = table.app.test_client()
        owner.post("/host", data={"key": table.companion.host_key})
        told = []
        for path in PLACES:
            with owner.get(path) as answer:
                told.append(answer.get_data())
        with zipfile.ZipFile(io.BytesIO(table.companion.support_zip())) as bundle:
            told += [bundle.read(name) for name in bundle.namelist()]
    kept = [path.read_bytes() for path in (machine.root / "state").rglob("*") if path.is_file()]
    assert kept
    assert all(b"horse" not in each for each in told + kept)
    assert "horse" not in caplog.text
