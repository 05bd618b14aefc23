"""Checks of actions in Kahmate, with the sentence, rule and square of every refusal.

Also finds the action that somebody has attempted on the board, and why it is refused.

Sources: the rulebook's sections "One round" and "Special Cases", and the rulings.
"""

from __future__ import annotations

import itertools
from enum import StrEnum
from typing import NoReturn

from companion.core.errors import Illegal
from companion.core.i18n import say
from companion.core.kit import Seat
from companion.games.base import FacesSeen, changed_tops
from companion.games.kahmate.actions import (
    Action,
    BallPlay,
    Card,
    Kick,
    Pass,
    Path,
    Placement,
    Run,
    Tackle,
)
from companion.games.kahmate.board import (
    BALL_FACE,
    DOWN_FACES,
    FILES,
    GOAL_LINE_RANKS,
    KICK_REACH,
    NEIGHBOURS,
    NUMBER_OF,
    OWN_RANK_WORDS,
    OWN_RANKS,
    PASS_REACH,
    PIECE_NAMES,
    PIECES,
    ROLE_OF,
    SEAT_OF,
    SIDE_NAMES,
    SPEED,
    SQUARE_NAMES,
    TEAMS,
    file_of,
    piece_and_square,
    rank_of,
    ranks_ahead,
)
from companion.games.kahmate.moves import paths_to_carrier, runs
from companion.games.kahmate.state import NO_PIECE, State, layout_of

# Verb of each kind of action, for refusals that ask for another piece.
_VERBS = {"run": say("run"), "tackle": say("tackle"), "pass": say("pass"), "kick": say("kick")}


class Reason(StrEnum):
    """Reason why the game refuses an action. The sentence beside each use says what it means."""

    PLACING_DUE = "placing_due"
    ALREADY_PLACED = "already_placed"
    OUTSIDE_OWN_RANKS = "outside_own_ranks"
    PLACED_TWICE = "placed_twice"
    FACE_OFF_DUE = "face_off_due"
    NO_FACE_OFF = "no_face_off"
    CARD_SPENT = "card_spent"
    NOBODY_THERE = "nobody_there"
    OTHER_SIDE = "other_side"
    TURNED_OVER = "turned_over"
    RAN_ALREADY = "ran_already"
    NO_RUN_LEFT = "no_run_left"
    NOT_A_STEP = "not_a_step"
    TOO_FAR = "too_far"
    INTO_CARRIER = "into_carrier"
    STOPS_ON_TEAM_MATE = "stops_on_team_mate"
    STOPS_ON_TURNED_OVER = "stops_on_turned_over"
    STOPS_ON_OPPONENT = "stops_on_opponent"
    GOAL_TOO_EARLY = "goal_too_early"
    GOAL_WITHOUT_BALL = "goal_without_ball"
    NO_BALL = "no_ball"
    PASS_NOT_BEHIND = "pass_not_behind"
    PASS_TOO_FAR = "pass_too_far"
    NO_RECEIVER = "no_receiver"
    KICK_NOT_AHEAD = "kick_not_ahead"
    KICK_TOO_FAR = "kick_too_far"
    TEAM_MATE_AHEAD = "team_mate_ahead"
    NO_CARRIER = "no_carrier"
    WAY_BLOCKED = "way_blocked"
    SAME_TACKLER = "same_tackler"


def _refuse(reason: Reason, sentence: str, rule: str, square: int | None = None) -> NoReturn:
    """Raise `Illegal`. `square` is the obstacle."""
    raise Illegal(reason, sentence, rule, None if square is None else SQUARE_NAMES[square])


def check_action(state: State, seat: Seat, action: Action) -> None:
    """Raise `Illegal` unless the seat, which is to act, may take this action."""
    seat_number = seat.number
    if isinstance(action, Placement):
        _check_placement(state, seat_number, action)
    elif state.is_placing:
        _refuse(
            Reason.PLACING_DUE,
            say("The pieces are not placed yet: give each of your six a square."),
            "setting-up",
        )
    elif isinstance(action, Card):
        _check_card(state, seat_number, action)
    elif state.pending_plan:
        _refuse(
            Reason.FACE_OFF_DUE,
            say(
                "A face-off waits for cards: choose one of {cards}.",
                cards=_hand_text(state, seat_number),
            ),
            "face-off",
        )
    elif isinstance(action, Run):
        _check_run(state, action)
    elif isinstance(action, Pass):
        _check_pass(state, action)
    elif isinstance(action, Kick):
        _check_kick(state, action)
    elif isinstance(action, Tackle):
        _check_tackle(state, action)
    # What remains is the end of the turn, which is always allowed.


