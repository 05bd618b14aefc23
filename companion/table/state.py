"""The state of the table at one moment: the session, and what need not survive a restart.

`TableStore` holds the current `TableState`, and everything that viewers see is computed from it.
Code that works on it calls it `live`. The functions below it are those that several modules need:
for headlines, for the problems of the board, and for the instructions to hands. The words (stage,
headline, moment) are explained in `companion.table.session`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Literal

from companion.core.errors import Illegal
from companion.core.grid import Square
from companion.core.i18n import Verbatim, listed, say
from companion.core.kit import Kit, Layout, RowSeen, RowsWanted, Seat
from companion.core.ports import CameraState, CameraStatus, Reading
from companion.games.pads import Draft
from companion.games.screen import Headline
from companion.table import board_check
from companion.table.board_check import NO_READING, BoardBefore, HandMove, Problems
from companion.table.records import HandIn
from companion.table.session import Phase, Session, Viewer

# Topic, among `TableState.notices`, of the sentence that the journal cannot be written.
WRITE_ERROR = "write"

NO_CAMERA = CameraStatus(CameraState.NONE)
# Subject of a seat's question: what to do now, what to think of its own last public action, or why
# the machine opposite has acted as it did.
CoachSubject = Literal["now", "last", "theirs"]
# Maximum number of machine actions whose reasons are stored. Only those of a machine's last turn
# are shown, which has a few actions at most.
MAX_REASONS = 40


@dataclass(frozen=True)
class CountedDraft:
    """What has been entered on a seat's pad and not handed in, with its number of orders."""

    keys: Draft = ()
    count: int = 0
    """Number of complete orders in it. The lamps show it, because it reveals nothing else."""


NO_DRAFT = CountedDraft()


@dataclass(frozen=True)
class TileState:
    """The order tiles, which players lay in rows behind walls, in a game that has them."""

    ready_seats: frozenset[Seat] = frozenset()
    """Seats whose players have said that their row lies ready."""
    faulty_rows: Mapping[Seat, RowSeen] = field(default_factory=dict)
    """Rows that the camera could not read, with the fault of each."""
    requested_rows: RowsWanted | None = None
    """Rows that the camera has been asked to read. None while no answer is due."""


NO_TILES = TileState()


@dataclass(frozen=True)
class TimedHeadline:
    """A headline of a stage, and how long it is shown."""

    content: Headline
    index: int
    """Index of the headline in its stage, among those that are shown."""
    duration_s: float = 0.0
    """Reading time in seconds. 0 if it waits for a tap."""
    due_s: float = math.inf
    """Monotonic time at which it ends. Infinite if it waits for a tap."""


