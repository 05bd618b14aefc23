"""Live pages by server-sent events, with one generator and one thread of the web server per stream.

A page opens one stream. It receives the whole fragment at once and after every change. A viewer who
is too slow for every change gets only the newest. The number of streams is limited. Some places are
reserved for seats and table screens, so that spectators cannot take them.
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

LOOK_S = 1.0
"""Interval in seconds at which a stream checks whether its viewer is still connected."""
PING_S = 10.0
PING = "event: here\ndata: .\n\n"
"""Sign of life from the service. A page that receives nothing for long reconnects."""
RETRY = "retry: 1000\n\n"
"""Tells the page to reconnect after a second."""


class TooManyViewers(CompanionError, RuntimeError):
    """All streams are taken."""

    kind = "too_many_viewers"


class Audience(Enum):
    """The kind of viewer of a stream."""

    SPECTATOR = "spectator"
    TABLE = "table"
    """Table screens. Anybody may open one, so they have reserved places."""
    SEAT = "seat"
    """Seats and the owner, whose identity is known."""


KEPT = {Audience.TABLE: 4, Audience.SEAT: 12}
"""Number of reserved places by audience. When they are taken, that audience uses spectators'
places.
"""
OWN_TABLES = 1
"""Number of the table screens' places that are reserved for the machine's own screen."""
SEATS_EACH = 8
"""Maximum number of seat places per address: both seats and the owner, with spare ones."""
SHARE = 0.75
"""Maximum share of spectators' places per address. It is large, because a café's guests may share
one.
"""


class Followed(Protocol):
    """The source of a stream: a table, or at a hub a room and each of its tables."""

    @property
    def version(self) -> int:
        """Return the number of the newest change."""

    def wait(self, version: int, timeout_s: float) -> int:
        """Wait until the version differs from this one, or for the timeout. Return the newest
        version.
        """


def _do_nothing() -> None:
    """Do nothing when a stream ends."""


class Streams:
    """The open streams of one application, at most `viewers` for spectators."""

    def __init__(self, viewers: int) -> None:
        self.viewers = viewers
        self.held = UsageCounts[tuple[str, Audience]]()
        self.closing = threading.Event()
        self._free_places = {Audience.SPECTATOR: viewers, **KEPT}
        self._lock = threading.Lock()
        self._round = 0

    @property
    def has_room(self) -> bool:
        """Return whether there is room for another spectator."""
        return self._free_places[Audience.SPECTATOR] > 0

    @property
    def open(self) -> int:
        """Return the number of open streams."""
        return self.viewers + sum(KEPT.values()) - sum(self._free_places.values())

    def close(self) -> None:
        """End every stream, within `LOOK_S`."""
        self.closing.set()

    def renew(self) -> None:
        """End every stream. Pages that still may open one reconnect."""
        self._round += 1

    def follow(
        self,
        source: Followed,
        render: Callable[[], str],
        audience: Audience = Audience.SPECTATOR,
        when_over: Callable[[], None] = _do_nothing,
    ) -> Response:
        """Return a stream of fragments: one now, and one after every change of the source."""
        shown = -1

        def news() -> str:
            nonlocal shown
            version = source.version
            if version == shown:
                return ""
            shown = version
            return message(render())

        return self.hold(news, lambda: source.wait(shown, LOOK_S), audience, when_over)

    def watch(self, draw: Callable[[], str], audience: Audience) -> Response:
        """Return a stream of a fragment that is redrawn every `LOOK_S` and sent when it differs."""
        shown = ""

        def news() -> str:
            nonlocal shown
            html = draw()
            if html == shown:
                return ""
            shown = html
            return message(html)

        return self.hold(news, partial(time.sleep, LOOK_S), audience)

    def hold(
        self,
        news: Callable[[], str],
        pause: Callable[[], object],
        audience: Audience = Audience.SPECTATOR,
        when_over: Callable[[], None] = _do_nothing,
    ) -> Response:
        """Return a stream of what `news` returns, with a pause after each call.

        `news` runs in the context of the current request and its language. `when_over` is called at
        the end. Raises `TooManyViewers` if all places are taken.
        """
        address = request.remote_addr or ""
        place = None if self.closing.is_set() else self._take(audience, address)
        if place is None:
            when_over()
            raise TooManyViewers(
                say("Too many people are watching: close a page, or try again in a minute")
            )
        is_gone: Callable[[], bool] = request.environ.get(
            "waitress.client_disconnected", lambda: False
        )
        # the generator runs later, with the request of this context
        context, first_round = copy_context(), self._round

        def messages() -> Iterator[str]:
            yield RETRY
            last_message_s = time.monotonic()
            while not (self.closing.is_set() or self._round != first_round or is_gone()):
                text = context.run(news)
                # a page takes a long silence for a lost connection
                if not text and time.monotonic() - last_message_s >= PING_S:
                    text = PING
                if text:
                    yield text
                    last_message_s = time.monotonic()
                pause()

        places = [place]

        def release() -> None:
            # once, even if the answer is closed several times
            if places:
                self._give_back(places.pop(), address)
                when_over()

        answer = Response(messages(), mimetype="text/event-stream")
        answer.headers["Cache-Control"] = "no-store"
        # otherwise nginx buffers small messages
        answer.headers["X-Accel-Buffering"] = "no"
        answer.call_on_close(release)
        return answer

    def _take(self, audience: Audience, address: str) -> Audience | None:
        """Take a place of this audience, or else of the spectators. Return None if this address
        gets neither.
        """
        with self._lock:
            for place in (audience, Audience.SPECTATOR):
                if self._may_have(place, address):
                    self._free_places[place] -= 1
                    self.held[address_group(address), place] += 1
                    return place
        return None

    def _may_have(self, place: Audience, address: str) -> bool:
        free, held = self._free_places[place], self.held[address_group(address), place]
        # the own screen may take any free place
        if address in OWN_ADDRESSES or not free:
            return free > 0
        if place is Audience.TABLE:
            return free > OWN_TABLES
        return held < (SEATS_EACH if place is Audience.SEAT else max(1, int(self.viewers * SHARE)))

    def _give_back(self, place: Audience, address: str) -> None:
        with self._lock:
            self._free_places[place] += 1
            self.held.release((address_group(address), place))


@lru_cache(maxsize=16)
def message(text: str, event: str = "") -> str:
    """Return one server-sent event. Every line of `text` becomes a data line."""
    head = f"event: {event}\n" if event else ""
    body = "\n".join(f"data: {line}" for line in text.splitlines() if line.strip())
    return f"{head}{body}\n\n"
