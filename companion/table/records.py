"""What the journal keeps: one record for every input that the table has accepted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from companion.core.kit import Seat
from companion.table.chance.fairness import FairChance
from companion.table.remote.messages import RemoteMessage, RemoteSeat

Score = tuple[int, int, int]
"""A match so far: wins of South, wins of North, ties."""
GameOptions = Mapping[str, Any]
"""Options of a game by name, as somebody has chosen them."""


class Record(
    msgspec.Struct, frozen=True, tag_field="is", forbid_unknown_fields=True, omit_defaults=True
):
    """Base of everything that is accepted at the table.

    `now_s`, where a record has it, is the monotonic time that counts for the clock of the turn,
    such as that of a key's edge; between two starts of the service such times have nothing in
    common, so the clock stands still in between.
    """


class TakeSeat(Record, frozen=True, tag="take_seat"):
    """Somebody sits down; `nonce` is what the seat's token must carry from now on.

    `card`: whoever changes sides keeps the player's card that was shown.
    """

    seat: Seat
    name: str
    nonce: str
    door: str = "phone"
    card: str = ""


class FreeSeat(Record, frozen=True, tag="free_seat"):
    """The seat is open again; its token is worth nothing any more."""

    seat: Seat


class MoveSeat(Record, frozen=True, tag="move_seat"):
    """Whoever sits there goes on through another door; what is sealed stays sealed.

    An empty `nonce` leaves the token as it is: the same person with the same phone. With another
    one somebody at the seat's pad has let a phone in, that may take back what was sealed before,
    but never sees it.
    """

    seat: Seat
    door: str
    nonce: str = ""
    name: str = ""


class ShowCard(Record, frozen=True, tag="show_card"):
    """Whoever sits there has shown a player's card of the hub: `card` is how the hub calls it;
    empty: none any more.
    """

    seat: Seat
    card: str


class Commit(Record, frozen=True, tag="commit"):
    """The table is bound to a secret for the next game: `commitment` is SHA-256 of it."""

    commitment: str


class Contribute(Record, frozen=True, tag="contribute"):
    """What a seat gave to chance in older versions; kept because their games are drawn from it."""

    seat: Seat
    commitment: str
    value: str
    by: str


class NewGame(Record, frozen=True, tag="new_game"):
    """A game begins with its set-up. `score` is the match so far: wins of South, wins of North,
    ties.

    `chance` is where the seed comes from; without it `seed` is one that the host has chosen
    (`is_chosen`), or that an older version of the program has drawn, or one that nothing is drawn
    from.
    """

    game: str
    number: int
    seed: int = 0
    options: dict[str, Any] = {}
    score: Score = (0, 0, 0)
    chance: FairChance | None = None
    is_chosen: bool = False
    is_guided: bool = False
    """Does it begin with the lesson of the game?"""
    coach_for: Seat | None = None
    """A handicap of an older version: nothing follows from it any more."""
    remote: RemoteSeat | None = None
    """The seat that is played at another table; None: both are played here."""


class Begin(Record, frozen=True, tag="begin"):
    """The pieces are in place; `by` says who says so: `camera`, a seat, `host` or `table`."""

    by: str
    now_s: float = 0.0


class HandIn(Record, frozen=True, tag="hand_in"):
    """A seat's action for this moment. `salt` makes the receipt unguessable; `at` is Unix time in
    seconds.

    `read_s`: until then the program read the board before it could judge the action; nobody is
    charged for that.
    """

    seat: Seat
    moment: str
    action: str
    salt: str = ""
    at: float = 0.0
    now_s: float = 0.0
    read_s: float = 0.0


class TakeBack(Record, frozen=True, tag="take_back"):
    """A seat wants its sealed action back, or its last turn where nobody has learned anything by
    it.
    """

    seat: Seat
    moment: str
    now_s: float = 0.0


class StageDone(Record, frozen=True, tag="stage_done"):
    """The board shows the stage, or `by` says so."""

    moment: str
    stage: int
    by: str
    now_s: float = 0.0


class TimeOut(Record, frozen=True, tag="time_out"):
    """The time of the turn was over at `now_s`."""

    moment: str
    now_s: float


class Pause(Record, frozen=True, tag="pause"):
    """The clock of the turn stands still; `by` as in `Begin`, or `restart`."""

    by: str
    now_s: float


class Resume(Record, frozen=True, tag="resume"):
    """The clock of the turn goes on."""

    by: str
    now_s: float


class Undo(Record, frozen=True, tag="undo"):
    """The last turn did not happen."""


class AskBack(Record, frozen=True, tag="ask_back"):
    """A seat wants the last turn back, which the other has taken, or says yes to the other who
    wants it.
    """

    seat: Seat
    moment: str
    now_s: float


class Decline(Record, frozen=True, tag="decline"):
    """A seat says no to what the other wants, or no longer wants it itself: a draw, the last turn
    back.
    """

    seat: Seat
    now_s: float = 0.0


class SkipLesson(Record, frozen=True, tag="skip_lesson"):
    """The guide leaves, and the game goes on as any other; `by` as in `Begin`."""

    by: str
    now_s: float = 0.0


class Resign(Record, frozen=True, tag="resign"):
    """A seat gives up."""

    seat: Seat


class OfferDraw(Record, frozen=True, tag="offer_draw"):
    """A seat offers a draw, or accepts the other's offer."""

    seat: Seat


class AskCoach(Record, frozen=True, tag="ask_coach"):
    """A seat asks the coach; what it answers is kept nowhere."""

    seat: Seat


class Abandon(Record, frozen=True, tag="abandon"):
    """The host ends the game without a result."""


class Disclose(Record, frozen=True, tag="disclose"):
    """A game that is over cannot be taken back any more: everything that was hidden in it may be
    told.
    """

    by: str


class RemoteSaid(Record, frozen=True, tag="remote_said"):
    """The other table of a game has told its message of this number."""

    number: int
    message: RemoteMessage
    now_s: float = 0.0


AnyRecord = (
    TakeSeat
    | FreeSeat
    | MoveSeat
    | ShowCard
    | Commit
    | Contribute
    | NewGame
    | Begin
    | HandIn
    | TakeBack
    | StageDone
    | TimeOut
    | Pause
    | Resume
    | Undo
    | AskBack
    | Decline
    | SkipLesson
    | Resign
    | OfferDraw
    | AskCoach
    | Abandon
    | Disclose
    | RemoteSaid
)
