"""Positions of Scouts, decisions and their notation, and the effect of each on the position.

A decision is an action of this game: a placing, a play, a rock, or the end of a turn. A play, in
the words of the rulebook, is a dash or jumps of one scout. Sentences for people call it a move. A
scout that reaches the far rank gathers intel and is turned over. It wins by bringing intel home.
The head of the package explains the notation.

Positions are bit masks (see `board.py`) from the point of view of the seat on turn. Nothing here
checks whether a decision is legal.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Annotated, Literal, NamedTuple

from msgspec import Meta

from companion.core.errors import Malformed
from companion.core.grid import Square, parse_square_groups, parse_square_numbers
from companion.core.i18n import Verbatim, say
from companion.core.kit import SEATS, Layout, Seat
from companion.games.base import Options, Outcome
from companion.games.scouts.board import (
    BOULDERS,
    FAR_RANKS,
    FILES,
    HOME_RANKS,
    NEIGHBOURS,
    RANKS,
    ROCK_FACES,
    ROCK_KINDS,
    SCOUT_FACES,
    SQUARE_NAMES,
    SQUARE_NUMBERS,
    SQUARES,
    square_mask,
    squares_in,
)

# Number of scouts of each side.
SCOUTS_PER_SIDE = 5
# Number of plays in a turn, except White's first one.
PLAYS_PER_TURN = 2


class ScoutsOptions(Options, frozen=True):
    """The options of Scouts: clock, house rule and start."""

    seconds: Annotated[float, Meta(ge=0, le=86400)] = 600
    """Time of each side for the whole game. 0 for no clock."""
    increment: Annotated[float, Meta(ge=0, le=3600)] = 0
    """Seconds that a side gains by each of its turns."""
    stacking: Literal["on", "off"] = "on"
    """Whether a dash may end on another scout."""
    start: str = ""
    """Starting squares instead of placings: White's, a slash, then Black's. Empty for placings."""


class Position(NamedTuple):
    """The board and the plays that are due. All fields that hold squares are masks.

    A square with two scouts is a stack, of which only the upper scout is visible.
    """

    own: int = 0
    """Squares whose only or upper scout belongs to the seat on turn."""
    foe: int = 0
    """Squares whose only or upper scout belongs to the other seat."""
    own_lower: int = 0
    """Squares where a scout of the seat on turn is under another one."""
    foe_lower: int = 0
    """Squares where a scout of the other seat is under another one."""
    intel: int = 0
    """Squares whose only or upper scout has intel, on either side."""
    lower_intel: int = 0
    """Squares whose lower scout has intel."""
    seat: int = 0
    """Seat on turn: 0 South, 1 North."""
    plays_due: int = 0
    """Number of plays that the seat on turn still has in this turn."""
    last_mover: int = 0
    """Square of the scout that made the last play of this turn, or 0."""
    to_place: int = 2 * SCOUTS_PER_SIDE
    """Number of scouts of both sides that are not on the board yet."""
    rocks: tuple[int, ...] = (0, 0, 0, 0)
    """Squares under each of `ROCK_FACES`, and 0 for one still beside the board."""
    may_stack: bool = True
    """Whether a dash may end on another scout."""
    is_won: bool = False
    """Whether the seat on turn has just brought intel home."""

    @property
    def scouts(self) -> int:
        """The squares with a scout of either side."""
        return self.own | self.foe

    @property
    def stacks(self) -> int:
        """The squares with two scouts."""
        return self.own_lower | self.foe_lower

    @property
    def rock_squares(self) -> int:
        """The squares covered by any rock."""
        return sum(self.rocks)


@dataclass(frozen=True)
class State:
    """A position with its options, turn number (0 during the set-up) and outcome."""

    options: ScoutsOptions
    position: Position
    turn: int = 0
    outcome: Outcome | None = None

    @property
    def seat(self) -> Seat:
        """The seat on turn."""
        return SEATS[self.position.seat]


def first_state(options: ScoutsOptions) -> State:
    """Return the first state: the chosen start, or an empty board for the placings.

    White has the first decision. Raises `Malformed` if the option `start` is not valid.
    """
    position = Position(may_stack=options.stacking == "on")
    if not options.start:
        return State(options, position)
    teams = parse_square_groups(options.start, FILES, RANKS)
    masks = [sum(square_mask(*square) for square in team) for team in teams]
    has_full_teams = [len(team) for team in teams] == [SCOUTS_PER_SIDE] * len(SEATS)
    # A scout on the far rank would already have intel.
    if not has_full_teams or masks[0] & FAR_RANKS[0] or masks[1] & FAR_RANKS[1]:
        raise Malformed(
            say(
                "Write five squares for White, a slash and five for Black; none may be on the "
                "other side’s home rank"
            )
        )
    # White's first turn has one play.
    position = position._replace(own=masks[0], foe=masks[1], to_place=0, plays_due=1)
    return State(options, position, turn=1)


def place_scout(position: Position, square: int) -> Position:
    """Return the position after the seat on turn has placed a scout on a square (a mask)."""
    to_place = position.to_place - 1
    # Masks are relative to the seat on turn, so both sides swap.
    return position._replace(
        own=position.foe,
        foe=position.own | square,
        seat=1 - position.seat,
        to_place=to_place,
        # White's first turn has one play.
        plays_due=0 if to_place else 1,
    )


def move_scout(position: Position, origin: int, target: int) -> Position:
    """Return the position after a play of the upper scout on `origin`, which ends on `target`.

    Both are masks of one square (rulebook, "Gathering Intel" and "Winning"; ruling, "Stacks").
    """
    own, foe, own_lower, foe_lower, intel, lower_intel, seat, *_ = position
    has_intel = intel & origin
    own ^= origin
    intel &= ~origin
    # The scout beneath is free and becomes the upper one.
    if (own_lower | foe_lower) & origin:
        if own_lower & origin:
            own_lower ^= origin
            own |= origin
        else:
            foe_lower ^= origin
            foe |= origin
        intel |= lower_intel & origin
        lower_intel &= ~origin
    # A scout on the target becomes the lower one.
    if (own | foe) & target:
        if own & target:
            own_lower |= target
        else:
            foe ^= target
            foe_lower |= target
        lower_intel |= intel & target
        intel &= ~target
    own |= target
    # A scout with intel keeps it.
    if has_intel or target & FAR_RANKS[seat]:
        intel |= target
    # Call the constructor, because `_replace` is slower and bots move many scouts.
    return Position(
        own,
        foe,
        own_lower,
        foe_lower,
        intel,
        lower_intel,
        seat,
        plays_due=position.plays_due - 1,
        last_mover=target,
        to_place=position.to_place,
        rocks=position.rocks,
        may_stack=position.may_stack,
        # A scout with intel wins on its own home rank.
        is_won=bool(has_intel and target & HOME_RANKS[seat]),
    )


def lay_rock(position: Position, kind: DecisionKind, covered: int) -> Position:
    """Return the position after the seat on turn has laid a rock on the mask `covered`."""
    index = 2 * position.seat + ROCK_KINDS.index(kind)
    rocks = list(position.rocks)
    rocks[index] = covered
    return position._replace(rocks=tuple(rocks))


def pass_turn(position: Position) -> Position:
    """Return the position in which the other seat is on turn, with two plays."""
    own, foe, own_lower, foe_lower = position[:4]
    return position._replace(
        own=foe,
        foe=own,
        own_lower=foe_lower,
        foe_lower=own_lower,
        seat=1 - position.seat,
        plays_due=PLAYS_PER_TURN,
        last_mover=0,
        is_won=False,
    )


def scouts_by_seat(position: Position) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the masks of upper (or single) and lower scouts, for South and for North."""
    own = (position.own, position.own_lower)
    foe = (position.foe, position.foe_lower)
    return (foe, own) if position.seat else (own, foe)


