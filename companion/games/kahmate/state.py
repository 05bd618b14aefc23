"""Options, the position between two decisions, the course of an action, and the actions with
their notation.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from companion.core.errors import Malformed
from companion.core.grid import Square, numbers_in, parse_groups
from companion.core.i18n import Verbatim, say
from companion.core.kit import SEATS, Seat
from companion.games.base import Limit, Options, Outcome
from companion.games.kahmate.board import (
    AREA,
    BALL,
    DOWN_NAMES,
    FILES,
    IN_GOAL,
    NAMES,
    NUMBER_OF,
    NUMBERS,
    PIECE_NAMES,
    PIECES,
    RANKS,
    ROLE_OF,
    ROLES,
    SEAT_OF,
    SOUTH,
    SQUARES,
    TEAM,
)

EMPTY = -1
FULL_HAND = (1, 2, 3, 4, 5, 6)
RUNS = 2
"""Maximum number of pieces that run or tackle in a turn (rulebook, "move one or two players")."""


class KahmateOptions(Options, frozen=True):
    """The options of Kahmate. The ball's card and the first seat are drawn if they are not given.

    A limit of 0 means none. `round_limit` counts the turns of both sides, and `quiet_limit`
    consecutive turns without a face-off.
    """

    ball_card: Annotated[int, Meta(ge=1, le=6)] | None = None
    starter: Literal["south", "north"] | None = None
    round_limit: Limit = 0
    quiet_limit: Limit = 0
    start: str = ""
    """Starting position instead of placings: the squares of Blue's R R B T F S, of Pink's, and of
    the ball.
    """


class Kind(StrEnum):
    """Kind of action of a course."""

    RUN = "run"
    PASS = "pass"
    KICK = "kick"
    TACKLE = "tackle"


@dataclass(frozen=True)
class FaceOff:
    """One face-off of a course. `stop` and `ball` are the squares of attacker and ball if the
    attacker loses it.
    """

    defender: int
    stop: int
    ball: int


@dataclass(frozen=True)
class Course:
    """What an action leads to: its face-offs in order, and the squares of mover and ball if all
    are won.

    Two actions with the same course have the same consequences. For a tackle, `ball` is the square
    of the ball if the attack wins by 2 or less.
    """

    kind: Kind
    movers: tuple[int, ...]
    end: int
    ball: int
    face_offs: tuple[FaceOff, ...] = ()

    @property
    def mover(self) -> int:
        """Return the piece that runs, passes, kicks or leads the tackle."""
        return self.movers[0]


@dataclass(frozen=True)
class State:
    """A position between two decisions, without any secrets.

    `places` holds the squares of the pieces, and is empty during placings. `down` says for each
    piece for how many more turns of its owner it lies turned over, this one included, and is 0 for
    a standing piece. `ran` lists the pieces that have run or tackled in this turn, `cards` the
    cards that each seat still has. `course` is the action that waits for cards, and `won` counts
    the face-offs of it that the mover has won. Pairs are (South, North).
    """

    options: KahmateOptions
    places: tuple[int, ...] = ()
    down: tuple[int, ...] = (0,) * len(PIECES)
    ball: int = IN_GOAL
    seat: int = SOUTH
    ran: tuple[int, ...] = ()
    cards: tuple[tuple[int, ...], tuple[int, ...]] = (FULL_HAND, FULL_HAND)
    course: Course | None = None
    won: int = 0
    turn: int = 1
    outcome: Outcome | None = None
    last_face_off: int = 0
    """Number of the last turn with a face-off, or 0."""

    @cached_property
    def board(self) -> Sequence[int]:
        """Return the piece on each square, or EMPTY."""
        board = [EMPTY] * (AREA + 1)  # the last entry is IN_GOAL and is never read
        for piece, square in enumerate(self.places):
            board[square] = piece
        return board

    @cached_property
    def carrier(self) -> int:
        """Return the standing piece that has the ball, or EMPTY."""
        if self.ball == IN_GOAL:
            return EMPTY
        piece = self.board[self.ball]
        if piece == EMPTY or self.down[piece]:
            return EMPTY
        return piece

    @property
    def other_carrier(self) -> int:
        """Return the carrier of the seat that is not on turn, or EMPTY."""
        carrier = self.carrier
        if carrier != EMPTY and SEAT_OF[carrier] != self.seat:
            return carrier
        return EMPTY

    def stands_against(self, piece: int) -> bool:
        """Return whether a piece, or EMPTY, is a standing opponent of the seat on turn."""
        return piece != EMPTY and not self.down[piece] and SEAT_OF[piece] != self.seat

    @property
    def is_placing(self) -> bool:
        """Return whether the pieces are not placed yet."""
        return not self.places

    @property
    def quiet(self) -> int:
        """Return the number of consecutive finished turns without a face-off."""
        return max(0, self.turn - 1 - self.last_face_off)

    @property
    def runs_left(self) -> int:
        """Return the number of pieces that may still run or tackle in this turn."""
        return RUNS - len(self.ran)


def first_state(options: KahmateOptions) -> State:
    """Return the state before the pieces are placed, or the chosen start. Raises `Malformed`."""
    if not options.start:
        return State(options)
    *teams, ball = options.start.split("/")
    groups = parse_groups("/".join(teams), FILES, RANKS)
    kick_off = Square.parse(ball.strip())
    if [len(group) for group in groups] != [TEAM] * len(SEATS) or kick_off not in NUMBER_OF:
        raise Malformed(
            say("Write six squares for Blue, a slash, six for Pink, a slash, and the ball’s square")
        )
    places = tuple(NUMBER_OF[square] for group in groups for square in group)
    return State(
        options,
        places,
        ball=NUMBER_OF[kick_off],
        seat=SEATS.index(Seat(options.starter or Seat.SOUTH)),
    )


def layout_of(
    places: Sequence[int], down: Sequence[int], ball: int
) -> dict[Square, tuple[str, ...]]:
    """Return the layout, with the ball on top of a piece on the same square.

    Pieces and ball in goal are left out.
    """
    layout: dict[Square, tuple[str, ...]] = {
        SQUARES[square]: (DOWN_NAMES[piece] if down[piece] else PIECE_NAMES[piece],)
        for piece, square in enumerate(places)
        if square != IN_GOAL
    }
    if ball != IN_GOAL:
        square = SQUARES[ball]
        layout[square] = (*layout.get(square, ()), BALL)
    return layout


def lead(state: State) -> float:
    """Return how many ranks the ball is beyond the middle of the pitch, as South plays.

    0 before the pieces are placed.
    """
    if state.is_placing:
        return 0.0
    middle = (RANKS - 1) / 2
    if state.ball != IN_GOAL:
        return state.ball // FILES - middle
    # The goal is one rank beyond the goal line.
    beyond = middle + 1
    return beyond if state.seat == SOUTH else -beyond  # the scorer is still on turn


def details(state: State) -> dict[str, Any]:
    """Return the part of a view that only Kahmate has, as plain JSON. All of it is public."""
    phase = "round"
    if state.outcome:
        phase = "over"
    elif state.is_placing:
        phase = "placing"
    elif state.course:
        phase = "face-off"
    return {
        "phase": phase,
        "turn": state.turn,
        "quiet": state.quiet,
        "seat": None if state.is_placing else SEATS[state.seat],
        "pieces": [
            {
                "seat": SEATS[SEAT_OF[piece]],
                "role": ROLE_OF[piece].letter,
                "square": "goal" if square == IN_GOAL else NAMES[square],
                "rounds_down": state.down[piece],
            }
            for piece, square in enumerate(state.places)
        ],
        "ball": _plain_ball(state),
        "ran": [
            NAMES[state.places[piece]] for piece in state.ran if state.places[piece] != IN_GOAL
        ],
        "runs_left": state.runs_left,
        "cards": {seat: list(hand) for seat, hand in zip(SEATS, state.cards, strict=True)},
        "face_off": _plain_face_off(state),
    }


def _plain_ball(state: State) -> dict[str, Any] | None:
    """Return the square and the owner of the ball, or None before its card is drawn."""
    if state.is_placing:
        return None
    if state.ball == IN_GOAL:
        return {"square": "goal", "seat": SEATS[state.seat]}
    seat = None if state.carrier == EMPTY else SEATS[SEAT_OF[state.carrier]]
    return {"square": NAMES[state.ball], "seat": seat}


def _plain_face_off(state: State) -> dict[str, Any] | None:
    """Return the present face-off: its kind, attacker and defender, and the number already won."""
    course = state.course
    if course is None:
        return None
    face_off = course.face_offs[state.won]
    return {
        "kind": course.kind,
        "attackers": [NAMES[state.places[piece]] for piece in course.movers],
        "defender": NAMES[state.places[face_off.defender]],
        "won": state.won,
        "of": len(course.face_offs),
    }


# ---- actions and their notation ------------------------------------------------------------------


Path = tuple[int, ...]
"""Squares of a path from the piece's own square on, one step apart."""


