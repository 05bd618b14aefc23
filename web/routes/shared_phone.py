"""One phone for both seats, which the players pass to each other.

While one player holds it, no page shows the other player's secrets. The browser has the cookies of
both seats, and a third one (`pass`) that names the seat whose page is open. Between the two pages
it shows the *cover*, a page with public information only. While no seat's page is open, no stream
or JSON route returns secrets either. A tap on a seat's button opens its page. The cover returns
when that seat has handed in, when the page is hidden, and by the browser's back button.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flask import Response, make_response, redirect, render_template, request

from companion.core.errors import Illegal, Malformed
from companion.core.kit import SEATS, Seat
from companion.table.session import Phase
from companion.table.table_view import TableView
from web.error_pages import status_of
from web.rendering.cards import acting_seat
from web.routes.join import redirect_to_swapped_seat
from web.routes.route import TableRouteGroup, form, get
from web.security.auth import Auth
from web.server.sse import Audience

# Fragment that leads to the cover.
COVER_FRAGMENT = '<main id="live" data-go="/pass"></main>'


class SharedPhonePages(TableRouteGroup):
    """The pages under `/pass`."""

    name = "passing"

    @get("/pass")
    def page(self) -> Any:
        """Show the cover, the seat on turn in an open game, or the form for both seats."""
        if not self._auth.is_shared_phone():
            return redirect_to_swapped_seat(self._auth) or self._begin_page()
        seat = uncovered_seat(self._table.view())
        if seat is not None:
            return self._open(seat)
        page = render_template(
            "pass.html",
            fragment=self.page_context.fragment("pass", None),
            live="/live/pass",
        )
        answer = make_response(page)
        # showing the cover closes the pages of both seats
        self._auth.set_pass_cookie(answer, None)
        return answer

    @form("/pass")
    def begin(self, south: str, north: str, code: str) -> Any:
        """Take both seats, or the missing one."""
        names = {Seat.SOUTH: south, Seat.NORTH: north}
        own_seats = self._auth.own_seats()
        nonces = {}
        answer = make_response(redirect("/pass", 303))
        try:
            # the code is needed only to take a seat
            if len(own_seats) < len(SEATS):
                self.page_context.require_join_code(code)
            for seat in SEATS:
                if seat not in own_seats:
                    nonces[seat] = self._table.take_seat(seat, names[seat])
            self._auth.remember_names(answer, *names.values())
            self._auth.set_pass_cookie(answer, None)
        except (Malformed, Illegal) as refusal:
            answer = self._begin_page(refusal)
        # also after a refusal, because one seat may have been taken before it
        for seat, nonce in nonces.items():
            self._auth.set_seat_cookie(answer, seat, nonce)
        return answer

    @form("/pass/open")
    def open_side(self, seat: str) -> Any:
        """Open the page of a seat after a tap on its button."""
        if seat not in SEATS or not self._auth.is_shared_phone():
            return redirect("/pass", 303)
        return self._open(Seat(seat))

    @form("/pass/end")
    def end(self) -> Any:
        """Leave both seats."""
        answer = make_response(redirect("/join", 303))
        for seat in SEATS:
            if self._auth.has_seat(seat):
                self._table.free_seat(seat, self._auth.sitting_of(seat))
            self._auth.drop_seat_cookie(answer, seat)
        self._auth.drop_pass_cookie(answer)
        return answer

    @get("/live/pass")
    def live(self) -> Response:
        """Stream the cover, which shows only what everybody may know."""

        def render() -> str:
            if not self._auth.is_shared_phone() or uncovered_seat(self._table.view()) is not None:
                return COVER_FRAGMENT
            return self.page_context.fragment("pass", None)

        if not self._auth.is_shared_phone():
            return self._streams.stream_changes(self._table, render)
        uncount_streams = self.page_context.presence.count_stream(*SEATS)
        return self._streams.stream_changes(self._table, render, Audience.SEAT, uncount_streams)

    # ---- inside ----

    def _open(self, seat: Seat) -> Any:
        """Redirect to the page of a seat, and remember that it is the open one."""
        answer = make_response(redirect(f"/seat/{seat}", 303))
        self._auth.set_pass_cookie(answer, seat)
        return answer

    def _begin_page(self, refusal: Malformed | Illegal | None = None) -> Response:
        """Return the form for taking both seats by one phone, with the reason for a refusal."""
        page = render_template(
            "pass_begin.html",
            view=self._table.view(),
            own=self._auth.own_seats(),
            names=self._auth.remembered_names(),
            error=refusal,
        )
        return make_response(page, status_of(refusal) if refusal else 200)


def uncovered_seat(view: TableView) -> Seat | None:
    """Return the seat on turn if its page needs no cover, because nothing on it is secret."""
    # an order that was handed in stays secret until the end of the turn
    if view.phase is not Phase.ORDERS or any(view.seats[seat].receipt for seat in SEATS):
        return None
    board_ui = view.board.board_ui
    # hands of cards are secret, and so are the choices in a duel
    is_open_board = board_ui is not None and board_ui.duel is None and view.board.card_ui is None
    # in an open game anybody may act for the seat on turn
    return acting_seat(view) if view.turn.is_open or is_open_board else None


def opening_reason(view: TableView, seat: Seat) -> str:
    """Return why a shared phone shows a seat's page: `due` if the seat has to act, or its moment.

    The page's stream has it as `why` in its query. Once it has changed, the phone must be covered.
    """
    return "due" if view.seats[seat].is_awaited else f"{view.moment} {view.phase}"


def must_cover(auth: Auth, seat: Seat, view: Callable[[], TableView]) -> bool:
    """Return whether this is a shared phone that must show its cover instead of a seat's page.

    It must if the page of another seat or none is open, or once the reason for opening this one is
    past (`opening_reason`).
    """
    if not auth.is_shared_phone():
        return False
    if auth.shown_side() is not seat:
        return True
    earlier_reason = request.args.get("why")
    return earlier_reason is not None and earlier_reason != opening_reason(view(), seat)
