"""The types of JSON answers, from which the API's description is made.

Squares are text such as `c3`, sentences are in the language of the request, times are Unix times or
seconds. The types of some fields, such as `Sign`, come from other packages and are described there.

In the description, the schema of an answer has the name of its class. Clients are generated from
the description, so neither a class nor a field may be renamed.
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
    """An empty object: the answer to a request that changes something and returns nothing."""


# ---- a view --------------------------------------------------------------------------------------


class InstructionJson(TypedDict):
    """A move that the hands of the player at `seat` should make. `text` says it in a sentence.

    `origin` is null if the pieces come from beside the board, and `target` is null if they leave
    the board. `faces` are the moved faces, from the bottom to the top. If there are no faces, only
    the sentence says what to do. `done` is whether the camera has seen the result.
    """

    faces: list[str]
    origin: str | None
    target: str | None
    seat: Seat
    text: str
    done: bool


class SeatJson(TypedDict):
    """A seat, as everybody may see it."""

    name: str | None
    """Name of the person or machine there, null while the seat is free."""
    door: str
    """By what the seat is played: `phone`, `pad`, `machine`, or `remote` at another table."""
    side: str | None
    """Name of its side in the game, null without a game."""
    awaited: bool
    """Whether the table waits for its action."""
    sealed_at: float | None
    """Unix time at which it handed in its action. Null before that."""
    entered: int
    """Number of orders entered on its pad so far. Which orders these are stays secret."""
    coached: bool
    """Whether the coach has helped the seat in this game."""


class EventJson(TypedDict):
    """One thing that happened. `kind` is the kind of event, and `text` says it in a sentence.

    The event happened on `square` and concerns `seat`. `to` is the square that it points to, such
    as the target of a move. `edge` is the direction (files, ranks) of a move that was blocked.
    `why` is the reason in a sentence, and `rule` the id of the paragraph of the rules behind it.
    """

    kind: str
    text: str
    seat: NotRequired[Seat]
    square: NotRequired[str]
    to: NotRequired[str]
    edge: NotRequired[tuple[int, int]]
    why: NotRequired[str]
    rule: NotRequired[str]


class ReasonJson(TypedDict):
    """The rule that the position on the board breaks.

    `message` is a sentence, `reason` a word for programs, `rule` the id of the paragraph of the
    rules, and `square` where the rule is broken.
    """

    message: str
    reason: str
    rule: str | None
    square: str | None


class OpenedChanceJson(TypedDict):
    """The chance of a finished game. `seed` is the SHA-256 of `text`, 64 hexadecimal digits.

    `faults` are sentences on what does not match.
    """

    secret: str
    contributions: dict[Seat, str]
    text: str
    seed: str
    faults: list[str]


class ChanceJson(TypedDict):
    """The source of chance of the game with this number, in `words`.

    `commitment` is the SHA-256 of the table's secret, empty if there is none. `chosen` is a
    sentence on what the owner has chosen, or on chance at two tables. `opened` is null until the
    game is over.
    """

    number: int
    commitment: str
    chosen: str
    words: str
    opened: OpenedChanceJson | None


class ViewJson(TypedDict):
    """Everything that one viewer may know of the table."""

    version: int
    viewer: Seat | None
    """The seat that looks. If it is null, the view is what everybody may know."""
    phase: Phase
    moment: str
    """Id of the decision that is due, such as `3.2`. An input names it."""
    game: str | None
    title: str
    turn: int
    stage: int
    """Index of the stage of the revealed turn that is shown, from 0."""
    stage_title: str
    told: int | None
    """Index of the stage's headline that is shown, null if there is none."""
    steps: int
    """Number of stages that a turn can have."""
    sign: Sign
    layout: LayoutJson | None
    """The board before the stage that is shown."""
    expected: LayoutJson | None
    """The board once hands are done. Null if nothing is checked."""
    unknown: list[str]
    """Squares that the camera cannot see, because something hides them."""
    instructions: list[InstructionJson]
    problems: list[Problem]
    seats: dict[Seat, SeatJson]
    sealed: dict[Seat, str | None]
    """Receipt of each seat's sealed action, null if none is sealed."""
    orders: list[dict[Seat, Order]]
    """Orders of the stages that are revealed so far, by seat."""
    events: list[EventJson]
    opened: list[Opened]
    """Sealed actions of the last turn that is completely revealed."""
    back: str | None
    """The moment whose action this seat can take back."""
    tallies: list[Tally]
    tableau: CardUi | None
    """The lanes of a game of cards."""
    clock: ClockView | None
    clocks: dict[Seat, ClockView]
    standing: BoardUi | None
    """The pieces and the score of a game of pieces."""
    why_not: ReasonJson | None
    laid: str | None
    """The laid action: what tiles or cards on the table stand for, as the camera reads them."""
    fans: LayoutJson
    """Open cards as the camera reads them."""
    is_open: bool
    """Whether anybody at the table may act for the seat on turn, as on a chess clock."""
    score: list[int]
    """The match so far: games won by South, won by North, drawn."""
    outcome: Outcome | None
    draw_offer: Seat | None
    back_wanted: Seat | None
    """The seat that asks to undo a turn."""
    can_undo: bool
    log: list[str]
    camera: CameraStatus
    watched: bool
    """Whether the camera sees the board of this game now."""
    tiles_ready: list[Seat] | None
    panel: str
    """A sentence about the pads. Empty if there is nothing to say."""
    suggested: str | None
    """The game whose kit the camera sees between games."""
    choices: list[str]
    """The actions of which each explains what the camera sees on the board."""
    notices: list[str]
    chance: ChanceJson | None
    next_commitment: str
    can_disclose: bool


