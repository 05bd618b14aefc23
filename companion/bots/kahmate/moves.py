"""Rounds of Kahmate as an opponent needs them: light positions, the plays of a round, and what each comes to.

Squares, pieces and seats are numbers, as in `companion.games.kahmate.board`. Plays that meet several opponents in a row
and roundabout ways that change nothing are left out.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from companion.core.kit import SEATS
from companion.games.kahmate.actions import Path, path_text
from companion.games.kahmate.board import (
    AREA,
    CLEAR_LEAD,
    FILES,
    IN_GOAL,
    NAMES,
    NUMBERS,
    OWN_LINE,
    PASS_REACH,
    ROLE_OF,
    SEAT_OF,
    SPEED,
    STEPS,
    TEAMS,
    behind,
    squares_between,
)

EMPTY = -1
RUN, PASS, KICK, TACKLE, END = "run", "pass", "kick", "tackle", "end"
ATTACK = tuple(role.attack for role in ROLE_OF)
DEFENCE = tuple(role.defence for role in ROLE_OF)
FILE = tuple(square % FILES for square in range(AREA))
RANK = tuple(square // FILES for square in range(AREA))
FULL = (1, 2, 3, 4, 5, 6)
Hand = tuple[int, ...]


class Position:
    """A position within a round.

    `board` is which piece is on each square, `ran` whoever has run in this round.
    """

    __slots__ = ("ball", "board", "down", "hands", "places", "ran", "seat")

    def __init__(  # noqa: PLR0917 - copied very often
        self,
        places: list[int],
        down: list[int],
        ball: int,
        seat: int,
        ran: tuple[int, ...],
        hands: tuple[Hand, Hand],
        board: list[int],
    ) -> None:
        self.places, self.down, self.ball, self.seat = places, down, ball, seat
        self.ran, self.hands, self.board = ran, hands, board

    def copy(self) -> Position:
        """Return another one, to be changed."""
        return Position(
            self.places[:], self.down[:], self.ball, self.seat, self.ran, self.hands, self.board[:]
        )

    @property
    def carrier(self) -> int:
        """Return the standing piece that has the ball, or EMPTY."""
        if self.ball == IN_GOAL:
            return EMPTY
        piece = self.board[self.ball]
        return EMPTY if piece == EMPTY or self.down[piece] else piece

    def able(self) -> list[int]:
        """Return who may still run or tackle in this round."""
        if len(self.ran) >= 2:
            return []
        return [
            piece for piece in TEAMS[self.seat] if not self.down[piece] and piece not in self.ran
        ]

    def key(self) -> tuple[object, ...]:
        """Return what tells positions apart."""
        return (*self.places, *self.down, self.ball, self.seat, self.ran)

    def put(self, piece: int, square: int) -> None:
        """Move a piece. IN_GOAL takes it from the board."""
        self.board[self.places[piece]] = EMPTY
        self.places[piece] = square
        if square != IN_GOAL:
            self.board[square] = piece

    def spend_cards(self) -> None:
        """Take a card of each hand for a face-off: which is unknown, but after the last ones both are full again."""
        if len(self.hands[0]) == 1:
            self.hands = FULL, FULL

    def end_round(self) -> None:
        """Give the turn to the other seat. Who has lain through the own round stands up."""
        for piece in TEAMS[self.seat]:
            if self.down[piece]:
                self.down[piece] -= 1
        self.seat, self.ran = 1 - self.seat, ()


def position_of(view: Mapping[str, Any]) -> Position:
    """Return the position that a view shows, once the pieces are placed."""
    places = [
        IN_GOAL if piece["square"] == "goal" else NUMBERS[piece["square"]]
        for piece in view["pieces"]
    ]
    board = [EMPTY] * AREA
    for piece, square in enumerate(places):
        if square != IN_GOAL:
            board[square] = piece
    ball = IN_GOAL if view["ball"]["square"] == "goal" else NUMBERS[view["ball"]["square"]]
    ran = tuple(board[NUMBERS[name]] for name in view["ran"])
    hands = (tuple(view["cards"][SEATS[0]]), tuple(view["cards"][SEATS[1]]))
    down = [int(piece["rounds_down"]) for piece in view["pieces"]]
    return Position(places, down, ball, SEATS.index(view["seat"]), ran, hands, board)


@dataclass(frozen=True, slots=True)
class Meeting:
    """A face-off on the way: with whom and, when it is lost, where the mover stays and the ball goes."""

    defender: int
    stop: int
    ball: int


@dataclass(frozen=True, slots=True)
class Play:
    """One play: who, by which ways, where mover and ball end, whom it meets."""

    kind: str
    movers: tuple[int, ...] = ()
    paths: tuple[Path, ...] = ()
    end: int = IN_GOAL
    ball: int = IN_GOAL
    meetings: tuple[Meeting, ...] = ()

    def __str__(self) -> str:
        if self.kind == RUN:
            return path_text(self.paths[0]) + ("-goal" if self.end == IN_GOAL else "")
        if self.kind in (PASS, KICK):
            return f"{NAMES[self.paths[0][0]]}{'*' if self.kind == PASS else '!'}{NAMES[self.ball]}"
        if self.kind == TACKLE:
            return f"{'&'.join(map(path_text, self.paths))}x{NAMES[self.end]}"
        return "."


END_ROUND = Play(END)


# ---- what a play comes to --------------------------------------------------------------------------------------------


def won(position: Position, play: Play, by: int = 0) -> Position:
    """Return the position after a play of which every face-off is won, the last one by so many."""
    after = position.copy()
    if play.meetings:
        after.spend_cards()
    if play.kind == TACKLE:
        carrier = position.board[position.ball]
        after.ball = position.places[play.movers[0]] if by > CLEAR_LEAD else play.ball
        after.down[carrier] = 1
        after.end_round()
    elif play.kind == END:
        after.end_round()
    else:
        if play.kind == RUN:
            after.put(play.movers[0], play.end)
            after.ran = (*position.ran, play.movers[0])
        after.ball = play.ball
        if play.kind == RUN:
            for meeting in play.meetings:
                after.down[meeting.defender] = 1
    return after


def lost(position: Position, play: Play, number: int = 0) -> Position:
    """Return the position after a play whose face-off of that number is lost."""
    after = position.copy()
    after.spend_cards()
    if play.kind == TACKLE:
        for piece in play.movers:
            after.down[piece] = 2
        after.end_round()
        return after
    meeting = play.meetings[number]
    after.ball = meeting.ball
    if play.kind == RUN:
        for beaten in play.meetings[:number]:
            after.down[beaten.defender] = 1
        after.put(play.movers[0], meeting.stop)
        after.down[play.movers[0]] = 2
        after.ran = (*position.ran, play.movers[0])
    return after


# ---- the plays of a round --------------------------------------------------------------------------------------------


def plays(position: Position, *, all_meetings: bool) -> Iterator[Play]:
    """Yield the plays of the seat on turn, the end of the round not among them.

    :param all_meetings: runs into opponents also of pieces that are nowhere near the ball
    """
    yield from passes(position)
    yield from kicks(position)
    carrier = position.carrier
    yield from tackles(position)
    for piece in position.able():
        yield from runs(position, piece, all_meetings or piece == carrier)


def runs(position: Position, piece: int, may_meet: bool) -> Iterator[Play]:
    """Yield one run to each square that a piece reaches, with the ball where it can have it, and
    over at most one opponent.

    A way is searched in layers of equal length. What it has met and whether it has the ball are parts of its place.
    """
    board, down, seat, ball = position.board, position.down, position.seat, position.ball
    start, carrier = position.places[piece], position.carrier
    loose = ball if carrier == EMPTY else EMPTY
    forbidden = ball if carrier != EMPTY and SEAT_OF[carrier] != seat else EMPTY
    goal = OWN_LINE[1 - seat]
    first = (start, start == ball, EMPTY)
    ways: list[tuple[tuple[int, bool, int], Path, int]] = [(first, (start,), start)]
    visited = {first}
    for _ in range(SPEED[piece]):
        further = []
        for (square, has_ball, met), path, stop in ways:
            if has_ball and RANK[square] == goal:
                yield _run(position, path, IN_GOAL, (True, met), stop)
            for to in STEPS[square]:
                other = board[to]
                if to == forbidden or (to == start and len(path) < 2):
                    continue
                meets, halt = met, stop
                if other in (EMPTY, piece):
                    halt = to if met == EMPTY else stop
                elif not down[other] and SEAT_OF[other] != seat and other != met:
                    if met != EMPTY or not may_meet:
                        continue
                    meets = other
                # a place on a way: its square, with the ball or not, and whom it has met
                place = (to, has_ball or to == loose, meets)
                if place in visited:
                    continue
                visited.add(place)
                way = (*path, to)
                if other in (EMPTY, piece):
                    yield _run(position, way, to, (place[1], meets), halt)
                further.append((place, way, halt))
        ways = further


def _run(position: Position, path: Path, end: int, place: tuple[bool, int], stop: int) -> Play:
    """Return the play of a way.

    `stop` is the last free square before the opponent that it meets.
    """
    has_ball, met = place
    piece = position.board[path[0]]
    ball = end if has_ball else position.ball
    if met == EMPTY:
        return Play(RUN, (piece,), (path,), end, ball)
    had_ball = position.ball in path[: path.index(position.places[met])] and (
        position.ball == path[0] or position.carrier == EMPTY
    )
    spilled = behind(stop, position.seat) if had_ball else position.ball
    return Play(RUN, (piece,), (path,), end, ball, (Meeting(met, stop, spilled),))


def _own_carrier(position: Position) -> int:
    carrier = position.carrier
    return carrier if carrier != EMPTY and SEAT_OF[carrier] == position.seat else EMPTY


def passes(position: Position) -> Iterator[Play]:
    """Yield every pass of the carrier."""
    carrier = _own_carrier(position)
    if carrier == EMPTY:
        return
    ahead, ball = (1 if position.seat == 0 else -1), position.ball
    for mate in TEAMS[position.seat]:
        end = position.places[mate]
        back, aside = (RANK[ball] - RANK[end]) * ahead, abs(FILE[ball] - FILE[end])
        if not position.down[mate] and 1 <= back <= PASS_REACH and aside <= PASS_REACH:
            met = [position.board[square] for square in squares_between(ball, end)]
            between = [
                p
                for p in met
                if p != EMPTY and not position.down[p] and SEAT_OF[p] != position.seat
            ]
            meetings = tuple(Meeting(p, ball, position.places[p]) for p in between)
            yield Play(PASS, (carrier,), ((ball,),), ball, end, meetings)


def kicks(position: Position) -> Iterator[Play]:
    """Yield every kick of the carrier that does not give the ball to the other side."""
    carrier = _own_carrier(position)
    if carrier == EMPTY:
        return
    ahead, ball = (1 if position.seat == 0 else -1), position.ball
    if any((RANK[position.places[mate]] - RANK[ball]) * ahead > 0 for mate in TEAMS[position.seat]):
        return
    for ranks in (1, 2, 3):
        rank = RANK[ball] + ranks * ahead
        if 0 <= rank <= max(OWN_LINE):
            for file in range(max(0, FILE[ball] - 3), min(FILES, FILE[ball] + 4)):
                if position.board[rank * FILES + file] == EMPTY:
                    yield Play(KICK, (carrier,), ((ball,),), ball, rank * FILES + file)


def tackles(position: Position) -> Iterator[Play]:
    """Yield tackles of the other side's carrier by one piece or by two. A shortest way each."""
    carrier = position.carrier
    if carrier == EMPTY or SEAT_OF[carrier] == position.seat:
        return
    ways = {
        piece: way for piece in position.able() if (way := _way_to(position, piece, position.ball))
    }
    for piece, way in ways.items():
        yield _tackle(position, (piece,), (way,))
    if not position.ran:
        for one, other in itertools.combinations(ways, 2):
            pair = sorted(
                (one, other),
                key=lambda piece: RANK[position.places[piece]],
                reverse=position.seat == 0,
            )
            yield _tackle(position, (pair[0], pair[1]), (ways[pair[0]], ways[pair[1]]))


