"""Pages for spectators: a list of tables, a page for each, and an overlay for video streams. The
hub serves them without load on the tables.
"""

from __future__ import annotations

import threading
from typing import Any

from flask import Response, redirect, render_template, request
from werkzeug.exceptions import NotFound

from companion.core.i18n import spoken
from companion.table.session import Phase
from web.hub.drawing import seats_of, sentence
from web.hub.room import MAX_RECENT, Delayed, Room, RoomTable, Shown, late_words
from web.routes.route import get
from web.server.sse import LOOK_S, Streams, message


class SpectatorPages:
    """The routes under `/watch` and `/overlay`, and the short link of a table, such as `/7`.

    A stream only wakes for the table that it follows.
    """

    name = "watch"

    def __init__(self, room: Room, streams: Streams) -> None:
        self._room = room
        self._streams = streams
        self._drawings: dict[tuple[str, str, str, str], dict[tuple[int, int], str]] = {}
        self._lock = threading.Lock()

    @property
    def watching(self) -> int:
        """Return the number of open streams."""
        return self._streams.open

    @get("/watch")
    def choose(self) -> str:
        """Show a list of all tables."""
        return render_template("hub_tables.html", tables=self._room.tables(), Phase=Phase)

    @get("/<int:number>")
    def short(self, number: int) -> Any:
        """Redirect from the short link of a table."""
        self._table(number)
        return redirect(f"/watch/{number}")

    @get("/<any(watch, overlay):page>/<int:number>")
    def page(self, page: str, number: int) -> str:
        """Show a table as a page for phones, or as an overlay for video."""
        table = self._table(number)
        followed = self._room.delayed(table.id) or Delayed()
        fragment = self._fragment(page, table, followed.version, followed.shown)
        return render_template(
            f"hub_{page}.html",
            fragment=fragment,
            live=f"/live/{page}/{number}",
            table=table,
            theme="",
        )

    @get("/live/<any(watch, overlay):page>/<int:number>")
    def live(self, page: str, number: int) -> Response:
        """Stream the page or overlay of a table."""
        table = self._table(number)
        followed = self._room.delayed(table.id) or Delayed()
        root = request.script_root
        known = -1

        def messages_of(version: int, shown: Shown | None) -> str:
            now = self._room.table(number)
            # the number may now belong to another table
            if now is None or now.id != table.id:
                return message('<main id="live" data-go="/watch"></main>')
            drawing = self._recall(page, now, version, root)
            return message(drawing or self._fragment(page, now, version, shown))

        def news() -> str:
            nonlocal known
            # a slow spectator gets each missed record in turn
            changes = followed.since(known)
            known = changes[-1][0] if changes else known
            return "".join(messages_of(version, shown) for version, shown in changes)

        return self._streams.hold(news, lambda: followed.wait(known, LOOK_S))

    def _table(self, number: int) -> RoomTable:
        table = self._room.table(number)
        if table is None:
            raise NotFound
        return table

    def _recall(self, page: str, table: RoomTable, version: int, root: str) -> str | None:
        """Return the cached drawing of a page at this version, or None."""
        drawings = self._drawings.get((page, table.id, spoken(), root))
        return drawings.get((version, round(self._room.delay_s))) if drawings else None

    def _fragment(self, page: str, table: RoomTable, version: int, shown: Shown | None) -> str:
        drawing = self._recall(page, table, version, request.script_root)
        if drawing is None:
            drawing = self._draw(page, table, shown)
            with self._lock:
                drawings = self._drawings.setdefault(
                    (page, table.id, spoken(), request.script_root), {}
                )
                drawings[version, round(self._room.delay_s)] = drawing
                # no stream asks for older versions than these
                if len(drawings) > MAX_RECENT:
                    del drawings[min(drawings)]
        return drawing

    def _draw(self, page: str, table: RoomTable, shown: Shown | None) -> str:
        delay_s = self._room.delay_s
        view = shown.record.view if shown else None
        names = table.state.names if table.state else {}
        html = render_template(
            f"_hub_{page}.html",
            table=table,
            public=view,
            seats=seats_of(shown, names, delay_s) if shown else (),
            title=sentence(view.title) if view else "",
            late=late_words(delay_s),
            is_late=delay_s > 0,
        )
        return html
