"""Move generation for Kahmate: all legal actions, their plans, and random actions.

An `ActionPlan` says who moves, where piece and ball end, and which face-offs must be won first. A
play is a run, pass, kick, tackle or the end of a turn. It is not the class `Play`, which says how a
page taps one. `distinct_plays` leaves out plays that make no difference, for pages and bots. Paths
are generated here step by step, while `legal.check_action` tests one given action without
generating others. Sources: the rulebook's section "One round", and the rulings.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from random import Random

from companion.core.kit import Layout, Seat
from companion.games.base import FacesSeen
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
    FILES,
    GOAL_LINE_RANKS,
    IN_GOAL,
    KICK_REACH,
    NEIGHBOURS,
    NUMBER_OF,
    OWN_RANKS,
    PASS_REACH,
    PIECE_NAMES,
    SPEED,
    SQUARE_COUNT,
    SQUARES,
    STEP_AHEAD,
    TEAM_SIZE,
    TEAMS,
    file_of,
    rank_of,
    ranks_ahead,
    square_behind,
    squares_between,
)
from companion.games.kahmate.state import (
    NO_PIECE,
    ActionKind,
    ActionPlan,
    FaceOff,
    State,
    layout_of,
)


def plan_action(state: State, action: BallPlay) -> ActionPlan:
    """Return the plan of a legal action: what it does, and what a lost face-off would do."""
    if isinstance(action, Run):
        return _plan_run(state, action)
    if isinstance(action, Pass):
        return _plan_pass(state, action)
    if isinstance(action, Kick):
        kicker = state.board[action.start]
        return ActionPlan(ActionKind.KICK, (kicker,), action.start, action.end)
    return _plan_tackle(state, action)


def _plan_run(state: State, run: Run) -> ActionPlan:
    """Return the plan of a run, with a face-off for each standing opponent on its path.

    A runner that loses stops on the last free square before the opponent. A loose ball on the path
    is picked up.
    """
    board = state.board
    seat = state.seat
    start = stop = run.path[0]
    mover = board[start]
    has_ball = state.ball == start
    loose_ball = state.loose_ball
    opponents_met: set[int] = set()
    face_offs = []
    for square in run.path[1:]:
        occupant = board[square]
        if occupant in (NO_PIECE, mover):
            # The runner stops here if the next face-off is lost.
            stop = square
        elif state.is_standing_opponent(occupant) and occupant not in opponents_met:
            # If the runner loses, its ball goes one square behind it (ruling).
            ball_if_lost = square_behind(stop, seat) if has_ball else state.ball
            face_offs.append(FaceOff(occupant, stop, ball_if_lost))
            # A beaten opponent will be turned over and cannot stop the runner a second time.
            opponents_met.add(occupant)
        if square == loose_ball:
            has_ball = True
    end = IN_GOAL if run.into_goal else run.path[-1]
    return ActionPlan(
        ActionKind.RUN, (mover,), end, end if has_ball else state.ball, tuple(face_offs)
    )


def _plan_pass(state: State, action: Pass) -> ActionPlan:
    """Return the plan of a pass, which standing opponents on the crossed squares may intercept.

    The opponent nearest to the passer comes first. A lost face-off gives the ball to the
    interceptor, which does not move.
    """
    start = action.start
    face_offs = []
    for square in squares_between(start, action.end):
        occupant = state.board[square]
        if state.is_standing_opponent(occupant):
            face_offs.append(FaceOff(occupant, start, square))
    return ActionPlan(ActionKind.PASS, (state.board[start],), start, action.end, tuple(face_offs))


def _plan_tackle(state: State, action: Tackle) -> ActionPlan:
    """Return the plan of a tackle.

    The tacklers go back, and the first one decides the side to which the ball goes.
    """
    movers = tuple(state.board[path[0]] for path in action.paths)
    first_path = action.paths[0]
    start = first_path[0]
    ball = dropped_ball_square(action.target, 1 - state.seat, first_path[-1])
    face_off = FaceOff(state.board[action.target], start, state.ball)
    return ActionPlan(ActionKind.TACKLE, movers, start, ball, (face_off,))


def dropped_ball_square(carrier_square: int, carrier_seat: int, tackler_square: int) -> int:
    """Return the square of a ball that a tackle has made loose (rule "tackled-ball").

    It is one square behind the carrier. But on the carrier's own goal line the ball goes to the
    side away from the tackler, or towards the middle after a tackle from straight ahead. If there
    is no square on that side, it goes to the other side.

    :param tackler_square: the adjacent square from which the first tackler comes
    """
    if rank_of(carrier_square) != GOAL_LINE_RANKS[carrier_seat]:
        return square_behind(carrier_square, carrier_seat)
    file = file_of(carrier_square)
    files_aside = file - file_of(tackler_square)
    # The tackle came from straight ahead.
    if files_aside == 0:
        files_aside = 1 if file < FILES // 2 else -1
    if not 0 <= file + files_aside < FILES:
        files_aside = -files_aside
    return carrier_square + files_aside


def as_laid(state: State, action: Action) -> Layout | None:
    """Return the layout just after a play is made by hand, as if every face-off were won.

    Tacklers are on top of the carrier, the first one below the second. None for a `Placement`, a
    card and the end of a turn, which are not made by moving a piece.
    """
    if not isinstance(action, BallPlay):
        return None
    plan = plan_action(state, action)
    if plan.kind is not ActionKind.TACKLE:
        piece_squares = list(state.piece_squares)
        piece_squares[plan.mover] = plan.end
        return layout_of(piece_squares, state.turns_to_miss, plan.ball)
    layout = layout_of(state.piece_squares, state.turns_to_miss, state.ball)
    for piece in plan.movers:
        del layout[SQUARES[state.piece_squares[piece]]]
    target = SQUARES[state.ball]
    layout[target] = (*layout[target], *(PIECE_NAMES[piece] for piece in plan.movers))
    return layout


def laid_out(state: State, seat: Seat, seen: FacesSeen) -> Placement | None:
    """Return the placement that a seat's pieces on the board show.

    None unless all its six pieces stand on its own two ranks, and the seats are still placing.
    """
    # Two regulars share one face. The first of them gets the lower square.
    faces = [PIECE_NAMES[piece] for piece in TEAMS[seat.number]]
    placed = sorted(
        (faces.index(face), NUMBER_OF[square]) for square, face in seen.items() if face in faces
    )
    squares = tuple(square for _, square in placed)
    # Each piece is compared by the index of its face. The lists also count the two regulars, which
    # share a face. A piece with its other face up is not among them, so it is not placed.
    has_all_pieces = [index for index, _ in placed] == sorted(map(faces.index, faces))
    are_on_own_ranks = set(squares) <= set(OWN_RANKS[seat.number])
    if state.is_placing and has_all_pieces and are_on_own_ranks:
        return Placement(squares)
    return None


def legal_actions(state: State, seat: Seat) -> Iterator[Action]:
    """Yield all legal actions of a seat. There are 5,765,760 placings."""
    seat_number = seat.number
    if state.outcome:
        return
    if state.is_placing:
        yield from map(Placement, itertools.permutations(OWN_RANKS[seat_number], TEAM_SIZE))
    elif state.pending_plan:
        yield from map(Card, state.cards[seat_number])
    elif seat_number == state.seat:
        # The function `tuple` selects all paths of a tackler.
        yield from _ball_plays(state, tuple)
        yield EndTurn()


# A function that selects the paths of a tackler: all of them (`tuple`), or the shortest ones
# (`_shortest_paths`).
PathSelection = Callable[[Iterable[Path]], tuple[Path, ...]]


def _ball_plays(state: State, select_paths: PathSelection) -> Iterator[BallPlay]:
    """Yield the runs, passes, kicks and tackles of the seat on turn."""
    for piece in movable_pieces(state):
        yield from runs(state, piece)
    yield from passes(state)
    yield from kicks(state)
    yield from _tackles(state, select_paths)


def movable_pieces(state: State) -> list[int]:
    """Return the pieces of the seat on turn that may still run or tackle in this turn."""
    if not state.runs_left:
        return []
    return [
        piece
        for piece in TEAMS[state.seat]
        if not state.turns_to_miss[piece] and piece not in state.moved_pieces
    ]


def runs(state: State, piece: int) -> Iterator[Run]:
    """Yield every run of a piece, the shorter ones first. The piece must be able to run."""
    board = state.board
    goal_rank = GOAL_LINE_RANKS[1 - state.seat]
    # The opponent's carrier is tackled and never run into (ruling).
    forbidden = state.opposing_ball
    loose_ball = state.loose_ball
    start = state.piece_squares[piece]
    # Each path comes with whether the runner has the ball at its end.
    paths: list[tuple[Path, bool]] = [((start,), start == state.ball)]
    for _ in range(SPEED[piece]):
        longer_paths: list[tuple[Path, bool]] = []
        for path, has_ball in paths:
            # The step into goal is the one that this iteration adds.
            if has_ball and rank_of(path[-1]) == goal_rank:
                yield Run(path, True)
            for square in NEIGHBOURS[path[-1]]:
                if square == forbidden:
                    continue
                longer = (*path, square)
                # A run may pass other pieces, but must end on a free square or on its start.
                if board[square] in (NO_PIECE, piece):
                    yield Run(longer)
                longer_paths.append((longer, has_ball or square == loose_ball))
        paths = longer_paths


def passes(state: State) -> Iterator[Pass]:
    """Yield every pass of the carrier, or none if the other side has the ball or nobody."""
    if state.carrier not in TEAMS[state.seat]:
        return
    for mate in TEAMS[state.seat]:
        end = state.piece_squares[mate]
        if may_pass(state.seat, state.ball, end) and not state.turns_to_miss[mate]:
            yield Pass(state.ball, end)


def may_pass(seat: int, start: int, end: int) -> bool:
    """Return whether a seat may pass from one square to the other: backwards and within reach."""
    ranks_back = ranks_ahead(end, start, seat)
    return 1 <= ranks_back <= PASS_REACH and abs(file_of(start) - file_of(end)) <= PASS_REACH


def kicks(state: State) -> Iterator[Kick]:
    """Yield every kick of the carrier, or none if the other side has the ball or nobody."""
    ball = state.ball
    mates = TEAMS[state.seat]
    if state.carrier not in mates:
        return
    # A team-mate ahead forbids kicks, even if turned over (ruling).
    if any(ranks_ahead(ball, state.piece_squares[mate], state.seat) > 0 for mate in mates):
        return
    file = file_of(ball)
    files = range(max(0, file - KICK_REACH), min(FILES, file + KICK_REACH + 1))
    for ranks in range(1, KICK_REACH + 1):
        # First square of the rank that is `ranks` ahead of the ball.
        first = ball - file + ranks * STEP_AHEAD[state.seat]
        if 0 <= first < SQUARE_COUNT:
            for target_file in files:
                yield Kick(ball, first + target_file)


def paths_to_carrier(state: State, piece: int) -> Iterator[Path]:
    """Yield every path of a piece to a square next to the opponent's carrier, by length."""
    if state.opposing_carrier == NO_PIECE:
        return
    paths: list[Path] = [(state.piece_squares[piece],)]
    for _ in range(SPEED[piece]):
        longer_paths = []
        for path in paths:
            for square in NEIGHBOURS[path[-1]]:
                # The path ends next to the carrier, since a tackler does not enter its square.
                if square == state.ball:
                    yield path
                elif not state.is_standing_opponent(state.board[square]):
                    longer_paths.append((*path, square))
        paths = longer_paths


