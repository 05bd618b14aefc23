"""Helpers: states of Scouts made by hand, and a second, slow implementation of its rules.

South is white and begins on rank 1, North is black and begins on rank 10. The notation of actions:

- `@c1` places a scout in the set-up.
- `c4-c5` is a dash, and `c4^c6^e6` a chain of jumps, each over one scout.
- `B@d5` lays a boulder on d5 and the three squares above and to the right of it. `R@d5-d6` lays a
  rock on two squares.
- `.` ends the turn.

Scouts that reach the far rank get intel and are turned over. A scout that brings intel home wins.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

import pytest

from companion.core.errors import Illegal
from companion.core.grid import Square
from companion.core.kit import SEATS, Seat
from companion.games.base import Step
from companion.games.scouts import Scouts
from companion.games.scouts.board import ROCK_FACES, SQUARE_NUMBERS
from companion.games.scouts.state import Position, State

GAME = Scouts()
RNG = Random(0)
# Ten placements: white and black in turn, on the files b to f.
SET_UP = tuple(f"@{file}{rank}" for file in "bcdef" for rank in (1, 10))


def start(**options: object) -> State:
    return GAME.setup(GAME.options(options), RNG)


def carry_out(state: State, text: str) -> Step[State]:
    """Carry out a legal decision of the seat on turn."""
    seat = state.seat
    action = GAME.parse(text)
    GAME.require(state, {seat: action})
    return GAME.apply(state, {seat: action}, RNG)


def state_after(state: State, *texts: str) -> State:
    """Return the state after legal decisions, each of the seat on turn."""
    for text in texts:
        state = carry_out(state, text).state
    return state


def mask(names: str) -> int:
    """Return the bit mask of squares, such as `c4 d4`."""
    return sum(1 << SQUARE_NUMBERS[name] for name in names.split())


def make_state(
    white: str = "",
    black: str = "",
    *,
    white_low: str = "",
    black_low: str = "",
    intel: str = "",
    lower_intel: str = "",
    seat: Seat = Seat.SOUTH,
    due: int = 2,
    played: str = "",
    rocks: Mapping[str, str] | None = None,
    turn: int = 7,
    **options: object,
) -> State:
    """Make a state after the set-up, from squares such as `c4 d4`.

    `white` and `black` have the scouts on top, `white_low` and `black_low` those beneath another
    one. `intel` and `lower_intel` are the squares of scouts that are turned over, on top and
    beneath. `rocks` has the squares that each face covers, such as `{"white rock": "d5 d6"}`.
    `seat` is on turn, with `due` moves left, and `played` is the square of the scout that it has
    moved last.
    """
    parsed = GAME.options(options)
    # a position is seen from the seat on turn: its own scouts and the foe's
    sides = [(mask(white), mask(white_low)), (mask(black), mask(black_low))]
    (own, own_lower), (foe, foe_lower) = sides if seat is Seat.SOUTH else sides[::-1]
    covered = [mask((rocks or {}).get(face, "")) for face in ROCK_FACES]
    position = Position(
        own=own,
        foe=foe,
        own_lower=own_lower,
        foe_lower=foe_lower,
        intel=mask(intel),
        lower_intel=mask(lower_intel),
        seat=SEATS.index(seat),
        plays_due=due,
        last_mover=mask(played),
        to_place=0,
        rocks=(covered[0], covered[1], covered[2], covered[3]),
        may_stack=parsed.stacking == "on",
    )
    return State(parsed, position, turn)


def legal_texts(state: State) -> set[str]:
    """Return the notation of every legal action, and require that none is listed twice."""
    actions = list(map(str, GAME.legal_actions(state, state.seat)))
    assert len(actions) == len(set(actions)), "an action is listed twice"
    return set(actions)


def tops(state: State) -> dict[Square, str]:
    """Return the face on top of every occupied square."""
    return {square: faces[-1] for square, faces in GAME.expected(state).items()}


def faces_after_hands(state: State, changes: Mapping[str, str | None]) -> dict[Square, str]:
    """Return the faces on top after hands have changed squares. None stands for an empty square."""
    faces = tops(state)
    for name, face in changes.items():
        faces.pop(Square.parse(name), None)
        if face is not None:
            faces[Square.parse(name)] = face
    return faces


@dataclass(frozen=True)
class Example:
    """An action that the rules refuse, and the refusal."""

    state: State
    tried: str | Mapping[str, str | None]
    """The action in notation, or the face that hands have put on each square."""
    message: str
    """The sentence of the refusal."""
    rule: str
    """The id of the rule against it."""
    square: str | None = None
    """The square that the refusal points at."""

    def refusal(self) -> Illegal:
        """Try the action, and return its refusal."""
        seat = self.state.seat
        if isinstance(self.tried, str):
            with pytest.raises(Illegal) as caught:
                GAME.check(self.state, seat, GAME.parse(self.tried))
            return caught.value
        refusal = GAME.why_not(self.state, seat, faces_after_hands(self.state, self.tried))
        assert refusal is not None
        return refusal


def hand_moves(origin: str, target: str, face: str = "white scout") -> dict[str, str | None]:
    """Return what hands change when they move a piece from one square to another."""
    return {origin: None, target: face}


# ---- slow rules ----------------------------------------------------------------------------------

# File and rank of a square, both from 0.
Place = tuple[int, int]
_ALL_DIRECTIONS = [(x, y) for x in (-1, 0, 1) for y in (-1, 0, 1) if (x, y) != (0, 0)]
_STRAIGHT_DIRECTIONS = [(0, 1), (1, 0), (0, -1), (-1, 0)]


def square_name(place: Place) -> str:
    return f"{'abcdefgh'[place[0]]}{place[1] + 1}"


def parse_place(name: str) -> Place:
    return "abcdefgh".index(name[0]), int(name[1:]) - 1


class SlowScouts:
    """The rules, written after the sentences of the rulings, with a list of scouts per square.

    Tests play the same actions here and in the game, which works on bit masks, and compare both.
    Seats are 0 for South and 1 for North. `moved_ids` are the scouts that have moved in this turn.
    """

    def __init__(self, stacking: bool = True) -> None:
        self.stacking = stacking
        self.board: dict[Place, list[dict[str, object]]] = {
            (x, y): [] for x in range(8) for y in range(10)
        }
        self.rocks: dict[tuple[int, str], list[Place]] = {}
        self.seat = 0
        self.placed = 0
        self.moves_left = 0
        self.moved_ids: list[int] = []
        self.winner: int | None = None

    def has_rock(self, place: Place) -> bool:
        return any(place in covered for covered in self.rocks.values())

    def legal(self) -> set[str]:
        """Return the notation of every legal action of the seat on turn."""
        if self.winner is not None:
            return set()
        if self.placed < 10:
            rank = 9 if self.seat else 0
            return {f"@{square_name((x, rank))}" for x in range(8) if not self.board[x, rank]}
        moves = self.legal_moves() if self.moves_left else set()
        return moves | self.legal_rocks() | (set() if moves else {"."})

    def legal_moves(self) -> set[str]:
        """Return the dashes and jumps of all scouts on top that have not moved in this turn.

        A dash goes to a neighbouring square, also onto one scout. Only a scout that is alone on its
        square jumps.
        """
        moves = set()
        for here, scouts in self.board.items():
            if not scouts or scouts[-1]["seat"] != self.seat or scouts[-1]["id"] in self.moved_ids:
                continue
            for x, y in _ALL_DIRECTIONS:
                there = (here[0] + x, here[1] + y)
                if (
                    there in self.board
                    and not self.has_rock(there)
                    and len(self.board[there]) <= int(self.stacking)
                ):
                    moves.add(f"{square_name(here)}-{square_name(there)}")
            if len(scouts) == 1:
                moves |= {
                    "^".join(map(square_name, chain))
                    for chain in self.jump_chains([here], bool(scouts[0]["intel"]))
                }
        return moves

    def jump_chains(self, path: list[Place], has_intel: bool) -> list[list[Place]]:
        """Return all ways to go on jumping after a path, by one jump or more.

        A jump goes over exactly one scout to an empty square. The jumping scout has left `path[0]`,
        so nobody is there to jump over.
        """
        paths = []
        for x, y in _STRAIGHT_DIRECTIONS:
            over = (path[-1][0] + x, path[-1][1] + y)
            there = (path[-1][0] + 2 * x, path[-1][1] + 2 * y)
            if (
                there not in self.board
                or there in path
                or self.board[there]
                or self.has_rock(there)
            ):
                continue
            if over == path[0] or len(self.board[over]) != 1:
                continue
            paths.append([*path, there])
            ends = there[1] == self.rank_that_ends(has_intel)
            paths += [] if ends else self.jump_chains([*path, there], has_intel)
        return paths

    # The rank on which a move ends: the far one, or with intel the home rank.
    def rank_that_ends(self, has_intel: bool) -> int:
        return 9 if (self.seat == 0) != has_intel else 0

    def legal_rocks(self) -> set[str]:
        rocks = set()
        for x, y in self.board:
            shapes = {
                f"B@{square_name((x, y))}": [(x, y), (x + 1, y), (x, y + 1), (x + 1, y + 1)],
                f"R@{square_name((x, y))}-{square_name((min(x + 1, 7), y))}": [(x, y), (x + 1, y)],
                f"R@{square_name((x, y))}-{square_name((x, min(y + 1, 9)))}": [(x, y), (x, y + 1)],
            }
            rocks |= {text for text, covered in shapes.items() if self.may_cover(text[0], covered)}
        return rocks

    def may_cover(self, letter: str, covered: list[Place]) -> bool:
        """Return whether the seat on turn still has this rock, and it fits on these squares.

        They must be free, and no rock may lie on a square beside them.
        """
        if (self.seat, letter) in self.rocks:
            return False
        for place in covered:
            if place not in self.board or self.board[place] or self.has_rock(place):
                return False
            if any(self.has_rock((place[0] + x, place[1] + y)) for x, y in _STRAIGHT_DIRECTIONS):
                return False
        return True

    def do(self, text: str) -> None:
        """Carry out a legal action."""
        if text == ".":
            self.seat = 1 - self.seat
            self.moves_left = 2
            self.moved_ids = []
        elif text[0] == "@":
            self.board[parse_place(text[1:])].append(
                {"seat": self.seat, "id": self.placed, "intel": False}
            )
            self.placed += 1
            self.seat = self.placed % 2
            self.moves_left = int(self.placed == 10)
        elif text[0] in "BR":
            first, _, second = text[2:].partition("-")
            x, y = parse_place(first)
            boulder = [(x, y), (x + 1, y), (x, y + 1), (x + 1, y + 1)]
            self.rocks[self.seat, text[0]] = (
                [parse_place(first), parse_place(second)] if second else boulder
            )
        else:
            names = text.replace("^", "-").split("-")
            self.move(parse_place(names[0]), parse_place(names[-1]))

    def move(self, here: Place, there: Place) -> None:
        """Move the scout on top of a square. It may get intel on the far rank, or bring it home."""
        scout = self.board[here].pop()
        self.board[there].append(scout)
        self.moved_ids.append(int(str(scout["id"])))
        self.moves_left -= 1
        if scout["intel"] and there[1] == self.rank_that_ends(has_intel=True):
            self.winner = self.seat
        if there[1] == self.rank_that_ends(has_intel=False):
            scout["intel"] = True

    def layout(self) -> dict[str, list[str]]:
        """Return the faces on each square, from the bottom to the top."""
        faces = {}
        for place, scouts in self.board.items():
            if scouts:
                faces[square_name(place)] = [
                    f"{'black' if scout['seat'] else 'white'} "
                    f"scout{' with intel' if scout['intel'] else ''}"
                    for scout in scouts
                ]
        for (seat, letter), covered in self.rocks.items():
            face = f"{'black' if seat else 'white'} {'boulder' if letter == 'B' else 'rock'}"
            faces |= {square_name(place): [face] for place in covered}
        return faces
