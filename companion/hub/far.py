"""What a table and its hub tell each other about remote phones that sit at the table; each side checks it."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from companion.core.errors import Malformed
from companion.core.i18n import say
from companion.core.kit import Seat
from companion.core.ports.far import FarAnswer, FarRequest
from companion.hub.pairing import Text
from companion.table.public.messages import strictly_read

CallId = Annotated[str, Meta(pattern="^[0-9a-f]{32}$")]
KEEP_S, LEASE_S = 5.0, 20.0
"""How often a hub says which pages are still followed; one of which nothing was said for so long is not any more."""
MOST_FOLLOWED = 64


class _Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="is"):
    """Base of everything that is sent."""


class FarOpen(_Message, frozen=True, tag="open"):
    """A seat is free for a remote phone; `code` is set where the hub has told it before."""

    seat: Seat
    version: Text
    code: Annotated[str, Meta(pattern="^([2-9a-hj-km-np-z]{8})?$")] = ""


class FarEnd(_Message, frozen=True, tag="end"):
    """The code of this seat does not hold any more."""

    seat: Seat


class FarOpened(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The hub's answer: the code and the address where it is entered, or why not (packed)."""

    code: Text = ""
    url: Annotated[str, Meta(max_length=300)] = ""
    refused: Any = ""


class FarCall(_Message, frozen=True, tag="call"):
    """A phone asks; the answer goes to the subject of this `id`."""

    id: CallId
    version: Text
    request: FarRequest


class FarStop(_Message, frozen=True, tag="stop"):
    """Nobody waits for the rest of this answer."""

    id: CallId


class FarKeep(_Message, frozen=True, tag="keep"):
    """These answers are still followed."""

    ids: Annotated[tuple[CallId, ...], Meta(max_length=MOST_FOLLOWED)]


_wish = msgspec.json.Decoder(FarOpen | FarEnd)
_opened = msgspec.json.Decoder(FarOpened)
_call = msgspec.msgpack.Decoder(FarCall | FarStop | FarKeep)
_answer = msgspec.msgpack.Decoder(FarAnswer)


def read_far_wish(payload: bytes) -> FarOpen | FarEnd:
    """What a table wants of its hub; raises `Malformed`."""
    wish: FarOpen | FarEnd = strictly_read(_wish, payload)
    return wish


def read_opened(payload: bytes) -> FarOpened:
    """What the hub answers to that; raises `Malformed`."""
    opened: FarOpened = strictly_read(_opened, payload)
    return opened


def read_call(payload: bytes) -> FarCall | FarStop | FarKeep:
    """What a hub asks of a table; raises `Malformed`, which never repeats what was sent."""
    asked: FarCall | FarStop | FarKeep = _read(_call, payload)
    return asked


def read_far_answer(payload: bytes) -> FarAnswer:
    """A piece of a table's answer; raises `Malformed`."""
    answer: FarAnswer = _read(_answer, payload)
    return answer


def packed_call(message: FarCall | FarStop | FarKeep | FarAnswer) -> bytes:
    """The same as it is sent."""
    return msgspec.msgpack.encode(message)


def _read(decoder: msgspec.msgpack.Decoder[Any], payload: bytes) -> Any:
    try:
        return decoder.decode(payload)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):  # its words would repeat what was sent
        raise Malformed(say("This message cannot be read: {error}", error="far")) from None