def _tackles(state: State, select_paths: PathSelection) -> Iterator[Tackle]:
    """Yield the tackles by one or two pieces."""
    paths = {piece: select_paths(paths_to_carrier(state, piece)) for piece in movable_pieces(state)}
    for path in itertools.chain(*paths.values()):
        yield Tackle((path,), state.ball)
    # Two tacklers use both runs (ruling).
    if state.runs_left < 2:
        return
    # Both orders count, because the first tackler takes the ball and decides the side.
    for first, second in itertools.permutations(paths.values(), 2):
        for pair in itertools.product(first, second):
            yield Tackle(pair, state.ball)


# ---- one play per plan ---------------------------------------------------------------------------


def distinct_plays(state: State) -> list[tuple[Action, ActionPlan | None]]:
    """Return one legal action of a turn for each possible plan, together with the plan.

    It is the shortest action, with the alphabet as tie-break. Actions with equal plans lead to the
    same state and leave the same layout. The end of the turn has no plan and comes last.
    """
    # Best action so far of each plan, behind what ranks it: its number of squares and its notation.
    best: dict[ActionPlan, tuple[int, str, Action]] = {}
    # A longer path of a tackler to the same last square has the same plan.
    for action in _ball_plays(state, _shortest_paths):
        plan = plan_action(state, action)
        # The notations of two actions differ, so the actions themselves are never compared.
        ranked = (square_count(action), str(action), action)
        if plan not in best or ranked < best[plan]:
            best[plan] = ranked
    shortest = [(action, plan) for plan, (_, _, action) in best.items()]
    return [*shortest, (EndTurn(), None)]


