"""The table's way to a hub of many tables: the host joins one by its address and code, and leaves it."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, jsonify, make_response, redirect, render_template, request

from companion.core.errors import CompanionError
from companion.core.kit import Seat
from web.context import PageContext
from web.error_pages import status_of
from web.features import HubSeat
from web.routes.api import SEAT, Body, Text, read_body
from web.routes.host import ask_for_key


class JoinHub(Body, frozen=True):
    """Join the hub at this address by the code on its screen; `names`: people's names are told there.

    `ca` is a file on this machine with the certificate that the hub's is signed by.
    """

    address: Text
    code: Text
    names: bool = False
    ca: Text = ""


class HubDoor:
    """The doors under `/api/host/hub`, and the form."""

    def __init__(self, page_context: PageContext, hub: HubSeat) -> None:
        self._guard = page_context.guard
        self._table = page_context.table
        self._hub = hub

    def blueprint(self) -> Blueprint:
        """All routes."""
        hub = Blueprint("hub", __name__)
        hub.add_url_rule("/host/hub", view_func=self.page)
        hub.add_url_rule("/host/hub", "join_by_form", self.join_by_form, methods=["POST"])
        hub.add_url_rule(f"/seat/{SEAT}/card", view_func=self.card_page)
        hub.add_url_rule(f"/seat/{SEAT}/card", "show_card", self.show_card, methods=["POST"])
        hub.add_url_rule(f"/api/seat/{SEAT}/begin-round", view_func=self.begin_round, methods=["POST"])
        hub.add_url_rule("/api/host/hub/join", view_func=self.join, methods=["POST"])
        hub.add_url_rule("/api/host/hub/leave", view_func=self.leave, methods=["POST"])
        return hub

    def page(self) -> Any:
        """The form by which a table joins."""
        if not self._guard.is_host(request):
            return ask_for_key("/host/hub")
        return render_template("join_hub.html", hub=self._hub, error="", address="", names=False)

    def join_by_form(self) -> Any:
        """Join from the page's form."""
        self._guard.require_host(request)
        address, names = request.form.get("address", "").strip()[:200], "names" in request.form
        try:
            self._hub.join(address, request.form.get("code", "")[:64], names)
        except CompanionError as error:
            page = render_template("join_hub.html", hub=self._hub, error=error.message, address=address, names=names)
            return make_response(page, 400)
        return redirect("/host", 303)

    def join(self) -> Response:
        """Join a hub."""
        self._guard.require_host(request)
        body = read_body(request, JoinHub)
        self._hub.join(body.address, body.code, body.names, body.ca)
        return jsonify({})

    def card_page(self, seat: str) -> Any:
        """Where whoever sits at a seat, or the host, shows a player's card."""
        return self._card(Seat(seat))

    def show_card(self, seat: str) -> Any:
        """Show a card from the page's form; an empty code takes it away."""
        mine = Seat(seat)
        sitting = self._sitting(mine)
        try:
            self._hub.show_card(mine, request.form.get("code", "").strip()[:64], sitting)
        except CompanionError as error:
            return make_response(self._card(mine, error.message), status_of(error))
        return redirect("/host" if not self._guard.sits(request, mine) else f"/seat/{mine}", 303)

    def begin_round(self, seat: str) -> Response:
        """Start the game of the tournament's round."""
        self._guard.require_sitting(request, Seat(seat))
        read_body(request, Body)
        self._table.begin_round()
        return jsonify({})

    def _sitting(self, seat: Seat) -> str:
        """Who is meant: whoever sits there with this browser, or whom the host sees there."""
        if not self._guard.sits(request, seat):
            self._guard.require_host(request)
        return self._table.view().seats[seat].sitting

    def _card(self, seat: Seat, error: str = "") -> str:
        self._sitting(seat)
        return render_template(
            "seat_card.html", seat=seat, view=self._table.view(), hub=self._hub, error=error,
            back=f"/seat/{seat}" if self._guard.sits(request, seat) else "/host",
        )  # fmt: skip

    def leave(self) -> Response:
        """Leave the hub."""
        self._guard.require_host(request)
        read_body(request, Body)
        self._hub.leave()
        return jsonify({})
