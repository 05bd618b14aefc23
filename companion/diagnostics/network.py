"""The doctor's checks of how phones reach the table (addresses, name, hotspot, Wi-Fi) and of the
service's unit.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator, Sequence

from companion.core.i18n import joined, say, say_n
from companion.diagnostics import probes
from companion.diagnostics.findings import Finding, fail, note, ok
from companion.diagnostics.probes import Machine

UNIT = "companion.service"
WEAK_DBM = -75
"""Signal strength in dBm below which a Wi-Fi gets slow and drops connections."""
_LOCAL = re.compile(r"(127\.0\.0\.1|\[?::1\]?|localhost)(:\d+)?")


def port(host: str, number: int) -> Finding:
    """Return whether the pages' port is free. Only useful while no companion runs."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        # as in the server: a port that was just closed counts as free
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, number))
        except OSError as error:
            text = say(
                "{host}:{port} cannot be used ({error}). Is a companion running already? If not, "
                "set [web] port.",
                host=host,
                port=number,
                error=error.strerror,
            )
            return fail("port", text)
    return ok("port", say("{port} is free.", port=number))


def reach(addresses: Sequence[str]) -> Finding:
    """Return the addresses at which phones reach the table."""
    if all(_LOCAL.fullmatch(address) for address in addresses):
        text = say("No network: phones cannot reach the table. Join a Wi-Fi or open a hotspot.")
        return note("network", text)
    text = say("Phones reach the table at {addresses}.", addresses=", ".join(addresses))
    return ok("network", text)


def name(machine: Machine) -> Finding:
    """Return whether the machine's name works in the local network."""
    local = f"{socket.gethostname().partition('.')[0]}.local"
    if (machine.root / "run/avahi-daemon/pid").exists():  # avahi answers for `<name>.local`
        return ok("network", say("Its name on the network is {name}.", name=local))
    text = say(
        "Nothing answers to {name}: run sudo apt install avahi-daemon. The address works without "
        "it.",
        name=local,
    )
    return note("network", text)


def wifi(machine: Machine) -> Iterator[Finding]:
    """Yield whether the Wi-Fi saves power, is weak or is blocked."""
    if probes.is_radio_blocked(machine):
        text = say(
            "The Wi-Fi is blocked: set its country with sudo raspi-config, or run rfkill unblock "
            "wlan."
        )
        yield note("wifi", text)
        return
    for device in probes.wireless(machine):
        troubles = []
        if device.saves_power:
            text = say(
                "{name} is saving power, which can make phones wait: run sudo iw dev {name} set "
                "power_save off.",
                name=device.name,
            )
            troubles.append(text)
        if device.signal_dbm is not None and device.signal_dbm < WEAK_DBM:
            text = say(
                "{name} has a weak Wi-Fi signal ({signal} dBm): move the machine.",
                name=device.name,
                signal=device.signal_dbm,
            )
            troubles.append(text)
        if troubles:
            yield note("wifi", joined(" ", troubles))
        elif device.saves_power is False:
            yield ok("wifi", say("{name} is not saving power.", name=device.name))


def service(machine: Machine) -> Iterator[Finding]:
    """Yield the state of the companion's systemd unit."""
    unit = probes.unit(machine, UNIT)
    if unit is None:
        return
    if unit.state == "failed":
        text = say("The service has failed: journalctl -u {unit} says why.", unit=UNIT)
        yield fail("service", text)
    elif unit.restarts:
        text = say_n(
            "The service has restarted by itself {n} time: journalctl -u {unit} says why.",
            "The service has restarted by itself {n} times: journalctl -u {unit} says why.",
            unit.restarts,
            unit=UNIT,
        )
        yield note("service", text)
    else:
        yield ok("service", say("{unit} is {state}.", unit=UNIT, state=unit.state))
