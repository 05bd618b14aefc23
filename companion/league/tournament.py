"""A tournament as a value: who plays, what was paired, how it ended. Every change is a new value.

Points are counted in halves: a win is 2, a draw 1. South and North are the sides at the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any

import msgspec

from companion.core.errors import Illegal, Refusal
from companion.core.i18n import say


class System(StrEnum):
    """How it is decided who meets whom."""

    SWISS = "swiss"
    ROUND_ROBIN = "round_robin"
    KNOCKOUT = "knockout"


class BoardEnd(StrEnum):
    """How a board ended. By default: the other one did not come. `NEITHER`: nobody did."""

    SOUTH = "south"
    NORTH = "north"
    DRAW = "draw"
    SOUTH_BY_DEFAULT = "south_by_default"
    NORTH_BY_DEFAULT = "north_by_default"
    NEITHER = "neither"


HALVES: Mapping[BoardEnd, tuple[int, int]] = {
    BoardEnd.SOUTH: (2, 0),
    BoardEnd.NORTH: (0, 2),
    BoardEnd.DRAW: (1, 1),
    BoardEnd.SOUTH_BY_DEFAULT: (2, 0),
    BoardEnd.NORTH_BY_DEFAULT: (0, 2),
    BoardEnd.NEITHER: (0, 0),
}
PLAYED = frozenset({BoardEnd.SOUTH, BoardEnd.NORTH, BoardEnd.DRAW})
WIN, HALF = 2, 1
Place = tuple[int, int, int]
"""A board: its round, its match and its place there, each counted from 0."""


class MatchBoard(msgspec.Struct, frozen=True):
    """One game of a match: two people by their numbers, the table's name in subjects (empty: none
    yet), and its end.

    `key` names the game that decided it. Empty: nobody has played, or the director said so.
    """

    south: int
    north: int
    table: str = ""
    verdict: BoardEnd | None = None
    key: str = ""

    @property
    def is_played(self) -> bool:
        """Return whether both have played it."""
        return self.verdict in PLAYED

    def halves(self, person: int) -> int:
        """Return what it gave somebody."""
        if self.verdict is None or person not in (self.south, self.north):
            return 0
        return HALVES[self.verdict][0 if person == self.south else 1]


class Match(msgspec.Struct, frozen=True):
    """Two entrants by their numbers, and their boards.

    `north` None: a bye, which gives `halves`.
    """

    south: int
    north: int | None
    boards: tuple[MatchBoard, ...] = ()
    halves: int = WIN

    @property
    def is_decided(self) -> bool:
        """Return whether there is nothing to wait for any more."""
        return all(board.verdict is not None for board in self.boards)

    @property
    def is_played(self) -> bool:
        """Return whether a board of it was played."""
        return any(board.is_played for board in self.boards)


class Round(msgspec.Struct, frozen=True):
    """A round: when it was paired and when its time is over (Unix time by the hub's clock. 0: it
    has no end)."""

    number: int
    matches: tuple[Match, ...]
    begun_s: float = 0.0
    ends_s: float = 0.0

    @property
    def is_decided(self) -> bool:
        """Return whether every board has ended."""
        return all(match.is_decided for match in self.matches)

    def match_of(self, entrant: int) -> Match | None:
        """Return the match of an entrant. None: it does not play in this round."""
        for match in self.matches:
            if entrant in (match.south, match.north):
                return match
        return None


class Entrant(msgspec.Struct, frozen=True):
    """Somebody, or a team, in a tournament: `people` by their numbers, the first board first.

    `since` is the first round that it plays, `until` the last one (0: to the end). In the rounds of
    `rests` it has asked for a bye of half a point.
    """

    number: int
    people: tuple[int, ...]
    team: str = ""
    rating: float = 1500.0
    since: int = 1
    until: int = 0
    rests: tuple[int, ...] = ()

    def is_there(self, number: int) -> bool:
        """Return whether it takes part in this round."""
        return self.since <= number and (not self.until or number <= self.until)


class Tournament(msgspec.Struct, frozen=True):
    """All of it.

    `rounds_wanted` is how many rounds are to be played, `minutes` how long each may take (0: no
    end).

    `options` are those of the game that counts. `team_size` is on how many boards entrants meet.
    """

    id: int
    name: str
    system: System
    game: str
    options: Mapping[str, Any] = {}
    rounds_wanted: int = 5
    minutes: int = 0
    team_size: int = 1
    entrants: tuple[Entrant, ...] = ()
    rounds: tuple[Round, ...] = ()
    order: tuple[int, ...] = ()
    """The entrants by strength as the first round was drawn, where every later round follows from
    it."""
    is_over: bool = False

    @property
    def round(self) -> Round | None:
        """Return the round that was paired last."""
        return self.rounds[-1] if self.rounds else None

    def entrant(self, number: int) -> Entrant:
        """Return the entrant of that number. Raises `Illegal` where there is none."""
        match = next((entrant_ for entrant_ in self.entrants if entrant_.number == number), None)
        if match is None:
            raise Illegal(Refusal.WRONG_PHASE, say("There is no entrant {number}", number=number))
        return match

    def entrant_of(self, person: int) -> Entrant | None:
        """Return the entrant that somebody belongs to."""
        return next((entrant for entrant in self.entrants if person in entrant.people), None)

    def halves(self, entrant: int, rounds: int | None = None) -> int:
        """Return the points of an entrant after a number of rounds (None: all), in halves."""
        return sum(match_halves(self, match, entrant) for match in self.matches(entrant, rounds))

    def matches(self, entrant: int, rounds: int | None = None) -> Iterator[Match]:
        """Yield the matches of an entrant, the first round first."""
        for round_ in self.rounds[:rounds]:
            if match := round_.match_of(entrant):
                yield match


def match_halves(tournament: Tournament, match: Match, entrant: int) -> int:
    """Return what a match gave one of its two entrants: a team has a win with more points on its
    boards."""
    if match.north is None:
        return match.halves
    if not match.is_decided:
        return 0
    own = board_halves(tournament, match, entrant)
    other = board_halves(tournament, match, opponent(match, entrant))
    if len(match.boards) == 1:
        return own
    # a team wins or draws as a whole, by however many boards
    if own == other:
        # level without a point: nobody came
        return HALF if own else 0
    return WIN if own > other else 0


def board_halves(tournament: Tournament, match: Match, entrant: int) -> int:
    """Return the points of an entrant on the boards of a match, in halves."""
    people = tournament.entrant(entrant).people
    return sum(board.halves(person) for board in match.boards for person in people)


def opponent(match: Match, entrant: int) -> int:
    """Return the other entrant of a match that is no bye."""
    return match.north if match.north is not None and match.south == entrant else match.south


def winner(tournament: Tournament, match: Match) -> int | None:
    """Return who goes on after a match. None: nobody, or nobody yet."""
    if match.north is None:
        return match.south
    south = match_halves(tournament, match, match.south)
    north = match_halves(tournament, match, match.north)
    if south == north:
        return None
    return match.south if south > north else match.north
