"""The routes under `/api` of the table, the seats and the host."""

from __future__ import annotations

from flask import Blueprint

from web.context import PageContext
from web.routes.api.host import HostDoors
from web.routes.api.seat import SeatDoors
from web.routes.api.table import TableDoors


class Api:
    """One blueprint of all: programs know its endpoints by the names of the functions."""

    def __init__(self, page_context: PageContext) -> None:
        self._doors = (TableDoors(page_context), SeatDoors(page_context), HostDoors(page_context))

    def blueprint(self) -> Blueprint:
        """All routes."""
        api = Blueprint("api", __name__, url_prefix="/api")
        for doors in self._doors:
            doors.register(api)
        return api
