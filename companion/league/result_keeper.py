"""Turns tables' records into results. A game has one result, however often it is reported."""

from __future__ import annotations

import logging

from companion.core.kit import Seat
from companion.league.league_file import Changes, Ledger
from companion.league.player_cards import PlayerCards
from companion.league.results import (
    GameFollowed,
    KeptResult,
    ResultChange,
    follow,
    merged,
)
from companion.league.tournament_keeper import TournamentKeeper
from companion.table.public.messages import PublicRecord

log = logging.getLogger(__name__)
SAVE_INTERVAL_S = 2.0
"""Minimum interval in seconds between two writes of the positions in tables' records.

After a crash, records behind the last written position are processed again.
"""


class ResultKeeper:
    """Follows the games of all tables, stores their results and reports them to tournaments."""

    def __init__(self, ledger: Ledger, cards: PlayerCards, tournaments: TournamentKeeper) -> None:
        self._ledger = ledger
        self._cards = cards
        self._tournaments = tournaments
        self._progress = ledger.store.followed()
        self._unsaved_tables: set[str] = set()
        self._saved_s = ledger.clock.monotonic_s()
        self.sequence = ledger.store.value("sequence")
        """Sequence number of the last processed record in the hub's store."""

    def take(self, table: str, record: PublicRecord, at_s: float, sequence: int) -> None:
        """Process a record of a table.

        `at_s` is when the table accepted it, by the hub's clock. `sequence` is its number in the
        hub's store.
        """
        with self._ledger.lock:
            before = self._progress.get(table, GameFollowed())
            after, change = follow(table, before, record, at_s)
            # only the position has changed, which `keep` writes later
            if change == ResultChange():
                self._note_progress(table, after, sequence)
                return
            changes = self._pending_changes(sequence)
            changes.followed[table] = after
            come, gone = change.come, change.gone
            entry = None
            if come is not None:
                south, north = (
                    self._cards.number_of(player, table) for player in (come.south, come.north)
                )
                entry = KeptResult(come, south, north)
                self._add_result(entry, changes)
            if gone is not None:
                changes.gone.append(gone)
            # a new result may replace an earlier one of the same game
            undone = [result for result in (gone, come) if result]
            tournaments = self._tournaments.after(undone, entry, changes)
            # write to the disk before anybody sees the result
            self._ledger.write(changes)
            self._tournaments.use(tournaments)
            self._note_progress(table, after, sequence)
            self._unsaved_tables.clear()
            self._ledger.changed()

    def keep(self) -> None:
        """Write the positions in tables' records if they are due. Raises `SystemTrouble`."""
        with self._ledger.lock:
            now_s = self._ledger.clock.monotonic_s()
            if not self._unsaved_tables or now_s - self._saved_s < SAVE_INTERVAL_S:
                return
            self._saved_s = now_s
            self._ledger.write(self._pending_changes(self.sequence))
            self._unsaved_tables.clear()

    def begin_anew(self) -> None:
        """Restart at sequence number 0, because the hub has a new store."""
        with self._ledger.lock:
            self._ledger.write(Changes(sequence=0))
            self.sequence = 0

    def last(self, most: int, person: int | None = None) -> list[KeptResult]:
        """Return up to `most` results, newest first. With `person`, only results of that person."""
        return self._ledger.store.results(most, person)

    def of(self, key: str) -> KeptResult | None:
        """Return the result of a game, or None."""
        return self._ledger.store.result(key)

    def set_void(self, key: str, is_void: bool) -> None:
        """Set whether a result is void, which excludes it from ratings."""
        with self._ledger.lock:
            self._ledger.write(Changes(void=[(key, is_void)]))
            self._ledger.changed()

    def _note_progress(self, table: str, after: GameFollowed, sequence: int) -> None:
        self._progress[table] = after
        self.sequence = max(self.sequence, sequence)
        self._unsaved_tables.add(table)

    def _pending_changes(self, sequence: int) -> Changes:
        followed = {table: self._progress[table] for table in self._unsaved_tables}
        return Changes(sequence=max(self.sequence, sequence), followed=followed)

    def _add_result(self, entry: KeptResult, changes: Changes) -> None:
        """Add a result to the changes.

        If two tables have played the game, merge their reports. The result is void if they
        disagree.
        """
        result = entry.result
        before = None if result.at is None else self.of(result.key)
        if before is None:
            changes.come.append(entry)
            return
        whole = merged(before.result, result)
        if whole is None:
            return
        south, north = (before, entry) if before.result.at is Seat.SOUTH else (entry, before)
        changes.come.append(KeptResult(whole, south.south, north.north))
        if (whole.game, whole.winner) != (result.game, result.winner):
            log.warning("Hub: two tables do not agree how their game ended: %s", whole.key)
            changes.void.append((whole.key, True))
