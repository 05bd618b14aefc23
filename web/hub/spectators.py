"""Pages for spectators: a list of tables, a page for each, and an overlay for video streams.

They show what tables have sent to the hub, so tables have no work with spectators.
"""

from __future__ import annotations

from typing import Any

from flask import Response, redirect, render_template

from companion.table.public.messages import unpack_sentence
from companion.table.session import Phase
from web.context import Fragments
from web.hub.drawing import summarise_seats
from web.hub.room import (
    MAX_RECENT_RECORDS,
    HubContext,
    HubRouteGroup,
    HubTable,
    TimedRecord,
    delay_text,
)
from web.routes.route import get
from web.server.sse import CHECK_INTERVAL_S, format_event


class SpectatorPages(HubRouteGroup):
    """The routes under `/watch` and `/overlay`, and the short link of a table, such as `/7`.

    A stream follows the feed of one table, so that other tables do not wake it.
    """

    name = "watch"

    def __init__(self, hub: HubContext) -> None:
        super().__init__(hub)
        # a feed keeps no older records than these, so no stream asks for older fragments
        self._fragments = Fragments(MAX_RECENT_RECORDS)

    @get("/watch")
    def choose(self) -> str:
        """Show a list of all tables."""
        return render_template("hub_tables.html", tables=self._room.tables(), Phase=Phase)

    @get("/<int:number>")
    def short(self, number: int) -> Any:
        """Redirect from the short link of a table."""
        self._require_table(number)
        return redirect(f"/watch/{number}")

    @get("/<any(watch, overlay):page>/<int:number>")
    def page(self, page: str, number: int) -> str:
        """Show a table as a page for phones, or as an overlay for video."""
        table = self._require_table(number)
        feed = self._room.feed(table.id)
        # for the version -1 there is only the newest record
        version, timed_record = feed.records_after(-1)[0]
        fragment = self._fragment(page, table, version, timed_record)
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
        table = self._require_table(number)
        feed = self._room.feed(table.id)
        # for this version the feed returns the newest record, which is sent at once
        sent_version = -1

        def message_of(version: int, timed_record: TimedRecord | None) -> str:
            current = self._room.table(number)
            # if the table was removed, its number may belong to another table by now
            if current is None or current.id != table.id:
                return format_event('<main id="live" data-go="/watch"></main>')
            return format_event(self._fragment(page, current, version, timed_record))

        def next_messages() -> str:
            nonlocal sent_version
            # a slow spectator gets every record that was shown meanwhile, one after the other
            messages = []
            for version, timed_record in feed.records_after(sent_version):
                messages.append(message_of(version, timed_record))
                sent_version = version
            return "".join(messages)

        def wait_for_record() -> None:
            feed.wait(sent_version, CHECK_INTERVAL_S)

        return self._streams.stream(next_messages, wait_for_record)

    def _fragment(
        self, page: str, table: HubTable, version: int, timed_record: TimedRecord | None
    ) -> str:
        return self._fragments.get(
            (page, table.id), version, lambda: self._draw(page, table, timed_record)
        )

    def _draw(self, page: str, table: HubTable, timed_record: TimedRecord | None) -> str:
        view = timed_record.record.view if timed_record else None
        names = table.state.names if table.state else {}
        return render_template(
            f"_hub_{page}.html",
            table=table,
            public=view,
            seats=summarise_seats(timed_record, names) if timed_record else (),
            title=unpack_sentence(view.title) if view else "",
            delay_words=delay_text(self._room.delay_s) if self._room.delay_s else "",
        )
