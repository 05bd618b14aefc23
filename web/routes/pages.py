"""The pages that follow the table: table screen, seats, spectators, and their streams."""

from __future__ import annotations

import time
from functools import partial
from typing import Any
from urllib.parse import quote

from flask import (
    Response,
    make_response,
    redirect,
    render_template,
    request,
)

from companion.core.i18n import say
from companion.core.kit import Seat
from companion.table.table_view import TableView
from web.rendering.answers import ClockTime
from web.routes.api.body import SEAT_PART
from web.routes.join import occupied_page, redirect_to_swapped_seat
from web.routes.route import TableRouteGroup, get, host_only, seat_holder
from web.routes.shared_phone import COVER_FRAGMENT, must_cover, opening_reason, seat_without_cover
from web.security.auth import is_own_screen
from web.server.sse import Audience, TooManyViewers

# Fragment that makes a page reload: `live.js` does so for another `data-page` than the page's own.
RELOAD_FRAGMENT = '<main id="live" data-page="other"></main>'
# Local hour at which a table screen that is dark at night gets the dark theme.
DARK_FROM_H = 20
# Local hour at which it gets the light theme again.
DARK_UNTIL_H = 7


class TablePages(TableRouteGroup):
    """The routes of pages that follow the table, of their streams, and of the table's clock."""

    name = "pages"

    # ---- pages that follow the table ----

    @get("/")
    def table_screen(self) -> Any:
        """Show the table screen. The machine's own screen first asks a new owner some questions.

        The machine's own screen opens `/?screen&kiosk`. With `kiosk` the page hides the cursor and
        plays tones. With `screen` even a phone stays on this page, which otherwise leads phones to
        the page for joining.
        """
        is_kiosk = "kiosk" in request.args
        if is_kiosk and is_own_screen() and self.page_context.is_first_evening:
            answer = make_response(redirect("/host/first/1"))
            # tells the last question to lead back to this table screen
            answer.set_cookie("kiosk", "on", samesite="Lax", httponly=True)
            return answer
        is_screen = "screen" in request.args
        theme = self._theme()
        return render_template(
            "table.html",
            fragment=self._table_fragment(),
            # the query `look` tells the stream with which theme and language the page was drawn
            live=f"/live/table?look={self._theme_and_language()}",
            viewer=None,
            theme="" if theme == "system" else theme,
            is_screen=is_screen,
            is_kiosk=is_kiosk,
            # a screen for everybody has no link back to somebody's seat
            own=() if is_screen or is_kiosk else self._auth.own_seats(),
        )

    @get("/watch")
    def watch(self) -> Any:
        """Show spectators what everybody may know.

        Raises `TooManyViewers` if no place for the page's stream is free.
        """
        if not self._streams.has_spectator_place:
            raise TooManyViewers(say("All spectator places are taken"))
        return render_template(
            "watch.html",
            fragment=self.page_context.fragment("watch", None),
            live="/live/watch",
        )

    @get(f"/seat/{SEAT_PART}")
    def seat(self, seat: str) -> Any:
        """Show the page of a seat to the browser that has it.

        Another browser is led to the form for this seat if it is free, or else learns that it is
        occupied (403).

        A shared phone has both seats and shows a cover page between their pages, as
        `web.routes.shared_phone` explains. It gets this page only while this seat's page is the
        opened one. The page then has one more key: a key that opens the other seat's page if
        neither page has a secret (`open`), or else a key for the cover (`covered`).
        """
        this_seat = Seat(seat)
        if not self._auth.has_seat(this_seat):
            redirection = redirect_to_swapped_seat(self._auth)
            if redirection is not None:
                return redirection
            if self._table.nonce_of(this_seat) is None:
                return redirect(f"/join/{this_seat}")
            return occupied_page(self._table.view(), this_seat, 403)
        view = self._table.view()
        live = f"/live/seat/{this_seat}"
        shared_phone_mode = ""
        if self._auth.is_shared_phone():
            # the other seat's page is open, or none, so the cover decides what the phone shows
            if self._auth.opened_seat() is not this_seat:
                return redirect("/pass")
            shared_phone_mode = "open" if seat_without_cover(view) else "covered"
            # the stream leads to the cover as soon as this reason no longer holds
            live += f"?why={quote(opening_reason(view, this_seat))}"
        fragment = self.page_context.fragment(_seat_template(view, this_seat), this_seat)
        return render_template(
            "seat.html",
            fragment=fragment,
            live=live,
            viewer=this_seat,
            shared_phone=shared_phone_mode,
        )

    # ---- their streams ----

    @get("/live/table")
    def live_table(self) -> Response:
        """Stream the table screen.

        A page that was drawn with another theme or language (query `look`) is told to reload. While
        a stream with the query `voice` is open, the screen speaks instead of the machine.
        """
        drawn_with = request.args.get("look")
        voice = self._features.equipment.voice

        def render() -> str:
            # theme and language are in the page around the fragment, so a stream cannot change them
            if drawn_with not in (None, self._theme_and_language()):
                return RELOAD_FRAGMENT
            return self._table_fragment()

        streams = self._streams
        if voice is None or "voice" not in request.args:
            return streams.stream_changes(self._table, render, Audience.TABLE)
        voice.note_speaking_screen(True)
        on_close = partial(voice.note_speaking_screen, False)
        return streams.stream_changes(self._table, render, Audience.TABLE, on_close)

    @get("/live/watch")
    def live_watch(self) -> Response:
        """Stream the page of spectators."""
        return self._streams.stream_changes(
            self._table, partial(self.page_context.fragment, "watch", None)
        )

    @get("/live/host", guard=host_only)
    def live_host(self) -> Response:
        """Stream the owner's page."""
        render = partial(self.page_context.fragment, "host", None)
        return self._streams.stream_changes(self._table, render, Audience.SEAT)

    @get(f"/live/seat/{SEAT_PART}", guard=seat_holder)
    def live_seat(self, seat: Seat) -> Response:
        """Stream the page of a seat. While the stream is open, the seat's phone counts as present.

        Once this browser has lost the seat, the stream leads to the form for joining. On a shared
        phone it leads to the cover as soon as the page must be covered, see `must_cover`.
        """

        def render() -> str:
            if not self._auth.has_seat(seat):
                # a `data-go` leads to another page, as in `COVER_FRAGMENT`
                return f'<main id="live" data-go="/join/{seat}"></main>'
            if must_cover(self._auth, seat, self._table.view):
                return COVER_FRAGMENT
            return self.page_context.fragment(_seat_template(self._table.view(), seat), seat)

        uncount_stream = self.page_context.presence.count_stream(seat)
        return self._streams.stream_changes(self._table, render, Audience.SEAT, uncount_stream)

    # ---- time ----

    @get("/clock")
    def clock(self) -> ClockTime:
        """Return the time on which the table's clocks run."""
        return {"now_s": self._table.now_s()}

    # ---- inside ----

    def _table_fragment(self) -> str:
        return self.page_context.fragment(
            "table", None, is_own_screen=is_own_screen(), is_at_table=self._auth.is_at_table()
        )

    def _theme_and_language(self) -> str:
        """Return the table screen's theme and language, such as `dark-en`."""
        return f"{self._theme()}-{self._table.settings.language}"

    def _theme(self) -> str:
        """Return the theme that the table screen has now: `system`, `light` or `dark`.

        The setting `night` stands for `dark` at night and `light` by day.
        """
        theme = self._table.settings.theme
        if theme != "night":
            return theme
        hour = time.localtime(self.page_context.clock.wall_s()).tm_hour
        # the dark hours are in two parts, before and after midnight
        return "dark" if hour >= DARK_FROM_H or hour < DARK_UNTIL_H else "light"


def _seat_template(view: TableView, seat: Seat) -> str:
    """Return the template of a seat's fragment: `seat`, or `at_pad` if a pad plays it."""
    return "at_pad" if view.seats[seat].door == "pad" else "seat"
