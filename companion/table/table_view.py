"""What one viewer may know of the table, as values: `TableView` and its parts.

`companion.table.views` makes them. Pages, voices, the API and brokers read nothing else of a table.
The API has its own names (`web/rendering/answers.py`), which stay the same if these change.

The words (sealed, receipt, moment, stage, door) are explained in `companion.table.session`.
"""

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
from companion.table.session import Phase, SealedAction, Viewer
from companion.table.state import Instruction, TimedHeadline


@dataclass(frozen=True)
class SeatView:
    """A seat and its player, as everybody may see them."""

    seat: Seat
    side: Side | None
    """The name, colour and shape of the seat in the chosen or running game. None without a game."""
    name: str | None
    """Name of the player as typed, perhaps empty. None if the seat is free."""
    door: str
    """What the player plays by: `phone`, `pad`, `machine` or `remote`. Empty while it is free."""
    is_awaited: bool
    """Whether the table waits for an action of this seat."""
    sealed_at: float | None
    """Unix time in seconds at which the action was handed in. None if nothing is sealed."""
    receipt: str | None
    """The SHA-256 of the sealed action, which everybody can check after the reveal. None if nothing
    is sealed.
    """
    entered_count: int
    """Number of orders that are entered on the pad. Which ones they are stays secret."""
    sitting: str
    """Id of the present player's stay in this seat. It changes with the player and reveals nothing
    else. An input about the shown player has to name it.
    """
    is_coached: bool
    """Whether this seat has asked the coach during the game. The score says so."""
    has_card: bool
    """Whether the player has shown a player's card, by which a hub knows them."""


# The name of this class and its docstring are in the API's description.
@dataclass(frozen=True)
class Opened:
    """A revealed action in notation, with what its receipt was made of.

    Anybody can check the receipt (`receipt_of`).
    """

    seat: Seat
    moment: str
    """The decision for which it was handed in, such as `3.2`."""
    action: str
    salt: str
    receipt: str
    """SHA-256 of `"MOMENT SEAT ACTION SALT"`."""


@dataclass(frozen=True)
class ClockView:
    """A clock: that of the decision that is due, or a seat's chess clock.

    Its fields are also the API's. Times are in seconds.
    """

    limit_s: float
    """Time at the start of the clock."""
    left_s: float
    """Time left when the clock was last started, or now if it is stopped."""
    due_s: float | None
    """Time by `Table.now_s` at which it runs out. None while it is stopped."""
    paused: str
    """Who or what paused it, as `Session.paused_by`. Empty while it is not paused."""
    has_run_out: bool
    """Whether no time is left, in a game that only sounds an alarm then."""

    def left_at_s(self, now_s: float) -> float:
        """Return the time left at a time by `Table.now_s`, rounded to a tenth."""
        left_s = self.left_s if self.due_s is None else self.due_s - now_s
        return round(max(0.0, left_s), 1)


@dataclass(frozen=True)
class TurnView:
    """The turn that is due or shown, as far as its stages have been revealed."""

    number: int
    """Number of the turn by the game's own count, which is 0 during its set-up."""
    stage: int
    """Index of the stage that is shown, in the stages of its turn."""
    title: str
    """Title of the shown stage, as a sentence. Empty while no stage is shown."""
    stage_count: int
    """Number of stages that a turn can have, 0 while no stages are shown. How many this one has
    stays secret until its last stage.
    """
    instructions: tuple[Instruction, ...]
    orders: tuple[Mapping[Seat, Order], ...]
    """Orders of the revealed stages, by seat."""
    sheets: Mapping[Seat, tuple[UnitOrder, ...]]
    """Orders of each seat's pieces, as far as the shown stages have revealed them."""
    events: tuple[Event, ...]
    """What happened in the shown stage."""
    revealed_orders: tuple[Opened, ...]
    """The actions of the last turn that is completely revealed, for checking the receipts."""
    tallies: tuple[Tally, ...]
    """Sums to show with the stage: its own, or the last ones before it in this turn."""
    is_open: bool
    """Whether anybody at the table may act for the seat on turn, as on a chess clock."""
    headline: TimedHeadline | None
    """The current headline. None while hands are at work or no stage is shown."""
    previous_stages: tuple[Stage, ...]
    """Stages of the last turn of both seats, for looking back while the next orders are due."""


