"""Checks of decisions in Scouts: every reason for a refusal, with its sentence for people.

Also finds the decision that somebody has attempted on the board, and why it is refused.

A decision is the action of this game. A play, in the words of the rulebook, is the decision to move
one scout by a dash or jumps. Sentences for people call it a move.
"""

from __future__ import annotations

from enum import StrEnum
from itertools import pairwise, permutations

from companion.core.errors import Illegal
from companion.core.i18n import joined, listed, say, say_n
from companion.core.kit import Seat
from companion.games.base import FacesSeen, changed_tops
from companion.games.scouts.board import (
    AROUND,
    BOULDERS,
    FAR_RANKS,
    HOME_RANKS,
    NEIGHBOURS,
    ROCK_FACES,
    ROCK_KINDS,
    ROCK_NAMES,
    SCOUT_FACES,
    SIDE_NAMES,
    SQUARE_NAMES,
    SQUARE_NUMBERS,
    SQUARES,
    neighbours_of,
    squares_in,
)
from companion.games.scouts.moves import has_play, has_rock, jump_chains, rock_decision
from companion.games.scouts.state import Decision, DecisionKind, Position, State, layout_of


class Reason(StrEnum):
    """Reason why a decision is refused. The sentence beside each use says what it means."""

    SETTING_UP = "setting_up"
    SET_UP_DONE = "set_up_done"
    OFF_HOME_RANK = "off_home_rank"
    SQUARE_TAKEN = "square_taken"
    PLAY_DUE = "play_due"
    NO_SCOUT = "no_scout"
    NOT_YOUR_SCOUT = "not_your_scout"
    BURIED = "buried"
    PLAYS_MADE = "plays_made"
    ALREADY_PLAYED = "already_played"
    TOO_FAR = "too_far"
    ROCK_IN_THE_WAY = "rock_in_the_way"
    STACK_FULL = "stack_full"
    STACKING_OFF = "stacking_off"
    ON_STACK = "on_stack"
    NOT_A_JUMP = "not_a_jump"
    DIAGONAL_JUMP = "diagonal_jump"
    NOTHING_TO_JUMP = "nothing_to_jump"
    JUMP_OVER_STACK = "jump_over_stack"
    LANDING_TAKEN = "landing_taken"
    VISITED_TWICE = "visited_twice"
    PLAY_ENDED = "play_ended"
    ROCK_SPENT = "rock_spent"
    OFF_BOARD = "off_board"
    ROCK_ON_SCOUT = "rock_on_scout"
    ROCK_ON_ROCK = "rock_on_rock"
    ROCK_TOUCHES = "rock_touches"


def check_decision(state: State, decision: Decision) -> None:
    """Raise `Illegal` unless the decision of the seat on turn is legal."""
    position = state.position
    kind = decision.kind
    if kind is DecisionKind.PLACE:
        _check_placing(position, decision.squares[0])
    elif position.to_place:
        reminder = say_n(
            "One scout is still to be placed.",
            "{n} scouts are still to be placed.",
            position.to_place,
        )
        text = joined(" ", (say("The set-up is not complete."), reminder))
        raise Illegal(Reason.SETTING_UP, text, "setting-up")
    elif kind is DecisionKind.END:
        due = position.plays_due
        # A possible play must be made (ruling).
        if due and has_play(position):
            raise Illegal(
                Reason.PLAY_DUE,
                say_n("{n} scout is still to move.", "{n} scouts are still to move.", due),
                "turns",
            )
    elif kind in (DecisionKind.BOULDER, DecisionKind.ROCK):
        _check_rock(position, decision)
    else:
        _check_scout(state, decision.squares)
        check_squares = _check_dash if kind is DecisionKind.DASH else _check_jumps
        check_squares(position, decision.squares)


# ---- set-up and the end of a turn ----------------------------------------------------------------


