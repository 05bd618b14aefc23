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

_HOST = re.compile(
    r"(?:\[([0-9A-Fa-f:.]+(?:%[\w.~-]+)?)\]|([\w-]+(?:\.[\w-]+)*\.?))(?::\d{1,5})?", re.ASCII
)
MAX_HOST = 300
"""Maximum length of a DNS name with its port."""


@lru_cache(maxsize=64)
def asked_host(header: str) -> str:
    """Return the name or address in a `Host` header, without port and brackets.

    Empty for an invalid header (RFC 9110, 7.2). Two headers arrive joined by a comma, which is
    invalid in a name.

    >>> [asked_host(each) for each in ("Table.local:8080", "192.0.2.7", "[fe80::1]:80", "a.")]
    ['Table.local', '192.0.2.7', 'fe80::1', 'a.']
    >>> any(asked_host(each) for each in ("", "a:80:b", "a, a", "u@a", "[::1", "::1", "a.."))
    False
    """
    match = _HOST.fullmatch(header) if len(header) <= MAX_HOST else None
    return match[1] or match[2] if match else ""


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
