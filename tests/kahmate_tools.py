"""Helpers: states of Kahmate made by hand, and a second, slow implementation of its rules.

Kahmate is played with five kinds of pieces on 8 files and 11 ranks. South is blue and runs up to
rank 11, North is pink and runs down to rank 1. The notation of actions:

- `R@c2 … S@d1` places a side's pieces: two regular ones (R), then big, tough, fast and smart.
- `c2-c3-d3` is a run step by step. With `-goal` at its end, it leads over the edge of the board.
- `c4*d3` is a pass of the ball, `c4!e6` a kick.
- `c4-c5xc6` is a tackle: a walk next to the carrier, and the carrier's square. With the walk of a
  second piece it is `c4-c5&d4-d5xc6`.
- `3` plays a card in a face-off, and `.` ends the turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from companion.core.errors import Illegal
from companion.core.grid import Square
from companion.core.kit import SEATS, Seat
from companion.games.base import Step
from companion.games.kahmate import Kahmate
from companion.games.kahmate.board import ROLES, SQUARE_NUMBERS
from companion.games.kahmate.legal import Reason
from companion.games.kahmate.state import FULL_HAND, State

GAME = Kahmate()
SOUTH, NORTH = SEATS
# Squares near the home ranks for pieces that a test does not name, South's first.
_PARKED = (
    ("a1", "b1", "c1", "d1", "e1", "f1", "g1", "h1", "a2", "h2"),
    ("a11", "b11", "c11", "d11", "e11", "f11", "g11", "h11", "a10", "h10"),
)


def make_state(
    blue: str,
    pink: str,
    ball: str,
    seat: Seat = SOUTH,
    down: str = "",
    moved_pieces: str = "",
    cards: tuple[tuple[int, ...], tuple[int, ...]] = (FULL_HAND, FULL_HAND),
) -> State:
    """Make a state from pieces such as `B@b4 R@c4` and the ball's square.

    `seat` is on turn. Pieces that are not named are parked near their home ranks. `down` are the
    squares of turned-over pieces, each with the number of its owner's turns for which it still
    lies, such as `e6=1 b4=2`. `moved_pieces` are the squares of pieces that have run or tackled in
    this turn. `cards` are the hands for face-offs, South's first.
    """
    places = [*_team(blue, _PARKED[0], ball), *_team(pink, _PARKED[1], ball)]
    number = {square: piece for piece, square in enumerate(places)}
    lying = [0] * len(places)
    for entry in down.split():
        square, _, turns = entry.partition("=")
        lying[number[square]] = int(turns or 1)
    return State(
        GAME.options({}),
        tuple(SQUARE_NUMBERS[square] for square in places),
        tuple(lying),
        SQUARE_NUMBERS[ball],
        SEATS.index(seat),
        tuple(number[square] for square in moved_pieces.split()),
        cards,
    )


def _team(text: str, parked: tuple[str, ...], ball: str) -> list[str]:
    """Return the squares of a team in the order of its pieces: R R B T F S.

    Pieces that `text` does not name get the first free squares of `parked`.
    """
    named: dict[str, list[str]] = {}
    for entry in text.split():
        letter, _, square = entry.partition("@")
        named.setdefault(letter, []).append(square)
    taken = {square for squares in named.values() for square in squares}
    free = (square for square in parked if square not in taken | {ball})
    team = [named[role.letter].pop(0) if named.get(role.letter) else next(free) for role in ROLES]
    assert not any(named.values()), f"too many pieces in {text}"
    return team


def carry_out(state: State, *texts: str) -> Step[State]:
    """Carry out legal actions of the seat on turn, and return the last step.

    The cards that both seats play in a face-off are one text such as `3/1`, South's first.
    """
    step: Step[State] = Step(state, ())
    for text in texts:
        if "/" in text:
            south, north = text.split("/")
            actions = {SOUTH: GAME.parse(south), NORTH: GAME.parse(north)}
        else:
            (seat,) = GAME.to_act(step.state)
            actions = {seat: GAME.parse(text)}
        GAME.require(step.state, actions)
        step = GAME.apply(step.state, actions, Random(0))
    return step


def faces_on(state: State, square: str) -> tuple[str, ...]:
    """Return the faces on a square, from bottom to top."""
    layout = GAME.expected(state)
    assert layout is not None
    return layout.get(Square.parse(square), ())


def set_up_state(**options: object) -> State:
    """Return the state after a fixed set-up. Blue begins, and the ball lies on d6."""
    state = GAME.setup(GAME.options({"ball_card": 3, "starter": "south", **options}), Random(0))
    south = GAME.parse("R@c2 R@f2 B@d2 T@e2 F@a2 S@d1")
    north = GAME.parse("R@f10 R@c10 B@e10 T@d10 F@h10 S@e11")
    return GAME.apply(state, {SOUTH: south, NORTH: north}, Random(0)).state


def with_hands(state: State, south: tuple[int, ...], north: tuple[int, ...]) -> State:
    """Return the state with other cards for face-offs in both hands."""
    return replace(state, cards=(south, north))


def refusal(state: State, text: str) -> Reason:
    """Return the reason why the rules refuse an action of the seat on turn."""
    (seat,) = GAME.to_act(state)
    with pytest.raises(Illegal) as refused:
        GAME.check(state, seat, GAME.parse(text))
    assert isinstance(refused.value.reason, Reason)
    return refused.value.reason


def is_legal(state: State, text: str) -> bool:
    (seat,) = GAME.to_act(state)
    try:
        GAME.check(state, seat, GAME.parse(text))
    except Illegal:
        return False
    return True


def ball(state: State) -> tuple[str, Seat | None]:
    """Return the ball's square, and the seat of its carrier, or None if nobody carries it."""
    dumped = GAME.dump(state)["ball"]
    return dumped["square"], dumped["seat"]


