"""The tournaments of a hub: applies actions of the director and results of tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec.structs import replace

from companion.core.clock import Clock
from companion.core.errors import Illegal, wrong_phase
from companion.core.i18n import say
from companion.league import director
from companion.league.league_file import LeagueFile, Statement, put
from companion.league.player_cards import PlayerCards
from companion.league.ratings import ladder
from companion.league.results import GameResult, StoredResult
from companion.league.tournament import MatchBoard, Tournament

UNRATED = 1500.0
"""Rating at which people without a rating enter."""


class TournamentKeeper:
    """Holds all tournaments and stores each change before it is shown."""

    def __init__(
        self,
        file: LeagueFile,
        clock: Clock,
        cards: PlayerCards,
        free_tables: Callable[[], Sequence[str]],
    ) -> None:
        self._file = file
        self._clock = clock
        self._cards = cards
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
        """Return the newest tournament that is not over. One that has begun comes first."""
        open_ones = [tournament for tournament in self.all() if not tournament.is_over]
        for tournament in open_ones:
            if tournament.rounds:
                return tournament
        return open_ones[0] if open_ones else None

    def add(self, new: Tournament) -> Tournament:
        """Add a new tournament (see `director.new_tournament`) and return it with its number."""
        with self._file.lock:
            number = max(self._tournaments, default=0) + 1
            tournament = replace(new, id=number)
            self._store(tournament)
        return tournament

    def enter(self, number: int, person: int) -> None:
        """Enter a person with the current rating. Raises a `CompanionError`."""
        with self._file.lock:
            self._cards.require(person)
            tournament = self._require(number)
            rows = ladder(self._file.games(tournament.game))
            ratings = {row.person: row.rating for row in rows}
            self._store(director.enter(tournament, person, ratings.get(person, UNRATED)))

    def direct(self, number: int, act: Callable[[Tournament], Tournament]) -> None:
        """Apply an action of the director. Raises a `CompanionError`."""
        with self._file.lock:
            self._store(act(self._require(number)))

    def pair_round(self, number: int) -> None:
        """Pair the next round and assign tables to its boards. Raises a `CompanionError`."""
        self.direct(number, lambda before: director.pair_round(before, self._clock.wall_s()))

    def seat_boards(self) -> None:
        """Assign free tables to boards that wait for one."""
        with self._file.lock:
            seated = self._with_seated_boards(self._tournaments)
            if changes := self.statements_of(seated):
                self._file.write(*changes)
                self._tournaments = seated
                self._file.notify()

    def board_of(self, table: str) -> tuple[Tournament, MatchBoard] | None:
        """Return the open board that was paired at a table, with its tournament, or None."""
        for tournament in self.all():
            if place := director.open_tables(tournament).get(table):
                return tournament, director.board_at(tournament, place)
        return None

    def apply_results(
        self, changed_results: Iterable[GameResult], kept: StoredResult | None
    ) -> dict[int, Tournament]:
        """Return all tournaments after undoing some results and entering a new one.

        The caller writes them (see `statements_of`), then passes them to `replace_all`.
        """
        tournaments = {}
        for number, tournament in self._tournaments.items():
            changed = tournament
            for result in changed_results:
                changed = director.take_back(changed, result.key, result.table)
            if kept and kept.result.table in director.open_tables(changed):
                try:
                    changed = director.enter_result(changed, kept)
                except Illegal as refusal:
                    changed = director.note_refusal(changed, kept.result.table, refusal.message)
            tournaments[number] = changed
        # the table may be free again
        return self._with_seated_boards(tournaments)

    def replace_all(self, tournaments: Mapping[int, Tournament]) -> None:
        """Replace all tournaments with those that have just been written."""
        self._tournaments = dict(tournaments)

    def _with_seated_boards(self, tournaments: Mapping[int, Tournament]) -> dict[int, Tournament]:
        """Return all tournaments with free tables assigned to boards that wait for one."""
        seated = dict(tournaments)
        for number, tournament in tournaments.items():
            if tournament.is_over:
                continue
            occupied = {table for other in seated.values() for table in director.open_tables(other)}
            free = [table for table in self._free_tables() if table not in occupied]
            seated[number] = director.seat_boards(tournament, free)
        return seated

    def statements_of(self, tournaments: Mapping[int, Tournament]) -> list[Statement]:
        """Return the statements that store what differs from the current tournaments."""
        return [
            put("tournaments", number, tournament)
            for number, tournament in tournaments.items()
            # tournaments are immutable, so a different object means a change
            if tournament is not self._tournaments.get(number)
        ]

    def _require(self, number: int) -> Tournament:
        """Return the tournament with this number. Raises `Illegal` if there is none."""
        tournament = self._tournaments.get(number)
        if tournament is None:
            raise wrong_phase(say("There is no such tournament"))
        return tournament

    def _store(self, tournament: Tournament) -> None:
        """Write a changed tournament, with free tables assigned, then use it."""
        # the change may have opened boards that have no table yet
        seated = self._with_seated_boards({**self._tournaments, tournament.id: tournament})
        # one write, so that a refusal means that nothing has changed
        self._file.write(*self.statements_of(seated))
        self._tournaments = seated
        self._file.notify()
