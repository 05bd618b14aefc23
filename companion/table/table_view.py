"""What one viewer may know of the table, as values. `companion.table.views` makes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from companion.core.errors import Illegal
from companion.core.grid import Square
from companion.core.kit import Kit, Layout, Seat, Side
from companion.core.ports import CameraState, CameraStatus
from companion.games.base import Event, Order, Outcome, Stage
from companion.games.pads import PadGrammar
from companion.games.screen import BoardUi, CardUi, Possible, Tally, UnitOrder
from companion.table.board_check import HandMove, Problems
from companion.table.chance.game_chance import ChanceView
from companion.table.prompts.guide import GuideView
from companion.table.prompts.sign import Sign
from companion.table.records import Score
from companion.table.session import Phase, Sealed, Viewer
from companion.table.state import Instruction, TimedHeadline


@dataclass(frozen=True)
class SeatView:
    """A seat as everybody may see it. `name` is as typed (None if free), `entered` the number of
    orders on the pad.

    `sitting` changes with the player and reveals nothing else. An input that refers to the shown
    player names it. `coached`: the player has asked the coach in this game. `has_card`: a player's
    card of the hub was shown.
    """

    seat: Seat
    side: Side | None
    name: str | None
    door: str
    awaited: bool
    sealed_at: float | None
    receipt: str | None
    entered: int
    sitting: str
    coached: bool
    has_card: bool


@dataclass(frozen=True)
class Opened:
    """An order that everybody may check: `receipt` is SHA-256 of `"moment seat action salt"`."""

    seat: Seat
    moment: str
    action: str
    salt: str
    receipt: str


@dataclass(frozen=True)
class ClockView:
    """The clock of the decision that is due. Times are in seconds, by `Table.now_s`.

    `due_s` is when it runs out, None while it is paused with `left_s` to go. `paused` names who
    paused it (`start` before its first start, `restart`, `undo`). `has_run_out`: the time is over,
    and only the alarm sounded.
    """

    limit_s: float
    left_s: float
    due_s: float | None
    paused: str
    has_run_out: bool


@dataclass(frozen=True)
class TurnView:
    """The turn that is due or shown, as far as its stages are open."""

    number: int
    stage: int
    title: str
    """Title of the stage that is shown."""
    steps: int
    """Number of stages that a turn can have. The number of this turn stays secret until its last
    stage.
    """
    instructions: tuple[Instruction, ...]
    orders: tuple[Mapping[Seat, Order], ...]
    """Orders of the stages that are open."""
    sheets: Mapping[Seat, tuple[UnitOrder, ...]]
    """Orders of each seat's pieces, as far as the shown stages have revealed them."""
    events: tuple[Event, ...]
    opened: tuple[Opened, ...]
    tallies: tuple[Tally, ...]
    """Sums to show with the stage: its own, or the last ones before it in this turn."""
    is_open: bool
    """Whether anybody at the table may act for the seat on turn."""
    headline: TimedHeadline | None
    """The current headline. None while hands are at work or no stage is shown."""
    past: tuple[Stage, ...]
    """Stages of the last turn of both seats, while the next orders are due."""


@dataclass(frozen=True)
class BoardView:
    """The layouts of the board, as it is and as it should be, and what the game shows beside it."""

    layout: Layout
    """Layout before the stage that is shown."""
    put_back: Layout
    """Layout on the board while a turn is put back. Empty at other times."""
    back_moves: tuple[HandMove, ...]
    """Moves that would undo the last turn, while a seat asks for that."""
    target: Layout | None
    """Layout that is expected when hands are done. None if nothing is checked."""
    unknown: frozenset[Square]
    problems: Problems
    why_not: Illegal | None
    """The rule that the board breaks now."""
    watched: bool
    suggested: str | None
    """The game whose board lies on the table between games."""
    fans: Layout
    """Open cards that the camera reads, by zone."""
    tableau: CardUi | None
    """What a game of cards and counters shows this viewer. None if the board shows everything."""
    standing: BoardUi | None
    """What a game of pieces shows this viewer beside its board. None if the board shows
    everything.
    """
    tiles_ready: frozenset[Seat] | None
    """Seats that have said that their order tiles lie. None if the camera reads no tiles now."""


@dataclass(frozen=True)
class OwnView:
    """What only the viewer may know or do."""

    pad: PadGrammar | None = None
    sealed: Sealed | None = None
    back: str | None = None
    """The moment to name for taking back the viewer's last action. None if nothing can be taken
    back.
    """
    laid: str | None = None
    """The action that the open cards or pieces stand for. Ready confirms it."""
    choices: tuple[str, ...] = ()
    """The plays that the board can mean, if the viewer has to choose one."""


@dataclass(frozen=True)
class TimeView:
    """The clock of the decision that is due, and both seats' chess clocks if there are any."""

    clock: ClockView | None = None
    clocks: Mapping[Seat, ClockView] = field(default_factory=dict)


@dataclass(frozen=True)
class MatchView:
    """The state of game and match. `log` has the last sentences, oldest first."""

    score: Score
    outcome: Outcome | None
    draw_offer: Seat | None
    offer: str
    """A sentence that a draw is offered. Empty without an offer."""
    back_wanted: Seat | None
    """The seat that wants to undo the last turn and waits for the other's consent."""
    can_undo: bool
    can_swap: bool
    """Whether a rematch can be played with changed sides."""
    log: tuple[str, ...]
    round: str
    """The players of a tournament's round at this table, as a sentence. Empty without a round."""


@dataclass(frozen=True)
class DevicesView:
    """The state of camera and pads, and notices of trouble."""

    camera: CameraStatus
    panel: str
    notices: tuple[str, ...]


@dataclass(frozen=True)
class FairnessView:
    """The source of chance in this game (None without chance), and the commitment for the next
    one.
    """

    chance: ChanceView | None
    next_commitment: str


@dataclass(frozen=True)
class TableView:
    """Everything that a page may show to one viewer (`viewer` None: everybody)."""

    version: int
    viewer: Viewer
    phase: Phase
    moment: str
    game: str | None
    chosen: str | None
    """The game that was chosen in the lobby."""
    title: str
    kit: Kit | None
    sign: Sign
    seats: Mapping[Seat, SeatView]
    turn: TurnView
    board: BoardView
    own: OwnView
    time: TimeView
    match: MatchView
    devices: DevicesView
    fairness: FairnessView
    guide: GuideView | None
    """The lesson of a guided first game at its current step. None without a lesson or after it."""
    help: tuple[Possible, ...]
    """What the rules allow now, if somebody at the table has asked. It contains nothing secret."""


@dataclass(frozen=True)
class Progress:
    """The progress of a game, and whether the camera works. Cheap to compute.

    `number` is the game's. `turns` maps the moment of each turn so far to the game's number of the
    turn.
    """

    number: int
    phase: Phase
    moment: str
    turns: Mapping[str, int]
    is_right: bool
    """Whether the board has no known faults."""
    camera: CameraState
