"""A tournament as an immutable value: entrants, pairings and results.

Every change makes a new value. It is a tree:

    Tournament
    └── Round
        └── Match           two entrants, or one that has a bye
            └── MatchBoard  one game between two people at one table

An entrant is one person, or in earlier versions a team. Entrants are numbered within their
tournament, and a match names them by these numbers. People have the numbers of their players'
cards, and a board names them by those.

Points are counted in half points: a win is 2, a draw 1. South and North are the sides at the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

import msgspec

from companion.core.errors import does_not_exist
from companion.core.i18n import say


class PairingSystem(StrEnum):
    """Pairing system."""

    SWISS = "swiss"
    ROUND_ROBIN = "round_robin"
    KNOCKOUT = "knockout"


class BoardVerdict(StrEnum):
    """How a board ended, by its game or by the director: who won, or that it was a draw.

    `…_BY_DEFAULT` is a win because the opponent did not come, `NEITHER` a loss of both.
    """

    SOUTH = "south"
    NORTH = "north"
    DRAW = "draw"
    SOUTH_BY_DEFAULT = "south_by_default"
    NORTH_BY_DEFAULT = "north_by_default"
    NEITHER = "neither"


# Half points of a win and of a draw.
WIN_HALF_POINTS = 2
DRAW_HALF_POINTS = 1
# Half points of South and of North for each verdict.
VERDICT_HALF_POINTS: Mapping[BoardVerdict, tuple[int, int]] = {
    BoardVerdict.SOUTH: (WIN_HALF_POINTS, 0),
    BoardVerdict.NORTH: (0, WIN_HALF_POINTS),
    BoardVerdict.DRAW: (DRAW_HALF_POINTS, DRAW_HALF_POINTS),
    BoardVerdict.SOUTH_BY_DEFAULT: (WIN_HALF_POINTS, 0),
    BoardVerdict.NORTH_BY_DEFAULT: (0, WIN_HALF_POINTS),
    BoardVerdict.NEITHER: (0, 0),
}
# Verdicts of boards on which both people came and played.
PLAYED_VERDICTS = frozenset({BoardVerdict.SOUTH, BoardVerdict.NORTH, BoardVerdict.DRAW})


class BoardPlace(NamedTuple):
    """The place of a board in its tournament, as indexes from 0."""

    round_index: int
    match_index: int
    board_index: int


class MatchBoard(msgspec.Struct, frozen=True):
    """One game of a match, with its two people and the verdict."""

    south: int
    """Number of the person at South."""
    north: int
    table: str = ""
    """Id of the board's table in NATS subjects. Empty until a table is assigned."""
    verdict: BoardVerdict | None = None
    """None while the board is open."""
    key: str = ""
    """`GameResult.key` of the game that decided the board. Empty if no game has decided it."""
    refused: Any = ""
    """Why the last result of the board's table does not count, as a packed sentence (see
    `companion.core.i18n.sentence_to_json`). Empty if it counts, or if there is no result.
    """

    @property
    def is_played(self) -> bool:
        """Whether both people came and the game has ended."""
        return self.verdict in PLAYED_VERDICTS

    def half_points(self, person: int) -> int:
        """Return the half points of a person on this board."""
        if self.verdict is None or person not in (self.south, self.north):
            return 0
        return VERDICT_HALF_POINTS[self.verdict][0 if person == self.south else 1]


class Match(msgspec.Struct, frozen=True):
    """Two entrants by number and their boards, or one entrant that has a bye."""

    south: int
    north: int | None
    """None for a bye."""
    boards: tuple[MatchBoard, ...] = ()
    """The games of the match: one for two people, several for two teams, none for a bye."""
    bye_half_points: int = msgspec.field(default=WIN_HALF_POINTS, name="halves")
    """Half points of a bye. They are those of a win, but 0 in a round robin, where a bye is only a
    rest. A tournament that version 1.0 has stored may have 1 for such a rest.
    """

    @property
    def is_decided(self) -> bool:
        """Whether every board has a verdict."""
        return all(board.verdict is not None for board in self.boards)

    @property
    def is_played(self) -> bool:
        """Whether at least one board was played."""
        return any(board.is_played for board in self.boards)


