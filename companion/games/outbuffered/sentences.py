"""What a turn of Outbuffered tells: sentences by seats (0 South, 1 North), squares and commands."""

from __future__ import annotations

from companion.core.grid import Square
from companion.core.i18n import say
from companion.games.outbuffered.board import NAMES

WORDS = {"U": say("up"), "D": say("down"), "L": say("left"), "R": say("right")}


def step_title(number: int) -> str:
    """Return which pair of commands is carried out."""
    return say("Step {number} of 3", number=number)


# ---- moves ----------------------------------------------------------------------------------------------------------


def idles(seat: int, square: Square) -> str:
    """Say that nothing is done."""
    return say("{side!c} waits on {square}.", **_who(seat, square))


def goes(seat: int, command: str, square: Square, to: Square) -> str:
    """Say that a robot moves."""
    return say(
        "{side!c} goes {direction}, {square} to {to}.",
        **_who(seat, square),
        direction=WORDS[command],
        to=str(to),
    )


def bounces(seat: int, square: Square) -> str:
    """Say that a move was refused."""
    return say("{side!c} bounces and stays on {square}.", **_who(seat, square))


def into_wall(command: str, wall: Square) -> str:
    """Return why it bounces: a wall."""
    return say(
        "{direction!c} leads into the wall on {square}.", direction=WORDS[command], square=str(wall)
    )


def off_board(command: str, *, is_turned: bool) -> str:
    """Return why it bounces: the edge. `is_turned`: left and right are seen from North's seat."""
    if is_turned and command == "L":
        return say("Left leads off the board: North’s left hand is South’s right.")
    if is_turned and command == "R":
        return say("Right leads off the board: North’s right hand is South’s left.")
    return say("{direction!c} leads off the board.", direction=WORDS[command])


def own_flag(seat: int, square: Square) -> str:
    """Return why it bounces: the own flag."""
    return say("{side!c}’s own flag lies on {square}.", **_who(seat, square))


def both_try(square: Square) -> str:
    """Return why both bounce."""
    return say("Both robots try to enter {square}.", square=str(square))


def does_not_leave(seat: int, square: Square) -> str:
    """Return why it bounces: the other robot."""
    return say("{side!c} does not leave {square}.", **_who(seat, square))


# ---- flags ----------------------------------------------------------------------------------------------------------


def takes_flag(seat: int, square: Square) -> str:
    """Say that the other side's flag is taken."""
    return say(
        "{side!c} takes {other}’s flag on {square}.", **_who(seat, square), other=NAMES[1 - seat]
    )


def drops_flag(seat: int, square: Square) -> str:
    """Say that the other side's flag is dropped."""
    return say(
        "{side!c} drops {other}’s flag on {square}.", **_who(seat, square), other=NAMES[1 - seat]
    )


def brings_home(seat: int, square: Square) -> str:
    """Return how it was won."""
    return say(
        "{side!c} brings {other}’s flag home to {square}.",
        **_who(seat, square),
        other=NAMES[1 - seat],
    )


# ---- shots ----------------------------------------------------------------------------------------------------------


def hits(seat: int, square: Square) -> str:
    """Return a shot that hits the other robot on a square."""
    return say(
        "{side!c} shoots and hits {other} on {square}.", **_who(seat, square), other=NAMES[1 - seat]
    )


def misses(seat: int) -> str:
    """Return a shot that does not."""
    return say("{side!c} shoots and hits nobody.", side=NAMES[seat])


def returns(seat: int, square: Square) -> str:
    """Return where a robot goes that was hit."""
    return say("{side!c} returns to its start tile {square}.", **_who(seat, square))


def shut_out(winner: int, square: Square, *, by_robot: bool) -> str:
    """Return how it was won when a robot cannot return.

    `by_robot`: because of the other one, else of its own flag.
    """
    who = {"side": NAMES[winner], "loser": NAMES[1 - winner], "square": str(square)}
    if by_robot:
        return say("{side!c} wins: {loser} cannot return to {square}, {side} is there.", **who)
    return say("{side!c} wins: {loser} cannot return to {square}, its own flag is there.", **who)


def _who(seat: int, square: Square) -> dict[str, str]:
    return {"side": NAMES[seat], "square": str(square)}


# ---- what the sign tells, in at most 40 letters ----------------------------------------------------------------------


def both_want(square: Square) -> str:
    """Say that both bounce off one tile."""
    return say("Both want {square}. Nobody gets it.", square=str(square))


def bumps_into(seat: int, what: str) -> str:
    """Say that one bounces: off the other `robot`, a `wall`, the `edge` or its own `flag`."""
    who = {"side": NAMES[seat], "other": NAMES[1 - seat]}
    match what:
        case "robot":
            return say("{side!c} bumps into {other}", **who)
        case "wall":
            return say("{side!c} bumps into the wall", **who)
        case "flag":
            return say("{side!c}’s own flag is in the way", **who)
    return say("{side!c} bumps into the edge", **who)


def shot_headline(seat: int, *, is_flag_lost: bool) -> str:
    """Say that one is hit, and perhaps loses the flag."""
    who = {"side": NAMES[seat], "other": NAMES[1 - seat]}
    if is_flag_lost:
        return say("{side!c} hits {other}. The flag drops.", **who)
    return say("{side!c} hits {other}", **who)


def flag_headline(seat: int, *, is_home: bool) -> str:
    """Say that a flag is taken, or brought home."""
    who = {"side": NAMES[seat], "other": NAMES[1 - seat]}
    if is_home:
        return say("{side!c} brings {other}’s flag home", **who)
    return say("{side!c} takes {other}’s flag", **who)


def miss_headline(seat: int) -> str:
    """Say that a shot hits nobody."""
    return say("{side!c} hits nobody", side=NAMES[seat])


BOTH_HIT = say("Both are hit. Both start again.")
BOTH_MISS = say("Both shoot. Nobody is hit.")
BOTH_WAIT = say("Both wait")
