"""Positions of Kahmate written by hand, and a second, slow implementation of its legal actions."""

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
_PARKED = (
    ("a1", "b1", "c1", "d1", "e1", "f1", "g1", "h1", "a2", "h2"),
    ("a11", "b11", "c11", "d11", "e11", "f11", "g11", "h11", "a10", "h10"),
)


def at(
    blue: str,
    pink: str,
    ball: str,
    seat: Seat = SOUTH,
    down: str = "",
    moved_pieces: str = "",
    cards: tuple[tuple[int, ...], tuple[int, ...]] = (FULL_HAND, FULL_HAND),
) -> State:
    """Make a position: pieces such as `B@b4 R@c4` (others are parked on their own line), the ball's
    square.

    `down` names squares of turned-over pieces with the rounds of their owner that they still lie:
    `e6=1 b4=2`.
    """
    places = [*_team(blue, _PARKED[0], ball), *_team(pink, _PARKED[1], ball)]
    number = {square: piece for piece, square in enumerate(places)}
    lying = [0] * len(places)
    for entry in down.split():
        square, _, rounds = entry.partition("=")
        lying[number[square]] = int(rounds or 1)
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
    """Return the squares of a team in the order R R B T F S."""
    named: dict[str, list[str]] = {}
    for entry in text.split():
        letter, _, square = entry.partition("@")
        named.setdefault(letter, []).append(square)
    taken = {square for squares in named.values() for square in squares}
    free = (square for square in parked if square not in taken | {ball})
    team = [named[role.letter].pop(0) if named.get(role.letter) else next(free) for role in ROLES]
    assert not any(named.values()), f"too many pieces in {text}"
    return team


def do(state: State, *texts: str) -> Step[State]:
    """Carry out actions of whoever is on turn. Two cards at once are `3/1`, South's first."""
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


def event_texts(step: Step[State]) -> list[str]:
    """Return the sentences of a step."""
    return [event.text for event in step.events]


def faces_on(state: State, square: str) -> tuple[str, ...]:
    """Return what lies on a square, from bottom to top."""
    layout = GAME.expected(state)
    assert layout is not None
    return layout.get(Square.parse(square), ())


def set_up_state(**options: object) -> State:
    """Return a fixed set-up: blue begins, the ball lies on d6."""
    state = GAME.setup(GAME.options({"ball_card": 3, "starter": "south", **options}), Random(0))
    south, north = (
        GAME.parse("R@c2 R@f2 B@d2 T@e2 F@a2 S@d1"),
        GAME.parse("R@f10 R@c10 B@e10 T@d10 F@h10 S@e11"),
    )
    return GAME.apply(state, {SOUTH: south, NORTH: north}, Random(0)).state


def with_hands(state: State, south: tuple[int, ...], north: tuple[int, ...]) -> State:
    """Return the state with other cards."""
    return replace(state, cards=(south, north))


def refusal(state: State, text: str) -> Reason:
    """Return why the seat on turn may not do this."""
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
    """Return where the ball is, and whose carrier has it."""
    plain = GAME.dump(state)["ball"]
    return plain["square"], plain["seat"]


def down(state: State) -> dict[str, int]:
    """Return turned-over pieces by square, with the rounds of their owner that they still lie."""
    return {
        piece["square"]: piece["rounds_down"]
        for piece in GAME.dump(state)["pieces"]
        if piece["rounds_down"]
    }


def stage_titles(step: Step[State]) -> list[str]:
    """Return the titles of the stages."""
    return [stage.title for stage in step.stages]


# ---- the slow reading: from the public dump alone, by the sentences of the rulings ---------------

SPEEDS = {"R": 3, "B": 2, "T": 3, "F": 4, "S": 3}


