"""What somebody may know of the table: the only way from a session to a page, a lamp or a voice.

Everything here is computed for one viewer; a sealed action reaches nobody but its seat, and a revealed one only step
by step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from companion import referee
from companion.games.base import Event, Order, Outcome, PadGrammar
from companion.grid import Square
from companion.kit import SEATS, Kit, Layout, Seat, Side
from companion.ports import CameraState, CameraStatus, Reading, SeatLamps, TurnLamp
from companion.referee import HandMove, Problem
from companion.session import BOTH, Phase, Sealed, Session

NO_CAMERA = CameraStatus(CameraState.NONE)


@dataclass(frozen=True)
class Live:
    """The table at one moment: the session, and what is known beside it and need not survive a restart.

    `drafts`: how many orders are entered on each seat's pad. `overruled`: problems that somebody confirmed by hand.
    `suggested`: the game whose board lies there while none is on. `choices`: the plays that the board can mean.
    `notices`: standing troubles, as sentences.
    """

    session: Session
    version: int = 0
    reading: Reading | None = None
    camera: CameraStatus = NO_CAMERA
    problems: tuple[Problem, ...] = ()
    overruled: frozenset[Problem] = frozenset()
    drafts: Mapping[Seat, int] = field(default_factory=dict)
    suggested: str | None = None
    choices: tuple[str, ...] = ()
    panel: str = ""
    notices: tuple[str, ...] = ()

    @property
    def before(self) -> Layout:
        """What lay on the board before hands began: nothing in the set-up."""
        return {} if self.session.phase is Phase.SETUP else self.session.board or {}

    @property
    def watched(self) -> bool:
        """Does the camera see this game's board, so that it can tick things off?"""
        game = self.session.game
        return bool(game and self.reading and self.reading.game == game.name)


@dataclass(frozen=True)
class Sign:
    """The one line that says what the table waits for, a smaller one that says why, and for whom it waits."""

    text: str
    small: str = ""
    seats: frozenset[Seat] = frozenset()


@dataclass(frozen=True)
class SeatView:
    """A seat as everybody may see it. `name` None: free. `entered`: orders on the pad so far."""

    seat: Seat
    side: Side | None
    name: str | None
    door: str
    awaited: bool
    sealed_at: float | None
    receipt: str | None
    entered: int


@dataclass(frozen=True)
class Opened:
    """An order that everybody may check: `receipt` is SHA-256 of `"moment seat action salt"`."""

    seat: Seat
    moment: str
    action: str
    salt: str
    receipt: str


@dataclass(frozen=True)
class Instruction:
    """A move of a hand in words, and whose hand it is."""

    move: HandMove
    seat: Seat
    text: str


@dataclass(frozen=True)
class TableView:
    """Everything that a page may show to one viewer (`viewer` None: everybody)."""

    version: int
    viewer: Seat | None
    phase: Phase
    moment: str
    game: str | None
    title: str
    turn: int
    stage: int
    stage_title: str
    sign: Sign
    kit: Kit | None
    layout: Layout
    """What lay on the board before the stage that is shown."""
    target: Layout | None
    """What should lie there when hands are done; None: nobody checks."""
    unknown: frozenset[Square]
    problems: tuple[Problem, ...]
    instructions: tuple[Instruction, ...]
    seats: Mapping[Seat, SeatView]
    orders: tuple[Mapping[Seat, Order], ...]
    """The orders of the turn's stages that are open."""
    steps: int
    """How many stages a turn can have; how many this one has is not told before the last."""
    events: tuple[Event, ...]
    opened: tuple[Opened, ...]
    pad: PadGrammar | None
    mine: Sealed | None
    can_take_back: bool
    score: tuple[int, int, int]
    outcome: Outcome | None
    draw_offer: Seat | None
    can_undo: bool
    log: tuple[str, ...]
    camera: CameraStatus
    watched: bool
    panel: str
    suggested: str | None
    choices: tuple[str, ...]
    notices: tuple[str, ...]


def view_of(live: Live, viewer: Seat | None) -> TableView:
    """The table as `viewer` may know it."""
    session = live.session
    game = session.game
    in_stages = session.phase is Phase.STAGES
    stages = session.stages if in_stages or session.phase is Phase.OVER else ()
    open_stages = stages[: session.stage + 1] if in_stages else stages
    playing = session.phase in (Phase.ORDERS, Phase.STAGES)
    mine = _own_sealed(session, viewer)
    return TableView(
        version=live.version,
        viewer=viewer,
        phase=session.phase,
        moment=session.moment,
        game=game.name if game else None,
        title=game.title if game else "Tabletop Companion",
        turn=len(session.turns) + (not in_stages),
        stage=session.stage,
        stage_title=session.stages[session.stage].title if in_stages else "",
        sign=sign_of(live, viewer),
        kit=session.kit,
        layout=session.board or {},
        target=session.target,
        unknown=live.reading.unknown if live.reading and live.watched else frozenset(),
        problems=live.problems,
        instructions=instructions(live),
        seats={seat: _seat_view(live, seat) for seat in SEATS},
        orders=tuple(stage.orders for stage in open_stages),
        steps=_steps(session) if stages else 0,
        events=session.stages[session.stage].events if in_stages else (),
        opened=_opened(session),
        pad=game.pad(session.state, viewer) if game and viewer and playing else None,
        mine=mine,
        can_take_back=viewer in session.sealed and session.phase is Phase.ORDERS,
        score=session.score,
        outcome=session.outcome,
        draw_offer=session.draw_offer,
        can_undo=session.before is not None,
        log=_log(session),
        camera=live.camera,
        watched=live.watched,
        panel=live.panel,
        suggested=live.suggested,
        choices=live.choices if viewer in session.awaited else (),
        notices=live.notices,
    )


