"""Pages that follow the table: server-sent events, each stream one generator in a thread of the web
server.

A page opens one stream. It gets the whole fragment at once, then after every change; a viewer who
is too slow for every change gets the newest. Streams are counted. Some places are kept for seats
and table screens, so that spectators never take them.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextvars import copy_context
from enum import Enum
from functools import lru_cache, partial
from typing import Protocol

from flask import Response, request

from companion.core.errors import CompanionError
from companion.core.i18n import say
from web.security.rate_limit import OWN_ADDRESSES, address_group

LOOK_S = 1.0
"""Seconds between two looks of a stream whether its viewer is still there."""
PING_S = 10.0
PING = "event: here\ndata: .\n\n"
"""Message that the service is there. A page that hears nothing for long asks anew."""
RETRY = "retry: 1000\n\n"
"""Message that a page comes back after a second."""


class TooManyViewers(CompanionError, RuntimeError):
    """All streams are taken."""

    kind = "too_many_viewers"


class Audience(Enum):
    """Whom a stream is for."""

    SPECTATOR = "spectator"
    TABLE = "table"
    """Table screens: anybody may open one, so these have places of their own."""
    SEAT = "seat"
    """Seats and the host, who have shown who they are."""


KEPT = {Audience.TABLE: 4, Audience.SEAT: 12}
"""Places that spectators do not get. When they are taken, their kind takes spectators'."""
OWN_TABLES = 1
"""Number of places for table screens that only the machine's own screen gets."""
SEATS_EACH = 8
"""Maximum number of places for seats of one address: both seats and the host, with spare ones."""
SHARE = 0.75
"""Largest share of spectators' places for one address, as a café's guests may come by one."""


class Followed(Protocol):
    """What pages follow: a table, or at a hub a room and each of its tables."""

    @property
    def version(self) -> int:
        """Return the number of the newest change."""

    def wait(self, version: int, timeout_s: float) -> int:
        """Wait until there is another version, or for the timeout. Return the newest."""


def _nothing() -> None:
    """Do nothing at the end of a stream that holds nothing."""


class Streams:
    """The open streams of one application, at most `viewers` of spectators."""

    def __init__(self, viewers: int) -> None:
        self.viewers = viewers
        self.held: Counter[tuple[str, Audience]] = Counter()
        self.closing = threading.Event()
        self._left = {Audience.SPECTATOR: viewers, **KEPT}
        self._lock = threading.Lock()
        self._round = 0

    @property
    def has_room(self) -> bool:
        """Return whether there is a place for one more spectator."""
        return self._left[Audience.SPECTATOR] > 0

    @property
    def open(self) -> int:
        """Return how many streams are open."""
        return self.viewers + sum(KEPT.values()) - sum(self._left.values())

    def close(self) -> None:
        """End every stream, within `LOOK_S`."""
        self.closing.set()

    def renew(self) -> None:
        """End every stream. Pages open theirs anew where they still may."""
        self._round += 1

    def follow(
        self,
        source: Followed,
        render: Callable[[], str],
        audience: Audience = Audience.SPECTATOR,
        when_over: Callable[[], None] = _nothing,
    ) -> Response:
        """Answer with a stream of fragments: one now, and one after every change of the source."""
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
        """Answer with a stream of a fragment, drawn anew every `LOOK_S` and sent when it
        differs.
        """
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
        when_over: Callable[[], None] = _nothing,
    ) -> Response:
        """Answer with a stream of what `news` returns, with a pause after each call.

        `news` finds the request and its language as they are now.

        `when_over` is called at the end. Raises `TooManyViewers` if all places are taken.
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
        # the generator runs later, and finds the request in this context
        context, first_round = copy_context(), self._round

        def messages() -> Iterator[str]:
            yield RETRY
            said_s = time.monotonic()
            while not (self.closing.is_set() or self._round != first_round or is_gone()):
                text = context.run(news)
                # silence looks like a lost connection
                if not text and time.monotonic() - said_s >= PING_S:
                    text = PING
                if text:
                    yield text
                    said_s = time.monotonic()
                pause()

        def release() -> None:
            self._give_back(place, address)
            when_over()

        answer = Response(messages(), mimetype="text/event-stream")
        answer.headers["Cache-Control"] = "no-store"
        # else nginx collects small pieces before it passes them on
        answer.headers["X-Accel-Buffering"] = "no"
        # the place is given back once, however often the answer is closed
        answer.call_on_close(_once(release))
        return answer

    def _take(self, audience: Audience, address: str) -> Audience | None:
        """Take a place of this kind, else a spectator's. Return None if there is none for this
        address.
        """
        with self._lock:
            for place in (audience, Audience.SPECTATOR):
                if self._may_have(place, address):
                    self._left[place] -= 1
                    self.held[address_group(address), place] += 1
                    return place
        return None

    def _may_have(self, place: Audience, address: str) -> bool:
        left, held = self._left[place], self.held[address_group(address), place]
        # the own screen takes any place that is free
        if address in OWN_ADDRESSES or not left:
            return left > 0
        if place is Audience.TABLE:
            return left > OWN_TABLES
        return held < (SEATS_EACH if place is Audience.SEAT else max(1, int(self.viewers * SHARE)))

    def _give_back(self, place: Audience, address: str) -> None:
        name = address_group(address)
        with self._lock:
            self._left[place] += 1
            self.held[name, place] -= 1
            if not self.held[name, place]:
                del self.held[name, place]


def _once(call: Callable[[], None]) -> Callable[[], None]:
    """Return a function that calls another one the first time only."""
    calls = [call]
    return lambda: calls.pop()() if calls else None


@lru_cache(maxsize=16)
def message(text: str, event: str = "") -> str:
    """Return one server-sent event. Every line of `text` becomes a data line."""
    head = f"event: {event}\n" if event else ""
    body = "\n".join(f"data: {line}" for line in text.splitlines() if line.strip())
    return f"{head}{body}\n\n"
