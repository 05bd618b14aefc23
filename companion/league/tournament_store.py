"""The tournaments of a hub, to which the director's actions and the results of tables are applied.

The director runs a tournament. At a hub, that is the hub's owner.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from companion.core.clock import Clock
from companion.core.errors import Illegal, does_not_exist
from companion.core.i18n import say
from companion.league import tournament_rules
from companion.league.league_file import LeagueFile, Statement, put
from companion.league.player_cards import PlayerCards
from companion.league.ratings import INITIAL_RATING, rate_players
from companion.league.results import GameResult, StoredResult
from companion.league.tournament import MatchBoard, Tournament


class TournamentStore:
    """Holds all tournaments and stores each change before it is shown.

    May be used from any thread. `free_tables` returns the tables where a board may be played, in
    order of preference.
    """

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
        """The newest tournament that is not over. One that has begun comes first."""
        running = [tournament for tournament in self.all() if not tournament.is_over]
        # the first of those that have begun, or else the first of all
        return max(running, key=lambda tournament: bool(tournament.rounds), default=None)

    def add(self, new: Tournament) -> Tournament:
        """Add a tournament from `tournament_rules.new_tournament`. Return it with its number."""
        with self._file.lock:
            tournament = replace(new, id=max(self._tournaments, default=0) + 1)
            self._store(tournament)
        return tournament

    def enter(self, number: int, person: int) -> None:
        """Enter a person with the current rating, or with the initial one before any rated game.

        Raises `Illegal` if that is not possible, and `SystemTrouble` without the library of
        `rate_players` or if the change cannot be stored.
        """
        with self._file.lock:
            self._cards.require(person)
            tournament = self._require(number)
            rows = rate_players(self._file.counted_results(tournament.game))
            rating = {row.person: row.rating for row in rows}.get(person, INITIAL_RATING)
            self._store(tournament_rules.enter(tournament, person, rating))

    def enter_newcomer(self, number: int, name: str) -> None:
        """Create a card for a person, and enter that person.

        Raises what `enter` raises, and `Malformed` for a bad name.
        """
        with self._file.lock:
            # a refused person gets no card
            tournament_rules.require_open_to_newcomers(self._require(number))
            self.enter(number, self._cards.create(name).number)

    def apply_action(self, number: int, action: Callable[[Tournament], Tournament]) -> None:
        """Apply an action of the director: a function of `tournament_rules` with its arguments.

        Raises what the action raises, `Illegal` if there is no such tournament, and `SystemTrouble`
        if the change cannot be stored.
        """
        with self._file.lock:
            self._store(action(self._require(number)))

    def pair_round(self, number: int) -> None:
        """Pair the next round and assign tables to its boards.

        Raises what `tournament_rules.pair_round` and `apply_action` raise.
        """
        now_s = self._clock.wall_s()
        self.apply_action(number, lambda tournament: tournament_rules.pair_round(tournament, now_s))

    def assign_tables(self) -> None:
        """Assign free tables to open boards that have no table, and store the change."""
        with self._file.lock:
            changed = self._with_assigned_tables(self._tournaments)
            if statements := self.statements_of(changed):
                self._file.write(*statements)
                self._tournaments = changed
                self._file.notify()

    def open_board_at(self, table_id: str) -> tuple[Tournament, MatchBoard] | None:
        """Return the open board that was paired at a table, with its tournament, or None."""
        for tournament in self.all():
            if place := tournament_rules.open_places_by_table(tournament).get(table_id):
                return tournament, tournament_rules.board_at(tournament, place)
        return None

    def apply_results(
        self, *, removed: GameResult | None, added: StoredResult | None
    ) -> dict[int, Tournament]:
        """Return all tournaments by number, without one result and with a new one.

        An earlier result of the added game is removed too, because a table may report a game again.
        If the new result does not fit its board, the board notes why. Then boards that wait for a
        table get those that are free.

        This function stores nothing. The caller writes the tournaments (see `statements_of`), then
        calls `replace_all` with them.
        """
        withdrawn = [result for result in (removed, added and added.result) if result]
        tournaments = {}
        for number, tournament in self._tournaments.items():
            changed = tournament
            for result in withdrawn:
                changed = tournament_rules.reopen_board(changed, result.key, result.table)
            if added and added.result.table in tournament_rules.open_places_by_table(changed):
                try:
                    changed = tournament_rules.enter_result(changed, added)
                except Illegal as refusal:
                    table_id = added.result.table
                    changed = tournament_rules.note_refusal(changed, table_id, refusal.message)
            tournaments[number] = changed
        # the table may be free again
        return self._with_assigned_tables(tournaments)

    def replace_all(self, tournaments: Mapping[int, Tournament]) -> None:
        """Replace all tournaments with those that have just been written."""
        self._tournaments = dict(tournaments)

    def _with_assigned_tables(self, tournaments: Mapping[int, Tournament]) -> dict[int, Tournament]:
        """Return all tournaments with free tables assigned to open boards that have none."""
        assigned = dict(tournaments)
        for number, tournament in tournaments.items():
            if tournament.is_over:
                continue
            occupied = {
                table_id
                for other in assigned.values()
                for table_id in tournament_rules.open_places_by_table(other)
            }
            free = [table_id for table_id in self._free_tables() if table_id not in occupied]
            assigned[number] = tournament_rules.assign_tables(tournament, free)
        return assigned

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
            raise does_not_exist(say("There is no such tournament"))
        return tournament

    def _store(self, tournament: Tournament) -> None:
        """Write a changed tournament, with free tables assigned, then use it."""
        # the change may have opened boards that have no table yet
        tournaments = self._with_assigned_tables({**self._tournaments, tournament.id: tournament})
        # one write, so that a refusal means that nothing has changed
        self._file.write(*self.statements_of(tournaments))
        self._tournaments = tournaments
        self._file.notify()
