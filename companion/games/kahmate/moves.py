"""Every legal action of a position, one of several that come to the same, and one drawn at random.

Ways are walked here, step by step. `legal.check` judges a given action without walking any other.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from random import Random

from companion.core.kit import Seat
from companion.games.kahmate.actions import (
    Action,
    Card,
    EndRound,
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
    """Yield all legal actions of a seat, lazily: it may place its pieces in 5,765,760 ways."""
    side = seat.number
    if state.outcome:
        return
    if state.is_placing:
        yield from map(Placement, itertools.permutations(OWN_RANKS[side], TEAM))
    elif state.course:
        yield from map(Card, state.hands[side])
    elif side == state.seat:
        for piece in able(state):
            yield from runs(state, piece)
        yield from passes(state)
        yield from kicks(state)
        ways = {piece: tuple(ways_to_carrier(state, piece)) for piece in able(state)}
        yield from _tackles(state, ways)
        yield EndRound()


def able(state: State) -> list[int]:
    """Return the pieces of the seat on turn that may still run or tackle in this round."""
    if not state.runs_left:
        return []
    return [
        piece for piece in TEAMS[state.seat] if not state.down[piece] and piece not in state.ran
    ]


def runs(state: State, piece: int) -> Iterator[Run]:
    """Yield every run of a piece that is able to, the shorter ones first."""
    board = state.board
    ball = state.ball
    speed = SPEED[piece]
    goal = OWN_LINE[1 - state.seat]
    # the other side's carrier is tackled, nobody runs onto him (Rulings, section 4)
    forbidden = state.other_carrier
    # no square has the number -1: then there is no loose ball to fetch
    loose = ball if state.carrier == EMPTY else -1
    start = state.places[piece]
    ways: list[tuple[Path, bool]] = [((start,), start == ball)]
    for _ in range(speed):
        further: list[tuple[Path, bool]] = []
        for path, has_ball in ways:
            # into goal takes the step that this round of the loop adds
            if has_ball and rank_of(path[-1]) == goal:
                yield Run(path, True)
            for square in STEPS[path[-1]]:
                other = board[square]
                # without a carrier over there `forbidden` is EMPTY, which bars no empty square
                if other == forbidden != EMPTY:
                    continue
                way = (*path, square)
                # a run passes others but ends on a free square, or where it began
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
    # turned over or not, a team-mate ahead forbids kicks (Rulings, section 4)
    if any(ranks_ahead(ball, state.places[mate], state.seat) > 0 for mate in mates):
        return
    files = range(max(0, file_of(ball) - KICK_REACH), min(FILES, file_of(ball) + KICK_REACH + 1))
    for ranks in range(1, KICK_REACH + 1):
        # the first square of the rank that is so far ahead
        first = ball - file_of(ball) + ranks * AHEAD[state.seat]
        if 0 <= first < AREA:
            for file in files:
                yield Kick(ball, first + file)


def ways_to_carrier(state: State, piece: int) -> Iterator[Path]:
    """Yield every way of a piece to a square next to the other side's carrier, the shorter ones
    first."""
    if state.other_carrier == EMPTY:
        return
    ways: list[Path] = [(state.places[piece],)]
    for _ in range(SPEED[piece]):
        further = []
        for path in ways:
            for square in STEPS[path[-1]]:
                # the way ends beside the carrier, whose square the tackler does not enter
                if square == state.ball:
                    yield path
                elif not state.stands_against(state.board[square]):
                    further.append((*path, square))
        ways = further


def _tackles(state: State, ways: dict[int, tuple[Path, ...]]) -> Iterator[Tackle]:
    """Yield tackles by one or two pieces along those ways."""
    for paths in ways.values():
        for path in paths:
            yield Tackle((path,), state.ball)
    # two tacklers use up both runs (Rulings, section 4)
    if state.runs_left < 2:
        return
    # in both orders: the first named takes the ball and decides the side
    for first, second in itertools.permutations(ways, 2):
        for pair in itertools.product(ways[first], ways[second]):
            yield Tackle(pair, state.ball)


# ---- one of several that come to the same --------------------------------------------------------


def canonical(state: State) -> list[tuple[Action, Course | None]]:
    """Return the legal actions of a round with their courses.

    Of those of one course the shortest, then alphabetically first.

    Actions of one course lead to the same state, and hands that make them leave the board alike.
    The end of the round has no course and comes last.
    """
    candidates: list[Iterable[Run | Pass | Kick | Tackle]] = [
        runs(state, piece) for piece in able(state)
    ]
    candidates += [passes(state), kicks(state)]
    # longer ways to the same last square lead to the same course
    ways = {piece: _shortest(ways_to_carrier(state, piece)) for piece in able(state)}
    candidates.append(_tackles(state, ways))
    best: dict[Course, tuple[tuple[int, str], Action]] = {}
    for action in itertools.chain.from_iterable(candidates):
        course = course_of(state, action)
        rank = (steps_of(action), str(action))
        if course not in best or rank < best[course][0]:
            best[course] = rank, action
    return [*((action, course) for course, (_, action) in best.items()), (EndRound(), None)]


def steps_of(action: Action) -> int:
    """Return how many squares its notation names."""
    if isinstance(action, Run):
        return len(action.path) + action.into_goal
    if isinstance(action, Tackle):
        return sum(map(len, action.paths))
    return 2


def _shortest(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Return the paths that are as short as any with the same last square, which decides the side
    of a tackle."""
    lengths: dict[int, int] = {}
    # paths come by length, so the first one to a square is the shortest
    return tuple(path for path in paths if len(path) == lengths.setdefault(path[-1], len(path)))


# ---- at random -----------------------------------------------------------------------------------


_MAX_COMPARED = 40
"""Maximum number of actions of which a random player takes the one that brings a try nearest."""


def random_action(state: State, seat: Seat, rng: Random) -> Action:
    """Return a legal action drawn at random, those that bring a try nearer more often."""
    if state.is_placing:
        return Placement(tuple(rng.sample(OWN_RANKS[seat.number], TEAM)))
    if state.course:
        return Card(rng.choice(state.hands[seat.number]))
    pieces = able(state)
    ways = {piece: _shortest(ways_to_carrier(state, piece)) for piece in pieces}
    # most actions are runs: tackles, passes and kicks get a share of their own
    runner = state.carrier
    if pieces and (runner not in pieces or rng.random() < 0.5):
        runner = rng.choice(pieces)
    kinds: list[tuple[int, Sequence[Run | Pass | Kick | Tackle]]] = [
        (14, tuple(runs(state, runner)) if pieces else ()),
        (2, tuple(_tackles(state, ways))),
        (1, (*passes(state), *kicks(state))),
    ]
    kinds = [(share, actions) for share, actions in kinds if actions]
    if not kinds or rng.random() < 0.05:
        return EndRound()
    shares = [share for share, _ in kinds]
    actions = rng.choices(kinds, shares)[0][1]
    # either wholly at random, or the best of many
    compared = rng.sample(actions, rng.choice((1, min(len(actions), _MAX_COMPARED))))
    return max(compared, key=lambda action: _promise(state, action))


def _promise(state: State, action: Run | Pass | Kick | Tackle) -> int:
    """Return how much an action brings the ball ahead, and its mover to the ball."""
    course = course_of(state, action)
    if course.end == IN_GOAL:
        return AREA
    ahead = ranks_ahead(state.ball, course.ball, state.seat)
    files = abs(file_of(course.end) - file_of(course.ball))
    ranks = abs(rank_of(course.end) - rank_of(course.ball))
    return 3 * ahead - files - ranks
