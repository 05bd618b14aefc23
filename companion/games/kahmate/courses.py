"""What a legal run, pass, kick or tackle comes to: its face-offs, and where mover and ball are
afterwards.

Sources: rulebook, "One round". Rulings, section 4.
"""

from __future__ import annotations

from companion.games.kahmate.actions import Kick, Pass, Run, Tackle
from companion.games.kahmate.board import (
    FILES,
    IN_GOAL,
    OWN_LINE,
    SEAT_OF,
    behind,
    crossed,
    file_of,
    rank_of,
)
from companion.games.kahmate.state import EMPTY, Course, FaceOff, Kind, State


def course_of(state: State, action: Run | Pass | Kick | Tackle) -> Course:
    """Return the course of a legal action."""
    if isinstance(action, Run):
        return _run(state, action)
    if isinstance(action, Pass):
        return _pass(state, action)
    if isinstance(action, Kick):
        return Course(Kind.KICK, (state.board[action.start],), action.start, action.end)
    return _tackle(state, action)


def _run(state: State, run: Run) -> Course:
    """Follow the path: fetch a loose ball, meet standing opponents, remember the last free square before each."""
    board, seat = state.board, state.seat
    start = stop = run.path[0]
    mover, has_ball = board[start], state.ball == start
    loose = state.ball if state.carrier == EMPTY else IN_GOAL
    beaten: set[int] = set()
    face_offs = []
    for square in run.path[1:]:
        other = board[square]
        if other in (EMPTY, mover):
            stop = square
        elif not state.down[other] and SEAT_OF[other] != seat and other not in beaten:
            ball = behind(stop, seat) if has_ball else state.ball
            face_offs.append(FaceOff(other, stop, ball))
            beaten.add(other)
        if square == loose:
            has_ball = True
    end = IN_GOAL if run.into_goal else run.path[-1]
    return Course(Kind.RUN, (mover,), end, end if has_ball else state.ball, tuple(face_offs))


def interceptors(state: State, action: Pass) -> list[int]:
    """Return the standing opponents whose squares a pass crosses, the nearest to the passer first."""
    found = []
    for square in crossed(action.start, action.end):
        other = state.board[square]
        if other != EMPTY and not state.down[other] and SEAT_OF[other] != state.seat:
            found.append(other)
    return found


def _pass(state: State, action: Pass) -> Course:
    """Return the end of a lost face-off: it gives the ball to the interceptor, who stays where he is."""
    face_offs = [FaceOff(other, action.start, state.places[other]) for other in interceptors(state, action)]
    return Course(Kind.PASS, (state.board[action.start],), action.start, action.end, tuple(face_offs))


def _tackle(state: State, action: Tackle) -> Course:
    """Return the end of a tackle. Tacklers go back, and the first one decides on which side the ball goes."""
    movers = tuple(state.board[path[0]] for path in action.paths)
    first = action.paths[0]
    spilled = _beside_or_behind(state, action.target, first[-1])
    face_off = FaceOff(state.board[action.target], first[0], state.ball)
    return Course(Kind.TACKLE, movers, first[0], spilled, (face_off,))


def _beside_or_behind(state: State, carrier: int, came_from: int) -> int:
    """Return where the ball goes from a carrier tackled out of a neighbouring square, when the
    tackler does not take it.

    On the carrier's own goal line: beside him, away from the tackler. From straight ahead: towards the middle. Off the
    board: the other side. Elsewhere: one square behind him.
    """
    defender = 1 - state.seat
    if rank_of(carrier) != OWN_LINE[defender]:
        return behind(carrier, defender)
    file = file_of(carrier)
    away = file - file_of(came_from)
    if away == 0:
        away = 1 if file < FILES // 2 else -1
    return carrier + (away if 0 <= file + away < FILES else -away)
