"""Diagnosis of a wrong board: which single change hands have made, and which rule forbids it."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Set
from dataclasses import dataclass

from companion.core.errors import Illegal
from companion.core.i18n import joined, say
from companion.core.kit import SEATS, Seat
from companion.games.kahmate.actions import Action, Kick, Pass, Path, Run, Tackle
from companion.games.kahmate.board import (
    BALL,
    DOWN_NAMES,
    IN_GOAL,
    NAMES,
    NUMBER_OF,
    PIECE_NAMES,
    PIECES,
    SEAT_OF,
    SIDE_NAMES,
    STEPS,
    named,
    ranks_ahead,
)
from companion.games.kahmate.courses import FacesSeen
from companion.games.kahmate.legal import Reason, check, refuse
from companion.games.kahmate.state import EMPTY, State, layout_of


@dataclass(frozen=True)
class _Change:
    """Squares that differ from the expected layout: their top faces `before` and `after`."""

    before: Mapping[int, str]
    after: Mapping[int, str]

    def gained(self, face: str) -> list[int]:
        """Return the squares where this face is new on top."""
        return [square for square, name in self.after.items() if name == face]


def why_not(state: State, seat: Seat, seen: FacesSeen) -> Illegal | None:
    """Return the rule that hands of the seat on turn have broken.

    None if the change is legal or is not a single play.
    """
    if state.is_placing or state.course or state.outcome or seat.number != state.seat:
        return None
    try:
        _check_change(state, _changes(state, seen))
    except Illegal as refusal:
        return refusal
    return None


def _changes(state: State, seen: FacesSeen) -> _Change:
    layout = layout_of(state.places, state.down, state.ball)
    tops = {NUMBER_OF[square]: faces[-1] for square, faces in layout.items()}
    seen_tops = {NUMBER_OF[square]: face for square, face in seen.items() if square in NUMBER_OF}
    differing = [
        square for square in {**tops, **seen_tops} if tops.get(square) != seen_tops.get(square)
    ]
    return _Change(
        {square: tops[square] for square in differing if square in tops},
        {square: seen_tops[square] for square in differing if square in seen_tops},
    )


def _check_change(state: State, change: _Change) -> None:
    """Raise `Illegal` for the one change that hands have made."""
    _check_flips(state, change)
    vacated = change.before.keys() - change.after.keys()
    moved = [piece for piece in PIECES if state.places[piece] in vacated]
    # No piece has vacated its square, so only the ball may have moved.
    if not moved:
        _check_ball(state, change)
    # Two moved pieces are not a single play.
    if len(moved) != 1:
        return
    mover = moved[0]
    if SEAT_OF[mover] == state.seat:
        _check_mover(state, mover, change)
        return
    square = state.places[mover]
    sentence = say(
        "{piece!c} is not {side}’s to move: put it back on {square}.",
        **named(mover, square),
        side=SIDE_NAMES[state.seat],
    )
    refuse(Reason.OTHER_SIDE, sentence, "round", square)


def _check_flips(state: State, change: _Change) -> None:
    """Raise `Illegal` for a piece that was turned over on its own square."""
    for piece in PIECES:
        square = state.places[piece]
        pair = {PIECE_NAMES[piece], DOWN_NAMES[piece]}
        if square != IN_GOAL and {change.before.get(square), change.after.get(square)} == pair:
            parts = named(piece, square)
            sentence = say(
                "{piece!c} on {square} should not have been turned over: turn it back.", **parts
            )
            if state.down[piece]:
                sentence = say(
                    "{piece!c} on {square} should not stand up yet: turn it back.", **parts
                )
            refuse(Reason.FLIPPED_BY_HAND, sentence, "turned-over", square)


def _check_mover(state: State, mover: int, change: _Change) -> None:
    """Raise `Illegal` for one piece that has left its square by an illegal run or tackle."""
    start = state.places[mover]
    ends = change.gained(PIECE_NAMES[mover]) + change.gained(DOWN_NAMES[mover])
    # The ball on top of the piece may hide it on its new square.
    if change.before[start] == BALL:
        ends = ends or change.gained(BALL)
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


def _check_ball(state: State, change: _Change) -> None:
    """Raise `Illegal` for a moved ball that is no legal pass or kick."""
    start = state.ball
    ends = change.gained(BALL)
    # The ball has no new square, or other things have changed as well.
    if len(ends) != 1 or change.before.keys() - {start, ends[0]} or start not in change.before:
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
    """Return a shortest path that also avoids the given squares, if there is one.

    Otherwise return any shortest path, so that the refusal can name the obstacle.
    """
    shortest = _shortest(start, end, frozenset())
    around = _shortest(start, end, avoided)
    if len(around) == len(shortest):
        return around
    return shortest


def _shortest(start: int, end: int, avoided: Set[int]) -> Path:
    """Return a shortest path by breadth-first search, or an empty one if there is none.

    It does not go through the avoided squares.
    """
    queue: deque[Path] = deque([(start,)])
    visited = {start}
    while queue:
        way = queue.popleft()
        if way[-1] == end:
            return way
        # A path may end on an avoided square, but does not continue from it.
        if way[-1] in avoided:
            continue
        for square in STEPS[way[-1]]:
            if square not in visited:
                visited.add(square)
                queue.append((*way, square))
    return ()
