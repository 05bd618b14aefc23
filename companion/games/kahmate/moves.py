"""Move generation for Kahmate: all legal actions, one action per course, and random actions.

Paths are generated here step by step. `legal.check` tests one given action without generating
others.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from random import Random

from companion.core.kit import Seat
from companion.games.kahmate.actions import (
    Action,
    BallPlay,
    Card,
    EndTurn,
    Kick,
    Pass,
    Path,
    Placement,
    Run,
    Tackle,
)
from companion.games.kahmate.board import (
    AHEAD,
    AREA,
    FILES,
    IN_GOAL,
    KICK_REACH,
    OWN_LINE,
    OWN_RANKS,
    PASS_REACH,
    SPEED,
    STEPS,
    TEAM,
    TEAMS,
    file_of,
    rank_of,
    ranks_ahead,
)
from companion.games.kahmate.courses import course_of
from companion.games.kahmate.state import EMPTY, Course, State


def legal_actions(state: State, seat: Seat) -> Iterator[Action]:
    """Yield all legal actions of a seat. There are 5,765,760 placings."""
    side = seat.number
    if state.outcome:
        return
    if state.is_placing:
        yield from map(Placement, itertools.permutations(OWN_RANKS[side], TEAM))
    elif state.course:
        yield from map(Card, state.cards[side])
    elif side == state.seat:
        yield from _plays(state, tuple)
        yield EndTurn()


Choice = Callable[[Iterable[Path]], tuple[Path, ...]]
"""Chooses the paths of a tackler that are worth listing."""


def _plays(state: State, choose_paths: Choice) -> Iterator[BallPlay]:
    for piece in able(state):
        yield from runs(state, piece)
    yield from passes(state)
    yield from kicks(state)
    yield from _tackles(state, choose_paths)


def able(state: State) -> list[int]:
    """Return the pieces of the seat on turn that may still run or tackle in this turn."""
    if not state.runs_left:
        return []
    return [
        piece for piece in TEAMS[state.seat] if not state.down[piece] and piece not in state.ran
    ]


def runs(state: State, piece: int) -> Iterator[Run]:
    """Yield every run of a piece, the shorter ones first. The piece must be able to run."""
    board = state.board
    ball = state.ball
    speed = SPEED[piece]
    goal = OWN_LINE[1 - state.seat]
    # The opponent's carrier is tackled and never run into (Rulings, section 4).
    forbidden = state.other_carrier
    # No square has the number -1, which stands for no loose ball.
    loose = ball if state.carrier == EMPTY else -1
    start = state.places[piece]
    ways: list[tuple[Path, bool]] = [((start,), start == ball)]
    for _ in range(speed):
        further: list[tuple[Path, bool]] = []
        for path, has_ball in ways:
            # The step into goal is the one that this iteration adds.
            if has_ball and rank_of(path[-1]) == goal:
                yield Run(path, True)
            for square in STEPS[path[-1]]:
                other = board[square]
                # If the opponent has no carrier, `forbidden` is EMPTY and excludes no square.
                if other == forbidden != EMPTY:
                    continue
                way = (*path, square)
                # A run may pass other pieces, but must end on a free square or on its start.
                if other in (EMPTY, piece):
                    yield Run(way)
                further.append((way, has_ball or square == loose))
        ways = further


def passes(state: State) -> Iterator[Pass]:
    """Yield every pass of the carrier."""
    if state.carrier not in TEAMS[state.seat]:
        return
    for mate in TEAMS[state.seat]:
        end = state.places[mate]
        back = ranks_ahead(end, state.ball, state.seat)
        aside = abs(file_of(state.ball) - file_of(end))
        if not state.down[mate] and 1 <= back <= PASS_REACH and aside <= PASS_REACH:
            yield Pass(state.ball, end)


def kicks(state: State) -> Iterator[Kick]:
    """Yield every kick of the carrier."""
    ball = state.ball
    mates = TEAMS[state.seat]
    if state.carrier not in mates:
        return
    # A team-mate ahead forbids kicks, even if turned over (Rulings, section 4).
    if any(ranks_ahead(ball, state.places[mate], state.seat) > 0 for mate in mates):
        return
    files = range(max(0, file_of(ball) - KICK_REACH), min(FILES, file_of(ball) + KICK_REACH + 1))
    for ranks in range(1, KICK_REACH + 1):
        # First square of the rank that is `ranks` ahead of the ball.
        first = ball - file_of(ball) + ranks * AHEAD[state.seat]
        if 0 <= first < AREA:
            for file in files:
                yield Kick(ball, first + file)


def ways_to_carrier(state: State, piece: int) -> Iterator[Path]:
    """Yield every path of a piece to a square next to the opponent's carrier, the shorter ones
    first.
    """
    if state.other_carrier == EMPTY:
        return
    ways: list[Path] = [(state.places[piece],)]
    for _ in range(SPEED[piece]):
        further = []
        for path in ways:
            for square in STEPS[path[-1]]:
                # The path ends next to the carrier, since a tackler does not enter its square.
                if square == state.ball:
                    yield path
                elif not state.stands_against(state.board[square]):
                    further.append((*path, square))
        ways = further


def _tackles(state: State, choose_paths: Choice) -> Iterator[Tackle]:
    """Yield the tackles by one or two pieces."""
    ways = {piece: choose_paths(ways_to_carrier(state, piece)) for piece in able(state)}
    for paths in ways.values():
        for path in paths:
            yield Tackle((path,), state.ball)
    # Two tacklers use both runs (Rulings, section 4).
    if state.runs_left < 2:
        return
    # Both orders count, because the first tackler takes the ball and decides the side.
    for first, second in itertools.permutations(ways, 2):
        for pair in itertools.product(ways[first], ways[second]):
            yield Tackle(pair, state.ball)


# ---- one of several that come to the same --------------------------------------------------------


def canonical(state: State) -> list[tuple[Action, Course | None]]:
    """Return one legal action of a turn for each course, together with the course.

    It is the shortest action, with the alphabet as tie-break. Actions of one course lead to the
    same state and leave the same layout. The end of the turn has no course and comes last.
    """
    best: dict[Course, tuple[tuple[int, str], Action]] = {}
    # A longer path of a tackler to the same last square has the same course.
    for action in _plays(state, _shortest):
        course = course_of(state, action)
        rank = (steps_of(action), str(action))
        if course not in best or rank < best[course][0]:
            best[course] = rank, action
    return [*((action, course) for course, (_, action) in best.items()), (EndTurn(), None)]


def steps_of(action: Action) -> int:
    """Return the number of squares in the notation of an action."""
    if isinstance(action, Run):
        return len(action.path) + action.into_goal
    if isinstance(action, Tackle):
        return sum(map(len, action.paths))
    return 2


def _shortest(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Return the shortest paths to each last square, which decides the side of a tackle."""
    lengths: dict[int, int] = {}
    # Paths are sorted by length, so the first one to a square is the shortest.
    return tuple(path for path in paths if len(path) == lengths.setdefault(path[-1], len(path)))


# ---- at random -----------------------------------------------------------------------------------


_MAX_COMPARED = 40
"""Maximum number of actions that a random player compares by how near they bring a try."""


def random_action(state: State, seat: Seat, rng: Random) -> Action:
    """Return a random legal action, with a preference for those that bring a try nearer."""
    if state.is_placing:
        return Placement(tuple(rng.sample(OWN_RANKS[seat.number], TEAM)))
    if state.course:
        return Card(rng.choice(state.cards[seat.number]))
    plays = canonical(state)
    # Take either a purely random action or the best of many.
    compared = rng.sample(plays, rng.choice((1, min(len(plays), _MAX_COMPARED))))
    return max(compared, key=lambda play: _promise(state, play[1]))[0]


def _promise(state: State, course: Course | None) -> int:
    """Return how far a course brings the ball ahead and its mover to the ball.

    The end of the turn, which has no course, brings nothing.
    """
    if course is None:
        return 0
    if course.end == IN_GOAL:
        return AREA
    ahead = ranks_ahead(state.ball, course.ball, state.seat)
    files = abs(file_of(course.end) - file_of(course.ball))
    ranks = abs(rank_of(course.end) - rank_of(course.ball))
    return 3 * ahead - files - ranks
