"""The pages for people: table screen, joining, seats, spectators, host and rules."""

from __future__ import annotations

import time
from functools import partial
from random import randint
from typing import Any
from urllib.parse import quote

from flask import (
    Response,
    jsonify,
    make_response,
    redirect,
    render_template,
    request,
)

from companion.core.kit import Seat
from companion.table.table_view import TableView
from web.rendering.answers import ClockTime
from web.routes.api.body import SEAT
from web.routes.join import Joining
from web.routes.route import PageGroup, get, host_only, sitting
from web.routes.shared_phone import COVER, must_cover, open_seat, stage_of_passing
from web.security.auth import is_own_screen
from web.server.sse import Audience, message

DARK_FROM_H, DARK_TO_H = 20, 7
"""Hours of the day between which a table screen is dark that is to be dark at night."""


class Pages(PageGroup):
    """Every page that is not the workbench."""

    name = "pages"

    # ---- pages that follow the table ----

    @get("/")
    def table_screen(self) -> Any:
        """Show the table screen. The machine's own one asks a new owner some questions first."""
        if (
            "kiosk" in request.args
            and is_own_screen(request)
            and self._page_context.is_first_evening
        ):
            return redirect("/host/first/1")
        theme = self._theme()
        asked, kiosk = "screen" in request.args, "kiosk" in request.args
        live, chosen = f"/live/table?look={self._look()}", "" if theme == "system" else theme
        own = () if asked or kiosk else self._guard.seats_of(request)
        return self._page("table", None, live, theme=chosen, asked=asked, kiosk=kiosk, own=own)

    @get("/watch")
    def watch(self) -> Any:
        """Show what everybody may know, or try again while too many look."""
        if self._page_context.streams.has_room:
            return self._page("watch", None, "/live/watch")
        again_s = randint(8, 15)  # not all at once
        answer = make_response(
            render_template(
                "full.html", again_s=again_s, viewers=self._page_context.streams.viewers
            ),
            503,
        )
        answer.headers["Retry-After"] = str(again_s)
        return answer

    @get(f"/seat/{SEAT}")
    def seat(self, seat: str) -> Any:
        """Show the page of a seat, for the browser that took it."""
        mine = Seat(seat)
        if not self._guard.sits(request, mine):
            if (changed := Joining(self._page_context).lead_to_swapped_seat()) is not None:
                return changed
            free = self._table.seat_nonce(mine) is None
            return (
                redirect(f"/join/{mine}") if free else Joining(self._page_context).taken(mine, 403)
            )
        view, live = self._table.view(), f"/live/seat/{mine}"
        part = _seat_part(view, mine)
        if not self._guard.passes(request):
            return self._page("seat", mine, live, part)
        if self._guard.shown(request) is not mine:
            return redirect("/pass")
        passed = "openly" if open_seat(view) else "covered"
        return self._page(
            "seat", mine, f"{live}?why={quote(stage_of_passing(view, mine))}", part, passed=passed
        )

    @get("/live/<any(table, watch):page>")
    def live(self, page: str) -> Response:
        """Stream a page that everybody may see."""
        own = page == "table" and is_own_screen(request)
        look = request.args.get("look")
        streams, voice = self._page_context.streams, self._page_context.features.welcome.voice
        if (
            page == "watch"
            and not streams.has_room
            and "text/event-stream" in request.accept_mimetypes.values()
        ):
            return Response(
                message('<main id="live" data-go="/watch"></main>'), mimetype="text/event-stream"
            )

        def render() -> str:
            if page == "table" and look is not None and look != self._look():
                return '<main id="live" data-page="other"></main>'
            at_table = page == "table" and self._guard.is_at_table(request)
            return self._page_context.fragment(page, None, own, at_table)

        if page == "watch":
            return streams.follow(self._table, render)
        if voice and "voice" in request.args:
            voice.screen_speaks(True)
            return streams.follow(
                self._table, render, Audience.TABLE, partial(voice.screen_speaks, False)
            )
        return streams.follow(self._table, render, Audience.TABLE)

    def _look(self) -> str:
        """Return what of the settings is in the table screen's page itself."""
        return f"{self._theme()}-{self._table.settings.language}"

    def _theme(self) -> str:
        """Return the colours of the table screen now."""
        theme = self._table.settings.theme
        if theme != "night":
            return theme
        hour = time.localtime(self._page_context.clock.wall_s()).tm_hour
        return "dark" if hour >= DARK_FROM_H or hour < DARK_TO_H else "light"

    @get("/live/host", guard=host_only)
    def live_host(self) -> Response:
        """Stream the owner's page."""
        streams, page_context = self._page_context.streams, self._page_context
        return streams.follow(
            self._table, lambda: page_context.fragment("host", None), Audience.SEAT
        )

    @get(f"/live/seat/{SEAT}", guard=sitting)
    def live_seat(self, seat: Seat) -> Response:
        """Stream a seat. One that was freed meanwhile gets nothing but the way out."""

        def render() -> str:
            if not self._guard.sits(request, seat):
                return f'<main id="live" data-go="/join/{seat}"></main>'
            if must_cover(self._guard, request, seat, self._table.view):
                return COVER
            return self._page_context.fragment(_seat_part(self._table.view(), seat), seat)

        leave = self._page_context.presence.begin(seat)
        return self._page_context.streams.follow(self._table, render, Audience.SEAT, leave)

    # ---- the rest ----

    @get("/clock", answer=ClockTime)
    def clock(self) -> Response:
        """Return the time by which the table's clocks run."""
        return jsonify(now_s=self._table.now_s())

    # ---- inside ----

    def _page(self, page: str, viewer: Seat | None, live: str, part: str = "", **more: Any) -> str:
        own = page == "table" and is_own_screen(request)
        at_table = page == "table" and self._guard.is_at_table(request)
        fragment = self._page_context.fragment(part or page, viewer, own, at_table)
        more |= {"live": live, "viewer": viewer, "page_context": self._page_context}
        return render_template(f"{page}.html", fragment=fragment, **more)


def _seat_part(view: TableView, seat: Seat) -> str:
    """Return which fragment a seat's page shows: its own, or the way back from its pad."""
    return "at_pad" if view.seats[seat].door == "pad" else "seat"
