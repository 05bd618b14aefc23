"""What a legal run, pass, kick or tackle comes to: its face-offs, and where mover and ball are
afterwards.

Sources: rulebook, "One round". Rulings, section 4.
"""

from __future__ import annotations

from collections.abc import Mapping

from companion.core.grid import Square
from companion.core.kit import Layout, Seat
from companion.games.kahmate.actions import Action, Kick, Pass, Placement, Run, Tackle
from companion.games.kahmate.board import (
    DOWN_NAMES,
    FILES,
    IN_GOAL,
    NUMBER_OF,
    OWN_LINE,
    OWN_RANKS,
    PIECE_NAMES,
    SQUARES,
    TEAMS,
    behind,
    file_of,
    rank_of,
    squares_between,
)
from companion.games.kahmate.state import EMPTY, Course, FaceOff, Kind, State, layout_of

FacesSeen = Mapping[Square, str]
"""The face on top of each square where one is seen."""


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
    """Follow the path: fetch a loose ball, meet standing opponents, remember the last free square
    before each.
    """
    board = state.board
    seat = state.seat
    start = stop = run.path[0]
    mover = board[start]
    has_ball = state.ball == start
    # IN_GOAL is no square of a path: then there is nothing to fetch
    loose = state.ball if state.carrier == EMPTY else IN_GOAL
    beaten: set[int] = set()
    face_offs = []
    for square in run.path[1:]:
        other = board[square]
        if other in (EMPTY, mover):
            # here the runner stays if the next face-off is lost
            stop = square
        elif state.stands_against(other) and other not in beaten:
            # if he loses, his ball goes one square behind him (Rulings, section 4)
            ball = behind(stop, seat) if has_ball else state.ball
            face_offs.append(FaceOff(other, stop, ball))
            # he is turned over by then: when the path comes back here he stops nobody
            beaten.add(other)
        if square == loose:
            has_ball = True
    end = IN_GOAL if run.into_goal else run.path[-1]
    return Course(Kind.RUN, (mover,), end, end if has_ball else state.ball, tuple(face_offs))


def _pass(state: State, action: Pass) -> Course:
    """Return the end of a pass: standing opponents whose squares it crosses intercept, the nearest
    to the passer first.

    A lost face-off gives the ball to the interceptor, who stays where he is.
    """
    start = action.start
    face_offs = []
    for square in squares_between(start, action.end):
        other = state.board[square]
        if state.stands_against(other):
            face_offs.append(FaceOff(other, start, square))
    return Course(Kind.PASS, (state.board[start],), start, action.end, tuple(face_offs))


def _tackle(state: State, action: Tackle) -> Course:
    """Return the end of a tackle. Tacklers go back, and the first one decides on which side the
    ball goes.
    """
    movers = tuple(state.board[path[0]] for path in action.paths)
    first = action.paths[0]
    spilled = spilled_square(action.target, 1 - state.seat, first[-1])
    face_off = FaceOff(state.board[action.target], first[0], state.ball)
    return Course(Kind.TACKLE, movers, first[0], spilled, (face_off,))


def spilled_square(carrier: int, defender: int, came_from: int) -> int:
    """Return where the ball goes from a carrier tackled out of a neighbouring square, when the
    tackler does not take it.

    On the carrier's own goal line: beside him, away from the tackler. From straight ahead: towards
    the middle. Off the board: the other side. Elsewhere: one square behind him.
    """
    if rank_of(carrier) != OWN_LINE[defender]:
        return behind(carrier, defender)
    file = file_of(carrier)
    away = file - file_of(came_from)
    if away == 0:
        away = 1 if file < FILES // 2 else -1
    return carrier + (away if 0 <= file + away < FILES else -away)


def as_laid(state: State, action: Action) -> Layout | None:
    """Return how the board lies when a hand has made a play as if every face-off were won.

    Tacklers lie on top of the carrier, the first one below the second.
    """
    if not isinstance(action, Run | Pass | Kick | Tackle):
        return None
    course = course_of(state, action)
    if course.kind is not Kind.TACKLE:
        places = list(state.places)
        places[course.movers[0]] = course.end
        return layout_of(places, state.down, course.ball)
    layout = layout_of(state.places, state.down, state.ball)
    for piece in course.movers:
        del layout[SQUARES[state.places[piece]]]
    target = SQUARES[state.ball]
    layout[target] = (*layout[target], *(PIECE_NAMES[piece] for piece in course.movers))
    return layout


def laid_out(state: State, seat: Seat, seen: FacesSeen) -> Placement | None:
    """Return the placing that lies openly on a seat's two ranks.

    None unless all its six pieces stand there.
    """
    team = TEAMS[seat.number]
    faces = [PIECE_NAMES[piece] for piece in team]
    turned_over = [DOWN_NAMES[piece] for piece in team]
    lying = {
        NUMBER_OF[square]: face for square, face in seen.items() if face in (*faces, *turned_over)
    }
    # a piece that shows its other face does not count as placed
    if not state.is_placing or sorted(lying.values()) != sorted(faces):
        return None
    if not lying.keys() <= set(OWN_RANKS[seat.number]):
        return None
    squares = []
    for face in faces:
        # two pieces share the face of a regular: the lower square goes to the first
        square = min(square for square, name in lying.items() if name == face)
        squares.append(square)
        del lying[square]
    return Placement(tuple(squares))
