"""What anybody at the table may ask: to look, and to act where the game is as open as a chess clock."""

from __future__ import annotations

from flask import Blueprint, Response, g, jsonify, request

from companion.core.errors import Illegal, Refusal
from companion.core.i18n import say
from web.context import PageContext
from web.rendering.json_view import plain_view
from web.routes.api.body import Body, Long, Moment, Rematch, Text, read_body


class Act(Body, frozen=True):
    """What somebody at the table does for the seat on turn."""

    moment: Text
    action: Long


class TableDoors:
    """The doors of the table as a whole."""

    def __init__(self, page_context: PageContext) -> None:
        self._page_context = page_context
        self._table = page_context.table

    def register(self, api: Blueprint) -> None:
        """Add the routes."""
        api.add_url_rule("/view", view_func=self.view)
        for door in (self.table_act, self.table_back, self.table_pause, self.table_resume, self.table_rematch):
            name = door.__name__.removeprefix("table_")
            api.add_url_rule(f"/table/{name}", view_func=door, methods=["POST"])

    def view(self) -> Response:
        """What everybody may know."""
        return jsonify(plain_view(self._table.view()))

    def table_act(self) -> Response:
        """Act for the seat on turn; the table raises unless that is open to anybody."""
        self._page_context.require_at_table(request)
        body = read_body(request, Act)
        self._table.act(body.moment, body.action, at_s=g.at_s)
        return jsonify({})

    def table_back(self) -> Response:
        """Take the last turn back; the table raises unless that is open to anybody."""
        self._page_context.require_at_table(request)
        self._table.undo(read_body(request, Moment).moment)
        return jsonify({})

    def table_pause(self) -> Response:
        """Stop the clock."""
        self._require_open()
        self._table.pause("table", at_s=g.at_s)
        return jsonify({})

    def table_resume(self) -> Response:
        """Let the clock go on."""
        self._require_open()
        self._table.resume("table")
        return jsonify({})

    def table_rematch(self) -> Response:
        """The same once more, by the table screen."""
        self._page_context.require_at_table(request)
        self._table.rematch(read_body(request, Rematch).swap)
        return jsonify({})

    def _require_open(self) -> None:
        self._page_context.require_at_table(request)
        read_body(request, Body)
        if not self._table.view().turn.is_open:
            raise Illegal(Refusal.NOT_YOUR_SEAT, say("Only a seat or the host can stop this clock, or start it again"))
