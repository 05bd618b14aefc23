"""What the JSON doors answer, as types: of them the description for programs is made, and mypy
holds answers to them.

Squares are text such as `c3`, sentences are in the language of the request, times are Unix times or
seconds.
"""

from __future__ import annotations

from typing import NotRequired, TypedDict

from companion.archive.played_games import GameLine
from companion.core.kit import Seat
from companion.core.ports import CameraState
from companion.diagnostics.findings import Grade, Status
from companion.games.base import Order
from companion.games.screen import Badge, CardUi, ChoiceKey, Direction, HandCard, OrderKind, Tally
from companion.table.seats.staff_call import Call
from companion.table.session import Phase
from companion.table.table_view import ClockView, Opened

LayoutJson = dict[str, list[str]]
"""The faces on each square, from the bottom to the top."""


class Nothing(TypedDict):
    """An empty answer."""


# ---- a view --------------------------------------------------------------------------------------


class SignJson(TypedDict):
    """The one sentence that says what the table waits for. `seats` is whom it means."""

    text: str
    small: str
    seats: list[Seat]


class InstructionJson(TypedDict):
    """A move that hands do on the board."""

    faces: list[str]
    origin: str | None
    target: str | None
    seat: Seat
    text: str
    done: bool


class ProblemJson(TypedDict):
    """What is wrong on the board, and where the piece belongs."""

    text: str
    sign: str
    face: str
    square: str
    home: str | None


class SeatJson(TypedDict):
    """A seat. `name` is null while it is free, `sealed_at` until it has handed in."""

    name: str | None
    door: str
    side: str | None
    awaited: bool
    sealed_at: float | None
    entered: int
    coached: bool


class EventJson(TypedDict):
    """One thing that happened. `kind` is a word of the vocabulary of events."""

    kind: str
    text: str
    seat: NotRequired[Seat]
    square: NotRequired[str]
    to: NotRequired[str]
    edge: NotRequired[tuple[int, int]]
    why: NotRequired[str]
    rule: NotRequired[str]


class UnitJson(TypedDict):
    """A piece that gets an order of its own."""

    name: str
    square: str
    note: str


class SheetJson(TypedDict):
    """How the orders of several pieces are entered."""

    units: list[UnitJson]
    kinds: list[OrderKind]
    directions: list[Direction]
    nothing: str


class PlacingJson(TypedDict):
    """Pieces to place: letter and face of each, where they may stand, and where they begin."""

    pieces: list[tuple[str, str]]
    squares: list[str]
    proposal: list[str]


class DuellistJson(TypedDict):
    """One side of a face-off."""

    face: str
    square: str
    text: str
    strengths: list[int]


class DuelJson(TypedDict):
    """A face-off that waits for both seats' cards."""

    hint: str
    sides: dict[Seat, DuellistJson]


class BoardUiJson(TypedDict):
    """What a viewer sees of a game of pieces beside its board, and how to act."""

    sign: str
    hint: str
    open_action: str
    facts: dict[Seat, str]
    badges: dict[str, Badge]
    hands: dict[Seat, list[HandCard]]
    keys: list[ChoiceKey]
    sheet: SheetJson | None
    placing: PlacingJson | None
    duel: DuelJson | None


class ReasonJson(TypedDict):
    """The rule that the board breaks as it lies."""

    message: str
    reason: str
    rule: str | None
    square: str | None


class OutcomeJson(TypedDict):
    """How a game ended. Without a winner it is a draw."""

    winners: list[Seat]
    reason: str


class CameraJson(TypedDict):
    """What the camera does. `sentence` is empty while all is well."""

    state: CameraState
    sentence: str


class OpenedChanceJson(TypedDict):
    """The chance of a game that is over: SHA-256 of `text` is `seed`, 64 hexadecimal digits."""

    secret: str
    contributions: dict[Seat, str]
    text: str
    seed: str
    faults: list[str]


class ChanceJson(TypedDict):
    """Where chance comes from. `chosen` says what the host chose of it."""

    number: int
    commitment: str
    chosen: str
    words: str
    opened: OpenedChanceJson | None


class ViewJson(TypedDict):
    """Everything that one viewer may know of the table. With `viewer` null it is for everybody."""

    version: int
    viewer: Seat | None
    phase: Phase
    moment: str
    game: str | None
    title: str
    turn: int
    stage: int
    stage_title: str
    told: int | None
    steps: int
    sign: SignJson
    layout: LayoutJson | None
    expected: LayoutJson | None
    unknown: list[str]
    instructions: list[InstructionJson]
    problems: list[ProblemJson]
    seats: dict[Seat, SeatJson]
    sealed: dict[Seat, str | None]
    orders: list[dict[Seat, Order]]
    events: list[EventJson]
    opened: list[Opened]
    back: str | None
    tallies: list[Tally]
    tableau: CardUi | None
    clock: ClockView | None
    clocks: dict[Seat, ClockView]
    standing: BoardUiJson | None
    why_not: ReasonJson | None
    laid: str | None
    fans: LayoutJson
    is_open: bool
    score: list[int]
    outcome: OutcomeJson | None
    draw_offer: Seat | None
    back_wanted: Seat | None
    can_undo: bool
    log: list[str]
    camera: CameraJson
    watched: bool
    tiles_ready: list[Seat] | None
    panel: str
    suggested: str | None
    choices: list[str]
    notices: list[str]
    chance: ChanceJson | None
    next_commitment: str
    can_disclose: bool