def _check_placement(state: State, seat: int, action: Placement) -> None:
    """Check that the six squares differ and are on the seat's own two ranks.

    Rulebook, "Beginning of the game".
    """
    if not state.is_placing:
        _refuse(
            Reason.ALREADY_PLACED,
            say("The pieces are placed already: run, pass, kick, tackle or end the turn."),
            "setting-up",
        )
    for index, square in enumerate(action.squares):
        if square not in OWN_RANKS[seat]:
            _refuse(
                Reason.OUTSIDE_OWN_RANKS,
                say(
                    "{square} is not on {ranks}: {side} places its pieces there.",
                    square=SQUARE_NAMES[square],
                    ranks=OWN_RANK_WORDS[seat],
                    side=SIDE_NAMES[seat],
                ),
                "setting-up",
                square,
            )
        if square in action.squares[:index]:
            _refuse(
                Reason.PLACED_TWICE,
                say(
                    "Two pieces are placed on {square}: give each a square of its own.",
                    square=SQUARE_NAMES[square],
                ),
                "setting-up",
                square,
            )


def _check_card(state: State, seat: int, action: Card) -> None:
    """Check that a face-off waits for a card, and that the seat still has this one."""
    if state.pending_plan is None:
        _refuse(
            Reason.NO_FACE_OFF,
            say("No face-off waits for a card: run, pass, kick, tackle or end the turn."),
            "face-off",
        )
    if action.value not in state.cards[seat]:
        _refuse(
            Reason.CARD_SPENT,
            say(
                "Card {card} has been used: choose one of {cards}.",
                card=action.value,
                cards=_hand_text(state, seat),
            ),
            "face-off",
        )


def _hand_text(state: State, seat: int) -> str:
    return " ".join(map(str, state.cards[seat]))


def _require_own_piece(state: State, square: int, kind: str) -> int:
    """Return the piece on a square. Raises `Illegal` unless it belongs to the seat on turn.

    :param kind: kind of the attempted action, a key of `_VERBS`
    """
    piece = state.board[square]
    parts = {"square": SQUARE_NAMES[square], "deed": _VERBS[kind], "side": SIDE_NAMES[state.seat]}
    if piece == NO_PIECE:
        _refuse(
            Reason.NOBODY_THERE,
            say("Nobody stands on {square}: {deed} with a piece of {side}.", **parts),
            "round",
            square,
        )
    if SEAT_OF[piece] != state.seat:
        parts["piece"] = PIECE_NAMES[piece]
        _refuse(
            Reason.OTHER_SIDE,
            say("{piece!c} stands on {square}: {deed} with a piece of {side}.", **parts),
            "round",
            square,
        )
    return piece


def _require_runner(state: State, square: int, kind: str) -> int:
    """Return the piece on a square. Raises `Illegal` unless it can use a run of this turn."""
    piece = _require_own_piece(state, square, kind)
    # This check comes first, because a stopped runner is turned over as well.
    if piece in state.moved_pieces:
        _refuse(
            Reason.RAN_ALREADY,
            say(
                "{piece!c} on {square} has run already: each piece runs once in a turn.",
                **piece_and_square(piece, square),
            ),
            "round",
            square,
        )
    if state.turns_to_miss[piece]:
        parts = {**piece_and_square(piece, square), "side": SIDE_NAMES[state.seat]}
        sentence = say(
            "{piece!c} on {square} is turned over: it stands up at the end of this turn.", **parts
        )
        # The turn in which it was turned over does not count.
        if state.turns_to_miss[piece] > 1:
            sentence = say(
                "{piece!c} on {square} is turned over: it stands up at the end of {side}’s next "
                "turn.",
                **parts,
            )
        _refuse(Reason.TURNED_OVER, sentence, "turned-over", square)
    if not state.runs_left:
        _refuse(
            Reason.NO_RUN_LEFT,
            say("Two pieces have run in this turn: pass, kick or end the turn."),
            "round",
        )
    return piece


