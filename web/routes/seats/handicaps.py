"""The handicap that the statistics offer: one of two people alone may ask the coach, set by one key between games."""

from __future__ import annotations

from flask import Blueprint, Response, jsonify, request

from companion.core.errors import Illegal, Refusal
from companion.core.i18n import say
from companion.core.kit import Seat
from web.context import PageContext
from web.routes.api.body import SEAT, Body, read_body


class EvenOut(Body, frozen=True):
    """Who alone may ask the coach from the next game on; null: whom the settings allow it."""

    weaker: Seat | None


class Handicaps:
    """The doors of a seat, which sees and may undo what the other one has set, and of the host."""

    def __init__(self, page_context: PageContext) -> None:
        self._page_context = page_context

    def blueprint(self) -> Blueprint:
        """All routes."""
        handicaps = Blueprint("handicaps", __name__, url_prefix="/api")
        handicaps.add_url_rule(f"/seat/{SEAT}/handicap", view_func=self.by_seat, methods=["POST"])
        handicaps.add_url_rule("/host/handicap", view_func=self.by_host, methods=["POST"])
        return handicaps

    def by_seat(self, seat: str) -> Response:
        """Set or lift the handicap, says one of the two."""
        self._page_context.guard.require_sitting(request, seat)
        return self._even_out()

    def by_host(self) -> Response:
        """Set or lift the handicap, says the host."""
        self._page_context.guard.require_host(request)
        return self._even_out()

    def _even_out(self) -> Response:
        weaker, table = read_body(request, EvenOut).weaker, self._page_context.table
        offer = self._page_context.features.handicap(table.view(), table.settings)
        if weaker is not None and (offer is None or offer[0] is not weaker):
            raise Illegal(Refusal.WRONG_PHASE, say("There is no handicap to set here"))
        table.even_out(weaker)
        return jsonify({})
