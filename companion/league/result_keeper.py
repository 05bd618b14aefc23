"""What tables tell becomes results: each game once, whoever tells it how often."""

from __future__ import annotations

from companion.core.errors import Illegal, Refusal
from companion.core.i18n import say
from companion.core.kit import Seat
from companion.league.league_file import Changes, KeptResult, Ledger
from companion.league.player_cards import PlayerCards
from companion.league.results import (
    GameFollowed,
    GameResult,
    ResultChange,
    decided,
    follow,
    merged,
    sides_of,
)
from companion.league.tournament_keeper import TournamentKeeper
from companion.table.public.messages import PublicRecord

KEEP_S = 2.0
"""Interval in seconds at which it is kept how far the records of tables were followed.

What came later is followed once more.
"""
LOOKED_AT = 500
"""Number of the last results among which those are found at the start about which two tables do not
agree."""


class ResultKeeper:
    """Follows the games of all tables, and gives tournaments what comes of them."""

    def __init__(self, ledger: Ledger, cards: PlayerCards, tournaments: TournamentKeeper) -> None:
        self._ledger = ledger
        self._cards = cards
        self._tournaments = tournaments
        self._followed = ledger.store.followed()
        self._unkept: set[str] = set()
        self._kept_s = ledger.clock.monotonic_s()
        last = (entry.result for entry in ledger.store.results(LOOKED_AT) if not entry.is_void)
        self._contested = {result.key: result for result in last if result.against}
        self.sequence = ledger.store.value("sequence")
        """How far the records of tables were followed, as the hub's store counts them."""

    def take(self, table: str, record: PublicRecord, at_s: float, sequence: int) -> None:
        """Take a record that a table has told.

        `at_s` is when it was accepted there, by the hub's clock.
        """
        with self._ledger.lock:
            before = self._followed.get(table, GameFollowed())
            after, change = follow(table, before, record, at_s)
            # only how far the table was followed is new: that is kept now and then
            if change == ResultChange():
                self._follow(table, after, sequence)
                return
            changes = self._unwritten(sequence)
            changes.followed[table] = after
            come, gone = change.come, change.gone
            entry = None
            if come is not None:
                south, north = (
                    self._cards.number_of(player, table) for player in (come.south, come.north)
                )
                entry = KeptResult(come, south, north)
                changes.come += self._come(entry)
            if gone is not None:
                changes.gone.append(gone)
            # a result that comes may replace what the same game said before
            undone = [result for result in (gone, come) if result]
            tournaments = self._tournaments.after(undone, entry, changes)
            # on the disk before anybody sees it
            self._ledger.write(changes)
            self._tournaments.use(tournaments)
            for result in changes.come:
                self._note_contested(result)
            self._follow(table, after, sequence)
            self._unkept.clear()
            self._ledger.changed()

    def keep(self) -> None:
        """Keep how far tables were followed. Raises `SystemTrouble`."""
        with self._ledger.lock:
            now_s = self._ledger.clock.monotonic_s()
            if not self._unkept or now_s - self._kept_s < KEEP_S:
                return
            self._kept_s = now_s
            self._ledger.write(self._unwritten(self.sequence))
            self._unkept.clear()

    def begin_anew(self) -> None:
        """Follow another store of the hub from its beginning."""
        with self._ledger.lock:
            self._ledger.write(Changes(sequence=0))
            self.sequence = 0

    def last(self, most: int, person: int | None = None) -> list[KeptResult]:
        """Return the last results, the newest first. Of one person alone."""
        return self._ledger.store.results(most, person)

    def of(self, key: str) -> KeptResult | None:
        """Return the result of a game. None: there is none."""
        return self._ledger.store.result(key)

    def set_void(self, key: str, is_void: bool) -> None:
        """Note what the host says: whether a result counts for ratings."""
        with self._ledger.lock:
            self._ledger.write(Changes(void=[(key, is_void)]))
            if entry := self.of(key):
                self._note_contested(entry)
            self._ledger.changed()

    def decide(self, key: str, winner: Seat | None) -> None:
        """Note what the host says: how a game ended about which its tables do not agree (None: a
        draw).

        Raises `Illegal`.
        """
        with self._ledger.lock:
            entry = self.of(key)
            if entry is None or entry.result.against is None:
                raise Illegal(Refusal.WRONG_PHASE, say("Both tables agree about this game"))
            # each table knows who sat on its own side
            south, north = sides_of(entry.result)
            whole = KeptResult(
                decided(entry.result, winner),
                self._cards.number_of(south.south, south.table),
                self._cards.number_of(north.north, north.table),
            )
            self._ledger.write(Changes(come=[whole]))
            self._contested.pop(key, None)
            self._ledger.changed()

    @property
    def contested(self) -> tuple[GameResult, ...]:
        """Return the games about whose end their tables do not agree."""
        return tuple(self._contested.values())

    def _note_contested(self, result: KeptResult) -> None:
        self._contested.pop(result.result.key, None)
        if result.result.against and not result.is_void:
            self._contested[result.result.key] = result.result

    def _follow(self, table: str, after: GameFollowed, sequence: int) -> None:
        self._followed[table] = after
        self.sequence = max(self.sequence, sequence)
        self._unkept.add(table)

    def _unwritten(self, sequence: int) -> Changes:
        followed = {table: self._followed[table] for table in self._unkept}
        return Changes(sequence=max(self.sequence, sequence), followed=followed)

    def _come(self, result: KeptResult) -> list[KeptResult]:
        """Return what is to be kept of a result: of a game at two tables it is whole once both have
        told the same."""
        before = None if result.result.at is None else self.of(result.result.key)
        if before is None:
            return [result]
        fresh = merged(before.result, result.result)
        if fresh is None:
            return []
        if fresh.against:
            return [KeptResult(fresh, before.south, before.north)]
        # each table has told who sat on its own side
        south, north = (before, result) if before.result.at is Seat.SOUTH else (result, before)
        return [KeptResult(fresh, south.south, north.north)]
