"""Why the rules of Scouts refuse a decision: every reason, and the sentence for people that goes with it."""

from __future__ import annotations

from enum import StrEnum
from itertools import pairwise

from companion.errors import Illegal
from companion.games.scouts.board import (
    AROUND,
    FAR,
    HOME,
    NAMES,
    ROCK_FACES,
    ROCK_NAMES,
    SEAT_NAMES,
    SQUARES,
    beside,
    squares_in,
)
from companion.games.scouts.moves import has_play, rock_left
from companion.games.scouts.notation import Decision, Kind
from companion.games.scouts.state import Position, State, is_stack
from companion.kit import SEATS, Seat


class Reason(StrEnum):
    """Why a decision, or what hands have done on the board, is refused."""

    GAME_OVER = "game_over"
    NOT_ON_TURN = "not_on_turn"
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
    # What only hands can do; see `hands`.
    DASH_AND_JUMP = "dash_and_jump"
    NOT_YOUR_ROCK = "not_your_rock"
    ROCK_MOVED = "rock_moved"
    TURNED_TOO_SOON = "turned_too_soon"
    TURNED_BACK = "turned_back"


def check(state: State, seat: Seat, decision: Decision) -> None:
    """Raise `Illegal` unless this is a legal decision of the seat."""
    position, kind = state.position, decision.kind
    if state.outcome:
        raise Illegal(Reason.GAME_OVER, f"The game is over. {state.outcome.reason}", "winning")
    if seat is not state.seat:
        names = {each: name.capitalize() for each, name in zip(SEATS, SEAT_NAMES, strict=True)}
        raise Illegal(Reason.NOT_ON_TURN, f"{names[seat]} is not on turn. {names[seat.other]} plays now.", "turns")
    if kind is Kind.PLACE:
        _check_placement(position, decision.squares[0])
    elif position.to_place:
        left = "One scout is" if position.to_place == 1 else f"{position.to_place} scouts are"
        raise Illegal(Reason.SETTING_UP, f"The set-up is not complete. {left} still to be placed.", "setting-up")
    elif kind is Kind.END:
        _check_end(position)
    elif kind in (Kind.BOULDER, Kind.ROCK):
        _check_rock(position, decision)
    else:
        _check_play(state, decision)


# ---- set-up and the end of a turn -----------------------------------------------------------------------------------


def _check_placement(position: Position, square: int) -> None:
    name, side = NAMES[square], SEAT_NAMES[position.seat].capitalize()
    if not position.to_place:
        why = "All scouts are on the board."
        raise Illegal(Reason.SET_UP_DONE, f"{name} is not a placement. {why}", "setting-up")
    if not HOME[position.seat] & 1 << square:
        why = f"{side} places on rank {home_rank(position.seat)}."
        raise Illegal(Reason.OFF_HOME_RANK, f"{name} is not a placement. {why}", "setting-up", name)
    if position.own & 1 << square:
        why = f"A scout is on {name} already."
        raise Illegal(Reason.SQUARE_TAKEN, f"{name} is not a placement. {why}", "setting-up", name)


def home_rank(seat: int) -> int:
    """The number of a seat's home rank."""
    return SQUARES[HOME[seat].bit_length() - 1].rank + 1


def _check_end(position: Position) -> None:
    if position.due and has_play(position):
        raise Illegal(Reason.PLAY_DUE, f"The turn is not over. {due_words(position)}", "turns")


def due_words(position: Position) -> str:
    """Which plays are still due."""
    if position.due > 1:
        return "Two plays are still due: move two different scouts."
    other = " that has not been played" if position.played else ""
    return f"One play is still due: move a scout{other}."


# ---- plays ----------------------------------------------------------------------------------------------------------


def no_play(reason: Reason, squares: tuple[int, ...], why: str, rule: str, square: int | None = None) -> Illegal:
    """The refusal of a play from the first to the last of these squares; `square` is what stands in the way."""
    first = f"{NAMES[squares[0]]} to {NAMES[squares[-1]]} is not a play."
    return Illegal(reason, f"{first} {why}", rule, None if square is None else NAMES[square])


def _check_play(state: State, decision: Decision) -> None:
    _check_scout(state, decision.squares)
    if decision.kind is Kind.DASH:
        _check_dash(state.position, decision.squares)
    else:
        _check_jumps(state.position, decision.squares)


def _check_scout(state: State, squares: tuple[int, ...]) -> None:
    """Is there a scout of the seat on turn that may be played?"""
    position, start, name = state.position, squares[0], NAMES[squares[0]]
    bit = 1 << start
    if not position.own & bit:
        foe = SEAT_NAMES[1 - position.seat]
        if position.own_low & bit:
            why = f"The scout on {name} waits under a {foe} one."
            raise no_play(Reason.BURIED, squares, why, "stacks", start)
        if position.foe & bit:
            why = f"The scout on {name} is {foe}, and {SEAT_NAMES[position.seat]} is on turn."
            raise no_play(Reason.NOT_YOUR_SCOUT, squares, why, "turns", start)
        raise no_play(Reason.NO_SCOUT, squares, f"There is no scout on {name}.", "turns", start)
    if not position.due:
        why = "White’s first turn has one play" if state.turn == 1 else "Both plays of the turn are made"
        raise no_play(Reason.PLAYS_MADE, squares, f"{why}: end the turn.", "turns")
    if position.played & bit:
        why = f"The scout on {name} has been played in this turn."
        raise no_play(Reason.ALREADY_PLAYED, squares, why, "turns", start)


