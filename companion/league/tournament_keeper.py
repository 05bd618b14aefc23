"""The tournaments of a hub: applies actions of the director and results of tables, and logs
both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from companion.core.clock import Clock
from companion.core.errors import Illegal, wrong_phase
from companion.core.i18n import packed, say
from companion.league import director
from companion.league.league_file import LeagueFile, LogLine, Statement, add_line, put
from companion.league.player_cards import PlayerCards
from companion.league.ratings import Ladders
from companion.league.results import GameResult, StoredResult
from companion.league.tournament import MatchBoard, Place, Tournament

DIRECTOR = "director"
UNRATED = 1500.0
"""Rating at which people without a rating enter."""


class TournamentKeeper:
    """Holds all tournaments and stores each change together with its line of the log."""

    def __init__(
        self,
        file: LeagueFile,
        clock: Clock,
        cards: PlayerCards,
        ladders: Ladders,
        free_tables: Callable[[], Sequence[str]],
    ) -> None:
        self._file = file
        self._clock = clock
        self._cards = cards
        self._ladders = ladders
        self._free_tables = free_tables
        self._tournaments = {tournament.id: tournament for tournament in file.tournaments()}

    def all(self) -> tuple[Tournament, ...]:
        """Return all tournaments, newest first."""
        with self._file.lock:
            return tuple(reversed(self._tournaments.values()))

    def find(self, number: int) -> Tournament | None:
        """Return the tournament with this number, or None."""
        return self._tournaments.get(number)

    @property
    def current(self) -> Tournament | None:
        """Return the newest tournament that has begun and is not over, else the newest that is not
        over.
        """
        on = [tournament for tournament in self.all() if not tournament.is_over]
        return next((tournament for tournament in on if tournament.rounds), on[0] if on else None)

    def add(self, made: Tournament) -> Tournament:
        """Add a new tournament (see `director.new_tournament`) and return it with its number."""
        with self._file.lock:
            number = max(self._tournaments, default=0) + 1
            tournament = replace(made, id=number)
            self._store(tournament, self._line(number, DIRECTOR, "new"))
        return tournament

    def enter(
        self, number: int, people: Sequence[int], team: str = "", who: str = DIRECTOR
    ) -> Tournament:
        """Enter a person or a team with the current rating. Raises a `CompanionError`."""
        with self._file.lock:
            tournament = self._known(number)
            ratings = {
                rated.person: rated.rating for rated in self._ladders.ratings(tournament.game)
            }
            for person in people:
                self._cards.require(person)
            # the rating of a team is the mean of its people's ratings
            rating = sum(ratings.get(person, UNRATED) for person in people) / max(1, len(people))
            fresh = director.enter(tournament, people, rating, team)
            entrant = fresh.entrant_of(people[0])
            entry = entrant.number if entrant else 0
            self._store(fresh, replace(self._line(number, who, "enter"), entrant=entry))
        return fresh

    def direct(
        self,
        number: int,
        what: str,
        act: Callable[[Tournament], Tournament],
        *,
        entrant: int = 0,
        place: Place | None = None,
    ) -> None:
        """Apply an action of the director and log it with what it changed. Raises a
        `CompanionError`.
        """
        with self._file.lock:
            before = self._known(number)
            after = act(before)
            line = replace(self._line(number, DIRECTOR, what), entrant=entrant, place=place)
            if place is not None:
                verdicts = (_verdict_text(tournament, place) for tournament in (before, after))
                line = replace(line, before=next(verdicts), after=next(verdicts))
            self._store(after, line)

    def pair_round(self, number: int) -> None:
        """Pair the next round and assign tables to its boards. Raises a `CompanionError`."""
        self.direct(
            number, "pair", lambda before: director.pair_round(before, self._clock.wall_s())
        )

    def log(self, number: int) -> list[LogLine]:
        """Return the log of a tournament, newest line first."""
        return self._file.log(number)

    def seat_boards(self) -> None:
        """Assign free tables to boards that wait for one."""
        with self._file.lock:
            seated = self._seated(self._tournaments)
            if changes := self._changes(seated):
                self._file.write(*changes)
                self._tournaments = seated
                self._file.changed()

    def board_of(self, table: str) -> tuple[Tournament, MatchBoard] | None:
        """Return the open board that was paired at a table, with its tournament. None if there is
        none.
        """
        for tournament in self.all():
            if place := director.open_tables(tournament).get(table):
                return tournament, director.board_at(tournament, place)
        return None

    def apply_results(
        self, undone: Iterable[GameResult], kept: StoredResult | None
    ) -> tuple[Mapping[int, Tournament], list[Statement]]:
        """Return all tournaments after undoing some results and entering a new one, and the
        statements that store them with their lines of the log.

        The caller writes these, then passes the tournaments to `replace_all`.
        """
        tournaments, lines = dict(self._tournaments), []
        for number, tournament in tournaments.items():
            changed = tournament
            for result in undone:
                if reopened := director.take_back(changed, result.key, result.table):
                    changed = reopened
                    lines.append(self._line(number, result.table, "take_back"))
            if kept and kept.result.table in director.open_tables(changed):
                changed, line = self._report(changed, kept)
                lines.append(line)
            tournaments[number] = changed
        # the table may be free again
        tournaments = self._seated(tournaments)
        return tournaments, [*self._changes(tournaments), *map(add_line, lines)]

    def replace_all(self, tournaments: Mapping[int, Tournament]) -> None:
        """Replace all tournaments with those that have just been written."""
        self._tournaments = dict(tournaments)

    def _report(self, tournament: Tournament, kept: StoredResult) -> tuple[Tournament, LogLine]:
        """Return the tournament after a result, or as it was if it refuses it, and the line for the
        log.
        """
        line = self._line(tournament.id, kept.result.table, "result")
        try:
            fresh, place = director.report(tournament, kept)
        except Illegal as refusal:
            # packed, so that the log can be shown in every language
            why = msgspec.json.encode(packed(refusal.message)).decode()
            return tournament, replace(line, what="refused", after=why)
        return fresh, replace(line, place=place, after=_verdict_text(fresh, place))

    def _seated(self, tournaments: Mapping[int, Tournament]) -> dict[int, Tournament]:
        """Return all tournaments with free tables assigned to boards that wait for one."""
        seated = dict(tournaments)
        for number, tournament in tournaments.items():
            if tournament.is_over:
                continue
            occupied = {table for other in seated.values() for table in director.open_tables(other)}
            free = [table for table in self._free_tables() if table not in occupied]
            seated[number] = director.seat(tournament, free)
        return seated

    def _changes(self, tournaments: Mapping[int, Tournament]) -> list[Statement]:
        """Return the statements that store what differs from the current tournaments."""
        return [
            put("tournaments", number, tournament)
            for number, tournament in tournaments.items()
            # tournaments are immutable, so a different object means a change
            if tournament is not self._tournaments.get(number)
        ]

    def _known(self, number: int) -> Tournament:
        tournament = self._tournaments.get(number)
        if tournament is None:
            raise wrong_phase(say("There is no such tournament"))
        return tournament

    def _line(self, tournament: int, who: str, what: str) -> LogLine:
        return LogLine(tournament, self._clock.wall_s(), who, what)

    def _store(self, tournament: Tournament, line: LogLine) -> None:
        # the change may have opened boards that have no table yet
        seated = self._seated({**self._tournaments, tournament.id: tournament})
        # one write, so that a refusal means that nothing has changed
        self._file.write(*self._changes(seated), add_line(line))
        self._tournaments = seated
        self._file.changed()


def _verdict_text(tournament: Tournament, place: Place) -> str:
    return str(director.board_at(tournament, place).verdict or "")
