"""What two tables tell each other in a game that both play: typed, bounded, and read strictly.

Each table's messages are counted from 1. They are made of what its journal holds, in its order, and nothing else, so
that they are the same after a restart; the other table takes each of them once and in order.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from companion.core.errors import Malformed
from companion.core.i18n import say
from companion.core.kit import Seat

MOST_BYTES = 32 * 1024
"""A message is not larger: what a dealer opens in the end has some forty bytes for each card played face down."""
SETUP_STEP = -1
"""The number of the step in which the board is set up, as `StepShown` says it."""
_Count = Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]
_Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e7)]
_Time = Annotated[float, msgspec.Meta(ge=0, le=1e11)]
_Name = Annotated[str, msgspec.Meta(max_length=24)]
_Hash = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
_Action = Annotated[str, msgspec.Meta(max_length=1024)]
_Salt = Annotated[str, msgspec.Meta(pattern="^[0-9A-Za-z]{0,64}$")]


class _Message(msgspec.Struct, frozen=True, tag_field="is", forbid_unknown_fields=True, omit_defaults=True):
    """Base of what is sent. `tick` is the second half of the moment that is meant."""


class OrderSealed(_Message, frozen=True, tag="sealed"):
    """The seat has sealed an order of a turn in which both act; `receipt` binds it (see `session.receipt`).

    `at` is the time of day there.
    """

    tick: _Count
    receipt: _Hash
    at: _Time = 0.0


class OrderOpened(_Message, frozen=True, tag="opened"):
    """The order itself: of a turn in which both act once both are sealed, else at once; to a dealer, if there is one.

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
    """The seat resigns or takes the draw that is offered, or its host ends the game: nothing more comes until the
    answer."""

    what: Literal["resign", "draw", "end"]


class Answered(_Message, frozen=True, tag="answered"):
    """The answer to the question: it has happened there, or is of no use any more."""

    is_agreed: bool


class GameLeft(_Message, frozen=True, tag="left"):
    """The host there has ended the game without waiting."""


class ChanceGiven(_Message, frozen=True, tag="chance"):
    """What this table gives to the chance of a game whose cards a dealer keeps; nothing is dealt before."""

    value: _Hash


class CardsDealt(_Message, frozen=True, tag="cards"):
    """The dealer has dealt: the first state as this seat knows it (see `DealtGame.packed`)."""

    seen: dict[str, Any]


class OrderDealt(_Message, frozen=True, tag="order_dealt"):
    """The dealer has carried out a seat's order, as this table may know it; without a salt it is not the whole order.

    `before` is the state before it as far as the turn shows it, `after` the next one. `spent_s` and `at` are of the
    seat's table; `by_time`: nobody acted in time.
    """

    tick: _Count
    seat: Seat
    action: _Action
    receipt: _Hash
    before: dict[str, Any]
    after: dict[str, Any]
    salt: _Salt = ""
    spent_s: _Seconds = 0.0
    at: _Time = 0.0
    by_time: bool = False


class OrderUncovered(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """What an order was of which only a part was told."""

    tick: _Count
    action: _Action
    salt: _Salt


class CardsOpened(_Message, frozen=True, tag="cards_opened"):
    """The game is over: the secret to which the dealer was bound, what both tables gave, and the orders kept back."""

    secret: _Hash
    given: dict[Seat, _Hash]
    orders: tuple[OrderUncovered, ...] = ()


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
    | ChanceGiven
    | CardsDealt
    | OrderDealt
    | CardsOpened
)


class RemoteSeat(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The seat of a game that is played at another table; `id` is the same there, and no other game has it.

    `commitment` is SHA-256 of the secret by which a dealer shuffles, and `gives` what this table gives to it; empty:
    there is nothing to be dealt.
    """

    id: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{16}$")]
    seat: Seat
    name: _Name = ""
    nonce: str = ""
    commitment: str = ""
    gives: str = ""


class _Envelope(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A message as it goes over the line: the game, and its number among its table's."""

    game: str
    number: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
    message: RemoteMessage


_encode = msgspec.json.Encoder(order="deterministic").encode
_decode = msgspec.json.Decoder(_Envelope).decode


def encoded_message(game: str, number: int, message: RemoteMessage) -> bytes:
    """A message as it is sent: the same bytes for the same message."""
    return _encode(_Envelope(game, number, message))


def read_message(game: str, number: int, payload: bytes) -> RemoteMessage:
    """The message of this number as somebody has sent it; raises `Malformed` for anything else."""
    if len(payload) > MOST_BYTES:
        raise Malformed(say("This message is too large"))
    try:
        envelope = _decode(payload)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Malformed(say("This message cannot be read: {error}", error=str(error))) from None
    if (envelope.game, envelope.number) != (game, number):
        raise Malformed(say("This message belongs to another game"))
    return envelope.message
