"""The doors of a first game with a guide: begin it, and let the guide leave."""

from __future__ import annotations

from flask import Blueprint, Response, jsonify, request

from companion.core.errors import Illegal, Refusal
from companion.core.i18n import say
from companion.core.kit import SEATS, Seat
from web.context import PageContext
from web.routes.api import SEAT, Body, Text, read_body


class Learn(Body, frozen=True):
    """Begin the lesson of a game."""

    game: Text


class Lessons:
    """The doors under `/api`; whoever sits at the table or stands before its screen may use them."""

    def __init__(self, page_context: PageContext) -> None:
        self._page_context = page_context
        self._table = page_context.table

    def blueprint(self) -> Blueprint:
        """All routes."""
        lessons = Blueprint("lessons", __name__, url_prefix="/api")
        lessons.add_url_rule(f"/seat/{SEAT}/lesson", view_func=self.begin, methods=["POST"])
        lessons.add_url_rule(f"/seat/{SEAT}/skip-lesson", view_func=self.skip, methods=["POST"])
        lessons.add_url_rule("/table/skip-lesson", view_func=self.table_skip, methods=["POST"])
        return lessons

    def begin(self, seat: str) -> Response:
        """Begin the lesson of a game; the machine plays a seat that is free."""
        self._page_context.guard.require_sitting(request, Seat(seat))
        begin_lesson(self._page_context, read_body(request, Learn).game)
        return jsonify({})

    def skip(self, seat: str) -> Response:
        """The guide leaves, says a seat."""
        self._page_context.guard.require_sitting(request, Seat(seat))
        read_body(request, Body)
        self._table.skip_lesson(seat)
        return jsonify({})

    def table_skip(self) -> Response:
        """The guide leaves, says somebody before the table's screen."""
        if self._page_context.needs_code(request):
            text = say("Only a seat, the host or the table’s own screen can do that here")
            raise Illegal(Refusal.NOT_YOUR_SEAT, text)
        read_body(request, Body)
        self._table.skip_lesson("table")
        return jsonify({})


def begin_lesson(page_context: PageContext, game: str) -> None:
    """Begin the lesson of a game, with the first of the machine's characters at every seat that is free."""
    table = page_context.table
    table.begin_lesson(game)
    for seat in SEATS:
        if page_context.opponents and table.view().seats[seat].name is None:
            table.seat_machine(seat, page_context.opponents[0].name)