class Placement(msgspec.Struct, frozen=True):
    """Squares for the six pieces of a seat, in the order R R B T F S."""

    squares: Path

    def __str__(self) -> str:
        return " ".join(
            f"{role.letter}@{NAMES[at]}" for role, at in zip(ROLES, self.squares, strict=True)
        )


class Run(msgspec.Struct, frozen=True):
    """A run along `path`, which includes its start. `into_goal` adds a step over the far end."""

    path: Path
    into_goal: bool = False

    def __str__(self) -> str:
        return path_text(self.path) + ("-goal" if self.into_goal else "")


class Pass(msgspec.Struct, frozen=True):
    """A pass from the carrier to a team-mate."""

    start: int
    end: int

    def __str__(self) -> str:
        return f"{NAMES[self.start]}*{NAMES[self.end]}"


class Kick(msgspec.Struct, frozen=True):
    """A kick of the ball ahead."""

    start: int
    end: int

    def __str__(self) -> str:
        return f"{NAMES[self.start]}!{NAMES[self.end]}"


class Tackle(msgspec.Struct, frozen=True):
    """A tackle on `target` by one or two pieces. Each path ends next to the target."""

    paths: tuple[Path, ...]
    target: int

    def __str__(self) -> str:
        return f"{'&'.join(map(path_text, self.paths))}x{NAMES[self.target]}"


