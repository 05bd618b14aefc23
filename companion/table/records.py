"""The records of the journal: one for every input that the table has accepted.

The reducer says what each of them does. The tags and the names of the fields are the journal's
format, so they stay as they are. Some are only in journals of older versions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from companion.core.kit import Seat
from companion.table.chance.fairness import FairChance
from companion.table.remote.messages import RemoteMessage, RemoteSeat

# The score of the match: wins of South, wins of North, ties.
Score = tuple[int, int, int]
# Number in the journal that stands for the game of records that belong to none, such as changes of
# seats.
SEATS_GAME = 0
# Options of a game by name, as they were chosen.
GameOptions = Mapping[str, Any]


class Record(
    msgspec.Struct, frozen=True, tag_field="is", forbid_unknown_fields=True, omit_defaults=True
):
    """Base class of all records.

    `now_s` is the monotonic time that counts for the turn's clock, such as that of a key's edge.
    Such times are not comparable across a restart of the service, so the clock stops in between.
    """


class TakeSeat(Record, frozen=True, tag="take_seat"):
    """A person or machine takes a seat."""

    seat: Seat
    name: str
    nonce: str
    """Random text that the seat's token must carry from now on."""
    door: str = "phone"
    """What the player plays by: `phone`, `pad` or `machine`."""
    card: str = ""
    """The player's card of somebody who changes sides."""


class FreeSeat(Record, frozen=True, tag="free_seat"):
    """A seat becomes free, and its token is no longer valid."""

    seat: Seat


class MoveSeat(Record, frozen=True, tag="move_seat"):
    """The player of a seat continues through another door. A sealed action stays sealed.

    An empty `nonce` keeps the token: the same person with the same phone. A new nonce means that
    somebody at the seat's pad has let in a phone. That phone may take back an action that was
    sealed before, but never sees it.
    """

    seat: Seat
    door: str
    nonce: str = ""
    name: str = ""


class ShowCard(Record, frozen=True, tag="show_card"):
    """The player of a seat has shown a player's card of the hub. `card` is its id at the hub, empty
    if the card is removed.
    """

    seat: Seat
    card: str


class Commit(Record, frozen=True, tag="commit"):
    """The table commits to a secret for the next game. `commitment` is the secret's SHA-256."""

    commitment: str


class Contribute(Record, frozen=True, tag="contribute"):
    """A seat's contribution to chance in older versions. It is needed to replay their games.

    `by` is where it came from: the seat's phone or its pad.
    """

    seat: Seat
    commitment: str
    value: str
    by: str


class NewGame(Record, frozen=True, tag="new_game"):
    """A game begins with its set-up. `score` is the match so far."""

    game: str
    number: int
    """Number of the game, which no other game of the journal has."""
    seed: int = 0
    options: dict[str, Any] = {}
    """The chosen options by name. The game fills in the others."""
    score: Score = (0, 0, 0)
    chance: FairChance | None = None
    """The source of the seed. Without it, the owner has chosen the `seed` (`is_chosen`), an older
    version has drawn it, or the game uses no chance.
    """
    is_chosen: bool = False
    is_guided: bool = False
    coach_for: Seat | None = None
    """A handicap of an older version, without effect now."""
    remote: RemoteSeat | None = None
    """The seat that is played at another table. None if both are played here."""


class Begin(Record, frozen=True, tag="begin"):
    """The pieces are in place.

    `by` is who confirmed it: `camera`, a seat, `host` (the owner), `table` (the table screen or the
    table's button) or `clock`.
    """

    by: str
    now_s: float = 0.0


class HandIn(Record, frozen=True, tag="hand_in"):
    """A seat's action for this moment."""

    seat: Seat
    moment: str
    action: str
    salt: str = ""
    """Random text that makes the receipt unguessable."""
    at: float = 0.0
    """Unix time in seconds."""
    now_s: float = 0.0
    read_s: float = 0.0
    """Monotonic time until which the program read the board to judge the action, 0 if it did not.
    Nobody's clock is charged for that time.
    """


class TakeBack(Record, frozen=True, tag="take_back"):
    """A seat takes back its sealed action, or its last turn if nobody has learned anything from
    it.
    """

    seat: Seat
    moment: str
    now_s: float = 0.0


class StageDone(Record, frozen=True, tag="stage_done"):
    """The board shows the stage as done, or `by` confirms it (as in `Begin`)."""

    moment: str
    stage: int
    by: str
    now_s: float = 0.0


class TimeOut(Record, frozen=True, tag="time_out"):
    """The time of the turn ran out at `now_s`."""

    moment: str
    now_s: float


# Value of `by` in a `Pause` after a restart of the program.
BY_RESTART = "restart"


class Pause(Record, frozen=True, tag="pause"):
    """The turn's clock is paused. `by` as in `Begin`, or `BY_RESTART`."""

    by: str
    now_s: float


class Resume(Record, frozen=True, tag="resume"):
    """The turn's clock resumes."""

    by: str
    now_s: float


class Undo(Record, frozen=True, tag="undo"):
    """The last turn is undone."""


class AskBack(Record, frozen=True, tag="ask_back"):
    """A seat asks to undo the last turn, or agrees to the other seat's request."""

    seat: Seat
    moment: str
    now_s: float


class Decline(Record, frozen=True, tag="decline"):
    """A seat declines the other's offer of a draw or request to undo, or withdraws its own."""

    seat: Seat
    now_s: float = 0.0


class SkipLesson(Record, frozen=True, tag="skip_lesson"):
    """The lesson is left, and the game continues as a normal one. `by` as in `Begin`."""

    by: str
    now_s: float = 0.0


class Resign(Record, frozen=True, tag="resign"):
    """A seat resigns."""

    seat: Seat


class OfferDraw(Record, frozen=True, tag="offer_draw"):
    """A seat offers a draw, or accepts the other's offer."""

    seat: Seat


class AskCoach(Record, frozen=True, tag="ask_coach"):
    """A seat asks the coach. The answer is not stored."""

    seat: Seat


class Abandon(Record, frozen=True, tag="abandon"):
    """The owner ends the game without a result."""


class Disclose(Record, frozen=True, tag="disclose"):
    """The end of a game is final, in journals of older versions. `by` is who said so."""

    by: str


class RemoteSaid(Record, frozen=True, tag="remote_said"):
    """The message of this number, counted from 1, has arrived from the other table of a game."""

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
