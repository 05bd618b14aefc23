"""One phone for both seats, which the players pass to each other.

While one player holds the phone, it must not show the other player's secrets. So only one of three
pages can be open: South's, North's, or the *cover* between them, which shows what everybody may
know. The browser has the cookies of both seats, and a third one (`pass`) that names the seat whose
page is open, or nobody for the cover. Streams and JSON routes return the secrets of that seat
alone.

A tap on a seat's button on the cover opens its page. The phone is covered again when that seat has
handed in, when the browser no longer shows the page, and by the browser's back button.
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
        """Show the cover, or what this browser gets instead of it.

        A browser without both seats gets the form for taking them. If nothing is secret now, the
        page of the seat on turn is opened without a cover.
        """
        if not self._auth.is_shared_phone():
            return redirect_to_swapped_seat(self._auth) or self._begin_page()
        seat = seat_without_cover(self._table.view())
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
        """Take both seats, or the one that this browser does not have yet, and share the phone."""
        names = {Seat.SOUTH: south, Seat.NORTH: north}
        own_seats = self._auth.own_seats()
        nonces = {}
        answer = make_response(redirect("/pass", 303))
        try:
            # a browser that already has both seats takes none, so it needs no join code
            if len(own_seats) < len(SEATS):
                self.page_context.require_join_code(code)
            for seat in SEATS:
                if seat not in own_seats:
                    nonces[seat] = self._table.take_seat(seat, names[seat])
            self._auth.remember_names(answer, *names.values())
            self._auth.set_pass_cookie(answer, None)
        except (Malformed, Illegal) as refusal:
            answer = self._begin_page(refusal)
        # also after a refusal: the first seat may have been taken before the second was refused
        for seat, nonce in nonces.items():
            self._auth.set_seat_cookie(answer, seat, nonce)
        return answer

    @form("/pass/open")
    def open_side(self, seat: str) -> Any:
        """Open the page of a seat, after a tap on its button on the cover."""
        if seat not in SEATS or not self._auth.is_shared_phone():
            return redirect("/pass", 303)
        return self._open(Seat(seat))

    @form("/pass/end")
    def end(self) -> Any:
        """Leave both seats, and stop sharing the phone."""
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
            # `/pass` itself decides what this browser gets once the cover is out of place
            if (
                not self._auth.is_shared_phone()
                or seat_without_cover(self._table.view()) is not None
            ):
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
        """Return the form for taking both seats, with the reason why an earlier try was refused."""
        page = render_template(
            "pass_begin.html",
            view=self._table.view(),
            own=self._auth.own_seats(),
            names=self._auth.remembered_names(),
            error=refusal,
        )
        return make_response(page, status_of(refusal) if refusal else 200)


def seat_without_cover(view: TableView) -> Seat | None:
    """Return the seat on turn if a shared phone may show its page without a cover.

    It may if neither seat's page has a secret. Return None while there is one, and while no seat
    or both seats have to act.
    """
    # an order that was handed in stays secret until the end of the turn
    if view.phase is not Phase.ORDERS or any(view.seats[seat].receipt for seat in SEATS):
        return None
    board_ui = view.board.board_ui
    # hands of cards are secret, and so are the choices in a duel
    is_open_board = board_ui is not None and board_ui.duel is None and view.board.card_ui is None
    # in an open game anybody may act for the seat on turn, so its page has no secrets either
    return acting_seat(view) if view.turn.is_open or is_open_board else None


def opening_reason(view: TableView, seat: Seat) -> str:
    """Return why the page of a seat is open on a shared phone.

    That is `due` while the seat has to act, and otherwise the moment and phase in which somebody
    wanted to look at the page. The address of the page's stream has the reason as `why`. As soon as
    the reason is another one, as after the seat has handed in, the phone must be covered.
    """
    return "due" if view.seats[seat].is_awaited else f"{view.moment} {view.phase}"


def must_cover(auth: Auth, seat: Seat, read_view: Callable[[], TableView]) -> bool:
    """Return whether this browser is a shared phone that must not show a seat's page any more.

    It must show the cover if this seat's page is not the opened one, or once the reason for opening
    the page is past (`opening_reason`). `read_view` returns the public view of the table.
    """
    if not auth.is_shared_phone():
        return False
    if auth.opened_seat() is not seat:
        return True
    reason_at_opening = request.args.get("why")
    return reason_at_opening is not None and reason_at_opening != opening_reason(read_view(), seat)