def _own_sealed(session: Session, viewer: Seat | None) -> Sealed | None:
    """What the viewer has sealed, but not what somebody sealed who sat there before."""
    if viewer is None or viewer not in session.sealed or viewer not in session.seats:
        return None
    sealed = session.sealed[viewer]
    return sealed if sealed.owner == session.seats[viewer].nonce else None


def _seat_view(live: Live, seat: Seat) -> SeatView:
    session = live.session
    sitter, sealed = session.seats.get(seat), session.sealed.get(seat)
    return SeatView(
        seat=seat,
        side=session.game.sides[seat] if session.game else None,
        name=sitter.name if sitter else None,
        door=sitter.door if sitter else "",
        awaited=seat in session.awaited,
        sealed_at=sealed.at if sealed else None,
        receipt=sealed.receipt if sealed else None,
        entered=live.drafts.get(seat, 0),
    )


def _steps(session: Session) -> int:
    """A turn that a win cuts short looks as long as any other until it is over."""
    grammar = session.playing.pad(session.state, Seat.SOUTH)
    return max(grammar.length if grammar else 0, len(session.stages))


def _opened(session: Session) -> tuple[Opened, ...]:
    """Both orders of the last turn that is wholly revealed."""
    if not session.opened:
        return ()
    turn = session.opened[-1]
    return tuple(
        Opened(seat, turn.moment, sealed.action, sealed.salt, sealed.receipt)
        for seat, sealed in sorted(turn.sealed.items())
    )


def _log(session: Session) -> tuple[str, ...]:
    """The last sentences, newest first; of the current turn only the steps before the one that is shown."""
    lines = []
    for number, turn in enumerate(session.turns, start=1):
        current = session.phase is Phase.STAGES and number == len(session.turns)
        events = (e for stage in turn.stages[: session.stage] for e in stage.events) if current else iter(turn.events)
        lines += [f"{number}. {event.text}" for event in events]
    return tuple(reversed(lines[-12:]))


def instructions(live: Live) -> tuple[Instruction, ...]:
    """What hands have to do now, with what the camera has ticked off."""
    session = live.session
    kit, target = session.kit, session.target
    if kit is None or target is None or session.phase not in (Phase.STAGES, Phase.SETUP):
        return ()
    moves = referee.hand_moves(live.before, target, live.reading if live.watched else None)
    told = (Instruction(move, *_who_and_what(kit, move)) for move in moves)
    return tuple(sorted(told, key=lambda instruction: SEATS.index(instruction.seat)))


def _who_and_what(kit: Kit, move: HandMove) -> tuple[Seat, str]:
    """The seat whose piece is on top moves; at most 40 characters say what."""
    seat = kit.face(move.faces[-1]).seat or Seat.SOUTH
    side = kit.sides[seat].name
    own = {face: face.removeprefix(f"{side} ") for face in move.faces}
    what = " and ".join(own[face] for face in reversed(move.faces))
    if len(move.faces) == 1 and own[move.faces[0]] != move.faces[0]:
        what = f"your {what}"
    elif len(move.faces) > 1:
        what = " and ".join(face.split()[-1] for face in reversed(move.faces))
    if move.origin is None:
        return seat, f"{side.capitalize()}: put {what} on {move.target}"
    if move.target is None:
        return seat, f"{side.capitalize()}: take {what} off {move.origin}"
    return seat, f"{side.capitalize()}: move {what} {move.origin} to {move.target}"


# ---- the sign -----------------------------------------------------------------------------------------------------


def sign_of(live: Live, viewer: Seat | None) -> Sign:
    """What the table waits for, in at most 40 characters, and why."""
    session = live.session
    if live.problems and session.phase is not Phase.LOBBY:
        problem = live.problems[0]
        seats = _owners(session.kit, problem.face)
        return Sign(problem.sign, problem.text, seats)
    match session.phase:
        case Phase.LOBBY:
            return _lobby_sign(live)
        case Phase.SETUP | Phase.STAGES:
            return _hands_sign(live)
        case Phase.ORDERS:
            return _orders_sign(session, viewer)
        case Phase.OVER:
            return _over_sign(session)


