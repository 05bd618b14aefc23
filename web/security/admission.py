"""Who is served now and who waits: a phone that asks too often is answered later, and seats never wait for it.

Nobody is refused for asking often: requests above the rate are held back on their connections, which costs nothing,
until tokens have come again. The machine's own screen is never held back.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from companion.core.errors import Illegal
from web.security.auth import Auth
from web.security.rate_limit import OWN_ADDRESSES, Buckets, Rate, address_group

STRANGER = Rate(400, 40.0)
"""Of one address: forty phones behind one router may load a page at once, and go on at their leisure."""
OWNER = Rate(200, 50.0)
"""Of a seat, or of the host: more than fingers can do."""
TOGETHER, EACH, OWNER_EACH = 8, 6, 4
"""So many short requests are answered at a time: of all strangers, of one address, of one seat or the host.

An answer that nobody reads holds its thread: so a bad address and a bad seat together leave some of `THREADS`.
"""
UPLOADS = {"/settings/restore": 512 * 1024 * 1024, "/history": 2 * 1024 * 1024}
"""Where the host brings a file, a backup or a game, and how many bytes such a request has at most."""
_STREAM = re.compile(r"/(?:workbench/)?live(?:/|$)")


@dataclass(frozen=True)
class Asker:
    """Who asks: `name` of its bucket, whether it is the machine's own screen, and whether it has shown who it is."""

    name: str
    is_own_screen: bool = False
    is_owner: bool = False


class Admission:
    """Counts what every address asks for and holds open; may be used by any thread."""

    def __init__(self, guard: Auth, now_s: Callable[[], float], connections: int) -> None:
        self._guard = guard
        self.strangers = Buckets(STRANGER, now_s)
        self._owners = Buckets(OWNER, now_s)
        self.connections = connections
        self.connected: dict[str, int] = {}
        self._running: dict[str, int] = {}
        self._owners_run: dict[str, int] = {}
        self._lock = threading.Lock()

    # ---- connections ----

    def enter(self, address: str) -> bool:
        """Count a connection in; False: this address has as many as one may have."""
        name = address_group(address)
        with self._lock:
            if address not in OWN_ADDRESSES and self.connected.get(name, 0) >= self.connections:
                return False
            self.connected[name] = self.connected.get(name, 0) + 1
            return True

    def leave(self, address: str) -> None:
        """Count a connection out."""
        with self._lock:
            _less(self.connected, address_group(address))

    # ---- requests ----

    def asker(self, address: str, cookies: Mapping[str, str]) -> Asker:
        """Who asks, by the address and the tokens of the request."""
        if address in OWN_ADDRESSES:
            return Asker(address, is_own_screen=True)
        owner = self._guard.owner_of(cookies)
        return Asker(owner, is_owner=True) if owner else Asker(address_group(address))

    def begin(self, asker: Asker, path: str) -> bool:
        """May this request be answered now? Then it counts until `end`."""
        if asker.is_own_screen:
            return True
        running, buckets = self._of(asker)
        is_short = not _STREAM.match(path)
        with self._lock:
            if is_short and running.get(asker.name, 0) >= (OWNER_EACH if asker.is_owner else EACH):
                return False
            if is_short and not asker.is_owner and sum(running.values()) >= TOGETHER:
                return False
            if not buckets.take(asker.name):
                return False
            if is_short:
                running[asker.name] = running.get(asker.name, 0) + 1
        return True

    def end(self, asker: Asker, path: str) -> None:
        """A request that was begun is answered."""
        if not (asker.is_own_screen or _STREAM.match(path)):
            with self._lock:
                _less(self._of(asker)[0], asker.name)

    def _of(self, asker: Asker) -> tuple[dict[str, int], Buckets]:
        """What runs, and the tokens, of those who are counted together."""
        return (self._owners_run, self._owners) if asker.is_owner else (self._running, self.strangers)

    def may_bring(self, path: str, address: str, cookies: Mapping[str, str], key: str | None) -> int:
        """How many bytes this request may bring beyond what a page's form holds: the host's files alone; 0: none."""
        if path not in UPLOADS:
            return 0
        try:
            is_host = self._guard.has_host_cookie(cookies) if key is None else self._guard.fits(key, address)
        except Illegal:  # too many wrong keys: the application says it
            is_host = False
        return UPLOADS[path] if is_host else 0


def _less(counts: dict[str, int], name: str) -> None:
    """One less; what is nothing is forgotten."""
    if counts.get(name, 0) > 1:
        counts[name] -= 1
    else:
        counts.pop(name, None)
