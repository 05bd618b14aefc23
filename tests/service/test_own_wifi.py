"""Test the hotspot, the table's own Wi-Fi.

The tests show when the hotspot opens, how the table joins another Wi-Fi instead, and who may ask
for that. NetworkManager and the clock are fakes. The systemd unit that changes the Wi-Fi as root
does not exist here: `Machine.carry_out` does its work.
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

# The Wi-Fi around the table. Only the fake's `reply` decides whether the machine can join it.
HOME = Wifi("Home", "right horse")
CABLE = InterfaceAddress("192.168.5.2", has_hardware=True)
# An address of the machine's own containers, through which no phone reaches it.
CONTAINERS = InterfaceAddress("172.17.0.1", has_hardware=False)
NOT_FOUND_ERROR = "Error: Connection activation failed: The Wi-Fi network could not be found"
WRONG_PASSWORD_ERROR = (
    "Error: Connection activation failed: Secrets were required, but not provided"
)


@dataclass
class Machine:
    """A fake machine: NetworkManager, one radio, and the networks around it."""

    root: Path
    clock: FakeClock = field(default_factory=FakeClock)
    reply: tuple[int, str] = (0, "")
    """Exit status and output of the command that joins a Wi-Fi."""
    addresses: list[InterfaceAddress] = field(default_factory=list)
    refuses_hotspot: bool = False
    commands: list[str] = field(default_factory=list)
    is_open_reports: list[bool] = field(default_factory=list)
    """What `OwnWifi` has reported at each change: whether the hotspot is open."""

    def __post_init__(self) -> None:
        (self.root / "sys/class/net/wlan0/phy80211").mkdir(parents=True)
        self.control = WifiControl(self.root, self._run, lambda _: None)

    def open_service(self) -> OwnWifi:
        """Return the service's side of the hotspot, as it is after a start of the service."""
        return OwnWifi(
            self.root,
            self.clock,
            lambda: PUBLIC_PASSWORD,
            self.is_open_reports.append,
            answer_path=self.root / "answer",
            list_addresses=lambda: self.addresses,
        )

    @property
    def has_request(self) -> bool:
        """Whether a request of the service waits to be carried out."""
        return (self.root / "wifi").exists()

    def carry_out(self, own_wifi: OwnWifi) -> None:
        """Do what the unit does for the pending request, then run one round of the service."""
        assert self.has_request, "the service must have made a request"
        run_wifi(self.root / "wifi", self.root / "answer", self.control)
        own_wifi.step()

    def open_hotspot(self) -> OwnWifi:
        """Start a service that has no address for so long that the hotspot opens."""
        own_wifi = self.open_service()
        self.clock.advance(NO_ADDRESS_TIMEOUT_S)
        own_wifi.step()
        self.carry_out(own_wifi)
        assert own_wifi.hotspot is not None
        return own_wifi

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
    # One second too early, nothing happens. The containers' address does not count.
    machine.addresses = [CONTAINERS]
    own_wifi = machine.open_service()
    machine.clock.advance(NO_ADDRESS_TIMEOUT_S - 1)
    own_wifi.step()
    assert not machine.has_request, "the hotspot must not open before two minutes are over"

    # After two minutes the hotspot opens and the service knows it.
    machine.clock.advance(1)
    own_wifi.step()
    machine.carry_out(own_wifi)
    assert own_wifi.hotspot is not None
    assert own_wifi.hotspot.name.startswith("Tabletop ")
    assert machine.is_open_reports[-1] is True

    # NetworkManager opens it as an access point ("ap"), but not by itself at the next start.
    profile = read_profile(machine.control.hotspot_profile.path)
    assert (profile["wifi"]["mode"], profile["wifi-security"]["psk"]) == ("ap", PUBLIC_PASSWORD)
    assert profile["connection"]["autoconnect"] == "false"

    # The radio is switched on first: a Raspberry Pi blocks it until a country is set.
    assert machine.commands[0] == "nmcli radio wifi on"


