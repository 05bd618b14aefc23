"""Move generation for Scouts, on bit masks, and the notation of moves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from random import Random

from companion.core.kit import Seat
from companion.games.scouts.board import (
    ALL,
    AROUND,
    BESIDE,
    BOULDERS,
    FAR,
    FILES,
    HOME,
    JUMPS,
    NAMES,
    NOT_LAST_FILE,
    NUMBERS,
    squares_in,
)
from companion.games.scouts.state import Position, State

Chain = tuple[int, ...]
"""The squares of a play by jumps, the one it begins on included."""


# ---- scouts --------------------------------------------------------------------------------------


def places(position: Position) -> int:
    """Return where the seat on turn may place a scout now, as a mask. Rulebook, "Setup"."""
    if position.to_place:
        return HOME[position.seat] & ~position.own
    return 0


def movers(position: Position) -> int:
    """Return the scouts that may be played as far as the turn is concerned, as a mask.

    Rulebook, "Turns and Plays".
    """
    if position.due and not position.is_won:
        return position.own & ~position.played
    return 0


def blocked_mask(position: Position) -> int:
    """Return where no dash may end, as a mask: rocks, and stacks or (without stacking) all scouts.

    Ruling, "Stacks".
    """
    if position.may_stack:
        return position.stone | position.own_low | position.foe_low
    return position.stone | position.own | position.foe


def dashes(position: Position, square: int) -> int:
    """Return where the scout on this square may dash, as a mask. Rulebook, "Dash"."""
    return AROUND[square] & ~blocked_mask(position)


def chains(position: Position, square: int) -> Iterator[Chain]:
    """Yield every play by jumps of the scout on this square, the shorter before those that go on
    from it.

    Rulebook, "Jump". Ruling: no square twice, nothing over or onto a stack, and the play ends where
    the scout is turned over or wins.
    """
    start = 1 << square
    stacks = position.own_low | position.foe_low
    scouts = position.own | position.foe
    # what can be jumped over: a scout alone on its square, other than the one that jumps
    single = scouts & ~(stacks | start)
    # a scout on a stack only dashes (ruling), and without a neighbour nothing is jumped
    if stacks & start or not BESIDE[square] & single:
        return
    stop = (HOME if position.intel & start else FAR)[position.seat]
    # each chain with the squares on which it may still land: none of its own
    work: list[tuple[Chain, int]] = [((square,), ALL & ~(scouts | position.stone))]
    while work:
        path, empty = work.pop()
        for over, landing, target in JUMPS[path[-1]]:
            if over & single and landing & empty:
                longer = (*path, target)
                yield longer
                if not landing & stop:
                    work.append((longer, empty ^ landing))


def shortest(position: Position, square: int) -> list[Chain]:
    """Return the shortest chain to each square that the scout reaches by jumps, the first by its
    notation.
    """
    best: dict[int, Chain] = {}
    for chain in chains(position, square):
        shortest_yet = best.setdefault(chain[-1], chain)
        best[chain[-1]] = min(shortest_yet, chain, key=lambda way: (len(way), chain_text(way)))
    return list(best.values())


def has_play(position: Position) -> bool:
    """Return whether the seat on turn can make a play that is due."""
    for square in squares_in(movers(position)):
        if dashes(position, square) or next(chains(position, square), None):
            return True
    return False


# ---- rocks ---------------------------------------------------------------------------------------


def has_rock(position: Position, kind: int) -> bool:
    """Return whether the seat on turn may still lay its boulder (0) or its rock (1)."""
    return not (position.to_place or position.is_won or position.rocks[2 * position.seat + kind])


def boulder_corners(position: Position) -> int:
    """Return where the lowest square on the left of a boulder may be, as a mask.

    Rulebook, "Boulders".
    """
    free = ALL & ~(position.own | position.foe | position.barred)
    # free together with the square above, then the same beside it on the right
    columns = free & free >> FILES
    return columns & columns >> 1 & NOT_LAST_FILE


def rock_beginnings(position: Position) -> tuple[int, int]:
    """Return where a rock may begin that lies across, and where one that lies along the files, as
    masks."""
    free = ALL & ~(position.own | position.foe | position.barred)
    # a shift by one wraps round at the last file, so that is left out
    return free & free >> 1 & NOT_LAST_FILE, free & free >> FILES


def rock_placings(position: Position) -> Iterator[tuple[int, int]]:
    """Yield every way to lay a rock now: its kind (0 boulder, 1 rock) and the mask of what it
    covers."""
    if has_rock(position, 0):
        for corner in squares_in(boulder_corners(position)):
            yield 0, BOULDERS[corner]
    if has_rock(position, 1):
        for beginnings, step in zip(rock_beginnings(position), (1, FILES), strict=True):
            for number in squares_in(beginnings):
                yield 1, 1 << number | 1 << number + step


# ---- notation ------------------------------------------------------------------------------------


def chain_text(chain: Chain) -> str:
    """Return the notation of a play by jumps."""
    return "^".join([NAMES[square] for square in chain])


def legal_actions(state: State, seat: Seat) -> Iterator[str]:
    """Yield every legal decision: placements, plays with all chains of jumps, rocks, the end of the
    turn."""
    position = state.position
    if state.outcome or seat is not state.seat:
        return
    if position.to_place:
        yield from [f"@{NAMES[square]}" for square in squares_in(places(position))]
        return
    is_due = False
    for square in squares_in(movers(position)):
        name = NAMES[square]
        for target in squares_in(dashes(position, square)):
            is_due = True
            yield f"{name}-{NAMES[target]}"
        for chain in chains(position, square):
            is_due = True
            yield chain_text(chain)
    for kind, covered in rock_placings(position):
        yield rock_text(kind, covered)
    # a turn may end only when no play is due or none is possible (ruling)
    if not is_due:
        yield "."


@cache
def rock_text(kind: int, covered: int) -> str:
    """Return the notation of a boulder (0) or a rock (1) by the mask of what it covers."""
    first, second, *_ = (NAMES[square] for square in squares_in(covered))
    return f"R@{first}-{second}" if kind else f"B@{first}"


def random_action(state: State, seat: Seat, rng: Random) -> str:
    """Return one of the legal actions.

    Scouts rather go where they want to, and rocks are seldom laid.
    """
    actions = list(legal_actions(state, seat))
    return rng.choices(actions, [_eagerness(state.position, text) for text in actions])[0]


def _eagerness(position: Position, text: str) -> float:
    """Return how likely a random player is to choose this: scouts run for the far rank, and home
    with their intel."""
    # rocks fit nearly everywhere: as likely as plays they would be laid at once
    if text[0] in "BR":
        return 0.02
    if text[0] in "@.":
        return 6.0
    origin, *_, target = (NUMBERS[name] for name in re.split("[-^]", text))
    ahead = target // FILES - origin // FILES
    # up the board go South's without intel and North's with it
    goes_up = bool(position.seat) == bool(position.intel & 1 << origin)
    # a rank further is four times as likely, from one back to two ahead
    return float(4.0 ** max(-1, min(2, ahead if goes_up else -ahead)))
