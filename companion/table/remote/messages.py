"""The messages between two tables in one game: typed, bounded, and read strictly.

Each table's messages are counted from 1. They are made from its journal alone and in its order, so
they are the same after a restart. The other table processes each of them once and in order.
`companion.table.remote.fold` says which table sends what, and when.

A decision's id, its moment, is the number of the game and a count of its decisions, the tick, such
as `3.2`. Messages have only the tick, because all of them belong to one game.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec

from companion.core.errors import Malformed
from companion.core.i18n import say
from companion.core.kit import Seat
from companion.core.messages import decode_message

# Value of `StageShown.stage` for the set-up of the board.
SETUP_STAGE = -1

_Count = Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]
_Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e7)]
_Time = Annotated[float, msgspec.Meta(ge=0, le=1e11)]
_Name = Annotated[str, msgspec.Meta(max_length=24)]
_Hash = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
# Id of a game at two tables, the same at both and at the hub.
GameId = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{16}$")]
# The door of a seat that is played at another table.
REMOTE = "remote"


class _Message(
    msgspec.Struct, frozen=True, tag_field="is", forbid_unknown_fields=True, omit_defaults=True
):
    """Base class of the messages. `tick` says for which decision a message is."""


class ActionSealed(_Message, frozen=True, tag="sealed"):
    """The seat has handed in its action in a turn of both. Only its receipt is sent."""

    tick: _Count
    receipt: _Hash
    """SHA-256 of the action, which binds the seat to it (see `session.receipt_of`)."""
    at: _Time = 0.0
    """Unix time in seconds at which it was handed in, by its own table's clock."""


class ActionOpened(_Message, frozen=True, tag="opened"):
    """The action itself, sent at once, or in a turn of both once both actions are sealed."""

    tick: _Count
    action: Annotated[str, msgspec.Meta(max_length=1024)]
    """The action in notation."""
    salt: Annotated[str, msgspec.Meta(pattern="^[0-9A-Za-z]{1,64}$")]
    """Random text that made the receipt unguessable."""
    spent_s: _Seconds = 0.0
    """Time that the decision took on its own table's clock, 0 in a turn of both."""
    at: _Time = 0.0
    """Unix time in seconds at which it was handed in, by its own table's clock."""


class StageShown(_Message, frozen=True, tag="shown"):
    """The sending table's board shows that a stage or the set-up is done."""

    tick: _Count
    stage: Annotated[int, msgspec.Meta(ge=SETUP_STAGE, le=100_000)]
    """Index of the stage in its turn, or `SETUP_STAGE`."""


class TimeRanOut(_Message, frozen=True, tag="time_over"):
    """The seat's time has run out, by the clock of its own table."""

    tick: _Count


class ClockChanged(_Message, frozen=True, tag="clock"):
    """The seat's clock has been paused or resumed."""

    tick: _Count
    is_held: bool
    """Whether it has been paused, else it has been resumed."""
    left_s: _Seconds
    """Time left on it."""


class DrawOffered(_Message, frozen=True, tag="offer"):
    """The seat offers a draw."""

    tick: _Count
    in_stages: bool
    """Whether a stage is shown. False while orders are collected."""


# What a table asks the other one for: to resign, to accept a draw, or to end the game.
Question = Literal["resign", "draw", "end"]


class QuestionAsked(_Message, frozen=True, tag="asked"):
    """The seat wants to resign or to accept a draw, or its table's owner wants to end the game.

    Its table sends nothing more until the answer arrives.
    """

    what: Question


class QuestionAnswered(_Message, frozen=True, tag="answered"):
    """The answer to a question."""

    is_agreed: bool
    """Whether the question took effect at the answering table. False if it came too late."""


class GameLeft(_Message, frozen=True, tag="left"):
    """The sending table's owner has ended the game without waiting for an answer."""


RemoteMessage = (
    ActionSealed
    | ActionOpened
    | StageShown
    | TimeRanOut
    | ClockChanged
    | DrawOffered
    | QuestionAsked
    | QuestionAnswered
    | GameLeft
)


class RemoteSeat(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The seat that is played at another table, as a part of the record that begins the game."""

    id: GameId
    seat: Seat
    name: _Name = ""
    nonce: str = ""
    """Nonce of the seat at this table. Nobody has a token with it, so nobody here can play it."""


@dataclass(frozen=True)
class RemoteGame:
    """What this table knows of the other one in a game at two tables, as a part of the session."""

    remote_seat: RemoteSeat
    """The seat that is played at the other table, with the id of the game."""
    outgoing_messages: tuple[RemoteMessage, ...] = ()
    """All messages of this table in this game, in order. `companion.hub.pair_client` sends those
    that the other table lacks.
    """
    received_count: int = 0
    """Number of messages of the other table that were processed."""
    sealed_action: ActionSealed | None = None
    """The receipt of the action that the other table has sealed for this moment."""
    has_sent_action: bool = False
    """Whether this table has sent its own action for this moment. If so, the action of the other
    table completes the turn.
    """
    waiting_action: ActionOpened | None = None
    """The other table's action, while it waits for this table to send its own."""
    reported_seats: frozenset[Seat] = frozenset()
    """Seats whose table has reported that its board shows the current stage or the set-up."""
    open_question: Question | Literal[""] = ""
    """This table's question that has no answer yet, or an empty string. Until the answer the table
    sends nothing, so that both tables know what came before.
    """

    @property
    def their_seat(self) -> Seat:
        """The seat that is played at the other table."""
        return self.remote_seat.seat

    @property
    def own_seat(self) -> Seat:
        """The seat that is played at this table."""
        return self.remote_seat.seat.other

    def encode_message(self, number: int) -> bytes:
        """Encode the message of this number, counted from 1. Equal messages give equal bytes."""
        return _encode(_Envelope(self.remote_seat.id, number, self.outgoing_messages[number - 1]))

    @property
    def has_reported_stage(self) -> bool:
        """Whether this table has reported that its board shows the current stage."""
        return self.own_seat in self.reported_seats


class _Envelope(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A message as it is sent."""

    game: str
    """Id of the game, the same at both tables."""
    number: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
    """Number of the message among those of its table, counted from 1."""
    message: RemoteMessage


_encode = msgspec.json.Encoder(order="deterministic").encode
_decoder = msgspec.json.Decoder(_Envelope)


def decode_remote_message(game: str, number: int, payload: bytes) -> RemoteMessage:
    """Decode the message of this number in a game. Raises `Malformed` if it is not a valid one."""
    envelope: _Envelope = decode_message(_decoder, payload)
    if (envelope.game, envelope.number) != (game, number):
        raise Malformed(say("This message belongs to another game"))
    return envelope.message
