"""Positions of Scouts built by hand, and a second, slow implementation of its rules."""

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
# Ten placements: white and black on the files b to f.
SET_UP = tuple(f"@{file}{rank}" for file in "bcdef" for rank in (1, 10))


def start(**options: object) -> State:
    return GAME.setup(GAME.options(options), RNG)


def do(state: State, text: str) -> Step[State]:
    """Carry out a legal decision of the seat on turn."""
    seat = state.seat
    action = GAME.parse(text)
    GAME.require(state, {seat: action})
    return GAME.apply(state, {seat: action}, RNG)


def after(state: State, *texts: str) -> State:
    for text in texts:
        state = do(state, text).state
    return state


def mask(names: str) -> int:
    return sum(1 << SQUARE_NUMBERS[name] for name in names.split())


def at(
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
    """Make a state in play from the squares of upper and lower scouts, of intel, and of rocks by
    face.
    """
    read = GAME.options(options)
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
        may_stack=read.stacking == "on",
    )
    return State(read, position, turn)


def legal(state: State) -> set[str]:
    actions = list(map(str, GAME.legal_actions(state, state.seat)))
    assert len(actions) == len(set(actions)), "no action is listed twice"
    return set(actions)


def tops(state: State) -> dict[Square, str]:
    return {square: faces[-1] for square, faces in (GAME.expected(state)).items()}


def by_hand(state: State, changes: Mapping[str, str | None]) -> dict[Square, str]:
    """Return what is seen after hands have changed the top of some squares. None: the square is
    empty.
    """
    faces = tops(state)
    for name, face in changes.items():
        faces.pop(Square.parse(name), None)
        if face is not None:
            faces[Square.parse(name)] = face
    return faces


@dataclass(frozen=True)
class Example:
    """An action that the rules refuse."""

    state: State
    tried: str | Mapping[str, str | None]
    """The action in notation, or the faces that hands have changed by square."""
    message: str
    """The sentence of the refusal."""
    rule: str
    """The id of the rule against it."""
    square: str | None = None
    """The square that the refusal points at."""

    def refused(self) -> Illegal:
        seat = self.state.seat
        if isinstance(self.tried, str):
            with pytest.raises(Illegal) as caught:
                GAME.check(self.state, seat, GAME.parse(self.tried))
            return caught.value
        refusal = GAME.why_not(self.state, seat, by_hand(self.state, self.tried))
        assert refusal is not None
        return refusal


def moved_by_hand(origin: str, target: str, face: str = "white scout") -> dict[str, str | None]:
    return {origin: None, target: face}


# ---- the rules once more -------------------------------------------------------------------------

Place = tuple[int, int]
_EIGHT = [(x, y) for x in (-1, 0, 1) for y in (-1, 0, 1) if (x, y) != (0, 0)]
_FOUR = [(0, 1), (1, 0), (0, -1), (-1, 0)]


def named(place: Place) -> str:
    return f"{'abcdefgh'[place[0]]}{place[1] + 1}"


def placed_at(name: str) -> Place:
    return "abcdefgh".index(name[0]), int(name[1:]) - 1


