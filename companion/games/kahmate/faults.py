"""Which rule the board breaks as hands have left it: the one thing they did, and why it is no
play.
"""

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
    """Squares that look otherwise than expected: what was on top of them, and what is."""

    was: Mapping[int, str]
    now: Mapping[int, str]

    def came(self, face: str) -> list[int]:
        """Return squares where that face is on top now and was not."""
        return [square for square, name in self.now.items() if name == face]


def why_not(state: State, seat: Seat, seen: FacesSeen) -> Illegal | None:
    """Return the rule that hands of the seat on turn have broken.

    None when it was no single play, or a legal one.
    """
    if state.is_placing or state.course or state.outcome or seat.number != state.seat:
        return None
    try:
        _judge(state, _changes(state, seen))
    except Illegal as refusal:
        return refusal
    return None


def _changes(state: State, seen: FacesSeen) -> _Change:
    layout = layout_of(state.places, state.down, state.ball)
    tops = {NUMBER_OF[square]: faces[-1] for square, faces in layout.items()}
    now = {NUMBER_OF[square]: face for square, face in seen.items() if square in NUMBER_OF}
    differing = [square for square in {**tops, **now} if tops.get(square) != now.get(square)]
    return _Change(
        {square: tops[square] for square in differing if square in tops},
        {square: now[square] for square in differing if square in now},
    )


def _judge(state: State, change: _Change) -> None:
    """Raise `Illegal` for the one thing that hands have done."""
    _judge_flips(state, change)
    left = change.was.keys() - change.now.keys()
    gone = [piece for piece in PIECES if state.places[piece] in left]
    # no piece has left its square, so it may be the ball alone
    if not gone:
        _judge_ball(state, change)
    # two pieces at once are no single play
    if len(gone) != 1:
        return
    mover = gone[0]
    if SEAT_OF[mover] == state.seat:
        _judge_mover(state, mover, change)
        return
    square = state.places[mover]
    sentence = say(
        "{piece!c} is not {side}’s to move: put it back on {square}.",
        **named(mover, square),
        side=SIDE_NAMES[state.seat],
    )
    refuse(Reason.OTHER_SIDE, sentence, "round", square)


def _judge_flips(state: State, change: _Change) -> None:
    """Judge a piece that shows its other face on its own square."""
    for piece in PIECES:
        square = state.places[piece]
        pair = {PIECE_NAMES[piece], DOWN_NAMES[piece]}
        if square != IN_GOAL and {change.was.get(square), change.now.get(square)} == pair:
            parts = named(piece, square)
            sentence = say(
                "{piece!c} on {square} should not have been turned over: turn it back.", **parts
            )
            if state.down[piece]:
                sentence = say(
                    "{piece!c} on {square} should not stand up yet: turn it back.", **parts
                )
            refuse(Reason.FLIPPED_BY_HAND, sentence, "turned-over", square)


def _judge_mover(state: State, mover: int, change: _Change) -> None:
    """Judge one piece that has left its square: it has run or tackled."""
    start = state.places[mover]
    ends = change.came(PIECE_NAMES[mover]) + change.came(DOWN_NAMES[mover])
    # the ball that was on top of the piece may hide it where it has gone
    if change.was[start] == BALL:
        ends = ends or change.came(BALL)
    if len(ends) != 1:
        return
    end = ends[0]
    both = {"square": NAMES[start], "to": NAMES[end]}
    is_against = state.other_carrier != EMPTY
    if end == state.ball and is_against:
        # a tackler has to go round standing opponents
        standing = {state.places[piece] for piece in PIECES if state.stands_against(piece)}
        tackle = Tackle((_way(start, end, standing)[:-1],), end)
        _explain(state, tackle, say("{square} to {to} is not a tackle.", **both))
        return
    # no run enters the square of the other side's carrier
    avoided = frozenset({state.ball}) if is_against else frozenset()
    way = _way(start, end, avoided)
    _explain(state, Run(way), say("{square} to {to} is not a run.", **both))


def _judge_ball(state: State, change: _Change) -> None:
    """Judge a ball that alone is on another square: a pass or a kick."""
    start = state.ball
    ends = change.came(BALL)
    # no new square of the ball, or something else has changed as well
    if len(ends) != 1 or change.was.keys() - {start, ends[0]} or start not in change.was:
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
    # ahead, and not to a team-mate: nothing but a kick can be meant
    if is_ahead and not mate:
        action = Kick(start, end)
        text = say("{square} to {to} is not a kick.", **both)
    _explain(state, action, text)


def _explain(state: State, action: Action, first: str) -> None:
    """Raise the refusal of an action with a sentence before it. Nothing when it is legal."""
    try:
        check(state, SEATS[state.seat], action)
    except Illegal as refusal:
        sentence = joined(" ", (first, refusal.message))
        raise Illegal(refusal.reason, sentence, refusal.rule, refusal.square) from None


# ---- the way that a hand has most likely meant ---------------------------------------------------


def _way(start: int, end: int, avoided: Set[int]) -> Path:
    """Return a shortest way, if there is one round the avoided squares.

    Else a shortest at all, to say what bars it.
    """
    shortest = _shortest(start, end, frozenset())
    around = _shortest(start, end, avoided)
    if len(around) == len(shortest):
        return around
    return shortest


def _shortest(start: int, end: int, avoided: Set[int]) -> Path:
    """Return a shortest way that goes through none of the avoided squares, empty where there is
    none."""
    queue: deque[Path] = deque([(start,)])
    visited = {start}
    while queue:
        way = queue.popleft()
        if way[-1] == end:
            return way
        # such a square may be the end of a way, but nothing goes on from it
        if way[-1] in avoided:
            continue
        for square in STEPS[way[-1]]:
            if square not in visited:
                visited.add(square)
                queue.append((*way, square))
    return ()
