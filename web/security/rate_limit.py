"""Rate limits by token buckets, one per address, in bounded memory.

A token bucket holds some tokens and is refilled at a constant rate. Each request takes a token, and
is refused if there is none.
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
# Maximum number of names with their own bucket. A café has some hundred addresses.
MAX_BUCKETS = 1024
# Addresses of this machine, from which only its own screen and programs connect.
OWN_ADDRESSES = ("127.0.0.1", "::1")
# Name of the bucket for everybody who gets none of their own.
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
    """Token buckets by name. Thread-safe.

    Once there are `max_buckets`, full ones are removed, because a new bucket is full as well. If
    that frees none, all new names share one bucket. So memory is bounded, and nobody can replace an
    empty bucket by a new one.
    """

    def __init__(
        self, rate: Rate, now_s: Callable[[], float], max_buckets: int = MAX_BUCKETS
    ) -> None:
        self._rate = rate
        self._now_s = now_s
        self._max_buckets = max_buckets
        # Tokens of each bucket, and the time in seconds at which it had them.
        self._levels: dict[str, tuple[float, float]] = {}
        self._swept_s = now_s()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._levels)

    def take_token(self, name: str) -> bool:
        """Take a token. Return False if none is left."""
        with self._lock:
            now_s = self._now_s()
            name = self._bucket_name(name, now_s)
            tokens = self._level(name, now_s)
            if tokens < 1:
                return False
            self._levels[name] = (tokens - 1, now_s)
            return True

    def return_token(self, name: str) -> None:
        """Return an unused token to a bucket."""
        with self._lock:
            now_s = self._now_s()
            name = self._bucket_name(name, now_s)
            self._levels[name] = (min(self._rate.burst, self._level(name, now_s) + 1), now_s)

    def _level(self, name: str, now_s: float) -> float:
        """Return the number of tokens that a bucket has now."""
        tokens, updated_s = self._levels.get(name, (self._rate.burst, now_s))
        # refill for the time since then, up to a full bucket
        return min(self._rate.burst, tokens + (now_s - updated_s) * self._rate.per_s)

    def _bucket_name(self, name: str, now_s: float) -> str:
        """Return the name of the bucket for a name, which may be the shared one."""
        if name in self._levels or len(self._levels) < self._max_buckets:
            return name
        # at most once a second, because the sweep visits every bucket
        if now_s - self._swept_s >= 1:
            self._swept_s = now_s
            self._levels = {
                bucket: level
                for bucket, level in self._levels.items()
                if self._level(bucket, now_s) < self._rate.burst
            }
        return name if len(self._levels) < self._max_buckets else SHARED_BUCKET


class UsageCounts(Counter[Key]):
    """Numbers of connections, streams or requests in use, by key, such as an address.

    Keys with 0 are removed, so that memory is bounded. Not thread-safe.
    """

    def release(self, key: Key) -> None:
        """Reduce the number of a key by one."""
        self[key] -= 1
        if not self[key]:
            del self[key]


# Rate limit per address. Forty phones behind one router may load a page at once.
STRANGER_RATE = Rate(1000, 40.0)
# Rate limit for a seat or the owner. Fingers are slower than that.
MEMBER_RATE = Rate(200, 50.0)


class RequestLimits:
    """Rate limits for all requests of an application: per address for strangers, and one for each
    seat and the owner, whatever their address.

    `requester` returns the seat or `host` that sends the current request, or None for a stranger.
    """

    def __init__(self, requester: Callable[[], str | None], now_s: Callable[[], float]) -> None:
        self._requester = requester
        self._strangers = TokenBuckets(STRANGER_RATE, now_s)
        self._members = TokenBuckets(MEMBER_RATE, now_s)

    def check(self) -> None:
        """Count the current request. Raises `TooManyRequests` above the rate.

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
    """Rate limit for guesses at a secret, per address.

    There is no limit for all addresses together, because strangers could then lock out people who
    know the secret. With many addresses the total is at most the rate times `MAX_BUCKETS`, because
    further addresses share a bucket.
    """

    def __init__(self, rate: Rate, now_s: Callable[[], float]) -> None:
        self._buckets = TokenBuckets(rate, now_s)

    def check_guess(self, address: str, is_right: Callable[[], bool]) -> bool | None:
        """Return whether the guess is right, or None after too many wrong ones from the address.

        Then even a right one is not looked at.
        """
        name = address_group(address)
        if not self._buckets.take_token(name):
            return None
        if not is_right():
            return False
        # right guesses do not count
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
    """Return an address as plain IPv4 if it is IPv4 mapped into IPv6, as on a dual-stack port.

    >>> plain_address("::ffff:192.0.2.7"), plain_address("::1")
    ('192.0.2.7', '::1')
    """
    return address.removeprefix("::ffff:") if "." in address else address


def parse_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Parse a numeric address, with or without a zone. Return None for anything else."""
    try:
        return ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None


@lru_cache(maxsize=MAX_BUCKETS)
def address_group(address: str) -> str:
    """Return the key under which an address is counted: its /64 network for IPv6, as a home has all
    of it.

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
