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

from companion.core.errors import CompanionError, Malformed
from companion.core.i18n import say
from companion.core.kit import SEATS, Seat
from companion.table.remote.remote_table import require_playable
from web.features import HubSeat
from web.rendering.answers import OfferedGame
from web.routes.api.body import SEAT_PART, Body, ShortText
from web.routes.route import PageGroup, form, get, host_only, host_page, post, seat_post, sitting

PlayerName = Annotated[str, Meta(max_length=24)]


class JoinHub(Body, frozen=True):
    """Join a hub by its address and the code on its screen. With `names` it receives people's
    names.

    `ca` is a file on this machine with the certificate of the authority that signed the hub's.
    """

    address: ShortText
    code: ShortText
    names: bool = False
    ca: ShortText = ""


class OfferGame(Body, frozen=True):
    """Offer a game for two tables. This table plays `seat`, and the other table sees `name`.

    Its options are those with which the game was last started here.
    """

    game: ShortText
    seat: Seat
    name: PlayerName = ""


class TakeGame(Body, frozen=True):
    """Accept the game that another table offers under a code. That table sees `name`."""

    code: ShortText
    name: PlayerName = ""


@dataclass
class HubRoutes(PageGroup):
    """Routes for joining a hub, playing at two tables, players' cards and tournament rounds."""

    name = "hub"
    hub: HubSeat

    @get("/host/hub", guard=host_page)
    def page(self, error: str = "") -> str:
        """Show the form for joining a hub."""
        return render_template("join_hub.html", error=error)

    @form("/host/hub", guard=host_only, page="page")
    def join_by_form(self, address: str, code: str, names: str) -> Any:
        """Join a hub by the page's form."""
        self.hub.join(address.strip()[:200], code[:64], bool(names))
        return redirect("/host", 303)

    @post("/api/host/hub/join", guard=host_only)
    def join(self, body: JoinHub) -> None:
        """Join a hub."""
        self.hub.join(body.address, body.code, body.names, body.ca)

    @get(f"/seat/{SEAT_PART}/card")
    def card_page(self, seat: str, error: str = "") -> str:
        """Show the page where the person at a seat enters a player's card."""
        mine = Seat(seat)
        self._sitting(mine)
        return render_template(
            "seat_card.html",
            seat=mine,
            view=self._table.view(),
            error=error,
            back=self._back(mine),
        )

    @form(f"/seat/{SEAT_PART}/card", page="card_page")
    def show_card(self, seat: str, code: str) -> Any:
        """Use the card in the page's form. An empty code removes it."""
        mine = Seat(seat)
        self.hub.show_card(mine, code.strip()[:64], self._sitting(mine))
        return redirect(self._back(mine), 303)

    @seat_post("begin-round", sitting)
    def begin_round(self, seat: Seat) -> None:
        """Start the game of the tournament's round."""
        self._table.begin_round()

    def _sitting(self, seat: Seat) -> str:
        """Return the sitting at a seat. Raises `Illegal` unless the request comes from it or the
        owner.
        """
        # the owner may act for the person at the seat
        if not self._guard.is_host():
            self._guard.require_sitting(seat)
        return self._table.view().seats[seat].sitting

    def _back(self, seat: Seat) -> str:
        return f"/seat/{seat}" if self._guard.sits(seat) else "/host"

    @post("/api/host/hub/leave", guard=host_only)
    def leave(self) -> None:
        """Leave the hub."""
        self.hub.leave()

    # ---- one game at two tables ----

    @get("/host/hub/game", guard=host_page)
    def game_page(self, error: str = "") -> str:
        """Show the forms for offering or accepting a game for two tables."""
        games, refusals = [], []
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
            error=error,
        )

    @form("/host/hub/game", guard=host_only, page="game_page")
    def game_by_form(self, game: str, seat: str, name: str, code: str, withdraw: str) -> Any:
        """Offer, accept or withdraw a game by the page's forms."""
        name = " ".join(name.split())[:24]
        if code:
            self.hub.pairs.take(code[:64], name)
            return redirect("/host", 303)
        if withdraw:
            self.hub.pairs.withdraw()
        else:
            if seat not in SEATS:
                raise Malformed(say("The request is not valid: {error}", error=f"seat={seat[:20]}"))
            self._offer(game, Seat(seat), name)
        return redirect("/host/hub/game", 303)

    @post("/api/host/hub/offer", guard=host_only)
    def offer(self, body: OfferGame) -> OfferedGame:
        """Offer a game for two tables."""
        return {"code": self._offer(body.game, body.seat, body.name)}

    @post("/api/host/hub/take", guard=host_only)
    def take(self, body: TakeGame) -> None:
        """Accept the game that another table offers."""
        self.hub.pairs.take(body.code, body.name)

    @post("/api/host/hub/withdraw", guard=host_only)
    def withdraw(self) -> None:
        """Withdraw the offered game."""
        self.hub.pairs.withdraw()

    def _offer(self, game: str, seat: Seat, name: str) -> str:
        return self.hub.pairs.offer(game, dict(self._options_of(game)), seat, name)

    def _options_of(self, game: str) -> Mapping[str, Any]:
        """Return the options with which the game was last started here, or else its own."""
        return self._table.choices.options(game) or {}
