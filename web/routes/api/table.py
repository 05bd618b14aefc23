"""What anybody at the table may ask: to look, and to act where the game is as open as a chess clock."""

from __future__ import annotations

from flask import Response, g, jsonify

from companion.core.errors import Illegal, Refusal
from companion.core.i18n import say
from web.context import PageContext
from web.rendering.answers import ViewJson
from web.rendering.json_view import plain_view
from web.routes.api.body import Body, Long, Moment, Read, Rematch, Text
from web.routes.route import at_table, get, post


class Act(Body, frozen=True):
    """What somebody at the table does for the seat on turn."""

    moment: Text
    action: Long


class Choose(Body, frozen=True):
    """The game that is to be shown to everybody before it begins."""

    game: Text


class TableDoors:
    """The doors of the table as a whole."""

    name = "api"

    def __init__(self, page_context: PageContext) -> None:
        self._page_context = page_context
        self._table = page_context.table

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

    @post("/api/table/pause", guard=at_table)
    def table_pause(self) -> None:
        """Stop the clock."""
        self._require_open()
        self._table.pause("table", at_s=g.at_s)

    @post("/api/table/resume", guard=at_table)
    def table_resume(self) -> None:
        """Let the clock go on."""
        self._require_open()
        self._table.resume("table")

    @post("/api/table/read", body=Read, guard=at_table)
    def table_read(self, body: Read) -> None:
        """Say at the table screen that what is told has been read."""
        self._table.read("table", body.moment, body.stage, body.told)

    @post("/api/table/rematch", body=Rematch, guard=at_table)
    def table_rematch(self, body: Rematch) -> None:
        """Start the same game once more."""
        self._table.rematch(body.swap)

    @post("/api/table/choose", body=Choose, guard=at_table)
    def table_choose(self, body: Choose) -> None:
        """Choose a game in the lobby. Nobody sits down by that, and nothing begins."""
        self._table.choose(body.game)

    @post("/api/table/home", guard=at_table)
    def table_home(self) -> None:
        """Offer all games instead of the one that was chosen, or after a game."""
        self._table.go_home()

    @post("/api/table/start", guard=at_table)
    def table_start(self) -> None:
        """Start the game that was chosen."""
        self._table.begin_chosen()

    def _require_open(self) -> None:
        if not self._table.view().turn.is_open:
            raise Illegal(
                Refusal.NOT_YOUR_SEAT,
                say("Only a seat or the owner can stop this clock, or start it again"),
            )
