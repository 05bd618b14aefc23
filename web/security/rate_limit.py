"""How often somebody may do something: tokens that come back with time, for each address and in
bounded memory.
"""

from __future__ import annotations

import ipaddress
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from flask import request
from werkzeug.exceptions import TooManyRequests

from companion.core.errors import Illegal, Refusal

MAX_NAMES = 1024
"""Maximum number of names with a bucket of their own. A café has some hundred addresses."""
OWN_ADDRESSES = ("127.0.0.1", "::1")
SHARED = "others"
RETRY_AFTER_S = 2


@dataclass(frozen=True)
class Rate:
    """A burst, and then a number a second."""

    burst: float
    per_s: float


class Buckets:
    """A bucket of tokens for every name, for any thread.

    A full bucket is forgotten, which says the same. While `most` are in use, everybody who comes
    newly shares one: so many names use no memory, and nobody gets fresh tokens by crowding his own
    bucket out.
    """

    def __init__(self, rate: Rate, now_s: Callable[[], float], most: int = MAX_NAMES) -> None:
        self._rate = rate
        self._now_s = now_s
        self._most = most
        self._left: dict[str, tuple[float, float]] = {}
        self._swept_s = now_s()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._left)

    def take(self, name: str) -> bool:
        """Take a token. Return False if there is none."""
        with self._lock:
            now_s = self._now_s()
            name = self._bucket_name(name, now_s)
            left = self._level(name, now_s)
            if left < 1:
                return False
            self._left[name] = (left - 1, now_s)
            return True

    def give_back(self, name: str) -> None:
        """Give a token back that was not used."""
        with self._lock:
            now_s = self._now_s()
            name = self._bucket_name(name, now_s)
            self._left[name] = (min(self._rate.burst, self._level(name, now_s) + 1), now_s)

    def _level(self, name: str, now_s: float) -> float:
        left, at_s = self._left.get(name, (self._rate.burst, now_s))
        # tokens have come back since, but no more than fill the bucket
        return min(self._rate.burst, left + (now_s - at_s) * self._rate.per_s)

    def _bucket_name(self, name: str, now_s: float) -> str:
        """Return the name of the bucket that counts for a name."""
        if name in self._left or len(self._left) < self._most:
            return name
        # once a second at most, as every bucket is looked at
        if now_s - self._swept_s >= 1:
            self._swept_s = now_s
            full = [other for other in self._left if self._level(other, now_s) >= self._rate.burst]
            for other in full:
                del self._left[other]
        return name if len(self._left) < self._most else SHARED


STRANGER = Rate(1000, 40.0)
"""Requests of one address: forty phones behind one router may load a page at once."""
OWNER = Rate(200, 50.0)
"""Requests of a seat, or of the host: more than fingers can do."""


class RequestLimits:
    """How often each address may ask, and each seat and the host whatever their address."""

    def __init__(self, owner: Callable[[], str | None], now_s: Callable[[], float]) -> None:
        self._owner = owner
        self._strangers = Buckets(STRANGER, now_s)
        self._owners = Buckets(OWNER, now_s)

    def check(self) -> None:
        """Count a request.

        Raises `TooManyRequests` above the rate, which the own screen has not.
        """
        address = request.remote_addr or ""
        if address in OWN_ADDRESSES:
            return
        owner = self._owner()
        buckets, name = (
            (self._owners, owner) if owner else (self._strangers, address_group(address))
        )
        if not buckets.take(name):
            raise TooManyRequests(retry_after=RETRY_AFTER_S)


class Guesses:
    """Guesses at a secret, of each address.

    There is no limit for all addresses together: with one, strangers who guess would keep out
    whoever knows the secret. Many addresses come to no more than the rate for each of
    the `MAX_NAMES` that are told apart.
    """

    def __init__(self, rate: Rate, now_s: Callable[[], float]) -> None:
        self._buckets = Buckets(rate, now_s)

    def check(self, address: str, is_right: Callable[[], bool]) -> bool | None:
        """Return whether the guess is right. None: too many wrong ones came from there."""
        name = address_group(address)
        if not self._buckets.take(name):
            return None
        if not is_right():
            return False
        # whoever knows the secret may say it as often as he likes
        self._buckets.give_back(name)
        return True

    def require(self, address: str, is_right: Callable[[], bool], wrong: str, often: str) -> None:
        """Raise `Illegal` unless the guess is right. `often` is said after too many wrong ones."""
        answer = self.check(address, is_right)
        if not answer:
            raise Illegal(Refusal.JOIN_CODE, often if answer is None else wrong)


def plain_address(address: str) -> str:
    """Return an address as IPv4 alone has it, which a port for both wraps.

    >>> plain_address("::ffff:192.0.2.7"), plain_address("::1")
    ('192.0.2.7', '::1')
    """
    return address.removeprefix("::ffff:") if "." in address else address


def parsed_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Read an address written as a number, with or without a zone. None for anything else."""
    try:
        return ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None


@lru_cache(maxsize=MAX_NAMES)
def address_group(address: str) -> str:
    """Return what counts as one address. A home is given a whole network of IPv6 addresses.

    >>> [address_group(address) for address in ("192.0.2.7", "2001:db8::1:7%eth0",
    ... "::ffff:192.0.2.7", "nowhere")]
    ['192.0.2.7', '2001:db8::/64', '192.0.2.7', 'nowhere']
    """
    parsed = parsed_address(address)
    if parsed is None:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    if parsed.ipv4_mapped:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((parsed, 64), strict=False))
