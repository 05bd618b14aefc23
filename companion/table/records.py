"""The records of the journal: one for every input that the table has accepted.

`companion.table.reducer` says what each of them does. The tags and the names of the fields are the
journal's format, so they stay as they are, even where a class has a better name by now. Some
records are only in journals of older versions. The words (moment, door, stage, sealed) are
explained in `companion.table.session`.

Fields that several records share, with the same meaning:

- `seat`: the seat that acts, or whose player changes.
- `moment`: the id of the decision that the input is for, such as `3.2`. It is the number of the
  game and a count of its decisions.
- `by`: who or what made the input: a seat, `host` (the owner), `table` (the table screen or the
  table's button), `camera` or `clock`. For a pause see `Pause`.
- `now_s`: the monotonic time in seconds that counts for the turn's clock, such as that of a key's
  edge. Such times are not comparable across a restart, so the clock stops in between.
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
    """Base class of all records. In the journal, the key `is` has the tag of the record."""


class TakeSeat(Record, frozen=True, tag="take_seat"):
    """A person or machine takes a seat."""

    seat: Seat
    name: str
    """The player's name as typed. Empty for a guest."""
    nonce: str
    """Random text that the token of the player's phone must carry from now on."""
    door: str = "phone"
    """What the player plays by: `phone`, `pad` or `machine`."""
    card: str = ""
    """Id of the player's card at a hub, for somebody who changes sides. Empty without one."""


class FreeSeat(Record, frozen=True, tag="free_seat"):
    """A seat becomes free, and its player's token is no longer valid."""

    seat: Seat


class MoveSeat(Record, frozen=True, tag="move_seat"):
    """The player of a seat continues through another door. A sealed action stays sealed."""

    seat: Seat
    door: str
    """What the player plays by from now on: `phone` or `pad`."""
    nonce: str = ""
    """Random text that the token of the player's phone must carry from now on.

    Empty keeps the token: the same person with the same phone. A new one means that somebody at the
    seat's pad has let in a phone. That phone may take back an action that was sealed before, but
    never sees it.
    """
    name: str = ""
    """The player's new name. Empty keeps the old one."""


class ShowCard(Record, frozen=True, tag="show_card"):
    """The player of a seat shows a player's card, by which a hub knows them, or removes it."""

    seat: Seat
    card: str
    """Id of the card at the hub. Empty if it is removed."""


class Commit(Record, frozen=True, tag="commit"):
    """The table commits to a secret, from which the chance of the next game comes."""

    commitment: str
    """SHA-256 of the secret, as 64 hexadecimal digits."""


class Contribute(Record, frozen=True, tag="contribute"):
    """A seat's contribution to chance in older versions. It is needed to replay their games."""

    seat: Seat
    commitment: str
    """The commitment of the game that it is for."""
    value: str
    """Text that is mixed into the seed."""
    by: str
    """Where it came from: the seat's phone or its pad."""


class NewGame(Record, frozen=True, tag="new_game"):
    """A game begins with its set-up."""

    game: str
    """Name of the game's rules, such as `binmat`."""
    number: int
    """Number of the game, which no other game of the journal has."""
    seed: int = 0
    """The seed of all chance in the game. Ignored if `chance` is there."""
    options: dict[str, Any] = {}
    """The chosen options by name. The game fills in the others."""
    score: Score = (0, 0, 0)
    chance: FairChance | None = None
    """The source of the seed. Without it, the owner has chosen the `seed` (`is_chosen`), an older
    version has drawn it, or the game uses no chance.
    """
    is_chosen: bool = False
    """Whether the owner has chosen the seed."""
    is_guided: bool = False
    """Whether the game begins with its lesson."""
    coach_for: Seat | None = None
    """A handicap of an older version, without effect now."""
    remote: RemoteSeat | None = None
    """The seat that is played at another table. None if both are played here."""


class Begin(Record, frozen=True, tag="begin"):
    """The set-up is over: the pieces are in place, as `by` has seen or confirmed."""

    by: str
    now_s: float = 0.0


class HandIn(Record, frozen=True, tag="hand_in"):
    """A seat hands in its action."""

    seat: Seat
    moment: str
    action: str
    """The action in notation."""
    salt: str = ""
    """Random text that makes the receipt (the public hash of the action) unguessable."""
    at: float = 0.0
    """Unix time in seconds at which it was handed in."""
    now_s: float = 0.0
    read_s: float = 0.0
    """Monotonic time until which the program read the board to judge the action, 0 if it did not.
    Nobody's clock is charged for that time.
    """


class TakeBack(Record, frozen=True, tag="take_back"):
    """A seat takes back its sealed action, or its last turn.

    A turn can be taken back only if nobody has learned anything from it.
    """

    seat: Seat
    moment: str
    now_s: float = 0.0


class StageDone(Record, frozen=True, tag="stage_done"):
    """Hands have carried out the stage that is shown, as `by` has seen or confirmed."""

    moment: str
    stage: int
    """Index of the stage in the stages of its turn."""
    by: str
    now_s: float = 0.0


class TimeOut(Record, frozen=True, tag="time_out"):
    """The time of the turn ran out at `now_s`."""

    moment: str
    now_s: float


# Value of `by` in a `Pause` after a restart of the program.
BY_RESTART = "restart"


class Pause(Record, frozen=True, tag="pause"):
    """The turn's clock is paused."""

    by: str
    """As in the other records, or one of three more: `BY_RESTART`, `idle` if nobody has acted for
    some turns, or `start` if the first clock of a game waits for somebody to start it.
    """
    now_s: float


class Resume(Record, frozen=True, tag="resume"):
    """The turn's clock resumes."""

    by: str
    now_s: float


class Undo(Record, frozen=True, tag="undo"):
    """The last turn is undone."""


class RequestUndo(Record, frozen=True, tag="ask_back"):
    """A seat requests to undo the last turn, or agrees to the other seat's request."""

    seat: Seat
    moment: str
    now_s: float


class Decline(Record, frozen=True, tag="decline"):
    """A seat declines the other's offer of a draw or request to undo, or withdraws its own."""

    seat: Seat
    now_s: float = 0.0


class SkipLesson(Record, frozen=True, tag="skip_lesson"):
    """The lesson is left, and the game continues as a normal one."""

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
    """The end of a game is final, in journals of older versions."""

    by: str


class ReceiveMessage(Record, frozen=True, tag="remote_said"):
    """A message has arrived from the other table of a game."""

    number: int
    """Number of the message among those of the other table in this game, counted from 1."""
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
    | RequestUndo
    | Decline
    | SkipLesson
    | Resign
    | OfferDraw
    | AskCoach
    | Abandon
    | Disclose
    | ReceiveMessage
)