@dataclass(frozen=True)
class TableState:
    """The table at one moment: the session, and what need not survive a restart.

    It never changes. Whoever changes the table makes another one (`dataclasses.replace`).
    """

    # ---- what is shown ----
    session: Session
    """The part that the journal can restore."""
    version: int = 0
    """Number that rises with every change that a page could show."""
    stage_since_s: float = 0.0
    """Monotonic time at which the current phase or stage was first shown."""
    headline: TimedHeadline | None = None
    """The current headline. None while hands are at work or no stage is shown."""
    is_help_shown: bool = False
    """Whether the table screen shows what can be done now."""

    # ---- the camera and the board ----
    camera: CameraStatus = NO_CAMERA
    """Whether the camera works and sees a board."""
    reading: Reading = NO_READING
    """What the camera saw last, of whichever board lay there."""
    problems: Problems = ()
    """What is wrong on the board, without `overruled_problems`."""
    disagrees_since_s: float | None = None
    """Monotonic time since which the camera has disagreed with what is shown. None if it agrees."""
    overruled_problems: Problems = ()
    """Problems that somebody has overruled by confirming the board by hand."""
    broken_rule: Illegal | None = None
    """The rule that forbids what hands have done on the board. None if they have broken none."""
    touched_squares: frozenset[Square] = frozenset()
    """Squares whose pieces were hidden or lifted since the current stage began, which shows that
    hands were there.
    """
    markers_before: Mapping[Square, int] = field(default_factory=dict)
    """The id of the marker that was read on each square when the board last had no problems. It
    tells apart pieces that look the same.
    """
    fans_before: Layout = field(default_factory=dict)
    """The open cards of each zone (see `Deck`), at the beginning of the decision that is due."""

    # ---- actions that are not handed in yet ----
    drafts: Mapping[Seat, CountedDraft] = field(default_factory=dict)
    """What is entered on the pads, by seat."""
    tiles: TileState = NO_TILES
    possible_actions: tuple[str, ...] = ()
    """Actions in notation that the board may show, from which the player on turn has to choose.

    There are several, or a single one that the board does not prove. Empty if nothing has to be
    chosen.
    """
    laid_actions: Mapping[Seat, str] = field(default_factory=dict)
    """Actions in notation that lie open on the table and wait to be confirmed, by seat."""
    early_press: HandIn | None = None
    """A press of the clock while hands were still at the board. It waits for the camera and keeps
    its time stamp. None if no press is waiting.
    """

    # ---- the lobby ----
    suggested_game: str | None = None
    """The game whose board lies on the table between games."""
    remembered_game: str | None = None
    """The game that the owner started last. None if there is none."""
    chosen_game: str | None = None
    """The game that was chosen in the lobby. None while all are offered."""
    round_players: str = ""
    """The players of a tournament's round at this table, as a sentence. Empty without a round."""

    # ---- devices and programs ----
    panel_notice: str = ""
    """A sentence about the pads. Empty if there is nothing to say."""
    notices: Mapping[str, str] = field(default_factory=dict)
    """Lasting troubles, as sentences by topic. An empty sentence is no trouble."""
    has_own_wifi: bool = False
    """Whether the table has opened its own Wi-Fi. The lamps show that between games."""
    machine_reasons: Mapping[tuple[Seat, str], tuple[str, ...]] = field(default_factory=dict)
    """Sentences in which machines explain their actions, by seat and moment. Secret until the turn
    is open (`coaching.explained_turn_indices`).
    """

    @property
    def is_in_trouble(self) -> bool:
        """Whether the lamps should show trouble."""
        return bool(self.notices.get(WRITE_ERROR)) or self.camera.state is CameraState.TROUBLE

    @property
    def has_cards(self) -> bool:
        """Whether this game's board has cards instead of pieces."""
        kit = self.session.kit
        return kit is not None and kit.deck is not None

    @property
    def shows_expected_layout(self) -> bool:
        """Whether the camera sees the expected layout."""
        return self.shows_layout(self.session.expected_layout)

    def shows_layout(self, layout: Layout | None) -> bool:
        """Return whether the camera sees this layout, as far as a picture can prove it.

        False for None, and while something moves. If a piece lies on another one that looks the
        same, its marker must be visible.
        """
        kit = self.session.kit
        if layout is None or kit is None:
            return False
        if kit.deck:
            return board_check.shows_cards(layout, self.reading)
        before = BoardBefore(kit, self.layout_before_hands, self.markers_before)
        reading = board_check.with_expected_stacks(
            kit, layout, self.reading, before.layout, self.touched_squares
        )
        return (
            board_check.shows_layout(layout, reading, before.layout)
            and not _problems_now_hidden(self, layout)
            and board_check.are_lookalikes_proven(before, layout, self.reading)
        )

    def laid_action_for(self, viewer: Viewer) -> str | None:
        """Return the action that lies open on the table, if the viewer may confirm it, else None.

        In an open game everybody may confirm and see it.
        """
        if self.session.is_open:
            return next(iter(self.laid_actions.values()), None)
        return self.laid_actions.get(viewer) if viewer in self.session.awaited_seats else None

    @property
    def layout_before_hands(self) -> Layout:
        """The layout before hands began. Empty in the set-up of a new game."""
        if self.session.phase is Phase.SETUP:
            return self.session.undone_layout
        return self.session.layout or {}

    @property
    def quiet_reading(self) -> Reading:
        """A reading of this game's board on which nothing moves, or an empty one."""
        return self.reading if self.sees_board and self.reading.quiet else NO_READING

    @property
    def sees_board(self) -> bool:
        """Whether the camera sees this game's board, and can tick off instructions."""
        game = self.session.game
        return game is not None and self.reading.game == game.name


