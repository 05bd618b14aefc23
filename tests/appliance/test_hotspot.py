"""The machine's own Wi-Fi: a phone joins it over the air, and finds the pages again after everything has begun anew."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import pytest

from appliance.house import House
from appliance.machine import Machine, MachineError, until

pytestmark = [pytest.mark.appliance, pytest.mark.timeout(1200)]
NAME = "Table three"
ADDRESSES = ("http://10.42.0.1:8080/", "http://table.lan:8080/")
COMPANION = "/usr/local/bin/companion"
PROFILE = "/etc/NetworkManager/system-connections/tabletop-companion-hotspot.nmconnection"
AIR_S = 180.0


def phone(machine: Machine, *words: str) -> str:
    return machine.run("/bin/sh", "/opt/appliance/phone.sh", *words, timeout_s=120)


@pytest.fixture
def machine(house: House, short: bool) -> Iterator[Machine]:
    """One with two radios and NetworkManager, as a Raspberry Pi and a phone have them."""
    if short:
        pytest.skip("part of the long form")
    machine = house.machine
    if "mac80211_hwsim" not in machine.run("modprobe", "-n", "-v", "mac80211_hwsim", check=False):
        pytest.skip("this kernel has no simulated radios")
    phone(machine, "on")
    machine.run("systemctl", "start", "NetworkManager", timeout_s=120)
    yield machine
    machine.run(COMPANION, "hotspot", "off", check=False, timeout_s=120)
    machine.run("systemctl", "stop", "NetworkManager", "wpa_supplicant", timeout_s=120)
    phone(machine, "off")


def pages_come(machine: Machine) -> float:
    """Seconds until the phone gets a page over the air, by address and by name."""
    began_s = time.monotonic()

    def look() -> bool:
        try:
            return all("<title>" in phone(machine, "fetch", address) for address in ADDRESSES)
        except MachineError:
            return False

    until("a page over the air", look, AIR_S, 1)
    return time.monotonic() - began_s


def test_a_phone_finds_the_pages_again_after_everything_has_begun_anew(
    machine: Machine, figures: list[str]
) -> None:
    said = machine.run(COMPANION, "hotspot", "on", "--name", NAME, timeout_s=150)
    assert f"The hotspot {NAME} is on" in said
    password = re.search(r"^psk=(\S+)$", machine.run("cat", PROFILE), re.MULTILINE)
    assert password
    phone(machine, "join", NAME, password[1])
    told = [f"hotspot: page over the air {pages_come(machine):.0f} s after joining"]
    assert "10.42.0." in machine.run("ip", "netns", "exec", "phone", "ip", "-4", "address")
    main = machine.property("MainPID")
    for unit in ("NetworkManager", "wpa_supplicant"):
        machine.run("systemctl", "restart", unit, timeout_s=120)
        told.append(f"{pages_come(machine):.0f} s after {unit} began anew")
    assert machine.property("MainPID") == main, "the service has noticed nothing"
    machine.run("kill", "-KILL", main)
    told.append(f"{pages_come(machine):.0f} s after the service was killed")
    figures.append(", ".join(told))
    assert (
        machine.run(COMPANION, "hotspot", "off", timeout_s=120)
        == "The hotspot is off; its password is forgotten.\n"
    )
    with pytest.raises(MachineError):
        phone(machine, "fetch", ADDRESSES[0])


def test_a_phone_with_another_password_stays_outside(machine: Machine) -> None:
    machine.run(COMPANION, "hotspot", "on", "--name", NAME, timeout_s=150)
    phone(machine, "join", NAME, "not-its-password")
    with pytest.raises(MachineError):
        phone(machine, "fetch", ADDRESSES[0])
    assert "10.42.0." not in machine.run("ip", "netns", "exec", "phone", "ip", "-4", "address")