def square_count(action: Action) -> int:
    """Return the number of squares in the notation of an action, to prefer the shortest one."""
    if isinstance(action, Run):
        # The step into goal counts as a square.
        return len(action.path) + action.into_goal
    if isinstance(action, Tackle):
        return sum(map(len, action.paths))
    return 2


def _shortest_paths(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Return the shortest paths to each last square, which decides where the ball goes."""
    lengths: dict[int, int] = {}
    # Paths are sorted by length, so the first one to a square is the shortest. `setdefault` stores
    # its length, and returns that for all later ones to the square.
    return tuple(path for path in paths if len(path) == lengths.setdefault(path[-1], len(path)))


# ---- at random -----------------------------------------------------------------------------------


# Maximum number of actions that a random player compares by their progress. Chosen by eye: with
# more, random games end sooner but are more alike.
_MAX_COMPARED = 40


def random_action(state: State, seat: Seat, rng: Random) -> Action:
    """Return a random legal action, with a preference for those that bring a try nearer."""
    if state.is_placing:
        return Placement(tuple(rng.sample(OWN_RANKS[seat.number], TEAM_SIZE)))
    if state.pending_plan:
        return Card(rng.choice(state.cards[seat.number]))
    # Each is an action with its plan.
    plays = distinct_plays(state)
    # Take either a purely random action or the best of many.
    sample_size = rng.choice((1, min(len(plays), _MAX_COMPARED)))
    compared = rng.sample(plays, sample_size)
    action, _ = max(compared, key=lambda pair: _progress(state, pair[1]))
    return action


def _progress(state: State, plan: ActionPlan | None) -> int:
    """Return how far a plan brings the ball ahead and the mover to the ball, as a score.

    The end of the turn, which has no plan, scores 0.
    """
    if plan is None:
        return 0
    # A try is worth more than any other progress.
    if plan.ends_in_goal:
        return SQUARE_COUNT
    ahead = ranks_ahead(state.ball, plan.ball, state.seat)
    files = abs(file_of(plan.end) - file_of(plan.ball))
    ranks = abs(rank_of(plan.end) - rank_of(plan.ball))
    # The factor makes a rank of the ball worth more than a step of the mover.
    return 3 * ahead - files - ranks
