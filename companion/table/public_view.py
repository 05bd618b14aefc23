"""What everybody may know of the table, as a plain value that can be sent, kept and drawn elsewhere.

Nothing gets in that is not named here. Sentences travel packed, so that each reader has them in an own language, and
names of people never: whoever makes a view gives a session without them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from companion.core import i18n
from companion.core.errors import Malformed
from companion.core.i18n import say
from companion.core.kit import SEATS, Layout, Seat
from companion.core.ports import CameraState
from companion.games.base import plain_layout
from companion.games.screen import Lane, Pile
from companion.table.seats.staff_call import Call
from companion.table.session import Phase, Session
from companion.table.state import TableState
from companion.table.table_view import ClockView, TableView
from companion.table.views import view_of

MOST_BYTES = 32 * 1024
"""A message is not larger: the view of a game with a map of one's own has some 5 kB."""
_MOST_DEPTH = 8
_FIELD = re.compile(r"\{\{|\}\}|\{(\w+)(?:![cowi])?\}")


class _Plain(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Base of everything that is sent."""


class PublicOrder(_Plain, frozen=True):
    """A revealed order: its letter in the notation, where it leads on a picture, and its letter for players, packed."""

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
    """A clock at the moment of its message: what is left of how much, seconds, and whether it runs."""

    limit_s: float
    left_s: float
    runs: bool = False


class PublicSeat(_Plain, frozen=True):
    """A seat: is it taken, and by which door; is it waited for, has it handed in; its chess clock."""

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
    """The table for everybody. `layout` is what lay on the board before the moves of the stage that is shown."""

    phase: Phase
    moment: str = ""
    game: str | None = None
    title: Any = ""
    options: Mapping[str, Any] = {}
    turn: int = 0
    stage: int = 0
    steps: int = 0
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
    score: tuple[int, int, int] = (0, 0, 0)


class PublicRecord(_Plain, frozen=True):
    """One input that the table has accepted, as everybody may know it, and the table after it.

    `entry` is its place in the journal and `mark` tells it from another input in that place of a journal that was
    brought back from a backup; then `epoch` is one more. `at` is Unix time by the table's clock.
    """

    entry: int
    mark: str
    epoch: int
    what: str
    game: int
    at: float
    view: PublicView
    seat: Seat | None = None


class PublicState(_Plain, frozen=True):
    """How the table is at this moment, beside its game; nothing of it is history.

    `names` are there where the table's owner has agreed to tell them. `health` is the doctor's line, `wrong` what the
    camera sees wrong on the board; `at` is Unix time by the table's clock. Sentences are packed.
    """

    version: str
    at: float
    names: Mapping[Seat, str] = {}
    call: Call = Call.NONE
    call_by: str = ""
    health: Any = ""
    camera: CameraState = CameraState.NONE
    notices: tuple[Any, ...] = ()
    wrong: tuple[Any, ...] = ()


_encoder = msgspec.json.Encoder(order="deterministic")
_record = msgspec.json.Decoder(PublicRecord)
_state = msgspec.json.Decoder(PublicState)


def encoded(told: PublicRecord | PublicState) -> bytes:
    """A message as it is sent: the same bytes for the same value."""
    return _encoder.encode(told)


def read_record(payload: bytes) -> PublicRecord:
    """A record as somebody has sent it; raises `Malformed` for anything that is none."""
    record: PublicRecord = _read(_record, payload)
    view = record.view
    sentences = (view.title, view.step, view.sign, view.why, view.result, *view.happened)
    orders = (order.initial for step in view.orders for order in step.values())
    for sentence in (*sentences, *orders):
        words(sentence)
    return record


def read_state(payload: bytes) -> PublicState:
    """A state as somebody has sent it; raises `Malformed`."""
    state: PublicState = _read(_state, payload)
    for sentence in (state.health, *state.notices, *state.wrong):
        words(sentence)
    return state


def _read(decoder: msgspec.json.Decoder[Any], payload: bytes) -> Any:
    if len(payload) > MOST_BYTES:
        raise Malformed(say("This message is too large"))
    try:
        return decoder.decode(payload)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Malformed(say("This message cannot be read: {error}", error=str(error))) from None


def words(packed: Any, depth: int = 0) -> str:
    """The sentence that was packed, to be said in any language; raises `Malformed` for one that is none.

    A pattern names its parts and does nothing else with them: no attribute, no index, no width.
    """
    if isinstance(packed, str):
        return packed
    if isinstance(packed, dict) and depth < _MOST_DEPTH:
        if packed.keys() == {"typed"} and isinstance(packed["typed"], str):
            return i18n.Verbatim(packed["typed"])
        if packed.keys() == {"say", "many", "parts"} and isinstance(packed["parts"], dict):
            pattern, many, parts = packed["say"], packed["many"], packed["parts"]
            is_whole = all(_fits(each, parts) for each in (pattern, many))
            if is_whole and (not many or type(parts.get("n")) is int):
                for part in parts.values():
                    if type(part) not in (int, float):
                        words(part, depth + 1)
                said: str = i18n.unpacked(packed)
                return said
    raise Malformed(say("This message holds a sentence that is none"))


def _fits(pattern: object, parts: Mapping[str, Any]) -> bool:
    """Is this a pattern, and are all its parts there?"""
    if not isinstance(pattern, str):
        return False
    rest = _FIELD.sub("", pattern)
    return "{" not in rest and "}" not in rest and {name for name in _FIELD.findall(pattern) if name} <= parts.keys()


def public_view(session: Session, now_s: float) -> PublicView:
    """What everybody may know of a session without names at a monotonic time."""
    view = view_of(TableState(session), None)
    tableau = view.board.tableau
    outcome = view.match.outcome if view.phase is Phase.OVER else None
    clock = view.time.clock
    return PublicView(
        phase=view.phase,
        moment=view.moment,
        game=view.game,
        title=i18n.packed(view.title) if view.game else "",
        options=session.raw_options if view.game else {},
        turn=view.turn.number if view.game else 0,
        stage=view.turn.stage,
        steps=view.turn.steps,
        step=i18n.packed(view.turn.title),
        sign=i18n.packed(view.sign.text),
        why=i18n.packed(view.sign.small),
        seats={seat: _seat(view, seat, now_s) for seat in SEATS},
        layout=_layout(view.board.layout),
        target=_layout(view.board.target),
        moves=_moves(view),
        lanes=tuple(_lane(each) for each in tableau.lanes) if tableau else (),
        orders=tuple(
            {seat: PublicOrder(each.letter, each.on_board, i18n.packed(each.initial)) for seat, each in step.items()}
            for step in view.turn.orders
        ),
        happened=tuple(i18n.packed(event.text) for event in view.turn.events),
        clock=_clock(clock, now_s) if clock else None,
        paused=bool(clock and clock.paused),
        winners=tuple(sorted(outcome.winners)) if outcome else (),
        result=i18n.packed(outcome.reason) if outcome else "",
        score=view.match.score,
    )


def _seat(view: TableView, seat: Seat, now_s: float) -> PublicSeat:
    shown, clock = view.seats[seat], view.time.clocks.get(seat)
    return PublicSeat(shown.door, shown.awaited, shown.receipt is not None, _clock(clock, now_s) if clock else None)


def _clock(clock: ClockView, now_s: float) -> PublicClock:
    left_s = clock.left_s if clock.due_s is None else clock.due_s - now_s
    runs = clock.due_s is not None and not clock.has_run_out
    return PublicClock(round(clock.limit_s, 1), round(max(0.0, left_s), 1), runs)


def _lane(lane: Lane) -> PublicLane:
    return PublicLane(str(lane.name), *(_pile(pile) for pile in (lane.north, lane.deck, lane.south, lane.discard)))


def _pile(pile: Pile) -> tuple[str | None, ...]:
    return tuple(None if card is None else str(card) for card in pile)


def _layout(layout: Layout | None) -> dict[str, tuple[str, ...]]:
    return {square: tuple(faces) for square, faces in (plain_layout(layout) or {}).items()}


def _moves(view: TableView) -> tuple[PublicMove, ...]:
    moves = (instruction.move for instruction in view.turn.instructions)
    return tuple(
        PublicMove(tuple(map(str, move.faces)), _name(move.origin), _name(move.target), move.turned)
        for move in moves
        if move.faces
    )


def _name(square: object) -> str | None:
    return None if square is None else str(square)
