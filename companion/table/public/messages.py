"""Public messages about a table: plain values that can be sent, stored and drawn elsewhere.

A table sends them to a hub, which decodes them strictly. Sentences are packed
(`companion.core.i18n.sentence_to_json`): they keep their pattern and its parts, so that readers see
them in their own language. Their fields have the type `Any`, and the functions below check them.
The names of all fields are part of the format.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any

import msgspec

from companion.core import i18n
from companion.core.errors import Malformed
from companion.core.i18n import say
from companion.core.kit import Seat
from companion.core.messages import decode_message
from companion.table.remote.messages import GameId
from companion.table.seats.staff_call import Call
from companion.table.session import Phase

# Maximum nesting of sentences, and maximum number of times that a pattern names the same part. Both
# limit how large a small message can become once its parts are filled in.
_MAX_DEPTH = 8
_MAX_PART_USES = 2

_Short = Annotated[str, msgspec.Meta(max_length=200)]
# A number that counts. A browser represents all integers up to the maximum exactly, and SQLite
# stores all of them.
_Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
# The place of a part in a sentence's pattern, such as `{side!c}`, or a doubled brace.
_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{(\w+)(?:![cowi])?\}")


class _PublicStruct(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Base class of everything that is sent, without the fields that have their default value."""


class PublicOrder(_PublicStruct, frozen=True):
    """A revealed order."""

    letter: str
    """Its letter in the notation."""
    drawing: str
    """Name of the drawing that shows its direction on a picture."""
    initial: Any = ""
    """Its letter for players, as a packed sentence."""


class PublicMove(_PublicStruct, frozen=True):
    """A move of one piece, or of several that lie on each other, that hands have to make."""

    faces: tuple[str, ...]
    """Names of the faces that are moved, from the bottom to the top as they lie afterwards."""
    origin: str | None = None
    """Name of the square where they come from. None if they lie beside the board."""
    target: str | None = None
    """Name of the square where they go. None if they leave the board."""
    turned: bool = False


class PublicClock(_PublicStruct, frozen=True):
    """A clock at the time of its message."""

    limit_s: float
    """Time in seconds at the start of the clock."""
    left_s: float
    runs: bool = False
    """Whether it runs. Otherwise it is stopped."""


class PublicSeat(_PublicStruct, frozen=True):
    """A seat, and whether its player has decided yet."""

    door: str = ""
    """What its player plays by: `phone`, `pad`, `machine` or `remote`. Empty if it is free."""
    awaited: bool = False
    """Whether the table waits for an action of this seat."""
    sealed: bool = False
    """Whether its action is handed in. Nobody sees it before the reveal."""
    clock: PublicClock | None = None
    """Its chess clock. None in a game without one."""


class PublicLane(_PublicStruct, frozen=True):
    """A lane of cards: each seat's stack, the deck, and its discard pile.

    Cards are listed from the bottom to the top. None is the back of a card.
    """

    name: str
    north: tuple[str | None, ...] = ()
    deck: tuple[str | None, ...] = ()
    south: tuple[str | None, ...] = ()
    discard: tuple[str | None, ...] = ()


class PublicView(_PublicStruct, frozen=True):
    """What everybody may see of the table and its game.

    A turn is shown in stages, the parts that hands carry out one after the other. Layouts map names
    of squares to the faces on them, from the bottom to the top.
    """

    phase: Phase
    moment: str = ""
    """The id of the decision that is due, such as `3.2`."""
    game: str | None = None
    """Name of the running or last game. None in the lobby."""
    title: Any = ""
    options: Mapping[str, Any] = {}
    """The game's options by name, as far as the owner's page offers them."""
    turn: _Count = 0
    """Number of the turn that is due or shown."""
    stage: _Count = 0
    """Index of the shown stage in the stages of its turn."""
    steps: _Count = 0
    """Number of stages that the turn can have. 0 while no stages are open."""
    step: Any = ""
    """Title of the shown stage, as a packed sentence."""
    sign: Any = ""
    """The one sentence that says what the table waits for, packed."""
    why: Any = ""
    """The smaller line below the sign, as a packed sentence."""
    seats: Mapping[Seat, PublicSeat] = {}
    layout: Mapping[str, tuple[str, ...]] = {}
    """The board before the moves of the shown stage."""
    target: Mapping[str, tuple[str, ...]] = {}
    """The board after these moves."""
    moves: tuple[PublicMove, ...] = ()
    """What hands have to do for the shown stage."""
    lanes: tuple[PublicLane, ...] = ()
    """What everybody may see of the cards. Empty in a game of pieces."""
    orders: tuple[Mapping[Seat, PublicOrder], ...] = ()
    """Orders of the revealed stages, by seat."""
    happened: tuple[Any, ...] = ()
    """What happened in the shown stage, as packed sentences."""
    clock: PublicClock | None = None
    """The clock of the decision that is due. None without a time limit."""
    paused: bool = False
    winners: tuple[Seat, ...] = ()
    """Seats that have won, once the game is over. Empty for a draw."""
    result: Any = ""
    """Why the game is over, as a packed sentence."""
    is_void: bool = False
    """Whether the game is over without a result that counts: a lesson, a game that the owner ended,
    or a draw that is replayed.
    """
    score: tuple[_Count, _Count, _Count] = (0, 0, 0)
    """The match so far: wins of South, wins of North, ties."""


