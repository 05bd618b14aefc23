"""Turns of Kahmate for the search: the plays of a turn, and the states after each.

States, actions and courses are the game's own. A course is what an action leads to, with its
face-offs: duels of cards, one for each opponent in the way. Whoever plays the higher card wins by a
lead, the difference. A piece that loses is turned over and is down: it misses turns. The search
leaves out runs into several opponents.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from companion.core.kit import SEATS
from companion.games.kahmate.actions import Action, EndTurn
from companion.games.kahmate.board import (
    CLEAR_LEAD,
    IN_GOAL,
    NUMBERS,
    TEAMS,
    file_of,
    rank_of,
)
from companion.games.kahmate.moves import one_play_per_course
from companion.games.kahmate.state import (
    EMPTY,
    FULL_HAND,
    Course,
    FaceOff,
    KahmateOptions,
    Kind,
    State,
)


class Play(NamedTuple):
    """A play of a turn, or the end of the turn."""

    action: Action
    course: Course | None
    """What the action leads to. None for the end of the turn."""


END_TURN = Play(EndTurn(), None)
_OPTIONS = KahmateOptions()


def state_of(view: Mapping[str, Any]) -> State:
    """Return the state of a view after the placement.

    Pending face-offs, turn numbers and limits are left out.
    """
    pieces = view["pieces"]
    south, north = SEATS
    square_of = tuple(_square(piece["square"]) for piece in pieces)
    return State(
        _OPTIONS,
        square_of=square_of,
        turns_down=tuple(piece["rounds_down"] for piece in pieces),
        ball=_square(view["ball"]["square"]),
        seat=SEATS.index(view["seat"]),
        ran=tuple(square_of.index(NUMBERS[name]) for name in view["ran"]),
        cards=(tuple(view["cards"][south]), tuple(view["cards"][north])),
    )


def _square(name: str) -> int:
    return IN_GOAL if name == "goal" else NUMBERS[name]


def key_of(state: State) -> tuple[object, ...]:
    """Return what two states must have in common to count as a repetition. Cards do not count."""
    return (state.square_of, state.turns_down, state.ball, state.seat, state.ran)


# ---- states after a play -------------------------------------------------------------------------


def end_turn(state: State, **changes: Any) -> State:
    """Return the state at the start of the other seat's turn.

    A piece has one turn less to miss at the end of each turn of its own side, and stands up at 0.

    :param changes: fields of `State` that the last play of the turn changes first
    """
    down = list(changes.pop("turns_down", state.turns_down))
    for piece in TEAMS[state.seat]:
        down[piece] = max(0, down[piece] - 1)
    return replace(state, seat=1 - state.seat, ran=(), turns_down=tuple(down), **changes)


def state_if_won(state: State, course: Course, lead: int = 1) -> State:
    """Return the state after a course with all face-offs won, the last one by `lead`.

    A tackle ends the turn.
    """
    hands = _hands_after(state, course)
    mover = course.mover
    down = _down_after(state, [face_off.defender for face_off in course.face_offs])
    if course.kind is Kind.TACKLE:
        # only a clear lead gives the ball to the tackler
        ball = state.square_of[mover] if lead > CLEAR_LEAD else course.ball
        return end_turn(state, cards=hands, ball=ball, turns_down=down)
    if course.kind is not Kind.RUN:
        return replace(state, cards=hands, ball=course.ball)
    square_of = _squares_after(state, mover, course.end)
    ran = (*state.ran, mover)
    return replace(
        state, cards=hands, ball=course.ball, square_of=square_of, turns_down=down, ran=ran
    )


def state_if_lost(state: State, course: Course, face_off: FaceOff) -> State:
    """Return the state after a course that ends with the loss of this face-off.

    A tackle ends the turn.
    """
    hands = _hands_after(state, course)
    down = _down_after(state, course.movers)
    if course.kind is Kind.TACKLE:
        return end_turn(state, cards=hands, turns_down=down)
    if course.kind is Kind.PASS:
        return replace(state, cards=hands, ball=face_off.ball_if_lost)
    square_of = _squares_after(state, course.mover, face_off.stop_if_lost)
    ran = (*state.ran, course.mover)
    return replace(
        state,
        cards=hands,
        ball=face_off.ball_if_lost,
        square_of=square_of,
        turns_down=down,
        ran=ran,
    )


def _hands_after(state: State, course: Course) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the cards that both seats still have after a course.

    Which cards it costs is unknown, so hands stay as they are. But after the last cards both hands
    are full again.
    """
    if course.face_offs and len(state.cards[0]) == 1:
        return FULL_HAND, FULL_HAND
    return state.cards


def _squares_after(state: State, piece: int, square: int) -> tuple[int, ...]:
    return (*state.square_of[:piece], square, *state.square_of[piece + 1 :])


def _down_after(state: State, pieces: Iterable[int]) -> tuple[int, ...]:
    """Return for how many turns of its owner each piece is down, once these are turned over."""
    down = list(state.turns_down)
    for piece in pieces:
        # It misses one whole turn. The end of the present turn, if it is its own side's, counts
        # down, too, so that one is added.
        down[piece] = 2 if piece in TEAMS[state.seat] else 1
    return tuple(down)


# ---- the plays of a turn -------------------------------------------------------------------------


def plays(state: State, *, all_face_offs: bool) -> Iterator[Play]:
    """Yield the plays of the seat on turn, one for each course. `END_TURN` is not among them.

    :param all_face_offs: whether pieces without the ball may run into an opponent, too
    """
    for action, course in one_play_per_course(state):
        if course is None:
            continue
        max_face_offs = 1 if all_face_offs or course.mover == state.carrier else 0
        if course.kind is Kind.RUN and len(course.face_offs) > max_face_offs:
            continue
        # never kick the ball to an opponent
        if course.kind is Kind.KICK and state.board[course.end] != EMPTY:
            continue
        yield Play(action, course)


def steps_apart(square: int, other: int) -> int:
    """Return the number of steps between squares on an empty board."""
    return abs(rank_of(square) - rank_of(other)) + abs(file_of(square) - file_of(other))