def _check_path(piece: int, path: Path, extra_steps: int = 0) -> None:
    """Check the steps of a path, and that the piece is fast enough for it and the extra steps."""
    for square, following in itertools.pairwise(path):
        if following not in NEIGHBOURS[square]:
            _refuse(
                Reason.NOT_A_STEP,
                say(
                    "{square} to {to} is not a step: a step goes to an adjacent square, not "
                    "diagonally.",
                    square=SQUARE_NAMES[square],
                    to=SQUARE_NAMES[following],
                ),
                "running",
                following,
            )
    # The path includes its start square.
    steps = len(path) - 1 + extra_steps
    if steps > SPEED[piece]:
        _refuse(
            Reason.TOO_FAR,
            say("Too far: {piece!c} runs {speed}.", piece=ROLE_OF[piece].name, speed=SPEED[piece]),
            "running",
            path[-1],
        )


def _check_run(state: State, run: Run) -> None:
    """Check a run: its runner, the length of its path, and what is on its way ("One round").

    It may not enter the square of the opponent's carrier, who is tackled instead (ruling).
    """
    path = run.path
    seat = state.seat
    carrier = state.carrier
    piece = _require_runner(state, path[0], "run")
    # The step into goal is not in the path.
    _check_path(piece, path, extra_steps=int(run.into_goal))
    has_ball = carrier == piece
    for square in path[1:]:
        if square == state.opposing_ball:
            _refuse(
                Reason.INTO_CARRIER,
                say(
                    "{piece!c} on {square} has the ball: it is tackled, nobody runs onto it.",
                    **piece_and_square(carrier, square),
                ),
                "in-the-way",
                square,
            )
        # The runner picks up a loose ball on its way.
        has_ball = has_ball or square == state.loose_ball
    if run.into_goal:
        _check_goal(seat, piece, path[-1], has_ball)
    else:
        _check_stop(state, piece, path)


def _check_goal(seat: int, piece: int, last: int, has_ball: bool) -> None:
    """Check that a run may go into goal from its last square."""
    goal_rank = GOAL_LINE_RANKS[1 - seat]
    if rank_of(last) != goal_rank:
        _refuse(
            Reason.GOAL_TOO_EARLY,
            say(
                "{square} is not on rank {rank}: {side} runs into goal from there.",
                square=SQUARE_NAMES[last],
                rank=goal_rank + 1,
                side=SIDE_NAMES[seat],
            ),
            "try",
            last,
        )
    if not has_ball:
        _refuse(
            Reason.GOAL_WITHOUT_BALL,
            say(
                "{piece!c} does not have the ball on this path: only a carrier runs into goal.",
                piece=PIECE_NAMES[piece],
            ),
            "try",
            last,
        )


def _check_stop(state: State, piece: int, path: Path) -> None:
    """Check that a run may stop on the last square of its path, which holds no other piece."""
    last = path[-1]
    occupant = state.board[last]
    # A run may also end on its start square.
    if occupant in (NO_PIECE, piece):
        return
    names = piece_and_square(occupant, last)
    if state.turns_to_miss[occupant]:
        _refuse(
            Reason.STOPS_ON_TURNED_OVER,
            say("{piece!c} lies on {square}: a run goes over it and stops beyond.", **names),
            "running",
            last,
        )
    if SEAT_OF[occupant] == state.seat:
        _refuse(
            Reason.STOPS_ON_TEAM_MATE,
            say(
                "{piece!c} stands on {square}: a run goes through team-mates and stops beyond.",
                **names,
            ),
            "running",
            last,
        )
    sentence = say(
        "{piece!c} stands on {square}: a run that meets it needs a step beyond.", **names
    )
    if len(path) - 1 == SPEED[piece]:
        names["runner"] = PIECE_NAMES[piece]
        sentence = say(
            "{piece!c} stands on {square}: {runner} has no step left to go beyond it.", **names
        )
    _refuse(Reason.STOPS_ON_OPPONENT, sentence, "in-the-way", last)


def _check_carrier(state: State, square: int, kind: str) -> None:
    """Check that the piece on a square is the seat's own and has the ball.

    :param kind: kind of the attempted action, `pass` or `kick`, which is also the id of its rule
    """
    piece = _require_own_piece(state, square, kind)
    if piece != state.carrier:
        _refuse(
            Reason.NO_BALL,
            say(
                "{piece!c} on {square} does not have the ball: {deed} with the carrier.",
                **piece_and_square(piece, square),
                deed=_VERBS[kind],
            ),
            kind,
            square,
        )