def test_a_cable_keeps_the_hotspot_closed(machine: Machine) -> None:
    own_wifi = machine.open_service()
    machine.clock.advance(NO_ADDRESS_TIMEOUT_S)
    machine.addresses = [CABLE]
    own_wifi.step()
    assert not machine.has_request, "the hotspot must not open although a cable is plugged in"

    # Pulling the cable hours later is no start without a network.
    machine.addresses = []
    machine.clock.advance(10 * NO_ADDRESS_TIMEOUT_S)
    own_wifi.step()
    assert not machine.has_request, "the hotspot must not open when a network is lost later"


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (WRONG_PASSWORD_ERROR, "The password of the Wi-Fi Home is wrong."),
        (NOT_FOUND_ERROR, "The Wi-Fi Home is not found: check its name and its reach."),
    ],
)
def test_a_failed_wifi_reopens_the_hotspot(machine: Machine, error: str, sentence: str) -> None:
    """The hotspot comes back after a failed attempt, and the owner can try again."""
    own_wifi = machine.open_hotspot()

    # The first attempt fails. The same hotspot is open again, with a sentence on the reason.
    hotspot_before = own_wifi.hotspot
    machine.reply = (4, error)
    own_wifi.join(HOME)
    machine.carry_out(own_wifi)
    assert (own_wifi.hotspot, own_wifi.trouble) == (hotspot_before, sentence)
    assert machine.is_open_reports[-1] is True
    assert HOTSPOT_ADDRESS in {address.ip for address in machine.addresses}
    assert not machine.control.joined_profile.path.exists(), (
        "the profile of a failed Wi-Fi must be deleted"
    )

    # During the second attempt another request is refused.
    machine.reply = (0, "")
    own_wifi.join(HOME)
    assert (own_wifi.joining_name, own_wifi.trouble) == ("Home", "")
    with pytest.raises(Illegal, match="try again in a minute"):
        own_wifi.join(HOME)

    # The second attempt succeeds, which closes the hotspot and deletes its profile.
    machine.carry_out(own_wifi)
    assert (own_wifi.hotspot, own_wifi.joining_name) == (None, "")
    assert machine.is_open_reports[-1] is False
    assert not machine.control.hotspot_profile.path.exists()

    # The password is only in a file of root. The list of processes shows commands to everybody.
    assert machine.control.joined_profile.path.stat().st_mode & 0o777 == 0o600
    assert "horse" not in " ".join(machine.commands), "no command may contain the password"


def test_a_failed_wifi_replaces_no_known_one(machine: Machine) -> None:
    own_wifi = machine.open_hotspot()
    own_wifi.join(HOME)
    machine.carry_out(own_wifi)

    # A second Wi-Fi cannot be joined: NetworkManager still knows the first one.
    known_profile = machine.control.joined_profile.text()
    machine.reply = (4, NOT_FOUND_ERROR)
    own_wifi.join(Wifi("Elsewhere", "no such word"))
    machine.carry_out(own_wifi)
    assert machine.control.joined_profile.text() == known_profile

    # The hotspot was closed before the attempt, so it opens only if the first Wi-Fi stays away.
    assert own_wifi.hotspot is None
    machine.clock.advance(NO_ADDRESS_TIMEOUT_S)
    own_wifi.step()
    machine.carry_out(own_wifi)
    assert own_wifi.hotspot is not None, "the hotspot must open if no network comes back"


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
    # The service refuses such a Wi-Fi and makes no request.
    own_wifi = machine.open_hotspot()
    with pytest.raises(Malformed, match=reason):
        own_wifi.join(wifi)
    assert not machine.has_request

    # Root does not rely on the service, and refuses the request as well.
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
    own_wifi = machine.open_service()
    machine.clock.advance(NO_ADDRESS_TIMEOUT_S)
    own_wifi.step()
    machine.carry_out(own_wifi)
    assert own_wifi.hotspot is None
    assert own_wifi.trouble.startswith(sentence)
    assert machine.is_open_reports[-1] is False
    assert not machine.control.hotspot_profile.path.exists()

    # The machine cannot do better later, so the service does not ask it again.
    machine.clock.advance(10 * NO_ADDRESS_TIMEOUT_S)
    own_wifi.step()
    assert not machine.has_request


