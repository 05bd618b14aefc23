"""The wall of a room: every table, who needs somebody, and how to watch; for a screen that everybody looks at."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from flask import Blueprint, Response, render_template, request

from companion.core.i18n import say, say_n, spoken
from companion.table.seats.staff_call import Call
from companion.table.session import Phase
from web.context import Fragment, Needs, render_fragment
from web.hub.drawing import ShownSeat, seats_of
from web.hub.host import JoinDoor
from web.hub.room import Room, RoomTable, late_words
from web.hub.spectators import SpectatorPages, this_app
from web.security.auth import Auth, is_own_screen
from web.server.sse import Audience, Streams


@dataclass(frozen=True)
class Tile:
    """A table on the wall: how it is in two words, a drawing beside them, its kind for the style, and its seats."""

    table: RoomTable
    state: str
    drawing: str
    kind: str
    seats: tuple[ShownSeat, ...]


class WallPages:
    """The wall and its stream."""

    def __init__(
        self,
        room: Room,
        streams: Streams,
        door: JoinDoor,
        guard: Auth,
        *,
        urls: Callable[[], tuple[str, ...]],
        watch: SpectatorPages,
    ) -> None:
        self._room = room
        self._streams = streams
        self._door = door
        self._guard = guard
        self._urls = urls
        self._watch = watch
        self._drawn: dict[tuple[bool, str], tuple[int, Fragment]] = {}
        self._drawing = threading.Lock()

    def blueprint(self) -> Blueprint:
        """All routes."""
        wall = Blueprint("wall", __name__)
        wall.add_url_rule("/", view_func=self.page)
        wall.add_url_rule("/live/wall", view_func=self.live)
        return wall

    def page(self) -> str:
        """The wall."""
        own = is_own_screen(request)
        return render_fragment("hub_wall.html", self._fragment(own), live="/live/wall", theme="")

    def live(self) -> Response:
        """The stream of the wall."""
        own, app = is_own_screen(request), this_app()

        def render() -> str:
            with app.app_context():
                return self._fragment(own).html

        return self._streams.follow(request.environ, render, Audience.TABLE)

    def _fragment(self, own: bool) -> Fragment:
        key = (own, spoken())
        with self._drawing:
            version, fragment = self._drawn.get(key, (-1, None))
            if fragment is None or version != self._room.version:
                version = self._room.version
                fragment = self._draw(own)
                self._drawn[key] = (version, fragment)
        return fragment

    def _draw(self, own: bool) -> Fragment:
        room, now_s, needs = self._room, self._room.now_s(), Needs()
        tables = room.tables()
        html = render_template(
            "_hub_wall.html",
            needs=needs,
            tiles=[tile_of(table, now_s) for table in tables],
            calls=[(table, what) for table in tables if (what := table.needs(now_s))],
            sign=sign_of(room, tables, now_s),
            urls=self._urls(),
            code=self._door.code if own else "",
            host_key=self._guard.host_key if own else "",
            watching=self._watch.watching,
            late=late_words(room.delay_s),
        )
        return Fragment(html, needs)


def tile_of(table: RoomTable, now_s: float) -> Tile:
    """A table as the wall shows it."""
    state, shown = table.state, table.shown
    seats = seats_of(shown, state.names if state else {}, 0.0) if shown else ()
    if table.is_lost(now_s):
        return Tile(table, say("Not connected"), "noentry", "lost", seats)
    if state and state.call is Call.CALLED:
        return Tile(table, say("Calls"), "bell", "call", seats)
    if state and state.call is Call.COMING:
        return Tile(table, say("Somebody is coming"), "bell", "coming", seats)
    if table.closed and table.phase in (Phase.LOBBY, Phase.OVER):
        return Tile(table, say("Closed"), "noentry", "shut", seats)
    if shown is None or table.phase is Phase.LOBBY:
        return Tile(table, say("Free"), "", "free", seats)
    view = shown.record.view
    if view.phase is Phase.OVER:
        return Tile(table, say("Finished"), "tick", "done", seats)
    drawing = "noentry" if table.needs(now_s) else ""
    if view.paused:
        return Tile(table, say("Paused"), drawing, "paused", seats)
    if view.phase is Phase.SETUP or not view.turn:
        return Tile(table, say("Set-up"), drawing, "on", seats)
    return Tile(table, say("Turn {turn}", turn=view.turn), drawing, "on", seats)


def sign_of(room: Room, tables: tuple[RoomTable, ...], now_s: float) -> tuple[str, bool]:
    """The one line at the foot of the wall, and whether somebody is awaited."""
    if room.trouble:
        return room.trouble, True
    calling = [table for table in tables if table.state and table.state.call is Call.CALLED]
    if calling:
        return say("Table {number} calls", number=calling[0].number), True
    for table in tables:
        if what := table.needs(now_s):
            return say("Table {number}: {what}", number=table.number, what=what), True
    if not tables:
        return say("No table has joined yet"), False
    free = [table for table in tables if table.phase is Phase.LOBBY and not table.closed]
    if free:
        return say("Sit down at table {number}", number=free[0].number), False
    playing = sum(table.phase is not Phase.OVER for table in tables)
    return say_n("{n} table plays", "{n} tables play", playing), False
