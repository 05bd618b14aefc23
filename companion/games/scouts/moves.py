"""Which decisions a position of Scouts allows: as masks and numbers, as notation, and how many there are to a depth."""

from __future__ import annotations

import re
from collections.abc import Iterator

from companion.core.grid import Square
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
    squares_in,
)
from companion.games.scouts.state import (
    Position,
    State,
    lay_rock,
    move_scout,
    pass_turn,
    place_scout,
)

Chain = tuple[int, ...]
"""The squares of a play by jumps, the one it begins on included."""


# ---- scouts -------------------------------------------------------------------------------------------------------


def places(position: Position) -> int:
    """Return where the seat on turn may place a scout now, as a mask. Rulebook, "Setup"."""
    return HOME[position.seat] & ~position.own if position.to_place else 0


def movers(position: Position) -> int:
    """Return the scouts that may be played as far as the turn is concerned, as a mask.

    Rulebook, "Turns and Plays".
    """
    return position.own & ~position.played if position.due and not position.is_won else 0


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


def chains(position: Position, square: int, stop: int | None = None) -> Iterator[Chain]:
    """Yield every play by jumps of the scout on this square, the shorter before those that go on
    from it.

    Rulebook, "Jump". Ruling: no square twice, nothing over or onto a stack, and the play ends where the scout is turned
    over or wins. `stop`: the play ends there instead (a mask).
    """
    start = 1 << square
    stacks = position.own_low | position.foe_low
    scouts = position.own | position.foe
    single = scouts & ~(stacks | start)
    if stacks & start or not BESIDE[square] & single:
        return
    if stop is None:
        stop = (HOME if position.intel & start else FAR)[position.seat]
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
    """Return the shortest chain to each square that the scout reaches by jumps, the first by its notation."""
    best: dict[int, Chain] = {}
    for chain in chains(position, square):
        kept = best.get(chain[-1])
        if kept is None or (len(chain), chain_text(chain)) < (len(kept), chain_text(kept)):
            best[chain[-1]] = chain
    return list(best.values())


def has_play(position: Position) -> bool:
    """Return whether the seat on turn can make a play that is due."""
    for square in squares_in(movers(position)):
        if dashes(position, square) or next(chains(position, square), None):
            return True
    return False


# ---- rocks --------------------------------------------------------------------------------------------------------


def has_rock(position: Position, kind: int) -> bool:
    """Return whether the seat on turn may still lay its boulder (0) or its rock (1)."""
    return not (position.to_place or position.is_won or position.rocks[2 * position.seat + kind])


def boulder_corners(position: Position) -> int:
    """Return where the lowest square on the left of a boulder may be, as a mask.

    Rulebook, "Boulders".
    """
    free = ALL & ~(position.own | position.foe | position.barred)
    columns = free & free >> FILES
    return columns & columns >> 1 & NOT_LAST_FILE


def rock_beginnings(position: Position) -> tuple[int, int]:
    """Return where a rock may begin that lies across, and where one that lies along the files, as
    masks."""
    free = ALL & ~(position.own | position.foe | position.barred)
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


# ---- notation -----------------------------------------------------------------------------------------------------

_BOULDER_TEXTS = tuple(f"B@{name}" for name in NAMES)
_ACROSS_TEXTS = tuple(
    f"R@{name}-{after}" for name, after in zip(NAMES, (*NAMES[1:], ""), strict=True)
)
_ALONG_TEXTS = tuple(
    f"R@{name}-{after}" for name, after in zip(NAMES, (*NAMES[FILES:], *FILES * [""]), strict=True)
)


def chain_text(chain: Chain) -> str:
    """Return the notation of a play by jumps."""
    return "^".join([NAMES[square] for square in chain])


def texts(position: Position) -> Iterator[str]:
    """Yield the notation of every legal decision: placements. Plays. Rocks. The end of the turn."""
    if position.is_won:
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
    yield from rock_texts(position)
    if not is_due:
        yield "."


def rock_texts(position: Position) -> Iterator[str]:
    """Yield the notation of every way to lay a rock now."""
    if has_rock(position, 0):
        for corner in squares_in(boulder_corners(position)):
            yield _BOULDER_TEXTS[corner]
    if has_rock(position, 1):
        across, along = rock_beginnings(position)
        for number in squares_in(across):
            yield _ACROSS_TEXTS[number]
        for number in squares_in(along):
            yield _ALONG_TEXTS[number]


# ---- counts -------------------------------------------------------------------------------------------------------


def perft(state: State | Position, depth: int) -> int:
    """Return how many sequences of so many legal decisions there are from here.

    The last one is counted, not made.

    >>> from companion.games.scouts.state import Position
    >>> perft(Position(), 3)  # white has 8 squares, black 8, white 7
    448
    """
    position = state.position if isinstance(state, State) else state
    if depth < 2:
        return count(position) if depth else 1
    return sum([perft(after, depth - 1) for after in successors(position)])


def successors(position: Position) -> Iterator[Position]:
    """Yield the position after every legal decision."""
    if position.is_won:
        return
    if position.to_place:
        for square in squares_in(places(position)):
            yield place_scout(position, 1 << square)
        return
    is_due = False
    for square in squares_in(movers(position)):
        origin = 1 << square
        for target in squares_in(dashes(position, square)):
            is_due = True
            yield move_scout(position, origin, 1 << target)
        for chain in chains(position, square):
            is_due = True
            yield move_scout(position, origin, 1 << chain[-1])
    for kind, covered in rock_placings(position):
        yield lay_rock(position, kind, covered)
    if not is_due:
        yield pass_turn(position)


def count(position: Position) -> int:
    """Return how many legal decisions there are, without making any of them."""
    if position.is_won:
        return 0
    if position.to_place:
        return places(position).bit_count()
    open_squares = ~blocked_mask(position)
    plays = 0
    for square in squares_in(movers(position)):
        plays += (AROUND[square] & open_squares).bit_count()
        plays += sum([1 for _ in chains(position, square)])
    total = plays or 1  # nothing to play: the turn may end
    if has_rock(position, 0):
        total += boulder_corners(position).bit_count()
    if has_rock(position, 1):
        total += sum([beginnings.bit_count() for beginnings in rock_beginnings(position)])
    return total


def eagerness(position: Position, text: str) -> float:
    """Return how likely a random player is to choose this: scouts run for the far rank, and home
    with their intel."""
    if text[0] in "BR":
        return 0.02
    if text[0] in "@.":
        return 6.0
    origin, target = (
        Square.parse(re.split("[-^]", text)[0]),
        Square.parse(re.split("[-^]", text)[-1]),
    )
    ahead = (target.rank - origin.rank) * (-1 if position.seat else 1)
    goes_home = bool(position.intel >> origin.file + FILES * origin.rank & 1)
    return float(4.0 ** max(-1, min(2, -ahead if goes_home else ahead)))
