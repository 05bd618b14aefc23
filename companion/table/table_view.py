"""What one viewer may know of the table, as values: `TableView` and its parts.

`companion.table.views` makes them. Pages, lamps, the API and brokers read nothing else of a table.
The API has its own names (`web/rendering/answers.py`), which stay the same if these change.
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
from companion.table.session import Phase, Sealed, Viewer
from companion.table.state import Instruction, TimedHeadline


@dataclass(frozen=True)
class SeatView:
    """A seat and its player, as everybody may see them.

    - `side`: how the seat looks in the chosen or running game. None without a game.
    - `name`: name of the player as typed, perhaps empty. None if the seat is free.
    - `door`: what the player plays by: `phone`, `pad`, `machine` or `remote`. Empty while it is
      free.
    - `is_awaited`: whether the seat still has to hand in an action.
    - `sealed_at`: Unix time in seconds at which the action was sealed. None if nothing is
      sealed.
    - `receipt`: receipt of the sealed action. None if nothing is sealed.
    - `entered_count`: number of orders on the pad. Which ones they are stays secret.
    - `sitting`: id of the present player's stay in this seat, which changes with the player and
      reveals nothing else. An input about the shown player names it.
    - `is_coached`: whether the player has asked the coach in this game.
    - `has_card`: whether the player has shown a player's card of the hub.
    """

    seat: Seat
    side: Side | None
    name: str | None
    door: str
    is_awaited: bool
    sealed_at: float | None
    receipt: str | None
    entered_count: int
    sitting: str
    is_coached: bool
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
    """A clock: that of the decision that is due, or a seat's chess clock.

    Its fields are also the API's. Times are in seconds.

    - `limit_s`: time at the start of the clock.
    - `left_s`: time left when the clock was last started, or now if it is stopped.
    - `due_s`: time by `Table.now_s` at which it runs out. None while it is stopped.
    - `paused`: who or what paused it, as `Session.paused_by`. Empty while it is not paused.
    - `has_run_out`: whether no time is left, in a game that only sounds an alarm then.
    """

    limit_s: float
    left_s: float
    due_s: float | None
    paused: str
    has_run_out: bool


@dataclass(frozen=True)
class TurnView:
    """The turn that is due or shown, as far as its stages have been revealed.

    - `number`: the game's number of the turn, 0 during the game's set-up.
    - `stage`: place of the stage that is shown, counted from 0.
    - `title`: title of the stage that is shown.
    - `stage_count`: number of stages that a turn can have. How many this one has stays secret
      until its last stage.
    - `instructions`: what hands have to do now.
    - `orders`: orders of the revealed stages, by seat.
    - `sheets`: orders of each seat's pieces, as far as the shown stages have revealed them.
    - `events`: events of the stage that is shown.
    - `revealed_orders`: sealed orders of the last turn that is completely revealed, for
      checking the receipts.
    - `tallies`: sums to show with the stage: its own, or the last ones before it in this turn.
    - `is_open`: whether anybody at the table may act for the seat on turn, as on a chess clock.
    - `headline`: the current headline. None while hands are at work or no stage is shown.
    - `previous_stages`: stages of the last turn of both seats, while the next orders are due.
    """

    number: int
    stage: int
    title: str
    stage_count: int
    instructions: tuple[Instruction, ...]
    orders: tuple[Mapping[Seat, Order], ...]
    sheets: Mapping[Seat, tuple[UnitOrder, ...]]
    events: tuple[Event, ...]
    revealed_orders: tuple[Opened, ...]
    tallies: tuple[Tally, ...]
    is_open: bool
    headline: TimedHeadline | None
    previous_stages: tuple[Stage, ...]


@dataclass(frozen=True)
class BoardView:
    """The layouts of the board, what the camera sees of it, and what the game shows beside it.

    - `layout`: layout before the stage that is shown.
    - `undone_layout`: layout from which hands put the last turn back. Empty unless a turn is
      being undone.
    - `undo_moves`: moves that would undo the last turn, while a seat asks for that.
    - `target`: layout that is expected when hands are done. None if nothing is checked.
    - `unknown`: squares that the camera cannot see.
    - `problems`: what is wrong on the board, and what hands do about it.
    - `broken_rule`: the rule that the board breaks now. None if it breaks none, or has no
      problems.
    - `is_seen_by_camera`: whether the camera sees the board of the running game.
    - `suggested_game`: the game whose board lies on the table between games.
    - `fans`: open cards that the camera reads, by zone.
    - `card_ui`: what a game of cards shows this viewer. None in a game of pieces.
    - `board_ui`: what a game of pieces shows this viewer beside its board. None if it shows
      nothing more.
    - `tiles_ready`: seats that have said that their order tiles lie. None if the camera reads
      no tiles now.
    """

    layout: Layout
    undone_layout: Layout
    undo_moves: tuple[HandMove, ...]
    target: Layout | None
    unknown: frozenset[Square]
    problems: Problems
    broken_rule: Illegal | None
    is_seen_by_camera: bool
    suggested_game: str | None
    fans: Layout
    card_ui: CardUi | None
    board_ui: BoardUi | None
    tiles_ready: frozenset[Seat] | None


@dataclass(frozen=True)
class OwnView:
    """What only the viewer may know or do.

    - `pad`: the keys that give the viewer's orders. None if the game takes none now.
    - `sealed`: the viewer's own sealed action.
    - `take_back_moment`: the moment to name for taking back the viewer's last action. None if
      nothing can be taken back.
    - `laid_action`: the action that the open cards or pieces stand for, in notation. Ready
      confirms it.
    - `possible_actions`: the actions that the board can mean, in notation, if the viewer has to
      choose one.
    """

    pad: PadGrammar | None = None
    sealed: Sealed | None = None
    take_back_moment: str | None = None
    laid_action: str | None = None
    possible_actions: tuple[str, ...] = ()


@dataclass(frozen=True)
class TimeView:
    """The clock of the decision that is due, and both seats' chess clocks if there are any."""

    clock: ClockView | None = None
    clocks: Mapping[Seat, ClockView] = field(default_factory=dict)


