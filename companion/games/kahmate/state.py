"""Options of Kahmate, the position between two decisions, and the plan of an action.

A piece that meets an opponent has a face-off with it: both sides add a secret card to the strength
of their piece, and the higher total wins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Any, Literal

from msgspec import Meta

from companion.core.errors import Malformed
from companion.core.grid import Square, parse_square_groups
from companion.core.i18n import say
from companion.core.kit import SEATS, Seat
from companion.games.base import Limit, Options, Outcome
from companion.games.kahmate.board import (
    BALL_FACE,
    DOWN_FACES,
    FILES,
    IN_GOAL,
    NUMBER_OF,
    PIECE_NAMES,
    PIECES,
    RANKS,
    ROLE_OF,
    SEAT_OF,
    SOUTH,
    SQUARE_COUNT,
    SQUARE_NAMES,
    SQUARES,
    TEAM_SIZE,
    rank_of,
)

# Stands for a piece where there is none, such as on an empty square.
NO_PIECE = -1
# Strength cards of each seat at the start, and again when all of them are spent.
FULL_HAND = (1, 2, 3, 4, 5, 6)
# Maximum number of pieces that run or tackle in a turn (rulebook, "move one or two players").
RUNS_PER_TURN = 2


class KahmateOptions(Options, frozen=True):
    """The options of Kahmate. At a limit the game is a draw."""

    ball_card: Annotated[int, Meta(ge=1, le=6)] | None = None
    """Card that decides the first square of the ball. If it is None, the card is drawn."""
    starter: Literal["south", "north"] | None = None
    """Seat that begins. If it is None, the seat is drawn."""
    round_limit: Limit = 0
    """Maximum number of turns of both sides together. 0 for none."""
    quiet_limit: Limit = 0
    """Maximum number of turns in a row without a face-off. 0 for none."""
    start: str = ""
    """Starting position instead of placings, or empty.

    The squares of Blue's pieces in the order R R B T F S, a slash, the squares of Pink's pieces, a
    slash, and the square of the ball. `ball_card` then has no effect, and South begins unless
    `starter` names North.
    """


class ActionKind(StrEnum):
    """Kind of an action that has a plan."""

    RUN = "run"
    PASS = "pass"
    KICK = "kick"
    TACKLE = "tackle"


@dataclass(frozen=True)
class FaceOff:
    """One face-off of a plan: the defending piece, and the result if the attacker loses."""

    defender: int
    """Number of the defending piece."""
    stop_if_lost: int
    """Square on which the attacking piece stops if it loses."""
    ball_if_lost: int
    """Square on which the ball ends if the attacker loses."""


@dataclass(frozen=True)
class ActionPlan:
    """The consequences of an action: its face-offs in order, and the result if all are won.

    Actions with equal plans have the same consequences, whatever path their pieces take.
    """

    kind: ActionKind
    movers: tuple[int, ...]
    """Numbers of the piece that acts, or of both pieces of a tackle by two."""
    end: int
    """Square on which the first mover ends."""
    ball: int
    """Square of the ball at the end. For a tackle, its square if the attack wins by 2 or less."""
    face_offs: tuple[FaceOff, ...] = ()

    @property
    def mover(self) -> int:
        """The piece that runs, passes, kicks or leads the tackle."""
        return self.movers[0]

    @property
    def ends_in_goal(self) -> bool:
        """Whether the mover carries the ball into goal, which only a run does."""
        return self.end == IN_GOAL


@dataclass(frozen=True)
class State:
    """A position between two decisions, without any secrets. Pairs are (South, North)."""

    options: KahmateOptions
    piece_squares: tuple[int, ...] = ()
    """Square of each piece, by its number. Empty before the pieces are placed."""
    turns_to_miss: tuple[int, ...] = (0,) * len(PIECES)
    """Number of turns of its owner, this one included, for which each piece still lies turned over.

    0 for a standing piece.
    """
    ball: int = IN_GOAL
    """Square of the ball."""
    seat: int = SOUTH
    """Seat on turn."""
    moved_pieces: tuple[int, ...] = ()
    """Pieces that have run or tackled in this turn."""
    cards: tuple[tuple[int, ...], tuple[int, ...]] = (FULL_HAND, FULL_HAND)
    """Cards that each seat still has."""
    pending_plan: ActionPlan | None = None
    """Plan of an action that waits for cards. None if no face-off is due."""
    face_offs_won: int = 0
    """Number of face-offs of the pending plan that the mover has already won."""
    turn: int = 1
    """Number of this turn, counted for both sides together."""
    outcome: Outcome | None = None
    last_face_off_turn: int = 0
    """Number of the last turn with a face-off, or 0."""

    @cached_property
    def board(self) -> Sequence[int]:
        """The piece on each square, or `NO_PIECE`."""
        # The last entry, at the index IN_GOAL, is never read.
        board = [NO_PIECE] * (SQUARE_COUNT + 1)
        for piece, square in enumerate(self.piece_squares):
            board[square] = piece
        return board

    @cached_property
    def carrier(self) -> int:
        """The standing piece that has the ball, or `NO_PIECE`."""
        if self.ball == IN_GOAL:
            return NO_PIECE
        piece = self.board[self.ball]
        if piece == NO_PIECE or self.turns_to_miss[piece]:
            return NO_PIECE
        return piece

    @property
    def loose_ball(self) -> int | None:
        """The square of the ball if no standing piece has it."""
        return self.ball if self.carrier == NO_PIECE else None

    @property
    def opposing_carrier(self) -> int:
        """The carrier of the seat that is not on turn, or `NO_PIECE`."""
        carrier = self.carrier
        if carrier != NO_PIECE and SEAT_OF[carrier] != self.seat:
            return carrier
        return NO_PIECE

    @property
    def opposing_ball(self) -> int | None:
        """The square of the ball if the carrier of the other seat has it.

        That piece is tackled and never run into (ruling).
        """
        return None if self.opposing_carrier == NO_PIECE else self.ball

    def is_standing_opponent(self, piece: int) -> bool:
        """Return whether a piece, or `NO_PIECE`, is a standing opponent of the seat on turn."""
        return piece != NO_PIECE and not self.turns_to_miss[piece] and SEAT_OF[piece] != self.seat

    @property
    def is_placing(self) -> bool:
        """Whether the pieces are not placed yet."""
        return not self.piece_squares

    @property
    def quiet_turns(self) -> int:
        """The number of consecutive finished turns without a face-off."""
        return max(0, self.turn - 1 - self.last_face_off_turn)

    @property
    def runs_left(self) -> int:
        """The number of pieces that may still run or tackle in this turn."""
        return RUNS_PER_TURN - len(self.moved_pieces)


def first_state(options: KahmateOptions) -> State:
    """Return the state before the pieces are placed, or the chosen start.

    Raises `Malformed` if the option `start` is not valid.
    """
    if not options.start:
        return State(options)
    teams_text, _, ball_text = options.start.rpartition("/")
    teams = parse_square_groups(teams_text, FILES, RANKS)
    ball = Square.parse(ball_text.strip())
    has_full_teams = [len(team) for team in teams] == [TEAM_SIZE] * len(SEATS)
    if not has_full_teams or ball not in NUMBER_OF:
        raise Malformed(
            say("Write six squares for Blue, a slash, six for Pink, a slash, and the ball’s square")
        )
    piece_squares = tuple(NUMBER_OF[square] for team in teams for square in team)
    return State(
        options,
        piece_squares,
        ball=NUMBER_OF[ball],
        seat=SEATS.index(Seat(options.starter or Seat.SOUTH)),
    )


def layout_of(
    piece_squares: Sequence[int], turns_to_miss: Sequence[int], ball: int
) -> dict[Square, tuple[str, ...]]:
    """Return the layout of pieces and ball, where the ball is on top of the piece on its square.

    Pieces and ball in goal are left out.
    """
    layout: dict[Square, tuple[str, ...]] = {
        SQUARES[square]: (DOWN_FACES[piece] if turns_to_miss[piece] else PIECE_NAMES[piece],)
        for piece, square in enumerate(piece_squares)
        if square != IN_GOAL
    }
    if ball != IN_GOAL:
        square = SQUARES[ball]
        layout[square] = (*layout.get(square, ()), BALL_FACE)
    return layout


def lead(state: State) -> float:
    """Return how many ranks the ball is beyond the middle of the pitch, as South plays.

    0 before the pieces are placed.
    """
    if state.is_placing:
        return 0.0
    middle = (RANKS - 1) / 2
    if state.ball != IN_GOAL:
        return rank_of(state.ball) - middle
    # The goal is one rank beyond the goal line. The scorer is still on turn.
    goal_lead = middle + 1
    return goal_lead if state.seat == SOUTH else -goal_lead


def view_details(state: State) -> dict[str, Any]:
    """Return the part of a view that only Kahmate has, as plain JSON. All of it is public.

    - `phase`: `placing`, `round` (a turn), `face-off` or `over`.
    - `turn`, `seat`: the number of the turn, and the seat on turn once the pieces are placed.
    - `quiet`: the number of consecutive finished turns without a face-off.
    - `pieces`: seat, letter and square of each piece. `rounds_down` is the number of its owner's
      turns for which it still lies turned over. A scorer's square is `goal`.
    - `ran`, `runs_left`: the squares of the pieces that have run or tackled in this turn, and how
      many more may.
    - `cards`: the values of the cards that each seat holds.
    - `ball`, `face_off`: None before the pieces are placed, and without a face-off.
    """
    phase = "round"
    if state.outcome:
        phase = "over"
    elif state.is_placing:
        phase = "placing"
    elif state.pending_plan:
        phase = "face-off"
    return {
        "phase": phase,
        "turn": state.turn,
        "quiet": state.quiet_turns,
        "seat": None if state.is_placing else SEATS[state.seat],
        "pieces": [
            {
                "seat": SEATS[SEAT_OF[piece]],
                "role": ROLE_OF[piece].letter,
                "square": "goal" if square == IN_GOAL else SQUARE_NAMES[square],
                "rounds_down": state.turns_to_miss[piece],
            }
            for piece, square in enumerate(state.piece_squares)
        ],
        "ball": _plain_ball(state),
        "ran": [
            SQUARE_NAMES[state.piece_squares[piece]]
            for piece in state.moved_pieces
            if state.piece_squares[piece] != IN_GOAL
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
    seat = None if state.carrier == NO_PIECE else SEATS[SEAT_OF[state.carrier]]
    return {"square": SQUARE_NAMES[state.ball], "seat": seat}


def _plain_face_off(state: State) -> dict[str, Any] | None:
    """Return the present face-off: the kind of the action, and the squares of those who meet.

    `won` counts the face-offs of the action that its side has won, and `of` all of them. None
    without a face-off.
    """
    plan = state.pending_plan
    if plan is None:
        return None
    face_off = plan.face_offs[state.face_offs_won]
    return {
        "kind": plan.kind,
        "attackers": [SQUARE_NAMES[state.piece_squares[piece]] for piece in plan.movers],
        "defender": SQUARE_NAMES[state.piece_squares[face_off.defender]],
        "won": state.face_offs_won,
        "of": len(plan.face_offs),
    }