def lead(state: State) -> float:
    """Return how many ranks White is ahead: Black's shortest remaining way minus White's.

    The way of a scout leads to the far rank and, with intel, home again. 0 until both sides have a
    scout on the board.
    """
    south, north = (_ranks_to_go(state.position, seat) for seat in (0, 1))
    if south is None or north is None:
        return 0.0
    return float(north - south)


def _ranks_to_go(position: Position, seat: int) -> int | None:
    """Return the smallest number of ranks that a scout of this side still has to go until it wins.

    None if the side has no scout on the board.
    """
    last = RANKS - 1
    ranks = []
    # Upper scouts first, as in `scouts_by_seat`.
    with_intel = position.intel, position.lower_intel
    for scouts, intel in zip(scouts_by_seat(position)[seat], with_intel, strict=True):
        for number in squares_in(scouts):
            from_home = abs(number // FILES - seat * last)
            # Without intel it has to go to the far rank and all the way back.
            ranks.append(from_home if intel >> number & 1 else 2 * last - from_home)
    return min(ranks, default=None)


def layout_of(position: Position) -> Layout:
    """Return the faces on each square, lower scouts first.

    A rock is in every square that it covers.
    """
    layout: dict[Square, tuple[str, ...]] = {}
    sides = scouts_by_seat(position)
    # The lower level, which is the second one of `scouts_by_seat`, comes first.
    for level, intel in ((1, position.lower_intel), (0, position.intel)):
        for seat, (plain_face, intel_face) in enumerate(SCOUT_FACES):
            for number in squares_in(sides[seat][level]):
                square = SQUARES[number]
                face = intel_face if intel >> number & 1 else plain_face
                layout[square] = (*layout.get(square, ()), face)
    for face, covered in zip(ROCK_FACES, position.rocks, strict=True):
        layout.update({SQUARES[number]: (face,) for number in squares_in(covered)})
    return layout


# ---- notation ------------------------------------------------------------------------------------


_SQUARE = "[a-z][0-9]+"
_EXAMPLES = "@c1, c1-d2, c1^c3, B@d5, R@d5-e5"


class DecisionKind(StrEnum):
    """Kind of a decision. The values of the rocks are those of `ROCK_KINDS`."""

    PLACE = "place"
    DASH = "dash"
    JUMP = "jump"
    BOULDER = "boulder"
    ROCK = "rock"
    END = "end"


class Decision(NamedTuple):
    """A decision: its kind and the numbers of its squares. `str` gives its notation.

    Jumps have all squares of their chain, a boulder its lower left square, and the end of a turn
    none.

    >>> str(Decision(DecisionKind.JUMP, (2, 18, 20)))
    'c1^c3^e3'
    """

    kind: DecisionKind
    squares: tuple[int, ...] = ()

    def __str__(self) -> str:
        beginning, separator = _MARKS[self.kind]
        return beginning + separator.join([SQUARE_NAMES[square] for square in self.squares])

    @property
    def covered(self) -> int:
        """The mask of the squares under a rock, or 0 if a boulder leaves the board."""
        if self.kind is DecisionKind.BOULDER:
            return BOULDERS[self.squares[0]]
        return sum(1 << square for square in self.squares)


# Notation of each kind: what stands before its first square, and what between its squares.
_MARKS = {
    DecisionKind.PLACE: ("@", ""),
    DecisionKind.DASH: ("", "-"),
    DecisionKind.JUMP: ("", "^"),
    DecisionKind.BOULDER: ("B@", ""),
    DecisionKind.ROCK: ("R@", "-"),
    DecisionKind.END: (".", ""),
}

_PATTERNS = {
    DecisionKind.PLACE: f"@{_SQUARE}",
    DecisionKind.DASH: f"{_SQUARE}-{_SQUARE}",
    DecisionKind.JUMP: rf"{_SQUARE}(?:\^{_SQUARE})+",
    DecisionKind.BOULDER: f"B@{_SQUARE}",
    DecisionKind.ROCK: f"R@{_SQUARE}-{_SQUARE}",
    DecisionKind.END: r"\.",
}


@lru_cache(maxsize=4096)
def parse(text: str) -> Decision:
    """Parse a decision from its notation.

    Raises `Malformed` for a text of no known form, for a square that is not on the board, and for a
    rock whose squares are not adjacent or not in order.

    >>> parse("c1^c3^e3")
    Decision(kind=<DecisionKind.JUMP: 'jump'>, squares=(2, 18, 20))
    """
    # 40 characters are enough to recognise a wrong text.
    shown = Verbatim(text if len(text) <= 40 else f"{text[:39]}…")
    kinds = (kind for kind, pattern in _PATTERNS.items() if re.fullmatch(pattern, text))
    kind = next(kinds, None)
    if kind is None:
        raise Malformed(
            say("“{text}” is not a move: expected {forms} or .", text=shown, forms=_EXAMPLES)
        )
    squares = parse_square_numbers(text, SQUARE_NUMBERS, RANKS)
    # The two squares of a rock are adjacent, with the lower number first.
    if kind is DecisionKind.ROCK and (
        squares[0] > squares[1] or not NEIGHBOURS[squares[0]] >> squares[1] & 1
    ):
        raise Malformed(
            say("“{text}” is not a rock: expected its two squares, such as R@d5-e5", text=shown)
        )
    return Decision(kind, squares)
