"""The wall of a room: all tables, which of them need somebody, and how to watch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from flask import Response, render_template

from companion.core.i18n import say, say_n
from companion.core.kit import Seat
from companion.league.standings import standings
from companion.table.public.messages import PublicRecord, PublicView
from companion.table.seats.staff_call import Call
from companion.table.session import Phase
from web.hub.drawing import Fragments, ShownSeat, seats_of
from web.hub.host import TableJoinCode
from web.hub.room import HubContext, HubGroup, Room, RoomTable, ShownRecord, delay_text
from web.hub.tournaments import TournamentWords
from web.routes.route import get
from web.security.auth import is_own_screen
from web.server.sse import Audience


@dataclass(frozen=True)
class Tile:
    """A table on the wall.

    `state` is its state in two words, `drawing` the name of an icon (or empty), and `kind` its CSS
    class.
    """

    table: RoomTable
    state: str
    drawing: str
    kind: str
    seats: tuple[ShownSeat, ...]


class WallPages(HubGroup):
    """The wall and its stream."""

    name = "wall"

    def __init__(self, hub: HubContext, join_code: TableJoinCode) -> None:
        super().__init__(hub)
        self._join_code = join_code
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
        """Return the wall. Only on the machine's own screen it shows the code for joining."""
        # the code on the wall may have expired
        self._join_code.step()
        return self._fragments.get(
            on_own_screen, self._room.version, lambda: self._draw(on_own_screen)
        )

    def _pairing(self, table: str) -> Mapping[Seat, str]:
        """Return the names of the players whom the current round seats at a table."""
        pairing = self._tournaments.board_of(table)
        if pairing is None:
            return {}
        _, board = pairing
        return {
            Seat.SOUTH: self._words.person(board.south),
            Seat.NORTH: self._words.person(board.north),
        }

    def _draw(self, on_own_screen: bool) -> str:
        room, now_s = self._room, self._room.now_s()
        tables, tournament = room.tables(), self._tournaments.current
        round_ = tournament.round if tournament else None
        calls = calls_of(tables, now_s)
        return render_template(
            "_hub_wall.html",
            tiles=[tile_of(table, now_s, self._pairing(table.id)) for table in tables],
            tournament=tournament,
            due_s=room.due_s(round_.ends_s) if round_ and not round_.is_decided else None,
            standings=standings(tournament)[:MAX_STANDINGS] if tournament and round_ else (),
            league_words=self._words,
            calls=calls,
            max_calls=MAX_CALLS,
            sign=sign_of(room, tables, calls),
            urls=self._hub.urls(),
            code=self._join_code.code if on_own_screen else "",
            viewer_count=self._streams.open_count,
            delay_words=delay_text(room.delay_s),
        )


# Maximum number of tables in need that are listed. The tiles show all of them.
MAX_CALLS = 4
# Maximum number of rows of the standings. The page shows them in turn, as many as fit.
MAX_STANDINGS = 128
# Placeholder for a table that has sent nothing yet.
WAITING = ShownRecord(PublicRecord(0, "", 0, "", 0, 0.0, PublicView(Phase.LOBBY)), 0.0)


def tile_of(table: RoomTable, now_s: float, paired: Mapping[Seat, str]) -> Tile:
    """Return the tile of a table. `paired` are the names of the players whom a round seats
    there.
    """
    # names from the pairing override those from the table
    names = {**(table.state.names if table.state else {}), **paired}
    # a table with a pairing shows its players before it has sent anything
    shown = table.shown or (WAITING if paired else None)
    seats = seats_of(shown, names) if shown else ()
    return Tile(table, *_state_of(table, now_s, bool(paired)), seats)


def _state_of(table: RoomTable, now_s: float, is_paired: bool) -> tuple[str, str, str]:
    """Return a table's state in two words, the name of an icon, and its kind for the style."""
    call = table.state.call if table.state else Call.NONE
    if table.is_lost(now_s):
        return say("Not connected"), "noentry", "lost"
    if call is Call.CALLED:
        return say("Calls"), "bell", "call"
    if call is Call.COMING:
        return say("Somebody is coming"), "bell", "coming"
    if table.shown is None or table.phase is Phase.LOBBY:
        return ("", "", "on") if is_paired else (say("Free"), "", "free")
    if table.phase is Phase.OVER and not is_paired:
        return say("Finished"), "tick", "done"
    view = table.shown.record.view
    drawing = "noentry" if table.need(now_s) else ""
    if view.paused:
        return say("Paused"), drawing, "paused"
    if view.phase is Phase.SETUP or not view.turn:
        return say("Set-up"), drawing, "on"
    return say("Turn {turn}", turn=view.turn), drawing, "on"


def _is_calling(table: RoomTable) -> bool:
    return table.state is not None and table.state.call is Call.CALLED


def calls_of(tables: tuple[RoomTable, ...], now_s: float) -> list[tuple[RoomTable, str]]:
    """Return the tables that need somebody, each with the reason. Tables that are calling come
    first.
    """
    # False sorts before True, and the sort is stable
    in_order = sorted(tables, key=lambda table: not _is_calling(table))
    needs = [(table, table.need(now_s)) for table in in_order]
    return [(table, need) for table, need in needs if need]


def sign_of(
    room: Room, tables: tuple[RoomTable, ...], calls: Sequence[tuple[RoomTable, str]]
) -> tuple[str, bool]:
    """Return the sentence at the bottom of the wall, and whether somebody is needed."""
    if room.trouble:
        return room.trouble, True
    for table, need in calls:
        if _is_calling(table):
            return say("Table {number} is calling", number=table.number), True
        return say("Table {number}: {what}", number=table.number, what=need), True
    if not tables:
        return say("No table has joined yet"), False
    free = [table for table in tables if table.phase is Phase.LOBBY]
    if free:
        return say("Sit down at table {number}", number=free[0].number), False
    playing = sum(table.phase is not Phase.OVER for table in tables)
    return say_n("{n} table is playing", "{n} tables are playing", playing), False
