"""Check of the host names under which pages are requested.

An unknown name may belong to another site that points it at this machine.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable
from functools import lru_cache

from companion.core.errors import CompanionError
from companion.core.network import HOTSPOT_NAMES
from web.security.rate_limit import parsed_address

_LABEL = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_ADDRESS = r"[0-9A-Fa-f:.]+(?:%[0-9A-Za-z._~-]+)?"
_HOST = re.compile(
    rf"(?:\[(?P<six>{_ADDRESS})\]|(?P<name>{_LABEL}(?:\.{_LABEL})*\.?))(?::(?P<port>\d{{1,5}}))?"
)
MAX_NAME = 254
"""Maximum length of a DNS name, with the dot at its end."""
MAX_PORT = 65535
_MAX_HEADER = 300
"""Maximum length of a name with brackets, zone and port."""


@lru_cache(maxsize=64)
def asked_host(header: str) -> str:
    """Return the name or address in a `Host` header, without port and brackets.

    Empty for an invalid header. RFC 9110, 7.2, and RFC 3986, 3.2.2, but stricter: no empty port,
    nothing percent-encoded but a zone, and what ends like a number must be an address, as in
    browsers. Two headers arrive joined by a comma, which is invalid in a name.

    >>> [asked_host(each) for each in ("Table.local:8080", "192.0.2.7", "[fe80::1]:80", "a.")]
    ['Table.local', '192.0.2.7', 'fe80::1', 'a.']
    >>> any(asked_host(each) for each in ("", "a:80:b", "a, a", "a:0", "a:65536", "u@a", "[::1",
    ... "::1", "a..", "1.2.3"))
    False
    """
    match = _HOST.fullmatch(header) if len(header) <= _MAX_HEADER else None
    if match is None or (match["port"] and not 1 <= int(match["port"]) <= MAX_PORT):
        return ""
    if match["six"]:
        return match["six"] if _is_address(match["six"], 6) else ""
    name = match["name"]
    # the last label, without the dot that may end a full name
    last = name.removesuffix(".").rpartition(".")[2].lower()
    is_number = last.isdecimal() or last.startswith("0x")
    if len(name) > MAX_NAME or (is_number and not _is_address(name, 4)):
        return ""
    return name


def _is_address(text: str, version: int) -> bool:
    parsed = parsed_address(text.removesuffix("."))
    return parsed is not None and parsed.version == version


class UnknownName(CompanionError, ValueError):
    """The pages were requested under an unknown name."""

    kind = "unknown_name"


class Names:
    """The names of this machine. A page under any other name could be read by the owner of that
    name.

    Numeric addresses are always accepted, because only a name can be redirected while a page is
    open (DNS rebinding).
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(_plain(name) for name in names)

    def knows(self, host: str) -> bool:
        """Return whether a `Host` header, which may have a port, names this machine.

        >>> names = Names(["table.example.org"])
        >>> [names.knows(host) for host in ("192.168.1.7:8080", "[fe80::1]",
        ... "Table.Example.org.:443", "evil.example")]
        [True, True, True, False]
        """
        name = _plain(asked_host(host))
        if parsed_address(name):
            return True
        return name in self._names or name in _machine() or name in HOTSPOT_NAMES


def _machine() -> tuple[str, ...]:
    """Return the current names of this machine, with and without `.local` of mDNS."""
    full = _plain(socket.gethostname())
    short = full.partition(".")[0]
    return ("localhost", full, short, f"{short}.local") if short else ("localhost",)


def _plain(name: str) -> str:
    return name.strip().lower().removesuffix(".")
