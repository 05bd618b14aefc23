"""Turns of Kahmate for the search: the plays of a turn, and the states after each.

States, actions and courses are the game's own. Runs that meet several opponents are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from companion.core.kit import SEATS
from companion.games.kahmate.board import (
    CLEAR_LEAD,
    IN_GOAL,
    NUMBERS,
    TEAMS,
    file_of,
    rank_of,
)
from companion.games.kahmate.moves import canonical
from companion.games.kahmate.state import (
    EMPTY,
    FULL_HAND,
    Action,
    Course,
    EndTurn,
    FaceOff,
    KahmateOptions,
    Kind,
    State,
)

Play = tuple[Action, Course | None]
"""An action and its course. The end of the turn has none."""
END_TURN: Play = (EndTurn(), None)
_OPTIONS = KahmateOptions()


def state_of(view: Mapping[str, Any]) -> State:
    """Return the state of a view after the placement.

    Pending face-offs, turn numbers and limits are left out.
    """
    pieces = view["pieces"]
    places = tuple(_square(piece["square"]) for piece in pieces)
    return State(
        _OPTIONS,
        places,
        tuple(piece["rounds_down"] for piece in pieces),
        _square(view["ball"]["square"]),
        SEATS.index(view["seat"]),
        tuple(places.index(NUMBERS[name]) for name in view["ran"]),
        (tuple(view["cards"][SEATS[0]]), tuple(view["cards"][SEATS[1]])),
    )


def _square(name: str) -> int:
    return IN_GOAL if name == "goal" else NUMBERS[name]


def key_of(state: State) -> tuple[object, ...]:
    """Return a key that identifies a state."""
    return (state.places, state.down, state.ball, state.seat, state.ran)


# ---- what a play comes to ------------------------------------------------------------------------


def end_turn(state: State, **changes: Any) -> State:
    """Return the state at the start of the other seat's turn, after these changes.

    Pieces that have been down for the whole own turn stand up.
    """
    down = list(changes.pop("down", state.down))
    for piece in TEAMS[state.seat]:
        down[piece] = max(0, down[piece] - 1)
    return replace(
        state,
        seat=1 - state.seat,
        ran=(),
        down=tuple(down),
        **changes,
    )


def state_if_won(state: State, course: Course, lead: int = 1) -> State:
    """Return the state after a course with all face-offs won, the last one by `lead`."""
    hands = _hands_after(state, course)
    if course.kind is Kind.TACKLE:
        ball = state.places[course.movers[0]] if lead > CLEAR_LEAD else course.ball
        down = _down_after(state, [course.face_offs[0].defender])
        return end_turn(
            state,
            cards=hands,
            ball=ball,
            down=down,
        )
    if course.kind is not Kind.RUN:
        return replace(state, cards=hands, ball=course.ball)
    return replace(
        state,
        cards=hands,
        ball=course.ball,
        places=_places_after(state, course.movers[0], course.end),
        down=_down_after(state, [face_off.defender for face_off in course.face_offs]),
        ran=(*state.ran, course.movers[0]),
    )


def state_if_lost(state: State, course: Course, face_off: FaceOff) -> State:
    """Return the state after a course that ends with the loss of this face-off."""
    hands = _hands_after(state, course)
    down = _down_after(state, course.movers)
    if course.kind is Kind.TACKLE:
        return end_turn(state, cards=hands, down=down)
    if course.kind is Kind.PASS:
        return replace(state, cards=hands, ball=face_off.ball)
    return replace(
        state,
        cards=hands,
        ball=face_off.ball,
        places=_places_after(state, course.movers[0], face_off.stop),
        down=down,
        ran=(*state.ran, course.movers[0]),
    )


def _hands_after(state: State, course: Course) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the hands after a course.

    Which cards it costs is unknown, but after the last cards both hands are full again.
    """
    if course.face_offs and len(state.cards[0]) == 1:
        return FULL_HAND, FULL_HAND
    return state.cards


def _places_after(state: State, piece: int, square: int) -> tuple[int, ...]:
    return (*state.places[:piece], square, *state.places[piece + 1 :])


def _down_after(state: State, pieces: Iterable[int]) -> tuple[int, ...]:
    """Return how long each piece is down, once these are turned over."""
    down = list(state.down)
    for piece in pieces:
        # the present turn does not count for the side that plays it
        down[piece] = 2 if piece in TEAMS[state.seat] else 1
    return tuple(down)


# ---- the plays of a turn -------------------------------------------------------------------------


def plays(state: State, *, all_meetings: bool) -> Iterator[tuple[Action, Course]]:
    """Yield the plays of the seat on turn, one for each course, without the end of the turn.

    :param all_meetings: whether pieces without the ball may run into opponents, too
    """
    for action, course in canonical(state):
        if course is None:
            continue
        max_meetings = 1 if all_meetings or course.mover == state.carrier else 0
        if course.kind is Kind.RUN and len(course.face_offs) > max_meetings:
            continue
        # never kick the ball to an opponent
        if course.kind is Kind.KICK and state.board[course.end] != EMPTY:
            continue
        yield action, course


def steps_apart(square: int, other: int) -> int:
    """Return the number of steps between squares on an empty board."""
    return abs(rank_of(square) - rank_of(other)) + abs(file_of(square) - file_of(other))
