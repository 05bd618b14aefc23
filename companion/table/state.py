"""The state of the table at one moment, including what need not survive a restart."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Literal

from companion.core.errors import Illegal
from companion.core.grid import Square
from companion.core.i18n import Verbatim, listed, say
from companion.core.kit import SEATS, Kit, Layout, RowSeen, RowsWanted, Seat
from companion.core.ports import CameraState, CameraStatus, Reading
from companion.games.screen import Headline
from companion.table import board_check
from companion.table.board_check import NO_READING, Before, HandMove, Problems
from companion.table.records import HandIn
from companion.table.session import Phase, Session, Viewer

WRITE_ERROR = "write"
"""Topic of the notice that the journal cannot be written."""
NO_CAMERA = CameraStatus(CameraState.NONE)
About = Literal["now", "last", "theirs"]
"""Subject of a question: the action that is due, the seat's own last public action, or the last one
of the machine opposite.
"""
MAX_REASONS = 40
"""Maximum number of machine actions whose reasons are stored."""


DraftKeys = tuple[str, ...]
"""Keys of a pad, in the order in which they were pressed."""


@dataclass(frozen=True)
class Draft:
    """The draft of a pad: its keys, and the number of orders that the lamps show for them."""

    keys: DraftKeys = ()
    count: int = 0


NO_DRAFT = Draft()


@dataclass(frozen=True)
class TileState:
    """The order tiles: which seats are ready, which rows were faulty, and what the camera is asked
    to read.
    """

    ready: frozenset[Seat] = frozenset()
    faults: Mapping[Seat, RowSeen] = field(default_factory=dict)
    wanted: RowsWanted | None = None


NO_TILES = TileState()


@dataclass(frozen=True)
class TimedHeadline:
    """A headline, its number in its stage from 0, and the monotonic time at which it ends.

    `lasts_s` is its whole reading time, 0 if it waits for a tap.
    """

    content: Headline
    number: int
    lasts_s: float = 0.0
    due_s: float = math.inf


@dataclass(frozen=True)
class TableState:
    """The table at one moment: the session, and what need not survive a restart.

    `drafts`: the entries on each seat's pad. `overruled`: problems that somebody confirmed by hand.
    `suggested`: the game whose board lies on the table between games. `choices`: the plays that the
    board can mean. `laid`: a seat's action that lies open on the table and waits to be confirmed.
    `why_not`: the rule that the board breaks now. `troubles`: lasting troubles, as sentences by
    topic.
    """

    session: Session
    version: int = 0
    stage_since_s: float = 0.0
    """Monotonic time at which the current phase or stage was first shown."""
    headline: TimedHeadline | None = None
    """The current headline. None while hands are at work or no stage is shown."""
    reading: Reading = NO_READING
    camera: CameraStatus = NO_CAMERA
    problems: Problems = ()
    disagrees_since_s: float | None = None
    """Time since which the camera has disagreed with what is shown."""
    overruled: Problems = ()
    drafts: Mapping[Seat, Draft] = field(default_factory=dict)
    suggested: str | None = None
    remembered: str | None = None
    """The game that the owner started last."""
    chosen: str | None = None
    """The game that was chosen in the lobby. None while all are offered."""
    choices: tuple[str, ...] = ()
    why_not: Illegal | None = None
    is_help_shown: bool = False
    """Whether the table screen shows what can be done now."""
    reasons: Mapping[tuple[Seat, str], tuple[str, ...]] = field(default_factory=dict)
    """Reasons of machines for their actions, by seat and moment. Secret until the turn is open
    (`coaching.explained_places`).
    """
    laid: Mapping[Seat, str] = field(default_factory=dict)
    fans_before: Layout = field(default_factory=dict)
    """The open cards at the beginning of the decision that is due."""
    markers_before: Mapping[Square, int] = field(default_factory=dict)
    """The markers that were read when the board last had no faults."""
    touched: frozenset[Square] = frozenset()
    """Squares whose pieces were hidden or lifted since the current instruction, which shows that
    hands were there.
    """
    early: HandIn | None = None
    """A press that ended a turn while hands were at the board. It waits for the camera and keeps
    its time stamp.
    """
    tiles: TileState = NO_TILES
    panel: str = ""
    troubles: Mapping[str, str] = field(default_factory=dict)
    has_own_wifi: bool = False
    """Whether the table has opened its own Wi-Fi. The lamps show that between games."""
    round: str = ""
    """The players of a tournament's round at this table, as a sentence. Empty without a round."""

    @property
    def in_trouble(self) -> bool:
        """Return whether the lamps should show trouble."""
        return bool(self.troubles.get(WRITE_ERROR)) or self.camera.state is CameraState.TROUBLE

    @property
    def has_cards(self) -> bool:
        """Return whether this game's board has cards instead of pieces."""
        kit = self.session.kit
        return kit is not None and kit.deck is not None

    @property
    def agrees(self) -> bool:
        """Return whether the camera sees the expected layout."""
        return self.shows(self.session.target)

    def shows(self, layout: Layout | None) -> bool:
        """Return whether the camera sees this layout."""
        kit = self.session.kit
        if layout is None or kit is None:
            return False
        if kit.deck:
            return board_check.cards_agree(layout, self.reading)
        reading = board_check.as_people_lay(kit, layout, self.reading, self.before, self.touched)
        if not board_check.agrees(layout, reading, self.before) or _missed_and_hidden(self, layout):
            return False
        before = Before(kit, self.before, self.markers_before)
        return board_check.shows_growth(before, layout, self.reading)

    def laid_for(self, viewer: Viewer) -> str | None:
        """Return the action that the viewer has laid open.

        If anybody may confirm it, everybody may see it.
        """
        if self.session.is_open:
            return next(iter(self.laid.values()), None)
        return self.laid.get(viewer) if viewer in self.session.awaited else None

    @property
    def before(self) -> Layout:
        """Return the layout before hands began. Empty in the set-up of a new game."""
        return (
            self.session.put_back if self.session.phase is Phase.SETUP else self.session.board or {}
        )

    @property
    def still_reading(self) -> Reading:
        """Return a reading of this game's board on which nothing moves, or an empty one."""
        return self.reading if self.sees_board and self.reading.quiet else NO_READING

    @property
    def sees_board(self) -> bool:
        """Return whether the camera sees this game's board, so that it can tick off
        instructions.
        """
        game = self.session.game
        return game is not None and self.reading.game == game.name