def _check_dash(position: Position, squares: tuple[int, ...]) -> None:
    start, target = squares
    bit, name = 1 << target, NAMES[target]
    if not AROUND[start] & bit:
        raise no_play(Reason.TOO_FAR, squares, "A dash goes to one of the eight squares around.", "dash")
    if position.stone & bit:
        raise no_play(Reason.ROCK_IN_THE_WAY, squares, f"{_rock_on(position, bit)} covers {name}.", "rocks", target)
    if not (position.own | position.foe) & bit:
        return
    if not position.may_stack:
        why = f"A scout is on {name}, and this game has no stacks."
        raise no_play(Reason.STACKING_OFF, squares, why, "stacks", target)
    if is_stack(position, bit):
        why = f"Two scouts are on {name}, and a stack has two at most."
        raise no_play(Reason.STACK_FULL, squares, why, "stacks", target)


def _check_jumps(position: Position, squares: tuple[int, ...]) -> None:
    start = 1 << squares[0]
    if is_stack(position, start):
        raise no_play(Reason.ON_STACK, squares, "A scout on a stack can only dash.", "stacks", squares[0])
    has_intel = bool(position.intel & start)
    stop = (HOME if has_intel else FAR)[position.seat]
    for index, (here, there) in enumerate(pairwise(squares)):
        if index and stop & 1 << here:
            why = "brings intel home" if has_intel else "is turned over"
            text = f"It ends on {NAMES[here]}, where the scout {why}."
            raise no_play(Reason.PLAY_ENDED, squares, text, "winning" if has_intel else "intel", here)
        if there in squares[: index + 1]:
            why = f"A play visits no square twice, and {NAMES[there]} comes again."
            raise no_play(Reason.VISITED_TWICE, squares, why, "jump", there)
        _check_jump(position, squares, here, there)


def _check_jump(position: Position, squares: tuple[int, ...], here: int, there: int) -> None:
    """One jump of a play."""
    files = abs(SQUARES[here].file - SQUARES[there].file)
    ranks = abs(SQUARES[here].rank - SQUARES[there].rank)
    if (files, ranks) == (2, 2):
        why = "A jump goes along a file or a rank, never diagonally."
        raise no_play(Reason.DIAGONAL_JUMP, squares, why, "jump")
    if {files, ranks} != {0, 2}:
        why = f"{NAMES[here]} to {NAMES[there]} is no jump: it goes two squares along a file or a rank."
        raise no_play(Reason.NOT_A_JUMP, squares, why, "jump")
    between = (here + there) // 2
    over, landing = 1 << between, 1 << there
    scouts = (position.own | position.foe) & ~(1 << squares[0])
    for square, bit in ((between, over), (there, landing)):
        if position.stone & bit:
            why = f"{_rock_on(position, bit)} covers {NAMES[square]}."
            raise no_play(Reason.ROCK_IN_THE_WAY, squares, why, "rocks", square)
    if not scouts & over:
        why = f"There is nothing on {NAMES[between]} to jump over."
        raise no_play(Reason.NOTHING_TO_JUMP, squares, why, "jump", between)
    if is_stack(position, over):
        why = f"Two scouts are on {NAMES[between]}, and nothing jumps over a stack."
        raise no_play(Reason.JUMP_OVER_STACK, squares, why, "stacks", between)
    if scouts & landing:
        why = f"A scout is on {NAMES[there]}, and a jump ends on an empty square."
        raise no_play(Reason.LANDING_TAKEN, squares, why, "jump", there)


# ---- rocks ----------------------------------------------------------------------------------------------------------


def _rock_on(position: Position, square: int) -> str:
    """Which rock covers this square (a mask), such as “The white boulder”."""
    return next(f"The {face}" for face, covered in zip(ROCK_FACES, position.rocks, strict=True) if covered & square)


def _check_rock(position: Position, decision: Decision) -> None:
    kind, where = (0 if decision.kind is Kind.BOULDER else 1), " and ".join(NAMES[each] for each in decision.squares)
    rock, covered = ROCK_NAMES[kind], decision.covered
    if not rock_left(position, kind):
        text = (
            f"The {rock} does not go on {where}. {SEAT_NAMES[position.seat].capitalize()} has laid its {rock} already."
        )
        raise Illegal(Reason.ROCK_SPENT, text, "rocks")
    first = f"The {rock} does not fit on {where}."
    if not covered:
        text = f"{first} It covers two files and two ranks, {where} being the lowest on the left."
        raise Illegal(Reason.OFF_BOARD, text, "rocks", where)
    if hit := (position.own | position.foe) & covered:
        name = _first(hit)
        raise Illegal(Reason.ROCK_ON_SCOUT, f"{first} A scout is on {name}.", "rocks", name)
    if hit := position.stone & covered:
        name = _first(hit)
        raise Illegal(Reason.ROCK_ON_ROCK, f"{first} {_rock_on(position, hit & -hit)} covers {name}.", "rocks", name)
    if hit := position.stone & beside(covered):
        name = _first(hit)
        other = _rock_on(position, hit & -hit).lower()
        raise Illegal(Reason.ROCK_TOUCHES, f"{first} It would touch {other} on {name}.", "rocks", name)


def _first(mask: int) -> str:
    """The name of the first square of a mask."""
    return NAMES[next(squares_in(mask))]
