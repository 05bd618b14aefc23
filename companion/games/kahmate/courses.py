"""The course of a legal run, pass, kick or tackle: its face-offs and the final squares of mover and
ball.

Sources: rulebook, "One round". Rulings, section 4.
"""

from __future__ import annotations

from companion.core.kit import Layout, Seat
from companion.games.base import FacesSeen
from companion.games.kahmate.actions import Action, BallPlay, Kick, Pass, Placement, Run, Tackle
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


def course_of(state: State, action: BallPlay) -> Course:
    """Return the course of a legal action."""
    if isinstance(action, Run):
        return _run(state, action)
    if isinstance(action, Pass):
        return _pass(state, action)
    if isinstance(action, Kick):
        return Course(Kind.KICK, (state.board[action.start],), action.start, action.end)
    return _tackle(state, action)


def _run(state: State, run: Run) -> Course:
    """Return the course of a run.

    Follow the path, pick up a loose ball, and collect the standing opponents. For each of them
    remember the last free square before it.
    """
    board = state.board
    seat = state.seat
    start = stop = run.path[0]
    mover = board[start]
    has_ball = state.ball == start
    # IN_GOAL is never on a path, so without a loose ball nothing is picked up.
    loose = state.ball if state.carrier == EMPTY else IN_GOAL
    beaten: set[int] = set()
    face_offs = []
    for square in run.path[1:]:
        other = board[square]
        if other in (EMPTY, mover):
            # The runner stops here if the next face-off is lost.
            stop = square
        elif state.stands_against(other) and other not in beaten:
            # If the runner loses, its ball goes one square behind it (Rulings, section 4).
            ball = behind(stop, seat) if has_ball else state.ball
            face_offs.append(FaceOff(other, stop, ball))
            # A beaten opponent will be turned over and cannot stop the runner a second time.
            beaten.add(other)
        if square == loose:
            has_ball = True
    end = IN_GOAL if run.into_goal else run.path[-1]
    return Course(Kind.RUN, (mover,), end, end if has_ball else state.ball, tuple(face_offs))


def _pass(state: State, action: Pass) -> Course:
    """Return the course of a pass, which standing opponents on the crossed squares may intercept.

    The opponent nearest to the passer comes first. A lost face-off gives the ball to the
    interceptor, which does not move.
    """
    start = action.start
    face_offs = []
    for square in squares_between(start, action.end):
        other = state.board[square]
        if state.stands_against(other):
            face_offs.append(FaceOff(other, start, square))
    return Course(Kind.PASS, (state.board[start],), start, action.end, tuple(face_offs))


def _tackle(state: State, action: Tackle) -> Course:
    """Return the course of a tackle. The tacklers go back, and the first one decides the side to
    which the ball goes.
    """
    movers = tuple(state.board[path[0]] for path in action.paths)
    first = action.paths[0]
    spilled = spilled_square(action.target, 1 - state.seat, first[-1])
    face_off = FaceOff(state.board[action.target], first[0], state.ball)
    return Course(Kind.TACKLE, movers, first[0], spilled, (face_off,))


def spilled_square(carrier: int, defender: int, came_from: int) -> int:
    """Return the square of a loose ball after a tackle from the adjacent square `came_from`.

    On the carrier's own goal line the ball goes to the side away from the tackler, or towards the
    middle after a tackle from straight ahead. If that side is off the board, it goes to the other
    one. Elsewhere it goes one square behind the carrier.
    """
    if rank_of(carrier) != OWN_LINE[defender]:
        return behind(carrier, defender)
    file = file_of(carrier)
    away = file - file_of(came_from)
    if away == 0:
        away = 1 if file < FILES // 2 else -1
    return carrier + (away if 0 <= file + away < FILES else -away)


def as_laid(state: State, action: Action) -> Layout | None:
    """Return the board after a play by hand, on the assumption that every face-off is won.

    Tacklers are on top of the carrier, the first one below the second.
    """
    if not isinstance(action, BallPlay):
        return None
    course = course_of(state, action)
    if course.kind is not Kind.TACKLE:
        places = list(state.places)
        places[course.mover] = course.end
        return layout_of(places, state.down, course.ball)
    layout = layout_of(state.places, state.down, state.ball)
    for piece in course.movers:
        del layout[SQUARES[state.places[piece]]]
    target = SQUARES[state.ball]
    layout[target] = (*layout[target], *(PIECE_NAMES[piece] for piece in course.movers))
    return layout


def laid_out(state: State, seat: Seat, seen: FacesSeen) -> Placement | None:
    """Return the placing that is visible on a seat's two ranks.

    None unless exactly its six pieces are there.
    """
    team = TEAMS[seat.number]
    faces = [PIECE_NAMES[piece] for piece in team]
    turned_over = [DOWN_NAMES[piece] for piece in team]
    faces_on = {
        NUMBER_OF[square]: face for square, face in seen.items() if face in (*faces, *turned_over)
    }
    # A piece with its other face up does not count as placed.
    if not state.is_placing or sorted(faces_on.values()) != sorted(faces):
        return None
    if not faces_on.keys() <= set(OWN_RANKS[seat.number]):
        return None
    squares = []
    for face in faces:
        # Two regulars share one face. The first of them gets the lower square.
        square = min(square for square, name in faces_on.items() if name == face)
        squares.append(square)
        del faces_on[square]
    return Placement(tuple(squares))
