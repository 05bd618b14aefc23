"""Rounds of Kahmate as an opponent needs them: light positions, the plays of a round, and what each
comes to.

Squares, pieces and seats are numbers, as in `companion.games.kahmate.board`. Plays that meet
several opponents in a row and roundabout ways that change nothing are left out.
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
    KICK_REACH,
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
from companion.games.kahmate.courses import spilled_square

EMPTY = -1
FORWARD = (1, -1)
"""The way in which ranks count for each seat."""
RUN = "run"
PASS = "pass"
KICK = "kick"
TACKLE = "tackle"
END = "end"
ATTACK = tuple(role.attack for role in ROLE_OF)
DEFENCE = tuple(role.defence for role in ROLE_OF)
FILE = tuple(square % FILES for square in range(AREA))
RANK = tuple(square // FILES for square in range(AREA))
FULL = (1, 2, 3, 4, 5, 6)
Hand = tuple[int, ...]


@dataclass(slots=True)
class Position:
    """A position within a round, copied very often."""

    places: list[int]
    """The square of each piece."""
    down: list[int]
    """For how many rounds each piece still lies."""
    ball: int
    seat: int
    ran: tuple[int, ...]
    """Who has run in this round."""
    hands: tuple[Hand, Hand]
    board: list[int]
    """The piece on each square, or EMPTY."""

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
        if piece == EMPTY or self.down[piece]:
            return EMPTY
        return piece

    def is_opponent(self, piece: int) -> bool:
        """Return whether a piece, or EMPTY, is a standing one of the other seat."""
        return piece != EMPTY and not self.down[piece] and SEAT_OF[piece] != self.seat

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
        """Take a card of each hand for a face-off: which is unknown, but after the last ones both
        are full again.
        """
        if len(self.hands[0]) == 1:
            self.hands = FULL, FULL

    def end_round(self) -> None:
        """Give the turn to the other seat. Who has lain through the own round stands up."""
        for piece in TEAMS[self.seat]:
            if self.down[piece]:
                self.down[piece] -= 1
        self.seat = 1 - self.seat
        self.ran = ()


def position_of(view: Mapping[str, Any]) -> Position:
    """Return the position that a view shows, once the pieces are placed."""
    places = [_square(piece["square"]) for piece in view["pieces"]]
    board = [EMPTY] * AREA
    for piece, square in enumerate(places):
        if square != IN_GOAL:
            board[square] = piece
    ball = _square(view["ball"]["square"])
    ran = tuple(board[NUMBERS[name]] for name in view["ran"])
    hands = (tuple(view["cards"][SEATS[0]]), tuple(view["cards"][SEATS[1]]))
    down = [int(piece["rounds_down"]) for piece in view["pieces"]]
    return Position(places, down, ball, SEATS.index(view["seat"]), ran, hands, board)


def _square(name: str) -> int:
    return IN_GOAL if name == "goal" else NUMBERS[name]


@dataclass(frozen=True, slots=True)
class Meeting:
    """A face-off on the way: with whom and, when it is lost, where the mover stays and the ball
    goes.
    """

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
            mark = "*" if self.kind == PASS else "!"
            return f"{NAMES[self.paths[0][0]]}{mark}{NAMES[self.ball]}"
        if self.kind == TACKLE:
            return f"{'&'.join(map(path_text, self.paths))}x{NAMES[self.end]}"
        return "."


END_ROUND = Play(END)


# ---- what a play comes to ------------------------------------------------------------------------


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
        return after
    if play.kind == END:
        after.end_round()
        return after
    after.ball = play.ball
    if play.kind == RUN:
        after.put(play.movers[0], play.end)
        after.ran = (*position.ran, play.movers[0])
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


# ---- the plays of a round ------------------------------------------------------------------------


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

    A way is searched in layers of equal length. What it has met and whether it has the ball are
    parts of its place.
    """
    board = position.board
    seat = position.seat
    ball = position.ball
    start = position.places[piece]
    goal = OWN_LINE[1 - position.seat]
    carrier = position.carrier
    loose = ball if carrier == EMPTY else EMPTY
    forbidden = ball if carrier != EMPTY and SEAT_OF[carrier] != seat else EMPTY
    # a place on a way: its square, with the ball or not, and whom it has met
    first = (start, start == ball, EMPTY)
    ways: list[tuple[tuple[int, bool, int], Path, int]] = [(first, (start,), start)]
    visited = {first}
    for _ in range(SPEED[piece]):
        further = []
        for (square, has_ball, met), path, stop in ways:
            if has_ball and RANK[square] == goal:
                yield _run(position, path, IN_GOAL, (True, met), stop)
            for to in STEPS[square]:
                if to == forbidden or (to == start and len(path) < 2):
                    continue
                other = board[to]
                is_free = other in (EMPTY, piece)
                meets = met
                halt = stop
                if is_free and met == EMPTY:
                    halt = to
                elif position.is_opponent(other) and other != met:
                    if met != EMPTY or not may_meet:
                        continue
                    meets = other
                place = (to, has_ball or to == loose, meets)
                if place in visited:
                    continue
                visited.add(place)
                way = (*path, to)
                if is_free:
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
    # a loose ball may have been fetched before the face-off
    before = path[: path.index(position.places[met])]
    may_have_ball = position.ball == path[0] or position.carrier == EMPTY
    spilled = position.ball
    if may_have_ball and position.ball in before:
        spilled = behind(stop, position.seat)
    return Play(RUN, (piece,), (path,), end, ball, (Meeting(met, stop, spilled),))


