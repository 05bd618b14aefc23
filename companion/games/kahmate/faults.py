"""Diagnosis of a wrong board: which single change hands have made, and which rule forbids it."""

from __future__ import annotations

from collections.abc import Mapping, Set

from companion.core.errors import Illegal
from companion.core.i18n import joined, say
from companion.core.kit import SEATS, Seat
from companion.games.base import FacesSeen, changed_tops
from companion.games.kahmate.actions import Action, Kick, Pass, Path, Run, Tackle
from companion.games.kahmate.board import (
    BALL,
    DOWN_NAMES,
    NAMES,
    NUMBER_OF,
    PIECE_NAMES,
    PIECES,
    SEAT_OF,
    SIDE_NAMES,
    STEPS,
    names_of,
    ranks_ahead,
)
from companion.games.kahmate.legal import Reason, check, refuse
from companion.games.kahmate.state import EMPTY, State, layout_of

Changes = Mapping[int, tuple[str | None, str | None]]
"""Top face before and now of each square that differs."""


def why_not(state: State, seat: Seat, seen: FacesSeen) -> Illegal | None:
    """Return the rule that hands of the seat on turn have broken.

    None if the change is legal or is not a single play.
    """
    if state.is_placing or state.course or state.outcome or seat.number != state.seat:
        return None
    try:
        _check_changes(state, _changes(state, seen))
    except Illegal as refusal:
        return refusal
    return None


def _changes(state: State, seen: FacesSeen) -> Changes:
    tops = changed_tops(layout_of(state.places, state.down, state.ball), seen)
    return {NUMBER_OF[square]: pair for square, pair in tops.items() if square in NUMBER_OF}


def _squares_with(changes: Changes, face: str) -> list[int]:
    """Return the squares where this face is new on top."""
    return [square for square, (_, after) in changes.items() if after == face]


def _check_changes(state: State, changes: Changes) -> None:
    """Raise `Illegal` for the one change that hands have made."""
    _check_flips(state, changes)
    vacated = [square for square, (_, after) in changes.items() if after is None]
    moved = [piece for piece in PIECES if state.places[piece] in vacated]
    # No piece has vacated its square, so only the ball may have moved.
    if not moved:
        _check_ball(state, changes)
    # Two moved pieces are not a single play.
    if len(moved) != 1:
        return
    mover = moved[0]
    if SEAT_OF[mover] == state.seat:
        _check_mover(state, mover, changes)
        return
    square = state.places[mover]
    sentence = say(
        "{piece!c} is not {side}’s to move: put it back on {square}.",
        **names_of(mover, square),
        side=SIDE_NAMES[state.seat],
    )
    refuse(Reason.OTHER_SIDE, sentence, "round", square)


def _check_flips(state: State, changes: Changes) -> None:
    """Raise `Illegal` for a piece that was turned over on its own square."""
    for piece in PIECES:
        square = state.places[piece]
        if {*changes.get(square, ())} == {PIECE_NAMES[piece], DOWN_NAMES[piece]}:
            parts = names_of(piece, square)
            sentence = say(
                "{piece!c} on {square} should not have been turned over: turn it back.", **parts
            )
            if state.down[piece]:
                sentence = say(
                    "{piece!c} on {square} should not stand up yet: turn it back.", **parts
                )
            refuse(Reason.FLIPPED_BY_HAND, sentence, "turned-over", square)


def _check_mover(state: State, mover: int, changes: Changes) -> None:
    """Raise `Illegal` for one piece that has left its square by an illegal run or tackle."""
    start = state.places[mover]
    ends = _squares_with(changes, PIECE_NAMES[mover]) + _squares_with(changes, DOWN_NAMES[mover])
    # The ball on top of the piece may hide it on its new square.
    if changes[start][0] == BALL:
        ends = ends or _squares_with(changes, BALL)
    if len(ends) != 1:
        return
    end = ends[0]
    both = {"square": NAMES[start], "to": NAMES[end]}
    is_against = state.other_carrier != EMPTY
    if end == state.ball and is_against:
        # A tackler must go round standing opponents.
        standing = {state.places[piece] for piece in PIECES if state.stands_against(piece)}
        tackle = Tackle((_way(start, end, standing)[:-1],), end)
        _explain(state, tackle, say("{square} to {to} is not a tackle.", **both))
        return
    # No run may enter the square of the opponent's carrier.
    avoided = frozenset({state.ball}) if is_against else frozenset()
    way = _way(start, end, avoided)
    _explain(state, Run(way), say("{square} to {to} is not a run.", **both))


def _check_ball(state: State, changes: Changes) -> None:
    """Raise `Illegal` for a moved ball that is no legal pass or kick."""
    start = state.ball
    ends = _squares_with(changes, BALL)
    # Only a ball that has left its square for one other is judged, and only if nothing else moved.
    occupied = {square for square, (before, _) in changes.items() if before}
    if len(ends) != 1 or occupied - {start, ends[0]} or start not in occupied:
        return
    end = ends[0]
    if state.carrier == EMPTY:
        sentence = say(
            "The ball on {square} is loose: a piece has to fetch it by a run.", square=NAMES[start]
        )
        refuse(Reason.NO_BALL, sentence, "loose-ball", start)
    mate = state.board[end] != EMPTY and SEAT_OF[state.board[end]] == state.seat
    is_ahead = ranks_ahead(start, end, state.seat) > 0
    both = {"square": NAMES[start], "to": NAMES[end]}
    action: Kick | Pass = Pass(start, end)
    text = say("{square} to {to} is not a pass.", **both)
    # A ball that goes ahead and not to a team-mate can only be a kick.
    if is_ahead and not mate:
        action = Kick(start, end)
        text = say("{square} to {to} is not a kick.", **both)
    _explain(state, action, text)


def _explain(state: State, action: Action, first: str) -> None:
    """Raise the refusal of an action with the sentence `first` before it. A legal action passes."""
    try:
        check(state, SEATS[state.seat], action)
    except Illegal as refusal:
        sentence = joined(" ", (first, refusal.message))
        raise Illegal(refusal.reason, sentence, refusal.rule, refusal.square) from None


# ---- the way that a hand has most likely meant ---------------------------------------------------


def _way(start: int, end: int, avoided: Set[int]) -> Path:
    """Return a shortest path, and of several the one that crosses the fewest of `avoided`.

    If it crosses any, the refusal can name the obstacle.
    """
    ways: dict[int, Path] = {start: (start,)}
    # Breadth-first search: `ways` holds one path to each square at the same number of steps.
    while end not in ways:
        further: dict[int, Path] = {}
        for way in ways.values():
            for square in STEPS[way[-1]]:
                paths = further.get(square, (*way, square)), (*way, square)
                further[square] = min(paths, key=lambda path: len(avoided & {*path[1:-1]}))
        ways = further
    return ways[end]