class PublicPair(_PublicStruct, frozen=True):
    """A game at two tables, from the side of the table that sends this."""

    id: GameId
    seat: Seat
    """The seat that is played at the sending table."""


class PublicRecord(_PublicStruct, frozen=True):
    """The public part of one accepted input, and the table after it."""

    entry: _Count
    """Its number in the journal."""
    mark: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{12}$")]
    """A digest that tells it apart from another input with the same number, as there is after a
    journal was restored from a backup.
    """
    epoch: _Count
    """A count that rises when the journal was restored from a backup, because its numbers are then
    used again, or when the table cannot read its own last record at the hub.
    """
    what: str
    """Kind of the input: the tag of its record in the journal."""
    game: _Count
    """Number of the running or last game in the journal. 0 before the first one."""
    at: float
    """Unix time in seconds, by the table's clock."""
    view: PublicView
    seat: Seat | None = None
    """The seat that the input is about, if it is about one."""
    cards: Mapping[Seat, str] = {}
    """Ids at the hub of the players' cards that were shown."""
    pair: PublicPair | None = None
    """The game at two tables that this input belongs to. None if both seats are played here."""


class PublicState(_PublicStruct, frozen=True):
    """The present state of the table beside its game, of which nobody needs the history."""

    version: _Short
    names: Mapping[Seat, _Short] = {}
    """Names of machines, and of the people at this table if its owner agrees to publish them."""
    call: Call = Call.NONE
    """State of the call for the staff."""
    health: Any = ""
    """The worst finding of the health checks, as a packed sentence."""
    notices: tuple[Any, ...] = ()
    """Lasting troubles that stop nothing, as packed sentences."""
    wrong: tuple[Any, ...] = ()
    """What is wrong on the board, as packed sentences."""
    follows: str = ""
    """Mark of the desired state that the table follows, as the hub has given it."""
    answer: Any = ""
    """What became of the settings that the hub sent last, as a packed sentence."""


_encoder = msgspec.json.Encoder(order="deterministic")
_record_decoder = msgspec.json.Decoder(PublicRecord)
_state_decoder = msgspec.json.Decoder(PublicState)


def encode_public(message: PublicRecord | PublicState) -> bytes:
    """Encode a message. Equal values give equal bytes."""
    return _encoder.encode(message)


def decode_record(payload: bytes) -> PublicRecord:
    """Decode a record. Raises `Malformed` if it is not a valid one."""
    record: PublicRecord = decode_message(_record_decoder, payload)
    view = record.view
    sentences = [view.title, view.step, view.sign, view.why, view.result, *view.happened]
    for stage_orders in view.orders:
        sentences += [order.initial for order in stage_orders.values()]
    for sentence in sentences:
        _require_sentence(sentence)
    return record


def decode_state(payload: bytes) -> PublicState:
    """Decode a state. Raises `Malformed` if it is not a valid one."""
    state: PublicState = decode_message(_state_decoder, payload)
    for sentence in (state.health, *state.notices, *state.wrong, state.answer):
        _require_sentence(sentence)
    return state


def unpack_sentence(packed: Any) -> str:
    """Return a packed sentence as one that can be said in any language.

    Raises `Malformed` if it is not valid. A pattern may only name its parts, without attribute,
    index or width.
    """
    _require_sentence(packed)
    sentence: str = i18n.sentence_from_json(packed)
    return sentence


def _require_sentence(packed: Any, depth: int = 0) -> None:
    """Raise `Malformed` unless this is a packed sentence.

    Its parts may be sentences or numbers. `depth` is the number of sentences around it.
    """
    match packed:
        case str():
            return
        case {"typed": str()} if len(packed) == 1:
            return
        case int() | float() if depth and not isinstance(packed, bool):
            return
        case {"say": str(singular), "many": str(plural), "parts": dict(parts)} if (
            len(packed) == 3 and depth < _MAX_DEPTH and (not plural or type(parts.get("n")) is int)
        ):
            for part in parts.values():
                _require_sentence(part, depth + 1)
            # A sentence cannot be said if its pattern names a missing part.
            if parts.keys() >= _parts_of(singular) | _parts_of(plural):
                return
    raise _unreadable_sentence()


def _unreadable_sentence() -> Malformed:
    return Malformed(say("This message holds a sentence that cannot be read"))


@lru_cache(maxsize=512)
def _parts_of(pattern: str) -> frozenset[str]:
    """Return the names of the parts that a pattern needs.

    Raises `Malformed` for any other brace, or if a part is named too often. The result is cached,
    because tables use the same few hundred patterns again and again.
    """
    names = Counter(filter(None, _PLACEHOLDER.findall(pattern)))
    if {"{", "}"} & set(_PLACEHOLDER.sub("", pattern)) or max(
        names.values(), default=0
    ) > _MAX_PART_USES:
        raise _unreadable_sentence()
    return frozenset(names)
