"""One table's part in a game at two tables: begin it, and process the messages that arrive.

The connection to the other table (`companion.hub.pair_client`) calls it, and sends the messages in
`RemoteGame.outgoing_messages`, a part of the session. Nothing at the table waits for it.
"""

from __future__ import annotations

import secrets

import msgspec

from companion.core.errors import Illegal, Refusal, wrong_phase
from companion.core.i18n import say
from companion.core.kit import Seat
from companion.games import game_named
from companion.games.base import Drawn
from companion.table.records import FreeSeat, GameOptions, NewGame, ReceiveMessage, TakeSeat
from companion.table.remote.messages import RemoteGame, RemoteSeat, decode_remote_message
from companion.table.session import Session
from companion.table.store import TableStore

# Maximum difference between the number of a game, on which both tables agree, and this table's next
# number. It limits how far a faulty table can raise the numbers of this one.
MAX_SKIPPED_NUMBERS = 1_000_000


def require_playable(game: str, options: GameOptions) -> None:
    """Raise `Malformed` or `Illegal` if two tables cannot play a game with these options."""
    rules = game_named(game)
    chosen = rules.options(options)
    if rules.is_dealt_by_hand(chosen) or rules.drawn(chosen) is Drawn.SETUP:
        raise wrong_phase(
            say(
                "{game} needs one deck of cards: it cannot be played at two tables.",
                game=rules.title,
            )
        )


class RemoteTable:
    """This table's end of the connection to another table. Any thread may call its methods."""

    def __init__(self, store: TableStore) -> None:
        self._store = store

    @property
    def remote_game(self) -> RemoteGame | None:
        """What this table knows of the other table, in the running game or in the last one.

        None if that game is played at one table.
        """
        return self._store.session.remote

    @property
    def is_running(self) -> bool:
        """Whether a game at two tables is running."""
        return self.remote_game is not None and self._store.session.outcome is None

    def begin_game(
        self,
        remote_seat: RemoteSeat,
        number: int,
        game: str,
        options: GameOptions,
        next_number: int,
    ) -> None:
        """Begin a game with its set-up. A repeated call for the same game changes nothing.

        `remote_seat` is played at the other table. `number` is the number of the game in both
        journals. `next_number` was the next free number of this table when the tables agreed.

        Raises `Malformed` or `Illegal` if the game cannot be played, `Illegal` if this table has
        begun another game since, and `JournalError` if it cannot be stored.
        """
        session = self._store.session
        if session.remote and session.remote.remote_seat.id == remote_seat.id:
            return  # already begun
        require_playable(game, options)
        # A game that started here in between has taken a lower number.
        if not next_number <= number <= next_number + MAX_SKIPPED_NUMBERS:
            raise Illegal(
                Refusal.TOO_LATE,
                say("This table has played another game since: pair the tables again"),
            )
        remote = msgspec.structs.replace(remote_seat, nonce=secrets.token_urlsafe(18))
        record = NewGame(game, number, options=dict(options), remote=remote)
        with self._store.hold():
            if records := _records_to_change_sides(self._store.session, remote_seat.seat):
                self._store.accept(*records)
            self._store.accept(record)

    def receive(self, game_id: str, message_number: int, payload: bytes) -> None:
        """Process a message from the other table.

        `game_id` is the id of the game at both tables (`RemoteSeat.id`). `message_number` counts
        the other table's messages in it, from 1. A message that was received before, or that
        belongs to another game, changes nothing.

        Raises `JournalError` if it cannot be stored now. Any other `CompanionError` means that the
        message is not valid, does not fit, or is not the next one. Then the game cannot continue.
        """
        message = decode_remote_message(game_id, message_number, payload)
        with self._store.hold():
            remote = self._store.session.remote
            if (
                remote is not None
                and remote.remote_seat.id == game_id
                and message_number > remote.received_count
            ):
                self._store.accept(ReceiveMessage(message_number, message, self._store.now_s()))


def _records_to_change_sides(session: Session, their_seat: Seat) -> list[FreeSeat | TakeSeat]:
    """Return the records that move a player to the seat that this table plays in the next game.

    They are separate records, because later games and the list of games need the players of each
    seat. Empty if nobody has to move, if that seat is taken, or during a game.
    """
    seats = session.seats_here
    own_seat = their_seat.other
    player = seats.get(their_seat)
    if player is None or own_seat in seats or not session.is_between_games:
        return []
    take_seat = TakeSeat(own_seat, player.name, player.nonce, player.door, player.card)
    return [*map(FreeSeat, session.seats), take_seat]
