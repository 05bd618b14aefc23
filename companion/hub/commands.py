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


class RoundGame(_Command, frozen=True):
    """A game of a tournament's round: which two people play which game at this table."""

    round: int
    """Number of the round, counted from 1."""
    names: Mapping[Seat, Any]
    """The players' names by seat, each as a packed sentence."""
    game: _Name
    options: Mapping[str, Any] = {}


class DesiredState(_Command, frozen=True):
    """What the hub wants of a table: to play a game of a tournament's round, or no such game.

    A desired state holds until the next one. The hub sends it again until the table reports the
    state's mark in `PublicState.follows` (see `companion.hub_server.desired_state`).
    """

    mark: _Name = ""
    """Digest that identifies this state. Empty without a game."""
    # the game to play, which was paired in a tournament
    pairing: RoundGame | None = None


class HubCommand(_Command, frozen=True):
    """One message to a table. Each field is a command of its own."""

    staff: Literal["", "coming", "done"] = ""
    """Answer to the table's call for staff: somebody is coming, or the call is done."""
    pair: bool = False
    """Whether the hub has a game at two tables for this table. Then the table should ask for it."""
    desired_state: DesiredState | None = msgspec.field(default=None, name="wish")
    settings: Annotated[
        Mapping[_Name, Annotated[str, Meta(max_length=200)]], Meta(max_length=MAX_SETTINGS)
    ] = {}
    """Settings to change, by dotted name, as they would be typed on the table's settings page."""


_decoder = msgspec.json.Decoder(HubCommand)
_encoder = msgspec.json.Encoder(order="deterministic")


def make_desired_state(round_game: RoundGame | None) -> DesiredState:
    """Return the state in which a table plays this game of a round, or none, with its mark."""
    if round_game is None:
        return DesiredState()
    return DesiredState(hashlib.sha256(_encoder.encode(round_game)).hexdigest()[:12], round_game)


def encode_command(command: HubCommand) -> bytes:
    """Encode a command for sending."""
    return _encoder.encode(command)


def decode_command(payload: bytes) -> HubCommand:
    """Decode and validate a command. Raises `Malformed`."""
    command: HubCommand = decode_message(_decoder, payload, MAX_COMMAND_BYTES)
    desired = command.desired_state
    if desired and desired.pairing:
        for name in desired.pairing.names.values():
            unpack_sentence(name)  # raises `Malformed` if it is not a packed sentence
    return command
