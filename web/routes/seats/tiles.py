"""Order tiles behind walls: a seat says that they are down, on its phone or on the table screen."""

from __future__ import annotations

from flask import Blueprint, Response, jsonify, request

from companion.core.kit import Seat
from web.context import PageContext
from web.routes.api.body import SEAT, Body, Text, read_body


class Laid(Body, frozen=True):
    """Are a seat’s tiles down, and in which moment?"""

    moment: Text
    is_ready: bool


class LaidBy(Laid, frozen=True):
    """The same of the seat that is named."""

    seat: Seat


class TileRoutes:
    """The routes of both keys."""

    def __init__(self, page_context: PageContext) -> None:
        self._page_context = page_context

    def blueprint(self) -> Blueprint:
        """All routes."""
        tiles = Blueprint("tiles", __name__)
        tiles.add_url_rule(f"/api/seat/{SEAT}/tiles", view_func=self.laid, methods=["POST"])
        tiles.add_url_rule("/api/table/tiles", view_func=self.table_laid, methods=["POST"])
        return tiles

    def laid(self, seat: str) -> Response:
        """The tiles of the seat are down, or no longer."""
        mine = self._page_context.guard.require_seat(request, seat)
        body = read_body(request, Laid)
        self._page_context.table.lay_tiles(mine, body.moment, body.is_ready)
        return jsonify({})

    def table_laid(self) -> Response:
        """The same, said on the table screen."""
        self._page_context.require_at_table(request)
        body = read_body(request, LaidBy)
        self._page_context.table.lay_tiles(body.seat, body.moment, body.is_ready)
        return jsonify({})
