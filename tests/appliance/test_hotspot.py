"""The machine's own Wi-Fi: a phone joins it over the air, and finds the pages again after
everything has begun anew.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from html import unescape
from urllib.parse import urlencode

import pytest

from appliance.house import SharedMachine
from appliance.machine import Machine, MachineError, until
from companion.maintenance.own_wifi import NO_ADDRESS_TIMEOUT_S

pytestmark = [pytest.mark.appliance, pytest.mark.timeout(1200)]
NAME = "Table three"
ADDRESSES = ("http://10.42.0.1:8080/", "http://table.lan:8080/")
COMPANION = "companion"
PROFILE = "/etc/NetworkManager/system-connections/tabletop-companion-hotspot.nmconnection"
AIR_S = 180.0
HOME, PASSWORD = "Home sweet home", "right horse"
OWN_PAGE = "http://10.42.0.1:8080/wifi"


def phone(machine: Machine, *words: str) -> str:
    return machine.run("/bin/sh", "/opt/appliance/phone.sh", *words, timeout_s=120)


@pytest.fixture
def machine(house: SharedMachine, short: bool) -> Iterator[Machine]:
    """One with NetworkManager and a radio; a phone and the home's router have the others."""
    if short:
        pytest.skip("part of the long form")
    machine = house.machine
    if "mac80211_hwsim" not in machine.run("modprobe", "-n", "-v", "mac80211_hwsim", check=False):
        pytest.skip("this kernel has no simulated radios")
    phone(machine, "on")
    phone(machine, "home", HOME, PASSWORD)
    machine.run("systemctl", "start", "NetworkManager", timeout_s=120)
    yield machine
    machine.run(COMPANION, "hotspot", "off", check=False, timeout_s=120)
    machine.run("systemctl", "stop", "NetworkManager", "wpa_supplicant", timeout_s=120)
    phone(machine, "off")


def pages_come(machine: Machine) -> float:
    """Return the seconds until the phone gets a page over the air, by address and by name."""
    began_s = time.monotonic()

    def look() -> bool:
        try:
            return all("<title>" in phone(machine, "fetch", address) for address in ADDRESSES)
        except MachineError:
            return False

    until("a page over the air", look, AIR_S, 1)
    return time.monotonic() - began_s


def test_a_phone_finds_restarted_pages_again(machine: Machine, figures: list[str]) -> None:
    said = machine.run(COMPANION, "hotspot", "on", "--name", NAME, timeout_s=150)
    assert f"The hotspot {NAME} is on" in said
    password = re.search(r"^psk=(\S+)$", machine.run("cat", PROFILE), re.MULTILINE)
    assert password
    phone(machine, "join", NAME, password[1])
    lines = [f"hotspot: page over the air {pages_come(machine):.0f} s after joining"]
    assert "10.42.0." in machine.run("ip", "netns", "exec", "phone", "ip", "-4", "address")
    main = machine.property("MainPID")
    for unit in ("NetworkManager", "wpa_supplicant"):
        machine.run("systemctl", "restart", unit, timeout_s=120)
        lines.append(f"{pages_come(machine):.0f} s after {unit} began anew")
    assert machine.property("MainPID") == main, "the service has noticed nothing"
    machine.run("kill", "-KILL", main)
    lines.append(f"{pages_come(machine):.0f} s after the service was killed")
    figures.append(", ".join(lines))
    assert (
        machine.run(COMPANION, "hotspot", "off", timeout_s=120)
        == "The hotspot is off; its password is forgotten.\n"
    )
    with pytest.raises(MachineError):
        phone(machine, "fetch", ADDRESSES[0])


def test_a_phone_gives_a_machine_its_network(machine: Machine, figures: list[str]) -> None:
    """As on a first evening without screen, cable and shell."""
    machine.run("ip", "address", "flush", "dev", "eth0")
    try:
        machine.run("systemctl", "restart", "companion", timeout_s=120)
        began_s = time.monotonic()
        until(
            "the own Wi-Fi",
            lambda: "10.42.0.1" in addresses(machine),
            NO_ADDRESS_TIMEOUT_S + AIR_S,
            2,
        )
        lines = [f"own Wi-Fi open after {time.monotonic() - began_s:.0f} s without a network"]
        phone(machine, "join", "Tabletop table", "tabletop")
        page_says(machine, OWN_PAGE, "Give the table your Wi-Fi")
        assert "This is the owner’s key." in phone(machine, "fetch", OWN_PAGE)
        form = {"name": HOME, "password": "wrong horse"}
        assert "is joining the Wi-Fi" in phone(machine, "fetch", OWN_PAGE, urlencode(form))
        began_s = time.monotonic()
        page_says(machine, OWN_PAGE, f"The password of the Wi-Fi {HOME} is wrong.")
        lines.append(f"back {time.monotonic() - began_s:.0f} s after a wrong password")
        phone(machine, "fetch", OWN_PAGE, urlencode(form | {"password": PASSWORD}))
        began_s = time.monotonic()
        until("the home's Wi-Fi", lambda: "192.168.77." in addresses(machine), AIR_S, 2)
        lines.append(f"in the home's Wi-Fi {time.monotonic() - began_s:.0f} s after the right one")
        found = re.search(r"192\.168\.77\.\d+", addresses(machine))
        assert found
        phone(machine, "leave")
        phone(machine, "join", HOME, PASSWORD)
        page_says(machine, f"http://{found[0]}:8080/", "Outbuffered")
        figures.append(", ".join(lines))
        log = machine.run("journalctl", "--no-pager", "-u", "companion", "-u", "companion-wifi")
        assert "horse" not in log
    finally:
        machine.run("nmcli", "connection", "delete", "tabletop-companion-wifi", check=False)
        machine.run("systemctl", "restart", "appliance-network")


def addresses(machine: Machine) -> str:
    return machine.run("ip", "-4", "address")


def page_says(machine: Machine, address: str, words: str) -> None:
    def look() -> bool:
        try:
            return words in unescape(phone(machine, "fetch", address))
        except MachineError:
            return False

    until(f"“{words}” at {address}", look, AIR_S, 1)
