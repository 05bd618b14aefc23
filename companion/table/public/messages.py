"""Public messages about a table: plain values that can be sent, stored and drawn elsewhere, and are
read strictly.

A table sends them to a hub. Sentences are packed (`companion.core.i18n.pack`): they keep their
pattern and its parts, so that readers see them in their own language. The types leave them `Any`,
and the functions below check them. The names of all fields are part of the format.
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
from companion.table.seats.staff_call import Call
from companion.table.session import Phase

# Maximum nesting of sentences, and maximum number of uses of a part in a pattern. Both bound how
# large a small message can become once its parts are filled in.
_MAX_DEPTH = 8
_MAX_PART_USES = 2

_Short = Annotated[str, msgspec.Meta(max_length=200)]
# The integers that both SQLite and a browser represent exactly, and one more.
_Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
# A part of a sentence's pattern, such as `{side!c}`, or a doubled brace.
_FIELD = re.compile(r"\{\{|\}\}|\{(\w+)(?:![cowi])?\}")


class _Plain(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Base class of everything that is sent."""


class PublicOrder(_Plain, frozen=True):
    """A revealed order."""

    letter: str
    """Its letter in the notation."""
    drawing: str
    """Name of the drawing that shows its direction on a picture."""
    initial: Any = ""
    """Its letter for players, as a packed sentence."""


class PublicMove(_Plain, frozen=True):
    """A move of faces from one square to another. None is a place beside the board."""

    faces: tuple[str, ...]
    origin: str | None = None
    target: str | None = None
    turned: bool = False


class PublicClock(_Plain, frozen=True):
    """A clock at the time of its message: limit and time left in seconds, and whether it runs."""

    limit_s: float
    left_s: float
    runs: bool = False


class PublicSeat(_Plain, frozen=True):
    """A seat."""

    door: str = ""
    """What its player plays by. Empty if the seat is free."""
    awaited: bool = False
    sealed: bool = False
    clock: PublicClock | None = None
    """Its chess clock. None in a game without one."""


class PublicLane(_Plain, frozen=True):
    """A lane of cards, as `companion.games.screen.Lane`. None is the back of a card."""

    name: str
    north: tuple[str | None, ...] = ()
    deck: tuple[str | None, ...] = ()
    south: tuple[str | None, ...] = ()
    discard: tuple[str | None, ...] = ()


class PublicView(_Plain, frozen=True):
    """The public view of the table.

    - `turn`, `stage`, `steps`: number of the turn, index of the shown stage, number of stages.
    - `step`: title of the shown stage.
    - `sign`, `why`: the sign, and its smaller line.
    - `layout`, `target`: the board before the moves of the shown stage, and after them.
    - `moves`: what hands have to do for the stage.
    - `lanes`: what everybody may see of the cards, in a game of cards.
    - `orders`: orders of the revealed stages.
    - `happened`: what the shown stage did, as sentences.
    - `clock`, `paused`: the clock of the decision that is due, and whether it is paused.
    - `winners`, `result`: seats that have won, and a sentence on it, once the game is over.
    - `is_void`: whether it is over without a result that counts: a lesson, a game that the owner
      ended, or a draw that is replayed.
    - `score`: wins of South, wins of North, ties.
    """

    phase: Phase
    moment: str = ""
    game: str | None = None
    title: Any = ""
    options: Mapping[str, Any] = {}
    turn: _Count = 0
    stage: _Count = 0
    steps: _Count = 0
    step: Any = ""
    sign: Any = ""
    why: Any = ""
    seats: Mapping[Seat, PublicSeat] = {}
    layout: Mapping[str, tuple[str, ...]] = {}
    target: Mapping[str, tuple[str, ...]] = {}
    moves: tuple[PublicMove, ...] = ()
    lanes: tuple[PublicLane, ...] = ()
    orders: tuple[Mapping[Seat, PublicOrder], ...] = ()
    happened: tuple[Any, ...] = ()
    clock: PublicClock | None = None
    paused: bool = False
    winners: tuple[Seat, ...] = ()
    result: Any = ""
    is_void: bool = False
    score: tuple[_Count, _Count, _Count] = (0, 0, 0)


class PublicPair(_Plain, frozen=True):
    """A game at two tables: its id at the hub, and the seat that is played at the table that sends
    this.
    """

    id: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{16}$")]
    seat: Seat