def test_a_restarted_service_knows_an_open_hotspot(machine: Machine) -> None:
    # The second service finds the hotspot that the first one has opened.
    hotspot = machine.open_hotspot().hotspot
    restarted = machine.open_service()
    restarted.step()
    assert restarted.hotspot == hotspot
    assert machine.is_open_reports[-1] is True

    # Without its address the hotspot is closed, although the last answer still names it.
    machine.addresses = []
    restarted.step()
    assert restarted.hotspot is None, "a hotspot that was closed elsewhere must not be shown"
    assert machine.is_open_reports[-1] is False


def test_a_request_without_answer_is_dropped(machine: Machine) -> None:
    own_wifi = machine.open_hotspot()
    own_wifi.join(HOME)
    machine.clock.advance(ANSWER_TIMEOUT_S)
    own_wifi.step()
    assert own_wifi.trouble == "The machine does not change its Wi-Fi: restart it."
    assert not machine.has_request, "the dropped request must not be carried out later"


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
    assert not path.exists(), "the file must be deleted, or it starts the unit again and again"


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_root_follows_no_links_or_pipes(tmp_path: Path, kind: str) -> None:
    """Root reads nothing through a link, waits for no pipe, and deletes only the request."""
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

# WSGI environment of a request from a phone in the hotspot's network, and in another network.
NEAR = {"REMOTE_ADDR": "10.42.0.17"}
FAR = {"REMOTE_ADDR": "192.168.1.9"}
# Pages for the owner, one of which might show a password.
OWNER_PAGES = ("/", "/wifi", "/settings", "/host/health", "/api/view")


class InstalledTable:
    """An installed table with pads on mock pins, and its machine."""

    def __init__(self, companion: Companion, machine: Machine, hands: SimulatedPanelHands) -> None:
        assert companion.own_wifi is not None
        self.companion, self.machine, self.own_wifi = companion, machine, companion.own_wifi
        self.hands = hands
        self.app = companion.server.app

    def open_hotspot(self) -> None:
        """Let the service be without an address for so long that the hotspot opens."""
        self.machine.clock.advance(NO_ADDRESS_TIMEOUT_S)
        self.own_wifi.step()
        self.machine.carry_out(self.own_wifi)

    def get(self, path: str, near: bool = True) -> str:
        """Return the text of a page, for a phone in the hotspot's network or elsewhere."""
        answer = self.app.test_client().get(path, environ_overrides=NEAR if near else FAR)
        return single_spaced(unescape(answer.get_data(as_text=True)))

    def try_wifi(self, name: str, password: str) -> str:
        """Ask the table to join a Wi-Fi, from a phone in the hotspot. Return the answer's page."""
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
        "answer_path": machine.root / "answer",
        "list_addresses": lambda: machine.addresses,
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
    """One phone is enough to give a new table its Wi-Fi, as the table has no owner yet."""
    with open_table(machine, monkeypatch) as table:
        assert "Enter the owner’s key" in table.get("/wifi"), (
            "the page must be closed until the hotspot is open"
        )

        # In the hotspot, everybody is offered the page. It also shows the owner key, since a table
        # without a screen shows it nowhere else.
        table.open_hotspot()
        assert 'href="/wifi"' in table.get("/")
        page = table.get("/wifi")
        assert "Give the table your Wi-Fi" in page
        assert table.companion.host_key in page

        # The phone sends a wrong password. It loses its connection, and finds the reason when the
        # hotspot is back.
        machine.reply = (4, WRONG_PASSWORD_ERROR)
        page = table.try_wifi("Home", "wrong horse")
        assert "The table is joining the Wi-Fi Home." in page
        assert f"{table.own_wifi.hotspot.name} comes back in a minute" in page  # type: ignore[union-attr] # it is open
        machine.carry_out(table.own_wifi)
        assert "The password of the Wi-Fi Home is wrong." in table.get("/")
        assert "wrong horse" not in table.get("/wifi")

        # With the right password the table joins. Then only the owner may change its Wi-Fi.
        machine.reply = (0, "")
        table.try_wifi("Home", "right horse")
        machine.carry_out(table.own_wifi)
        assert table.own_wifi.hotspot is None
        assert 'href="/wifi"' not in table.get("/", near=False)
        assert "Enter the owner’s key" in table.get("/wifi", near=False)


