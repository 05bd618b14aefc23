"""The table's connection to a hub of many tables: the owner joins by address and code, and leaves.

At one hub two owners can agree on a game for both tables. One offers it and receives a code, and
the other enters that code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from flask import redirect, render_template
from msgspec import Meta

from companion.core.errors import CompanionError
from companion.core.kit import Seat
from companion.table.remote.remote_table import require_playable
from web.features import HubClient
from web.rendering.answers import OfferedGame
from web.routes.api.body import SEAT_PART, ShortText
from web.routes.route import (
    TableRouteGroup,
    form,
    get,
    host_only,
    host_page,
    post,
    seat_holder,
    seat_post,
)

# Name of the player at this table, as the other table shows it.
PlayerName = Annotated[str, Meta(max_length=24)]


@dataclass
class HubRoutes(TableRouteGroup):
    """Routes for joining a hub, playing at two tables, players' cards and tournament rounds."""

    name = "hub"
    hub: HubClient

    @get("/host/hub", guard=host_page)
    def page(self) -> str:
        """Show the form for joining a hub."""
        return render_template("join_hub.html")

    @post("/api/host/hub/join", guard=host_only)
    def join(
        self, address: ShortText, code: ShortText, names: bool = False, ca: ShortText = ""
    ) -> None:
        """Join a hub by its address and the code on its screen.

        With `names` the hub receives the players' names. `ca` is the path of a file on this
        machine: the certificate of the authority that has signed the hub's own.
        """
        self.hub.join(address.strip(), code, names, ca)

    @post("/api/host/hub/leave", guard=host_only)
    def leave(self) -> None:
        """Leave the hub."""
        self.hub.leave()

    # ---- players' cards and rounds of a tournament ----

    @get(f"/seat/{SEAT_PART}/card")
    def card_page(self, seat: str, error: str = "") -> str:
        """Show the page where the person at a seat enters a player's card."""
        this_seat = Seat(seat)
        self._require_sitting(this_seat)
        return render_template(
            "seat_card.html",
            seat=this_seat,
            view=self._table.view(),
            error=error,
            back=self._return_path(this_seat),
        )

    @form(f"/seat/{SEAT_PART}/card", form_page="card_page")
    def show_card(self, seat: str, code: str) -> Any:
        """Use the player's card with the code in the form. An empty code removes the card."""
        this_seat = Seat(seat)
        self.hub.show_card(this_seat, code.strip()[:64], self._require_sitting(this_seat))
        return redirect(self._return_path(this_seat), 303)

    @seat_post("begin-round", seat_holder)
    def begin_round(self, seat: Seat) -> None:
        """Start the game that the current round of a tournament has for this table."""
        self._table.begin_round()

    # ---- one game at two tables ----

    @get("/host/hub/game", guard=host_page)
    def game_page(self) -> str:
        """Show the forms for offering or accepting a game for two tables."""
        games = []
        refusals = []
        for game in self._games.values():
            try:
                require_playable(game.name, self._options_of(game.name))
                games.append(game)
            except CompanionError as refusal:
                refusals.append(refusal.message)
        return render_template(
            "two_tables.html",
            games=games,
            refusals=refusals,
            is_on=self.page_context.is_game_on,
        )

    @post("/api/host/hub/offer", guard=host_only)
    def offer(self, game: ShortText, seat: Seat, name: PlayerName = "") -> OfferedGame:
        """Offer a game for two tables. This table plays `seat`, and the other table sees `name`.

        The game has the options with which it was last started here, or else its defaults.
        """
        name = " ".join(name.split())
        return {"code": self.hub.pairs.offer(game, dict(self._options_of(game)), seat, name)}

    @post("/api/host/hub/take", endpoint="take", guard=host_only)
    def accept(self, code: ShortText, name: PlayerName = "") -> None:
        """Accept the game that another table offers under a code. That table sees `name`."""
        self.hub.pairs.accept(code, " ".join(name.split()))

    @post("/api/host/hub/withdraw", guard=host_only)
    def withdraw(self) -> None:
        """Withdraw the offered game."""
        self.hub.pairs.withdraw()

    # ---- inside ----

    def _require_sitting(self, seat: Seat) -> str:
        """Return the sitting at a seat, which identifies the person there.

        Raises `Illegal` unless the request comes from that person or the owner.
        """
        # the owner may act for the person at the seat
        if not self._auth.is_host():
            self._auth.require_sitting(seat)
        return self._table.view().seats[seat].sitting

    def _return_path(self, seat: Seat) -> str:
        """Return the page from which somebody came: the seat's own, or the owner's."""
        return f"/seat/{seat}" if self._auth.has_seat(seat) else "/host"

    def _options_of(self, game: str) -> Mapping[str, Any]:
        """Return the options with which a game was last started here. Empty for its defaults."""
        return self._table.last_choices.options(game) or {}
