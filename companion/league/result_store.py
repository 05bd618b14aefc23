"""Turns tables' records into results. A game has one result, however often it is reported."""

from __future__ import annotations

from companion.core.clock import Clock
from companion.core.kit import Seat
from companion.league.league_file import (
    LeagueFile,
    Statement,
    delete_result,
    put,
    put_number,
    put_result,
    put_void,
)
from companion.league.player_cards import PlayerCards
from companion.league.results import (
    GameResult,
    ResultChange,
    StoredResult,
    TableProgress,
    follow_record,
    merge_reports,
)
from companion.league.tournament_store import TournamentStore
from companion.table.public.messages import PublicRecord

# Minimum interval in seconds between two writes of the positions in tables' records. After a crash,
# the records after the last written position are processed again.
SAVE_INTERVAL_S = 2.0


class ResultStore:
    """Follows the games of all tables, stores their results and reports them to tournaments.

    This object may be used from any thread. The hub's connection to NATS calls `process_record` for
    each record of a table, and `save_positions` regularly. The position in a table's records says
    how far they have been processed.
    """

    def __init__(
        self, file: LeagueFile, clock: Clock, cards: PlayerCards, tournaments: TournamentStore
    ) -> None:
        self._file = file
        self._clock = clock
        self._cards = cards
        self._tournaments = tournaments
        self._progress = file.progress()
        self._unsaved_tables: set[str] = set()
        self._saved_at_s = clock.monotonic_s()
        self.sequence = file.number("sequence")
        """Number in the hub's store of the last record that was processed."""

    def process_record(
        self, table_id: str, record: PublicRecord, accepted_at_s: float, sequence: int
    ) -> None:
        """Process a record of a table.

        `accepted_at_s` is the Unix time at which the table accepted the record, by the hub's clock.
        `sequence` is the record's number in the hub's store. If a result cannot be stored, raises
        `SystemTrouble`, and the record counts as not processed.
        """
        with self._file.lock:
            before = self._progress.get(table_id, TableProgress())
            after, change = follow_record(table_id, before, record, accepted_at_s)
            sequence = max(self.sequence, sequence)
            has_changed = any(change)
            if has_changed:
                self._store_change(table_id, after, change, sequence)
            else:
                # only the position has changed, which `save_positions` writes later
                self._unsaved_tables.add(table_id)
            self._progress[table_id] = after
            self.sequence = sequence
            if has_changed:
                self._file.notify()

    def _store_change(
        self, table_id: str, progress: TableProgress, change: ResultChange, sequence: int
    ) -> None:
        """Store a change of results, with all positions, before anybody sees it."""
        added = self._identify_players(change.added, table_id)
        # Tournaments get this table's own report, without that of a second table. They count games
        # at one table only, and refuse a report of a game at two tables.
        tournaments = self._tournaments.apply_results(removed=change.removed, added=added)
        statements = [
            *self._position_statements(sequence),
            # after the other positions, because they may contain an older position of this table
            put("followed", table_id, progress),
        ]
        # a record removes a result or adds one, or does neither
        if change.removed:
            statements.append(delete_result(change.removed))
        statements += self._result_statements(added)
        statements += self._tournaments.statements_of(tournaments)
        self._file.write(*statements)
        self._unsaved_tables.clear()
        self._tournaments.replace_all(tournaments)

    def save_positions(self) -> None:
        """Write the positions in tables' records if they are due.

        Raises `SystemTrouble` if they cannot be written.
        """
        with self._file.lock:
            now_s = self._clock.monotonic_s()
            if not self._unsaved_tables or now_s - self._saved_at_s < SAVE_INTERVAL_S:
                return
            self._saved_at_s = now_s
            self._file.write(*self._position_statements(self.sequence))
            self._unsaved_tables.clear()

    def restart_sequence(self) -> None:
        """Restart at sequence number 0, because the hub has a new store."""
        with self._file.lock:
            self._file.write(put_number("sequence", 0))
            self.sequence = 0

    def latest(self, limit: int, person: int | None = None) -> list[StoredResult]:
        """Return up to `limit` results, newest first, and only those of `person` if it is given."""
        return self._file.results(limit, person)

    def find(self, key: str) -> StoredResult | None:
        """Return the result of a game, or None."""
        return self._file.result(key)

    def set_void(self, key: str, is_void: bool) -> None:
        """Set whether a result is void. A void result does not count for ratings."""
        with self._file.lock:
            self._file.write(put_void(key, is_void))
            self._file.notify()

    def _position_statements(self, sequence: int) -> list[Statement]:
        """Return the statements that store the positions that are not on the disk yet."""
        positions = [
            put("followed", table_id, self._progress[table_id]) for table_id in self._unsaved_tables
        ]
        return [*positions, put_number("sequence", sequence)]

    def _identify_players(self, result: GameResult | None, table_id: str) -> StoredResult | None:
        """Return a table's result with the numbers of the people who have played."""
        if result is None:
            return None
        south = self._cards.number_of(result.south, table_id)
        north = self._cards.number_of(result.north, table_id)
        return StoredResult(result, south, north)

    def _result_statements(self, stored: StoredResult | None) -> list[Statement]:
        """Return the statements that store a new result.

        If two tables have played the game, merge their reports. A table reports only the player at
        its own seat. So after the first report the other player is unknown, and the result does not
        count yet. If the second report does not fit the first, the first is left as it is.
        """
        if stored is None:
            return []
        result = stored.result
        other_report = None if result.own_seat is None else self.find(result.key)
        if other_report is None:
            return [put_result(stored)]
        merged = merge_reports(other_report.result, result)
        if merged is None:
            return []
        # take each player's number from the report of the table at that seat
        is_south = result.own_seat is Seat.SOUTH
        at_south, at_north = (stored, other_report) if is_south else (other_report, stored)
        return [put_result(StoredResult(merged, at_south.south, at_north.north))]