def _tackle(position: Position, movers: tuple[int, ...], paths: tuple[Path, ...]) -> Play:
    carrier, defender = position.ball, 1 - position.seat
    if RANK[carrier] != OWN_LINE[defender]:
        spilled = behind(carrier, defender)
    else:
        # on its own goal line the ball goes beside the carrier, away from the tackler
        away = FILE[carrier] - FILE[paths[0][-1]] or (1 if FILE[carrier] < FILES // 2 else -1)
        spilled = carrier + (away if 0 <= FILE[carrier] + away < FILES else -away)
    meeting = Meeting(position.board[carrier], paths[0][0], carrier)
    return Play(TACKLE, movers, paths, carrier, spilled, (meeting,))


def _way_to(position: Position, piece: int, target: int) -> Path | None:
    """Return a shortest way to a square next to the target, over no standing opponent.

    None: too far.
    """
    board, down, seat = position.board, position.down, position.seat
    start = position.places[piece]
    ways: list[Path] = [(start,)]
    visited = {start}
    for _ in range(SPEED[piece]):
        further = []
        for path in ways:
            for to in STEPS[path[-1]]:
                if to == target:
                    return path
                other = board[to]
                if to not in visited and (other == EMPTY or down[other] or SEAT_OF[other] == seat):
                    visited.add(to)
                    further.append((*path, to))
        ways = further
    return None