# ---- seats and the host --------------------------------------------------------------------------


class Seated(TypedDict):
    """The seat that is occupied after sitting down, or null after leaving it."""

    seat: Seat | None


class MachineSeated(TypedDict):
    """The character that now plays a seat."""

    seat: Seat
    name: str


class OfferedGame(TypedDict):
    """The code of an offered game for two tables. The other owner enters it."""

    code: str


class Receipt(TypedDict):
    """SHA-256 of `moment seat action salt`, 64 hexadecimal digits. Empty if nothing is sealed."""

    receipt: str


class AdviceJson(TypedDict):
    """The coach's advice to one seat, or (`theirs`) the machine's reasons for its own action."""

    action: str
    """The action that the coach advises, or the machine's action of the last turn, in notation."""
    why: list[str]
    """The reasons for that action."""
    judgement: str
    """The coach's judgement of the seat's last action, or the machine's name and its turn."""
    html: str
    """The whole advice as a fragment of the seat's page."""


class HelpJson(TypedDict):
    """What a seat can do now, as HTML, and the squares that it concerns."""

    html: str
    squares: list[str]


# A move that a seat can tap: its notation, its squares, its label, the name of the key that begins
# it, the squares to tap, and the squares where a piece of the other side can stop it.
PlayJson = tuple[str, list[str], str, str, list[str], list[str]]


class PlaysJson(TypedDict):
    """The moves that a seat can tap now.

    Each is an array: its notation, its squares, its label, the name of the key that begins it, the
    squares to tap, and the squares where a piece of the other side can stop it.
    """

    moment: str
    plays: list[PlayJson]


class Picture(TypedDict):
    """A drawing as SVG, empty if there is none."""

    svg: str


class KeyJson(TypedDict):
    """An order as it stands on a key.

    `letter` is its letter in the notation, and `initial` its letter in the language of the answer.
    """

    letter: str
    initial: str
    label: str
    drawing: str


class OwnOrder(TypedDict):
    """The sealed action of the player's own seat, or null."""

    action: str | None
    orders: list[KeyJson]


class TakenBack(TypedDict):
    """The order that the seat gets back.

    It is null if a whole turn was taken back, or if another player of the seat had sealed it.
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
    """State of the service.

    `journal` is `ok`, `full` (no new game can begin), `unwritable` or `silent`, `camera` is `ok`,
    `none`, `trouble` or `no_board`, and `pins` are `ok`, `none` or `trouble`. `machine` is the
    worst grade found on the machine. `disk_free_mb` is 0 if it is not known.
    """

    ok: bool
    status: Status
    version: str
    uptime_s: float
    late: dict[str, float]
    """Parts that have stopped reporting, with the seconds since their last report."""
    journal: str
    camera: str
    pins: str
    disk_free_mb: int
    machine: Grade


class EyeJson(TypedDict):
    """The answer to a phone that serves as the camera.

    Now and then it has what the table reads in the phone's pictures.
    """

    now_ms: float
    """The table's time, with which the phone stamps its pictures."""
    wait_ms: int
    """How long the phone waits before it sends the next picture."""
    drawing: NotRequired[str]
    """The reading as SVG, empty if there is none."""
    is_well: NotRequired[bool]
    words: NotRequired[str]
    """The reading in a sentence, or what to do."""


class FindingsJson(TypedDict):
    """All findings of the doctor, and the worst grade among them."""

    worst: Grade
    findings: list[Finding]


class SettingsSaved(TypedDict):
    """Settings were saved.

    `note` says when settings that need a restart take effect. It is empty if all settings are in
    effect already.
    """

    note: str


class TrialJson(TypedDict):
    """The check of the pads: whether it is on, and what its keys and lamps do.

    `down` are the keys that are pressed now, `tried` those that were pressed since the check began,
    and `lit` the lamps that are lit.
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
    """Positions in the picture of the rendered table, in pixels."""

    size: tuple[int, int]
    pieces: list[WorldPieceJson]
    squares: dict[str, tuple[int, int]]
    """Centre of each square."""
    hand: str | None
    frame: int
    """Changes whenever the positions do."""


class WorkbenchJson(WorldJson):
    """The rendered table and the simulated panel: its lamps, its tone in Hz, and its keys."""

    lamps: dict[str, bool]
    tone: float | None
    buttons: list[str]