class EndTurn(msgspec.Struct, frozen=True):
    """The end of a turn."""

    def __str__(self) -> str:
        return "."


class Card(msgspec.Struct, frozen=True):
    """A card for a face-off."""

    value: int

    def __str__(self) -> str:
        return str(self.value)


BallPlay = Run | Pass | Kick | Tackle
"""An action that has a course."""
Action = Placement | BallPlay | EndTurn | Card

_SQUARE = "[a-z][1-9][0-9]*"
_PATH = f"{_SQUARE}(?:-{_SQUARE})*"
_FORMS = {
    Run: f"{_SQUARE}(?:(?:-{_SQUARE})+(?:-goal)?|-goal)",
    Pass: rf"{_SQUARE}\*{_SQUARE}",
    Kick: f"{_SQUARE}!{_SQUARE}",
    Tackle: f"{_PATH}(?:&{_PATH})?x{_SQUARE}",
    EndTurn: r"\.",
    Card: "[1-6]",
    Placement: " ".join(f"{role.letter}@{_SQUARE}" for role in ROLES),
}


def path_text(path: Path) -> str:
    """Return the notation of a path.

    >>> path_text((9, 17, 18))
    'b2-b3-c3'
    """
    return "-".join([NAMES[square] for square in path])


def parse(text: str) -> Action:
    """Parse an action from its notation. Raises `Malformed`.

    >>> str(parse("b4-b5&c7-c6xb6"))
    'b4-b5&c7-c6xb6'
    """
    kind = next((kind for kind, form in _FORMS.items() if re.fullmatch(form, text)), None)
    if kind is None:
        expected = say(
            "“{text}” is not an action: expected a run b2-b3-c3 (into goal b11-goal), a pass "
            "b5*c4, a kick b5!c8, a tackle b4-b5xb6 or b4-b5&c7-c6xb6, a card 1 to 6, . for the "
            "end of the turn, or a set-up R@b1 R@d1 B@c2 T@e2 F@g1 S@d2",
            text=Verbatim(text if len(text) <= 60 else f"{text[:60]}…"),
        )
        raise Malformed(expected)
    squares = numbers_in(text, NUMBERS, RANKS)
    if kind is Run:
        return Run(squares, text.endswith("-goal"))
    if kind is Tackle:
        paths = text.partition("x")[0].split("&")
        return Tackle(tuple(numbers_in(path, NUMBERS, RANKS) for path in paths), squares[-1])
    if kind is Pass or kind is Kick:
        return kind(*squares)
    if kind is EndTurn:
        return EndTurn()
    if kind is Card:
        return Card(int(text))
    return Placement(squares)