def _check_pass(state: State, action: Pass) -> None:
    """Check a pass: to a standing team-mate, 1 or 2 ranks behind ("One round")."""
    _check_carrier(state, action.start, "pass")
    ends = {"square": SQUARE_NAMES[action.start], "to": SQUARE_NAMES[action.end]}
    ranks_back = ranks_ahead(action.end, action.start, state.seat)
    files_aside = abs(file_of(action.start) - file_of(action.end))
    if ranks_back < 1:
        _refuse(
            Reason.PASS_NOT_BEHIND,
            say("{to} is not behind {square}: a pass goes 1 or 2 ranks back.", **ends),
            "pass",
            action.end,
        )
    if ranks_back > PASS_REACH or files_aside > PASS_REACH:
        _refuse(
            Reason.PASS_TOO_FAR,
            say(
                "{square} to {to} is too far: a pass goes at most 2 ranks back and 2 files "
                "sideways.",
                **ends,
            ),
            "pass",
            action.end,
        )
    receiver = state.board[action.end]
    if receiver == NO_PIECE:
        sentence = say(
            "Nobody stands on {square}: a pass goes to a team-mate.",
            square=SQUARE_NAMES[action.end],
        )
    elif SEAT_OF[receiver] != state.seat:
        sentence = say(
            "{piece!c} is on {square}: a pass goes to a team-mate.",
            **piece_and_square(receiver, action.end),
        )
    elif state.turns_to_miss[receiver]:
        sentence = say(
            "{piece!c} on {square} is turned over: it cannot receive a pass.",
            **piece_and_square(receiver, action.end),
        )
    else:
        return
    _refuse(Reason.NO_RECEIVER, sentence, "pass", action.end)


def _check_kick(state: State, action: Kick) -> None:
    """Check a kick: 1 to 3 ranks ahead, at most 3 files aside, no team-mate ahead ("One round")."""
    _check_carrier(state, action.start, "kick")
    ends = {"square": SQUARE_NAMES[action.start], "to": SQUARE_NAMES[action.end]}
    # No team-mate may be ahead of the kicker, even if turned over (ruling).
    for mate in TEAMS[state.seat]:
        square = state.piece_squares[mate]
        if ranks_ahead(action.start, square, state.seat) > 0:
            _refuse(
                Reason.TEAM_MATE_AHEAD,
                say(
                    "{piece!c} on {square} is ahead of the kicker: nobody of {side} may be.",
                    **piece_and_square(mate, square),
                    side=SIDE_NAMES[state.seat],
                ),
                "kick",
                square,
            )
    ranks = ranks_ahead(action.start, action.end, state.seat)
    files_aside = abs(file_of(action.end) - file_of(action.start))
    if ranks < 1:
        _refuse(
            Reason.KICK_NOT_AHEAD,
            say("{to} is not ahead of {square}: a kick goes 1 to 3 ranks ahead.", **ends),
            "kick",
            action.end,
        )
    if ranks > KICK_REACH or files_aside > KICK_REACH:
        _refuse(
            Reason.KICK_TOO_FAR,
            say(
                "{square} to {to} is too far: a kick goes at most 3 ranks ahead and 3 files "
                "sideways.",
                **ends,
            ),
            "kick",
            action.end,
        )


def _check_tackle(state: State, action: Tackle) -> None:
    """Check a tackle: one or two tacklers who have not run and who reach the opponent's carrier.

    Two tacklers need both runs of the turn (ruling).
    """
    tacklers = [_require_runner(state, path[0], "tackle") for path in action.paths]
    if len(set(tacklers)) < len(tacklers):
        square = action.paths[0][0]
        _refuse(
            Reason.SAME_TACKLER,
            say(
                "{piece!c} on {square} is named twice: two tacklers are two pieces.",
                **piece_and_square(tacklers[0], square),
            ),
            "tackle",
            square,
        )
    if len(tacklers) > state.runs_left:
        _refuse(
            Reason.NO_RUN_LEFT,
            say(
                "Two tacklers need both runs of the turn: {number} is used.",
                number=len(state.moved_pieces),
            ),
            "tackle",
        )
    carrier = state.carrier
    # `carrier` is `NO_PIECE` if the ball is loose, which must not match an empty square.
    if state.board[action.target] == NO_PIECE or state.board[action.target] != carrier:
        _refuse(
            Reason.NO_CARRIER,
            say(
                "Nobody on {square} has the ball: only the carrier is tackled.",
                square=SQUARE_NAMES[action.target],
            ),
            "tackle",
            action.target,
        )
    if SEAT_OF[carrier] == state.seat:
        _refuse(
            Reason.NO_CARRIER,
            say(
                "{piece!c} on {square} is a team-mate: only a carrier of the other side is "
                "tackled.",
                **piece_and_square(carrier, action.target),
            ),
            "tackle",
            action.target,
        )
    for piece, path in zip(tacklers, action.paths, strict=True):
        # The speed must cover the step to the carrier, although the tackler goes back.
        _check_path(piece, (*path, action.target))
        _check_tackle_path(state, path)


