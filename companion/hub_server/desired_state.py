"""Sends each table the board of a tournament's round that it should play, until it follows."""

from __future__ import annotations

from collections.abc import Callable

from companion.core.clock import Clock
from companion.core.i18n import sentence_to_json
from companion.core.kit import SEATS
from companion.hub.commands import HubCommand, PairedGame, encode_command, wish_for
from companion.league.league import League
from companion.league.people import shown_name
from web.hub.room import HubRoom

# Interval in seconds at which a board is sent to a table that does not follow it yet.
REPEAT_S = 1.0


class DesiredState:
    """Tells every table which board is paired there, and repeats it until the table follows.

    A table follows if its state has the mark of the wish (see `HubWish`). `send_command` takes a
    table's id in subjects and an encoded command.
    """

    def __init__(
        self,
        room: HubRoom,
        league: League,
        clock: Clock,
        send_command: Callable[[str, bytes], None],
    ) -> None:
        self._room = room
        self._league = league
        self._clock = clock
        self._send_command = send_command
        self._sent_s = -REPEAT_S

    def step(self) -> None:
        """Give waiting boards a table and send the wishes, if the interval has passed."""
        now_s = self._clock.monotonic_s()
        if now_s - self._sent_s < REPEAT_S:
            return
        self._sent_s = now_s
        self._league.tournaments.assign_tables()
        for table in self._room.tables():
            if table.state is None or table.is_lost(now_s):
                continue
            wish = wish_for(self._paired_game(table.id))
            # repeated until the table follows, because a message may be lost
            if table.state.follows != wish.mark:
                self._send_command(table.id, encode_command(HubCommand(wish=wish)))

    def _paired_game(self, table_id: str) -> PairedGame | None:
        """Return the board of a round that should be played at a table, or None."""
        placed = self._league.tournaments.board_of(table_id)
        if placed is None:
            return None
        tournament, board = placed
        names = {
            seat: sentence_to_json(shown_name(self._league.cards.person(person), person))
            for seat, person in zip(SEATS, (board.south, board.north), strict=True)
        }
        number = len(tournament.rounds)
        return PairedGame(number, names, tournament.game, tournament.options)