class SlowScouts:
    """The rules once more, from the sentences of the rulings, with a list of scouts per square."""

    def __init__(self, stacking: bool = True) -> None:
        self.stacking = stacking
        self.board: dict[Place, list[dict[str, object]]] = {
            (x, y): [] for x in range(8) for y in range(10)
        }
        self.rocks: dict[tuple[int, str], list[Place]] = {}
        self.seat = 0
        self.placed = 0
        self.plays_left = 0
        self.played: list[int] = []
        self.winner: int | None = None

    def stone(self, place: Place) -> bool:
        return any(place in covered for covered in self.rocks.values())

    def legal(self) -> set[str]:
        if self.winner is not None:
            return set()
        if self.placed < 10:
            rank = 9 if self.seat else 0
            return {f"@{named((x, rank))}" for x in range(8) if not self.board[x, rank]}
        plays = self.all_plays() if self.plays_left else set()
        return plays | self.all_rocks() | (set() if plays else {"."})

    def all_plays(self) -> set[str]:
        plays = set()
        for here, scouts in self.board.items():
            if not scouts or scouts[-1]["seat"] != self.seat or scouts[-1]["id"] in self.played:
                continue
            for x, y in _EIGHT:
                there = (here[0] + x, here[1] + y)
                if (
                    there in self.board
                    and not self.stone(there)
                    and len(self.board[there]) <= int(self.stacking)
                ):
                    plays.add(f"{named(here)}-{named(there)}")
            if len(scouts) == 1:
                plays |= {
                    "^".join(map(named, chain))
                    for chain in self.chains([here], bool(scouts[0]["intel"]))
                }
        return plays

    def chains(self, path: list[Place], has_intel: bool) -> list[list[Place]]:
        paths = []
        for x, y in _FOUR:
            over, there = (
                (path[-1][0] + x, path[-1][1] + y),
                (path[-1][0] + 2 * x, path[-1][1] + 2 * y),
            )
            if there not in self.board or there in path or self.board[there] or self.stone(there):
                continue
            if over == path[0] or len(self.board[over]) != 1:
                continue
            paths.append([*path, there])
            ends = there[1] == self.rank_that_ends(has_intel)
            paths += [] if ends else self.chains([*path, there], has_intel)
        return paths

    def rank_that_ends(self, has_intel: bool) -> int:
        return 9 if (self.seat == 0) != has_intel else 0

    def all_rocks(self) -> set[str]:
        rocks = set()
        for x, y in self.board:
            shapes = {
                f"B@{named((x, y))}": [(x, y), (x + 1, y), (x, y + 1), (x + 1, y + 1)],
                f"R@{named((x, y))}-{named((min(x + 1, 7), y))}": [(x, y), (x + 1, y)],
                f"R@{named((x, y))}-{named((x, min(y + 1, 9)))}": [(x, y), (x, y + 1)],
            }
            rocks |= {text for text, covered in shapes.items() if self.fits(text[0], covered)}
        return rocks

    def fits(self, letter: str, covered: list[Place]) -> bool:
        if (self.seat, letter) in self.rocks:
            return False
        for place in covered:
            if place not in self.board or self.board[place] or self.stone(place):
                return False
            if any(self.stone((place[0] + x, place[1] + y)) for x, y in _FOUR):
                return False
        return True

    def do(self, text: str) -> None:
        if text == ".":
            self.seat, self.plays_left, self.played = 1 - self.seat, 2, []
        elif text[0] == "@":
            self.board[placed_at(text[1:])].append(
                {"seat": self.seat, "id": self.placed, "intel": False}
            )
            self.placed += 1
            self.seat = self.placed % 2
            self.plays_left = int(self.placed == 10)
        elif text[0] in "BR":
            first, _, second = text[2:].partition("-")
            x, y = placed_at(first)
            boulder = [(x, y), (x + 1, y), (x, y + 1), (x + 1, y + 1)]
            self.rocks[self.seat, text[0]] = (
                [placed_at(first), placed_at(second)] if second else boulder
            )
        else:
            names = text.replace("^", "-").split("-")
            self.move(placed_at(names[0]), placed_at(names[-1]))

    def move(self, here: Place, there: Place) -> None:
        scout = self.board[here].pop()
        self.board[there].append(scout)
        self.played.append(int(str(scout["id"])))
        self.plays_left -= 1
        if there[1] == (0 if self.seat == 0 else 9) and scout["intel"]:
            self.winner = self.seat
        if there[1] == (9 if self.seat == 0 else 0):
            scout["intel"] = True

    def layout(self) -> dict[str, list[str]]:
        faces = {}
        for place, scouts in self.board.items():
            if scouts:
                faces[named(place)] = [
                    f"{'black' if scout['seat'] else 'white'} "
                    f"scout{' with intel' if scout['intel'] else ''}"
                    for scout in scouts
                ]
        for (seat, letter), covered in self.rocks.items():
            face = f"{'black' if seat else 'white'} {'boulder' if letter == 'B' else 'rock'}"
            faces |= {named(place): [face] for place in covered}
        return faces
