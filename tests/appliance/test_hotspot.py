"""Test the machine's own Wi-Fi: a phone joins it by simulated radios, and fetches pages.

`guest/phone.sh` is the phone, and the router of a home.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from html import unescape
from urllib.parse import urlencode

import pytest

from appliance.machine import Machine, MachineError, until
from companion.maintenance.own_wifi import NO_ADDRESS_TIMEOUT_S

pytestmark = [pytest.mark.appliance, pytest.mark.timeout(1200)]
# Name of the machine's own Wi-Fi in the first test.
NAME = "Table three"
# The pages' addresses in the machine's own Wi-Fi.
ADDRESSES = ("http://10.42.0.1:8080/", "http://table.lan:8080/")
PROFILE = "/etc/NetworkManager/system-connections/tabletop-companion-hotspot.nmconnection"
# Timeout for what a phone waits for over the air.
WIFI_TIMEOUT_S = 180.0
# Name and password of the Wi-Fi of the home. The tests also try the password "wrong horse". No log
# may contain "horse", which is in both.
HOME = "Home sweet home"
PASSWORD = "right horse"
WIFI_PAGE = "http://10.42.0.1:8080/wifi"


def phone(machine: Machine, *arguments: str) -> str:
    """Run a command of `guest/phone.sh`, and return its output."""
    return machine.run("/bin/sh", "/opt/appliance/phone.sh", *arguments, timeout_s=120)


@pytest.fixture
def machine(shared_machine: Machine, short: bool) -> Iterator[Machine]:
    """The machine with NetworkManager and a radio. A phone and a home's router have radios, too."""
    if short:
        pytest.skip("part of the long form")
    machine = shared_machine
    if "mac80211_hwsim" not in machine.run("modprobe", "-n", "-v", "mac80211_hwsim", check=False):
        pytest.skip("this kernel has no simulated radios")
    phone(machine, "on")
    phone(machine, "home", HOME, PASSWORD)
    machine.run("systemctl", "start", "NetworkManager", timeout_s=120)
    yield machine
    machine.run("companion", "hotspot", "off", check=False, timeout_s=120)
    machine.run("systemctl", "stop", "NetworkManager", "wpa_supplicant", timeout_s=120)
    phone(machine, "off")


def wait_for_air_pages(machine: Machine) -> float:
    """Wait until the phone gets a page by address and by name. Return the seconds that it took."""
    began_at_s = time.monotonic()
    for address in ADDRESSES:
        wait_for_words(machine, address, "<title>")
    return time.monotonic() - began_at_s


def test_a_phone_finds_restarted_pages_again(machine: Machine, figures: list[str]) -> None:
    """Let a phone join the machine's own Wi-Fi, then restart everything that serves its pages."""
    output = machine.run("companion", "hotspot", "on", "--name", NAME, timeout_s=150)
    assert f"The hotspot {NAME} is on" in output

    # the phone joins with the password that the machine has made
    password = re.search(r"^psk=(\S+)$", machine.run("cat", PROFILE), re.MULTILINE)
    assert password
    phone(machine, "join", NAME, password[1])
    lines = [f"hotspot: page over the air {wait_for_air_pages(machine):.0f} s after joining"]
    assert "10.42.0." in machine.run("ip", "netns", "exec", "phone", "ip", "-4", "address")

    # the network's services are restarted, then the table's service is killed
    pid = machine.unit_property("MainPID")
    for unit in ("NetworkManager", "wpa_supplicant"):
        machine.run("systemctl", "restart", unit, timeout_s=120)
        lines.append(f"{wait_for_air_pages(machine):.0f} s after {unit} was restarted")
    assert machine.unit_property("MainPID") == pid, "the service was restarted with the Wi-Fi"
    machine.run("kill", "-KILL", pid)
    lines.append(f"{wait_for_air_pages(machine):.0f} s after the service was killed")
    figures.append(", ".join(lines))

    # the Wi-Fi is switched off: the phone gets no page any more
    assert (
        machine.run("companion", "hotspot", "off", timeout_s=120)
        == "The hotspot is off; its password is forgotten.\n"
    )
    with pytest.raises(MachineError):
        phone(machine, "fetch", ADDRESSES[0])


def test_a_phone_brings_the_machine_into_a_wifi(machine: Machine, figures: list[str]) -> None:
    """Set the Wi-Fi by a phone, as on a machine without screen, cable and shell."""
    machine.run("ip", "address", "flush", "dev", "eth0")
    try:
        machine.run("systemctl", "restart", "companion", timeout_s=120)
        began_at_s = time.monotonic()
        until(
            "the machine's own Wi-Fi",
            lambda: "10.42.0.1" in addresses(machine),
            NO_ADDRESS_TIMEOUT_S + WIFI_TIMEOUT_S,
            2,
        )
        lines = [f"own Wi-Fi open after {time.monotonic() - began_at_s:.0f} s without a network"]

        # the phone joins that Wi-Fi by its default name, and gives a wrong password of the home's
        phone(machine, "join", "Tabletop table", "tabletop")
        wait_for_words(machine, WIFI_PAGE, "Give the table your Wi-Fi")
        assert "This is the owner’s key." in phone(machine, "fetch", WIFI_PAGE)
        form = {"name": HOME, "password": "wrong horse"}
        assert "is joining the Wi-Fi" in phone(machine, "fetch", WIFI_PAGE, urlencode(form))
        began_at_s = time.monotonic()
        wait_for_words(machine, WIFI_PAGE, f"The password of the Wi-Fi {HOME} is wrong.")
        lines.append(f"page again {time.monotonic() - began_at_s:.0f} s after a wrong password")

        # with the right password the machine joins the home's Wi-Fi, where the phone finds it
        phone(machine, "fetch", WIFI_PAGE, urlencode(form | {"password": PASSWORD}))
        began_at_s = time.monotonic()
        until("the home's Wi-Fi", lambda: "192.168.77." in addresses(machine), WIFI_TIMEOUT_S, 2)
        lines.append(
            f"in the home's Wi-Fi {time.monotonic() - began_at_s:.0f} s after the right one"
        )
        address = re.search(r"192\.168\.77\.\d+", addresses(machine))
        assert address
        phone(machine, "leave")
        phone(machine, "join", HOME, PASSWORD)
        wait_for_words(machine, f"http://{address[0]}:8080/", "Outbuffered")
        figures.append(", ".join(lines))
        log = machine.run("journalctl", "--no-pager", "-u", "companion", "-u", "companion-wifi")
        assert "horse" not in log
    finally:
        machine.run("nmcli", "connection", "delete", "tabletop-companion-wifi", check=False)
        machine.run("systemctl", "restart", "appliance-network")


def addresses(machine: Machine) -> str:
    """Return the machine's IPv4 addresses, as `ip` prints them."""
    return machine.run("ip", "-4", "address")


def wait_for_words(machine: Machine, address: str, words: str) -> None:
    """Wait until the phone gets a page with these words."""

    def has_words() -> bool:
        try:
            return words in unescape(phone(machine, "fetch", address))
        except MachineError:
            return False

    until(f"“{words}” at {address}", has_words, WIFI_TIMEOUT_S, 1)