def _check_placing(position: Position, square: int) -> None:
    """Check the square of a placing: an empty one on the side's home rank (rulebook, "Setup")."""
    bit = 1 << square
    name = SQUARE_NAMES[square]
    if not position.to_place:
        reason = Reason.SET_UP_DONE
        why = say("All scouts are on the board.")
    elif not HOME_RANKS[position.seat] & bit:
        reason = Reason.OFF_HOME_RANK
        why = say(
            "{side!c} places on rank {rank}.",
            side=SIDE_NAMES[position.seat],
            rank=home_rank(position.seat),
        )
    elif position.own & bit:
        reason = Reason.SQUARE_TAKEN
        why = say("A scout is on {square} already.", square=name)
    else:
        return
    text = joined(" ", (say("{square} is not a placement.", square=name), why))
    # Once all scouts are on the board, the square is not what is wrong.
    raise Illegal(reason, text, "setting-up", name if position.to_place else None)


def home_rank(seat: int) -> int:
    """Return the number of a seat's home rank, from 1."""
    return SQUARES[HOME_RANKS[seat].bit_length() - 1].rank + 1


# ---- plays ---------------------------------------------------------------------------------------


def _play_refusal(reason: Reason, why: str, rule: str, square: int | None = None) -> Illegal:
    """Return the refusal of a play. `square` is the number of the obstacle's square, if any."""
    return Illegal(reason, why, rule, None if square is None else SQUARE_NAMES[square])


def _check_scout(state: State, squares: tuple[int, ...]) -> None:
    """Check that the first square has a scout that the seat on turn may play.

    No scout is played twice in a turn (rulebook, "Turns and Plays").
    """
    position = state.position
    start = squares[0]
    name = SQUARE_NAMES[start]
    bit = 1 << start
    if not position.own & bit:
        foe = SIDE_NAMES[1 - position.seat]
        if position.own_lower & bit:
            raise _play_refusal(
                Reason.BURIED,
                say("The scout on {square} waits under a {colour} one.", square=name, colour=foe),
                "stacks",
                start,
            )
        if position.foe & bit:
            raise _play_refusal(
                Reason.NOT_YOUR_SCOUT,
                say("The scout on {square} is {side}’s.", square=name, side=foe),
                "turns",
                start,
            )
        raise _play_refusal(
            Reason.NO_SCOUT, say("There is no scout on {square}.", square=name), "turns", start
        )
    if not position.plays_due:
        why = say("Two scouts have moved: end the turn.")
        if state.turn == 1:
            why = say("The first turn has one move: end it.")
        raise _play_refusal(Reason.PLAYS_MADE, why, "turns")
    # The plays of a turn are made by different scouts.
    if position.last_mover & bit:
        raise _play_refusal(
            Reason.ALREADY_PLAYED, say("That scout has already moved."), "turns", start
        )


def _check_dash(position: Position, squares: tuple[int, ...]) -> None:
    """Check the squares of a dash (rulebook, "Dash"; ruling, "Stacks")."""
    start, target = squares
    bit = 1 << target
    name = SQUARE_NAMES[target]
    if not AROUND[start] & bit:
        raise _play_refusal(Reason.TOO_FAR, say("A dash goes one square."), "dash")
    if position.rock_squares & bit:
        raise _play_refusal(
            Reason.ROCK_IN_THE_WAY, _covered_text(position, target), "rocks", target
        )
    if not position.scouts & bit:
        return
    if not position.may_stack:
        raise _play_refusal(
            Reason.STACKING_OFF,
            say("A scout is on {square}, and this game has no stacks.", square=name),
            "stacks",
            target,
        )
    if position.stacks & bit:
        raise _play_refusal(
            Reason.STACK_FULL,
            say("Two scouts are on {square}, and a stack has two at most.", square=name),
            "stacks",
            target,
        )


def _check_jumps(position: Position, squares: tuple[int, ...]) -> None:
    """Check each jump of a chain, and that the chain may go on after it (rulebook, "Jump")."""
    start_bit = 1 << squares[0]
    if position.stacks & start_bit:
        raise _play_refusal(
            Reason.ON_STACK, say("A scout on a stack can only dash."), "stacks", squares[0]
        )
    has_intel = bool(position.intel & start_bit)
    # A play ends where the scout is turned over (rulebook, "Gathering Intel"), or wins (ruling).
    final_squares = (HOME_RANKS if has_intel else FAR_RANKS)[position.seat]
    for index, (origin, target) in enumerate(pairwise(squares)):
        # The start square does not end a play.
        if index and final_squares & 1 << origin:
            why = say(
                "It ends on {square}, where the scout is turned over.", square=SQUARE_NAMES[origin]
            )
            if has_intel:
                why = say(
                    "It ends on {square}, where the scout brings intel home.",
                    square=SQUARE_NAMES[origin],
                )
            raise _play_refusal(Reason.PLAY_ENDED, why, "winning" if has_intel else "intel", origin)
        if target in squares[: index + 1]:
            raise _play_refusal(
                Reason.VISITED_TWICE,
                say(
                    "A move visits no square twice, and this one returns to {square}.",
                    square=SQUARE_NAMES[target],
                ),
                "jump",
                target,
            )
        _check_jump(position, squares, origin, target)


