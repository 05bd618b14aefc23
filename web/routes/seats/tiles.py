"""Order tiles behind walls: a seat says that they are down, on its phone or on the table screen."""

from __future__ import annotations

from companion.core.kit import Seat
from web.context import PageContext
from web.routes.api.body import SEAT, Body, Text
from web.routes.route import at_table, own_seat, post


class Laid(Body, frozen=True):
    """Are a seat’s tiles down, and in which moment?"""

    moment: Text
    is_ready: bool


class LaidBy(Laid, frozen=True):
    """The same of the seat that is named."""

    seat: Seat


class TileRoutes:
    """The routes of both keys."""

    name = "tiles"

    def __init__(self, page_context: PageContext) -> None:
        self._page_context = page_context

    @post(f"/api/seat/{SEAT}/tiles", body=Laid, guard=own_seat)
    def laid(self, seat: Seat, body: Laid) -> None:
        """Say that the seat's tiles are down, or no longer."""
        self._page_context.table.lay_tiles(seat, body.moment, body.is_ready)

    @post("/api/table/tiles", body=LaidBy, guard=at_table)
    def table_laid(self, body: LaidBy) -> None:
        """Say on the table screen that a seat's tiles are down, or no longer."""
        self._page_context.table.lay_tiles(body.seat, body.moment, body.is_ready)
