"""The table's own part in a game at two tables: it begins one, says what the other table is to be
told, and hears it.

Whatever carries the messages, such as `companion.hub`, asks here; nothing at the table waits for
it.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass

from companion.core.errors import CompanionError, Illegal, Refusal, wrong_phase
from companion.core.i18n import say
from companion.core.kit import Seat
from companion.games import game_named
from companion.games.base import Drawn
from companion.table.records import FreeSeat, GameOptions, NewGame, RemoteSaid, Score, TakeSeat
from companion.table.remote.messages import REMOTE, RemoteSeat, encode_message, read_message
from companion.table.session import Session
from companion.table.store import TableStore

MAX_AHEAD = 1_000_000
"""Maximum by which the number of a game at two tables, the higher of both, exceeds this table's
own."""
REMATCH_HERE = say("Rematch: waiting for the other table.")
REMATCH_THERE = say("The other table wants a rematch: press Rematch here, too.")
"""What the table screen says of the line where a table wants another game: this one, the other
one."""


@dataclass(frozen=True)
class RemoteBeginning:
    """A game on which two tables have agreed: `id` and `number` are the same at both.

    `seat` is the one at the other table, `name` whoever sits there. `follows` is the game whose
    rematch it is.
    """

    id: str
    number: int
    game: str
    options: GameOptions
    seat: Seat
    name: str = ""
    follows: str = ""


@dataclass(frozen=True)
class RemoteProgress:
    """How far a game at two tables has come: all that this table has to tell, encoded, and how much
    it was told.
    """

    game: str
    sent: tuple[bytes, ...]
    heard: int
    is_over: bool


def require_playable(game: str, options: GameOptions) -> None:
    """Raise `Malformed` or `Illegal` for a game that cannot be played at two tables with these
    options.
    """
    rules = game_named(game)
    chosen = rules.options(options)
    if rules.is_dealt_by_hand(chosen) or rules.drawn(chosen) is Drawn.SETUP:
        raise wrong_phase(
            say(
                "{game} needs one deck of cards: it cannot be played at two tables.",
                game=rules.title,
            )
        )


def is_playable(game: str, options: GameOptions) -> bool:
    """Return whether two tables can play a game with these options."""
    try:
        require_playable(game, options)
    except CompanionError:
        return False
    return True


class RemoteTable:
    """One table's end of a line of any kind; every method may be called from any thread."""

    def __init__(self, store: TableStore) -> None:
        self._store = store
        self._again: Callable[[bool], None] | None = None

    @property
    def progress(self) -> RemoteProgress | None:
        """Return how far the game that is on, or was last, has come.

        None: it is none at two tables.
        """
        return progress_of_remote(self._store.session)

    def begin(self, beginning: RemoteBeginning, next_number: int) -> None:
        """Start it with its set-up.

        Raises `Malformed` or `Illegal` where it cannot be. `next_number`: this table's.
        """
        if (session := self._store.session).remote and session.remote.at.id == beginning.id:
            return  # it has begun already
        require_playable(beginning.game, beginning.options)
        # a lower number has been given to another game here since they agreed
        if not next_number <= beginning.number <= next_number + MAX_AHEAD:
            raise Illegal(
                Refusal.TOO_LATE,
                say("This table has played another game since: pair the tables again"),
            )
        nonce = secrets.token_urlsafe(18)
        remote = RemoteSeat(beginning.id, beginning.seat, beginning.name, nonce)
        score = _match_so_far(session, beginning)
        record = NewGame(
            beginning.game,
            beginning.number,
            options=dict(beginning.options),
            score=score,
            remote=remote,
        )

        with self._store.hold():
            if moves := _change_of_sides(self._store.session, beginning.seat):
                self._store.accept(*moves)
            self._store.accept(record)

    def hear(self, game: str, number: int, payload: bytes) -> None:
        """Take in the message of this number that the other table has told.

        The same once more changes nothing.

        Raises `Malformed` for one that is none or does not fit, and then the game cannot go on.
        """
        message = read_message(game, number, payload)

        with self._store.hold():
            remote = self._store.session.remote
            if remote is not None and remote.at.id == game and number > remote.heard:
                self._store.accept(RemoteSaid(number, message, self._store.now_s()))

    def when_again(self, call: Callable[[bool], None] | None) -> None:
        """Set who asks the other table for another game, with sides changed or not.

        None: nobody any more.
        """
        self._again = call

    def play_again(self, swap: bool) -> None:
        """Ask for another game of these two tables.

        Raises `Illegal` where it cannot be.
        """
        session = self._store.session
        if self._again is None:
            raise wrong_phase(say("For another game, pair the tables again"))
        by_pad = any(sitter.door == "pad" for sitter in session.seats.values())
        self._again(swap and not by_pad)


def progress_of_remote(session: Session) -> RemoteProgress | None:
    """Return how far the game at two tables of this session has come. None: it is none."""
    remote = session.remote
    if remote is None:
        return None
    game = remote.at.id
    sent = tuple(
        encode_message(game, number, message) for number, message in enumerate(remote.sent, start=1)
    )
    return RemoteProgress(game, sent, remote.heard, session.outcome is not None)


def _change_of_sides(session: Session, elsewhere: Seat) -> list[FreeSeat | TakeSeat]:
    """Return what lets whoever sits here at the seat that is played elsewhere now have the own one,
    between two games.

    It is on the record by itself: a later game, and the list of games, ask who sat where.
    """
    sitter, other = session.seats.get(elsewhere), session.seats.get(elsewhere.other)
    has_room = other is None or other.door == REMOTE
    if not session.is_between or not has_room or sitter is None or sitter.door == REMOTE:
        return []
    frees = [FreeSeat(seat) for seat in session.seats]
    return [*frees, TakeSeat(elsewhere.other, sitter.name, sitter.nonce, sitter.door, sitter.card)]


def _match_so_far(session: Session, beginning: RemoteBeginning) -> Score:
    """Return wins of South, wins of North and ties before this game.

    In a rematch sides may have changed.
    """
    before = session.remote
    if before is None or before.at.id != beginning.follows:
        return (0, 0, 0)
    # wins belong to the people, not to their seats
    south, north, ties = session.score
    return (south, north, ties) if before.at.seat is beginning.seat else (north, south, ties)