def _own_carrier(position: Position) -> int:
    carrier = position.carrier
    if carrier != EMPTY and SEAT_OF[carrier] == position.seat:
        return carrier
    return EMPTY


def passes(position: Position) -> Iterator[Play]:
    """Yield every pass of the carrier."""
    carrier = _own_carrier(position)
    if carrier == EMPTY:
        return
    ball = position.ball
    for mate in TEAMS[position.seat]:
        end = position.places[mate]
        if not position.down[mate] and is_pass(position.seat, ball, end):
            between = [position.board[square] for square in squares_between(ball, end)]
            opponents = [piece for piece in between if position.is_opponent(piece)]
            meetings = tuple(Meeting(p, ball, position.places[p]) for p in opponents)
            yield Play(PASS, (carrier,), ((ball,),), ball, end, meetings)


def is_pass(seat: int, start: int, end: int) -> bool:
    """Return whether a pass of a seat may go from square to square: back, and not far."""
    back = (RANK[start] - RANK[end]) * FORWARD[seat]
    return 1 <= back <= PASS_REACH and abs(FILE[start] - FILE[end]) <= PASS_REACH


def kicks(position: Position) -> Iterator[Play]:
    """Yield every kick of the carrier that does not give the ball to the other side."""
    carrier = _own_carrier(position)
    if carrier == EMPTY:
        return
    ahead = FORWARD[position.seat]
    ball = position.ball
    mates = [RANK[position.places[mate]] for mate in TEAMS[position.seat]]
    if any((rank - RANK[ball]) * ahead > 0 for rank in mates):
        return
    files = range(max(0, FILE[ball] - KICK_REACH), min(FILES, FILE[ball] + KICK_REACH + 1))
    for ranks in range(1, KICK_REACH + 1):
        rank = RANK[ball] + ranks * ahead
        if not 0 <= rank <= max(OWN_LINE):
            continue
        for file in files:
            end = rank * FILES + file
            if position.board[end] == EMPTY:
                yield Play(KICK, (carrier,), ((ball,),), ball, end)


def tackles(position: Position) -> Iterator[Play]:
    """Yield tackles of the other side's carrier by one piece or by two. A shortest way each."""
    carrier = position.carrier
    if carrier == EMPTY or SEAT_OF[carrier] == position.seat:
        return
    ways: dict[int, Path] = {}
    for piece in position.able():
        if way := _way_to(position, piece, position.ball):
            ways[piece] = way
    for piece, way in ways.items():
        yield _tackle(position, (piece,), (way,))
    if position.ran:
        return
    for pair in itertools.combinations(ways, 2):
        # the one farther ahead is named first
        ahead = FORWARD[position.seat]
        first, second = sorted(pair, key=lambda piece: -ahead * RANK[position.places[piece]])
        yield _tackle(position, (first, second), (ways[first], ways[second]))


def _tackle(position: Position, movers: tuple[int, ...], paths: tuple[Path, ...]) -> Play:
    carrier = position.ball
    spilled = spilled_square(carrier, 1 - position.seat, paths[0][-1])
    meeting = Meeting(position.board[carrier], paths[0][0], carrier)
    return Play(TACKLE, movers, paths, carrier, spilled, (meeting,))


def _way_to(position: Position, piece: int, target: int) -> Path | None:
    """Return a shortest way to a square next to the target, over no standing opponent.

    None: too far.
    """
    start = position.places[piece]
    ways: list[Path] = [(start,)]
    visited = {start}
    for _ in range(SPEED[piece]):
        further = []
        for path in ways:
            for to in STEPS[path[-1]]:
                if to == target:
                    return path
                if to not in visited and not position.is_opponent(position.board[to]):
                    visited.add(to)
                    further.append((*path, to))
        ways = further
    return None
