"""The wall of a room: all tables, which of them need somebody, and how to watch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from flask import Response, render_template

from companion.core.i18n import say, say_n
from companion.core.kit import Seat
from companion.league.standings import standings
from companion.table.public.messages import PublicRecord, PublicView
from companion.table.seats.staff_call import Call
from companion.table.session import Phase
from web.context import Fragments
from web.hub.drawing import SeatSummary, summarise_seats
from web.hub.host import TableJoinCode
from web.hub.room import HubContext, HubRoom, HubRouteGroup, HubTable, TimedRecord, delay_text
from web.hub.tournaments import TournamentWords
from web.routes.route import get
from web.security.auth import is_own_screen
from web.server.sse import Audience

# Maximum number of tables in need that are listed. The tiles show all of them.
MAX_LISTED_NEEDS = 4
# Maximum number of rows of the standings. The page shows them in turn, as many as fit.
MAX_STANDINGS = 128
# Placeholder for a table that has sent nothing yet.
NOTHING_SENT = TimedRecord(
    PublicRecord(
        entry=0, mark="", epoch=0, what="", game=0, at=0.0, view=PublicView(phase=Phase.LOBBY)
    ),
    accepted_at_s=0.0,
)


class WallTileState(NamedTuple):
    """The state of a table, at the head of its tile."""

    words: str
    """A few words. Empty if the names of the players say enough."""
    drawing: str
    """Name of the icon beside the words. Empty if there is none."""
    css_class: str


@dataclass(frozen=True)
class Tile:
    """A table on the wall."""

    table: HubTable
    state: WallTileState
    seats: tuple[SeatSummary, ...]


class WallSign(NamedTuple):
    """The sentence at the bottom of the wall."""

    words: str
    needs_somebody: bool
    """Whether somebody is needed. The sign then points to the list of the tables in need."""


class WallPages(HubRouteGroup):
    """The wall and its stream.

    The room with its tables (`_room`), the tournaments and the streams come from `HubRouteGroup`.
    """

    name = "wall"

    def __init__(self, hub: HubContext, table_join_code: TableJoinCode) -> None:
        super().__init__(hub)
        self._table_join_code = table_join_code
        self._words = TournamentWords(hub.league, hub.room)
        self._fragments = Fragments(max_versions=1)

    @get("/")
    def page(self) -> str:
        """Show the wall."""
        fragment = self._fragment(is_own_screen())
        return render_template("hub_wall.html", fragment=fragment, live="/live/wall", theme="")

    @get("/live/wall")
    def live(self) -> Response:
        """Stream the wall."""
        on_own_screen = is_own_screen()
        return self._streams.stream_changes(
            self._room, lambda: self._fragment(on_own_screen), Audience.TABLE
        )

    def _fragment(self, on_own_screen: bool) -> str:
        """Return the wall's fragment. Only that for the machine's own screen has the join code."""
        # the code that the wall shows may have expired
        self._table_join_code.renew_if_expired()
        return self._fragments.get(
            on_own_screen, self._room.version, lambda: self._draw(on_own_screen)
        )

    def _paired_players(self, table_id: str) -> Mapping[Seat, str]:
        """Return the names of the players whom the current round seats at a table, or none."""
        placed = self._tournaments.open_board_at(table_id)
        if placed is None:
            return {}
        _, board = placed
        return {
            Seat.SOUTH: self._words.person(board.south),
            Seat.NORTH: self._words.person(board.north),
        }

    def _draw(self, on_own_screen: bool) -> str:
        room = self._room
        now_s = room.now_s()
        tables = room.tables()
        tournament = self._tournaments.current
        round_ = tournament.round if tournament else None
        needs = tables_in_need(tables, now_s)
        return render_template(
            "_hub_wall.html",
            tiles=[build_tile(table, now_s, self._paired_players(table.id)) for table in tables],
            tournament=tournament,
            due_s=room.due_s(round_.ends_s) if round_ and not round_.is_decided else None,
            standings=standings(tournament)[:MAX_STANDINGS] if tournament and round_ else (),
            league_words=self._words,
            needs=needs,
            max_listed=MAX_LISTED_NEEDS,
            sign=choose_sign(room, tables, needs),
            urls=self._hub.urls(),
            code=self._table_join_code.code if on_own_screen else "",
            viewer_count=self._streams.open_count,
            delay_words=delay_text(room.delay_s),
        )


def build_tile(table: HubTable, now_s: float, paired: Mapping[Seat, str]) -> Tile:
    """Return the tile of a table.

    `paired` has the names of the players whom the round seats there, and is empty without a round.
    """
    # names from the pairing override those from the table
    names = {**(table.state.names if table.state else {}), **paired}
    # a table with a pairing shows its players before it has sent anything
    latest = table.latest or (NOTHING_SENT if paired else None)
    seats = summarise_seats(latest, names) if latest else ()
    return Tile(table, _state_of(table, now_s, bool(paired)), seats)


def _state_of(table: HubTable, now_s: float, is_paired: bool) -> WallTileState:
    """Return the state of a table. `is_paired` tells whether the round has a game for it."""
    call = table.state.call if table.state else Call.NONE
    if table.is_lost(now_s):
        return WallTileState(say("Not connected"), "noentry", "lost")
    if call is Call.CALLED:
        return WallTileState(say("Calls"), "bell", "call")
    if call is Call.COMING:
        return WallTileState(say("Somebody is coming"), "bell", "coming")
    if table.latest is None or table.phase is Phase.LOBBY:
        return WallTileState("", "", "on") if is_paired else WallTileState(say("Free"), "", "free")
    # A paired table whose game is over has not begun the game of the round: a table is paired only
    # until the result of that game is in. So it is not finished.
    if table.phase is Phase.OVER and not is_paired:
        return WallTileState(say("Finished"), "tick", "done")
    view = table.latest.record.view
    drawing = "noentry" if table.need(now_s) else ""
    if view.paused:
        return WallTileState(say("Paused"), drawing, "paused")
    if view.phase is Phase.SETUP or not view.turn:
        return WallTileState(say("Set-up"), drawing, "on")
    return WallTileState(say("Turn {turn}", turn=view.turn), drawing, "on")


def _is_calling_staff(table: HubTable) -> bool:
    return table.state is not None and table.state.call is Call.CALLED


def tables_in_need(tables: tuple[HubTable, ...], now_s: float) -> list[tuple[HubTable, str]]:
    """Return the tables that need somebody, each with the reason as a sentence.

    Tables whose players call the staff come first, then the others, both by number.
    """
    # False sorts before True, and the sort is stable
    in_order = sorted(tables, key=lambda table: not _is_calling_staff(table))
    needs = [(table, table.need(now_s)) for table in in_order]
    return [(table, need) for table, need in needs if need]


def choose_sign(
    room: HubRoom, tables: tuple[HubTable, ...], needs: Sequence[tuple[HubTable, str]]
) -> WallSign:
    """Return the wall's most important sentence.

    It is about the hub's own trouble, else about a table in need, else about a free table, and else
    it says how many tables are playing.
    """
    if room.trouble:
        return WallSign(room.trouble, needs_somebody=True)
    if needs:
        table, need = needs[0]
        words = say("Table {number}: {what}", number=table.number, what=need)
        if _is_calling_staff(table):
            words = say("Table {number} is calling", number=table.number)
        return WallSign(words, needs_somebody=True)
    free = [table for table in tables if table.phase is Phase.LOBBY]
    if not tables:
        words = say("No table has joined yet")
    elif free:
        words = say("Sit down at table {number}", number=free[0].number)
    else:
        playing = sum(table.phase is not Phase.OVER for table in tables)
        words = say_n("{n} table is playing", "{n} tables are playing", playing)
    return WallSign(words, needs_somebody=False)
