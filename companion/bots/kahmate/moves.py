"""Turns of Kahmate for the search: the plays of a turn, and the states after each.

States, actions and plans are the game's own. The plan of a play is its consequences, with its
face-offs: duels of cards, one for each opponent in the way. In a face-off, each side adds a secret
card to its strength. The higher total wins, and the difference is the lead. After a run or a
tackle, a piece that has lost is turned over and is down, which means that it misses turns. The
search leaves out runs into several opponents, and kicks to an opponent.
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
    SQUARE_NUMBERS,
    TEAMS,
    file_of,
    rank_of,
)
from companion.games.kahmate.moves import distinct_plays
from companion.games.kahmate.state import (
    FULL_HAND,
    NO_PIECE,
    ActionKind,
    ActionPlan,
    FaceOff,
    KahmateOptions,
    State,
)


class CandidatePlay(NamedTuple):
    """A play that the search considers, or the end of the turn."""

    action: Action
    plan: ActionPlan | None
    """Consequences of the play. None for the end of the turn."""


END_TURN = CandidatePlay(EndTurn(), None)
_OPTIONS = KahmateOptions()


def state_of(view: Mapping[str, Any]) -> State:
    """Return the state of a view after the placement.

    Pending face-offs, turn numbers and limits are left out.
    """
    pieces = view["pieces"]
    south, north = SEATS
    piece_squares = tuple(_square(piece["square"]) for piece in pieces)
    return State(
        _OPTIONS,
        piece_squares=piece_squares,
        turns_to_miss=tuple(piece["rounds_down"] for piece in pieces),
        ball=_square(view["ball"]["square"]),
        seat=SEATS.index(view["seat"]),
        moved_pieces=tuple(piece_squares.index(SQUARE_NUMBERS[name]) for name in view["ran"]),
        cards=(tuple(view["cards"][south]), tuple(view["cards"][north])),
    )


def _square(name: str) -> int:
    return IN_GOAL if name == "goal" else SQUARE_NUMBERS[name]


def repetition_key(state: State) -> tuple[object, ...]:
    """Return the part of a state that is compared to detect a repetition. Cards do not count."""
    return (state.piece_squares, state.turns_to_miss, state.ball, state.seat, state.moved_pieces)


# ---- states after a play -------------------------------------------------------------------------


def end_turn(state: State) -> State:
    """Return the state at the start of the other seat's turn.

    A piece has one turn less to miss at the end of each turn of its own side, and stands up at 0.
    """
    turns_to_miss = list(state.turns_to_miss)
    for piece in TEAMS[state.seat]:
        turns_to_miss[piece] = max(0, turns_to_miss[piece] - 1)
    return replace(state, seat=1 - state.seat, moved_pieces=(), turns_to_miss=tuple(turns_to_miss))


def state_if_won(state: State, plan: ActionPlan, lead: int = 1) -> State:
    """Return the state after a play with all face-offs won, the last one by `lead`.

    A tackle ends the turn, so the other seat is on turn after it.
    """
    state = _refill_hands(state, plan)
    defenders = [face_off.defender for face_off in plan.face_offs]
    if plan.kind is ActionKind.RUN:
        return _end_run(state, plan.mover, plan.end, plan.ball, defenders)
    if plan.kind is not ActionKind.TACKLE:
        return replace(state, ball=plan.ball)
    # only a clear lead gives the ball to the tackler
    ball = state.piece_squares[plan.mover] if lead > CLEAR_LEAD else plan.ball
    return end_turn(replace(state, ball=ball, turns_to_miss=_turn_over(state, defenders)))


def state_if_lost(state: State, plan: ActionPlan, face_off: FaceOff) -> State:
    """Return the state after a play that ends with the loss of this face-off.

    A tackle ends the turn, so the other seat is on turn after it.
    """
    state = _refill_hands(state, plan)
    ball = face_off.ball_if_lost
    if plan.kind is ActionKind.RUN:
        return _end_run(state, plan.mover, face_off.stop_if_lost, ball, plan.movers)
    if plan.kind is not ActionKind.TACKLE:
        return replace(state, ball=ball)
    return end_turn(replace(state, turns_to_miss=_turn_over(state, plan.movers)))


def _refill_hands(state: State, plan: ActionPlan) -> State:
    """Return the state with the cards that both seats have after the face-offs of a play.

    Which cards these cost is unknown, so hands stay as they are. But after the last cards both
    hands are full again.
    """
    if plan.face_offs and len(state.cards[0]) == 1:
        return replace(state, cards=(FULL_HAND, FULL_HAND))
    return state


def _end_run(
    state: State, runner: int, square: int, ball: int, turned_over: Iterable[int]
) -> State:
    """Return the state after a run that ends on a square, and turns pieces over."""
    return replace(
        state,
        ball=ball,
        piece_squares=(*state.piece_squares[:runner], square, *state.piece_squares[runner + 1 :]),
        turns_to_miss=_turn_over(state, turned_over),
        moved_pieces=(*state.moved_pieces, runner),
    )


def _turn_over(state: State, pieces: Iterable[int]) -> tuple[int, ...]:
    """Return `State.turns_to_miss` once these pieces are turned over."""
    turns_to_miss = list(state.turns_to_miss)
    for piece in pieces:
        # A piece misses one whole turn. The present turn, if it is its own side's, also counts as
        # one when it ends.
        turns_to_miss[piece] = 2 if piece in TEAMS[state.seat] else 1
    return tuple(turns_to_miss)


# ---- the plays of a turn -------------------------------------------------------------------------


def candidate_plays(state: State, *, may_non_carriers_face_off: bool) -> Iterator[CandidatePlay]:
    """Yield the plays that the search considers, one for each plan, without `END_TURN`.

    The carrier may run into one opponent at most.

    :param may_non_carriers_face_off: whether pieces without the ball may also run into an opponent
    """
    for action, plan in distinct_plays(state):
        if plan is None:
            continue
        max_face_offs = 1 if may_non_carriers_face_off or plan.mover == state.carrier else 0
        if plan.kind is ActionKind.RUN and len(plan.face_offs) > max_face_offs:
            continue
        # never kick the ball to an opponent, standing or turned over
        if plan.kind is ActionKind.KICK and state.board[plan.ball] != NO_PIECE:
            continue
        yield CandidatePlay(action, plan)


def steps_apart(square: int, other: int) -> int:
    """Return the number of steps between squares on an empty board."""
    return abs(rank_of(square) - rank_of(other)) + abs(file_of(square) - file_of(other))
