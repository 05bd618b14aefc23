"""What a hub may ask of a table: a few typed things, each bounded and checked.

Anything else changes nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from companion.core.errors import Malformed
from companion.core.files import is_dense
from companion.core.i18n import say
from companion.core.kit import Seat
from companion.table.public.messages import words

MOST_COMMAND = 48 * 1024
MAX_SETTINGS = 48
_Name = Annotated[str, Meta(max_length=80)]


class _Wanted(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Base of what is asked."""


class PairedGame(_Wanted, frozen=True):
    """A board of a tournament's round: who sits where (packed sentences), and the game that
    counts.
    """

    tournament: _Name
    round: int
    names: Mapping[Seat, Any]
    game: _Name
    options: Mapping[str, Any] = {}


class HubWish(_Wanted, frozen=True):
    """How the hub wants a table to be until it says otherwise.

    `mark` tells one wish from another.
    """

    mark: _Name = ""
    is_closed: bool = False
    pairing: PairedGame | None = None


class SettingsAsked(_Wanted, frozen=True):
    """Settings as they are typed on the table's own settings page, by dotted name.

    Its answer names `number`.
    """

    number: int
    values: Mapping[_Name, Annotated[str, Meta(max_length=200)]]


class HubCommand(_Wanted, frozen=True):
    """One message to a table. `pair`: there is a game at two tables."""

    staff: Literal["", "coming", "done"] = ""
    pair: bool = False
    wish: HubWish | None = None
    settings: SettingsAsked | None = None


_command = msgspec.json.Decoder(HubCommand)
_encoder = msgspec.json.Encoder(order="deterministic")


def wish_for(is_closed: bool, pairing: PairedGame | None) -> HubWish:
    """Return a wish with its mark. That a table is open and plays what it likes has none."""
    wish = HubWish("", is_closed, pairing)
    if wish == HubWish():
        return wish
    return msgspec.structs.replace(
        wish, mark=hashlib.sha256(_encoder.encode(wish)).hexdigest()[:12]
    )


def encoded_command(command: HubCommand) -> bytes:
    """Return a command as it is sent."""
    return _encoder.encode(command)


def read_command(payload: bytes) -> HubCommand:
    """Return a command as somebody has sent it. Raises `Malformed` for anything that is none."""
    if len(payload) > MOST_COMMAND or is_dense(payload):
        raise Malformed(say("This message is too large"))
    try:
        command = _command.decode(payload)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Malformed(say("This message cannot be read: {error}", error=str(error))) from None
    if command.wish and command.wish.pairing:
        for name in command.wish.pairing.names.values():
            words(name)
    if command.settings and len(command.settings.values) > MAX_SETTINGS:
        raise Malformed(say("This message is too large"))
    return command
