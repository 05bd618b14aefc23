"""Sends each table the game of a tournament that it should play, until the table follows."""

from __future__ import annotations

from collections.abc import Callable

from companion.core.clock import Clock
from companion.core.i18n import sentence_to_json
from companion.core.kit import SEATS
from companion.hub.commands import HubCommand, RoundGame, encode_command, make_desired_state
from companion.league.league import League
from companion.league.people import shown_name
from web.hub.room import HubRoom

# Interval in seconds at which a desired state is sent to a table that does not follow it yet.
REPEAT_S = 1.0


class DesiredStateSender:
    """Tells every table which game is paired there, and repeats that until the table follows.

    A table follows if the state that it reports has the mark of the desired state (see
    `DesiredState`). `send_command` takes a table's id in NATS subjects and an encoded command.
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
        self._sent_at_s = -REPEAT_S

    def step(self) -> None:
        """Assign tables to waiting boards and send desired states, if the interval has passed."""
        now_s = self._clock.monotonic_s()
        if now_s - self._sent_at_s < REPEAT_S:
            return
        self._sent_at_s = now_s
        self._league.tournaments.assign_tables()
        for table in self._room.tables():
            if table.state is None or table.is_lost(now_s):
                continue
            desired = make_desired_state(self._round_game(table.id))
            # sent again until the table follows, because a message may be lost
            if table.state.follows != desired.mark:
                self._send_command(table.id, encode_command(HubCommand(desired_state=desired)))

    def _round_game(self, table_id: str) -> RoundGame | None:
        """Return the game of a round that should be played at a table, or None."""
        placed = self._league.tournaments.open_board_at(table_id)
        if placed is None:
            return None
        tournament, board = placed
        names = {
            seat: sentence_to_json(shown_name(self._league.cards.find(person), person))
            for seat, person in zip(SEATS, (board.south, board.north), strict=True)
        }
        round_number = len(tournament.rounds)
        return RoundGame(round_number, names, tournament.game, tournament.options)
