"""Messages about a table for everybody: plain values that can be sent, kept and drawn elsewhere,
and are read strictly.

Sentences travel packed, so that each reader has them in an own language.
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
from companion.core.files import is_dense
from companion.core.i18n import say
from companion.core.kit import Seat
from companion.core.ports import CameraState
from companion.table.seats.staff_call import Call
from companion.table.session import Phase

MOST_BYTES = 32 * 1024
"""Maximum bytes of a message. The view of a game with a map of one's own has some 5 kB."""
_MOST_DEPTH, _MOST_NAMED = 8, 2
"""How deep sentences lie in sentences, and how often a pattern names a part: so that few bytes stay
few once filled."""
_Short = Annotated[str, msgspec.Meta(max_length=200)]
_Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
"""What SQLite and a browser can hold, and one more."""
_FIELD = re.compile(r"\{\{|\}\}|\{(\w+)(?:![cowi])?\}")


class _Plain(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Base of everything that is sent."""


class PublicOrder(_Plain, frozen=True):
    """A revealed order: its letter in the notation, where it leads on a picture, and its letter for
    players, packed.
    """

    letter: str
    drawing: str
    initial: Any = ""


class PublicMove(_Plain, frozen=True):
    """What a hand has to do: faces from one square to another; None is beside the board."""

    faces: tuple[str, ...]
    origin: str | None = None
    target: str | None = None
    turned: bool = False


class PublicClock(_Plain, frozen=True):
    """A clock at the moment of its message: what is left of how much, seconds, and whether it
    runs.
    """

    limit_s: float
    left_s: float
    runs: bool = False


class PublicSeat(_Plain, frozen=True):
    """A seat: is it taken, and by which door; is it waited for, has it handed in; its chess
    clock.
    """

    door: str = ""
    awaited: bool = False
    sealed: bool = False
    clock: PublicClock | None = None


class PublicLane(_Plain, frozen=True):
    """A lane of cards, as `companion.games.screen.Lane`; None is a back."""

    name: str
    north: tuple[str | None, ...] = ()
    deck: tuple[str | None, ...] = ()
    south: tuple[str | None, ...] = ()
    discard: tuple[str | None, ...] = ()


class PublicView(_Plain, frozen=True):
    """The table for everybody. `layout` is what lay on the board before the moves of the stage that
    is shown.
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
    """Is it over without a result that counts: a lesson, ended by the host, or a draw that is
    played again?"""
    score: tuple[_Count, _Count, _Count] = (0, 0, 0)


class PublicPair(_Plain, frozen=True):
    """A game at two tables: what it is called at the hub, and the seat that is played at the table
    that tells this.
    """

    id: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{16}$")]
    seat: Seat


class PublicRecord(_Plain, frozen=True):
    """One input that the table has accepted, as everybody may know it, and the table after it.

    `entry` is its place in the journal and `mark` tells it from another input in that place of a
    journal that was brought back from a backup; then `epoch` is one more. `at` is Unix time by the
    table's clock. `cards` are the players' cards that were shown, as the hub calls them; `pair` is
    set in a game at two tables.
    """

    entry: _Count
    mark: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{12}$")]
    epoch: _Count
    what: str
    game: _Count
    at: float
    view: PublicView
    seat: Seat | None = None
    cards: Mapping[Seat, str] = {}
    pair: PublicPair | None = None


class PublicState(_Plain, frozen=True):
    """How the table is at this moment, beside its game; nothing of it is history.

    `names` are there where the table's owner has agreed to tell them. `health` is the doctor's
    line, `wrong` what the camera sees wrong on the board; `at` is Unix time by the table's clock.
    Sentences are packed. `follows` is the mark of the hub's wish that the table follows; `answers`
    the number of the settings that the hub asked for last, and `answer` what came of it.
    """

    version: _Short
    at: float
    names: Mapping[Seat, _Short] = {}
    call: Call = Call.NONE
    call_by: _Short = ""
    health: Any = ""
    camera: CameraState = CameraState.NONE
    notices: tuple[Any, ...] = ()
    wrong: tuple[Any, ...] = ()
    follows: str = ""
    answers: _Count = 0
    answer: Any = ""


_encoder = msgspec.json.Encoder(order="deterministic")
_record = msgspec.json.Decoder(PublicRecord)
_state = msgspec.json.Decoder(PublicState)


def encode_public(message: PublicRecord | PublicState) -> bytes:
    """Return a message as it is sent: the same bytes for the same value."""
    return _encoder.encode(message)


def read_record(payload: bytes) -> PublicRecord:
    """Return a record as somebody has sent it. Raises `Malformed` for anything that is none."""
    record: PublicRecord = strictly_read(_record, payload)
    view = record.view
    sentences = [view.title, view.step, view.sign, view.why, view.result, *view.happened]
    for step in view.orders:
        sentences += [order.initial for order in step.values()]
    for sentence in sentences:
        _require_sentence(sentence)
    return record


def read_state(payload: bytes) -> PublicState:
    """Return a state as somebody has sent it. Raises `Malformed`."""
    state: PublicState = strictly_read(_state, payload)
    for sentence in (state.health, *state.notices, *state.wrong, state.answer):
        _require_sentence(sentence)
    return state


def strictly_read(decoder: msgspec.json.Decoder[Any], payload: bytes) -> Any:
    """Return what somebody has sent, as its decoder has it.

    Raises `Malformed` for what is too large or anything else.
    """
    if len(payload) > MOST_BYTES or is_dense(payload):
        raise Malformed(say("This message is too large"))
    try:
        return decoder.decode(payload)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Malformed(say("This message cannot be read: {error}", error=str(error))) from None


def words(packed: Any) -> str:
    """Return the sentence that was packed, to be said in any language.

    Raises `Malformed` for one that is none. A pattern names its parts and does nothing else with
    them: no attribute, no index, no width.
    """
    _require_sentence(packed)
    sentence: str = i18n.unpacked(packed)
    return sentence


def _require_sentence(packed: Any, depth: int = 0) -> None:
    """Raise `Malformed` for what is no packed sentence."""
    match packed:
        case str():
            return
        case {"typed": str()} if len(packed) == 1:
            return
        case int() | float() if depth and not isinstance(packed, bool):
            return
        case {"say": str(one), "many": str(many), "parts": dict(parts)} if (
            len(packed) == 3 and depth < _MOST_DEPTH and (not many or type(parts.get("n")) is int)
        ):
            for part in parts.values():
                _require_sentence(part, depth + 1)
            # a part that the pattern names and nobody gives could not be said
            if parts.keys() >= _parts_of(one) | _parts_of(many):
                return
    raise _unreadable()


def _unreadable() -> Malformed:
    return Malformed(say("This message holds a sentence that cannot be read"))


@lru_cache(maxsize=512)
def _parts_of(pattern: str) -> frozenset[str]:
    """Return the parts that a pattern names. Raises `Malformed` for any other brace, and one named
    without end.

    Tables tell the same few hundred patterns again and again.
    """
    names = Counter(filter(None, _FIELD.findall(pattern)))
    if {"{", "}"} & set(_FIELD.sub("", pattern)) or max(names.values(), default=0) > _MOST_NAMED:
        raise _unreadable()
    return frozenset(names)
