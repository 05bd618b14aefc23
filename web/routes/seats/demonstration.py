"""The demonstration's keys: begun before the table screen or by the host, ended by whoever touches anything."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Flask, Response, jsonify, redirect, request

from companion.bots.demonstration import Demonstration
from web.context import PageContext
from web.routes.api.body import Body, read_body

_BEGINS = ("demonstrations.begin", "demonstrations.host_begins")


class Demonstrations:
    """The doors of the demonstration."""

    def __init__(self, page_context: PageContext, demonstration: Demonstration) -> None:
        self._page_context = page_context
        self._demonstration = demonstration

    def blueprint(self) -> Blueprint:
        """All routes; every other request that changes something ends a demonstration."""
        doors = Blueprint("demonstrations", __name__)
        doors.add_url_rule("/demonstration", view_func=self.begin, methods=["POST"])
        doors.add_url_rule("/demonstration/end", view_func=self.end, methods=["POST"])
        doors.add_url_rule("/api/host/demonstration", view_func=self.host_begins, methods=["POST"])
        doors.add_url_rule("/api/host/demonstration-ends", view_func=self.host_ends, methods=["POST"])
        doors.record_once(lambda state: _listen(state.app, self._demonstration))
        return doors

    def begin(self) -> Any:
        """Somebody before the table's screen begins it."""
        self._page_context.require_at_table(request)
        self._demonstration.begin()
        return redirect("/", 303)

    def end(self) -> Any:
        """Somebody touched the table's screen."""
        self._demonstration.touched()
        return redirect("/", 303)

    def host_begins(self) -> Response:
        """The host begins it."""
        self._page_context.guard.require_host(request)
        read_body(request, Body)
        self._demonstration.begin()
        return jsonify({})

    def host_ends(self) -> Response:
        """The host ends it."""
        self._page_context.guard.require_host(request)
        read_body(request, Body)
        self._demonstration.touched()
        return jsonify({})


def _listen(app: Any, demonstration: Demonstration) -> None:
    """Whatever a person does by a page counts as a touch, and so does the way to a seat."""

    def touch() -> None:
        is_input = request.method not in ("GET", "HEAD", "OPTIONS") and request.endpoint not in _BEGINS
        if is_input or request.blueprint == "joining":
            demonstration.touched()

    if isinstance(app, Flask):
        app.before_request(touch)