# ---- seats and the host --------------------------------------------------------------------------


class Seated(TypedDict):
    """The seat that this browser has now. Null: none."""

    seat: Seat | None


class MachineSeated(TypedDict):
    """Which character plays a seat now."""

    seat: Seat
    name: str


class OfferedGame(TypedDict):
    """The code under which a game for two tables is offered. The other owner enters it."""

    code: str


class Receipt(TypedDict):
    """SHA-256 of `moment seat action salt`, 64 hexadecimal digits."""

    receipt: str


class AdviceJson(TypedDict):
    """What the coach says to a seat alone: an action in notation, why, what it thinks of what was
    done, as a page.

    Asked about `theirs`: the machine's open actions of its last turn, its own reasons, whose it is
    and of which turn.
    """

    action: str
    why: list[str]
    judgement: str
    html: str


class PlaysJson(TypedDict):
    """What a seat can tap now: notation, squares, words, key, path and whom it meets of each
    move.
    """

    moment: str
    plays: list[tuple[str, list[str], str, str, list[str], list[str]]]


class Picture(TypedDict):
    """A drawing as SVG. Empty: there is none."""

    svg: str


class KeyJson(TypedDict):
    """An order as it stands on a key: its letter in the notation, and in the language of the
    answer.
    """

    letter: str
    initial: str
    label: str
    drawing: str


class OwnOrder(TypedDict):
    """What the own seat has sealed. Null: nothing."""

    action: str | None
    orders: list[KeyJson]


class TakenBack(TypedDict):
    """The order that is the seat's own again. Null: its owner is not told here."""

    action: str | None


class NewHostKey(TypedDict):
    """The key that holds from now on."""

    host_key: str


class StaffCall(TypedDict):
    """How the call for the staff stands."""

    call: Call


# ---- games played, photographs -------------------------------------------------------------------


class GamesJson(TypedDict):
    """A page of the list of games, and how many there are in all."""

    count: int
    games: list[GameLine]


class NameForgotten(TypedDict):
    """In how many games a name was taken out."""

    games: int


class PhotographJson(TypedDict):
    """A photograph of a turn. Its address is `/api/photograph/{game}/{moment}`."""

    game: int
    moment: str
    title: str


class PhotographsJson(TypedDict):
    """The photographs of the game that is on, oldest first."""

    photographs: list[PhotographJson]


# ---- the machine ---------------------------------------------------------------------------------


class ClockTime(TypedDict):
    """The time by which the table's clocks run, seconds."""

    now_s: float


class HealthJson(TypedDict):
    """How the service is. `late` are threads that have not reported, and since when."""

    ok: bool
    status: Status
    version: str
    uptime_s: float
    late: dict[str, float]
    journal: str
    camera: str
    pins: str
    disk_free_mb: int
    machine: Grade


class EyeJson(TypedDict):
    """What an old phone is told that is the camera: when to send the next picture, and what is read
    in the last one.

    `drawing` is null where the phone has it already.
    """

    now_ms: float
    wait_ms: int
    drawn: int
    drawing: str | None
    is_well: bool
    words: str


class FindingJson(TypedDict):
    """One thing that the doctor has looked at."""

    topic: str
    grade: Grade
    text: str


class FindingsJson(TypedDict):
    """Everything that the doctor has looked at, and the worst grade of it."""

    worst: Grade
    findings: list[FindingJson]


class SettingsSaved(TypedDict):
    """Settings were saved. `note` says when those work that need a restart. Empty: all work now."""

    note: str


class TrialJson(TypedDict):
    """The check of the pads: is it on, which keys are down or were tried, which lamps are lit."""

    on: bool
    down: list[str]
    tried: list[str]
    lit: list[str]


class WorldPieceJson(TypedDict):
    """A piece on the rendered table, `outline` in pixels of the picture."""

    id: int
    face: str
    square: str | None
    outline: list[tuple[float, float]]


class WorldJson(TypedDict):
    """Where everything is in the picture of the rendered table. `frame` changes with it."""

    size: tuple[int, int]
    pieces: list[WorldPieceJson]
    squares: dict[str, tuple[int, int]]
    hand: str | None
    frame: int


class WorkbenchJson(WorldJson):
    """The rendered table and the simulated panel: which lamps are lit, the tone in Hz, the keys."""

    lamps: dict[str, bool]
    tone: float | None
    buttons: list[str]
