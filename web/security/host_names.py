"""Check of the host names under which pages are requested.

Somebody may own another name and let it point at this machine. Browsers would then take the table's
pages for pages of that name's site, and the scripts of that site could read them (DNS rebinding).
So pages are served only under names that this machine is known to have.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable
from functools import lru_cache

from companion.core.errors import CompanionError
from companion.core.network import HOTSPOT_NAMES
from web.security.rate_limit import parse_address

# A label of a name: `table` and `local` in `table.local`.
_LABEL = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
# An IPv6 address with or without a zone: `fe80::1%eth0`.
_IPV6 = r"[0-9A-Fa-f:.]+(?:%[0-9A-Za-z._~-]+)?"
# A whole `Host` header: `table.local:8080`, `[fe80::1]:80`.
_HOST = re.compile(
    rf"(?:\[(?P<ipv6>{_IPV6})\]|(?P<name>{_LABEL}(?:\.{_LABEL})*\.?))(?::(?P<port>\d{{1,5}}))?"
)
# Maximum length of a DNS name, with the dot at its end (RFC 1035, 2.3.4).
MAX_NAME_LENGTH = 254
# Largest number of a TCP port.
MAX_PORT = 65535
# Maximum length of a header: for the longest name with a port, and some more for an address with a
# zone.
_MAX_HEADER_LENGTH = 300


@lru_cache(maxsize=64)
def parse_host(header: str) -> str:
    """Return the name or address in a `Host` header, without port and brackets.

    Empty for an invalid header. The syntax is that of RFC 9110, 7.2, and RFC 3986, 3.2.2, but
    stricter: the port must not be empty, only a zone may be percent-encoded, and a name whose last
    label is a number must be an address, as in browsers. A request with two such headers is
    refused, too: they arrive joined by a comma, which no name may have.

    >>> [parse_host(header) for header in ("Table.local:8080", "192.0.2.7", "[fe80::1]:80", "a.")]
    ['Table.local', '192.0.2.7', 'fe80::1', 'a.']
    >>> any(parse_host(header) for header in ("", "a:80:b", "a, a", "a:0", "a:65536", "u@a", "[::1",
    ... "::1", "a..", "1.2.3"))
    False
    """
    match = _HOST.fullmatch(header) if len(header) <= _MAX_HEADER_LENGTH else None
    if match is None or (match["port"] and not 1 <= int(match["port"]) <= MAX_PORT):
        return ""
    if match["ipv6"]:
        return match["ipv6"] if _is_address(match["ipv6"], 6) else ""
    name = match["name"]
    # a full name may end in a dot
    last_label = name.removesuffix(".").rpartition(".")[2].lower()
    is_number = last_label.isdecimal() or last_label.startswith("0x")
    if len(name) > MAX_NAME_LENGTH or (is_number and not _is_address(name, 4)):
        return ""
    return name


def _is_address(text: str, version: int) -> bool:
    parsed = parse_address(text.removesuffix("."))
    return parsed is not None and parsed.version == version


class UnknownName(CompanionError, ValueError):
    """The pages were requested under an unknown name."""

    kind = "unknown_name"


class MachineNames:
    """The names of this machine: configured ones, its host name, and those in its own Wi-Fi.

    Numeric addresses are always known, because they are no names that somebody else may own.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(_normalise_name(name) for name in names)

    def knows(self, host: str) -> bool:
        """Return whether a `Host` header, which may have a port, names this machine.

        >>> names = MachineNames(["table.example.org"])
        >>> [names.knows(host) for host in ("192.168.1.7:8080", "[fe80::1]",
        ... "Table.Example.org.:443", "evil.example")]
        [True, True, True, False]
        """
        name = _normalise_name(parse_host(host))
        if parse_address(name):
            return True
        return name in self._names or name in _current_names() or name in HOTSPOT_NAMES


def _current_names() -> tuple[str, ...]:
    """Return the names that this machine has now. `.local` is the ending of names in mDNS."""
    full = _normalise_name(socket.gethostname())
    short = full.partition(".")[0]
    return ("localhost", full, short, f"{short}.local") if short else ("localhost",)


def _normalise_name(name: str) -> str:
    """Return a name in lower case, without spaces and the dot at its end."""
    return name.strip().lower().removesuffix(".")
