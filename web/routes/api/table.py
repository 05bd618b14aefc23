"""What anybody at the table may ask: to look, and to act where the game is as open as a chess
clock.
"""

from __future__ import annotations

from typing import Literal

from flask import Response, g, jsonify

from companion.core.errors import Illegal, Refusal, wrong_phase
from companion.core.i18n import say
from companion.core.kit import Seat
from companion.table.seats.staff_call import StaffBell
from web.context import PageContext
from web.rendering.answers import StaffCall, ViewJson
from web.rendering.json_view import plain_view
from web.routes.api.body import (
    SEAT,
    Body,
    Confirm,
    GameName,
    Laid,
    Long,
    Moment,
    Read,
    Rematch,
    Text,
)
from web.routes.route import PageGroup, at_table, get, post, shared
from web.security.auth import is_own_screen


class Act(Body, frozen=True):
    """What somebody at the table does for the seat on turn."""

    moment: Text
    action: Long


class LaidBy(Laid, frozen=True):
    """Whether the tiles of the seat that is named are down."""

    seat: Seat


class GoOn(Body, frozen=True):
    """Who takes over. `sitting` names whose phone is gone."""

    by: Literal["pad", "machine", "phone"]
    sitting: Text


class SharedDoors(PageGroup):
    """The doors that a seat, the table screen and the host have alike, as far as each may."""

    name = "api"

    @shared("pause", "seat", "table", "host")
    def pause(self, by: str) -> None:
        """Stop the clock. At the table screen only in a game that is as open as a chess clock."""
        self._require_clock(by)
        self._table.pause(by, at_s=g.at_s)

    @shared("resume", "seat", "table", "host")
    def resume(self, by: str) -> None:
        """Let the clock go on."""
        self._require_clock(by)
        self._table.resume(by)

    @shared("read", "seat", "table", body=Read)
    def read(self, by: str, body: Read) -> None:
        """Say that what is told has been read."""
        self._table.read(by, body.moment, body.stage, body.told)

    @shared("confirm", "seat", "host", body=Confirm)
    def confirm(self, by: str, body: Confirm) -> None:
        """Say that the board is as it should be."""
        self._table.confirm(by, body.moment, body.stage, body.force)

    @shared("disclose", "seat", "host")
    def disclose(self, by: str) -> None:
        """Open what was hidden in a game that is over. It cannot be taken back."""
        self._table.disclose(by)

    @shared("choose", "seat", "table", body=GameName)
    def choose(self, by: str, body: GameName) -> None:
        """Choose a game in the lobby. Every page shows it, nobody sits down by that, and nothing
        begins.
        """
        self._table.choose(body.game)

    @shared("home", "seat", "table")
    def home(self, by: str) -> None:
        """Offer all games instead of the one that was chosen, or after a game."""
        self._table.go_home()

    @shared("rematch", "seat", "table", "host", body=Rematch)
    def rematch(self, by: str, body: Rematch) -> None:
        """Start the same game once more."""
        self._table.rematch(body.swap)

    def _require_clock(self, by: str) -> None:
        if by == "table" and not self._table.view().turn.is_open:
            raise Illegal(
                Refusal.NOT_YOUR_SEAT,
                say("Only a seat or the owner can stop this clock, or start it again"),
            )


class TableDoors(PageGroup):
    """The doors of the table as a whole."""

    name = "api"

    @get("/api/view", answer=ViewJson)
    def view(self) -> Response:
        """Return what everybody may know."""
        return jsonify(plain_view(self._table.view()))

    @post("/api/table/act", body=Act, guard=at_table)
    def table_act(self, body: Act) -> None:
        """Act for the seat on turn. The table raises unless that is open to anybody."""
        self._table.act(body.moment, body.action, at_s=g.at_s)

    @post("/api/table/back", body=Moment, guard=at_table)
    def table_back(self, body: Moment) -> None:
        """Take the last turn back. The table raises unless that is open to anybody."""
        self._table.undo(body.moment)

    @post("/api/table/start", guard=at_table)
    def table_start(self) -> None:
        """Start the game that was chosen."""
        self._table.begin_chosen()

    @post("/api/table/tiles", body=LaidBy, guard=at_table)
    def table_tiles(self, body: LaidBy) -> None:
        """Say on the table screen that a seat's tiles are down, or no longer."""
        self._table.lay_tiles(body.seat, body.moment, body.is_ready)

    @post(f"/api/seat/{SEAT}/go-on", body=GoOn, guard=at_table)
    def go_on(self, seat: str, body: GoOn) -> None:
        """Let the pad, the machine or another phone go on for a seat whose phone is gone."""
        gone, features = Seat(seat), self._features
        # the phone may have come back since the page was drawn
        if gone not in self._page_context.presence.gone:
            raise wrong_phase(say("That phone is back."))
        if body.by == "pad":
            self._page_context.require_pads()
            self._table.play_by(gone, "pad", body.sitting)
            return
        self._require_nothing_secret(gone)
        if body.by == "machine" and not features.opponents:
            raise wrong_phase(say("No machine plays here."))
        self._table.free_seat(gone, body.sitting)
        if body.by == "machine":
            self._table.machines.seat(gone, features.opponents[0].name)

    def _require_nothing_secret(self, seat: Seat) -> None:
        """Raise `Illegal` where whoever sits down there would see a sealed order or a hand, unless
        the owner asks.
        """
        view = self._table.view()
        is_owner = is_own_screen() or self._guard.is_host()
        hides = view.seats[seat].receipt is not None or view.board.tableau is not None
        if hides and not is_owner:
            text = say(
                "An order or a hand is secret there: the owner can let somebody else sit down."
            )
            raise Illegal(Refusal.NOT_YOUR_SEAT, text)


class StaffKeys(PageGroup):
    """The doors under `/api/staff`."""

    name = "staff"

    def __init__(self, page_context: PageContext, bell: StaffBell) -> None:
        super().__init__(page_context)
        self._bell = bell

    @post("/api/staff/call", answer=StaffCall)
    def call(self) -> Response:
        """Call the staff. The bell raises where nobody would hear it."""
        by = self._who()
        self._bell.ring(by)
        return jsonify(call=self._bell.call)

    @post("/api/staff/cancel", answer=StaffCall)
    def cancel(self) -> Response:
        """Cancel the call."""
        self._who()
        self._bell.cancel()
        return jsonify(call=self._bell.call)

    def _who(self) -> str:
        """Return who asks. Raises `Illegal` for anybody who may not."""
        if own := self._guard.seats_of():
            return own[0]
        if self._guard.is_host():
            return "host"
        if is_own_screen():
            return "table"
        raise Illegal(
            Refusal.NOT_YOUR_SEAT,
            say(
                "Only a seat, the owner or the table’s own screen can call the staff: sit down "
                "first"
            ),
        )
