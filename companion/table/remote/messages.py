"""The messages between two tables in one game: typed, bounded, and read strictly.

Each table's messages are counted from 1. They are made from its journal alone and in its order, so
they are the same after a restart. The other table processes each of them once and in order.
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
# The door of a seat that is played at another table.
REMOTE = "remote"


class _Message(
    msgspec.Struct, frozen=True, tag_field="is", forbid_unknown_fields=True, omit_defaults=True
):
    """Base class of the messages. `tick` is the second half of the moment."""


class ActionSealed(_Message, frozen=True, tag="sealed"):
    """The seat has sealed its action of a turn in which both act. `receipt` binds it (see
    `session.receipt_of`).

    `at` is the other table's time of day.
    """

    tick: _Count
    receipt: _Hash
    at: _Time = 0.0


class ActionOpened(_Message, frozen=True, tag="opened"):
    """The action itself. If both seats act, it is sent once both actions are sealed, else at once.

    `spent_s` is the time that it took on its own table's clock, `at` is that table's time of day.
    """

    tick: _Count
    action: Annotated[str, msgspec.Meta(max_length=1024)]
    salt: Annotated[str, msgspec.Meta(pattern="^[0-9A-Za-z]{1,64}$")]
    spent_s: _Seconds = 0.0
    at: _Time = 0.0


class StageShown(_Message, frozen=True, tag="shown"):
    """The other table's board shows a stage, or the set-up (`SETUP_STAGE`)."""

    tick: _Count
    stage: Annotated[int, msgspec.Meta(ge=SETUP_STAGE, le=100_000)]


class TimeIsOver(_Message, frozen=True, tag="time_over"):
    """The seat's time is over, by its own table."""

    tick: _Count


class ClockHeld(_Message, frozen=True, tag="clock"):
    """The seat's clock is paused with `left_s` to go, or resumes (`is_held` false)."""

    tick: _Count
    is_held: bool
    left_s: _Seconds


class DrawOffered(_Message, frozen=True, tag="offer"):
    """The seat offers a draw, while orders are collected or (`in_stages`) while hands are at
    work.
    """

    tick: _Count
    in_stages: bool


# What a table asks the other one for: to resign, to accept a draw, or to end the game.
Question = Literal["resign", "draw", "end"]


class Asked(_Message, frozen=True, tag="asked"):
    """The seat resigns or accepts a draw, or its owner ends the game. Nothing more is sent until
    the answer.
    """

    what: Question


class Answered(_Message, frozen=True, tag="answered"):
    """The answer to a question: it took effect at the other table, or came too late."""

    is_agreed: bool


class GameLeft(_Message, frozen=True, tag="left"):
    """The other table's owner has ended the game without waiting."""


RemoteMessage = (
    ActionSealed
    | ActionOpened
    | StageShown
    | TimeIsOver
    | ClockHeld
    | DrawOffered
    | Asked
    | Answered
    | GameLeft
)


class RemoteSeat(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The seat that is played at another table, as a part of the record that begins the game."""

    id: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{16}$")]
    """Id of the game, the same at both tables."""
    seat: Seat
    name: _Name = ""
    nonce: str = ""
    """Nonce of the seat at this table. No token carries it, because nobody plays the seat here."""


@dataclass(frozen=True)
class RemoteGame:
    """What this table knows of the other one in a game at two tables, as a part of the session."""

    remote_seat: RemoteSeat
    """The seat that is played at the other table, with the id of the game."""
    sent_messages: tuple[RemoteMessage, ...] = ()
    """All messages of this table, in order. The line sends those that the other one lacks."""
    received_count: int = 0
    sealed_action: ActionSealed | None = None
    """The receipt of the action that the other table has sealed for this moment."""
    has_sent_action: bool = False
    """Whether this table has sent its own action for this moment. Then the other's action completes
    the turn.
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
        """Return the seat that is played at the other table."""
        return self.remote_seat.seat

    @property
    def own_seat(self) -> Seat:
        """Return the seat that is played at this table."""
        return self.remote_seat.seat.other

    def payload(self, number: int) -> bytes:
        """Return the message of this number, counted from 1, encoded.

        Equal messages give equal bytes.
        """
        return _encode(_Envelope(self.remote_seat.id, number, self.sent_messages[number - 1]))

    @property
    def has_reported_stage(self) -> bool:
        """Return whether this table has reported that its board shows the current stage."""
        return self.own_seat in self.reported_seats


class _Envelope(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A message on the line: the game, and the message's number."""

    game: str
    number: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
    message: RemoteMessage


_encode = msgspec.json.Encoder(order="deterministic").encode
_decoder = msgspec.json.Decoder(_Envelope)


def read_message(game: str, number: int, payload: bytes) -> RemoteMessage:
    """Decode the message of this number. Raises `Malformed` if it is not a valid one."""
    envelope: _Envelope = decode_message(_decoder, payload)
    if (envelope.game, envelope.number) != (game, number):
        raise Malformed(say("This message belongs to another game"))
    return envelope.message
