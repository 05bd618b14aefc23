"""Messages that arrange a game at two tables of a hub: tables' requests and the hub's answers.

One table offers a game and gets a code, which is entered at the other table. The game and its two
tables are then a pair. The programs of both tables must have the same version. Each table numbers
its games, and the new game gets the higher of the two next numbers.

The pairings of tournaments are something else (`companion.league.pairing`).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from companion.core.errors import Malformed, wrong_phase
from companion.core.i18n import say
from companion.core.kit import Seat
from companion.core.messages import decode_message
from companion.table.public.messages import unpack_sentence

# Types of values in messages, with their limits, because a table may send anything.
Text = Annotated[str, msgspec.Meta(max_length=64)]
Name = Annotated[str, msgspec.Meta(max_length=24)]
Id = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{16}$")]
Number = Annotated[int, msgspec.Meta(ge=1, le=1_000_000_000)]


class _Message(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="is"
):
    """Base of the requests of a table."""


class PairOffer(_Message, frozen=True, tag="offer"):
    """A request that offers a game."""

    game: Text
    options: dict[str, Any]
    seat: Seat
    """The seat that is played at the offering table."""
    version: Text
    """Version of the offering table's program."""
    number: Number
    """Number that the next game of the offering table would have."""
    name: Name = ""
    """Name of the player at the offering table."""


class PairAcceptance(_Message, frozen=True, tag="take"):
    """A request that accepts the offer with this code.

    `code` is the offer's. The other fields describe the accepting table, as those of `PairOffer`
    describe the offering one.
    """

    code: Text
    version: Text
    number: Number
    name: Name = ""


class PairQuery(_Message, frozen=True, tag="ask"):
    """A request for the table's current game at two tables, and for the code of its own offer."""


class PairWithdrawal(_Message, frozen=True, tag="withdraw"):
    """A request that withdraws this table's offer."""


class MachineClaim(_Message, frozen=True, tag="session"):
    """A claim to be the table under whose name it is sent, repeated every few seconds.

    Two machines may claim to be the same table, if the second one has a copy of the first one's SD
    card.
    """

    id: Id
    """Identifier of the machine, see `companion.hub.membership.machine_id`."""


# The hub's answer to a claim, empty in other answers:
#
# - `own`: the sender is the table.
# - `shared`: the sender is the table, but another machine claims to be this table, too.
# - `taken`: another machine is the table, so the sender has to stop.
# - `open`: another machine was the table and may be switched off now. The sender has to wait.
ClaimAnswer = Literal["", "own", "shared", "taken", "open"]

PairRequest = PairOffer | PairAcceptance | PairQuery | PairWithdrawal | MachineClaim


class Pair(msgspec.Struct, frozen=True, omit_defaults=True):
    """A game at two tables. Unknown fields of earlier versions are ignored."""

    id: Id
    game: Text
    options: dict[str, Any]
    number: Number
    """Number of the game, the same at both tables."""
    tables: dict[Seat, Id]
    """Id of the table at which each seat is played, as in message subjects."""
    names: dict[Seat, Name] = {}

    def seat_of(self, table_id: str) -> Seat:
        """Return the seat that is played at a table."""
        return Seat.SOUTH if self.tables[Seat.SOUTH] == table_id else Seat.NORTH

    def other_of(self, table_id: str) -> str:
        """Return the id of the other table of the pair."""
        return self.tables[self.seat_of(table_id).other]


class PairAnswer(
    msgspec.Struct,
    frozen=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    rename={"claim_answer": "session"},
):
    """The hub's answer to any request of a table."""

    pair: Pair | None = None
    """The table's game at two tables."""
    code: Text = ""
    """Code of the table's own offer."""
    refused: Any = ""
    """Why the request was refused, as a packed sentence. Empty if it was not."""
    claim_answer: ClaimAnswer = ""


_request_decoder = msgspec.json.Decoder(PairRequest)
_answer_decoder = msgspec.json.Decoder(PairAnswer)


def decode_request(payload: bytes) -> PairRequest:
    """Decode a table's request. Raises `Malformed`."""
    request: PairRequest = decode_message(_request_decoder, payload)
    return request


def decode_answer(payload: bytes) -> PairAnswer:
    """Decode the hub's answer.

    Raises `Malformed`, and `Illegal` with the hub's sentence if it refused the request.
    """
    answer: PairAnswer = decode_message(_answer_decoder, payload)
    if answer.pair is not None and set(answer.pair.tables) != set(Seat):
        raise Malformed(say("This message cannot be read: {error}", error="tables"))
    if answer.refused:
        raise wrong_phase(unpack_sentence(answer.refused))
    return answer


def require_same_version(theirs: str, own: str) -> None:
    """Raise `Illegal` if two tables' programs differ in version.

    Another version may interpret orders differently.
    """
    if theirs != own:
        sentence = say(
            "The other table has version {theirs}, this one {own}: update one of them.",
            theirs=theirs,
            own=own,
        )
        raise wrong_phase(sentence)
