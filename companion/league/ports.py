"""What a league keeps, and the port through which it is kept: everything of one change at once, or nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from companion.league.director import Place
from companion.league.people import Person
from companion.league.ratings import RatedGame
from companion.league.results import GameFollowed, GameResult
from companion.league.tournament import Tournament


class Season(msgspec.Struct, frozen=True):
    """From when on results count for it (Unix time); it ends as the next one begins."""

    number: int
    name: str
    begins_s: float


class KeptResult(msgspec.Struct, frozen=True):
    """A result with the people who played it by their numbers: None showed no card, 0 is the machine.

    `is_void`: the host has said that it does not count.
    """

    result: GameResult
    south: int | None
    north: int | None
    is_void: bool = False


class LogLine(msgspec.Struct, frozen=True):
    """What was done about a tournament: by whom (`director`, or a table's name in subjects), and what it changed."""

    tournament: int
    at_s: float
    who: str
    what: str
    entrant: int = 0
    place: Place | None = None
    before: str = ""
    after: str = ""


@dataclass(frozen=True)
class KeptLeague:
    """All that is read at the start; `sequence` is how far the records of tables were followed."""

    sequence: int
    machines: bool
    followed: Mapping[str, GameFollowed]
    people: Sequence[Person]
    shown: frozenset[tuple[str, str]]
    seasons: Sequence[Season]
    tournaments: Sequence[Tournament]


@dataclass
class Changes:
    """What is to be kept together. `shown` are cards and the tables where they were shown."""

    sequence: int | None = None
    machines: bool | None = None
    followed: dict[str, GameFollowed] = field(default_factory=dict)
    people: list[Person] = field(default_factory=list)
    shown: list[tuple[str, str]] = field(default_factory=list)
    seasons: list[Season] = field(default_factory=list)
    tournaments: list[Tournament] = field(default_factory=list)
    log: list[LogLine] = field(default_factory=list)
    come: list[KeptResult] = field(default_factory=list)
    gone: list[GameResult] = field(default_factory=list)
    void: list[tuple[str, bool]] = field(default_factory=list)


class LeagueStore(Protocol):
    """Where it is kept; everything raises `SystemTrouble` where that cannot be."""

    def read(self) -> KeptLeague:
        """All that a league knows at its start."""

    def write(self, changes: Changes) -> None:
        """Keep all of it, on the disk when this returns, or nothing.

        A result of a game that another table has told stays as it was.
        """

    def games(self, game: str, since_s: float, until_s: float) -> list[RatedGame]:
        """The games of one kind that count, and were played between two times."""

    def result(self, key: str) -> KeptResult | None:
        """The result of that game; None: there is none."""

    def results(self, most: int, person: int | None = None) -> list[KeptResult]:
        """The last results, the newest first; of one person alone."""

    def log(self, tournament: int) -> list[LogLine]:
        """What was done about a tournament, the newest first."""
