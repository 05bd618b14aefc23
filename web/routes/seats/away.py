"""Going on without a phone that is gone: by the pad, by the machine, or by another phone."""

from __future__ import annotations

from typing import Literal

from flask import request

from companion.core.errors import Illegal, Refusal
from companion.core.i18n import say
from companion.core.kit import Seat
from web.context import PageContext
from web.routes.api.body import SEAT, Body, Text
from web.routes.route import at_table, post
from web.security.auth import is_own_screen


class GoOn(Body, frozen=True):
    """Who takes over. `sitting` names whose phone is gone."""

    by: Literal["pad", "machine", "phone"]
    sitting: Text


class AwayDoors:
    """The door under `/api/seat` for those who are still there."""

    name = "away"

    def __init__(self, page_context: PageContext) -> None:
        self._page_context = page_context
        self._table = page_context.table

    @post(f"/api/seat/{SEAT}/go-on", body=GoOn, guard=at_table)
    def go_on(self, seat: str, body: GoOn) -> None:
        """Let the pad, the machine or another phone go on for a seat whose phone is gone."""
        gone, features = Seat(seat), self._page_context.features
        if gone not in self._page_context.presence.gone:
            raise Illegal(Refusal.WRONG_PHASE, say("That phone is back."))
        if body.by == "pad":
            if not features.welcome.has_pads:
                raise Illegal(Refusal.WRONG_PHASE, say("There are no pads here: continue by phone"))
            self._table.play_by(gone, "pad", body.sitting)
            return
        self._require_nothing_secret(gone)
        if body.by == "machine" and not features.opponents:
            raise Illegal(Refusal.WRONG_PHASE, say("No machine plays here."))
        self._table.free_seat(gone, body.sitting)
        if body.by == "machine":
            self._table.machines.seat(gone, features.opponents[0].name)

    def _require_nothing_secret(self, seat: Seat) -> None:
        """Raise `Illegal` where whoever sits down there would see a sealed order or a hand, unless the owner asks."""
        view = self._table.view()
        is_owner = is_own_screen(request) or self._page_context.guard.is_host(request)
        hides = view.seats[seat].receipt is not None or view.board.tableau is not None
        if hides and not is_owner:
            text = say(
                "An order or a hand is secret there: the owner can let somebody else sit down."
            )
            raise Illegal(Refusal.NOT_YOUR_SEAT, text)