class SlowRules:
    """The legal actions of a round, found by walking over the dump. Squares are (file, rank)."""

    def __init__(self, dump: dict[str, Any]) -> None:
        self.seat = dump["seat"]
        self.ahead = 1 if self.seat == "south" else -1
        self.pieces = {_pair(piece["square"]): piece for piece in dump["pieces"]}
        self.ball = _pair(dump["ball"]["square"])
        self.holder = dump["ball"]["seat"]
        self.moved_pieces = {_pair(square) for square in dump["ran"]}
        self.runs_left = dump["runs_left"]

    def texts(self) -> set[str]:
        return {".", *self.runs(), *self.passes(), *self.kicks(), *self.tackles()}

    def able(self) -> list[tuple[int, int]]:
        if not self.runs_left:
            return []
        return [
            square
            for square, piece in self.pieces.items()
            if piece["seat"] == self.seat
            and not piece["rounds_down"]
            and square not in self.moved_pieces
        ]

    def stands_against(self, square: tuple[int, int]) -> bool:
        piece = self.pieces.get(square)
        return piece is not None and piece["seat"] != self.seat and not piece["rounds_down"]

    def walks(self, start: tuple[int, int], steps: int) -> Iterator[list[tuple[int, int]]]:
        """Yield every walk of exactly that many steps on the board, whatever stands there."""
        if steps == 0:
            yield [start]
            return
        for walk in self.walks(start, steps - 1):
            file, rank = walk[-1]
            for square in ((file + 1, rank), (file - 1, rank), (file, rank + 1), (file, rank - 1)):
                if 1 <= square[0] <= 8 and 1 <= square[1] <= 11:
                    yield [*walk, square]

    def runs(self) -> Iterator[str]:
        far = 11 if self.seat == "south" else 1
        for start in self.able():
            speed = SPEEDS[self.pieces[start]["role"]]
            for steps in range(speed + 1):
                for walk in self.walks(start, steps):
                    if any(
                        self.stands_against(square) and square == self.ball for square in walk[1:]
                    ):
                        continue
                    if steps and (walk[-1] == start or walk[-1] not in self.pieces):
                        yield _text(walk)
                    mate_has_it = self.holder == self.seat and start != self.ball
                    if (
                        walk[-1][1] == far
                        and steps < speed
                        and self.ball in walk
                        and not mate_has_it
                    ):
                        yield _text(walk) + "-goal"

    def after_run(self, text: str, wins: Iterator[bool]) -> dict[str, Any]:
        """Return where runner and ball are after a run, and who is turned over. `wins`: who wins
        each face-off.
        """
        walk = [_pair(name) for name in text.removesuffix("-goal").split("-")]
        start = walk[0]
        seated = {square: piece for square, piece in self.pieces.items() if square != start}
        has_ball, ball, lying = self.ball == start, self.ball, []
        for place, square in enumerate(walk[1:], start=1):
            meets = self.stands_against(square) and square not in lying
            if meets and not next(wins):
                free = [each for each in walk[:place] if each not in seated]
                stop = free[-1]
                if has_ball:
                    ball = (stop[0], min(11, max(1, stop[1] - self.ahead)))
                return {
                    "runner": _text([stop]),
                    "ball": _text([ball]),
                    "down": {*map(_one, lying), _one(stop)},
                }
            if meets:
                lying.append(square)
            if square == self.ball and self.holder is None:
                has_ball = True
        end = "goal" if text.endswith("-goal") else _text([walk[-1]])
        return {
            "runner": end,
            "ball": end if has_ball else _text([ball]),
            "down": set(map(_one, lying)),
        }

    def passes(self) -> Iterator[str]:
        if self.holder != self.seat:
            return
        for square, piece in self.pieces.items():
            behind, aside = (self.ball[1] - square[1]) * self.ahead, abs(square[0] - self.ball[0])
            if (
                piece["seat"] == self.seat
                and not piece["rounds_down"]
                and behind in (1, 2)
                and aside <= 2
            ):
                yield f"{_text([self.ball])}*{_text([square])}"

    def kicks(self) -> Iterator[str]:
        if self.holder != self.seat:
            return
        for square, piece in self.pieces.items():
            if piece["seat"] == self.seat and (square[1] - self.ball[1]) * self.ahead > 0:
                return
        for file in range(1, 9):
            for rank in range(1, 12):
                if (rank - self.ball[1]) * self.ahead in (1, 2, 3) and abs(
                    file - self.ball[0]
                ) <= 3:
                    yield f"{_text([self.ball])}!{_text([(file, rank)])}"

    def ways(self, start: tuple[int, int]) -> list[str]:
        approaches = []
        for steps in range(1, SPEEDS[self.pieces[start]["role"]] + 1):
            for walk in self.walks(start, steps):
                if walk[-1] == self.ball and not any(map(self.stands_against, walk[:-1])):
                    approaches.append(_text(walk[:-1]))
        return approaches

    def tackles(self) -> Iterator[str]:
        if self.holder in (self.seat, None):
            return
        ways = {start: self.ways(start) for start in self.able()}
        for first, firsts in ways.items():
            for one in firsts:
                yield f"{one}x{_text([self.ball])}"
                for second, seconds in ways.items():
                    if second != first and self.runs_left == 2:
                        yield from (f"{one}&{two}x{_text([self.ball])}" for two in seconds)


def _pair(name: str) -> tuple[int, int]:
    return "abcdefgh".index(name[0]) + 1, int(name[1:])


def _one(square: tuple[int, int]) -> str:
    return _text([square])


def _text(walk: list[tuple[int, int]]) -> str:
    return "-".join(f"{'abcdefgh'[file - 1]}{rank}" for file, rank in walk)
