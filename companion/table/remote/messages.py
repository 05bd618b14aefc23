"""What two tables tell each other in a game that both play: typed, bounded, and read strictly.

Each table's messages are counted from 1. They are made of what its journal holds, in its order, and
nothing else, so that they are the same after a restart; the other table takes each of them once and
in order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec

from companion.core.errors import Malformed
from companion.core.i18n import say
from companion.core.kit import Seat

MOST_BYTES = 32 * 1024
"""Maximum size of a message."""
SETUP_STEP = -1
"""The number of the step in which the board is set up, as `StepShown` says it."""
_Count = Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]
_Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e7)]
_Time = Annotated[float, msgspec.Meta(ge=0, le=1e11)]
_Name = Annotated[str, msgspec.Meta(max_length=24)]
_Hash = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
REMOTE = "remote"
"""The door of a seat that is played at another table."""


class _Message(
    msgspec.Struct, frozen=True, tag_field="is", forbid_unknown_fields=True, omit_defaults=True
):
    """Base of what is sent. `tick` is the second half of the moment that is meant."""


class OrderSealed(_Message, frozen=True, tag="sealed"):
    """The seat has sealed an order of a turn in which both act; `receipt` binds it (see
    `session.receipt`).

    `at` is the time of day there.
    """

    tick: _Count
    receipt: _Hash
    at: _Time = 0.0


class OrderOpened(_Message, frozen=True, tag="opened"):
    """The order itself: of a turn in which both act once both are sealed, else at once.

    `spent_s` is what it took of the seat's clock by its own table; `at` the time of day there.
    """

    tick: _Count
    action: Annotated[str, msgspec.Meta(max_length=1024)]
    salt: Annotated[str, msgspec.Meta(pattern="^[0-9A-Za-z]{1,64}$")]
    spent_s: _Seconds = 0.0
    at: _Time = 0.0


class StepShown(_Message, frozen=True, tag="shown"):
    """The board there shows a stage, or the set-up (`SETUP_STEP`)."""

    tick: _Count
    stage: Annotated[int, msgspec.Meta(ge=SETUP_STEP, le=100_000)]


class TimeIsOver(_Message, frozen=True, tag="time_over"):
    """The seat's time is over, by its own table."""

    tick: _Count


class ClockHeld(_Message, frozen=True, tag="clock"):
    """The seat's clock stands still, or goes on (`is_held` false); `left_s` is what it has."""

    tick: _Count
    is_held: bool
    left_s: _Seconds


class DrawOffered(_Message, frozen=True, tag="offer"):
    """The seat offers a draw, while orders are collected or (`in_stages`) while hands follow."""

    tick: _Count
    in_stages: bool


class Asked(_Message, frozen=True, tag="asked"):
    """The seat resigns or takes the draw that is offered, or its host ends the game: nothing more
    comes until the answer.
    """

    what: Literal["resign", "draw", "end"]


class Answered(_Message, frozen=True, tag="answered"):
    """The answer to the question: it has happened there, or is of no use any more."""

    is_agreed: bool


class GameLeft(_Message, frozen=True, tag="left"):
    """The host there has ended the game without waiting."""


RemoteMessage = (
    OrderSealed
    | OrderOpened
    | StepShown
    | TimeIsOver
    | ClockHeld
    | DrawOffered
    | Asked
    | Answered
    | GameLeft
)


class RemoteSeat(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The seat of a game that is played at another table; `id` is the same there, and no other game
    has it.
    """

    id: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{16}$")]
    seat: Seat
    name: _Name = ""
    nonce: str = ""


@dataclass(frozen=True)
class RemoteGame:
    """One game at two tables, as this one has it.

    `sent` is all that this table has to tell, in order, and `heard` how much it was told. `bound`
    is the receipt of the order that the other table has sealed for this moment. `is_opened`: this
    table has told its own order since, so that the other one's opens the turn; before, `opening`
    waits. `shown` are the seats whose table says that its board shows the step that is on. `asked`
    is what this table has asked and waits to be answered; until then it tells nothing, so that both
    tables know what came before the answer.
    """

    at: RemoteSeat
    sent: tuple[RemoteMessage, ...] = ()
    heard: int = 0
    bound: OrderSealed | None = None
    is_opened: bool = False
    opening: OrderOpened | None = None
    shown: frozenset[Seat] = frozenset()
    asked: str = ""

    @property
    def seat(self) -> Seat:
        """Return the seat that is played at the other table."""
        return self.at.seat

    @property
    def own(self) -> Seat:
        """Return the seat that is played here."""
        return self.at.seat.other

    @property
    def is_shown_here(self) -> bool:
        """Return whether this table says that its board shows the step that is on."""
        return self.own in self.shown


class _Envelope(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A message as it goes over the line: the game, and its number among its table's."""

    game: str
    number: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
    message: RemoteMessage


_encode = msgspec.json.Encoder(order="deterministic").encode
_decode = msgspec.json.Decoder(_Envelope).decode


def encode_message(game: str, number: int, message: RemoteMessage) -> bytes:
    """Return a message as it is sent: the same bytes for the same message."""
    return _encode(_Envelope(game, number, message))


def read_message(game: str, number: int, payload: bytes) -> RemoteMessage:
    """Return the message of this number as somebody has sent it.

    Raises `Malformed` for anything else.
    """
    if len(payload) > MOST_BYTES:
        raise Malformed(say("This message is too large"))
    try:
        envelope = _decode(payload)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Malformed(say("This message cannot be read: {error}", error=str(error))) from None
    if (envelope.game, envelope.number) != (game, number):
        raise Malformed(say("This message belongs to another game"))
    return envelope.message