def with_session(live: TableState, session: Session, now_s: float) -> TableState:
    """Return the table's state with another session, after a record or in the lobby.

    What belonged to an older decision or stage is dropped.
    """
    before = live.session
    reading = live.reading
    live = replace(live, session=session)
    # Forget what belonged to the old decision if another one is due, or if the phase has changed.
    if session.moment != before.moment or session.phase is not before.phase:
        live = replace(
            live,
            drafts={},
            overruled_problems=(),
            possible_actions=(),
            laid_actions={},
            tiles=NO_TILES,
            is_help_shown=False,
            broken_rule=None,
            fans_before=reading.fans,
        )
        # While no camera sees a board, the markers that were read last remain.
        if session.phase is Phase.ORDERS and reading.game is not None:
            live = replace(live, markers_before=reading.markers)
    if session.phase is not Phase.LOBBY or (before.seats and not session.seats):
        live = replace(live, chosen_game=None)
    # The tiles of a seat that has handed in by phone or pad meanwhile no longer count.
    if not live.tiles.ready_seats <= session.awaited_seats:
        faulty_rows = {
            seat: row
            for seat, row in live.tiles.faulty_rows.items()
            if seat in session.awaited_seats
        }
        live = replace(
            live, tiles=TileState(live.tiles.ready_seats & session.awaited_seats, faulty_rows)
        )
    # If another stage is shown, check the board again. Hands have not touched anything for it yet.
    if session.stage_key != before.stage_key:
        problems = problems_of(live)
        live = replace(
            live,
            stage_since_s=now_s,
            problems=problems,
            disagrees_since_s=now_s if problems else None,
            touched_squares=frozenset(),
        )
    # If another game lies on the table, forget the reading of the old one's board.
    if session.kit != before.kit:
        live = replace(live, reading=NO_READING, problems=(), suggested_game=None)
    return live


# ---- headlines -----------------------------------------------------------------------------------


def stage_headline(session: Session, index: int) -> TimedHeadline | None:
    """Return a headline of the current stage by its index. None after the last one.

    It has no time yet (see `TableStore.timed_headline`). If hands have work in the stage, only
    headlines with a drawing are shown. If they have none and the stage has no headline, the text of
    its last event or its title is shown as one.
    """
    if session.phase is not Phase.STAGES:
        return None
    stage = session.shown_stage
    headlines = stage.headlines
    if session.needs_hands:
        headlines = tuple(headline for headline in headlines if headline.scene)
    elif not headlines:
        headlines = (Headline(stage.events[-1].text if stage.events else stage.title),)
    return TimedHeadline(headlines[index], index) if index < len(headlines) else None


# ---- problems of the board -----------------------------------------------------------------------


def problems_of(live: TableState) -> Problems:
    """Return the problems that the last reading shows, without those that were overruled.

    While something moves, the previous problems stay. Empty while no board is checked or seen.
    """
    session = live.session
    reading = live.reading
    kit = session.kit
    target = session.expected_layout
    is_checked = not session.is_between_games and live.sees_board
    if not is_checked or kit is None or kit.deck or target is None:
        return ()
    if not reading.quiet:
        return live.problems
    problems = board_check.find_problems(kit, live.layout_before_hands, target, reading)
    homes = set(map(attrgetter("home"), problems))
    for problem in _problems_now_hidden(live, target):
        if problem.home not in homes:
            problems = (*problems, problem)
    remaining = []
    for problem in problems:
        if problem not in live.overruled_problems:
            remaining.append(problem)
    return tuple(remaining)