@dataclass(frozen=True)
class BoardView:
    """The layouts of the board, what the camera sees of it, and what the game shows beside it."""

    layout: Layout
    """Layout before the stage that is shown. If the board is not checked, the last expected one."""
    undone_layout: Layout
    """Layout from which hands put the last turn back. Empty unless a turn is being undone."""
    undo_moves: tuple[HandMove, ...]
    """Moves that would undo the last turn, while a seat asks for that."""
    target: Layout | None
    """Layout that is expected when hands are done. None if nothing is checked."""
    unknown: frozenset[Square]
    """Squares that the camera cannot see, because a hand or something else hides them."""
    problems: Problems
    """What is wrong on the board, and what hands should do about it."""
    broken_rule: Illegal | None
    """The rule that the board breaks now. None if it breaks none, or has no problems."""
    is_seen_by_camera: bool
    """Whether the camera sees the board of this game now."""
    suggested_game: str | None
    """The game whose board lies on the table between games."""
    fans: Layout
    """Open cards that the camera reads, by zone."""
    card_ui: CardUi | None
    """What a game of cards shows this viewer. None in a game of pieces."""
    board_ui: BoardUi | None
    """What a game of pieces shows this viewer beside its board. None if it shows nothing more."""
    tiles_ready: frozenset[Seat] | None
    """Seats whose players have said that their order tiles lie ready. None if the camera reads no
    tiles now.
    """


@dataclass(frozen=True)
class OwnView:
    """What only the viewer may know or do."""

    pad: PadGrammar | None = None
    """The keys that give the viewer's orders. None if the game takes none now."""
    sealed: SealedAction | None = None
    """The viewer's own action that is handed in and not revealed yet. None if there is none."""
    take_back_moment: str | None = None
    """The moment to name for taking back the viewer's last action. None if nothing can be taken
    back.
    """
    laid_action: str | None = None
    """The action that the camera has read from open cards or pieces, in notation. The key Ready
    confirms it. None if the board shows none.
    """
    possible_actions: tuple[str, ...] = ()
    """The actions, in notation, from which the viewer has to choose (see `TableState`)."""


@dataclass(frozen=True)
class TimeView:
    """The clock of the decision that is due, and both seats' chess clocks if there are any."""

    clock: ClockView | None = None
    clocks: Mapping[Seat, ClockView] = field(default_factory=dict)


@dataclass(frozen=True)
class MatchView:
    """The result so far of game and match, and what the players have asked of each other."""

    score: Score
    """The match so far: wins of South, wins of North, ties."""
    outcome: Outcome | None
    """How the game ended. None while it is running."""
    draw_offer: Seat | None
    offer_words: str
    """A sentence that a draw is offered. Empty without an offer."""
    undo_requester: Seat | None
    """The seat that wants to undo the last turn and waits for the other's consent."""
    can_undo: bool
    can_swap: bool
    """Whether a rematch can be played with changed sides."""
    log: tuple[str, ...]
    """The last sentences about events, oldest first."""
    round_players: str
    """The players of a tournament's round at this table, as a sentence. Empty without a round."""


@dataclass(frozen=True)
class DevicesView:
    """The state of camera and pads, and notices of trouble."""

    camera: CameraStatus
    panel_notice: str
    """A sentence about the pads. Empty if there is nothing to say."""
    notices: tuple[str, ...]
    """Lasting troubles that stop nothing, as sentences."""


@dataclass(frozen=True)
class FairnessView:
    """Where chance comes from, so that everybody can check it."""

    chance: ChanceView | None
    """The source of chance in this game. None without chance."""
    next_commitment: str
    """The commitment to the chance of the next game. Empty while a game is running."""


@dataclass(frozen=True)
class TableView:
    """Everything that a page may show to one viewer."""

    version: int
    """Number that rises with every change that a page could show."""
    viewer: Viewer
    """The seat that looks, or None for a page that everybody may see."""
    phase: Phase
    moment: str
    """The id of the decision that is due, such as `3.2`. An action must name it to be in time."""
    game: str | None
    """Name of the running or last game. None in the lobby."""
    chosen_game: str | None
    """Name of the game that was chosen in the lobby, before it begins."""
    title: str
    """Title of the game, or of the program in the lobby."""
    kit: Kit | None
    """The game's board and pieces. None in the lobby."""
    sign: Sign
    """The one sentence that says what the table waits for."""
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
    """The progress of a game, and whether the camera works. Cheaper to compute than a view."""

    number: int
    """Number of the game in the journal."""
    phase: Phase
    moment: str
    turn_numbers: Mapping[str, int]
    """Number of each turn so far by the game's own count, by moment."""
    is_board_right: bool
    """Whether nothing is wrong on the board, as far as the camera sees it."""
    camera: CameraState
