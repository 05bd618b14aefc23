"""Rate limits by token buckets, one per address, in bounded memory.

A token bucket holds some tokens and is refilled at a constant rate. Each request takes a token out
of the bucket of its address, and is refused if that bucket is empty.
"""

from __future__ import annotations

import ipaddress
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from flask import request
from werkzeug.exceptions import TooManyRequests

from companion.core.errors import Illegal, Refusal

Key = TypeVar("Key")
# Maximum number of names with a bucket of their own. A café has some hundred addresses.
MAX_BUCKETS = 1024
# Addresses of this machine, from which only its own screen and programs connect.
OWN_ADDRESSES = ("127.0.0.1", "::1")
# Name of the bucket that is shared by all who get no bucket of their own.
SHARED_BUCKET = "others"
# Seconds that a refused browser is told to wait (header `Retry-After`).
RETRY_AFTER_S = 2


@dataclass(frozen=True)
class Rate:
    """A rate limit, as the properties of a bucket."""

    burst: float
    """Size of the bucket in tokens: how many requests are permitted at once."""
    per_s: float
    """Tokens per second that refill it: how many requests are permitted after that."""


class TokenBuckets:
    """Token buckets by name, such as an address. Thread-safe.

    Each name has a bucket of its own, which is full at first. Once there are `max_buckets`, full
    buckets are removed: they can be made again, and nothing is lost. If no bucket is full, all new
    names share one. So memory is bounded, and nobody gets rid of an empty bucket by making others.
    """

    def __init__(
        self, rate: Rate, now_s: Callable[[], float], max_buckets: int = MAX_BUCKETS
    ) -> None:
        self._rate = rate
        self._now_s = now_s
        self._max_buckets = max_buckets
        # Number of tokens that each bucket had when it was last used, and that time in seconds.
        self._levels: dict[str, tuple[float, float]] = {}
        self._swept_at_s = now_s()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._levels)

    def take_token(self, name: str) -> bool:
        """Take a token out of the bucket of a name. Return False if no token is left."""
        with self._lock:
            now_s = self._now_s()
            name = self._bucket_name(name, now_s)
            tokens = self._level(name, now_s)
            if tokens < 1:
                return False
            self._levels[name] = (tokens - 1, now_s)
            return True

    def return_token(self, name: str) -> None:
        """Put a token back that was taken but not used."""
        with self._lock:
            now_s = self._now_s()
            name = self._bucket_name(name, now_s)
            self._levels[name] = (min(self._rate.burst, self._level(name, now_s) + 1), now_s)

    def _level(self, name: str, now_s: float) -> float:
        """Return the number of tokens that a bucket has now. A new bucket is full."""
        tokens, updated_at_s = self._levels.get(name, (self._rate.burst, now_s))
        # add the tokens for the time since then, but no more than the bucket holds
        return min(self._rate.burst, tokens + (now_s - updated_at_s) * self._rate.per_s)

    def _bucket_name(self, name: str, now_s: float) -> str:
        """Return the name of the bucket that a name uses: its own, or the shared one."""
        if name in self._levels or len(self._levels) < self._max_buckets:
            return name
        # remove full buckets, at most once a second because this visits every bucket
        if now_s - self._swept_at_s >= 1:
            self._swept_at_s = now_s
            self._levels = {
                bucket: level
                for bucket, level in self._levels.items()
                if self._level(bucket, now_s) < self._rate.burst
            }
        return name if len(self._levels) < self._max_buckets else SHARED_BUCKET


class UsageCounts(Counter[Key]):
    """Numbers of connections, streams or requests in use now, by a key such as an address.

    A key with nothing in use is removed, so that memory is bounded. Not thread-safe.
    """

    def release(self, key: Key) -> None:
        """Count one less for a key."""
        self[key] -= 1
        if not self[key]:
            del self[key]


# Rate limit per address. Forty phones behind one router may load a page at once.
STRANGER_RATE = Rate(1000, 40.0)
# Rate limit for a seat or the owner. Fingers are slower than that.
MEMBER_RATE = Rate(200, 50.0)


class RequestLimits:
    """Rate limits for all requests of an application.

    Strangers have one limit per address. Each seat and the owner have a limit of their own, which
    follows them to any address. So a stranger who floods the service, even from the same address,
    uses up nothing of theirs.

    `requester` returns who sends the current request, as `Auth.requester` does: a seat, `host`, or
    None for a stranger.
    """

    def __init__(self, requester: Callable[[], str | None], now_s: Callable[[], float]) -> None:
        self._requester = requester
        self._strangers = TokenBuckets(STRANGER_RATE, now_s)
        self._members = TokenBuckets(MEMBER_RATE, now_s)

    def check(self) -> None:
        """Count the current request. Raises `TooManyRequests` if it is one too many.

        The machine's own screen has no limit.
        """
        address = request.remote_addr or ""
        if address in OWN_ADDRESSES:
            return
        member = self._requester()
        if member:
            has_token = self._members.take_token(member)
        else:
            has_token = self._strangers.take_token(address_group(address))
        if not has_token:
            raise TooManyRequests(retry_after=RETRY_AFTER_S)


class GuessLimit:
    """Rate limit for wrong guesses at a secret, per address.

    There is no limit for all addresses together, because strangers could use it up and so lock out
    people who know the secret. Even somebody with many addresses cannot guess without end: beyond
    `MAX_BUCKETS` addresses, all others share one bucket.
    """

    def __init__(self, rate: Rate, now_s: Callable[[], float]) -> None:
        self._buckets = TokenBuckets(rate, now_s)

    def check_guess(self, address: str, is_right: Callable[[], bool]) -> bool | None:
        """Return whether a guess is right, or None after too many wrong guesses from its address.

        In that case the guess is not checked, so that even the right one tells nothing.
        """
        name = address_group(address)
        if not self._buckets.take_token(name):
            return None
        if not is_right():
            return False
        # only wrong guesses count
        self._buckets.return_token(name)
        return True

    def require_right_guess(
        self, address: str, is_right: Callable[[], bool], wrong_message: str, limit_message: str
    ) -> None:
        """Raise `Illegal` unless the guess is right.

        The message is `wrong_message`, or `limit_message` after too many wrong guesses.
        """
        result = self.check_guess(address, is_right)
        if not result:
            message = limit_message if result is None else wrong_message
            raise Illegal(Refusal.JOIN_CODE, message)


def plain_address(address: str) -> str:
    """Return an IPv4 address that is mapped into IPv6 as plain IPv4, and others unchanged.

    A port that serves both IPv4 and IPv6 reports its IPv4 clients in the mapped form.

    >>> plain_address("::ffff:192.0.2.7"), plain_address("::1")
    ('192.0.2.7', '::1')
    """
    return address.removeprefix("::ffff:") if "." in address else address


def parse_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Parse a numeric address, with or without a zone such as `%eth0`. Return None for a name."""
    try:
        return ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None


@lru_cache(maxsize=MAX_BUCKETS)
def address_group(address: str) -> str:
    """Return the key under which the requests of an address are counted.

    For IPv6 that is the /64 network, because a single home can use all addresses in it.

    >>> [address_group(address) for address in ("192.0.2.7", "2001:db8::1:7%eth0",
    ... "::ffff:192.0.2.7", "nowhere")]
    ['192.0.2.7', '2001:db8::/64', '192.0.2.7', 'nowhere']
    """
    parsed = parse_address(address)
    if parsed is None:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    if parsed.ipv4_mapped:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((parsed, 64), strict=False))