def _problems_now_hidden(live: TableState, layout: Layout) -> Problems:
    """Return the previous problems on squares that are hidden now.

    They stay, because a hand over an empty square does not bring the missing piece back.
    """
    missed = []
    for problem in live.problems:
        if problem.home in live.reading.unknown and problem.face in layout.get(problem.home, ()):
            missed.append(problem)
    return tuple(missed)


# ---- instructions to hands -----------------------------------------------------------------------


@dataclass(frozen=True)
class Instruction:
    """One thing that hands should do."""

    move: HandMove
    """The move of pieces, and whether it is done. It has no faces if there is only a sentence."""
    seat: Seat
    """The seat whose player does it."""
    text: str
    """The sentence for it, with at most 40 letters."""


def instructions_of(live: TableState) -> tuple[Instruction, ...]:
    """Return everything that hands have to do for the set-up or stage, done or not.

    South's moves come first. If the stage has sentences instead (`Stage.todo`), they keep their
    order.
    """
    session = live.session
    kit = session.kit
    target = session.expected_layout
    if todo := session.shown_stage.todo:
        done = live.sees_board and live.shows_expected_layout
        return tuple(
            Instruction(HandMove((), None, None, done), session.piece_mover(seat), text)
            for seat, text in todo
        )
    is_for_hands = session.phase in (Phase.STAGES, Phase.SETUP)
    if not is_for_hands or kit is None or kit.deck or target is None:
        return ()
    reading = live.reading if live.sees_board else NO_READING
    moves = board_check.hand_moves(
        kit, live.layout_before_hands, target, reading, live.touched_squares
    )
    unsorted = (build_instruction(session, kit, move) for move in moves)
    return tuple(sorted(unsorted, key=lambda instruction: instruction.seat.number))


def build_instruction(session: Session, kit: Kit, move: HandMove) -> Instruction:
    """Return the instruction for a move of pieces. Its sentence also names carried pieces.

    The player of the piece's seat carries it out, or the person opposite if a machine plays it.
    """
    # A carried ball belongs to nobody, so it is sorted first.
    *carried, piece = sorted(move.faces, key=lambda face: kit.face(face).seat is not None)
    owner = kit.face(piece).seat
    seat = session.piece_mover(owner or Seat.SOUTH)
    side = kit.sides[seat].name
    # The sentence begins with the side, so the piece is named without it.
    short_name = kit.kind(piece).removeprefix(f"{kit.sides[owner or Seat.SOUTH].name} ")
    pieces = [say("{piece}", piece=short_name)]
    if owner is not None and owner is not seat and short_name != kit.kind(piece):
        name = Verbatim(session.seats[owner].name)
        pieces = [say("{name}’s {piece}", name=name, piece=short_name)]
    # For a carried piece the last word of its name is enough, such as "ball".
    for face in reversed(carried):
        pieces.append(say("{piece}", piece=kit.kind(face).split()[-1]))
    what = listed(pieces)
    origin = move.origin
    target = move.target
    square = origin if target is None else target
    parts = {"side": side, "what": what, "origin": origin, "target": target, "square": square}
    if move.is_in_place:
        text = say("{side!c}: turn {what} over on {square}", **parts)
    elif origin is None:
        text = say("{side!c}: {what} to {square}", **parts)
    elif target is None:
        text = say("{side!c}: take {what} off {square}", **parts)
    elif session.phase is Phase.SETUP:
        text = say("{side!c}: {what} back to {square}", **parts)
    elif move.is_turned_over:
        text = say("{side!c}: {what}, {origin} to {target}, turned over", **parts)
    else:
        text = say("{side!c}: {what}, {origin} to {target}", **parts)
    return Instruction(move, seat, text)
