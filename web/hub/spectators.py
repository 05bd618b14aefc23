"""Tables followed from anywhere, by the hub and never by the table: a list, a page each, and an overlay for streams."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import partial
from typing import Any

from flask import Blueprint, Response, redirect, render_template, request
from werkzeug.exceptions import NotFound

from companion.core.i18n import spoken
from companion.table.session import Phase
from web.hub.drawing import seats_of, sentence
from web.hub.room import MOST_RECENT, Delayed, Room, RoomTable, Shown, late_words
from web.server.asked import this_app
from web.server.sse import Changes, Streams, message
from web.server.stream_writer import Writer
from web.templating.fragments import Fragment, Needs, render_fragment


@dataclass(frozen=True)
class DrawnTable:
    """A page of a table, and the same as a message of its stream."""

    fragment: Fragment
    message: str


class SpectatorPages:
    """The routes under `/watch` and `/overlay`, and the short link of a table: `/7`.

    Each table that somebody follows has streams of its own, so that nobody is woken by another table; one thread writes
    them all.
    """

    def __init__(self, room: Room, wall: Streams, viewers: int) -> None:
        self._room = room
        self._wall = wall
        self._viewers = viewers
        self._streams: dict[str, Streams] = {}
        self._writer = Writer("spectators")
        self._kept: dict[tuple[str, str, str], dict[tuple[int, int], DrawnTable]] = {}
        self._lock = threading.Lock()

    def blueprint(self) -> Blueprint:
        """All routes."""
        watch = Blueprint("watch", __name__)
        watch.add_url_rule("/watch", view_func=self.choose)
        watch.add_url_rule("/<int:number>", view_func=self.short)
        watch.add_url_rule("/<any(watch, overlay):page>/<int:number>", view_func=self.page)
        watch.add_url_rule("/live/<any(watch, overlay):page>/<int:number>", view_func=self.live)
        return watch

    @property
    def watching(self) -> int:
        """How many follow a table."""
        return sum(streams.open for streams in tuple(self._streams.values()))

    def choose(self) -> str:
        """Every table to be followed."""
        return render_template("hub_tables.html", tables=self._room.tables(), Phase=Phase)

    def short(self, number: int) -> Any:
        """The short link of a table."""
        self._table(number)
        return redirect(f"/watch/{number}")

    def page(self, page: str, number: int) -> str:
        """A table on a phone, or over a picture of its players."""
        table = self._table(number)
        followed = self._room.delayed(table.id) or Delayed()
        fragment = self._drawn(page, table, followed.version, followed.shown).fragment
        return render_fragment(f"hub_{page}.html", fragment, live=f"/live/{page}/{number}", table=table, theme="")

    def live(self, page: str, number: int) -> Response:
        """The stream of such a page."""
        table, app = self._table(number), this_app()
        followed = self._room.delayed(table.id) or Delayed()

        def tell(version: int, shown: Shown | None) -> str:
            now = self._room.table(number)
            if now is None or now.id != table.id:
                return message('<main id="live" data-go="/watch"></main>')
            known = self._found(page, now, version)
            if known is None:
                with app.app_context():
                    known = self._drawn(page, now, version, shown)
            return known.message

        def changes(known: int) -> Changes:
            return [(version, partial(tell, version, shown)) for version, shown in followed.since(known)]

        return self._streams_of(table).follow_each(request.environ, changes)

    def close(self) -> None:
        """End every stream."""
        self._writer.close()
        for streams in tuple(self._streams.values()):
            streams.close()

    def _table(self, number: int) -> RoomTable:
        table = self._room.table(number)
        if table is None:
            raise NotFound
        return table

    def _streams_of(self, table: RoomTable) -> Streams:
        with self._lock:
            if table.id not in self._streams:
                followed = self._room.delayed(table.id)
                if followed is None or self._wall.closing.is_set():
                    raise NotFound
                self._streams[table.id] = Streams(followed, self._viewers, self._writer)
            return self._streams[table.id]

    def _found(self, page: str, table: RoomTable, version: int) -> DrawnTable | None:
        """A page as it was drawn at this version; the last ones are kept, for many ask."""
        kept = self._kept.get((page, table.id, spoken()))
        return kept.get((version, round(self._room.delay_s))) if kept else None

    def _drawn(self, page: str, table: RoomTable, version: int, shown: Shown | None) -> DrawnTable:
        found = self._found(page, table, version)
        if found is None:
            fragment = self._draw(page, table, shown)
            found = DrawnTable(fragment, message(fragment.html))
            with self._lock:
                kept = self._kept.setdefault((page, table.id, spoken()), {})
                kept[version, round(self._room.delay_s)] = found
                if len(kept) > MOST_RECENT:
                    del kept[min(kept)]
        return found

    def _draw(self, page: str, table: RoomTable, shown: Shown | None) -> Fragment:
        needs, delay_s = Needs(), self._room.delay_s
        view = shown.record.view if shown else None
        names = table.state.names if table.state else {}
        html = render_template(
            f"_hub_{page}.html",
            needs=needs,
            table=table,
            public=view,
            seats=seats_of(shown, names, delay_s) if shown else (),
            title=sentence(view.title) if view else "",
            late=late_words(delay_s),
            is_late=delay_s > 0,
        )
        return Fragment(html, needs)
