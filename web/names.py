"""Under which names the pages are asked for: a foreign one is another site's that points at this machine."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable

from companion.errors import CompanionError
from companion.joining import HOTSPOT_NAMES

OWN_ADDRESS = "companion.address"
"""Where a request's environment says to which address of this machine it came; tests without a network have none."""


class UnknownName(CompanionError, ValueError):
    """The pages are asked for under a name that is not theirs."""

    kind = "unknown_name"


class Names:
    """The names of this machine: what a page under any other name is told is told to whoever owns that name.

    Addresses written as numbers of networks that are not public are always right, because only a name can be made to
    point somewhere else while a page is open (DNS rebinding).
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(_plain(name) for name in names)

    def knows(self, host: str, own_address: str = "") -> bool:
        """Is this `Host` header one of ours? `own_address` is where the request came in.

        >>> names = Names(["table.example.org"])
        >>> [names.knows(host) for host in ("192.168.1.7:8080", "[fe80::1]", "Table.Example.org.:443", "evil.example")]
        [True, True, True, False]
        """
        name = _plain(_without_port(host))
        try:
            address = ipaddress.ip_address(name.partition("%")[0])
        except ValueError:
            return name in self._names or name in _machine() or name in HOTSPOT_NAMES
        return not address.is_global or name in self._names or name == own_address.partition("%")[0]


def _machine() -> tuple[str, ...]:
    """What this machine calls itself now, alone and as mDNS tells it."""
    full = _plain(socket.gethostname())
    short = full.partition(".")[0]
    return ("localhost", full, short, f"{short}.local") if short else ("localhost",)


def _plain(name: str) -> str:
    return name.strip().lower().removesuffix(".")


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]
