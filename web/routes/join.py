"""How people get in: a side and a name by one tap each, short addresses, and seats that are taken already."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from flask import Response, make_response, redirect, render_template, request

from companion.core.errors import Illegal, Malformed, Refusal
from companion.core.kit import SEATS, Seat
from companion.table.session import Phase
from web.context import PageContext
from web.error_pages import status_of
from web.routes.api.body import SEAT
from web.routes.route import form, get
from web.routes.seats.opponents import begin_lesson

FRAMING = "default-src 'none'; style-src 'self'; img-src 'self'; frame-src 'self'; frame-ancestors 'none'"
"""What a page may hold that shows two of our own side by side."""


class Joining:
    """The pages under `/join`, and the short addresses of the seats."""

    name = "joining"

    def __init__(self, page_context: PageContext) -> None:
        self._page_context = page_context
        self._table = page_context.table
        self._guard = page_context.guard

    @get("/join")
    def choose_seat(self) -> str:
        """Which side is free, and which name?"""
        return self._page("join.html", own=self._guard.seats_of(request))

    @get(f"/join/{SEAT}")
    @form(f"/join/{SEAT}", "name", "known_name")
    def join(self, seat: str) -> Any:
        """Take one seat; the browser that has it already goes straight there."""
        mine = Seat(seat)
        if self._guard.sits(request, mine):
            return redirect(f"/seat/{mine}")
        if (changed := self.changed_places()) is not None:
            return changed
        if self._table.seat_nonce(mine) is not None:
            return self.taken(mine, 409)
        if request.method == "GET":
            return self._page("join_seat.html", seat=mine)
        name = wanted_name("name")
        try:
            self._page_context.let_in(request, request.form.get("code", ""))
            nonce = self._table.take_seat(mine, name)
        except Malformed as error:
            return make_response(self._page("join_seat.html", seat=mine, error=error.message, name=name), 400)
        except Illegal as error:
            if error.reason is Refusal.JOIN_CODE:
                page = self._page("join_seat.html", seat=mine, error=error.message, name=name, is_wrong=True)
                return make_response(page, 403)
            if error.reason is not Refusal.SEAT_TAKEN:
                raise
            return self.taken(mine, 409)
        answer = make_response(redirect(f"/seat/{mine}", 303))
        self._guard.seat_cookie(answer, mine, nonce)
        self._guard.remember_names(answer, request, name)
        return answer

    @form("/try")
    def try_it(self) -> Any:
        """Sit down in front of this very screen, against the machine where nobody else is there, and begin."""
        lesson = request.form.get("lesson", "")
        is_known = lesson in self._page_context.games
        if is_known and (answer := self._learn(lesson)) is not None:
            return answer
        if self._guard.seats_of(request):
            return redirect("/here", 303)
        free = [seat for seat in SEATS if self._table.view().seats[seat].name is None]
        if not free:
            return redirect("/join", 303)
        try:
            self._page_context.let_in(request, request.form.get("code", ""))
            nonce = self._table.take_seat(free[0], "")
        except Illegal as error:
            if error.reason not in (Refusal.JOIN_CODE, Refusal.SEAT_TAKEN):
                raise
            return redirect(f"/join/{free[0]}", 303)
        if len(free) > 1 and self._page_context.features.opponents:
            self._table.machines.seat(free[1], self._page_context.features.opponents[0].name)
        if is_known:
            begin_lesson(self._page_context, lesson)
        else:
            self._begin_trial(request.form.get("game", ""))
        answer = make_response(redirect("/here", 303))
        self._guard.seat_cookie(answer, free[0], nonce)
        return answer

    def _learn(self, game: str) -> Response | None:
        """Begin a lesson where somebody sits already, here or elsewhere; None: nobody does."""
        is_here = bool(self._guard.seats_of(request))
        view = self._table.view()
        if view.phase not in (Phase.LOBBY, Phase.OVER):
            return redirect("/here" if is_here else "/", 303)  # type: ignore[return-value]  # Flask's own response
        if not is_here and all(view.seats[seat].name is None for seat in SEATS):
            return None
        if not is_here:
            self._page_context.let_in(request, "")
        begin_lesson(self._page_context, game)
        return redirect("/here" if is_here else "/?screen", 303)  # type: ignore[return-value]

    def _begin_trial(self, wanted: str) -> None:
        """Begin the game that was asked for, that lies on the table, or that was played last, unless one is on."""
        view, games = self._table.view(), self._page_context.games
        name = wanted if wanted in games else view.board.suggested or self._table.remembered or next(iter(games))
        if view.phase in (Phase.LOBBY, Phase.OVER):
            self._table.new_game(name, games[name].presets[0].options)

    @get("/here")
    def here(self) -> Any:
        """The table screen, and beside it the own seat: a whole game in one window."""
        own = self._guard.seats_of(request)
        if not own:
            return redirect("/join")
        answer = make_response(render_template("here.html", seat=own[0]))
        answer.headers["Content-Security-Policy"] = FRAMING
        return answer

    @form(f"/join/{SEAT}/move")
    def move(self, seat: str) -> Any:
        """Go on by this phone for a seat that its pad has opened."""
        mine = Seat(seat)
        if self._guard.sits(request, mine):
            return redirect(f"/seat/{mine}", 303)
        try:
            self._page_context.let_in(request, request.form.get("code", ""))
            nonce = self._table.move_to_phone(mine)
        except Illegal as error:
            return self.taken(mine, status_of(error), error)
        answer = make_response(redirect(f"/seat/{mine}", 303))
        self._guard.seat_cookie(answer, mine, nonce)
        return answer

    def changed_places(self) -> Response | None:
        """To the other seat, when the host has let both sides change places; None: nothing of the kind."""
        swapped = self._guard.swapped(request)
        if not swapped:
            return None
        answer = make_response(redirect(f"/seat/{swapped[0][0]}"))
        for seat, _ in swapped:
            self._guard.drop_seat(answer, seat.other)
        for seat, nonce in swapped:
            self._guard.seat_cookie(answer, seat, nonce)
        return answer

    @get("/S", strict_slashes=False)
    @get("/s", strict_slashes=False)
    def short_south(self) -> Any:
        """Lead to South's page, for an address that is short to type."""
        return self.straight_to(Seat.SOUTH)

    @get("/N", strict_slashes=False)
    @get("/n", strict_slashes=False)
    def short_north(self) -> Any:
        """Lead to North's page."""
        return self.straight_to(Seat.NORTH)

    def straight_to(self, seat: Seat) -> Any:
        """A short address for phones."""
        return redirect(f"/seat/{seat}" if self._guard.sits(request, seat) else f"/join/{seat}")

    def taken(self, seat: Seat, status: int, error: Illegal | None = None) -> Response:
        """Somebody else sits there, and what can be done; `error` says why this browser cannot have the seat."""
        view = self._table.view()
        page = render_template(
            "taken.html",
            view=view,
            seat=seat,
            is_free=view.seats[seat.other].name is None,
            needs_code=self._page_context.needs_code(request),
            error=error.message if error else "",
            is_wrong=error is not None and error.reason is Refusal.JOIN_CODE,
            has_just_sat=not request.cookies and urlsplit(request.referrer or "").path == f"/join/{seat}",
        )
        return make_response(page, status)

    def _page(self, page: str, error: str = "", name: str = "", **more: Any) -> str:
        names = self._guard.names_of(request)
        code = self._page_context.needs_code(request)
        return render_template(
            page, view=self._table.view(), names=names, error=error, name=name, needs_code=code, **more
        )


def wanted_name(field: str) -> str:
    """The name of a form: what is typed, else the chosen one of those that the browser knows."""
    return request.form.get(field, "").strip() or request.form.get(f"known_{field}", "")
