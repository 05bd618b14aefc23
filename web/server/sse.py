"""Live pages by server-sent events, with one generator and one thread of the web server per stream.

A page opens one stream. The stream sends the HTML of the page's changing part (a fragment) at once
and after every change, and `web/static/live.js` shows it. A viewer who is too slow for every change
gets only the latest fragment.

The number of streams is limited, because each occupies a thread. Some places are reserved for seats
and table screens, so that spectators cannot take them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextvars import copy_context
from enum import Enum
from functools import lru_cache, partial
from typing import Protocol

from flask import Response, request

from companion.core.errors import CompanionError
from companion.core.i18n import say
from web.security.rate_limit import OWN_ADDRESSES, UsageCounts, address_group

# Interval in seconds at which a stream checks whether its viewer is still connected.
CHECK_INTERVAL_S = 1.0
# Interval in seconds between two messages of a stream without news. A page that receives nothing
# for three intervals says that its connection is lost (`CONNECTION_LOST_AFTER_MS` in `live.js`).
PING_INTERVAL_S = 10.0
# Message of a stream without news. It shows the page that the connection is alive.
PING = "event: here\ndata: .\n\n"
# Tells the page to reconnect after a second.
RETRY = "retry: 1000\n\n"


class TooManyViewers(CompanionError, RuntimeError):
    """There is no place for another stream of this viewer."""

    kind = "too_many_viewers"


class Audience(Enum):
    """The kind of viewer of a stream. Each kind has its own number of places."""

    SPECTATOR = "spectator"
    TABLE = "table"
    """Table screens. Anybody may open one, so they have reserved places."""
    SEAT = "seat"
    """Seats and the owner, whose identity is known."""


# Number of reserved places by audience. When they are taken, that audience uses spectators' places.
# There are more for seats than seats, because a player may open several windows.
RESERVED_PLACES = {Audience.TABLE: 4, Audience.SEAT: 12}
# Number of the table screens' places that only the machine's own screen may take.
OWN_SCREEN_PLACES = 1
# Maximum number of seat places per address: for both seats and the owner, and some to spare.
MAX_SEAT_STREAMS_PER_ADDRESS = 8
# Maximum share of all spectators' places for one address. It is large, because all guests of a café
# may have the same address.
MAX_SPECTATOR_SHARE = 0.75


class ChangeSource(Protocol):
    """What a stream follows: a table, or at a hub the room or one of its tables."""

    @property
    def version(self) -> int:
        """The number of the latest change."""

    def wait(self, version: int, timeout_s: float) -> int:
        """Wait until the version differs, at most for the timeout. Return the current version."""


class Streams:
    """The open streams of one application, at most `max_spectators` for spectators. Thread-safe.

    Routes return what `stream_changes`, `stream_redrawn` or `stream` return. The web server then
    runs each stream in a thread of its own, until the viewer disconnects or `close` is called.
    """

    def __init__(self, max_spectators: int) -> None:
        self.max_spectators = max_spectators
        self.taken_places = UsageCounts[tuple[str, Audience]]()
        """Number of taken places by address and audience."""
        self.closing = threading.Event()
        self._free_places = {Audience.SPECTATOR: max_spectators, **RESERVED_PLACES}
        self._lock = threading.Lock()
        # Each stream notes this number when it begins, and ends when the number has changed.
        self._generation = 0

    @property
    def has_spectator_place(self) -> bool:
        """Whether any place for spectators is free.

        A spectator may still be refused, because one address cannot take all places.
        """
        return self._free_places[Audience.SPECTATOR] > 0

    @property
    def open_count(self) -> int:
        """The number of open streams."""
        return self.max_spectators + sum(RESERVED_PLACES.values()) - sum(self._free_places.values())

    def close(self) -> None:
        """End every stream, within `CHECK_INTERVAL_S`."""
        self.closing.set()

    def reconnect_all(self) -> None:
        """End every stream, so that pages reconnect and are checked again whether they may."""
        self._generation += 1

    def stream_changes(
        self,
        source: ChangeSource,
        render: Callable[[], str],
        audience: Audience = Audience.SPECTATOR,
        on_close: Callable[[], None] = lambda: None,
    ) -> Response:
        """Return a stream of fragments: one now, and one after every change of the source."""
        # no source has this version, so that the first fragment is sent at once
        sent_version = -1

        def next_messages() -> str:
            nonlocal sent_version
            version = source.version
            if version == sent_version:
                return ""
            sent_version = version
            return format_event(render())

        def wait_for_change() -> None:
            source.wait(sent_version, CHECK_INTERVAL_S)

        return self.stream(next_messages, wait_for_change, audience, on_close)

    def stream_redrawn(self, draw: Callable[[], str], audience: Audience) -> Response:
        """Return a stream of a fragment whose source cannot tell when it changes.

        The fragment is drawn every `CHECK_INTERVAL_S`, and sent if it differs from the last one.
        """
        sent_html = ""

        def next_messages() -> str:
            nonlocal sent_html
            html = draw()
            if html == sent_html:
                return ""
            sent_html = html
            return format_event(html)

        return self.stream(next_messages, partial(time.sleep, CHECK_INTERVAL_S), audience)

    def stream(
        self,
        next_messages: Callable[[], str],
        pause: Callable[[], object],
        audience: Audience = Audience.SPECTATOR,
        on_close: Callable[[], None] = lambda: None,
    ) -> Response:
        """Return a stream of the messages that `next_messages` returns, empty for no news.

        The stream calls `next_messages` and `pause` in turn. `next_messages` runs in the context of
        the current request, and so in its language. `pause` waits for news or for a while.
        `on_close` is called once, when the stream ends or is refused.

        Raises `TooManyViewers` if all places for this address are taken, or the server is closing.
        """
        address = request.remote_addr or ""
        place_kind = None if self.closing.is_set() else self._take_place(audience, address)
        if place_kind is None:
            on_close()
            raise TooManyViewers(
                say("Too many people are watching: close a page, or try again in a minute")
            )
        is_gone: Callable[[], bool] = request.environ.get(
            "waitress.client_disconnected", lambda: False
        )
        # the generator runs after the route has returned, but still needs the request's context
        context = copy_context()
        generation = self._generation

        def messages() -> Iterator[str]:
            yield RETRY
            last_message_at_s = time.monotonic()
            while not (self.closing.is_set() or self._generation != generation or is_gone()):
                text = context.run(next_messages)
                # a page takes a long silence for a lost connection, so send a ping without news
                if not text and time.monotonic() - last_message_at_s >= PING_INTERVAL_S:
                    text = PING
                if text:
                    yield text
                    last_message_at_s = time.monotonic()
                pause()

        releasing = threading.Lock()

        def release() -> None:
            # Only the first call does anything, because an answer may be closed several times. The
            # lock is never released.
            if releasing.acquire(blocking=False):
                self._return_place(place_kind, address)
                on_close()

        answer = Response(messages(), mimetype="text/event-stream")
        # tell nginx not to hold small messages back until it has more
        answer.headers["X-Accel-Buffering"] = "no"
        answer.call_on_close(release)
        return answer

    def _take_place(self, audience: Audience, address: str) -> Audience | None:
        """Take a place for this audience, or else one of the spectators' places. Return its kind.

        Return None if this address may take neither.
        """
        with self._lock:
            for kind in (audience, Audience.SPECTATOR):
                if self._may_take(kind, address):
                    self._free_places[kind] -= 1
                    self.taken_places[address_group(address), kind] += 1
                    return kind
        return None

    def _may_take(self, kind: Audience, address: str) -> bool:
        """Return whether an address may take one more place of this kind."""
        free = self._free_places[kind]
        taken = self.taken_places[address_group(address), kind]
        if not free:
            return False
        # the machine's own screen may take any free place
        if address in OWN_ADDRESSES:
            return True
        if kind is Audience.TABLE:
            return free > OWN_SCREEN_PLACES
        if kind is Audience.SEAT:
            return taken < MAX_SEAT_STREAMS_PER_ADDRESS
        return taken < max(1, int(self.max_spectators * MAX_SPECTATOR_SHARE))

    def _return_place(self, kind: Audience, address: str) -> None:
        with self._lock:
            self._free_places[kind] += 1
            self.taken_places.release((address_group(address), kind))


# cached because many viewers get the same fragment one after the other
@lru_cache(maxsize=16)
def format_event(data: str, event: str = "") -> str:
    """Format a server-sent event. Every line of `data` that is not blank becomes a data line.

    `event` is the name of the event. Without one, browsers call it `message`.
    """
    head = f"event: {event}\n" if event else ""
    body = "\n".join(f"data: {line}" for line in data.splitlines() if line.strip())
    return f"{head}{body}\n\n"
