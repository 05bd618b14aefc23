"""What one viewer may know of the table, as values; `companion.table.views` makes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from companion.core.errors import Illegal
from companion.core.grid import Square
from companion.core.kit import Kit, Layout, Seat, Side
from companion.core.ports import CameraState, CameraStatus
from companion.games.base import Event, Order, Outcome, Stage
from companion.games.pads import PadGrammar
from companion.games.screen import BoardUi, CardUi, Headline, Possible, Tally, UnitOrder
from companion.table.board_check import HandMove, Problem
from companion.table.chance.game_chance import ChanceView
from companion.table.prompts.guide import GuideView
from companion.table.prompts.sign import Sign
from companion.table.records import Score
from companion.table.seats.coaching import MachineReasons
from companion.table.session import Phase, Sealed
from companion.table.state import Instruction


@dataclass(frozen=True)
class SeatView:
    """A seat as everybody may see it. `name` is as it was typed (None: free), `entered`: orders on
    the pad so far.

    `sitting` changes with whoever sits there and tells nothing else: who acts on what is shown
    names it. `coached`: it has asked the coach in this game. `has_card`: a player's card of the hub
    was shown.
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
    """The clock of the decision that is due. Times are those of `Table.now_s`, seconds.

    `due_s`: when it runs out (None: it stands still with `left_s`). `paused` says who stopped it
    (`start`: nobody has started it yet; `restart`, `undo`); `has_run_out`: the time is over and
    only the alarm sounded.
    """

    limit_s: float
    left_s: float
    due_s: float | None
    paused: str
    has_run_out: bool


@dataclass(frozen=True)
class TimedHeadline:
    """A headline, its number in its stage from 0, and until when it is to be read, a monotonic
    time.

    `lasts_s` is the whole time to read; 0: until somebody taps.
    """

    content: Headline
    number: int
    lasts_s: float
    due_s: float


@dataclass(frozen=True)
class TurnView:
    """The turn that is due or shown, as far as its stages are open."""

    number: int
    stage: int
    title: str
    """Of the stage that is shown."""
    steps: int
    """How many stages a turn can have; how many this one has is not told before the last."""
    instructions: tuple[Instruction, ...]
    orders: tuple[Mapping[Seat, Order], ...]
    """The orders of the stages that are open."""
    sheets: Mapping[Seat, tuple[UnitOrder, ...]]
    """The orders of each seat's pieces, as far as the stages that were shown have opened them."""
    events: tuple[Event, ...]
    opened: tuple[Opened, ...]
    tallies: tuple[Tally, ...]
    """Sums to be shown with the stage: its own, or the last ones before it in this turn."""
    is_open: bool
    """Anybody at the table may act for the seat on turn."""
    headline: TimedHeadline | None
    """What is told now while nobody has to do anything; None: hands are at work, or nothing is
    shown."""
    past: tuple[Stage, ...]
    """The stages of the last turn of both, while the next orders are due."""


@dataclass(frozen=True)
class BoardView:
    """What lies on the table, what should lie there, and what the game shows beside it."""

    layout: Layout
    """What lay on the board before the stage that is shown."""
    put_back: Layout
    """What lies there while a turn is put back; empty: none is."""
    back_moves: tuple[HandMove, ...]
    """The moves that would take the last turn back, while a seat wants that."""
    target: Layout | None
    """What should lie there when hands are done; None: nobody checks."""
    unknown: frozenset[Square]
    problems: tuple[Problem, ...]
    why_not: Illegal | None
    """The rule that the board breaks as hands have left it."""
    watched: bool
    suggested: str | None
    """The game whose board lies there while none is on."""
    fans: Layout
    """The open cards that the camera reads, by zone."""
    tableau: CardUi | None
    """What a game of cards and counters shows this viewer; None: the board says it all."""
    standing: BoardUi | None
    """What a game of pieces shows this viewer beside its board; None: the board says it all."""
    tiles_ready: frozenset[Seat] | None
    """Whose order tiles lie, as they have said; None: the camera reads none now."""


@dataclass(frozen=True)
class OwnView:
    """What is the viewer's alone to know or to do."""

    pad: PadGrammar | None
    sealed: Sealed | None
    back: str | None
    """The moment to name in order to take back what the viewer handed in or did last; None:
    nothing."""
    laid: str | None
    """The action that cards or pieces laid open mean: ready says yes."""
    choices: tuple[str, ...]
    """The plays that the board can mean, where the viewer has to say which."""
    examples: tuple[str, ...]
    """Sensible first actions, for who asks; nothing once the game is under way or while a guide
    leads."""


@dataclass(frozen=True)
class TimeView:
    """The clock of the decision that is due, and both seats' chess clocks, of which it is one,
    where there are any.
    """

    clock: ClockView | None
    clocks: Mapping[Seat, ClockView]


@dataclass(frozen=True)
class MatchView:
    """How the game and the match stand; `log` has the last sentences, oldest first."""

    score: Score
    outcome: Outcome | None
    draw_offer: Seat | None
    offer: str
    """That a draw is offered, and how a pad accepts it; empty: none is."""
    back_wanted: Seat | None
    """Who wants the last turn back and waits for the other's yes."""
    can_undo: bool
    can_swap: bool
    """Can a rematch be played with sides changed?"""
    log: tuple[str, ...]
    round: str
    """Who is to play here in a tournament's round, as a sentence; empty: nobody in particular."""


@dataclass(frozen=True)
class DevicesView:
    """Camera, pads and what is wrong."""

    camera: CameraStatus
    panel: str
    notices: tuple[str, ...]


@dataclass(frozen=True)
class FairnessView:
    """Where chance comes from in this game (None: there is none in it), and the commitment for the
    next one.
    """

    chance: ChanceView | None
    next_commitment: str
    can_disclose: bool
    """Is it over, but still hides where its chance came from because it can be taken back?"""


@dataclass(frozen=True)
class TableView:
    """Everything that a page may show to one viewer (`viewer` None: everybody)."""

    version: int
    viewer: Seat | None
    phase: Phase
    moment: str
    game: str | None
    chosen: str | None
    """The game that somebody has chosen in the lobby."""
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
    """The lesson of a guided first game, as far as it has come; None: there is none, or it is
    over."""
    help: tuple[Possible, ...]
    """What the rules allow now, once somebody at the table has asked; nothing that only a seat may
    know."""
    reasons: MachineReasons | None
    """Why the machine did what it did last, once somebody at the table has asked."""
    explains: Seat | None
    """The machine that can be asked why it did what it did last; None: there is none now."""


@dataclass(frozen=True)
class Progress:
    """How far a game has come, and whether the camera works; cheap to ask.

    `turns` are the moments of the turns so far, each with its number as the game counts; `number`
    is the game's.
    """

    number: int
    phase: Phase
    moment: str
    turns: Mapping[str, int]
    is_right: bool
    """Nothing is known to be wrong on the board."""
    camera: CameraState