def _owners(kit: Kit | None, face: str) -> frozenset[Seat]:
    seat = kit.face(face).seat if kit else None
    return frozenset({seat}) if seat else BOTH


def _lobby_sign(live: Live) -> Sign:
    free = [seat for seat in SEATS if seat not in live.session.seats]
    if len(free) == 2:
        return Sign("Scan a code to take a seat", "Or press any key of a pad.", BOTH)
    if free:
        return Sign(f"{free[0].title()}: take your seat", "Scan the code, or press a key of the pad.", frozenset(free))
    if live.suggested:
        title = live.suggested.capitalize()
        return Sign(f"Press ready to start {title}", "Its board lies on the table.", BOTH)
    return Sign("Choose a game", "On a phone, or put its board under the camera.", BOTH)


def _hands_sign(live: Live) -> Sign:
    session = live.session
    todo = [i for i in instructions(live) if not i.move.done]
    if todo:
        hidden = _hidden(live, todo)
        if hidden:
            return Sign(
                f"Camera does not see {hidden}",
                "Put the pieces straight, move the hand or the lamp, or confirm by hand.",
                BOTH,
            )
        seats = frozenset(i.seat for i in todo)
        if session.phase is Phase.SETUP:
            small = f"{len(todo)} pieces to go." if len(todo) > 1 else "One piece to go."
        else:
            small = " ".join(f"{i.text}." for i in todo[1:])
        if not live.watched:
            small = f"{small} Then press ready.".strip()
        return Sign(todo[0].text, small, seats if len(todo) > 1 else frozenset({todo[0].seat}))
    if session.phase is Phase.SETUP:
        return Sign("Take your hands off the board", "The camera takes a last look.")
    return Sign("Nothing to move", "The next step follows; ready skips the wait.")


def _hidden(live: Live, todo: list[Instruction]) -> str:
    """The squares that matter and are hidden from the camera, as words."""
    if not live.watched or live.reading is None or not live.reading.quiet:
        return ""
    squares = {square for i in todo for square in (i.move.origin, i.move.target) if square in live.reading.unknown}
    return " and ".join(sorted(map(str, squares)))


def _orders_sign(session: Session, viewer: Seat | None) -> Sign:
    game, awaited = session.playing, session.awaited
    names = {seat: game.sides[seat].name for seat in SEATS}
    offer = f"{names[session.draw_offer].capitalize()} offers a draw." if session.draw_offer else ""
    if viewer in awaited:
        grammar = game.pad(session.state, viewer) if viewer else None
        number = {1: "One order", 2: "Two orders", 3: "Three orders"}.get(
            grammar.length if grammar else 0, "Your orders"
        )
        other = viewer.other if viewer else Seat.SOUTH
        done = f"{names[other].capitalize()} has handed in. " if other in session.sealed else ""
        return Sign(f"{number} to go", offer or f"{done}Nobody sees yours before the reveal.", awaited)
    if viewer and awaited:
        return Sign(
            f"Waiting for {names[next(iter(awaited))]}", offer or "You are done. The table opens both at once.", awaited
        )
    if len(awaited) > 1:
        return Sign("Both: hand in your orders", offer, awaited)
    waiting = "".join(names[seat].capitalize() for seat in awaited)
    return Sign(f"{waiting}: hand in your orders", offer or "The other side is done.", awaited)


def _over_sign(session: Session) -> Sign:
    outcome, game = session.outcome, session.playing
    if outcome is None or not outcome.winners:
        again = "A tie: play it again" if game.replays_ties and game.outcome(session.state) else "Nobody wins"
        return Sign(again, outcome.reason if outcome else "", BOTH)
    names = " and ".join(game.sides[seat].name for seat in sorted(outcome.winners))
    return Sign(f"{names.capitalize()} wins", outcome.reason, outcome.winners)


# ---- the lamps ----------------------------------------------------------------------------------------------------


def lamps_of(live: Live) -> dict[Seat, SeatLamps]:
    """The steady pattern of every seat's lamps; depends on how many orders are entered, never on which."""
    return {seat: _seat_lamps(live, seat) for seat in SEATS}


def _seat_lamps(live: Live, seat: Seat) -> SeatLamps:
    session = live.session
    wrong = TurnLamp.WRONG if live.problems and session.phase is not Phase.LOBBY else None
    if session.phase is Phase.ORDERS:
        if seat in session.sealed:
            return SeatLamps(frozenset({1, 2, 3}), wrong or TurnLamp.OFF)
        entered = frozenset(range(1, live.drafts.get(seat, 0) + 1))
        turn = TurnLamp.PULSE if seat in session.awaited else TurnLamp.OFF
        return SeatLamps(entered, wrong or turn)
    if session.phase in (Phase.STAGES, Phase.SETUP):
        wanted = any(i.seat is seat and not i.move.done for i in instructions(live))
        step = frozenset({session.stage + 1}) if session.phase is Phase.STAGES else frozenset()
        return SeatLamps(step, wrong or (TurnLamp.HANDS if wanted else TurnLamp.OFF))
    return SeatLamps()
