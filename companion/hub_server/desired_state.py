"""The desired state of tables. It is sent repeatedly until a table follows it."""

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
    encode_command,
    wish_for,
)
from companion.hub_server.folder import HubFile, HubFolder
from companion.league.league import League
from companion.league.people import shown_name
from web.hub.room import Room, RoomTable

REPEAT_S = 1.0
"""Interval in seconds at which the desired state is sent to a table that does not follow it yet."""


class DesiredState:
    """Sends tables what the hub wants of them: to be closed, to play a tournament's board, or to
    change settings.

    `send` takes a table and an encoded command. Unanswered settings are stored in the folder and
    sent again after a restart.
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
        self._sent_s = -REPEAT_S

    def tell(self, table: str, command: HubCommand) -> None:
        """Send a command to a table once."""
        self._send(table, encode_command(command))

    def repeat_soon(self) -> None:
        """Send the desired state again in the next step, whatever the interval."""
        self._sent_s = -REPEAT_S

    def ask(self, tables: Sequence[str], typed: Mapping[str, str]) -> None:
        """Request a change of settings from tables. Each table answers when it is connected.

        Settings that a table has not answered yet are sent along. Raises `Illegal` if they are too
        many.
        """
        # the time in milliseconds is a number that no earlier request had
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
        """Drop the pending settings of a table that has left the hub."""
        if settings := self._folder.file.asked.get(table):
            self._drop_settings(table, settings.number)

    def step(self) -> None:
        """Seat waiting boards and repeat the desired state, if the interval has passed."""
        now_s = self._clock.monotonic_s()
        if now_s - self._sent_s < REPEAT_S:
            return
        self._sent_s = now_s
        self._league.tournaments.seat_boards()
        for table in self._room.tables():
            if table.state and not table.is_lost(now_s):
                self._resend(table)

    def _resend(self, table: RoomTable) -> None:
        """Send a table its desired state unless the table follows it already."""
        state, settings = table.state, self._folder.file.asked.get(table.id)
        wish = wish_for(table.closed, self._paired_game(table.id))
        if state and settings and state.answers == settings.number:
            self._drop_settings(table.id, settings.number)
            settings = None
        if state and table.asked and settings is None:
            self._room.update(table.id, asked=False, answer=state.answer)
        # repeated until the table follows, because a message may be lost
        if state and (state.follows != wish.mark or settings):
            self.tell(table.id, HubCommand(wish=wish, settings=settings))

    def _drop_settings(self, table: str, number: int) -> None:
        """Drop the pending settings of a table if they have this number."""

        def without(file: HubFile) -> HubFile:
            settings = dict(file.asked)
            if table in settings and settings[table].number == number:
                del settings[table]
            return replace(file, asked=settings)

        self._folder.change(without)

    def _paired_game(self, table: str) -> PairedGame | None:
        """Return the board of a round that should be played at a table, or None."""
        placed = self._league.tournaments.board_of(table)
        if placed is None:
            return None
        tournament, board = placed
        names = {
            seat: packed(shown_name(self._league.cards.person(person), person))
            for seat, person in zip(SEATS, (board.south, board.north), strict=True)
        }
        number = len(tournament.rounds)
        return PairedGame(tournament.name, number, names, tournament.game, tournament.options)