class Round(msgspec.Struct, frozen=True):
    """A round of matches."""

    number: int
    matches: tuple[Match, ...]
    begun_s: float = 0.0
    """Unix time at which the round was paired, by the hub's clock."""
    ends_s: float = 0.0
    """Unix time at which the round should end. 0 if it has no time limit."""

    @property
    def is_decided(self) -> bool:
        """Whether every board has ended."""
        return all(match.is_decided for match in self.matches)

    def match_of(self, entrant_number: int) -> Match | None:
        """Return the match of the entrant with this number, or None without one in this round."""
        for match in self.matches:
            if entrant_number in (match.south, match.north):
                return match
        return None


class Entrant(msgspec.Struct, frozen=True, rename={"first_round": "since", "last_round": "until"}):
    """A participant of a tournament: one person, or in earlier versions a team."""

    number: int
    people: tuple[int, ...]
    """Number of the person, or numbers of the people of a team, first board first."""
    team: str = ""
    rating: float = 1500.0
    """Rating when the entrant entered, which decides the seeding."""
    first_round: int = 1
    """Number of the first round in which it plays."""
    last_round: int = 0
    """Number of the last round in which it plays. 0 if it stays to the end."""

    def plays_in(self, round_number: int) -> bool:
        """Return whether the entrant takes part in this round."""
        return self.first_round <= round_number and (
            not self.last_round or round_number <= self.last_round
        )


class Tournament(msgspec.Struct, frozen=True):
    """A tournament with its entrants and rounds."""

    id: int
    """Number of the tournament at the hub. 0 until it has one."""
    name: str
    system: PairingSystem
    game: str
    options: Mapping[str, Any] = {}
    rounds_wanted: int = 5
    """Number of rounds to play in a Swiss tournament. In other systems it follows from the
    entrants.
    """
    minutes: int = 0
    """Time limit of a round in minutes. 0 for none."""
    entrants: tuple[Entrant, ...] = ()
    rounds: tuple[Round, ...] = ()
    order: tuple[int, ...] = ()
    """Numbers of the entrants, strongest first, as seeded when the first round was paired."""
    is_over: bool = False

    @property
    def round(self) -> Round | None:
        """The current round, the one that was paired last, or None before the first."""
        return self.rounds[-1] if self.rounds else None

    def entrant(self, number: int) -> Entrant:
        """Return the entrant with this number. Raises `Illegal` if there is none."""
        for entrant in self.entrants:
            if entrant.number == number:
                return entrant
        raise does_not_exist(say("There is no entrant {number}", number=number))

    def entrant_of(self, person: int) -> Entrant | None:
        """Return the entrant to which a person belongs, or None."""
        return next((entrant for entrant in self.entrants if person in entrant.people), None)

    def half_points(self, entrant_number: int, rounds: int | None = None) -> int:
        """Return the half points of an entrant in the first rounds, or in all of them for None."""
        return sum(
            match_half_points(self, match, entrant_number)
            for match in self.matches(entrant_number, rounds)
        )

    def matches(self, entrant_number: int, rounds: int | None = None) -> Iterator[Match]:
        """Yield the matches of an entrant in the first rounds, or in all of them for None."""
        for round_ in self.rounds[:rounds]:
            if match := round_.match_of(entrant_number):
                yield match


def match_half_points(tournament: Tournament, match: Match, entrant_number: int) -> int:
    """Return the half points of an entrant for a match.

    A team wins a match if it has more points on the boards than the other team.
    """
    if match.north is None:
        return match.bye_half_points
    if not match.is_decided:
        return 0
    own = board_half_points(tournament, match, entrant_number)
    other = board_half_points(tournament, match, opponent_of(match, entrant_number))
    if len(match.boards) == 1:
        return own
    # a team wins or draws as a whole, whatever the margin
    if own == other:
        # level without a point means that nobody came
        return DRAW_HALF_POINTS if own else 0
    return WIN_HALF_POINTS if own > other else 0


def board_half_points(tournament: Tournament, match: Match, entrant_number: int) -> int:
    """Return the half points of an entrant on the boards of a match."""
    people = tournament.entrant(entrant_number).people
    return sum(board.half_points(person) for board in match.boards for person in people)


def opponent_of(match: Match, entrant_number: int) -> int:
    """Return the other entrant of a match that is not a bye."""
    if match.north is not None and match.south == entrant_number:
        return match.north
    return match.south


def match_winner(tournament: Tournament, match: Match) -> int | None:
    """Return the entrant that wins a match, or None if there is no winner yet or at all."""
    if match.north is None:
        return match.south
    south = match_half_points(tournament, match, match.south)
    north = match_half_points(tournament, match, match.north)
    if south == north:
        return None
    return match.south if south > north else match.north
