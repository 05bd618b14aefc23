"""The key that calls the staff, for who sits at the table, its owner and its own screen."""

from __future__ import annotations

from flask import Response, jsonify, request

from companion.core.errors import Illegal, Refusal
from companion.core.i18n import say
from companion.core.kit import SEATS
from companion.table.seats.staff_call import StaffBell
from web.context import PageContext
from web.rendering.answers import StaffCall
from web.routes.route import post
from web.security.auth import is_own_screen


class StaffKeys:
    """The doors under `/api/staff`."""

    name = "staff"

    def __init__(self, page_context: PageContext, bell: StaffBell) -> None:
        self._guard = page_context.guard
        self._bell = bell

    @post("/api/staff/call", answer=StaffCall)
    def call(self) -> Response:
        """Call the staff. The bell raises where nobody would hear it."""
        by = self._who()
        self._bell.ring(by)
        return jsonify(call=self._bell.call)

    @post("/api/staff/cancel", answer=StaffCall)
    def cancel(self) -> Response:
        """Cancel the call."""
        self._who()
        self._bell.cancel()
        return jsonify(call=self._bell.call)

    def _who(self) -> str:
        """Return who asks. Raises `Illegal` for anybody who may not."""
        for seat in SEATS:
            if self._guard.sits(request, seat):
                return seat
        if self._guard.is_host(request):
            return "host"
        if is_own_screen(request):
            return "table"
        raise Illegal(
            Refusal.NOT_YOUR_SEAT,
            say(
                "Only a seat, the owner or the table’s own screen can call the staff: sit down first"
            ),
        )