def down(state: State) -> dict[str, int]:
    """Return the square of each turned-over piece, and for how many turns it still lies."""
    return {
        piece["square"]: piece["rounds_down"]
        for piece in GAME.dump(state)["pieces"]
        if piece["rounds_down"]
    }


# ---- slow rules ----------------------------------------------------------------------------------

# They are written after the sentences of the rulings, and know only what everybody sees of a state.
# They try all walks, so they need no clever code, in which they could share a fault with the game.

# Maximum number of steps of a run, by the letter of the role.
SPEEDS = {"R": 3, "B": 2, "T": 3, "F": 4, "S": 3}


class SlowKahmate:
    """The legal actions of a turn, found by trying every walk on the board of a dump.

    A dump is what everybody sees of a state, as JSON. Squares are (file, rank), both from 1, and
    `ahead` is the step in ranks towards the goal.
    """

    def __init__(self, dump: dict[str, Any]) -> None:
        self.seat = dump["seat"]
        self.ahead = 1 if self.seat == "south" else -1
        self.pieces = {_parse_square(piece["square"]): piece for piece in dump["pieces"]}
        self.ball = _parse_square(dump["ball"]["square"])
        self.ball_seat = dump["ball"]["seat"]
        self.moved_pieces = {_parse_square(square) for square in dump["ran"]}
        self.runs_left = dump["runs_left"]

    def legal_texts(self) -> set[str]:
        """Return the notation of every legal action."""
        return {".", *self.runs(), *self.passes(), *self.kicks(), *self.tackles()}

    def runners(self) -> list[tuple[int, int]]:
        """Return the squares of the pieces that may still run or tackle."""
        if not self.runs_left:
            return []
        return [
            square
            for square, piece in self.pieces.items()
            if piece["seat"] == self.seat
            and not piece["rounds_down"]
            and square not in self.moved_pieces
        ]

    def has_opponent(self, square: tuple[int, int]) -> bool:
        """Return whether a standing piece of the other side is on a square."""
        piece = self.pieces.get(square)
        return piece is not None and piece["seat"] != self.seat and not piece["rounds_down"]

    def walks(self, start: tuple[int, int], steps: int) -> Iterator[list[tuple[int, int]]]:
        """Yield every walk of exactly so many steps on the board, also through pieces."""
        if steps == 0:
            yield [start]
            return
        for walk in self.walks(start, steps - 1):
            file, rank = walk[-1]
            for square in ((file + 1, rank), (file - 1, rank), (file, rank + 1), (file, rank - 1)):
                if 1 <= square[0] <= 8 and 1 <= square[1] <= 11:
                    yield [*walk, square]

    def runs(self) -> Iterator[str]:
        # A run leads through pieces, but not through the ball's carrier of the other side. It ends
        # on a free square, or where it began, or in the goal if the runner has the ball by then.
        goal_rank = 11 if self.seat == "south" else 1
        for start in self.runners():
            speed = SPEEDS[self.pieces[start]["role"]]
            for steps in range(speed + 1):
                for walk in self.walks(start, steps):
                    if any(
                        self.has_opponent(square) and square == self.ball for square in walk[1:]
                    ):
                        continue
                    if steps and (walk[-1] == start or walk[-1] not in self.pieces):
                        yield _text(walk)
                    teammate_has_ball = self.ball_seat == self.seat and start != self.ball
                    if (
                        walk[-1][1] == goal_rank
                        and steps < speed
                        and self.ball in walk
                        and not teammate_has_ball
                    ):
                        yield _text(walk) + "-goal"

    def after_run(self, text: str, wins: Iterator[bool]) -> dict[str, Any]:
        """Return where a run leaves the runner and the ball, and which squares have a piece down.

        The runner has a face-off on each square with a standing opponent, and `wins` yields for
        each whether the runner wins it. A winner goes on. A loser stops on the last free square
        before the face-off, and a ball that it carries falls to the square behind it.
        """
        walk = [_parse_square(name) for name in text.removesuffix("-goal").split("-")]
        start = walk[0]
        others = {square: piece for square, piece in self.pieces.items() if square != start}
        has_ball = self.ball == start
        ball = self.ball
        lying = []
        for place, square in enumerate(walk[1:], start=1):
            has_face_off = self.has_opponent(square) and square not in lying
            if has_face_off and not next(wins):
                stop = [earlier for earlier in walk[:place] if earlier not in others][-1]
                if has_ball:
                    ball = (stop[0], min(11, max(1, stop[1] - self.ahead)))
                return {
                    "runner": _name(stop),
                    "ball": _name(ball),
                    "down": {*map(_name, lying), _name(stop)},
                }
            if has_face_off:
                lying.append(square)
            if square == self.ball and self.ball_seat is None:
                has_ball = True
        end = "goal" if text.endswith("-goal") else _name(walk[-1])
        return {
            "runner": end,
            "ball": end if has_ball else _name(ball),
            "down": set(map(_name, lying)),
        }

    def passes(self) -> Iterator[str]:
        # to a standing team-mate one or two ranks behind, at most two files aside
        if self.ball_seat != self.seat:
            return
        for square, piece in self.pieces.items():
            behind = (self.ball[1] - square[1]) * self.ahead
            aside = abs(square[0] - self.ball[0])
            if (
                piece["seat"] == self.seat
                and not piece["rounds_down"]
                and behind in (1, 2)
                and aside <= 2
            ):
                yield f"{_name(self.ball)}*{_name(square)}"

    def kicks(self) -> Iterator[str]:
        # Only a carrier with no team-mate ahead may kick: one to three ranks ahead, at most three
        # files aside.
        if self.ball_seat != self.seat:
            return
        for square, piece in self.pieces.items():
            if piece["seat"] == self.seat and (square[1] - self.ball[1]) * self.ahead > 0:
                return
        for file in range(1, 9):
            for rank in range(1, 12):
                ahead = (rank - self.ball[1]) * self.ahead
                aside = abs(file - self.ball[0])
                if ahead in (1, 2, 3) and aside <= 3:
                    yield f"{_name(self.ball)}!{_name((file, rank))}"

    def approaches(self, start: tuple[int, int]) -> list[str]:
        """Return the walks of a piece to the ball, without their last step."""
        walks = []
        for steps in range(1, SPEEDS[self.pieces[start]["role"]] + 1):
            for walk in self.walks(start, steps):
                if walk[-1] == self.ball and not any(map(self.has_opponent, walk[:-1])):
                    walks.append(_text(walk[:-1]))
        return walks

    def tackles(self) -> Iterator[str]:
        # by one piece that can walk to the carrier, or by two if no piece has run in this turn
        if self.ball_seat in (self.seat, None):
            return
        approaches = {start: self.approaches(start) for start in self.runners()}
        ball = _name(self.ball)
        for first, first_walks in approaches.items():
            for walk in first_walks:
                yield f"{walk}x{ball}"
                for second, second_walks in approaches.items():
                    if second != first and self.runs_left == 2:
                        yield from (f"{walk}&{support}x{ball}" for support in second_walks)


def _parse_square(name: str) -> tuple[int, int]:
    return "abcdefgh".index(name[0]) + 1, int(name[1:])


def _name(square: tuple[int, int]) -> str:
    return _text([square])


def _text(walk: list[tuple[int, int]]) -> str:
    return "-".join(f"{'abcdefgh'[file - 1]}{rank}" for file, rank in walk)