def _check_jump(position: Position, squares: tuple[int, ...], origin: int, target: int) -> None:
    """Check one jump of a chain: its direction, the scout that it jumps over, and the landing."""
    files = abs(SQUARES[origin].file - SQUARES[target].file)
    ranks = abs(SQUARES[origin].rank - SQUARES[target].rank)
    if (files, ranks) == (2, 2):
        raise _play_refusal(
            Reason.DIAGONAL_JUMP,
            say("A jump goes along a file or a rank, never diagonally."),
            "jump",
        )
    if {files, ranks} != {0, 2}:
        raise _play_refusal(
            Reason.NOT_A_JUMP,
            say(
                "{square} to {to} is not a jump: it goes two squares along a file or a rank.",
                square=SQUARE_NAMES[origin],
                to=SQUARE_NAMES[target],
            ),
            "jump",
        )
    # The square between has the mean of both numbers, along a file or a rank.
    between = (origin + target) // 2
    between_bit = 1 << between
    landing_bit = 1 << target
    # The jumping scout has left its start square.
    scouts = position.scouts & ~(1 << squares[0])
    for square in (between, target):
        if position.rock_squares & 1 << square:
            raise _play_refusal(
                Reason.ROCK_IN_THE_WAY, _covered_text(position, square), "rocks", square
            )
    if not scouts & between_bit:
        raise _play_refusal(
            Reason.NOTHING_TO_JUMP,
            say(
                "{square} can’t jump: {over} is empty.",
                square=SQUARE_NAMES[origin],
                over=SQUARE_NAMES[between],
            ),
            "jump",
            between,
        )
    if position.stacks & between_bit:
        raise _play_refusal(
            Reason.JUMP_OVER_STACK,
            say(
                "Two scouts are on {square}, and nothing jumps over a stack.",
                square=SQUARE_NAMES[between],
            ),
            "stacks",
            between,
        )
    if scouts & landing_bit:
        raise _play_refusal(
            Reason.LANDING_TAKEN,
            say(
                "A scout is on {square}, and a jump ends on an empty square.",
                square=SQUARE_NAMES[target],
            ),
            "jump",
            target,
        )


# ---- rocks ---------------------------------------------------------------------------------------


def _rock_on(position: Position, square: int) -> str:
    """Return the name of the rock on this square, such as “white boulder”."""
    return next(
        face
        for face, covered in zip(ROCK_FACES, position.rocks, strict=True)
        if covered & 1 << square
    )


def _covered_text(position: Position, square: int) -> str:
    return say(
        "The {rock} covers {square}.", rock=_rock_on(position, square), square=SQUARE_NAMES[square]
    )


