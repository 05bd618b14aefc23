"""The doctor's checks of how phones reach the table: addresses, name, Wi-Fi."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator, Sequence

from companion.core.i18n import say
from companion.diagnostics import probes
from companion.diagnostics.findings import Finding, note, ok
from companion.diagnostics.probes import Machine

# An address that only programs on this machine can use, with or without a port.
_LOOPBACK = re.compile(r"(127\.0\.0\.1|\[?::1\]?|localhost)(:\d+)?")


def check_addresses(addresses: Sequence[str]) -> Finding:
    """Check that at least one of the table's addresses works for phones."""
    if all(_LOOPBACK.fullmatch(address) for address in addresses):
        text = say("No network: phones cannot reach the table. Join a Wi-Fi or open a hotspot.")
        return note("network", text)
    text = say("Phones reach the table at {addresses}.", addresses=", ".join(addresses))
    return ok("network", text)


def check_local_name(machine: Machine) -> Finding:
    """Check whether phones can use the machine's name instead of its address."""
    local_name = f"{socket.gethostname().partition('.')[0]}.local"
    # While avahi runs, it answers to this name.
    if (machine.root / "run/avahi-daemon/pid").exists():
        return ok("network", say("Its name on the network is {name}.", name=local_name))
    text = say(
        "Nothing answers to {name}: run sudo apt install avahi-daemon. The address works without "
        "it.",
        name=local_name,
    )
    return note("network", text)


def check_wifi(machine: Machine) -> Iterator[Finding]:
    """Check whether the Wi-Fi is blocked. If it is not, there is no finding."""
    if probes.is_radio_blocked(machine):
        text = say(
            "The Wi-Fi is blocked: set its country with sudo raspi-config, or run rfkill unblock "
            "wlan."
        )
        yield note("wifi", text)
