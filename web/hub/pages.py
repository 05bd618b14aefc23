"""What all pages of a hub share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from companion.core.clock import Clock
from companion.league.league import League
from web.hub.room import Room
from web.security.auth import Auth
from web.server.sse import Streams


@dataclass(frozen=True)
class HubContext:
    """A hub as its pages see it. `urls` are its addresses, the best one for phones first."""

    room: Room
    league: League
    clock: Clock
    guard: Auth
    streams: Streams
    urls: Callable[[], tuple[str, ...]]


class HubGroup:
    """A class with declared routes of a hub's pages, to be derived from and named."""

    def __init__(self, hub: HubContext) -> None:
        self._hub = hub
        self._room = hub.room
        self._league = hub.league
        self._guard = hub.guard
        self._streams = hub.streams