def _check_rock(position: Position, decision: Decision) -> None:
    """Check that a boulder or rock is left and fits on its squares (rulebook, "Boulders").

    Its squares hold no scout and no rock, and no rock is beside them. Diagonal contact is fine
    (ruling).
    """
    name = ROCK_NAMES[ROCK_KINDS.index(decision.kind)]
    squares = listed(SQUARE_NAMES[square] for square in decision.squares)
    covered = decision.covered
    parts = {"rock": name, "squares": squares}
    if not has_rock(position, decision.kind):
        raise Illegal(
            Reason.ROCK_SPENT,
            say(
                "The {rock} does not go on {squares}. {side!c} has laid its {rock} already.",
                **parts,
                side=SIDE_NAMES[position.seat],
            ),
            "rocks",
        )
    # A boulder that leaves the board has an empty mask.
    if not covered:
        reason = Reason.OFF_BOARD
        square = decision.squares[0]
        why = say(
            "It covers two files and two ranks, {square} being the lowest on the left.",
            square=SQUARE_NAMES[square],
        )
    elif overlap := position.scouts & covered:
        reason = Reason.ROCK_ON_SCOUT
        square = next(squares_in(overlap))
        why = say("A scout is on {square}.", square=SQUARE_NAMES[square])
    elif overlap := position.rock_squares & covered:
        reason = Reason.ROCK_ON_ROCK
        square = next(squares_in(overlap))
        why = _covered_text(position, square)
    elif touched := position.rock_squares & neighbours_of(covered):
        reason = Reason.ROCK_TOUCHES
        square = next(squares_in(touched))
        rock = _rock_on(position, square)
        why = say("It would touch the {rock} on {square}.", rock=rock, square=SQUARE_NAMES[square])
    else:
        return
    text = joined(" ", (say("The {rock} does not fit on {squares}.", **parts), why))
    raise Illegal(reason, text, "rocks", SQUARE_NAMES[square])


# ---- what was attempted on the board -------------------------------------------------------------


def find_broken_rule(state: State, seat: Seat, seen: FacesSeen) -> Illegal | None:
    """Return the refusal of what the seat on turn has tried to do by moving a scout or rock.

    None if the change is a legal decision, if no single decision explains it, if the seat is not on
    turn, or if the game is over.
    """
    if state.outcome or seat is not state.seat:
        return None
    refusals = []
    for decision in _attempted_decisions(state, seen):
        try:
            check_decision(state, decision)
        except Illegal as refusal:
            refusals.append(refusal)
        else:
            return None
    return refusals[0] if refusals else None


def _attempted_decisions(state: State, seen: FacesSeen) -> list[Decision]:
    """Return the decisions that would explain how the board has changed, whether legal or not."""
    position = state.position
    layout = layout_of(position)
    changes = changed_tops(layout, seen)
    squares = [SQUARE_NUMBERS[str(square)] for square in changes]
    faces_now = {face for _, face in changes.values()}
    own_rocks = ROCK_FACES[2 * position.seat : 2 * position.seat + 2]
    if len(faces_now) == 1 and not faces_now.isdisjoint(own_rocks):
        return _attempted_rocks(squares)
    if len(changes) == 1 and position.to_place:
        is_new = None not in faces_now and not any(square in layout for square in changes)
        return [Decision(DecisionKind.PLACE, (squares[0],))] if is_new else []
    if len(changes) != 2:
        return []
    attempts = []
    # Either of the two squares may be the origin.
    for origin, target in permutations(changes):
        mover, uncovered = changes[origin]
        _, arrival = changes[target]
        # A scout that leaves a stack uncovers the scout below it.
        stack = layout.get(origin, ())
        face_below = stack[-2] if len(stack) > 1 else None
        # The scout may have been turned over on the way.
        is_same_side = any({mover, arrival} <= set(faces) for faces in SCOUT_FACES)
        if uncovered == face_below and is_same_side:
            attempts.append(
                _likely_play(position, SQUARE_NUMBERS[str(origin)], SQUARE_NUMBERS[str(target)])
            )
    return attempts


def _attempted_rocks(squares: list[int]) -> list[Decision]:
    """Return the laying of a rock on these squares, or nothing if they have no rock's shape."""
    covered = sum(1 << square for square in squares)
    is_rock = len(squares) == 2 and NEIGHBOURS[squares[0]] >> squares[1] & 1
    if is_rock or covered == BOULDERS[min(squares)]:
        return [rock_decision(DecisionKind.ROCK if is_rock else DecisionKind.BOULDER, covered)]
    return []


def _likely_play(position: Position, origin: int, target: int) -> Decision:
    """Return the dash or the jumps by which a scout has most likely moved, whether legal or not.

    `origin` and `target` are numbers of squares.
    """
    if AROUND[origin] >> target & 1:
        return Decision(DecisionKind.DASH, (origin, target))
    for chain in jump_chains(position, origin):
        if chain[-1] == target:
            return Decision(DecisionKind.JUMP, chain)
    return Decision(DecisionKind.JUMP, (origin, target))