def test_only_the_owner_changes_the_wifi(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_table(machine, monkeypatch) as table:
        # Somebody becomes the owner. The hotspot then has a secret password.
        owner = table.app.test_client()
        owner.post("/host", data={"key": table.companion.host_key, "back": "/wifi"})
        table.open_hotspot()
        assert table.own_wifi.hotspot is not None
        assert table.own_wifi.hotspot.password not in (PUBLIC_PASSWORD, table.companion.host_key)

        # Another phone in the hotspot can neither change the Wi-Fi nor learn a secret.
        assert "Enter the owner’s key" in table.get("/wifi")
        assert "Enter the owner’s key" in table.try_wifi("Home", "right horse")
        assert not machine.has_request
        assert table.companion.host_key not in table.get("/wifi")
        assert table.own_wifi.hotspot.password not in table.get("/"), (
            "the table screen must not show the password"
        )

        # The owner can change it from any network.
        page = owner.get("/wifi", environ_overrides=FAR).get_data(as_text=True)
        assert "Give the table your Wi-Fi" in single_spaced(page)
        assert 'href="/wifi"' in owner.get("/settings").get_data(as_text=True)


def test_holding_the_table_button_opens_the_hotspot(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever can touch the table can reach it, even if the network or the password is lost."""
    # At the first start the button is not held, and the table gets an owner.
    machine.addresses = [CABLE]
    with open_table(machine, monkeypatch) as table:
        assert not machine.has_request
        table.app.test_client().post("/host", data={"key": table.companion.host_key})

    # At the second start it is held: the hotspot opens with the public password in spite of the
    # cable and the owner. The page that changes the Wi-Fi still asks for the owner key.
    with open_table(machine, monkeypatch, is_button_held=True) as table:
        machine.carry_out(table.own_wifi)
        assert table.own_wifi.hotspot is not None
        assert table.own_wifi.hotspot.password == PUBLIC_PASSWORD
        assert "Enter the owner’s key" in table.get("/wifi")


def test_no_page_or_file_contains_wifi_passwords(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Both passwords contain "horse", so one search finds any trace of them."""
    with open_table(machine, monkeypatch) as table, caplog.at_level("DEBUG"):
        # A wrong password and the right one pass through the service.
        table.open_hotspot()
        machine.reply = (4, WRONG_PASSWORD_ERROR)
        table.try_wifi("Home", "wrong horse")
        machine.carry_out(table.own_wifi)
        machine.reply = (0, "")
        table.try_wifi("Home", "right horse")
        machine.carry_out(table.own_wifi)

        # Collect the pages that the owner sees, a backup, and a support bundle.
        owner = table.app.test_client()
        owner.post("/host", data={"key": table.companion.host_key})
        answers = []
        for path in (*OWNER_PAGES, "/settings/backup.zip"):
            with owner.get(path) as answer:
                answers.append(answer.get_data())
        # A search in compressed archives would find nothing, so unpack the last answer, too.
        for archive in (answers.pop(), table.companion.support_zip()):
            with zipfile.ZipFile(io.BytesIO(archive)) as members:
                answers += [members.read(name) for name in members.namelist()]

    # Neither these answers, nor a file of the state directory, nor the log has a password.
    files = [path.read_bytes() for path in (machine.root / "state").rglob("*") if path.is_file()]
    assert files
    assert all(b"horse" not in content for content in answers + files)
    assert "horse" not in caplog.text
