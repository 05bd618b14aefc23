"""The types of JSON answers, of which the API's description is made. Parts of a view describe
themselves.

Squares are text such as `c3`, sentences are in the language of the request, times are Unix times or
seconds.
"""

from __future__ import annotations

from typing import NotRequired, TypedDict

from companion.archive.played_games import GameLine
from companion.core.kit import Seat
from companion.core.ports import CameraStatus
from companion.diagnostics.findings import Finding, Grade, Status
from companion.games.base import Order, Outcome
from companion.games.screen import BoardUi, CardUi, Tally
from companion.table.board_check import Problem
from companion.table.prompts.sign import Sign
from companion.table.seats.staff_call import Call
from companion.table.session import Phase
from companion.table.table_view import ClockView, Opened

# The faces on each square, from the bottom to the top.
LayoutJson = dict[str, list[str]]


class Nothing(TypedDict):
    """An empty answer."""


# ---- a view --------------------------------------------------------------------------------------


class InstructionJson(TypedDict):
    """A move to be made by hand on the board."""

    faces: list[str]
    origin: str | None
    target: str | None
    seat: Seat
    text: str
    done: bool


class SeatJson(TypedDict):
    """A seat."""

    name: str | None
    """Name of the person or machine there, null while the seat is free."""
    door: str
    """By what the seat is played: `phone`, `pad`, `machine`, or `remote` at another table."""
    side: str | None
    """Name of its side in the game, null while no game is on."""
    awaited: bool
    """Whether the table waits for its action."""
    sealed_at: float | None
    """Unix time at which it has handed in, null before."""
    entered: int
    """Number of orders that were entered with its pad and not handed in yet."""
    coached: bool
    """Whether it has asked the coach in this game."""


class EventJson(TypedDict):
    """One event. `kind` is a word of the vocabulary of events."""

    kind: str
    text: str
    seat: NotRequired[Seat]
    square: NotRequired[str]
    to: NotRequired[str]
    edge: NotRequired[tuple[int, int]]
    why: NotRequired[str]
    rule: NotRequired[str]


class ReasonJson(TypedDict):
    """The rule that the position on the board breaks."""

    message: str
    reason: str
    rule: str | None
    square: str | None


class OpenedChanceJson(TypedDict):
    """The chance of a finished game. `seed` is the SHA-256 of `text`, 64 hexadecimal digits."""

    secret: str
    contributions: dict[Seat, str]
    text: str
    seed: str
    faults: list[str]


class ChanceJson(TypedDict):
    """The source of chance. `chosen` is the part that the host chose."""

    number: int
    commitment: str
    chosen: str
    words: str
    opened: OpenedChanceJson | None


class ViewJson(TypedDict):
    """Everything that one viewer may know of the table. With `viewer` null it is what everybody may
    know.

    `told` is the number of the headline that is shown. `opened` are the orders of the turn that
    were revealed. `standing` describes the pieces and the score of a game of pieces, `tableau` the
    lanes of a game of cards. `fans` are open cards as the camera reads them. `laid` is the action
    that it reads from laid tiles or cards. `choices` are the possible actions. `back` is the moment
    whose order the seat can take back, and `back_wanted` the seat that asks to undo a turn.
    `watched` is whether the camera sees the board. `suggested` is the game whose kit it sees.
    """

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
    sign: Sign
    layout: LayoutJson | None
    expected: LayoutJson | None
    unknown: list[str]
    instructions: list[InstructionJson]
    problems: list[Problem]
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
    standing: BoardUi | None
    why_not: ReasonJson | None
    laid: str | None
    fans: LayoutJson
    is_open: bool
    score: list[int]
    outcome: Outcome | None
    draw_offer: Seat | None
    back_wanted: Seat | None
    can_undo: bool
    log: list[str]
    camera: CameraStatus
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
    """The seat of this browser, or null if it has none."""

    seat: Seat | None


class MachineSeated(TypedDict):
    """The character that now plays a seat."""

    seat: Seat
    name: str


