"""The part of the JSON API for everybody at the table.

In an open game, such as one played with a chess clock, anybody at the table may act for the seat on
turn, and so may the table screen. Whether a game is open is the table's decision (`is_open` of a
view's turn).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from flask import g

from companion.core.errors import Illegal, Refusal, wrong_phase
from companion.core.i18n import say
from companion.core.kit import Seat
from companion.table.seats.staff_call import StaffBell
from web.rendering.answers import StaffCall, ViewJson
from web.rendering.json_view import view_json
from web.routes.api.body import SEAT_PART, LongText, ShortText
from web.routes.route import TableRouteGroup, at_table, get, post, shared_post
from web.security.auth import is_own_screen


class SharedRoutes(TableRouteGroup):
    """The routes that seats, the table screen and the owner (`host` in addresses) share.

    A turn is shown in stages. Headlines, of one sentence each, tell what happened in a stage.
    """

    name = "api"

    @shared_post("pause", "seat", "table", "host")
    def pause(self, actor: str) -> None:
        """Stop the clock. The table screen may do so only in an open game."""
        self._require_clock_right(actor)
        self._table.pause(actor, at_s=g.received_at_s)

    @shared_post("resume", "seat", "table", "host")
    def resume(self, actor: str) -> None:
        """Resume the clock."""
        self._require_clock_right(actor)
        self._table.resume(actor)

    @shared_post("read", "seat", "table")
    def read(self, actor: str, moment: ShortText, stage: int, told: int) -> None:
        """Confirm that a headline of a stage has been read. `told` is its index, from 0."""
        self._table.read_headline(actor, moment, stage, told)

    @shared_post("confirm", "seat", "host")
    def confirm(self, actor: str, moment: ShortText, stage: int, force: bool = False) -> None:
        """Confirm that the board is right. `force` overrules the camera."""
        self._table.confirm(actor, moment, stage, force)

    @shared_post("disclose", "seat", "host")
    def disclose(self, actor: str) -> None:
        """Do nothing: since version 1.1 a game that is over hides nothing."""

    @shared_post("choose", "seat", "table")
    def choose(self, actor: str, game: ShortText) -> None:
        """Choose a game in the lobby. Every page then shows the chosen game.

        Nobody sits down by this, and no game starts.
        """
        self._table.choose_game(game)

    @shared_post("home", "seat", "table")
    def home(self, actor: str) -> None:
        """Return to the choice of all games, also after a game."""
        self._table.return_to_lobby()

    @shared_post("rematch", "seat", "table", "host")
    def rematch(self, actor: str, swap: bool = False) -> None:
        """Start the same game again. With `swap` the players change sides.

        If one of them plays at a pad, they keep their sides all the same. Raises `Illegal` after a
        game at two tables.
        """
        self._table.rematch(swap)

    def _require_clock_right(self, actor: str) -> None:
        """Raise `Illegal` if the table screen may not stop or resume the clock of this game."""
        if actor == "table" and not self._table.view().turn.is_open:
            raise Illegal(
                Refusal.NOT_YOUR_SEAT,
                say("Only a seat or the owner can stop this clock, or start it again"),
            )


class TableRoutes(TableRouteGroup):
    """The routes of the table as a whole."""

    name = "api"

    @get("/api/view")
    def view(self) -> ViewJson:
        """Return what everybody may know."""
        return view_json(self._table.view())

    @post("/api/table/act", guard=at_table)
    def table_act(self, moment: ShortText, action: LongText) -> None:
        """Act for the seat on turn. The table refuses that unless the game is open."""
        self._table.act(moment, action, at_s=g.received_at_s)

    @post("/api/table/back", guard=at_table)
    def table_back(self, moment: ShortText) -> None:
        """Take back the last turn, or ask its player if people play both seats.

        The table refuses that unless the game is open.
        """
        self._table.undo(moment)

    @post("/api/table/start", guard=at_table)
    def table_start(self) -> None:
        """Start the chosen game."""
        self._table.begin_chosen()

    @post("/api/table/tiles", guard=at_table)
    def table_tiles(self, seat: Seat, moment: ShortText, is_ready: bool) -> None:
        """Report from the table screen whether a seat's tiles are laid."""
        self._table.set_tiles_ready(seat, moment, is_ready)

    @post(f"/api/seat/{SEAT_PART}/go-on", guard=at_table)
    def go_on(self, seat: str, by: Literal["pad", "machine", "phone"], sitting: ShortText) -> None:
        """Let the pad, the machine or another phone go on for a seat whose phone is gone.

        For another phone the seat is freed, so that somebody can sit down there. `sitting`
        identifies the person whose phone is gone.
        """
        this_seat = Seat(seat)
        # the phone may have returned since the page with this key was drawn
        if this_seat not in self.page_context.presence.gone_seats:
            raise wrong_phase(say("That phone is back."))
        if by == "pad":
            self.page_context.require_pads()
            self._table.change_door(this_seat, "pad", sitting)
            return
        self._require_nothing_secret(this_seat)
        if by == "machine" and not self._features.opponents:
            raise wrong_phase(say("No machine plays here."))
        self._table.free_seat(this_seat, sitting)
        if by == "machine":
            self._table.machines.seat_machine(this_seat, self._features.opponents[0].name)

    def _require_nothing_secret(self, seat: Seat) -> None:
        """Raise `Illegal` if a seat has a secret: a sealed order, or a hand of cards.

        The owner and people at the machine's own screen are trusted with secrets.
        """
        view = self._table.view()
        is_owner = is_own_screen() or self._auth.is_host()
        has_secret = view.seats[seat].receipt is not None or view.board.card_ui is not None
        if has_secret and not is_owner:
            text = say(
                "An order or a hand is secret there: the owner can let somebody else sit down."
            )
            raise Illegal(Refusal.NOT_YOUR_SEAT, text)


@dataclass
class StaffCallRoutes(TableRouteGroup):
    """The routes under `/api/staff`, by which people at the table call the staff."""

    name = "staff"
    bell: StaffBell

    @post("/api/staff/call")
    def call(self) -> StaffCall:
        """Call the staff. The bell raises if nobody would hear it."""
        self.bell.ring(self._require_caller())
        return {"call": self.bell.call}

    @post("/api/staff/cancel")
    def cancel(self) -> StaffCall:
        """Cancel the call."""
        self._require_caller()
        self.bell.cancel()
        return {"call": self.bell.call}

    def _require_caller(self) -> str:
        """Return who sends the request: a seat, `host` or `table`.

        Raises `Illegal` for strangers.
        """
        if own_seats := self._auth.own_seats():
            return own_seats[0]
        if self._auth.is_host():
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