@dataclass(frozen=True)
class MatchView:
    """The result so far of game and match, and what the players have asked of each other.

    - `outcome`: the outcome of the game. None while it is running.
    - `draw_offer`: the seat that offers a draw.
    - `offer_words`: a sentence that a draw is offered. Empty without an offer.
    - `undo_requester`: the seat that wants to undo the last turn and waits for the other's
      consent.
    - `can_undo`: whether the last turn can be undone.
    - `can_swap`: whether a rematch can be played with changed sides.
    - `log`: the last sentences about events, oldest first.
    - `round_players`: the players of a tournament's round at this table, as a sentence. Empty
      without a round.
    """

    score: Score
    outcome: Outcome | None
    draw_offer: Seat | None
    offer_words: str
    undo_requester: Seat | None
    can_undo: bool
    can_swap: bool
    log: tuple[str, ...]
    round_players: str


@dataclass(frozen=True)
class DevicesView:
    """The state of camera and pads, and notices of trouble.

    - `panel`: a sentence about the pads. Empty if there is nothing to say.
    - `notices`: lasting troubles, as sentences.
    """

    camera: CameraStatus
    panel: str
    notices: tuple[str, ...]


@dataclass(frozen=True)
class FairnessView:
    """Where chance comes from, so that everybody can check it.

    - `chance`: the source of chance in this game. None without chance.
    - `next_commitment`: the commitment to the chance of the next game. Empty while a game is
      running.
    """

    chance: ChanceView | None
    next_commitment: str


@dataclass(frozen=True)
class TableView:
    """Everything that a page may show to one viewer (`viewer` None: everybody).

    - `version`: number of changes that a page could show.
    - `moment`: the moment that an action must name to be in time.
    - `game`: name of the running or last game. None in the lobby.
    - `chosen_game`: name of the game that was chosen in the lobby, before it begins.
    - `title`: title of the game, or of the program in the lobby.
    - `guide`: the lesson of a guided first game at its current step. None without a lesson or
      after it.
    - `help`: what the rules allow now, if somebody at the table has asked. It contains nothing
      secret.
    """

    version: int
    viewer: Viewer
    phase: Phase
    moment: str
    game: str | None
    chosen_game: str | None
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
    help: tuple[Possible, ...]


@dataclass(frozen=True)
class Progress:
    """The progress of a game, and whether the camera works. Cheaper to compute than a view.

    - `number`: number of the game in the journal.
    - `turns`: the game's number of each turn so far, by moment.
    - `is_board_right`: whether the board has no known problems.
    """

    number: int
    phase: Phase
    moment: str
    turns: Mapping[str, int]
    is_board_right: bool
    camera: CameraState
