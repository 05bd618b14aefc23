"""Commands from a hub to a table. They are typed, limited in size, and validated.

A message that is not valid changes nothing. Sentences are sent packed: as JSON with their parts, so
that the table can say them in its own language (see `companion.core.i18n.sentence_to_json`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from companion.core.kit import Seat
from companion.core.messages import decode_message
from companion.table.public.messages import unpack_sentence

MAX_COMMAND_BYTES = 48 * 1024
# Maximum number of settings in one command.
MAX_SETTINGS = 16

_Name = Annotated[str, Meta(max_length=80)]


class _Command(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Base of commands and their parts."""


class PairedGame(_Command, frozen=True):
    """A board of a tournament's round: which two people play which game at this table."""

    round: int
    """Number of the round, counted from 1."""
    names: Mapping[Seat, Any]
    """The players' names by seat, each as a packed sentence."""
    game: _Name
    options: Mapping[str, Any] = {}


class HubWish(_Command, frozen=True):
    """The board of a round that the hub wants at a table, if any. It holds until the next wish.

    The hub sends the wish again until the table's state has its mark (see
    `companion.hub_server.desired_state`).
    """

    mark: _Name = ""
    """Text that identifies the wish. Empty for a wish without a board."""
    pairing: PairedGame | None = None


class HubCommand(_Command, frozen=True):
    """One message to a table. Each field is a command of its own."""

    staff: Literal["", "coming", "done"] = ""
    """Answer to the table's call for staff: somebody is coming, or it is done."""
    pair: bool = False
    """Whether the table shall ask the hub for its game at two tables, because the hub has one for
    it.
    """
    wish: HubWish | None = None
    settings: Annotated[
        Mapping[_Name, Annotated[str, Meta(max_length=200)]], Meta(max_length=MAX_SETTINGS)
    ] = {}
    """Settings to change, by dotted name, as they would be typed on the table's settings page."""


_decoder = msgspec.json.Decoder(HubCommand)
_encoder = msgspec.json.Encoder(order="deterministic")


def wish_for(pairing: PairedGame | None) -> HubWish:
    """Return a wish with its mark. The mark is empty without a pairing."""
    if pairing is None:
        return HubWish()
    return HubWish(hashlib.sha256(_encoder.encode(pairing)).hexdigest()[:12], pairing)


def encode_command(command: HubCommand) -> bytes:
    """Encode a command for sending."""
    return _encoder.encode(command)


def read_command(payload: bytes) -> HubCommand:
    """Decode and validate a command. Raises `Malformed`."""
    command: HubCommand = decode_message(_decoder, payload, MAX_COMMAND_BYTES)
    if command.wish and command.wish.pairing:
        for name in command.wish.pairing.names.values():
            unpack_sentence(name)  # raises `Malformed` if it is not a packed sentence
    return command