def _check_tackle_path(state: State, path: Path) -> None:
    """Check that no standing opponent is on the path of a tackler.

    Team-mates and turned-over pieces do not block it (ruling).
    """
    for square in path[1:]:
        occupant = state.board[square]
        if state.is_standing_opponent(occupant):
            _refuse(
                Reason.WAY_BLOCKED,
                say(
                    "{piece!c} stands on {square}: the path to a tackle may not cross a standing "
                    "opponent.",
                    **piece_and_square(occupant, square),
                ),
                "tackle",
                square,
            )


# ---- what was attempted on the board -------------------------------------------------------------


def find_broken_rule(state: State, seat: Seat, seen: FacesSeen) -> Illegal | None:
    """Return the refusal of what the seat on turn has tried to do by moving a piece or the ball.

    None if the change is a legal action, if no single action explains it, if the seat is not on
    turn, or while no turn is played: before the placing, in a face-off, and after the end.
    """
    if state.is_placing or state.pending_plan or state.outcome or seat.number != state.seat:
        return None
    action = _attempted_action(state, seen)
    try:
        if action:
            check_action(state, seat, action)
    except Illegal as refusal:
        return refusal
    return None


def _attempted_action(state: State, seen: FacesSeen) -> BallPlay | None:
    """Return the action that explains how the board has changed, whether it is legal or not.

    None unless one piece or the ball has moved.
    """
    tops = changed_tops(layout_of(state.piece_squares, state.turns_to_miss, state.ball), seen)
    # The top face of each changed square now, or None for a square that has become empty.
    now = {NUMBER_OF[square]: face for square, (_, face) in tops.items() if square in NUMBER_OF}
    emptied = {square for square, face in now.items() if face is None}
    moved = [piece for piece in PIECES if state.piece_squares[piece] in emptied]
    faces = {BALL_FACE}
    if moved:
        faces = {PIECE_NAMES[moved[0]], DOWN_FACES[moved[0]]}
        # The ball on top of a piece hides it on its new square.
        if moved[0] == state.carrier:
            faces.add(BALL_FACE)
    ends = [square for square, face in now.items() if face in faces]
    if len(moved) > 1 or len(ends) != 1:
        return None
    if moved:
        return _attempted_run(state, moved[0], ends[0])
    # The ball has moved only if its own square has changed as well.
    return _attempted_throw(state, ends[0]) if state.ball in now else None


def _attempted_run(state: State, piece: int, end: int) -> Run | Tackle:
    """Return the tackle of the opponent's carrier on the end square, or else the run to it.

    The path is the shortest legal one, or a straight one if none is legal.
    """
    straight_path = _straight_path(state.piece_squares[piece], end)
    if end == state.opposing_ball:
        path = next(paths_to_carrier(state, piece), straight_path[:-1])
        return Tackle((path,), end)
    legal_runs = (run for run in runs(state, piece) if run.path[-1] == end)
    return next(legal_runs, Run(straight_path))


def _attempted_throw(state: State, end: int) -> Pass | Kick:
    """Return the pass or kick of the ball to a square."""
    # A ball that goes ahead and not to a team-mate can only be a kick.
    to_team_mate = state.board[end] in TEAMS[state.seat]
    if ranks_ahead(state.ball, end, state.seat) > 0 and not to_team_mate:
        return Kick(state.ball, end)
    return Pass(state.ball, end)


def _straight_path(start: int, end: int) -> Path:
    """Return the path along the file and then along the rank."""
    path = [start]
    while rank_of(path[-1]) != rank_of(end):
        path.append(path[-1] + (FILES if path[-1] < end else -FILES))
    while path[-1] != end:
        path.append(path[-1] + (1 if path[-1] < end else -1))
    return tuple(path)