class OfferedGame(TypedDict):
    """The code of an offered game for two tables. The other owner enters it."""

    code: str


class Receipt(TypedDict):
    """SHA-256 of `moment seat action salt`, 64 hexadecimal digits."""

    receipt: str


class AdviceJson(TypedDict):
    """The coach's advice to one seat: an action in notation, reasons, a judgement of the last
    action, and all of it as HTML.

    If `theirs` is asked for: the machine's open actions of its last turn, its reasons, its name and
    the turn.
    """

    action: str
    why: list[str]
    judgement: str
    html: str


class HelpJson(TypedDict):
    """What a seat can do now, as HTML, and the squares that it concerns."""

    html: str
    squares: list[str]


class PlaysJson(TypedDict):
    """The moves that a seat can tap now. Each has notation, squares, label, key, path and the
    pieces that it meets.
    """

    moment: str
    plays: list[tuple[str, list[str], str, str, list[str], list[str]]]


class Picture(TypedDict):
    """A drawing as SVG, empty if there is none."""

    svg: str


class KeyJson(TypedDict):
    """An order as printed on a key, with its letter in the notation and in the language of the
    answer.
    """

    letter: str
    initial: str
    label: str
    drawing: str


class OwnOrder(TypedDict):
    """The sealed action of the own seat, or null."""

    action: str | None
    orders: list[KeyJson]


class TakenBack(TypedDict):
    """The order that was returned to the seat, or null if an earlier player of the seat had sealed
    it.
    """

    action: str | None


class NewHostKey(TypedDict):
    """The new owner key."""

    host_key: str


class StaffCall(TypedDict):
    """State of the call for the staff."""

    call: Call


# ---- games played, photographs -------------------------------------------------------------------


class GamesJson(TypedDict):
    """One page of the list of games, and the total number of games."""

    count: int
    games: list[GameLine]


class NameForgotten(TypedDict):
    """Number of games from which a name was removed."""

    games: int


class PhotographJson(TypedDict):
    """A photograph of a turn. Its address is `/api/photograph/{game}/{moment}`."""

    game: int
    moment: str
    title: str


class PhotographsJson(TypedDict):
    """The photographs of the current game, oldest first."""

    photographs: list[PhotographJson]


# ---- the machine ---------------------------------------------------------------------------------


class ClockTime(TypedDict):
    """Time in seconds on which the table's clocks run."""

    now_s: float


class HealthJson(TypedDict):
    """State of the service. `late` has the threads that have not reported, and since when."""

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
    """The answer to a phone that serves as the camera: when to send the next picture, and the
    reading of the last one, now and then.
    """

    now_ms: float
    wait_ms: int
    drawing: NotRequired[str]
    is_well: NotRequired[bool]
    words: NotRequired[str]


class FindingsJson(TypedDict):
    """All findings of the doctor, and the worst grade among them."""

    worst: Grade
    findings: list[Finding]


class SettingsSaved(TypedDict):
    """Settings were saved. `note` says when settings that need a restart take effect. It is empty
    if all are in effect.
    """

    note: str


class TrialJson(TypedDict):
    """The check of the pads: whether it is on, the keys that are down or were tried, and the lamps
    that are lit.
    """

    on: bool
    down: list[str]
    tried: list[str]
    lit: list[str]


class WorldPieceJson(TypedDict):
    """A piece on the rendered table. `outline` is in pixels of the picture."""

    id: int
    face: str
    square: str | None
    outline: list[tuple[float, float]]


class WorldJson(TypedDict):
    """Positions in the picture of the rendered table. `frame` changes whenever they do."""

    size: tuple[int, int]
    pieces: list[WorldPieceJson]
    squares: dict[str, tuple[int, int]]
    hand: str | None
    frame: int


class WorkbenchJson(WorldJson):
    """The rendered table and the simulated panel: lit lamps, tone in Hz, and keys."""

    lamps: dict[str, bool]
    tone: float | None
    buttons: list[str]
