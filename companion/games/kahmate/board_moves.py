"""What hands do on the board: how a play leaves it, and which placing it shows."""

from __future__ import annotations

from collections.abc import Mapping

from companion.core.grid import Square
from companion.core.kit import Layout
from companion.games.kahmate.actions import Action, Kick, Pass, Placement, Run, Tackle
from companion.games.kahmate.board import (
    DOWN_NAMES,
    NUMBER_OF,
    OWN_RANKS,
    PIECE_NAMES,
    SQUARES,
    TEAMS,
)
from companion.games.kahmate.courses import course_of
from companion.games.kahmate.state import Kind, State, layout_of

FacesSeen = Mapping[Square, str]
"""The face on top of each square where one is seen."""


def as_laid(state: State, action: Action) -> Layout | None:
    """Return how the board lies when a hand has made a play as if every face-off were won.

    None: by no hand.

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


def laid_out(state: State, seat: int, seen: FacesSeen) -> Placement | None:
    """Return the placing that lies openly on a seat's two ranks.

    None unless all its six pieces stand there.
    """
    own = {PIECE_NAMES[piece] for piece in TEAMS[seat]} | {DOWN_NAMES[piece] for piece in TEAMS[seat]}
    lying = sorted((face, NUMBER_OF[square]) for square, face in seen.items() if face in own)
    squares = [square for _, square in lying]
    if not state.is_placing or [face for face, _ in lying] != sorted(PIECE_NAMES[piece] for piece in TEAMS[seat]):
        return None
    if not set(squares) <= set(OWN_RANKS[seat]):
        return None
    by_face: dict[str, list[int]] = {}
    for face, square in lying:
        by_face.setdefault(face, []).append(square)
    return Placement(tuple(by_face[PIECE_NAMES[piece]].pop(0) for piece in TEAMS[seat]))