def with_session(live: TableState, session: Session, now_s: float) -> TableState:
    """Return the table's state with the session after a record, without what belonged to an older
    decision or step.
    """
    before, reading = live.session, live.reading
    live = replace(live, session=session)
    if session.moment != before.moment or session.phase is not before.phase:
        live = replace(
            live,
            drafts={},
            overruled=(),
            choices=(),
            laid={},
            tiles=NO_TILES,
            is_help_shown=False,
            why_not=None,
            fans_before=reading.fans,
        )
        # What was read last stays while no camera sees a board.
        if session.phase is Phase.ORDERS and reading.game is not None:
            live = replace(live, markers_before=reading.markers)
    if session.phase is not Phase.LOBBY or (before.seats and not session.seats):
        live = replace(live, chosen=None)
    # A seat that played by phone or pad is no longer ready: its tiles do not count.
    if gone := live.tiles.ready - session.awaited:
        faults = {seat: row for seat, row in live.tiles.faults.items() if seat in session.awaited}
        live = replace(live, tiles=TileState(live.tiles.ready - gone, faults))
    if session.place != before.place:
        problems = problems_of(live)
        live = replace(
            live,
            stage_since_s=now_s,
            problems=problems,
            disagrees_since_s=now_s if problems else None,
            touched=frozenset(),
        )
    # The reading belongs to the board of another kit.
    if session.kit != before.kit:
        live = replace(live, reading=NO_READING, problems=(), suggested=None)
    return live


def headlines_of(session: Session) -> tuple[Headline, ...]:
    """Return the headlines of the current stage. If hands have work, only its scenes."""
    if session.phase is not Phase.STAGES:
        return ()
    stage = session.shown_stage
    if session.has_moves:
        return tuple(headline for headline in stage.headlines if headline.scene)
    return stage.headlines or (
        Headline(next((event.text for event in reversed(stage.events)), stage.title)),
    )


def headline_at(session: Session, number: int) -> TimedHeadline | None:
    """Return a headline of the current stage that waits for a tap. None after the last one."""
    headlines = headlines_of(session)
    return TimedHeadline(headlines[number], number) if number < len(headlines) else None


def must_wait(live: TableState, order: HandIn) -> bool:
    """Return whether this press must wait for the camera, because a hand was moving."""
    session, reading = live.session, live.reading
    if order.moment != session.moment or order.seat not in session.awaited or not live.sees_board:
        return False
    if order.action not in session.open_actions:
        return False
    if not reading.quiet:
        return True
    try:
        session.playing.check(session.state, order.seat, session.playing.parse(order.action))
    except Illegal:
        # An older picture may not show the move that makes the press legal.
        return reading.at_s < order.now_s
    return False


