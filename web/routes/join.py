"""The pages for joining the table: free sides, names, short addresses, and occupied seats."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

from flask import Response, make_response, redirect, render_template, request

from companion.core.errors import CompanionError, Illegal, Malformed, Refusal
from companion.core.kit import SEATS, Seat
from companion.table.session import MACHINE
from companion.table.table_view import TableView
from web.error_pages import status_of
from web.routes.api.body import SEAT_PART
from web.routes.route import TableRouteGroup, form, get
from web.security.auth import Auth

# Content security policy of `/here`, which shows two pages of this table side by side.
FRAMING_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; frame-src 'self'; frame-ancestors 'none'"
)


class JoinPages(TableRouteGroup):
    """The pages under `/join` and `/try`, and the short addresses of the seats.

    Whoever takes a seat gets its nonce, a random text that is valid until the seat is freed. The
    cookie of the seat carries the nonce, and so proves who sits there.

    A trial (`/try`) is a game against the machine, played by one person at the table screen itself.
    Its window (`/here`) shows the table screen and the page of the person's seat side by side.
    """

    name = "joining"

    @get("/join")
    def choose_seat(self) -> str:
        """Show the free sides, and ask for a name."""
        return self._page("join.html", own=self._auth.own_seats())

    @get(f"/join/{SEAT_PART}")
    @form(f"/join/{SEAT_PART}")
    def join(self, seat: str, name: str = "", code: str = "") -> Any:
        """Ask for a name, then take the seat and show its page.

        A wrong name or join code shows the form again. A browser that has the seat already is
        redirected to the seat's page. If somebody else has the seat, the answer says so (409).
        """
        this_seat = Seat(seat)
        if self._auth.has_seat(this_seat):
            return redirect(f"/seat/{this_seat}")
        redirection = redirect_to_swapped_seat(self._auth)
        if redirection is not None:
            return redirection
        if self._table.nonce_of(this_seat) is not None:
            return occupied_page(self._table.view(), this_seat, 409)
        if request.method == "GET":
            return self._page("join_seat.html", seat=this_seat)
        try:
            self.page_context.require_join_code(code)
            nonce = self._table.take_seat(this_seat, name)
        except (Malformed, Illegal) as error:
            # the form can be corrected only if its name or its code was wrong
            if isinstance(error, Illegal) and error.reason is not Refusal.JOIN_CODE:
                raise
            return self._page("join_seat.html", seat=this_seat, error=error), status_of(error)
        answer = self._redirect_with_seat(this_seat, nonce, f"/seat/{this_seat}")
        self._auth.remember_names(answer, name)
        return answer

    def _redirect_with_seat(self, seat: Seat, nonce: str, page: str) -> Response:
        """Give this browser a seat and redirect it to a page."""
        answer = make_response(redirect(page, 303))
        self._auth.set_seat_cookie(answer, seat, nonce)
        return answer

    @form("/try", endpoint="try_it")
    def begin_trial(self, lesson: str, code: str) -> Any:
        """Begin a trial: sit down at this very screen, against the machine.

        `lesson` is the game whose lesson is started, or empty for a trial without a lesson. If
        somebody sits at the table already, this only leads back to the table screen. If the join
        code is needed and `code` is wrong, the page for joining asks for it.
        """
        back = _table_screen_path()
        if self._auth.own_seats():
            return redirect(_one_window_path(back), 303)
        if self.page_context.has_sitters:
            return redirect(back, 303)
        left, right = self._seats_from_left()
        try:
            self.page_context.require_join_code(code)
            nonce = self._table.take_seat(left, "")
        except Illegal:
            # the form for joining asks for the code, or says why the seat cannot be taken
            return redirect(f"/join/{left}", 303)
        if self._features.opponents:
            self._table.machines.seat_machine(right, self._features.opponents[0].name)
        if lesson in self._games and not self.page_context.is_game_on:
            self.page_context.begin_lesson(lesson)
        return self._redirect_with_seat(left, nonce, _one_window_path(back))

    @form("/try/other")
    def other_games(self) -> Any:
        """Return to the choice of games at this very screen."""
        back = _table_screen_path()
        if not self._auth.own_seats():
            return redirect(back, 303)
        self._leave_game()
        return redirect(_one_window_path(back), 303)

    @form("/try/end")
    def end_trial(self) -> Any:
        """Leave the seats of this very screen."""
        answer = make_response(redirect(_table_screen_path(), 303))
        own_seats = self._auth.own_seats()
        if own_seats:
            self._leave_game()
        for seat in own_seats:
            self._table.free_seat(seat, self._auth.sitting_of(seat))
            self._auth.drop_seat_cookie(answer, seat)
        return answer

    def _leave_game(self) -> None:
        """Return to the lobby between games, or end a game in which no other person plays.

        A game against another person goes on.
        """
        if not self.page_context.is_game_on:
            self._table.return_to_lobby()
            return
        own_seats = self._auth.own_seats()
        seats = self._table.view().seats
        opponents = [seats[seat] for seat in SEATS if seat not in own_seats]
        if all(seat.name is None or seat.door == MACHINE for seat in opponents):
            self._table.abandon()

    @get("/here")
    def here(self) -> Any:
        """Show the table screen and this browser's seat in one window, each in a frame.

        Without a seat only the table screen is shown.
        """
        own_seats = self._auth.own_seats()
        back = _table_screen_path()
        if not own_seats:
            return redirect(back)
        answer = make_response(render_template("here.html", seat=own_seats[0], back=back))
        answer.headers["Content-Security-Policy"] = FRAMING_POLICY
        return answer

    @form(f"/join/{SEAT_PART}/move", endpoint="move")
    def move_to_phone(self, seat: str, code: str) -> Any:
        """Take over a seat with this phone, after its player has released it at the seat's pad.

        If nobody has released the seat, or the join code is wrong, say why it cannot be taken.
        """
        this_seat = Seat(seat)
        if self._auth.has_seat(this_seat):
            return redirect(f"/seat/{this_seat}", 303)
        try:
            self.page_context.require_join_code(code)
            nonce = self._table.move_to_phone(this_seat)
        except Illegal as error:
            return occupied_page(self._table.view(), this_seat, status_of(error), error)
        return self._redirect_with_seat(this_seat, nonce, f"/seat/{this_seat}")

    @get("/<any(S, s, N, n):letter>", strict_slashes=False)
    def short(self, letter: str) -> Any:
        """Redirect from the short address of a seat to its page, or to the form for joining."""
        seat = Seat.SOUTH if letter in "Ss" else Seat.NORTH
        return redirect(f"/seat/{seat}" if self._auth.has_seat(seat) else f"/join/{seat}")

    def _page(self, page: str, error: CompanionError | None = None, **more: Any) -> str:
        return render_template(
            page,
            view=self._table.view(),
            names=self._auth.remembered_names(),
            order=self._seats_from_left(),
            error=error,
            **more,
        )

    def _seats_from_left(self) -> tuple[Seat, ...]:
        """Return the seats in their order at the table screen, from the left.

        The setting `tip_south` says on which side of the screen South sits: the tip of the screen's
        sign points there when South has to act.
        """
        return SEATS if self._table.settings.tip_south == "left" else SEATS[::-1]


def redirect_to_swapped_seat(auth: Auth) -> Response | None:
    """Redirect to the other seat if the sides were swapped. Return None if they were not."""
    swapped = auth.swapped_seats()
    if not swapped:
        return None
    first_seat, _ = swapped[0]
    answer = make_response(redirect(f"/seat/{first_seat}"))
    # delete the cookies of both seats before any is set, because both seats may be swapped
    for seat, _ in swapped:
        auth.drop_seat_cookie(answer, seat.other)
    for seat, nonce in swapped:
        auth.set_seat_cookie(answer, seat, nonce)
    return answer


def occupied_page(
    view: TableView, seat: Seat, status: int, error: Illegal | None = None
) -> Response:
    """Return the page that says that a seat is occupied, and what can be done.

    `error` is the reason why this browser cannot take over the seat, if it has tried to.
    """
    page = render_template("taken.html", view=view, seat=seat, error=error)
    return make_response(page, status)


def _table_screen_path() -> str:
    """Return the address of the table screen in the form that this browser uses."""
    # The query of the request itself, or of the page whose form has sent it, names a table screen.
    # The machine's own screen begins with the query `screen&kiosk`.
    names = {*request.args, *parse_qs(urlsplit(request.referrer or "").query, True)}
    return next((f"/?{name}" for name in ("kiosk", "screen") if name in names), "/")


def _one_window_path(back: str) -> str:
    """Return the address of a whole game in one window, such as `/here?kiosk`.

    `back` is the table screen to which it leads back, such as `/?kiosk`.
    """
    return f"/here{back[1:]}"