class PublicRecord(_Plain, frozen=True):
    """The public part of one accepted input, and the table after it."""

    entry: _Count
    """Its number in the journal."""
    mark: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{12}$")]
    """A digest that distinguishes it from another input with that number, in a journal that was
    restored from a backup. Then `epoch` is one higher.
    """
    epoch: _Count
    what: str
    """Kind of the input, as in the journal."""
    game: _Count
    at: float
    """Unix time in seconds, by the table's clock."""
    view: PublicView
    seat: Seat | None = None
    """The seat that the input is about, if it is about one."""
    cards: Mapping[Seat, str] = {}
    """Ids at the hub of the players' cards that were shown."""
    pair: PublicPair | None = None
    """Set in a game at two tables."""


class PublicState(_Plain, frozen=True):
    """The present state of the table beside its game. Nothing of it is history."""

    version: _Short
    names: Mapping[Seat, _Short] = {}
    """Names of the players, if the table's owner agrees to publish them."""
    call: Call = Call.NONE
    """State of the call for the staff."""
    health: Any = ""
    """A sentence of the doctor on the machine."""
    notices: tuple[Any, ...] = ()
    wrong: tuple[Any, ...] = ()
    """The faults that the camera sees on the board, as sentences."""
    follows: str = ""
    """Mark of the hub's desired state that the table follows."""
    answer: Any = ""
    """What became of the settings that the hub has sent last, as a sentence."""


_encoder = msgspec.json.Encoder(order="deterministic")
_record_decoder = msgspec.json.Decoder(PublicRecord)
_state_decoder = msgspec.json.Decoder(PublicState)


def encode_public(message: PublicRecord | PublicState) -> bytes:
    """Encode a message. Equal values give equal bytes."""
    return _encoder.encode(message)


def read_record(payload: bytes) -> PublicRecord:
    """Decode a record. Raises `Malformed` if it is not a valid one."""
    record: PublicRecord = decode_message(_record_decoder, payload)
    view = record.view
    sentences = [view.title, view.step, view.sign, view.why, view.result, *view.happened]
    for stage_orders in view.orders:
        sentences += [order.initial for order in stage_orders.values()]
    for sentence in sentences:
        _require_sentence(sentence)
    return record


def read_state(payload: bytes) -> PublicState:
    """Decode a state. Raises `Malformed` if it is not a valid one."""
    state: PublicState = decode_message(_state_decoder, payload)
    for sentence in (state.health, *state.notices, *state.wrong, state.answer):
        _require_sentence(sentence)
    return state


def unpacked_sentence(packed: Any) -> str:
    """Return a packed sentence as one that can be said in any language.

    Raises `Malformed` if it is not valid. A pattern may only name its parts, without attribute,
    index or width.
    """
    _require_sentence(packed)
    sentence: str = i18n.unpack(packed)
    return sentence


def _require_sentence(packed: Any, depth: int = 0) -> None:
    """Raise `Malformed` unless this is a packed sentence. Its parts may be sentences or numbers."""
    match packed:
        case str():
            return
        case {"typed": str()} if len(packed) == 1:
            return
        case int() | float() if depth and not isinstance(packed, bool):
            return
        case {"say": str(one), "many": str(many), "parts": dict(parts)} if (
            len(packed) == 3 and depth < _MAX_DEPTH and (not many or type(parts.get("n")) is int)
        ):
            for part in parts.values():
                _require_sentence(part, depth + 1)
            # A sentence cannot be said if its pattern names a missing part.
            if parts.keys() >= _parts_of(one) | _parts_of(many):
                return
    raise _unreadable()


def _unreadable() -> Malformed:
    return Malformed(say("This message holds a sentence that cannot be read"))


@lru_cache(maxsize=512)
def _parts_of(pattern: str) -> frozenset[str]:
    """Return the parts that a pattern names.

    Raises `Malformed` for any other brace, or if a part is named too often. The result is cached,
    because tables use the same few hundred patterns again and again.
    """
    names = Counter(filter(None, _FIELD.findall(pattern)))
    if {"{", "}"} & set(_FIELD.sub("", pattern)) or max(names.values(), default=0) > _MAX_PART_USES:
        raise _unreadable()
    return frozenset(names)