def problems_of(live: TableState) -> Problems:
    """Return the faults of the board. While something moves, the previous faults stay."""
    session, reading = live.session, live.reading
    kit, target = session.kit, session.target
    is_checked = not session.is_between and live.sees_board
    if not is_checked or kit is None or kit.deck or target is None:
        return ()
    if not reading.quiet:
        return live.problems
    problems = board_check.problems(kit, live.before, target, reading)
    homes = set(map(attrgetter("home"), problems))
    for problem in _missed_and_hidden(live, target):
        if problem.home not in homes:
            problems = (*problems, problem)
    return tuple(problem for problem in problems if problem not in live.overruled)


def _missed_and_hidden(live: TableState, layout: Layout) -> Problems:
    """Return the pieces that were missing when their place was last seen, if a hand hides the place
    now.
    """
    missed = []
    for problem in live.problems:
        if problem.home in live.reading.unknown and problem.face in layout.get(problem.home, ()):
            missed.append(problem)
    return tuple(missed)


def is_in_hand(live: TableState, problems: Problems) -> bool:
    """Return whether the only fault is that the seat on turn holds one of its pieces, or a neutral
    one.
    """
    session = live.session
    if len(session.awaited) != 1 or len(problems) != 1:
        return False
    (problem,), (seat,), kit = problems, session.awaited, session.kit
    is_gone = problem.square == problem.home and problem.square not in live.reading.seen
    return is_gone and kit is not None and kit.face(problem.face).seat in (None, seat)


@dataclass(frozen=True)
class Instruction:
    """A move of a piece in words, and the seat that makes it."""

    move: HandMove
    seat: Seat
    text: str


def instructions(live: TableState) -> tuple[Instruction, ...]:
    """Return the instructions for hands, with those done that the camera has ticked off."""
    session = live.session
    kit, target = session.kit, session.target
    if todo := session.shown_stage.todo:
        done = live.sees_board and live.agrees
        return tuple(
            Instruction(HandMove((), None, None, done), session.hands_for(seat), text)
            for seat, text in todo
        )
    if (
        kit is None
        or kit.deck
        or target is None
        or session.phase not in (Phase.STAGES, Phase.SETUP)
    ):
        return ()
    reading = live.reading if live.sees_board else NO_READING
    moves = board_check.hand_moves(kit, live.before, target, reading, live.touched)
    in_words = (Instruction(move, *who_and_what(session, kit, move)) for move in moves)
    return tuple(sorted(in_words, key=lambda instruction: SEATS.index(instruction.seat)))


def who_and_what(session: Session, kit: Kit, move: HandMove) -> tuple[Seat, str]:
    """Return the seat that makes a move, and its instruction of at most 40 letters.

    It is the seat that owns the piece, or the person opposite a machine. The text names carried
    pieces too.
    """
    # A carried ball belongs to nobody, so it is sorted first.
    *carried, piece = sorted(move.faces, key=lambda face: kit.face(face).seat is not None)
    owner = kit.face(piece).seat
    seat = session.hands_for(owner or Seat.SOUTH)
    side = kit.sides[seat].name
    # The sentence begins with the side, so the piece is named without it.
    own = kit.kind(piece).removeprefix(f"{kit.sides[owner or Seat.SOUTH].name} ")
    first, *others = (
        say("{piece}", piece=word)
        for word in (own, *(kit.kind(face).split()[-1] for face in reversed(carried)))
    )
    if owner is not None and owner is not seat and own != kit.kind(piece):
        first = say("{name}’s {piece}", name=Verbatim(session.seats[owner].name), piece=own)
    what = listed((first, *others))
    origin, target = move.origin, move.target
    parts = {"side": side, "what": what, "origin": origin, "target": target}
    parts["square"] = origin if target is None else target
    if origin == target:
        return seat, say("{side!c}: turn {what} over on {square}", **parts)
    if origin is None:
        return seat, say("{side!c}: {what} to {square}", **parts)
    if target is None:
        return seat, say("{side!c}: take {what} off {square}", **parts)
    if session.phase is Phase.SETUP:
        return seat, say("{side!c}: {what} back to {square}", **parts)
    if move.turned:
        return seat, say("{side!c}: {what}, {origin} to {target}, turned over", **parts)
    return seat, say("{side!c}: {what}, {origin} to {target}", **parts)
