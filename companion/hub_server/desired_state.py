"""What the hub wants of its tables, told again and again until a table follows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from companion.core.clock import Clock
from companion.core.errors import Illegal, Refusal
from companion.core.i18n import packed, say
from companion.core.kit import SEATS
from companion.hub.commands import (
    MAX_SETTINGS,
    HubCommand,
    PairedGame,
    SettingsAsked,
    encoded_command,
    wish_for,
)
from companion.hub_server.folder import HubFile, HubFolder
from companion.league.director import board_at
from companion.league.league import League
from companion.league.people import shown_name
from web.hub.room import Room, RoomTable

AGAIN_S = 1.0
"""Interval in seconds at which a table is told what is wanted of it until it follows."""


class DesiredState:
    """What a hub wants of its tables: no game, a tournament’s next board, other settings.

    `send` takes a table and a command's bytes.

    Settings that a table has not answered yet are kept in the folder and asked for again after a
    restart.
    """

    def __init__(
        self,
        folder: HubFolder,
        room: Room,
        league: League,
        clock: Clock,
        send: Callable[[str, bytes], None],
    ) -> None:
        self._folder = folder
        self._room = room
        self._league = league
        self._clock = clock
        self._send = send
        self._told_s = -AGAIN_S

    def tell(self, table: str, command: HubCommand) -> None:
        """Tell a table this once."""
        self._send(table, encoded_command(command))

    def repeat_soon(self) -> None:
        """Tell what else is wanted again with the next step."""
        self._told_s = -AGAIN_S

    def ask(self, tables: Sequence[str], typed: Mapping[str, str]) -> None:
        """Ask tables to take settings. Each answers for itself, as soon as it is there.

        What a table has not answered yet is asked with it. Raises `Illegal` where that is too much.
        """
        # the time in milliseconds: no request before had this number
        number = round(self._clock.wall_s() * 1000)

        def more(file: HubFile) -> HubFile:
            settings = dict(file.asked)
            for table in tables:
                before = settings[table].values if table in settings else {}
                settings[table] = SettingsAsked(number, {**before, **typed})
                if len(settings[table].values) > MAX_SETTINGS:
                    raise Illegal(
                        Refusal.TOO_LATE,
                        say("Too many settings are waiting for a table that does not answer"),
                    )
            return replace(file, asked=settings)

        self._folder.change(more)
        for table in tables:
            self._room.update(table, asked=True, answer="")
        self.repeat_soon()

    def forget(self, table: str) -> None:
        """Forget a table that has left the hub."""
        if settings := self._folder.now.asked.get(table):
            self._answered(table, settings.number)

    def step(self) -> None:
        """Do what is due."""
        now_s = self._clock.monotonic_s()
        if now_s - self._told_s < AGAIN_S:
            return
        self._told_s = now_s
        self._league.tournaments.seat_waiting()
        for table in self._room.tables():
            if table.state and not table.is_lost(now_s):
                self._tell_again(table)

    def _tell_again(self, table: RoomTable) -> None:
        """Tell a table once more what is wanted of it, where it does not follow that yet."""
        state, settings = table.state, self._folder.now.asked.get(table.id)
        wish = wish_for(table.closed, self._board(table.id))
        if state and settings and state.answers == settings.number:
            self._answered(table.id, settings.number)
            settings = None
        if state and table.asked and settings is None:
            self._room.update(table.id, asked=False, answer=state.answer)
        # told until the table says that it follows, since a message may be lost
        if state and (state.follows != wish.mark or settings):
            self.tell(table.id, HubCommand(wish=wish, settings=settings))

    def _answered(self, table: str, number: int) -> None:
        """Take a table's answer to what it was asked under this number."""

        def without(file: HubFile) -> HubFile:
            settings = dict(file.asked)
            if table in settings and settings[table].number == number:
                del settings[table]
            return replace(file, asked=settings)

        self._folder.change(without)

    def _board(self, table: str) -> PairedGame | None:
        """Return the board of a round that is to be played at a table. None: none."""
        placed = self._league.tournaments.board_of(table)
        if placed is None:
            return None
        tournament, place = placed
        board = board_at(tournament, place)
        names = {
            seat: packed(shown_name(self._league.cards.person(person), person))
            for seat, person in zip(SEATS, (board.south, board.north), strict=True)
        }
        return PairedGame(tournament.name, place[0] + 1, names, tournament.game, tournament.options)
