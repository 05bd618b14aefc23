"""Commands from a hub to a table. They are typed, limited in size, and validated.

A message that is not valid changes nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from companion.core.kit import Seat
from companion.core.messages import decode_message
from companion.table.public.messages import unpacked_sentence

MAX_COMMAND_BYTES = 48 * 1024
# Maximum number of settings in one command.
MAX_SETTINGS = 16

_Name = Annotated[str, Meta(max_length=80)]


class _Command(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Base of commands and their parts."""


class PairedGame(_Command, frozen=True):
    """A board of a tournament's round: the names by seat, and the game with its options.

    Names are packed sentences.
    """

    round: int
    names: Mapping[Seat, Any]
    game: _Name
    options: Mapping[str, Any] = {}


class HubWish(_Command, frozen=True):
    """The board of a round that the hub wants at a table, if any. It holds until the next wish.

    `mark` identifies the wish. The table's state names the wish that it follows, and until then the
    hub sends it again (see `companion.hub_server.desired_state`).
    """

    mark: _Name = ""
    pairing: PairedGame | None = None


class HubCommand(_Command, frozen=True):
    """One message to a table. Each field is a command of its own.

    `staff` answers the table's call: somebody is coming, or it is done. `pair` says that the hub
    has a game at two tables for it. `settings` are to be changed, by dotted name, as they would be
    typed on the table's settings page.
    """

    staff: Literal["", "coming", "done"] = ""
    pair: bool = False
    wish: HubWish | None = None
    settings: Annotated[
        Mapping[_Name, Annotated[str, Meta(max_length=200)]], Meta(max_length=MAX_SETTINGS)
    ] = {}


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
            unpacked_sentence(name)
    return command
