"""How two tables at one hub agree on a game: what they ask of the hub, what it answers, and how
each side checks it.

One host offers a game and is told a code. The other one enters it. Both programs must be of the
same version and have the same kit of the game. The game gets the higher of both tables' next
numbers.
"""

from __future__ import annotations

import hashlib
from typing import Annotated, Any, Literal

import msgspec

from companion.core.errors import Illegal, Malformed, Refusal
from companion.core.i18n import say
from companion.core.kit import Seat
from companion.games import GAMES
from companion.table.public.messages import strictly_read, words

Text = Annotated[str, msgspec.Meta(max_length=64)]
Name = Annotated[str, msgspec.Meta(max_length=24)]
GameId = Annotated[str, msgspec.Meta(pattern="^([0-9a-f]{16})?$")]
Number = Annotated[int, msgspec.Meta(ge=1, le=1_000_000_000)]


class _Message(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="is"
):
    """Base of what a table asks and the hub answers."""


class PairOffer(_Message, frozen=True, tag="offer"):
    """A host offers a game: `seat` is played at that table, by `name`.

    `number` is the next game's there. `kit` tells the same game from one with other rules or pieces
    (see `kit_mark`).
    """

    game: Text
    options: dict[str, Any]
    seat: Seat
    version: Text
    kit: Text
    number: Number
    name: Name = ""


class PairLook(_Message, frozen=True, tag="look"):
    """Ask what is offered under this code."""

    code: Text


class PairTake(_Message, frozen=True, tag="take"):
    """The other host agrees. `number` is the next game's at that table."""

    code: Text
    version: Text
    number: Number
    name: Name = ""


class PairAgain(_Message, frozen=True, tag="again"):
    """The two of the last game `id` want another one.

    `swaps`: with sides changed, if the other one wants that too.

    It begins when both have asked.
    """

    id: Text
    number: Number
    swaps: bool


class PairQuestion(_Message, frozen=True, tag="ask"):
    """Ask which game at two tables is this table's, and what it has offered."""


class PairWithdrawal(_Message, frozen=True, tag="withdraw"):
    """The offer does not hold any more."""


class SessionClaim(_Message, frozen=True, tag="session"):
    """The machine `id` is connected as this table. Said again every few seconds."""

    id: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{16}$")]


PairWish = (
    PairOffer | PairLook | PairTake | PairAgain | PairQuestion | PairWithdrawal | SessionClaim
)


class Pair(msgspec.Struct, frozen=True, omit_defaults=True):
    """A game on which two tables have agreed. `tables` and `names` are those of each seat.

    `follows` is the game whose rematch it is. Fields of an earlier version are passed over.
    """

    id: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{16}$")]
    game: Text
    options: dict[str, Any]
    number: Number
    tables: dict[Seat, Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{16}$")]]
    names: dict[Seat, Name] = {}
    follows: GameId = ""

    def seat_of(self, table: str) -> Seat:
        """Return the seat that is played at a table."""
        return Seat.SOUTH if self.tables[Seat.SOUTH] == table else Seat.NORTH

    def other_of(self, table: str) -> str:
        """Return the other table."""
        return self.tables[self.seat_of(table).other]


class PairAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The hub's answer: the game, the own offer's code, the offer that was looked at, or why not
    (packed).

    `again`: the other table wants another game. `session` answers a claim: another machine is
    connected as this table (`taken`), or has tried to (`shared`).
    """

    pair: Pair | None = None
    code: Text = ""
    offer: PairOffer | None = None
    refused: Any = ""
    again: bool = False
    session: Literal["", "own", "shared", "taken"] = ""


_wish = msgspec.json.Decoder(PairWish)
_answer = msgspec.json.Decoder(PairAnswer)


def read_wish(payload: bytes) -> PairWish:
    """Return what a table asks. Raises `Malformed`."""
    wish: PairWish = strictly_read(_wish, payload)
    return wish


def read_answer(payload: bytes) -> PairAnswer:
    """Return what the hub answers.

    Raises `Malformed`, and `Illegal` with the hub's sentence where it has refused.
    """
    answer: PairAnswer = strictly_read(_answer, payload)
    if answer.pair is not None and set(answer.pair.tables) != set(Seat):
        raise Malformed(say("This message cannot be read: {error}", error="tables"))
    if answer.refused:
        raise Illegal(Refusal.WRONG_PHASE, words(answer.refused))
    return answer


def kit_mark(game: str, options: dict[str, Any]) -> str:
    """Return what is the same for two programs in which a game has the same kit.

    Raises `Malformed` for an unknown game.
    """
    if game not in GAMES:
        raise Malformed(say("This table does not have the game “{game}”", game=game))
    rules = GAMES[game]
    description = (
        repr(rules.kit(rules.options(options))),
        [str(rule.text) for rule in rules.rules],
    )
    return hashlib.sha256(repr(description).encode()).hexdigest()[:16]


def require_same(offer: PairOffer, version: str) -> None:
    """Raise `Illegal` unless the offer's program and kit are this table's."""
    require_version(offer.version, version)
    if kit_mark(offer.game, offer.options) != offer.kit:
        raise Illegal(
            Refusal.WRONG_PHASE,
            say("The other table has different rules for {game}", game=GAMES[offer.game].title),
        )


def require_version(theirs: str, own: str) -> None:
    """Raise `Illegal` for another version: it could read the same orders in another way."""
    if theirs != own:
        sentence = say(
            "The other table has version {theirs}, this one {own}: update one of them.",
            theirs=theirs,
            own=own,
        )
        raise Illegal(Refusal.WRONG_PHASE, sentence)
